// The motions that closures and couplings forbid, as rows on articulated bodies, and rows of contacts without their part there:
//
//     Z = Gc (I - H psi K)* D^-1/2,   Q an orthonormal basis of its rows,   Y <- Y (1 - Q* Q)
//     Y Y* = N (Mcal^-1 - Mcal^-1 Gc* (Gc Mcal^-1 Gc*)^+ Gc Mcal^-1) N*
//
// so that the impulses of a contact problem come with those that keep the loops closed, and its solver meets contacts alone.
// Loops that share elements make a cluster, with a basis of its own: O(m^2 n) for m rows on n dofs, O(m n) for each row of a contact.
#pragma once

#include <algorithm>
#include <vector>

#include "soacraft/contact/solvers/sparse_rows.hpp"
#include "soacraft/loops/augmented/reference_compliance.hpp"

SOACRAFT_RIGID_BEGIN

class ClosureSpace {
public:
    explicit ClosureSpace(const Plan& plan)
        : of_element_(at(plan.tree->count), NONE), place_(at(plan.tree->count), 0), still_(at(plan.tree->nv)) {
        for (std::size_t i = 0; i < plan.ways.size(); ++i) join(plan, i);
        for (Cluster& x : clusters_) {
            std::sort(x.elements.begin(), x.elements.end());
            for (const index k : x.elements) {
                place_[at(k)] = x.width, x.width += loops::width_of(*plan.tree, k);
            }
            x.stride = (x.width + LANES - 1) / LANES * LANES;
        }
    }

    bool empty() const { return clusters_.empty(); }

    // The basis where the tree of w stands, its inertias articulated, at coordinates q; coordinates of the closures' hinges are
    // those next to w.theta. False where closures, or their rank, are in doubt.
    bool take(LoopWork& w, const double* q) {
        const Plan& plan = w.plan;
        for (std::size_t i = 0; i < plan.closures.size(); ++i)
            if (!tie(plan, plan.closures[i], w.limbs, false, w.theta, w.ties[i])) return false;
        index first = 0;
        for (std::size_t i = 0; i < plan.couplings.size(); ++i) {
            w.ratios[i] = ratio(plan.couplings[i], q, still_.data(), w.rates, first);
            first += static_cast<index>(plan.couplings[i].terms.size());
        }
        for (std::size_t i = 0; i < plan.ways.size(); ++i) climb(w, i);
        return std::all_of(clusters_.begin(), clusters_.end(), [&](Cluster& x) { return gather(w, x) && span(plan.tolerances, x); });
    }

    // The rows of the last block, whose nodes are elements, without their part in the spaces of the clusters that they move.
    void project(complementarity::SparseRows& rows) {
        touched_.clear();
        const complementarity::RowBlock was = rows.blocks.back();
        for (std::size_t i = was.first; i < was.last; ++i) {
            const index number = of_element_[at(rows.pieces[i].node)];
            if (number != NONE && std::find(touched_.begin(), touched_.end(), number) == touched_.end()) touched_.push_back(number);
        }
        if (touched_.empty()) return;
        widen(rows, was);
        const complementarity::RowBlock& block = rows.blocks.back();
        for (index r = 0; r < block.rows; ++r)
            for (const index number : touched_) project(number, rows, block, rows.row(block, r));
    }

    // |Y Q*|^2 of the last block, a single row of one element's dofs that climbed to the base.
    double part_of_last(const complementarity::SparseRows& rows) {
        const complementarity::RowBlock& block = rows.blocks.back();
        const double* y = rows.row(block, 0);
        double sum = 0.0;
        const index number = last_cluster(rows, block);
        if (number == NONE) return 0.0;
        const Cluster& x = clusters_[at(number)];
        part_.assign(at(x.stride), 0.0);
        for (std::size_t j = block.first; j < block.last; ++j) {
            const complementarity::Piece& piece = rows.pieces[j];
            if (of_element_[at(piece.node)] == number)
                std::copy_n(y + piece.at, rows.nodes[at(piece.node)].width, part_.data() + place_[at(piece.node)]);
        }
        for (index i = 0; i < x.rank; ++i) {
            const double along = product(x, x.row(i), part_.data());
            sum += along * along;
        }
        return sum;
    }

private:
    static constexpr index NONE = -1;
    // The cluster that a way to the base meets: elements that it meets behind its first are in the same one.
    index last_cluster(const complementarity::SparseRows& rows, const complementarity::RowBlock& block) const {
        for (std::size_t j = block.first; j < block.last; ++j)
            if (of_element_[at(rows.pieces[j].node)] != NONE) return of_element_[at(rows.pieces[j].node)];
        return NONE;
    }
    static constexpr double LEFT = 1e-10;  // of a row: no more than this part of it is rounding
    static constexpr double LITTLE = 0.1;  // of its square
    static std::size_t at(index i) { return static_cast<std::size_t>(i); }

    typedef Pack<SOACRAFT_LANES> Columns;
    static constexpr index LANES = SOACRAFT_LANES;

    struct Cluster {
        std::vector<std::size_t> ways;
        std::vector<index> elements;  // parents first
        index width = 0, stride = 0, rank = 0;
        std::vector<double> Z, size;  // rows of closures, then Q in their place, (rows, stride) filled up with zeros; squares of their lengths
        double* row(index i) { return Z.data() + i * stride; }
        const double* row(index i) const { return Z.data() + i * stride; }
    };

    // Let the elements of a way be in one cluster.
    void join(const Plan& plan, std::size_t number) {
        const loops::Way& way = plan.ways[number];
        if (way.steps.empty()) return;
        index mine = NONE;
        for (const loops::Step& step : way.steps) {
            const index other = of_element_[at(step.element)];
            if (other == NONE || other == mine) continue;
            if (mine == NONE) {
                mine = other;
                continue;
            }
            Cluster &to = clusters_[at(mine)], &from = clusters_[at(other)];
            for (const index k : from.elements) of_element_[at(k)] = mine;
            to.elements.insert(to.elements.end(), from.elements.begin(), from.elements.end());
            to.ways.insert(to.ways.end(), from.ways.begin(), from.ways.end());
            from.elements.clear(), from.ways.clear();
        }
        if (mine == NONE) mine = static_cast<index>(clusters_.size()), clusters_.emplace_back();
        clusters_[at(mine)].ways.push_back(number);
        for (const loops::Step& step : way.steps) {
            if (of_element_[at(step.element)] == mine) continue;
            of_element_[at(step.element)] = mine, clusters_[at(mine)].elements.push_back(step.element);
        }
    }

    // The scaled rows of a cluster; false where their scale does not serve.
    bool gather(const LoopWork& w, Cluster& x) const {
        const Plan& plan = w.plan;
        index rows = 0;
        double most = 0.0;
        for (const std::size_t number : x.ways) rows += plan.ways[number].rows;
        x.Z.assign(at(rows * x.stride), 0.0), x.size.assign(at(rows), 0.0);
        index row = 0;
        for (const std::size_t number : x.ways) {
            const loops::Way& way = plan.ways[number];
            for (index r = 0; r < way.rows; ++r, ++row) {
                const double* from = w.Y + way.Y + r * way.width;
                double *to = x.row(row), sum = 0.0;
                for (const loops::Step& step : way.steps) {
                    const index first = place_[at(step.element)];
                    for (index k = 0, n = loops::width_of(*plan.tree, step.element); k < n; ++k)
                        to[first + k] = from[step.at + k], sum += from[step.at + k] * from[step.at + k];
                }
                x.size[at(row)] = sum, most = larger(most, sum);
            }
        }
        return rows == 0 || (most > plan.tolerances.lowest && most < plan.tolerances.highest);
    }

    // Q by Gram and Schmidt, the longest row first; false where a row neither counts nor is rounding. A row of which little is left
    // is made orthogonal twice.
    static bool span(const loops::Tolerances& t, Cluster& x) {
        const auto rows = static_cast<index>(x.size.size());
        for (x.rank = 0; x.rank < rows; ++x.rank) {
            const index best = std::max_element(x.size.begin() + x.rank, x.size.end()) - x.size.begin();
            if (x.size[at(best)] <= t.rounding) return true;
            double* mine = x.row(x.rank);
            if (best != x.rank) {
                std::swap_ranges(mine, mine + x.stride, x.row(best));
                std::swap(x.size[at(x.rank)], x.size[at(best)]);
            }
            double size = x.size[at(x.rank)];
            if (size < LITTLE) {
                for (index i = 0; i < x.rank; ++i) subtract(x, x.row(i), mine);
                size = product(x, mine, mine);
                if (size <= t.rounding) {
                    x.size[at(x.rank--)] = 0.0;  // it is looked at no more
                    continue;
                }
            }
            if (!(size > t.pivot)) return false;
            const double inverse = 1.0 / std::sqrt(size);
            for (index k = 0; k < x.stride; ++k) mine[k] *= inverse;
            for (index i = x.rank + 1; i < rows; ++i) {
                double* other = x.row(i);
                if (x.size[at(i)] <= t.rounding) continue;
                subtract(x, mine, other);
                x.size[at(i)] = product(x, other, other);
            }
        }
        return true;
    }
    // Of rows that are filled up with zeros.
    static double product(const Cluster& x, const double* a, const double* b) {
        Columns sum(0.0);
        for (index k = 0; k < x.stride; k += LANES) sum += loaded(a + k) * loaded(b + k);
        double total = 0.0;
        for (int i = 0; i < SOACRAFT_LANES; ++i) total += sum.x[i];
        return total;
    }
    static Columns loaded(const double* from) {
        Columns to;
        std::memcpy(&to.x, from, sizeof to.x);
        return to;
    }
    static void subtract(const Cluster& x, const double* unit, double* SOACRAFT_RESTRICT from) {
        const double part = product(x, unit, from);
        for (index k = 0; k < x.stride; ++k) from[k] -= part * unit[k];
    }

    // The last block with pieces for all elements of the clusters that it moves, too.
    void widen(complementarity::SparseRows& rows, const complementarity::RowBlock& was) {
        pieces_.assign(rows.pieces.begin() + static_cast<std::ptrdiff_t>(was.first), rows.pieces.end());
        Y_.assign(rows.Y.begin() + static_cast<std::ptrdiff_t>(was.Y), rows.Y.end());
        nodes_.clear();
        for (const complementarity::Piece& piece : pieces_)
            if (std::find(touched_.begin(), touched_.end(), of_element_[at(piece.node)]) == touched_.end()) nodes_.push_back(piece.node);
        for (const index number : touched_)
            nodes_.insert(nodes_.end(), clusters_[at(number)].elements.begin(), clusters_[at(number)].elements.end());
        std::sort(nodes_.begin(), nodes_.end(), [](index a, index b) { return a > b; });
        rows.replace_last(nodes_);
        const complementarity::RowBlock& block = rows.blocks.back();
        std::size_t to = block.first;
        for (const complementarity::Piece& piece : pieces_) {  // both in falling order
            while (rows.pieces[to].node != piece.node) ++to;
            const index width = rows.nodes[at(piece.node)].width;
            for (index r = 0; r < block.rows; ++r)
                std::copy_n(Y_.data() + r * was.width + piece.at, width, rows.row(block, r) + rows.pieces[to].at);
        }
    }

    // y <- y (1 - Q* Q), twice where little is left, as that has the rounding of all.
    void project(index number, const complementarity::SparseRows& rows, const complementarity::RowBlock& block, double* y) {
        const Cluster& x = clusters_[at(number)];
        part_.assign(at(x.stride), 0.0);
        double *part = part_.data(), before = 0.0, after = 0.0;
        const auto each = [&](const auto& move) {
            for (std::size_t i = block.first; i < block.last; ++i) {
                const complementarity::Piece& piece = rows.pieces[i];
                if (of_element_[at(piece.node)] != number) continue;
                const index first = place_[at(piece.node)];
                for (index k = 0; k < rows.nodes[at(piece.node)].width; ++k) move(part[first + k], y[piece.at + k]);
            }
        };
        each([&](double& mine, const double& of_row) { mine = of_row, before += of_row * of_row; });
        if (before == 0.0) return;
        after = before;
        for (int turn = 0; turn < 2 && (turn == 0 || after < LITTLE * before); ++turn) {
            for (index i = 0; i < x.rank; ++i) subtract(x, x.row(i), part);
            after = product(x, part, part);
        }
        const bool rounding = after <= LEFT * LEFT * before;
        each([&](const double& mine, double& of_row) { of_row = rounding ? 0.0 : mine; });
    }

    std::vector<Cluster> clusters_;
    std::vector<index> of_element_, place_;  // by element: its cluster, and where its dofs begin there
    std::vector<index> touched_, nodes_;
    std::vector<complementarity::Piece> pieces_;
    std::vector<double> Y_, part_, still_;
};

SOACRAFT_RIGID_END
