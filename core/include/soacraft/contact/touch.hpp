// Any two shapes at their poses. The answer does not depend on which is named first: it is mirrored.
#pragma once

#include "mesh.hpp"

namespace soacraft {
namespace contact {

inline int compared(const double* a, const double* b, int count) {
    for (int i = 0; i < count; ++i)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return 0;
}

// Which of two shapes is looked at first: meshes, planes, then those with faces; of one kind by sizes, then by poses.
inline bool in_order(const Shape& a, const double* pose_a, const Shape& b, const double* pose_b) {
    if (a.kind != b.kind) return a.kind > b.kind;
    if (const int by_size = compared(a.size, b.size, 3)) return by_size < 0;
    if (a.count != b.count) return a.count < b.count;
    for (index i = 0; i < a.count; ++i)
        if (const int by_point = compared(&a.points[i].x, &b.points[i].x, 3)) return by_point < 0;
    return compared(pose_a, pose_b, 12) <= 0;
}

// Pairs that have no answer: of two half spaces, a mesh with a mesh or a half space.
inline bool answerable(const Shape& a, const Shape& b) {
    return !(a.kind >= PLANE && b.kind >= PLANE) || (a.kind == MESH) != (b.kind == MESH);
}

// A mesh and the half space z <= 0, at a frame of the mesh in it: its lowest vertices.
inline void plane_and_mesh(const Mesh& mesh, const Frame& at, double within, bool several, std::vector<Spot>& out) {
    double low = HUGE_VAL;
    Spot best{};
    std::vector<Spot> all;
    for (const Vec3& x : mesh.vertex) {
        const Vec3 b = at * x;
        if (b.z > within) continue;
        const Spot s{{b.x, b.y, 0.0}, b, {0.0, 0.0, 1.0}, b.z, 0.0};
        if (b.z < low) low = b.z, best = s;
        if (several) all.push_back(s);
    }
    if (low == HUGE_VAL) return;
    out.push_back(best);
    // of many the outermost in each of eight directions
    static constexpr double D = 0.70710678118654752;
    static constexpr double AROUND[8][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}, {D, D}, {-D, D}, {-D, -D}, {D, -D}};
    const std::size_t first = out.size() - 1;
    for (const auto& way : AROUND) {
        const Spot* most = nullptr;
        double far = -HUGE_VAL;
        for (const Spot& s : all) {
            const double along = way[0] * s.b.x + way[1] * s.b.y;
            if (along > far) far = along, most = &s;
        }
        bool known = most == nullptr;
        for (std::size_t k = first; k < out.size() && !known; ++k)
            known = most->b.x == out[k].b.x && most->b.y == out[k].b.y && most->b.z == out[k].b.z;
        if (!known) out.push_back(*most);
    }
}

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
    } else if (A.kind == MESH) {
        mesh_touch(*A.mesh, B, relative(at_A, at_B), within, several, out);
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
