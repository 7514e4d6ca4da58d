// Any two shapes at their poses. The answer does not depend on which is named first: it is mirrored.
#pragma once

#include "mesh_touch.hpp"

namespace soacraft {
namespace contact {

inline int compared(const double* a, const double* b, int count) {
    for (int i = 0; i < count; ++i)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
}

inline index points_of(const Shape& s) { return s.kind == MESH ? static_cast<index>(s.mesh->vertex.size()) : s.count; }

// Which of two shapes is looked at first: meshes, planes, then those with faces; of one kind by sizes, poses, points.
inline bool in_order(const Shape& a, const double* pose_a, const Shape& b, const double* pose_b) {
    if (a.kind != b.kind) return a.kind > b.kind;
    if (const int by_size = compared(a.size, b.size, 3)) return by_size < 0;
    if (const int by_pose = compared(pose_a, pose_b, 12)) return by_pose < 0;
    const index count = points_of(a), other = points_of(b);
    if (count != other) return count < other;
    const Vec3 *x = a.kind == MESH ? a.mesh->vertex.data() : a.points, *y = b.kind == MESH ? b.mesh->vertex.data() : b.points;
    for (index i = 0; i < count; ++i)
        if (const int by_point = compared(&x[i].x, &y[i].x, 3)) return by_point < 0;
    return true;
}

// Two half spaces have no distance.
inline bool answerable(const Shape& a, const Shape& b) { return a.kind != PLANE || b.kind != PLANE; }

// The spots of two shapes at poses (rotation, then translation) that are within a distance, in the axes of the poses,
// appended to `out`: the nearest first; without `several` that one alone. n points from a to b.
inline void touch(const Shape& a, const double* pose_a, const Shape& b, const double* pose_b, double within, bool several,
                  std::vector<Spot>& out) {
    const bool ordered = in_order(a, pose_a, b, pose_b);
    const Shape &A = ordered ? a : b, &B = ordered ? b : a;
    const Frame at_A = read_frame(ordered ? pose_a : pose_b), at_B = read_frame(ordered ? pose_b : pose_a);
    const std::size_t first = out.size();
    Frame base = at_A;
    bool mirrored = !ordered;
    if (A.kind == MESH && B.kind == PLANE) {
        plane_and_mesh(*A.mesh, relative(at_B, at_A), within, several, out);
        base = at_B, mirrored = !mirrored;
    } else if (B.kind == MESH) {
        mesh_touch(*A.mesh, MeshSide{*B.mesh, relative(at_A, at_B)}, std::min(A.extent, B.extent), within, several, out);
    } else if (A.kind == MESH) {
        mesh_touch(*A.mesh, ConvexSide{B, relative(at_A, at_B)}, std::min(A.extent, B.extent), within, several, out);
    } else {
        Touch t;
        if (A.kind == PLANE) plane_touch(B, relative(at_A, at_B), within, several, t);
        else convex_touch(A, B, relative(at_A, at_B), within, several, t);
        for (int i = 0; i < t.count; ++i)
            if (t.contact[i].gap <= within)
                out.push_back({t.contact[i].a, t.contact[i].b, t.n, t.contact[i].gap, t.error});
    }
    for (std::size_t k = first; k < out.size(); ++k) {
        Spot& s = out[k];
        s.a = base * s.a, s.b = base * s.b, s.n = base.R * s.n;
        if (mirrored) std::swap(s.a, s.b), s.n = -s.n;
    }
}

}  // namespace contact
}  // namespace soacraft
