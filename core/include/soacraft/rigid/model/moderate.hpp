// Models and inputs with numbers so moderate that kernels cannot overflow: then nothing needs to be kept of what a result
// replaces, and a call costs no copy of it.
//
// Every number is below L = 2^30, and there are at most N = 2^17 elements, so that no two points are farther apart than
// N L, and no velocity is above N L. Sums: the largest results, derivatives of inverse dynamics, are below
//
//     N L (N L)^2 (N L)^2 = 2^235
//
// but for small factors. Solves: a body answers a force less the more is tied to it, so that no compliance is above that of
// the body alone, and M^-1 is below (N L)^2 / f for inertias that are nowhere below f = 2^-150, in units where a dof is
// within 2^10 of a radian or a metre: 2^265. Derivatives of forward dynamics are below M^-1 N times those of inverse
// dynamics at vdot < M^-1 N 2^235, which is 2^940. Doubles end at 2^1024.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "model.hpp"

namespace soacraft {
namespace rigid {

constexpr double MODERATE = 1073741824.0, FAINTEST_INERTIA = 0x1p-150, LONGEST_DOF = 1024.0;
constexpr index MODERATE_COUNT = index(1) << 17;

// Whether all numbers are below 2^30: an exponent of 1053 or more, with 995 added, runs over into the sign.
inline bool moderate(const double* x, index n) {
    constexpr std::uint64_t exponent = 0x7ff0000000000000u, rest = std::uint64_t(2048 - 1053) << 52;
    std::uint64_t seen = 0;
    for (index i = 0; i < n; ++i) {
        std::uint64_t bits;
        std::memcpy(&bits, x + i, sizeof bits);
        seen |= (bits & exponent) + rest;
    }
    return (seen >> 63) == 0;
}

// What a model promises for moderate inputs.
struct Promise {
    bool sums;    // no sum of products overflows,
    bool solves;  // nor does what is divided by inertias of hinges that are not in doubt.
};

// Whether the inertia of an element alone is positive definite beyond its rounding, and not faint. The smallest moment
// about the centre of mass is at least det / (sum of the principal minors).
inline bool solid(const Element& e) {
    if (!(e.m >= FAINTEST_INERTIA)) return false;
    const double x = e.h[0] / e.m, y = e.h[1] / e.m, z = e.h[2] / e.m, *J = e.J;
    const double xx = J[0] - (e.h[1] * y + e.h[2] * z), yy = J[3] - (e.h[0] * x + e.h[2] * z);
    const double zz = J[5] - (e.h[0] * x + e.h[1] * y);
    const double xy = J[1] + e.h[0] * y, xz = J[2] + e.h[0] * z, yz = J[4] + e.h[1] * z;
    const double a = yy * zz - yz * yz, b = xx * zz - xz * xz, c = xx * yy - xy * xy;
    const double det = xx * a - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz);
    const double smallest = det / (a + b + c), all = J[0] + J[3] + J[5];
    return xx > 0.0 && c > 0.0 && det > 0.0 && smallest > 1e-9 * all && smallest > FAINTEST_INERTIA;
}

// `base`: velocity and acceleration of what the tree hangs from, twelve numbers.
inline Promise promise_of(const Model& m, const double* base) {
    Promise is = {m.flexible_count == 0 && m.count <= MODERATE_COUNT && moderate(base, 12) && moderate(m.armature, m.nv), true};
    for (index k = 0; k < m.count && is.sums; ++k) {
        const Element& e = m.elements[k];
        const double own[] = {e.m, e.scale, e.pitch, e.pitch * e.scale, e.radius};
        is.sums = moderate(e.p, 3) && moderate(e.J, 6) && moderate(e.h, 3) && moderate(own, 5);
        is.solves = is.solves && std::fabs(e.scale) <= LONGEST_DOF && std::fabs(e.unscale) <= LONGEST_DOF && solid(e);
    }
    for (index b = 0; b < m.body_count && is.sums; ++b) is.sums = moderate(m.bodies[b].p, 3);
    is.solves = is.solves && is.sums;
    return is;
}

}  // namespace rigid
}  // namespace soacraft
