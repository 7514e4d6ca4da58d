// The tension of a spring and a damper along a length L, by numbers or by curves. The law is model/flat/laws.py.
//
//     k (L - rest) + d Ldot, slack from low to high;    a curve of L in place of k, a curve of Ldot in place of d
#pragma once

#include "../scalars/dual.hpp"

namespace soacraft {
namespace rigid {

// One piece of a curve, from x to the next: y = c0 + c1 s + c2 s^2 + c3 s^3 and its integral, s = x' - x. The first one
// reaches below, the last one above.
struct CurvePiece {
    double x, c[4], integral;
};
struct Curve {
    index first, last;  // of its pieces
};
struct Law {
    double k, d, low, high;
    index spring, damper;  // curves, or -1
};

}  // namespace rigid
}  // namespace soacraft

SOACRAFT_RIGID_BEGIN

struct Curves {
    const Curve* curves;
    const CurvePiece* pieces;

    // The piece that x is on.
    SOACRAFT_INLINE const CurvePiece& piece(index which, double x) const {
        index low = curves[which].first, high = curves[which].last;
        while (high - low > 1) {
            const index middle = low + (high - low) / 2;
            (x < pieces[middle].x ? high : low) = middle;
        }
        return pieces[low];
    }
    SOACRAFT_INLINE double at(index which, double x) const {
        const CurvePiece& p = piece(which, x);
        const double s = x - p.x;
        return p.c[0] + s * (p.c[1] + s * (p.c[2] + s * p.c[3]));
    }
    SOACRAFT_INLINE double slope(index which, double x) const {
        const CurvePiece& p = piece(which, x);
        const double s = x - p.x;
        return p.c[1] + s * (2.0 * p.c[2] + s * 3.0 * p.c[3]);
    }
    SOACRAFT_INLINE double integral(index which, double x) const {
        const CurvePiece& p = piece(which, x);
        const double s = x - p.x;
        return p.integral + s * (p.c[0] + s * (0.5 * p.c[1] + s * (p.c[2] / 3.0 + s * 0.25 * p.c[3])));
    }
#if !defined(__CUDACC__)
    template <int W>
    SOACRAFT_INLINE Pack<W> at(index which, const Pack<W>& x) const {
        Pack<W> y;
        for (int i = 0; i < W; ++i) y.x[i] = at(which, lane(x, i));
        return y;
    }
    template <int W>
    SOACRAFT_INLINE Pack<W> integral(index which, const Pack<W>& x) const {
        Pack<W> y;
        for (int i = 0; i < W; ++i) y.x[i] = integral(which, lane(x, i));
        return y;
    }
    template <class D>
    SOACRAFT_INLINE Dual<D> at(index which, const Dual<D>& x) const { return {at(which, x.x), D(slope(which, x.x)) * x.d}; }
#endif
};

// L - rest, zero where it is slack.
template <class T>
SOACRAFT_FLAT T stretch(const Law& a, const T& length) {
    if (a.low == a.high) return length - T(a.low);
    return minimum(length - T(a.low), T(0.0)) - minimum(T(a.high) - length, T(0.0));
}
template <class T>
SOACRAFT_FLAT T elastic(const Curves& c, const Law& a, const T& length) {
    return a.spring < 0 ? T(a.k) * stretch(a, length) : c.at(a.spring, length);
}
template <class T>
SOACRAFT_FLAT T tension(const Curves& c, const Law& a, const T& length, const T& rate) {
    return elastic(c, a, length) + (a.damper < 0 ? T(a.d) * rate : c.at(a.damper, rate));
}
template <class T>
SOACRAFT_FLAT T energy(const Curves& c, const Law& a, const T& length) {
    if (a.spring >= 0) return c.integral(a.spring, length);
    const T x = stretch(a, length);
    return T(0.5 * a.k) * x * x;
}
SOACRAFT_FLAT bool damped(const Law& a) { return a.d != 0.0 || a.damper >= 0; }

// dtension/dL and dtension/dLdot.
SOACRAFT_FLAT double stiffness(const Curves& c, const Law& a, double length) {
    if (a.spring >= 0) return c.slope(a.spring, length);
    return a.low == a.high || length < a.low || length > a.high ? a.k : 0.0;
}
SOACRAFT_FLAT double damping(const Curves& c, const Law& a, double rate) {
    return a.damper < 0 ? a.d : c.slope(a.damper, rate);
}

SOACRAFT_RIGID_END
