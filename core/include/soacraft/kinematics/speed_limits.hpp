// How fast each dof may go in the next dt seconds: limits of position, velocity and acceleration by braking distance. The same
// as soacraft/robot/whole_body/limits.py.
//
//     dt (v + (v - a dt) + (v - 2 a dt) + ...) <= room,     |v - v_before| <= a dt,     |v| <= fastest
//
// The sum is what is travelled when every step from now on brakes by a dt; the speed that just stops at a limit is followed by
// one that can be reached from it, so a limit is reached at rest and without a jump. O(nv).
#pragma once

#include <cmath>

#include "velocity_job.hpp"

SOACRAFT_RIGID_BEGIN

// The fastest speed that still stops within `room`.
SOACRAFT_INLINE double braking_speed(double room, double a, double dt) {
    const double step = a * dt * dt;
    if (!(step < HUGE_VAL)) return room / dt;
    if (!(step > 0.0)) return 0.0;
    const double n = std::floor(0.5 * (std::sqrt(1.0 + 8.0 * room / step) - 1.0));  // whole steps of braking
    return (room / dt + 0.5 * a * dt * n * (n + 1.0)) / (n + 1.0);
}

// [low, high] of a dof at x; `lower`, `upper`, `fastest` and `a` may be infinite.
SOACRAFT_INLINE void speed_range(double x, double lower, double upper, double fastest, double a, double before, double dt, double& low,
                                 double& high) {
    const double up = upper - x, down = x - lower;
    high = fastest, low = -fastest;
    if (up < HUGE_VAL) {
        const double most = up >= 0.0 ? braking_speed(up, a, dt) : up / dt;
        high = up >= 0.0 ? (most < fastest ? most : fastest) : (most > -fastest ? most : -fastest);
    }
    if (down < HUGE_VAL) {
        const double most = down >= 0.0 ? braking_speed(down, a, dt) : down / dt;
        low = down >= 0.0 ? (most < fastest ? -most : -fastest) : (most > -fastest ? -most : fastest);
    }
    if (low > high) low = high;
    if (!(a < HUGE_VAL)) return;
    const double fast = before + a * dt, slow = before - a * dt;
    if (slow > high) {  // it cannot brake so hard: as hard as it can, but not through the limit
        const double most = up >= 0.0 && up / dt > high ? up / dt : high;
        low = high = up >= 0.0 && slow > most ? most : slow;
    } else if (fast < low) {
        const double most = down >= 0.0 && down / dt > -low ? -down / dt : low;
        low = high = down >= 0.0 && fast < most ? most : fast;
    } else {
        low = low < slow ? slow : low, high = high > fast ? fast : high;
    }
}

SOACRAFT_RIGID_END
