// Many steps in one call: of a fixed length, or as long as the error allows (sim/stride.py, sim/integrators/pace.py). Time is
// in whole nanoseconds.
#pragma once

#include <chrono>
#include <cmath>
#include <functional>
#include <limits>

#include "hold_watch.hpp"
#include "sim/components/lookout.hpp"
#include "methods.hpp"
#include "soacraft/interrupt.hpp"

namespace soacraft {
namespace sim {

// Course from `now` to `goal`, of at most `most` steps; a step ends at each of the `stops` between.
struct Course {
    index now, goal, most;
    index step, origin;  // of fixed steps, which end at origin + i step
    const index* stops;  // growing
    index stop_count;
    double rtol, length;    // of an adaptive method: of the next step, in seconds
    index unstable, calm;   // steps at the boundary of stability, and in a row within it
    double longest;         // that any step of an adaptive method may have, in seconds
    const double* breaks;   // times at which components jump, in seconds, growing; `stops` has their nanoseconds
    index break_count;
};

// Results, a row for each step: its end, state, rates, dense output, forces, error and the opening of closures. Of
// components also the rates before a tick at the end, and their signals; `begun` are the rates at the start. With visits also the
// rates that each step begins with, if they may be others than those before, and kinetic, potential and spring energy at its end.
// Of forces, (names, nv), the `entries` alone are written that may differ from zero, or all where these are as many.
struct Track {
    const index* entries;
    index entry_count;
    index* ends;
    double *X, *W, *F, *forces, *errors, *openings;
    double *before, *signals, *begun;
    double *starts, *energies;
};

class Walk {
public:
    Walk(Mechanism& m, Method method, const Tableau& tableau, Course& course, const Track& track)
        : m_(m), stepper_(m, method, tableau), tableau_(tableau), course_(course), track_(track),
          rows_(Stepper::rows(method, tableau)), lookout_(m), hold_watch_(m), inside_(m), begun_(static_cast<std::size_t>(m.size)) {}

    // The number of steps taken; fewer than asked for where Python should take the next.
    index run(const double* x, const double* w) {
        index done = 0;
        const auto began = std::chrono::steady_clock::now();
        Plan* const plan = m_.plan();
        if (plan) {  // as compiled code has them, so that a run in two halves has the same bits
            between(course_.now, course_.now);
            if (stepper_.contacts())  // they compute their first rates themselves
                std::memcpy(track_.begun, w, static_cast<std::size_t>(m_.size) * sizeof(double));
            else if (!m_.rates(seconds(course_.now), x, track_.begun))
                return 0;
            w = track_.begun;
        }
        for (; course_.now < course_.goal && done < course_.most; ++done) {
            if (visits && course_.now >= visits->next) {
                if (!visited(x, w)) break;
                stepper_.forget_rates();
                if (!stepper_.contacts()) {  // such steps compute their first rates themselves
                    if (!m_.rates(seconds(course_.now), x, begun_.data())) break;
                    w = begun_.data();
                }
            }
            if (track_.starts) std::memcpy(track_.starts + done * m_.size, w, static_cast<std::size_t>(m_.size) * sizeof(double));
            const std::vector<double> theta = m_.theta;
            if (plan && !plan->knows_next()) break;
            if (plan) plan->keep();
            if (!stepped(plan, done, x, w)) {
                m_.theta = theta;
                if (plan) plan->restore();
                break;
            }
            x = keep(stepper_.x1, track_.X + done * m_.points), w = keep(stepper_.w1, track_.W + done * m_.size);
            keep_forces(track_.forces + done * track_.entry_count);
            if (track_.energies) m_.energies(x, track_.energies + 3 * done);
            course_.now = track_.ends[done];
            if (patience > 0.0 && std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() > patience) {
                ++done;
                break;
            }
        }
        return done;
    }

    std::function<bool(index)> pause;  // called with the end of each step, before components tick there
    Visits* visits = nullptr;          // calls between steps, or null
    double patience = 0.0;             // seconds after which no further step is taken, where it is positive: rows do not wait long

    const ContactLog* contacts() const { return stepper_.contacts(); }

private:
    static constexpr double NANOSECONDS = 1e9;
    static constexpr double SAFETY = 0.9, LEAST = 0.2, MOST = 8.0;  // those of sim/integrators/pace.py
    static constexpr index STIFF_STEPS = 1000, CALM_STEPS = 6;
    static constexpr double SHORTEST = 2e-9;  // that of sim/stride.py

    bool visited(const double* x, const double* w) {
        vdot_.resize(static_cast<std::size_t>(m_.nv));
        m_.own_rates(x + m_.nq, w + m_.nv, vdot_.data());
        return visits->call(course_.now, x, x + m_.nq, vdot_.data());
    }

    // One step into the row; false where Python should take it, or where the call should end.
    bool stepped(Plan* plan, index row, const double* x, const double* w) {
        try {
            interrupt::check(row);
            if (m_.hold(row)) {
                if (!m_.rates(seconds(course_.now), x, begun_.data())) return false;
                w = begun_.data();
            }
            if (!(tableau_.adaptive() ? adapted(row, x, w) : fixed(row, x, w))) return false;
            return !plan || (passes(*plan, row, x, w) && sampled(*plan, row));
        } catch (const interrupt::Ended&) {
            return false;
        }
    }

    static const double* keep(const std::vector<double>& from, double* to) {
        std::memcpy(to, from.data(), from.size() * sizeof(double));
        return to;
    }
    void keep_forces(double* to) const {
        if (track_.entry_count == static_cast<index>(stepper_.forces.size())) {
            keep(stepper_.forces, to);
            return;
        }
        const double* const from = stepper_.forces.data();
        for (index i = 0; i < track_.entry_count; ++i) to[i] = from[track_.entries[i]];
    }
    static double seconds(index ns) { return static_cast<double>(ns) / NANOSECONDS; }
    static index nanoseconds(double t) { return static_cast<index>(std::nearbyint(t * NANOSECONDS)); }

    // Let components see the times of a step from a to b, away from jumps at its ends: each belongs to the step beyond it
    // (sim/breaks.py). Whether there is one at b.
    bool between(index a, index b) {
        constexpr double ALL = std::numeric_limits<double>::infinity();
        while (course_.break_count && nanoseconds(*course_.breaks) < a) ++course_.breaks, --course_.break_count;
        double low = -ALL, high = ALL;
        for (index i = 0; i < course_.break_count && nanoseconds(course_.breaks[i]) <= b; ++i) {
            const double at = course_.breaks[i];
            if (nanoseconds(at) == a)
                low = std::fmax(low, std::fmax(at, seconds(a)));
            else if (nanoseconds(at) == b)
                high = std::fmin(high, std::nextafter(std::fmin(at, seconds(b)), -ALL));
        }
        m_.see(low, high);
        return high < ALL;
    }

    index next_stop() {
        while (course_.stop_count && *course_.stops <= course_.now) ++course_.stops, --course_.stop_count;
        const index stop = course_.stop_count && *course_.stops < course_.goal ? *course_.stops : course_.goal;
        return visits && visits->next < stop ? visits->next : stop;
    }

    bool fixed(index row, const double* x, const double* w) {
        const index grid = course_.origin + ((course_.now - course_.origin) / course_.step + 1) * course_.step;
        const index stop = next_tick(next_stop());
        for (index end = grid < stop ? grid : stop; end > course_.now; end = stepper_.shorter(course_.now, end)) {
            stepper_.t1 = seconds(end), stepper_.forces_end = visits && visits->next == end;
            jumps_ = m_.plan() && between(course_.now, end);
            if (stepper_.take(seconds(course_.now), x, w, seconds(end - course_.now))) return ended(row, end, x) && holds_on(row, x, w);
        }
        return false;
    }

    // The next tick, if it comes before a stop.
    index next_tick(index stop) const {
        index when = 0;
        std::uint64_t which = 0;
        return m_.plan() && m_.plan()->next(when, which) && when < stop ? when : stop;
    }

    // True if no function of the components crosses zero in a step, as far as compiled code is sure.
    bool passes(const Plan& plan, index row, const double* x, const double* w) {
        if (!plan.margin.count) return true;
        const DensePoints::Step step = step_of(row, x, w);
        inside_.take(step);
        return lookout_.passes(step, inside_);
    }

    // Update the components at the end of a step: they tick where they are due, and their signals are recorded.
    bool sampled(Plan& plan, index row) {
        const index end = track_.ends[row];
        keep(stepper_.w1, track_.before + row * m_.size);
        if (pause && !pause(end)) return false;
        index when = 0;
        std::uint64_t which = 0;
        const double* x = stepper_.x1.data();
        const double t = seconds(end);
        if (tableau_.adaptive() && !m_.arrive(t, x, stepper_.w1.data())) return false;  // its dense output was made after its end
        if (jumps_) {
            between(end, end);
            stepper_.forget_rates();
            if (!m_.rates(t, x, stepper_.w1.data(), stepper_.forces.data())) return false;
            if (plan.margin.count && !lookout_.renew(t, x)) return false;
        }
        const bool ticks = plan.next(when, which) && when == end, feels = !plan.touches.empty() && stepper_.contacts();
        if (feels) feel(plan, seconds(course_.now), t);
        if (ticks || feels) {
            stepper_.forget_rates();
            if (feels && ticks && !m_.arrive(t, x, stepper_.w1.data())) return false;
            if (ticks && !plan.tick(which, [&] { return m_.accelerate(t, x); })) return false;
            if (!m_.rates(t, x, stepper_.w1.data(), stepper_.forces.data())) return false;
            if (plan.margin.count && !lookout_.passes_tick()) return false;
        }
        vdot_.resize(static_cast<std::size_t>(m_.nv));
        m_.own_rates(stepper_.x1.data() + m_.nq, stepper_.w1.data() + m_.nv, vdot_.data());
        return plan.sample(vdot_.data(), m_.nv, track_.signals + row * plan.width);
    }

    // Let components have the contacts of the step from t0 to t.
    void feel(Plan& plan, double t0, double t) const {
        constexpr double LATER = 1e-9;  // of a step: else nothing was near in it (sim/course/ticks.py)
        const ContactLog& log = *stepper_.contacts();
        index count = 0;
        if (!log.steps.empty()) {
            const double* last = log.steps.data() + log.steps.size() - ContactLog::STEP;
            count = last[0] > t0 + LATER * (t - t0) ? static_cast<index>(last[1]) : 0;
        }
        const double* points = log.points.data() + log.points.size() - static_cast<std::size_t>(count * ContactLog::POINT);
        plan.feel(points, count, ContactLog::POINT, t - t0);
    }

    // A step whose error is small enough. On the way out without one, nothing of the course has changed.
    bool adapted(index row, const double* x, const double* w) {
        const index stop = next_tick(next_stop());
        double length = std::fmin(course_.length, course_.longest);
        for (bool refused = false;; refused = true) {
            const double left = seconds(stop - course_.now);
            index end = stop;
            if (length < left) {
                const index ns = static_cast<index>((length > 0.55 * left ? 0.5 * left : length) * NANOSECONDS);
                end = course_.now + (ns > 1 ? ns : 1);
                end = end < stop ? end : stop;
            }
            const double h = seconds(end - course_.now);
            stepper_.t1 = seconds(end);
            jumps_ = m_.plan() && between(course_.now, end);
            if (!stepper_.take(seconds(course_.now), x, w, h)) return false;
            const double error = stepper_.error(x, w, h, course_.rtol);
            if (!rigid::finite(&error, 1)) return false;
            if (error > 1.0) {
                length = next(h, error, true);
                if (length < SHORTEST) return false;
                continue;
            }
            index unstable = course_.unstable, calm = course_.calm;
            if (stepper_.unstable(h, course_.rtol)) calm = 0, ++unstable;
            else if (++calm >= CALM_STEPS) unstable = 0;
            if (unstable >= STIFF_STEPS || !ended(row, end, x) || !holds_on(row, x, w)) return false;
            course_.unstable = unstable, course_.calm = calm;
            course_.length = h >= 0.5 * length || refused ? next(h, error, refused) : length;
            track_.errors[row] = error;
            return true;
        }
    }

    double next(double h, double error, bool refused) const {
        const double factor = error <= 0.0 ? MOST : SAFETY * std::pow(error, -1.0 / 8.0), most = refused ? 1.0 : MOST;
        return h * (factor < LEAST ? LEAST : factor < most ? factor : most);
    }

    bool ended(index row, index end, const double* x) {
        const std::vector<double> theta = m_.theta;  // that of the step's end, not of what the dense output asks for
        const double h = seconds(end - course_.now);
        if (!stepper_.dense(seconds(course_.now), x, h, track_.F + row * rows_ * m_.size)) return false;
        m_.theta = theta;
        track_.ends[row] = end;
        track_.openings[row] = stepper_.open;
        return true;
    }

    DensePoints::Step step_of(index row, const double* x, const double* w) const {
        const double* F = track_.F + row * rows_ * m_.size;
        return {seconds(course_.now), seconds(track_.ends[row]), x, w, stepper_.x1.data(), stepper_.w1.data(), F, rows_};
    }

    // True if nothing begins or ends to hold in the step of a row. Components stay as they are at its end.
    bool holds_on(index row, const double* x, const double* w) {
        if (m_.holds().empty()) return true;
        Plan* const plan = m_.plan();
        if (plan) slots_.assign(plan->slots, plan->slots + plan->size);
        const DensePoints::Step step = step_of(row, x, w);
        inside_.take(step);
        const bool fine = hold_watch_.passes(step, stepper_.forces.data(), inside_, plan || visits);
        if (plan) Plan::copy(plan->slots, slots_.data(), plan->size);
        return fine;
    }

    Mechanism& m_;
    Stepper stepper_;
    const Tableau& tableau_;
    Course& course_;
    const Track& track_;
    index rows_;
    Lookout lookout_;
    HoldWatch hold_watch_;
    DensePoints inside_;
    bool jumps_ = false;  // whether components jump at the end of the step
    std::vector<double> begun_;  // rates at the start of a step that holds another force
    std::vector<double> vdot_;   // at a visit, or the end of a step
    std::vector<double> slots_;  // of components, at the end of a step
};

}  // namespace sim
}  // namespace soacraft
