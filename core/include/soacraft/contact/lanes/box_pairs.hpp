// Two boxes, B at a frame in the axes of A, some of whose edges may be zero: a segment, a point.
//
// In each other, the depth is the least of 15 numbers: M = A - B has faces across the normals of the boxes' faces and across
// two edges (separating axes; Gottschalk 1996). Apart, the nearest points are a vertex of one with a point of the other, or
// inside of two edges; those are the outermost along the normal across both, so that nine pairs of edges are enough.
#pragma once

#include "three.hpp"

SOACRAFT_CONTACT_BEGIN

// The unit vector, from A to B, along which two boxes are farthest apart or least deep, of those 15. `code` is 0 to 2 for a
// face of A, 3 to 5 for one of B, 6 + 3 i + j for the edges i of A and j of B.
template <class T>
struct Axis {
    T separation;
    Three<T> n;
    T code;
};

// How far apart two boxes are along a unit vector, B on its positive side.
template <class T>
SOACRAFT_FLAT T separation_along(const double* ha, const double* hb, const Place<T>& at, const Three<T>& n) {
    T s = dot(n, at.p);
    for (int i = 0; i < 3; ++i) s = s - (ha[i] * magnitude(n[i]) + hb[i] * magnitude(dot(n, at.column[i])));
    return s;
}

constexpr double STEADY = 1e-12;    // of the size: a crossing of edges must be better by this, faces give steadier points
constexpr double CROSSING2 = 1e-16;  // squared sine of the angle between edges that have a normal of their own

// e_i x column, not of unit length: two numbers that are not zero.
template <class T>
SOACRAFT_FLAT Three<T> across_axis(int i, const Three<T>& c) {
    if (i == 0) return {T(0.0), -c.z, c.y};
    if (i == 1) return {c.z, T(0.0), -c.x};
    return {-c.y, c.x, T(0.0)};
}

template <class T>
SOACRAFT_FLAT Axis<T> separating_axis(const double* ha, const double* hb, const Place<T>& at, double size) {
    Axis<T> best{T(-HUGE_VAL), {T(0.0), T(0.0), T(1.0)}, T(0.0)};
    const auto look = [&](Three<T> d, double code, double margin, T usable) {
        const T along = dot(d, at.p);
        const T sign = choose(below(along, T(0.0)), T(-1.0), T(1.0));
        d = sign * d;
        const T s = separation_along(ha, hb, at, d);
        const auto better = below(best.separation + margin, choose(below(T(0.0), usable), s, T(-HUGE_VAL)));
        best.separation = choose(better, s, best.separation);
        best.n = choose_three(better, d, best.n);
        best.code = choose(better, T(code), best.code);
    };
    for (int i = 0; i < 3; ++i) {
        Three<T> e{T(0.0), T(0.0), T(0.0)};
        e[i] = T(1.0);
        look(e, i, 0.0, T(1.0));
    }
    for (int i = 0; i < 3; ++i) look(at.column[i], 3 + i, 0.0, T(1.0));
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            if (!(ha[i] > 0.0) || !(hb[j] > 0.0)) continue;
            const Three<T> d = across_axis(i, at.column[j]);
            const T length2 = dot(d, d);
            look(T(1.0) / root(most(length2, T(CROSSING2))) * d, 6 + 3 * i + j, STEADY * size, length2 - CROSSING2);
        }
    return best;
}

constexpr double PARALLEL2 = 1e-24;  // squared sine of the angle between segments that have a crossing to speak of

// The nearest points s u and r + t v of two segments, |s| <= h and |t| <= g; u and v have unit length. Where lines cross,
// with w = u x v, s = (r x v).w / w.w; a difference of products with u.v would lose the digits of a small angle.
template <class T>
SOACRAFT_FLAT void nearest_on_segments(const Three<T>& u, double h, const Three<T>& v, double g, const Three<T>& r, T& s, T& t) {
    s = t = T(0.0);
    if (!(h > 0.0) && !(g > 0.0)) return;
    const T uv = dot(u, v), ru = dot(r, u), rv = dot(r, v);
    if (h > 0.0 && g > 0.0) {
        const Three<T> w = cross(u, v);
        const T det = dot(w, w);
        s = choose(below(T(PARALLEL2), det), clamped(dot(cross(r, v), w) / det, h), T(0.0));
    }
    t = clamped(s * uv - rv, g), s = clamped(ru + t * uv, h), t = clamped(s * uv - rv, g);
}

// The nearest points of two boxes that are apart, in the axes of A.
template <class T>
struct Between {
    T distance;
    Three<T> a, b;
};

template <class T>
SOACRAFT_FLAT Between<T> nearest_points(const double* ha, const double* hb, const Place<T>& at) {
    Three<T> vertex = at.p, in_B = at.p;  // a vertex of B; one of A in the axes of B
    T of_vertex(HUGE_VAL), of_in_B(HUGE_VAL);
    const auto each_vertex = [](const double* half, const Three<T>& middle, const Three<T>* edge, const double* other,
                                Three<T>& nearest, T& least2) {
        for (int corner = 0; corner < 8; ++corner) {
            Three<T> x = middle;
            bool again = false;
            for (int i = 0; i < 3; ++i) {
                const bool up = (corner >> i) & 1;
                again = again || (up && !(half[i] > 0.0));
                x = x + T(up ? half[i] : -half[i]) * edge[i];
            }
            if (again) continue;
            const Three<T> off{x.x - clamped(x.x, other[0]), x.y - clamped(x.y, other[1]), x.z - clamped(x.z, other[2])};
            const T far2 = dot(off, off);
            const auto nearer = below(far2, least2);
            least2 = choose(nearer, far2, least2), nearest = choose_three(nearer, x, nearest);
        }
    };
    each_vertex(hb, at.p, at.column, ha, vertex, of_vertex);
    const Three<T> back = at.turned_back(at.p), middle{-back.x, -back.y, -back.z};
    const Three<T> row[3] = {{at.column[0].x, at.column[1].x, at.column[2].x},
                             {at.column[0].y, at.column[1].y, at.column[2].y},
                             {at.column[0].z, at.column[1].z, at.column[2].z}};
    each_vertex(ha, middle, row, hb, in_B, of_in_B);
    const auto on_B = below(of_in_B, of_vertex);
    const Three<T> skin{clamped(in_B.x, hb[0]), clamped(in_B.y, hb[1]), clamped(in_B.z, hb[2])};
    Between<T> out;
    out.a = choose_three(on_B, at.turned(in_B) + at.p, Three<T>{clamped(vertex.x, ha[0]), clamped(vertex.y, ha[1]), clamped(vertex.z, ha[2])});
    out.b = choose_three(on_B, at.turned(skin) + at.p, vertex);
    T least2 = choose(on_B, of_in_B, of_vertex);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            if (!(ha[i] > 0.0) || !(hb[j] > 0.0)) continue;
            const Three<T>& v = at.column[j];
            Three<T> d = across_axis(i, v);
            const T det = most(dot(d, d), T(CROSSING2));
            d = choose(below(dot(d, at.p), T(0.0)), T(-1.0), T(1.0)) * d;
            Three<T> x, y = at.p;  // the middles of the outermost edges along d
            for (int k = 0; k < 3; ++k) {
                x[k] = k == i ? T(0.0) : choose(below(d[k], T(0.0)), T(-ha[k]), T(ha[k]));
                if (k != j) y = y + choose(below(dot(d, at.column[k]), T(0.0)), T(hb[k]), T(-hb[k])) * at.column[k];
            }
            const Three<T> r = y - x;
            const T uv = v[i], ru = r[i], rv = dot(r, v);
            x[i] = clamped((ru - uv * rv) / det, ha[i]);
            y = y + clamped((uv * ru - rv) / det, hb[j]) * v;
            const Three<T> off = y - x;
            const T far2 = dot(off, off);
            const auto nearer = below(far2, least2);
            least2 = choose(nearer, far2, least2), out.a = choose_three(nearer, x, out.a), out.b = choose_three(nearer, y, out.b);
        }
    out.distance = root(least2);
    return out;
}

SOACRAFT_CONTACT_END
