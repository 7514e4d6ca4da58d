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

// Shapes at the ends of a step of length h: poses (shapes, 12), and velocities (shapes, 6) of their origins, angular first.
struct StepEnds {
    const double *from, *to, *from_velocity, *to_velocity;
    double h;
};

// Two shapes that a step may lead through each other: the part of it that does not (1: there are none), how much closer they
// come, from which gap, and how thick they are together.
struct Passed {
    index a = -1, b = -1;
    double part = 1.0, closes = 0.0, gap = 0.0, thick = 0.0;
};

class SpotQuery {
public:
    virtual ~SpotQuery() = default;
    virtual index shapes() const = 0;
    // From poses (shapes, 12): the spots with gaps of at most `within`. `to` is that of the search before, or empty.
    virtual void spots(const double* poses, double within, Spots& to) const = 0;
    // Of some pairs the one of which least of a step may be taken (`passage.hpp`).
    virtual Passed passed(const StepEnds& ends, const std::vector<NearPair>& pairs) const = 0;
};

}  // namespace contact
}  // namespace soacraft
