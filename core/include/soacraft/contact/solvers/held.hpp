// All that touches holds: u = 0 in all rows, with the forces of least norm. A resting machine is solved by this alone.
//
//     S = L L*, L (rows, rank) by pivoted Cholesky,     L z = -b,     p = L (L* L)^-1 z,     S p = -b where b is in the range of S
#pragma once

#include <algorithm>
#include <vector>

#include "problem.hpp"

namespace soacraft {
namespace complementarity {

class Held {
  public:
    // The rank of S; pivots this small relative to the largest are rounding.
    index factor(const Problem& x) {
        constexpr double ZERO = 1e-10;
        const index n = x.rows;
        L.assign(x.S, x.S + n * n), order.resize(n), rank = 0;
        double most = 0;
        for (index i = 0; i < n; ++i) order[i] = i, most = std::fmax(most, x.S[i * n + i]);
        for (; rank < n; ++rank) {
            index best = rank;
            for (index i = rank + 1; i < n; ++i)
                if (L[i * n + i] > L[best * n + best]) best = i;
            if (!(L[best * n + best] > ZERO * most)) break;
            exchange(n, rank, best);
            const double root = std::sqrt(L[rank * n + rank]), inverse = 1 / root;
            L[rank * n + rank] = root;
            for (index i = rank + 1; i < n; ++i) L[i * n + rank] *= inverse;
            for (index i = rank + 1; i < n; ++i) {
                const double m = L[i * n + rank];
                for (index j = rank + 1; j <= i; ++j) L[i * n + j] -= m * L[j * n + rank];
            }
        }
        return rank;
    }

    // p <- the forces that hold all rows; the largest entry of their natural map: small where they obey the laws.
    double solve(const Problem& x, double* p) {
        const index n = x.rows, r = rank;
        for (index c = 0; c < x.count; ++c)
            if (x.blocks[c].kind == CONE && !(x.b[x.blocks[c].first] < 0)) return INFINITY;  // it opens by itself
        N.assign(r * r, 0), z.resize(n), u.resize(n), F.resize(n);
        for (index k = 0; k < n; ++k)  // L* L
            for (index i = 0; i < std::min(r, k + 1); ++i)
                for (index j = 0; j <= i; ++j) N[i * r + j] += L[k * n + i] * L[k * n + j];
        for (index i = 0; i < r; ++i)
            for (index j = 0; j <= i; ++j) {
                double sum = N[i * r + j];
                for (index k = 0; k < j; ++k) sum -= N[i * r + k] * N[j * r + k];
                if (i == j && !(sum > 0)) return INFINITY;
                N[i * r + j] = i == j ? std::sqrt(sum) : sum / N[j * r + j];
            }
        for (index i = 0; i < n; ++i) p[i] = 0, u[i] = x.b[i];
        for (int turn = 0; turn < 2; ++turn) {  // the second one refines
            for (index i = 0; i < r; ++i) {
                z[i] = -u[order[i]];
                for (index k = 0; k < i; ++k) z[i] -= L[i * n + k] * z[k];
                z[i] /= L[i * n + i];
            }
            for (index i = 0; i < r; ++i) {
                for (index k = 0; k < i; ++k) z[i] -= N[i * r + k] * z[k];
                z[i] /= N[i * r + i];
            }
            for (index i = r; i-- > 0;) {
                for (index k = i + 1; k < r; ++k) z[i] -= N[k * r + i] * z[k];
                z[i] /= N[i * r + i];
            }
            for (index k = 0; k < n; ++k) {
                double sum = 0;
                for (index i = 0; i < std::min(r, k + 1); ++i) sum += L[k * n + i] * z[i];
                p[order[k]] += sum;
            }
            velocity(x, p, u.data());
        }
        return natural_map(x, p, u.data(), F.data());
    }

  private:
    std::vector<double> L, N, z, u, F;
    std::vector<index> order;
    index rank = 0;

    // Rows and columns i < j of the lower triangle.
    void exchange(index n, index i, index j) {
        if (i == j) return;
        std::swap(order[i], order[j]);
        for (index k = 0; k < i; ++k) std::swap(L[i * n + k], L[j * n + k]);
        std::swap(L[i * n + i], L[j * n + j]);
        for (index k = i + 1; k < j; ++k) std::swap(L[k * n + i], L[j * n + k]);
        for (index k = j + 1; k < n; ++k) std::swap(L[k * n + i], L[k * n + j]);
    }
};

}  // namespace complementarity
}  // namespace soacraft
