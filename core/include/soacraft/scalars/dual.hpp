// Dual numbers: a value and its derivatives along several directions, side by side in one register. A kernel that is
// written for any scalar gives its exact derivatives when it is run on them.
#pragma once

#include "small.hpp"

SOACRAFT_RIGID_BEGIN

using soacraft::square_root;

#if !defined(__CUDACC__)

template <class D>
struct Dual {
    double x;
    D d;

    Dual() = default;
    SOACRAFT_FLAT Dual(double value) : x(value), d(0.0) {}
    SOACRAFT_FLAT Dual(double value, D rates) : x(value), d(rates) {}

    SOACRAFT_FLAT friend Dual operator+(const Dual& a, const Dual& b) { return {a.x + b.x, a.d + b.d}; }
    SOACRAFT_FLAT friend Dual operator-(const Dual& a, const Dual& b) { return {a.x - b.x, a.d - b.d}; }
    SOACRAFT_FLAT friend Dual operator*(const Dual& a, const Dual& b) { return {a.x * b.x, D(b.x) * a.d + D(a.x) * b.d}; }
    SOACRAFT_FLAT friend Dual operator/(const Dual& a, const Dual& b) {
        const double y = 1.0 / b.x, z = a.x * y;
        return {z, D(y) * (a.d - D(z) * b.d)};
    }
    SOACRAFT_FLAT friend Dual operator-(const Dual& a) { return {-a.x, -a.d}; }
    SOACRAFT_FLAT Dual& operator+=(const Dual& b) { return *this = *this + b; }
    SOACRAFT_FLAT Dual& operator-=(const Dual& b) { return *this = *this - b; }
};

// The numbers that it holds: no sweep takes it for a single one.
template <class D>
struct Lanes<Dual<D>> {
    static constexpr int count = 1 + Lanes<D>::count;
};

template <class D>
SOACRAFT_FLAT void sine_cosine(const Dual<D>& a, Dual<D>& s, Dual<D>& c) {
    double sine, cosine;
    sine_cosine(a.x, sine, cosine);
    s = {sine, D(cosine) * a.d}, c = {cosine, D(-sine) * a.d};
}
template <class D>
SOACRAFT_FLAT Dual<D> square_root(const Dual<D>& a) {
    const double root = std::sqrt(a.x);
    return {root, D(0.5 / root) * a.d};
}
template <class D>
SOACRAFT_FLAT Dual<D> arc_tangent(const Dual<D>& y, const Dual<D>& x) {
    const double scale = 1.0 / (x.x * x.x + y.x * y.x);
    return {std::atan2(y.x, x.x), D(scale * x.x) * y.d - D(scale * y.x) * x.d};
}
template <class D>
SOACRAFT_FLAT double value_of(const Dual<D>& a) { return a.x; }
// Where both are equal there is no derivative.
template <class D>
SOACRAFT_FLAT Dual<D> minimum(const Dual<D>& a, const Dual<D>& b) {
    return a.x < b.x ? a : b.x < a.x ? b : Dual<D>{a.x, D(NAN)};
}

#endif

SOACRAFT_FLAT double arc_tangent(double y, double x) { return std::atan2(y, x); }
SOACRAFT_FLAT double value_of(double a) { return a; }

SOACRAFT_RIGID_END
