// What a driver asks of a kernel: one algorithm on one state or on a batch, at the widest registers there are.
#pragma once

#include <cstddef>
#include <vector>

#include "../model/model.hpp"
#include "../passive.hpp"
#include "../rnea.hpp"
#include "rollout_task.hpp"

namespace soacraft {
namespace rigid {

// What a kernel may be given: coordinates, velocities, one or two more vectors over the dofs, wrenches on bodies.
enum Input : int { Q = 0, V = 1, X = 2, Y = 3, PULL = 4, INPUTS = 5 };
constexpr int VECTORS = 4, OUTPUTS = 4;

// A wrench at a frame: six numbers for each state, or (a step of 0) for all of them. `turned`: they are in the axes of
// `axes`, not in those of the frame.
struct Wrench {
    Body at, axes;
    bool turned;
    const double* f;
    index step;
};

// Rows of arrays for `count` states. A step of 0 uses one row for all states; a null input is absent.
struct Job {
    const Model* model;
    double base[12];   // velocity and acceleration of what the base hangs from, in its axes
    double place[12];  // rotation (row-major) and translation of what the base hangs from
    const double* in[INPUTS];
    index in_step[INPUTS];
    double* out[OUTPUTS];
    index out_step[OUTPUTS];
    const Body* frames;  // the nodes asked for
    index frame_count;
    const Wrench* wrenches;  // besides those of `in[PULL]`
    index wrench_count;
    bool turned;             // whether one of them is
    const unsigned char* mask;  // of prescribed dofs
    const Passive* passive;  // springs and dampers that act, or null
};

// False when a hinge has no inertia to move, or a matrix over the dofs is not finite.
typedef bool (*Kernel)(const Job&, index first, index last, void* workspace);
typedef std::size_t (*Size)(const Job&);

// The shape of one state's input or output; n bodies, k nodes. ZEROS: an input over the dofs that the driver fills.
enum Shape : int {
    NONE, NUMBER, THREE, SIX, COORDINATES, DOFS, ZEROS, DOFS_DOFS, DOFS_DOFS_DOFS,
    BODIES_3_3, BODIES_3, BODIES_6, NODES_3_3, NODES_3, NODES_6, SIXES, SIXES_DOFS, SIXES_SIXES
};

// What else takes part: springs and dampers; gravity, besides the motion of the anchor; wrenches, in any axes or in those
// of their nodes alone; a list of nodes; a mask of dofs. And how results are made, by which moderate.hpp says that they
// cannot overflow: SUMS of products alone; or SOLVES, where a hinge in doubt is refused before anything is written.
enum Part : unsigned {
    SPRUNG = 1, BASED = 2, PULLED = 4, PULLED_IN_OWN_AXES = 8, NODES = 16, MASKED = 32, SUMS = 64, SOLVES = 128
};

struct Algorithm {
    const char* name;
    Shape in[VECTORS];
    Shape out[OUTPUTS];
    Kernel one, batch;
    Size one_bytes, batch_bytes;
    unsigned parts;
    bool has(unsigned part) const { return (parts & part) != 0; }
};

// Rollouts of states first to last: one, or packs of them. False where one cannot go on.
typedef bool (*Roll)(const RolloutTask&, const Job&, index first, index last, void* workspace, RolloutEnd&);
typedef std::size_t (*RollSize)(const RolloutTask&, const Job&);
struct Rolling {
    Roll one, batch;
    RollSize one_bytes, batch_bytes;
};

// The algorithms of one build: tables that each end with a row without a name; and rollouts.
constexpr int TABLES = 4;
struct Kernels {
    const char* name;
    int lanes;
    const Algorithm* tables[TABLES];
    const Rolling* rolling;
    const Algorithm* flexible[2];  // the tables of trees with flexible bodies
};

// All of them in one list: those of trees of rigid bodies, or of trees with flexible ones.
inline std::vector<const Algorithm*> algorithms_of(const Kernels& kernels, bool flexible = false) {
    std::vector<const Algorithm*> all;
    const auto add = [&all](const Algorithm* table) {
        for (const Algorithm* a = table; a && a->name; ++a) all.push_back(a);
    };
    if (flexible)
        for (const Algorithm* table : kernels.flexible) add(table);
    else
        for (const Algorithm* table : kernels.tables) add(table);
    return all;
}

// The builds that this machine can run, best last.
std::vector<const Kernels*> runnable_kernels();

// The build in use: the best for this machine, unless another was chosen by its name (false: it cannot run here).
const Kernels& best_kernels();
bool choose_kernels(const char* name);

}  // namespace rigid
}  // namespace soacraft
