// Distances of many pairs of poses, built once for each instruction set.
#include "soacraft/contact/lanes/pairs.hpp"

SOACRAFT_CONTACT_BEGIN

extern const PairKernels kernels;
const PairKernels kernels = {distances<SOACRAFT_LANES>};

SOACRAFT_CONTACT_END
