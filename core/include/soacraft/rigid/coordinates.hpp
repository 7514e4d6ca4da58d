// Moving along the tangent space: integrate(q, dv), difference(q0, q1) and how they vary. The laws are those of
// model/hinges: hinges with quaternions turn by q exp(dv), a free one follows a constant twist, a ball rolls straight.
#pragma once

#include "passive.hpp"

SOACRAFT_RIGID_BEGIN

struct Quaternion {
    Vec<double> u;
    double w;
};

SOACRAFT_FLAT Quaternion operator*(const Quaternion& a, const Quaternion& b) {
    return {a.w * b.u + b.w * a.u + cross(a.u, b.u), a.w * b.w - dot(a.u, b.u)};
}
SOACRAFT_FLAT Quaternion unit(const Quaternion& a) {
    const double s = 1.0 / std::sqrt(dot(a.u, a.u) + a.w * a.w);
    return {s * a.u, s * a.w};
}
SOACRAFT_FLAT Quaternion quaternion(const double* q) { return unit({{q[0], q[1], q[2]}, q[3]}); }
SOACRAFT_FLAT Mat<double> matrix(const Quaternion& a) { return rotation(a.u.x, a.u.y, a.u.z, a.w); }

// [sin(t/2)/t w, cos(t/2)], t = |w|
SOACRAFT_FLAT Quaternion exponential(const Vec<double>& w) {
    const double half = 0.5 * std::sqrt(dot(w, w));
    return {(half == 0.0 ? 0.5 : 0.5 * std::sin(half) / half) * w, std::cos(half)};
}

// Coefficients of the exponential of a turn by t: (1 - cos t)/t^2, (t - sin t)/t^3, (t^2 + 2 cos t - 2)/(2 t^4) and
// (2 t - 3 sin t + t cos t)/(2 t^5). Where the differences lose digits, sums over i of (-t^2)^i times 1/(2i + 2)!,
// 1/(2i + 3)!, 1/(2i + 4)! and (i + 1)/(2i + 5)!.
struct TurnSums {
    static constexpr int count = 13;
    double half[count] = {}, third[count] = {}, fourth[count] = {}, fifth[count] = {};
    constexpr TurnSums() {
        double factorial = 2.0;
        for (int i = 0; i < count; ++i) {
            half[i] = 1.0 / factorial, third[i] = 1.0 / (factorial * (2 * i + 3));
            fourth[i] = 1.0 / (factorial * (2 * i + 3) * (2 * i + 4));
            fifth[i] = (i + 1) / (factorial * (2 * i + 3) * (2 * i + 4) * (2 * i + 5));
            factorial *= (2 * i + 3) * (2 * i + 4);
        }
    }
    static SOACRAFT_FLAT double at(const double* c, double x) {
        double sum = c[count - 1];
        for (int i = count - 1; i-- > 0;) sum = c[i] + x * sum;
        return sum;
    }
};
constexpr TurnSums turn_sums;

struct TurnSeries {
    double half, third, fourth, fifth;
    SOACRAFT_INLINE explicit TurnSeries(double t) {
        const double s = t * t;
        if (s < 4.0) {
            half = TurnSums::at(turn_sums.half, -s), third = TurnSums::at(turn_sums.third, -s);
            fourth = TurnSums::at(turn_sums.fourth, -s), fifth = TurnSums::at(turn_sums.fifth, -s);
            return;
        }
        const double sine = std::sin(t), cosine = std::cos(t);
        half = (1.0 - cosine) / s, third = (t - sine) / (s * t);
        fourth = (s + 2.0 * cosine - 2.0) / (2.0 * s * s);
        fifth = (2.0 * t - 3.0 * sine + t * cosine) / (2.0 * s * s * t);
    }
};

// J(w) v = v + half w x v + third w x (w x v): the travel of a constant twist in unit time, in the axes at the start.
SOACRAFT_FLAT Vec<double> travel(const Vec<double>& w, const Vec<double>& v) {
    const TurnSeries c(std::sqrt(dot(w, w)));
    const Vec<double> wv = cross(w, v);
    return v + c.half * wv + c.third * cross(w, wv);
}
// J^-1(w) p
SOACRAFT_FLAT double cotangent_term(const Vec<double>& w) {
    const double s = dot(w, w), t = std::sqrt(s);
    const double series = 1.0 / 12 + s * (1.0 / 720 + s * (1.0 / 30240 + s * (1.0 / 1209600 + s / 47900160)));
    return t < 0.25 ? series : (1.0 - 0.5 * t / std::tan(0.5 * t)) / s;
}
SOACRAFT_FLAT Vec<double> travel_back(const Vec<double>& w, const Vec<double>& p) {
    const Vec<double> wp = cross(w, p);
    return p - 0.5 * wp + cotangent_term(w) * cross(w, wp);
}

// -- integrate and difference -----------------------------------------------------------------------------------------

// f(i, k) for the modes of flexible bodies, numbers i of q and k of v.
template <class F>
SOACRAFT_FLAT void each_mode(const Model& model, F&& f) {
    for (const Flexible* x = model.flexible; x < model.flexible + model.flexible_count; ++x)
        for (index j = 0; j < x->n; ++j) f(x->q + j, x->v + j);
}

// Of one hinge with a quaternion.
SOACRAFT_INLINE void integrate(const Element& e, const double* x, const double* d, double* y) {
    const Vec<double> w{d[0], d[1], d[2]};
    const Quaternion from = quaternion(x), a = unit(from * exponential(w));
    if (e.kind == FREE) {
        const Vec<double> step = matrix(from) * travel(w, {d[3], d[4], d[5]});
        y[4] = x[4] + step.x, y[5] = x[5] + step.y, y[6] = x[6] + step.z;
    } else if (e.kind == ROLLING) {
        const Vec<double> turn = matrix(from) * w;
        y[4] = x[4] + e.radius * dot(turn, vec<double>(e.t2)), y[5] = x[5] - e.radius * dot(turn, vec<double>(e.t1));
    }
    y[0] = a.u.x, y[1] = a.u.y, y[2] = a.u.z, y[3] = a.w;
}

SOACRAFT_INLINE void integrate(const Model& model, const double* q, const double* dv, double* to) {
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        if (e.kind <= HELICAL)
            to[e.q] = q[e.q] + dv[e.v];
        else if (e.kind != FIXED)
            integrate(e, q + e.q, dv + e.v, to + e.q);
    }
    each_mode(model, [&](index i, index k) { to[i] = q[i] + dv[k]; });
}

// At exactly half a turn the rotation vectors w and -w are equally good: the first entry that is not zero is positive.
SOACRAFT_INLINE Quaternion chosen_at_half_turn(Quaternion a) {
    if (std::fabs(a.w) >= 4e-16) return a;
    const double first = std::fabs(a.u.x) > 1e-8 ? a.u.x : std::fabs(a.u.y) > 1e-8 ? a.u.y : a.u.z;
    return {first < 0.0 ? -a.u : a.u, 0.0};
}

// The twist of a free hinge from one place to another.
SOACRAFT_INLINE Spatial<double> twist_between(const double* q0, const double* q1) {
    Quaternion back = quaternion(q0);
    const Mat<double> R = matrix(back);
    back.u = -back.u;
    const Quaternion a = chosen_at_half_turn(back * quaternion(q1));
    const Vec<double> w = rotation_vector(a.u, a.w);
    return {w, travel_back(w, turn_back(R, Vec<double>{q1[4] - q0[4], q1[5] - q0[5], q1[6] - q0[6]}))};
}
SOACRAFT_INLINE Vec<double> turn_between(const double* q0, const double* q1) {
    Quaternion back = quaternion(q0);
    back.u = -back.u;
    const Quaternion a = back * quaternion(q1);
    return rotation_vector(a.u, a.w);
}

// False for a rolling ball: where it ends depends on its path.
SOACRAFT_INLINE bool difference(const Model& model, const double* q0, const double* q1, double* to) {
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        double* d = to + e.v;
        if (e.kind <= HELICAL) {
            d[0] = q1[e.q] - q0[e.q];
        } else if (e.kind == SPHERICAL) {
            const Vec<double> w = turn_between(q0 + e.q, q1 + e.q);
            d[0] = w.x, d[1] = w.y, d[2] = w.z;
        } else if (e.kind == FREE) {
            const Spatial<double> x = twist_between(q0 + e.q, q1 + e.q);
            d[0] = x.w.x, d[1] = x.w.y, d[2] = x.w.z, d[3] = x.v.x, d[4] = x.v.y, d[5] = x.v.z;
        } else if (e.kind != FIXED) {
            return false;
        }
    }
    each_mode(model, [&](index i, index k) { to[k] = q1[i] - q0[i]; });
    return true;
}

// -- how they vary ----------------------------------------------------------------------------------------------------

SOACRAFT_FLAT Mat<double> skew(const Vec<double>& w) { return {{0.0, w.z, -w.y}, {-w.z, 0.0, w.x}, {w.y, -w.x, 0.0}}; }
SOACRAFT_FLAT Mat<double> times(double s, const Mat<double>& A) { return {s * A.a, s * A.b, s * A.c}; }
SOACRAFT_FLAT Mat<double> identity() { return {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}}; }

// How a motion varies with its twist: exp(x + d) = exp(x) exp(Jr d). For twists [w; v] it is [[turn, 0], [both, turn]],
//
//     turn = I + half W + third W W,                                                W = -w~,  V = -v~
//     both = V/2 + third (WV + VW + WVW) + fourth (WWV + VWW - 3 WVW) + fifth (WVWW + WWVW)
//
// the right Jacobian of SE(3), which is the left one of -x.
struct TwistBlocks {
    Mat<double> turn, both;
};
SOACRAFT_FLAT Mat<double> right_turn(const TurnSeries& c, const Mat<double>& W) {
    return identity() + times(c.half, W) + times(c.third, W * W);
}
struct RightJacobian : TwistBlocks {
    SOACRAFT_INLINE RightJacobian(const Vec<double>& w, const Vec<double>& v) {
        const TurnSeries c(std::sqrt(dot(w, w)));
        const Mat<double> W = skew(-w), V = skew(-v), WV = W * V, VW = V * W, WVW = WV * W, WWV = W * WV, VWW = VW * W;
        turn = right_turn(c, W);
        both = times(0.5, V) + times(c.third, WV + VW + WVW) + times(c.fourth, WWV + VWW + times(-3.0, WVW)) +
               times(c.fifth, WVW * W + W * WVW);
    }
};
// Its inverse: log(exp(x) exp(d)) = x + Jr^-1 d. That of -x has the transposed blocks: of the sums above, those of an
// odd number of factors are skew and change their sign with x, those of an even number are symmetric and stay.
SOACRAFT_FLAT Mat<double> right_turn_inverse(const Vec<double>& w) {
    const Mat<double> W = skew(w);
    return identity() + times(0.5, W) + times(cotangent_term(w), W * W);
}
struct RightJacobianInverse : TwistBlocks {
    SOACRAFT_INLINE RightJacobianInverse(const Vec<double>& w, const Vec<double>& v) {
        turn = right_turn_inverse(w);
        both = times(-1.0, turn * RightJacobian(w, v).both * turn);
    }
};

// A 3 x 3 block of a matrix with n columns.
SOACRAFT_INLINE void set_block(double* to, index n, index row, index column, double sign, const Mat<double>& A) {
    const Vec<double>* columns[] = {&A.a, &A.b, &A.c};
    for (int j = 0; j < 3; ++j) {
        double* at = to + row * n + column + j;
        at[0] = sign * columns[j]->x, at[n] = sign * columns[j]->y, at[2 * n] = sign * columns[j]->z;
    }
}
SOACRAFT_INLINE void set_six_by_six(double* to, index n, index at, double sign, const TwistBlocks& J) {
    set_block(to, n, at, at, sign, J.turn), set_block(to, n, at + 3, at, sign, J.both);
    set_block(to, n, at + 3, at + 3, sign, J.turn);
}
// What Ad of exp(x)^-1 is: a small motion before the twist, seen after it.
SOACRAFT_FLAT Mat<double> turn_after(const Vec<double>& w) { return transpose(matrix(exponential(w))); }
struct After : TwistBlocks {
    SOACRAFT_INLINE After(const Vec<double>& w, const Vec<double>& v) {
        turn = turn_after(w);
        both = turn * skew(-travel(w, v));
    }
};

// d integrate / dq and / d dv, in the tangent spaces at q and at the result: n x n each, zeroed before. False for a rolling
// ball, whose places its dofs do not span.
SOACRAFT_INLINE bool integrate_jacobians(const Model& model, const double*, const double* dv, double* dq, double* dd) {
    const index n = model.nv;
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        const double* d = dv + e.v;
        if (e.kind <= HELICAL) {
            dq[e.v * n + e.v] = dd[e.v * n + e.v] = 1.0;
            continue;
        }
        if (e.kind == FIXED) continue;
        const Vec<double> w{d[0], d[1], d[2]};
        if (e.kind == SPHERICAL) {
            const TurnSeries c(std::sqrt(dot(w, w)));
            set_block(dq, n, e.v, e.v, 1.0, turn_after(w)), set_block(dd, n, e.v, e.v, 1.0, right_turn(c, skew(-w)));
        } else if (e.kind == FREE) {
            const Vec<double> v{d[3], d[4], d[5]};
            set_six_by_six(dq, n, e.v, 1.0, After(w, v)), set_six_by_six(dd, n, e.v, 1.0, RightJacobian(w, v));
        } else {
            return false;
        }
    }
    each_mode(model, [&](index, index k) { dq[k * n + k] = dd[k * n + k] = 1.0; });
    return true;
}

// d difference / dq0 and / dq1.
SOACRAFT_INLINE bool difference_jacobians(const Model& model, const double* q0, const double* q1, double* d0, double* d1) {
    const index n = model.nv;
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        if (e.kind <= HELICAL) {
            d0[e.v * n + e.v] = -1.0, d1[e.v * n + e.v] = 1.0;
            continue;
        }
        if (e.kind == SPHERICAL) {
            const Mat<double> turn = right_turn_inverse(turn_between(q0 + e.q, q1 + e.q));
            set_block(d0, n, e.v, e.v, -1.0, transpose(turn)), set_block(d1, n, e.v, e.v, 1.0, turn);
        } else if (e.kind == FREE) {
            const Spatial<double> x = twist_between(q0 + e.q, q1 + e.q);
            const RightJacobianInverse J(x.w, x.v);
            const TwistBlocks back{transpose(J.turn), transpose(J.both)};
            set_six_by_six(d0, n, e.v, -1.0, back), set_six_by_six(d1, n, e.v, 1.0, J);
        } else if (e.kind != FIXED) {
            return false;
        }
    }
    each_mode(model, [&](index, index k) { d0[k * n + k] = -1.0, d1[k * n + k] = 1.0; });
    return true;
}

SOACRAFT_RIGID_END
