// The builds of the kernels, one for each instruction set; which of them this machine can run, and which is used.
#include <cstring>
#include <vector>

#include "loops/job.hpp"
#include "sim/contact/contact_setting.hpp"
#include "soacraft/contact/lanes/pair_job.hpp"
#include "soacraft/contact/moving/plan.hpp"
#include "soacraft/kinematics/limb.hpp"
#include "soacraft/kinematics/velocity_job.hpp"
#include "soacraft/program/plan.hpp"
#include "soacraft/rigid/drivers/job.hpp"

// What each build of `rigid/kernels.cpp`, `loops/kernels.cpp`, `kinematics/kernels.cpp`, `program/kernels.cpp`,
// `contact/kernels.cpp` and `sim/contact/contact_kernels.cpp` exports.
#define SOACRAFT_BUILD(target)                    \
    namespace soacraft {                          \
    namespace rigid {                             \
    namespace target {                            \
    extern const Kernels kernels;                 \
    extern const loops::Kernels loop_kernels;     \
    extern const kinematics::LimbKernels limb_kernels; \
    extern const kinematics::VelocityKernels velocity_kernels; \
    }                                             \
    }                                             \
    namespace program {                           \
    namespace target {                            \
    extern const Machine kernels;                 \
    }                                             \
    }                                             \
    namespace contact {                           \
    namespace target {                            \
    extern const PairKernels kernels;             \
    extern const MovingKernels moving;            \
    }                                             \
    }                                             \
    namespace sim {                               \
    namespace target {                            \
    extern const ContactKernels kernels;          \
    }                                             \
    }                                             \
    }
SOACRAFT_BUILD(portable)
#if defined(SOACRAFT_X86)
SOACRAFT_BUILD(x86_64_v3)
SOACRAFT_BUILD(x86_64_v4)
#endif

namespace soacraft {
namespace {

struct Build {
    const rigid::Kernels* rigid;
    const loops::Kernels* loops;
    const kinematics::LimbKernels* limbs;
    const kinematics::VelocityKernels* velocities;
    const program::Machine* programs;
    const contact::PairKernels* pairs;
    const contact::MovingKernels* moving;
    const sim::ContactKernels* contacts;
    bool runs;
};
#define SOACRAFT_BUILT(target) &rigid::target::kernels, &rigid::target::loop_kernels, &rigid::target::limb_kernels, \
                               &rigid::target::velocity_kernels, \
                               &program::target::kernels, &contact::target::kernels, &contact::target::moving, \
                               &sim::target::kernels

// From the plainest to the best.
const std::vector<Build>& builds() {
#if defined(SOACRAFT_X86)
    static const std::vector<Build> all = [] {
        __builtin_cpu_init();
        const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
        const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512cd");
        return std::vector<Build>{{SOACRAFT_BUILT(portable), true}, {SOACRAFT_BUILT(x86_64_v3), v3}, {SOACRAFT_BUILT(x86_64_v4), v4}};
    }();
#else
    static const std::vector<Build> all = {{SOACRAFT_BUILT(portable), true}};
#endif
    return all;
}

const Build*& in_use() {
    static const Build* build = [] {
        const Build* best = nullptr;
        for (const Build& b : builds())
            if (b.runs) best = &b;
        return best;
    }();
    return build;
}

}  // namespace

namespace rigid {

std::vector<const Kernels*> runnable_kernels() {
    std::vector<const Kernels*> all;
    for (const Build& b : builds())
        if (b.runs) all.push_back(b.rigid);
    return all;
}

const Kernels& best_kernels() { return *in_use()->rigid; }

bool choose_kernels(const char* name) {
    for (const Build& b : builds())
        if (b.runs && std::strcmp(b.rigid->name, name) == 0) {
            in_use() = &b;
            return true;
        }
    return false;
}

}  // namespace rigid

const loops::Kernels& loops::best_kernels() { return *in_use()->loops; }
const kinematics::LimbKernels& kinematics::limb_kernels() { return *in_use()->limbs; }
const kinematics::VelocityKernels& kinematics::velocity_kernels() { return *in_use()->velocities; }
const program::Machine& program::machine() { return *in_use()->programs; }
const contact::PairKernels& contact::pair_kernels() { return *in_use()->pairs; }
const contact::MovingKernels& contact::moving_kernels() { return *in_use()->moving; }
const sim::ContactKernels& sim::contact_kernels() { return *in_use()->contacts; }

}  // namespace soacraft
