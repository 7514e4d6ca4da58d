// Calls that may take long ask now and then whether they should end, as after Ctrl-C; for host code, never inside a kernel.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "config.hpp"

namespace soacraft {
namespace interrupt {

struct Ended {};  // thrown by `check`

// Who answers, on the thread that began a call; its other threads see what was answered.
class Watch {
public:
    static constexpr std::chrono::milliseconds PERIOD{20};  // between questions

    Watch() = default;
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    virtual ~Watch() = default;

    // True once the call should end; asks no more often than the period.
    bool ended() {
        if (ended_.load(std::memory_order_relaxed)) return true;
        if (std::this_thread::get_id() != owner_) return false;
        const auto now = std::chrono::steady_clock::now();
        if (now - last_ < PERIOD) return false;
        last_ = now;
        if (!ask()) return false;
        ended_.store(true, std::memory_order_relaxed);
        return true;
    }

private:
    virtual bool ask() = 0;

    const std::thread::id owner_ = std::this_thread::get_id();
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
    std::atomic<bool> ended_{false};
};

inline thread_local Watch* current = nullptr;  // of this thread; null where nobody answers

// The watch of a thread for the length of a scope.
class Watched {
public:
    explicit Watched(Watch* watch) : before_(current) { current = watch; }
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;
    ~Watched() { current = before_; }

private:
    Watch* before_;
};

// Throw `Ended` where the call should end. About 30 ns.
inline void check() {
    if (current && current->ended()) throw Ended{};
}
// The same, in each sixteenth of short rounds.
inline void check(index round) {
    if ((round & 15) == 0) check();
}

// work(first, last) for all of [first, last), in parts of whole units that take some milliseconds each; true where all are fine.
template <class Work>
bool in_parts(index first, index last, index unit, const Work& work) {
    constexpr std::chrono::milliseconds SHORT{5};
    if (!current) return work(first, last);
    bool all = true;
    for (index length = unit, next; first < last; first = next) {
        const auto start = std::chrono::steady_clock::now();
        next = std::min(first + length, last);
        all = work(first, next) && all;
        if (std::chrono::steady_clock::now() - start < SHORT) length *= 2;
        check();
    }
    return all;
}

// work(0) to work(threads - 1), side by side; what the system has no thread for runs here, as work(0) does. What one of them
// throws is thrown when all have ended.
template <class Work>
void share(index threads, const Work& work) {
    if (threads <= 1) return work(0);
    Watch* const watch = current;
    std::mutex lock;
    std::condition_variable changed;
    std::exception_ptr wrong;
    index running = 0;
    const auto guarded = [&](index t) {
        try {
            work(t);
        } catch (...) {
            const std::lock_guard<std::mutex> held(lock);
            wrong = std::current_exception();
        }
    };
    const auto member = [&](index t) {
        const Watched here(watch);
        guarded(t);
        const std::lock_guard<std::mutex> held(lock);
        --running;
        changed.notify_one();
    };
    std::vector<std::thread> team;
    team.reserve(static_cast<std::size_t>(threads));
    for (index t = 1; t < threads; ++t) {
        {
            const std::lock_guard<std::mutex> held(lock);
            ++running;
        }
        try {
            team.emplace_back(member, t);
        } catch (const std::system_error&) {
            {
                const std::lock_guard<std::mutex> held(lock);
                --running;
            }
            guarded(t);
        }
    }
    guarded(0);
    std::unique_lock<std::mutex> waiting(lock);
    while (!changed.wait_for(waiting, Watch::PERIOD, [&] { return running == 0; })) {
        waiting.unlock();
        if (watch) watch->ended();  // a signal comes to this thread alone
        waiting.lock();
    }
    waiting.unlock();
    for (std::thread& each : team) each.join();
    if (wrong) std::rethrow_exception(wrong);
}

}  // namespace interrupt
}  // namespace soacraft
