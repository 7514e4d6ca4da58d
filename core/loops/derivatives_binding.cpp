// Derivatives of a compiled closed chain: `_core.closed_derivatives` for a batch, `_core.closed_derivatives_call` for single
// states.
#include "batch.hpp"
#include "single.hpp"

namespace soacraft {
namespace loops {
namespace {

void require_augmented(const ClosedSolver& m) {
    if (m.method != TREE_AUGMENTED) refuse("derivatives need a plan of tree-augmented dynamics");
}

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
    const Batch pull(pull_, "pull", count, pull_width(tree));
    if (!q.held || !v.held || !force.held) refuse("q, v and force must be given");
    const Array<double> theta(theta_, "theta", 1);
    require_length("theta", theta.size(), m.plan.coordinates);
    if (outs.size() != 6) refuse("derivatives have 6 outputs");
    std::vector<Batch> out;
    for (std::size_t i = 0; i < 6; ++i) out.emplace_back(outs[i], "out", count, (i < 3 ? nv : forces) * nv, true);
    share_states(m, passive, best_kernels().derive_room(m.plan), threads, fine, [&](const Part& part, index first, index last) {
        for (index i = first; i < last; ++i) {
            State s = m.state(theta.data());
            s.q = q.row(i), s.v = v.row(i), s.force = force.row(i), s.pull = pull.row(i), s.passive = part.passive;
            Derived to = {};
            for (std::size_t k = 0; k < 3; ++k) to.vdot[k] = out[k].row(i), to.forces[k] = out[3 + k].row(i);
            fine.data()[i] = best_kernels().derive(part.plan, part.memory, s, to) && all_finite(to, nv, forces);
        }
    });
}

// One state, (q, v, force, theta, passive) with contiguous float64 arrays: the six outputs and, where some closure's
// coordinates are followed, these, or else None.
PyObject* quick_derivatives(const Call& c, PyObject* const* args, std::size_t given, PyObject* names) {
    const ClosedSolver& m = *static_cast<const ClosedSolver*>(c.model);
    if (given != 5 || names || m.tree->retired || m.outdated()) return nullptr;
    const npy_intp nv = m.tree->model.nv, turns = m.plan.coordinates;
    const npy_intp square[2] = {nv, nv}, below[2] = {m.forces(), nv};
    State s = m.state(data_of(args[3], 1, &turns));
    s.v = read_vector(args[1], nv), s.force = read_vector(args[2], nv);
    if (!s.theta || !s.v || !s.force || !read_q(m, args[0], s) || !read_forces(m, c, args[4], s)) return nullptr;
    PyObject* out[7] = {};
    Derived to = {};
    bool made = true;
    for (int i = 0; i < 7 && made; ++i) {
        if (i < 6) out[i] = PyArray_SimpleNew(2, const_cast<npy_intp*>(i < 3 ? square : below), NPY_DOUBLE);
        else out[i] = m.plan.follows ? PyArray_SimpleNew(1, const_cast<npy_intp*>(&turns), NPY_DOUBLE) : Py_NewRef(Py_None);
        made = out[i] != nullptr;
        if (made && i < 6) (i < 3 ? to.vdot[i] : to.forces[i - 3]) = data_of_new(out[i]);
        if (made && i == 6 && m.plan.follows) to.theta = data_of_new(out[i]);
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
