// The shapes of a scene on the elements of a tree, as the kernels of `contact/moving/` read them: made once for a scene.
#pragma once

#include <map>
#include <memory>

#include "scene.hpp"
#include "soacraft/contact/moving/plan.hpp"

namespace soacraft {
namespace contact {

class MovingScene {
public:
    // `body` (shapes) carries each shape, -1 for the inertial frame, at `local` (shapes, 12). The model and the
    // scene must live as long.
    MovingScene(const rigid::Model& model, const ShapeScene& scene, const index* body, const double* local)
        : model_(model), scene_(scene) {
        for (index i = 0; i < scene.count(); ++i) place(i, body[i], local + POSE * i);
        for (index i = 0; i < scene.count(); ++i) {
            if (shapes_[at(i)].kind == PLANE) planes_.push_back(i), moving_plane_ = moving_plane_ || shapes_[at(i)].element >= 0;
            else if (shapes_[at(i)].element >= 0) movers_.push_back(i);
            else slots_.push_back(i);
        }
        for (std::size_t m = 0; m < movers_.size(); ++m) reaches_.push_back({movers_[m], -1}), reach_of_[{movers_[m], -1}] = index(m);
        grow_tree();
        find_pairs();
        plan_.model = &model_, plan_.count = scene.count(), plan_.shapes = shapes_.data();
        plan_.movers = movers_.data(), plan_.mover_count = index(movers_.size());
        plan_.slots = slots_.data(), plan_.slot_count = index(slots_.size());
        plan_.boxes = boxes_.data(), plan_.box_step = box_step_, plan_.nodes = nodes_.data();
        plan_.may = may_.data(), plan_.words = words_;
        plan_.pairs = pairs_.data(), plan_.pair_count = index(pairs_.size());
        plan_.reaches = reaches_.data(), plan_.reach_count = index(reaches_.size());
    }
    MovingScene(const MovingScene&) = delete;

    const MovingPlan& plan() const { return plan_; }
    MovingQuery query() const { return {&plan_, &scene_, ask}; }
    // Whether a plane moves, which no bound holds for.
    bool moving_plane() const { return moving_plane_; }

private:
    static constexpr index LEAF = 16, REGISTER = 8;  // fixed shapes of a leaf; the widest register there is
    static std::size_t at(index i) { return static_cast<std::size_t>(i); }

    static bool ask(const void* scene, index a, const double* pose_a, index b, const double* pose_b, double within, double* row) {
        const ShapeScene& s = *static_cast<const ShapeScene*>(scene);
        static thread_local std::vector<Spot> spots;
        spots.clear();
        touch(s.shape(a), pose_a, s.shape(b), pose_b, within, false, spots);
        if (spots.empty()) return false;
        write(spots[0], row);
        return true;
    }

    void place(index i, index body, const double* local) {
        const Shape& from = scene_.shape(i);
        MovingShape s = {};
        s.kind = from.kind, s.convex = from.kind != MESH, s.round = rounding(from), s.pad = scene_.padding(i);
        const Vec3 half = is_box_like(from) ? half_edges(from) : Vec3{0.0, 0.0, 0.0};
        for (int k = 0; k < 3; ++k) s.half[k] = half[k];
        const Vec3 middle = middle_of(from, s.radius);
        for (int k = 0; k < 3; ++k) s.middle[k] = middle[k];
        s.extent = from.extent;
        s.core = from.kind == PLANE || from.kind == SPHERE ? 0.0 : from.kind == CAPSULE ? from.size[1] : s.radius;
        s.element = body < 0 ? -1 : model_.bodies[body].element;
        Frame X = read_frame(local);
        if (body >= 0) {
            const rigid::Body& on = model_.bodies[body];
            double pose[POSE];
            std::copy(on.R, on.R + 9, pose), std::copy(on.p, on.p + 3, pose + 9);
            X = product(read_frame(pose), X);
        }
        for (int r = 0; r < 3; ++r)
            for (int c = 0; c < 3; ++c) s.at[3 * r + c] = X.R.row[r][c];
        for (int k = 0; k < 3; ++k) s.at[9 + k] = X.p[k];
        s.arm = norm(X * middle);
        shapes_.push_back(s);
    }

    // The middle of the box around a shape, in its own axes, and how far its points are from that.
    static Vec3 middle_of(const Shape& s, double& radius) {
        const bool mesh = s.kind == MESH;
        radius = s.extent;
        if (s.kind != HULL && !mesh) return {0.0, 0.0, 0.0};
        const Vec3* points = mesh ? s.mesh->vertex.data() : s.points;
        const index count = points_of(s);
        Vec3 low = points[0], high = points[0];
        for (index i = 0; i < count; ++i)
            for (int k = 0; k < 3; ++k) low[k] = std::min(low[k], points[i][k]), high[k] = std::max(high[k], points[i][k]);
        const Vec3 middle = 0.5 * (low + high);
        radius = 0.0;
        for (index i = 0; i < count; ++i) radius = std::max(radius, norm(points[i] - middle));
        return middle;
    }

    // Boxes around fixed shapes, and around those of a node: cut in two at the median along the longest edge.
    void grow_tree() {
        const index n = index(slots_.size());
        box_step_ = n + REGISTER;
        boxes_.assign(at(6 * box_step_), 0.0);
        if (n == 0) return;
        for (const index i : slots_) around_.emplace(i, padded_box(i));
        split(0, n);
        for (index k = 0; k < n; ++k)
            for (int i = 0; i < 3; ++i) {
                const Bounds& b = around_.at(slots_[at(k)]);
                boxes_[at(i * box_step_ + k)] = b.low[i], boxes_[at((3 + i) * box_step_ + k)] = b.high[i];
            }
        around_.clear();
    }
    Bounds padded_box(index i) const {
        const MovingShape& s = shapes_[at(i)];
        Bounds b = bounds_of(scene_.shape(i), s.at);
        const double more = s.pad + 1e-9 * s.extent;  // and far above rounding
        for (int k = 0; k < 3; ++k) b.low[k] -= more, b.high[k] += more;
        return b;
    }
    void split(index first, index last) {
        const std::size_t here = nodes_.size();
        nodes_.emplace_back();
        BoxNode node = {{HUGE_VAL, HUGE_VAL, HUGE_VAL}, {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL}, first, last, 0};
        for (index k = first; k < last; ++k)
            for (int i = 0; i < 3; ++i) {
                const Bounds& b = around_.at(slots_[at(k)]);
                node.low[i] = std::min(node.low[i], b.low[i]), node.high[i] = std::max(node.high[i], b.high[i]);
            }
        if (last - first > LEAF) {
            int axis = 0;
            for (int i = 1; i < 3; ++i)
                if (node.high[i] - node.low[i] > node.high[axis] - node.low[axis]) axis = i;
            const auto before = [&](index x, index y) {
                const Bounds &b = around_.at(x), &c = around_.at(y);
                const double u = b.low[axis] + b.high[axis], v = c.low[axis] + c.high[axis];
                return u < v || (u == v && x < y);
            };
            const index middle = (first + last) / 2;
            std::nth_element(slots_.begin() + first, slots_.begin() + middle, slots_.begin() + last, before);
            split(first, middle);
            node.right = index(nodes_.size());
            split(middle, last);
        }
        nodes_[here] = node;
    }

    void find_pairs() {
        words_ = (index(slots_.size()) + 63) / 64;
        may_.assign(at(words_ * index(movers_.size())), 0);
        for (std::size_t m = 0; m < movers_.size(); ++m)
            for (std::size_t k = 0; k < slots_.size(); ++k) {
                const index i = std::min(movers_[m], slots_[k]), j = std::max(movers_[m], slots_[k]);
                if (!scene_.may(i, j)) continue;
                if (scene_.padded(i, j)) add_pair(i, j);
                else may_[m * at(words_) + k / 64] |= std::uint64_t(1) << (k % 64);
            }
        for (std::size_t m = 0; m < movers_.size(); ++m)
            for (std::size_t k = m + 1; k < movers_.size(); ++k)
                if (scene_.may(movers_[m], movers_[k])) add_pair(movers_[m], movers_[k]);
        for (const index p : planes_)
            for (const std::vector<index>* others : {&movers_, &slots_})
                for (const index o : *others)
                    if (scene_.may(std::min(p, o), std::max(p, o))) add_pair(std::min(p, o), std::max(p, o));
        scene_.each_exception([&](index i, index j) {  // what never moves may touch only where somebody said so
            const MovingShape &a = shapes_[at(i)], &b = shapes_[at(j)];
            if (a.element < 0 && b.element < 0 && a.kind != PLANE && b.kind != PLANE && scene_.may(i, j)) add_pair(i, j);
        });
        std::sort(pairs_.begin(), pairs_.end(), [](const MovingPair& x, const MovingPair& y) { return x.a < y.a || (x.a == y.a && x.b < y.b); });
    }
    void add_pair(index i, index j) {
        MovingPair p = {i, j, scene_.pad(i, j), SINGLY, false, -1, -1, -1};
        index x = shapes_[at(i)].element, y = shapes_[at(j)].element;
        while (x != y) (x > y ? x : y) = model_.elements[x > y ? x : y].parent;  // parents come first
        p.common = x;
        p.far_a = reach(i, x), p.far_b = reach(j, x);
        p.type = pair_class(shapes_[at(i)].kind, shapes_[at(j)].kind, p.swapped);
        pairs_.push_back(p);
    }
    index reach(index shape, index common) {
        const MovingShape& s = shapes_[at(shape)];
        if (s.element == common || s.kind == PLANE) return -1;
        const auto [known, fresh] = reach_of_.emplace(std::make_pair(shape, common), index(reaches_.size()));
        if (fresh) reaches_.push_back({shape, common});
        return known->second;
    }

    const rigid::Model& model_;
    const ShapeScene& scene_;
    MovingPlan plan_ = {};
    std::vector<MovingShape> shapes_;
    std::vector<index> planes_, movers_, slots_;
    std::vector<double> boxes_;
    std::vector<BoxNode> nodes_;
    std::vector<std::uint64_t> may_;
    std::vector<MovingPair> pairs_;
    std::vector<Reach> reaches_;
    std::map<std::pair<index, index>, index> reach_of_;
    std::unordered_map<index, Bounds> around_;
    index box_step_ = 0, words_ = 0;
    bool moving_plane_ = false;
};

}  // namespace contact
}  // namespace soacraft
