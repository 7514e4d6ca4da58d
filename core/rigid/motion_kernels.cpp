// Kernels of motion and of sums over bodies, for one instruction set: velocities and accelerations, motion of nodes, centre
// of mass, momentum, energies.
#include "soacraft/rigid/drivers/motion.hpp"

SOACRAFT_RIGID_BEGIN

#define SOACRAFT_TRACKS(M) run_tracks<double, M>, run_tracks<Abreast, M>, room_for_tracks<double>, room_for_tracks<Abreast>

extern const Algorithm motion_algorithms[];
const Algorithm motion_algorithms[] = {
    {"velocities", {COORDINATES, DOFS}, {BODIES_6}, SOACRAFT_TRACKS(Velocities), SUMS},
    {"accelerations", {COORDINATES, DOFS, DOFS}, {BODIES_6}, SOACRAFT_TRACKS(Accelerations), SUMS},
    {"node_motion", {COORDINATES, DOFS, DOFS}, {NODES_3_3, NODES_3, NODES_6, NODES_6}, SOACRAFT_TRACKS(NodeMotion), NODES | SUMS},
    {"jacobian_dot_v", {COORDINATES, DOFS, ZEROS}, {SIXES}, SOACRAFT_TRACKS(JacobianDotV), NODES | SUMS},
    {"center_of_mass", {COORDINATES}, {THREE}, SOACRAFT_TRACKS(CenterOfMass), 0},
    {"momentum", {COORDINATES, DOFS}, {SIX}, SOACRAFT_TRACKS(Momentum), 0},
    {"kinetic_energy", {COORDINATES, DOFS}, {NUMBER}, SOACRAFT_BOTH(kinetic_energy), 0},
    {"potential_energy", {COORDINATES}, {NUMBER}, SOACRAFT_TRACKS(PotentialEnergy), BASED},
    {"passive_energy", {COORDINATES}, {NUMBER}, SOACRAFT_BOTH(passive_energy), SPRUNG},
    {},
};

SOACRAFT_RIGID_END
