// A closed chain moved in its independent dofs, and put back on its closures: what soacraft/loops/position.py and
// soacraft/loops/embedding/continuation.py say, for states that are not in doubt.
//
//     expand     v = X v_i
//     complete   q_d <- q_d - G_d^+ r(q)                                 until what is open is rounding
//     advance    q <- complete(integrate(q, X dv_i + x0 / 2)),           halved until prediction and result agree, on one branch
//     project    q <- integrate(q, -Mcal^-1 Gc* S^+ r(q)),   v <- v - Mcal^-1 Gc* S^+ Gc v
#pragma once

#include "embedding/embedding.hpp"
#include "soacraft/rigid/coordinates.hpp"
#include "augmented/tree_augmented.hpp"

SOACRAFT_RIGID_BEGIN

// Memory of a motion, behind that of the rows.
struct MotionWork {
    double *still, *v, *dv;  // by dofs; nothing moves in the first
    double *q, *guess, *moved, *next;  // coordinates
    double* theta;                   // of the closures' hinges at q
    double* rows;                    // of the groups, as they were before a step
    index* place;                    // by dof: its place among the independent ones, -1: dependent
    std::size_t bytes;

    MotionWork(const Plan& plan, char* memory) {
        Cutter cut{memory};
        const index nv = plan.tree->nv, nq = plan.tree->nq;
        cut(still, nv), cut(v, nv), cut(dv, nv), cut(q, nq), cut(guess, nq), cut(moved, nq);
        index rows_size = 0;
        for (const loops::Group& g : plan.groups) rows_size += g.G_size;
        cut(next, nq), cut(theta, plan.coordinates), cut(place, nv), cut(rows, rows_size);
        bytes = cut.taken;
    }
};

constexpr int MOST_STEPS = 20, MOST_HALVES = 12;

// The rows at a configuration and velocity without gravity, coordinates of closures followed from w.theta.
inline bool rows_at(LoopWork& w, const double* q, const double* v) {
    const Base none = {};
    if (!(w.plan.length > 0.0)) return false;  // only a state tells how large the model is
    return take_rows(w, none, q, v, nullptr, nullptr, w.theta, false, false);
}

// The larger of two numbers; where one is none, that one.
inline double worse(double a, double b) { return a >= b || a != a ? a : b; }

// By how much closures and couplings are open: radians, lengths of their loops, sizes of couplings.
inline double opening(const LoopWork& w) {
    double most = 0.0;
    for (std::size_t i = 0; i < w.plan.closures.size(); ++i) {
        const Tie& t = w.ties[i];
        most = worse(worse(most, length_of(t.gap)), length_of(t.gap + 3) / w.plan.closures[i].length);
    }
    for (std::size_t i = 0; i < w.plan.couplings.size(); ++i)
        most = worse(most, std::fabs(w.ratios[i].residual) / w.plan.couplings[i].size);
    return most;
}

// r(q) and Gc v by rows.
inline void open_by(const LoopWork& w, double* residual) {
    for (std::size_t i = 0; i < w.plan.closures.size(); ++i) {
        const Closure& c = w.plan.closures[i];
        for (index r = 0; r < c.rows; ++r) {
            double sum = 0.0;
            for (int k = 0; k < 6; ++k) sum += w.ties[i].local[6 * r + k] * w.ties[i].gap[k];
            residual[c.row + r] = sum;
        }
    }
    for (std::size_t i = 0; i < w.plan.couplings.size(); ++i) residual[w.plan.couplings[i].row] = w.ratios[i].residual;
}
inline void speeds(const LoopWork& w, double* speed) {
    for (std::size_t i = 0; i < w.plan.closures.size(); ++i) {
        const Closure& c = w.plan.closures[i];
        for (index r = 0; r < c.rows; ++r) speed[c.row + r] = w.ties[i].speed[r];
    }
    for (std::size_t i = 0; i < w.plan.couplings.size(); ++i) speed[w.plan.couplings[i].row] = w.ratios[i].speed;
}
inline double largest_in_units(const LoopWork& w, const double* x) {
    double most = 0.0;
    for (index i = 0; i < w.plan.size; ++i) most = worse(most, std::fabs(x[i]) / w.unit[i]);
    return most;
}

// Where each dof is in `order`, the independent dofs; false unless they are those of the plan.
inline bool find_places(const LoopWork& w, const index* order, index count, index* place) {
    for (index i = 0; i < w.model.nv; ++i) place[i] = -1;
    for (index i = 0; i < count; ++i) place[order[i]] = i;
    index known = 0;
    for (const Group& g : w.plan.groups)
        for (index column : g.independent) {
            if (place[w.plan.user_dof[g.dofs[column]]] < 0) return false;
            ++known;
        }
    return known == count;
}

// v = X v_i and x0, for the rows taken before; x0 may be null.
inline bool expand(LoopWork& w, const index* place, const double* x, double scale, double* v, double* x0) {
    for (const Group& g : w.plan.groups) {
        const GroupWork s = group_work(w, g);
        if (!s.free && !split_group(w, g, s)) return false;
        for (index i = 0; i < s.n; ++i) {
            const index dof = w.plan.user_dof[g.dofs[i]];
            double sum = s.free ? scale * x[place[dof]] : 0.0;
            for (index j = 0; j < s.ni && !s.free; ++j)
                sum += s.X[i * s.ni + j] * scale * x[place[w.plan.user_dof[g.dofs[g.independent[j]]]]];
            v[dof] = sum;
            if (x0) x0[dof] = s.free ? 0.0 : s.x0[i];
        }
    }
    return true;
}

// dq_d = -G_d^+ r, rows and dofs in their units; false where G_d is in doubt.
inline bool dependent_step(LoopWork& w, double* dv) {
    const Plan& plan = w.plan;
    open_by(w, w.open);
    for (index i = 0; i < w.model.nv; ++i) dv[i] = 0.0;
    for (const Group& g : plan.groups) {
        const GroupWork s = group_work(w, g);
        if (s.free || s.nd == 0) continue;
        tie_group(w, g, s);
        const auto unit = [&](index column) { return plan.unit[plan.user_dof[g.dofs[column]]]; };
        const auto fill = [&](const Tied& tied, double* F, index columns, double* right) {
            fill_in_units(w, g, s, tied, columns, F);
            for (index r = 0; r < tied.rows; ++r) right[r] = w.open[g.rows[tied.row + r]] / w.unit[g.rows[tied.row + r]];
        };
        if (!factor_stages(g, s, 1, plan.tolerances.doubtful, fill)) return false;
        const auto get = [&](index column, double factor, double* to) { to[0] += factor * s.y[column]; };
        const auto set = [&](index column, const double* x) {
            s.y[column] = x[0];
            dv[plan.user_dof[g.dofs[column]]] = -x[0] / unit(column);
        };
        solve_stages(g, s, 1, get, set);
    }
    return true;
}

// The rows of all groups as they were tied last.
inline void keep_rows(LoopWork& w, double* to) {
    for (const Group& g : w.plan.groups) {
        const double* G = group_work(w, g).G;
        for (index i = 0; i < g.G_size; ++i) *to++ = G[i];
    }
}

// Whether the columns of dependent dofs change from the rows kept before to those taken last, in units, by so little that no
// singular pose lies between, at which branches meet: less than their smallest singular value. Where it is more Python looks,
// or the step is halved.
inline bool on_one_branch(LoopWork& w, const double* before) {
    const loops::Tolerances& t = w.plan.tolerances;
    for (const Group& g : w.plan.groups) {
        const GroupWork s = group_work(w, g);
        if (s.free || s.nd == 0) {
            before += g.G_size;
            continue;
        }
        tie_group(w, g, s);
        const auto fill = [&](const Tied& tied, double* F, index columns, double*) { fill_in_units(w, g, s, tied, columns, F); };
        if (!factor_stages(g, s, 0, t.doubtful, fill)) return false;
        double least = front_of(s, g.stages[0]).smallest(), change = 0.0;
        for (const Stage& stage : g.stages) {
            const double each = front_of(s, stage).smallest();
            least = each < least ? each : least;
        }
        for (const Tied& tied : g.ties) {
            const auto count = static_cast<index>(tied.columns.size());
            for (index r = 0; r < tied.rows; ++r)
                for (index c = 0; c < count; ++c) {
                    if (tied.place[c] < 0) continue;
                    const double unit = w.unit[g.rows[tied.row + r]] * w.plan.unit[w.plan.user_dof[g.dofs[tied.columns[c]]]];
                    const index at = tied.at + r * count + c;
                    const double x = (s.G[at] - before[at]) / unit;
                    change += x * x;
                }
        }
        if (!(change <= t.alike * t.alike * least * least)) return false;
        before += g.G_size;
    }
    return true;
}

// The dependent coordinates of q from where they are, while a step halves what is open; `rate`: an array of dofs to work in.
// False where they stay open, or where steps are not so short that the solution next to the start is sure: Python looks. With
// `rows` to keep those of the start in, also where a singular pose may lie between.
inline bool complete(LoopWork& w, const double* still, double* rate, double* q, double* next, double* rows) {
    const loops::Tolerances& t = w.plan.tolerances;
    if (!rows_at(w, q, still)) return false;
    double open = opening(w), before = 0.0, far = 0.0;
    open_by(w, w.open);
    double left = largest_in_units(w, w.open);
    for (int step = 0; step < MOST_STEPS && !(left <= t.closest); ++step) {
        if (!dependent_step(w, rate)) return false;
        if (rows && step == 0) keep_rows(w, rows);
        const double size = largest_rate(w.plan, rate);
        if (!(size <= t.furthest) || (step > 0 && size > t.small && size > t.shrinks * before)) return false;
        integrate(w.model, q, rate, next);
        if (!rows_at(w, next, still)) return false;
        open_by(w, w.open);
        const double after = largest_in_units(w, w.open), was = left;
        if (after < was) {
            left = after, open = opening(w), far += size;
            for (index i = 0; i < w.model.nq; ++i) q[i] = next[i];
        }
        if (!(after <= 0.5 * was)) break;
        before = size;
    }
    return open <= t.closed && (!rows || far <= t.small || on_one_branch(w, rows));
}

// One step of a part of dv_i from m.q, into m.moved; false where prediction and result do not agree, or may be on two branches.
inline bool step_along(LoopWork& w, MotionWork& m, const double* dv, double part) {
    const loops::Tolerances& t = w.plan.tolerances;
    for (index i = 0; i < w.plan.coordinates; ++i) w.theta[i] = m.theta[i];
    if (!rows_at(w, m.q, m.still) || !expand(w, m.place, dv, part, m.v, nullptr)) return false;
    const double size = largest_rate(w.plan, m.v);
    if (!rows_at(w, m.q, m.v) || !expand(w, m.place, dv, part, m.v, m.dv)) return false;
    keep_rows(w, m.rows);
    for (index i = 0; i < w.model.nv; ++i) m.dv[i] = m.v[i] + 0.5 * m.dv[i];
    integrate(w.model, m.q, m.dv, m.guess);
    for (index i = 0; i < w.model.nq; ++i) m.moved[i] = m.guess[i];
    if (!complete(w, m.still, m.dv, m.moved, m.next, nullptr) || !difference(w.model, m.guess, m.moved, m.dv)) return false;
    const double correction = largest_rate(w.plan, m.dv);
    return correction <= larger(t.trust * (size < t.longest ? size : t.longest), t.small) && on_one_branch(w, m.rows);
}

// From a closed q along dv_i, into m.q.
inline bool advance(LoopWork& w, MotionWork& m, const double* q, const double* dv) {
    integrate(w.model, q, m.still, m.q);
    for (index i = 0; i < w.plan.coordinates; ++i) m.theta[i] = w.theta[i];
    int levels[2 * MOST_HALVES + 2] = {0}, waiting = 1;  // parts still to go: 2^-level each, the next one last
    while (waiting > 0) {
        const int level = levels[--waiting];
        if (!step_along(w, m, dv, std::ldexp(1.0, -level))) {
            if (level == MOST_HALVES) return false;
            levels[waiting] = levels[waiting + 1] = level + 1;
            waiting += 2;
            continue;
        }
        for (index i = 0; i < w.model.nq; ++i) m.q[i] = m.moved[i];
        for (index i = 0; i < w.plan.coordinates; ++i) m.theta[i] = w.theta[i];
    }
    return true;
}

// What is known where the coordinates have been closed: nothing, the rows there with the speeds of v, and factors next to them.
enum class Known { nothing, rows, factors };

// Gauss-Newton in the metric of the mass matrix from q, into m.q, while each step at least halves what is open.
inline bool close_position(LoopWork& w, MotionWork& m, const double* q, const double* v, double& open, Known& known) {
    integrate(w.model, q, m.still, m.q);
    if (!rows_at(w, m.q, v)) return false;
    open = opening(w), known = Known::rows;
    open_by(w, w.gamma);
    double left = largest_in_units(w, w.gamma);
    for (int step = 0; step < MOST_STEPS && !(left <= w.plan.tolerances.closest); ++step) {
        if (!impulse(w, w.gamma)) return false;
        const double size = largest_rate(w.plan, w.vdot);
        integrate(w.model, m.q, w.vdot, m.next);
        if (!rows_at(w, m.next, v)) return false;
        open_by(w, w.gamma);
        const double before = left, after = largest_in_units(w, w.gamma);
        known = Known::nothing;
        if (after < before) {
            left = after, open = opening(w), known = size <= w.plan.tolerances.reused ? Known::factors : Known::rows;
            for (index i = 0; i < w.model.nq; ++i) m.q[i] = m.next[i];
        }
        if (!(after <= 0.5 * before)) break;
    }
    return open <= w.plan.tolerances.closed;
}

// The velocities nearest to v that the closures allow, into `to`; q must be closed.
inline bool close_velocity(LoopWork& w, const double* q, const double* v, double* to, Known known = Known::nothing) {
    if (known == Known::nothing && (!rows_at(w, q, v) || !(opening(w) <= w.plan.tolerances.closed))) return false;
    if (known != Known::factors && !factor_rows(w)) return false;
    speeds(w, w.gamma);
    jump(w, w.gamma);
    for (index i = 0; i < w.model.nv; ++i) to[i] = v[i] + w.vdot[i];
    return true;
}

// Both: q into m.q and v into `to`; `open`: by how much the closures are open then.
inline bool project(LoopWork& w, MotionWork& m, const double* q, const double* v, double* to, double& open) {
    Known known = Known::nothing;
    return close_position(w, m, q, v, open, known) && close_velocity(w, m.q, v, to, known);
}

SOACRAFT_RIGID_END
