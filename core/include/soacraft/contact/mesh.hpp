// Triangle meshes: a tree of boxes around triangles, walks through it, rays and points.
//
// A closed mesh has an inside; an open one is a surface with two sides.
#pragma once

#include <numeric>

#include "gjk.hpp"
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
    std::vector<index> ring_start, ring;  // the vertices that edges join to each vertex
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
        join();
    }

private:
    void join() {
        std::vector<std::pair<index, index>> edge;
        edge.reserve(2 * triangle.size());
        for (std::size_t t = 0; t < triangle.size(); t += 3)
            for (std::size_t k = 0; k < 3; ++k) {
                const index a = triangle[t + k], b = triangle[t + (k + 1) % 3];
                edge.emplace_back(a, b), edge.emplace_back(b, a);
            }
        std::sort(edge.begin(), edge.end());
        edge.erase(std::unique(edge.begin(), edge.end()), edge.end());
        ring_start.assign(vertex.size() + 1, 0), ring.clear();
        for (const auto& e : edge) ++ring_start[static_cast<std::size_t>(e.first) + 1], ring.push_back(e.second);
        for (std::size_t i = 1; i < ring_start.size(); ++i) ring_start[i] += ring_start[i - 1];
    }

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

// Calls visit(triangle) for the triangles of boxes with far(low, high) of at most `bound`, which it may tighten; nearer
// boxes first. An infinite `far` leaves a box out.
template <typename Far, typename Visit>
void walk(const Mesh& mesh, const double& bound, const Far& far, const Visit& visit) {
    struct Todo {
        index at;
        double far;
    } stack[128];
    const auto todo = [&](index at) {
        const Mesh::Node& node = mesh.node[static_cast<std::size_t>(at)];
        return Todo{at, far(node.low, node.high)};
    };
    int top = 0;
    stack[top++] = todo(0);
    while (top > 0) {
        const Todo now = stack[--top];
        if (now.far > bound || now.far == HUGE_VAL) continue;
        const Mesh::Node& node = mesh.node[static_cast<std::size_t>(now.at)];
        if (node.count > 0) {
            for (index t = node.first; t < node.first + node.count; ++t) visit(t);
            continue;
        }
        const Todo left = todo(now.at + 1), right = todo(node.first);
        stack[top++] = right.far < left.far ? left : right, stack[top++] = right.far < left.far ? right : left;
    }
}

// A lower bound of the distance of two boxes.
inline double box_gap(const Vec3& low, const Vec3& high, const Bounds& b) {
    double sum = 0.0;
    for (int i = 0; i < 3; ++i) {
        const double d = std::max({low[i] - b.high[i], b.low[i] - high[i], 0.0});
        sum += d * d;
    }
    return std::sqrt(sum);
}

inline Hit ray_mesh(const Mesh& mesh, const Vec3& o, const Vec3& d) {
    Hit hit;
    const auto far = [&](const Vec3& low, const Vec3& high) { return ray_enters(o, d, low, high); };
    walk(mesh, hit.t, far, [&](index t) {
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
        const double bound = HUGE_VAL;
        odd = false;
        const auto far = [&](const Vec3& low, const Vec3& high) { return ray_enters(x, way, low, high); };
        walk(mesh, bound, far, [&](index t) {
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

// The unit normal of a triangle, outward for a closed mesh.
inline Vec3 triangle_normal(const Mesh& mesh, index t) {
    Vec3 p[3];
    mesh.corners(t, p);
    const Vec3 n = cross(p[1] - p[0], p[2] - p[0]);
    return (1.0 / norm(n)) * n;
}

// The point of the mesh nearest to x, and its triangle.
inline index nearest_on_mesh(const Mesh& mesh, const Vec3& x, Vec3& point) {
    index best = -1;
    double bound = HUGE_VAL;
    const Bounds at{x, x};
    walk(mesh, bound, [&](const Vec3& low, const Vec3& high) { return box_gap(low, high, at); }, [&](index t) {
        Vec3 p[3];
        double weight[3];
        mesh.corners(t, p);
        for (Vec3& each : p) each = each - x;
        const double far = std::sqrt(nearest_on_triangle(p, weight));
        if (best < 0 || far < bound) best = t, bound = far, point = x + combined(p, weight, 3);
    });
    return best;
}

// Whether the mesh is nowhere higher along n, next to the feature (face, edge or vertex) of a triangle that is highest: only
// such an n can push a shape off this feature. Of a solid it must not point inward.
inline bool supports(const Mesh& mesh, index t, const Vec3& n) {
    const Vec3 outward = triangle_normal(mesh, t);
    const double along = dot(outward, n);
    if (mesh.closed && along < -1e-9) return false;
    if (std::abs(along) > 1.0 - 1e-12) return true;  // its face
    Vec3 p[3];
    mesh.corners(t, p);
    double high = -HUGE_VAL;
    for (const Vec3& each : p) high = std::max(high, dot(n, each - p[0]));
    for (int i = 0; i < 3; ++i) {
        const auto v = static_cast<std::size_t>(mesh.triangle[static_cast<std::size_t>(3 * t + i)]);
        const double size = norm(p[(i + 1) % 3] - p[i]) + norm(p[(i + 2) % 3] - p[i]);
        if (dot(n, p[i] - p[0]) < high - 1e-9 * size) continue;
        for (index k = mesh.ring_start[v]; k < mesh.ring_start[v + 1]; ++k) {
            const Vec3 e = mesh.vertex[static_cast<std::size_t>(mesh.ring[static_cast<std::size_t>(k)])] - p[i];
            if (dot(n, e) > 1e-9 * norm(e)) return false;
        }
    }
    return true;
}

}  // namespace contact
}  // namespace soacraft
