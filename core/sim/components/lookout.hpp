// Crossings of components in steps: their functions at the quarters of each, by the dense output (sim/events.py).
#pragma once

#include <vector>

#include "sim/dense_points.hpp"

namespace soacraft {
namespace sim {

// Values of all crossings in steps, by the dense output.
class Lookout {
public:
    explicit Lookout(Mechanism& m) : m_(m) {}

    // The next step does not begin where the last one ended, or with other values.
    void forget() { begun_ = false; }

    // False where one may cross in a step. The components have the values of its end then.
    bool passes(const DensePoints::Step& s, DensePoints& inside) {
        const Plan& plan = *m_.plan();
        const index count = plan.margin.count;
        g_.resize(static_cast<std::size_t>((Crossing::PARTS + 1) * count));
        if (!begun_ && !evaluate(s.t, s.x, 0)) return false;
        for (int k = 1; k < Crossing::PARTS; ++k) {
            const double theta = static_cast<double>(k) / Crossing::PARTS;
            if (!inside.move(theta) || !evaluate(inside.time(theta), inside.point(), k)) return false;
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

    Mechanism& m_;
    bool begun_ = false;  // the first value of each is that of the present point
    std::vector<double> g_;  // (count, 5)
};

}  // namespace sim
}  // namespace soacraft
