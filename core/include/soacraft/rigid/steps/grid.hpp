// Square matrices over the dofs, nv x nv by rows, as the kernels fill them: several columns at a time.
//
// T is the scalar of the model's numbers, C what holds the columns that are worked on together: Pack<W> holds W columns
// of one state (T is double), or one column of W states (T is Pack<W>); with C = T = double it is one of one.
#pragma once

#if defined(__AVX512F__) && !defined(__CUDACC__)
#include <immintrin.h>
#endif

#include <cstring>
#include <utility>

#include "../model/model.hpp"

SOACRAFT_RIGID_BEGIN

// Columns in a C when the numbers are T's.
template <class C, class T>
constexpr int columns_in = sizeof(C) / sizeof(T);

template <class C, class T>
SOACRAFT_FLAT C load(const T* x) {
    C c;
    std::memcpy(&c, x, sizeof c);
    return c;
}
template <class C, class T>
SOACRAFT_FLAT void store(T* y, const C& c) {
    std::memcpy(y, &c, sizeof c);
}

// The columns [from, to) of a C, counted from 0, and no others.
template <class C, class T>
SOACRAFT_FLAT void store_part(T* y, const C& c, index from, index to) {
    T all[columns_in<C, T>];
    store(all, c);
    for (index i = from; i < to; ++i) y[i] = all[i];
}
#if defined(__AVX512F__) && !defined(__CUDACC__)
SOACRAFT_FLAT void store_part(double* y, const Pack<8>& c, index from, index to) {
    const unsigned low = from < 0 ? 0u : from > 8 ? 8u : static_cast<unsigned>(from);
    const unsigned high = to > 8 ? 8u : to < 0 ? 0u : static_cast<unsigned>(to);
    _mm512_mask_storeu_pd(y, static_cast<__mmask8>((0xffu << low) & (0xffu >> (8u - high))), c.x);
}
#endif

template <class C>
SOACRAFT_FLAT C nonsense(const C& x) { return C(0.0) * x; }  // 0, or NaN when x is not finite

// y(r, c) = a(r) . b(c) for R rows and the columns [first, last): six terms each. a(r) stands by terms, `a_step` apart,
// or by rows with `a_step` 1; b(c) by terms.
template <int R, class C, class T>
SOACRAFT_FLAT void six_terms(const T* a, index a_row, index a_step, const T* SOACRAFT_RESTRICT b, index b_step,
                             index first, index last, T* SOACRAFT_RESTRICT y, index n) {
    constexpr int w = columns_in<C, T>;
    C s[R][6];
    for (int r = 0; r < R; ++r)
        for (int i = 0; i < 6; ++i) s[r][i] = C(a[r * a_row + i * a_step]);
    for (index c = first; c < last; c += w) {
        const C b0 = load<C>(b + c), b1 = load<C>(b + b_step + c), b2 = load<C>(b + 2 * b_step + c);
        const C b3 = load<C>(b + 3 * b_step + c), b4 = load<C>(b + 4 * b_step + c), b5 = load<C>(b + 5 * b_step + c);
        for (int r = 0; r < R; ++r) {
            const C x = s[r][0] * b0 + s[r][1] * b1 + s[r][2] * b2 + s[r][3] * b3 + s[r][4] * b4 + s[r][5] * b5;
            if (c + w <= last)
                store(y + r * n + c, x);
            else
                store_part(y + r * n + c, x, 0, last - c);
        }
    }
}

template <class C, class T>
SOACRAFT_INLINE void six_terms(index rows, const T* a, index a_row, index a_step, const T* b, index b_step, index first,
                               index last, T* y, index n) {
    for (; rows >= 4; rows -= 4, a += 4 * a_row, y += 4 * n)
        six_terms<4, C>(a, a_row, a_step, b, b_step, first, last, y, n);
    if (rows == 3) six_terms<3, C>(a, a_row, a_step, b, b_step, first, last, y, n);
    if (rows == 2) six_terms<2, C>(a, a_row, a_step, b, b_step, first, last, y, n);
    if (rows == 1) six_terms<1, C>(a, a_row, a_step, b, b_step, first, last, y, n);
}

// -- transposition ----------------------------------------------------------------------------------------------------

#if !defined(__CUDACC__)
// Exchange the columns with bit S between two rows of a square of W.
template <int S, int W, int... I>
SOACRAFT_FLAT void exchange(Pack<W>& a, Pack<W>& b, std::integer_sequence<int, I...>) {
#if defined(__clang__)
    const Pack<W> low(__builtin_shufflevector(a.x, b.x, ((I & S) ? W + I - S : I)...));
    const Pack<W> high(__builtin_shufflevector(a.x, b.x, ((I & S) ? W + I : I + S)...));
#else
    typedef typename Pack<W>::Mask Mask;
    const Pack<W> low(__builtin_shuffle(a.x, b.x, Mask{((I & S) ? W + I - S : I)...}));
    const Pack<W> high(__builtin_shuffle(a.x, b.x, Mask{((I & S) ? W + I : I + S)...}));
#endif
    a = low, b = high;
}

template <int S, int W>
SOACRAFT_FLAT void transpose_from(Pack<W>* r) {
    if constexpr (S < W) {
        for (int i = 0; i < W; ++i)
            if (!(i & S)) exchange<S>(r[i], r[i + S], std::make_integer_sequence<int, W>());
        transpose_from<2 * S>(r);
    }
}
template <int W>
SOACRAFT_FLAT void transpose(Pack<W>* r) { transpose_from<1>(r); }

// Copy the square of W at (i, j) to (j, i).
template <int W>
SOACRAFT_FLAT void mirror_tile(double* y, index n, index i, index j, Pack<W>& bad) {
    Pack<W> r[W];
    for (int k = 0; k < W; ++k) {
        r[k] = load<Pack<W>>(y + (i + k) * n + j);
        bad += nonsense(r[k]);
    }
    transpose(r);
    for (int k = 0; k < W; ++k) store(y + (j + k) * n + i, r[k]);
}

#endif

// Copy what is above the diagonal to below. False when a number is not finite.
template <class C, class T>
SOACRAFT_INLINE bool mirror(T* y, index n) {
    constexpr int w = columns_in<C, T>;
    T bad(0.0);
    C bads(0.0);
    for (index i = 0; i < n; i += w) {
        const index next = i + w < n ? i + w : n;
        for (index r = i; r < next; ++r) {  // the square on the diagonal, and its row where no other fits
            bad += nonsense(y[r * n + r]);
            const index end = w > 1 && next + w <= n ? next : n;
            for (index c = r + 1; c < end; ++c) {
                bad += nonsense(y[r * n + c]);
                y[c * n + r] = y[r * n + c];
            }
        }
        if constexpr (w > 1) {
            index j = next;
            for (; j + w <= n; j += w) mirror_tile(y, n, i, j, bads);
            if (j < n && n - w >= next) mirror_tile(y, n, i, n - w, bads);
        }
    }
    return !any_not_above(T(1.0), bad) && !any_not_above(C(1.0), bads);
}

template <class T>
SOACRAFT_FLAT void fill_zero(T* y, index n) {
    for (index i = 0; i < n; ++i) y[i] = T(0.0);
}

SOACRAFT_RIGID_END
