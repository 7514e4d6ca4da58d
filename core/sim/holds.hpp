// Friction that sticks and rigid stops (sim/forces/friction.py, stops.py): their forces while they do not hold, and the margins that
// fall through zero where they begin or end to hold. Their modes stay as they are: an event is left to Python.
#pragma once

#include <cmath>

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

    // Margin that falls through zero when it begins or ends to hold, from coordinates, velocities and the force on its dof.
    double margin(const double* q, const double* v, double force) const {
        if (stops) return mode != 0.0 ? -mode * force : std::fmin(upper - q[place], q[place] - lower);
        return mode != 0.0 ? mode * v[dof] : most - std::fabs(force);
    }
};

}  // namespace sim
}  // namespace soacraft
