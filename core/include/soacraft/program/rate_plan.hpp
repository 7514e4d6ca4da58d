// What derivatives along a dof are made of, as fields of a plan: the column of velocities that a dof gives the bodies, the
// blocks that a velocity turns and shifts axes by, and how a hinge map changes.
#pragma once

#include "builder.hpp"

namespace soacraft {
namespace program {

// For each slice of its rows the block of a field that is one stacked column, or -1.
inline Indices blocks_of_column(const Builder& b, index X) {
    const Field& x = b.field(X);
    const Space& cols = b.spaces[static_cast<std::size_t>(x.cols)];
    if (cols.count != 1 || cols.offset[1] != 1) reject("field %lld is no column", static_cast<long long>(X));
    Indices at(static_cast<std::size_t>(b.spaces[static_cast<std::size_t>(x.rows)].count), -1);
    for (index i = 0; i < x.count; ++i) {
        index& block = at[static_cast<std::size_t>(x.row[i])];
        if (block >= 0) reject("a column has one block for each slice");
        block = i;
    }
    return at;
}

// y = (I - E)^-1 x, its transpose and the tilde forms, of a column x of the nodes. Only blocks that a path reaches are
// there.
inline index add_sweep(Builder& b, index act, index E, index X) {
    b.require_field(E), b.require_field(X);
    if (act < GATHER || act > SCATTER_TILDE) reject("there is no sweep %lld", static_cast<long long>(act));
    const Indices asked{SWEEP, act, E, X};
    if (const auto at = b.known.find(asked); at != b.known.end()) return at->second;
    b.require_on_nodes(b.field(E).rows), b.require_same(b.field(E).rows, b.field(E).cols);
    b.require_same(b.field(E).rows, b.field(X).rows);
    const bool tilde = act == GATHER_TILDE || act == SCATTER_TILDE, outward = act == SCATTER || act == SCATTER_TILDE;
    const Indices edge = b.above(E), own = blocks_of_column(b, X);
    const auto n = static_cast<std::size_t>(b.count());
    std::vector<char> reached(n, 0);
    for (std::size_t k = 0; k < n && !tilde; ++k) reached[k] = own[k] >= 0;
    for (std::size_t i = 0; i < n; ++i) {
        const auto k = static_cast<std::size_t>(b.order[outward ? i : n - 1 - i]);
        if (edge[k] < 0) continue;  // as of a root
        const auto p = static_cast<std::size_t>(b.parent[k]), from = outward ? p : k;
        if (reached[from] || (tilde && own[from] >= 0)) reached[outward ? k : p] = 1;
    }
    Indices row, result(n, -1), list = edge;
    for (std::size_t k = 0; k < n; ++k)
        if (reached[k]) result[k] = static_cast<index>(row.size()), row.push_back(static_cast<index>(k));
    list.insert(list.end(), own.begin(), own.end());
    list.insert(list.end(), result.begin(), result.end());
    Indices col(row.size(), 0);
    const index Y = b.add_field(b.field(X).rows, b.field(X).cols, std::move(row), std::move(col));
    const index length = static_cast<index>(list.size());
    b.add_maker({SWEEP, static_cast<int>(act), {E, X, -1}, {Y, -1, -1, -1}, {1, 1}, b.keep(std::move(list)), length});
    return b.known[asked] = Y;
}

// Diagonal blocks made of six numbers of a column: slice i of a space by those of slice at[i] of the rows of X (`at` empty:
// by those of slice i).
inline index add_cross(Builder& b, index kind, index X, index space, const Indices& at) {
    b.require_field(X), b.require_space(space);
    if (kind < FORCE_CROSS || kind > MOMENTUM_CROSS) reject("there is no cross product %lld", static_cast<long long>(kind));
    Indices asked{CROSS, kind, X, space};
    asked.insert(asked.end(), at.begin(), at.end());
    if (const auto found = b.known.find(asked); found != b.known.end()) return found->second;
    const Indices own = blocks_of_column(b, X);
    const index count = b.spaces[static_cast<std::size_t>(space)].count, rows = static_cast<index>(own.size());
    if (at.empty() ? count != rows : static_cast<index>(at.size()) != count) reject("a slice takes the numbers of one other");
    Indices place, list;
    for (index i = 0; i < count; ++i) {
        const index k = at.empty() ? i : at[static_cast<std::size_t>(i)];
        if (k < 0 || k >= rows) reject("there is no slice %lld", static_cast<long long>(k));
        if (own[static_cast<std::size_t>(k)] < 0) continue;
        if (b.size(space, i) < 6 || b.size(b.field(X).rows, k) < 6) reject("a cross product takes six numbers");
        place.push_back(i), list.push_back(own[static_cast<std::size_t>(k)]);
    }
    const index Z = b.add_field(space, space, place, place);
    const index length = static_cast<index>(list.size());
    b.add_maker({CROSS, static_cast<int>(kind), {X, -1, -1}, {Z, -1, -1, -1}, {1, 1}, b.keep(std::move(list)), length});
    return b.known[asked] = Z;
}

// How the hinge map of a node of a rigid tree changes along a dof of its own, in the axes of the plan and their turning
// left out.
inline index add_hinge_rate(Builder& b, index node, index dof) {
    if (b.plan.rigid.count == 0 || node < 0 || node >= b.count() || dof < 0 || dof >= b.size(1, node))
        reject("there is no dof %lld of node %lld of a rigid tree", static_cast<long long>(dof), static_cast<long long>(node));
    const Indices asked{HINGE_RATE, node, dof};
    if (const auto at = b.known.find(asked); at != b.known.end()) return at->second;
    const index dH = b.add_field(1, 0, {node}, {node});
    b.add_maker({HINGE_RATE, 0, {b.plan.rigid.H, -1, -1}, {dH, -1, -1, -1}, {1, 1}, b.keep({node, dof}), 2});
    return b.known[asked] = dH;
}

}  // namespace program
}  // namespace soacraft
