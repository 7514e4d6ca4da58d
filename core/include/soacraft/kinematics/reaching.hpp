// Inverse kinematics of a tree from one start: what soacraft/kinematics/descent.py says (Levenberg-Marquardt), for starts
// that are not in doubt. O(rows nv^2) a step.
//
//     min over y of  |J y + r|^2 + mu |y|^2,    lower <= y <= upper,    q <- integrate(q, y / d)
#pragma once

#include "aims.hpp"
#include "soacraft/loops/rows/closure_rows.hpp"
#include "soacraft/loops/work.hpp"
#include "soacraft/rigid/coordinates.hpp"

SOACRAFT_RIGID_BEGIN

using kinematics::Aim;
using kinematics::Reach;

struct ReachWork {
    Place<double>* at;
    Twist* H;
    double *r, *after, *weighed, *weighed_after, *J, *A, *b, *y, *dv, *next, *lower, *upper, *tau, *norm;
    index *order, *side, *column;
    std::size_t bytes;

    ReachWork(const Model& model, const Reach& x, char* memory) {
        Cutter cut{memory};
        const index nq = model.nq, nv = model.nv, rows = x.rows, free = x.allowed.count;
        cut(at, model.count), cut(H, 6), cut(r, rows), cut(after, rows), cut(weighed, rows), cut(weighed_after, rows);
        cut(J, rows * free), cut(A, (rows + free) * free), cut(b, rows + free), cut(y, free), cut(dv, nv), cut(next, nq);
        cut(lower, free), cut(upper, free), cut(tau, free), cut(norm, free), cut(order, free), cut(side, free);
        cut(column, nv);
        bytes = cut.taken;
    }
};

struct Reaching {
    const Model& model;
    const Reach& x;
    ReachWork& w;
    double cost = 0.0;
    bool done = false;
    index iterations = 0;

    Reaching(const Model& model_, const Reach& x_, ReachWork& w_) : model(model_), x(x_), w(w_) {}

    void place_all(const double* q) {
        for (index k = 0; k < model.count; ++k) {
            const Element& e = model.elements[k];
            w.at[k] = (e.parent < 0 ? no_place<double>() : w.at[e.parent]) * place<double>(e, q);
        }
    }
    Place<double> frame(const Body& b) const {
        const Place<double> X = place_at<double>(b.R, b.p);
        return b.element < 0 ? X : w.at[b.element] * X;
    }
    static Vec3 vector(const double* v) { return {v[0], v[1], v[2]}; }
    static void put(const Vec3& v, double* to) { to[0] = v.x, to[1] = v.y, to[2] = v.z; }

    // The shortest turn from u to the goal; false where any of many is.
    bool turn(const Vec3& u, const Vec3& goal, Vec3& found) const {
        const Vec3 across = cross(u, goal);
        const double sine = std::sqrt(dot(across, across)), cosine = dot(u, goal);
        if (sine < x.tolerances.same_direction && !(cosine > 0.0)) return false;
        found = (sine < x.tolerances.same_direction ? 1.0 : std::atan2(sine, cosine) / sine) * across;
        return true;
    }

    // r at q, and as it is weighed; false where the turn that is left is in doubt.
    bool residual(const double* q, double* r, double* weighed, double& square, bool& met) {
        place_all(q);
        square = 0.0, met = true;
        for (index i = 0; i < x.count; ++i) {
            const Aim& a = x.aims[i];
            const Place<double> F = frame(a.frame), T = frame(a.to);
            const Mat3 R = transpose(T.R) * F.R;
            const Vec3 off = turn_back(T.R, F.p - T.p) - vector(a.goal);
            double *to = r + a.row, angle = 0.0, distance = 0.0;
            if (a.kind == kinematics::POSE) {
                double q4[4];
                const Mat3 left = transpose(mat<double>(a.goal_R)) * R;
                quaternion_of(left, q4);
                if (!(q4[3] > x.tolerances.turned_over)) return false;
                put(log_of({left, {0.0, 0.0, 0.0}}).w, to);
            } else if (a.kind == kinematics::DIRECTION) {
                Vec3 found{0.0, 0.0, 0.0};
                if (!turn(R * vector(a.axis), vector(a.goal), found)) return false;
                put(found, to);
            }
            if (a.kind != kinematics::POSITION) angle = length_of(to);
            if (a.kind != kinematics::DIRECTION) put(off, to + a.rows - 3), distance = length_of(to + a.rows - 3);
            met = met && distance <= a.distance && angle <= a.angle;
            for (index k = 0; k < a.rows; ++k) {
                const double s = weight(a, k) * to[k];
                weighed[a.row + k] = s, square += s * s;
            }
        }
        return square == square;
    }
    static double weight(const Aim& a, index row) {
        const bool slides = a.kind == kinematics::POSITION || (a.kind == kinematics::POSE && row >= 3);
        return slides ? a.weight / a.length : a.weight;
    }

    // J of the free dofs, weighed, in units, at the places that were taken last.
    void rates(const double* q) {
        const index n = x.allowed.count;
        for (index i = 0; i < x.rows * n; ++i) w.J[i] = 0.0;
        for (index i = 0; i < x.count; ++i) {
            const Aim& a = x.aims[i];
            const Place<double> F = frame(a.frame), T = frame(a.to);
            along(a, F, T, q, a.frame.element, 1.0);
            along(a, F, T, q, a.to.element, -1.0);
        }
    }
    void along(const Aim& a, const Place<double>& F, const Place<double>& T, const double* q, index element, double sign) {
        const index n = x.allowed.count;
        const Vec3 u = turn_back(T.R, F.R * vector(a.axis));
        for (index k = element; k >= 0; k = model.elements[k].parent) {
            const Element& e = model.elements[k];
            hinge_columns<double>(e, q, w.at[k].R, w.H);
            for (index j = 0, count = dofs(e.kind); j < count; ++j) {
                const index c = w.column[e.v + j];
                if (c < 0) continue;
                const Twist xi = carried(F.p - w.at[k].p, w.H[j]);
                double rate[6] = {};
                if (a.kind == kinematics::POSE) {
                    put(turn_back(F.R, xi.w), rate), put(turn_back(T.R, xi.v), rate + 3);
                } else if (a.kind == kinematics::POSITION) {
                    put(turn_back(T.R, xi.v), rate);
                } else {
                    const Vec3 turning = turn_back(T.R, xi.w);
                    put(dot(u, turning) * u - turning, rate);
                }
                for (index r = 0; r < a.rows; ++r)
                    w.J[(a.row + r) * n + c] += sign * weight(a, r) * rate[r] / x.unit[e.v + j];
            }
        }
    }

    // y that is least, of the dofs without a side; the others are at theirs.
    void least(double mu) {
        const index n = x.allowed.count, rows = x.rows + n;
        const double damped = std::sqrt(mu + x.tolerances.damped);
        index count = 0;
        for (index k = 0; k < n; ++k) count += w.side[k] == 0;
        for (index r = 0; r < x.rows; ++r) {
            w.b[r] = -w.weighed[r];
            index c = 0;
            for (index k = 0; k < n; ++k) {
                if (w.side[k] == 0)
                    w.A[r * count + c++] = w.J[r * n + k];
                else
                    w.b[r] -= w.J[r * n + k] * bound(k);
            }
        }
        for (index i = 0; i < count * n; ++i) w.A[x.rows * count + i] = 0.0;
        for (index k = 0, c = 0; k < n; ++k) {
            w.b[x.rows + k] = w.side[k] == 0 ? 0.0 : -damped * bound(k);
            if (w.side[k] == 0) w.A[(x.rows + k) * count + c++] = damped;
        }
        PivotedQR qr{rows, count, w.A, w.tau, w.norm, w.order};
        qr.factor();
        qr.apply_transposed(1, w.b);
        qr.solve_upper(1, w.b);
        for (index k = 0; k < count; ++k) w.norm[w.order[k]] = w.b[k];
        for (index k = 0, c = 0; k < n; ++k) w.y[k] = w.side[k] == 0 ? w.norm[c++] : bound(k);
    }
    double bound(index k) const { return w.side[k] < 0 ? w.lower[k] : w.upper[k]; }

    // The least y within the limits: sides are taken where it leaves them, given up where it would rather not be there.
    bool step(double mu) {
        const index n = x.allowed.count;
        for (index k = 0; k < n; ++k) w.side[k] = 0;
        for (index round = 0; round <= 3 * n; ++round) {
            least(mu);
            bool outside = false;
            for (index k = 0; k < n; ++k)
                if (w.side[k] == 0 && (w.y[k] < w.lower[k] || w.y[k] > w.upper[k])) {
                    w.side[k] = w.y[k] < w.lower[k] ? -1 : 1;
                    outside = true;
                }
            if (outside) continue;
            index worst = -1;
            double most = 0.0;
            for (index k = 0; k < n; ++k) {
                if (w.side[k] == 0) continue;
                double slope = (mu + x.tolerances.damped) * w.y[k];  // of |J y + r|^2 / 2 + mu |y|^2 / 2
                for (index r = 0; r < x.rows; ++r) {
                    double sum = w.weighed[r];
                    for (index c = 0; c < n; ++c) sum += w.J[r * n + c] * w.y[c];
                    slope += w.J[r * n + k] * sum;
                }
                const double wrong = w.side[k] < 0 ? -slope : slope;
                if (wrong > most && w.lower[k] < w.upper[k]) most = wrong, worst = k;
            }
            if (worst < 0) return true;
            w.side[worst] = 0;
        }
        return false;
    }

    void box(const double* q) {
        for (index k = 0; k < x.allowed.count; ++k) {
            const index i = x.allowed.free[k], at = x.allowed.place[i];
            const double here = at >= 0 ? q[at] : 0.0, low = x.allowed.lower[i] - here, high = x.allowed.upper[i] - here;
            w.lower[k] = x.unit[i] * (low < 0.0 ? low : 0.0), w.upper[k] = x.unit[i] * (high > 0.0 ? high : 0.0);
        }
    }
    void inside(double* q) const {
        for (index i = 0; i < model.nv; ++i) {
            const index at = x.allowed.place[i];
            if (at >= 0) q[at] = q[at] < x.allowed.lower[i] ? x.allowed.lower[i] : q[at] > x.allowed.upper[i] ? x.allowed.upper[i] : q[at];
        }
    }

    // One step that betters q; false where there is none, or one is in doubt.
    bool better(double* q, double& damping) {
        const kinematics::Tolerances& t = x.tolerances;
        const index n = x.allowed.count;
        rates(q), box(q);
        while (damping < t.most) {
            if (!step(damping * (cost < 1.0 ? cost : 1.0))) return false;
            double most = 0.0;
            for (index k = 0; k < n; ++k)
                if (x.turning[x.allowed.free[k]]) most = larger(most, std::fabs(w.y[k]));
            const double part = most > t.turn ? t.turn / most : 1.0;
            for (index i = 0; i < model.nv; ++i) w.dv[i] = 0.0;
            for (index k = 0; k < n; ++k) w.y[k] *= part, w.dv[x.allowed.free[k]] = w.y[k] / x.unit[x.allowed.free[k]];
            integrate(model, q, w.dv, w.next);
            inside(w.next);
            double square = 0.0;
            bool met = false;
            if (!residual(w.next, w.after, w.weighed_after, square, met)) return false;
            if (met || square < cost) {
                double hoped = 0.0;
                for (index r = 0; r < x.rows; ++r) {
                    double sum = w.weighed[r];
                    for (index k = 0; k < n; ++k) sum += w.J[r * n + k] * w.y[k];
                    hoped += sum * sum;
                }
                const double promised = cost - hoped, ratio = promised > 0.0 ? (cost - square) / promised : 1.0;
                const double gain = ratio < 1.0 ? ratio : 1.0, bent = 2.0 * gain - 1.0;
                damping = larger(damping * larger(0.1, 1.0 - bent * bent * bent), t.least);
                const bool stalled = !met && square > (1.0 - t.unimproved) * cost;
                for (index i = 0; i < model.nq; ++i) q[i] = w.next[i];
                for (index r = 0; r < x.rows; ++r) w.r[r] = w.after[r], w.weighed[r] = w.weighed_after[r];
                cost = square, done = met;
                return !stalled;
            }
            damping *= 4.0;
        }
        return false;
    }

    // From q to where all aims are met; false where Python should look at it.
    bool descend(double* q) {
        const kinematics::Tolerances& t = x.tolerances;
        for (index i = 0; i < model.nv; ++i) w.column[i] = -1;
        for (index k = 0; k < x.allowed.count; ++k) w.column[x.allowed.free[k]] = k;
        inside(q);
        if (!residual(q, w.r, w.weighed, cost, done)) return false;
        double damping = t.damping, hoped = -1.0;
        for (index i = 0; i < t.steps && !done; ++i) {
            if (t.hasty && i % t.patience == 0) {
                if (hoped >= 0.0 && cost > hoped) return false;
                hoped = t.enough * cost;
            }
            ++iterations;
            if (!better(q, damping)) return false;
        }
        return done;
    }
};

SOACRAFT_RIGID_END
