// What touches in a run (sim/forces/compiled_contact.py), and what is told of it.
#pragma once

#include "contact/spot_query.hpp"

namespace soacraft {
namespace sim {

// A dof with limits, or with dry friction.
struct Stop {
    index dof, place;  // and where its coordinate is in q
    double lower, upper;
};
struct Rub {
    index dof;
    double limit;
};

struct ContactSetting {
    const contact::SpotQuery* scene;
    std::vector<index> body;     // that carries each shape, -1: the inertial frame
    const double* local;         // (shapes, 12): its pose there
    const double* surface;       // (shapes, 3): the velocity of its surface, in its axes
    const double* far;           // by body: how far its shapes reach
    std::vector<index> group;    // by shape: those of equal friction and restitution
    index groups;
    std::vector<index> rows;                // (groups, groups): of a contact of two, 1, 3, 4 or 6
    std::vector<double> friction;           // (groups, groups, 5): of the rows after the first
    const double* restitution;              // (groups, groups)
    std::vector<Stop> stops;
    std::vector<Rub> rubs;
    bool energy;  // restitution is made smaller where the energy would rise
    double tolerance;
};

// Numbers for each step with a contact problem, and for each point of contact in it.
struct ContactLog {
    static constexpr index STEP = 8, POINT = 13;
    std::vector<double> steps;   // end of the step, its points, residual, effort, unique, work, factor, depth
    std::vector<double> points;  // shapes a and b, point, impulse and moment on b, gap, state
};

}  // namespace sim
}  // namespace soacraft
