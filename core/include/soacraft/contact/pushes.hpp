// A mesh with a convex shape or with another mesh: the triangles that meet, and the least push that clears them.
//
// A push moves B along n until it is clear. The depth of the hulls of what meets is a lower bound of that of convex solids;
// where the push along it meets more, that is added to the hulls, so for convex solids it ends at their depth. Each meeting
// also names pushes of its own: its depth, if both meshes are nowhere higher along it next to where they touch (`supports`),
// the normals of its triangles and those across two edges, and for a vertex inside the other solid the way to its nearest
// skin. The answer is the shortest push that leaves B clear of A, which is looked up in the tree. Where no single one does,
// as in a valley, it is several: the deepest first, each clearing what it can.
#pragma once

#include "pieces.hpp"

namespace soacraft {
namespace contact {

// A point of contact with a normal of its own.
struct Spot {
    Vec3 a, b, n;
    double gap, error;
};

struct Push {
    Vec3 n, a, b;
    double depth;
};

// Triangle i of A with piece j of B; or a point inside the other solid: a vertex of B (i < 0) or of A (j < 0).
struct Meeting {
    index i, j;
    Vec3 point;
    Push own;  // the least of its pushes
};

template <typename Side>
class Pushes {
public:
    Pushes(const Mesh& a, const Side& b, double size) : A_(a), B_(b), size_(size) {}

    bool empty() const { return meetings_.empty(); }

    // Triangle i and piece j, whose own depth is known.
    void add(index i, index j, const Nearest& x) {
        least_ = std::max(least_, -x.distance);
        Meeting m{i, j, {}, {x.n, x.a, x.b, HUGE_VAL}};
        const auto offer = [&](const Push& p) {
            pushes_.push_back(p);
            if (p.depth < m.own.depth) m.own = p;
        };
        const bool own = supports(A_, i, x.n) && B_.supported(j, -x.n);
        if (own) offer({x.n, x.a, x.b, -x.distance});
        if (!own || Side::is_mesh) {
            Vec3 n = triangle_normal(A_, i);
            if (!A_.closed && dot(n, B_.at.p - x.a) < 0.0) n = -n;  // the side of B's origin
            offer(along(n, i, j));
            if constexpr (Side::is_mesh) across_edges(i, j, offer);
        }
        meetings_.push_back(m);
    }

    // A piece that is wholly inside A: out to the nearest point of A's skin.
    void add_inside(index i, index j, const Nearest& x) {
        meetings_.push_back({i, j, {}, along(-x.n, i, j)});
        pushes_.push_back(meetings_.back().own);
    }

    // A vertex of B inside A, and one of A inside B.
    void add_vertex_of_B(const Vec3& x) {
        Push p{{}, {}, x, 0.0};
        way_out(A_, x, p.n, p.a, p.depth);
        meetings_.push_back({-1, 0, x, p}), pushes_.push_back(p);
    }
    void add_vertex_of_A(const Vec3& x) {
        if constexpr (Side::is_mesh) {
            Vec3 n, skin;
            Push p{{}, x, {}, 0.0};
            way_out(B_.mesh, B_.at.back(x), n, skin, p.depth);
            p.n = -(B_.at.R * n), p.b = B_.at * skin;
            meetings_.push_back({0, -1, x, p}), pushes_.push_back(p);
        }
    }

    // The pushes that clear all meetings, and by meeting which of them clears it.
    void resolve(std::vector<Push>& kept, std::vector<std::size_t>& by) {
        std::stable_sort(meetings_.begin(), meetings_.end(),
                         [](const Meeting& x, const Meeting& y) { return x.own.depth > y.own.depth; });
        std::stable_sort(pushes_.begin(), pushes_.end(), [](const Push& x, const Push& y) { return x.depth < y.depth; });
        by.assign(meetings_.size(), 0);
        Push best = of_hulls();
        // meetings that were not over for the pushes before: often one of them is not for the next
        constexpr std::size_t FEW = 16;
        std::vector<Meeting> often;
        const auto keep = [&](const Meeting& m) {
            if (often.size() == FEW) often.pop_back();
            often.insert(often.begin(), m);
            return false;
        };
        const auto over = [&](const Push& p) {
            for (std::size_t k = 0; k < often.size(); ++k)
                if (!clears(p, often[k])) {
                    std::rotate(often.begin(), often.begin() + static_cast<std::ptrdiff_t>(k),
                                often.begin() + static_cast<std::ptrdiff_t>(k) + 1);
                    return false;
                }
            for (const Meeting& m : meetings_)  // triangles are looked up in the tree
                if ((m.i < 0 || m.j < 0) && !clears(p, m)) return keep(m);
            Pair met{-1, -1};
            return leaves(p, nullptr, &met) || (met.first >= 0 && keep({met.first, met.second, {}, {}}));
        };
        for (const Push& p : pushes_) {
            if (!(p.depth < best.depth)) break;
            if (p.depth < least_ - 1e-6 * size_ || !over(p)) continue;
            best = p;
        }
        if (best.depth < HUGE_VAL) {
            kept.assign(1, best);
            return;
        }
        kept.clear();
        constexpr std::size_t NONE = static_cast<std::size_t>(-1);
        std::fill(by.begin(), by.end(), NONE);
        for (std::size_t k = 0; k < meetings_.size(); ++k) {
            if (by[k] != NONE) continue;
            kept.push_back(meetings_[k].own), by[k] = kept.size() - 1;
            for (std::size_t m = k + 1; m < meetings_.size(); ++m)
                if (by[m] == NONE && clears(kept.back(), meetings_[m])) by[m] = kept.size() - 1;
        }
    }

    // The spots of the pushes; with `several` also the corners of where the pieces lie over each other along them.
    void spots(const std::vector<Push>& kept, const std::vector<std::size_t>& by, double within, bool several,
               std::vector<Spot>& out) const {
        for (const Push& p : kept) out.push_back({p.a, p.b, p.n, -p.depth, 0.0});
        if (!several) return;
        for (std::size_t k = 0; k < meetings_.size(); ++k) {
            const Meeting& m = meetings_[k];
            const Vec3 n = kept[by[k]].n;
            if (m.i < 0 || m.j < 0) {
                if (dot(m.own.n, n) > 1.0 - 1e-9) out.push_back({m.own.a, m.own.b, n, -m.own.depth, 0.0});
                continue;
            }
            if (!Side::is_mesh) lay_pieces(m.i, m.j, n, within, out);
        }
        if (Side::is_mesh)  // faces that look at each other across a depth do not meet, but lie over each other
            for (const Push& p : kept) {
                double bound = p.depth + std::max(within, 0.0);
                near_pieces(A_, B_, bound, [&](index i, index j) { lay_pieces(i, j, p.n, within, out); });
            }
    }

private:
    using Pair = std::pair<index, index>;

    // The push by the depth of the hulls of all that meets; its depth is infinite where that does not clear B.
    Push of_hulls() const {
        std::vector<Vec3> inner_A, inner_B, of_A, of_B;
        std::vector<index> corners_A, corners_B;
        std::vector<Pair> more;
        for (const Meeting& m : meetings_) {
            if (m.i >= 0 && m.j >= 0) more.emplace_back(m.i, m.j);
            else (m.i < 0 ? inner_B : inner_A).push_back(m.point);
        }
        const auto add_corners = [](const Mesh& mesh, index t, std::vector<index>& to) {
            for (int k = 0; k < 3; ++k) to.push_back(mesh.triangle[static_cast<std::size_t>(3 * t + k)]);
        };
        const auto each_once = [](std::vector<index>& x) {
            std::sort(x.begin(), x.end());
            x.erase(std::unique(x.begin(), x.end()), x.end());
        };
        Push p{};
        for (int round = 0; round < 32; ++round) {
            for (const Pair& each : more) {
                add_corners(A_, each.first, corners_A);
                if constexpr (Side::is_mesh) add_corners(B_.mesh, each.second, corners_B);
            }
            each_once(corners_A), each_once(corners_B);
            of_A = inner_A, of_B = inner_B;
            for (const index k : corners_A) of_A.push_back(A_.vertex[static_cast<std::size_t>(k)]);
            if constexpr (Side::is_mesh)
                for (const index k : corners_B) of_B.push_back(B_.at * B_.mesh.vertex[static_cast<std::size_t>(k)]);
            if (of_A.empty() || (Side::is_mesh && of_B.empty())) break;
            Touch touch;
            if constexpr (Side::is_mesh) hull_touch(of_A, of_B, touch);
            else hull_touch(of_A, B_, touch);
            const Contact& c = touch.contact[0];
            p = {touch.n, c.a, c.b, -c.gap};
            more.clear();
            if (!(p.depth > 0.0)) break;
            if (leaves(p, &more)) return p;
            if (more.empty()) break;
        }
        p.depth = HUGE_VAL;
        return p;
    }

    // A hull of points about its middle, as a shape.
    static Vec3 as_shape(std::vector<Vec3>& points, Shape& s) {
        Vec3 low = points[0], high = points[0];
        for (const Vec3& x : points)
            for (int k = 0; k < 3; ++k) low[k] = std::min(low[k], x[k]), high[k] = std::max(high[k], x[k]);
        const Vec3 middle = 0.5 * (low + high);
        for (Vec3& x : points) x = x - middle, s.extent = std::max(s.extent, norm(x));
        s.kind = HULL, s.points = points.data(), s.count = static_cast<index>(points.size());
        return middle;
    }
    static void hull_touch(std::vector<Vec3> a, const ConvexSide& b, Touch& out) {
        Shape A;
        const Vec3 middle = as_shape(a, A);
        Frame at = b.at;
        at.p = at.p - middle;
        convex_touch(A, b.shape, at, HUGE_VAL, false, out);
        out.contact[0].a = out.contact[0].a + middle, out.contact[0].b = out.contact[0].b + middle;
    }
    static void hull_touch(const std::vector<Vec3>& a, std::vector<Vec3> b, Touch& out) {
        Shape B;
        const Vec3 middle = as_shape(b, B);
        hull_touch(a, ConvexSide{B, {{{{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}}}, middle}}, out);
    }

    // Whether B is clear of A once it is moved along a push; `more` takes the pairs that still meet, `one` the first of them.
    bool leaves(const Push& push, std::vector<Pair>* more, Pair* one = nullptr) const {
        const Side moved = B_.moved(beyond(push));
        bool clear = true;
        double bound = 0.0;
        near_pieces(A_, moved, bound, [&](index i, index j) {
            if ((!clear && more == nullptr) || clears(push, {i, j, {}, {}})) return;
            clear = false;
            if (more != nullptr) more->emplace_back(i, j);
            else bound = -HUGE_VAL;  // one is enough: no more boxes
            if (one != nullptr) *one = {i, j};
        });
        if (!clear) return false;
        if (A_.closed && inside(A_, point_of(moved))) return false;
        if constexpr (Side::is_mesh) return !(B_.mesh.closed && inside(B_.mesh, moved.at.back(A_.vertex[0])));
        return true;
    }

    template <typename Use>
    void pieces(index i, index j, const Use& use) const {
        Vec3 p[3];
        A_.corners(i, p);
        const Triangle t(p);
        B_.piece(j, [&](const Shape& shape, Frame at) {
            at.p = at.p - t.middle;
            use(t, shape, at);
        });
    }

    // Pushes along the normal of B's triangle and across two edges.
    template <typename Offer>
    void across_edges(index i, index j, const Offer& offer) const {
        Vec3 p[3], q[3];
        A_.corners(i, p), B_.mesh.corners(j, q);
        for (Vec3& each : q) each = B_.at * each;
        Vec3 m = B_.at.R * triangle_normal(B_.mesh, j);
        if (!B_.mesh.closed && dot(m, q[0]) > 0.0) m = -m;  // the side of A's origin
        offer(along(-m, i, j));
        for (int k = 0; k < 3; ++k)
            for (int l = 0; l < 3; ++l) {
                const Vec3 e = p[(k + 1) % 3] - p[k], f = q[(l + 1) % 3] - q[l], across = cross(e, f);
                const double length = norm(across);
                if (!(length > 1e-8 * norm(e) * norm(f))) continue;  // parallel: no normal of their own
                for (const double sign : {1.0, -1.0}) {
                    const Vec3 d = (sign / length) * across;
                    if (supports(A_, i, d) && B_.supported(j, -d)) offer(along(d, i, j));
                }
            }
    }

    // The corners of where triangle i and piece j lie over each other along n.
    void lay_pieces(index i, index j, const Vec3& n, double within, std::vector<Spot>& out) const {
        if (A_.closed && dot(triangle_normal(A_, i), n) < UPRIGHT) return;
        if constexpr (Side::is_mesh)
            if (B_.mesh.closed && dot(B_.at.R * triangle_normal(B_.mesh, j), n) > -UPRIGHT) return;
        pieces(i, j, [&](const Triangle& t, const Shape& shape, const Frame& at) {
            Feature fa, fb;
            features(Cores(t.shape, shape, at), n, fa, fb);
            Contact made[ROOM];
            const int count = lay_over(fa, fb, n, made, ROOM);
            for (int k = 0; k < count; ++k)
                if (made[k].gap <= within) out.push_back({made[k].a + t.middle, made[k].b + t.middle, n, made[k].gap, 0.0});
        });
    }

    // The push along n that takes all of piece j off the highest point of triangle i.
    Push along(const Vec3& n, index i, index j) const {
        Push p{n, {}, {}, 0.0};
        pieces(i, j, [&](const Triangle& t, const Shape& shape, const Frame& at) {
            const Vec3 low = at * support(shape, at.R.transposed(-n)) - rounding(shape) * n;
            const double high = dot(n, support(t.shape, n));
            p.depth = high - dot(n, low), p.b = low + t.middle, p.a = p.b + p.depth * n;
        });
        return p;
    }

    // From a point inside a solid to its nearest skin.
    static void way_out(const Mesh& mesh, const Vec3& x, Vec3& n, Vec3& skin, double& depth) {
        const index t = nearest_on_mesh(mesh, x, skin);
        depth = norm(skin - x), n = triangle_normal(mesh, t);
        double size = 0.0;
        Vec3 p[3];
        mesh.corners(t, p);
        for (const Vec3& each : p) size = std::max(size, norm(each - skin));
        if (depth > 1e-6 * size) n = (1.0 / depth) * (skin - x);  // of a short way the last digits are not enough
    }

    // The push and a bit more, so that a point on the skin is not in doubt.
    Vec3 beyond(const Push& push) const { return (push.depth + 1e-6 * size_) * push.n; }

    // Whether a meeting is over once B is moved along a push.
    bool clears(const Push& push, const Meeting& m) const {
        const Vec3 move = beyond(push);
        if (m.i < 0) return !inside(A_, m.point + move);
        if constexpr (Side::is_mesh)
            if (m.j < 0) return !inside(B_.mesh, B_.at.back(m.point - move));
        bool free = false;
        pieces(m.i, m.j, [&](const Triangle& t, const Shape& shape, Frame at) {
            at.p = at.p + (push.depth + 4.0 * NEAR * (t.shape.extent + shape.extent)) * push.n;
            const double r = rounding(shape);
            const Cores c(t.shape, shape, at);
            Simplex s;
            Nearest x;
            free = gjk(c, s, x, r, push.n) && x.distance >= r;
        });
        return free;
    }

    const Mesh& A_;
    const Side& B_;
    double size_;  // of the smaller
    double least_ = 0.0;  // the deepest of the triangles that meet: no push that is shorter clears it
    std::vector<Meeting> meetings_;
    std::vector<Push> pushes_;
};

}  // namespace contact
}  // namespace soacraft
