// The rigid kernels for one instruction set. Built several times; SOACRAFT_TARGET names the build, SOACRAFT_LANES is the
// number of states its registers hold.
#include "soacraft/rigid/drivers/drivers.hpp"
#include "soacraft/rigid/drivers/gradients.hpp"
#include "soacraft/rigid/drivers/matrices.hpp"

SOACRAFT_RIGID_BEGIN

// Name, inputs, outputs, the functions, and what else takes part.
extern const Algorithm dynamics_algorithms[];
const Algorithm dynamics_algorithms[] = {
    {"inverse_dynamics", {COORDINATES, DOFS, DOFS}, {DOFS}, SOACRAFT_BOTH(inverse_dynamics), SPRUNG | BASED | PULLED | SUMS},
    {"bias_force", {COORDINATES, DOFS, ZEROS}, {DOFS}, SOACRAFT_BOTH(inverse_dynamics), SPRUNG | BASED | PULLED | SUMS},
    {"gravity_force", {COORDINATES, ZEROS, ZEROS}, {DOFS}, SOACRAFT_BOTH(inverse_dynamics), BASED | SUMS},
    {"mass_matrix_multiply", {COORDINATES, ZEROS, DOFS}, {DOFS}, SOACRAFT_BOTH(inverse_dynamics), SUMS},
    {"forward_dynamics", {COORDINATES, DOFS, DOFS}, {DOFS}, SOACRAFT_BOTH(forward_dynamics), SPRUNG | BASED | PULLED},
    {"mass_matrix_solve", {COORDINATES, ZEROS, DOFS}, {DOFS}, SOACRAFT_BOTH(forward_dynamics), 0},
    {"inverse_dynamics_derivatives", {COORDINATES, DOFS, DOFS}, {DOFS_DOFS, DOFS_DOFS, DOFS_DOFS},
     SOACRAFT_SINGLY(Derivatives<InverseDynamics>), SPRUNG | BASED | PULLED_IN_OWN_AXES | SUMS},
    {"forward_dynamics_derivatives", {COORDINATES, DOFS, DOFS}, {DOFS_DOFS, DOFS_DOFS, DOFS_DOFS},
     SOACRAFT_SINGLY(Derivatives<ForwardDynamics>), SPRUNG | BASED | PULLED_IN_OWN_AXES | SOLVES},
    {"mass_matrix", {COORDINATES}, {DOFS_DOFS}, SOACRAFT_BOTH(mass_matrix), SUMS},
    {"mass_matrix_inverse", {COORDINATES}, {DOFS_DOFS}, SOACRAFT_BOTH(mass_matrix_inverse), SOLVES},
    {"mass_matrix_gradient", {COORDINATES}, {DOFS_DOFS_DOFS}, SOACRAFT_SINGLY(MassMatrixGradient), SUMS},
    {"coriolis_matrix", {COORDINATES, DOFS}, {DOFS_DOFS}, SOACRAFT_SINGLY(CoriolisMatrix), SUMS},
    {"log_det_mass_matrix", {COORDINATES}, {NUMBER}, SOACRAFT_BOTH(log_det), 0},
    {"log_det_gradient", {COORDINATES}, {DOFS}, SOACRAFT_BOTH(log_det_gradient), 0},
    {"passive_force", {COORDINATES, DOFS}, {DOFS}, SOACRAFT_BOTH(passive_force), SPRUNG},
    {"poses", {COORDINATES}, {BODIES_3_3, BODIES_3}, SOACRAFT_BOTH(poses), SUMS},
    {"jacobian", {COORDINATES}, {SIXES_DOFS}, SOACRAFT_BOTH(jacobian), NODES | SUMS},
    {},
};

extern const Algorithm motion_algorithms[], mixed_algorithms[], coordinate_algorithms[], flexible_algorithms[];  // the other files
extern const Rolling rolling;
extern const Kernels kernels;
const Kernels kernels = {SOACRAFT_TARGET_NAME, SOACRAFT_LANES,
                         {dynamics_algorithms, motion_algorithms, mixed_algorithms, coordinate_algorithms}, &rolling,
                         {flexible_algorithms, coordinate_algorithms}};

SOACRAFT_RIGID_END
