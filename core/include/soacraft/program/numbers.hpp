// The numbers of a plan at one state, made when first needed and kept; and the current state of a model they follow.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "../workspace.hpp"
#include "builder.hpp"

namespace soacraft {
namespace program {

// The current state of a model, for calls that ask Python nothing. `stamp` counts changes of q.
struct Store {
    std::vector<double> q, v, vdot;
    Indices quaternions;
    unsigned long long q_stamp = 0, stamp = 0;
    unsigned long long parameters = 0;  // the version of the model's parameters
    bool ready = false;  // false between a change of the model's structure and its next state

    // Take finite numbers, null for a part that stays; false, and nothing changed, where they are no state.
    bool take(const double* new_q, const double* new_v, const double* new_vdot) {
        if (!ready) return false;
        const bool other_q = differ(new_q, q), other_v = differ(new_v, v), other_vdot = differ(new_vdot, vdot);
        if (other_q) {
            for (index at : quaternions) {
                const double n = squared_length(new_q + at);
                if (!(n > (1.0 - 1e-6) * (1.0 - 1e-6) && n < (1.0 + 1e-6) * (1.0 + 1e-6))) return false;
            }
            std::copy(new_q, new_q + q.size(), q.begin());
            for (index at : quaternions) {
                constexpr double EPSILON = 2.220446049250313e-16;
                double* const e = q.data() + at;
                const double length = std::sqrt(squared_length(e));
                if (std::fabs(length - 1.0) <= 4 * EPSILON) continue;  // as `normalize_quaternion` has it
                for (int i = 0; i < 4; ++i) e[i] /= length;
            }
            ++q_stamp;
        }
        if (other_v) std::copy(new_v, new_v + v.size(), v.begin());
        if (other_vdot) std::copy(new_vdot, new_vdot + vdot.size(), vdot.begin());
        if (other_q || other_v || other_vdot) ++stamp;
        return true;
    }

private:
    static bool differ(const double* x, const std::vector<double>& old) {
        return x && std::memcmp(x, old.data(), old.size() * sizeof(double)) != 0;
    }
    static double squared_length(const double* e) { return e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3]; }
};

struct Numbers {
    Builder* builder;
    const Machine* on;
    Store* store = nullptr;  // the state it follows, or null
    std::vector<double> arena, q, work, registers;
    std::vector<unsigned char> made;
    double base[12] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0};
    unsigned long long q_stamp = 0, parameters = 0;

    Numbers(Builder* b, const Machine& machine) : builder(b), on(&machine), parameters(b->parameters) {}

    void grow() {
        const auto room = static_cast<std::size_t>(builder->plan.arena);
        if (arena.size() < room) arena.resize(room);
        if (made.size() < builder->makers.size()) made.resize(builder->makers.size(), 0);
        if (work.size() < static_cast<std::size_t>(builder->plan.work)) work.resize(static_cast<std::size_t>(builder->plan.work));
    }
    // The numbers of a field that is given.
    void give(index f, const double* data) {
        builder->require_field(f);
        const Field& field = builder->field(f);
        const index maker = builder->maker_of[static_cast<std::size_t>(f)];
        if (maker < 0 || builder->makers[static_cast<std::size_t>(maker)].how != GIVEN) reject("that field is not given");
        grow();
        const index count = field.start[field.count];
        if (count > 0) std::memcpy(arena.data() + field.at, data, static_cast<std::size_t>(count) * sizeof(double));
        forget_made();
        made[static_cast<std::size_t>(maker)] = 1;
    }
    // What is made is made again; what is given stays.
    void forget_made() {
        for (std::size_t i = 0; i < made.size(); ++i)
            if (made[i] == 1 && builder->makers[i].how != GIVEN) made[i] = 2;
    }
    // At another state, what is given stays only where it is constant.
    void forget_state() {
        forget_made();
        for (std::size_t i = 0; i < made.size(); ++i)
            if (builder->makers[i].how == GIVEN && !builder->makers[i].transposed) made[i] = 0;
    }
    void set_q(const double* from, std::size_t n) {
        if (q.size() == n && std::memcmp(q.data(), from, n * sizeof(double)) == 0) return;
        q.assign(from, from + n);
        forget_state();
    }
    // False when the state it follows is not known here.
    bool follow() {
        if (parameters != builder->parameters) {
            for (std::size_t i = 0; i < made.size(); ++i)
                if (builder->makers[i].how != GIVEN || !builder->makers[i].transposed) made[i] = 0;
            parameters = builder->parameters;
        }
        if (!store) return true;
        if (!store->ready || store->parameters != builder->version) return false;
        if (store->q_stamp != q_stamp) {
            set_q(store->q.data(), store->q.size());
            q_stamp = store->q_stamp;
        }
        return true;
    }
    Job job(const Program& program) const {
        Job j = {};
        j.program = &program, j.q = q.data(), j.base = base;
        return j;
    }
    // Makes what a program needs; false when a number is in doubt.
    bool make(const Program& program) {
        if (!follow()) return false;
        grow();
        const Job j = job(program);
        for (index i = 0; i < program.needs_count; ++i) {
            const index number = program.needs[i];
            if (builder->makers[static_cast<std::size_t>(number)].how == GIVEN && !made[static_cast<std::size_t>(number)])
                return false;
        }
        if (builder->plan.rigid.count && static_cast<index>(q.size()) != builder->plan.rigid.nq) return false;
        return on->make_one(j, arena.data(), made.data(), work.data());
    }
    bool run(const Program& program, const double* x, index columns, double* out) {
        if (!make(program)) return false;
        const auto room = static_cast<std::size_t>(program.register_room * columns);
        if (registers.size() < room) registers.resize(room);
        Job j = job(program);
        j.x = x, j.columns = columns, j.out = out;
        return on->run_one(j, arena.data(), registers.data()) && rigid::finite(out, program.rows * columns);
    }
};

}  // namespace program
}  // namespace soacraft
