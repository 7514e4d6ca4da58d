// Batches of states in the bindings of closed chains: arrays by state, and threads that share the states.
#pragma once

#include <memory>
#include <vector>

#include "array.hpp"
#include "closed_solver.hpp"
#include "signals.hpp"

namespace soacraft {
namespace loops {

inline long long shown(index i) { return i; }

inline void require_length(const char* name, index got, index wanted) {
    if (got != wanted) refuse("%s has length %lld, not %lld", name, shown(got), shown(wanted));
}

// An array of a batch, (count, width); one that is read may have a single row for all states, or be None.
struct Batch {
    std::unique_ptr<Array<double>> held;
    index step = 0;
    Batch(nb::handle given, const char* name, index count, index width, bool written = false) {
        if (given.is_none() && !written) return;
        held = std::make_unique<Array<double>>(given, name, 2, written);
        const bool one = held->size(0) == 1 && !written;
        if ((held->size(0) != count && !one) || held->size(1) != width)
            refuse("%s must be (%lld, %lld)", name, shown(count), shown(width));
        step = one ? 0 : width;
    }
    double* row(index i) const { return held ? held->data() + i * step : nullptr; }
};

// What a thread works on a part of a batch with: the plan as it was when the batch began, and memory of its own.
struct Part {
    const Plan& plan;
    const rigid::Passive* passive;  // springs and dampers that act, or null
    void* memory;
};

// work(part, first, last) for all states of a batch, shared by threads without Python's lock; `fine` is all 0 before.
template <class Work>
void share_states(const ClosedSolver& m, bool passive, std::size_t room, index threads, const Array<index>& fine,
                  const Work& work) {
    const index count = fine.size();
    threads = threads < 1 ? 1 : threads > count ? count : threads > rigid::MOST_THREADS ? rigid::MOST_THREADS : threads;
    if (count == 0) return;
    for (index i = 0; i < count; ++i) fine.data()[i] = 0;
    std::vector<rigid::Workspace> spaces(static_cast<std::size_t>(threads));
    for (rigid::Workspace& space : spaces) space.hold(room);
    rigid::Job now = {};
    now.passive = m.tree->acting(passive);
    const auto held_tables = m.tree->pin(now);  // a parameter may change meanwhile
    Plan plan = m.plan;
    plan.tree = now.model;
    without_lock([&] {
        interrupt::share(threads, [&](index t) {
            const Part part{plan, now.passive, spaces[static_cast<std::size_t>(t)].hold(room)};
            interrupt::in_parts(count * t / threads, count * (t + 1) / threads, 1, [&](index first, index last) {
                work(part, first, last);
                return true;
            });
        });
    });
}

}  // namespace loops
}  // namespace soacraft
