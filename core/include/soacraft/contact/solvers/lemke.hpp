// Linear complementarity problems by Lemke's pivots:  w = M z + q,  w >= 0,  z >= 0,  w* z = 0.
//
// For copositive M (contact with friction in a pyramid is one) it ends in a solution or in a ray that shows there is none.
// Ties are broken by the smallest index, except that the artificial variable leaves whenever it can. O(n^2) a pivot.
#pragma once

#include <cmath>
#include <vector>

#include "../../interrupt.hpp"
#include "../target.hpp"

SOACRAFT_SOLVERS_BEGIN

enum class Lemke { solved, ray, spent };

inline Lemke lemke(const double* M, const double* q, index n, index most, double* z, index& pivots) {
    // Columns of the tableau: w_1..w_n, z_1..z_n, the artificial z_0, the right-hand side.
    const index width = 2 * n + 2, artificial = 2 * n, right = 2 * n + 1;
    std::vector<double> T(static_cast<std::size_t>(n * width), 0.0);
    std::vector<index> basis(static_cast<std::size_t>(n));
    double size = 0;
    index leaving = -1;
    for (index i = 0; i < n; ++i) {
        double* row = T.data() + i * width;
        row[i] = 1, row[artificial] = -1, row[right] = q[i], basis[static_cast<std::size_t>(i)] = i;
        for (index j = 0; j < n; ++j) row[n + j] = -M[i * n + j];
        size = std::fmax(size, std::fabs(q[i]));
        if (q[i] < 0 && (leaving < 0 || q[i] < q[leaving])) leaving = i;
    }
    for (index i = 0; i < n; ++i) z[i] = 0;
    pivots = 0;
    if (leaving < 0) return Lemke::solved;
    index entering = artificial;
    const double tiny = 1e-11;
    for (;; ++pivots) {
        if (pivots == most) return Lemke::spent;
        interrupt::check(pivots);
        double* row = T.data() + leaving * width;
        const double inverse = 1 / row[entering];
        for (index j = 0; j < width; ++j) row[j] *= inverse;
        row[entering] = 1;
        for (index i = 0; i < n; ++i) {
            double* other = T.data() + i * width;
            const double m = other[entering];
            if (i == leaving || m == 0) continue;
            for (index j = 0; j < width; ++j) other[j] -= m * row[j];
            other[entering] = 0;
        }
        const index left = basis[static_cast<std::size_t>(leaving)];
        basis[static_cast<std::size_t>(leaving)] = entering;
        if (left == artificial) break;
        entering = left < n ? left + n : left - n;  // the complement of what left
        double least = INFINITY;
        leaving = -1;
        for (index i = 0; i < n; ++i) {
            const double* at = T.data() + i * width;
            if (at[entering] <= tiny) continue;
            const double ratio = std::fmax(at[right], 0) / at[entering];
            const bool tie = std::fabs(ratio - least) <= 1e-12 * (size + least);
            const bool better = !tie && ratio < least;
            if (leaving < 0 || better || (tie && basis[static_cast<std::size_t>(i)] == artificial)) {
                if (leaving < 0 || better) least = ratio;
                leaving = i;
            }
        }
        if (leaving < 0) return Lemke::ray;
    }
    for (index i = 0; i < n; ++i) {
        const index b = basis[static_cast<std::size_t>(i)];
        if (b >= n && b < 2 * n) z[b - n] = std::fmax(T[static_cast<std::size_t>(i * width + right)], 0);
    }
    ++pivots;
    return Lemke::solved;
}

SOACRAFT_SOLVERS_END
