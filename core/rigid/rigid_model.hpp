// A compiled rigid tree as the bindings hold it: its elements, its bodies, and a workspace for single calls.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "soacraft/interrupt.hpp"
#include "soacraft/rigid/model/moderate.hpp"
#include "soacraft/rigid/model/tables.hpp"
#include "soacraft/workspace.hpp"

namespace soacraft {
namespace rigid {

// Python's lock guards all of it. A batch, which runs without that lock, holds the tables it began with (`pin`); a change
// of a parameter meanwhile goes to a copy of them.
struct RigidModel {
    Assembly assembly;
    std::shared_ptr<Tables> tables = std::make_shared<Tables>();
    std::vector<index> quaternions;  // where they stand in q
    std::vector<double> zeros;       // one for each dof, for kernels that are given some
    bool passive_in_python = false;  // it has passive forces that only Python knows, or refuses
    bool outdated = false;           // Python knows newer parameters: calls go there, and it brings them
    unsigned long long stamp = 0;    // counts the changes of parameters
    Model model = {};                // of the tables as they are now
    Passive passive = {};
    double base[12] = {};
    bool retired = false;
    double large_turn = std::numeric_limits<double>::infinity();  // of a node of a flexible body, in radians
    Workspace workspace, before;

    // `based`: gravity takes part. Field by field: to clear it as a whole would take a tenth of a call.
    Job job(bool based) const {
        static const double still[12] = {}, upright[12] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};
        Job j;
        j.model = &model;
        std::memcpy(j.base, based ? base : still, sizeof j.base);
        std::memcpy(j.place, upright, sizeof j.place);
        for (int i = 0; i < INPUTS; ++i) j.in[i] = nullptr, j.in_step[i] = 0;
        for (int i = 0; i < OUTPUTS; ++i) j.out[i] = nullptr, j.out_step[i] = 0;
        j.frames = nullptr, j.frame_count = 0, j.wrenches = nullptr, j.wrench_count = 0, j.turned = false;
        j.mask = nullptr, j.passive = nullptr;
        return j;
    }
    bool flexible() const { return model.flexible_count > 0; }
    // Whether a node of a flexible body turns so far relative to it that Python has something to say.
    bool bends_far(const double* q) const {
        bool far = false;
        for (const Spot* s = model.spots; s < model.spots + model.spot_count; ++s) far = far || turn_squared(*s, q) > large_turn * large_turn;
        return far;
    }
    // What acts of springs and dampers; null for none.
    const Passive* acting(bool wanted) const {
        return wanted && passive.any() ? &passive : nullptr;
    }
    // What holds of results for moderate inputs, looked at once for the parameters of now.
    const Promise& promise() {
        if (promised_at_ != stamp + 1) promise_ = promise_of(model, base), promised_at_ = stamp + 1;
        return promise_;
    }
    // The tables for as long as a job runs without Python's lock; the job reads from them alone.
    std::shared_ptr<const Tables> pin(Job& job) const {
        job.model = &tables->model;
        if (job.passive) job.passive = &tables->passive;
        return tables;
    }
    // Change the tables: a copy where a batch holds them.
    template <class Work>
    void change(const Work& work) {
        if (tables.use_count() > 1) tables = std::make_shared<Tables>(*tables);
        std::atomic_thread_fence(std::memory_order_acquire);
        work(*tables);
        tables->view();
        model = tables->model, passive = tables->passive;
        ++stamp;
    }

private:
    // |lam eta + 1/2 eta lam2 eta|^2
    double turn_squared(const Spot& spot, const double* q) const {
        const Flexible& f = model.flexible[spot.flexible];
        const double* eta = q + f.q;
        double theta[3] = {};
        for (index b = 0; b < f.blocks(); ++b) {
            Eight slope[3];
            for (int a = 0; a < 3; ++a) slope[a] = model.modal[spot.first + b * NODE + a];
            const Eight* second = model.modal + spot.second + b * f.n * NODE;
            for (index i = 0; i < f.n && spot.geometric; ++i, second += NODE)
                for (int a = 0; a < 3; ++a)
                    for (int k = 0; k < 8; ++k) slope[a].x[k] += 0.5 * eta[i] * second[a].x[k];
            for (int a = 0; a < 3; ++a)
                for (index k = 0; k < 8 && 8 * b + k < f.n; ++k) theta[a] += slope[a].x[k] * eta[8 * b + k];
        }
        return theta[0] * theta[0] + theta[1] * theta[1] + theta[2] * theta[2];
    }

    Promise promise_ = {};
    unsigned long long promised_at_ = 0;  // the stamp, and one
};

// A frame on an element as Python keeps it: the number of the element, then rotation and translation, 13 numbers. Behind the
// elements come the spots of flexible bodies: the frame is on a node that deforms.
inline bool read_frame(const RigidModel& m, const double* x, Body& frame) {
    if (!(x[0] >= -1.0 && x[0] < static_cast<double>(m.model.count + m.model.spot_count))) return false;
    frame.element = static_cast<index>(x[0]);
    for (int i = 0; i < 9; ++i) frame.R[i] = x[1 + i];
    for (int i = 0; i < 3; ++i) frame.p[i] = x[10 + i];
    return true;
}

// No machine gains from more.
constexpr index MOST_THREADS = 256;

// All states of a job on `threads` threads. Results do not depend on the number of threads: lanes do not meet. Memory is
// taken before any thread starts.
inline bool run_batch(const Algorithm& algorithm, const Job& job, index count, index lanes, index threads) {
    const index packs = (count + lanes - 1) / lanes;
    threads = threads < 1 ? 1 : threads;
    threads = threads > packs ? packs : threads;
    threads = threads > MOST_THREADS ? MOST_THREADS : threads;
    const auto parts = static_cast<std::size_t>(threads);
    std::vector<Workspace> spaces(parts);
    std::vector<char> fine(parts, 1);
    for (Workspace& space : spaces) space.hold(algorithm.batch_bytes(job));
    const auto work = [&](index t) {
        const index first = packs * t / threads * lanes, last = packs * (t + 1) / threads * lanes;
        void* const memory = spaces[static_cast<std::size_t>(t)].hold(0);
        fine[static_cast<std::size_t>(t)] = interrupt::in_parts(
            first, last < count ? last : count, lanes, [&](index from, index to) { return algorithm.batch(job, from, to, memory); });
    };
    interrupt::share(threads, work);
    bool all = true;
    for (char one : fine) all = all && one;
    return all;
}

}  // namespace rigid
}  // namespace soacraft
