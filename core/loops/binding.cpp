// `_core.ClosedSolver`: a compiled closed chain, its rows and its solver.
#include <atomic>
#include <chrono>

#include "call.hpp"
#include "closed_solver.hpp"

namespace soacraft {
namespace loops {
namespace {

long long shown(index i) { return i; }

void require_shape(const char* name, index got, index wanted) {
    if (got != wanted) refuse("%s has length %lld, not %lld", name, shown(got), shown(wanted));
}

void make(ClosedSolver* at, nb::handle tree, nb::handle plan) {
    if (!nb::isinstance<rigid::RigidModel>(tree)) refuse("tree must be a RigidModel");
    auto made = std::make_unique<ClosedSolver>();
    made->owner = nb::borrow(tree);
    made->tree = nb::cast<rigid::RigidModel*>(tree);
    made->stamp = made->tree->stamp;
    made->plan.tree = &made->tree->model;
    read_plan(*made, plan);
    made->room = best_kernels().room(made->plan);
    new (at) ClosedSolver(std::move(*made));
}

// Which closures and couplings are driven: the places of their numbers among `width`. False for a place out of range.
bool fit_drives(const ClosedSolver& m, const index* place, index width) {
    const auto closures = static_cast<index>(m.plan.closures.size());
    for (index i = 0; i < closures + static_cast<index>(m.plan.couplings.size()); ++i)
        if (place[i] != -1 && (place[i] < 0 || place[i] > width - (i < closures ? 12 : 2))) return false;
    return true;
}

void require_method(const ClosedSolver& m) {
    if (m.method == ROWS) refuse("this plan is one of rows: it solves nothing");
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

constexpr int MOST_LANES = 8;

// All states of a batch; `fine` (count) gets 1 where the answer stands, 0 where Python should look at the state. Returns how
// many were solved on their own, and not side by side with others.
index run(const ClosedSolver& m, nb::handle q_, nb::handle v_, nb::handle force_, nb::handle pull_, nb::handle theta_,
         nb::handle vdot_, nb::handle rest_, nb::handle followed_, nb::handle fine_, index threads, bool passive,
         nb::handle driven_, nb::handle rates_) {
    require_method(m);
    const rigid::Model& tree = m.tree->model;
    const Array<double> vdot(vdot_, "vdot", 2, true), rest(rest_, "rest", 2, true), theta(theta_, "theta", 1);
    const Array<double> followed(followed_, "followed", 2, true);
    require_shape("theta", theta.size(), m.plan.coordinates);
    const Array<index> fine(fine_, "fine", 1, true);
    const index count = fine.size(), forces = m.forces(), width = forces + 2, nv = tree.nv;
    const Input q(q_, "q", count, tree.nq), v(v_, "v", count, tree.nv), force(force_, "force", count, tree.nv);
    const Input pull(pull_, "pull", count, 6 * tree.body_count);
    if (!q.data || !v.data || !force.data) refuse("q, v and force must be given");
    if (vdot.size(0) != count || vdot.size(1) != tree.nv || rest.size(0) != count || rest.size(1) != width)
        refuse("vdot must be (%lld, %lld), rest (%lld, %lld)", shown(count), shown(tree.nv), shown(count), shown(width));
    if (followed.size(0) != count || followed.size(1) != m.plan.coordinates)
        refuse("followed must be (%lld, %lld)", shown(count), shown(m.plan.coordinates));
    std::unique_ptr<Array<index>> driven;
    std::unique_ptr<Array<double>> rates;
    std::vector<index> places;
    if (!driven_.is_none()) {
        driven = std::make_unique<Array<index>>(driven_, "driven", 1), rates = std::make_unique<Array<double>>(rates_, "rates", 2);
        require_shape("driven", driven->size(), static_cast<index>(m.plan.closures.size() + m.plan.couplings.size()));
        require_shape("rates", rates->size(0), count);
        places.assign(driven->data(), driven->data() + driven->size());  // its owner may change it meanwhile
        if (!fit_drives(m, places.data(), rates->size(1))) refuse("driven has a place out of range");
    }
    threads = threads < 1 ? 1 : threads > count ? count : threads > rigid::MOST_THREADS ? rigid::MOST_THREADS : threads;
    if (count == 0) return 0;
    for (index i = 0; i < count; ++i) fine.data()[i] = 0;
    const Kernels& kernels = best_kernels();
    const std::size_t abreast = kernels.room_abreast(m.plan), room = abreast > m.room ? abreast : m.room;
    std::vector<rigid::Workspace> spaces(static_cast<std::size_t>(threads));
    for (rigid::Workspace& space : spaces) space.hold(room);
    rigid::Job now = {};
    now.passive = m.tree->acting(passive);
    const auto held_tables = m.tree->pin(now);  // a parameter may change meanwhile
    Plan plan = m.plan;
    plan.tree = now.model;
    const auto state_at = [&](index i, Drives& drives) {
        State s = m.state(theta.data());
        s.q = q.row(i), s.v = v.row(i), s.force = force.row(i), s.pull = pull.row(i);
        s.passive = now.passive;
        drives = {places.data(), rates ? rates->data() + i * rates->size(1) : nullptr};
        s.drives = rates ? &drives : nullptr;
        return s;
    };
    const auto answer_at = [&](index i) {
        double* out = rest.data() + i * width;
        return Answer{vdot.data() + i * nv, out, out + forces, followed.data() + i * plan.coordinates};
    };
    const bool single = count == 1 || m.method == FULLY_AUGMENTED;
    std::atomic<index> alone{0};
    // Several states side by side; those that are in doubt there one by one.
    const auto work = [&](index t) {
        void* memory = spaces[static_cast<std::size_t>(t)].hold(room);
        const index last = count * (t + 1) / threads, step = single ? 1 : kernels.lanes;
        for (index first = count * t / threads; first < last; first += step) {
            State states[MOST_LANES];
            Answer answers[MOST_LANES];
            Drives drives[MOST_LANES];
            const int several = static_cast<int>(last - first < step ? last - first : step);
            for (int k = 0; k < several; ++k) states[k] = state_at(first + k, drives[k]), answers[k] = answer_at(first + k);
            const unsigned answered =
                single ? 0u : kernels.solve_abreast(plan, memory, m.method, states, answers, several);
            for (int k = 0; k < several; ++k) {
                const auto holds = [&] { return rigid::finite(answers[k].vdot, nv) && rigid::finite(answers[k].forces, width); };
                const bool beside = (answered >> k & 1u) != 0 && holds();
                if (!beside) ++alone;
                fine.data()[first + k] = beside || (kernels.solve(plan, memory, m.method, states[k], answers[k]) && holds());
            }
        }
    };
    {
        nb::gil_scoped_release free;
        rigid::share(threads, work);
    }
    return alone;
}

// The rows at one state; False where Python should look at it.
bool rows(const ClosedSolver& m, nb::handle q_, nb::handle v_, nb::handle theta_, nb::tuple outs) {
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
bool impulse(const ClosedSolver& m, nb::handle q_, nb::handle v_, nb::handle theta_, nb::handle rhs_, nb::handle dv_) {
    const rigid::Model& tree = m.tree->model;
    const Array<double> q(q_, "q", 1), v(v_, "v", 1), theta(theta_, "theta", 1), rhs(rhs_, "rhs", 1), dv(dv_, "dv", 1, true);
    require_shape("q", q.size(), tree.nq), require_shape("v", v.size(), tree.nv), require_shape("dv", dv.size(), tree.nv);
    require_shape("theta", theta.size(), m.plan.coordinates), require_shape("rhs", rhs.size(), m.forces());
    if (m.method != TREE_AUGMENTED) refuse("an impulse needs a plan of tree-augmented dynamics");
    State s = {};
    s.q = q.data(), s.v = v.data(), s.theta = theta.data();
    return best_kernels().push(m.plan, m.workspace.hold(m.room), s, rhs.data(), dv.data()) &&
           rigid::finite(dv.data(), tree.nv);
}

// -- calls ------------------------------------------------------------------------------------------------------------

// A Result without its __init__, which would cost a fifth of a call: `wrap` is its class, `frames` its source.
PyObject* new_result(const Call& c, PyObject* const* out) {
    static PyObject* const names[] = {PyUnicode_InternFromString("vdot"), PyUnicode_InternFromString("_rest"),
                                      PyUnicode_InternFromString("_source"), PyUnicode_InternFromString("_theta")};
    PyTypeObject* type = reinterpret_cast<PyTypeObject*>(c.wrap);
    PyObject* values[] = {out[0], out[1], c.frames, out[2]};
    PyObject* made = type->tp_alloc(type, 0);
    for (int i = 0; made && i < 4; ++i)
        if (values[i] && PyObject_SetAttr(made, names[i], values[i]) != 0) Py_CLEAR(made);
    return made;
}

double* data_of_new(PyObject* x) { return static_cast<double*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(x))); }

// Arrays of the places of driven closures and couplings, and of their numbers.
bool read_drives(const ClosedSolver& m, PyObject* driven, PyObject* rates, Drives& drives) {
    if (!PyArray_CheckExact(driven) || !PyArray_CheckExact(rates)) return false;
    PyArrayObject *places = reinterpret_cast<PyArrayObject*>(driven), *numbers = reinterpret_cast<PyArrayObject*>(rates);
    const auto ties = static_cast<npy_intp>(m.plan.closures.size() + m.plan.couplings.size());
    if (PyArray_TYPE(places) != NPY_INT64 || PyArray_NDIM(places) != 1 || PyArray_DIM(places, 0) != ties ||
        !PyArray_ISCARRAY_RO(places) || PyArray_NDIM(numbers) != 1)
        return false;
    const npy_intp width = PyArray_DIM(numbers, 0);
    drives = {static_cast<const index*>(PyArray_DATA(places)), data_of(rates, 1, &width)};
    return drives.rates && rigid::finite(drives.rates, width) && fit_drives(m, drives.place, width);
}

// One state, (q, v, force, theta, passive) and where some are driven (driven, rates), with contiguous float64 arrays; the
// result has vdot, [forces, residuals, q, v] and, where some closure's coordinates are followed, all of these.
PyObject* quick(const Call& c, PyObject* const* args, std::size_t given, PyObject* names) {
    const ClosedSolver& m = *static_cast<const ClosedSolver*>(c.model);
    if (!c.wrap || (given != 5 && given != 7) || names || (args[4] != Py_True && args[4] != Py_False)) return nullptr;
    const bool passive = args[4] == Py_True;
    if (m.tree->retired || m.outdated() || PyDict_GET_SIZE(c.forces) != 0 || (passive && m.tree->passive_in_python))
        return nullptr;
    const rigid::Model& tree = m.tree->model;
    const npy_intp nq = tree.nq, nv = tree.nv, filled = m.forces() + 2, width = filled + nq + nv, turns = m.plan.coordinates;
    State s = m.state(data_of(args[3], 1, &turns));
    Drives drives;
    if (given == 7) {
        if (!read_drives(m, args[5], args[6], drives)) return nullptr;
        s.drives = &drives;
    }
    s.passive = m.tree->acting(passive);
    s.q = data_of(args[0], 1, &nq), s.v = data_of(args[1], 1, &nv), s.force = data_of(args[2], 1, &nv);
    if (!s.q || !s.v || !s.force || !s.theta || !rigid::finite(s.q, nq) || !rigid::finite(s.v, nv) ||
        !rigid::finite(s.force, nv) || !rigid::unit_quaternions(m.tree->quaternions, s.q))
        return nullptr;
    PyObject* out[3] = {PyArray_SimpleNew(1, &nv, NPY_DOUBLE), nullptr, nullptr};
    if (out[0]) out[1] = PyArray_SimpleNew(1, &width, NPY_DOUBLE);
    if (out[1] && m.plan.follows) out[2] = PyArray_SimpleNew(1, &turns, NPY_DOUBLE);
    PyObject* result = nullptr;
    if (out[1] && (out[2] || !m.plan.follows)) {
        double *vdot = data_of_new(out[0]), *rest = data_of_new(out[1]), *theta = out[2] ? data_of_new(out[2]) : nullptr;
        if (best_kernels().solve(m.plan, m.workspace.hold(m.room), m.method, s, {vdot, rest, rest + m.forces(), theta}) &&
            rigid::finite(vdot, nv) && rigid::finite(rest, filled)) {
            std::memcpy(rest + filled, s.q, static_cast<std::size_t>(nq) * sizeof(double));
            std::memcpy(rest + filled + nq, s.v, static_cast<std::size_t>(nv) * sizeof(double));
            result = new_result(c, out);
        }
    }
    for (PyObject* x : out) Py_XDECREF(x);
    return result;
}

nb::object make_call(nb::handle owner, nb::handle forces, nb::handle fallback, nb::handle wrap, nb::handle source) {
    if (!nb::isinstance<ClosedSolver>(owner)) refuse("solver must be a ClosedSolver");
    ClosedSolver* solver = nb::cast<ClosedSolver*>(owner);
    require_method(*solver);
    if (!PyType_Check(wrap.ptr())) refuse("wrap must be the class of results");
    PyTypeObject* type = reinterpret_cast<PyTypeObject*>(wrap.ptr());
    if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) || type->tp_base != &PyBaseObject_Type)
        refuse("wrap must be a class of Python, without bases");
    if (source.is_none()) refuse("results need a source");
    return new_call(quick, owner, solver, nullptr, forces, fallback, source, wrap);
}

// Seconds that one solution takes, looped in C++; for benchmarks. Below zero when Python would have to look at it.
double time_solver(const ClosedSolver& m, nb::handle q_, nb::handle v_, nb::handle force_, nb::handle theta_, index repeats) {
    require_method(m);
    const rigid::Model& tree = m.tree->model;
    const Array<double> q(q_, "q", 1), v(v_, "v", 1), force(force_, "force", 1), theta(theta_, "theta", 1);
    require_shape("q", q.size(), tree.nq), require_shape("v", v.size(), tree.nv), require_shape("force", force.size(), tree.nv);
    require_shape("theta", theta.size(), m.plan.coordinates);
    State s = m.state(theta.data());
    s.passive = m.tree->acting(true);
    s.q = q.data(), s.v = v.data(), s.force = force.data();
    std::vector<double> vdot(static_cast<std::size_t>(tree.nv)), rest(static_cast<std::size_t>(m.forces() + 2));
    void* memory = m.workspace.hold(m.room);
    bool good = true;
    const auto start = std::chrono::steady_clock::now();
    for (index i = 0; i < repeats && good; ++i)
        good = best_kernels().solve(m.plan, memory, m.method, s, {vdot.data(), rest.data(), rest.data() + m.forces(), nullptr});
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    return good ? passed.count() / static_cast<double>(repeats) : -1.0;
}

}  // namespace

void bind_method(nb::module_& m);       // method.cpp
void bind_motion(nb::module_& m);       // motion_binding.cpp
void bind_assembly(nb::module_& m);     // assembly_binding.cpp
void bind_derivatives(nb::module_& m);  // derivatives_binding.cpp

void bind(nb::module_& m) {
    bind_method(m), bind_motion(m), bind_assembly(m), bind_derivatives(m);
    const auto array = [](const char* name) { return nb::arg(name).none(); };
    nb::class_<ClosedSolver>(m, "ClosedSolver", "A compiled closed chain: its rows, and its solver. It never changes.")
        .def("__init__", &make, nb::arg("tree").none(), nb::arg("plan").none(), "Compile a plan for a tree.")
        .def_prop_ro("size", [](const ClosedSolver& c) { return c.plan.size; })
        .def_prop_ro("outdated", [](const ClosedSolver& c) { return c.outdated(); }, "Whether a parameter of the tree changed.")
        .def("run", &run, array("q"), array("v"), array("force"), array("pull"), array("theta"), array("vdot"), array("rest"),
             array("followed"), array("fine"), nb::arg("threads") = 1, nb::arg("passive") = false, nb::arg("driven") = nb::none(), nb::arg("rates") = nb::none(),
             "Solve a batch of states.")
        .def("impulse", &impulse, array("q"), array("v"), array("theta"), array("rhs"), array("dv"),
             "The jump of velocities that closes the rows by rhs, with the least kinetic energy.")
        .def("rows", &rows, array("q"), array("v"), array("theta"), nb::arg("outs"), "The rows at one state.")
        .def("time", &time_solver, array("q"), array("v"), array("force"), array("theta"), nb::arg("repeats"),
             "Seconds of one solution, looped here.");
    m.def("closed_call", &make_call, nb::arg("solver"), nb::arg("forces"), nb::arg("fallback"), nb::arg("wrap"),
          nb::arg("source").none(), "A call (q, v, force, theta, passive) on single states; what it is not sure of goes to a Python function.");
}

}  // namespace loops
}  // namespace soacraft
