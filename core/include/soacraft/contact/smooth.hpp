// Whether a signed distance has a derivative where two shapes are.
//
// It is the largest separation along any direction, and that of the nearest points: it has a derivative, n . (v_b - v_a), where
// both are the only ones (Danskin 1966). Faces and edges that lie along each other have many nearest points; a shape in the
// middle of another has several ways out that are equally long.
#pragma once

#include "touch.hpp"

namespace soacraft {
namespace contact {

constexpr double ANOTHER_POINT = 1e-5;  // of the size: points that are farther apart are two
constexpr double ANOTHER_WAY = 1e-3;    // of unit normals: those that differ by more are two
constexpr double NUDGE = 1e-7;          // of the size: ways out whose lengths differ by less are equally long

// `x` is what `touch` said of them. Of two ways out n and m, one of the shifts along +-n, +-u, +-v makes m the shorter one, since
// (m - n) . e > 0 for one of them. The depth of a mesh is the shortest of the pushes that are tried: where its normal does
// not say how it changes, it is not smooth either.
inline bool is_smooth(const Shape& a, const double* pose_a, const Shape& b, const double* pose_b, const Spot& x,
                      std::vector<Spot>& spots) {
    const double size = a.kind == PLANE ? b.extent : b.kind == PLANE ? a.extent : a.extent + b.extent;
    spots.clear();
    touch(a, pose_a, b, pose_b, x.gap + AS_DEEP * size, true, spots);
    for (const Spot& other : spots)
        if (std::abs(other.gap - x.gap) <= AS_DEEP * size && norm(other.b - spots[0].b) > ANOTHER_POINT * size) return false;
    if (a.kind == PLANE || b.kind == PLANE) return true;
    if (x.gap + rounding(a) + rounding(b) > AS_DEEP * size) return true;
    // whether the distance changes by as much as the normal says, and this hardly at all
    const auto same = [&](const double* moved, double more) {
        spots.clear();
        touch(a, pose_a, b, moved, HUGE_VAL, false, spots);
        if (spots.empty()) return false;
        return norm(spots[0].n - x.n) <= ANOTHER_WAY && std::abs(spots[0].gap - x.gap - more) <= 10.0 * ANOTHER_WAY * NUDGE * size;
    };
    Vec3 axis[3] = {x.n, {}, {}};
    tangents(x.n, axis[1], axis[2]);
    for (const Vec3& e : axis)
        for (const double by : {NUDGE, -NUDGE}) {
            double moved[12];
            std::copy(pose_b, pose_b + 12, moved);
            for (int i = 0; i < 3; ++i) moved[9 + i] += by * size * e[i];
            if (!same(moved, by * size * dot(x.n, e))) return false;
        }
    return true;
}

}  // namespace contact
}  // namespace soacraft
