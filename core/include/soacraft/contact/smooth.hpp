// Whether a signed distance has a derivative where two shapes are.
//
// It is the greatest separation over all directions n, and for each n the least over the points x that look along it:
//
//     d = max over n of min over x of n . x,      d' = n . (v + w x b)   where n and b are the only ones (Danskin 1966)
//
// Faces and edges that lie along each other have many nearest points; a shape in the middle of another has several ways out
// that are equally long, and so has a mesh with a hollow. B is moved a little: a shift along e shows another normal m by
// (m - n) . e, a turn about an axis e across n through b shows another nearest point b + s by (e x s) . n < 0.
#pragma once

#include "touch.hpp"

namespace soacraft {
namespace contact {

constexpr double ANOTHER_WAY = 1e-3;    // of unit normals: those that differ by more are two
constexpr double NUDGE = 1e-7;          // of the size: ways out whose lengths differ by less are equally long
constexpr double TURN = 1e-6;           // an angle: faces that are parallel up to this are parallel
constexpr double TURN_OF_MESH = 1e-5;   // pushes out of a mesh are judged with a bit more (`Pushes::beyond`)
constexpr double ANOTHER_POINT = 3e-4;  // of the smaller shape: nearest points that are farther apart are two
constexpr double ROUNDED = 1e-13;       // of the size: digits of a distance that are rounding

// `x` is what `touch` said of the two. The nearest points are in both shapes, hence as far apart as the smaller is large.
class Smoothness {
public:
    Smoothness(const Shape& a, const double* pose_a, const Shape& b, const double* pose_b, const Spot& x, std::vector<Spot>& spots)
        : a_(a), b_(b), spots_(spots) {
        const Frame at_a = read_frame(pose_a);
        at_ = relative(at_a, read_frame(pose_b));
        axis_[0] = at_a.R.transposed(x.n), point_ = at_a.back(x.b), gap_ = x.gap, error_ = x.error;
        tangents(axis_[0], axis_[1], axis_[2]);
        small_ = std::min(a.extent, b.extent);  // a plane has no end
        size_ = a.kind == PLANE || b.kind == PLANE ? small_ : a.extent + b.extent;
    }

    bool operator()() const {
        const double turn = a_.kind == MESH || b_.kind == MESH ? TURN_OF_MESH : TURN;
        for (const double angle : {turn, -turn})
            for (const int i : {1, 2})
                if (!keeps(turned(axis_[i], angle), 0.0, turn * (ANOTHER_POINT * small_ + turn * std::abs(gap_)), HUGE_VAL)) return false;
        if (a_.kind == PLANE || b_.kind == PLANE) return true;
        const double between = gap_ + rounding(a_) + rounding(b_);
        const bool apart = between > AS_DEEP * size_;
        if (apart && a_.kind != MESH && b_.kind != MESH) return true;  // a convex set has one nearest point
        const double by = apart ? std::min(NUDGE * size_, 0.1 * ANOTHER_WAY * between) : NUDGE * size_;
        for (const double shift : {by, -by})
            for (const Vec3& e : axis_)
                if (!keeps({at_.R, at_.p + shift * e}, shift * dot(axis_[0], e), 10.0 * ANOTHER_WAY * by, ANOTHER_WAY)) return false;
        return true;
    }

private:
    // Whether the distance changes by `more` where B is at a frame, and the normal hardly at all.
    bool keeps(const Frame& moved, double more, double slack, double other_way) const {
        static constexpr double HERE[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0};
        double pose[12];
        for (int i = 0; i < 3; ++i) {
            for (int j = 0; j < 3; ++j) pose[3 * i + j] = moved.R.row[i][j];
            pose[9 + i] = moved.p[i];
        }
        spots_.clear();
        touch(a_, HERE, b_, pose, HUGE_VAL, false, spots_);
        if (spots_.empty()) return false;
        const Spot& s = spots_[0];
        return norm(s.n - axis_[0]) <= other_way && std::abs(s.gap - gap_ - more) <= slack + ROUNDED * size_ + s.error + error_;
    }

    // B turned about an axis through its nearest point.
    Frame turned(const Vec3& e, double angle) const {
        const double c = std::cos(angle), s = std::sin(angle);
        Frame turn;
        const auto row = [&](double x, double y, double z, const Vec3& across) {  // c I + s e~ + (1 - c) e e*
            const double along = (1.0 - c) * (x * e.x + y * e.y + z * e.z);
            return Vec3{c * x + s * across.x + along * e.x, c * y + s * across.y + along * e.y, c * z + s * across.z + along * e.z};
        };
        turn.R.row[0] = row(1, 0, 0, {0.0, -e.z, e.y});
        turn.R.row[1] = row(0, 1, 0, {e.z, 0.0, -e.x});
        turn.R.row[2] = row(0, 0, 1, {-e.y, e.x, 0.0});
        turn.p = point_ - turn.R * point_;
        return product(turn, at_);
    }

    const Shape &a_, &b_;
    std::vector<Spot>& spots_;
    Frame at_;      // of B in the axes of A
    Vec3 axis_[3];  // the normal, and two directions across it
    Vec3 point_;    // of B
    double gap_, error_, size_, small_;
};

inline bool is_smooth(const Shape& a, const double* pose_a, const Shape& b, const double* pose_b, const Spot& x,
                      std::vector<Spot>& spots) {
    return Smoothness(a, pose_a, b, pose_b, x, spots)();
}

}  // namespace contact
}  // namespace soacraft
