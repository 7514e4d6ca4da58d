// Boxes, segments and points in each other: the faces of M = A - B have the normals of the boxes' faces and those
// across two edges, 15 in all, so the depth is the least of 15 numbers (separating axes; Gottschalk 1996).
#pragma once

#include "minkowski.hpp"

namespace soacraft {
namespace contact {

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

inline Nearest box_depth(const Cores& c) {
    const Vec3 ha = half_edges(c.A), hb = half_edges(c.B);
    const Vec3& p = c.at.p;
    double best = -HUGE_VAL;
    Vec3 n = {0.0, 0.0, 1.0};
    int ea = -1, eb = -1;  // the two edges, where the normal is across both
    const auto separation = [&](const Vec3& d) {  // of the cores along a unit vector, B on its positive side
        double s = dot(d, p);
        for (int i = 0; i < 3; ++i) s -= ha[i] * std::abs(d[i]) + hb[i] * std::abs(dot(d, c.at.R.column(i)));
        return s;
    };
    const auto look = [&](Vec3 d, int i, int j) {
        if (dot(d, p) < 0.0) d = -d;
        const double s = separation(d);
        // a crossing of edges must be better by more than rounding: faces give steadier points
        if (s > best + (i >= 0 ? 1e-12 * c.size : 0.0)) best = s, n = d, ea = i, eb = j;
    };
    static const Vec3 AXES[3] = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};
    for (const Vec3& axis : AXES) look(axis, -1, -1);
    for (int i = 0; i < 3; ++i) look(c.at.R.column(i), -1, -1);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            if (!(ha[i] > 0.0) || !(hb[j] > 0.0)) continue;
            const Vec3 d = cross(AXES[i], c.at.R.column(j));
            const double length = norm(d);
            if (length > 1e-8) look((1.0 / length) * d, i, j);
        }
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

}  // namespace contact
}  // namespace soacraft
