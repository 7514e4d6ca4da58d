// The sign of a function that may cross zero, followed from step to step (sim/events.py). Compiled code is sure of a step in which the
// function does not come near zero; Python takes the others, and finds what crosses where.
#pragma once

#include <cmath>

namespace soacraft {
namespace sim {

// The sign of one function, as a step and a tick leave it. False where Python should look.
struct Crossing {
    static constexpr int PARTS = 4;
    static constexpr double AT_ZERO = 1e-9, NEAR = 0.25, UNMOVED = 0.1;  // those of sim/events.py

    int direction;

    // `g` has its values at the start and at the quarters of a step.
    bool stays(const double* g, double& sign) const {
        double most = 0.0, low = g[0], high = g[0];
        for (int i = 0; i <= PARTS; ++i) {
            if (!std::isfinite(g[i]) || g[i] == 0.0) return false;
            most = std::fmax(most, std::fabs(g[i])), low = std::fmin(low, g[i]), high = std::fmax(high, g[i]);
        }
        if (std::fabs(sign) < 1.0 || std::fabs(g[0]) <= AT_ZERO * most) return false;
        for (int i = 0; i < PARTS; ++i)
            if (side(g[i]) == side(g[i + 1]) && turns(g, i, NEAR * (high - low))) return false;
        for (int i = 1; i <= PARTS; ++i) {
            const double now = side(g[i]);
            if (now != sign && meets(now)) return false;
            sign = now;
        }
        return true;
    }

    // True if a tick leaves it where it is, by its value `before` and `after`; `begun`: its sign follows from its value alone.
    bool stays(double before, double after, double& sign, double& begun) const {
        if (!std::isfinite(after) || before == 0.0 || after == 0.0) return false;
        if (side(before) != side(after) && meets(side(after))) return false;
        if (std::fabs(after - before) > UNMOVED * std::fabs(before)) sign = side(after), begun = 1.0;
        return true;
    }

private:
    static double side(double g) { return g > 0.0 ? 1.0 : g < 0.0 ? -1.0 : 0.0; }
    bool meets(double now) const { return direction == 0 || direction == static_cast<int>(now); }

    // True if the quartic through the values has an extremum towards zero in quarter i, nearer to it than `near`.
    static bool turns(const double* g, int i, double near) {
        constexpr int FINE = 8;
        const double way = side(g[i + 1]);
        double least = way * g[i];
        int at = 0;
        for (int k = 1; k <= FINE; ++k) {
            const double value = way * quartic(g, i + static_cast<double>(k) / FINE);
            if (value < least) least = value, at = k;
        }
        return at != 0 && at != FINE && least < near;
    }
    // The quartic through five values at 0, 1, 2, 3, 4: Newton's forward differences.
    static double quartic(const double* g, double s) {
        double d[PARTS + 1] = {g[0], g[1], g[2], g[3], g[4]}, sum = d[0], factor = 1.0;
        for (int k = 1; k <= PARTS; ++k) {
            for (int i = PARTS; i >= k; --i) d[i] -= d[i - 1];
            factor *= (s - (k - 1)) / k;
            sum += factor * d[k];
        }
        return sum;
    }
};

}  // namespace sim
}  // namespace soacraft
