// Newton's matrix of the natural map, and steps of Levenberg and Marquardt with it, for where that matrix is singular.
//
//     J = I - D + D (S + n w* S_t),    D the derivative of the projection, w = u_t / |u_t|
//     (J* J + lambda) dp = -J* F
//
// A step of Newton's method is lost along forces that do not move anything; these steps have no part there, and converge as
// Newton's do where lambda tends to zero. O(rows^3) a step.
#pragma once

#include <algorithm>
#include <vector>

#include "lu.hpp"

SOACRAFT_SOLVERS_BEGIN

// J (rows x rows) <- Newton's matrix at p with velocity u.
inline void newton_matrix(const Problem& x, const double* p, const double* u, double* J) {
    const index n = x.rows;
    for (index c = 0; c < x.count; ++c) {
        const Block& block = x.blocks[c];
        const index f = block.first, d = block.rows;
        double y[WIDEST], D[WIDEST * WIDEST], w[WIDEST] = {};
        for (index i = 0; i < d; ++i) y[i] = p[f + i] - u[f + i];
        if (block.kind == CONE) {
            const double slip = norm(u + f + 1, d - 1);
            y[0] -= slip;
            if (slip > 0)
                for (index i = 1; i < d; ++i) w[i] = u[f + i] / slip;
            project_cone_rate(y, d, D);
        } else {
            D[0] = block.kind == FREE || std::fabs(y[0]) < block.bound ? 1 : 0;
        }
        for (index i = 0; i < d; ++i) {
            double* SOACRAFT_RESTRICT row = J + (f + i) * n;
            std::fill(row, row + n, 0.0);
            for (index k = 0; k < d; ++k) {
                const double m = D[i * d + k] + D[i * d] * w[k];  // w[0] is 0
                const double* SOACRAFT_RESTRICT from = x.S + (f + k) * n;
                if (m == 0) continue;
                for (index j = 0; j < n; ++j) row[j] += m * from[j];
            }
        }
        for (index i = 0; i < d; ++i)
            for (index k = 0; k < d; ++k) J[(f + i) * n + f + k] += (i == k ? 1 : 0) - D[i * d + k];
    }
}

// J dp = -F. Rows of contacts that are open are those of I: their part of dp is known, and the others are factored without them.
class NewtonStep {
  public:
    // step <- dp; J is used up. False where a pivot is not above `least`.
    bool solve(double* J, const double* F, index n, double least, double* step) {
        kept.clear(), pivot.resize(static_cast<std::size_t>(n)), right.clear();
        for (index i = 0; i < n; ++i) {
            step[i] = -F[i];
            if (!of_identity(J + i * n, i, n)) kept.push_back(i);
        }
        const auto m = static_cast<index>(kept.size());
        if (m < n) {
            for (const index i : kept) {
                double sum = step[i];
                std::size_t next = 0;
                for (index j = 0; j < n; ++j) {
                    if (next < kept.size() && kept[next] == j) ++next;
                    else sum -= J[i * n + j] * step[j];
                }
                right.push_back(sum);
            }
            double* to = J;  // never ahead of what is read
            for (const index i : kept)
                for (const index j : kept) *to++ = J[i * n + j];
            if (!lu_factor(J, m, least, pivot.data())) return false;
            lu_solve(J, m, pivot.data(), right.data());
            for (index i = 0; i < m; ++i) step[kept[static_cast<std::size_t>(i)]] = right[static_cast<std::size_t>(i)];
            return true;
        }
        if (!lu_factor(J, n, least, pivot.data())) return false;
        lu_solve(J, n, pivot.data(), step);
        return true;
    }

  private:
    std::vector<index> kept, pivot;
    std::vector<double> right;

    static bool of_identity(const double* row, index i, index n) {
        for (index j = 0; j < n; ++j)
            if (row[j] != (i == j ? 1 : 0)) return false;
        return true;
    }
};

class LeastSquares {
  public:
    // p <- where such steps lead, each of which lowers |F|; the largest entry of F that is left. Stops at `wanted`.
    double solve(const Problem& x, double wanted, index most, double* p, index& steps) {
        n = x.rows;
        for (auto* each : {&u, &F, &g, &step, &trial}) each->resize(at(n));
        J.resize(at(n * n)), A.resize(at(n * n)), L.resize(at(n * n));
        velocity(x, p, u.data());
        double residual = natural_map(x, p, u.data(), F.data()), lambda = FIRST;
        for (index i = 0; i < most && !(residual <= wanted); ++i) {
            ++steps;
            newton_matrix(x, p, u.data(), J.data());
            normal_equations();
            const double before = norm(F.data(), n);
            bool lower = false;
            for (int turn = 0; turn < TURNS && !lower; ++turn) {
                if (!advance(x, p, lambda, residual)) lambda = std::fmax(lambda * 10, LEAST);
                else if (norm(F.data(), n) < (1 - ENOUGH) * before) lower = true, lambda *= 0.1;
                else lambda = std::fmax(lambda * 10, LEAST);
            }
            if (!lower) break;
            std::copy(trial.begin(), trial.end(), p);
        }
        velocity(x, p, u.data());
        return natural_map(x, p, u.data(), F.data());
    }

  private:
    static constexpr double FIRST = 1e-3, LEAST = 1e-20, ENOUGH = 1e-6;
    static constexpr int TURNS = 30;

    index n = 0;
    std::vector<double> u, F, g, step, trial, J, A, L;

    static std::size_t at(index i) { return static_cast<std::size_t>(i); }

    // A <- J* J (its lower triangle), g <- -J* F
    void normal_equations() {
        std::fill(A.begin(), A.end(), 0.0), std::fill(g.begin(), g.end(), 0.0);
        for (index k = 0; k < n; ++k) {
            if (n > LONG) interrupt::check();
            const double* row = J.data() + k * n;
            for (index i = 0; i < n; ++i) {
                if (row[i] == 0) continue;
                g[at(i)] -= row[i] * F[at(k)];
                for (index j = 0; j <= i; ++j) A[at(i * n + j)] += row[i] * row[j];
            }
        }
    }

    // trial <- p + the step for lambda; u, F and `residual` are there. False where J* J + lambda is singular to rounding.
    bool advance(const Problem& x, const double* p, double lambda, double& residual) {
        for (index i = 0; i < n; ++i) {
            if (n > LONG) interrupt::check();
            for (index j = 0; j <= i; ++j) {
                double sum = A[at(i * n + j)] + (i == j ? lambda : 0);
                for (index k = 0; k < j; ++k) sum -= L[at(i * n + k)] * L[at(j * n + k)];
                if (i == j && !(sum > 0)) return false;
                L[at(i * n + j)] = i == j ? std::sqrt(sum) : sum / L[at(j * n + j)];
            }
        }
        step = g;
        small_solve(L.data(), n, step.data());
        for (index i = 0; i < n; ++i) trial[at(i)] = p[i] + step[at(i)];
        velocity(x, trial.data(), u.data());
        residual = natural_map(x, trial.data(), u.data(), F.data());
        return std::isfinite(residual);
    }
};

SOACRAFT_SOLVERS_END
