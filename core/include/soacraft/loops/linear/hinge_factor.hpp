// The articulated step across one hinge, in inertially oriented axes, for any number of dofs:
//
//     D = H P H* + J = L L*,   W = P H* L^-*,   P+ = P - W W*,   z+ = z + P+ c + W L^-1 (force - H z)
#pragma once

#include "modal_factor.hpp"

SOACRAFT_RIGID_BEGIN

// x <- L^-1 x for the dofs of one hinge.
template <class T>
SOACRAFT_FLAT void divide(index n, const T* L, T* x) {
    if (n == 1) {
        x[0] *= L[0];
        return;
    }
    for (index i = 0; i < n; ++i) {
        for (index t = 0; t < i; ++t) x[i] -= L[6 * i + t] * x[t];
        x[i] *= L[6 * i + i];
    }
}
// x <- L^-* x
template <class T>
SOACRAFT_FLAT void divide_transposed(index n, const T* L, T* x) {
    if (n == 1) {
        x[0] *= L[0];
        return;
    }
    for (index i = n; i-- > 0;) {
        for (index t = i + 1; t < n; ++t) x[i] -= L[6 * t + i] * x[t];
        x[i] *= L[6 * i + i];
    }
}

// Factor the hinge of element k: L with the inverse of its diagonal, and W. False without inertia to move.
template <class T>
inline Where<T> factor_hinge(LoopWorkOf<T>& w, const Element& e, index k) {
    if (e.flexible >= 0) return factor_modes(w, e);
    const Articulated<T>& P = w.P[k];
    const index n = dofs(e.kind);
    const Spatial<T>* S = w.S + e.d;
    Spatial<T>* W = w.W + e.d;
    T* L = w.factor(e, k);
    const T small = T(SINGULAR) * size(P);
    for (index i = 0; i < n; ++i) W[i] = P * S[i];
    if (n == 1) {
        const T D = dot(S[0], W[0]) + T(w.model.armature[e.v]);
        const Where<T> moves = is_above(D, small * T(e.scale * e.scale));
        if (!any(moves)) return moves;
        L[0] = T(1.0) / square_root(D);
        W[0] = L[0] * W[0];
        return moves;
    }
    Where<T> moves = everywhere<T>();
    for (index i = 0; i < n; ++i)
        for (index j = 0; j <= i; ++j) {
            T sum = dot(S[i], W[j]);
            if (i == j) sum += T(w.model.armature[e.v + i]);
            for (index t = 0; t < j; ++t) sum -= L[6 * i + t] * L[6 * j + t];
            if (i == j) {
                moves &= is_above(sum, small);
                if (!any(moves)) return moves;
                L[6 * i + i] = T(1.0) / square_root(sum);
            } else {
                L[6 * i + j] = sum * L[6 * j + j];
            }
        }
    for (index i = 0; i < n; ++i) {  // W = U L^-*: row by row of L
        for (index t = 0; t < i; ++t) W[i] -= L[6 * i + t] * W[t];
        W[i] = L[6 * i + i] * W[i];
    }
    return moves;
}

// u = L^-1 (force - H z), and what passes inward: P+ and z+ at the element itself.
template <class T>
inline void eliminate_hinge(LoopWorkOf<T>& w, const Element& e, index k, const T* force) {
    if (e.flexible >= 0) return eliminate_modes(w, e, force);
    Articulated<T>& P = w.P[k];
    Spatial<T>& z = w.z[k];
    const index n = dofs(e.kind);
    const Spatial<T> *S = w.S + e.d, *W = w.W + e.d;
    T* u = w.u + e.d;
    for (index i = 0; i < n; ++i) u[i] = force[e.v + i] - dot(S[i], z);
    divide(n, w.factor(e, k), u);
    for (index i = 0; i < n; ++i) subtract(P, W[i]);
    z += P * w.limbs[k].c;
    for (index i = 0; i < n; ++i) z += u[i] * W[i];
}

// vdot(k) = L^-* (u - W* A') with A' = phi* A(p) + c; A = A' + H* vdot. Of a flexible body A must be that of an array of all limbs,
// which gets those of its spots, too; `biased`: with what velocity adds to them.
template <bool biased, class T>
inline void release_hinge(LoopWorkOf<T>& w, const Element& e, index k, const T* u, Spatial<T>& A, T* vdot) {
    if (e.flexible >= 0) return release_modes<biased>(w, e, u, &A - k, vdot);
    const index n = dofs(e.kind);
    const Spatial<T> *S = w.S + e.d, *W = w.W + e.d;
    T x[6];
    for (index i = 0; i < n; ++i) x[i] = u[e.d + i] - dot(W[i], A);
    divide_transposed(n, w.factor(e, k), x);
    for (index i = 0; i < n; ++i) A += x[i] * S[i], vdot[e.v + i] = x[i];
}

SOACRAFT_RIGID_END
