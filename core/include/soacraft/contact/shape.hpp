// Shapes, each in its own frame, and what the queries ask of them: the farthest point along a direction, bounds.
//
// A convex shape is a core and a radius around it: a sphere is a point, a capsule a segment, with their radius; the
// others are cores alone. Distances are computed between cores, which is exact at any depth of the roundings.
#pragma once

#include <memory>
#include <vector>

#include "vec3.hpp"

namespace soacraft {
namespace contact {

enum Kind : int { SPHERE, CAPSULE, BOX, CYLINDER, ELLIPSOID, HULL, PLANE, MESH };
constexpr int KINDS = 8;

// A convex polytope: vertices, faces as polygons seen from outside, and the neighbours of each vertex.
struct Hull {
    std::vector<Vec3> vertex;
    std::vector<Vec3> normal;                // of each face, outward
    std::vector<double> offset;              // normal . x = offset on the face
    std::vector<index> face_start, face;     // vertices of each face, counter-clockwise
    std::vector<index> near_start, near_to;  // neighbours of each vertex
};

struct Mesh;  // mesh.hpp

struct Shape {
    Kind kind = SPHERE;
    double size[3] = {0.0, 0.0, 0.0};  // radius; radius, half length; half edges; radius, half length; three radii
    double extent = 0.0;               // the largest distance from the origin; infinite for a plane
    double thin = 0.0;                 // no more than its least width; zero for a surface of triangles
    const Vec3* points = nullptr;      // of a hull or a triangle
    index count = 0;
    const Hull* hull = nullptr;  // null for a triangle
    std::shared_ptr<const Hull> owned_hull;
    std::shared_ptr<const Mesh> mesh;
};

inline double rounding(const Shape& s) { return s.kind == SPHERE || s.kind == CAPSULE ? s.size[0] : 0.0; }

// A sphere, capsule or box is, but for its rounding, a box, of which some edges may be zero.
inline bool is_box_like(const Shape& s) { return s.kind <= BOX; }
inline Vec3 half_edges(const Shape& s) {
    if (s.kind == BOX) return {s.size[0], s.size[1], s.size[2]};
    return {0.0, 0.0, s.kind == CAPSULE ? s.size[1] : 0.0};
}

// The vertex farthest along d, uphill from a start along edges; by looking at all where there are few.
inline Vec3 farthest_vertex(const Shape& s, const Vec3& d) {
    constexpr index FEW = 32;
    index best = 0;
    double most = dot(s.points[0], d);
    if (s.hull == nullptr || s.count <= FEW) {
        for (index i = 1; i < s.count; ++i) {
            const double along = dot(s.points[i], d);
            if (along > most) most = along, best = i;
        }
        return s.points[best];
    }
    for (bool up = true; up;) {
        up = false;
        const index from = best;
        for (index k = s.hull->near_start[from]; k < s.hull->near_start[from + 1]; ++k) {
            const index i = s.hull->near_to[k];
            const double along = dot(s.points[i], d);
            if (along > most) most = along, best = i, up = true;
        }
    }
    return s.points[best];
}

// The point of the core farthest along d (of any length, not zero).
inline Vec3 support(const Shape& s, const Vec3& d) {
    switch (s.kind) {
        case CAPSULE: return {0.0, 0.0, d.z < 0.0 ? -s.size[1] : s.size[1]};
        case BOX:
            return {d.x < 0.0 ? -s.size[0] : s.size[0], d.y < 0.0 ? -s.size[1] : s.size[1],
                    d.z < 0.0 ? -s.size[2] : s.size[2]};
        case CYLINDER: {
            const double across = std::sqrt(d.x * d.x + d.y * d.y), r = across > 0.0 ? s.size[0] / across : 0.0;
            return {r * d.x, r * d.y, d.z < 0.0 ? -s.size[1] : s.size[1]};
        }
        case ELLIPSOID: {
            const Vec3 e{s.size[0] * d.x, s.size[1] * d.y, s.size[2] * d.z};
            const double length = norm(e);
            if (!(length > 0.0)) return {0.0, 0.0, 0.0};
            return {s.size[0] * e.x / length, s.size[1] * e.y / length, s.size[2] * e.z / length};
        }
        case HULL: return farthest_vertex(s, d);
        default: return {0.0, 0.0, 0.0};
    }
}

// The box around a convex shape with its rounding, in a frame: centre +- half.
struct Bounds {
    Vec3 low, high;
};

inline Bounds bounds(const Shape& s, const Frame& t) {
    Bounds b;
    const double r = rounding(s);
    for (int i = 0; i < 3; ++i) {
        const Vec3 d = t.R.row[i];
        b.high[i] = t.p[i] + dot(d, support(s, d)) + r;
        b.low[i] = t.p[i] + dot(d, support(s, -d)) - r;
    }
    return b;
}

inline bool apart(const Bounds& a, const Bounds& b, double by) {
    for (int i = 0; i < 3; ++i)
        if (a.low[i] - b.high[i] > by || b.low[i] - a.high[i] > by) return true;
    return false;
}

}  // namespace contact
}  // namespace soacraft
