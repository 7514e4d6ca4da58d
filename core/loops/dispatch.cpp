// The build of the solvers of closed chains that goes with that of the rigid kernels.
#include "job.hpp"

#include "soacraft/rigid/job.hpp"

namespace soacraft {
namespace rigid {
namespace portable { extern const loops::Kernels loop_kernels; }
#if defined(SOACRAFT_X86)
namespace x86_64_v3 { extern const loops::Kernels loop_kernels; }
namespace x86_64_v4 { extern const loops::Kernels loop_kernels; }
#endif
}  // namespace rigid

namespace loops {

const Kernels& best_kernels() {
#if defined(SOACRAFT_X86)
    switch (rigid::best_kernels().lanes) {
        case 8: return rigid::x86_64_v4::loop_kernels;
        case 4: return rigid::x86_64_v3::loop_kernels;
        default: break;
    }
#endif
    return rigid::portable::loop_kernels;
}

}  // namespace loops
}  // namespace soacraft
