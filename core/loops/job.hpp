// What the bindings ask of the solvers of closed chains, at the widest registers there are.
#pragma once

#include <cstddef>

#include "soacraft/kinematics/aims.hpp"
#include "soacraft/loops/plan.hpp"
#include "soacraft/rigid/passive.hpp"

namespace soacraft {
namespace loops {

// What a plan is for: rows alone, or a solver.
enum Method : int { TREE_AUGMENTED = 0, CONSTRAINT_EMBEDDING = 1, ROWS = 2, FULLY_AUGMENTED = 3, METHODS = 4 };

// External forces on a tree: six for each body, one for each mode.
inline index pull_width(const rigid::Model& tree) { return 6 * tree.body_count + tree.modes; }

// One state; `pull` may be null.
struct State {
    double base[6];  // acceleration of the ground: gravity upwards
    const double *q, *v, *force, *pull, *theta;
    const rigid::Passive* passive;  // springs and dampers that act, or null
    const Drives* drives;           // of closures and couplings, or null
};

// The answer at one state: vdot; the wrench of each closure on its frame b in the axes of a and the multiplier of each
// coupling; the residuals of closures and motion; the coordinates of the closures' hinges, unless null.
struct Answer {
    double *vdot, *forces, *residual, *theta;
};

// The rows at one state, closures first; and how dofs move the ends of closures (closure_moves.hpp): `turns` and `slides` of
// each dof, T and S of each closure, how far from the origin anything is.
struct Rows {
    double *theta, *gap, *Q, *R_ab, *local, *gamma, *speed, *residual, *W_a, *W_b, *G, *turns, *slides, *T, *S, *furthest;
};

// Ways to move a closed chain (soacraft/loops/motion.hpp), and the force for it (inverse_embedding.hpp), which comes as v:
// from accelerations of the independent dofs, or of all; and all accelerations from those of the independent dofs.
enum Move : int {
    EXPAND = 0, COMPLETE = 1, ADVANCE = 2, PROJECT_VELOCITY = 3, PROJECT = 4,
    INVERSE_DYNAMICS = 5, INVERSE_OF_ALL = 6, ACCELERATE = 7, MOVES = 8
};

// One motion from the q of a state: of velocities or steps `x`, of all dofs or of the `count` independent ones in
// `order`, into the outputs that it has; the coordinates of the closures' hinges follow in `theta`. `open`, unless null: by how
// much closures are open at the end of a projection, in radians or lengths of the loop.
struct Motion {
    const double* x;
    const index* order;
    index count;
    double *q, *v, *theta, *open = nullptr;
};

// The derivatives of an answer along q, v and the force: of vdot (nv, nv) each, of the forces (numbers, nv) each; the
// coordinates of the closures' hinges, unless null.
struct Derived {
    double *vdot[3], *forces[3], *theta;
};

struct Kernels {
    std::size_t (*room)(const Plan&);  // bytes of the memory that the others take, on a cache line
    std::size_t (*room_abreast)(const Plan&);  // and that `solve_abreast` takes
    int lanes;                                 // how many states that solves side by side
    // Bit i is set where state i has its answer. The others, if any can, `solve` answers.
    unsigned (*solve_abreast)(const Plan&, void* memory, Method, const State*, const Answer*, int count);
    bool (*solve)(const Plan&, void* memory, Method, const State&, const Answer&);  // false: Python should look at it
    bool (*push)(const Plan&, void* memory, const State&, const double* rhs, double* dv);
    bool (*rows)(const Plan&, void* memory, const State&, const Rows&);
    bool (*is_closed)(const Plan&, void* memory, const State&);  // whether a state is on its closures, and stays there
    bool (*compliance)(const Plan&, void* memory, const State&, double* to);  // of each row, which rounding is measured by
    bool (*move)(const Plan&, void* memory, Move, const State&, const Motion&);
    std::size_t (*closing_room)(const Plan&);  // bytes of the memory that the next one takes
    bool (*assemble)(const Plan&, void* memory, const double* q, const double* theta, const Allowed&, double* to);
    std::size_t (*derive_room)(const Plan&);
    bool (*derive)(const Plan&, void* memory, const State&, const Derived&);  // of a plan of tree-augmented dynamics
    std::size_t (*reach_room)(const rigid::Model&, const kinematics::Reach&);
    // From q to where all aims are met, with what is left of them: the steps it took, or -1: Python should look at it.
    index (*reach)(const rigid::Model&, void* memory, const kinematics::Reach&, double* q, double* left);
    // The state on the closures next to one, where some dofs stay: those which `places` does not allow keep their coordinates, unless
    // it is null and all are closed already; those which `rates` does not allow keep their velocities.
    bool (*hold)(const Plan&, void* memory, const State&, const Allowed* places, const Allowed& rates, const Motion&);
};

// The best build for this machine.
const Kernels& best_kernels();

}  // namespace loops
}  // namespace soacraft
