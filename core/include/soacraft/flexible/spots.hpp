// Where a deforming node of a flexible body is, and how it moves with the modes. O(n) with n modes, O(n^2) with lam2 and gam2.
//
//     theta = lam eta + 1/2 eta lam2 eta,   R = exp(theta~) R0,   l = l0 + gam eta + 1/2 eta gam2 eta
//     Pi = [Jl (lam + lam2 eta); gam + gam2 eta + l x Jl (lam + lam2 eta)]
//
// Pi and all twists are in the axes of the body and at its origin: the node, and whatever is fixed on it, moves as a frame N
// that is now at the body frame, with V_N = V + s, s = Pi etad, and
//
//     alpha_N = alpha + Pi etadd + rate - crm(s) V
//     rate = [wdot; etad gam2 etad - w x ldot + l x wdot],   w = Jl thetadot,   wdot = Jl (etad lam2 etad) + Jldot thetadot
//
// Jl is the left Jacobian of SO(3), with t = |theta|, B = (1 - cos t) / t^2 and C = (t - sin t) / t^3:
//
//     Jl u = u + B theta x u + C theta x (theta x u)
#pragma once

#include "../rigid/kinematics.hpp"
#include "across.hpp"

SOACRAFT_RIGID_BEGIN

// A spot at a state. `Pi`: 6 rows over the modes with a stride of `step`.
template <class T>
struct Spotted {
    Place<T> X;        // the node in the body
    Spatial<T> s, rate;
    T* Pi;
    index step;
};

// sin t / t, B, C and (dB/dt) / t, (dC/dt) / t of the square of t: below `NEAR` by their power series.
template <class T>
struct TurnTerms {
    T A, B, C, dB, dC;
};
constexpr double NEAR = 0.35 * 0.35;
// The coefficients of sum over k of (-s)^k / (2k + first)!, and of twice its derivative in s.
struct TurnPowers {
    double c[8] = {}, d[8] = {};
    constexpr explicit TurnPowers(int first) {
        double factorial = 1.0;
        for (int i = 2; i <= first; ++i) factorial *= i;
        for (int k = 0; k < 8; ++k) {
            if (k > 0) factorial *= double(2 * k + first - 1) * double(2 * k + first);
            c[k] = (k % 2 ? -1.0 : 1.0) / factorial, d[k] = 2.0 * k * c[k];
        }
    }
};
inline constexpr TurnPowers SERIES_A(1), SERIES_B(2), SERIES_C(3);
template <class T>
SOACRAFT_FLAT TurnTerms<T> turn_terms(const T& s) {
    const auto series = [&s](const TurnPowers& of, T& slope) {
        T total(of.c[7]);
        slope = T(of.d[7]);
        for (int k = 6; k >= 0; --k) total = total * s + T(of.c[k]);
        for (int k = 6; k >= 1; --k) slope = slope * s + T(of.d[k]);
        return total;
    };
    TurnTerms<T> near, far;
    T unused;
    near.A = series(SERIES_A, unused), near.B = series(SERIES_B, near.dB), near.C = series(SERIES_C, near.dC);
    const T t2 = below(s, NEAR, T(1.0), s), t = root_of(t2);
    T sine, cosine;
    sine_cosine(t, sine, cosine);
    const T one = T(1.0) - cosine, t4 = t2 * t2;
    far = {sine / t, one / t2, (t - sine) / (t * t2), (t * sine - T(2.0) * one) / t4,
           (T(3.0) * sine - T(2.0) * t - t * cosine) / (t * t4)};
    return {below(s, NEAR, near.A, far.A), below(s, NEAR, near.B, far.B), below(s, NEAR, near.C, far.C),
            below(s, NEAR, near.dB, far.dB), below(s, NEAR, near.dC, far.dC)};
}

// X and s, rate and Pi of a node. Without `moving` eta alone is looked at, s and rate are not set.
template <bool moving, class T>
SOACRAFT_APART void spot_at(const Model& model, const Spot& spot, const T* eta, const T* etad, Spotted<T>& to) {
    typedef typename Across<T>::Wide Wide;
    const index n = model.flexible[spot.flexible].n;
    const Wide o(0.0);
    Wide sum[18];  // theta 3, l 3, their rates 6, what is of second order in the rates 6
    for (Wide& x : sum) x = o;
    for (index j = 0; j < Across<T>::end(n); j += Across<T>::step) {
        const double* first = table_at(model.modal + spot.first, j, 1, NODE);
        const double* second = table_at(model.modal + spot.second, j, n, NODE);
        Wide slope[NODE], bend[NODE];
        for (int a = 0; a < NODE; ++a) slope[a] = bend[a] = o;
        for (index i = 0; i < n && spot.geometric; ++i, second += 8 * NODE) {
            const Wide e(eta[i]), d(moving ? etad[i] : T(0.0));
            for (int a = 0; a < NODE; ++a) {
                const Wide x = constants<T>(second + 8 * a);
                slope[a] += e * x;
                if constexpr (moving) bend[a] += d * x;
            }
        }
        const Wide e = T(0.5) * wide(eta + j), d = moving ? wide(etad + j) : o;
        for (int a = 0; a < NODE; ++a) {
            const Wide start = constants<T>(first + 8 * a), here = start + slope[a];
            store(to.Pi + a * to.step + j, here);
            sum[a] += e * (start + here);
            if constexpr (moving) sum[6 + a] += d * here, sum[12 + a] += d * bend[a];
        }
    }
    T x[18];
    sums<T>(sum, x);
    const Vec<T> theta{x[0], x[1], x[2]}, l = vec<T>(spot.p) + Vec<T>{x[3], x[4], x[5]};
    const TurnTerms<T> by = turn_terms<T>(dot(theta, theta));
    const auto Jl = [&](const auto& u) {
        const auto across = cross(theta, u);
        return u + by.B * across + by.C * cross(theta, across);
    };
    const Mat<T> R0 = mat<T>(spot.R);
    const auto turned = [&](const Vec<T>& u) {
        const Vec<T> across = cross(theta, u);
        return u + by.A * across + by.B * cross(theta, across);
    };
    to.X = {{turned(R0.a), turned(R0.b), turned(R0.c)}, l};
    // Pi from the slopes, Jl as a matrix
    const Vec<T> ex{T(1.0), T(0.0), T(0.0)}, ey{T(0.0), T(1.0), T(0.0)}, ez{T(0.0), T(0.0), T(1.0)};
    const Mat<T> J{Jl(ex), Jl(ey), Jl(ez)};
    const Mat<Wide> Jw{{Wide(J.a.x), Wide(J.a.y), Wide(J.a.z)}, {Wide(J.b.x), Wide(J.b.y), Wide(J.b.z)}, {Wide(J.c.x), Wide(J.c.y), Wide(J.c.z)}};
    const Vec<Wide> lw{Wide(l.x), Wide(l.y), Wide(l.z)};
    for (index j = 0; j < Across<T>::end(n); j += Across<T>::step) {
        T* at = to.Pi + j;
        const index step = to.step;
        const Vec<Wide> w = Jw * Vec<Wide>{wide(at), wide(at + step), wide(at + 2 * step)};
        const Vec<Wide> v = Vec<Wide>{wide(at + 3 * step), wide(at + 4 * step), wide(at + 5 * step)} + cross(lw, w);
        store(at, w.x), store(at + step, w.y), store(at + 2 * step, w.z);
        store(at + 3 * step, v.x), store(at + 4 * step, v.y), store(at + 5 * step, v.z);
    }
    if constexpr (moving) {
        const Vec<T> thetadot{x[6], x[7], x[8]}, ldot{x[9], x[10], x[11]}, w = J * thetadot, across = cross(theta, thetadot);
        const Vec<T> turning = dot(theta, thetadot) * (by.dB * across + by.dC * cross(theta, across)) + by.C * cross(thetadot, across);
        const Vec<T> wdot = J * Vec<T>{x[12], x[13], x[14]} + turning;
        to.s = {w, ldot + cross(l, w)};
        to.rate = {wdot, Vec<T>{x[15], x[16], x[17]} - cross(w, ldot) + cross(l, wdot)};
    }
}

// Pi x for numbers x of the modes, and y += Pi* f.
template <class T>
SOACRAFT_FLAT Spatial<T> along_modes(const Spotted<T>& spot, index n, const T* x) {
    typedef typename Across<T>::Wide Wide;
    Wide sum[6];
    for (Wide& s : sum) s = Wide(0.0);
    for (index j = 0; j < Across<T>::end(n); j += Across<T>::step)
        for (int a = 0; a < 6; ++a) sum[a] += wide(spot.Pi + a * spot.step + j) * wide(x + j);
    T y[6];
    sums<T>(sum, y);
    return {{y[0], y[1], y[2]}, {y[3], y[4], y[5]}};
}
template <class T>
SOACRAFT_FLAT void add_to_modes(const Spotted<T>& spot, index n, const Spatial<T>& f, T* y) {
    typedef typename Across<T>::Wide Wide;
    const Wide x[6] = {Wide(f.w.x), Wide(f.w.y), Wide(f.w.z), Wide(f.v.x), Wide(f.v.y), Wide(f.v.z)};
    for (index j = 0; j < Across<T>::end(n); j += Across<T>::step) {
        Wide sum = wide(y + j);
        for (int a = 0; a < 6; ++a) sum += x[a] * wide(spot.Pi + a * spot.step + j);
        store(y + j, sum);
    }
}

SOACRAFT_RIGID_END
