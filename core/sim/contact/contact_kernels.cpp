// The contacts of steps, built once for each instruction set.
#include "sim/contact/contact_step.hpp"

namespace soacraft {
namespace sim {
namespace SOACRAFT_TARGET {

extern const ContactKernels kernels;
const ContactKernels kernels = {
    [](const ContactSetting& set, const rigid::Model& model, const TouchingLoops& loops) -> std::unique_ptr<Impulses> {
        return std::make_unique<ContactStep>(set, model, loops);
    }};

}  // namespace SOACRAFT_TARGET
}  // namespace sim
}  // namespace soacraft
