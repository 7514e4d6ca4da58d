// Several points of a pair: the faces that look at each other, laid over each other along the normal.
//
// Each shape shows the face, edge or point that looks along n; the face of one is clipped by that of the other in the
// plane across n (Sutherland, Hodgman 1974). Each corner of what is left is a contact: a on A, b on B, gap n.(b - a).
// All gaps are at least the distance of the pair, so the caller keeps those that are small enough.
#pragma once

#include "minkowski.hpp"

namespace soacraft {
namespace contact {

constexpr int MOST_CORNERS = 64;  // of a face that is clipped
constexpr int MOST_POINTS = 9;    // of a pair: the nearest points and eight around them
constexpr double UPRIGHT = 0.05;  // a face or an edge that is this near to the direction of n has no height over it
constexpr double PARALLEL = 0.05;  // two edges that cross at less than this angle touch along a length

// Eight directions in the plane across n.
constexpr double DIAGONAL = 0.70710678118654752;
constexpr double AROUND[8][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1},
                                 {DIAGONAL, DIAGONAL}, {-DIAGONAL, DIAGONAL}, {-DIAGONAL, -DIAGONAL}, {DIAGONAL, -DIAGONAL}};

struct Contact {
    Vec3 a, b;
    double gap;
};

struct Feature {
    Vec3 p[MOST_CORNERS];
    int count = 0;
    Vec3 normal = {0.0, 0.0, 1.0};
    void add(const Vec3& x) {
        if (count < MOST_CORNERS) p[count++] = x;
    }
};

inline void box_feature(const Vec3& half, const Vec3& n, Feature& f) {
    int k = 0;
    for (int i = 1; i < 3; ++i)
        if (std::abs(n[i]) > std::abs(n[k]) * (1.0 + 1e-12)) k = i;
    const int i = (k + 1) % 3, j = (k + 2) % 3;
    const double side = n[k] < 0.0 ? -1.0 : 1.0;
    f.normal = {0.0, 0.0, 0.0};
    f.normal[k] = side;
    static constexpr int CORNER[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
    for (const auto& c : CORNER) {
        Vec3 x;
        x[k] = side * half[k], x[i] = c[0] * half[i], x[j] = c[1] * half[j];
        f.add(x);
    }
}

inline void hull_feature(const Hull& h, const Vec3& n, Feature& f) {
    std::size_t best = 0;
    double most = -HUGE_VAL;
    for (std::size_t i = 0; i < h.normal.size(); ++i) {
        const double along = dot(h.normal[i], n);
        if (along > most) most = along, best = i;
    }
    f.normal = h.normal[best];
    const index count = h.face_start[best + 1] - h.face_start[best], skip = 1 + (count - 1) / MOST_CORNERS;
    for (index k = 0; k < count; k += skip)
        f.add(h.vertex[static_cast<std::size_t>(h.face[static_cast<std::size_t>(h.face_start[best] + k)])]);
}

// What a shape shows along n, in its own axes; the rounding is added by the caller.
inline void feature(const Shape& s, const Vec3& n, Feature& f) {
    f.count = 0, f.normal = n;
    if (s.kind == BOX) {
        box_feature(half_edges(s), n, f);
    } else if (s.kind == CAPSULE) {
        f.add({0.0, 0.0, -s.size[1]}), f.add({0.0, 0.0, s.size[1]});
    } else if (s.kind == CYLINDER) {
        const double across = std::hypot(n.x, n.y), r = s.size[0], h = s.size[1];
        if (std::abs(n.z) >= across) {
            const double side = n.z < 0.0 ? -1.0 : 1.0, d = r * std::sqrt(0.5);
            f.normal = {0.0, 0.0, side};
            const double rim[8][2] = {{r, 0}, {d, d}, {0, r}, {-d, d}, {-r, 0}, {-d, -d}, {0, -r}, {d, -d}};
            for (const auto& x : rim) f.add({x[0], x[1], side * h});
        } else {
            const Vec3 x{r * n.x / across, r * n.y / across, 0.0};
            f.add({x.x, x.y, -h}), f.add({x.x, x.y, h});
        }
    } else if (s.kind == HULL && s.hull != nullptr) {
        hull_feature(*s.hull, n, f);
    } else if (s.kind == HULL) {  // a triangle
        for (int i = 0; i < 3; ++i) f.add(s.points[i]);
        f.normal = cross(f.p[1] - f.p[0], f.p[2] - f.p[0]);
        const double length = norm(f.normal);
        f.normal = length > 0.0 ? (1.0 / length) * f.normal : n;
        if (dot(f.normal, n) < 0.0) f.normal = -f.normal, std::swap(f.p[1], f.p[2]);
    } else {
        f.add(support(s, n));
    }
}

// A point of the plane across n.
struct Flat {
    double u, v;
};

// Clips a convex polygon (or a segment of two corners) by the inner side of each edge of a counter-clockwise polygon.
inline int clip(Flat* poly, int count, const Flat* by, int edges) {
    Flat next[2 * MOST_CORNERS];
    for (int e = 0; e < edges && count > 0; ++e) {
        const Flat &a = by[e], &b = by[(e + 1) % edges];
        const double eu = b.u - a.u, ev = b.v - a.v;
        const auto side = [&](const Flat& x) { return eu * (x.v - a.v) - ev * (x.u - a.u); };
        int made = 0;
        const int last = count == 2 ? 1 : count;  // a segment is not closed
        if (count == 1) {
            if (side(poly[0]) >= 0.0) next[made++] = poly[0];
        } else {
            for (int i = 0; i < last; ++i) {
                const Flat &x = poly[i], &y = poly[(i + 1) % count];
                const double sx = side(x), sy = side(y);
                if (sx >= 0.0 && made < 2 * MOST_CORNERS) next[made++] = x;
                if ((sx < 0.0) != (sy < 0.0) && made < 2 * MOST_CORNERS) {
                    const double t = sx / (sx - sy);
                    next[made++] = {x.u + t * (y.u - x.u), x.v + t * (y.v - x.v)};
                }
                if (count == 2 && sy >= 0.0 && made < 2 * MOST_CORNERS) next[made++] = y;
            }
        }
        count = std::min(made, MOST_CORNERS);
        for (int i = 0; i < count; ++i) poly[i] = next[i];
    }
    return count;
}

// A feature seen along n: its corners in the plane, and its height over the plane as a linear function.
struct Seen {
    Flat p[MOST_CORNERS];
    int count;
    double height, du, dv;

    Seen(const Feature& f, const Vec3& n, const Vec3& u, const Vec3& v) : count(f.count), height(0.0), du(0.0), dv(0.0) {
        for (int i = 0; i < count; ++i) p[i] = {dot(f.p[i], u), dot(f.p[i], v)};
        height = dot(f.p[0], n);
        if (count == 2) {
            const double eu = p[1].u - p[0].u, ev = p[1].v - p[0].v, length2 = eu * eu + ev * ev;
            const double rise = length2 > 0.0 ? (dot(f.p[1], n) - height) / length2 : 0.0;
            du = rise * eu, dv = rise * ev;
        } else if (count > 2) {
            const double up = dot(f.normal, n);
            du = -dot(f.normal, u) / up, dv = -dot(f.normal, v) / up;
            double area = 0.0;
            for (int i = 0; i < count; ++i) {
                const Flat &a = p[i], &b = p[(i + 1) % count];
                area += a.u * b.v - a.v * b.u;
            }
            if (area < 0.0) std::reverse(p + 1, p + count);
        }
        height -= du * p[0].u + dv * p[0].v;
    }
    double at(const Flat& x) const { return height + du * x.u + dv * x.v; }
};

inline bool tells_height(const Feature& f, const Vec3& n) {
    if (f.count == 2) return norm(cross(f.p[1] - f.p[0], n)) > UPRIGHT * norm(f.p[1] - f.p[0]);
    return f.count < 2 || std::abs(dot(f.normal, n)) > UPRIGHT;
}

// Contacts of two features, already in one frame and with their roundings. Returns how many.
inline int lay_over(const Feature& A, const Feature& B, const Vec3& n, Contact* out, int room) {
    if (A.count < 2 || B.count < 2 || !tells_height(A, n) || !tells_height(B, n)) return 0;
    Vec3 u, v;
    tangents(n, u, v);
    const Seen a(A, n, u, v), b(B, n, u, v);
    Flat poly[2 * MOST_CORNERS];
    int count = 0;
    if (a.count == 2 && b.count == 2) {
        const double au = a.p[1].u - a.p[0].u, av = a.p[1].v - a.p[0].v, bu = b.p[1].u - b.p[0].u,
                     bv = b.p[1].v - b.p[0].v, la = std::hypot(au, av), lb = std::hypot(bu, bv);
        if (!(la > 0.0) || !(lb > 0.0) || std::abs(au * bv - av * bu) > PARALLEL * la * lb) return 0;
        const double e0 = ((b.p[0].u - a.p[0].u) * au + (b.p[0].v - a.p[0].v) * av) / (la * la),
                     e1 = ((b.p[1].u - a.p[0].u) * au + (b.p[1].v - a.p[0].v) * av) / (la * la);
        const double low = std::max(0.0, std::min(e0, e1)), high = std::min(1.0, std::max(e0, e1));
        if (low > high) return 0;
        int made = 0;
        for (const double t : {low, high}) {  // the overlap along a; the point of b next to each
            const Flat x{a.p[0].u + t * au, a.p[0].v + t * av};
            const double s = std::clamp((t - e0) / (e1 - e0), 0.0, 1.0);
            const Flat y{b.p[0].u + s * bu, b.p[0].v + s * bv};
            Contact& c = out[made++];
            c.a = x.u * u + x.v * v + a.at(x) * n, c.b = y.u * u + y.v * v + b.at(y) * n, c.gap = b.at(y) - a.at(x);
        }
        return made;
    }
    const Seen &subject = a.count <= b.count ? a : b, &other = a.count <= b.count ? b : a;
    for (int i = 0; i < subject.count; ++i) poly[count++] = subject.p[i];
    count = std::min(clip(poly, count, other.p, other.count), room);
    for (int i = 0; i < count; ++i) {
        const Flat& x = poly[i];
        const Vec3 foot = x.u * u + x.v * v;
        out[i].a = foot + a.at(x) * n, out[i].b = foot + b.at(x) * n, out[i].gap = b.at(x) - a.at(x);
    }
    return count;
}

// Both features of a pair in the axes of A.
inline void features(const Cores& c, const Vec3& n, Feature& a, Feature& b) {
    feature(c.A, n, a), feature(c.B, c.at.R.transposed(-n), b);
    const double ra = rounding(c.A), rb = rounding(c.B);
    for (int i = 0; i < a.count; ++i) a.p[i] = a.p[i] + ra * n;
    for (int i = 0; i < b.count; ++i) b.p[i] = c.at * b.p[i] - rb * n;
    b.normal = c.at.R * b.normal;
}

// Leaves the first contact, which is the nearest, and of the others those that are small and apart from each other: at
// most eight, the outermost.
inline int thin_out(Contact* c, int count, const Vec3& n, double within, double size) {
    int kept = 1;
    for (int i = 1; i < count; ++i) {
        if (!(c[i].gap <= within)) continue;
        bool known = false;
        for (int j = 0; j < kept && !known; ++j) known = norm(c[i].a - c[j].a) <= 1e-6 * size;
        if (!known) c[kept++] = c[i];
    }
    if (kept <= MOST_POINTS) return kept;
    Vec3 u, v;
    tangents(n, u, v);
    Contact some[MOST_POINTS];
    bool taken[2 * MOST_CORNERS + 2] = {};
    int made = 0;
    some[made++] = c[0];
    for (const auto& way : AROUND) {
        int best = -1;
        double most = -HUGE_VAL;
        for (int i = 1; i < kept; ++i) {
            const double along = way[0] * dot(c[i].a, u) + way[1] * dot(c[i].a, v);
            if (along > most) most = along, best = i;
        }
        if (!taken[best]) taken[best] = true, some[made++] = c[best];
    }
    for (int i = 0; i < made; ++i) c[i] = some[i];
    return made;
}

}  // namespace contact
}  // namespace soacraft
