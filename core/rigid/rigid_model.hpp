// A compiled rigid tree as the bindings hold it: its elements, its bodies, and a workspace for single calls.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "assembly.hpp"
#include "job.hpp"

namespace soacraft {
namespace rigid {

// Memory on a cache line that grows when asked for more.
class Workspace {
public:
    void* hold(std::size_t bytes) {
        if (bytes > size_) {
            size_ = (bytes + 63) / 64 * 64;
            memory_.reset(std::aligned_alloc(64, size_));
            if (!memory_) size_ = 0, throw std::bad_alloc();
        }
        return memory_.get();
    }

private:
    struct Free {
        void operator()(void* p) const { std::free(p); }
    };
    std::unique_ptr<void, Free> memory_;
    std::size_t size_ = 0;
};

// The numbers that kernels read, and views of them.
struct Tables {
    std::vector<Element> elements;
    std::vector<Body> bodies;
    std::vector<double> armature;
    std::vector<Spring> springs;
    std::vector<Ball> balls;
    std::vector<Tendon> tendons;
    std::vector<Strand> strands;
    Model model = {};
    Passive passive = {};

    Tables() = default;
    Tables(const Tables& other)
        : elements(other.elements), bodies(other.bodies), armature(other.armature), springs(other.springs),
          balls(other.balls), tendons(other.tendons), strands(other.strands), model(other.model) {
        view();
    }
    Tables& operator=(const Tables&) = delete;

    void view() {
        model.elements = elements.data(), model.bodies = bodies.data(), model.armature = armature.data();
        passive = {static_cast<index>(springs.size()), static_cast<index>(balls.size()),
                   static_cast<index>(tendons.size()), springs.data(), balls.data(), tendons.data(), strands.data()};
    }
    // Which of some elements have armature.
    void mark_armature(index first, index last) {
        for (index k = first; k < last; ++k) {
            Element& e = elements[static_cast<std::size_t>(k)];
            e.armed = 0;
            for (index i = e.v; i < e.v + dofs(e.kind); ++i)
                if (armature[static_cast<std::size_t>(i)] != 0.0) e.armed = 1, model.armed = 1;
        }
    }
};

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
    Workspace workspace, before;

    // `based`: gravity takes part.
    Job job(bool based) const {
        Job j = {};
        j.model = &model;
        for (int i = 0; i < 12 && based; ++i) j.base[i] = base[i];
        j.place[0] = j.place[4] = j.place[8] = 1.0;
        return j;
    }
    // What acts of springs and dampers; null for none.
    const Passive* acting(bool wanted) const {
        return wanted && (passive.springs_count || passive.balls_count || passive.tendons_count) ? &passive : nullptr;
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
};

// Whether all numbers are finite: one more than an exponent of all ones runs over into the sign.
inline bool finite(const double* x, index n) {
    constexpr std::uint64_t exponent = 0x7ff0000000000000u, one = 0x0010000000000000u;
    std::uint64_t seen = 0;
    for (index i = 0; i < n; ++i) {
        std::uint64_t bits;
        std::memcpy(&bits, x + i, sizeof bits);
        seen |= (bits & exponent) + one;
    }
    return (seen >> 63) == 0;
}

// Whether the quaternions of a row are within 1e-6 of unit.
inline bool unit_quaternions(const RigidModel& m, const double* q) {
    for (index at : m.quaternions) {
        const double n = q[at] * q[at] + q[at + 1] * q[at + 1] + q[at + 2] * q[at + 2] + q[at + 3] * q[at + 3];
        if (!(n > (1.0 - 1e-6) * (1.0 - 1e-6) && n < (1.0 + 1e-6) * (1.0 + 1e-6))) return false;
    }
    return true;
}

// A frame on an element as Python keeps it: the number of the element, then rotation and translation, 13 numbers.
inline bool read_frame(const RigidModel& m, const double* x, Body& frame) {
    if (!(x[0] >= -1.0 && x[0] < static_cast<double>(m.model.count))) return false;
    frame.element = static_cast<index>(x[0]);
    for (int i = 0; i < 9; ++i) frame.R[i] = x[1 + i];
    for (int i = 0; i < 3; ++i) frame.p[i] = x[10 + i];
    return true;
}

// No machine gains from more.
constexpr index MOST_THREADS = 256;

// work(0) to work(threads - 1), side by side; what the system has no thread for runs here.
template <class Work>
void share(index threads, const Work& work) {
    std::vector<std::thread> team;
    team.reserve(static_cast<std::size_t>(threads));
    for (index t = 1; t < threads; ++t) {
        try {
            team.emplace_back(work, t);
        } catch (const std::system_error&) {
            work(t);
        }
    }
    work(0);
    for (std::thread& member : team) member.join();
}

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
        fine[static_cast<std::size_t>(t)] =
            algorithm.batch(job, first, last < count ? last : count, spaces[static_cast<std::size_t>(t)].hold(0));
    };
    share(threads, work);
    bool all = true;
    for (char one : fine) all = all && one;
    return all;
}

}  // namespace rigid
}  // namespace soacraft
