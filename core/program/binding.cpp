// `_core.Plan`, `Program`, `Numbers`, `Store`: expressions of operators as programs.
#include "binding.hpp"

#include <algorithm>
#include <cstddef>

#include "soacraft/checks.hpp"

namespace soacraft {
namespace program {
namespace {

Indices copied(nb::handle source, const char* name) {
    const Array<index> array(source, name, 1);
    return {array.data(), array.data() + array.size()};
}

Indices offsets(nb::handle source, const char* name, index count = -1) {
    Indices found = copied(source, name);
    if (found.empty() || (count >= 0 && static_cast<index>(found.size()) != count + 1))
        refuse("%s has one entry more than there are slices", name);
    require(check_slices(name, found.data(), static_cast<index>(found.size()) - 1, found.back()));
    return found;
}

Builder* make_plan(nb::handle order_, nb::handle parent_, nb::handle body_, nb::handle hinge_) {
    Indices order = copied(order_, "order"), parent = copied(parent_, "parent");
    const index n = static_cast<index>(order.size());
    require_length("parent", static_cast<index>(parent.size()), n);
    return new Builder(std::move(order), std::move(parent), offsets(body_, "body_offset", n),
                       offsets(hinge_, "hinge_offset", n));
}

// Records of a structured array, as C++ lays them out.
template <class Record>
std::vector<Record> records(nb::handle source, const char* name) {
    PyObject* o = source.ptr();
    if (!PyArray_Check(o)) refuse("%s is no array", name);
    PyArrayObject* a = reinterpret_cast<PyArrayObject*>(o);
    if (PyArray_NDIM(a) != 1 || !PyArray_ISCARRAY_RO(a) || PyArray_ITEMSIZE(a) != static_cast<npy_intp>(sizeof(Record)))
        refuse("%s must be a contiguous array of records of %lld bytes", name, static_cast<long long>(sizeof(Record)));
    std::vector<Record> found(static_cast<std::size_t>(PyArray_DIM(a, 0)));
    if (!found.empty()) std::memcpy(static_cast<void*>(found.data()), PyArray_DATA(a), found.size() * sizeof(Record));
    return found;
}

nb::tuple entry(const char* name, std::size_t offset, const char* kind, int count) {
    return nb::make_tuple(name, offset, kind, count);
}

#define SOACRAFT_ENTRY(Record, member, kind, count) entry(#member, offsetof(Record, member), kind, count)

// Name, offset, type and length of every member: Python makes its dtypes of them.
nb::dict layouts() {
    nb::dict all;
    all["RigidBody"] = nb::make_tuple(
        sizeof(RigidBody), SOACRAFT_ENTRY(RigidBody, parent, "i8", 1), SOACRAFT_ENTRY(RigidBody, q, "i8", 1),
        SOACRAFT_ENTRY(RigidBody, nv, "i8", 1), SOACRAFT_ENTRY(RigidBody, screws, "i8", 1),
        SOACRAFT_ENTRY(RigidBody, kind, "i4", 1), SOACRAFT_ENTRY(RigidBody, constant, "i4", 1),
        SOACRAFT_ENTRY(RigidBody, turned, "i4", 1), SOACRAFT_ENTRY(RigidBody, shifted, "i4", 1),
        SOACRAFT_ENTRY(RigidBody, R_in, "f8", 9), SOACRAFT_ENTRY(RigidBody, p_in, "f8", 3),
        SOACRAFT_ENTRY(RigidBody, R_out, "f8", 9), SOACRAFT_ENTRY(RigidBody, p_out, "f8", 3),
        SOACRAFT_ENTRY(RigidBody, H, "f8", 36), SOACRAFT_ENTRY(RigidBody, M, "f8", 36),
        SOACRAFT_ENTRY(RigidBody, armature, "f8", 6), SOACRAFT_ENTRY(RigidBody, extended, "i4", 1),
        SOACRAFT_ENTRY(RigidBody, radius, "f8", 1), SOACRAFT_ENTRY(RigidBody, normal, "f8", 3),
        SOACRAFT_ENTRY(RigidBody, t1, "f8", 3), SOACRAFT_ENTRY(RigidBody, t2, "f8", 3));
    all["Screw"] = nb::make_tuple(sizeof(Screw), SOACRAFT_ENTRY(Screw, vector, "f8", 6),
                                  SOACRAFT_ENTRY(Screw, rate, "f8", 1), SOACRAFT_ENTRY(Screw, basis, "f8", 48));
    all["Spot"] = nb::make_tuple(sizeof(Spot), SOACRAFT_ENTRY(Spot, body, "i8", 1), SOACRAFT_ENTRY(Spot, R, "f8", 9),
                                 SOACRAFT_ENTRY(Spot, p, "f8", 3));
    return all;
}

void set_parameters(Builder& b, nb::handle bodies, nb::handle screws, unsigned long long version) {
    set_bodies(b, records<RigidBody>(bodies, "bodies"), records<Screw>(screws, "screws"), version);
}

void blocks_given(Builder& b) {
    add_A_H_M(b);
    for (index f = 0; f < 3; ++f) b.given(f, true);
}

void blocks_rigid(Builder& b, nb::handle bodies, nb::handle screws, unsigned long long version, int axes, index nq) {
    add_rigid(b, records<RigidBody>(bodies, "bodies"), records<Screw>(screws, "screws"), version, axes, nq);
}

index given_field(Builder& b, index rows, index cols, nb::handle row_, nb::handle col_, bool constant) {
    Indices row = copied(row_, "row"), col = copied(col_, "col");
    require_length("col", static_cast<index>(col.size()), static_cast<index>(row.size()));
    return add_given(b, rows, cols, std::move(row), std::move(col), constant);
}

index pick_off(Builder& b, index cols, nb::handle spots) { return add_pick_off(b, cols, records<Spot>(spots, "spots")); }

// The nodes of a pick-off at other places on their bodies.
void set_spots(Builder& b, index f, nb::handle spots_) {
    b.require_field(f);
    const std::vector<Spot> spots = records<Spot>(spots_, "spots");
    const Field& field = b.field(f);
    const auto maker = static_cast<std::size_t>(b.maker_of[static_cast<std::size_t>(f)]);
    if (b.makers[maker].how != PICK_OFF || static_cast<index>(spots.size()) != field.count) refuse("that field picks off other nodes");
    for (std::size_t i = 0; i < spots.size(); ++i)
        if (spots[i].body != field.row[i]) refuse("spot %lld is on another body", static_cast<long long>(i));
    for (std::vector<Spot>& own : b.nodes)
        if (own.data() == b.spots[maker]) std::copy(spots.begin(), spots.end(), own.begin());
}

// -- programs ------------------------------------------------------------------------------------------------------

// `spaces`: of the registers, the first that of the argument, the second that of the result. `steps`: tuples
// (act, field, in, other, out, a, b). `fields`: more that must be made.
Written* make_program(Builder& b, nb::list spaces_, nb::list steps_, nb::list fields_) {
    auto made = std::make_unique<Written>();
    Indices spaces;
    for (nb::handle s : spaces_) spaces.push_back(nb::cast<index>(s));
    made->begin(b, std::move(spaces));
    std::vector<char> seen(b.makers.size(), 0);
    for (nb::handle one : steps_) {
        const auto t = nb::cast<nb::tuple>(one);
        if (t.size() != 7) refuse("a step has seven parts");
        Step s = {};
        s.act = nb::cast<int>(t[0]), s.field = nb::cast<index>(t[1]), s.in = nb::cast<index>(t[2]);
        s.other = nb::cast<index>(t[3]), s.out = nb::cast<index>(t[4]);
        s.factor[0] = nb::cast<double>(t[5]), s.factor[1] = nb::cast<double>(t[6]);
        made->add(s);
        if (s.act != COMBINE) made->need(s.field, seen);
    }
    for (nb::handle f : fields_) {
        b.require_field(nb::cast<index>(f));
        made->need(nb::cast<index>(f), seen);
    }
    made->end();
    return made.release();
}

nb::list makers_of(const Written& w) {
    const char* const words[] = {"given", "blocks at q", "nodes at q", "product", "sum", "inverse", "Lyapunov", "Lyapunov", "Riccati", "past the hinges",
                                 "remainder", "sweep of a column", "cross products", "dH at q"};
    nb::list all;
    for (index number : w.needs) {
        const Maker& maker = w.builder->makers[static_cast<std::size_t>(number)];
        all.append(nb::make_tuple(words[maker.how], maker.out[0]));
    }
    return all;
}

// -- numbers -------------------------------------------------------------------------------------------------------

void require_of(const Numbers& n, const Written& w) {
    if (w.builder != n.builder) refuse("the program belongs to another plan");
}

void give(Numbers& n, index f, nb::handle data_) {
    n.builder->require_field(f);
    const Array<double> data(data_, "data", 1);
    const Field& field = n.builder->field(f);
    require_length("data", data.size(), field.start[field.count]);
    n.give(f, data.data());
}

void set_q(Numbers& n, nb::handle q_) {
    const Array<double> q(q_, "q", 1);
    require_length("q", q.size(), n.builder->plan.rigid.nq);
    n.set_q(q.data(), static_cast<std::size_t>(q.size()));
}

// The fields that a program needs and nobody has given at this state.
nb::list missing(Numbers& n, const Written& w) {
    require_of(n, w);
    n.follow();
    n.grow();
    nb::list fields;
    for (index number : w.needs) {
        const Maker& maker = n.builder->makers[static_cast<std::size_t>(number)];
        if (maker.how == GIVEN && !n.made[static_cast<std::size_t>(number)]) fields.append(maker.out[0]);
    }
    return fields;
}

// The product with columns (N, m); None when a number is in doubt or not finite.
nb::object run(Numbers& n, const Written& w, nb::handle x_) {
    require_of(n, w);
    if (w.steps.empty()) refuse("that program has no steps");
    const Array<double> x(x_, "x", 2);
    require_length("x", x.size(0), w.program.cols);
    nb::object result = new_array("empty", w.program.rows, x.size(1));
    const Array<double> out(result, "result", 2, true);
    if (x.size(1) == 0) return n.make(w.program) ? result : nb::none();
    return n.run(w.program, x.data(), x.size(1), out.data()) ? result : nb::none();
}

// The numbers of a field, block after block; None when one is in doubt or not finite.
nb::object blocks(Numbers& n, const Written& w, index f) {
    require_of(n, w);
    n.builder->require_field(f);
    const Field& field = n.builder->field(f);
    nb::object result = new_vector(field.start[field.count]);
    const Array<double> out(result, "result", 1, true);
    if (!n.make(w.program)) return nb::none();
    const index maker = n.builder->maker_of[static_cast<std::size_t>(f)];
    if (maker < 0 || n.made[static_cast<std::size_t>(maker)] != 1) refuse("the program does not make that field");
    const double* const from = n.arena.data() + field.at;
    if (!rigid::finite(from, out.size())) return nb::none();
    std::memcpy(out.data(), from, static_cast<std::size_t>(out.size()) * sizeof(double));
    return result;
}

// Block (i, j) of a field that a program makes; None when a number is in doubt or not finite.
nb::object block(Numbers& n, const Written& w, index f, index i, index j) {
    require_of(n, w);
    n.builder->require_field(f);
    const Field& field = n.builder->field(f);
    const Space &rows = n.builder->spaces[static_cast<std::size_t>(field.rows)],
                &cols = n.builder->spaces[static_cast<std::size_t>(field.cols)];
    if (i < 0 || i >= rows.count || j < 0 || j >= cols.count) refuse("there is no such block");
    const index height = rows.offset[i + 1] - rows.offset[i], width = cols.offset[j + 1] - cols.offset[j];
    nb::object result = new_array("zeros", height, width);
    const Array<double> out(result, "result", 2, true);
    if (!n.make(w.program)) return nb::none();
    const index maker = n.builder->maker_of[static_cast<std::size_t>(f)];
    if (maker < 0 || n.made[static_cast<std::size_t>(maker)] != 1) refuse("the program does not make that field");
    const bool aligned = i == j && i < field.count && field.row[i] == i && field.col[i] == i;  // a diagonal, as nearly all
    index at = aligned ? i : 0;
    while (at < field.count && (field.row[at] != i || field.col[at] != j)) ++at;
    if (at == field.count) return result;
    const double* const from = n.arena.data() + field.at + field.start[at];
    if (!rigid::finite(from, height * width)) return nb::none();
    if (height > 0 && width > 0) std::memcpy(out.data(), from, static_cast<std::size_t>(height * width) * sizeof(double));
    return result;
}

nb::tuple places(const Builder& b, index f) {
    b.require_field(f);
    const Field& field = b.field(f);
    nb::list row, col, start;
    for (index i = 0; i < field.count; ++i) row.append(field.row[i]), col.append(field.col[i]);
    for (index i = 0; i <= field.count; ++i) start.append(field.start[i]);
    return nb::make_tuple(row, col, start);
}

}  // namespace

void bind(nb::module_& m) {
    const auto array = [](const char* name) { return nb::arg(name).none(); };
    nb::class_<Builder>(m, "Plan", "The fields of a model's operators, and how each is made.")
        .def("blocks_given", &blocks_given, "A, H and M are numbers from outside.")
        .def("blocks_rigid", &blocks_rigid, array("bodies"), array("screws"), nb::arg("version"), nb::arg("axes"), nb::arg("nq"),
             "A, H and M are those of a rigid tree at q.")
        .def("set_bodies", &set_parameters, array("bodies"), array("screws"), nb::arg("version"), "Other parameters of the same bodies.")
        .def("space", [](Builder& b, nb::handle offset) { return b.add_space(offsets(offset, "offset")); }, array("offset"))
        .def("given", &given_field, nb::arg("rows"), nb::arg("cols"), array("row"), array("col"), nb::arg("constant"))
        .def("pick_off", &pick_off, nb::arg("cols"), array("spots"))
        .def("set_spots", &set_spots, nb::arg("field"), array("spots"))
        .def("product", &Builder::product, nb::arg("X"), nb::arg("left"), nb::arg("Y"), nb::arg("right"))
        .def("sum", &Builder::sum, nb::arg("a"), nb::arg("X"), nb::arg("left"), nb::arg("b"), nb::arg("Y"),
             nb::arg("right"), nb::arg("part") = 0)
        .def("inverse", &Builder::inverse, nb::arg("X"))
        .def("lyapunov", &Builder::lyapunov, nb::arg("A"), nb::arg("X"), nb::arg("B"), nb::arg("backward"))
        .def("riccati", &Builder::riccati, nb::arg("A"), nb::arg("H"), nb::arg("M"))
        .def("past_hinge", &Builder::past_hinge, nb::arg("P"))
        .def("remainder", &Builder::remainder, nb::arg("X"), nb::arg("Y"), nb::arg("Z"))
        .def("sweep", &add_sweep, nb::arg("act"), nb::arg("E"), nb::arg("X"))
        .def("cross", [](Builder& b, index kind, index X, index space, nb::handle at) {
            return add_cross(b, kind, X, space, copied(at, "at"));
        }, nb::arg("kind"), nb::arg("X"), nb::arg("space"), array("at"))
        .def("hinge_rate", &add_hinge_rate, nb::arg("node"), nb::arg("dof"))
        .def("places", &places, nb::arg("field"), "Rows and columns of its blocks, and where each begins.")
        .def_prop_ro("size", [](const Builder& b) { return b.plan.arena; }, "How many numbers a state has.");
    nb::class_<Written>(m, "Program", "The steps of a product with columns, and the fields they need.")
        .def("saved", [](const Written& w, const Numbers& n) {
            require_of(n, w);
            if (w.steps.empty()) refuse("that program has no steps");
            ProgramFile file = file_of(w, n);
            const std::string bytes = bytes_of(file);
            return nb::bytes(bytes.data(), bytes.size());
        }, nb::arg("numbers"), "The bytes of a file that C++ loads.")
        .def_prop_ro("makers", &makers_of, "How the fields it needs are made, in order: a word and the first field of each.");
    nb::class_<Numbers>(m, "Numbers", "The numbers of a plan at one state, made when first needed.")
        .def("give", &give, nb::arg("field"), array("data"))
        .def("set_q", &set_q, array("q"))
        .def("set_base", [](Numbers& n, nb::handle base_) {
            const Array<double> base(base_, "base", 1);
            require_length("base", base.size(), 12);
            std::memcpy(n.base, base.data(), sizeof n.base);
            n.forget_state();
        }, array("base"))
        .def("follow", [](Numbers& n, Store& s) { n.store = &s, n.q_stamp = 0; }, nb::arg("store"), nb::keep_alive<1, 2>())
        .def("missing", &missing, nb::arg("program"), "The fields that must be given first, at the state as it is now.")
        .def("run", &run, nb::arg("program"), array("x"))
        .def("block", &block, nb::arg("program"), nb::arg("field"), nb::arg("i"), nb::arg("j"))
        .def("blocks", &blocks, nb::arg("program"), nb::arg("field"));
    m.def("plan", &make_plan, array("order"), array("parent"), array("body_offset"), array("hinge_offset"),
          nb::rv_policy::take_ownership);
    m.def("program", &make_program, nb::arg("plan"), nb::arg("spaces"), nb::arg("steps"), nb::arg("fields"),
          nb::rv_policy::take_ownership, nb::keep_alive<0, 1>());
    m.def("numbers", [](Builder& b) { return new Numbers(&b, machine()); }, nb::arg("plan"), nb::rv_policy::take_ownership,
          nb::keep_alive<0, 1>());
    m.def("record_layouts", &layouts, "How C++ lays out the records that plans are made of.");
    bind_calls(m);
}

}  // namespace program
}  // namespace soacraft
