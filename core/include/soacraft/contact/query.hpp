// Distance and contacts of a pair of convex shapes, or of one and a half space.
#pragma once

#include "boxes.hpp"
#include "cylinders.hpp"
#include "epa.hpp"
#include "manifold.hpp"

namespace soacraft {
namespace contact {

constexpr int ROOM = 2 * MOST_CORNERS + 2;
constexpr double AS_DEEP = 1e-9;  // of the size: depths that differ by less are equal

// In the axes of A. The first contact is the nearest: gap = distance.
struct Touch {
    Vec3 n;
    double error;
    int count;
    Contact contact[ROOM];
};

inline Nearest nearest(const Cores& c, double beyond) {
    Nearest out;
    Simplex s;
    Vec3 start = c.at.p;
    if (is_box_like(c.A) && is_box_like(c.B)) {
        const BoxAxis axis = box_axis(c);  // in each other, or farther apart than anybody asks, 15 normals are enough
        if (axis.separation > beyond) return {axis.separation, HUGE_VAL, {}, {}, axis.n};
        if (axis.separation <= NEAR * c.size) return box_points(c, axis);
        if (boxes_apart(c, axis, out)) return out;
        start = axis.n;
    }
    if (c.A.kind == CYLINDER && is_box_like(c.B) && CylinderApart(c).solve(out)) return out;
    if (gjk(c, s, out, beyond, start)) {
        // n is v / |v|: of a short v the last digits of GJK are not enough
        if (out.distance < 0.01 * CLEAR * c.size && out.error > 1e-11 * out.distance) {
            const double high = out.distance;
            out.distance = -dot(out.n, c.support(out.n).w);
            polish(c, out);
            out.error = std::max(high - out.distance, 0.0);
        }
        return out;
    }
    if (is_box_like(c.A) && is_box_like(c.B)) return box_depth(c);
    return Polytope(c).depth(s);
}

// The core of a sphere or a capsule: the points p + t z, |t| <= h.
struct Segment {
    Vec3 p, z;
    double h;
};

inline Segment segment_of(const Shape& s, const Vec3& p, const Vec3& z) { return {p, z, s.kind == CAPSULE ? s.size[1] : 0.0}; }

// Points that are nearer than NEAR have no normal of their own: false.
inline bool apart_by(const Vec3& between, double size, Nearest& out) {
    out.distance = norm(between), out.error = 0.0;
    if (!(out.distance > NEAR * size)) return false;
    out.n = (1.0 / out.distance) * between;
    return true;
}

// Sphere and sphere, capsule and sphere, capsule and capsule: the nearest points of two segments.
inline bool segments(const Segment& a, const Segment& b, double size, Nearest& out) {
    const Vec3 r = b.p - a.p;
    double s, t;
    SOACRAFT_TARGET::nearest_on_segments<double>({a.z.x, a.z.y, a.z.z}, a.h, {b.z.x, b.z.y, b.z.z}, b.h, {r.x, r.y, r.z}, s, t);
    const Vec3 x = s * a.z, y = r + t * b.z;
    out.a = a.p + x, out.b = a.p + y;
    return apart_by(y - x, size, out);
}

// A box and a point p in its axes: the nearest point of the box by clamping.
inline bool box_and_point(const Vec3& h, const Vec3& p, double size, Nearest& out) {
    out.a = {std::clamp(p.x, -h.x, h.x), std::clamp(p.y, -h.y, h.y), std::clamp(p.z, -h.z, h.z)};
    out.b = p;
    return apart_by(p - out.a, size, out);
}

inline bool closed_form(const Cores& c, Nearest& out) {
    if (c.A.kind <= CAPSULE && c.B.kind <= CAPSULE) {
        const Segment a = segment_of(c.A, {0.0, 0.0, 0.0}, {0.0, 0.0, 1.0}), b = segment_of(c.B, c.at.p, c.at.R.column(2));
        if (!segments(a, b, c.size, out)) {  // they cross: along a normal across both
            const Nearest across = box_depth(c);
            out.distance = across.distance, out.n = across.n;
        }
        return true;
    }
    return c.A.kind == BOX && c.B.kind == SPHERE && box_and_point(half_edges(c.A), c.at.p, c.size, out);
}

// Whether boxes that are in each other along n lie on each other with more than a point: a face on an edge or a face, or an
// edge along an edge.
inline bool lie_flat(const Cores& c, const Vec3& n) {
    if (!is_box_like(c.A) || !is_box_like(c.B)) return false;
    const Vec3 ha = half_edges(c.A), hb = half_edges(c.B), nb = c.at.R.transposed(n);
    int of_A = 0, of_B = 0;  // edges across n, which are as deep at one end as at the other
    Vec3 along_A{}, along_B{};
    for (int i = 0; i < 3; ++i) {
        if (ha[i] > 0.0 && ha[i] * std::abs(n[i]) <= AS_DEEP * c.size) ++of_A, along_A = {i == 0 ? 1.0 : 0.0, i == 1 ? 1.0 : 0.0, i == 2 ? 1.0 : 0.0};
        if (hb[i] > 0.0 && hb[i] * std::abs(nb[i]) <= AS_DEEP * c.size) ++of_B, along_B = c.at.R.column(i);
    }
    if (of_A == 0 || of_B == 0) return false;
    return of_A + of_B > 2 || std::abs(dot(along_A, along_B)) > 1.0 - AS_DEEP;
}

// The contacts of two convex shapes whose cores' nearest points are known; with `several`, all corners of the contact that
// are within the distance.
inline void contacts_of(const Cores& c, const Nearest& x, double within, bool several, Touch& out) {
    const double ra = rounding(c.A), rb = rounding(c.B);
    out.n = x.n, out.error = x.error, out.count = 1;
    out.contact[0] = {x.a + ra * x.n, x.b - rb * x.n, x.distance - ra - rb};
    if (out.contact[0].gap > within) return;
    const bool middle = x.distance <= 0.0 && lie_flat(c, x.n);
    if (!several && !middle) return;
    Feature fa, fb;
    features(c, x.n, fa, fb);
    int count = 1 + lay_over(fa, fb, x.n, out.contact + 1, ROOM - 1);
    if (middle && count > 1) {
        // faces that lie on each other have no single nearest point: the middle of those that are equally deep
        const double deepest = out.contact[0].gap + AS_DEEP * c.size;
        Vec3 a{0.0, 0.0, 0.0}, b{0.0, 0.0, 0.0};
        int equal = 0;
        for (int i = 1; i < count; ++i)
            if (out.contact[i].gap <= deepest) a = a + out.contact[i].a, b = b + out.contact[i].b, ++equal;
        if (equal > 0) out.contact[0].a = (1.0 / equal) * a, out.contact[0].b = (1.0 / equal) * b;
    }
    if (several) out.count = thin_out(out.contact, count, x.n, within, c.size);
}

// Two convex shapes, B at a frame in A. Points beyond `within` are not looked for.
inline void convex_touch(const Shape& A, const Shape& B, const Frame& at, double within, bool several, Touch& out) {
    const Cores c(A, B, at);
    Nearest x;
    if (!closed_form(c, x)) x = nearest(c, within + rounding(A) + rounding(B));
    contacts_of(c, x, within, several, out);
}

// A half space z <= 0 and a convex shape at a frame in it.
inline void plane_touch(const Shape& B, const Frame& at, double within, bool several, Touch& out) {
    out.n = {0.0, 0.0, 1.0}, out.error = 0.0, out.count = 1;
    const Vec3 down = at.R.transposed({0.0, 0.0, -1.0});
    const double r = rounding(B);
    const auto put = [&](const Vec3& local, Contact& c) {
        c.b = at * local - r * out.n;
        c.a = {c.b.x, c.b.y, 0.0}, c.gap = c.b.z;
    };
    put(support(B, down), out.contact[0]);
    if (!several || out.contact[0].gap > within) return;
    Feature f;
    feature(B, down, f);
    int count = 1;
    for (int i = 0; i < f.count && count < ROOM; ++i) put(f.p[i], out.contact[count++]);
    out.count = thin_out(out.contact, count, out.n, within, B.extent);
}

}  // namespace contact
}  // namespace soacraft
