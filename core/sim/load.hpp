// Controls and their forces (sim/forces/drives.py).
#pragma once

#include <vector>

#include "holds.hpp"
#include "soacraft/rigid/drivers/job.hpp"
#include "soacraft/rigid/model/model.hpp"

namespace soacraft {
namespace sim {

// Wrenches at nodes that act together, of `step.push`.
struct Pushes {
    std::vector<rigid::Wrench> wrenches;
    bool turned = false;  // whether one of them is in other axes than those of its node
};

// A control (sim/forces/drives.py): u(t), linear between its knots; its force gain u + b0 + b1 length + b2 velocity,
// within limits; and the dofs that feel it.
struct Load {
    const double *row, *length;   // by dof and by coordinate
    const double *times, *values;
    index knots;
    double gain, bias[3], control[2], force[2];  // limits: lower, upper
    index row_first = 0, row_last = 0, length_first = 0, length_last = 0;  // their entries from the first that is not zero to the last
    const double* force_of_function = nullptr;  // (nv): the generalized force itself, which a function gives; null of a control
    const Pushes* pushes = nullptr;  // of a load that is wrenches, and no control
    const Hold* hold = nullptr;      // of friction that sticks or a rigid stop, and no control
};

// Span of x from the first entry that is not zero to the last.
inline void span_of(const double* x, index n, index& first, index& last) {
    for (first = 0; first < n && x[first] == 0.0;) ++first;
    for (last = n; last > first && x[last - 1] == 0.0;) --last;
}

// The value of broken lines at t, as numpy.interp gives it.
inline double interpolated(const Load& load, double t) {
    const index last = load.knots - 1;
    if (t <= load.times[0]) return load.values[0];
    if (t >= load.times[last]) return load.values[last];
    const double guess = static_cast<double>(last) * ((t - load.times[0]) / (load.times[last] - load.times[0]));
    index low = 0, high = last;  // knots are often evenly spaced: between two of them at once then
    const index near = guess >= 0.0 && guess < static_cast<double>(last) ? static_cast<index>(guess) : 0;
    (load.times[near] <= t ? low : high) = near;
    if (low + 1 < last && load.times[low + 1] > t) high = low + 1;
    while (high - low > 1) {
        const index middle = (low + high) / 2;
        (load.times[middle] <= t ? low : high) = middle;
    }
    const double slope = (load.values[low + 1] - load.values[low]) / (load.times[low + 1] - load.times[low]);
    return slope * (t - load.times[low]) + load.values[low];
}

inline double within(double x, const double* limits) {
    const double above = x < limits[0] ? limits[0] : x;
    return above > limits[1] ? limits[1] : above;
}

inline double dot(const double* a, const double* b, index n) {
    double sum = 0.0;
    for (index i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
}

// The force itself, not cut to its limits.
inline double uncut_force(const Load& load, double t, const double* q, const double* v) {
    const double u = within(interpolated(load, t), load.control);
    const index lengths = load.length_last - load.length_first, rows = load.row_last - load.row_first;
    const double length = load.bias[1] != 0.0 ? dot(load.length + load.length_first, q + load.length_first, lengths) : 0.0;
    const double speed = load.bias[2] != 0.0 ? dot(load.row + load.row_first, v + load.row_first, rows) : 0.0;
    return load.gain * u + load.bias[0] + load.bias[1] * length + load.bias[2] * speed;
}
inline double force_of(const Load& load, double t, const double* q, const double* v) {
    return within(uncut_force(load, t, q, v), load.force);
}

}  // namespace sim
}  // namespace soacraft
