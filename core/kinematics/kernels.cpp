// Inverse kinematics of limbs, built once for each instruction set.
#include "soacraft/kinematics/limb_search.hpp"

SOACRAFT_RIGID_BEGIN

extern const kinematics::LimbKernels limb_kernels;
const kinematics::LimbKernels limb_kernels = {search_limb<SOACRAFT_LANES>};

SOACRAFT_RIGID_END
