// Products of three small row-major blocks, one row of the result at a time: the workspace `t` is one row.
#pragma once

#include "block.hpp"

SOACRAFT_BEGIN

namespace detail {

template <typename Rows, typename Inner, typename Width, typename Cols, typename T>
SOACRAFT_INLINE void add_AYBs(Rows rows, Inner inner, Width width, Cols cols, const T* A, const T* Y, const T* B,
                              T* SOACRAFT_RESTRICT t, T* SOACRAFT_RESTRICT Z) {
    for (index r = 0; r < rows; ++r) {
        for (index c = 0; c < width; ++c) t[c] = T(0);
        for (index i = 0; i < inner; ++i)
            for (index c = 0; c < width; ++c) t[c] += A[r * inner + i] * Y[i * width + c];
        for (index s = 0; s < cols; ++s) {
            T sum = T(0);
            for (index c = 0; c < width; ++c) sum += t[c] * B[s * width + c];
            Z[r * cols + s] += sum;
        }
    }
}

template <typename Rows, typename Inner, typename Width, typename Cols, typename T>
SOACRAFT_INLINE void add_AsYB(Rows rows, Inner inner, Width width, Cols cols, const T* A, const T* Y, const T* B,
                              T* SOACRAFT_RESTRICT t, T* SOACRAFT_RESTRICT Z) {
    for (index r = 0; r < rows; ++r) {
        for (index c = 0; c < width; ++c) t[c] = T(0);
        for (index i = 0; i < inner; ++i)
            for (index c = 0; c < width; ++c) t[c] += A[i * rows + r] * Y[i * width + c];
        for (index c = 0; c < width; ++c)
            for (index s = 0; s < cols; ++s) Z[r * cols + s] += t[c] * B[c * cols + s];
    }
}

// x* y, the entries of y `step` apart, in two sums, since one would wait for every addition.
template <typename Size, typename Step, typename T>
SOACRAFT_INLINE T inner_product(Size n, const T* x, const T* y, Step step) {
    T even = T(0), odd = T(0);
    for (index i = 0; i + 1 < n; i += 2) even += x[i] * y[i * step], odd += x[i + 1] * y[(i + 1) * step];
    if (n % 2) even += x[n - 1] * y[(n - 1) * step];
    return even + odd;
}

// Both sides of the diagonal of row r from one sum; t is row r of A Y.
template <typename Rows, typename Inner, typename T>
SOACRAFT_INLINE void add_row(Rows rows, Inner inner, index r, const T* t, const T* A, T* SOACRAFT_RESTRICT Z) {
    for (index s = 0; s <= r; ++s) {
        const T sum = inner_product(inner, t, A + s * inner, Fixed<1>{});
        Z[r * rows + s] += sum;
        if (s < r) Z[s * rows + r] += sum;
    }
}

}  // namespace detail

// Z += A Y A* for a symmetric Y,  A (rows x inner), Z (rows x rows); t holds `inner` entries. Of six by six blocks A Y is
// computed first: half as long as row by row.
template <typename T>
SOACRAFT_INLINE void add_AYAs(index rows, index inner, const T* A, const T* Y, T* t, T* Z) {
    if (rows == 6 && inner == 6) {
        const Fixed<6> six{};
        T AY[36];
        for (index r = 0; r < 6; ++r)
            for (index c = 0; c < 6; ++c) AY[6 * r + c] = detail::inner_product(six, A + 6 * r, Y + c, six);
        for (index r = 0; r < 6; ++r) detail::add_row(six, six, r, AY + 6 * r, A, Z);
        return;
    }
    for (index r = 0; r < rows; ++r) {
        for (index c = 0; c < inner; ++c) t[c] = detail::inner_product(inner, A + r * inner, Y + c, inner);
        detail::add_row(rows, inner, r, t, A, Z);
    }
}

// Z += A Y B*,  A (rows x inner), Y (inner x width), B (cols x width), Z (rows x cols); t holds `width` entries.
template <typename T>
SOACRAFT_INLINE void add_AYBs(index rows, index inner, index width, index cols, const T* A, const T* Y, const T* B,
                              T* t, T* Z) {
    const Fixed<6> six{};
    if (rows == 6 && inner == 6 && width == 6 && cols == 6)
        detail::add_AYBs(six, six, six, six, A, Y, B, t, Z);
    else
        detail::add_AYBs(rows, inner, width, cols, A, Y, B, t, Z);
}

// Z += A* Y B,  A (inner x rows), Y (inner x width), B (width x cols), Z (rows x cols); t holds `width` entries.
template <typename T>
SOACRAFT_INLINE void add_AsYB(index rows, index inner, index width, index cols, const T* A, const T* Y, const T* B,
                              T* t, T* Z) {
    const Fixed<6> six{};
    if (rows == 6 && inner == 6 && width == 6 && cols == 6)
        detail::add_AsYB(six, six, six, six, A, Y, B, t, Z);
    else
        detail::add_AsYB(rows, inner, width, cols, A, Y, B, t, Z);
}

SOACRAFT_END
