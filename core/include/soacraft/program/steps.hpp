// The steps of a program: a block of columns taken through fields and sweeps.
#pragma once

#include "../block.hpp"
#include "plan.hpp"

SOACRAFT_PROGRAM_BEGIN

template <class T>
struct Registers {
    const Program* program;
    const T* x;
    T* out;
    T* room;
    index m;  // columns

    SOACRAFT_INLINE const T* in(index r) const { return r == 0 ? x : to(r); }
    SOACRAFT_INLINE T* to(index r) const { return r == 1 ? out : room + program->registers[r] * m; }
};

template <class T>
SOACRAFT_INLINE void apply(const Plan& plan, const T* arena, const Step& step, bool turned, index m, const T* x, T* y) {
    const Field& f = plan.fields[step.field];
    const index *const rows = plan.spaces[f.rows].offset, *const cols = plan.spaces[f.cols].offset;
    const Space& result = plan.spaces[turned ? f.cols : f.rows];
    for (index i = 0; i < result.offset[result.count] * m; ++i) y[i] = T(0.0);
    for (index i = 0; i < f.count; ++i) {
        const index r = f.row[i], c = f.col[i];
        const T* const X = arena + f.at + f.start[i];
        if (turned)
            add_transpose_product(rows[r + 1] - rows[r], cols[c + 1] - cols[c], m, X, One<T>{x + rows[r] * m},
                                  y + cols[c] * m);
        else
            add_product(rows[r + 1] - rows[r], cols[c + 1] - cols[c], m, X, One<T>{x + cols[c] * m}, y + rows[r] * m);
    }
}

// A x, A* x and the tilde forms for A = (I - E)^-1 (see `../sweeps.hpp`).
template <class T>
SOACRAFT_INLINE void sweep(const Plan& plan, const T* arena, const Step& step, index m, const T* x, T* y) {
    const Forest& forest = plan.forest;
    const Field& f = plan.fields[step.field];
    const index* const node = plan.spaces[f.rows].offset;
    const bool tilde = step.act == GATHER_TILDE || step.act == SCATTER_TILDE;
    const bool outward = step.act == SCATTER || step.act == SCATTER_TILDE;
    for (index i = 0; i < node[forest.count] * m; ++i) y[i] = tilde ? T(0.0) : x[i];
    for (index i = 0; i < forest.count; ++i) {
        const index k = forest.order[outward ? i : forest.count - 1 - i], p = forest.parent[k];
        if (p < 0 || step.list[k] < 0) continue;
        const T* const E = arena + f.at + f.start[step.list[k]];
        const index from = (outward ? node[p] : node[k]) * m, to = (outward ? node[k] : node[p]) * m;
        const index rows = node[p + 1] - node[p], cols = node[k + 1] - node[k];
        if (outward) {
            if (tilde)
                add_transpose_product(rows, cols, m, E, Two<T>{y + from, x + from}, y + to);
            else
                add_transpose_product(rows, cols, m, E, One<T>{y + from}, y + to);
        } else {
            if (tilde)
                add_product(rows, cols, m, E, Two<T>{y + from, x + from}, y + to);
            else
                add_product(rows, cols, m, E, One<T>{y + from}, y + to);
        }
    }
}

template <class T>
SOACRAFT_INLINE void run_steps(const Registers<T>& r, const T* arena) {
    const Program& program = *r.program;
    const Plan& plan = *program.plan;
    for (index i = 0; i < program.steps_count; ++i) {
        const Step& step = program.steps[i];
        const T* const x = r.in(step.in);
        T* const y = r.to(step.out);
        switch (step.act) {
            case APPLY: apply(plan, arena, step, false, r.m, x, y); break;
            case APPLY_T: apply(plan, arena, step, true, r.m, x, y); break;
            case COMBINE: {
                const T a(step.factor[0]), b(step.factor[1]);
                const index n = step.size * r.m;
                if (step.other < 0) {
                    for (index j = 0; j < n; ++j) y[j] = a * x[j];
                } else {
                    const T* const z = r.in(step.other);
                    for (index j = 0; j < n; ++j) y[j] = a * x[j] + b * z[j];
                }
                break;
            }
            default: sweep(plan, arena, step, r.m, x, y);
        }
    }
}

SOACRAFT_PROGRAM_END
