// Compiled, not run: the kernels are the same lines on a GPU, one state a thread.
#include "soacraft/ab_dynamics.hpp"
#include "soacraft/lyapunov.hpp"
#include "soacraft/rigid/aba.hpp"
#include "soacraft/rigid/coriolis_matrix.hpp"
#include "soacraft/rigid/crba.hpp"
#include "soacraft/rigid/kinematics.hpp"
#include "soacraft/rigid/log_det.hpp"
#include "soacraft/rigid/mass_gradient.hpp"
#include "soacraft/rigid/minv.hpp"

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

__global__ void forward_dynamics_on_gpu(Model model, rigid::portable::Base base, double* q, double* v, double* tau, double* vdot,
                                        rigid::portable::AbaWork<double>* work, soacraft::index count) {
    const soacraft::index i = blockIdx.x * static_cast<soacraft::index>(blockDim.x) + threadIdx.x;
    if (i >= count) return;
    Column out{vdot + i, count};
    rigid::portable::forward_dynamics<double>(model, base, Column{q + i, count}, Column{v + i, count}, Column{tau + i, count},
                                       nullptr, work[i], out);
}

__global__ void inverse_dynamics_on_gpu(Model model, rigid::portable::Base base, double* q, double* v, double* vdot, double* tau,
                                        rigid::portable::Moving<double>* work, rigid::portable::Motion<double>* branches,
                                        soacraft::index count) {
    const soacraft::index i = blockIdx.x * static_cast<soacraft::index>(blockDim.x) + threadIdx.x;
    if (i >= count) return;
    Column out{tau + i, count};
    rigid::portable::inverse_dynamics<double>(model, base, Column{q + i, count}, Column{v + i, count}, Column{vdot + i, count},
                                       nullptr, work + i * model.count, branches + i * model.branches, out);
}

__global__ void block_engine_on_gpu(soacraft::Hinged<double> model, const double* M, double tolerance,
                                    soacraft::Articulated<double> solved, soacraft::Driven<double> in,
                                    soacraft::Motion<double> out, double* work, soacraft::index* singular) {
    *singular = soacraft::riccati(model, M, tolerance, solved, work);
    if (*singular < 0)
        *singular = soacraft::ab_dynamics<double>(model, {solved.P, solved.P_plus, solved.D, solved.G}, 1, in, out, work);
}

__global__ void lyapunov_on_gpu(soacraft::Tree tree, soacraft::Edges<double> A, soacraft::Slices block, const double* X,
                                double* forward, double* backward, double* work) {
    soacraft::forward_lyapunov(tree, tree.node, A, A, block, X, forward, work);
    soacraft::backward_lyapunov(tree, tree.node, A, A, block, X, backward, work);
}

__global__ void mass_matrices_on_gpu(Model model, double* q, double* M, double* M_inv, rigid::portable::CrbaWork<double>* crba,
                                     rigid::portable::MinvWork<double>* minv, bool* fine, soacraft::index count) {
    const soacraft::index i = blockIdx.x * static_cast<soacraft::index>(blockDim.x) + threadIdx.x, size = model.nv * model.nv;
    if (i >= count) return;
    fine[i] = rigid::portable::mass_matrix<double>(model, Column{q + i, count}, crba[i], M + i * size) &&
              rigid::portable::mass_matrix_inverse<double>(model, Column{q + i, count}, minv[i], M_inv + i * size);
}

__global__ void gradients_on_gpu(Model model, double* q, double* v, double* dM, double* C, double* log_det, double* d,
                                 rigid::portable::GradientWork<double>* gradient, rigid::portable::CoriolisWork<double>* coriolis,
                                 rigid::portable::LogDetWork<double>* work, bool* fine, soacraft::index count) {
    const soacraft::index i = blockIdx.x * static_cast<soacraft::index>(blockDim.x) + threadIdx.x, size = model.nv * model.nv;
    if (i >= count) return;
    const Column at{q + i, count}, along{v + i, count};
    Column to{d + i, count};
    fine[i] = rigid::portable::mass_matrix_gradient<double>(model, at, gradient[i], dM + i * size * model.nv) &&
              rigid::portable::coriolis_matrix<double>(model, at, along, coriolis[i], C + i * size) &&
              rigid::portable::log_det<double>(model, at, work[i], log_det[i]) &&
              rigid::portable::log_det_gradient<double>(model, at, work[i], to);
}
