// The kernels of trees with flexible bodies for one instruction set. Rows as those of rigid trees, and of the same names.
#include "soacraft/flexible/derivatives.hpp"
#include "soacraft/flexible/motion.hpp"
#include "soacraft/rigid/drivers/drivers.hpp"

SOACRAFT_RIGID_BEGIN

extern const Algorithm flexible_algorithms[];
const Algorithm flexible_algorithms[] = {
    {"inverse_dynamics", {COORDINATES, DOFS, DOFS}, {DOFS}, SOACRAFT_FLEXIBLE(FlexibleInverse<true>), SPRUNG | BASED | PULLED | SUMS},
    {"bias_force", {COORDINATES, DOFS, ZEROS}, {DOFS}, SOACRAFT_FLEXIBLE(FlexibleInverse<true>), SPRUNG | BASED | PULLED | SUMS},
    {"gravity_force", {COORDINATES, ZEROS, ZEROS}, {DOFS}, SOACRAFT_FLEXIBLE(FlexibleInverse<false>), BASED | SUMS},
    {"mass_matrix_multiply", {COORDINATES, ZEROS, DOFS}, {DOFS}, SOACRAFT_FLEXIBLE(FlexibleInverse<false>), SUMS},
    {"forward_dynamics", {COORDINATES, DOFS, DOFS}, {DOFS}, SOACRAFT_FLEXIBLE(FlexibleForward<true>), SPRUNG | BASED | PULLED},
    {"mass_matrix_solve", {COORDINATES, ZEROS, DOFS}, {DOFS}, SOACRAFT_FLEXIBLE(FlexibleForward<false>), 0},
    {"inverse_dynamics_derivatives", {COORDINATES, DOFS, DOFS}, {DOFS_DOFS, DOFS_DOFS, DOFS_DOFS},
     SOACRAFT_FLEXIBLE(FlexibleDerivatives<false>), SPRUNG | BASED | PULLED_IN_OWN_AXES},
    {"forward_dynamics_derivatives", {COORDINATES, DOFS, DOFS}, {DOFS_DOFS, DOFS_DOFS, DOFS_DOFS},
     SOACRAFT_FLEXIBLE(FlexibleDerivatives<true>), SPRUNG | BASED | PULLED_IN_OWN_AXES},
    {"mass_matrix", {COORDINATES}, {DOFS_DOFS}, SOACRAFT_FLEXIBLE(FlexibleMatrix<false>), SUMS},
    {"mass_matrix_inverse", {COORDINATES}, {DOFS_DOFS}, SOACRAFT_FLEXIBLE(FlexibleMatrix<true>), SOLVES},
    {"log_det_mass_matrix", {COORDINATES}, {NUMBER}, SOACRAFT_FLEXIBLE(FlexibleLogDet), 0},
    {"poses", {COORDINATES}, {BODIES_3_3, BODIES_3}, SOACRAFT_FLEXIBLE(FlexibleMotion<BodyPoses>), SUMS},
    {"velocities", {COORDINATES, DOFS}, {BODIES_6}, SOACRAFT_FLEXIBLE(FlexibleMotion<Velocities>), SUMS},
    {"accelerations", {COORDINATES, DOFS, DOFS}, {BODIES_6}, SOACRAFT_FLEXIBLE(FlexibleMotion<Accelerations>), SUMS},
    {"node_motion", {COORDINATES, DOFS, DOFS}, {NODES_3_3, NODES_3, NODES_6, NODES_6}, SOACRAFT_FLEXIBLE(FlexibleMotion<NodeMotion>), NODES | SUMS},
    {"jacobian", {COORDINATES}, {SIXES_DOFS}, SOACRAFT_FLEXIBLE(FlexibleJacobian), NODES | SUMS},
    {"jacobian_dot_v", {COORDINATES, DOFS, ZEROS}, {SIXES}, SOACRAFT_FLEXIBLE(FlexibleMotion<JacobianDotV>), NODES | SUMS},
    {"center_of_mass", {COORDINATES}, {THREE}, SOACRAFT_FLEXIBLE(FlexibleSums<FlexibleCenterOfMass>), 0},
    {"momentum", {COORDINATES, DOFS}, {SIX}, SOACRAFT_FLEXIBLE(FlexibleSums<FlexibleMomentum>), 0},
    {"kinetic_energy", {COORDINATES, DOFS}, {NUMBER}, SOACRAFT_FLEXIBLE(FlexibleSums<FlexibleKinetic>), 0},
    {"potential_energy", {COORDINATES}, {NUMBER}, SOACRAFT_FLEXIBLE(FlexibleSums<FlexiblePotential>), BASED},
    {"passive_energy", {COORDINATES}, {NUMBER}, SOACRAFT_BOTH(passive_energy), SPRUNG},
    {"passive_force", {COORDINATES, DOFS}, {DOFS}, SOACRAFT_BOTH(passive_force), SPRUNG},
    {},
};

SOACRAFT_RIGID_END
