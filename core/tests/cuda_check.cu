// Compiled, not run: the rigid kernels are the same lines on a GPU, one state a thread.
#include "soacraft/rigid/aba.hpp"
#include "soacraft/rigid/kinematics.hpp"

using namespace soacraft;
using namespace soacraft::rigid;

namespace {

// States lie side by side, so that neighbouring threads read neighbouring numbers.
struct Column {
    double* x;
    soacraft::index step;
    __device__ double operator[](soacraft::index i) const { return x[i * step]; }
    __device__ void set(soacraft::index i, double value) { x[i * step] = value; }
};

}  // namespace

__global__ void forward_dynamics_on_gpu(Model model, portable::Base base, double* q, double* v, double* tau, double* vdot,
                                        portable::AbaWork<double>* work, soacraft::index count) {
    const soacraft::index i = blockIdx.x * static_cast<soacraft::index>(blockDim.x) + threadIdx.x;
    if (i >= count) return;
    Column out{vdot + i, count};
    portable::forward_dynamics<double>(model, base, Column{q + i, count}, Column{v + i, count}, Column{tau + i, count},
                                       nullptr, work[i], out);
}

__global__ void inverse_dynamics_on_gpu(Model model, portable::Base base, double* q, double* v, double* vdot, double* tau,
                                        portable::Moving<double>* work, soacraft::index count) {
    const soacraft::index i = blockIdx.x * static_cast<soacraft::index>(blockDim.x) + threadIdx.x;
    if (i >= count) return;
    Column out{tau + i, count};
    portable::inverse_dynamics<double>(model, base, Column{q + i, count}, Column{v + i, count}, Column{vdot + i, count},
                                       nullptr, work + i * model.count, out);
}
