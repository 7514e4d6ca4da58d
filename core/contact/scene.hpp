// Shapes that may touch each other, and where they do.
//
// Steps ask for the same shapes again and again, which have moved little. So a search keeps the pairs that are within some more
// than was asked for, and where the shapes were (Verlet 1967): as long as they have moved by less than the rest of it, all
// others are out of reach. What is answered does not depend on it.
#pragma once

#include <unordered_map>

#include "passage.hpp"
#include "soacraft/contact/touch.hpp"
#include "spot_query.hpp"

namespace soacraft {
namespace contact {

inline Bounds bounds_of(const Shape& s, const double* pose) {
    const Frame t = read_frame(pose);
    if (s.kind == PLANE) return {{-HUGE_VAL, -HUGE_VAL, -HUGE_VAL}, {HUGE_VAL, HUGE_VAL, HUGE_VAL}};
    if (s.kind != MESH) return bounds(s, t);
    Shape box;
    const Mesh::Node& root = s.mesh->node[0];
    const Vec3 half = 0.5 * (root.high - root.low);
    box.kind = BOX;
    for (int i = 0; i < 3; ++i) box.size[i] = half[i];
    Frame at = t;
    at.p = t * (0.5 * (root.high + root.low));
    return bounds(box, at);
}

// Whether shapes at two poses are farther apart than a distance, by the spheres around them: false where these do not tell.
inline bool surely_apart(const Shape& a, const double* pose_a, const Shape& b, const double* pose_b, double by) {
    constexpr double ROUNDED = 1e-9;  // of the sizes: far above rounding, far below any skin
    if (b.kind == PLANE) return surely_apart(b, pose_b, a, pose_a, by);
    const Vec3 between{pose_b[9] - pose_a[9], pose_b[10] - pose_a[10], pose_b[11] - pose_a[11]};
    const double far = norm(between);
    if (a.kind == PLANE) {
        const double height = between.x * pose_a[2] + between.y * pose_a[5] + between.z * pose_a[8];
        return height - b.extent > by + ROUNDED * (far + b.extent);
    }
    return far - a.extent - b.extent > by + ROUNDED * (far + a.extent + b.extent);
}

// By how much any point of a shape has moved from one pose to another, at most.
inline double moved_by(const Shape& s, const double* from, const double* to) {
    double turn = 0.0, way = 0.0;
    for (int i = 0; i < 9; ++i) turn += (to[i] - from[i]) * (to[i] - from[i]);
    for (int i = 9; i < 12; ++i) way += (to[i] - from[i]) * (to[i] - from[i]);
    if (s.kind == PLANE) return turn + way > 0.0 ? HUGE_VAL : 0.0;
    return std::sqrt(way) + std::sqrt(turn) * s.extent;
}

class ShapeScene : public SpotQuery {
public:
    index count() const { return static_cast<index>(shapes_.size()); }
    index shapes() const override { return count(); }
    const Shape& shape(index i) const { return shapes_[at(i)]; }
    double padding(index i) const { return padding_[at(i)]; }
    bool padded(index i, index j) const { return pair_padding_.count(key(i, j)) > 0; }

    void spots(const double* poses, double within, Spots& out) const override {
        out.numbers.clear(), out.places.clear();
        const bool known = out.poses.size() == shapes_.size() * POSE;
        double motion = 0.0;
        for (index k = 0; known && k < count(); ++k)
            motion = std::max(motion, moved_by(shapes_[at(k)], out.poses.data() + POSE * k, poses + POSE * k));
        if (!known || !(within + 2.0 * motion < out.reach)) {
            out.poses.assign(poses, poses + POSE * count());
            out.reach = within + std::max(WIDER * within, SKIN * typical_);
            close_pairs(poses, out.reach, out.pairs);
        }
        touches(0, poses, within, true, out);
    }

    Passed passed(const StepEnds& ends, const std::vector<NearPair>& pairs) const override {
        Passed worst;
        std::vector<Spot> spots;
        for (const NearPair& x : pairs) {
            const Shape &a = shapes_[at(x.a)], &b = shapes_[at(x.b)];
            const double thick = a.thin + b.thin + 2.0 * x.pad;
            if (!std::isfinite(thick)) continue;
            const Passage passage(build_of(a), build_of(b), thick, ends.h);
            Moving of_a[2], of_b[2];
            read_moving(ends, x.a, of_a), read_moving(ends, x.b, of_b);
            const double coarse = passage.coarse(of_a, of_b);
            const double *at_a = ends.from + POSE * x.a, *at_b = ends.from + POSE * x.b;
            if (coarse <= passage.least_room() || surely_apart(a, at_a, b, at_b, coarse + x.pad)) continue;
            spots.clear();
            touch(a, at_a, b, at_b, coarse + x.pad, false, spots);
            if (spots.empty()) continue;
            const double gap = spots[0].gap - x.pad, closes = passage.closes(of_a, of_b, spots[0].n);
            double part = 1.0;
            if (closes > passage.room(gap)) part = passage.aim(gap) / closes;
            else if (gap > 0.0 && closes > gap + passage.graze()) part = meeting(x, of_a, of_b, passage, gap, spots[0].n);
            if (!(part < 1.0)) continue;
            part = std::min(rounded_down(part), SHORTER);
            if (part < worst.part) worst = {x.a, x.b, part, closes, gap, thick};
        }
        return worst;
    }

    // The same of all pairs.
    Passed worst_passed(const StepEnds& ends) const {
        double reach = 0.0;
        for (index i = 0; i < count(); ++i) reach = std::max(reach, travel(ends, i));
        std::vector<NearPair> pairs;
        close_pairs(ends.from, 2.0 * reach, pairs);
        return passed(ends, pairs);
    }

protected:
    // The part of a step after which two shapes are just in each other that are apart when it ends, or there by another normal
    // than n; 1 where they are not.
    double meeting(const NearPair& x, const Moving* of_a, const Moving* of_b, const Passage& passage, double gap, const Vec3& n) const {
        constexpr int LOOKS = 100;
        constexpr double ALIKE = 0.9;  // the cosine of two normals
        const double way = passage.way(of_a, of_b);
        double part = 0.0, at_a[POSE], at_b[POSE];
        std::vector<Spot> spots;
        const auto apart = [&](double s) {
            between(of_a[0].at, of_a[1].at, s, at_a), between(of_b[0].at, of_b[1].at, s, at_b);
            spots.clear();
            touch(shapes_[at(x.a)], at_a, shapes_[at(x.b)], at_b, HUGE_VAL, false, spots);
            return spots.empty() ? HUGE_VAL : spots[0].gap - x.pad;
        };
        if (apart(1.0) <= 0.0 && dot(spots[0].n, n) > ALIKE) return 1.0;
        for (int i = 0; i < LOOKS && gap > -passage.graze(); ++i) {
            part += (gap + 1.5 * passage.graze()) / way;
            if (!(part < 1.0)) return 1.0;
            gap = apart(part);
        }
        return part;
    }

    // How far a shape goes in a step, at most.
    double travel(const StepEnds& x, index shape) const {
        const Build none{0.0, true, true};
        Moving own[2], still[2];
        read_moving(x, shape, own);
        if (shapes_[at(shape)].kind == PLANE) return 0.0;
        still[0] = still[1] = {own[0].at, {0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}};
        return Passage(build_of(shapes_[at(shape)]), none, 0.0, x.h).coarse(own, still);
    }

    struct Class {
        index group, above, type, affinity;
    };
    std::vector<Shape> shapes_;
    std::vector<double> padding_;
    std::vector<Class> classes_;
    std::unordered_map<std::size_t, bool> exceptions_;
    std::unordered_map<std::size_t, double> pair_padding_;
    double most_ = 0.0;     // of the paddings of pairs
    double typical_ = 0.0;  // the mean extent of shapes that have one

    std::size_t key(index i, index j) const { return at(i * count() + j); }

    // After the shapes are known.
    void measure() {
        index sized = 0;
        typical_ = 0.0;
        for (const Shape& s : shapes_)
            if (s.kind != PLANE) typical_ += s.extent, ++sized;
        if (sized) typical_ /= static_cast<double>(sized);
    }

public:
    // Whether two shapes, i < j, may touch.
    bool may(index i, index j) const {
        if (!exceptions_.empty()) {
            const auto known = exceptions_.find(key(i, j));
            if (known != exceptions_.end()) return known->second;
        }
        const Class &a = classes_[at(i)], &b = classes_[at(j)];
        if (a.group == b.group || a.above == b.group || b.above == a.group) return false;
        return (a.type & b.affinity) != 0 || (b.type & a.affinity) != 0;
    }

    // f(i, j) for the pairs that somebody named.
    template <class F>
    void each_exception(const F& f) const {
        for (const auto& [pair, touch] : exceptions_) f(static_cast<index>(pair) / count(), static_cast<index>(pair) % count());
    }
    // What two shapes, i < j, keep clear of each other by.
    double pad(index i, index j) const {
        double sum = padding_[at(i)] + padding_[at(j)];
        if (!pair_padding_.empty()) {
            const auto known = pair_padding_.find(key(i, j));
            if (known != pair_padding_.end()) sum += known->second;
        }
        return sum;
    }

protected:
    // What touches at one set of poses, appended.
    void one(index state, const double* poses, double within, bool several, Spots& out) const {
        close_pairs(poses, within, out.pairs);
        touches(state, poses, within, several, out);
    }

private:
    static constexpr double SHORTER = 0.9;  // of a step that is cut
    // How much farther than asked for pairs are kept: in what was asked for, or in the mean size of the shapes.
    static constexpr double WIDER = 8.0, SKIN = 0.1;

    static std::size_t at(index i) { return static_cast<std::size_t>(i); }

    // Sweep and prune along the axis on which the shapes are spread most, then the pairs in the order of their numbers.
    void close_pairs(const double* poses, double within, std::vector<NearPair>& close) const {
        const index n = count();
        std::vector<Bounds> around(at(n));
        std::vector<index> order(at(n));
        double low[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, high[3] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL};
        for (index k = 0; k < n; ++k) {
            order[at(k)] = k, around[at(k)] = bounds_of(shapes_[at(k)], poses + POSE * k);
            for (int i = 0; i < 3; ++i)
                if (std::isfinite(around[at(k)].low[i]))
                    low[i] = std::min(low[i], around[at(k)].low[i]), high[i] = std::max(high[i], around[at(k)].low[i]);
        }
        int axis = 0;
        for (int i = 1; i < 3; ++i)
            if (high[i] - low[i] > high[axis] - low[axis]) axis = i;
        std::sort(order.begin(), order.end(), [&](index a, index b) {
            const double x = around[at(a)].low[axis], y = around[at(b)].low[axis];
            return x < y || (x == y && a < b);
        });
        close.clear();
        double wide = most_;
        for (const double pad : padding_) wide = std::max(wide, 2.0 * pad + most_);
        for (std::size_t p = 0; p < order.size(); ++p) {
            const index a = order[p];
            for (std::size_t r = p + 1; r < order.size(); ++r) {
                const index b = order[r];
                if (around[at(b)].low[axis] - around[at(a)].high[axis] > within + wide) break;
                const index i = std::min(a, b), j = std::max(a, b);
                if (!apart(around[at(a)], around[at(b)], within + pad(i, j)) && may(i, j)) close.push_back({i, j, pad(i, j)});
            }
        }
        std::sort(close.begin(), close.end(), [](const NearPair& x, const NearPair& y) { return x.a < y.a || (x.a == y.a && x.b < y.b); });
    }

    void touches(index state, const double* poses, double within, bool several, Spots& out) const {
        std::vector<Spot> spots;
        for (const NearPair& x : out.pairs) {
            const Shape &a = shapes_[at(x.a)], &b = shapes_[at(x.b)];
            const double *at_a = poses + POSE * x.a, *at_b = poses + POSE * x.b, far = within + x.pad;
            if (surely_apart(a, at_a, b, at_b, far)) continue;
            spots.clear();
            touch(a, at_a, b, at_b, far, several, spots);
            for (Spot& s : spots) {
                s.gap -= x.pad;
                const std::size_t next = out.numbers.size();
                out.numbers.resize(next + SPOT);
                write(s, out.numbers.data() + next);
                out.places.push_back(state), out.places.push_back(x.a), out.places.push_back(x.b);
            }
        }
    }
};

}  // namespace contact
}  // namespace soacraft
