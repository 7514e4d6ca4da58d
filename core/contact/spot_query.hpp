// What compiled steps ask of a scene (`_core.ContactScene`): the points of contact at one set of poses.
#pragma once

#include <vector>

#include "soacraft/config.hpp"

namespace soacraft {
namespace contact {

constexpr index POSE = 12, SPOT = 11;  // numbers of a pose, and of a spot: gap, a, b, n, error

// Two shapes that may be near, a < b, and their padding.
struct NearPair {
    index a, b;
    double pad;
};

// What is found: numbers (spots, 11), and places (spots, 3): state and shapes of each, in the order of these. And what a scene
// knows of the search before: pairs within `reach` of each other at `poses`.
struct Spots {
    std::vector<double> numbers;
    std::vector<index> places;
    std::vector<NearPair> pairs;
    std::vector<double> poses;
    double reach = 0.0;
};

class SpotQuery {
public:
    virtual ~SpotQuery() = default;
    virtual index shapes() const = 0;
    // From poses (shapes, 12): the spots with gaps of at most `within`. `to` is that of the search before, or empty.
    virtual void spots(const double* poses, double within, Spots& to) const = 0;
};

}  // namespace contact
}  // namespace soacraft
