// Coulomb's problem as a fixed point of convex ones (De Saxce and Feng 1998; Cadoux 2009), for where all else stalls.
//
// With the slips r = |u_t| of the contacts held the impulses minimise
//     1/2 p* S p + (b + r n)* p    over the cones,                    the associated problem
// which an interior point method solves from anywhere. The slips of its answer are the next r. From time to time the steps of
// Levenberg and Marquardt (newton.hpp) try to end it, from there and from where sweeps of Gauss-Seidel are: these are slow, and
// come nearer where slips alone hardly do. In turns compliances are a little softer, or as they are: forces that hold each other
// and move nothing grow on the central path of an interior point method.
#pragma once

#include "interior.hpp"
#include "newton.hpp"

namespace soacraft {
namespace complementarity {

class FixedPoint {
  public:
    // p <- the best point met; the largest entry of its natural map.
    double solve(const Problem& x, double wanted, double size, double* p, index& turns, index& interior, index& newton) {
        const auto n = static_cast<std::size_t>(x.rows);
        b.assign(x.b, x.b + n), q.assign(n, 0.0), g.assign(n, 0.0), u.resize(n), r.assign(static_cast<std::size_t>(x.count), 0.0);
        A.assign(x.S, x.S + n * n);
        const Problem convex{x.rows, x.blocks, x.count, A.data(), b.data(), true};
        double least = INFINITY;
        for (index turn = 0; turn < TURNS && !(least <= wanted); ++turn) {
            ++turns;
            const double soft = turn / POLISHED % 2 == 1 ? SOFT : 0;
            for (std::size_t i = 0; i < n; ++i) A[i * n + i] = x.S[i * n + i] + soft;
            interior_.solve(convex, wanted, size, STEPS, q.data(), interior);
            const double change = follow(x);
            if (!(turn % POLISHED == 0 || change <= NEAR * size)) continue;
            trial = q;
            const double residual = newton_.solve(x, wanted, STEPS, trial.data(), newton);
            if (residual < least) least = residual, std::copy(trial.begin(), trial.end(), p);
            if (least <= wanted) break;
            velocity(x, g.data(), u.data());
            for (index i = 0; i < SWEEPS; ++i)
                if (!sweep(x, g.data(), u.data(), i % 2 == 1)) break;
            trial = g;
            const double swept = newton_.solve(x, wanted, STEPS, trial.data(), newton);
            if (swept < least) least = swept, std::copy(trial.begin(), trial.end(), p);
        }
        return least;
    }

  private:
    static constexpr index TURNS = 100, STEPS = 50, POLISHED = 5, SWEEPS = 200;
    static constexpr double SOFT = 1e-10;
    static constexpr double NEAR = 1e-7;

    std::vector<double> A, b, q, g, u, r, trial;
    InteriorPoint interior_;
    LeastSquares newton_;

    // The slips at q into b; by how much they changed.
    double follow(const Problem& x) {
        double change = 0;
        velocity(x, q.data(), u.data());
        for (index c = 0; c < x.count; ++c) {
            const Block& block = x.blocks[c];
            if (block.kind != CONE) continue;
            const double slip = norm(u.data() + block.first + 1, block.rows - 1);
            double& held = r[static_cast<std::size_t>(c)];
            change = std::fmax(change, std::fabs(slip - held));
            held = slip;
            b[static_cast<std::size_t>(block.first)] = x.b[block.first] + held;
        }
        return change;
    }
};

}  // namespace complementarity
}  // namespace soacraft
