// Motions of a compiled closed chain: `_core.closed_motion` for a batch, `_core.closed_motion_call` for single states.
#include "drives.hpp"
#include "single.hpp"

namespace soacraft {
namespace loops {
namespace {

// What a motion takes besides q, and what it gives.
struct Form {
    Move move;
    Method needs;
    bool takes, independent, gives_q, gives_v, moving;
};
const Form forms[MOVES] = {{EXPAND, CONSTRAINT_EMBEDDING, true, true, false, true, false},
                           {COMPLETE, CONSTRAINT_EMBEDDING, false, false, true, false, false},
                           {ADVANCE, CONSTRAINT_EMBEDDING, true, true, true, false, false},
                           {PROJECT_VELOCITY, TREE_AUGMENTED, true, false, false, true, false},
                           {PROJECT, TREE_AUGMENTED, true, false, true, true, false},
                           {INVERSE_DYNAMICS, CONSTRAINT_EMBEDDING, true, true, false, true, true},
                           {INVERSE_OF_ALL, CONSTRAINT_EMBEDDING, true, false, false, true, true},
                           {ACCELERATE, CONSTRAINT_EMBEDDING, true, true, false, true, true}};

const Form& form_of(index number) {
    if (number < 0 || number >= MOVES) refuse("there is no motion %lld", shown(number));
    return forms[number];
}

// The independent dofs in the caller's order, all different.
void require_order(const index* order, index count, index nv) {
    std::vector<char> seen(static_cast<std::size_t>(nv));
    for (index i = 0; i < count; ++i) {
        if (order[i] < 0 || order[i] >= nv || seen[static_cast<std::size_t>(order[i])])
            refuse("order has no place for dof %lld", shown(order[i]));
        seen[static_cast<std::size_t>(order[i])] = 1;
    }
}

bool all_finite(const Form& form, const Motion& x, index nq, index nv) {
    return (!form.gives_q || rigid::finite(x.q, nq)) && (!form.gives_v || rigid::finite(x.v, nv));
}

// All states of a batch; `fine` (count) gets 1 where the answer stands, 0 where Python should look at the state. Arrays
// that a motion does not have are (count, 0).
void run_motion(const ClosedSolver& m, index number, nb::handle q_, nb::handle x_, nb::handle order_, nb::handle theta_,
                nb::handle q_out_, nb::handle v_out_, nb::handle fine_, index threads, nb::handle v_, nb::handle pull_,
                bool passive, nb::handle driven_, nb::handle rates_) {
    const Form& form = form_of(number);
    const index nq = m.tree->model.nq, nv = m.tree->model.nv;
    const Array<double> theta(theta_, "theta", 1);
    const Array<index> order(order_, "order", 1), fine(fine_, "fine", 1, true);
    const index count = fine.size(), width = !form.takes ? 0 : form.independent ? order.size() : nv;
    if (m.method != form.needs) refuse("motion %lld needs another plan", shown(number));
    require_length("theta", theta.size(), m.plan.coordinates);
    require_order(order.data(), order.size(), nv);
    const Batch q(q_, "q", count, nq), x(x_, "x", count, width), v(v_, "v", count, nv);
    const Batch pull(pull_, "pull", count, pull_width(m.tree->model));
    if (!q.held || !x.held || (form.moving && !v.held)) refuse("q, x and v must be given where a motion takes them");
    const Batch q_out(q_out_, "q_out", count, form.gives_q ? nq : 0, true), v_out(v_out_, "v_out", count, form.gives_v ? nv : 0, true);
    const DrivenBatch driven(m, driven_, rates_, count);
    const std::vector<index> dofs(order.data(), order.data() + order.size());  // its owner may change it meanwhile
    share_states(m, passive, m.room, threads, fine, [&](const Part& part, index first, index last) {
        for (index i = first; i < last; ++i) {
            State s = m.state(theta.data());
            Drives drives;
            s.q = q.row(i), s.v = v.row(i), s.pull = pull.row(i), s.passive = part.passive, s.drives = driven.at(i, drives);
            const Motion one{x.row(i), dofs.data(), static_cast<index>(dofs.size()),
                             form.gives_q ? q_out.row(i) : nullptr, form.gives_v ? v_out.row(i) : nullptr, nullptr};
            fine.data()[i] = best_kernels().move(part.plan, part.memory, form.move, s, one) && all_finite(form, one, nq, nv) &&
                             !m.tree->bends_far(s.q);
        }
    });
}

// One state: q, velocities or a step where the motion takes some, and theta, as contiguous float64 arrays, of those with
// forces also v, whether springs act and, where closures are driven, their places and numbers; a tuple of q, v and theta, of
// those that it has. `c.frames` holds the order of independent dofs, `c.forces` those that act.
PyObject* quick_motion(const Call& c, PyObject* const* args, std::size_t given, PyObject* names) {
    const ClosedSolver& m = *static_cast<const ClosedSolver*>(c.model);
    const Form& form = *static_cast<const Form*>(c.kernel);
    const std::size_t turned = form.takes ? 2 : 1, plain = turned + (form.moving ? 3 : 1);
    const bool driven = form.moving && given == plain + 2;
    if ((given != plain && !driven) || names || m.tree->retired || m.outdated()) return nullptr;
    const index* order = reinterpret_cast<const index*>(PyBytes_AS_STRING(c.frames));
    const index count = static_cast<index>(PyBytes_GET_SIZE(c.frames)) / static_cast<index>(sizeof(index));
    const npy_intp nq = m.tree->model.nq, nv = m.tree->model.nv, turns = m.plan.coordinates;
    State s = m.state(data_of(args[turned], 1, &turns));
    Drives drives;
    if (form.moving) {
        s.v = read_vector(args[turned + 1], nv);
        if (!s.v || !read_forces(m, c, args[turned + 2], s)) return nullptr;
    }
    if (driven) {
        if (!read_drives(m, args[plain], args[plain + 1], drives)) return nullptr;
        s.drives = &drives;
    }
    const double* x = form.takes ? read_vector(args[1], form.independent ? count : nv) : nullptr;
    if (!s.theta || (form.takes && !x) || !read_q(m, args[0], s)) return nullptr;
    PyObject *out[3] = {}, *result = nullptr;
    const bool has[3] = {form.gives_q, form.gives_v, m.plan.follows};
    const npy_intp wide[3] = {nq, nv, turns};
    double* to[3] = {};
    bool made = true;
    for (int i = 0; i < 3 && made; ++i) {
        out[i] = has[i] ? PyArray_SimpleNew(1, &wide[i], NPY_DOUBLE) : Py_NewRef(Py_None);
        made = out[i] != nullptr;
        if (made && has[i]) to[i] = data_of_new(out[i]);
    }
    const Motion one{x, order, count, to[0], to[1], to[2]};
    if (made && best_kernels().move(m.plan, m.workspace.hold(m.room), form.move, s, one) && all_finite(form, one, nq, nv))
        result = PyTuple_Pack(3, out[0], out[1], out[2]);
    for (PyObject* each : out) Py_XDECREF(each);
    return result;
}

nb::object make_motion_call(nb::handle owner, index number, nb::handle order_, nb::handle fallback, nb::handle forces) {
    if (!nb::isinstance<ClosedSolver>(owner)) refuse("solver must be a ClosedSolver");
    ClosedSolver* solver = nb::cast<ClosedSolver*>(owner);
    const Form& form = form_of(number);
    if (solver->method != form.needs) refuse("motion %lld needs another plan", shown(number));
    const Array<index> order(order_, "order", 1);
    require_order(order.data(), order.size(), solver->tree->model.nv);
    const nb::bytes kept(reinterpret_cast<const char*>(order.data()), static_cast<std::size_t>(order.size()) * sizeof(index));
    return new_call(quick_motion, owner, solver, &form, forces, fallback, kept, nb::none());
}

}  // namespace

void bind_motion(nb::module_& m) {
    const auto array = [](const char* name) { return nb::arg(name).none(); };
    m.def("closed_motion", &run_motion, nb::arg("solver"), nb::arg("motion"), array("q"), array("x"), array("order"),
          array("theta"), array("q_out"), array("v_out"), array("fine"), nb::arg("threads") = 1, nb::arg("v") = nb::none(),
          nb::arg("pull") = nb::none(), nb::arg("passive") = false, nb::arg("driven") = nb::none(), nb::arg("rates") = nb::none(),
          "Move a batch of states.");
    m.def("closed_motion_call", &make_motion_call, nb::arg("solver"), nb::arg("motion"), array("order"), nb::arg("fallback"), nb::arg("forces"),
          "A motion of single states that falls back to a Python function.");
}

}  // namespace loops
}  // namespace soacraft
