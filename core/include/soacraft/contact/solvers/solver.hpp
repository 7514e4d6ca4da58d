// Contact problems solved to rounding.
//
// If all that touches can hold, or all but what opens, that is the answer (held.hpp). Else sweeps of Gauss-Seidel and Newton's
// method on the natural map (newton.hpp), which is enough for most; else problems that are softer and less and less so
// (softened.hpp), at once where forces may not be unique (S is singular); else the fixed point of convex problems
// (fixed_point.hpp); else softer problems with other weights; else other starts. A step of Newton's method must lower |F|, but
// for those of softer problems. Where forces are not unique those of least norm are given. O(rows^3) a step; it ends with what
// it has where that many steps are too much work.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "fixed_point.hpp"
#include "held.hpp"
#include "softened.hpp"

SOACRAFT_SOLVERS_BEGIN

constexpr double SINGULAR = 1e-10;  // pivots of S this small relative to its diagonal are rounding
constexpr double ALMOST = 1e-3;   // forces that hold all rows but for this part of b
constexpr double CLOSER = 1e-3;   // of what is wanted, from a guess: errors of steps do not add up
constexpr double START = 1e-3;    // eps of the first sweeps where forces are not unique
constexpr double NEAREST = 1e-1;  // of the eps of forces of least norm: for the nearest that solve the problem itself

struct Options {
    double tolerance = 1e-10;
    index sweeps = 8, newton = 12, weights = 24, slides = 6, starts = 8;  // the most of each
    double least = 1e-11;                         // eps of compliances that may be singular
    double spread = 1e-6;                         // eps for forces of least norm
    const double* guess = nullptr;                // impulses next to those of a solution, as of the last step, or null
    bool pattern = false;                         // p tells which contacts may press, and nothing of how much
};

struct Outcome {
    double residual;
    index sweeps, newton, interior, outer;
    bool unique;
};


class Solver {
  public:
    Outcome solve(const Problem& x, const Options& options, double* p) {
        const index n = x.rows;
        u.resize(n), F.resize(n), trial.resize(n), step.resize(n), best.resize(n), J.resize(n * n), pivot.resize(n);
        shifted.resize(n * n), moved.resize(n), aim.resize(n);
        const double size = measure(x, options.tolerance);
        Outcome out = {0, 0, 0, 0, 0, true};
        const double wanted = options.tolerance * size;
        velocity(x, p, u.data());
        double least = natural_map(x, p, u.data(), F.data());
        if (least <= wanted && norm(p, n) == 0) {  // nothing presses
            out.residual = least / size;
            return out;
        }
        const auto answered = [&] {
            velocity(x, p, u.data());
            const double residual = natural_map(x, p, u.data(), F.data());
            if (!(residual <= wanted)) return false;
            out.residual = residual / size;
            return true;
        };
        const auto held_so = [&] { return out.residual = held.left / size, out; };
        if (least > wanted && options.pattern) {  // what presses in p holds, all else opens
            if (held.solve_pressing(x, wanted, p, out.unique)) return held_so();
            out.unique = true;
            std::fill(p, p + n, 0.0);
            velocity(x, p, u.data());
            least = natural_map(x, p, u.data(), F.data());
        }
        const index rank = held.factor(x);
        if (least > wanted) {
            best.assign(p, p + n);
            const double left = held.solve(x, p);
            if (left <= wanted) {  // all that touches holds
                out.unique = rank == n;
                return held_so();
            }
            if (left <= ALMOST * size) {  // but for what S hardly moves
                nearest(x, options, wanted, p, out);
                if (answered()) {
                    out.unique = rank == n;
                    return out;
                }
            } else if (held.solve_some(x, wanted, std::isfinite(left), p, out.unique)) {
                return held_so();
            }
            if (rank == n && options.guess) {
                std::vector<double>& near = aim;
                near.assign(options.guess, options.guess + n), moved.assign(p, p + n);
                slides(x, options, CLOSER * wanted, near.data(), out);
                std::copy(near.begin(), near.end(), p);
                if (answered()) {
                    out.unique = true;
                    return out;
                }
                std::copy(moved.begin(), moved.end(), p);
            }
            if (rank == n && x.count > 1 && slides(x, options, wanted, p, out) && answered()) {
                out.unique = true;
                return out;
            }
            out.unique = true;
            std::copy(best.begin(), best.end(), p);
        }
        std::copy(p, p + n, best.begin());
        const auto keep = [&] {
            velocity(x, p, u.data());
            const double residual = natural_map(x, p, u.data(), F.data());
            if (residual < least) least = residual, std::copy(p, p + n, best.begin());
        };
        const auto follow = [&](index turn) {
            softened.follow(x, turn, options.spread, wanted, options.sweeps, options.newton, p, out.newton), keep();
        };
        if (least > wanted && rank < n) {  // forces may not be unique: those of least norm first
            follow(0);
            if (least > wanted) near_point(x, options, wanted, START, 1, p, out), regularised(x, options, wanted, p, out);
            if (answered()) {
                out.unique = unique(x, p);
                return out;
            }
            std::copy(best.begin(), best.end(), p);
        }
        if (least > wanted) near_point(x, options, wanted, options.least, 1, p, out), keep();
        if (least > wanted && rank == n) follow(0);
        if (least > wanted) fixed_point.solve(x, wanted, size, p, out.outer, out.interior, out.newton), keep();
        for (index turn = 1; turn <= options.weights && least > wanted && !spent(n, out.newton + out.interior); ++turn) follow(turn);
        for (index turn = 1; turn <= options.starts && least > wanted && !spent(n, out.newton + out.interior); ++turn) {
            scatter(x, turn, p);
            near_point(x, options, wanted, START, 1, p, out);
            if (rank < n) regularised(x, options, wanted, p, out);
            keep();
        }
        std::copy(best.begin(), best.end(), p);
        out.unique = unique(x, p);
        if (!out.unique && least <= wanted) least = spread(x, options, wanted, least, p, out);
        out.residual = least / size;
        return out;
    }

  private:
    std::vector<double> u, F, trial, step, best, J, shifted, moved, aim;
    std::vector<index> pivot;

    FixedPoint fixed_point;
    Held held;
    Softened softened;
    NewtonStep newton_step;

    static std::size_t at(index i) { return static_cast<std::size_t>(i); }

    // shifted <- S + eps
    void soften(const Problem& x, double eps) {
        std::copy(x.S, x.S + x.rows * x.rows, shifted.begin());
        for (index i = 0; i < x.rows; ++i) shifted[i * x.rows + i] += eps;
    }

    // p <- the best forces, those of each block times a number between 1/10 and 10: another start, where all ways from others end
    // in a valley of |F|.
    void scatter(const Problem& x, index turn, double* p) {
        std::uint64_t seed = static_cast<std::uint64_t>(turn);
        for (index c = 0; c < x.count; ++c) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;  // Knuth's
            const double part = static_cast<double>(seed >> 40) / static_cast<double>(1 << 24), factor = std::pow(10.0, 2.0 * part - 1.0);
            for (index i = x.blocks[c].first; i < x.blocks[c].first + x.blocks[c].rows; ++i) p[i] = factor * best[at(i)];
        }
    }

    // p <- the solution of the problem with S + eps and b - eps p in place of S and b: nearest to p where forces are not
    // unique. What is left of that problem.
    double near_point(const Problem& x, const Options& options, double wanted, double eps, index turns, double* p, Outcome& out) {
        const index n = x.rows;
        soften(x, eps);
        for (index i = 0; i < n; ++i) moved[i] = x.b[i] - eps * p[i];
        return rounds({n, x.blocks, x.count, shifted.data(), moved.data()}, options, wanted, turns, p, out);
    }

    // p <- the solution by Newton's method alone, from the forces p that hold all rows or some, on their cones; whether that
    // leads there in few steps. Most contacts that slide do.
    bool slides(const Problem& x, const Options& options, double wanted, double* p, Outcome& out) {
        for (index c = 0; c < x.count; ++c) {
            const Block& block = x.blocks[c];
            if (block.kind == CONE) project_cone(p + block.first, block.rows);
            if (block.kind == BOX) p[block.first] = std::fmin(std::fmax(p[block.first], -block.bound), block.bound);
        }
        velocity(x, p, u.data());
        double residual = natural_map(x, p, u.data(), F.data());
        for (index i = 0; i < options.slides && !(residual <= wanted); ++i) {
            if (!(residual < HUGE_VAL)) return false;
            ++out.newton;
            if (!improve(x, p)) return false;
            residual = natural_map(x, p, u.data(), F.data());
        }
        return residual <= wanted;
    }

    // Whether S is positive definite on the blocks that press: then no other forces give this motion.
    bool unique(const Problem& x, const double* p) {
        index m = 0;
        for (index c = 0; c < x.count; ++c) {
            const Block& block = x.blocks[c];
            if (norm(p + block.first, block.rows) == 0) continue;
            for (index i = 0; i < block.rows; ++i) pivot[m++] = block.first + i;
        }
        for (index i = 0; i < m; ++i) {
            if (m > LONG) interrupt::check();
            for (index j = 0; j <= i; ++j) {
                double sum = x.S[pivot[i] * x.rows + pivot[j]];
                const double whole = sum;
                for (index k = 0; k < j; ++k) sum -= J[i * m + k] * J[j * m + k];
                if (i == j && !(sum > SINGULAR * whole)) return false;
                J[i * m + j] = i == j ? std::sqrt(sum) : sum / J[j * m + j];
            }
        }
        return true;
    }

    // p <- the solution of the problem with a small S + eps about no force at all, which is unique; then the nearest forces that
    // solve the problem itself.
    void regularised(const Problem& x, const Options& options, double wanted, double* p, Outcome& out) {
        const index n = x.rows;
        soften(x, options.spread);
        // What is left of this problem is divided by eps along forces that do not move.
        const double exactly = std::fmax(1e-6 * wanted, 1e2 * ROUNDING * wanted / options.tolerance);
        const Problem near{n, x.blocks, x.count, shifted.data(), x.b};
        aim.assign(at(n), 0.0);
        softened.solve(x, options.spread, aim.data(), exactly, options.newton, p, out.newton);
        rounds(near, options, exactly, 0, p, out);
        nearest(x, options, wanted, p, out);
    }

    // p <- the nearest forces that solve the problem, where p nearly does.
    void nearest(const Problem& x, const Options& options, double wanted, double* p, Outcome& out) {
        for (int i = 0; i < 3; ++i) {
            velocity(x, p, u.data());
            if (natural_map(x, p, u.data(), F.data()) <= wanted) return;
            aim.assign(p, p + x.rows);
            softened.solve(x, NEAREST * options.spread, aim.data(), wanted, options.newton, p, out.newton);
        }
    }

    // p <- of all forces with this motion those of least norm. What is left of the problem.
    double spread(const Problem& x, const Options& options, double wanted, double before, double* p, Outcome& out) {
        const index n = x.rows;
        std::copy(p, p + n, best.begin());
        regularised(x, options, wanted, p, out);
        velocity(x, p, u.data());
        const double after = natural_map(x, p, u.data(), F.data());
        if (after <= wanted && norm(p, n) <= (1 + 1e-8) * norm(best.data(), n)) return after;
        std::copy(best.begin(), best.end(), p);
        return before;
    }

    // Sweeps and steps of Newton's method in turns, from p; the largest entry of F that is left.
    double rounds(const Problem& x, const Options& options, double wanted, index turns, double* p, Outcome& out) {
        velocity(x, p, u.data());
        double residual = natural_map(x, p, u.data(), F.data());
        index sweeps = turns > 0 ? options.sweeps : 0;
        for (index round = 0; (round < turns || round == 0) && !(residual <= wanted); ++round, sweeps *= 4) {
            for (index i = 0; i < sweeps && residual > wanted; ++i, ++out.sweeps) {
                complementarity::sweep(x, p, u.data(), i % 2 == 1);
                residual = natural_map(x, p, u.data(), F.data());
            }
            velocity(x, p, u.data());
            residual = natural_map(x, p, u.data(), F.data());
            for (index i = 0; i < options.newton && !(residual <= wanted); ++i) {
                ++out.newton;
                if (!improve(x, p)) break;
                residual = natural_map(x, p, u.data(), F.data());
            }
        }
        return residual;
    }

    // One step of Newton's method from p, where u and F are at p; false where none lowers |F|.
    bool improve(const Problem& x, double* p) {
        const index n = x.rows;
        newton_matrix(x, p, u.data(), J.data());
        if (!newton_step.solve(J.data(), F.data(), n, 1e-14, step.data())) return false;
        const double before = norm(F.data(), n);
        double t = 1;
        for (int i = 0; i < 8; ++i, t *= 0.5) {
            for (index k = 0; k < n; ++k) trial[k] = p[k] + t * step[k];
            velocity(x, trial.data(), u.data());
            natural_map(x, trial.data(), u.data(), F.data());
            if (norm(F.data(), n) < (1 - 1e-4 * t) * before) {
                std::copy(trial.begin(), trial.end(), p);
                return true;
            }
        }
        velocity(x, p, u.data());
        natural_map(x, p, u.data(), F.data());
        return false;
    }
};

SOACRAFT_SOLVERS_END
