// Times of single calls of what a robot asks in its control loops: ik of an arm, a velocity step of the whole body, inverse
// dynamics; and whether any of them allocates after its first call.
//
//     jitter FOLDER CALLS      reads FOLDER/robot.soacraft and FOLDER/tasks.txt, which benchmarks/robot_jitter.py writes
//
// All calls of a query have different arguments. They run one after the other, all of them in each of three passes; each call is
// measured in processor time of its thread and on the clock. The same call does the same work in every pass, so the least of its
// three times is its own; what is more in a pass is what interrupts of the system took. It prints a line for each query: name,
// allocations, then nanoseconds: median, 99 %, 99.99 %, largest, of a call's own processor time, of that of one pass, on the clock;
// 99.99 % and median of one pass of a loop of arithmetic of the same length; then a histogram of a call's own time in parts of the
// median. Last come the state and the velocities of one step.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "soacraft/arm.hpp"
#include "soacraft/whole_body.hpp"

static long allocations = 0;

void* operator new(std::size_t size) {
    ++allocations;
    if (void* p = std::malloc(size)) return p;
    throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

extern "C" void* __libc_malloc(std::size_t);
extern "C" void* __libc_memalign(std::size_t, std::size_t);
extern "C" void* malloc(std::size_t size) {
    ++allocations;
    return __libc_malloc(size);
}
extern "C" void* aligned_alloc(std::size_t to, std::size_t size) {
    ++allocations;
    return __libc_memalign(to, size);
}

using Numbers = std::vector<double>;

double now(clockid_t clock) {
    timespec t;
    clock_gettime(clock, &t);
    return 1e9 * static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec);
}

// A few named rows of numbers.
Numbers row(std::ifstream& file, const std::string& name) {
    std::string word;
    std::size_t count = 0;
    if (!(file >> word >> count) || word != name) throw std::invalid_argument("tasks.txt has no " + name);
    Numbers x(count);
    for (double& one : x) {
        file >> word;
        one = std::strtod(word.c_str(), nullptr);
    }
    return x;
}

constexpr int PASSES = 3;

// Of sorted numbers.
double part(const Numbers& x, double p) { return x[static_cast<std::size_t>(p * static_cast<double>(x.size() - 1))]; }

// Times of f(i) for i from 0 on, one call after the other.
template <class F>
void timed(Numbers& cpu, Numbers& wall, const F& f) {
    for (std::size_t i = 0; i < cpu.size(); ++i) {
        const double w = now(CLOCK_MONOTONIC), c = now(CLOCK_THREAD_CPUTIME_ID);
        f(i);
        cpu[i] = now(CLOCK_THREAD_CPUTIME_ID) - c, wall[i] = now(CLOCK_MONOTONIC) - w;
    }
}

// Processor times, sorted, of as many loops of arithmetic whose median is `like`: each step waits for the one before, and nothing
// is read or written.
Numbers loops(std::size_t calls, double like) {
    volatile double sink = 0.0;
    double rounds = 1000.0;
    const auto turn = [&](std::size_t) {
        double x = 0.5;
        for (auto i = static_cast<long>(rounds); i > 0; --i) x = x * 0.999 + 0.001;
        sink = x;
    };
    Numbers cpu(std::min<std::size_t>(calls, 1001)), wall(cpu.size());
    for (int i = 0; i < 20; ++i) {
        timed(cpu, wall, turn), std::sort(cpu.begin(), cpu.end());
        rounds = std::max(1.0, rounds * like / part(cpu, 0.5));
    }
    cpu.resize(calls), wall.resize(calls);
    timed(cpu, wall, turn), std::sort(cpu.begin(), cpu.end());
    return cpu;
}

void tell(const char* name, long allocated, Numbers& own, Numbers& cpu, Numbers& wall) {
    std::printf("%s %ld", name, allocated);
    for (Numbers* x : {&own, &cpu, &wall}) {
        std::sort(x->begin(), x->end());
        std::printf(" %.0f %.0f %.0f %.0f", part(*x, 0.5), part(*x, 0.99), part(*x, 0.9999), x->back());
    }
    const Numbers loop = loops(cpu.size(), part(cpu, 0.5));
    std::printf(" %.0f %.0f", part(loop, 0.5), part(loop, 0.9999));
    const double edges[] = {0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0}, median = part(own, 0.5);
    std::size_t from = 0;
    for (double edge : edges) {
        const auto to = static_cast<std::size_t>(std::upper_bound(own.begin(), own.end(), edge * median) - own.begin());
        std::printf(" %zu", to - from);
        from = to;
    }
    std::printf(" %zu\n", own.size() - from);
}

// f(i) for i from 0 on, one call after the other, in every pass; of the last one all times are told.
template <class F>
bool measure(const char* name, std::size_t calls, const F& f) {
    Numbers own(calls), cpu(calls), wall(calls);
    bool fine = f(0);
    const long before = allocations;
    for (int pass = 0; pass < PASSES; ++pass) {
        timed(cpu, wall, [&](std::size_t i) { fine = f(i) && fine; });
        for (std::size_t i = 0; i < calls; ++i) own[i] = pass == 0 ? cpu[i] : std::min(own[i], cpu[i]);
    }
    tell(name, allocations - before, own, cpu, wall);
    return fine;
}

int run(const std::string& folder, std::size_t calls) {
    soacraft::Multibody robot = soacraft::Multibody::load(folder + "/robot.soacraft");
    std::ifstream file(folder + "/tasks.txt");
    const Numbers q0 = row(file, "q"), lower = row(file, "lower"), upper = row(file, "upper"), fastest = row(file, "fastest");
    const Numbers arm_lower = row(file, "arm_lower"), arm_upper = row(file, "arm_upper"), center = row(file, "center"), length = row(file, "length");
    std::string names[6];
    for (std::string& name : names) file >> name;  // base and tip of the arm, two feet, two hands
    const auto nv = static_cast<std::size_t>(robot.nv()), nq = static_cast<std::size_t>(robot.nq());
    std::mt19937 rng(1);
    const auto between = [&](double a, double b) { return std::uniform_real_distribution<double>(a, b)(rng); };
    bool fine = true;

    soacraft::Arm arm(robot, robot.frame(names[0]), robot.frame(names[1]), arm_lower, arm_upper);
    for (double& x : arm.options.tolerance) x = 1e-5;
    const auto n = static_cast<std::size_t>(arm.dofs());
    Numbers goals(12 * calls), start(n), found(n), q(n);
    for (std::size_t i = 0; i < n; ++i) start[i] = 0.5 * (arm_lower[i] + arm_upper[i]);
    for (std::size_t k = 0; k < calls; ++k) {
        for (std::size_t i = 0; i < n; ++i) q[i] = between(arm_lower[i], arm_upper[i]);
        arm.pose(q.data(), goals.data() + 12 * k);
    }
    std::size_t met = 0;
    measure("ik", calls, [&](std::size_t i) { return met += arm.ik(goals.data() + 12 * i, start.data(), found.data()), true; });
    fine = fine && 1000 * met > 999 * PASSES * calls;

    // states around q0, each followed by a step: joints turned by up to 0.1 rad
    Numbers states(nq * calls), v(nv), zero(nv, 0.0), force(nv), speeds(nv * calls);
    for (std::size_t k = 0; k < calls; ++k)
        for (std::size_t i = 0; i < nq; ++i) states[k * nq + i] = q0[i] + (i < 7 ? 0.0 : between(-0.1, 0.1));
    for (double& x : speeds) x = between(-1.0, 1.0);
    soacraft::WholeBody body(robot, length[0]);
    body.set_limits(lower.data(), upper.data(), fastest.data());
    Numbers R(9 * static_cast<std::size_t>(robot.body_count())), p(3 * static_cast<std::size_t>(robot.body_count()));
    if (!robot.poses(q0.data(), R.data(), p.data())) return 1;
    for (int k = 2; k < 6; ++k) {
        const soacraft::index frame = robot.frame(names[k]), task = body.placement(frame, 0, k < 4 ? 10.0 : 1.0, 10.0);
        const auto on = static_cast<std::size_t>(robot.frames()[static_cast<std::size_t>(frame)].body);
        const double goal[3] = {p[3 * on] + (k < 4 ? 0.0 : 0.1), p[3 * on + 1], p[3 * on + 2] + (k < 4 ? 0.0 : 0.1)};
        body.aim(task, R.data() + 9 * on, goal);
    }
    body.aim(body.center_of_mass(0, 1.0, 10.0), nullptr, center.data());
    body.posture(q0.data(), 0, 0.01, 10.0);
    fine = measure("velocity", calls, [&](std::size_t i) { return body.step(states.data() + nq * i, 0.005, v.data()); }) && fine;
    fine = measure("feed-forward", calls, [&](std::size_t i) { return robot.inverse_dynamics(states.data() + nq * i, speeds.data() + nv * i, zero.data(), force.data()); }) && fine;
    const auto print = [](const char* name, const double* x, std::size_t many) {
        std::printf("%s", name);
        for (std::size_t i = 0; i < many; ++i) std::printf(" %.17g", x[i]);
        std::printf("\n");
    };
    print("q", states.data() + nq * (calls - 1), nq);
    print("v", v.data(), nv);
    return fine ? 0 : 1;
}

int main(int count, char** words) {
    if (count != 3) return std::fprintf(stderr, "usage: jitter FOLDER CALLS\n"), 2;
    try {
        return run(words[1], static_cast<std::size_t>(std::atol(words[2])));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "jitter: %s\n", error.what());
        return 1;
    }
}
