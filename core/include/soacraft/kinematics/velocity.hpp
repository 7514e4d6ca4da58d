// One step of a control loop of the whole robot: rows of tasks, bounds of speeds, levels. It allocates nothing, and every loop in
// it is bounded.
#pragma once

#include "levels.hpp"
#include "speed_limits.hpp"

SOACRAFT_RIGID_BEGIN

using kinematics::PlainProgram;

struct VelocityWork {
    std::size_t bytes;
    Cutter cut;
    RowWork rows, bent;  // where the robot is, and a small step away
    double *away, *step;
    double *closures, *closure_wish, *closure_weight;
    LevelWork levels;

    VelocityWork(const Model& model, const VelocityPlan& plan, const VelocityCall& call, char* memory)
        : bytes(0), cut{memory}, rows(model, plan, all_rows(plan, call), cut), bent(model, plan, all_rows(plan, call), cut),
          away(taken(model.nq)), step(taken(model.nv)), closures(taken(call.closures.count * wide(model.nv))),
          closure_wish(taken(call.closures.count)), closure_weight(taken(call.closures.count)),
          levels(model.nv, larger_of(larger_of(all_rows(plan, call), call.closures.count), model.nv), all_rows(plan, call) + call.closures.count, plan.levels,
                 call.kept.count, call.closures.count > 0, cut) {
        bytes = cut.taken;
    }

private:
    double* taken(index n) {
        double* found;
        cut(found, n);
        return found;
    }
    static index larger_of(index a, index b) { return a < b ? b : a; }
};

inline std::size_t velocity_room(const Model& model, const VelocityPlan& plan, const VelocityCall& call) {
    return VelocityWork(model, plan, call, nullptr).bytes;
}

// Rows in SI units to radians and lengths.
inline void scale_rows(const Model& model, const VelocityPlan& plan, const GivenRows& rows, double* to, double* wish, double by) {
    const index n = model.nv, w = wide(n);
    for (index r = 0; r < rows.count; ++r) {
        clear(w, to + r * w);
        for (index i = 0; i < n; ++i) to[r * w + i] = rows.J[r * n + i] / (rows.size[r] * plan.unit[i]);
        wish[r] = by * rows.left[r] / rows.size[r];
    }
}

// Velocities of the next dt seconds; false where a posture has no difference from q.
inline bool velocity_step(const Model& model, const VelocityPlan& plan, const VelocityCall& call, void* memory) {
    VelocityWork work(model, plan, call, static_cast<char*>(memory));
    const index n = model.nv, w = wide(n), kept = call.kept.count;
    TaskRows rows(model, plan, call, work.rows);
    if (!rows.take()) return false;
    LevelWork& m = work.levels;
    for (index i = 0; i < n; ++i) {
        const kinematics::SpeedLimits& s = plan.limits;
        const bool placed = call.limits && s.place[i] >= 0;
        const double x = placed ? call.q[s.place[i]] : 0.0, before = call.v ? call.v[i] : 0.0;
        speed_range(x, placed ? s.lower[i] : -HUGE_VAL, placed ? s.upper[i] : HUGE_VAL, s.fastest[i], call.acceleration ? call.acceleration[i] : HUGE_VAL,
                    before, call.dt, m.low[i], m.high[i]);
        m.low[i] *= plan.unit[i], m.high[i] *= plan.unit[i];
    }
    scale_rows(model, plan, call.kept, m.C, m.bound, 1.0);
    Levels levels(n, kept, call.closures.count > 0, plan.tolerances, m);
    if (call.closures.count > 0) {
        scale_rows(model, plan, call.closures, work.closures, work.closure_wish, -1.0 / call.dt);
        levels.close(call.closures.count, work.closures, work.closure_wish, work.closure_weight);
    }
    VelocityCall elsewhere = call;
    elsewhere.q = work.away;
    TaskRows bent(model, plan, elsewhere, work.bent);
    for (index k = 0; k < plan.levels; ++k) {
        const Level& level = work.rows.levels[k];
        // the rows after a step
        const auto after = [&](const double* y) -> const double* {
            for (index i = 0; i < n; ++i) work.step[i] = y[i] / plan.unit[i];
            integrate(model, call.q, work.step, work.away);
            return bent.take(true) ? work.bent.J : nullptr;
        };
        levels.solve(level, work.rows, call.damping * call.dt, k + 1 == plan.levels, after, call.held + k * n);
    }
    levels.rest();
    const double* y = levels.y();
    for (index i = 0; i < n; ++i) call.to[i] = y[i] / plan.unit[i];
    for (index i = 0; i < plan.count; ++i) call.missed[i] = rows.missed(i, y);
    for (index r = 0; r < kept; ++r) {
        const double off = call.kept.left[r] - call.kept.size[r] * dot(w, m.C + r * w, y);
        call.missed_kept[r] = off > 0.0 ? off : 0.0;
    }
    return true;
}

// A program as users of `solve_qp` have it: rows as long as they are.
inline std::size_t plain_room(const PlainProgram& p) {
    const index w = wide(p.n);
    return QpWork(p.n, p.rows, nullptr).bytes + cut_size(static_cast<std::size_t>(p.n * w) * sizeof(double)) + cut_size(static_cast<std::size_t>(p.rows * w) * sizeof(double));
}
inline index solve_plain(const PlainProgram& p, void* memory, double* x, double* multipliers) {
    const index n = p.n, w = wide(n);
    Cutter cut{static_cast<char*>(memory)};
    double *H, *C;
    cut(H, n * w), cut(C, p.rows * w);
    for (index i = 0; i < n; ++i) clear(w, H + i * w), copy(n, p.H + i * n, H + i * w);
    for (index r = 0; r < p.rows; ++r) clear(w, C + r * w), copy(n, p.C + r * n, C + r * w);
    const QpWork work(n, p.rows, static_cast<char*>(memory) + cut.taken);
    const QuadraticProgram q = {n, p.rows, H, C, p.lower, p.upper, nullptr, nullptr, p.tolerance, p.scale, 10 * (n + p.rows) + 100};
    const auto slope = [&](const double* at, double* g) {
        clear(w, g);
        for (index i = 0; i < n; ++i) g[i] = p.g[i] + dot(w, H + i * w, at);
    };
    const Verdict told = solve_qp(q, work, slope);
    copy(n, work.x, x);
    for (index r = 0; told == Verdict::YES && r < p.rows; ++r) multipliers[r] = work.multipliers[n + r];
    return static_cast<index>(told);
}

SOACRAFT_RIGID_END
