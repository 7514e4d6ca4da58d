// `_core.ClosedSolver`: a compiled closed chain, its rows and its solver.
#include <atomic>
#include <chrono>

#include "drives.hpp"
#include "rigid/results.hpp"
#include "single.hpp"

namespace soacraft {
namespace loops {
namespace {

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

void require_method(const ClosedSolver& m) {
    if (m.method == ROWS) refuse("this plan is one of rows: it solves nothing");
}

constexpr int MOST_LANES = 8;

// All states of a batch; `fine` (count) gets 1 where the answer stands, 0 where Python should look at the state. Returns how
// many were solved on their own, and not side by side with others.
index run(const ClosedSolver& m, nb::handle q_, nb::handle v_, nb::handle force_, nb::handle pull_, nb::handle theta_,
         nb::handle vdot_, nb::handle rest_, nb::handle followed_, nb::handle fine_, index threads, bool passive,
         nb::handle driven_, nb::handle rates_) {
    require_method(m);
    const rigid::Model& tree = m.tree->model;
    const Array<double> theta(theta_, "theta", 1);
    require_length("theta", theta.size(), m.plan.coordinates);
    const Array<index> fine(fine_, "fine", 1, true);
    const index count = fine.size(), forces = m.forces(), width = forces + 2, nv = tree.nv;
    const Batch q(q_, "q", count, tree.nq), v(v_, "v", count, nv), force(force_, "force", count, nv);
    const Batch pull(pull_, "pull", count, pull_width(tree));
    if (!q.held || !v.held || !force.held) refuse("q, v and force must be given");
    const Batch vdot(vdot_, "vdot", count, nv, true), rest(rest_, "rest", count, width, true);
    const Batch followed(followed_, "followed", count, m.plan.coordinates, true);
    const DrivenBatch driven(m, driven_, rates_, count);
    const Kernels& kernels = best_kernels();
    const std::size_t abreast = kernels.room_abreast(m.plan), room = abreast > m.room ? abreast : m.room;
    const bool single = count == 1 || m.method == FULLY_AUGMENTED;
    const index step = single ? 1 : kernels.lanes;
    std::atomic<index> alone{0};
    // Several states side by side; those that are in doubt there one by one.
    share_states(m, passive, room, threads, fine, [&](const Part& part, index first, index last) {
        for (; first < last; first += step) {
            State states[MOST_LANES];
            Answer answers[MOST_LANES];
            Drives drives[MOST_LANES];
            const int several = static_cast<int>(last - first < step ? last - first : step);
            for (int k = 0; k < several; ++k) {
                const index i = first + k;
                State& s = states[k] = m.state(theta.data());
                s.q = q.row(i), s.v = v.row(i), s.force = force.row(i), s.pull = pull.row(i);
                s.passive = part.passive, s.drives = driven.at(i, drives[k]);
                answers[k] = {vdot.row(i), rest.row(i), rest.row(i) + forces, followed.row(i)};
            }
            const unsigned answered =
                single ? 0u : kernels.solve_abreast(part.plan, part.memory, m.method, states, answers, several);
            for (int k = 0; k < several; ++k) {
                const auto holds = [&] { return rigid::finite(answers[k].vdot, nv) && rigid::finite(answers[k].forces, width); };
                const bool abreast_too = (answered >> k & 1u) != 0 && holds();
                if (!abreast_too) ++alone;
                fine.data()[first + k] = (abreast_too ||
                    (kernels.solve(part.plan, part.memory, m.method, states[k], answers[k]) && holds())) &&
                    !m.tree->bends_far(states[k].q);
            }
        }
    });
    return alone;
}

// The rows at one state; False where Python should look at it.
bool rows(const ClosedSolver& m, nb::handle q_, nb::handle v_, nb::handle theta_, nb::tuple outs) {
    const rigid::Model& tree = m.tree->model;
    const Array<double> q(q_, "q", 1), v(v_, "v", 1), theta(theta_, "theta", 1);
    require_length("q", q.size(), tree.nq), require_length("v", v.size(), tree.nv);
    require_length("theta", theta.size(), m.plan.coordinates);
    const auto loops = static_cast<index>(m.plan.closures.size());
    const index size = m.plan.size;
    index tied = 0;
    for (const Closure& c : m.plan.closures) tied += c.rows;
    const index lengths[] = {m.plan.coordinates, 6 * loops, 6 * tied, 9 * loops, size, size, size, size, 6 * tied, 6 * tied,
                             size * tree.nv, tree.nv, tree.nv, loops * tree.nv, loops * tree.nv, 1};
    constexpr std::size_t OUTPUTS = sizeof lengths / sizeof *lengths;
    if (outs.size() != OUTPUTS) refuse("rows has %lld outputs", shown(OUTPUTS));
    double* to[OUTPUTS];
    std::vector<std::unique_ptr<Array<double>>> held;
    for (std::size_t i = 0; i < OUTPUTS; ++i) {
        held.push_back(std::make_unique<Array<double>>(outs[i], "out", 1, true));
        require_length("out", held.back()->size(), lengths[i]);
        to[i] = held.back()->data();
    }
    State s = {};
    s.q = q.data(), s.v = v.data(), s.theta = theta.data();
    return best_kernels().rows(m.plan, m.workspace.hold(m.room), s,
                               {to[0], to[1], to[2], to[3], to[4], to[5], to[6], to[7], to[8], to[9], to[10], to[11], to[12],
                                to[13], to[14], to[15]});
}

// Whether a state is on its closures and moves as they allow; False where Python should look at it.
bool is_closed(const ClosedSolver& m, nb::handle q_, nb::handle v_, nb::handle force_, nb::handle theta_, bool passive) {
    const rigid::Model& tree = m.tree->model;
    const Array<double> q(q_, "q", 1), v(v_, "v", 1), force(force_, "force", 1), theta(theta_, "theta", 1);
    require_length("q", q.size(), tree.nq), require_length("v", v.size(), tree.nv), require_length("force", force.size(), tree.nv);
    require_length("theta", theta.size(), m.plan.coordinates);
    if (m.outdated() || (passive && m.tree->passive_in_python)) return false;
    State s = m.state(theta.data());
    s.q = q.data(), s.v = v.data(), s.force = force.data(), s.passive = m.tree->acting(passive);
    return best_kernels().is_closed(m.plan, m.workspace.hold(m.room), s);
}

// What rounding of each row is measured by at q, into `to`; False where Python should look at it.
bool compliance(const ClosedSolver& m, nb::handle q_, nb::handle theta_, nb::handle to_) {
    const rigid::Model& tree = m.tree->model;
    const Array<double> q(q_, "q", 1), theta(theta_, "theta", 1), to(to_, "to", 1, true);
    require_length("q", q.size(), tree.nq), require_length("theta", theta.size(), m.plan.coordinates);
    require_length("to", to.size(), m.plan.size);
    if (m.outdated()) return false;
    const std::vector<double> still(static_cast<std::size_t>(tree.nv), 0.0);
    State s = {};
    s.q = q.data(), s.v = still.data(), s.theta = theta.data();
    return best_kernels().compliance(m.plan, m.workspace.hold(m.room), s, to.data()) && rigid::finite(to.data(), m.plan.size);
}

// The jump of velocities that closes the rows by `rhs` (a twist of each closure's b in its axes, a number for each
// coupling), into `dv`; False where Python should look at it.
bool impulse(const ClosedSolver& m, nb::handle q_, nb::handle v_, nb::handle theta_, nb::handle rhs_, nb::handle dv_) {
    const rigid::Model& tree = m.tree->model;
    const Array<double> q(q_, "q", 1), v(v_, "v", 1), theta(theta_, "theta", 1), rhs(rhs_, "rhs", 1), dv(dv_, "dv", 1, true);
    require_length("q", q.size(), tree.nq), require_length("v", v.size(), tree.nv), require_length("dv", dv.size(), tree.nv);
    require_length("theta", theta.size(), m.plan.coordinates), require_length("rhs", rhs.size(), m.forces());
    if (m.method != TREE_AUGMENTED) refuse("an impulse needs a plan of tree-augmented dynamics");
    State s = {};
    s.q = q.data(), s.v = v.data(), s.theta = theta.data();
    return best_kernels().push(m.plan, m.workspace.hold(m.room), s, rhs.data(), dv.data()) &&
           rigid::finite(dv.data(), tree.nv);
}

// -- calls ------------------------------------------------------------------------------------------------------------

// What a result has: it is made without a call of Python.
constexpr int RESULT_SLOTS = 6;
const char* const result_slots[RESULT_SLOTS] = {"vdot", "_numbers", "_source", "_theta", "_loads", "_passive"};

// A Result without its __init__, which would cost a fifth of a call: `wrap` is its class, `frames` its source.
PyObject* new_result(const Call& c, PyObject* const* out, PyObject* passive) {
    PyTypeObject* type = reinterpret_cast<PyTypeObject*>(c.wrap);
    PyObject* const values[RESULT_SLOTS] = {out[0], out[1], c.frames, out[2] ? out[2] : Py_None, Py_None, passive};
    PyObject* made = type->tp_alloc(type, 0);
    for (int i = 0; made && i < RESULT_SLOTS; ++i)
        *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(made) + c.slots[i]) = Py_NewRef(values[i]);
    return made;
}

// One state, (q, v, force, theta, passive) and where some are driven (driven, rates), with contiguous float64 arrays; the
// result has vdot, the bytes of [forces, residuals, q, v] and, where some closure's coordinates are followed, all of these.
PyObject* quick(const Call& c, PyObject* const* args, std::size_t given, PyObject* names) {
    const ClosedSolver& m = *static_cast<const ClosedSolver*>(c.model);
    if (!c.wrap || (given != 5 && given != 7) || names || m.tree->retired || m.outdated()) return nullptr;
    const rigid::Model& tree = m.tree->model;
    const npy_intp nq = tree.nq, nv = tree.nv, filled = m.forces() + 2, width = filled + nq + nv, turns = m.plan.coordinates;
    State s = m.state(data_of(args[3], 1, &turns));
    Drives drives;
    if (given == 7) {
        if (!read_drives(m, args[5], args[6], drives)) return nullptr;
        s.drives = &drives;
    }
    s.v = read_vector(args[1], nv), s.force = read_vector(args[2], nv);
    if (!s.theta || !s.v || !s.force || !read_q(m, args[0], s) || !read_forces(m, c, args[4], s)) return nullptr;
    PyObject* out[3] = {PyArray_SimpleNew(1, &nv, NPY_DOUBLE), nullptr, nullptr};
    if (out[0]) out[1] = PyBytes_FromStringAndSize(nullptr, width * static_cast<Py_ssize_t>(sizeof(double)));
    if (out[1] && m.plan.follows) out[2] = PyArray_SimpleNew(1, &turns, NPY_DOUBLE);
    PyObject* result = nullptr;
    if (out[1] && (out[2] || !m.plan.follows)) {
        double *vdot = data_of_new(out[0]), *rest = reinterpret_cast<double*>(PyBytes_AS_STRING(out[1])), *theta = out[2] ? data_of_new(out[2]) : nullptr;
        if (best_kernels().solve(m.plan, m.workspace.hold(m.room), m.method, s, {vdot, rest, rest + m.forces(), theta}) &&
            rigid::finite(vdot, nv) && rigid::finite(rest, filled)) {
            std::memcpy(rest + filled, s.q, static_cast<std::size_t>(nq) * sizeof(double));
            std::memcpy(rest + filled + nq, s.v, static_cast<std::size_t>(nv) * sizeof(double));
            result = new_result(c, out, args[4]);
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
    nb::object made = new_call(quick, owner, solver, nullptr, forces, fallback, source, wrap);
    for (int i = 0; i < RESULT_SLOTS; ++i) {
        const Py_ssize_t at = slot_of(wrap.ptr(), nb::str(result_slots[i]).ptr());
        if (at < 0) refuse("the class of results must have the slot %s", result_slots[i]);
        reinterpret_cast<Call*>(made.ptr())->slots[i] = at;
    }
    return made;
}

// Seconds that one solution takes, looped in C++; for benchmarks. Below zero when Python would have to look at it.
double time_solver(const ClosedSolver& m, nb::handle q_, nb::handle v_, nb::handle force_, nb::handle theta_, index repeats) {
    require_method(m);
    const rigid::Model& tree = m.tree->model;
    const Array<double> q(q_, "q", 1), v(v_, "v", 1), force(force_, "force", 1), theta(theta_, "theta", 1);
    require_length("q", q.size(), tree.nq), require_length("v", v.size(), tree.nv), require_length("force", force.size(), tree.nv);
    require_length("theta", theta.size(), m.plan.coordinates);
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
        .def("is_closed", &is_closed, array("q"), array("v"), array("force"), array("theta"), nb::arg("passive"),
             "Whether a state is on its closures and moves as they allow.")
        .def("compliance", &compliance, array("q"), array("theta"), array("to"),
             "What rounding of each row is measured by at a configuration.")
        .def("time", &time_solver, array("q"), array("v"), array("force"), array("theta"), nb::arg("repeats"),
             "Seconds of one solution, looped here.");
    m.def("closed_call", &make_call, nb::arg("solver"), nb::arg("forces"), nb::arg("fallback"), nb::arg("wrap"),
          nb::arg("source").none(), "A call (q, v, force, theta, passive) on single states; what it is not sure of goes to a Python function.");
}

}  // namespace loops
}  // namespace soacraft
