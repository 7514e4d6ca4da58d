// Contact problems without units, as contact/solvers/scaling.py has them: every cone a unit cone, every block divided by the
// root of its largest compliance. With p = F phat / s and u = F^-1 s uhat:  uhat = (F S F / s s) phat + F b / s.
//
// Rows that move no node together are islands, each solved and judged alone: small ones with their S, others by their rows.
#pragma once

#include <vector>

#include "soacraft/contact/solvers/islands.hpp"
#include "soacraft/contact/solvers/sparse_solver.hpp"

SOACRAFT_CONTACT_BEGIN

// What a block of rows obeys: a cone, with the coefficients of its rows after the first, or a box (1 row).
struct Law {
    index kind, rows;        // complementarity::CONE or BOX
    const double* friction;  // of a cone of several rows
    double bound;
};

enum State : int { OPEN = 0, STICK = 1, SLIP = 2 };

class ScaledProblem {
public:
    complementarity::Outcome outcome = {};

    // The rows that count, of those of all laws, in the order of these; false where one must move and nothing moves it.
    bool scale(const std::vector<Law>& laws, const complementarity::SparseRows& rows, const double* b) {
        count_ = 0, of_node_.assign(rows.nodes.size(), NONE), kept_.clear();
        for (std::size_t number = 0; number < laws.size(); ++number) {
            const Law& law = laws[number];
            const complementarity::RowBlock& block = rows.blocks[number];
            if (law.kind == complementarity::BOX && law.bound == 0.0) continue;
            double most = 0.0, diagonal[complementarity::WIDEST];
            for (index i = 0; i < law.rows; ++i) {
                const double* y = rows.row(block, i);
                diagonal[i] = 0.0;
                for (index k = 0; k < block.width; ++k) diagonal[i] += y[k] * y[k];
                most = std::fmax(most, diagonal[i]);
            }
            if (!(diagonal[0] > IMMOBILE * most)) {  // nothing moves it: nothing presses
                const double speed = b[block.row];
                if (law.kind == complementarity::BOX || speed >= 0.0) continue;
                return false;
            }
            Kept kept{number, 0.0, 0, {}};
            for (index i = 0; i < law.rows; ++i) {
                const double friction = i > 0 ? law.friction[i - 1] : 1.0;
                if (!(friction > 0.0 && diagonal[i] > 0.0)) continue;
                kept.row[kept.rows++] = i, kept.size = std::fmax(kept.size, friction * friction * diagonal[i]);
            }
            kept.size = std::sqrt(kept.size);
            kept_.push_back(kept);
            join(rows, block);
        }
        part(rows);
        for (const Kept& each : kept_) gather(rows, each, laws[each.law]);
        for (std::size_t i = 0; i < count_; ++i) {
            Island& each = islands_[i];
            if (each.rows.rows > DENSE) continue;
            each.S.resize(at(each.rows.rows * each.rows.rows));
            each.rows.product(each.S.data());
        }
        return true;
    }

    // p (n) <- the impulses for b, from those it holds, or, with `pattern`, from which of them are not zero; whether they are good
    // to `tolerance`.
    bool solve(const double* b, double tolerance, double* p, index n, bool pattern = false, const double* guess = nullptr) {
        complementarity::Options options;
        options.tolerance = tolerance_ = tolerance, options.pattern = pattern;
        outcome = {0, 0, 0, 0, 0, true};
        for (std::size_t k = 0; k < count_; ++k) {
            Island& each = islands_[k];
            const std::size_t m = each.place.size();
            each.b.resize(m), each.p.resize(m);
            for (std::size_t i = 0; i < m; ++i)
                each.b[i] = each.factor[i] * b[each.place[i]], each.p[i] = p[each.place[i]] / each.factor[i];
            if (guess) {
                guess_.resize(m);
                for (std::size_t i = 0; i < m; ++i) guess_[i] = guess[each.place[i]] / each.factor[i];
                options.guess = guess_.data();
            }
            add(solved(each, options));
        }
        for (index i = 0; i < n; ++i) p[i] = 0.0;
        for (std::size_t k = 0; k < count_; ++k)
            for (std::size_t i = 0; i < islands_[k].place.size(); ++i) p[islands_[k].place[i]] = islands_[k].factor[i] * islands_[k].p[i];
        return outcome.residual <= tolerance;
    }

    // What became of each law.
    void states(std::vector<int>& to, std::size_t laws) const {
        to.assign(laws, OPEN);
        for (std::size_t k = 0; k < count_; ++k) {
            const Island& each = islands_[k];
            const auto blocks = static_cast<index>(each.blocks.size()), n = static_cast<index>(each.b.size());
            const double size = complementarity::measure({n, each.blocks.data(), blocks, nullptr, each.b.data()}, tolerance_);
            for (std::size_t i = 0; i < each.blocks.size(); ++i) {
                const complementarity::Block& block = each.blocks[i];
                const double* mine = each.p.data() + block.first;
                int& state = to[each.owner[i]];
                if (block.kind == complementarity::BOX)
                    state = std::fabs(mine[0]) < (1 - ON_THE_CONE) * block.bound ? STICK : SLIP;
                else if (mine[0] > PRESSED * size)
                    state = block.rows > 1 && complementarity::norm(mine + 1, block.rows - 1) < (1 - ON_THE_CONE) * mine[0] ? STICK : SLIP;
            }
        }
    }

private:
    // Those of contact/solvers: a compliance of nothing, an impulse of nothing, the wall of a cone.
    static constexpr double IMMOBILE = 1e-14, PRESSED = 1e-9, ON_THE_CONE = 1e-7;
    static constexpr index DENSE = 96;       // rows of an island that is solved with its S
    static constexpr index ROBUST = 768;     // and of one where that is tried after all else
    static constexpr index NONE = -1;

    struct Kept {
        std::size_t law;
        double size;  // the root of its largest compliance
        index rows, row[complementarity::WIDEST];
    };
    struct Island {
        complementarity::SparseRows rows;
        std::vector<complementarity::Block> blocks;
        std::vector<std::size_t> owner;  // the law of each
        std::vector<index> place;        // of each row in the problem as given
        std::vector<double> factor, S, b, p;
    };

    std::vector<Kept> kept_;
    std::vector<index> of_node_;         // of a node: one that it is tied to, itself for the last; NONE where nothing moves it
    std::vector<index> island_, local_;  // and its island, and its number there
    std::vector<complementarity::Piece> pieces_;
    std::vector<double> guess_;
    std::vector<Island> islands_;
    std::size_t count_ = 0;
    double tolerance_ = 1;
    complementarity::Islands dense_;
    complementarity::SparseSolver sparse_;

    static std::size_t at(index i) { return static_cast<std::size_t>(i); }

    // The node that stands for all that a node is tied to.
    index root(index node) {
        while (of_node_[at(node)] != node) node = of_node_[at(node)] = of_node_[at(of_node_[at(node)])];
        return node;
    }
    void join(const complementarity::SparseRows& rows, const complementarity::RowBlock& block) {
        index first = NONE;
        for (std::size_t i = block.first; i < block.last; ++i) {
            if (!moves(rows, block, rows.pieces[i])) continue;
            const index node = rows.pieces[i].node;
            if (of_node_[at(node)] == NONE) of_node_[at(node)] = node;
            if (first == NONE) first = root(node);
            else of_node_[at(root(node))] = first;
        }
    }
    static bool moves(const complementarity::SparseRows& rows, const complementarity::RowBlock& block, const complementarity::Piece& piece) {
        for (index r = 0; r < block.rows; ++r)
            for (index k = 0; k < rows.nodes[at(piece.node)].width; ++k)
                if (rows.row(block, r)[piece.at + k] != 0.0) return true;
        return false;
    }

    // Islands in the order of their first nodes, each with its nodes in their order.
    void part(const complementarity::SparseRows& rows) {
        island_.assign(of_node_.size(), NONE), local_.resize(of_node_.size());
        for (index node = 0; node < static_cast<index>(of_node_.size()); ++node) {
            if (of_node_[at(node)] == NONE) continue;
            index& number = island_[at(root(node))];
            if (number == NONE) number = static_cast<index>(count_), begin();
            island_[at(node)] = number;
            auto& nodes = islands_[at(number)].rows.nodes;
            const index first = nodes.empty() ? 0 : nodes.back().first + nodes.back().width;
            local_[at(node)] = static_cast<index>(nodes.size()), nodes.push_back({first, rows.nodes[at(node)].width});
        }
    }
    void begin() {
        if (count_ == islands_.size()) islands_.emplace_back();
        Island& made = islands_[count_++];
        made.rows.clear(), made.rows.nodes.clear(), made.blocks.clear(), made.owner.clear(), made.place.clear(), made.factor.clear();
    }

    // The rows of a law, into those of its island; without nodes that they do not move.
    void gather(const complementarity::SparseRows& rows, const Kept& kept, const Law& law) {
        const complementarity::RowBlock& block = rows.blocks[kept.law];
        pieces_.clear();
        for (std::size_t i = block.first; i < block.last; ++i)
            if (moves(rows, block, rows.pieces[i])) pieces_.push_back(rows.pieces[i]);
        Island& to = islands_[at(island_[at(pieces_.front().node)])];
        to.blocks.push_back({law.kind, static_cast<index>(to.place.size()), kept.rows, law.bound * kept.size});
        to.owner.push_back(kept.law);
        to.rows.begin(kept.rows);
        for (const complementarity::Piece& piece : pieces_) to.rows.add_piece(local_[at(piece.node)]);
        to.rows.end();
        for (index i = 0; i < kept.rows; ++i) {
            const index r = kept.row[i];
            const double factor = (r > 0 ? law.friction[r - 1] : 1.0) / kept.size, *from = rows.row(block, r);
            double* y = to.rows.row(to.rows.blocks.back(), i);
            for (const complementarity::Piece& piece : pieces_)
                for (index k = 0; k < rows.nodes[at(piece.node)].width; ++k) *y++ = factor * from[piece.at + k];
            to.place.push_back(block.row + r), to.factor.push_back(factor);
        }
    }

    complementarity::Outcome solved(Island& x, const complementarity::Options& options) {
        const index n = x.rows.rows;
        const auto blocks = static_cast<index>(x.blocks.size());
        const auto with_matrix = [&] { return dense_.solve({n, x.blocks.data(), blocks, x.S.data(), x.b.data()}, options, x.p.data()); };
        if (n <= DENSE) return with_matrix();
        if (options.pattern) std::fill(x.p.begin(), x.p.end(), 0.0);
        const complementarity::Outcome out = sparse_.solve(x.blocks.data(), x.rows, x.b.data(), options, x.p.data());
        if (out.residual <= options.tolerance || n > ROBUST) return out;
        x.S.resize(at(n * n)), x.rows.product(x.S.data());
        return with_matrix();
    }

    // The worst of all islands; forces are unique where they are in each.
    void add(const complementarity::Outcome& one) {
        outcome.residual = one.residual <= outcome.residual ? outcome.residual : one.residual;  // NaN is the worst
        outcome.sweeps = std::max(outcome.sweeps, one.sweeps), outcome.newton = std::max(outcome.newton, one.newton);
        outcome.interior = std::max(outcome.interior, one.interior), outcome.outer = std::max(outcome.outer, one.outer);
        outcome.unique = outcome.unique && one.unique;
    }
};

SOACRAFT_CONTACT_END
