// Rigid kernels are built several times, for several instruction sets. Each build has a namespace of its own, so that
// the linker never joins code meant for different machines.
#pragma once

#include "../config.hpp"

#if !defined(SOACRAFT_TARGET)
#define SOACRAFT_TARGET portable
#endif

#define SOACRAFT_RIGID_BEGIN \
    namespace soacraft {     \
    namespace rigid {        \
    namespace SOACRAFT_TARGET {
#define SOACRAFT_RIGID_END \
    }                      \
    }                      \
    }
