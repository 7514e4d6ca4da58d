// `_core.closed_assemble`: the loops of a batch of configurations closed by a compiled closed chain.
#include "call.hpp"
#include "closed_solver.hpp"

namespace soacraft {
namespace loops {
namespace {

std::vector<index> numbers(nb::handle given, const char* name, index least, index most) {
    const Array<index> x(given, name, 1);
    std::vector<index> found(x.data(), x.data() + x.size());  // its owner may change it meanwhile
    for (index i : found)
        if (i < least || i >= most) refuse("%s has an entry %lld out of range", name, static_cast<long long>(i));
    return found;
}

std::vector<double> by_dof(nb::handle given, const char* name, index nv) {
    const Array<double> x(given, name, 1);
    if (x.size() != nv) refuse("%s must have %lld entries", name, static_cast<long long>(nv));
    return std::vector<double>(x.data(), x.data() + nv);
}

// `fine` (count) gets 1 where an answer stands, 0 where Python should look at the configuration.
void run_assembly(const ClosedSolver& m, nb::handle q_, nb::handle theta_, nb::handle free_, nb::handle lower_,
                  nb::handle upper_, nb::handle place_, bool nearest, nb::handle q_out_, nb::handle fine_, index threads) {
    const index nq = m.tree->model.nq, nv = m.tree->model.nv;
    const Array<double> q(q_, "q", 2), theta(theta_, "theta", 1), q_out(q_out_, "q_out", 2, true);
    const Array<index> fine(fine_, "fine", 1, true);
    const index count = fine.size();
    if (q.size(0) != count || q.size(1) != nq || q_out.size(0) != count || q_out.size(1) != nq)
        refuse("q and q_out must be (%lld, %lld)", static_cast<long long>(count), static_cast<long long>(nq));
    if (theta.size() != m.plan.coordinates) refuse("theta must have %lld entries", static_cast<long long>(m.plan.coordinates));
    const std::vector<index> free = numbers(free_, "free", 0, nv), place = numbers(place_, "place", -1, nq);
    const std::vector<double> lower = by_dof(lower_, "lower", nv), upper = by_dof(upper_, "upper", nv);
    if (static_cast<index>(place.size()) != nv) refuse("place must have %lld entries", static_cast<long long>(nv));
    if (static_cast<index>(free.size()) > nv) refuse("free has more than %lld entries", static_cast<long long>(nv));
    const Allowed allowed{free.data(), static_cast<index>(free.size()), lower.data(), upper.data(), place.data(), nearest};
    threads = threads < 1 ? 1 : threads > count ? count : threads > rigid::MOST_THREADS ? rigid::MOST_THREADS : threads;
    if (count == 0) return;
    for (index i = 0; i < count; ++i) fine.data()[i] = 0;
    const std::size_t room = best_kernels().closing_room(m.plan);
    std::vector<rigid::Workspace> spaces(static_cast<std::size_t>(threads));
    for (rigid::Workspace& space : spaces) space.hold(room);
    rigid::Job now = {};
    const auto held_tables = m.tree->pin(now);  // a parameter may change meanwhile
    Plan plan = m.plan;
    plan.tree = now.model;
    const auto work = [&](index t) {
        void* memory = spaces[static_cast<std::size_t>(t)].hold(room);
        for (index i = count * t / threads; i < count * (t + 1) / threads; ++i) {
            double* to = q_out.data() + i * nq;
            fine.data()[i] = rigid::finite(q.data() + i * nq, nq) &&
                             best_kernels().assemble(plan, memory, q.data() + i * nq, theta.data(), allowed, to) &&
                             rigid::finite(to, nq);
        }
    };
    nb::gil_scoped_release released;
    rigid::share(threads, work);
}

}  // namespace

void bind_assembly(nb::module_& m) {
    const auto array = [](const char* name) { return nb::arg(name).none(); };
    m.def("closed_assemble", &run_assembly, nb::arg("solver"), array("q"), array("theta"), array("free"), array("lower"),
          array("upper"), array("place"), nb::arg("nearest"), array("q_out"), array("fine"), nb::arg("threads") = 1,
          "Close the loops of a batch of configurations, near where they are.");
}

}  // namespace loops
}  // namespace soacraft
