// What compiled steps ask of a scene (`_core.ContactScene`): the points of contact at one set of poses.
#pragma once

#include <vector>

#include "soacraft/config.hpp"

namespace soacraft {
namespace contact {

constexpr index POSE = 12, SPOT = 11;  // numbers of a pose, and of a spot: gap, a, b, n, error

class SpotQuery {
public:
    virtual ~SpotQuery() = default;
    virtual index shapes() const = 0;
    // From poses (shapes, 12): numbers (spots, 11) with gaps of at most `within`, and places (spots, 3), whose last two are
    // the shapes, in the order of these.
    virtual void spots(const double* poses, double within, std::vector<double>& numbers, std::vector<index>& places) const = 0;
};

}  // namespace contact
}  // namespace soacraft
