// Which build of the rigid kernels this machine can run.
#include "job.hpp"

namespace soacraft {
namespace rigid {

namespace portable { extern const Kernels kernels; }
#if defined(SOACRAFT_X86)
namespace x86_64_v3 { extern const Kernels kernels; }
namespace x86_64_v4 { extern const Kernels kernels; }
#endif

const Kernels& best_kernels() {
#if defined(SOACRAFT_X86)
    static const Kernels& best = []() -> const Kernels& {
        __builtin_cpu_init();
        const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
        const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512cd");
        return v4 ? x86_64_v4::kernels : v3 ? x86_64_v3::kernels : portable::kernels;
    }();
    return best;
#else
    return portable::kernels;
#endif
}

}  // namespace rigid
}  // namespace soacraft
