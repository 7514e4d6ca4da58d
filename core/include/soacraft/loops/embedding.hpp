// Constraint embedding of a closed chain (formula F5): groups of elements tied by closures are compound bodies.
//
// The articulated inertia of a compound body is block-diagonal before its hinge takes its part, so that the recursion
// needs no blocks of 6|S|: the composite inertias inside the group give its own mass matrix M_S and U = B_p A_S P H_S*,
//
//     v_S = X v_i,   D = X* M_S X,   P+ at the parent = R - (U X) D^-1 (U X)*
#pragma once

#include "articulated.hpp"

SOACRAFT_RIGID_BEGIN

using loops::Group;

// The workspace of one group; `find_groups` counts what it takes.
struct GroupWork {
    index n, ni, nd, m;
    bool free;  // a body that no row ties: X = I
    double *G, *A, *tau, *norm, *B, *X, *x0, *M, *Y, *D, *h, *nu;
    Twist *U, *Uc;
    index* order;

    GroupWork(const Group& g, double* at, index* order_)
        : n(static_cast<index>(g.dofs.size())), ni(static_cast<index>(g.independent.size())),
          nd(static_cast<index>(g.dependent.size())), m(static_cast<index>(g.rows.size())), free(g.rows.empty()),
          order(order_) {
        const auto take = [&at](index count) { double* found = at; at += count; return found; };
        U = reinterpret_cast<Twist*>(take(6 * n)), Uc = reinterpret_cast<Twist*>(take(6 * n));
        G = take(m * n), A = take(m * n), tau = take(n), norm = take(n), B = take(m * (n + 1)), X = take(n * n);
        x0 = take(n), M = take(n * n), Y = take(n * n), D = take(n * n), h = take(n), nu = take(n);
    }
};

inline GroupWork group_work(LoopWork& w, const Group& g) {
    return GroupWork(g, w.group + g.at, w.group_order + g.order);
}

// The rows of a group on its own dofs.
inline void tie_group(LoopWork& w, const Group& g, const GroupWork& s) {
    const Plan& plan = w.plan;
    for (index i = 0; i < s.m * s.n; ++i) s.G[i] = 0.0;
    index row = 0;
    for (const loops::Reach& reach : g.closures) {
        const Closure& c = plan.closures[reach.closure];
        const Tie& t = w.ties[reach.closure];
        for (std::size_t i = 0; i < reach.elements.size(); ++i) {
            const index k = reach.elements[i];
            const Element& e = w.model.elements[k];
            const Vec3 arm = t.at - w.limbs[k].p;
            for (index j = 0, n = dofs(e.kind); j < n; ++j) {
                const Twist at = carried(arm, w.S[e.d + j]);
                const index column = plan.column[e.d + j];
                for (index r = 0; r < c.rows; ++r) s.G[(row + r) * s.n + column] += reach.sign[i] * dot(t.Q[r], at);
            }
        }
        row += c.rows;
    }
    for (index number : g.couplings) {
        const Coupling& c = plan.couplings[number];
        for (std::size_t k = 0; k < c.terms.size(); ++k) {
            s.G[row * s.n + plan.column[c.terms[k].d]] += w.rates[w.ratios[number].rates + k];
        }
        ++row;
    }
}

// Whether G X is zero, rows and dofs in their units: a row that was redundant still is.
inline bool fits(const LoopWork& w, const Group& g, const GroupWork& s) {
    const Plan& plan = w.plan;
    for (index r = 0; r < s.m; ++r) {
        const double allowed = plan.tolerances.rank * w.unit[g.rows[r]];
        for (index j = 0; j < s.ni; ++j) {
            double sum = 0.0, most = 0.0;
            for (index k = 0; k < s.n; ++k) {
                const double x = s.X[k * s.ni + j];
                sum += s.G[r * s.n + k] * x;
                most = larger(most, plan.unit[plan.user_dof[g.dofs[k]]] * std::fabs(x));
            }
            if (!(std::fabs(sum) <= allowed * most)) return false;
        }
    }
    return true;
}

// X and x0 of a group: v_S = X v_i, vdot_S = X vdot_i + x0.
inline bool split_group(LoopWork& w, const Group& g, const GroupWork& s) {
    tie_group(w, g, s);
    const index wide = s.ni + 1;
    for (index r = 0; r < s.m; ++r) {
        for (index j = 0; j < s.nd; ++j) s.A[r * s.nd + j] = s.G[r * s.n + g.dependent[j]];
        for (index j = 0; j < s.ni; ++j) s.B[r * wide + j] = -s.G[r * s.n + g.independent[j]];
        s.B[r * wide + s.ni] = -w.gamma[g.rows[r]];
    }
    PivotedQR qr{s.m, s.nd, s.A, s.tau, s.norm, s.order};
    qr.factor();
    if (!(qr.ratio() > w.plan.tolerances.doubtful)) return false;
    qr.apply_transposed(wide, s.B);
    qr.solve_upper(wide, s.B);
    for (index i = 0; i < s.n * s.ni; ++i) s.X[i] = 0.0;
    for (index i = 0; i < s.n; ++i) s.x0[i] = 0.0;
    for (index j = 0; j < s.ni; ++j) s.X[g.independent[j] * s.ni + j] = 1.0;
    for (index i = 0; i < s.nd; ++i) {
        const index column = g.dependent[s.order[i]];
        for (index j = 0; j < s.ni; ++j) s.X[column * s.ni + j] = s.B[i * wide + j];
        s.x0[column] = s.B[i * wide + s.ni];
    }
    return s.m == s.nd || fits(w, g, s);
}

// L L* = D in place, the inverse of the diagonal on it; false where a pivot is no more than `least`, or rounding.
inline bool factor_dense(index n, double* D, double least) {
    for (index i = 0; i < n; ++i)
        for (index j = 0; j <= i; ++j) {
            double sum = D[i * n + j];
            for (index t = 0; t < j; ++t) sum -= D[i * n + t] * D[j * n + t];
            if (i == j) {
                if (!(sum > SINGULAR * D[i * n + i]) || !(sum > least)) return false;
                D[i * n + i] = 1.0 / std::sqrt(sum);
            } else {
                D[i * n + j] = sum * D[j * n + j];
            }
        }
    return true;
}
inline void divide_dense(index n, const double* D, double* x) {
    for (index i = 0; i < n; ++i) {
        for (index t = 0; t < i; ++t) x[i] -= D[i * n + t] * x[t];
        x[i] *= D[i * n + i];
    }
    for (index i = n; i-- > 0;) {
        for (index t = i + 1; t < n; ++t) x[i] -= D[t * n + i] * x[t];
        x[i] *= D[i * n + i];
    }
}

// nu = D^-1 X* (T - h).
inline void rates_of_group(LoopWork& w, const Group& g, const GroupWork& s, const double* T) {
    const Plan& plan = w.plan;
    for (index j = 0; j < s.ni; ++j) s.nu[j] = s.free ? T[plan.user_dof[g.dofs[j]]] - s.h[j] : 0.0;
    for (index i = 0; i < s.n && !s.free; ++i) {
        const double left = T[plan.user_dof[g.dofs[i]]] - s.h[i];
        for (index j = 0; j < s.ni; ++j) s.nu[j] += s.X[i * s.ni + j] * left;
    }
    divide_dense(s.ni, s.D, s.nu);
}

// The sweep inside a group: M_S, U, h, and what it passes inward before its hinge takes its part.
inline void sweep_group(LoopWork& w, const Group& g, const GroupWork& s, Articulated<double>& R, Twist& f) {
    const Twist nothing{{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}};
    const auto count = g.elements.size();
    const Model& model = w.model;
    R = rigid::SOACRAFT_TARGET::nothing<double>().P, f = nothing;
    for (std::size_t i = 0; i < count; ++i) {
        const auto k = g.elements[i];
        const Element& e = model.elements[k];
        Twist A = w.limbs[k].c;
        if (g.inboard[i] >= 0) A += carried(w.limbs[k].l, w.A[e.parent]);
        for (index j = 0, n = dofs(e.kind); j < n; ++j) A += s.x0[g.first[i] + j] * w.S[e.d + j];
        w.A[k] = A;
        w.f[k] = w.P[k] * A + w.z[k];
    }
    for (index i = 0; i < s.n * s.n; ++i) s.M[i] = 0.0;
    for (std::size_t i = count; i-- > 0;) {
        const auto k = g.elements[i];
        const Element& e = model.elements[k];
        const index n = dofs(e.kind);
        for (index j = 0; j < n; ++j) {
            const index column = g.first[i] + j;
            Twist F = w.P[k] * w.S[e.d + j];
            s.h[column] = dot(w.S[e.d + j], w.f[k]);
            for (index t = 0; t < n; ++t)
                s.M[column * s.n + g.first[i] + t] = dot(w.S[e.d + t], F);
            s.M[column * s.n + column] += model.armature[e.v + j];
            for (std::size_t a = i;;) {
                F = pulled(w.limbs[g.elements[a]].l, F);
                if (g.inboard[a] < 0) break;
                a = g.inboard[a];
                const Element& in = model.elements[g.elements[a]];
                for (index t = 0, many = dofs(in.kind); t < many; ++t) {
                    const index other = g.first[a] + t;
                    s.M[column * s.n + other] = s.M[other * s.n + column] = dot(w.S[in.d + t], F);
                }
            }
            s.U[column] = F;
        }
        const Vec3& l = w.limbs[k].l;
        if (g.inboard[i] >= 0) {
            w.P[e.parent] += shifted(l, w.P[k]);
            w.f[e.parent] += pulled(l, w.f[k]);
        } else if (g.parent >= 0) {
            R += shifted(l, w.P[k]);
            f += pulled(l, w.f[k]);
        }
    }
}

// D = X* M_S X and U X; where nothing is tied, M_S and U as they are.
inline void reduce(const GroupWork& s) {
    if (s.free) {
        for (index i = 0; i < s.n * s.n; ++i) s.D[i] = s.M[i];
        for (index i = 0; i < s.n; ++i) s.Uc[i] = s.U[i];
        return;
    }
    for (index i = 0; i < s.n * s.ni; ++i) s.Y[i] = 0.0;
    for (index i = 0; i < s.n; ++i)
        for (index t = 0; t < s.n; ++t) {
            const double a = s.M[i * s.n + t];
            for (index j = 0; j < s.ni; ++j) s.Y[i * s.ni + j] += a * s.X[t * s.ni + j];
        }
    for (index i = 0; i < s.ni * s.ni; ++i) s.D[i] = 0.0;
    for (index t = 0; t < s.n; ++t)
        for (index i = 0; i < s.ni; ++i) {
            const double a = s.X[t * s.ni + i];
            for (index j = 0; j <= i; ++j) s.D[i * s.ni + j] += a * s.Y[t * s.ni + j];
        }
    for (index j = 0; j < s.ni; ++j) s.Uc[j] = none<double>();
    for (index i = 0; i < s.n; ++i)
        for (index j = 0; j < s.ni; ++j) s.Uc[j] += s.X[i * s.ni + j] * s.U[i];
}

// One body or compound body, tips to base.
inline bool eliminate_group(LoopWork& w, const Group& g, const double* T) {
    const GroupWork s = group_work(w, g);
    if (s.free)
        for (index i = 0; i < s.n; ++i) s.x0[i] = 0.0;
    else if (!split_group(w, g, s))
        return false;
    const Twist& axis = w.S[g.dofs[0]];
    const double least = s.free ? SINGULAR * size(w.P[g.elements[0]]) * dot(axis, axis) : 0.0;
    Articulated<double> R;
    Twist f;
    sweep_group(w, g, s, R, f);
    reduce(s);
    if (!factor_dense(s.ni, s.D, least)) return false;
    rates_of_group(w, g, s, T);
    if (g.parent < 0) return true;
    w.P[g.parent] += R;
    w.z[g.parent] += f;
    for (index j = 0; j < s.ni; ++j) w.z[g.parent] += s.nu[j] * s.Uc[j];
    for (index i = 0; i < s.ni; ++i) {  // P -= (Uc L^-*) (Uc L^-*)*
        Twist& column = s.U[i];
        column = s.Uc[i];
        for (index t = 0; t < i; ++t) column -= s.D[i * s.ni + t] * s.U[t];
        column = s.D[i * s.ni + i] * column;
        subtract(w.P[g.parent], column);
    }
    return true;
}

// vdot of a group from the acceleration A of its parent; with x0 and c, or without them for a correction.
inline void release_group(LoopWork& w, const Group& g, const Twist& ground, bool biased, double* vdot) {
    const GroupWork s = group_work(w, g);
    const Twist A_p = g.parent < 0 ? ground : w.A[g.parent];
    for (index j = 0; j < s.ni; ++j) s.Y[j] = dot(s.Uc[j], A_p);
    divide_dense(s.ni, s.D, s.Y);
    for (index j = 0; j < s.ni; ++j) s.Y[j] = s.nu[j] - s.Y[j];
    for (std::size_t i = 0; i < g.elements.size(); ++i) {
        const auto k = g.elements[i];
        const Element& e = w.model.elements[k];
        Twist A = carried(w.limbs[k].l, e.parent < 0 ? ground : w.A[e.parent]);
        if (biased) A += w.limbs[k].c;
        for (index t = 0, n = dofs(e.kind); t < n; ++t) {
            const index column = g.first[i] + t;
            double x = s.free ? s.Y[column] : biased ? s.x0[column] : 0.0;
            for (index j = 0; j < s.ni && !s.free; ++j) x += s.X[column * s.ni + j] * s.Y[j];
            vdot[e.v + t] = x;
            A += x * w.S[e.d + t];
        }
        w.A[k] = A;
    }
}

inline void release_all(LoopWork& w, const Twist& ground, bool biased, double* vdot) {
    for (const Group& g : w.plan.groups) release_group(w, g, ground, biased, vdot);
}

// The accelerations that further forces T would cause, at rest: with the factors as they are.
inline void correct(LoopWork& w, const double* T) {
    const Twist nothing{{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}};
    for (index k = 0; k < w.model.count; ++k) w.z[k] = nothing;
    for (std::size_t i = w.plan.groups.size(); i-- > 0;) {
        const Group& g = w.plan.groups[i];
        const GroupWork s = group_work(w, g);
        Twist f = nothing;
        for (std::size_t a = g.elements.size(); a-- > 0;) {
            const auto k = g.elements[a];
            const Element& e = w.model.elements[k];
            for (index j = 0, n = dofs(e.kind); j < n; ++j)
                s.h[g.first[a] + j] = dot(w.S[e.d + j], w.z[k]);
            (g.inboard[a] >= 0 ? w.z[e.parent] : f) += pulled(w.limbs[k].l, w.z[k]);
        }
        rates_of_group(w, g, s, T);
        if (g.parent < 0) continue;
        for (index j = 0; j < s.ni; ++j) f += s.nu[j] * s.Uc[j];
        w.z[g.parent] += f;
    }
    release_all(w, nothing, false, w.step);
    for (index i = 0; i < w.model.nv; ++i) w.vdot[i] += w.step[i];
}

// The largest of Xt* x, in units; x in the order of v.
inline double largest_reduced(LoopWork& w, const double* x) {
    double most = 0.0;
    for (const Group& g : w.plan.groups) {
        const GroupWork s = group_work(w, g);
        for (index j = 0; j < s.ni; ++j) {
            const index own = w.plan.user_dof[g.dofs[s.free ? j : g.independent[j]]];
            double sum = s.free ? x[own] : 0.0;
            for (index i = 0; i < s.n && !s.free; ++i)
                sum += s.X[i * s.ni + j] * x[w.plan.user_dof[g.dofs[i]]];
            most = larger(most, std::fabs(sum) / w.plan.unit[own]);
        }
    }
    return most;
}

// The multipliers of least norm that carry what is left, and left <- left - Gc* lambda.
inline void carry_left(LoopWork& w) {
    for (index i = 0; i < w.plan.size; ++i) w.lambda[i] = 0.0;
    for (const Group& g : w.plan.groups) {
        if (g.rows.empty()) continue;
        const GroupWork s = group_work(w, g);
        const auto left = [&](index column) -> double& {
            return w.left[w.plan.user_dof[g.dofs[column]]];
        };
        double* x = s.B;
        for (index i = 0; i < s.m; ++i) x[i] = i < s.nd ? left(g.dependent[s.order[i]]) : 0.0;
        const PivotedQR qr{s.m, s.nd, s.A, s.tau, s.norm, s.order};
        qr.solve_upper_transposed(x);
        qr.apply(x);
        for (index r = 0; r < s.m; ++r) {
            w.lambda[g.rows[r]] = x[r];
            for (index c = 0; c < s.n; ++c) left(c) -= s.G[r * s.n + c] * x[r];
        }
    }
}

// vdot, lambda and what they leave, for the rows taken before; false where Python should look at it.
inline bool constraint_embedding(LoopWork& w, const Base& base, const double* T, Residual& left) {
    const Model& model = w.model;
    for (index k = 0; k < model.count; ++k) {
        w.P[k] = articulated(w.limbs[k].I), w.z[k] = w.limbs[k].b;
    }
    for (std::size_t i = w.plan.groups.size(); i-- > 0;)
        if (!eliminate_group(w, w.plan.groups[i], T)) return false;
    release_all(w, spatial<double>(base.a), true, w.vdot);
    for (int round = 0;; ++round) {
        unbalanced(w, T, w.vdot, nullptr);
        const double most = larger(w.plan.inertia * w.rate * w.rate, largest_force(w.plan, w.left));
        if (round == 2 || largest_reduced(w, w.left) <= 1e-13 * most) break;
        correct(w, w.left);
        accelerations(model, base, w.limbs, w.S, w.vdot, w.A);
    }
    row_residual(w, base, w.vdot, w.row);
    carry_left(w);
    left = residual_of(w, T);
    return true;
}

SOACRAFT_RIGID_END
