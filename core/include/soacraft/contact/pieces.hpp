// What a mesh meets, in convex pieces: a convex shape is one, another mesh as many as it has triangles.
#pragma once

#include "mesh.hpp"
#include "query.hpp"

namespace soacraft {
namespace contact {

// A triangle as a shape about its own middle, so that it is judged by its own size.
struct Triangle {
    Vec3 local[3], middle;
    Shape shape;

    explicit Triangle(const Vec3* p) {
        middle = (1.0 / 3.0) * (p[0] + p[1] + p[2]);
        for (int i = 0; i < 3; ++i) {
            local[i] = p[i] - middle;
            shape.extent = std::max(shape.extent, norm(local[i]));
        }
        shape.kind = HULL, shape.points = local, shape.count = 3;
    }
    Triangle(const Triangle&) = delete;
    Triangle& operator=(const Triangle&) = delete;
};

// A convex shape, or a mesh as its triangles, at a frame in the axes of A. `piece(j, use)` calls use(shape, frame).
struct ConvexSide {
    const Shape& shape;
    Frame at;

    template <typename Use>
    void piece(index, const Use& use) const { use(shape, at); }
    bool supported(index, const Vec3&) const { return true; }
    ConvexSide moved(const Vec3& by) const { return {shape, {at.R, at.p + by}}; }
    static constexpr bool is_mesh = false;
};

struct MeshSide {
    const Mesh& mesh;
    Frame at;

    template <typename Use>
    void piece(index j, const Use& use) const {
        Vec3 p[3];
        mesh.corners(j, p);
        for (Vec3& each : p) each = at * each;
        const Triangle t(p);
        use(t.shape, Frame{{{{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}}}, t.middle});
    }
    MeshSide moved(const Vec3& by) const { return {mesh, {at.R, at.p + by}}; }
    bool supported(index j, const Vec3& n) const { return supports(mesh, j, at.R.transposed(n)); }
    static constexpr bool is_mesh = true;
};

// The box around a box at a frame.
inline Bounds turned(const Vec3& low, const Vec3& high, const Frame& at) {
    const Vec3 middle = at * (0.5 * (low + high)), half = 0.5 * (high - low);
    Bounds b;
    for (int i = 0; i < 3; ++i) {
        const Vec3& r = at.R.row[i];
        const double reach = std::abs(r.x) * half.x + std::abs(r.y) * half.y + std::abs(r.z) * half.z;
        b.low[i] = middle[i] - reach, b.high[i] = middle[i] + reach;
    }
    return b;
}

// Calls visit(triangle of A, piece of B) for those whose boxes are no farther apart than the bound, which it may tighten.
template <typename Visit>
void near_pieces(const Mesh& A, const ConvexSide& B, const double& bound, const Visit& visit) {
    const double r = rounding(B.shape);
    Bounds core = bounds(B.shape, B.at);  // a box around the core is nearer to it than one around the rounded shape
    for (int k = 0; k < 3; ++k) core.low[k] += r, core.high[k] -= r;
    walk(A, bound, [&](const Vec3& low, const Vec3& high) { return box_gap(low, high, core) - r; },
         [&](index i) { visit(i, index{0}); });
}

// Of two meshes: each leaf of B's tree that is near walks through A's.
template <typename Visit>
void near_pieces(const Mesh& A, const MeshSide& B, const double& bound, const Visit& visit) {
    const Bounds root{A.node[0].low, A.node[0].high};
    const auto far = [&](const Vec3& low, const Vec3& high) { return box_gap(root.low, root.high, turned(low, high, B.at)); };
    walk(B.mesh, bound, far, [&](index j) {
        Vec3 p[3];
        B.mesh.corners(j, p);
        for (Vec3& each : p) each = B.at * each;
        Bounds around{p[0], p[0]};
        for (const Vec3& x : p)
            for (int k = 0; k < 3; ++k) around.low[k] = std::min(around.low[k], x[k]), around.high[k] = std::max(around.high[k], x[k]);
        walk(A, bound, [&](const Vec3& low, const Vec3& high) { return box_gap(low, high, around); },
             [&](index i) { visit(i, j); });
    });
}

// A point of B, in the axes of A.
inline Vec3 point_of(const ConvexSide& B) { return B.at * support(B.shape, {0.0, 0.0, 1.0}); }
inline Vec3 point_of(const MeshSide& B) {
    Vec3 p[3];
    B.mesh.corners(0, p);
    return B.at * p[0];
}

}  // namespace contact
}  // namespace soacraft
