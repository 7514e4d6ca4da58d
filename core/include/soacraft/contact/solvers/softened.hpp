// Contact problems with compliances that are a little softer, about forces c:  u = (S + eps W) p + b - eps W c,  W = 1 or weights of
// the blocks.
//
// Their forces are unique where those of S alone are not: nearest to c as eps tends to 0. They are followed along eps, from where
// the problem is easy to where the softening is nothing. So forces that hold each other and move nothing grow steadily until one
// of them slips or opens, as of two points of a foot that a rounding pulls apart; all at once such a growth throws steps of Newton's
// method from one side of a cone to the other. Where the way turns back (Coulomb's law is no convex problem), it may not with
// other weights. O(rows^3) a step.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "newton.hpp"

SOACRAFT_SOLVERS_BEGIN

class Softened {
  public:
    // p <- the best that steps of Newton's method from p lead to; the steps need not lower |F|, as where the set of contacts that
    // press is not yet known. The largest entry of F that is left.
    double solve(const Problem& x, double eps, const double* c, double wanted, index most, double* p, index& steps) {
        weights.assign(at(x.rows), 1.0);
        return newton(x, eps, c, wanted, most, p, steps);
    }

    // p <- the solution of x, along eps from EASY about no forces to `spread`, then about what that gives: so of least norm where
    // forces are not unique, and `turn` is 0. Other turns have other weights. False where it is lost on the way.
    bool follow(const Problem& x, index turn, double spread, double wanted, index sweeps, index most, double* p, index& steps) {
        const auto n = at(x.rows);
        weigh(x, turn);
        centre.assign(n, 0.0), std::fill(p, p + n, 0.0);
        const Problem soft = soften(x, EASY, centre.data());
        velocity(soft, p, u.data());
        for (index i = 0; i < sweeps; ++i)
            if (!sweep(soft, p, u.data(), i % 2 == 1)) return false;
        if (!(newton(x, EASY, centre.data(), PART * wanted, most, p, steps) <= wanted)) return false;
        if (!descend(x, EASY, spread, wanted, most, p, steps)) return false;
        centre.assign(p, p + n);
        return descend(x, spread, LAST, wanted, most, p, steps) && solved(x, wanted, p);
    }

  private:
    static constexpr double EASY = 0.1, LAST = 1e-14;  // of compliances of 1
    static constexpr double PART = 0.1;                // of what is wanted, that is left of problems on the way
    static constexpr double NO_PIVOT = 1e-16;
    static constexpr double LONGEST = 0.01, SHORTEST = 0.96;  // factors of eps
    static constexpr double LIGHTEST = 0.1, HEAVIEST = 10;   // weights

    std::vector<double> S, b, u, F, J, step, best, trial, centre, weights;
    NewtonStep newton_step;

    static std::size_t at(index i) { return static_cast<std::size_t>(i); }

    void weigh(const Problem& x, index turn) {
        weights.assign(at(x.rows), 1.0);
        std::uint64_t seed = static_cast<std::uint64_t>(turn);
        for (index c = 0; c < x.count && turn > 0; ++c) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;  // Knuth's
            const double part = static_cast<double>(seed >> 40) / static_cast<double>(1 << 24);
            for (index i = 0; i < x.blocks[c].rows; ++i) weights[at(x.blocks[c].first + i)] = LIGHTEST * std::pow(HEAVIEST / LIGHTEST, part);
        }
    }

    double newton(const Problem& x, double eps, const double* c, double wanted, index most, double* p, index& steps) {
        const Problem soft = soften(x, eps, c);
        const index n = x.rows;
        velocity(soft, p, u.data());
        double least = natural_map(soft, p, u.data(), F.data());
        best.assign(p, p + n);
        for (index i = 0; i < most && !(least <= wanted); ++i) {
            ++steps;
            newton_matrix(soft, p, u.data(), J.data());
            if (!newton_step.solve(J.data(), F.data(), n, NO_PIVOT, step.data())) break;
            for (index k = 0; k < n; ++k) p[k] += step[at(k)];
            velocity(soft, p, u.data());
            const double residual = natural_map(soft, p, u.data(), F.data());
            if (residual < least) least = residual, best.assign(p, p + n);
            else if (residual < 1e-3 * wanted || !std::isfinite(residual)) break;
        }
        std::copy(best.begin(), best.end(), p);
        return least;
    }

    Problem soften(const Problem& x, double eps, const double* c) {
        const auto n = at(x.rows);
        for (auto* each : {&b, &u, &F, &step}) each->resize(n);
        S.assign(x.S, x.S + n * n), J.resize(n * n);
        for (std::size_t i = 0; i < n; ++i) S[i * n + i] += eps * weights[i], b[i] = x.b[i] - eps * weights[i] * c[i];
        return {x.rows, x.blocks, x.count, S.data(), b.data()};
    }

    bool solved(const Problem& x, double wanted, const double* p) {
        velocity(x, p, u.data());
        return natural_map(x, p, u.data(), F.data()) <= wanted;
    }

    // From p, the solution for eps, to that for `last` or to where p solves x itself: by ever shorter steps where they fail.
    bool descend(const Problem& x, double eps, double last, double wanted, index most, double* p, index& steps) {
        double factor = LONGEST;
        while (eps > last && !solved(x, wanted, p)) {
            if (spent(x.rows, steps)) return false;
            const double next = std::fmax(factor * eps, last);
            trial.assign(p, p + x.rows);
            if (newton(x, next, centre.data(), PART * wanted, most, trial.data(), steps) <= PART * wanted) {
                std::copy(trial.begin(), trial.end(), p);
                eps = next, factor = std::fmax(factor * factor, LONGEST);
            } else {
                factor = std::sqrt(factor);
                if (factor > SHORTEST) return false;
            }
        }
        return true;
    }
};

SOACRAFT_SOLVERS_END
