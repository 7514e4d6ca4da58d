// Velocities of the whole robot and quadratic programs, built once for each instruction set.
#include "soacraft/kinematics/velocity.hpp"

SOACRAFT_RIGID_BEGIN

extern const kinematics::VelocityKernels velocity_kernels;
const kinematics::VelocityKernels velocity_kernels = {velocity_room, velocity_step, plain_room, solve_plain};

SOACRAFT_RIGID_END
