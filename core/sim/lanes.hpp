// States that go on step by step, each by itself, with numbers that its controls have: `Lanes` of sim/steppers. All that is kept
// from one step to the next lies in arrays, so that a lane may be given another state at any time.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "methods.hpp"
#include "soacraft/interrupt.hpp"

namespace soacraft {
namespace sim {

// States of all lanes, and what drives them; the numbers are shared with Python.
struct LaneStates {
    double* x;        // (count, points)
    double* theta;    // (count, turns): coordinates of the closures' hinges, which are followed
    const double* u;  // (count, inputs)
    index* now;       // (count): nanoseconds
    index count, inputs, turns;
    const Pushes* const* pushes;  // (count): of each, null where nothing pushes
    index pushed;                 // the load that they are, or -1
    const index* stops;           // growing: nanoseconds at which steps end
    index stop_count;
    index step, origin;  // in nanoseconds
    std::vector<PointImpulse>* impulses;  // (count): of contacts in the last step of each
};

// Steps of one thread, or of one lane alone.
class Lane {
public:
    // `lean`: states alone are wanted of the steps: no work of contacts, and contacts of one lane alone.
    Lane(const Setting& set, Method method, const Tableau& tableau, const std::vector<index>& driven, bool lean)
        : set_(set), driven_(driven), begins_with_rates_(!touches(method) && method != VARIATIONAL && method != VARIATIONAL4),
          lean_(lean), mechanism_(set_), stepper_(mechanism_, method, tableau), w_(static_cast<std::size_t>(mechanism_.size)) {
        if (lean) stepper_.states_alone();
    }

    index points() const { return mechanism_.points; }
    index turns() const { return static_cast<index>(mechanism_.theta.size()); }
    const ContactLog* contacts() const { return stepper_.contacts(); }
    std::vector<double> impulse_forces() const { return mechanism_.impulse_forces(); }
    double length() const { return length_; }  // of the last step, in seconds

    // Advance to a nanosecond from x, which is replaced step by step; false where Python should take the next one.
    bool advance(const LaneStates& all, index which, index goal) {
        static const Pushes none;
        double *const x = all.x + which * mechanism_.points, *const theta = all.theta + which * all.turns;
        index& now = all.now[which];
        for (std::size_t i = 0; i < driven_.size(); ++i) {
            Load& load = set_.loads[static_cast<std::size_t>(driven_[i])];
            load.values = all.u + which * all.inputs + static_cast<index>(i);
        }
        if (all.pushed >= 0) set_.loads[static_cast<std::size_t>(all.pushed)].pushes = all.pushes[which] ? all.pushes[which] : &none;
        while (now < goal) {
            interrupt::check();
            const index grid = all.origin + ((now - all.origin) / all.step + 1) * all.step;
            index end = next_stop(all, now, grid < goal ? grid : goal);
            stepper_.record((!lean_ || all.count == 1) && end >= goal);
            if (!one(x, theta, all.impulses[which], now, end)) return false;
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

    // One step, in parts where shapes would pass each other. What is followed on closures changes with the state alone.
    bool one(double* x, double* theta, std::vector<PointImpulse>& impulses, index& now, index end) {
        std::vector<double>& followed = mechanism_.theta;
        for (; end > now; end = stepper_.shorter(now, end)) {
            stepper_.forget();
            std::copy(theta, theta + followed.size(), followed.begin());
            if (stepper_.impulses()) *stepper_.impulses() = impulses;
            const double t = seconds(now), h = seconds(end - now);
            if (begins_with_rates_ && !mechanism_.rates(t, x, w_.data())) return false;
            if (!stepper_.take(t, x, w_.data(), h)) continue;
            before_.assign(x, x + mechanism_.points), length_ = h;
            std::copy(stepper_.x1.begin(), stepper_.x1.end(), x);
            std::copy(followed.begin(), followed.end(), theta);
            if (stepper_.impulses()) impulses = *stepper_.impulses();
            now = end;
            return true;
        }
        return false;
    }

    Setting set_;
    const std::vector<index>& driven_;
    bool begins_with_rates_, lean_;
    Mechanism mechanism_;
    Stepper stepper_;
    std::vector<double> w_, before_;
    double length_ = 0.0;
};

// One for each thread. By lane: what is kept for lanes that are recorded, or alone; and the settings of those with parameters of
// their own, which what takes their steps is made for in each call. Else null.
struct LaneTeam {
    std::vector<std::unique_ptr<Lane>> threads, kept;
    std::vector<const Setting*> settings;
    Method method = EXPLICIT;
    Tableau tableau;
    std::vector<index> driven;

    std::unique_ptr<Lane> made(const Setting& set, bool lean) const { return std::make_unique<Lane>(set, method, tableau, driven, lean); }

    bool advance(const LaneStates& all, index lane, index thread, index goal) {
        const auto i = static_cast<std::size_t>(lane);
        if (kept[i]) return kept[i]->advance(all, lane, goal);
        if (settings[i]) return made(*settings[i], true)->advance(all, lane, goal);
        return threads[static_cast<std::size_t>(thread)]->advance(all, lane, goal);
    }
};

// All lanes on to a nanosecond, in as many threads as there are in the team; the first lane that Python should go on with, -1 for
// none. A signal ends it between steps.
inline index advance_lanes(LaneTeam& team, const LaneStates& all, index goal) {
    if (all.count == 1) return team.advance(all, 0, 0, goal) ? -1 : 0;
    std::atomic<index> next{0}, fault{all.count};
    interrupt::share(std::min(static_cast<index>(team.threads.size()), all.count), [&](index thread) {
        for (index i = next++; i < all.count; i = next++) {
            if (all.now[i] >= goal || team.advance(all, i, thread, goal)) continue;
            index before = fault;
            while (i < before && !fault.compare_exchange_weak(before, i)) {}
        }
    });
    return fault < all.count ? fault.load() : -1;
}

}  // namespace sim
}  // namespace soacraft
