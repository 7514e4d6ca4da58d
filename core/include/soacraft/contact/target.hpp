// Names of what is built once for each instruction set, each build with a namespace of its own.
#pragma once

#include "../config.hpp"

#define SOACRAFT_CONTACT_BEGIN \
    namespace soacraft {       \
    namespace contact {        \
    namespace SOACRAFT_TARGET {
#define SOACRAFT_CONTACT_END \
    }                        \
    }                        \
    }

#define SOACRAFT_SOLVERS_BEGIN  \
    namespace soacraft {        \
    namespace complementarity { \
    inline namespace SOACRAFT_TARGET {
#define SOACRAFT_SOLVERS_END \
    }                        \
    }                        \
    }
