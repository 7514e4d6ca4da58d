// GJK (Gilbert, Johnson, Keerthi 1988): the point of M = A - B nearest to the origin, by simplices of its points.
//
// Each step has |v| from above and v.w/|v| from below for the distance; the difference is the error that is told.
#pragma once

#include "minkowski.hpp"

namespace soacraft {
namespace contact {

struct Simplex {
    Point p[4];
    double weight[4];
    int count = 0;
};

// The point of the segment p0 p1 nearest to the origin, as weights.
inline void nearest_on_segment(const Vec3& p0, const Vec3& p1, double* weight) {
    const Vec3 e = p1 - p0;
    const double length2 = dot(e, e), t = length2 > 0.0 ? std::clamp(-dot(p0, e) / length2, 0.0, 1.0) : 0.0;
    weight[0] = 1.0 - t, weight[1] = t;
}

inline Vec3 combined(const Vec3* p, const double* weight, int count) {
    Vec3 v{0.0, 0.0, 0.0};
    for (int i = 0; i < count; ++i) v = v + weight[i] * p[i];
    return v;
}

// The same for a triangle; its inside first, then the best of its edges. Squared distance.
inline double nearest_on_triangle(const Vec3* p, double* weight) {
    const Vec3 n = cross(p[1] - p[0], p[2] - p[0]);
    const double area2 = dot(n, n);
    if (area2 > 0.0) {
        const double u = dot(cross(p[1], p[2]), n), v = dot(cross(p[2], p[0]), n), w = dot(cross(p[0], p[1]), n);
        if (u >= 0.0 && v >= 0.0 && w >= 0.0 && u + v + w > 0.0) {
            const double sum = u + v + w;
            weight[0] = u / sum, weight[1] = v / sum, weight[2] = w / sum;
            const Vec3 x = combined(p, weight, 3);
            return dot(x, x);
        }
    }
    double best = -1.0;
    for (int i = 0; i < 3; ++i) {
        const int j = (i + 1) % 3;
        double t[2];
        nearest_on_segment(p[i], p[j], t);
        const Vec3 x = t[0] * p[i] + t[1] * p[j];
        const double far2 = dot(x, x);
        if (best < 0.0 || far2 < best) {
            best = far2;
            weight[0] = weight[1] = weight[2] = 0.0;
            weight[i] = t[0], weight[j] = t[1];
        }
    }
    return best;
}

// Cuts the simplex down to the points that carry its point v nearest to the origin. True where it holds the origin.
inline bool reduce(Simplex& s, Vec3& v) {
    Vec3 p[4];
    for (int i = 0; i < s.count; ++i) p[i] = s.p[i].w;
    double weight[4] = {1.0, 0.0, 0.0, 0.0};
    if (s.count == 2) nearest_on_segment(p[0], p[1], weight);
    if (s.count == 3) nearest_on_triangle(p, weight);
    if (s.count == 4) {
        static constexpr int FACE[4][3] = {{0, 1, 2}, {0, 2, 3}, {0, 3, 1}, {1, 3, 2}};
        static constexpr int OTHER[4] = {3, 1, 2, 0};
        bool inside = true;
        double best = -1.0;
        for (int f = 0; f < 4; ++f) {
            const Vec3 q[3] = {p[FACE[f][0]], p[FACE[f][1]], p[FACE[f][2]]};
            const Vec3 n = cross(q[1] - q[0], q[2] - q[0]);
            const Vec3 up = p[OTHER[f]] - q[0];
            const double of_other = dot(n, up), of_origin = -dot(n, q[0]);
            const bool flat = !(std::abs(of_other) > 1e-10 * norm(n) * norm(up));  // its sides are rounding: no inside
            if (!flat && of_origin != 0.0 && (of_other > 0.0) == (of_origin > 0.0)) continue;  // the origin is on its inner side
            inside = inside && !flat && of_origin == 0.0;
            double t[3];
            const double far2 = nearest_on_triangle(q, t);
            if (best < 0.0 || far2 < best) {
                best = far2;
                for (double& each : weight) each = 0.0;
                for (int i = 0; i < 3; ++i) weight[FACE[f][i]] = t[i];
            }
        }
        if (inside) {
            v = {0.0, 0.0, 0.0};
            return true;
        }
    }
    int kept = 0;
    for (int i = 0; i < s.count; ++i)
        if (weight[i] > 0.0) s.p[kept] = s.p[i], s.weight[kept] = weight[i], ++kept;
    s.count = kept;
    v = {0.0, 0.0, 0.0};
    for (int i = 0; i < kept; ++i) v = v + s.weight[i] * s.p[i].w;
    return false;
}

constexpr int GJK_STEPS = 200;
constexpr double GJK_ENOUGH = 1e-14;   // error relative to the size of the pair at which it ends
constexpr double NEAR = 1e-8;          // closer than this part of the size, normals come from the faces of M

// The nearest points of two cores; false where they are in each other or nearer than NEAR. `s` has what it ended with.
// `beyond`: it ends, with a lower bound as its distance, once they are known to be farther apart than this.
// It begins along `start`, a direction from A to B.
inline bool gjk(const Cores& cores, Simplex& s, Nearest& out, double beyond, const Vec3& start) {
    Vec3 v = -start;
    if (!(dot(v, v) > 0.0)) v = {1.0, 0.0, 0.0};
    s.count = 0;
    double low = 0.0, last = HUGE_VAL;
    for (int step = 0; step < GJK_STEPS; ++step) {
        const double length = norm(v);
        const Point w = cores.support(-v);
        low = std::max(low, dot(v, w.w) / length);
        if (low > 0.0 && low > beyond) {
            out.distance = low, out.error = HUGE_VAL, out.n = (-1.0 / length) * v, out.a = w.a, out.b = w.b;
            return true;
        }
        bool again = s.count > 0 && length - low <= GJK_ENOUGH * (cores.size + length);
        for (int i = 0; i < s.count && !again; ++i)
            again = w.w.x == s.p[i].w.x && w.w.y == s.p[i].w.y && w.w.z == s.p[i].w.z;
        if (again) break;
        const Simplex before = s;
        const Vec3 v_before = v;
        s.p[s.count] = w, s.weight[s.count] = 1.0, ++s.count;
        const bool inside = reduce(s, v);
        if (inside && low <= 0.0) return false;
        const double now = norm(v);
        if (inside || now >= last) {  // rounding has the better of it
            s = before, v = v_before;
            break;
        }
        last = now;
        if (now <= NEAR * cores.size) return false;
    }
    const double length = norm(v);
    if (!(length > NEAR * cores.size)) return false;
    out.distance = length, out.error = std::max(length - low, 0.0), out.n = (-1.0 / length) * v;
    out.a = out.b = {0.0, 0.0, 0.0};
    for (int i = 0; i < s.count; ++i) out.a = out.a + s.weight[i] * s.p[i].a, out.b = out.b + s.weight[i] * s.p[i].b;
    return true;
}

// B moved out along n until it is clear of A by this part of the size of the pair: enough for the digits of a normal.
constexpr double CLEAR = 0.25;

// The points of cores that touch along n: B is moved out until it is just clear, where the nearest points are found
// without doubt, and back.
inline bool clear_points(const Cores& c, Nearest& x, Nearest& y) {
    const double by = CLEAR * c.size - x.distance;
    Cores moved = c;
    moved.at.p = moved.at.p + by * x.n;
    Simplex s;
    if (!gjk(moved, s, y, HUGE_VAL, x.n)) return false;
    x.a = y.a, x.b = y.b - by * x.n;
    return true;
}

// Uphill on the separation -h(n) from a good n, of cores that touch or nearly do. The point x = t n, just outside of M,
// is projected on M; the normal n' there has h(n') <= t - |x - y| <= h(n), whether M is smooth there or not. Steps that
// lead on are made longer.
inline void polish(const Cores& c, Nearest& x) {
    Nearest y;
    for (int step = 0; step < 60 && clear_points(c, x, y); ++step) {
        const double h = -x.distance;
        Vec3 best = y.n;
        double least = dot(best, c.support(best).w);
        for (double longer = 2.0; longer < 1e6; longer *= 2.0) {
            Vec3 m = x.n + longer * (y.n - x.n);
            m = (1.0 / norm(m)) * m;
            const double there = dot(m, c.support(m).w);
            if (!(there < least)) break;
            least = there, best = m;
        }
        if (!(least < h - 1e-16 * c.size)) return;
        x.n = best, x.distance = -least, x.error = std::max(x.error - (h - least), 0.0);
    }
    clear_points(c, x, y);
}

}  // namespace contact
}  // namespace soacraft
