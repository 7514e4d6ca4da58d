// Contact problems island by island: blocks between which S has entries make an island, which is solved and judged alone, by
// the size of its own velocities. So a slow contact is as exact as if nothing fast were elsewhere. O(rows^2) to find them.
#pragma once

#include <algorithm>
#include <vector>

#include "low_rank.hpp"
#include "solver.hpp"

SOACRAFT_SOLVERS_BEGIN

class Islands {
  public:
    // As `Solver::solve`; residual and rounds are the worst of all islands, forces are unique where they are in each.
    Outcome solve(const Problem& x, const Options& options, double* p) {
        const index count = label(x);
        if (count <= 1) return solve_island(x, options, p);
        Outcome all = {0, 0, 0, 0, 0, true};
        Options of_island = options;
        for (index island = 0; island < count; ++island) {
            gather(x, island, p);
            if (options.guess) {
                guess_.clear();
                for (const index row : rows_) guess_.push_back(options.guess[row]);
                of_island.guess = guess_.data();
            }
            const Problem part = {static_cast<index>(b_.size()), blocks_.data(), static_cast<index>(blocks_.size()), S_.data(), b_.data()};
            const Outcome one = solve_island(part, of_island, p_.data());
            for (std::size_t i = 0; i < rows_.size(); ++i) p[rows_[i]] = p_[i];
            all.residual = one.residual <= all.residual ? all.residual : one.residual;  // NaN is the worst
            all.sweeps = std::max(all.sweeps, one.sweeps), all.newton = std::max(all.newton, one.newton);
            all.interior = std::max(all.interior, one.interior), all.outer = std::max(all.outer, one.outer);
            all.unique = all.unique && one.unique;
        }
        return all;
    }

  private:
    Solver solver_;
    LowRank low_rank_;
    std::vector<index> island_, of_row_, rows_;
    std::vector<Block> blocks_;
    std::vector<double> S_, b_, p_, guess_;

    Outcome solve_island(const Problem& x, const Options& options, double* p) {
        Outcome out = {0, 0, 0, 0, 0, true};
        return x.rows > LONG && low_rank_.solve(x, options, p, out) ? out : solver_.solve(x, options, p);
    }

    // The island of each block, numbered in the order of their first blocks; how many there are.
    index label(const Problem& x) {
        island_.assign(static_cast<std::size_t>(x.count), -1), of_row_.resize(static_cast<std::size_t>(x.rows));
        for (index c = 0; c < x.count; ++c)
            for (index i = 0; i < x.blocks[c].rows; ++i) of_row_[static_cast<std::size_t>(x.blocks[c].first + i)] = c;
        index count = 0, left = x.count;  // blocks that have none yet
        for (index c = 0; c < x.count && left > 0; ++c) {
            if (at(c) >= 0) continue;
            --left, rows_.assign(1, c), island_[static_cast<std::size_t>(c)] = count;  // here: blocks whose neighbours are to be looked at
            while (!rows_.empty() && left > 0) {
                const Block& block = x.blocks[rows_.back()];
                rows_.pop_back();
                for (index i = block.first; i < block.first + block.rows; ++i)
                    for (index j = 0; j < x.rows; ++j) {
                        const index other = of_row_[static_cast<std::size_t>(j)];
                        if (x.S[i * x.rows + j] == 0 || at(other) >= 0) continue;
                        --left, island_[static_cast<std::size_t>(other)] = count, rows_.push_back(other);
                    }
            }
            ++count;
        }
        return count;
    }

    index at(index block) const { return island_[static_cast<std::size_t>(block)]; }

    // The problem of one island.
    void gather(const Problem& x, index island, const double* p) {
        rows_.clear(), blocks_.clear(), b_.clear(), p_.clear(), S_.clear();
        for (index c = 0; c < x.count; ++c) {
            if (at(c) != island) continue;
            Block block = x.blocks[c];
            for (index i = 0; i < block.rows; ++i) rows_.push_back(block.first + i);
            block.first = static_cast<index>(rows_.size()) - block.rows;
            blocks_.push_back(block);
        }
        for (const index i : rows_) {
            b_.push_back(x.b[i]), p_.push_back(p[i]);
            for (const index j : rows_) S_.push_back(x.S[i * x.rows + j]);
        }
    }
};

SOACRAFT_SOLVERS_END
