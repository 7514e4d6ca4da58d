// Second-order cones, and the law of Coulomb on one of them (De Saxce's form).
//
// A block of a contact problem is a normal row and d - 1 rows of friction, scaled by their coefficients, so that every cone is
//     K = { p : |p_t| <= p_n },     its own dual,
// and friction obeys    K  contains p,  orthogonal to  u + |u_t| n  in K,    u the velocity after.
// d = 1 is a contact without friction: 0 <= p, orthogonal to u >= 0.
#pragma once

#include <cmath>

#include "../target.hpp"

SOACRAFT_SOLVERS_BEGIN

constexpr index WIDEST = 6;  // rows of a cone: normal, two of sliding, one of spinning, two of rolling

// The larger of two numbers, the first if the second is none: what std::fmax calls a library for.
inline double larger(double a, double b) { return a < b ? b : a; }

inline double norm(const double* x, index n) {
    double most = 0, sum = 0;
    for (index i = 0; i < n; ++i) sum += x[i] * x[i];
    if (sum > 1e-200 && sum < 1e200) return std::sqrt(sum);
    for (index i = 0; i < n; ++i) most = larger(most, std::fabs(x[i]));
    if (most == 0) return 0;
    sum = 0;
    for (index i = 0; i < n; ++i) sum += (x[i] / most) * (x[i] / most);
    return most * std::sqrt(sum);
}

// y <- the point of K nearest to y.
inline void project_cone(double* y, index d) {
    const double t = norm(y + 1, d - 1);
    if (t <= y[0]) return;
    if (t <= -y[0]) {
        for (index i = 0; i < d; ++i) y[i] = 0;
        return;
    }
    const double n = 0.5 * (y[0] + t), scale = n / t;
    y[0] = n;
    for (index i = 1; i < d; ++i) y[i] *= scale;
}

// D (d x d, by rows) <- the derivative of that projection at y (one of them, where it has a kink).
inline void project_cone_rate(const double* y, index d, double* D) {
    const double t = norm(y + 1, d - 1);
    const bool inside = t <= y[0], outside = t <= -y[0];
    for (index i = 0; i < d * d; ++i) D[i] = 0;
    if (outside && !inside) return;
    if (inside) {
        for (index i = 0; i < d; ++i) D[i * d + i] = 1;
        return;
    }
    const double ratio = y[0] / t;
    D[0] = 0.5;
    for (index i = 1; i < d; ++i) {
        const double w = y[i] / t;
        D[i] = D[i * d] = 0.5 * w;
        D[i * d + i] += 0.5 * (1 + ratio);
        for (index j = 1; j < d; ++j) D[i * d + j] -= 0.5 * ratio * w * y[j] / t;
    }
}

// L L* = A (d x d) + shift on the diagonal, A by rows with `stride`; false where it is not positive definite.
inline bool small_cholesky(const double* A, index stride, index d, double shift, double* L) {
    for (index i = 0; i < d; ++i)
        for (index j = 0; j <= i; ++j) {
            double x = A[i * stride + j] + (i == j ? shift : 0);
            for (index k = 0; k < j; ++k) x -= L[i * d + k] * L[j * d + k];
            if (i > j)
                L[i * d + j] = x / L[j * d + j];
            else if (x > 0)
                L[i * d + i] = std::sqrt(x);
            else
                return false;
        }
    return true;
}

inline void small_solve(const double* L, index d, double* x) {
    for (index i = 0; i < d; ++i) {
        for (index k = 0; k < i; ++k) x[i] -= L[i * d + k] * x[k];
        x[i] /= L[i * d + i];
    }
    for (index i = d; i-- > 0;) {
        for (index k = i + 1; k < d; ++k) x[i] -= L[k * d + i] * x[k];
        x[i] /= L[i * d + i];
    }
}

// One contact alone: p with u = A p + b and the law above. A (d x d by rows with `stride`) is positive definite.
//
// Sliding: u_n = 0 and u_t = -s p_t with s >= 0, so p_t = -(A_tt + s)^-1 (A_tn p_n + b_t) with p_n from the first row; s is the
// root of |p_t| - p_n.
inline bool solve_one(const double* A, index stride, index d, const double* b, double* p) {
    for (index i = 0; i < d; ++i) p[i] = 0;
    if (b[0] >= 0) return true;
    if (d == 1) {
        if (!(A[0] > 0)) return false;
        p[0] = -b[0] / A[0];
        return true;
    }
    double L[WIDEST * WIDEST], x[WIDEST] = {};
    if (!small_cholesky(A, stride, d, 0, L)) return false;
    for (index i = 0; i < d; ++i) x[i] = -b[i];
    small_solve(L, d, x);
    if (norm(x + 1, d - 1) <= x[0]) {  // it sticks
        for (index i = 0; i < d; ++i) p[i] = x[i];
        return true;
    }
    const index f = d - 1;
    double size = 0;
    for (index i = 1; i < d; ++i) size = larger(size, A[i * stride + i]);
    const auto slide = [&](double s) {  // p at a given s; the excess of friction over the cone
        double at_normal[WIDEST], at_rest[WIDEST];
        small_cholesky(A + stride + 1, stride, f, s, L);
        for (index i = 0; i < f; ++i) at_normal[i] = -A[(i + 1) * stride], at_rest[i] = -b[i + 1];
        small_solve(L, f, at_normal), small_solve(L, f, at_rest);
        double slope = A[0], left = b[0];
        for (index i = 0; i < f; ++i) slope += A[i + 1] * at_normal[i], left += A[i + 1] * at_rest[i];
        p[0] = -left / slope;  // slope is a Schur complement of a positive matrix: positive
        for (index i = 0; i < f; ++i) p[i + 1] = at_normal[i] * p[0] + at_rest[i];
        return norm(p + 1, f) - p[0];
    };
    // At s = 0 the friction is too large or the normal impulse negative; as s grows p_t falls and p_n tends to -b_n / A_nn > 0.
    double low = 1e-12 * size, high = size, above = slide(low), below = slide(high);
    if (above <= 0) {
        high = low, below = above, low = 0, above = 1;  // s is nothing next to A
    } else {
        for (int i = 0; i < 60 && below > 0; ++i) low = high, above = below, high *= 8, below = slide(high);
    }
    // Halving in log s, then false position (Illinois) where the root is between s and 4 s.
    for (int i = 0, side = 0; i < 100 && high - low > 1e-15 * high; ++i) {
        const bool near = low > 0 && high < 4 * low;
        double middle = near ? low + (high - low) * (above / (above - below)) : low > 0 ? std::sqrt(low * high) : 0.5 * high;
        if (near && i % 8 == 7) middle = 0.5 * (low + high);
        if (!(middle > low && middle < high)) break;
        const double excess = slide(middle);
        if (std::fabs(excess) <= 2e-16 * std::fabs(p[0])) return p[0] >= 0;
        if (excess > 0) {
            low = middle, above = excess, below *= near && side > 0 ? 0.5 : 1, side = 1;
        } else {
            high = middle, below = excess, above *= near && side < 0 ? 0.5 : 1, side = -1;
        }
    }
    slide(high);
    return p[0] >= 0;
}

SOACRAFT_SOLVERS_END
