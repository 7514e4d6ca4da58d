// Coulomb's problem as a fixed point of convex ones (De Saxce and Feng 1998; Cadoux 2009), for where all else stalls.
//
// With the slips r = |u_t| of the contacts held the impulses minimise
//     1/2 p* S p + (b + r n)* p    over the cones,                    the associated problem
// which an interior point method solves from anywhere. The slips of its answer are the next r; in each turn the steps of Levenberg
// and Marquardt (newton.hpp) try to end it from there.
#pragma once

#include "interior.hpp"
#include "newton.hpp"

SOACRAFT_SOLVERS_BEGIN

class FixedPoint {
  public:
    // p <- the best point met; the largest entry of its natural map.
    double solve(const Problem& x, double wanted, double size, double* p, index& turns, index& interior, index& newton) {
        const auto n = static_cast<std::size_t>(x.rows);
        b.assign(x.b, x.b + n), q.assign(n, 0.0), u.resize(n);
        const Problem convex{x.rows, x.blocks, x.count, x.S, b.data(), true};
        double least = INFINITY;
        for (index turn = 0; turn < TURNS && !(least <= wanted) && !spent(x.rows, newton + interior); ++turn) {
            ++turns;
            interior_.solve(convex, wanted, size, STEPS, q.data(), interior);
            follow(x);
            trial = q;
            const double residual = newton_.solve(x, wanted, STEPS, trial.data(), newton);
            if (residual < least) least = residual, std::copy(trial.begin(), trial.end(), p);
        }
        return least;
    }

  private:
    static constexpr index TURNS = 10, STEPS = 50;

    std::vector<double> b, q, u, trial;
    InteriorPoint interior_;
    LeastSquares newton_;

    // The slips at q into b.
    void follow(const Problem& x) {
        velocity(x, q.data(), u.data());
        for (index c = 0; c < x.count; ++c) {
            const Block& block = x.blocks[c];
            if (block.kind != CONE) continue;
            b[static_cast<std::size_t>(block.first)] = x.b[block.first] + norm(u.data() + block.first + 1, block.rows - 1);
        }
    }
};

SOACRAFT_SOLVERS_END
