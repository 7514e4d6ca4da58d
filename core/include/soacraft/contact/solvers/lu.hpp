// Dense linear equations with row exchanges.
#pragma once

#include <algorithm>
#include <cmath>

#include "problem.hpp"

SOACRAFT_SOLVERS_BEGIN

// A (n x n, by rows) <- its factors, `rows` <- the exchanges; false where a pivot is not above `least`.
inline bool lu_factor(double* A, index n, double least, index* rows) {
    for (index k = 0; k < n; ++k) {
        if (n > LONG) interrupt::check();
        index best = k;
        for (index i = k + 1; i < n; ++i)
            if (std::fabs(A[i * n + k]) > std::fabs(A[best * n + k])) best = i;
        if (!(std::fabs(A[best * n + k]) > least)) return false;
        rows[k] = best;
        if (best != k) std::swap_ranges(A + k * n, A + (k + 1) * n, A + best * n);
        const double inverse = 1 / A[k * n + k];
        for (index i = k + 1; i < n; ++i) {
            const double m = A[i * n + k] *= inverse;
            if (m == 0) continue;
            for (index j = k + 1; j < n; ++j) A[i * n + j] -= m * A[k * n + j];
        }
    }
    return true;
}

// x <- A^-1 x from the factors.
inline void lu_solve(const double* A, index n, const index* rows, double* x) {
    for (index k = 0; k < n; ++k)
        if (rows[k] != k) std::swap(x[k], x[rows[k]]);
    for (index i = 1; i < n; ++i)
        for (index j = 0; j < i; ++j) x[i] -= A[i * n + j] * x[j];
    for (index i = n; i-- > 0;) {
        for (index j = i + 1; j < n; ++j) x[i] -= A[i * n + j] * x[j];
        x[i] /= A[i * n + i];
    }
}

SOACRAFT_SOLVERS_END
