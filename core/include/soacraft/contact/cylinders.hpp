// A cylinder and a box, a segment or a point that are apart: by projections, which both have in closed form.
//
// Projections in turns tell which face, edge or vertex of the box is nearest. Along an edge the distance to the cylinder is convex:
// its derivative is monotone, and has its root by Newton's method within a bracket. The separation along the points tells
// whether they are the nearest.
#pragma once

#include "minkowski.hpp"

namespace soacraft {
namespace contact {

class CylinderApart {
public:
    explicit CylinderApart(const Cores& c) : c_(c), r_(c.A.size[0]), h_(c.A.size[1]), half_(half_edges(c.B)) {}

    // The nearest points, A being the cylinder; false where others must look.
    bool solve(Nearest& out) const {
        Vec3 local{0.0, 0.0, 0.0}, y = c_.at.p, x = onto(y);
        for (int round = 0; round < ROUNDS; ++round) {
            for (int i = 0; i < TURNS; ++i) local = clamped(c_.at.back(x)), y = c_.at * local, x = onto(y);
            if (answered(x, y, out)) return true;
            int open = 0, along = 0, across = 0;
            for (int i = 0; i < 3; ++i) {
                if (std::abs(local[i]) < half_[i]) ++open, along = i;
                else across = i;
            }
            if (open == 3) return false;  // in each other
            if (open == 1) {
                local[along] = least_on_edge(local, along), y = c_.at * local, x = onto(y);
            } else if (open == 2) {
                const Vec3 outward = (local[across] < 0.0 ? -1.0 : 1.0) * c_.at.R.column(across);
                x = support(c_.A, -outward), y = c_.at * clamped(c_.at.back(x));
            }
            if (answered(x, y, out)) return true;
            x = onto(y);
        }
        return false;
    }

private:
    static constexpr int ROUNDS = 3, TURNS = 3, STEPS = 40;
    static constexpr double ENOUGH = 1e-14;  // of the size: what the distance of points and the separation may differ by
    static constexpr double SHORT = 2.5e-3;  // of the size: nearer points do not tell the normal to all its digits

    // The nearest point of the cylinder.
    Vec3 onto(const Vec3& p) const {
        const double across = std::sqrt(p.x * p.x + p.y * p.y), scale = across > r_ ? r_ / across : 1.0;
        return {scale * p.x, scale * p.y, std::clamp(p.z, -h_, h_)};
    }
    Vec3 clamped(const Vec3& p) const {
        return {std::clamp(p.x, -half_.x, half_.x), std::clamp(p.y, -half_.y, half_.y), std::clamp(p.z, -half_.z, half_.z)};
    }

    // The root of  g(t) = e.(y - x),  y = y0 + t e on the edge and x the nearest point of the cylinder:  g' = 1 - e.(dx/dy) e.
    double least_on_edge(const Vec3& local, int along) const {
        Vec3 start = local;
        start[along] = 0.0;
        const Vec3 y0 = c_.at * start, e = c_.at.R.column(along);
        double low = -half_[along], high = half_[along], t = local[along];
        for (int i = 0; i < STEPS; ++i) {
            const Vec3 y = y0 + t * e;
            const double across2 = y.x * y.x + y.y * y.y, across = std::sqrt(across2);
            const double scale = across > r_ ? r_ / across : 1.0, z = std::clamp(y.z, -h_, h_);
            const double g = (1.0 - scale) * (e.x * y.x + e.y * y.y) + e.z * (y.z - z);
            const double turning = e.x * y.y - e.y * y.x;  // across the radius
            double slope = std::abs(y.z) > h_ ? e.z * e.z : 0.0;
            if (across > r_) slope += e.x * e.x + e.y * e.y - scale * turning * turning / across2;
            (g < 0.0 ? low : high) = t;
            double next = t - g / slope;
            if (!(next >= low && next <= high)) next = 0.5 * (low + high);  // also where the slope is zero
            if (std::abs(next - t) <= 1e-16 * c_.size) return next;
            t = next;
        }
        return t;
    }

    // Whether the points are those of the distance.
    bool answered(const Vec3& x, const Vec3& y, Nearest& out) const {
        const Vec3 d = y - x;
        const double distance = norm(d);
        if (!(distance > SHORT * c_.size)) return false;
        const Vec3 n = (1.0 / distance) * d;
        const double separation = -dot(n, c_.support(n).w);
        if (!(distance - separation <= ENOUGH * (c_.size + distance))) return false;
        out = {distance, std::max(distance - separation, 0.0), x, y, n};
        return true;
    }

    const Cores& c_;
    double r_, h_;
    Vec3 half_;
};

}  // namespace contact
}  // namespace soacraft
