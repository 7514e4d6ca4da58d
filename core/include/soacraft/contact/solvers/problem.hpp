// A contact problem: u = S p + b, and what each block of rows asks of its impulse p and its velocity u.
//
//     cone   K contains p, orthogonal to u + |u_t| n in K            contacts (cone.hpp)
//     box    |p| <= bound; u < 0 where p = bound, u > 0 where p = -bound, u = 0 between      dry friction of hinges
//     free   u = 0                                                    rows of closures that were not eliminated
//
// It is judged without units: a block is divided by sqrt(S_cc), after which impulses and velocities are square roots of
// energies. The residual is that of the natural map  F(p) = p - Proj(p - u - |u_t| n),  the largest entry, relative to that
// of b.
#pragma once

#include <cmath>
#include <vector>

#include "cone.hpp"

namespace soacraft {
namespace complementarity {

constexpr double ROUNDING = 2.2e-16;

enum Kind : index { CONE = 0, BOX = 1, FREE = 2 };

struct Block {
    index kind, first, rows;
    double bound;  // of a box
};

struct Problem {
    index rows;
    const Block* blocks;
    index count;
    const double* S;  // rows x rows, symmetric
    const double* b;
};

// u <- S p + b
inline void velocity(const Problem& x, const double* p, double* u) {
    for (index i = 0; i < x.rows; ++i) {
        double sum = x.b[i];
        const double* row = x.S + i * x.rows;
        for (index j = 0; j < x.rows; ++j) sum += row[j] * p[j];
        u[i] = sum;
    }
}

// F <- the natural map at p with velocity u; its largest entry, and what rounding of p can hide of it.
inline double natural_map(const Problem& x, const double* p, const double* u, double* F) {
    double worst = 0, most = 0;
    for (index c = 0; c < x.count; ++c) {
        const Block& block = x.blocks[c];
        const index f = block.first, d = block.rows;
        double y[WIDEST] = {};
        const double slip = block.kind == CONE ? norm(u + f + 1, d - 1) : 0;
        for (index i = 0; i < d; ++i) y[i] = p[f + i] - u[f + i] - (i == 0 ? slip : 0);
        const bool inside = block.kind == FREE || (block.kind == BOX ? std::fabs(y[0]) <= block.bound : norm(y + 1, d - 1) <= y[0]);
        if (block.kind == CONE)
            project_cone(y, d);
        else
            y[0] = std::fmin(std::fmax(y[0], -block.bound), block.bound);
        for (index i = 0; i < d; ++i) {
            F[f + i] = inside ? u[f + i] + (i == 0 ? slip : 0) : p[f + i] - y[i];
            worst = std::fabs(F[f + i]) <= worst ? worst : std::fabs(F[f + i]);  // NaN is the worst
            most = std::fmax(most, std::fabs(p[f + i]));
        }
    }
    return worst + ROUNDING * most;
}

// The impulse `next` of one block with the others held, where p gives it the velocity u; A: its own block of S, with `stride`.
// False where nothing could move it and it should move.
inline bool solve_block(const Block& block, const double* A, index stride, const double* p, const double* u, double* next) {
    const index d = block.rows;
    double alone[WIDEST] = {};
    for (index i = 0; i < d; ++i) {
        alone[i] = u[i];
        for (index j = 0; j < d; ++j) alone[i] -= A[i * stride + j] * p[j];
    }
    if (block.kind == CONE) return solve_one(A, stride, d, alone, next);
    if (!(A[0] > 0)) return false;
    next[0] = -alone[0] / A[0];
    if (block.kind == BOX) next[0] = std::fmin(std::fmax(next[0], -block.bound), block.bound);
    return true;
}

// One sweep of Gauss-Seidel over the blocks, each solved alone with the others held; u follows. False where a block has
// nothing that could move it and should move.
inline bool sweep(const Problem& x, double* p, double* u, bool backward) {
    const index n = x.rows;
    for (index at = 0; at < x.count; ++at) {
        const Block& block = x.blocks[backward ? x.count - 1 - at : at];
        const index f = block.first, d = block.rows;
        double next[WIDEST];
        if (!solve_block(block, x.S + f * n + f, n, p + f, u + f, next)) return false;
        for (index j = 0; j < d; ++j) {
            const double step = next[j] - p[f + j];
            if (step == 0) continue;
            p[f + j] = next[j];
            const double* column = x.S + (f + j) * n;  // S is symmetric
            for (index i = 0; i < n; ++i) u[i] += column[i] * step;
        }
    }
    return true;
}

}  // namespace complementarity
}  // namespace soacraft
