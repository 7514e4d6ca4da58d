// Rollouts, for one instruction set.
#include "soacraft/rigid/drivers/rollout.hpp"

SOACRAFT_RIGID_BEGIN

extern const Rolling rolling;
const Rolling rolling = {run_rollout<double>, run_rollout<Abreast>, room_for_rollout<double>, room_for_rollout<Abreast>};

SOACRAFT_RIGID_END
