// K = I + sum over blocks of Y_c* X_c Y_c, factored node by node: a matrix with an entry for each two nodes that a block of rows
// moves together, in the order of least degree (George, Liu 1989), by fronts (Duff, Reid 1983).
//
// The X_c need not be symmetric. Where they are positive, so is K, and rows are exchanged within a node only.
// Blocks with X_c = 0 do not count: contacts that are open tie nothing.
#pragma once

#include <set>

#include "sparse_rows.hpp"

SOACRAFT_SOLVERS_BEGIN

constexpr index MOST_DOFS = 6;  // of a node

class NodeFactor {
public:
    // X: (WIDEST, WIDEST) for each block of rows, by rows of length `rows` there; `counts`: whether it is not zero. False where
    // a pivot is not above rounding.
    bool factor(const SparseRows& rows, const double* X, const std::vector<char>& counts) {
        rows_ = &rows;
        order(counts);
        for (Front& front : fronts_)
            if (!eliminate(front, X)) return false;
        return true;
    }

    // y <- K^-1 y
    void solve(double* y) const {
        const auto node = [&](index i) -> const Node& { return rows_->nodes[at(i)]; };
        for (const Front& f : fronts_) {  // L
            double* mine = y + node(f.node).first;
            const index w = node(f.node).width;
            for (index c = 0; c < w; ++c) std::swap(mine[c], mine[f.exchange[c]]);
            for (index c = 0; c < w; ++c)
                for (index i = c + 1; i < w; ++i) mine[i] -= f.lower[at(i * w + c)] * mine[c];
            index place = w;
            for (const index other : f.others)
                for (index k = 0; k < node(other).width; ++k, ++place)
                    for (index c = 0; c < w; ++c) y[node(other).first + k] -= f.lower[at(place * w + c)] * mine[c];
        }
        for (std::size_t n = fronts_.size(); n-- > 0;) {  // U
            const Front& f = fronts_[n];
            double* mine = y + node(f.node).first;
            const index w = node(f.node).width, m = f.size;
            for (index c = w; c-- > 0;) {
                const double* row = f.upper.data() + c * m;
                double sum = mine[c];
                for (index i = c + 1; i < w; ++i) sum -= row[i] * mine[i];
                index place = w;
                for (const index other : f.others)
                    for (index k = 0; k < node(other).width; ++k) sum -= row[place++] * y[node(other).first + k];
                mine[c] = sum / row[c];
            }
        }
    }

private:
    // A node with what it is tied to when it is eliminated: a dense matrix of `size`, of which its own rows and columns are kept.
    struct Front {
        index node = 0, size = 0;
        std::vector<index> others, blocks, below;  // nodes that remain; blocks of rows and fronts that are summed here
        std::vector<double> upper, lower, rest;    // (width, size), (size, width), and what is left for a later front
        index exchange[MOST_DOFS] = {};
    };
    // Nodes that are tied to each other, by a block of rows (its number) or by a front (its number behind those of all blocks).
    struct Clique {
        std::vector<index> nodes;
        index number;
    };

    const SparseRows* rows_ = nullptr;
    std::vector<Front> fronts_;
    std::vector<Clique> cliques_;
    std::vector<std::vector<index>> of_node_;  // cliques of each node
    std::vector<index> mark_, degree_, place_;
    std::vector<double> matrix_;
    index stamp_ = 0;

    static std::size_t at(index i) { return static_cast<std::size_t>(i); }

    // Fronts in an order of elimination: always a node that is tied to the fewest.
    void order(const std::vector<char>& counts) {
        const SparseRows& rows = *rows_;
        const std::size_t n = rows.nodes.size();
        fronts_.clear(), cliques_.clear(), of_node_.assign(n, {}), mark_.assign(n, 0), degree_.assign(n, 0), place_.resize(n);
        stamp_ = 0;
        for (std::size_t c = 0; c < rows.blocks.size(); ++c) {
            if (!counts[c]) continue;
            const RowBlock& block = rows.blocks[c];
            Clique clique{{}, static_cast<index>(c)};
            for (std::size_t i = block.first; i < block.last; ++i) {
                clique.nodes.push_back(rows.pieces[i].node);
                of_node_[at(rows.pieces[i].node)].push_back(static_cast<index>(cliques_.size()));
            }
            cliques_.push_back(std::move(clique));
        }
        std::set<std::pair<index, index>> queue;
        for (std::size_t k = 0; k < n; ++k)
            if (!of_node_[k].empty()) degree_[k] = tied(static_cast<index>(k)), queue.insert({degree_[k], static_cast<index>(k)});
        while (!queue.empty()) {
            const index k = queue.begin()->second;
            queue.erase(queue.begin());
            Front front;
            front.node = k, front.size = rows.nodes[at(k)].width;
            gather(k, front.others);
            for (const index c : of_node_[at(k)]) {
                const index number = cliques_[at(c)].number;
                if (number >= 0) front.blocks.push_back(number);
                else front.below.push_back(-1 - number);
                cliques_[at(c)].nodes.clear();
            }
            std::sort(front.others.begin(), front.others.end());
            const auto made = static_cast<index>(cliques_.size());
            cliques_.push_back({front.others, -1 - static_cast<index>(fronts_.size())});
            for (const index other : front.others) {
                front.size += rows.nodes[at(other)].width;
                auto& mine = of_node_[at(other)];
                mine.erase(std::remove_if(mine.begin(), mine.end(), [&](index c) { return cliques_[at(c)].nodes.empty(); }), mine.end());
                mine.push_back(made);
            }
            for (const index other : front.others) {
                queue.erase({degree_[at(other)], other});
                degree_[at(other)] = tied(other);
                queue.insert({degree_[at(other)], other});
            }
            fronts_.push_back(std::move(front));
        }
    }

    // The nodes that are tied to k.
    void gather(index k, std::vector<index>& to) {
        mark_[at(k)] = ++stamp_;
        for (const index c : of_node_[at(k)])
            for (const index other : cliques_[at(c)].nodes)
                if (mark_[at(other)] != stamp_) mark_[at(other)] = stamp_, to.push_back(other);
    }
    index tied(index k) {
        index count = 0;
        mark_[at(k)] = ++stamp_;
        for (const index c : of_node_[at(k)])
            for (const index other : cliques_[at(c)].nodes)
                if (mark_[at(other)] != stamp_) mark_[at(other)] = stamp_, count += rows_->nodes[at(other)].width;
        return count;
    }

    bool eliminate(Front& f, const double* X) {
        const SparseRows& rows = *rows_;
        if (f.size > LONG) interrupt::check();
        const index m = f.size, w = rows.nodes[at(f.node)].width;
        matrix_.assign(at(m * m), 0);
        place_[at(f.node)] = 0;
        index place = w;
        for (const index other : f.others) place_[at(other)] = place, place += rows.nodes[at(other)].width;
        for (index i = 0; i < w; ++i) matrix_[at(i * m + i)] = 1;  // I, of each node once
        for (const index c : f.blocks) add(rows.blocks[at(c)], X + c * WIDEST * WIDEST, m);
        for (const index below : f.below) add(fronts_[at(below)], m);
        double* A = matrix_.data();
        for (index c = 0; c < w; ++c) {  // the rows of the node
            index best = c;
            for (index i = c + 1; i < w; ++i)
                if (std::fabs(A[i * m + c]) > std::fabs(A[best * m + c])) best = i;
            f.exchange[c] = best;
            if (!(std::fabs(A[best * m + c]) > ROUNDING)) return false;
            if (best != c) std::swap_ranges(A + c * m, A + (c + 1) * m, A + best * m);
            for (index i = c + 1; i < w; ++i) subtract(A + i * m, A + c * m, c, m);
        }
        for (index i = w; i < m; ++i)
            for (index c = 0; c < w; ++c) subtract(A + i * m, A + c * m, c, m);
        f.upper.assign(A, A + w * m), f.lower.resize(at(m * w));
        for (index i = 0; i < m; ++i)
            for (index c = 0; c < w; ++c) f.lower[at(i * w + c)] = A[i * m + c];
        const index left = m - w;
        f.rest.resize(at(left * left));
        for (index i = 0; i < left; ++i) std::copy(A + (w + i) * m + w, A + (w + i + 1) * m, f.rest.data() + i * left);
        return true;
    }

    // row <- row - (row[c] / pivot[c]) pivot, its factor kept in row[c].
    static void subtract(double* row, const double* pivot, index c, index m) {
        if (row[c] == 0) return;
        const double factor = row[c] /= pivot[c];
        for (index j = c + 1; j < m; ++j) row[j] -= factor * pivot[j];
    }

    // Y_c* X_c Y_c of a block of rows.
    void add(const RowBlock& block, const double* X, index m) {
        const SparseRows& rows = *rows_;
        const index d = block.rows, n = block.width;
        scaled_.assign(at(d * n), 0);  // X Y
        for (index i = 0; i < d; ++i)
            for (index k = 0; k < d; ++k) {
                const double x = X[i * d + k], *y = rows.row(block, k);
                for (index j = 0; j < n; ++j) scaled_[at(i * n + j)] += x * y[j];
            }
        for (std::size_t a = block.first; a < block.last; ++a)
            for (std::size_t b = block.first; b < block.last; ++b) {
                const Piece &left = rows.pieces[a], &right = rows.pieces[b];
                const index high = rows.nodes[at(left.node)].width, wide = rows.nodes[at(right.node)].width;
                double* to = matrix_.data() + place_[at(left.node)] * m + place_[at(right.node)];
                for (index i = 0; i < high; ++i)
                    for (index r = 0; r < d; ++r) {
                        const double y = rows.row(block, r)[left.at + i], *from = scaled_.data() + r * n + right.at;
                        for (index j = 0; j < wide; ++j) to[i * m + j] += y * from[j];
                    }
            }
    }
    // What is left of an earlier front, which is then forgotten.
    void add(Front& below, index m) {
        const SparseRows& rows = *rows_;
        const double* from = below.rest.data();
        const index size = below.size - rows.nodes[at(below.node)].width;
        index i = 0;
        for (const index left : below.others)
            for (index r = 0; r < rows.nodes[at(left)].width; ++r, ++i) {
                double* to = matrix_.data() + (place_[at(left)] + r) * m;
                index j = 0;
                for (const index right : below.others) {
                    const index wide = rows.nodes[at(right)].width, place = place_[at(right)];
                    for (index k = 0; k < wide; ++k) to[place + k] += from[i * size + j + k];
                    j += wide;
                }
            }
        std::vector<double>().swap(below.rest);
    }

    std::vector<double> scaled_;
};

SOACRAFT_SOLVERS_END
