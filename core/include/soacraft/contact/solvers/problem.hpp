// A contact problem: u = S p + b, and what each block of rows asks of its impulse p and its velocity u.
//
//     cone   K contains p, orthogonal to u + |u_t| n in K            contacts (cone.hpp)
//     box    |p| <= bound; u < 0 where p = bound, u > 0 where p = -bound, u = 0 between      dry friction of hinges
//     free   u = 0                                                    rows of closures that were not eliminated
//
// It is judged without units: a block is divided by the root of its largest S_ii, after which impulses and velocities are square
// roots of energies. The residual is that of the natural map  F(p) = p - Proj(p - u - |u_t| n),  the largest entry, relative to the one
// without impulses, F(0): to what has to act. Contacts that are open by themselves do not count there, however fast they open.
#pragma once

#include <cmath>
#include <vector>

#include "../../interrupt.hpp"
#include "cone.hpp"

SOACRAFT_SOLVERS_BEGIN

constexpr double ROUNDING = 2.2e-16;
constexpr double NOTHING = 1e-14;  // a natural map of this part of b of what has to act is rounding
constexpr index LONG = 96;         // rows from which on a step takes long next to a look at the clock
constexpr double WORK = 2e11;      // of all steps, a cube of rows each: some minutes
constexpr double SLOW = 1e-2;      // and what the tolerance is relative to is no larger part of b than this, for that reason

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
    bool associated = false;  // cones without the term |u_t| n: a convex program, whose slips lift off
};

// True where so many steps are as much work as a problem is worth.
inline bool spent(index rows, index steps) {
    const auto n = static_cast<double>(rows);
    return n * n * n * static_cast<double>(steps) > WORK;
}

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
        const double slip = block.kind == CONE && !x.associated ? norm(u + f + 1, d - 1) : 0;
        for (index i = 0; i < d; ++i) y[i] = p[f + i] - u[f + i] - (i == 0 ? slip : 0);
        const bool inside = block.kind == FREE || (block.kind == BOX ? std::fabs(y[0]) <= block.bound : norm(y + 1, d - 1) <= y[0]);
        if (block.kind == CONE)
            project_cone(y, d);
        else
            y[0] = std::fmin(std::fmax(y[0], -block.bound), block.bound);
        for (index i = 0; i < d; ++i) {
            F[f + i] = inside ? u[f + i] + (i == 0 ? slip : 0) : p[f + i] - y[i];
            worst = std::fabs(F[f + i]) <= worst ? worst : std::fabs(F[f + i]);  // NaN is the worst
            most = larger(most, std::fabs(p[f + i]));
        }
    }
    return worst + ROUNDING * most;
}

// What the natural map is measured by, where it is to be `tolerance` of that: its largest entry without impulses, and at least
// what rounding of b would be, of the blocks that have to act; 1 where none has.
inline double measure(const Problem& x, double tolerance) {
    double size = 0, most = 0;
    for (index c = 0; c < x.count; ++c) {
        const Block& block = x.blocks[c];
        const double *b = x.b + block.first, speed = norm(b, block.rows);
        double acts = 0;  // of p = 0 in this block
        if (block.kind == CONE) {
            const double slip = norm(b + 1, block.rows - 1);
            // inside the cone F is b + |b_t| n; outside it is (1, w) / 2 times -b_n, what is above the wall
            if (b[0] < 0) acts = -b[0] - slip >= slip ? std::fmax(-b[0] - slip, slip) : -0.5 * b[0];
        } else {
            acts = block.kind == FREE ? std::fabs(b[0]) : std::fmin(std::fabs(b[0]), block.bound);
        }
        if (acts > 0) size = std::fmax(size, acts), most = std::fmax(most, speed);
    }
    size = std::fmax(size, std::fmin(NOTHING / tolerance, SLOW) * most);
    return size > 0 ? size : 1;
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
    if (n > LONG) interrupt::check();
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

SOACRAFT_SOLVERS_END
