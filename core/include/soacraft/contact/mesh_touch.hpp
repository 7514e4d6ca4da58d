// The contacts of a mesh (A) with a convex shape, with another mesh, and with a half space.
#pragma once

#include "pushes.hpp"

namespace soacraft {
namespace contact {

constexpr std::size_t MOST_SPOTS = 4 * MOST_POINTS;  // of a pair with a mesh

// The vertices of each solid that are inside the other.
inline void add_vertices(const Mesh&, const ConvexSide&, Pushes<ConvexSide>&) {}
inline void add_vertices(const Mesh& A, const MeshSide& B, Pushes<MeshSide>& pushes) {
    const Bounds of_A{A.node[0].low, A.node[0].high}, of_B{B.mesh.node[0].low, B.mesh.node[0].high};
    if (A.closed)
        for (const Vec3& v : B.mesh.vertex)
            if (const Vec3 x = B.at * v; !apart(of_A, {x, x}, 0.0) && inside(A, x)) pushes.add_vertex_of_B(x);
    if (B.mesh.closed)
        for (const Vec3& x : A.vertex)
            if (const Vec3 v = B.at.back(x); !apart(of_B, {v, v}, 0.0) && inside(B.mesh, v)) pushes.add_vertex_of_A(x);
}

// The first spot is the nearest or deepest; of the others those that are small and apart from each other.
inline void keep_some(std::vector<Spot>& spots, double within, double size, std::vector<Spot>& out) {
    std::stable_sort(spots.begin(), spots.end(), [](const Spot& x, const Spot& y) { return x.gap < y.gap; });
    const std::size_t first = out.size();
    for (const Spot& s : spots) {
        bool known = !(s.gap <= within);
        for (std::size_t k = first; k < out.size() && !known; ++k) known = norm(s.b - out[k].b) <= 1e-6 * size;
        if (!known && out.size() - first < MOST_SPOTS) out.push_back(s);
    }
}

// A convex shape that is wholly inside A, out through the nearest triangle.
inline void add_inside(const Mesh& A, const ConvexSide& B, Pushes<ConvexSide>& pushes) {
    double bound = HUGE_VAL;
    index nearest_triangle = -1;
    Nearest x{};
    near_pieces(A, B, bound, [&](index i, index) {
        Vec3 p[3];
        A.corners(i, p);
        const Triangle t(p);
        Frame at = B.at;
        at.p = at.p - t.middle;
        Touch touch;
        convex_touch(t.shape, B.shape, at, bound, false, touch);
        if (touch.contact[0].gap < bound) bound = touch.contact[0].gap, nearest_triangle = i, x.n = touch.n;
    });
    pushes.add_inside(nearest_triangle, 0, x);
}
inline void add_inside(const Mesh&, const MeshSide&, Pushes<MeshSide>&) {}  // its vertices tell

// All spots within a distance; without `several` the nearest or deepest alone. `size` is that of the smaller.
template <typename Side>
void mesh_touch(const Mesh& A, const Side& B, double size, double within, bool several, std::vector<Spot>& out) {
    std::vector<Spot> spots;
    Pushes<Side> pushes(A, B, size);
    double bound = within;
    Spot best = {{}, {}, {}, HUGE_VAL, 0.0};
    index nearest_i = -1, nearest_j = -1;
    near_pieces(A, B, bound, [&](index i, index j) {
        Vec3 p[3];
        A.corners(i, p);
        const Triangle t(p);
        B.piece(j, [&](const Shape& shape, Frame at) {
            at.p = at.p - t.middle;
            Touch touch;
            convex_touch(t.shape, shape, at, several ? within : bound, several, touch);
            const Contact& c = touch.contact[0];
            if (c.gap <= 0.0) {
                pushes.add(i, j, {c.gap, touch.error, c.a + t.middle, c.b + t.middle, touch.n});
            } else if (several && supports(A, i, touch.n) && B.supported(j, -touch.n)) {
                for (int k = 0; k < touch.count; ++k) {
                    const Contact& each = touch.contact[k];
                    spots.push_back({each.a + t.middle, each.b + t.middle, touch.n, each.gap, touch.error});
                }
            }
            if (c.gap < best.gap)
                best = {c.a + t.middle, c.b + t.middle, touch.n, c.gap, touch.error}, nearest_i = i, nearest_j = j;
        });
        if (!several) bound = std::max(std::min(bound, best.gap), 0.0);
    });
    const bool meet = !pushes.empty();
    // apart, one can be inside the other only if it is behind the nearest triangle
    const bool B_behind = nearest_i < 0 || dot(best.n, triangle_normal(A, nearest_i)) <= 0.0;
    if (!meet && A.closed && B_behind && inside(A, point_of(B))) add_inside(A, B, pushes), add_vertices(A, B, pushes);
    if constexpr (Side::is_mesh) {
        const bool A_behind = nearest_j < 0 || dot(best.n, B.at.R * triangle_normal(B.mesh, nearest_j)) >= 0.0;
        if (meet || (B.mesh.closed && A_behind && inside(B.mesh, B.at.back(A.vertex[0])))) add_vertices(A, B, pushes);
    }
    if (!pushes.empty()) {
        std::vector<Push> kept;
        std::vector<std::size_t> by;
        pushes.resolve(kept, by);
        pushes.spots(kept, by, within, several, spots);
    } else if (best.gap <= within) {
        spots.push_back(best);
    }
    const std::size_t first = out.size();
    keep_some(spots, within, size, out);
    if (!several && out.size() > first) out.resize(first + 1);
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

}  // namespace contact
}  // namespace soacraft
