// Lyapunov equations of a tree: block-diagonal solutions by one sweep. O(n) block products each.
//
// Two families of weights stand on the same edges: A between the slices of the tree's nodes, B between slices of its
// own, so that X(k) and Y(k) are size(k) x right.size(k). `block` cuts X and Y.
#pragma once

#include "congruence.hpp"
#include "sweeps.hpp"

SOACRAFT_BEGIN

namespace detail {

// Whether the edge above k carries nothing, some block on it having no entries.
SOACRAFT_INLINE bool carries_nothing(const Tree& tree, const Slices& right, index k) {
    const index p = tree.parent[k];
    return p < 0 || tree.node.size(p) == 0 || tree.node.size(k) == 0 || right.size(p) == 0 || right.size(k) == 0;
}

}  // namespace detail

// How many entries the workspace of a Lyapunov sweep must have.
SOACRAFT_INLINE index lyapunov_room(const Tree& tree, const Slices& right) {
    index room = 0;
    for (index k = 0; k < tree.count; ++k) {
        if (detail::carries_nothing(tree, right, k)) continue;
        if (right.size(k) > room) room = right.size(k);
        if (right.size(tree.parent[k]) > room) room = right.size(tree.parent[k]);
    }
    return room;
}

// X = Y - E_A Y E_B*, tips to base:      Y(k) = X(k) + sum over children j of A(k,j) Y(j) B*(k,j)
template <typename T>
SOACRAFT_INLINE void forward_lyapunov(const Tree& tree, const Slices& right, const Edges<T>& A, const Edges<T>& B,
                                      const Slices& block, const T* X, T* Y, T* work) {
    const Slices left = tree.node;
    detail::fill(Y, X, block.start(tree.count));
    for (index i = tree.count; i-- > 0;) {
        const index k = tree.order[i], p = tree.parent[k];
        if (detail::carries_nothing(tree, right, k)) continue;
        add_AYBs(left.size(p), left.size(k), right.size(k), right.size(p), A(k), Y + block.start(k), B(k), work,
                 Y + block.start(p));
    }
}

// X = Y - diagOf{ E_A* Y E_B }, base to tips:      Y(k) = X(k) + A*(p,k) Y(p) B(p,k),   p the parent of k
template <typename T>
SOACRAFT_INLINE void backward_lyapunov(const Tree& tree, const Slices& right, const Edges<T>& A, const Edges<T>& B,
                                       const Slices& block, const T* X, T* Y, T* work) {
    const Slices left = tree.node;
    detail::fill(Y, X, block.start(tree.count));
    for (index i = 0; i < tree.count; ++i) {
        const index k = tree.order[i], p = tree.parent[k];
        if (detail::carries_nothing(tree, right, k)) continue;
        add_AsYB(left.size(k), left.size(p), right.size(p), right.size(k), A(k), Y + block.start(p), B(k), work,
                 Y + block.start(k));
    }
}

SOACRAFT_END
