// What a rollout is given, and where it ended early; the same for every build of the kernels.
#pragma once

#include "../model/model.hpp"

namespace soacraft {
namespace rigid {

// The classical Runge-Kutta method, and those of sim/integrators/partitioned.py.
enum Rolled : int { RK4 = 0, EULER_SYMPLECTIC = 1, VERLET = 2, ROLLED = 3 };

// States in rows, forces by state and step (steps of 0 for one that all share), the step h.
struct RolloutTask {
    const double *q, *v, *force;
    index force_of_state, force_of_step;
    index count, steps;
    double h;
    Rolled method;
    double *Q, *V;  // (count, steps + 1, nq) and (count, steps + 1, nv)
};

// Where a rollout ended early: the state and the step, and whether its hinge turned too far within a step.
struct RolloutEnd {
    index state = -1, step = -1;
    bool turned = false;
};

// The largest turn of a hinge within a step, in radians: that of sim/integrators/manifold.py.
constexpr double LARGEST_TURN = 3.0;

}  // namespace rigid
}  // namespace soacraft
