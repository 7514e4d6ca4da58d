// Steps with contact from each state of a batch, state by state, in several threads: the steps of `Walk`, without a record of
// forces and contacts.
#pragma once

#include <atomic>
#include <mutex>

#include "sim/methods.hpp"
#include "soacraft/interrupt.hpp"

namespace soacraft {
namespace sim {

struct ContactRollout {
    const double *q, *v, *force;          // (count, nq), (count, nv), and held forces
    index force_of_state, force_of_step;  // from one to the next, 0 where all share it
    index count, steps, step;             // in nanoseconds
    double *Q, *V;                        // (count, steps + 1, nq) and (count, steps + 1, nv)

    // The state of the lowest number that could not go on, and its step.
    struct End {
        index state = -1, step = -1;
    };

    End run(const Setting& set, Method method, const Tableau& tableau, index threads) const {
        End end;
        std::atomic<index> next{0};
        std::mutex lock;
        interrupt::share(std::max<index>(std::min(threads, count), 1), [&](index) {
            Setting mine = set;
            mine.held_step = force_of_step;
            Mechanism m(mine);
            Stepper stepper(m, method, tableau);
            stepper.states_alone();
            for (index state = next++; state < count; state = next++) {
                mine.held = force + state * force_of_state;
                const index failed = one(state, m, stepper);
                if (failed < 0) continue;
                const std::lock_guard<std::mutex> held(lock);
                if (end.state < 0 || state < end.state) end = {state, failed};
            }
        });
        return end;
    }

private:
    // All steps of a state; the one that failed, or -1.
    index one(index state, Mechanism& m, Stepper& stepper) const {
        std::vector<double> x(static_cast<std::size_t>(m.points)), w(static_cast<std::size_t>(m.size));
        std::copy(q + state * m.nq, q + (state + 1) * m.nq, x.begin());
        std::copy(v + state * m.nv, v + (state + 1) * m.nv, x.begin() + m.nq);
        store(state, 0, x, m);
        stepper.forget();
        for (index i = 0; i < steps; ++i) {
            interrupt::check();
            if (m.hold(i)) stepper.forget_rates();
            if (i == 0 && !m.rates(0.0, x.data(), w.data())) return i;
            const index goal = (i + 1) * step;
            for (index now = i * step, end = goal; now < goal;) {  // in parts where shapes would pass each other
                const double t = static_cast<double>(now) / 1e9, h = static_cast<double>(end - now) / 1e9;
                if (stepper.take(t, x.data(), w.data(), h)) {
                    x = stepper.x1, w = stepper.w1, now = end, end = goal;
                } else if ((end = stepper.shorter(now, end)) <= now) {
                    return i;
                }
            }
            store(state, i + 1, x, m);
        }
        return -1;
    }
    void store(index state, index row, const std::vector<double>& x, const Mechanism& m) const {
        const index at = state * (steps + 1) + row;
        std::copy(x.begin(), x.begin() + m.nq, Q + at * m.nq);
        std::copy(x.begin() + m.nq, x.begin() + m.nq + m.nv, V + at * m.nv);
    }
};

}  // namespace sim
}  // namespace soacraft
