// The two sweeps of an SKO model over `m` stacked columns, and their tilde forms. O(n) block products each.
#pragma once

#include "block.hpp"
#include "tree.hpp"

SOACRAFT_BEGIN

namespace detail {

template <typename T>
SOACRAFT_INLINE void fill(T* y, const T* x, index size) {
    for (index i = 0; i < size; ++i) y[i] = x[i];
}

template <typename T>
SOACRAFT_INLINE void fill_zero(T* y, index size) {
    for (index i = 0; i < size; ++i) y[i] = T(0);
}

}  // namespace detail

// phi x, tips to base:      y(k) = x(k) + sum over children j of A(k,j) y(j)
template <typename T>
SOACRAFT_INLINE void gather(const Tree& tree, const Edges<T>& A, index m, const T* x, T* y) {
    const Slices node = tree.node;
    detail::fill(y, x, node.start(tree.count) * m);
    for (index i = tree.count; i-- > 0;) {
        const index k = tree.order[i], p = tree.parent[k];
        if (p < 0) continue;
        add_product(node.size(p), node.size(k), m, A(k), One<T>{y + node.start(k) * m},
                    y + node.start(p) * m);
    }
}

// (phi - I) x, tips to base:    y(k) = sum over children j of A(k,j) [y(j) + x(j)]
template <typename T>
SOACRAFT_INLINE void gather_tilde(const Tree& tree, const Edges<T>& A, index m, const T* x, T* y) {
    const Slices node = tree.node;
    detail::fill_zero(y, node.start(tree.count) * m);
    for (index i = tree.count; i-- > 0;) {
        const index k = tree.order[i], p = tree.parent[k];
        if (p < 0) continue;
        const index at = node.start(k) * m;
        add_product(node.size(p), node.size(k), m, A(k), Two<T>{y + at, x + at}, y + node.start(p) * m);
    }
}

// phi* x, base to tips:     y(k) = x(k) + A*(p,k) y(p),   p the parent of k
template <typename T>
SOACRAFT_INLINE void scatter(const Tree& tree, const Edges<T>& A, index m, const T* x, T* y) {
    const Slices node = tree.node;
    detail::fill(y, x, node.start(tree.count) * m);
    for (index i = 0; i < tree.count; ++i) {
        const index k = tree.order[i], p = tree.parent[k];
        if (p < 0) continue;
        add_transpose_product(node.size(p), node.size(k), m, A(k), One<T>{y + node.start(p) * m},
                              y + node.start(k) * m);
    }
}

// (phi - I)* x, base to tips:   y(k) = A*(p,k) [y(p) + x(p)],   p the parent of k
template <typename T>
SOACRAFT_INLINE void scatter_tilde(const Tree& tree, const Edges<T>& A, index m, const T* x, T* y) {
    const Slices node = tree.node;
    detail::fill_zero(y, node.start(tree.count) * m);
    for (index i = 0; i < tree.count; ++i) {
        const index k = tree.order[i], p = tree.parent[k];
        if (p < 0) continue;
        const index at = node.start(p) * m;
        add_transpose_product(node.size(p), node.size(k), m, A(k), Two<T>{y + at, x + at},
                              y + node.start(k) * m);
    }
}

SOACRAFT_END
