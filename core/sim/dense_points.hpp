// Points inside a step that was taken, by its dense output.
#pragma once

#include <vector>

#include "mechanism.hpp"

namespace soacraft {
namespace sim {

class DensePoints {
public:
    // A step from x at t to x1 at t1, with rates w and w1: `F` has `rows` of its dense output.
    struct Step {
        double t, t1;
        const double *x, *w, *x1, *w1, *F;
        index rows;
    };

    explicit DensePoints(Mechanism& m) : m_(m) {}

    // Take the dense output of a step, of a method without one the cubic by the rates at both ends.
    void take(const Step& s) {
        const index n = m_.size;
        step_ = s, rows_ = s.rows;
        dense_.assign(s.F, s.F + s.rows * n), point_.resize(static_cast<std::size_t>(m_.points));
        if (s.rows > 1) return;
        const double h = s.t1 - s.t;
        rows_ = 3, dense_.resize(static_cast<std::size_t>(3 * n)), rate_.resize(static_cast<std::size_t>(n));
        m_.chart(s.x, s.F, s.w1, rate_.data());
        double* to = dense_.data();
        for (index i = 0; i < n; ++i) {
            to[n + i] = h * s.w[i] - s.F[i];
            to[2 * n + i] = 2.0 * s.F[i] - (h * s.w[i] + h * rate_[static_cast<std::size_t>(i)]);
        }
    }

    double time(double theta) const { return step_.t + theta * (step_.t1 - step_.t); }
    const double* point() const { return point_.data(); }

    // Let `point` be that at a part of the step, on the closures; false where it cannot be put there.
    bool move(double theta) {
        const index n = m_.size;
        rate_.assign(static_cast<std::size_t>(n), 0.0);
        for (index r = rows_ - 1; r >= 0; --r)
            for (index i = 0; i < n; ++i)
                rate_[static_cast<std::size_t>(i)] = (rate_[static_cast<std::size_t>(i)] + dense_[static_cast<std::size_t>(r * n + i)]) * (r % 2 ? 1.0 - theta : theta);
        m_.move(step_.x, rate_.data(), point_.data());
        const std::vector<double> theta_of_end = m_.theta;
        const double open = m_.open;
        const bool fine = m_.settle(time(theta), point_.data());
        m_.theta = theta_of_end, m_.open = open;
        return fine;
    }

private:
    Mechanism& m_;
    Step step_ = {};
    index rows_ = 0;
    std::vector<double> point_, dense_, rate_;
};

}  // namespace sim
}  // namespace soacraft
