// Motions of a compiled closed chain: `_core.closed_motion` for a batch, `_core.closed_motion_call` for single states.
#include "call.hpp"
#include "closed_solver.hpp"

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
                           {INVERSE_DYNAMICS, CONSTRAINT_EMBEDDING, true, true, false, true, true}};

const Form& form_of(index number) {
    if (number < 0 || number >= MOVES) refuse("there is no motion %lld", static_cast<long long>(number));
    return forms[number];
}

// The independent dofs in the caller's order, all different.
void require_order(const index* order, index count, index nv) {
    std::vector<char> seen(static_cast<std::size_t>(nv));
    for (index i = 0; i < count; ++i) {
        if (order[i] < 0 || order[i] >= nv || seen[static_cast<std::size_t>(order[i])])
            refuse("order has no place for dof %lld", static_cast<long long>(order[i]));
        seen[static_cast<std::size_t>(order[i])] = 1;
    }
}

void require_width(const char* name, const Array<double>& x, index count, index width) {
    if (x.size(0) != count || x.size(1) != width)
        refuse("%s must be (%lld, %lld)", name, static_cast<long long>(count), static_cast<long long>(width));
}

bool all_finite(const Form& form, const Motion& x, index nq, index nv) {
    return (!form.gives_q || rigid::finite(x.q, nq)) && (!form.gives_v || rigid::finite(x.v, nv));
}

// All states of a batch; `fine` (count) gets 1 where the answer stands, 0 where Python should look at the state. Arrays
// that a motion does not have are (count, 0).
void run_motion(const ClosedSolver& m, index number, nb::handle q_, nb::handle x_, nb::handle order_, nb::handle theta_,
                nb::handle q_out_, nb::handle v_out_, nb::handle fine_, index threads, nb::handle v_, nb::handle pull_,
                bool passive) {
    const Form& form = form_of(number);
    const index nq = m.tree->model.nq, nv = m.tree->model.nv;
    const Array<double> q(q_, "q", 2), x(x_, "x", 2), q_out(q_out_, "q_out", 2, true), v_out(v_out_, "v_out", 2, true);
    const Array<double> theta(theta_, "theta", 1);
    const Array<index> order(order_, "order", 1), fine(fine_, "fine", 1, true);
    const index count = fine.size(), width = !form.takes ? 0 : form.independent ? order.size() : nv;
    if (m.method != form.needs) refuse("motion %lld needs another plan", static_cast<long long>(number));
    if (theta.size() != m.plan.coordinates) refuse("theta must have %lld entries", static_cast<long long>(m.plan.coordinates));
    std::unique_ptr<Array<double>> v, pull;
    if (form.moving) v = std::make_unique<Array<double>>(v_, "v", 2), require_width("v", *v, count, nv);
    const index pulls = 6 * m.tree->model.body_count;
    if (!pull_.is_none()) pull = std::make_unique<Array<double>>(pull_, "pull", 2), require_width("pull", *pull, count, pulls);
    require_order(order.data(), order.size(), nv);
    require_width("q", q, count, nq), require_width("x", x, count, width);
    require_width("q_out", q_out, count, form.gives_q ? nq : 0), require_width("v_out", v_out, count, form.gives_v ? nv : 0);
    threads = threads < 1 ? 1 : threads > count ? count : threads > rigid::MOST_THREADS ? rigid::MOST_THREADS : threads;
    if (count == 0) return;
    for (index i = 0; i < count; ++i) fine.data()[i] = 0;
    const std::vector<index> dofs(order.data(), order.data() + order.size());  // its owner may change it meanwhile
    std::vector<rigid::Workspace> spaces(static_cast<std::size_t>(threads));
    for (rigid::Workspace& space : spaces) space.hold(m.room);
    rigid::Job now = {};
    now.passive = m.tree->acting(passive);
    const auto held_tables = m.tree->pin(now);  // a parameter may change meanwhile
    Plan plan = m.plan;
    plan.tree = now.model;
    const auto work = [&](index t) {
        void* memory = spaces[static_cast<std::size_t>(t)].hold(m.room);
        for (index i = count * t / threads; i < count * (t + 1) / threads; ++i) {
            State s = m.state(theta.data());
            s.q = q.data() + i * nq, s.v = v ? v->data() + i * nv : nullptr;
            s.pull = pull ? pull->data() + i * pulls : nullptr, s.passive = now.passive;
            const Motion one{x.data() + i * width, dofs.data(), static_cast<index>(dofs.size()),
                             form.gives_q ? q_out.data() + i * nq : nullptr,
                             form.gives_v ? v_out.data() + i * nv : nullptr, nullptr};
            fine.data()[i] = best_kernels().move(plan, memory, form.move, s, one) && all_finite(form, one, nq, nv);
        }
    };
    nb::gil_scoped_release free;
    rigid::share(threads, work);
}

// One state: q, velocities or a step where the motion takes some, and theta, as contiguous float64 arrays, of inverse
// dynamics also v and whether springs act; a tuple of q, v and theta, of those that it has. `c.frames` holds the order of
// independent dofs, `c.forces` those that act.
PyObject* quick_motion(const Call& c, PyObject* const* args, std::size_t given, PyObject* names) {
    const ClosedSolver& m = *static_cast<const ClosedSolver*>(c.model);
    const Form& form = *static_cast<const Form*>(c.kernel);
    const std::size_t turned = form.takes ? 2 : 1;
    if (given != turned + (form.moving ? 3 : 1) || names || m.tree->retired || m.outdated()) return nullptr;
    const index* order = reinterpret_cast<const index*>(PyBytes_AS_STRING(c.frames));
    const index count = static_cast<index>(PyBytes_GET_SIZE(c.frames)) / static_cast<index>(sizeof(index));
    const npy_intp nq = m.tree->model.nq, nv = m.tree->model.nv, width = form.independent ? count : nv;
    const npy_intp turns = m.plan.coordinates;
    State s = m.state(data_of(args[turned], 1, &turns));
    if (form.moving) {
        const bool passive = args[4] == Py_True;
        if ((!passive && args[4] != Py_False) || PyDict_GET_SIZE(c.forces) != 0 || (passive && m.tree->passive_in_python))
            return nullptr;
        s.v = data_of(args[3], 1, &nv), s.passive = m.tree->acting(passive);
        if (!s.v || !rigid::finite(s.v, nv)) return nullptr;
    }
    s.q = data_of(args[0], 1, &nq);
    const double* x = form.takes ? data_of(args[1], 1, &width) : nullptr;
    if (!s.q || !s.theta || (form.takes && !(x && rigid::finite(x, width))) || !rigid::finite(s.q, nq) ||
        !rigid::unit_quaternions(m.tree->quaternions, s.q))
        return nullptr;
    PyObject *out[3] = {}, *result = nullptr;
    const bool has[3] = {form.gives_q, form.gives_v, m.plan.follows};
    const npy_intp wide[3] = {nq, nv, turns};
    double* to[3] = {};
    bool made = true;
    for (int i = 0; i < 3 && made; ++i) {
        out[i] = has[i] ? PyArray_SimpleNew(1, &wide[i], NPY_DOUBLE) : Py_NewRef(Py_None);
        made = out[i] != nullptr;
        if (made && has[i]) to[i] = static_cast<double*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(out[i])));
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
    if (solver->method != form.needs) refuse("motion %lld needs another plan", static_cast<long long>(number));
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
          nb::arg("pull") = nb::none(), nb::arg("passive") = false, "Move a batch of states.");
    m.def("closed_motion_call", &make_motion_call, nb::arg("solver"), nb::arg("motion"), array("order"), nb::arg("fallback"), nb::arg("forces"),
          "A motion of single states that falls back to a Python function.");
}

}  // namespace loops
}  // namespace soacraft
