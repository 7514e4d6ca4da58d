// Triangle meshes: a tree of boxes around triangles, and the contacts of a convex shape with the triangles it is near.
//
// A closed mesh has an inside: what is behind a triangle is in the solid, and is pushed out along the triangle's
// normal. An open one is a surface with two sides.
#pragma once

#include <numeric>

#include "query.hpp"
#include "rays.hpp"

namespace soacraft {
namespace contact {

struct Mesh {
    struct Node {
        Vec3 low, high;
        index first, count;  // a leaf's triangles; count 0: its children are the next node and `first`
    };
    static constexpr index LEAF = 4;

    std::vector<Vec3> vertex;
    std::vector<index> triangle;  // three vertices of each, counter-clockwise from outside; in the order of the leaves
    std::vector<Node> node;
    bool closed = false;

    void corners(index t, Vec3* p) const {
        for (int i = 0; i < 3; ++i)
            p[i] = vertex[static_cast<std::size_t>(triangle[static_cast<std::size_t>(3 * t + i)])];
    }
    index count() const { return static_cast<index>(triangle.size()) / 3; }

    void build() {
        const index n = count();
        std::vector<Vec3> middle(static_cast<std::size_t>(n));
        for (index t = 0; t < n; ++t) {
            Vec3 p[3];
            corners(t, p);
            middle[static_cast<std::size_t>(t)] = p[0] + p[1] + p[2];
        }
        std::vector<index> order(static_cast<std::size_t>(n));
        std::iota(order.begin(), order.end(), index{0});
        node.clear(), node.reserve(static_cast<std::size_t>(n));
        split(order, middle, 0, n);
        std::vector<index> sorted(triangle.size());
        for (std::size_t i = 0; i < order.size(); ++i)
            for (std::size_t k = 0; k < 3; ++k) sorted[3 * i + k] = triangle[3 * static_cast<std::size_t>(order[i]) + k];
        triangle.swap(sorted);
    }

private:
    void split(std::vector<index>& order, const std::vector<Vec3>& middle, index begin, index end) {
        Node made{{HUGE_VAL, HUGE_VAL, HUGE_VAL}, {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL}, begin, end - begin};
        Vec3 low = made.low, high = made.high;
        for (index i = begin; i < end; ++i) {
            const index t = order[static_cast<std::size_t>(i)];
            Vec3 p[3];
            corners(t, p);
            for (int k = 0; k < 3; ++k) {
                for (const Vec3& x : p) made.low[k] = std::min(made.low[k], x[k]), made.high[k] = std::max(made.high[k], x[k]);
                const double m = middle[static_cast<std::size_t>(t)][k];
                low[k] = std::min(low[k], m), high[k] = std::max(high[k], m);
            }
        }
        const std::size_t here = node.size();
        node.push_back(made);
        if (end - begin <= LEAF) return;
        int axis = 0;
        for (int k = 1; k < 3; ++k)
            if (high[k] - low[k] > high[axis] - low[axis]) axis = k;
        const index half = begin + (end - begin) / 2;
        std::nth_element(order.begin() + begin, order.begin() + half, order.begin() + end, [&](index a, index b) {
            const double x = middle[static_cast<std::size_t>(a)][axis], y = middle[static_cast<std::size_t>(b)][axis];
            return x < y || (x == y && a < b);
        });
        node[here].count = 0;
        split(order, middle, begin, half);
        node[here].first = static_cast<index>(node.size());
        split(order, middle, half, end);
    }
};

// A lower bound of the distance of two boxes.
inline double box_gap(const Vec3& low, const Vec3& high, const Bounds& b) {
    double sum = 0.0;
    for (int i = 0; i < 3; ++i) {
        const double d = std::max({low[i] - b.high[i], b.low[i] - high[i], 0.0});
        sum += d * d;
    }
    return std::sqrt(sum);
}

// Calls visit(triangle) for those whose boxes are no farther from `around` than the bound, which it may tighten;
// nearer children first.
template <typename Visit>
void near_triangles(const Mesh& mesh, const Bounds& around, const double& bound, const Visit& visit) {
    index stack[128];
    int top = 0;
    stack[top++] = 0;
    while (top > 0) {
        const index at = stack[--top];
        const Mesh::Node& node = mesh.node[static_cast<std::size_t>(at)];
        if (box_gap(node.low, node.high, around) > bound) continue;
        if (node.count > 0) {
            for (index t = node.first; t < node.first + node.count; ++t) visit(t);
            continue;
        }
        const index left = at + 1, right = node.first;
        const Mesh::Node &l = mesh.node[static_cast<std::size_t>(left)], &r = mesh.node[static_cast<std::size_t>(right)];
        const bool right_first = box_gap(r.low, r.high, around) < box_gap(l.low, l.high, around);
        stack[top++] = right_first ? left : right, stack[top++] = right_first ? right : left;
    }
}

// A triangle as a shape about its own middle, so that it is judged by its own size.
struct Triangle {
    Vec3 local[3], middle, n;
    Shape shape;

    explicit Triangle(const Vec3* p) {
        middle = (1.0 / 3.0) * (p[0] + p[1] + p[2]);
        for (int i = 0; i < 3; ++i) {
            local[i] = p[i] - middle;
            shape.extent = std::max(shape.extent, norm(local[i]));
        }
        n = cross(local[1] - local[0], local[2] - local[0]);
        n = (1.0 / norm(n)) * n;
        shape.kind = HULL, shape.points = local, shape.count = 3;
    }
    Triangle(const Triangle&) = delete;
    Triangle& operator=(const Triangle&) = delete;
};

// A point of contact with a normal of its own.
struct Spot {
    Vec3 a, b, n;
    double gap, error;
};

// The contact of a solid behind one triangle with B, along the triangle's normal: B's deepest point, and with `several`
// the corners of what of B's face is over the triangle.
inline void pushed_out(const Triangle& t, const Shape& B, const Frame& at, double within, bool several,
                       std::vector<Spot>& out) {
    const Vec3 low = at * support(B, at.R.transposed(-t.n)) - rounding(B) * t.n;
    const double gap = dot(t.n, low);
    out.push_back({low - gap * t.n, low, t.n, gap, 0.0});
    if (!several) return;
    Cores c(t.shape, B, at);
    Feature fa, fb;
    features(c, t.n, fa, fb);
    Contact made[ROOM];
    const int count = lay_over(fa, fb, t.n, made, ROOM);
    for (int i = 0; i < count; ++i)
        if (made[i].gap <= within) out.push_back({made[i].a, made[i].b, t.n, made[i].gap, 0.0});
}

inline void triangle_touch(const Triangle& t, bool solid, const Shape& B, const Frame& at, double within, bool several,
                           std::vector<Spot>& out) {
    Touch touch;
    convex_touch(t.shape, B, at, within, several, touch);
    const double core = touch.contact[0].gap + rounding(B);
    if (solid && touch.contact[0].gap < 0.0 && (core <= NEAR * t.shape.extent || dot(touch.n, t.n) < 0.0)) {
        pushed_out(t, B, at, within, several, out);
        return;
    }
    for (int i = 0; i < touch.count; ++i)
        out.push_back({touch.contact[i].a, touch.contact[i].b, touch.n, touch.contact[i].gap, touch.error});
}

// Calls visit(triangle) for those whose boxes a ray meets before `before`, which it may tighten.
template <typename Visit>
void triangles_along(const Mesh& mesh, const Vec3& o, const Vec3& d, const double& before, const Visit& visit) {
    index stack[128];
    int top = 0;
    stack[top++] = 0;
    while (top > 0) {
        const index at = stack[--top];
        const Mesh::Node& node = mesh.node[static_cast<std::size_t>(at)];
        if (!ray_meets(o, d, node.low, node.high, before)) continue;
        for (index t = node.first; t < node.first + node.count; ++t) visit(t);
        if (node.count == 0) stack[top++] = node.first, stack[top++] = at + 1;
    }
}

inline Hit ray_mesh(const Mesh& mesh, const Vec3& o, const Vec3& d) {
    Hit hit;
    triangles_along(mesh, o, d, hit.t, [&](index t) {
        Vec3 p[3];
        mesh.corners(t, p);
        ray_triangle(o, d, p, hit);
    });
    return hit;
}

// Whether a point is inside a closed mesh: an odd number of triangles in front of a ray. One that grazes an edge is sent
// again along another direction.
inline bool inside(const Mesh& mesh, const Vec3& x) {
    static const Vec3 WAYS[3] = {{0.2672612419, 0.5345224838, 0.8017837257},
                                 {-0.7427813527, 0.3713906764, 0.5570860145},
                                 {0.4364357805, -0.8728715609, 0.2182178902}};
    bool odd = false;
    for (const Vec3& way : WAYS) {
        bool sure = true;
        const double before = HUGE_VAL;
        odd = false;
        triangles_along(mesh, x, way, before, [&](index t) {
            Vec3 p[3];
            mesh.corners(t, p);
            for (Vec3& each : p) each = each - x;
            const double u = dot(way, cross(p[2], p[1])), v = dot(way, cross(p[0], p[2])), w = dot(way, cross(p[1], p[0]));
            if ((u < 0.0 || v < 0.0 || w < 0.0) && (u > 0.0 || v > 0.0 || w > 0.0)) return;
            if (u == 0.0 || v == 0.0 || w == 0.0) sure = false;
            const Vec3 n = cross(p[1] - p[0], p[2] - p[0]);
            if (dot(n, p[0]) * dot(n, way) > 0.0) odd = !odd;
        });
        if (sure) return odd;
    }
    return odd;
}

// A mesh (A) and a convex shape at a frame in it. Without `several` the nearest or deepest spot alone.
inline void mesh_touch(const Mesh& mesh, const Shape& B, const Frame& at, double within, bool several,
                       std::vector<Spot>& out) {
    std::vector<Spot> spots;
    double bound = within;
    Spot best = {{}, {}, {}, HUGE_VAL, 0.0};
    index nearest_triangle = -1;
    bool behind = true;  // of the nearest triangle; only then can B be inside
    near_triangles(mesh, bounds(B, at), bound, [&](index i) {
        Vec3 p[3];
        mesh.corners(i, p);
        const Triangle t(p);
        Frame local = at;
        local.p = at.p - t.middle;
        const std::size_t before = spots.size();
        triangle_touch(t, mesh.closed, B, local, several ? within : bound, several, spots);
        for (std::size_t k = before; k < spots.size(); ++k) {
            Spot& s = spots[k];
            s.a = s.a + t.middle, s.b = s.b + t.middle;
            if (s.gap < best.gap) best = s, nearest_triangle = i, behind = dot(s.n, t.n) <= 0.0;
        }
        if (!several) spots.clear(), bound = std::max(std::min(bound, best.gap), 0.0);
    });
    if (mesh.closed && best.gap > 0.0 && behind && inside(mesh, at * support(B, {0.0, 0.0, 1.0}))) {
        // all of B is inside: out through the triangle that is nearest; where none was looked at, the bound is lifted
        if (nearest_triangle < 0) {
            double any = HUGE_VAL;
            near_triangles(mesh, bounds(B, at), any, [&](index i) {
                Vec3 p[3];
                mesh.corners(i, p);
                const Triangle t(p);
                Frame local = at;
                local.p = at.p - t.middle;
                std::vector<Spot> one;
                triangle_touch(t, false, B, local, any, false, one);
                if (one[0].gap < any) any = one[0].gap, nearest_triangle = i;
            });
        }
        Vec3 p[3];
        mesh.corners(nearest_triangle, p);
        const Triangle t(p);
        Frame local = at;
        local.p = at.p - t.middle;
        spots.clear();
        pushed_out(t, B, local, within, several, spots);
        for (Spot& s : spots) s.a = s.a + t.middle, s.b = s.b + t.middle;
        out.insert(out.end(), spots.begin(), several ? spots.end() : spots.begin() + 1);
        return;
    }
    if (best.gap == HUGE_VAL || best.gap > within) return;
    out.push_back(best);
    if (!several) return;
    const double size = B.extent;
    std::sort(spots.begin(), spots.end(), [](const Spot& x, const Spot& y) { return x.gap < y.gap; });
    const std::size_t first = out.size() - 1;
    for (const Spot& s : spots) {
        bool known = !(s.gap <= within);
        for (std::size_t k = first; k < out.size() && !known; ++k) known = norm(s.b - out[k].b) <= 1e-6 * size;
        if (!known && out.size() - first < 4 * MOST_POINTS) out.push_back(s);
    }
}

}  // namespace contact
}  // namespace soacraft
