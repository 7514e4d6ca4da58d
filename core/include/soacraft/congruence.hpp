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

}  // namespace detail

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
