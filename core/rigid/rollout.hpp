// Many steps of a method in one call, for one state or a batch: forward dynamics and `integrate`
// are the kernels of the best build, pack by pack. Stages are in the chart of the step's start (Munthe-Kaas), so that
// quaternions cost no order: udot = dexp^-1(u) w.
#pragma once

#include <vector>

#include "algorithms.hpp"
#include "sim/chart.hpp"

namespace soacraft {
namespace rigid {

// The classical Runge-Kutta method, and those of sim/integrators/partitioned.py.
enum Rolled : int { RK4 = 0, EULER_SYMPLECTIC = 1, VERLET = 2, ROLLED = 3 };

// What a rollout is given: states in rows, forces by state and step (steps of 0 for one that all share), the step h.
struct RolloutTask {
    const double *q, *v, *force;
    index force_of_state, force_of_step;
    index count, steps;
    double h;
    Rolled method;
    double *Q, *V;  // (count, steps + 1, nq) and (count, steps + 1, nv)
};

// Where a rollout ended early: the state and the step, and whether its hinge turned too far within a step.
struct RolloutEnd {
    index state = -1, step = -1;
    bool turned = false;
};

class Roller {
public:
    Roller(const RolloutTask& task, const Job& job, index lanes)
        : task_(task), dynamics_(algorithm("forward_dynamics")), integrate_(algorithm("integrate")), job_(job),
          model_(*job.model), nq_(model_.nq), nv_(model_.nv), lanes_(lanes) {
        const auto wide = [&](index n) { return std::vector<double>(static_cast<std::size_t>(lanes * n)); };
        q_ = wide(nq_), stage_q_ = wide(nq_), v_ = wide(nv_), stage_v_ = wide(nv_), a_ = wide(nv_);
        u_ = wide(nv_), slope_q_ = wide(nv_), sum_q_ = wide(nv_), sum_v_ = wide(nv_), force_ = wide(nv_);
        const std::size_t one = dynamics_.one_bytes(job_), many = dynamics_.batch_bytes(job_);
        space_.hold(one > many ? one : many), small_.hold(integrate_.one_bytes(job_));
        for (index k = 0; k < model_.count; ++k) {
            const Element& e = model_.elements[k];
            plain_ = plain_ && e.kind <= HELICAL && e.q == e.v;
            if (e.kind == SPHERICAL || e.kind == FREE) turning_.push_back(k);
        }
    }

    // All steps of the states from `first` on, as many as a pack has or fewer.
    bool run(index first, RolloutEnd& end) {
        const index n = task_.count - first < lanes_ ? task_.count - first : lanes_;
        copy(task_.q + first * nq_, n * nq_, q_.data()), copy(task_.v + first * nv_, n * nv_, v_.data());
        store(first, n, 0);
        for (index step = 0; step < task_.steps; ++step) {
            const index bad = advance(first, n, step, end.turned);
            if (bad >= 0) {
                end.state = first + bad, end.step = step;
                return false;
            }
            store(first, n, step + 1);
        }
        return true;
    }

private:
    static void copy(const double* from, index size, double* to) {
        std::memcpy(to, from, static_cast<std::size_t>(size) * sizeof(double));
    }

    void store(index first, index n, index row) {
        for (index i = 0; i < n; ++i) {
            const index at = (first + i) * (task_.steps + 1) + row;
            copy(q_.data() + i * nq_, nq_, task_.Q + at * nq_), copy(v_.data() + i * nv_, nv_, task_.V + at * nv_);
        }
    }

    // vdot of all states of the pack at the stage.
    bool accelerations(const std::vector<double>& q, const std::vector<double>& v, index n) {
        Job job = job_;
        job.in[soacraft::rigid::Q] = q.data(), job.in_step[soacraft::rigid::Q] = nq_;
        job.in[soacraft::rigid::V] = v.data(), job.in_step[soacraft::rigid::V] = nv_;
        job.in[X] = force_.data(), job.in_step[X] = nv_;
        job.out[0] = a_.data(), job.out_step[0] = nv_;
        return (task_.count == 1 ? dynamics_.one : dynamics_.batch)(job, 0, n, space_.hold(0));
    }

    // The coordinates of the stage are q exp(u); plain ones are added.
    void move(index n) {
        if (plain_) {
            for (std::size_t j = 0; j < static_cast<std::size_t>(n * nv_); ++j) stage_q_[j] = q_[j] + u_[j];
            return;
        }
        Job job = job_;
        job.in[soacraft::rigid::Q] = q_.data(), job.in_step[soacraft::rigid::Q] = nq_;
        job.in[soacraft::rigid::V] = u_.data(), job.in_step[soacraft::rigid::V] = nv_;
        job.out[0] = stage_q_.data(), job.out_step[0] = nq_;
        integrate_.one(job, 0, n, small_.hold(0));
    }

    // The rates of u for the velocities of the stage; plain coordinates have w itself.
    void rates(index n) {
        copy(stage_v_.data(), n * nv_, slope_q_.data());
        for (index k : turning_) {
            const Element& e = model_.elements[k];
            for (index i = 0; i < n; ++i) {
                const index at = i * nv_ + e.v;
                chart_rate(e.kind == FREE, u_.data() + at, stage_v_.data() + at, slope_q_.data() + at);
            }
        }
    }

    // One step; the number of a state that cannot go on, or -1.
    index advance(index first, index n, index step, bool& turned) {
        for (index i = 0; i < n; ++i)
            copy(task_.force + (first + i) * task_.force_of_state + step * task_.force_of_step, nv_, force_.data() + i * nv_);
        const index size = n * nv_;
        if (task_.method != RK4) return partitioned(n, size, turned);
        const double weight[] = {1.0, 2.0, 2.0, 1.0}, part[] = {0.5, 0.5, 1.0};
        if (!accelerations(q_, v_, n)) return bad(a_, n);
        copy(v_.data(), size, slope_q_.data());
        for (int stage = 0;; ++stage) {
            for (index i = 0; i < size; ++i) {
                const auto j = static_cast<std::size_t>(i);
                sum_q_[j] = (stage ? sum_q_[j] : 0.0) + weight[stage] * slope_q_[j];
                sum_v_[j] = (stage ? sum_v_[j] : 0.0) + weight[stage] * a_[j];
            }
            if (stage == 3) break;
            for (index i = 0; i < size; ++i) {
                const auto j = static_cast<std::size_t>(i);
                u_[j] = task_.h * part[stage] * slope_q_[j];
                stage_v_[j] = v_[j] + task_.h * part[stage] * a_[j];
            }
            move(n), rates(n);
            if (!accelerations(stage_q_, stage_v_, n)) return bad(a_, n);
        }
        for (index i = 0; i < size; ++i) {
            const auto j = static_cast<std::size_t>(i);
            u_[j] = task_.h / 6.0 * sum_q_[j], v_[j] += task_.h / 6.0 * sum_v_[j];
        }
        const index far = travel(n, turned);
        return far >= 0 ? far : arrive(n);
    }

    // Symplectic Euler: v1 = v0 + h a(q0, v0), q1 = move(q0, h v1). Verlet: half a step of v before the move and half after,
    // with the acceleration at v0 + h a(q0, v0).
    index partitioned(index n, index size, bool& turned) {
        const double h = task_.h, part = task_.method == VERLET ? 0.5 : 1.0;
        if (!accelerations(q_, v_, n)) return bad(a_, n);
        for (index i = 0; i < size; ++i) {
            const auto j = static_cast<std::size_t>(i);
            u_[j] = h * (v_[j] + part * h * a_[j]), stage_v_[j] = v_[j] + h * a_[j], sum_v_[j] = a_[j];
        }
        const index far = travel(n, turned);
        if (far >= 0) return far;
        if (task_.method == VERLET && !accelerations(stage_q_, stage_v_, n)) return bad(a_, n);
        for (index i = 0; i < size; ++i) {
            const auto j = static_cast<std::size_t>(i);
            v_[j] = task_.method == VERLET ? v_[j] + 0.5 * h * (sum_v_[j] + a_[j]) : stage_v_[j];
        }
        return arrive(n);
    }

    // q exp(u) into the coordinates of the stage; the number of a state that turns too far, or -1.
    index travel(index n, bool& turned) {
        const index far = turned_too_far(n);
        turned = turned || far >= 0;
        if (far < 0) move(n);
        return far;
    }
    index arrive(index n) {
        q_.swap(stage_q_);
        for (index i = 0; i < n; ++i)
            if (!finite(v_.data() + i * nv_, nv_) || !finite(q_.data() + i * nq_, nq_)) return i;
        return -1;
    }

    index turned_too_far(index n) const {
        for (index k : turning_)
            for (index i = 0; i < n; ++i)
                if (turns_too_far(u_.data() + i * nv_ + model_.elements[k].v)) return i;
        return -1;
    }

    // The first state without finite accelerations; the first of all where a hinge has no inertia.
    index bad(const std::vector<double>& a, index n) const {
        for (index i = 0; i < n; ++i)
            if (!finite(a.data() + i * nv_, nv_)) return i;
        return 0;
    }

    const RolloutTask& task_;
    const Algorithm &dynamics_, &integrate_;
    const Job job_;
    const Model& model_;
    index nq_, nv_, lanes_;
    std::vector<double> q_, stage_q_, v_, stage_v_, a_, u_, slope_q_, sum_q_, sum_v_, force_;
    Workspace space_, small_;
    bool plain_ = true;           // all coordinates are numbers that are added
    std::vector<index> turning_;  // elements that turn as groups
};

// All states, their packs shared among threads. The first state at fault, or none.
inline RolloutEnd roll_out(const RolloutTask& task, const Job& job, index threads) {
    const index lanes = task.count == 1 ? 1 : best_kernels().lanes, packs = (task.count + lanes - 1) / lanes;
    threads = threads < 1 ? 1 : threads > packs ? packs : threads > MOST_THREADS ? MOST_THREADS : threads;
    std::vector<RolloutEnd> ends(static_cast<std::size_t>(threads));
    std::vector<Roller> rollers;
    rollers.reserve(ends.size());
    for (index t = 0; t < threads; ++t) rollers.emplace_back(task, job, lanes);
    share(threads, [&](index t) {
        const auto at = static_cast<std::size_t>(t);
        for (index pack = packs * t / threads; pack < packs * (t + 1) / threads; ++pack)
            if (!rollers[at].run(pack * lanes, ends[at])) return;
    });
    for (const RolloutEnd& end : ends)
        if (end.state >= 0) return end;
    return {};
}

}  // namespace rigid
}  // namespace soacraft
