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

// Spheres, capsules, and a sphere with a box (A first), straight from their poses; false where others must answer.
inline bool quick_touch(const Shape& A, const double* pose_A, const Shape& B, const double* pose_B, Spot& out) {
    const auto position = [](const double* x) { return Vec3{x[9], x[10], x[11]}; };
    Nearest x;
    const double size = A.extent + B.extent;
    if (A.kind <= CAPSULE && B.kind <= CAPSULE) {
        const auto segment = [&](const Shape& s, const double* at) { return segment_of(s, position(at), {at[2], at[5], at[8]}); };
        if (!segments(segment(A, pose_A), segment(B, pose_B), size, x)) return false;
    } else if (A.kind == BOX && B.kind == SPHERE) {
        const Frame at = read_frame(pose_A);
        if (!box_and_point(half_edges(A), at.back(position(pose_B)), size, x)) return false;
        x.a = at * x.a, x.b = position(pose_B), x.n = at.R * x.n;
    } else {
        return false;
    }
    const double ra = rounding(A), rb = rounding(B);
    out = {x.a + ra * x.n, x.b - rb * x.n, x.n, x.distance - ra - rb, 0.0};
    return true;
}

// The spots of two shapes at poses (rotation, then translation) that are within a distance, in the axes of the poses,
// appended to `out`: the nearest first; without `several` that one alone. n points from a to b.
inline void touch(const Shape& a, const double* pose_a, const Shape& b, const double* pose_b, double within, bool several,
                  std::vector<Spot>& out) {
    const bool ordered = in_order(a, pose_a, b, pose_b);
    const Shape &A = ordered ? a : b, &B = ordered ? b : a;
    Spot quick;
    if (!several && quick_touch(A, ordered ? pose_a : pose_b, B, ordered ? pose_b : pose_a, quick)) {
        if (!ordered) std::swap(quick.a, quick.b), quick.n = -quick.n;
        if (quick.gap <= within) out.push_back(quick);
        return;
    }
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
