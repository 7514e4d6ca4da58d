// Which build of the programs' kernels is used: that of the rigid kernels.
#include <cstring>

#include "soacraft/program/plan.hpp"
#include "soacraft/rigid/job.hpp"

namespace soacraft {
namespace program {

namespace portable { extern const Machine kernels; }
#if defined(SOACRAFT_X86)
namespace x86_64_v3 { extern const Machine kernels; }
namespace x86_64_v4 { extern const Machine kernels; }
#endif

namespace {

const Machine& like_the_rigid_kernels() {
#if defined(SOACRAFT_X86)
    const char* const name = rigid::best_kernels().name;
    if (std::strcmp(name, x86_64_v4::kernels.name) == 0) return x86_64_v4::kernels;
    if (std::strcmp(name, x86_64_v3::kernels.name) == 0) return x86_64_v3::kernels;
#endif
    return portable::kernels;
}

}  // namespace

const Machine& machine() {
    static const Machine& chosen = like_the_rigid_kernels();
    return chosen;
}

}  // namespace program
}  // namespace soacraft
