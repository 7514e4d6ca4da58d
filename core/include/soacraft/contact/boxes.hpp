// Boxes, segments and points, in each other and apart: the axes of `lanes/box_pairs.hpp`, and the points along them.
#pragma once

#include "lanes/box_pairs.hpp"
#include "minkowski.hpp"

namespace soacraft {
namespace contact {

constexpr double BOX_ENOUGH = 1e-14;  // of the size: what the distance of points and the separation may differ by

// Points of two lines through a and b, along unit vectors u and v, that are nearest to each other.
inline void nearest_on_lines(const Vec3& a, const Vec3& u, const Vec3& b, const Vec3& v, double& s, double& t) {
    const Vec3 r = b - a;
    const double uv = dot(u, v), ru = dot(r, u), rv = dot(r, v), det = 1.0 - uv * uv;
    s = (ru - uv * rv) / det, t = (uv * ru - rv) / det;
}

// A support along n, where a direction of the box that is nearly across n counts as across: the middle of the face,
// edge or vertex. `free` tells which directions are left open.
inline Vec3 middle_support(const Vec3& half, const Vec3& n, bool* open) {
    Vec3 p;
    for (int i = 0; i < 3; ++i) {
        open[i] = std::abs(n[i]) <= 1e-9;
        p[i] = open[i] ? 0.0 : n[i] < 0.0 ? -half[i] : half[i];
    }
    return p;
}

// The axis of least depth, or along which they are farthest apart: its normal from A to B; `ea`, `eb` are the two edges
// where it is across both, else -1.
struct BoxAxis {
    double separation;
    Vec3 n;
    int ea, eb;
    BoxAxis(double s, const Vec3& along, double code) : separation(s), n(along) {
        const int edges = static_cast<int>(code) - 6;
        ea = edges < 0 ? -1 : edges / 3, eb = edges < 0 ? -1 : edges % 3;
    }
};

// A frame as the kernels of `lanes/` have it.
inline SOACRAFT_TARGET::Place<double> place_of(const Frame& t) {
    const auto three = [](const Vec3& v) { return SOACRAFT_TARGET::Three<double>{v.x, v.y, v.z}; };
    return {{three(t.R.column(0)), three(t.R.column(1)), three(t.R.column(2))}, three(t.p)};
}

inline BoxAxis box_axis(const Cores& c) {
    const Vec3 ha = half_edges(c.A), hb = half_edges(c.B);
    const auto best = SOACRAFT_TARGET::separating_axis(&ha.x, &hb.x, place_of(c.at), c.size);
    return {best.separation, {best.n.x, best.n.y, best.n.z}, best.code};
}

// The nearest points along that axis.
inline Nearest box_points(const Cores& c, const BoxAxis& axis) {
    static const Vec3 AXES[3] = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};
    const Vec3 ha = half_edges(c.A), hb = half_edges(c.B), n = axis.n;
    const double best = axis.separation;
    const int ea = axis.ea, eb = axis.eb;
    Nearest out = {best, 0.0, {}, {}, n};
    bool open_a[3], open_b[3];
    const Vec3 nb = c.at.R.transposed(-n);
    Vec3 a = middle_support(ha, n, open_a), b = middle_support(hb, nb, open_b);
    if (ea >= 0) {
        Vec3 x = a, y = c.at * b;
        double s, t;
        x[ea] = 0.0;
        nearest_on_lines(x, AXES[ea], y, c.at.R.column(eb), s, t);
        Vec3 local = b;
        x[ea] = std::clamp(s, -ha[ea], ha[ea]), local[eb] = std::clamp(local[eb] + t, -hb[eb], hb[eb]);
        out.a = x, out.b = c.at * local;
        return out;
    }
    // A face: start from the other's deepest feature, carried into the face and back.
    b = c.at * b;
    Vec3 on_a = a;
    const Vec3 goal = b - best * n;
    for (int i = 0; i < 3; ++i)
        if (open_a[i]) on_a[i] = std::clamp(goal[i], -ha[i], ha[i]);
    Vec3 on_b = c.at.back(on_a + best * n), start = middle_support(hb, nb, open_b);
    for (int i = 0; i < 3; ++i)
        on_b[i] = open_b[i] ? std::clamp(on_b[i], -hb[i], hb[i]) : start[i];
    const Vec3 back = c.at * on_b - best * n;
    for (int i = 0; i < 3; ++i)
        if (open_a[i]) on_a[i] = std::clamp(back[i], -ha[i], ha[i]);
    out.a = on_a, out.b = c.at * on_b;
    return out;
}

inline Nearest box_depth(const Cores& c) { return box_points(c, box_axis(c)); }

// Of two boxes that are apart: by the axis where its points are as near as it says, else the nearest points where they are
// sure, which the separation along them tells. False: others must look.
inline bool boxes_apart(const Cores& c, const BoxAxis& axis, Nearest& out) {
    out = box_points(c, axis);
    if (norm(out.b - out.a) - out.distance <= BOX_ENOUGH * c.size) return true;
    const Vec3 ha = half_edges(c.A), hb = half_edges(c.B);
    const auto at = place_of(c.at);
    const auto x = SOACRAFT_TARGET::nearest_points(&ha.x, &hb.x, at);
    const Vec3 a{x.a.x, x.a.y, x.a.z}, b{x.b.x, x.b.y, x.b.z};
    const double enough = BOX_ENOUGH * (c.size + x.distance);
    if (x.distance - axis.separation <= enough) {
        out = {axis.separation, 0.0, a, b, axis.n};
        return true;
    }
    const Vec3 n = (1.0 / x.distance) * (b - a);
    const double low = SOACRAFT_TARGET::separation_along<double>(&ha.x, &hb.x, at, {n.x, n.y, n.z});
    if (x.distance - low > enough) return false;
    out = {x.distance, std::max(x.distance - low, 0.0), a, b, n};
    return true;
}

}  // namespace contact
}  // namespace soacraft
