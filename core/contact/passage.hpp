// Whether a step may have led two shapes through each other: where they are at its end does not tell from which side they came.
//
// Let two convex shapes be apart by g along the unit vector n when a step begins, in the axes of a frame that carries one of
// them or none. While the plane across n stays in that frame, they come closer along n by at most
//
//     D = s + 4/27 h (c0 + c1) + r_a phi_a + r_b phi_b
//
// with s what their origins come closer by, c0 and c1 how fast they approach when it begins and part when it ends (a cubic with
// these slopes leaves its chord by no more), phi the angles that they turn by and r how far turning moves their points. The
// least D of the three frames counts. For shapes that are not convex lengths take the place of what is along n.
//
// The difference of two shapes is at least T wide, the sum of their least widths and of what they keep clear of each other by.
// Less than half of that deep the way out still is the way in, so that a step with
//
//     D <= max(g, -T/5) + 2/5 T
//
// ends with every pair on the side from which it came. What rests comes no closer, and is never too fast.
//
// What is apart at both ends, or in each other at the second one by another normal, may have met between them, past an edge. Where
// D is beyond the gap, the two are followed between their poses (conservative advancement), and the step ends where they are just
// in each other.
#pragma once

#include "pair_query.hpp"

namespace soacraft {
namespace contact {

// What of a shape its pose does not tell: how far from its origin turning moves anything, but for an axis about which it does
// not; and whether a plane parts it from others.
struct Build {
    double arm;
    bool axial, convex;
};

inline Build build_of(const Shape& s) {
    if (s.kind == SPHERE) return {0.0, true, true};
    if (s.kind == CAPSULE) return {s.size[1], true, true};
    return {s.extent, s.kind == CYLINDER, s.kind != MESH};
}

// A shape when a step begins or ends: its pose, and the velocities of its origin, in some frame.
struct Moving {
    Frame at;
    Vec3 w, v;
};

class Passage {
public:
    // `thick` is T.
    Passage(const Build& a, const Build& b, double thick, double h) : build_{a, b}, thick_(thick), h_(h) {}

    // D <= this in every step that is short enough, whatever the gap.
    double least_room() const { return (DEEP - BEGUN) * thick_; }
    // How much closer a pair may come, and where a step that is cut shall end.
    double room(double gap) const { return std::max(gap, -BEGUN * thick_) + DEEP * thick_; }
    double aim(double gap) const { return room(gap) - SHORT * thick_; }

    // A bound on D that needs no normal.
    double coarse(const Moving* a, const Moving* b) const { return closing(a, b, nullptr); }

    // How deep in each other a pair may be, about, before it is followed.
    double graze() const { return GRAZE * thick_; }
    // A bound on the way of any point of one relative to the other.
    double way(const Moving* a, const Moving* b) const {
        return norm((a[1].at.p - a[0].at.p) - (b[1].at.p - b[0].at.p)) + turned(build_[0], a) + turned(build_[1], b);
    }

    // D, from the ends of the step and the normal from a to b when it begins, in inertial axes.
    double closes(const Moving* a, const Moving* b, const Vec3& n) const {
        double least = closing(a, b, &n);
        for (const Moving* in : {a, b}) {
            const Moving x[] = {seen(a[0], in[0]), seen(a[1], in[1])}, y[] = {seen(b[0], in[0]), seen(b[1], in[1])};
            const Vec3 turned = in[0].at.R.transposed(n);
            least = std::min(least, closing(x, y, &turned));
        }
        return least;
    }

private:
    static constexpr double DEEP = 0.4, BEGUN = 0.2, SHORT = 0.1, GRAZE = 0.05;  // of T
    static constexpr double BOW = 4.0 / 27.0;

    static Moving seen(const Moving& x, const Moving& in) {
        const Vec3 way = x.at.p - in.at.p;
        return {relative(in.at, x.at), in.at.R.transposed(x.w - in.w), in.at.R.transposed(x.v - in.v - cross(in.w, way))};
    }
    double closing(const Moving* a, const Moving* b, const Vec3* n) const {
        const Vec3 way = (a[1].at.p - a[0].at.p) - (b[1].at.p - b[0].at.p);
        const bool parted = n && build_[0].convex && build_[1].convex;
        const auto along = [&](const Vec3& x) { return parted ? dot(*n, x) : norm(x); };
        const double begin = along(a[0].v - b[0].v), end = along(b[1].v - a[1].v);
        return std::max(along(way), 0.0) + BOW * h_ * (std::max(begin, 0.0) + std::max(end, 0.0)) + turned(build_[0], a) +
               turned(build_[1], b);
    }
    // r phi, an arc of the angle between the ends, or as long as the rates at these make it.
    double turned(const Build& s, const Moving* x) const {
        if (!(s.arm > 0.0)) return 0.0;
        const Vec3 from = x[0].at.R.column(2), to = x[1].at.R.column(2);
        double half = 0.5 * norm(to - from), rate = std::max(norm(cross(x[0].w, from)), norm(cross(x[1].w, to)));
        if (!s.axial) {
            double sum = 0.0;
            for (int i = 0; i < 3; ++i) {
                const Vec3 change = x[1].at.R.row[i] - x[0].at.R.row[i];
                sum += dot(change, change);
            }
            half = std::sqrt(0.125 * sum), rate = std::max(norm(x[0].w), norm(x[1].w));
        }
        return s.arm * std::max(2.0 * std::asin(std::min(half, 1.0)), h_ * rate);
    }

    const Build build_[2];
    const double thick_, h_;
};

// The pose a part of the way from one to another: the origin along a line, turning about a fixed axis.
inline void between(const Frame& from, const Frame& to, double part, double* pose) {
    const Frame turn = relative(from, to);
    const Mat3& R = turn.R;
    const Vec3 twice{R.row[2].y - R.row[1].z, R.row[0].z - R.row[2].x, R.row[1].x - R.row[0].y};
    const double sine = 0.5 * norm(twice), cosine = 0.5 * (R.row[0].x + R.row[1].y + R.row[2].z - 1.0);
    const double angle = part * std::atan2(sine, cosine), s = std::sin(angle), c = std::cos(angle);
    const Vec3 axis = sine > 0.0 ? (0.5 / sine) * twice : Vec3{0.0, 0.0, 1.0}, p = from.p + part * (to.p - from.p);
    for (int j = 0; j < 3; ++j) {
        const Vec3 e{j == 0 ? 1.0 : 0.0, j == 1 ? 1.0 : 0.0, j == 2 ? 1.0 : 0.0};
        const Vec3 column = from.R * (c * e + s * cross(axis, e) + (1.0 - c) * dot(axis, e) * axis);
        for (int i = 0; i < 3; ++i) pose[3 * i + j] = column[i];
        pose[9 + j] = p[j];
    }
}

inline void read_moving(const StepEnds& x, index shape, Moving* to) {
    const double *poses[] = {x.from, x.to}, *velocities[] = {x.from_velocity, x.to_velocity};
    for (int i = 0; i < 2; ++i) {
        const double* u = velocities[i] + 6 * shape;
        to[i] = {read_frame(poses[i] + POSE * shape), {u[0], u[1], u[2]}, {u[3], u[4], u[5]}};
    }
}

// A part of a step, to ten binary digits: less than it, and the same whatever the last digits of poses are, most often.
inline double rounded_down(double part) {
    int exponent = 0;
    const double digits = std::frexp(part, &exponent);
    return std::ldexp(std::floor(std::ldexp(digits, 10)), exponent - 10);
}

}  // namespace contact
}  // namespace soacraft
