// The articulated step across the modes and the hinge of a flexible body together, in inertially oriented axes. With C_j what an
// acceleration of mode j gives B at rest, children on the spots included,
//
//     P = M_rr + sum over spots of P_s,   C = M_re + sum P_s Pi_s,   M = M_ee + sum Pi_s* P_s Pi_s,   U = P H* + [C, 0]
//     D = H U + [C, 0]* H* + [M, 0; 0, J] = L L*,   W = U L^-*,   P+ = P - W W*
//
// modes first. Cost n^3 / 6, n^2 for each row that climbs.
#pragma once

#include "../augmented/articulated.hpp"

SOACRAFT_RIGID_BEGIN

// x <- L^-1 x, rows of n with the inverse of the diagonal.
template <class T>
inline void divide_wide(index n, const T* L, T* x) {
    for (index i = 0; i < n; ++i) {
        for (index t = 0; t < i; ++t) x[i] -= L[n * i + t] * x[t];
        x[i] *= L[n * i + i];
    }
}
// L, W, and P of the body with its spots; false where a mode or a hinge has no inertia to move.
template <class T>
inline Where<T> factor_modes(LoopWorkOf<T>& w, const Element& e) {
    const Model& m = w.model;
    const Flexible& f = m.flexible[e.flexible];
    FlexibleLimb<T>& limb = w.flexible.bodies[e.flexible];
    const index n = limb.width, modes = f.n, step = limb.body.at.step;
    const T* rows = limb.body.at.rows;
    Articulated<T>& P = w.P[f.element];
    T* L = limb.L;
    const auto column = [](const Spotted<T>& s, index j) { return FlexibleLimbs<T>::column(s.Pi, s.step, j); };
    Spatial<T>* W = w.W + w.place(e, 0);  // C, then U, then W of the modes
    for (index i = 0; i < modes; ++i) {
        W[i] = FlexibleLimbs<T>::column(rows, step, i);
        for (index j = 0; j <= i; ++j) L[n * i + j] = T(FlexibleLimbs<T>::mass(m, f, i, j));
    }
    for (index s = f.first_spot; s < f.last_spot; ++s) {
        if (!m.spots[s].children) continue;
        const Spotted<T>& spot = w.flexible.spots[s];
        const Articulated<T> of_spot = shifted(w.limbs[m.count + s].l, w.P[m.count + s]);
        P += of_spot;
        for (index i = 0; i < modes; ++i) {
            const Spatial<T> pushed = of_spot * column(spot, i);
            W[i] += pushed;
            for (index j = 0; j <= i; ++j) L[n * i + j] += dot(column(spot, j), pushed);
        }
    }
    const T small = T(SINGULAR) * size(P);
    const Spatial<T>* S = w.S + w.place(e, 0);
    if (f.held >= 0) {
        for (index i = 0; i < modes; ++i) {
            const Spatial<T> U = P * S[i];  // D gets S* C + C* S + S* P S
            for (index j = 0; j <= i; ++j) L[n * i + j] += dot(S[j], U) + dot(S[j], W[i]) + dot(W[j], S[i]);
        }
        for (index i = 0; i < modes; ++i) W[i] += P * S[i];
    }
    for (index i = modes; i < n; ++i) {
        const Spatial<T>& H = w.S[e.d + i - modes];
        w.W[e.d + i - modes] = P * H;
        for (index j = 0; j < modes; ++j) L[n * i + j] = dot(H, W[j]);
        for (index j = modes; j <= i; ++j) L[n * i + j] = dot(H, w.W[e.d + j - modes]);
        L[n * i + i] += T(m.armature[e.v + i - modes]);
    }
    Where<T> moves = everywhere<T>();
    for (index i = 0; i < n; ++i) {
        const T whole = L[n * i + i];
        for (index j = 0; j <= i; ++j) {
            T sum = L[n * i + j];
            for (index t = 0; t < j; ++t) sum -= L[n * i + t] * L[n * j + t];
            if (j < i) {
                L[n * i + j] = sum * L[n * j + j];
                continue;
            }
            moves &= is_above(sum, i < modes ? T(SINGULAR) * whole : n - modes == 1 ? small * T(e.scale * e.scale) : small);
            if (!any(moves)) return moves;
            L[n * i + i] = T(1.0) / square_root(sum);
        }
    }
    for (index i = 0; i < n; ++i) {  // row by row of L
        Spatial<T>& mine = w.W[w.place(e, i)];
        for (index t = 0; t < i; ++t) mine -= L[n * i + t] * w.W[w.place(e, t)];
        mine = L[n * i + i] * mine;
    }
    return moves;
}

// z of the body with its spots, and what acts along the modes, for forces z of the limbs.
template <class T>
inline void gather_modes(LoopWorkOf<T>& w, const Element& e, Spatial<T>& z) {
    const Model& m = w.model;
    const Flexible& f = m.flexible[e.flexible];
    FlexibleLimb<T>& limb = w.flexible.bodies[e.flexible];
    for (index j = 0; j < f.n; ++j) limb.along[j] = limb.body.at.rows[6 * limb.body.at.step + j];
    for (index s = f.first_spot; s < f.last_spot; ++s) {
        if (!m.spots[s].children) continue;
        const index k = m.count + s;
        const Spatial<T> at = pulled(w.limbs[k].l, w.z[k] + w.P[k] * w.limbs[k].c);
        const Spotted<T>& spot = w.flexible.spots[s];
        for (index j = 0; j < f.n; ++j) limb.along[j] += dot(FlexibleLimbs<T>::column(spot.Pi, spot.step, j), at);
        z += at;
    }
}

// u = L^-1 (force - H z), and what passes inward: z+ at the body.
template <class T>
inline void push_modes(LoopWorkOf<T>& w, const Element& e, const T* force) {
    const Flexible& f = w.model.flexible[e.flexible];
    const FlexibleLimb<T>& limb = w.flexible.bodies[e.flexible];
    Spatial<T>& z = w.z[f.element];
    gather_modes(w, e, z);
    const T* L = limb.L;
    const index n = limb.width;
    for (index i = 0; i < n; ++i) {
        T& x = w.u[w.place(e, i)];
        x = force[w.dof(e, i)] - dot(w.S[w.place(e, i)], z);
        if (i < f.n) x -= limb.along[i];
        for (index t = 0; t < i; ++t) x -= L[n * i + t] * w.u[w.place(e, t)];
        x *= L[n * i + i];
    }
}

// The same, and P+.
template <class T>
inline void eliminate_modes(LoopWorkOf<T>& w, const Element& e, const T* force) {
    const index k = w.model.flexible[e.flexible].element, n = w.flexible.bodies[e.flexible].width;
    push_modes(w, e, force);
    for (index i = 0; i < n; ++i) subtract(w.P[k], w.W[w.place(e, i)]);
    w.z[k] += w.P[k] * w.limbs[k].c;
    for (index i = 0; i < n; ++i) w.z[k] += w.u[w.place(e, i)] * w.W[w.place(e, i)];
}

// vdot of the modes and the hinge, for A' = phi* A(p) + c in A of the body, and A of it and its spots.
template <bool biased, class T>
inline void release_modes(LoopWorkOf<T>& w, const Element& e, const T* u, Spatial<T>* A, T* vdot) {
    const Flexible& f = w.model.flexible[e.flexible];
    const FlexibleLimb<T>& limb = w.flexible.bodies[e.flexible];
    const index n = limb.width;
    Spatial<T>& own = A[f.element];
    for (index i = 0; i < n; ++i) vdot[w.dof(e, i)] = u[w.place(e, i)] - dot(w.W[w.place(e, i)], own);
    for (index i = n; i-- > 0;) {
        T& x = vdot[w.dof(e, i)];
        x *= limb.L[n * i + i];
        for (index t = 0; t < i; ++t) vdot[w.dof(e, t)] -= limb.L[n * i + t] * x;
    }
    for (index i = f.n; i < n; ++i) own += vdot[w.dof(e, i)] * w.S[w.place(e, i)];
    w.flexible.template move_spots<biased>(w.model, e, w.S, vdot, w.limbs, A);
}

SOACRAFT_RIGID_END
