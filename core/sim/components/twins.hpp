// The compiled twins of the components that come along (src/soacraft/sim/library), by name.
#pragma once

#include "sim/components/plan.hpp"

namespace soacraft {
namespace sim {

struct Named {
    const char* name;  // "Gain.y": of a class and its equation
    Twin twin;
};

// Ended by one without a name.
extern const Named TWINS[];

}  // namespace sim
}  // namespace soacraft
