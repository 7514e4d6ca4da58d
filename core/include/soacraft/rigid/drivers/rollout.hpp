// Many steps of a method: one state, or a pack of states that stay side by side from the first step to the last. Stages are
// in the chart of the step's start (Munthe-Kaas), so that quaternions cost no order: udot = dexp^-1(u) w. What is free turns so
// and travels in the axes that it has at the start (sim/integrators/manifold.py), so that a constant velocity is constant.
#pragma once

#include "../../interrupt.hpp"
#include "../aba.hpp"
#include "../coordinates.hpp"
#include "../twist_log.hpp"
#include "access.hpp"
#include "rollout_task.hpp"

SOACRAFT_RIGID_BEGIN

SOACRAFT_FLAT void set_lane(double& x, int, double value) { x = value; }
template <int W>
SOACRAFT_FLAT void set_lane(Pack<W>& x, int i, double value) { x.x[i] = value; }

// Rows first to last of a table with `step` numbers between rows, to vectors over n numbers and back.
SOACRAFT_FLAT void from_rows(const double* table, index step, const Rows<double>& rows, index n, double* to) {
    std::memcpy(to, table + rows.row[0] * step, static_cast<std::size_t>(n) * sizeof(double));
}
template <int W>
SOACRAFT_INLINE void from_rows(const double* table, index step, const Rows<Pack<W>>& rows, index n, Pack<W>* to) {
    const double* x[W];
    for (int i = 0; i < W; ++i) x[i] = table + rows.row[i] * step;
    side_by_side(x, n, to);
}
SOACRAFT_FLAT void into_rows(const double* from, const Rows<double>& rows, index n, double* table, index step, double*) {
    std::memcpy(table + rows.row[0] * step, from, static_cast<std::size_t>(n) * sizeof(double));
}
template <int W>
SOACRAFT_INLINE void into_rows(const Pack<W>* from, const Rows<Pack<W>>& rows, index n, double* table, index step, Pack<W>* space) {
    double* y[W];
    for (int i = 0; i < W; ++i) y[i] = table + rows.row[i] * step;
    std::memcpy(static_cast<void*>(space), from, static_cast<std::size_t>(n) * sizeof *space);
    to_rows(space, n, y, rows.count);
}

template <class T>
class Roller {
public:
    template <class Taker>
    Roller(const RolloutTask& task, const Job& job, Taker& arena)
        : task_(task), job_(job), model_(*job.model), nq_(model_.nq), nv_(model_.nv), work_(model_, arena),
          links_(job.passive, model_, arena) {
        for (index k = 0; k < model_.count; ++k) free_ = free_ || model_.elements[k].kind == FREE;
        const auto take = [&](index n) { return arena.template take<T>(n); };
        q_ = take(nq_), stage_q_ = take(nq_), space_ = take(nq_), v_ = take(nv_), stage_v_ = take(nv_), a_ = take(nv_);
        u_ = take(nv_), slope_q_ = take(nv_), sum_q_ = take(nv_), sum_v_ = take(nv_), force_ = take(nv_), whole_ = take(nv_);
        own_v_ = take(nv_), calm_ = take(nv_);
    }

    // All steps of the states from `first` on, as many as a pack has or fewer.
    bool run(index first, RolloutEnd& end) {
        const Rows<T> rows(first, task_.count);
        from_rows(task_.q, nq_, rows, nq_, q_), from_rows(task_.v, nv_, rows, nv_, v_);
        store(rows, 0);
        for (index step = 0; step < task_.steps; ++step) {
            interrupt::check(step);
            if (!step || task_.force_of_step)
                from_rows(task_.force + step * task_.force_of_step, task_.force_of_state, rows, nv_, force_);
            const int bad = task_.method == RK4 ? runge_kutta(end.turned) : partitioned(end.turned);
            if (bad >= 0) {
                end.state = rows.row[bad], end.step = step;
                return false;
            }
            store(rows, step + 1);
        }
        return true;
    }

private:
    static constexpr int LANES = Lanes<T>::count;

    void store(const Rows<T>& rows, index row) {
        const index steps = task_.steps + 1;
        into_rows(q_, rows, nq_, task_.Q + row * nq_, steps * nq_, space_);
        into_rows(v_, rows, nv_, task_.V + row * nv_, steps * nv_, space_);
    }

    // vdot at a stage, of the travel of what is free vdot + w x v; the number of a state without one, or -1.
    SOACRAFT_APART int accelerations(T* q, T* v) {
        const StateVector<T> at{q}, rate{v};
        StateVector<T> to{a_};
        const StateVector<T> tau = with_passive(job_, links_, at, rate, StateVector<T>{force_}, whole_);
        if (!free_) return forward_dynamics<T>(model_, base_of(job_), at, rate, tau, nullptr, work_, to) ? -1 : bad(a_, nv_, 0);
        for (index i = 0; i < nv_; ++i) calm_[i] = v[i];
        each_free([&](const Element& e) {
            for (index i = 3; floats(e) && i < 6; ++i) calm_[e.v + i] = T(0.0);
        });
        const bool moves = forward_dynamics<T>(model_, base_of(job_), at, StateVector<T>{calm_}, tau, nullptr, work_, to);
        each_free([&](const Element& e) {
            const Vec<T> turn = cross(three<T>(calm_, e.v), three<T>(calm_, e.v + 3));
            a_[e.v + 3] += turn.x, a_[e.v + 4] += turn.y, a_[e.v + 5] += turn.z;
        });
        return moves ? -1 : bad(a_, nv_, 0);
    }

    template <class Work>
    void each_free(const Work& work) const {
        for (index k = 0; free_ && k < model_.count; ++k)
            if (model_.elements[k].kind == FREE) work(model_.elements[k]);
    }
    // x <- the same travel (of each free hinge) in the axes that it has at other coordinates.
    void change_axes(const T* from, const T* to, T* x) const {
        each_free([&](const Element& e) {
            const auto turned = [&](const T* q, double sign, const Vec<T>& y) {
                const Vec<T> r = three<T>(q, e.q);
                const T two = T(2.0) / (dot(r, r) + q[e.q + 3] * q[e.q + 3]);
                return y + two * cross(r, cross(r, y) + (T(sign) * q[e.q + 3]) * y);
            };
            const Vec<T> y = turned(to, -1.0, turned(from, 1.0, three<T>(x, e.v + 3)));
            x[e.v + 3] = y.x, x[e.v + 4] = y.y, x[e.v + 5] = y.z;
        });
    }

    // The coordinates of the stage: q exp(u), plain ones are added, and what is free goes straight on.
    void move() {
        for (index k = 0; k < model_.count; ++k) {
            const Element& e = model_.elements[k];
            if (e.kind <= HELICAL) {
                stage_q_[e.q] = q_[e.q] + u_[e.v];
                continue;
            }
            const index nq = e.kind == FREE ? 7 : 4, nv = nq - 1;
            for (int i = 0; i < LANES; ++i) {
                double x[7], d[6], y[7];
                for (index c = 0; c < nq; ++c) x[c] = lane(q_[e.q + c], i);
                for (index c = 0; c < nv; ++c) d[c] = lane(u_[e.v + c], i);
                integrate(e, x, d, y);
                if (e.kind == FREE) go_straight(x, d, y);
                for (index c = 0; c < nq; ++c) set_lane(stage_q_[e.q + c], i, y[c]);
            }
        }
    }

    // p + R(r) d of q = [r, p]
    static void go_straight(const double* q, const double* d, double* to) {
        const Vec<double> r{q[0], q[1], q[2]}, way{d[3], d[4], d[5]}, twice = cross(r, cross(r, way) + q[3] * way);
        to[4] = q[4] + way.x + 2.0 * twice.x, to[5] = q[5] + way.y + 2.0 * twice.y, to[6] = q[6] + way.z + 2.0 * twice.z;
    }

    // The rates of u for the velocities of the stage, which are in the axes of the start where they are of travel; plain
    // coordinates have these themselves.
    void rates() {
        for (index i = 0; i < nv_; ++i) slope_q_[i] = stage_v_[i];
        for (index k = 0; k < model_.count; ++k) {
            const Element& e = model_.elements[k];
            if (e.kind <= HELICAL) continue;
            for (int i = 0; i < LANES; ++i) {
                const Vec<double> none{0.0, 0.0, 0.0};
                const Vec<double> r = LogRate<double>({turn_of(u_, e, i), none}).times({turn_of(stage_v_, e, i), none}).w;
                set_lane(slope_q_[e.v], i, r.x), set_lane(slope_q_[e.v + 1], i, r.y), set_lane(slope_q_[e.v + 2], i, r.z);
            }
        }
    }
    // What a hinge that turns has of a vector.
    static Vec<double> turn_of(const T* x, const Element& e, int i) {
        return {lane(x[e.v], i), lane(x[e.v + 1], i), lane(x[e.v + 2], i)};
    }
    // The accelerations of the stage, in the axes of the start.
    int stage_accelerations() {
        for (index i = 0; i < nv_; ++i) own_v_[i] = stage_v_[i];
        change_axes(q_, stage_q_, own_v_);
        const int wrong = accelerations(stage_q_, own_v_);
        if (wrong < 0) change_axes(stage_q_, q_, a_);
        return wrong;
    }

    // One step; the number of a state of the pack that cannot go on, or -1.
    int runge_kutta(bool& turned) {
        const double h = task_.h, part[] = {0.5 * h, 0.5 * h, h}, weight[] = {h / 3.0, h / 3.0, h / 6.0};
        int wrong = accelerations(q_, v_);
        if (wrong >= 0) return wrong;
        for (index i = 0; i < nv_; ++i) {
            sum_q_[i] = T(h / 6.0) * v_[i], sum_v_[i] = v_[i] + T(h / 6.0) * a_[i];
            u_[i] = T(part[0]) * v_[i], stage_v_[i] = v_[i] + T(part[0]) * a_[i];
        }
        for (int stage = 0;; ++stage) {
            move(), rates();
            wrong = stage_accelerations();
            if (wrong >= 0) return wrong;
            const T b(weight[stage]), next(part[stage < 2 ? stage + 1 : 2]);
            for (index i = 0; i < nv_; ++i) {
                sum_q_[i] += b * slope_q_[i], sum_v_[i] += b * a_[i];
                u_[i] = next * slope_q_[i], stage_v_[i] = v_[i] + next * a_[i];
            }
            if (stage == 2) break;
        }
        for (index i = 0; i < nv_; ++i) u_[i] = sum_q_[i], v_[i] = sum_v_[i];
        wrong = travel(turned);
        return wrong >= 0 ? wrong : arrive();
    }

    // Symplectic Euler: v1 = v0 + h a(q0, v0), q1 = move(q0, h v1). Verlet: half a step of v before the move and half after,
    // with the acceleration at v0 + h a(q0, v0).
    int partitioned(bool& turned) {
        const bool verlet = task_.method == VERLET;
        const T h(task_.h), half(0.5 * task_.h), part(verlet ? 0.5 * task_.h : task_.h);
        int wrong = accelerations(q_, v_);
        if (wrong >= 0) return wrong;
        for (index i = 0; i < nv_; ++i)
            u_[i] = h * (v_[i] + part * a_[i]), stage_v_[i] = v_[i] + h * a_[i], sum_v_[i] = v_[i] + half * a_[i];
        wrong = travel(turned);
        if (wrong < 0 && verlet) wrong = stage_accelerations();
        if (wrong >= 0) return wrong;
        for (index i = 0; i < nv_; ++i) v_[i] = verlet ? sum_v_[i] + half * a_[i] : stage_v_[i];
        return arrive();
    }

    // q exp(u) into the coordinates of the stage; the number of a state that turns too far, or -1.
    int travel(bool& turned) {
        for (index k = 0; k < model_.count; ++k) {
            const Element& e = model_.elements[k];
            for (int i = 0; i < LANES && e.kind > HELICAL; ++i) {
                const Vec<double> w = turn_of(u_, e, i);
                if (!(dot(w, w) <= LARGEST_TURN * LARGEST_TURN)) {
                    turned = true;
                    return i;
                }
            }
        }
        move();
        return -1;
    }
    int arrive() {
        change_axes(q_, stage_q_, v_);
        T* const before = q_;
        q_ = stage_q_, stage_q_ = before;
        const int wrong = bad(v_, nv_, -1);
        return wrong >= 0 ? wrong : bad(q_, nq_, -1);
    }

    // The first state with a number that is not finite, or else.
    static int bad(const T* x, index n, int otherwise) {
        T sum(0.0);  // 0 times infinity is no number
        for (index i = 0; i < n; ++i) sum += T(0.0) * x[i];
        for (int i = 0; i < LANES; ++i)
            if (!(lane(sum, i) == 0.0)) return i;
        return otherwise;
    }

    const RolloutTask& task_;
    const Job& job_;
    const Model& model_;
    index nq_, nv_;
    bool free_ = false;  // a hinge is
    const AbaWork<T> work_;
    const LinkWork<T> links_;
    T *q_, *stage_q_, *space_, *v_, *stage_v_, *a_, *u_, *slope_q_, *sum_q_, *sum_v_, *force_, *whole_, *own_v_, *calm_;
};

// All steps of some packs of states, or of one state; false where one cannot go on.
template <class T>
bool run_rollout(const RolloutTask& task, const Job& job, index first, index last, void* workspace, RolloutEnd& end) {
    Arena arena{static_cast<char*>(workspace)};
    Roller<T> roller(task, job, arena);
    for (index i = first; i < last; i += Lanes<T>::count)
        if (!roller.run(i, end)) return false;
    return true;
}

template <class T>
std::size_t room_for_rollout(const RolloutTask& task, const Job& job) {
    Room taken;
    Roller<T>(task, job, taken);
    return taken.bytes;
}

SOACRAFT_RIGID_END
