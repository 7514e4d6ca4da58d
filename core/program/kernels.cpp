// Programs, built once for each instruction set.
#include "soacraft/program/drivers.hpp"

SOACRAFT_PROGRAM_BEGIN

extern const Machine kernels;
const Machine kernels = MACHINE;

SOACRAFT_PROGRAM_END
