// The articulated step across one hinge, in inertially oriented axes, for any number of dofs:
//
//     D = H P H* + J = L L*,   W = P H* L^-*,   P+ = P - W W*,   z+ = z + P+ c + W L^-1 (T - H z)
#pragma once

#include "articulated.hpp"

SOACRAFT_RIGID_BEGIN

// x <- L^-1 x for the dofs of one hinge.
SOACRAFT_FLAT void divide(index n, const double* L, double* x) {
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
SOACRAFT_FLAT void divide_transposed(index n, const double* L, double* x) {
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
inline bool factor_hinge(LoopWork& w, const Element& e, index k) {
    const Articulated<double>& P = w.P[k];
    const index n = dofs(e.kind);
    const Twist* S = w.S + e.d;
    Twist* W = w.W + e.d;
    double* L = w.factor(e, k);
    const double small = SINGULAR * size(P);
    for (index i = 0; i < n; ++i) W[i] = P * S[i];
    if (n == 1) {
        const double D = dot(S[0], W[0]) + w.model.armature[e.v];
        if (!(D > small * e.scale * e.scale)) return false;
        L[0] = 1.0 / std::sqrt(D);
        W[0] = L[0] * W[0];
        return true;
    }
    for (index i = 0; i < n; ++i)
        for (index j = 0; j <= i; ++j) {
            double sum = dot(S[i], W[j]) + (i == j ? w.model.armature[e.v + i] : 0.0);
            for (index t = 0; t < j; ++t) sum -= L[6 * i + t] * L[6 * j + t];
            if (i == j) {
                if (!(sum > small)) return false;
                L[6 * i + i] = 1.0 / std::sqrt(sum);
            } else {
                L[6 * i + j] = sum * L[6 * j + j];
            }
        }
    for (index i = 0; i < n; ++i) {  // W = U L^-*: row by row of L
        for (index t = 0; t < i; ++t) W[i] -= L[6 * i + t] * W[t];
        W[i] = L[6 * i + i] * W[i];
    }
    return true;
}

// u = L^-1 (T - H z), and what passes inward: P+ and z+ at the element itself.
inline void eliminate_hinge(LoopWork& w, const Element& e, index k, const double* T) {
    Articulated<double>& P = w.P[k];
    Twist& z = w.z[k];
    const index n = dofs(e.kind);
    const Twist *S = w.S + e.d, *W = w.W + e.d;
    double* u = w.u + e.d;
    for (index i = 0; i < n; ++i) u[i] = T[e.v + i] - dot(S[i], z);
    divide(n, w.factor(e, k), u);
    for (index i = 0; i < n; ++i) subtract(P, W[i]);
    z += P * w.limbs[k].c;
    for (index i = 0; i < n; ++i) z += u[i] * W[i];
}

// vdot(k) = L^-* (u - W* A') with A' = phi* A(p) + c; A = A' + H* vdot.
inline void release_hinge(LoopWork& w, const Element& e, index k, const double* u, Twist& A, double* vdot) {
    const index n = dofs(e.kind);
    const Twist *S = w.S + e.d, *W = w.W + e.d;
    double x[6];
    for (index i = 0; i < n; ++i) x[i] = u[e.d + i] - dot(W[i], A);
    divide_transposed(n, w.factor(e, k), x);
    for (index i = 0; i < n; ++i) A += x[i] * S[i], vdot[e.v + i] = x[i];
}

SOACRAFT_RIGID_END
