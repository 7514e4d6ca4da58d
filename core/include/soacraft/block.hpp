// Products of one small block with a slice of `m` stacked columns. Blocks and slices are row-major.
#pragma once

#include "config.hpp"

SOACRAFT_BEGIN

// The right-hand side of a product: a slice u, or the sum of two slices u + w formed on the fly.
template <typename T>
struct One {
    const T* u;
    SOACRAFT_INLINE T operator[](index i) const { return u[i]; }
};

template <typename T>
struct Two {
    const T* u;
    const T* w;
    SOACRAFT_INLINE T operator[](index i) const { return u[i] + w[i]; }
};

// A size known to the compiler, so that the loops over a 6 x 6 block unroll.
template <index N>
struct Fixed {
    SOACRAFT_INLINE constexpr operator index() const { return N; }
};

namespace detail {

template <typename Rows, typename Cols, typename Columns, typename T, typename Rhs>
SOACRAFT_INLINE void add_product(Rows rows, Cols cols, Columns m, const T* A, Rhs x, T* SOACRAFT_RESTRICT y) {
    for (index r = 0; r < rows; ++r)
        for (index c = 0; c < cols; ++c)
            for (index t = 0; t < m; ++t) y[r * m + t] += A[r * cols + c] * x[c * m + t];
}

template <typename Rows, typename Cols, typename Columns, typename T, typename Rhs>
SOACRAFT_INLINE void add_transpose_product(Rows rows, Cols cols, Columns m, const T* A, Rhs x,
                                           T* SOACRAFT_RESTRICT y) {
    for (index r = 0; r < rows; ++r)
        for (index c = 0; c < cols; ++c)
            for (index t = 0; t < m; ++t) y[c * m + t] += A[r * cols + c] * x[r * m + t];
}

}  // namespace detail

// y += A x,  A (rows x cols), x (cols x m), y (rows x m). The slices x and y do not overlap.
template <typename T, typename Rhs>
SOACRAFT_INLINE void add_product(index rows, index cols, index m, const T* A, Rhs x, T* y) {
    if (rows == 6 && cols == 6 && m == 1)
        detail::add_product(Fixed<6>{}, Fixed<6>{}, Fixed<1>{}, A, x, y);
    else if (rows == 6 && cols == 6 && m == 6)  // a column of blocks
        detail::add_product(Fixed<6>{}, Fixed<6>{}, Fixed<6>{}, A, x, y);
    else if (rows == 1 && cols == 6 && m == 1)  // H of one dof
        detail::add_product(Fixed<1>{}, Fixed<6>{}, Fixed<1>{}, A, x, y);
    else if (m == 1)
        detail::add_product(rows, cols, Fixed<1>{}, A, x, y);
    else
        detail::add_product(rows, cols, m, A, x, y);
}

// y += A^T x,  A (rows x cols), x (rows x m), y (cols x m). The slices x and y do not overlap.
template <typename T, typename Rhs>
SOACRAFT_INLINE void add_transpose_product(index rows, index cols, index m, const T* A, Rhs x, T* y) {
    if (rows == 6 && cols == 6 && m == 1)
        detail::add_transpose_product(Fixed<6>{}, Fixed<6>{}, Fixed<1>{}, A, x, y);
    else if (rows == 6 && cols == 6 && m == 6)
        detail::add_transpose_product(Fixed<6>{}, Fixed<6>{}, Fixed<6>{}, A, x, y);
    else if (rows == 1 && cols == 6 && m == 1)
        detail::add_transpose_product(Fixed<1>{}, Fixed<6>{}, Fixed<1>{}, A, x, y);
    else if (m == 1)
        detail::add_transpose_product(rows, cols, Fixed<1>{}, A, x, y);
    else
        detail::add_transpose_product(rows, cols, m, A, x, y);
}

SOACRAFT_END
