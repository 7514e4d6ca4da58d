// The Riccati equation of an SKO model: articulated body inertias, tips to base. O(n) block products.
#pragma once

#include "cholesky.hpp"
#include "congruence.hpp"
#include "sweeps.hpp"

namespace soacraft {

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

// max |P| max over rows h of H of |h|^2: what the inertia along a hinge is measured by.
template <typename Size, typename Dofs, typename T>
SOACRAFT_INLINE T inertia_scale(Size size, Dofs dofs, const T* P, const T* H) {
    T largest = T(0), longest = T(0);
    for (index i = 0; i < size * size; ++i) largest = std::fmax(largest, std::fabs(P[i]));
    for (index r = 0; r < dofs; ++r) {
        T square = T(0);
        for (index c = 0; c < size; ++c) square += H[r * size + c] * H[r * size + c];
        longest = std::fmax(longest, square);
    }
    return largest * longest;
}

// D = H P H*, G = P H* D^-1, P+ = (I - G H) P of one node. False when D is not above `tolerance` times its scale.
template <typename Size, typename Dofs, typename T>
SOACRAFT_INLINE bool articulate(Size size, Dofs dofs, T tolerance, const T* H, const T* P, T* P_plus, T* D, T* G,
                                T* work) {
    T* const HP = work;
    T* const L = HP + dofs * size;  // first the factor of D, behind it room for its eigenvalues
    for (index i = 0; i < dofs * size; ++i) HP[i] = T(0);
    detail::add_product(dofs, size, size, H, One<T>{P}, HP);
    for (index r = 0; r < dofs; ++r)
        for (index c = 0; c < dofs; ++c) {
            T sum = T(0);
            for (index i = 0; i < size; ++i) sum += HP[r * size + i] * H[c * size + i];
            D[r * dofs + c] = sum;
        }
    const T least = tolerance * inertia_scale(size, dofs, P, H);
    if (dofs == 1) {
        if (!(D[0] > least)) return false;
        for (index i = 0; i < size; ++i) G[i] = HP[i] / D[0];
    } else if (dofs > 1) {
        if (!cholesky(dofs, D, L) || !eigenvalues_above(least, dofs, D, L, L + dofs * dofs)) return false;
        for (index i = 0; i < size; ++i) {  // a row of G = P H* D^-1 is a column of D^-1 H P
            for (index r = 0; r < dofs; ++r) G[i * dofs + r] = HP[r * size + i];
            cholesky_solve(dofs, 1, L, G + i * dofs);
        }
    }
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
        const index wanted = size + dofs * (size + 2 * dofs + 1);
        if (wanted > room) room = wanted;
    }
    return room;
}

//     P(k)  = sum over children j of  A(k,j) P+(j) A*(k,j)  +  M(k)
//     D(k)  = H(k) P(k) H*(k),    G(k) = P(k) H*(k) D^-1(k)
//     P+(k) = (I - G(k) H(k)) P(k)
//
// Returns -1, or the first node whose hinge has no inertia to move: an eigenvalue of D is not above `tolerance` times
// max |P| max |h|^2 (h the rows of H). Then P and D of that node, and everything outboard of it, are worked out.
template <typename T>
SOACRAFT_INLINE index riccati(const Hinged<T>& model, const T* M, T tolerance, const Articulated<T>& out, T* work) {
    const Tree& tree = model.tree;
    const Slices body = model.body_body;
    detail::fill(out.P, M, body.start(tree.count));
    for (index i = tree.count; i-- > 0;) {
        const index k = tree.order[i], p = tree.parent[k];
        const index size = tree.node.size(k), dofs = model.hinge.size(k), at = model.hinge_body.start(k);
        const T* const H = model.H + at;
        T* const P = out.P + body.start(k);
        T* const P_plus = out.P_plus + body.start(k);
        T* const D = out.D + model.hinge_hinge.start(k);
        T* const G = out.G + at;
        const bool moves =
            size == 6 && dofs == 1
                ? detail::articulate(Fixed<6>{}, Fixed<1>{}, tolerance, H, P, P_plus, D, G, work)
                : detail::articulate(size, dofs, tolerance, H, P, P_plus, D, G, work);
        if (!moves) return k;
        if (p < 0) continue;
        const index inboard = tree.node.size(p);
        add_AYBs(inboard, size, size, inboard, model.A(k), P_plus, model.A(k), work, out.P + body.start(p));
    }
    return -1;
}

}  // namespace soacraft
