// Small symmetric matrices, row-major: Cholesky factor, solve, and a bound below on the eigenvalues.
#pragma once

#include "scalar.hpp"

SOACRAFT_BEGIN

// L L* = D from the lower triangle of D, into the lower triangle of L (which may be D itself).
// False unless D is positive definite.
template <typename T>
SOACRAFT_INLINE bool cholesky(index n, const T* D, T* L) {
    for (index r = 0; r < n; ++r)
        for (index c = 0; c <= r; ++c) {
            T sum = D[r * n + c];
            for (index i = 0; i < c; ++i) sum -= L[r * n + i] * L[c * n + i];
            if (c < r) {
                L[r * n + c] = sum / L[c * n + c];
            } else {
                if (!above(sum, T(0))) return false;
                L[r * n + r] = square_root(sum);
            }
        }
    return true;
}

// x <- L^-1 x for m columns.
template <typename T>
SOACRAFT_INLINE void solve_lower(index n, index m, const T* L, T* x) {
    for (index r = 0; r < n; ++r) {
        for (index i = 0; i < r; ++i)
            for (index t = 0; t < m; ++t) x[r * m + t] -= L[r * n + i] * x[i * m + t];
        for (index t = 0; t < m; ++t) x[r * m + t] /= L[r * n + r];
    }
}

// x <- D^-1 x for m columns, D = L L*.
template <typename T>
SOACRAFT_INLINE void cholesky_solve(index n, index m, const T* L, T* x) {
    solve_lower(n, m, L, x);
    for (index r = n; r-- > 0;) {
        for (index i = r + 1; i < n; ++i)
            for (index t = 0; t < m; ++t) x[r * m + t] -= L[i * n + r] * x[i * m + t];
        for (index t = 0; t < m; ++t) x[r * m + t] /= L[r * n + r];
    }
}

// tr D^-1 = the sum of squares of L^-1; no eigenvalue of D is below its inverse. t holds n entries.
template <typename T>
SOACRAFT_INLINE T trace_of_inverse(index n, const T* L, T* t) {
    T trace = T(0);
    for (index column = 0; column < n; ++column) {
        for (index i = 0; i < n; ++i) t[i] = T(i == column);
        solve_lower(n, 1, L, t);
        for (index i = column; i < n; ++i) trace += t[i] * t[i];
    }
    return trace;
}

namespace detail {

// One Jacobi rotation: S <- J* S J with S(p,q) = 0.
template <typename T>
SOACRAFT_INLINE void rotate(index n, T* S, index p, index q) {
    const T half = (S[q * n + q] - S[p * n + p]) / (T(2) * S[p * n + q]);
    const T tangent = (half < T(0) ? T(-1) : T(1)) / (std::fabs(half) + std::sqrt(half * half + T(1)));
    const T cosine = T(1) / std::sqrt(tangent * tangent + T(1)), sine = tangent * cosine;
    for (index i = 0; i < n; ++i) {
        const T x = S[i * n + p], y = S[i * n + q];
        S[i * n + p] = cosine * x - sine * y;
        S[i * n + q] = sine * x + cosine * y;
    }
    for (index i = 0; i < n; ++i) {
        const T x = S[p * n + i], y = S[q * n + i];
        S[p * n + i] = cosine * x - sine * y;
        S[q * n + i] = sine * x + cosine * y;
    }
}

}  // namespace detail

// The smallest eigenvalue of the symmetric matrix given by the lower triangle of S, n >= 1, right to rounding of the
// largest; S is used up. Jacobi's method converges in a handful of sweeps; the limit stops it on NaN.
template <typename T>
SOACRAFT_INLINE T smallest_eigenvalue(index n, T* S) {
    for (index r = 0; r < n; ++r)
        for (index c = 0; c < r; ++c) S[c * n + r] = S[r * n + c];
    bool turned = true;
    for (int sweep = 0; turned && sweep < 40; ++sweep) {
        turned = false;
        T largest = T(0);
        for (index i = 0; i < n; ++i) largest = std::fmax(largest, std::fabs(S[i * n + i]));
        for (index p = 0; p < n; ++p)
            for (index q = p + 1; q < n; ++q) {
                if (largest + std::fabs(S[p * n + q]) == largest) continue;
                detail::rotate(n, S, p, q);
                turned = true;
            }
    }
    T smallest = S[0];
    for (index i = 1; i < n; ++i) smallest = S[i * n + i] < smallest ? S[i * n + i] : smallest;
    return smallest;
}

// Whether every eigenvalue of D = L L* is above `least` (not negative). Nearly always the bound decides; of several
// states side by side it alone does.
// `work` holds n n + n entries.
template <typename T>
SOACRAFT_INLINE bool eigenvalues_above(T least, index n, const T* D, const T* L, T* work) {
    if (above(T(1), least * trace_of_inverse(n, L, work + n * n))) return true;
    if constexpr (Several<T>::value) {
        return false;
    } else {
        for (index i = 0; i < n * n; ++i) work[i] = D[i];
        return smallest_eigenvalue(n, work) > least;
    }
}

SOACRAFT_END
