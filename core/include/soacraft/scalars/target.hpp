// The namespace of the rigid kernels, one for each instruction set they are built for.
#pragma once

#include "../config.hpp"

#define SOACRAFT_RIGID_BEGIN \
    namespace soacraft {     \
    namespace rigid {        \
    namespace SOACRAFT_TARGET {
#define SOACRAFT_RIGID_END \
    }                      \
    }                      \
    }
