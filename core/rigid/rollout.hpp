// Rollouts of a batch, its packs of states shared among threads.
#pragma once

#include <vector>

#include "algorithms.hpp"

namespace soacraft {
namespace rigid {

// All states. The first state at fault, or none.
inline RolloutEnd roll_out(const RolloutTask& task, const Job& job, index threads) {
    const bool single = task.count == 1;
    const Rolling& kernels = *best_kernels().rolling;
    const index lanes = single ? 1 : best_kernels().lanes, packs = (task.count + lanes - 1) / lanes;
    threads = threads < 1 ? 1 : threads > packs ? packs : threads > MOST_THREADS ? MOST_THREADS : threads;
    std::vector<RolloutEnd> ends(static_cast<std::size_t>(threads));
    std::vector<Workspace> spaces(ends.size());
    for (Workspace& space : spaces) space.hold((single ? kernels.one_bytes : kernels.batch_bytes)(task, job));
    interrupt::share(threads, [&](index t) {
        const auto at = static_cast<std::size_t>(t);
        const index first = packs * t / threads * lanes, next = packs * (t + 1) / threads * lanes;
        (single ? kernels.one : kernels.batch)(task, job, first, next < task.count ? next : task.count, spaces[at].hold(0), ends[at]);
    });
    for (const RolloutEnd& end : ends)
        if (end.state >= 0) return end;
    return {};
}

}  // namespace rigid
}  // namespace soacraft
