// Scalars of the kernels: double for one state, Pack<W> for W states side by side in one register.
#pragma once

#include <cmath>
#include <cstring>

#include "../scalar.hpp"
#include "target.hpp"

SOACRAFT_RIGID_BEGIN

template <int W>
struct Pack;

SOACRAFT_RIGID_END

SOACRAFT_BEGIN

template <int W>
struct Several<rigid::SOACRAFT_TARGET::Pack<W>> {
    static constexpr bool value = true;
};

SOACRAFT_END

SOACRAFT_RIGID_BEGIN

#if (defined(__GNUC__) || defined(__clang__)) && !defined(SOACRAFT_NOT_FLAT)
#define SOACRAFT_FLAT __attribute__((always_inline)) SOACRAFT_INLINE
#define SOACRAFT_APART __attribute__((noinline)) SOACRAFT_INLINE  // what would take registers from a sweep, and is rare
#else
#define SOACRAFT_FLAT SOACRAFT_INLINE
#define SOACRAFT_APART SOACRAFT_INLINE
#endif

// sin r = r + r * sine_polynomial(r^2) and cos r = 1 - r^2/2 + r^4 * cosine_polynomial(r^2) for |r| <= pi/4: minimax
// polynomials, for one number or several.
template <class V>
SOACRAFT_FLAT V sine_polynomial(V r2) {
    return r2 * (-1.66666666666666324348e-01 +
                 r2 * (8.33333333332248946124e-03 +
                       r2 * (-1.98412698298579493134e-04 +
                             r2 * (2.75573137070700676789e-06 +
                                   r2 * (-2.50507602534068634195e-08 + r2 * 1.58969099521155010221e-10)))));
}
template <class V>
SOACRAFT_FLAT V cosine_polynomial(V r2) {
    return 4.16666666666666019037e-02 +
           r2 * (-1.38888888888741095749e-03 +
                 r2 * (2.48015872894767294178e-05 +
                       r2 * (-2.75573143513906633035e-07 +
                             r2 * (2.08757232129817482790e-09 + r2 * -1.13596475577881948265e-11))));
}

#if !defined(__CUDACC__)  // a GPU thread holds one state

// Registers of W numbers (a compiler's vector types must be spelled out for each width).
template <int W>
struct Register;
template <>
struct Register<2> {
    typedef double Real __attribute__((vector_size(16)));
    typedef long long Whole __attribute__((vector_size(16)));
};
template <>
struct Register<4> {
    typedef double Real __attribute__((vector_size(32)));
    typedef long long Whole __attribute__((vector_size(32)));
};
template <>
struct Register<8> {
    typedef double Real __attribute__((vector_size(64)));
    typedef long long Whole __attribute__((vector_size(64)));
};

template <int W>
struct Pack {
    typedef typename Register<W>::Real Real;
    typedef typename Register<W>::Whole Mask;
    Real x;

    Pack() = default;
    SOACRAFT_FLAT Pack(double s) : x(s - Real{}) {}
    SOACRAFT_FLAT explicit Pack(Real v) : x(v) {}

    SOACRAFT_FLAT Pack& operator+=(Pack b) { x += b.x; return *this; }
    SOACRAFT_FLAT Pack& operator-=(Pack b) { x -= b.x; return *this; }
    SOACRAFT_FLAT Pack& operator*=(Pack b) { x *= b.x; return *this; }
    SOACRAFT_FLAT Pack& operator/=(Pack b) { x /= b.x; return *this; }
    SOACRAFT_FLAT friend Pack operator+(Pack a, Pack b) { return Pack(a.x + b.x); }
    SOACRAFT_FLAT friend Pack operator-(Pack a, Pack b) { return Pack(a.x - b.x); }
    SOACRAFT_FLAT friend Pack operator*(Pack a, Pack b) { return Pack(a.x * b.x); }
    SOACRAFT_FLAT friend Pack operator/(Pack a, Pack b) { return Pack(a.x / b.x); }
    SOACRAFT_FLAT friend Pack operator-(Pack a) { return Pack(-a.x); }
};

// How many states a scalar holds, and one of them.
template <class T>
struct Lanes {
    static constexpr int count = 1;
};
template <int W>
struct Lanes<Pack<W>> {
    static constexpr int count = W;
};

SOACRAFT_FLAT double lane(double x, int) { return x; }
template <int W>
SOACRAFT_FLAT double lane(const Pack<W>& x, int i) { return x.x[i]; }

template <int W>
SOACRAFT_FLAT bool any_not_above(const Pack<W>& a, const Pack<W>& b) {
    typename Pack<W>::Mask above = a.x > b.x;
    long long all = -1;
    for (int i = 0; i < W; ++i) all &= above[i];
    return all == 0;
}

template <int W>
SOACRAFT_FLAT Pack<W> minimum(const Pack<W>& a, const Pack<W>& b) { return Pack<W>(a.x < b.x ? a.x : b.x); }
template <int W>
SOACRAFT_FLAT Pack<W> larger_by(double factor, const Pack<W>& a, const Pack<W>& b) {
    return Pack<W>(a.x > factor * b.x ? a.x : b.x);
}

// What the block engine asks for (`../scalar.hpp`).
template <int W>
SOACRAFT_FLAT Pack<W> absolute(const Pack<W>& a) { return Pack<W>(a.x < 0.0 ? -a.x : a.x); }
template <int W>
SOACRAFT_FLAT Pack<W> square_root(const Pack<W>& a) {
    Pack<W> r;
    for (int i = 0; i < W; ++i) r.x[i] = std::sqrt(a.x[i]);
    return r;
}
template <int W>
SOACRAFT_FLAT Pack<W> maximum(const Pack<W>& a, const Pack<W>& b) { return Pack<W>(a.x < b.x ? b.x : a.x); }
template <int W>
SOACRAFT_FLAT Pack<W> if_larger(double factor, const Pack<W>& a, const Pack<W>& b) { return larger_by(factor, a, b); }
template <int W>
SOACRAFT_FLAT bool above(const Pack<W>& a, const Pack<W>& b) { return !any_not_above(a, b); }
template <int W>
SOACRAFT_FLAT bool is_zero(const Pack<W>& a) {
    bool all = true;
    for (int i = 0; i < W; ++i) all = all && a.x[i] == 0.0;
    return all;
}

// sin and cos together: reduction by pi/2 in two pieces and minimax polynomials, no branch in the lanes;
// lanes with angles beyond 1e5 take the library's road.
template <int W>
SOACRAFT_FLAT void sine_cosine(Pack<W> a, Pack<W>& s, Pack<W>& c) {
    using V = typename Pack<W>::Real;
    using M = typename Pack<W>::Mask;
    const double shift = 6755399441055744.0;  // 1.5 * 2^52: rounds to the nearest whole number
    V turned = a.x * 0.63661977236758134308 + shift;
    M quadrant;
    std::memcpy(&quadrant, &turned, sizeof quadrant);
    V n = turned - shift;
    V r = a.x - n * 1.57079632673412561417e+00;  // the first 33 bits of pi/2: exact
    V tail = n * 6.07710050650619224932e-11;     // the next 53
    V low = r - tail;
    V rest = (r - low) - tail;  // what the second subtraction lost
    r = low;
    V r2 = r * r;
    V sine = r + (r * sine_polynomial(r2) + rest);
    V half = 0.5 * r2;
    V whole = 1.0 - half;
    V cosine = whole + ((1.0 - whole - half) + (r2 * r2 * cosine_polynomial(r2) - r * rest));
    M swap = (quadrant & 1) != 0;
    V a_s = swap ? cosine : sine;
    V a_c = swap ? sine : cosine;
    M flip_s = (quadrant & 2) != 0;
    M flip_c = ((quadrant + 1) & 2) != 0;
    s.x = flip_s ? -a_s : a_s;
    c.x = flip_c ? -a_c : a_c;
    const M large = (a.x < 0.0 ? -a.x : a.x) > 1e5 - V{};
    long long any = 0;
    for (int i = 0; i < W; ++i) any |= large[i];
    if (any)  // lane by lane: a lane's result must not depend on its neighbours
        for (int i = 0; i < W; ++i)
            if (large[i]) s.x[i] = std::sin(a.x[i]), c.x[i] = std::cos(a.x[i]);
}

#endif

// Whether a > b fails (in any lane; NaN fails).
SOACRAFT_FLAT bool any_not_above(double a, double b) { return !(a > b); }
SOACRAFT_FLAT double minimum(double a, double b) { return a < b ? a : b; }
// a where it is larger than b by a factor, or else b.
SOACRAFT_FLAT double larger_by(double factor, double a, double b) { return a > factor * b ? a : b; }
#if defined(__CUDACC__)
SOACRAFT_FLAT void sine_cosine(double a, double& s, double& c) { sincos(a, &s, &c); }
#else
// The same polynomials for one number: no call, so that registers stay as they are.
SOACRAFT_FLAT void sine_cosine(double a, double& s, double& c) {
    if (!(a < 1e5 && a > -1e5)) {
        s = std::sin(a), c = std::cos(a);
        return;
    }
    const double shift = 6755399441055744.0;
    const double turned = a * 0.63661977236758134308 + shift;
    long long quadrant;
    std::memcpy(&quadrant, &turned, sizeof quadrant);
    const double n = turned - shift;
    const double far = a - n * 1.57079632673412561417e+00, tail = n * 6.07710050650619224932e-11;
    const double r = far - tail, rest = (far - r) - tail, r2 = r * r;
    const double sine = r + (r * sine_polynomial(r2) + rest);
    const double half = 0.5 * r2, whole = 1.0 - half;
    const double cosine = whole + ((1.0 - whole - half) + (r2 * r2 * cosine_polynomial(r2) - r * rest));
    const double first = (quadrant & 1) ? cosine : sine, second = (quadrant & 1) ? sine : cosine;
    s = (quadrant & 2) ? -first : first;
    c = ((quadrant + 1) & 2) ? -second : second;
}
#endif

// The same for `float`, whose angles are reduced in doubles.
SOACRAFT_FLAT float minimum(float a, float b) { return a < b ? a : b; }
SOACRAFT_FLAT float larger_by(double factor, float a, float b) { return a > float(factor) * b ? a : b; }
SOACRAFT_FLAT void sine_cosine(float a, float& s, float& c) {
    double sine, cosine;
    sine_cosine(double(a), sine, cosine);
    s = float(sine), c = float(cosine);
}

SOACRAFT_RIGID_END
