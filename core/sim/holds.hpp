// Friction that sticks and rigid stops (sim/forces/friction.py, stops.py): what they push with while they do not hold, and whether
// one begins or ends to hold within a step (sim/events.py). Their modes stay as they are: an event is left to Python.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "soacraft/rigid/model/model.hpp"

namespace soacraft {
namespace sim {

struct Hold {
    index dof, place, row;  // its number, the place of its coordinate, and the load
    bool stops;             // a stop, or friction
    double mode;            // the side on which a stop holds, or the direction in which the dof slips; 0 for none
    double lower, upper;    // of a stop
    double coulomb, most, stribeck, viscous;  // of friction, `most` while it sticks; a stribeck speed of 0: there is none

    bool holds() const { return stops ? mode != 0.0 : mode == 0.0; }

    // The force while the dof slips; what it holds with, the dynamics tell.
    double force(double v) const {
        if (stops) return 0.0;
        const double extra = most - coulomb, part = stribeck != 0.0 ? v / stribeck : 0.0;
        const double dry = coulomb + (stribeck != 0.0 && extra != 0.0 ? extra * std::exp(-(part * part)) : 0.0);
        return -mode * dry - viscous * v;
    }

    // What falls through zero when it begins or ends to hold, from coordinates, velocities and the force of its load on its dof.
    double margin(const double* q, const double* v, double force) const {
        if (stops) return mode != 0.0 ? -mode * force : std::fmin(upper - q[place], q[place] - lower);
        return mode != 0.0 ? mode * v[dof] : most - std::fabs(force);
    }
};

// The quartic through values at 0, 1, 2, 3 and 4.
inline double quartic(const double* g, double x) {
    double sum = 0.0;
    for (int i = 0; i < 5; ++i) {
        double weight = g[i];
        for (int j = 0; j < 5; ++j)
            if (j != i) weight *= (x - j) / (i - j);
        sum += weight;
    }
    return sum;
}

// The values of a margin at the start of a step, at its quarters and at its end: true if it is certain that none of it is at or
// below zero. In doubt Python looks closer.
inline bool stays_positive(const double* g) {
    constexpr double AT_ZERO = 1e-9, NEAR = 0.25;  // those of sim/events.py
    constexpr int FINE = 8;  // looks at each quarter
    double most = 0.0, low = g[0], high = g[0];
    for (int i = 0; i < 5; ++i) {
        if (!(g[i] > 0.0)) return false;
        most = std::fmax(most, g[i]), low = std::fmin(low, g[i]), high = std::fmax(high, g[i]);
    }
    if (!(g[0] > AT_ZERO * most)) return false;
    const double near = NEAR * (high - low);
    if (low >= 2.0 * (high - low)) return true;  // no quartic through these values comes near to zero
    for (int part = 0; part < 4; ++part) {
        double least = std::fmin(g[part], g[part + 1]);
        bool turns = false;
        for (int k = 1; k < FINE; ++k) {
            const double value = quartic(g, part + static_cast<double>(k) / FINE);
            if (value < least) least = value, turns = true;
        }
        if (turns && least < near) return false;
    }
    return true;
}

}  // namespace sim
}  // namespace soacraft
