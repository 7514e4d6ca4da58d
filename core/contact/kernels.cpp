// Distances of many pairs of poses, and of the shapes of trees, built once for each instruction set.
#include "soacraft/contact/lanes/pairs.hpp"
#include "soacraft/contact/moving/edges.hpp"

SOACRAFT_CONTACT_BEGIN

extern const PairKernels kernels;
const PairKernels kernels = {distances<SOACRAFT_LANES>};

extern const MovingKernels moving;
const MovingKernels moving = {begin_work, distances_at<SOACRAFT_LANES>, write_found, collides_at<SOACRAFT_LANES>, edge_along<SOACRAFT_LANES>};

SOACRAFT_CONTACT_END
