// Small dense matrices, row-major: Cholesky and QR factorizations with pivoting, triangular solves.
#pragma once

#include <cmath>

#include "../lanes.hpp"

SOACRAFT_RIGID_BEGIN

// The first rows of L L* = S in the order of the largest pivots left; stops at one that is not above `zero`. L is n x n,
// its row i belongs to row order[i] of S; `left` (n) holds what is left of the diagonal. Returns the rank.
inline index pivoted_cholesky(index n, const double* S, double zero, double* L, index* order, double* left) {
    for (index i = 0; i < n; ++i) order[i] = i, left[i] = S[i * n + i];
    for (index j = 0; j < n; ++j) {
        index best = j;
        for (index i = j + 1; i < n; ++i)
            if (left[i] > left[best]) best = i;
        if (!(left[best] > zero)) return j;
        if (best != j) {
            const index row = order[j];
            const double rest = left[j];
            order[j] = order[best], order[best] = row;
            left[j] = left[best], left[best] = rest;
            for (index t = 0; t < j; ++t) {
                const double x = L[j * n + t];
                L[j * n + t] = L[best * n + t], L[best * n + t] = x;
            }
        }
        const double pivot = std::sqrt(left[j]), inverse = 1.0 / pivot;
        L[j * n + j] = pivot;
        for (index i = j + 1; i < n; ++i) {
            double sum = S[order[i] * n + order[j]];
            for (index t = 0; t < j; ++t) sum -= L[i * n + t] * L[j * n + t];
            const double x = sum * inverse;
            L[i * n + j] = x;
            left[i] -= x * x;
        }
    }
    return n;
}

// X <- L^-1 X for the leading `rank` rows and m columns of X; L has rows of `stride`.
inline void solve_lower(index rank, index stride, const double* L, index m, double* X) {
    for (index i = 0; i < rank; ++i) {
        for (index t = 0; t < i; ++t) {
            const double a = L[i * stride + t];
            for (index c = 0; c < m; ++c) X[i * m + c] -= a * X[t * m + c];
        }
        const double inverse = 1.0 / L[i * stride + i];
        for (index c = 0; c < m; ++c) X[i * m + c] *= inverse;
    }
}

// x <- L^-* x for the leading `rank` rows.
inline void solve_lower_transposed(index rank, index stride, const double* L, double* x) {
    for (index i = rank; i-- > 0;) {
        for (index t = i + 1; t < rank; ++t) x[i] -= L[t * stride + i] * x[t];
        x[i] /= L[i * stride + i];
    }
}

// A QR factorization of A (m x n, m >= n), by Householder reflections: R in the upper triangle, the vectors v of
// I - tau v v* below it, v(j) = 1. The first `own` columns are pivoted: column j of R belongs to column order[j] of A. It may
// end after some steps, for fewer rows than columns. States side by side have one order, that of the columns as they are:
// what a lane gets does not depend on the others.
template <class T>
struct PivotedQROf {
    index m, n;
    T *A, *tau, *norm;
    index* order;
    index own = n, steps = n;

    void factor() {
        if constexpr (Several<T>::value) {
            for (index c = 0; c < own; ++c) order[c] = c;
            for (index j = 0; j < steps; ++j) reflect(j);
        } else {
            for (index c = 0; c < own; ++c) order[c] = c, norm[c] = length(0, c);
            for (index j = 0; j < steps; ++j) {
                index best = j;
                for (index c = j + 1; c < own; ++c)
                    if (norm[c] > norm[best]) best = c;
                if (best != j) swap_columns(j, best);
                reflect(j);
                for (index c = j + 1; c < own; ++c) norm[c] = length(j + 1, c);
            }
        }
    }

    // Pivot j.
    T pivot(index j) const { return absolute(A[j * n + j]); }

    // The smallest and the largest pivot, of the own columns; these are pivoted, or else all are looked at.
    T smallest() const {
        T least = pivot(own - 1);
        for (index j = 0; Several<T>::value && j < own - 1; ++j) least = minimum(least, pivot(j));
        return least;
    }
    T largest() const {
        T most = pivot(0);
        for (index j = 1; Several<T>::value && j < own; ++j) most = larger(most, pivot(j));
        return most;
    }

    // The smallest pivot relative to the largest; 1 without columns.
    T ratio() const {
        if (own == 0) return 1.0;
        return pivot(0) > 0.0 ? pivot(own - 1) / pivot(0) : 0.0;
    }

    // B <- Q* B for columns of B (m x count).
    void apply_transposed(index count, T* B) const {
        for (index j = 0; j < steps; ++j) apply(j, count, B);
    }

    // x <- Q x for one column.
    void apply(T* x) const {
        for (index j = steps; j-- > 0;) apply(j, 1, x);
    }

    // The leading rows of B (own x count) <- R^-1 of them.
    void solve_upper(index count, T* B) const {
        for (index i = own; i-- > 0;) {
            for (index t = i + 1; t < own; ++t) {
                const T a = A[i * n + t];
                for (index c = 0; c < count; ++c) B[i * count + c] -= a * B[t * count + c];
            }
            const T inverse = T(1.0) / A[i * n + i];
            for (index c = 0; c < count; ++c) B[i * count + c] *= inverse;
        }
    }

    // x (own) <- R^-* x.
    void solve_upper_transposed(T* x) const {
        for (index i = 0; i < own; ++i) {
            for (index t = 0; t < i; ++t) x[i] -= A[t * n + i] * x[t];
            x[i] /= A[i * n + i];
        }
    }

private:
    T length(index from, index c) const {
        T sum(0.0);
        for (index r = from; r < m; ++r) sum += A[r * n + c] * A[r * n + c];
        return sum;
    }
    void swap_columns(index a, index b) {
        for (index r = 0; r < m; ++r) {
            const T x = A[r * n + a];
            A[r * n + a] = A[r * n + b], A[r * n + b] = x;
        }
        const index column = order[a];
        order[a] = order[b], order[b] = column;
        norm[b] = norm[a];
    }
    void reflect(index j) {
        const T x = A[j * n + j], size = square_root(length(j, j)), no(0.0);
        const Where<T> there = is_above(size, no);
        if (!any(there)) {
            tau[j] = no;
            return;
        }
        const T beta = choose(is_above(x, no), -size, size), scale = choose(there, T(1.0) / (x - beta), no);
        tau[j] = choose(there, (beta - x) / beta, no);
        for (index r = j + 1; r < m; ++r) A[r * n + j] *= scale;
        A[j * n + j] = beta;
        for (index c = j + 1; c < n; ++c) {
            T sum = A[j * n + c];
            for (index r = j + 1; r < m; ++r) sum += A[r * n + j] * A[r * n + c];
            sum *= tau[j];
            A[j * n + c] -= sum;
            for (index r = j + 1; r < m; ++r) A[r * n + c] -= sum * A[r * n + j];
        }
    }
    void apply(index j, index count, T* B) const {
        for (index c = 0; c < count; ++c) {
            T sum = B[j * count + c];
            for (index r = j + 1; r < m; ++r) sum += A[r * n + j] * B[r * count + c];
            sum *= tau[j];
            B[j * count + c] -= sum;
            for (index r = j + 1; r < m; ++r) B[r * count + c] -= sum * A[r * n + j];
        }
    }
};
typedef PivotedQROf<double> PivotedQR;

SOACRAFT_RIGID_END
