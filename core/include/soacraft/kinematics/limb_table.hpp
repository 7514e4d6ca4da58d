// Stored configurations of a limb in the order of how far their tips are from a goal, with those last that are put off. O(count)
// for all, then O(sqrt(count)) for each that is taken.
#pragma once

#include <cmath>

#include "limb.hpp"

SOACRAFT_RIGID_BEGIN

using kinematics::Limb;
using kinematics::LimbOptions;
using kinematics::LimbTable;

class LimbScores {
public:
    // Squares of the way from the goal and, about, of the turn; of each column of a sheet of them the least.
    void set(const Limb& limb, const LimbTable& table, const LimbOptions& set, const double* goal) {
        const double scale = 1.0 / (limb.length * limb.length);
        double q[4], weight[2] = {0.0, 0.0};
        for (int r = 0; r < 6; ++r)
            if (set.tolerance[r] < HUGE_VAL) weight[r / 3] += 1.0 / 3.0;
        quaternion(goal, q);
        const index m = table.count;
        const double *x = table.position, *t = table.turn, way = weight[1] * scale, turn = 8.0 * weight[0];
        for (index i = 0; i < m; ++i) {
            const double dx = x[i] - goal[9], dy = x[m + i] - goal[10], dz = x[2 * m + i] - goal[11];
            const double c = q[0] * t[i] + q[1] * t[m + i] + q[2] * t[2 * m + i] + q[3] * t[3 * m + i];
            of_[i] = way * (dx * dx + dy * dy + dz * dz) + turn * (1.0 - std::fabs(c));
        }
        rows_ = (m + COLUMNS - 1) / COLUMNS, put_off_ = 0, taken_ = 0;
        for (index i = m; i < rows_ * COLUMNS; ++i) of_[i] = HUGE_VAL;
        for (index c = 0; c < COLUMNS; ++c) low_[c] = HUGE_VAL;
        for (index r = 0; r < rows_; ++r)
            for (index c = 0; c < COLUMNS; ++c) low_[c] = of_[COLUMNS * r + c] < low_[c] ? of_[COLUMNS * r + c] : low_[c];
    }

    // The next configuration, the nearest first; those that are `later(k)` come after all others, in their order. -1 where none is
    // left.
    template <class F>
    index take(const F& later) {
        for (index k = nearest(); k >= 0; k = nearest()) {
            if (!later(k)) return k;
            last_[put_off_++] = k;
        }
        return taken_ < put_off_ ? last_[taken_++] : -1;
    }

private:
    static constexpr index COLUMNS = 32;
    static_assert(kinematics::MOST_STORED % COLUMNS == 0, "a table is a sheet of whole rows");
    double of_[kinematics::MOST_STORED], low_[COLUMNS];
    index rows_, put_off_, taken_, last_[kinematics::MOST_STORED];

    index nearest() {
        index c = 0;
        for (index i = 1; i < COLUMNS; ++i)
            if (low_[i] < low_[c]) c = i;
        if (!(low_[c] < HUGE_VAL)) return -1;
        index found = -1;
        double low = HUGE_VAL;
        for (index r = 0; r < rows_; ++r) {
            double& x = of_[COLUMNS * r + c];
            if (found < 0 && x == low_[c]) found = COLUMNS * r + c, x = HUGE_VAL;
            if (x < low) low = x;
        }
        low_[c] = low;
        return found;
    }

    static void quaternion(const double* R, double* q) {  // x, y, z, w
        const double d[4] = {R[0] - R[4] - R[8], R[4] - R[0] - R[8], R[8] - R[0] - R[4], R[0] + R[4] + R[8]};
        int k = 0;
        for (int i = 1; i < 4; ++i)
            if (d[i] > d[k]) k = i;
        const double w = 0.5 * std::sqrt(1.0 + d[k] > 0.0 ? 1.0 + d[k] : 0.0), s = 0.25 / w;
        const double a[3] = {R[7] - R[5], R[2] - R[6], R[3] - R[1]}, b[3] = {R[5] + R[7], R[2] + R[6], R[1] + R[3]};
        for (int i = 0; i < 3; ++i) q[i] = k == 3 ? s * a[i] : i == k ? w : s * b[3 - i - k];
        q[3] = k == 3 ? w : s * a[k];
    }
};

SOACRAFT_RIGID_END
