// The Riccati equation of an SKO model: articulated body inertias, tips to base. O(n) block products.
#pragma once

#include "cholesky.hpp"
#include "congruence.hpp"
#include "doubt.hpp"
#include "sweeps.hpp"

SOACRAFT_BEGIN

// The weights and hinge maps of an SKO model. Block by block, M, P and P+ are cut by `body_body`, H and G by
// `hinge_body` (H is dofs x size, G is size x dofs), D by `hinge_hinge`. No node has more dofs than its size.
template <typename T>
struct Hinged {
    Tree tree;
    Slices hinge;
    Slices body_body;
    Slices hinge_body;
    Slices hinge_hinge;
    Edges<T> A;
    const T* H;
};

// Views of a solution (or, with const T, of one that was found before).
template <typename T>
struct Articulated {
    T* P;
    T* P_plus;
    T* D;
    T* G;
};

namespace detail {

// P+ = the symmetric part of P - G (H P); HP is dofs x size. Rounding must not let an inertia lose its symmetry over
// thousands of bodies.
template <typename Size, typename Dofs, typename T>
SOACRAFT_INLINE void remove_hinge(Size size, Dofs dofs, const T* P, const T* G, const T* HP,
                                  T* SOACRAFT_RESTRICT P_plus) {
    for (index r = 0; r < size; ++r)
        for (index c = 0; c <= r; ++c) {
            T upper = P[c * size + r], lower = P[r * size + c];
            for (index i = 0; i < dofs; ++i) {
                upper -= G[c * dofs + i] * HP[i * size + r];
                lower -= G[r * dofs + i] * HP[i * size + c];
            }
            P_plus[r * size + c] = P_plus[c * size + r] = (upper + lower) * T(0.5);
        }
}

// `sizes`: for each row of P what its rounding is part of, as it is carried inward,  dP+ = (I - G H) dP (I - G H)*.
// At the node itself that is the diagonal of P, unless more was lost outboard. `along`: the same of each dof, h size h*.
// `grown`: what the hinge makes more of, all of it at a node without inertia of its own, or else the diagonal: numbers
// without signs cannot see that rounding does not grow from body to body along a chain.
template <typename Size, typename Dofs, typename T>
SOACRAFT_INLINE void meet_sizes(Size size, Dofs dofs, T tolerance, bool massless, const T* P, const T* H, T* sizes,
                                T* along, T* grown) {
    const T least = T(FAINT) / tolerance;
    for (index r = 0; r < dofs; ++r) along[r] = grown[r] = T(0);
    for (index i = 0; i < size; ++i) {
        const T own = absolute(P[i * size + i]);
        sizes[i] = maximum(if_larger(FORGOTTEN, sizes[i], own), least);
        for (index r = 0; r < dofs; ++r) {
            const T square = H[r * size + i] * H[r * size + i];
            along[r] += square * sizes[i];
            grown[r] += square * (massless ? sizes[i] : own);
        }
    }
    // Rotations are rounded too: what they turn away from an axis leaves the square of their rounding on it.
    for (index i = 0; i + 2 < size && i < 6; i += 3)
        for (index r = 0; r < dofs; ++r)
            for (index j = i; j < i + 3; ++j)
                along[r] += tolerance * H[r * size + j] * H[r * size + j] * (sizes[i] + sizes[i + 1] + sizes[i + 2]);
}

// L L* = D and whether every eigenvalue of D, its rows and columns divided by the roots of `along`, is above `tolerance`.
// `work` holds 2 n n + 2 n entries.
template <typename Dofs, typename T>
SOACRAFT_INLINE bool factor_dofs(Dofs n, T tolerance, const T* along, const T* D, T* L, T* work) {
    T *const root = work, *const scaled = root + n;
    for (index r = 0; r < n; ++r) root[r] = square_root(along[r]);
    for (index r = 0; r < n; ++r)
        for (index c = 0; c < n; ++c) scaled[r * n + c] = D[r * n + c] / root[r] / root[c];
    if (!cholesky(n, scaled, L) || !eigenvalues_above(tolerance, n, scaled, L, scaled + n * n)) return false;
    for (index r = 0; r < n; ++r)
        for (index c = 0; c <= r; ++c) L[r * n + c] *= root[r];
    return true;
}

// D = H P H*, G = P H* D^-1, P+ = (I - G H) P of one node. False when D is not above `tolerance` times what it was
// computed from; `sizes` as above, those of the node, then of what it passes inward.
template <typename Size, typename Dofs, typename T>
SOACRAFT_INLINE bool articulate(Size size, Dofs dofs, T tolerance, bool massless, const T* H, const T* P, T* P_plus,
                                T* D, T* G, T* sizes, T* work) {
    T* const HP = work;
    T *const along = HP + dofs * size, *const grown = along + dofs;
    T* const L = grown + dofs;  // first the factor of D, behind it room for its eigenvalues
    for (index i = 0; i < dofs * size; ++i) HP[i] = T(0);
    detail::add_product(dofs, size, size, H, One<T>{P}, HP);
    for (index r = 0; r < dofs; ++r)
        for (index c = 0; c < dofs; ++c) {
            T sum = T(0);
            for (index i = 0; i < size; ++i) sum += HP[r * size + i] * H[c * size + i];
            D[r * dofs + c] = sum;
        }
    meet_sizes(size, dofs, tolerance, massless, P, H, sizes, along, grown);
    if (dofs == 1) {
        if (!above(D[0], tolerance * along[0])) return false;
        for (index i = 0; i < size; ++i) G[i] = HP[i] / D[0];
    } else if (dofs > 1) {
        if (!factor_dofs(dofs, tolerance, along, D, L, L + dofs * dofs)) return false;
        for (index i = 0; i < size; ++i) {  // a row of G = P H* D^-1 is a column of D^-1 H P
            for (index r = 0; r < dofs; ++r) G[i * dofs + r] = HP[r * size + i];
            cholesky_solve(dofs, 1, L, G + i * dofs);
        }
    }
    for (index i = 0; i < size; ++i)
        for (index r = 0; r < dofs; ++r) sizes[i] += G[i * dofs + r] * G[i * dofs + r] * grown[r];
    remove_hinge(size, dofs, P, G, HP, P_plus);
    return true;
}

}  // namespace detail

// How many entries the workspace of `riccati` must have.
template <typename T>
SOACRAFT_INLINE index riccati_room(const Hinged<T>& model) {
    index room = 0;
    for (index k = 0; k < model.tree.count; ++k) {
        const index size = model.tree.node.size(k), dofs = model.hinge.size(k);
        const index wanted = size + dofs * (size + 3 * dofs + 4);
        if (wanted > room) room = wanted;
    }
    return room + model.tree.node.start(model.tree.count);
}

//     P(k)  = sum over children j of  A(k,j) P+(j) A*(k,j)  +  M(k)
//     D(k)  = H(k) P(k) H*(k),    G(k) = P(k) H*(k) D^-1(k)
//     P+(k) = (I - G(k) H(k)) P(k)
//
// Returns -1, or the first node whose hinge may have no inertia to move: D is not above `tolerance` times what it was
// computed from, row by row, so that units do not matter. Then P and D of that node, and everything outboard of it, are
// computed.
template <typename T>
SOACRAFT_INLINE index riccati(const Hinged<T>& model, const T* M, T tolerance, const Articulated<T>& out, T* work) {
    const Tree& tree = model.tree;
    const Slices body = model.body_body;
    detail::fill(out.P, M, body.start(tree.count));
    T* const all_sizes = work;
    for (index i = 0; i < tree.node.start(tree.count); ++i) *work++ = T(0);
    for (index i = tree.count; i-- > 0;) {
        const index k = tree.order[i], p = tree.parent[k];
        const index size = tree.node.size(k), dofs = model.hinge.size(k), at = model.hinge_body.start(k);
        const T* const H = model.H + at;
        T* const P = out.P + body.start(k);
        T* const P_plus = out.P_plus + body.start(k);
        T* const D = out.D + model.hinge_hinge.start(k);
        T* const G = out.G + at;
        T* const sizes = all_sizes + tree.node.start(k);
        bool massless = true;
        for (index j = 0; j < size; ++j) massless = massless && is_zero(M[body.start(k) + j * size + j]);
        const bool moves =
            size == 6 && dofs == 1
                ? detail::articulate(Fixed<6>{}, Fixed<1>{}, tolerance, massless, H, P, P_plus, D, G, sizes, work)
                : detail::articulate(size, dofs, tolerance, massless, H, P, P_plus, D, G, sizes, work);
        if (!moves) return k;
        if (p < 0) continue;
        const index inboard = tree.node.size(p);
        add_AYAs(inboard, size, model.A(k), P_plus, work, out.P + body.start(p));
        T* const carried = all_sizes + tree.node.start(p);
        for (index r = 0; r < inboard; ++r)
            for (index c = 0; c < size; ++c) carried[r] += model.A(k)[r * size + c] * model.A(k)[r * size + c] * sizes[c];
    }
    return -1;
}

SOACRAFT_END
