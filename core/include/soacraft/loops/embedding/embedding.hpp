// Constraint embedding of a closed chain (formula F5): groups of elements tied by closures are compound bodies.
//
// The articulated inertia of a compound body is block-diagonal before its hinge takes its part, so that the recursion
// needs no blocks of 6|S|: one sweep inside the group for each independent dof gives M_S X and U X = B_p A_S P H_S* X,
//
//     v_S = X v_i,   D = X* M_S X,   P+ at the parent = R - (U X) D^-1 (U X)*
//
// where R is the composite inertia of the group. O(|S|) for a given number of independent dofs.
#pragma once

#include "../augmented/articulated.hpp"
#include "group_split.hpp"

SOACRAFT_RIGID_BEGIN

// L L* = D in place, the inverse of the diagonal on it; false where a pivot is no more than `least`, or rounding.
template <class T>
inline Where<T> factor_dense(index n, T* D, const T& least) {
    Where<T> fine = everywhere<T>();
    for (index i = 0; i < n; ++i)
        for (index j = 0; j <= i; ++j) {
            T sum = D[i * n + j];
            for (index t = 0; t < j; ++t) sum -= D[i * n + t] * D[j * n + t];
            if (i == j) {
                fine &= is_above(sum, T(SINGULAR) * D[i * n + i]);
                fine &= is_above(sum, least);
                if (!any(fine)) return fine;
                D[i * n + i] = T(1.0) / square_root(sum);
            } else {
                D[i * n + j] = sum * D[j * n + j];
            }
        }
    return fine;
}
template <class T>
inline void divide_dense(index n, const T* D, T* x) {
    for (index i = 0; i < n; ++i) {
        for (index t = 0; t < i; ++t) x[i] -= D[i * n + t] * x[t];
        x[i] *= D[i * n + i];
    }
    for (index i = n; i-- > 0;) {
        for (index t = i + 1; t < n; ++t) x[i] -= D[t * n + i] * x[t];
        x[i] *= D[i * n + i];
    }
}

// nu = D^-1 X* (force - h).
template <class T>
inline void rates_of_group(LoopWorkOf<T>& w, const Group& g, const GroupWorkOf<T>& s, const T* force) {
    const Plan& plan = w.plan;
    for (index j = 0; j < s.ni; ++j) s.nu[j] = s.free ? force[plan.user_dof[g.dofs[j]]] - s.h[j] : T(0.0);
    for (index i = 0; i < s.n && !s.free; ++i) {
        const T left = force[plan.user_dof[g.dofs[i]]] - s.h[i];
        for (index j = 0; j < s.ni; ++j) s.nu[j] += s.X[i * s.ni + j] * left;
    }
    divide_dense(s.ni, s.D, s.nu);
}

// The sweep inside a group: h, and what it passes inward before its hinge takes its part. Inertias of members become
// composite ones where the group has a parent.
template <class T>
inline void sweep_group(LoopWorkOf<T>& w, const Group& g, const GroupWorkOf<T>& s, Articulated<T>& R, Spatial<T>& f) {
    const auto count = g.elements.size();
    const Model& model = w.model;
    R = rigid::SOACRAFT_TARGET::nothing<T>().P, f = none<T>();
    for (std::size_t i = 0; i < count; ++i) {
        const auto k = g.elements[i];
        const Element& e = model.elements[k];
        Spatial<T> A = w.limbs[k].c;
        if (g.inboard[i] >= 0) A += carried(w.limbs[k].l, w.A[e.parent]);
        for (index j = 0, n = dofs(e.kind); j < n && !s.free; ++j) A += s.x0[g.first[i] + j] * w.S[e.d + j];
        w.A[k] = A;
        w.f[k] = w.P[k] * A + w.z[k];
    }
    for (std::size_t i = count; i-- > 0;) {
        const auto k = g.elements[i];
        const Element& e = model.elements[k];
        for (index j = 0, n = dofs(e.kind); j < n; ++j) s.h[g.first[i] + j] = dot(w.S[e.d + j], w.f[k]);
        const Vec<T>& l = w.limbs[k].l;
        if (g.inboard[i] >= 0) w.f[e.parent] += pulled(l, w.f[k]);
        if (g.parent < 0) continue;
        if (g.inboard[i] >= 0) w.P[e.parent] += shifted(l, w.P[k]);
        else R += shifted(l, w.P[k]), f += pulled(l, w.f[k]);
    }
}

// D and U of a body that no row ties.
template <class T>
inline void reduce_free(LoopWorkOf<T>& w, const Group& g, const GroupWorkOf<T>& s) {
    const index k = g.elements[0];
    const Element& e = w.model.elements[k];
    for (index j = 0; j < s.n; ++j) {
        const Spatial<T> F = w.P[k] * w.S[e.d + j];
        for (index t = j; t < s.n; ++t) s.D[t * s.n + j] = dot(w.S[e.d + t], F);
        s.D[j * s.n + j] += T(w.model.armature[e.v + j]);
        s.Uc[j] = pulled(w.limbs[k].l, F);
    }
}

// D = X* M_S X (its lower triangle) and U X: a sweep outward and one inward for each independent dof.
template <class T>
inline void reduce(LoopWorkOf<T>& w, const Group& g, const GroupWorkOf<T>& s) {
    const auto count = g.elements.size();
    const Model& model = w.model;
    for (index j = 0; j < s.ni; ++j) {
        for (std::size_t i = 0; i < count; ++i) {
            const auto k = g.elements[i];
            const Element& e = model.elements[k];
            Spatial<T> V = g.inboard[i] >= 0 ? carried(w.limbs[k].l, w.A[e.parent]) : none<T>();
            for (index t = 0, n = dofs(e.kind); t < n; ++t) V += s.X[(g.first[i] + t) * s.ni + j] * w.S[e.d + t];
            w.A[k] = V;
            s.F[i] = w.P[k] * V;
        }
        Spatial<T> U = none<T>();
        for (std::size_t i = count; i-- > 0;) {
            const auto k = g.elements[i];
            const Element& e = model.elements[k];
            for (index t = 0, n = dofs(e.kind); t < n; ++t) {
                const index column = g.first[i] + t;
                s.y[column] = dot(w.S[e.d + t], s.F[i]) + T(model.armature[e.v + t]) * s.X[column * s.ni + j];
            }
            (g.inboard[i] >= 0 ? s.F[g.inboard[i]] : U) += pulled(w.limbs[k].l, s.F[i]);
        }
        s.Uc[j] = U;
        for (index i = j; i < s.ni; ++i) {
            T sum(0.0);
            for (index column = 0; column < s.n; ++column) sum += s.X[column * s.ni + i] * s.y[column];
            s.D[i * s.ni + j] = sum;
        }
    }
}

// One body or compound body, tips to base.
template <class T>
inline Where<T> eliminate_group(LoopWorkOf<T>& w, const Group& g, const T* force) {
    const GroupWorkOf<T> s = group_work(w, g);
    Where<T> fine = everywhere<T>();
    if (!s.free) fine = split_group(w, g, s);
    if (!any(fine)) return fine;
    const Spatial<T>& axis = w.S[g.dofs[0]];
    const T least = s.free ? T(SINGULAR) * size(w.P[g.elements[0]]) * dot(axis, axis) : T(0.0);
    if (s.free) reduce_free(w, g, s);
    else reduce(w, g, s);
    Articulated<T> R;
    Spatial<T> f;
    sweep_group(w, g, s, R, f);
    fine &= factor_dense(s.ni, s.D, least);
    if (!any(fine)) return fine;
    rates_of_group(w, g, s, force);
    if (g.parent < 0) return fine;
    w.P[g.parent] += R;
    w.z[g.parent] += f;
    for (index j = 0; j < s.ni; ++j) w.z[g.parent] += s.nu[j] * s.Uc[j];
    for (index i = 0; i < s.ni; ++i) {  // P -= (Uc L^-*) (Uc L^-*)*
        Spatial<T>& column = s.U[i];
        column = s.Uc[i];
        for (index t = 0; t < i; ++t) column -= s.D[i * s.ni + t] * s.U[t];
        column = s.D[i * s.ni + i] * column;
        subtract(w.P[g.parent], column);
    }
    return fine;
}

// vdot of a group from the acceleration A of its parent; with x0 and c, or without them for a correction.
template <class T>
inline void release_group(LoopWorkOf<T>& w, const Group& g, const Spatial<T>& ground, bool biased, T* vdot) {
    const GroupWorkOf<T> s = group_work(w, g);
    const Spatial<T> A_p = g.parent < 0 ? ground : w.A[g.parent];
    for (index j = 0; j < s.ni; ++j) s.Y[j] = dot(s.Uc[j], A_p);
    divide_dense(s.ni, s.D, s.Y);
    for (index j = 0; j < s.ni; ++j) s.Y[j] = s.nu[j] - s.Y[j];
    for (std::size_t i = 0; i < g.elements.size(); ++i) {
        const auto k = g.elements[i];
        const Element& e = w.model.elements[k];
        Spatial<T> A = carried(w.limbs[k].l, e.parent < 0 ? ground : w.A[e.parent]);
        if (biased) A += w.limbs[k].c;
        for (index t = 0, n = dofs(e.kind); t < n; ++t) {
            const index column = g.first[i] + t;
            T x = s.free ? s.Y[column] : biased ? s.x0[column] : T(0.0);
            for (index j = 0; j < s.ni && !s.free; ++j) x += s.X[column * s.ni + j] * s.Y[j];
            vdot[e.v + t] = x;
            A += x * w.S[e.d + t];
        }
        w.A[k] = A;
    }
}

template <class T>
inline void release_all(LoopWorkOf<T>& w, const Spatial<T>& ground, bool biased, T* vdot) {
    for (const Group& g : w.plan.groups) release_group(w, g, ground, biased, vdot);
}

// The accelerations that further forces, and -z on elements, would cause at rest, into w.step: with the factors as they are.
template <class T>
inline void respond(LoopWorkOf<T>& w, const T* force) {
    const Spatial<T> nothing = none<T>();
    for (std::size_t i = w.plan.groups.size(); i-- > 0;) {
        const Group& g = w.plan.groups[i];
        const GroupWorkOf<T> s = group_work(w, g);
        Spatial<T> f = nothing;
        for (std::size_t a = g.elements.size(); a-- > 0;) {
            const auto k = g.elements[a];
            const Element& e = w.model.elements[k];
            for (index j = 0, n = dofs(e.kind); j < n; ++j)
                s.h[g.first[a] + j] = dot(w.S[e.d + j], w.z[k]);
            (g.inboard[a] >= 0 ? w.z[e.parent] : f) += pulled(w.limbs[k].l, w.z[k]);
        }
        rates_of_group(w, g, s, force);
        if (g.parent < 0) continue;
        for (index j = 0; j < s.ni; ++j) f += s.nu[j] * s.Uc[j];
        w.z[g.parent] += f;
    }
    release_all(w, nothing, false, w.step);
}

// vdot with what further forces add to it, but where it was `done`.
template <class T>
inline void correct(LoopWorkOf<T>& w, const T* force, const Where<T>& done) {
    for (index k = 0; k < w.model.count; ++k) w.z[k] = none<T>();
    respond(w, force);
    for (index i = 0; i < w.model.nv; ++i) w.vdot[i] += choose(done, T(0.0), w.step[i]);
}

// The largest of Xt* x, in units; x in the order of v.
template <class T>
inline T largest_reduced(LoopWorkOf<T>& w, const T* x) {
    T most(0.0);
    for (const Group& g : w.plan.groups) {
        const GroupWorkOf<T> s = group_work(w, g);
        for (index j = 0; j < s.ni; ++j) {
            const index own = w.plan.user_dof[g.dofs[s.free ? j : g.independent[j]]];
            T sum = s.free ? x[own] : T(0.0);
            for (index i = 0; i < s.n && !s.free; ++i)
                sum += s.X[i * s.ni + j] * x[w.plan.user_dof[g.dofs[i]]];
            most = larger(most, absolute(sum) / T(w.plan.unit[own]));
        }
    }
    return most;
}

// The multipliers of embedded rows, of least norm, that carry what is left, and left <- left - Gc* lambda.
template <class T>
inline void carry_left(LoopWorkOf<T>& w) {
    for (const Group& g : w.plan.groups) {
        if (g.rows.empty()) continue;
        const GroupWorkOf<T> s = group_work(w, g);
        for (index c = 0; c < s.n; ++c) s.y[c] = w.left[w.plan.user_dof[g.dofs[c]]];
        T* lambda = w.extra;
        multipliers(g, s, lambda);
        for (const Tied& tied : g.ties) {
            const auto wide = static_cast<index>(tied.columns.size());
            for (index r = 0; r < tied.rows; ++r) {
                const T x = w.lambda[g.rows[tied.row + r]] = lambda[tied.row + r];
                for (index c = 0; c < wide; ++c)
                    w.left[w.plan.user_dof[g.dofs[tied.columns[c]]]] -= s.G[tied.at + r * wide + c] * x;
            }
        }
    }
}

SOACRAFT_RIGID_END
