// Points of the Minkowski difference M = A - B of two cores, B placed at a frame in the axes of A.
//
// The signed distance is one number for shapes apart and in each other: d = max over unit n of -h(n), with the support
// function h(n) = max n.(a - b); n points from A to B.
#pragma once

#include "shape.hpp"

namespace soacraft {
namespace contact {

// w = a - b, a on A and b on B.
struct Point {
    Vec3 w, a, b;
};

struct Cores {
    const Shape& A;
    const Shape& B;
    Frame at;     // of B in A
    double size;  // of the pair: judgements are relative to it

    Cores(const Shape& first, const Shape& second, const Frame& t) : A(first), B(second), at(t) {
        size = first.extent + second.extent;
    }
    Point support(const Vec3& n) const {
        Point s;
        s.a = contact::support(A, n);
        s.b = at * contact::support(B, at.R.transposed(-n));
        s.w = s.a - s.b;
        return s;
    }
};

// The answer of a query on cores: d = n.(b - a) up to `error`.
struct Nearest {
    double distance, error;
    Vec3 a, b, n;
};

}  // namespace contact
}  // namespace soacraft
