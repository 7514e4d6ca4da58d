// The space that the rows of a matrix span, by reflections of rows with pivoting: least squares of least norm, and the
// projection on what the rows do not see.
#pragma once

#include "dense.hpp"

SOACRAFT_RIGID_BEGIN

// A (m x n, row-major, used up) = P L Q: the rows in the order of their pivots, L (m x rank), Q orthonormal.
struct RowSpace {
    index m, n;
    double *A, *tau, *norm, *L, *scale, *b;  // tau, scale: min(m, n); norm, b: m; L: min(m, n) columns of m
    index* order;
    index rank = 0, rows = 0;  // rows: those that are more than rounding, first in the order

    double* row(index i) const { return A + order[i] * n; }

    // False where a pivot relative to the largest is above `zero`, and not above `clear`.
    bool factor(double zero, double clear) {
        double most = 0.0;
        for (index i = 0; i < m; ++i) {
            order[i] = i, norm[i] = square(A + i * n, 0);
            most = larger(most, norm[i]);
        }
        rows = 0;
        for (index i = 0; i < m; ++i)
            if (norm[i] > zero * zero * most) order[rows++] = i;
        const index steps = rows < n ? rows : n;
        for (rank = 0; rank < steps; ++rank) {
            const index j = rank;
            index best = j;
            for (index i = j; i < rows; ++i) {
                norm[order[i]] = square(row(i), j);
                if (norm[order[i]] > norm[order[best]]) best = i;
            }
            const index own = order[best];
            if (!(norm[own] > zero * zero * most)) break;
            if (!(norm[own] > clear * clear * most)) return false;
            order[best] = order[j], order[j] = own;
            tau[j] = reflector(A + own * n + j, n - j);
            for (index i = j + 1; i < rows; ++i) reflect(A + own * n + j, tau[j], row(i) + j, n - j);
        }
        return true;
    }

    // y (n) <- Q y, and Q* y.
    void to_space(double* y) const {
        for (index j = 0; j < rank; ++j) reflect(row(j) + j, tau[j], y + j, n - j);
    }
    void from_space(double* y) const {
        for (index j = rank; j-- > 0;) reflect(row(j) + j, tau[j], y + j, n - j);
    }

    // y <- (I - A^+ A) y: what no row sees.
    void drop(double* y) const {
        to_space(y);
        for (index j = 0; j < rank; ++j) y[j] = 0.0;
        from_space(y);
    }

    // y <- -A^+ r, of least norm; returns by how much |A y + r|^2 is less than |r|^2.
    double solve(const double* r, double* y) {
        for (index j = 0; j < rank; ++j) {  // L = (reflections) R, column by column
            double* column = L + j * m;
            for (index i = 0; i < rows; ++i) column[i] = i < j ? 0.0 : row(i)[j];
        }
        for (index i = 0; i < rows; ++i) b[i] = r[order[i]];
        for (index j = 0; j < rank; ++j) {
            double* column = L + j * m + j;
            scale[j] = reflector(column, rows - j);
            for (index k = j + 1; k < rank; ++k) reflect(column, scale[j], L + k * m + j, rows - j);
            reflect(column, scale[j], b + j, rows - j);
        }
        double less = 0.0;
        for (index j = 0; j < rank; ++j) less += b[j] * b[j];
        for (index j = 0; j < n; ++j) y[j] = 0.0;
        for (index j = rank; j-- > 0;) {
            y[j] = -b[j] / L[j * m + j];
            for (index i = 0; i < j; ++i) b[i] += y[j] * L[j * m + i];
        }
        from_space(y);
        return less;
    }

private:
    double square(const double* x, index from) const {
        double sum = 0.0;
        for (index c = from; c < n; ++c) sum += x[c] * x[c];
        return sum;
    }
    // x (count) <- [beta, v(1), ...] with (I - tau v v*) x = beta e_0, v(0) = 1. Returns tau.
    static double reflector(double* x, index count) {
        double rest = 0.0;
        for (index c = 1; c < count; ++c) rest += x[c] * x[c];
        if (!(rest > 0.0)) return 0.0;
        const double size = std::sqrt(rest + x[0] * x[0]), beta = x[0] > 0.0 ? -size : size, per = 1.0 / (x[0] - beta);
        const double found = (beta - x[0]) / beta;
        for (index c = 1; c < count; ++c) x[c] *= per;
        x[0] = beta;
        return found;
    }
    // x <- (I - tau v v*) x.
    static void reflect(const double* SOACRAFT_RESTRICT v, double tau, double* SOACRAFT_RESTRICT x, index count) {
        double sum = x[0];
        for (index c = 1; c < count; ++c) sum += v[c] * x[c];
        sum *= tau;
        x[0] -= sum;
        for (index c = 1; c < count; ++c) x[c] -= sum * v[c];
    }
};

SOACRAFT_RIGID_END
