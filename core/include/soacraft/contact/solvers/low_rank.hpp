// Problems of many rows that move few dofs, as of a hand full of contacts, where S alone is given:  S = L L* by pivoted Cholesky, and
// the rows of L are what the rows move (sparse_rows.hpp). O(rows rank^2) a step instead of O(rows^3).
#pragma once

#include "held.hpp"
#include "sparse_solver.hpp"

SOACRAFT_SOLVERS_BEGIN

class LowRank {
  public:
    // p <- the impulses, if S has a low rank and they are good to the tolerance; else false, and p is as it was.
    bool solve(const Problem& x, const Options& options, double* p, Outcome& out) {
        const index n = x.rows, rank = held_.factor(x);
        if (rank == 0 || WORTH * rank > n) return false;
        move(x, rank);
        trial_.assign(p, p + n), u_.resize(trial_.size()), F_.resize(trial_.size());
        out = sparse_.solve(x.blocks, rows_, x.b, options, trial_.data());
        velocity(x, trial_.data(), u_.data());  // of S itself: L leaves out what is rounding
        const double size = measure(x, options.tolerance), residual = natural_map(x, trial_.data(), u_.data(), F_.data());
        out.residual = residual / size;
        if (!(out.residual <= options.tolerance)) return false;
        std::copy(trial_.begin(), trial_.end(), p);
        return true;
    }

  private:
    static constexpr index WORTH = 4;  // rows for each dof, from which on it is less work

    Held held_;
    SparseSolver sparse_;
    SparseRows rows_;
    std::vector<double> factor_, trial_, u_, F_;

    // The rows of L, by nodes of a few dofs each.
    void move(const Problem& x, index rank) {
        factor_.resize(static_cast<std::size_t>(x.rows * rank));
        held_.rows_of_factor(x.rows, factor_.data());
        rows_.clear(), rows_.nodes.clear();
        for (index first = 0; first < rank; first += MOST_DOFS) rows_.nodes.push_back({first, std::min(MOST_DOFS, rank - first)});
        for (index c = 0; c < x.count; ++c) {
            const Block& block = x.blocks[c];
            rows_.begin(block.rows);
            for (auto node = static_cast<index>(rows_.nodes.size()); node-- > 0;) rows_.add_piece(node);
            rows_.end();
            const RowBlock& to = rows_.blocks.back();
            for (index r = 0; r < block.rows; ++r)
                for (std::size_t i = to.first; i < to.last; ++i) {
                    const Node& node = rows_.nodes[static_cast<std::size_t>(rows_.pieces[i].node)];
                    std::copy_n(factor_.data() + (block.first + r) * rank + node.first, node.width, rows_.row(to, r) + rows_.pieces[i].at);
                }
        }
    }
};

SOACRAFT_SOLVERS_END
