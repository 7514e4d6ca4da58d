// Distance and contacts of a pair of convex shapes, or of one and a half space.
#pragma once

#include "boxes.hpp"
#include "epa.hpp"
#include "manifold.hpp"

namespace soacraft {
namespace contact {

constexpr int ROOM = 2 * MOST_CORNERS + 2;

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
        out = box_depth(c);  // in each other, or farther apart than anybody asks, one look along 15 normals is enough
        if (out.distance <= NEAR * c.size || out.distance > beyond) return out;
        // the separation is a lower bound, its points an upper one: where they agree, that is the distance
        if (norm(out.b - out.a) - out.distance <= GJK_ENOUGH * c.size) return out;
        start = out.n;
    }
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
    double s = 0.0, t = 0.0;
    if (a.h > 0.0 || b.h > 0.0) {
        const double dz = dot(a.z, b.z), ra = dot(r, a.z), rb = dot(r, b.z), det = 1.0 - dz * dz;
        if (a.h > 0.0 && b.h > 0.0 && det > 1e-16) s = std::clamp((ra - dz * rb) / det, -a.h, a.h);
        t = std::clamp(s * dz - rb, -b.h, b.h);
        s = std::clamp(ra + t * dz, -a.h, a.h);
        t = std::clamp(s * dz - rb, -b.h, b.h);
    }
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

// Two convex shapes, B at a frame in A. Points beyond `within` are not looked for; with `several`, all corners of the
// contact that are.
inline void convex_touch(const Shape& A, const Shape& B, const Frame& at, double within, bool several, Touch& out) {
    const Cores c(A, B, at);
    const double ra = rounding(A), rb = rounding(B);
    Nearest x;
    if (!closed_form(c, x)) x = nearest(c, within + ra + rb);
    out.n = x.n, out.error = x.error, out.count = 1;
    out.contact[0] = {x.a + ra * x.n, x.b - rb * x.n, x.distance - ra - rb};
    if (out.contact[0].gap > within) return;
    const bool middle = x.distance <= 0.0 && is_box_like(A) && is_box_like(B) && A.kind + B.kind > CAPSULE;
    if (!several && !middle) return;
    Feature fa, fb;
    features(c, x.n, fa, fb);
    int count = 1 + lay_over(fa, fb, x.n, out.contact + 1, ROOM - 1);
    if (middle && count > 1) {
        // faces that lie on each other have no single nearest point: the middle of those that are equally deep
        const double deepest = out.contact[0].gap + 1e-9 * c.size;
        Vec3 a{0.0, 0.0, 0.0}, b{0.0, 0.0, 0.0};
        int equal = 0;
        for (int i = 1; i < count; ++i)
            if (out.contact[i].gap <= deepest) a = a + out.contact[i].a, b = b + out.contact[i].b, ++equal;
        if (equal > 0) out.contact[0].a = (1.0 / equal) * a, out.contact[0].b = (1.0 / equal) * b;
    }
    if (several) out.count = thin_out(out.contact, count, x.n, within, c.size);
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
