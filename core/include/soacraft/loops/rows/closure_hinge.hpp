// The hinge of a closure: its pose and columns at its coordinates, those coordinates from the pose of b seen from a, and the
// rows that forbid what it does not allow.
#pragma once

#include <limits>

#include "../linear/dense.hpp"
#include "soacraft/rigid/kinematics.hpp"
#include "stance.hpp"

SOACRAFT_RIGID_BEGIN

using loops::Closure;
using loops::Coupling;
using loops::Plan;
using loops::Term;
using loops::Tolerances;


// The quaternion x, y, z, w of a rotation, w >= 0.
inline void quaternion_of(const Mat3& R, double* q) {
    const double xx = R.a.x, yy = R.b.y, zz = R.c.z, trace = xx + yy + zz;
    if (trace > 0.0) {
        const double s = std::sqrt(trace + 1.0), h = 0.5 / s;
        q[0] = h * (R.b.z - R.c.y), q[1] = h * (R.c.x - R.a.z), q[2] = h * (R.a.y - R.b.x), q[3] = 0.5 * s;
        return;
    }
    if (xx >= yy && xx >= zz) {
        const double s = std::sqrt(1.0 + xx - yy - zz), h = 0.5 / s;
        q[0] = 0.5 * s, q[1] = h * (R.a.y + R.b.x), q[2] = h * (R.a.z + R.c.x), q[3] = h * (R.b.z - R.c.y);
    } else if (yy >= zz) {
        const double s = std::sqrt(1.0 - xx + yy - zz), h = 0.5 / s;
        q[0] = h * (R.a.y + R.b.x), q[1] = 0.5 * s, q[2] = h * (R.b.z + R.c.y), q[3] = h * (R.c.x - R.a.z);
    } else {
        const double s = std::sqrt(1.0 - xx - yy + zz), h = 0.5 / s;
        q[0] = h * (R.a.z + R.c.x), q[1] = h * (R.b.z + R.c.y), q[2] = 0.5 * s, q[3] = h * (R.a.y - R.b.x);
    }
    if (q[3] < 0.0)
        for (int i = 0; i < 4; ++i) q[i] = -q[i];
}

// Below this sine of half an angle its logarithm is taken by a series, which loses no digits there.
constexpr double SERIES = 1e-3;

// log of a pose: [angle; V^-1 p].
inline Twist log_of(const Place<double>& X) {
    double q[4];
    quaternion_of(X.R, q);
    const Vec3 s{q[0], q[1], q[2]};
    const double square = dot(s, s), half = std::sqrt(square);
    const bool small = half < SERIES;  // then by the series of arcsin(half) / half
    const double stretch = small ? 2.0 + square * (1.0 / 3.0 + square * 0.15) : 2.0 * std::atan2(half, q[3]) / half;
    const double angle = stretch * half;
    const Vec3 w = stretch * s;
    // 1/a^2 - (1 + cos a) / (2 a sin a), which is 1/12 + a^2/720 for small a
    const double a2 = angle * angle;
    const double f = angle < 1e-2 ? 1.0 / 12.0 + a2 / 720.0 + a2 * a2 / 30240.0
                                  : 1.0 / a2 - 0.5 * q[3] / (angle * half);
    const Vec3 once = cross(w, X.p);
    return {w, X.p - 0.5 * once + f * cross(w, once)};
}

// The same side by side where the series serves; NaN for larger turns, of loops that are open.
template <int W>
inline Spatial<Pack<W>> log_of(const Place<Pack<W>>& X) {
    typedef Pack<W> T;
    const Mat<T>& R = X.R;
    const T s = square_root(R.a.x + R.b.y + R.c.z + T(1.0)), h = T(0.5) / s;
    const Vec<T> u = h * Vec<T>{R.b.z - R.c.y, R.c.x - R.a.z, R.a.y - R.b.x};
    const T square = dot(u, u), small = T(SERIES * SERIES), none(std::numeric_limits<double>::quiet_NaN());
    const T stretch = choose(is_above(small, square), T(2.0) + square * (T(1.0 / 3.0) + square * T(0.15)), none);
    const Vec<T> w = stretch * u, once = cross(w, X.p);
    const T a2 = dot(w, w), f = T(1.0 / 12.0) + a2 * T(1.0 / 720.0);
    return {w, X.p - T(0.5) * once + f * cross(w, once)};
}

// The hinge of a closure at its coordinates: its pose, and the columns of H* in the axes of its outboard side. Of what rolls also
// by how much the contact is off the plane, along it, and how the lever to the contact varies with the angular velocity.
template <class S>
struct HingeAtOf {
    Place<S> T;
    Spatial<S> H[6];
    index count;
    Vec<S> off;
    Mat<S> rate;
};
typedef HingeAtOf<double> HingeAt;

inline const Element* hinge_of(const Plan& plan, const Closure& c) { return plan.hinges.data() + c.first; }

template <class Coordinates>
inline HingeAt hinge_at(const Plan& plan, const Closure& c, const Coordinates& theta) {
    HingeAt found;
    const Element* hinge = hinge_of(plan, c);
    found.count = c.last - c.first;
    Place<double> frames[6], T = no_place<double>();
    for (index i = 0; i < found.count; ++i) frames[i] = T = T * place<double>(hinge[i], theta);
    found.T = T * place_at<double>(c.R, c.p);
    for (index i = 0; i < found.count; ++i) {
        const Element& e = hinge[i];
        const Vec3 z = e.scale * frames[i].R.c, no{0.0, 0.0, 0.0};
        const Vec3 w = e.kind == PRISMATIC ? no : z, v = e.kind == REVOLUTE ? no : e.kind == PRISMATIC ? z : e.pitch * z;
        found.H[i] = {turn_back(found.T.R, w), turn_back(found.T.R, v + cross(w, found.T.p - frames[i].p))};
    }
    return found;
}

// x with H* x nearest to a twist, slides measured by a length; false where the columns of H* depend on each other.
// Columns of the same size: their pivots tell.
inline bool nearest(const Tolerances& t, const HingeAt& hinge, const Twist& to, double length, double* x) {
    const double per = length > 0.0 ? 1.0 / length : 1.0;
    double A[36], size[6], tau[6], norm[6];
    double b[6] = {to.w.x, to.w.y, to.w.z, per * to.v.x, per * to.v.y, per * to.v.z};
    index order[6];
    const index n = hinge.count;
    for (index c = 0; c < n; ++c) {
        const Twist& h = hinge.H[c];
        const double sum = dot(h.w, h.w) + per * per * dot(h.v, h.v), s = sum > 0.0 ? 1.0 / std::sqrt(sum) : 1.0;
        size[c] = s;
        A[c] = s * h.w.x, A[n + c] = s * h.w.y, A[2 * n + c] = s * h.w.z;
        A[3 * n + c] = s * per * h.v.x, A[4 * n + c] = s * per * h.v.y, A[5 * n + c] = s * per * h.v.z;
    }
    PivotedQR qr{6, n, A, tau, norm, order};
    qr.factor();
    if (!(qr.ratio() > t.parallel)) return false;
    qr.apply_transposed(1, b);
    qr.solve_upper(1, b);
    for (index i = 0; i < n; ++i) x[order[i]] = size[order[i]] * b[i];
    return true;
}

// How much a column of H* moves: radians, or lengths where it slides only.
inline double moved_by(const Twist& h, double length) {
    const double turn = std::sqrt(dot(h.w, h.w));
    return turn > 0.0 || !(length > 0.0) ? turn : std::sqrt(dot(h.v, h.v)) / length;
}

constexpr double HALF_TURN = 3.14159265358979323846;

// Whether another thread of a screw is nearer than the one that was followed: half a lead or more is left.
inline bool slipped(const Plan& plan, const Closure& c, const HingeAt& hinge, const Place<double>& T_ab) {
    const Element* parts = hinge_of(plan, c);
    double half = INFINITY;
    for (index i = 0; i < hinge.count; ++i)
        if (parts[i].kind == HELICAL && HALF_TURN * std::fabs(parts[i].pitch) < half) half = HALF_TURN * std::fabs(parts[i].pitch);
    if (half == INFINITY) return false;
    const Twist left = log_of(inverse(hinge.T) * T_ab);
    return !(dot(left.v, left.v) < half * half);
}

// Gauss-Newton from the coordinates as they are; false when it does not settle, or settles on another thread. Products of
// screws only.
template <class Coordinates>
inline bool follow(const Plan& plan, const Closure& c, const Place<double>& T_ab, Coordinates&& theta, HingeAt& hinge) {
    for (int step = 0; step < 12; ++step) {
        hinge = hinge_at(plan, c, theta);
        double x[6], size = 0.0;
        if (!nearest(plan.tolerances, hinge, log_of(inverse(hinge.T) * T_ab), c.length, x)) return false;
        for (index i = 0; i < hinge.count; ++i) size = larger(size, moved_by(hinge.H[i], c.length) * std::fabs(x[i]));
        if (size < plan.tolerances.followed) return !slipped(plan, c, hinge, T_ab);
        if (size > plan.tolerances.furthest) return false;
        for (index i = 0; i < hinge.count; ++i) theta[hinge_of(plan, c)[i].q] += x[i];
    }
    hinge = hinge_at(plan, c, theta);
    return !slipped(plan, c, hinge, T_ab);
}

// Vectors of `size` entries, orthonormal to the `count` in `basis` (rows of `size`, any) and each other, until
// `wanted` of them are found; unit vectors are tried, the one that has most left first.
inline void complete(const Tolerances& t, int size, double* basis, int count, int wanted, double* found) {
    double unit[42];
    int known = 0;
    const auto orthogonal = [&](double* x) {
        for (int twice = 0; twice < 2; ++twice)
            for (int k = 0; k < known; ++k) {
                double along = 0.0;
                for (int i = 0; i < size; ++i) along += unit[size * k + i] * x[i];
                for (int i = 0; i < size; ++i) x[i] -= along * unit[size * k + i];
            }
        double n = 0.0;
        for (int i = 0; i < size; ++i) n += x[i] * x[i];
        return std::sqrt(n);
    };
    const auto keep = [&](const double* x, double n) {
        for (int i = 0; i < size; ++i) unit[size * known + i] = x[i] / n;
        ++known;
    };
    for (int k = 0; k < count && known < size; ++k) {
        double x[6], before = 0.0;
        for (int i = 0; i < size; ++i) x[i] = basis[size * k + i], before += x[i] * x[i];
        const double n = orthogonal(x);
        if (n > t.aligned * std::sqrt(before)) keep(x, n);
    }
    for (int done = 0; done < wanted; ++done) {
        double best[6] = {}, most = 0.0;
        for (int axis = 0; axis < size; ++axis) {
            double x[6] = {};
            x[axis] = 1.0;
            const double n = orthogonal(x);
            if (n > most + t.ahead) {
                most = n;
                for (int i = 0; i < size; ++i) best[i] = x[i];
            }
        }
        keep(best, most);
        for (int i = 0; i < size; ++i) found[size * done + i] = unit[size * (known - 1) + i];
    }
}

// How many of `count` rows of three are independent.
inline int rank_of_three(const Tolerances& t, const double* rows, int count) {
    double A[18], tau[6], norm[6];
    index order[6];
    for (int k = 0; k < count; ++k)
        for (int i = 0; i < 3; ++i) A[(count >= 3 ? 3 * k + i : count * i + k)] = rows[3 * k + i];
    PivotedQR qr{count >= 3 ? count : 3, count >= 3 ? 3 : count, A, tau, norm, order};
    qr.factor();
    int rank = 0;
    for (index i = 0; i < qr.n; ++i) rank += std::fabs(A[i * qr.n + i]) > t.aligned * std::fabs(A[0]) && A[0] != 0.0;
    return rank;
}

// Rows Q with Q H* = 0: turns alone, slides alone, then what ties the two.
inline void forbidden(const Tolerances& t, const HingeAt& hinge, double* Q) {
    const int n = static_cast<int>(hinge.count);
    double turns[18], slides[18], found[18];
    for (int c = 0; c < n; ++c) {
        const Twist& h = hinge.H[c];
        const double w[] = {h.w.x, h.w.y, h.w.z}, v[] = {h.v.x, h.v.y, h.v.z};
        for (int i = 0; i < 3; ++i) turns[3 * c + i] = w[i], slides[3 * c + i] = v[i];
    }
    int row = 0;
    for (int side = 0; side < 2; ++side) {
        double* half = side == 0 ? turns : slides;
        const int wanted = 3 - rank_of_three(t, half, n);
        complete(t, 3, half, n, wanted, found);
        for (int r = 0; r < wanted; ++r, ++row)
            for (int i = 0; i < 3; ++i)
                Q[6 * row + 3 * side + i] = found[3 * r + i], Q[6 * row + 3 * (1 - side) + i] = 0.0;
    }
    if (row >= 6 - n) return;
    double basis[72], rest[36];
    for (int c = 0; c < n; ++c)
        for (int i = 0; i < 3; ++i) basis[6 * c + i] = turns[3 * c + i], basis[6 * c + 3 + i] = slides[3 * c + i];
    for (int i = 0; i < 6 * row; ++i) basis[6 * n + i] = Q[i];
    complete(t, 6, basis, n + row, 6 - n - row, rest);
    for (int i = 0; i < 6 * (6 - n - row); ++i) Q[6 * row + i] = rest[i];
}

// What the rate of a hinge whose columns turn with it adds to the acceleration across, in the axes of b, where b moves by
// `seen` relative to a; false where the columns depend on each other.
inline bool hinge_bias(const Tolerances& t, const HingeAt& hinge, const Twist& seen, double length, Twist& bias) {
    double rate[6];
    if (!nearest(t, hinge, seen, length, rate)) return false;
    Twist outboard = none<double>();
    bias = none<double>();  // sum over i of rate_i crm(S_i) (sum over j > i of S_j rate_j)
    for (index i = hinge.count; i-- > 0;) {
        bias += rate[i] * motion_cross(hinge.H[i], outboard);
        outboard += rate[i] * hinge.H[i];
    }
    return true;
}

SOACRAFT_RIGID_END
