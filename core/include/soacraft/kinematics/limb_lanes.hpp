// Steps of inverse kinematics of limbs, one start to a lane: Levenberg-Marquardt with damping proportional to the square of what
// is left (Sugihara 2011), limits kept. O(dofs) a step, with a factorization of 6 x 6.
//
//     e = turn and way from tip to goal, in axes of the goal,    dq = J* (J J* + (c |e|^2 + d) I)^-1 e
//
// or, of fewer than six dofs, (J* J + (c |e|^2 + d) I)^-1 J* e, the same but for digits. A dof at its limit that is pushed outward
// leaves the step. Were e linear, the step would take e* J dq from |e|^2: where that is little of it, a minimum is near.
#pragma once

#include "limb.hpp"
#include "soacraft/scalars/small.hpp"

SOACRAFT_RIGID_BEGIN

using kinematics::Limb;
using kinematics::LimbHinge;
using kinematics::LimbOptions;

template <int W>
struct LimbLanes {
    using T = Pack<W>;
    using M = typename T::Mask;
    const Limb& limb;
    const LimbOptions& set;
    // of each lane: the goal's inverse, coordinates, what is left, and its square
    Mat<T> from_R;
    Vec<T> from_p;
    T q[kinematics::MOST_DOFS], e[6], square;
    T J[6][kinematics::MOST_DOFS], dq[kinematics::MOST_DOFS], keep[kinematics::MOST_DOFS];
    M flat;  // lanes whose last step was near a minimum
    double to_way;  // metres to what counts as much as a radian

    LimbLanes(const Limb& limb_, const LimbOptions& set_) : limb(limb_), set(set_), to_way(1.0 / limb_.length) {}

    void aim(int lane, const double* goal) {  // the inverse of a pose, rows first
        T* R[9] = {&from_R.a.x, &from_R.a.y, &from_R.a.z, &from_R.b.x, &from_R.b.y, &from_R.b.z, &from_R.c.x, &from_R.c.y, &from_R.c.z};
        for (int i = 0; i < 9; ++i) R[i]->x[lane] = goal[i];  // columns of the transpose are rows
        T* p[3] = {&from_p.x, &from_p.y, &from_p.z};
        for (int i = 0; i < 3; ++i) p[i]->x[lane] = -(goal[i] * goal[9] + goal[3 + i] * goal[10] + goal[6 + i] * goal[11]);
    }
    void start(int lane, const double* at) {
        for (index i = 0; i < limb.dofs; ++i) {
            const double x = at[i] < limb.lower[i] ? limb.lower[i] : at[i] > limb.upper[i] ? limb.upper[i] : at[i];
            q[i].x[lane] = x;
        }
        for (int r = 0; r < 6; ++r) e[r].x[lane] = 0.0;  // the step that is due was another start's
    }
    double at(index dof, int lane) const { return q[dof].x[lane]; }

    SOACRAFT_FLAT static void go(Mat<T>& R, Vec<T>& p, const double* C) {
        p += T(C[9]) * R.a + T(C[10]) * R.b + T(C[11]) * R.c;
        const Mat<T> B = R;
        R.a = T(C[0]) * B.a + T(C[3]) * B.b + T(C[6]) * B.c;
        R.b = T(C[1]) * B.a + T(C[4]) * B.b + T(C[7]) * B.c;
        R.c = T(C[2]) * B.a + T(C[5]) * B.b + T(C[8]) * B.c;
    }

    // What is left, and J: both in the axes of the goal, rows in radians, columns in units.
    void look() {
        Mat<T> R = from_R;
        Vec<T> p = from_p;
        Vec<T> axis[MOST], point[MOST];
        for (index i = 0; i < limb.count; ++i) {
            const LimbHinge& h = limb.hinges[i];
            go(R, p, h.at);
            const T x = T(h.ratio) * q[h.dof] + T(h.offset);
            axis[i] = R.c, point[i] = p;
            if (h.turn != 0.0) {
                T s, c;
                sine_cosine(T(h.turn) * x, s, c);
                const Vec<T> a = c * R.a + s * R.b;
                R.b = c * R.b - s * R.a, R.a = a;
            }
            if (h.slide != 0.0) p += (T(h.slide) * x) * R.c;
        }
        go(R, p, limb.tip);
        // the turn that is left, as 2 sin(angle / 2) along its axis, lengthened to the angle by the first terms of its series, and one
        // that makes up for the rest at half a turn: before that it is up to a tenth longer, never shorter
        const T cosine2 = T(0.25) * (T(1.0) + R.a.x + R.b.y + R.c.z);  // of half the angle, squared
        const T scale = T(0.5) / square_root(maximum(cosine2, T(HALF_TURN)));
        Vec<T> w{scale * (R.b.z - R.c.y), scale * (R.c.x - R.a.z), scale * (R.a.y - R.b.x)};
        if (any_not_above(cosine2, T(HALF_TURN))) turn_over(R, cosine2, w);
        const T ww = dot(w, w);
        w = (T(1.0) + ww * (T(1.0 / 24.0) + ww * (T(3.0 / 640.0) + ww * (T(5.0 / 7168.0) + ww * T(LAST_TERM))))) * w;
        const T row[6] = {-w.x, -w.y, -w.z, -p.x, -p.y, -p.z};
        square = T(0.0);
        for (int r = 0; r < 6; ++r) {
            const bool free = !(set.tolerance[r] < HUGE_VAL);
            e[r] = free ? T(0.0) : row[r];
            const T s = r < 3 ? e[r] : T(to_way) * e[r];
            square += s * s;
        }
        for (int r = 0; r < 6; ++r)
            for (index i = 0; i < limb.dofs; ++i) J[r][i] = T(0.0);
        for (index i = 0; i < limb.count; ++i) {
            const LimbHinge& h = limb.hinges[i];
            const T one = T(h.ratio / limb.unit[h.dof]);
            if (h.turn != 0.0) {
                const Vec<T> a = (T(h.turn) * one) * axis[i], b = cross(a, p - point[i]);
                const T col[6] = {a.x, a.y, a.z, b.x, b.y, b.z};
                add(h.dof, col);
            }
            if (h.slide != 0.0) {
                const Vec<T> b = (T(h.slide) * one) * axis[i];
                const T col[6] = {T(0.0), T(0.0), T(0.0), b.x, b.y, b.z};
                add(h.dof, col);
            }
        }
    }

    // Lanes in which all that counts is within its tolerance.
    M met() const {
        M all = ~M{};
        for (int r = 0; r < 6; ++r) all &= absolute(e[r]).x <= T(set.tolerance[r]).x;
        return all;
    }

    T damping() const { return T(set.damping) * square + T(set.damped); }

    // dq, within limits; the coordinates after it.
    void step(const T& mu) {
        const index n = limb.dofs;
        for (index i = 0; i < n; ++i) keep[i] = T(1.0);
        for (int round = 0; round < 3; ++round) {
            if (n < 6) solve_dofs(mu);
            else solve_rows(mu);
            M left{};
            for (index i = 0; i < n; ++i) {
                const M out = ((q[i].x >= T(limb.upper[i]).x) & (dq[i].x > T(0.0).x)) | ((q[i].x <= T(limb.lower[i]).x) & (dq[i].x < T(0.0).x));
                left |= out;
                keep[i].x = out ? T(0.0).x : keep[i].x;
            }
            if (none(left)) break;
        }
        flat = gain_.x < (T(LITTLE) * square).x;
        T most = T(0.0);
        for (index i = 0; i < n; ++i) most = maximum(most, absolute(dq[i]));
        const T part = T(set.largest) / maximum(most, T(set.largest));
        for (index i = 0; i < n; ++i) {
            const T x = q[i] + (part * dq[i]) * T(1.0 / limb.unit[i]);
            q[i] = minimum(maximum(x, T(limb.lower[i])), T(limb.upper[i]));
        }
    }
    static bool none(const M& m) {
        long long any = 0;
        for (int i = 0; i < W; ++i) any |= m[i];
        return any == 0;
    }

    // All lanes where one is.
    void spread(int lane) {
        square = T(square.x[lane]);
        for (index i = 0; i < limb.dofs; ++i) q[i] = T(q[i].x[lane]);
        for (int r = 0; r < 6; ++r) {
            e[r] = T(e[r].x[lane]);
            for (index i = 0; i < limb.dofs; ++i) J[r][i] = T(J[r][i].x[lane]);
        }
    }

private:
    static constexpr index MOST = 2 * kinematics::MOST_DOFS;  // hinges: some share a dof
    static constexpr double LAST_TERM = 1.1113e-3;  // (pi / 2 - (the terms before it at 4)) / 4^4, rounded up
    static constexpr double HALF_TURN = 1e-4;  // below this square of the cosine of half an angle, R - R* has lost half its digits
    static constexpr double LITTLE = 0.05;  // 6 of 1,500,000 goals of five arms are not met, with none 10; with 0.1 more
    T gain_;  // e* J dq

    // The turn that is left where it is near half a turn: its axis n is the largest column of R + R* + (1 - tr R) I = 2 (1 - cos) n n*.
    SOACRAFT_APART static void turn_over(const Mat<T>& R, const T& cosine2, Vec<T>& w) {
        for (int i = 0; i < W; ++i) {
            if (cosine2.x[i] > HALF_TURN) continue;
            const double r[9] = {R.a.x.x[i], R.b.x.x[i], R.c.x.x[i], R.a.y.x[i], R.b.y.x[i], R.c.y.x[i], R.a.z.x[i], R.b.z.x[i], R.c.z.x[i]};
            const double rest = 1.0 - (r[0] + r[4] + r[8]);
            int k = 0;
            for (int j = 1; j < 3; ++j)
                if (r[4 * j] > r[4 * k]) k = j;
            double n[3], length = 0.0, side = 0.0;
            const double skew[3] = {r[7] - r[5], r[2] - r[6], r[3] - r[1]};
            for (int j = 0; j < 3; ++j) {
                n[j] = r[3 * j + k] + r[3 * k + j] + (j == k ? rest : 0.0);
                length += n[j] * n[j], side += n[j] * skew[j];
            }
            const double sine2 = 1.0 - (cosine2.x[i] > 0.0 ? cosine2.x[i] : 0.0);
            const double size = (side < 0.0 ? -2.0 : 2.0) * std::sqrt(sine2 / length);
            w.x.x[i] = size * n[0], w.y.x[i] = size * n[1], w.z.x[i] = size * n[2];
        }
    }

    SOACRAFT_FLAT void add(index dof, const T* col) {
        for (int r = 0; r < 6; ++r) {
            const bool free = !(set.tolerance[r] < HUGE_VAL);
            if (!free) J[r][dof] += r < 3 ? col[r] : T(to_way) * col[r];
        }
    }

    // (keep J* J keep + mu I) dq = keep J* e, by Cholesky's factors; dofs that are not kept stay.
    void solve_dofs(const T& mu) {
        const index n = limb.dofs;
        T A[6][6], y[6];
        for (index r = 0; r < n; ++r) {
            T s = T(0.0);
            for (int k = 0; k < 6; ++k) s += J[k][r] * (k < 3 ? e[k] : T(to_way) * e[k]);
            y[r] = keep[r] * s;
            for (index c = 0; c <= r; ++c) {
                T sum = T(0.0);
                for (int k = 0; k < 6; ++k) sum += J[k][r] * J[k][c];
                A[r][c] = keep[r] * keep[c] * sum;
            }
            A[r][r] += mu;
        }
        factor(A, n);
        gain_ = solve(A, y, n);
        for (index i = 0; i < n; ++i) dq[i] = y[i];
    }

    // dq = keep J* y,  (J keep J* + mu I) y = e, by Cholesky's factors.
    void solve_rows(const T& mu) {
        const index n = limb.dofs;
        T A[6][6], y[6];
        for (int r = 0; r < 6; ++r)
            for (int c = 0; c <= r; ++c) A[r][c] = r == c ? mu : T(0.0);
        for (index i = 0; i < n; ++i)
            for (int r = 0; r < 6; ++r) {
                const T x = keep[i] * J[r][i];
                for (int c = 0; c <= r; ++c) A[r][c] += x * J[c][i];
            }
        factor(A, 6);
        for (int r = 0; r < 6; ++r) y[r] = r < 3 ? e[r] : T(to_way) * e[r];
        gain_ = square - mu * solve(A, y, 6);
        for (index i = 0; i < n; ++i) {
            T s = T(0.0);
            for (int r = 0; r < 6; ++r) s += J[r][i] * y[r];
            dq[i] = keep[i] * s;
        }
    }

    // A = L L*, L in its place with one over its diagonal.
    SOACRAFT_FLAT static void factor(T (&A)[6][6], index n) {
        for (index c = 0; c < n; ++c) {
            T d = A[c][c];
            for (index k = 0; k < c; ++k) d -= A[c][k] * A[c][k];
            A[c][c] = T(1.0) / square_root(maximum(d, T(1e-300)));
            for (index r = c + 1; r < n; ++r) {
                T s = A[r][c];
                for (index k = 0; k < c; ++k) s -= A[r][k] * A[c][k];
                A[r][c] = s * A[c][c];
            }
        }
    }
    // y <- A^-1 y; y* A^-1 y of what y was.
    SOACRAFT_FLAT static T solve(const T (&A)[6][6], T* y, index n) {
        T product = T(0.0);
        for (index r = 0; r < n; ++r) {
            for (index k = 0; k < r; ++k) y[r] -= A[r][k] * y[k];
            y[r] *= A[r][r];
            product += y[r] * y[r];
        }
        for (index r = n - 1; r >= 0; --r) {
            for (index k = r + 1; k < n; ++k) y[r] -= A[k][r] * y[k];
            y[r] *= A[r][r];
        }
        return product;
    }
};

SOACRAFT_RIGID_END
