// Dofs whose motion does not follow from forces: prescribed ones (sim/forces/prescribed.py), and those that friction or a stop
// holds (sim/forces/holds.py).
#pragma once

#include <cmath>
#include <vector>

#include "sim/calls/functions.hpp"

namespace soacraft {
namespace sim {

// Polynomials between breaks, by powers of the distance from the first break of each, the highest first (PPoly of scipy). Beyond
// the ends the outer ones go on, or the motion repeats itself.
struct Piecewise {
    const double *breaks, *coefficients;  // (pieces + 1), growing; (terms, pieces)
    index pieces, terms;
    bool periodic;

    // Value, rate and acceleration at a time.
    void at(double t, double* to) const {
        if (periodic) {
            const double period = breaks[pieces] - breaks[0], away = std::fmod(t - breaks[0], period);
            t = breaks[0] + (away < 0.0 ? away + period : away);
        }
        index low = 0, high = pieces;
        while (high - low > 1) {
            const index middle = (low + high) / 2;
            (breaks[middle] <= t ? low : high) = middle;
        }
        const double s = t - breaks[low];
        double power = 1.0;
        to[0] = to[1] = to[2] = 0.0;
        for (index n = 0; n < terms; ++n, power *= s) {  // of s^n, s^n of the rate, s^n of the acceleration
            to[0] += term(n, low) * power;
            if (n + 1 < terms) to[1] += double(n + 1) * term(n + 1, low) * power;
            if (n + 2 < terms) to[2] += double(n + 1) * (double(n + 2) * term(n + 2, low)) * power;
        }
    }

private:
    double term(index power, index piece) const { return coefficients[(terms - 1 - power) * pieces + piece]; }
};

// Source of the motion of a dof: numbers, fixed or of a function; polynomials; a component; nothing, it rests where it is.
enum Guidance : int { NUMBERS = 0, PIECEWISE = 1, COMPONENT = 2, REST = 3, GUIDANCES = 4 };

// A dof whose motion is prescribed.
struct PrescribedDof {
    index dof, place;  // its number, and the place of its coordinate
    index row;         // of the forces: that of the load which holds it; -1: that of prescribed motions
    Guidance guidance;
    Piecewise curve;        // of PIECEWISE
    const double* numbers;  // of NUMBERS and COMPONENT: coordinate, rate and acceleration

    void at(double t, double* to) const {
        if (guidance == PIECEWISE) return curve.at(t, to);
        for (int i = 0; i < 3; ++i) to[i] = guidance == REST ? 0.0 : numbers[i];
    }
};

struct Prescribed {
    std::vector<PrescribedDof> dofs;  // growing
    std::vector<unsigned char> mask;  // (nv)
    std::vector<index> movable, restless;  // dofs whose coordinates closures may move, and those whose velocities
    Motions* functions = nullptr;     // which write numbers, or null
    bool has_row = false;             // whether the last row of the forces is that of prescribed motions
    bool any() const { return !dofs.empty(); }
};

}  // namespace sim
}  // namespace soacraft
