// Crossings of components in steps: their functions at the quarters of each, by the dense output (sim/events.py).
#pragma once

#include <vector>

#include "mechanism.hpp"

namespace soacraft {
namespace sim {

// Values of all crossings in steps, by the dense output.
class Lookout {
public:
    // A step from x at t to x1 at t1, with rates w and w1: `F` has `rows` of its dense output.
    struct Step {
        double t, t1;
        const double *x, *w, *x1, *w1, *F;
        index rows;
    };

    explicit Lookout(Mechanism& m) : m_(m) {}

    // The next step does not begin where the last one ended, or with other values.
    void forget() { begun_ = false; }

    // False where one may cross in a step. The components have the values of its end then.
    bool passes(const Step& s) {
        const Plan& plan = *m_.plan();
        const index count = plan.margin.count;
        g_.resize(static_cast<std::size_t>((Crossing::PARTS + 1) * count)), point_.resize(static_cast<std::size_t>(m_.points));
        if (!begun_ && !evaluate(s.t, s.x, 0)) return false;
        complete(s);
        for (int k = 1; k < Crossing::PARTS; ++k) {
            const double theta = static_cast<double>(k) / Crossing::PARTS;
            if (!inside(s, theta) || !evaluate(s.t + theta * (s.t1 - s.t), point_.data(), k)) return false;
        }
        if (!evaluate(s.t1, s.x1, Crossing::PARTS)) return false;
        for (index i = 0; i < count; ++i)
            if (!plan.crossings[static_cast<std::size_t>(i)].stays(values(i), plan.signs[i])) return false;
        for (index i = 0; i < count; ++i) plan.signs[count + i] = 0.0, *values(i) = values(i)[Crossing::PARTS];
        return begun_ = true;
    }

    // Values at x, where the components begin to jump by themselves.
    bool renew(double t, const double* x) { return evaluate(t, x, 0); }

    // False where one crosses at a tick, after which the components have been placed at x and its rates computed.
    bool passes_tick() {
        Plan& plan = *m_.plan();
        if (!plan.margins.run()) return false;
        const index count = plan.margin.count;
        for (index i = 0; i < count; ++i) {
            const double after = plan.slots[plan.margin.at + i];
            if (!plan.crossings[static_cast<std::size_t>(i)].stays(*values(i), after, plan.signs[i], plan.signs[count + i])) return false;
            *values(i) = after;
        }
        return true;
    }

private:
    double* values(index i) { return g_.data() + (Crossing::PARTS + 1) * i; }

    bool evaluate(double t, const double* x, int k) {
        if (!m_.margins(t, x)) return false;
        const Plan& plan = *m_.plan();
        for (index i = 0; i < plan.margin.count; ++i) values(i)[k] = plan.slots[plan.margin.at + i];
        return true;
    }

    // dense_ <- the dense output, of a method without one the cubic by the rates at both ends.
    void complete(const Step& s) {
        const index n = m_.size;
        dense_.assign(s.F, s.F + s.rows * n);
        rows_ = s.rows;
        if (s.rows > 1) return;
        const double h = s.t1 - s.t;
        rows_ = 3, dense_.resize(static_cast<std::size_t>(3 * n)), rate_.resize(static_cast<std::size_t>(n));
        m_.chart(s.x, s.F, s.w1, rate_.data());
        double* to = dense_.data();
        for (index i = 0; i < n; ++i) {
            to[n + i] = h * s.w[i] - s.F[i];
            to[2 * n + i] = 2.0 * s.F[i] - (h * s.w[i] + h * rate_[static_cast<std::size_t>(i)]);
        }
    }

    // point_ <- the point at a part of the step, on the closures.
    bool inside(const Step& s, double theta) {
        const index n = m_.size;
        rate_.assign(static_cast<std::size_t>(n), 0.0);
        for (index r = rows_ - 1; r >= 0; --r)
            for (index i = 0; i < n; ++i)
                rate_[static_cast<std::size_t>(i)] = (rate_[static_cast<std::size_t>(i)] + dense_[static_cast<std::size_t>(r * n + i)]) * (r % 2 ? 1.0 - theta : theta);
        m_.move(s.x, rate_.data(), point_.data());
        const std::vector<double> theta_of_end = m_.theta;
        const double open = m_.open;
        const bool fine = m_.settle(point_.data());
        m_.theta = theta_of_end, m_.open = open;
        return fine;
    }

    Mechanism& m_;
    bool begun_ = false;  // the first value of each is that of the present point
    index rows_ = 0;
    std::vector<double> g_, point_, dense_, rate_;  // g_: (count, 5)
};

}  // namespace sim
}  // namespace soacraft
