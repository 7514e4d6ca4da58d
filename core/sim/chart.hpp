// How chart coordinates change when a hinge turns: udot = dexp^-1(u) w of rotations and twists (sim/integrators/manifold.py).
#pragma once

#include "soacraft/rigid/drivers/rollout_task.hpp"
#include "soacraft/rigid/twist_log.hpp"

namespace soacraft {
namespace rigid {

inline void cross3(const double* a, const double* b, double* to) {
    const double x = a[1] * b[2] - a[2] * b[1], y = a[2] * b[0] - a[0] * b[2], z = a[0] * b[1] - a[1] * b[0];
    to[0] = x, to[1] = y, to[2] = z;
}

// Jr(u)^-1 w of a turn (3 numbers) or a twist (6): a twist is a turn in dual numbers.
inline void chart_rate(bool twist, const double* u, const double* w, double* to) {
    const SOACRAFT_TARGET::LogTerm<double> k(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
    double a[3], aa[3];
    cross3(u, w, a), cross3(u, a, aa);
    if (twist) {
        double b[3], y[3], second[3], ba[3];
        cross3(u + 3, w, b), cross3(u, w + 3, y);
        for (int i = 0; i < 3; ++i) second[i] = b[i] + y[i];
        cross3(u + 3, a, ba), cross3(u, second, y);
        const double along = 2.0 * k.slope * (u[0] * u[3] + u[1] * u[4] + u[2] * u[5]);
        for (int i = 0; i < 3; ++i) to[3 + i] = w[3 + i] + 0.5 * second[i] + k.c * (ba[i] + y[i]) + along * aa[i];
    }
    for (int i = 0; i < 3; ++i) to[i] = w[i] + 0.5 * a[i] + k.c * aa[i];
}

// w <- exp(-u~) w
inline void turn_back(const double* u, double* w) {
    const double t = std::sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]), half = std::sin(0.5 * t);
    if (t == 0.0) return;
    double a[3], aa[3];
    cross3(u, w, a), cross3(u, a, aa);
    for (int i = 0; i < 3; ++i) w[i] += 2.0 * half * half / (t * t) * aa[i] - std::sin(t) / t * a[i];
}

inline bool turns_too_far(const double* u) {
    return !(u[0] * u[0] + u[1] * u[1] + u[2] * u[2] <= LARGEST_TURN * LARGEST_TURN);
}

}  // namespace rigid
}  // namespace soacraft
