// The rows of closures and couplings at one state (formula F2), in inertially oriented axes at frame b.
//
//     xi = V_b - V_a at b;   Q xi = 0;   Q (alpha_b - alpha_a + crm(xi) V_a - Hdot_c* thetadot_c) = 0
#pragma once

#include "dense.hpp"
#include "soacraft/rigid/kinematics.hpp"
#include "stance.hpp"

SOACRAFT_RIGID_BEGIN

using loops::Closure;
using loops::Coupling;
using loops::Plan;
using loops::Term;
using loops::Tolerances;

// One closure at one state.
struct Tie {
    Vec3 at;       // where b is
    Mat3 R_a, R_b;
    Vec3 r_a, r_b;  // from the elements that carry a and b (or from the ground) to b
    Twist Q[6];    // rows, in inertial axes at b
    double local[36];  // the same in the axes of b
    double gamma[6];   // what Q xidot has besides Q (alpha_b - alpha_a)
    double speed[6];   // Q xi
    double gap[6];     // log(T_hinge^-1 T_ab)
};

// One coupling at one state: p'(q) of each term follows in `rates`.
struct Ratio {
    double gamma, residual, speed;
    index rates;
};

SOACRAFT_FLAT Place<double> inverse(const Place<double>& X) { return {transpose(X.R), -turn_back(X.R, X.p)}; }

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

// log of a pose: [angle; V^-1 p].
inline Twist log_of(const Place<double>& X) {
    double q[4];
    quaternion_of(X.R, q);
    const Vec3 s{q[0], q[1], q[2]};
    const double square = dot(s, s), half = std::sqrt(square);
    const bool small = half < 1e-3;  // then by the series of arcsin(half) / half
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

// The hinge of a closure at its coordinates: its pose, and the columns of H* in the axes of its outboard side.
struct HingeAt {
    Place<double> T;
    Twist H[6];
    index count;
};

inline const Element* hinge_of(const Plan& plan, const Closure& c) { return plan.hinges.data() + c.first; }

inline HingeAt hinge_at(const Plan& plan, const Closure& c, const double* theta) {
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

// Gauss-Newton from the coordinates as they are; false when it does not settle. Products of screws only.
inline bool follow(const Plan& plan, const Closure& c, const Place<double>& T_ab, double* theta, HingeAt& hinge) {
    for (int step = 0; step < 12; ++step) {
        hinge = hinge_at(plan, c, theta);
        double x[6], size = 0.0;
        if (!nearest(plan.tolerances, hinge, log_of(inverse(hinge.T) * T_ab), c.length, x)) return false;
        for (index i = 0; i < hinge.count; ++i) size = larger(size, moved_by(hinge.H[i], c.length) * std::fabs(x[i]));
        if (size < plan.tolerances.followed) return true;
        if (size > plan.tolerances.furthest) return false;
        for (index i = 0; i < hinge.count; ++i) theta[hinge_of(plan, c)[i].q] += x[i];
    }
    hinge = hinge_at(plan, c, theta);
    return true;
}

// The pose of the hinge nearest to T_ab, and its coordinates where `wanted`; false where Python should look for them.
inline bool fit(const Plan& plan, const Closure& c, const Place<double>& T_ab, bool wanted, double* theta,
                HingeAt& hinge) {
    const Place<double> out = place_at<double>(c.R, c.p);
    switch (c.fit) {
        case loops::WELD: hinge.T = out; return true;
        case loops::BALL:
            hinge.T = {T_ab.R, {0.0, 0.0, 0.0}};
            if (wanted) {
                double q[4];
                quaternion_of(T_ab.R, q);
                double* old = theta + c.theta;
                const bool other = q[0] * old[0] + q[1] * old[1] + q[2] * old[2] + q[3] * old[3] < 0.0;
                for (int i = 0; i < 4; ++i) old[i] = other ? -q[i] : q[i];
            }
            return true;
        case loops::TURN: {
            const Element& e = hinge_of(plan, c)[0];
            const Place<double> in = place_at<double>(e.R, e.p);
            const Mat3 R = transpose(in.R) * (T_ab.R * transpose(out.R));
            const double x = R.a.x + R.b.y, y = R.a.y - R.b.x, n = std::sqrt(x * x + y * y);
            if (!(n > plan.tolerances.turned_over)) return false;  // turned over: no nearest angle
            const double cosine = x / n, sine = y / n;
            const Place<double> turn{{{cosine, sine, 0.0}, {-sine, cosine, 0.0}, {0.0, 0.0, 1.0}}, {0.0, 0.0, 0.0}};
            hinge.T = in * turn * out;
            if (wanted) {
                constexpr double round = 6.283185307179586476925;
                const double angle = std::atan2(y, x), old = e.scale * theta[e.q];
                theta[e.q] = (angle + round * std::round((old - angle) / round)) * e.unscale;
            }
            return true;
        }
        case loops::SLIDE: {
            const Element& e = hinge_of(plan, c)[0];
            const Place<double> in = place_at<double>(e.R, e.p);
            const Vec3 p = (inverse(in) * (T_ab * inverse(out))).p;
            hinge.T = Place<double>{in.R, in.p + p.z * in.R.c} * out;
            if (wanted) theta[e.q] = p.z * e.unscale;
            return true;
        }
        default: return follow(plan, c, T_ab, theta, hinge);
    }
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

// The frame on an element (or the ground): where it is, its axes, the velocity there.
struct Spot {
    Place<double> X;
    const Limb* limb;
};
inline Spot spot(const Body& frame, const Limb* limbs) {
    const Place<double> X = place_at<double>(frame.R, frame.p);
    if (frame.element < 0) return {X, nullptr};
    const Limb& limb = limbs[frame.element];
    return {Place<double>{limb.R, limb.p} * X, &limb};
}

SOACRAFT_FLAT Twist to_axes(const Mat3& R, const double* x) { return {R * vec<double>(x), R * vec<double>(x + 3)}; }

// The rows of a closure; false where Python should look at it. `theta` holds the coordinates it had before.
inline bool tie(const Plan& plan, const Closure& c, const Limb* limbs, bool wanted, double* theta, Tie& t) {
    const Spot a = spot(c.a, limbs), b = spot(c.b, limbs);
    const Place<double> T_ab{transpose(a.X.R) * b.X.R, turn_back(a.X.R, b.X.p - a.X.p)};
    HingeAt hinge;
    if (!fit(plan, c, T_ab, wanted, theta, hinge)) return false;
    const Twist gap = c.fit == loops::BALL ? Twist{{0.0, 0.0, 0.0}, turn_back(T_ab.R, T_ab.p)}
                                           : log_of(inverse(hinge.T) * T_ab);
    const double open[] = {gap.w.x, gap.w.y, gap.w.z, gap.v.x, gap.v.y, gap.v.z};
    for (int i = 0; i < 6; ++i) t.gap[i] = open[i];
    t.at = b.X.p, t.R_a = a.X.R, t.R_b = b.X.R;
    const Vec3 no{0.0, 0.0, 0.0};
    const Twist still{no, no};
    t.r_a = a.limb ? t.at - a.limb->p : t.at, t.r_b = b.limb ? t.at - b.limb->p : t.at;
    if (c.fixed)
        for (index i = 0; i < 6 * c.rows; ++i) t.local[i] = c.Q[i];
    else
        forbidden(plan.tolerances, hinge, t.local);
    const Twist V_a = a.limb ? carried(t.r_a, a.limb->V) : still, V_b = b.limb ? carried(t.r_b, b.limb->V) : still;
    const Twist xi = V_b - V_a;
    Twist extra = motion_cross(xi, V_a);
    if (!c.fixed) {
        double rate[6];
        const Twist seen{turn_back(t.R_b, xi.w), turn_back(t.R_b, xi.v)};
        if (!nearest(plan.tolerances, hinge, seen, c.length, rate)) return false;
        Twist outboard = still, bias = still;  // sum over i of rate_i crm(S_i) (sum over j > i of S_j rate_j)
        for (index i = hinge.count; i-- > 0;) {
            bias += rate[i] * motion_cross(hinge.H[i], outboard);
            outboard += rate[i] * hinge.H[i];
        }
        extra -= Twist{t.R_b * bias.w, t.R_b * bias.v};
    }
    for (index r = 0; r < c.rows; ++r) {
        t.Q[r] = to_axes(t.R_b, t.local + 6 * r);
        t.gamma[r] = dot(t.Q[r], extra);
        t.speed[r] = dot(t.Q[r], xi);
    }
    return true;
}

// The row of a coupling; rates of its terms go to `rates`.
inline Ratio ratio(const Coupling& c, const double* q, const double* v, double* rates, index at) {
    Ratio found{0.0, -c.offset, 0.0, at};
    for (const Term& term : c.terms) {
        const double x = q[term.q], speed = v[term.v];
        double p = 0.0, first = 0.0, second = 0.0;  // by Horner's rule
        for (std::size_t i = term.c.size(); i-- > 1;) {
            const double n = static_cast<double>(i + 1);
            second = second * x + n * (n - 1.0) * term.c[i];
        }
        for (std::size_t i = term.c.size(); i-- > 0;) {
            p = (p + term.c[i]) * x;
            first = first * x + static_cast<double>(i + 1) * term.c[i];
        }
        rates[at++] = first;
        found.gamma += second * speed * speed;
        found.residual += p;
        found.speed += first * speed;
    }
    return found;
}

// Q (A_b - A_a) of accelerations or velocities of the elements, for one row.
SOACRAFT_FLAT double along(const Tie& t, index r, const Twist& A_a, const Twist& A_b) {
    return dot(t.Q[r], carried(t.r_b, A_b) - carried(t.r_a, A_a));
}

SOACRAFT_RIGID_END
