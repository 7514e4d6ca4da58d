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
        const double* SOACRAFT_RESTRICT above = A + k * n;
        for (index i = k + 1; i < n; ++i) {
            double* SOACRAFT_RESTRICT row = A + i * n;
            const double m = row[k] *= inverse;
            if (m == 0) continue;
            for (index j = k + 1; j < n; ++j) row[j] -= m * above[j];
        }
    }
    return true;
}

// x <- A^-1 x from the factors.
inline void lu_solve(const double* A, index n, const index* rows, double* x) {
    for (index k = 0; k < n; ++k)
        if (rows[k] != k) std::swap(x[k], x[rows[k]]);
    const auto sum = [&](index i, index from, index to) {  // two sums side by side
        const double* row = A + i * n;
        double a = 0, b = 0;
        index j = from;
        for (; j + 2 <= to; j += 2) a += row[j] * x[j], b += row[j + 1] * x[j + 1];
        return j < to ? a + b + row[j] * x[j] : a + b;
    };
    for (index i = 1; i < n; ++i) x[i] -= sum(i, 0, i);
    for (index i = n; i-- > 0;) x[i] = (x[i] - sum(i, i + 1, n)) / A[i * n + i];
}

SOACRAFT_SOLVERS_END
