// Rates of chart coordinates when a hinge turns: udot = dexp^-1(u) w (sim/integrators/manifold.py). What is free turns so and
// travels in the axes that it has at the start of the step, where a constant velocity is constant.
#pragma once

#include "soacraft/rigid/drivers/rollout_task.hpp"
#include "soacraft/rigid/twist_log.hpp"

namespace soacraft {
namespace rigid {

inline void cross3(const double* a, const double* b, double* to) {
    const double x = a[1] * b[2] - a[2] * b[1], y = a[2] * b[0] - a[0] * b[2], z = a[0] * b[1] - a[1] * b[0];
    to[0] = x, to[1] = y, to[2] = z;
}

// Jr(u)^-1 w of a turn.
inline void chart_rate(const double* u, const double* w, double* to) {
    const SOACRAFT_TARGET::LogTerm<double> k(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]);
    double a[3], aa[3];
    cross3(u, w, a), cross3(u, a, aa);
    for (int i = 0; i < 3; ++i) to[i] = w[i] + 0.5 * a[i] + k.c * aa[i];
}

// w <- exp(+-u~) w
inline void turn(const double* u, double sign, double* w) {
    const double t = std::sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2]), half = std::sin(0.5 * t);
    if (t == 0.0) return;
    double a[3], aa[3];
    cross3(u, w, a), cross3(u, a, aa);
    for (int i = 0; i < 3; ++i) w[i] += 2.0 * half * half / (t * t) * aa[i] + sign * std::sin(t) / t * a[i];
}
inline void turn_forward(const double* u, double* w) { turn(u, 1.0, w); }
inline void turn_back(const double* u, double* w) { turn(u, -1.0, w); }

// w <- R(r) w of an attitude r = [x, y, z, w], or R(r)* w. Not even the rounding of |r| changes the length of w.
inline void turn_by(const double* r, double sign, double* w) {
    const double two = 2.0 / (r[0] * r[0] + r[1] * r[1] + r[2] * r[2] + r[3] * r[3]);
    double across[3], twice[3];
    cross3(r, w, across);
    for (int i = 0; i < 3; ++i) across[i] += sign * r[3] * w[i];
    cross3(r, across, twice);
    for (int i = 0; i < 3; ++i) w[i] += two * twice[i];
}
// w <- R(to)* R(from) w: the same vector in the axes of another attitude. Its length does not creep with equal steps.
inline void change_axes(const double* from, const double* to, double* w) { turn_by(from, 1.0, w), turn_by(to, -1.0, w); }

// True if two vectors differ by rounding alone.
inline bool same_but_rounding(const double* a, const double* b) {
    constexpr double ROUNDING = 2e-15;  // that of sim/integrators/manifold.py
    double off = 0.0, size = 0.0;
    for (int i = 0; i < 3; ++i) off += (a[i] - b[i]) * (a[i] - b[i]), size += b[i] * b[i];
    return off <= ROUNDING * ROUNDING * size;
}

inline bool turns_too_far(const double* u) {
    return !(u[0] * u[0] + u[1] * u[1] + u[2] * u[2] <= LARGEST_TURN * LARGEST_TURN);
}

}  // namespace rigid
}  // namespace soacraft
