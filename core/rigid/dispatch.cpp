// Which build of the rigid kernels this machine can run, and which is used.
#include <cstring>

#include "soacraft/rigid/job.hpp"

namespace soacraft {
namespace rigid {

namespace portable { extern const Kernels kernels; }
#if defined(SOACRAFT_X86)
namespace x86_64_v3 { extern const Kernels kernels; }
namespace x86_64_v4 { extern const Kernels kernels; }
#endif

namespace {

KnownKernels look() {
#if defined(SOACRAFT_X86)
    __builtin_cpu_init();
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd");
    return {{&portable::kernels, &x86_64_v3::kernels, &x86_64_v4::kernels}, {true, v3, v4}, 3};
#else
    return {{&portable::kernels}, {true}, 1};
#endif
}

const Kernels* best() {
    const KnownKernels& known = known_kernels();
    const Kernels* found = nullptr;
    for (int i = 0; i < known.count; ++i)
        if (known.runs[i]) found = known.kernels[i];
    return found;
}

const Kernels*& in_use() {
    static const Kernels* kernels = best();
    return kernels;
}

}  // namespace

const KnownKernels& known_kernels() {
    static const KnownKernels known = look();
    return known;
}

const Kernels& best_kernels() { return *in_use(); }

bool choose_kernels(const char* name) {
    const KnownKernels& known = known_kernels();
    for (int i = 0; i < known.count; ++i)
        if (known.runs[i] && std::strcmp(known.kernels[i]->name, name) == 0) {
            in_use() = known.kernels[i];
            return true;
        }
    return false;
}

}  // namespace rigid
}  // namespace soacraft
