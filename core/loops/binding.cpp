// `_core.ClosedModel`: a compiled closed chain, its rows and its solvers.
#include <chrono>

#include "call.hpp"
#include "closed_model.hpp"
#include "soacraft/loops/make_plan.hpp"

namespace soacraft {
namespace loops {
namespace {

long long shown(index i) { return i; }

void require_shape(const char* name, index got, index wanted) {
    if (got != wanted) refuse("%s has length %lld, not %lld", name, shown(got), shown(wanted));
}

Method method_of(index number) {
    if (number < 0 || number >= METHODS) refuse("there is no method %lld", shown(number));
    return static_cast<Method>(number);
}

void read_place(const double* x, double* R, double* p) {
    for (int i = 0; i < 9; ++i) R[i] = x[i];
    for (int i = 0; i < 3; ++i) p[i] = x[9 + i];
}

constexpr index WHOLE = 10, REAL = 73;  // numbers of a closure in the arrays that describe it

void read_closures(Plan& plan, nb::handle whole_, nb::handle real_) {
    const Array<index> whole(whole_, "closure_whole", 2);
    const Array<double> real(real_, "closure_real", 2);
    require_shape("closure_real", real.size(0), whole.size(0));
    if (whole.size(1) != WHOLE || real.size(1) != REAL) refuse("a closure has %lld and %lld numbers", shown(WHOLE), shown(REAL));
    const auto hinges = static_cast<index>(plan.hinges.size());
    for (index i = 0; i < whole.size(0); ++i) {
        const index* w = whole.data() + WHOLE * i;
        const double* r = real.data() + REAL * i;
        Closure c = {};
        c.a.element = w[0], c.b.element = w[1], c.body_a = w[2], c.body_b = w[3];
        c.fit = w[4], c.first = w[5], c.last = w[6], c.theta = w[7], c.rows = w[8], c.fixed = w[9], c.row = plan.size;
        const rigid::Model& tree = *plan.tree;
        const auto off = [](index x, index n) { return x < -1 || x >= n; };
        const index dofs = c.fit == BALL ? 3 : c.last - c.first;
        if (off(c.a.element, tree.count) || off(c.b.element, tree.count) || off(c.body_a, tree.body_count) ||
            off(c.body_b, tree.body_count) || c.fit < WELD || c.fit > CHAIN || c.first < 0 || c.last < c.first ||
            c.last > hinges || dofs > 5 || c.rows != 6 - dofs || c.theta < 0 ||
            c.theta > plan.coordinates - (c.fit == BALL ? 4 : dofs) || (c.fit == WELD) != (dofs == 0) ||
            ((c.fit == TURN || c.fit == SLIDE) && dofs != 1) || (c.fit != CHAIN && !c.fixed))
            refuse("closure %lld is not one of this tree", shown(i));
        read_place(r, c.a.R, c.a.p), read_place(r + 12, c.b.R, c.b.p), read_place(r + 24, c.R, c.p);
        for (int k = 0; k < 36; ++k) c.Q[k] = r[36 + k];
        c.length = r[72];
        plan.size += c.rows;
        plan.follows = plan.follows || c.fit == CHAIN;
        plan.closures.push_back(c);
    }
}

void read_hinges(Plan& plan, nb::handle whole_, nb::handle real_) {
    const Array<index> whole(whole_, "hinge_whole", 2);
    const Array<double> real(real_, "hinge_real", 2);
    require_shape("hinge_real", real.size(0), whole.size(0));
    if (whole.size(1) != 2 || real.size(1) != 14) refuse("an element of a closure's hinge has 2 and 14 numbers");
    for (index i = 0; i < whole.size(0); ++i) {
        const double* r = real.data() + 14 * i;
        Element e = {};
        e.kind = whole.data()[2 * i], e.q = whole.data()[2 * i + 1];
        if (e.kind < rigid::REVOLUTE || e.kind > rigid::HELICAL || e.q < 0 || e.q >= plan.coordinates)
            refuse("element %lld of a closure's hinge is no screw", shown(i));
        read_place(r, e.R, e.p);
        e.scale = r[12], e.unscale = 1.0 / r[12], e.pitch = r[13];
        plan.hinges.push_back(e);
    }
}

void read_couplings(Plan& plan, nb::handle whole_, nb::handle real_, nb::handle offsets_, nb::handle sizes_) {
    const Array<index> whole(whole_, "term_whole", 2);
    const Array<double> real(real_, "term_real", 2), offsets(offsets_, "offsets", 1), sizes(sizes_, "sizes", 1);
    require_shape("term_real", real.size(0), whole.size(0)), require_shape("sizes", sizes.size(), offsets.size());
    if (whole.size(1) != 4) refuse("a term has 4 whole numbers");
    for (index i = 0; i < offsets.size(); ++i)
        plan.couplings.push_back({{}, offsets.data()[i], sizes.data()[i], plan.size++});
    const rigid::Model& tree = *plan.tree;
    for (index i = 0; i < whole.size(0); ++i) {
        const index* w = whole.data() + 4 * i;
        Term term = {};
        term.element = w[1], term.v = w[2], term.q = w[3];
        if (w[0] < 0 || w[0] >= offsets.size() || term.element < 0 || term.element >= tree.count || term.v < 0 ||
            term.v >= tree.nv || term.q < 0 || term.q >= tree.nq)
            refuse("term %lld is not one of this tree", shown(i));
        const Element& e = tree.elements[term.element];
        if (term.v < e.v || term.v >= e.v + rigid::dofs(e.kind)) refuse("term %lld is on another element", shown(i));
        term.d = e.d + term.v - e.v;
        term.c.assign(real.data() + real.size(1) * i, real.data() + real.size(1) * (i + 1));
        plan.couplings[static_cast<std::size_t>(w[0])].terms.push_back(std::move(term));
    }
}

ClosedModel* make(nb::handle tree, nb::handle closure_whole, nb::handle closure_real, nb::handle hinge_whole,
                  nb::handle hinge_real, nb::handle term_whole, nb::handle term_real, nb::handle offsets,
                  nb::handle sizes, nb::handle units, index coordinates, double length, double inertia, double closed,
                  double rank, double doubtful, double pivot, double rounding) {
    if (!nb::isinstance<rigid::RigidModel>(tree)) refuse("tree must be a RigidModel");
    auto made = std::make_unique<ClosedModel>();
    made->owner = nb::borrow(tree);
    made->tree = nb::cast<rigid::RigidModel*>(tree);
    Plan& plan = made->plan;
    made->stamp = made->tree->stamp;
    plan.tree = &made->tree->model;
    if (coordinates < 0 || coordinates > 6 * Array<index>(closure_whole, "closure_whole", 2).size(0))
        refuse("coordinates must be no fewer than none and no more than 6 of each closure");
    const Array<double> unit(units, "units", 1);
    require_shape("units", unit.size(), plan.tree->nv);
    plan.unit.assign(unit.data(), unit.data() + unit.size());
    plan.coordinates = coordinates, plan.length = length, plan.inertia = inertia;
    plan.tolerances = {closed, rank, doubtful, pivot, rounding};
    made->theta.assign(static_cast<std::size_t>(coordinates), 0.0);
    made->found = made->theta;
    read_hinges(plan, hinge_whole, hinge_real);
    read_closures(plan, closure_whole, closure_real);
    read_couplings(plan, term_whole, term_real, offsets, sizes);
    complete(plan);
    made->room = best_kernels().room(plan);
    return made.release();
}

std::vector<index> indices(nb::handle source, const char* name, index size, index least, index most) {
    const Array<index> given(source, name, 1);
    require_shape(name, given.size(), size);
    std::vector<index> found(given.data(), given.data() + size);
    for (index x : found)
        if (x < least || x > most) refuse("%s has an entry %lld out of range", name, shown(x));
    return found;
}

void set_groups(ClosedModel& m, nb::handle of_element, nb::handle of_closure, nb::handle of_coupling) {
    Plan& plan = m.plan;
    const index n = plan.tree->count;
    const auto closures = static_cast<index>(plan.closures.size()), couplings = static_cast<index>(plan.couplings.size());
    const std::vector<index> elements = indices(of_element, "of_element", n, -1, n);
    const std::vector<index> tied = indices(of_closure, "of_closure", closures, -1, n);
    const std::vector<index> coupled = indices(of_coupling, "of_coupling", couplings, -1, n);
    const Change change(m);
    plan.group_size = 0;
    m.ready[CONSTRAINT_EMBEDDING] = false;
    find_groups(plan, elements, tied, coupled);
    for (const Coupling& c : plan.couplings)
        for (const Term& term : c.terms) {
            const auto number = static_cast<std::size_t>(&c - plan.couplings.data());
            bool found = false;
            for (const Group& g : plan.groups)
                for (index i : g.couplings)
                    if (static_cast<std::size_t>(i) == number)
                        for (index k : g.elements) found = found || k == term.element;
            if (!found) {
                plan.groups.clear();
                refuse("coupling %lld reaches out of its group", shown(static_cast<index>(number)));
            }
        }
    for (const Group& g : plan.groups)
        for (std::size_t i = 0; i < g.elements.size(); ++i)
            if (g.inboard[i] < 0 && plan.tree->elements[g.elements[i]].parent != g.parent) {
                plan.groups.clear();
                refuse("a group hangs from several elements");
            }
    m.room = best_kernels().room(plan);
}

// Which dofs of the user's are dependent; from then on constraint embedding is ready.
void set_dependent(ClosedModel& m, nb::handle mask_) {
    Plan& plan = m.plan;
    const std::vector<index> mask = indices(mask_, "mask", plan.tree->nv, 0, 1);
    const Change change(m);
    m.ready[CONSTRAINT_EMBEDDING] = false;
    if (plan.groups.empty()) refuse("there are no groups");
    for (Group& g : plan.groups) {
        g.dependent.clear(), g.independent.clear();
        for (std::size_t i = 0; i < g.dofs.size(); ++i) {
            const index user = plan.user_dof[static_cast<std::size_t>(g.dofs[i])];
            (mask[static_cast<std::size_t>(user)] ? g.dependent : g.independent).push_back(static_cast<index>(i));
        }
        if (g.dependent.size() > g.rows.size()) refuse("a group has more dependent dofs than rows");
    }
    m.ready[CONSTRAINT_EMBEDDING] = true;
}

// What rounding of the compliance of each row is measured by; from then on the tree-augmented solver is ready.
void set_reference(ClosedModel& m, nb::handle reference_) {
    const Array<double> reference(reference_, "reference", 1);
    require_shape("reference", reference.size(), m.plan.size);
    const Change change(m);
    for (index i = 0; i < m.plan.size; ++i) {
        const double x = reference.data()[i];
        m.plan.scale[static_cast<std::size_t>(i)] = x > 0.0 ? 1.0 / std::sqrt(x) : 1.0;
    }
    m.ready[TREE_AUGMENTED] = true;
}

void set_theta(ClosedModel& m, nb::handle theta_) {
    const Array<double> theta(theta_, "theta", 1);
    require_shape("theta", theta.size(), m.plan.coordinates);
    const Change change(m);
    m.theta.assign(theta.data(), theta.data() + theta.size());
}

void set_gravity(ClosedModel& m, nb::handle gravity_) {
    const Array<double> gravity(gravity_, "gravity", 1);
    require_shape("gravity", gravity.size(), 3);
    const Change change(m);
    for (int i = 0; i < 3; ++i) m.base[3 + i] = -gravity.data()[i];
}

// One array of a batch: (count, width).
struct Input {
    std::unique_ptr<Array<double>> held;
    const double* data = nullptr;
    index step = 0;
    Input(nb::handle given, const char* name, index count, index width) {
        if (given.is_none()) return;
        held = std::make_unique<Array<double>>(given, name, 2);
        require_shape(name, held->size(1), width);
        if (held->size(0) != 1) require_shape(name, held->size(0), count);
        data = held->data(), step = held->size(0) == 1 ? 0 : width;
    }
    const double* row(index i) const { return data ? data + i * step : nullptr; }
};

// All states of a batch; `fine` (count) gets 1 where the answer stands, 0 where Python should look at the state.
void run(ClosedModel& m, index number, nb::handle q_, nb::handle v_, nb::handle force_, nb::handle pull_, nb::handle vdot_,
         nb::handle rest_, nb::handle fine_, index threads, bool passive) {
    const Method method = method_of(number);
    if (!m.ready[method]) refuse("method %lld is not ready", shown(number));
    const rigid::Model& tree = m.tree->model;
    const Array<double> vdot(vdot_, "vdot", 2, true), rest(rest_, "rest", 2, true);
    const Array<index> fine(fine_, "fine", 1, true);
    const index count = fine.size(), forces = m.forces(), width = forces + 2, nv = tree.nv;
    const Input q(q_, "q", count, tree.nq), v(v_, "v", count, tree.nv), force(force_, "force", count, tree.nv);
    const Input pull(pull_, "pull", count, 6 * tree.body_count);
    if (!q.data || !v.data || !force.data) refuse("q, v and force must be given");
    if (vdot.size(0) != count || vdot.size(1) != tree.nv || rest.size(0) != count || rest.size(1) != width)
        refuse("vdot must be (%lld, %lld), rest (%lld, %lld)", shown(count), shown(tree.nv), shown(count), shown(width));
    threads = threads < 1 ? 1 : threads > count ? count : threads > rigid::MOST_THREADS ? rigid::MOST_THREADS : threads;
    if (count == 0) return;
    for (index i = 0; i < count; ++i) fine.data()[i] = 0;
    std::vector<rigid::Workspace> spaces(static_cast<std::size_t>(threads));
    const std::size_t held = m.room;
    for (rigid::Workspace& space : spaces) space.hold(held);
    const Kernels& kernels = best_kernels();
    rigid::Job now = {};
    now.passive = m.tree->acting(passive);
    const auto held_tables = m.tree->pin(now);  // a parameter may change meanwhile
    Plan plan;
    std::vector<double> followed(count == 1 && m.plan.follows ? m.theta.size() : 0);
    double* theta = followed.empty() ? nullptr : followed.data();
    const auto work = [&](index t) {
        void* memory = spaces[static_cast<std::size_t>(t)].hold(held);
        for (index i = count * t / threads; i < count * (t + 1) / threads; ++i) {
            State s = m.state();
            s.q = q.row(i), s.v = v.row(i), s.force = force.row(i), s.pull = pull.row(i);
            s.passive = now.passive;
            double* out = rest.data() + i * width;
            const bool good = kernels.solve(plan, memory, method, s, {vdot.data() + i * nv, out, out + forces, theta});
            fine.data()[i] = good && rigid::finite(vdot.data() + i * nv, nv) && rigid::finite(out, width);
        }
    };
    nb::gil_scoped_release free;
    const std::lock_guard<std::mutex> lock(m.changing);
    if (!m.ready[method] || held != m.room) return;  // changed before the lock: Python looks at all states
    plan = m.plan, plan.tree = now.model;
    rigid::share(threads, work);
    if (theta && fine.data()[0]) m.theta.swap(followed);
}

// The rows at one state; False where Python should look at it.
bool rows(ClosedModel& m, nb::handle q_, nb::handle v_, nb::handle theta_, nb::tuple outs) {
    const rigid::Model& tree = m.tree->model;
    const Array<double> q(q_, "q", 1), v(v_, "v", 1), theta(theta_, "theta", 1);
    require_shape("q", q.size(), tree.nq), require_shape("v", v.size(), tree.nv);
    require_shape("theta", theta.size(), m.plan.coordinates);
    const auto loops = static_cast<index>(m.plan.closures.size());
    const index size = m.plan.size;
    index tied = 0;
    for (const Closure& c : m.plan.closures) tied += c.rows;
    const index lengths[] = {m.plan.coordinates, 6 * loops, 6 * tied, 9 * loops, size, size, size, size, 6 * tied, 6 * tied,
                             size * tree.nv};
    if (outs.size() != 11) refuse("rows has 11 outputs");
    double* to[11];
    std::vector<std::unique_ptr<Array<double>>> held;
    for (std::size_t i = 0; i < 11; ++i) {
        held.push_back(std::make_unique<Array<double>>(outs[i], "out", 1, true));
        require_shape("out", held.back()->size(), lengths[i]);
        to[i] = held.back()->data();
    }
    State s = {};
    s.q = q.data(), s.v = v.data(), s.theta = theta.data();
    return best_kernels().rows(m.plan, m.workspace.hold(m.room), s,
                               {to[0], to[1], to[2], to[3], to[4], to[5], to[6], to[7], to[8], to[9], to[10]});
}

// The jump of velocities that closes the rows by `rhs` (a twist of each closure's b in its axes, a number for each
// coupling), into `dv`; False where Python should look at it.
bool impulse(ClosedModel& m, nb::handle q_, nb::handle v_, nb::handle theta_, nb::handle rhs_, nb::handle dv_) {
    const rigid::Model& tree = m.tree->model;
    const Array<double> q(q_, "q", 1), v(v_, "v", 1), theta(theta_, "theta", 1), rhs(rhs_, "rhs", 1), dv(dv_, "dv", 1, true);
    require_shape("q", q.size(), tree.nq), require_shape("v", v.size(), tree.nv), require_shape("dv", dv.size(), tree.nv);
    require_shape("theta", theta.size(), m.plan.coordinates), require_shape("rhs", rhs.size(), m.forces());
    if (!m.ready[TREE_AUGMENTED]) return false;
    State s = {};
    s.q = q.data(), s.v = v.data(), s.theta = theta.data();
    return best_kernels().push(m.plan, m.workspace.hold(m.room), s, rhs.data(), dv.data()) &&
           rigid::finite(dv.data(), tree.nv);
}

// -- calls ------------------------------------------------------------------------------------------------------------

const Method numbers[METHODS] = {TREE_AUGMENTED, CONSTRAINT_EMBEDDING};

// A Result without its __init__, which would cost a fifth of a call: `wrap` is its class, `frames` a list with the source.
PyObject* new_result(const Call& c, PyObject* const* out) {
    static PyObject* const names[] = {PyUnicode_InternFromString("vdot"), PyUnicode_InternFromString("_rest"),
                                      PyUnicode_InternFromString("_source")};
    PyTypeObject* type = reinterpret_cast<PyTypeObject*>(c.wrap);
    if (PyList_GET_SIZE(c.frames) != 1) return nullptr;
    PyObject* values[] = {out[0], out[1], PyList_GET_ITEM(c.frames, 0)};
    PyObject* made = type->tp_alloc(type, 0);
    for (int i = 0; made && i < 3; ++i)
        if (PyObject_SetAttr(made, names[i], values[i]) != 0) Py_CLEAR(made);
    return made;
}

// Whether nothing was said by name but passive=True or passive=False.
bool only_passive(PyObject* const* values, PyObject* names, bool& passive) {
    const Py_ssize_t said = names ? PyTuple_GET_SIZE(names) : 0;
    if (said == 0) return true;
    if (said > 1 || PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), "passive") != 0) return false;
    passive = values[0] == Py_True;
    return passive || values[0] == Py_False;
}

// One state, as three contiguous float64 arrays; the result has vdot and [forces, residuals, q].
PyObject* quick(const Call& c, PyObject* const* args, std::size_t given, PyObject* names) {
    ClosedModel& m = *static_cast<ClosedModel*>(c.model);
    const Method method = *static_cast<const Method*>(c.kernel);
    bool passive = true;
    if (!c.wrap || given != 3 || !only_passive(args + 3, names, passive) || m.tree->retired || m.outdated() || !m.ready[method] ||
        PyDict_GET_SIZE(c.forces) != 0 || (passive && m.tree->passive_in_python))
        return nullptr;
    const rigid::Model& tree = m.tree->model;
    const npy_intp nq = tree.nq, nv = tree.nv, filled = m.forces() + 2, width = filled + nq;
    State s = m.state();
    s.passive = m.tree->acting(passive);
    s.q = data_of(args[0], 1, &nq), s.v = data_of(args[1], 1, &nv), s.force = data_of(args[2], 1, &nv);
    if (!s.q || !s.v || !s.force || !rigid::finite(s.q, nq) || !rigid::finite(s.v, nv) || !rigid::finite(s.force, nv) ||
        !rigid::unit_quaternions(m.tree->quaternions, s.q))
        return nullptr;
    PyObject* out[2] = {PyArray_SimpleNew(1, &nv, NPY_DOUBLE), nullptr};
    if (out[0]) out[1] = PyArray_SimpleNew(1, &width, NPY_DOUBLE);
    PyObject* result = nullptr;
    if (out[1]) {
        double* vdot = static_cast<double*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(out[0])));
        double* rest = static_cast<double*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(out[1])));
        double* theta = m.plan.follows ? m.found.data() : nullptr;
        if (best_kernels().solve(m.plan, m.workspace.hold(m.room), method, s, {vdot, rest, rest + m.forces(), theta}) &&
            rigid::finite(vdot, nv) && rigid::finite(rest, filled)) {
            if (theta && m.changing.try_lock()) {  // while a batch runs, they stay
                m.theta.swap(m.found);
                m.changing.unlock();
            }
            std::memcpy(rest + filled, s.q, static_cast<std::size_t>(nq) * sizeof(double));
            result = new_result(c, out);
        }
    }
    Py_XDECREF(out[0]);
    Py_XDECREF(out[1]);
    return result;
}

nb::object make_call(nb::handle owner, index number, nb::handle forces, nb::handle fallback, nb::handle wrap,
                     nb::handle source) {
    if (!nb::isinstance<ClosedModel>(owner)) refuse("model must be a ClosedModel");
    ClosedModel* model = nb::cast<ClosedModel*>(owner);
    const Method method = method_of(number);
    if (!PyType_Check(wrap.ptr())) refuse("wrap must be the class of results");
    PyTypeObject* type = reinterpret_cast<PyTypeObject*>(wrap.ptr());
    if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || type->tp_base != &PyBaseObject_Type)
        refuse("wrap must be a class of Python, without bases");
    if (!PyList_CheckExact(source.ptr()) || PyList_GET_SIZE(source.ptr()) != 1) refuse("source must be a list of one");
    return new_call(quick, owner, model, &numbers[method], forces, fallback, source, wrap);
}

// Seconds that one solution takes, looped in C++; for benchmarks. Below zero when Python would have to look at it.
double time_solver(ClosedModel& m, index number, nb::handle q_, nb::handle v_, nb::handle force_, index repeats) {
    const Method method = method_of(number);
    if (!m.ready[method]) refuse("method %lld is not ready", shown(number));
    const rigid::Model& tree = m.tree->model;
    const Array<double> q(q_, "q", 1), v(v_, "v", 1), force(force_, "force", 1);
    require_shape("q", q.size(), tree.nq), require_shape("v", v.size(), tree.nv), require_shape("force", force.size(), tree.nv);
    State s = m.state();
    s.passive = m.tree->acting(true);
    s.q = q.data(), s.v = v.data(), s.force = force.data();
    std::vector<double> vdot(static_cast<std::size_t>(tree.nv)), rest(static_cast<std::size_t>(m.forces() + 2));
    void* memory = m.workspace.hold(m.room);
    bool good = true;
    const auto start = std::chrono::steady_clock::now();
    for (index i = 0; i < repeats && good; ++i)
        good = best_kernels().solve(m.plan, memory, method, s, {vdot.data(), rest.data(), rest.data() + m.forces(), nullptr});
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    return good ? passed.count() / static_cast<double>(repeats) : -1.0;
}

}  // namespace

void bind(nb::module_& m) {
    const auto array = [](const char* name) { return nb::arg(name).none(); };
    nb::class_<ClosedModel>(m, "ClosedModel", "A compiled closed chain.")
        .def_prop_ro("size", [](const ClosedModel& c) { return c.plan.size; })
        .def_prop_ro("outdated", [](const ClosedModel& c) { return c.outdated(); }, "Whether a parameter of the tree changed.")
        .def("set_groups", &set_groups, array("of_element"), array("of_closure"), array("of_coupling"))
        .def("set_dependent", &set_dependent, array("mask"))
        .def("set_reference", &set_reference, array("reference"))
        .def("theta", [](const ClosedModel& c) {
            nb::object copy = new_vector(c.plan.coordinates);
            const Array<double> to(copy, "theta", 1, true);
            for (std::size_t i = 0; i < c.theta.size(); ++i) to.data()[i] = c.theta[i];
            return copy;
        }, "The coordinates of the closures' hinges, as followed last.")
        .def("set_theta", &set_theta, array("theta"))
        .def("set_gravity", &set_gravity, array("gravity"))
        .def("unready", [](ClosedModel& c, index number) { c.ready[method_of(number)] = false; }, nb::arg("method"))
        .def("run", &run, nb::arg("method"), array("q"), array("v"), array("force"), array("pull"), array("vdot"),
             array("rest"), array("fine"), nb::arg("threads") = 1, nb::arg("passive") = false, "Solve a batch of states.")
        .def("impulse", &impulse, array("q"), array("v"), array("theta"), array("rhs"), array("dv"),
             "The jump of velocities that closes the rows by rhs, with the least kinetic energy.")
        .def("rows", &rows, array("q"), array("v"), array("theta"), nb::arg("outs"), "The rows at one state.")
        .def("time", &time_solver, nb::arg("method"), array("q"), array("v"), array("force"), nb::arg("repeats"),
             "Seconds of one solution, looped here.");
    m.def("closed_model", &make, nb::arg("tree"), array("closure_whole"), array("closure_real"), array("hinge_whole"),
          array("hinge_real"), array("term_whole"), array("term_real"), array("offsets"), array("sizes"), array("units"),
          nb::arg("coordinates"), nb::arg("length"), nb::arg("inertia"), nb::arg("closed"), nb::arg("rank"),
          nb::arg("doubtful"), nb::arg("pivot"), nb::arg("rounding"), nb::rv_policy::take_ownership, "Compile a closed chain from its tree and its closures.");
    m.def("closed_call", &make_call, nb::arg("model"), nb::arg("method"), nb::arg("forces"), nb::arg("fallback"),
          nb::arg("wrap"), nb::arg("source"), "A call of one method on single states that falls back to a Python function.");
}

}  // namespace loops
}  // namespace soacraft
