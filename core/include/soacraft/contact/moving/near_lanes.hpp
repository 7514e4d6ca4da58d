// Distances of spheres, capsules, boxes and half spaces, W pairs side by side, each with sizes and poses of its own. No branch
// depends on a pose, and no lane on another.
//
// A segment and a box: the squared distance of p + t u to the box is convex in t, and half its slope
//
//     g(t) = sum over axes i of  u_i (x_i - clamp(x_i, h_i)),      x = p + t u
//
// is piecewise linear and never falls. It bends where x_i = -h_i or h_i: the six bends and the two ends enclose its root.
#pragma once

#include "../lanes/three.hpp"
#include "plan.hpp"

SOACRAFT_CONTACT_BEGIN

template <int W>
struct NearLanes {
    using T = Pack<W>;
    using M = typename T::Mask;
    using V = Three<T>;

    static constexpr double NO_NORMAL = 1e-8;   // of the size: points that are nearer have no normal of their own
    static constexpr double NO_ANGLE2 = 1e-24;  // squared sine of the angle between segments that cross nowhere
    static constexpr double ACROSS = 1e-30;     // a slope with no bend to speak of
    static constexpr double LEVEL = 1e-16;      // of the size: a slope of zero

    const MovingShape* shapes;
    const double* poses;
    Place<T> A, B;
    T half_A[3], half_B[3], round_A, round_B, size;
    // The answer, in the axes of the poses; `left` where others must look.
    T gap;
    V a, b, n;
    M left;

    // `count` pairs by their numbers in a list; lanes beyond repeat the last.
    SOACRAFT_FLAT void read(const Near* list, const index* which, index count) {
        double x[2][12][W], h[2][3][W], r[2][W], s[W];
        for (int k = 0; k < W; ++k) {
            const Near& pair = list[which[k < count ? k : count - 1]];
            const index shape[2] = {pair.swapped ? pair.b : pair.a, pair.swapped ? pair.a : pair.b};
            s[k] = 0.0;
            for (int side = 0; side < 2; ++side) {
                const double* at = poses + 12 * shape[side];
                const MovingShape& own = shapes[shape[side]];
                for (int j = 0; j < 12; ++j) x[side][j][k] = at[j];
                for (int j = 0; j < 3; ++j) h[side][j][k] = own.half[j];
                r[side][k] = own.round, s[k] += own.extent;
            }
        }
        place(x[0], A), place(x[1], B);
        for (int j = 0; j < 3; ++j) half_A[j] = load(h[0][j]), half_B[j] = load(h[1][j]);
        round_A = load(r[0]), round_B = load(r[1]), size = load(s);
        left = M{};
    }

    SOACRAFT_FLAT void segments() {
        const V &u = A.column[2], &v = B.column[2], r = B.p - A.p, w = cross(u, v);
        const T &h = half_A[2], &g = half_B[2], uv = dot(u, v), ru = dot(r, u), rv = dot(r, v), det = dot(w, w);
        T s = choose(below(T(NO_ANGLE2), det), held(dot(cross(r, v), w) / det, h), T(0.0));
        T t = held(s * uv - rv, g);
        s = held(ru + t * uv, h), t = held(s * uv - rv, g);
        between(A.p + s * u, B.p + t * v, r + t * v - s * u);
    }

    SOACRAFT_FLAT void box_and_point() {
        const V x = A.turned_back(B.p - A.p), skin = on_box(x);
        between(A.turned(skin) + A.p, B.p, A.turned(x - skin));
    }

    SOACRAFT_FLAT void box_and_segment() {
        const V p = A.turned_back(B.p - A.p), u = A.turned_back(B.column[2]);
        const T g = half_B[2], level = T(LEVEL) * size;
        T low = -g, high = g, at_low = slope(p, u, low), at_high = slope(p, u, high);
        for (int i = 0; i < 3; ++i)
            for (const double side : {-1.0, 1.0}) {
                const auto bends = below(T(ACROSS), magnitude(u[i]));
                const T t = choose(bends, held((T(side) * half_A[i] - p[i]) / choose(bends, u[i], T(1.0)), g), T(0.0));
                const T there = slope(p, u, t);
                const M up = ~below(level, there) & below(low, t), down = ~below(there, -level) & below(t, high);
                low = choose(up, t, low), at_low = choose(up, there, at_low);
                high = choose(down, t, high), at_high = choose(down, there, at_high);
            }
        // where it is zero along a length, low and high are its two ends: the middle
        const T rise = at_high - at_low;
        const auto rises = below(T(2.0) * level, rise);
        const T part = choose(rises, most(least(-at_low / choose(rises, rise, T(1.0)), T(1.0)), T(0.0)), T(0.5));
        const V x = p + (low + part * (high - low)) * u, skin = on_box(x);
        between(A.turned(skin) + A.p, A.turned(x) + A.p, A.turned(x - skin));
    }

    // The half space z <= 0 of A, and the lowest point of B over it.
    SOACRAFT_FLAT void plane() {
        n = A.column[2];
        V low = -round_B * n;
        for (int i = 0; i < 3; ++i)
            low = low - choose(below(dot(n, B.column[i]), T(0.0)), -half_B[i], half_B[i]) * B.column[i];
        gap = dot(n, B.p - A.p + low);
        b = B.p + low, a = b - gap * n;
    }

    SOACRAFT_FLAT void compute(int type) {
        if (type == SEGMENTS) segments();
        else if (type == BOX_POINT) box_and_point();
        else if (type == BOX_SEGMENT) box_and_segment();
        else plane();
    }

    // Lane k as a row of the pair: gap, points on its a and b, normal from a to b, error.
    SOACRAFT_FLAT void write(int k, bool swapped, double* x) const {
        double *first = x + (swapped ? 4 : 1), *second = x + (swapped ? 1 : 4);
        x[0] = gap.x[k], x[10] = 0.0;
        for (int i = 0; i < 3; ++i)
            first[i] = a[i].x[k], second[i] = b[i].x[k], x[7 + i] = swapped ? -n[i].x[k] : n[i].x[k];
    }

private:
    SOACRAFT_FLAT static T load(const double* from) {
        T t;
        std::memcpy(&t.x, from, sizeof t.x);
        return t;
    }
    SOACRAFT_FLAT static void place(const double (*x)[W], Place<T>& to) {
        for (int j = 0; j < 3; ++j) to.column[j] = {load(x[j]), load(x[3 + j]), load(x[6 + j])};
        to.p = {load(x[9]), load(x[10]), load(x[11])};
    }
    SOACRAFT_FLAT static T held(const T& x, const T& to) { return most(least(x, to), -to); }
    SOACRAFT_FLAT V on_box(const V& x) const { return {held(x.x, half_A[0]), held(x.y, half_A[1]), held(x.z, half_A[2])}; }
    SOACRAFT_FLAT T slope(const V& p, const V& u, const T& t) const {
        const V x = p + t * u;
        return dot(u, x - on_box(x));
    }
    // Points of the cores and the way between them: gap and normal, roundings taken off.
    SOACRAFT_FLAT void between(const V& from, const V& to, const V& way) {
        const T far = root(dot(way, way));
        left = ~(NO_NORMAL * size.x < far.x);
        n = T(1.0) / far * way;
        a = from + round_A * n, b = to - round_B * n, gap = far - (round_A + round_B);
    }
};

SOACRAFT_CONTACT_END
