// Derivatives of a compiled closed chain: `_core.closed_derivatives` for a batch, `_core.closed_derivatives_call` for single
// states.
#include "call.hpp"
#include "closed_solver.hpp"

namespace soacraft {
namespace loops {
namespace {

void require_augmented(const ClosedSolver& m) {
    if (m.method != TREE_AUGMENTED) refuse("derivatives need a plan of tree-augmented dynamics");
}

// One array of a batch, (count, width).
struct Batch {
    std::unique_ptr<Array<double>> held;
    index width;
    Batch(nb::handle x, const char* name, index count, index width_, bool written = false) : width(width_) {
        if (x.is_none()) return;
        held = std::make_unique<Array<double>>(x, name, 2, written);
        if (held->size(0) != count || held->size(1) != width)
            refuse("%s must be (%lld, %lld)", name, static_cast<long long>(count), static_cast<long long>(width));
    }
    double* row(index i) const { return held ? held->data() + i * width : nullptr; }
};

bool all_finite(const Derived& x, index nv, index forces) {
    for (int i = 0; i < 3; ++i)
        if (!rigid::finite(x.vdot[i], nv * nv) || !rigid::finite(x.forces[i], forces * nv)) return false;
    return true;
}

// All states of a batch; `outs`: of vdot along q, v and the force, (count, nv nv), then of the forces of closures and
// couplings, (count, numbers nv). `fine` (count) gets 1 where they hold.
void run_derivatives(const ClosedSolver& m, nb::handle q_, nb::handle v_, nb::handle force_, nb::handle pull_, nb::handle theta_,
                     nb::tuple outs, nb::handle fine_, index threads, bool passive) {
    require_augmented(m);
    const rigid::Model& tree = m.tree->model;
    const Array<index> fine(fine_, "fine", 1, true);
    const index count = fine.size(), nv = tree.nv, forces = m.forces();
    const Batch q(q_, "q", count, tree.nq), v(v_, "v", count, nv), force(force_, "force", count, nv);
    const Batch pull(pull_, "pull", count, 6 * tree.body_count);
    if (!q.held || !v.held || !force.held) refuse("q, v and force must be given");
    const Array<double> theta(theta_, "theta", 1);
    if (theta.size() != m.plan.coordinates) refuse("theta has another length than the plan has coordinates");
    if (outs.size() != 6) refuse("derivatives have 6 outputs");
    std::vector<Batch> out;
    for (std::size_t i = 0; i < 6; ++i) {
        if (outs[i].is_none()) refuse("derivatives have 6 outputs");
        out.emplace_back(outs[i], "out", count, (i < 3 ? nv : forces) * nv, true);
    }
    threads = threads < 1 ? 1 : threads > count ? count : threads > rigid::MOST_THREADS ? rigid::MOST_THREADS : threads;
    if (count == 0) return;
    const std::size_t room = best_kernels().derive_room(m.plan);
    std::vector<rigid::Workspace> spaces(static_cast<std::size_t>(threads));
    for (rigid::Workspace& space : spaces) space.hold(room);
    rigid::Job now = {};
    now.passive = m.tree->acting(passive);
    const auto held_tables = m.tree->pin(now);  // a parameter may change meanwhile
    Plan plan = m.plan;
    plan.tree = now.model;
    const auto work = [&](index t) {
        void* memory = spaces[static_cast<std::size_t>(t)].hold(room);
        for (index i = count * t / threads; i < count * (t + 1) / threads; ++i) {
            State s = m.state(theta.data());
            s.q = q.row(i), s.v = v.row(i), s.force = force.row(i), s.pull = pull.row(i), s.passive = now.passive;
            Derived to = {};
            for (std::size_t k = 0; k < 3; ++k) to.vdot[k] = out[k].row(i), to.forces[k] = out[3 + k].row(i);
            fine.data()[i] = best_kernels().derive(plan, memory, s, to) && all_finite(to, nv, forces);
        }
    };
    nb::gil_scoped_release free;
    rigid::share(threads, work);
}

// One state, (q, v, force, theta, passive) with contiguous float64 arrays: the six outputs and, where some closure's
// coordinates are followed, these, or else None.
PyObject* quick_derivatives(const Call& c, PyObject* const* args, std::size_t given, PyObject* names) {
    const ClosedSolver& m = *static_cast<const ClosedSolver*>(c.model);
    if (given != 5 || names || (args[4] != Py_True && args[4] != Py_False)) return nullptr;
    const bool passive = args[4] == Py_True;
    if (m.tree->retired || m.outdated() || PyDict_GET_SIZE(c.forces) != 0 || (passive && m.tree->passive_in_python))
        return nullptr;
    const rigid::Model& tree = m.tree->model;
    const npy_intp nq = tree.nq, nv = tree.nv, turns = m.plan.coordinates;
    const npy_intp square[2] = {nv, nv}, below[2] = {m.forces(), nv};
    State s = m.state(data_of(args[3], 1, &turns));
    s.passive = m.tree->acting(passive);
    s.q = data_of(args[0], 1, &nq), s.v = data_of(args[1], 1, &nv), s.force = data_of(args[2], 1, &nv);
    if (!s.q || !s.v || !s.force || !s.theta || !rigid::finite(s.q, nq) || !rigid::finite(s.v, nv) ||
        !rigid::finite(s.force, nv) || !rigid::unit_quaternions(m.tree->quaternions, s.q))
        return nullptr;
    PyObject* out[7] = {};
    Derived to = {};
    bool made = true;
    const auto data = [](PyObject* x) { return static_cast<double*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(x))); };
    for (int i = 0; i < 7 && made; ++i) {
        if (i < 6) out[i] = PyArray_SimpleNew(2, const_cast<npy_intp*>(i < 3 ? square : below), NPY_DOUBLE);
        else out[i] = m.plan.follows ? PyArray_SimpleNew(1, const_cast<npy_intp*>(&turns), NPY_DOUBLE) : Py_NewRef(Py_None);
        made = out[i] != nullptr;
        if (made && i < 6) (i < 3 ? to.vdot[i] : to.forces[i - 3]) = data(out[i]);
        if (made && i == 6 && m.plan.follows) to.theta = data(out[i]);
    }
    PyObject* result = nullptr;
    if (made && best_kernels().derive(m.plan, m.workspace.hold(best_kernels().derive_room(m.plan)), s, to) &&
        all_finite(to, nv, m.forces()))
        result = PyTuple_Pack(7, out[0], out[1], out[2], out[3], out[4], out[5], out[6]);
    for (PyObject* x : out) Py_XDECREF(x);
    return result;
}

nb::object make_derivatives_call(nb::handle owner, nb::handle forces, nb::handle fallback) {
    if (!nb::isinstance<ClosedSolver>(owner)) refuse("solver must be a ClosedSolver");
    ClosedSolver* solver = nb::cast<ClosedSolver*>(owner);
    require_augmented(*solver);
    return new_call(quick_derivatives, owner, solver, nullptr, forces, fallback, nb::none(), nb::none());
}

}  // namespace

void bind_derivatives(nb::module_& m) {
    const auto array = [](const char* name) { return nb::arg(name).none(); };
    m.def("closed_derivatives", &run_derivatives, nb::arg("solver"), array("q"), array("v"), array("force"), array("pull"),
          array("theta"), nb::arg("outs"), array("fine"), nb::arg("threads") = 1, nb::arg("passive") = false,
          "Derivatives of a batch of states.");
    m.def("closed_derivatives_call", &make_derivatives_call, nb::arg("solver"), nb::arg("forces"), nb::arg("fallback"),
          "Derivatives at single states; what it is not sure of goes to a Python function.");
}

}  // namespace loops
}  // namespace soacraft
