// Programs for one instruction set: single states in doubles, batches in packs of SOACRAFT_LANES states.
#pragma once

#include <cstddef>

#include "make.hpp"
#include "steps.hpp"

SOACRAFT_PROGRAM_BEGIN

typedef rigid::SOACRAFT_TARGET::Pack<SOACRAFT_LANES> Abreast;

struct Row {
    const double* x;
    SOACRAFT_FLAT double operator[](index i) const { return x[i]; }
};

struct Rows {
    const double* x[SOACRAFT_LANES];
    SOACRAFT_FLAT Abreast operator[](index k) const {
        Abreast r;
        for (int i = 0; i < SOACRAFT_LANES; ++i) r.x[i] = x[i][k];
        return r;
    }
};

template <class T>
Pose<T> pose_of_base(const double* base) {
    const T o(0.0), i(1.0);
    if (!base) return {{{i, o, o}, {o, i, o}, {o, o, i}}, {o, o, o}};
    return {matrix_of<T>(base), vector_of<T>(base + 9)};
}

inline bool make_one(const Job& job, double* arena, unsigned char* made, double* work) {
    const Program& program = *job.program;
    const Made<double> m{program.plan, arena, work};
    const Pose<double> base = pose_of_base<double>(job.base);
    for (index i = 0; i < program.needs_count; ++i) {
        const index number = program.needs[i];
        if (made[number] == 1) continue;
        if (made[number] == 0 && program.plan->makers[number].how == RIGID)
            fill_constant(Filled<double>{program.plan, arena});
        if (!make(m, number, Row{job.q}, base)) return false;
        made[number] = 1;
    }
    return true;
}

inline bool run_one(const Job& job, const double* arena, double* registers) {
    const Registers<double> r{job.program, job.x, job.out, registers, job.columns};
    run_steps(r, arena);
    return true;
}

// The arena, what makers and steps work on, and the columns of argument and result, all in packs.
struct Batch {
    Abreast *arena, *work, *registers, *x, *out;
};

inline unsigned long long numbers_of_batch(const Job& job) {
    const Program& p = *job.program;
    return static_cast<unsigned long long>(p.plan->arena + p.plan->work + (p.register_room + p.rows + p.cols) * job.columns);
}

inline unsigned long long batch_bytes(const Job& job) { return numbers_of_batch(job) * sizeof(Abreast); }

inline index run_batch(const Job& job, index first, index last, void* workspace) {
    const Program& p = *job.program;
    const Plan& plan = *p.plan;
    Batch b;
    b.arena = static_cast<Abreast*>(workspace), b.work = b.arena + plan.arena, b.registers = b.work + plan.work;
    b.x = b.registers + p.register_room * job.columns, b.out = b.x + p.cols * job.columns;
    const Made<Abreast> m{&plan, b.arena, b.work};
    const Pose<Abreast> base = pose_of_base<Abreast>(job.base);
    if (plan.rigid.count) fill_constant(Filled<Abreast>{&plan, b.arena});
    for (index state = first; state < last; state += SOACRAFT_LANES) {
        index row[SOACRAFT_LANES];
        const index count = last - state < SOACRAFT_LANES ? last - state : SOACRAFT_LANES;
        for (index i = 0; i < SOACRAFT_LANES; ++i) row[i] = state + (i < count ? i : count - 1);
        Rows q;
        for (int i = 0; i < SOACRAFT_LANES; ++i) q.x[i] = job.q ? job.q + row[i] * job.q_step : nullptr;
        for (index i = 0; i < p.needs_count; ++i) {
            const index number = p.needs[i];
            if (plan.makers[number].how == GIVEN) {
                const Field& f = plan.fields[plan.makers[number].out[0]];
                if (state > first && job.given_step[number] == 0) continue;
                Rows from;
                for (int l = 0; l < SOACRAFT_LANES; ++l) from.x[l] = job.given[number] + row[l] * job.given_step[number];
                for (index e = 0; e < f.start[f.count]; ++e) b.arena[f.at + e] = from[e];
            } else if (!make(m, number, q, base)) {
                return state;
            }
        }
        if (state == first || job.x_step) {
            Rows x;
            for (int l = 0; l < SOACRAFT_LANES; ++l) x.x[l] = job.x + row[l] * job.x_step;
            for (index e = 0; e < p.cols * job.columns; ++e) b.x[e] = x[e];
        }
        run_steps(Registers<Abreast>{&p, b.x, b.out, b.registers, job.columns}, b.arena);
        for (index l = 0; l < count; ++l) {
            double* const to = job.out + row[l] * job.out_step;
            for (index e = 0; e < p.rows * job.columns; ++e) to[e] = b.out[e].x[l];
        }
    }
    return -1;
}

constexpr Machine MACHINE = {SOACRAFT_TARGET_NAME, SOACRAFT_LANES, make_one, run_one, run_batch, batch_bytes};

SOACRAFT_PROGRAM_END
