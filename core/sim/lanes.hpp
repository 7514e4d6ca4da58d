// States that go on step by step, each by itself, with numbers that its controls have: `Lanes` of sim/stepper.py. What is kept
// from one step to the next is the state alone, so that a lane may be given another one at any time.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "methods.hpp"
#include "soacraft/interrupt.hpp"

namespace soacraft {
namespace sim {

// Where all lanes are, and what drives them; the numbers are shared with Python.
struct LaneStates {
    double* x;        // (count, points)
    const double* u;  // (count, inputs)
    index* now;       // (count): nanoseconds
    index count, inputs;
    const index* stops;  // growing: nanoseconds at which steps end
    index stop_count;
    index step, origin;  // in nanoseconds
};

// What one thread takes steps with.
class Lane {
public:
    Lane(const Setting& set, Method method, const Tableau& tableau, const std::vector<index>& driven)
        : set_(set), driven_(driven), begins_with_rates_(!touches(method) && method != VARIATIONAL && method != VARIATIONAL4),
          mechanism_(set_), stepper_(mechanism_, method, tableau), w_(static_cast<std::size_t>(mechanism_.size)) {
        stepper_.states_alone();
    }

    index points() const { return mechanism_.points; }
    const ContactLog* contacts() const { return stepper_.contacts(); }
    double length() const { return length_; }  // of the last step, in seconds

    // On to a nanosecond from x, which is replaced step by step; false where Python should take the next one.
    bool advance(const LaneStates& all, index which, index goal, bool recorded) {
        double* x = all.x + which * mechanism_.points;
        index& now = all.now[which];
        for (std::size_t i = 0; i < driven_.size(); ++i) {
            Load& load = set_.loads[static_cast<std::size_t>(driven_[i])];
            load.values = all.u + which * all.inputs + static_cast<index>(i);
        }
        while (now < goal) {
            interrupt::check();
            const index grid = all.origin + ((now - all.origin) / all.step + 1) * all.step;
            index end = next_stop(all, now, grid < goal ? grid : goal);
            stepper_.record(recorded && end >= goal);
            if (!one(x, now, end)) return false;
        }
        return true;
    }

    // The mean rates of velocities over the last step, which ended at x.
    void mean_rate(const double* x, double* to) const {
        if (before_.empty())
            std::fill(to, to + mechanism_.nv, 0.0);
        else
            mechanism_.mean_rate(before_.data(), x, length_, to);
    }

private:
    static double seconds(index ns) { return static_cast<double>(ns) / 1e9; }

    static index next_stop(const LaneStates& all, index now, index end) {
        const index* const last = all.stops + all.stop_count;
        const index* const next = std::upper_bound(all.stops, last, now);
        return next != last && *next < end ? *next : end;
    }

    // One step, in parts where shapes would pass each other.
    bool one(double* x, index& now, index end) {
        for (; end > now; end = stepper_.shorter(now, end)) {
            stepper_.forget();
            const double t = seconds(now), h = seconds(end - now);
            if (begins_with_rates_ && !mechanism_.rates(t, x, w_.data())) return false;
            if (!stepper_.take(t, x, w_.data(), h)) continue;
            before_.assign(x, x + mechanism_.points), length_ = h;
            std::copy(stepper_.x1.begin(), stepper_.x1.end(), x);
            now = end;
            return true;
        }
        return false;
    }

    Setting set_;
    const std::vector<index>& driven_;
    bool begins_with_rates_;
    Mechanism mechanism_;
    Stepper stepper_;
    std::vector<double> w_, before_;
    double length_ = 0.0;
};

// All lanes on to a nanosecond, in as many threads as there are in the team; the first lane that Python should go on with, -1 for
// none. A signal ends it between steps.
inline index advance_lanes(std::vector<std::unique_ptr<Lane>>& team, const LaneStates& all, index goal) {
    if (all.count == 1) return team.front()->advance(all, 0, goal, true) ? -1 : 0;
    std::atomic<index> next{0}, fault{all.count};
    interrupt::share(std::min(static_cast<index>(team.size()), all.count), [&](index thread) {
        Lane& mine = *team[static_cast<std::size_t>(thread)];
        for (index i = next++; i < all.count; i = next++) {
            if (mine.advance(all, i, goal, false)) continue;
            index before = fault;
            while (i < before && !fault.compare_exchange_weak(before, i)) {}
        }
    });
    return fault < all.count ? fault.load() : -1;
}

}  // namespace sim
}  // namespace soacraft
