// What the bindings ask of a kernel: one algorithm on one state or on a batch, at the widest registers there are.
#pragma once

#include <cstddef>

#include "soacraft/rigid/model.hpp"
#include "soacraft/rigid/passive.hpp"
#include "soacraft/rigid/rnea.hpp"

namespace soacraft {
namespace rigid {

enum Input : int { Q = 0, V = 1, X = 2, PULL = 3, INPUTS = 4 };
constexpr int OUTPUTS = 3;

// Rows of arrays for `count` states. A step of 0 uses one row for all states; a null input is absent.
struct Job {
    const Model* model;
    double base[12];  // velocity and acceleration of what the base hangs from
    const double* in[INPUTS];
    index in_step[INPUTS];
    double* out[OUTPUTS];
    index out_step[OUTPUTS];
    const Body* frame;  // of a Jacobian: the frame asked for
    const Passive* passive;  // springs and dampers that act, or null
};

// False when a hinge has no inertia to move, or a matrix over the dofs is not finite.
typedef bool (*Kernel)(const Job&, index first, index last, void* workspace);
typedef std::size_t (*Size)(const Job&);

// The shape of one state's output.
enum Shape : int { NONE, NUMBER, DOFS, DOFS_DOFS, DOFS_DOFS_DOFS, SIX_DOFS, BODIES_3_3, BODIES_3 };

struct Algorithm {
    const char* name;
    int inputs;  // 1: q, 2: q and v, 3: q, v and x
    Shape out[OUTPUTS];
    Kernel one, batch;
    Size one_bytes, batch_bytes;
    bool sprung;  // whether springs and dampers take part
};

struct Kernels {
    const char* name;
    int lanes;
    const Algorithm* algorithms;
    int count;
};

// All builds, and which of them this machine can run.
struct KnownKernels {
    const Kernels* kernels[3];
    bool runs[3];
    int count;
};
const KnownKernels& known_kernels();

// The build in use: the best for this machine, unless another was chosen by its name (false: it cannot run here).
const Kernels& best_kernels();
bool choose_kernels(const char* name);

}  // namespace rigid
}  // namespace soacraft
