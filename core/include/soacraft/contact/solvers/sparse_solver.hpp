// Large contact problems, by what their rows move (sparse_rows.hpp): sweeps of Gauss-Seidel with the velocities of nodes as the
// state, and steps of Newton's method by equations of the nodes. They solve what solver.hpp solves, in the same order: the problem
// with a small eps, whose forces are those of least norm, then the nearest that solve the problem itself.
//
//     F(p) = p - Proj(p - u - |u_t| n),  A = I - D,  B = D (I + n w*),  C = A + eps B           (block by block)
//     (A + B (Y Y* + eps)) dp = -F   <=>   (I + Y* C^-1 B Y) dy = -Y* C^-1 F,   dp = -C^-1 (F + B Y dy)
//
// A sweep is O(entries of Y); a step that of a sparse factor of nodes (node_factor.hpp).
#pragma once

#include "node_factor.hpp"
#include "solver.hpp"

SOACRAFT_SOLVERS_BEGIN

class SparseSolver {
public:
    // As `Solver::solve`.
    Outcome solve(const Block* blocks, const SparseRows& rows, const double* b, const Options& options, double* p) {
        const auto n = static_cast<std::size_t>(rows.rows);
        for (auto* each : {&u, &F, &trial, &step, &best, &moved, &aim}) each->resize(n);
        y.resize(static_cast<std::size_t>(rows.length())), dy.resize(y.size());
        diagonal(rows);
        const SparseProblem x{blocks, &rows, b, 0};
        Outcome out = {0, 0, 0, 0, 0, true};
        const double size = measure(x.laws(), options.tolerance);
        const double wanted = options.tolerance * size;
        double least = judge(x, p);
        best.assign(p, p + n);
        if (options.guess && !(least <= wanted)) {
            std::copy(options.guess, options.guess + n, p);
            regularised(x, options, wanted, p, out);
            const double residual = judge(x, p);
            if (residual < least) least = residual, best.assign(p, p + n);
            if (!(least <= wanted)) std::fill(p, p + n, 0.0);
        }
        index sweeps = options.sweeps;
        for (int round = 0; round < ROUNDS && !(least <= wanted); ++round, sweeps *= 8) {
            if (round > 0) std::fill(p, p + n, 0.0);
            near_point(x, options, wanted, sweeps, p, out);
            regularised(x, options, wanted, p, out);
            const double residual = judge(x, p);
            if (residual < least) least = residual, best.assign(p, p + n);
        }
        std::copy(best.begin(), best.end(), p);
        out.unique = unique(x, p);
        out.residual = least / size;
        return out;
    }

private:
    static constexpr int ROUNDS = 4, VECTORS = 4;
    static constexpr double NULL_PART = 1e-2;  // of a vector of ones and minus ones, in the null space of Y*: more is not rounding

    std::vector<double> own, u, F, trial, step, best, moved, aim, y, dy, X, G;
    std::vector<char> counts;
    NodeFactor factor;

    static std::size_t at(index i) { return static_cast<std::size_t>(i); }

    // The largest entry of the natural map at p; y, u and F are there then.
    double judge(const SparseProblem& x, const double* p) {
        velocity(x, p, y.data(), u.data());
        return natural_map(x.laws(), p, u.data(), F.data());
    }

    void diagonal(const SparseRows& rows) {
        own.assign(rows.blocks.size() * WIDEST * WIDEST, 0);
        for (std::size_t c = 0; c < rows.blocks.size(); ++c)
            rows.add_product(rows.blocks[c], rows.blocks[c], own.data() + c * WIDEST * WIDEST, WIDEST);
        shift_ = 0;
    }
    double shift_ = 0;  // eps of the diagonal blocks
    void shift(const SparseProblem& x) {
        for (std::size_t c = 0; c < x.rows->blocks.size(); ++c)
            for (index i = 0; i < WIDEST; ++i) own[c * WIDEST * WIDEST + at(i * WIDEST + i)] += x.eps - shift_;
        shift_ = x.eps;
    }

    // Sweeps, then Newton's method, on the problem with S + START and b - START p.
    void near_point(const SparseProblem& whole, const Options& options, double wanted, index sweeps, double* p, Outcome& out) {
        for (std::size_t i = 0; i < aim.size(); ++i) aim[i] = whole.b[i] - START * p[i];
        const SparseProblem x{whole.blocks, whole.rows, aim.data(), START};
        shift(x);
        double residual = judge(x, p);
        for (index i = 0; i < sweeps && !(residual <= wanted); ++i, ++out.sweeps)
            if (!sweep(x, own.data(), p, y.data(), i % 2 == 1)) break;
        residual = judge(x, p);
        for (index i = 0; i < options.newton && !(residual <= wanted); ++i) {
            ++out.newton;
            if (!improve(x, p, residual)) break;
        }
    }

    void regularised(const SparseProblem& whole, const Options& options, double wanted, double* p, Outcome& out) {
        const double exactly = std::fmax(1e-6 * wanted, 1e2 * ROUNDING * wanted / options.tolerance);
        const SparseProblem near{whole.blocks, whole.rows, whole.b, options.spread};
        double residual = full_steps(near, options, exactly, p, out);
        for (index i = 0; i < options.newton && !(residual <= exactly); ++i) {
            ++out.newton;
            if (!improve(near, p, residual)) break;
        }
        const double eps = NEAREST * options.spread;
        for (int i = 0; i < 3; ++i) {
            if (judge(whole, p) <= wanted) return;
            for (std::size_t k = 0; k < aim.size(); ++k) aim[k] = whole.b[k] - eps * p[k];
            full_steps({whole.blocks, whole.rows, aim.data(), eps}, options, wanted, p, out);
        }
    }

    // Steps of Newton's method that need not lower |F|; p <- the best. What is left there.
    double full_steps(const SparseProblem& x, const Options& options, double wanted, double* p, Outcome& out) {
        const auto n = at(x.rows->rows);
        double least = judge(x, p);
        moved.assign(p, p + n);
        for (index i = 0; i < options.newton && !(least <= wanted); ++i) {
            ++out.newton;
            if (!direction(x, p)) break;
            for (std::size_t k = 0; k < n; ++k) p[k] += step[k];
            const double residual = judge(x, p);
            if (residual < least) least = residual, moved.assign(p, p + n);
            else if (residual < 1e-3 * wanted || !std::isfinite(residual)) break;
        }
        std::copy(moved.begin(), moved.end(), p);
        judge(x, p);
        return least;
    }

    // One step that lowers |F|, from p where u and F are; false where none does.
    bool improve(const SparseProblem& x, double* p, double& residual) {
        const index n = x.rows->rows;
        const double before = norm(F.data(), n);
        if (!direction(x, p)) return false;
        double t = 1;
        for (int i = 0; i < 8; ++i, t *= 0.5) {
            for (std::size_t k = 0; k < trial.size(); ++k) trial[k] = p[k] + t * step[k];
            const double after = judge(x, trial.data());
            if (norm(F.data(), n) < (1 - 1e-4 * t) * before) {
                std::copy(trial.begin(), trial.end(), p), residual = after;
                return true;
            }
        }
        residual = judge(x, p);
        return false;
    }

    // step <- the dp of Newton's method from p, where u and F are.
    bool direction(const SparseProblem& x, const double* p) {
        const SparseRows& rows = *x.rows;
        X.resize(rows.blocks.size() * WIDEST * WIDEST), G.resize(at(rows.rows)), counts.resize(rows.blocks.size());
        std::fill(dy.begin(), dy.end(), 0.0);
        for (std::size_t c = 0; c < rows.blocks.size(); ++c) {
            if (!law(x, static_cast<index>(c), p)) return false;
            const RowBlock& block = rows.blocks[c];
            rows.push(block, G.data() + block.row, dy.data());
        }
        for (double& each : dy) each = -each;
        if (!factor.factor(rows, X.data(), counts)) return false;
        factor.solve(dy.data());
        for (std::size_t c = 0; c < rows.blocks.size(); ++c) {
            const RowBlock& block = rows.blocks[c];
            double moved_by[WIDEST] = {};
            if (counts[c]) rows.pull(block, dy.data(), moved_by);
            for (index i = 0; i < block.rows; ++i) {
                double sum = -G[at(block.row + i)];
                if (counts[c])
                    for (index k = 0; k < block.rows; ++k) sum -= X[c * WIDEST * WIDEST + at(i * block.rows + k)] * moved_by[k];
                step[at(block.row + i)] = sum;
            }
        }
        return true;
    }

    // X = C^-1 B and G = C^-1 F of a block.
    bool law(const SparseProblem& x, index c, const double* p) {
        const Block& block = x.blocks[c];
        const index f = x.rows->blocks[at(c)].row, d = block.rows;
        double v[WIDEST], D[WIDEST * WIDEST], B[WIDEST * WIDEST], C[WIDEST * WIDEST], w[WIDEST] = {}, column[WIDEST];
        double* of = X.data() + c * WIDEST * WIDEST;
        for (index i = 0; i < d; ++i) v[i] = p[f + i] - u[at(f + i)];
        if (block.kind == CONE) {
            const double slip = norm(u.data() + f + 1, d - 1);
            v[0] -= slip;
            if (slip > 0)
                for (index i = 1; i < d; ++i) w[i] = u[at(f + i)] / slip;
            project_cone_rate(v, d, D);
        } else {
            D[0] = block.kind == FREE || std::fabs(v[0]) < block.bound ? 1 : 0;
        }
        counts[at(c)] = 0;
        for (index i = 0; i < d * d; ++i) counts[at(c)] = counts[at(c)] || D[i] != 0;
        for (index i = 0; i < d; ++i) G[at(f + i)] = F[at(f + i)];
        if (!counts[at(c)]) return true;  // it opens: C is I
        for (index i = 0; i < d; ++i)
            for (index j = 0; j < d; ++j) {
                B[i * d + j] = D[i * d + j] + D[i * d] * w[j];
                C[i * d + j] = (i == j ? 1 : 0) - D[i * d + j] + x.eps * B[i * d + j];
            }
        index exchange[WIDEST];
        if (!lu_factor(C, d, 0, exchange)) return false;
        lu_solve(C, d, exchange, G.data() + f);
        for (index j = 0; j < d; ++j) {
            for (index i = 0; i < d; ++i) column[i] = B[i * d + j];
            lu_solve(C, d, exchange, column);
            for (index i = 0; i < d; ++i) of[i * d + j] = column[i];
        }
        return true;
    }

    // Whether no other forces of the blocks that press give this motion: Y* p = 0 for none but zero. A vector z, whatever it is,
    // leaves z - Y (eps + Y* Y)^-1 Y* z = eps (eps + Y Y*)^-1 z, which is its part in that null space.
    bool unique(const SparseProblem& x, const double* p) {
        const SparseRows& rows = *x.rows;
        X.assign(rows.blocks.size() * WIDEST * WIDEST, 0), counts.assign(rows.blocks.size(), 0);
        index pressing = 0;
        std::vector<char> moved_nodes(rows.nodes.size(), 0);
        for (std::size_t c = 0; c < rows.blocks.size(); ++c) {
            const RowBlock& block = rows.blocks[c];
            if (norm(p + block.row, block.rows) == 0) continue;
            counts[c] = 1, pressing += block.rows;
            for (index i = 0; i < block.rows; ++i) X[c * WIDEST * WIDEST + at(i * block.rows + i)] = 1 / SINGULAR;
            for (std::size_t i = block.first; i < block.last; ++i) moved_nodes[at(rows.pieces[i].node)] = 1;
        }
        index dofs = 0;
        for (std::size_t k = 0; k < rows.nodes.size(); ++k) dofs += moved_nodes[k] ? rows.nodes[k].width : 0;
        if (pressing > dofs) return false;
        if (pressing == 0) return true;
        if (!factor.factor(rows, X.data(), counts)) return false;
        std::uint64_t seed = 1;
        for (int turn = 0; turn < VECTORS; ++turn) {
            std::fill(dy.begin(), dy.end(), 0.0), std::fill(trial.begin(), trial.end(), 0.0);
            for (std::size_t c = 0; c < rows.blocks.size(); ++c) {
                const RowBlock& block = rows.blocks[c];
                if (!counts[c]) continue;
                for (index i = 0; i < block.rows; ++i) {
                    seed = seed * 6364136223846793005u + 1442695040888963407u;  // Knuth's
                    trial[at(block.row + i)] = (seed >> 63) != 0 ? 1 : -1;
                }
                rows.push(block, trial.data() + block.row, dy.data());
            }
            for (double& each : dy) each /= SINGULAR;
            factor.solve(dy.data());
            double left = 0;
            for (std::size_t c = 0; c < rows.blocks.size(); ++c) {
                const RowBlock& block = rows.blocks[c];
                if (!counts[c]) continue;
                double part[WIDEST] = {};
                rows.pull(block, dy.data(), part);
                for (index i = 0; i < block.rows; ++i) left += std::pow(trial[at(block.row + i)] - part[i], 2);
            }
            if (!(left <= NULL_PART * NULL_PART)) return false;
        }
        return true;
    }
};

SOACRAFT_SOLVERS_END
