// Rows of velocity by what they move: S = Y Y*, with Y in blocks of rows and nodes (hinges of a tree, free bodies).
//
//     y = Y* p,   u = Y y + b
//
// A block of rows has a piece for each node it moves; two blocks have an entry in S where they share a node. Products are
// O(entries of Y), and S is never formed.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "problem.hpp"
#include "soacraft/scalars/pack.hpp"

SOACRAFT_SOLVERS_BEGIN

struct Node {
    index first, width;  // its entries of y
};

struct Piece {
    index node, at;  // and where its columns begin in a row of the block
};

struct RowBlock {
    index row, rows, width;
    std::size_t first, last;  // its pieces, nodes in falling order
    std::size_t Y;            // where its rows begin, (rows, width)
};

class SparseRows {
public:
    std::vector<Node> nodes;
    std::vector<Piece> pieces;
    std::vector<RowBlock> blocks;
    std::vector<double> Y;
    index rows = 0;

    void clear() { pieces.clear(), blocks.clear(), Y.clear(), rows = 0; }

    // A block of so many rows: its pieces are added one by one, then its entries are there to be written.
    void begin(index count) { blocks.push_back({rows, count, 0, pieces.size(), pieces.size(), Y.size()}), rows += count; }
    void add_piece(index node) {
        RowBlock& block = blocks.back();
        pieces.push_back({node, block.width});
        block.width += nodes[static_cast<std::size_t>(node)].width;
    }
    void end() {
        RowBlock& block = blocks.back();
        block.last = pieces.size();
        Y.resize(Y.size() + static_cast<std::size_t>(block.rows * block.width));
    }

    // The last block with other nodes, in falling order; its entries are zero.
    void replace_last(const std::vector<index>& with) {
        RowBlock& block = blocks.back();
        pieces.resize(block.first), Y.resize(block.Y), block.width = 0;
        for (const index node : with) add_piece(node);
        end();
    }

    double* row(const RowBlock& block, index r) { return Y.data() + block.Y + static_cast<std::size_t>(r * block.width); }
    const double* row(const RowBlock& block, index r) const { return Y.data() + block.Y + static_cast<std::size_t>(r * block.width); }
    index length() const { return nodes.empty() ? 0 : nodes.back().first + nodes.back().width; }

    // y <- y + Y* p of a block, p (rows) its own.
    void push(const RowBlock& block, const double* p, double* y) const {
        for (index r = 0; r < block.rows; ++r) {
            const double part = p[r], *from = row(block, r);
            if (part == 0) continue;
            for (std::size_t i = block.first; i < block.last; ++i) {
                const Node& node = nodes[static_cast<std::size_t>(pieces[i].node)];
                for (index k = 0; k < node.width; ++k) y[node.first + k] += part * from[pieces[i].at + k];
            }
        }
    }

    // u <- u + Y y of a block, u (rows) its own.
    void pull(const RowBlock& block, const double* y, double* u) const {
        for (index r = 0; r < block.rows; ++r) {
            const double* from = row(block, r);
            double sum = 0;
            for (std::size_t i = block.first; i < block.last; ++i) {
                const Node& node = nodes[static_cast<std::size_t>(pieces[i].node)];
                for (index k = 0; k < node.width; ++k) sum += from[pieces[i].at + k] * y[node.first + k];
            }
            u[r] += sum;
        }
    }

    // u (rows) <- S p, and y <- Y* p.
    void multiply(const double* p, double* y, double* u) const {
        for (index i = 0; i < length(); ++i) y[i] = 0;
        for (const RowBlock& block : blocks) push(block, p + block.row, y);
        for (index i = 0; i < rows; ++i) u[i] = 0;
        for (const RowBlock& block : blocks) pull(block, y, u + block.row);
    }

    // The block of S of two blocks of rows, added to `S` (a.rows, b.rows) with `stride`.
    void add_product(const RowBlock& a, const RowBlock& b, double* S, index stride) const {
        const Piece *i = pieces.data() + a.first, *j = pieces.data() + b.first;
        const Piece *const a_end = pieces.data() + a.last, *const b_end = pieces.data() + b.last;
        while (i != a_end && j != b_end) {
            if (i->node != j->node) {
                ++(i->node > j->node ? i : j);
                continue;
            }
            const index n = nodes[static_cast<std::size_t>(i->node)].width;
            for (index r = 0; r < a.rows; ++r) {
                const double* x = row(a, r) + i->at;
                for (index c = 0; c < b.rows; ++c) {
                    const double* z = row(b, c) + j->at;
                    double sum = 0;
                    for (index k = 0; k < n; ++k) sum += x[k] * z[k];
                    S[r * stride + c] += sum;
                }
            }
            ++i, ++j;
        }
    }

    // S (rows, rows), symmetric. Short rows are multiplied with their zeros.
    void product(double* S) {
        constexpr index SHORT = 64;
        const index n = length();
        if (n <= SHORT) {
            const index wide = (rows + LANES - 1) / LANES * LANES;  // columns of Y*, filled up
            whole_.assign(static_cast<std::size_t>(wide * n), 0.0);
            for (const RowBlock& block : blocks)
                for (index r = 0; r < block.rows; ++r)
                    for (std::size_t i = block.first; i < block.last; ++i) {
                        const Node& node = nodes[static_cast<std::size_t>(pieces[i].node)];
                        const double* from = row(block, r) + pieces[i].at;
                        for (index k = 0; k < node.width; ++k) whole_[static_cast<std::size_t>((node.first + k) * wide + block.row + r)] = from[k];
                    }
            for (index j = 0; j < wide; j += LANES)
                for (index i = 0; i < std::min(rows, j + LANES); i += TALL) product(wide, n, i, j, S);
        } else {
            for (index i = 0; i < rows * rows; ++i) S[i] = 0;
            for (std::size_t i = 0; i < blocks.size(); ++i)
                for (std::size_t j = i; j < blocks.size(); ++j)
                    add_product(blocks[i], blocks[j], S + blocks[i].row * rows + blocks[j].row, rows);
        }
        for (index i = 0; i < rows; ++i)
            for (index j = 0; j < i; ++j) S[i * rows + j] = S[j * rows + i];
    }

private:
    typedef rigid::SOACRAFT_TARGET::Pack<SOACRAFT_LANES> Columns;
    static constexpr index LANES = SOACRAFT_LANES, TALL = 2;  // columns and rows of S at a time
    std::vector<double> whole_;

    // S from (i, j) on, TALL rows of LANES columns: sums over n.
    void product(index wide, index n, index i, index j, double* S) const {
        Columns sums[TALL];
        for (Columns& sum : sums) sum = Columns(0.0);
        for (index k = 0; k < n; ++k) {
            const double* from = whole_.data() + k * wide;
            Columns right;
            std::memcpy(&right.x, from + j, sizeof right.x);
            for (index r = 0; r < TALL; ++r) sums[r] += Columns(from[i + r]) * right;  // i + TALL <= wide: both are even
        }
        for (index r = 0; r < TALL && i + r < rows; ++r)
            for (index c = 0; c < LANES && j + c < rows; ++c) S[(i + r) * rows + j + c] = sums[r].x[c];
    }
};

// A contact problem whose compliance is Y Y* + eps.
struct SparseProblem {
    const Block* blocks;  // those of the rows, in their order
    const SparseRows* rows;
    const double* b;
    double eps;

    index count() const { return static_cast<index>(rows->blocks.size()); }
    Problem laws() const { return {rows->rows, blocks, count(), nullptr, b}; }
};

// u <- (Y Y* + eps) p + b, and y <- Y* p.
inline void velocity(const SparseProblem& x, const double* p, double* y, double* u) {
    x.rows->multiply(p, y, u);
    for (index i = 0; i < x.rows->rows; ++i) u[i] += x.b[i] + x.eps * p[i];
}

// One sweep of Gauss-Seidel, as that of dense problems: y follows, and what is left of u is not known after it. `own` has the
// diagonal blocks of Y Y* + eps, (WIDEST, WIDEST) each.
inline bool sweep(const SparseProblem& x, const double* own, double* p, double* y, bool backward) {
    if (x.rows->rows > LONG) interrupt::check();
    for (index at = 0; at < x.count(); ++at) {
        const index c = backward ? x.count() - 1 - at : at;
        const RowBlock& rows = x.rows->blocks[static_cast<std::size_t>(c)];
        const Block& block = x.blocks[c];
        const double* A = own + c * WIDEST * WIDEST;
        double *mine = p + rows.row, alone[WIDEST], next[WIDEST], step[WIDEST];
        for (index i = 0; i < rows.rows; ++i) alone[i] = x.b[rows.row + i] + x.eps * mine[i];
        x.rows->pull(rows, y, alone);
        if (!solve_block(block, A, WIDEST, mine, alone, next)) return false;
        for (index i = 0; i < rows.rows; ++i) step[i] = next[i] - mine[i], mine[i] = next[i];
        x.rows->push(rows, step, y);
    }
    return true;
}

SOACRAFT_SOLVERS_END
