// The logarithm of a rigid motion and how it varies, for one state and for dual numbers (spatial/transforms.py).
//
//     x = [w; v] = log X,   w = log R,   v = J^-1(w) p
//     log(X exp(d)) = x + J d + ...,   J = [[j(w), 0], [dj(w) along v, j(w)]],   j = I + w~/2 + c w~ w~
//
// with c = (1 - (t/2) cot(t/2)) / t^2, t = |w|. A twist is a turn in dual numbers w + eps v.
#pragma once

#include "../scalars/dual.hpp"

SOACRAFT_RIGID_BEGIN

// c as a function of s = t^2, and its derivative; below 1 sums of |B_2k| s^(k-1) / (2k)!.
template <class T>
struct LogTerm {
    T c, slope;
    SOACRAFT_INLINE explicit LogTerm(const T& s) : c(0.0), slope(0.0) {
        constexpr double b[] = {1.0 / 12, 1.0 / 720, 1.0 / 30240, 1.0 / 1209600, 1.0 / 47900160,
                                691.0 / 1307674368000.0, 1.0 / 74724249600.0, 3617.0 / 10670622842880000.0,
                                43867.0 / 5109094217170944000.0, 174611.0 / 802857662698291200000.0,
                                77683.0 / 14101100039391805440000.0};
        if (value_of(s) < 1.0) {
            for (int k = 10; k >= 0; --k) slope = slope * s + c, c = c * s + T(b[k]);
            return;
        }
        const T half = T(0.5) * square_root(s);
        T sine, cosine;
        sine_cosine(half, sine, cosine);
        const T cot = cosine / sine;
        c = (T(1.0) - half * cot) / s;
        slope = -((cot - half * (T(1.0) + cot * cot)) / (T(8.0) * half) + c) / s;
    }
};

// The unit quaternion [u, w], w >= 0, of a rotation; by the largest of its four, which loses no digits.
template <class T>
SOACRAFT_INLINE T quaternion_of(const Mat<T>& R, Vec<T>& u) {
    const T xx = R.a.x, yy = R.b.y, zz = R.c.z;
    const double x = value_of(xx), y = value_of(yy), z = value_of(zz), trace = x + y + z;
    const Vec<T> odd{R.b.z - R.c.y, R.c.x - R.a.z, R.a.y - R.b.x};
    const T xy = R.b.x + R.a.y, xz = R.c.x + R.a.z, yz = R.c.y + R.b.z;
    T w;
    if (trace > x && trace > y && trace > z) {
        const T twice = square_root(T(1.0) + xx + yy + zz);
        w = T(0.5) * twice, u = (T(0.5) / twice) * odd;
        return w;
    }
    if (x >= y && x >= z) {
        const T twice = square_root(T(1.0) + xx - yy - zz), s = T(0.5) / twice;
        u = {T(0.5) * twice, s * xy, s * xz}, w = s * odd.x;
    } else if (y >= z) {
        const T twice = square_root(T(1.0) - xx + yy - zz), s = T(0.5) / twice;
        u = {s * xy, T(0.5) * twice, s * yz}, w = s * odd.y;
    } else {
        const T twice = square_root(T(1.0) - xx - yy + zz), s = T(0.5) / twice;
        u = {s * xz, s * yz, T(0.5) * twice}, w = s * odd.z;
    }
    if (value_of(w) < 0.0) u = -u, w = -w;
    return w;
}

// Within this of half a turn (as a cosine) the rotation vector is about to change sides: Python answers there.
constexpr double HALF_A_TURN = 2e-6;

// log R: 2 atan2(|u|, w) / |u| u. A turn so small that |u| has no derivative takes a series in |u|^2 / w^2. Not a number
// at half a turn.
template <class T>
SOACRAFT_INLINE Vec<T> rotation_log(const Mat<T>& R) {
    Vec<T> u;
    const T w = quaternion_of(R, u), s = dot(u, u);
    if (value_of(w) < HALF_A_TURN) return T(NAN) * u;
    if (value_of(s) < 0.01) {
        const T x = s / (w * w);
        T sum(1.0 / 21);
        for (int k = 9; k >= 0; --k) sum = T(1.0 / (2 * k + 1)) - x * sum;
        return (T(2.0) * sum / w) * u;
    }
    const T size = square_root(s);
    return (T(2.0) * arc_tangent(size, w) / size) * u;
}

template <class T>
SOACRAFT_INLINE Spatial<T> twist_log(const Mat<T>& R, const Vec<T>& p) {
    const Vec<T> w = rotation_log(R), wp = cross(w, p);
    return {w, p - T(0.5) * wp + LogTerm<T>(dot(w, w)).c * cross(w, wp)};
}

// J(x) d, and J*(x) f.
template <class T>
struct LogRate {
    Vec<T> w, v;
    T c, along;
    SOACRAFT_INLINE explicit LogRate(const Spatial<T>& x) : w(x.w), v(x.v) {
        const LogTerm<T> term(dot(w, w));
        c = term.c, along = T(2.0) * term.slope * dot(w, v);
    }
    SOACRAFT_INLINE Spatial<T> times(const Spatial<T>& d) const { return {turn(0.5, d.w), turn(0.5, d.v) + travel(0.5, d.w)}; }
    SOACRAFT_INLINE Spatial<T> back(const Spatial<T>& f) const { return {turn(-0.5, f.w) + travel(-0.5, f.v), turn(-0.5, f.v)}; }

private:
    SOACRAFT_INLINE Vec<T> turn(double half, const Vec<T>& d) const {
        const Vec<T> wd = cross(w, d);
        return d + T(half) * wd + c * cross(w, wd);
    }
    SOACRAFT_INLINE Vec<T> travel(double half, const Vec<T>& d) const {
        const Vec<T> wd = cross(w, d), vd = cross(v, d);
        return T(half) * vd + c * (cross(v, wd) + cross(w, vd)) + along * cross(w, wd);
    }
};

SOACRAFT_RIGID_END
