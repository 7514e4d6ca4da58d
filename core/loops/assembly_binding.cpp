// `_core.closed_assemble`: the loops of a batch of configurations closed by a compiled closed chain.
#include "batch.hpp"

namespace soacraft {
namespace loops {
namespace {

std::vector<index> numbers(nb::handle given, const char* name, index least, index most) {
    const Array<index> x(given, name, 1);
    std::vector<index> found(x.data(), x.data() + x.size());  // its owner may change it meanwhile
    for (index i : found)
        if (i < least || i >= most) refuse("%s has an entry %lld out of range", name, shown(i));
    return found;
}

std::vector<double> by_dof(nb::handle given, const char* name, index nv) {
    const Array<double> x(given, name, 1);
    if (x.size() != nv) refuse("%s must have %lld entries", name, shown(nv));
    return std::vector<double>(x.data(), x.data() + nv);
}

// `fine` (count) gets 1 where an answer stands, 0 where Python should look at the configuration.
void run_assembly(const ClosedSolver& m, nb::handle q_, nb::handle theta_, nb::handle free_, nb::handle lower_,
                  nb::handle upper_, nb::handle place_, bool nearest, nb::handle q_out_, nb::handle fine_, index threads) {
    const index nq = m.tree->model.nq, nv = m.tree->model.nv;
    const Array<double> theta(theta_, "theta", 1);
    const Array<index> fine(fine_, "fine", 1, true);
    const index count = fine.size();
    const Batch q(q_, "q", count, nq), q_out(q_out_, "q_out", count, nq, true);
    if (!q.held) refuse("q must be given");
    require_length("theta", theta.size(), m.plan.coordinates);
    const std::vector<index> free = numbers(free_, "free", 0, nv), place = numbers(place_, "place", -1, nq);
    const std::vector<double> lower = by_dof(lower_, "lower", nv), upper = by_dof(upper_, "upper", nv);
    if (static_cast<index>(place.size()) != nv) refuse("place must have %lld entries", shown(nv));
    if (static_cast<index>(free.size()) > nv) refuse("free has more than %lld entries", shown(nv));
    const Allowed allowed{free.data(), static_cast<index>(free.size()), lower.data(), upper.data(), place.data(), nearest};
    share_states(m, false, best_kernels().closing_room(m.plan), threads, fine, [&](const Part& part, index first, index last) {
        for (index i = first; i < last; ++i)
            fine.data()[i] = rigid::finite(q.row(i), nq) &&
                             best_kernels().assemble(part.plan, part.memory, q.row(i), theta.data(), allowed, q_out.row(i)) &&
                             rigid::finite(q_out.row(i), nq);
    });
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
