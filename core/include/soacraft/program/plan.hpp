// An expression of operators as a program, as its kernels read it: plain numbers that somebody else owns.
//
// A *field* is a block-sparse operator of the model: a list of blocks with their places. Each has a *maker*: the numbers
// of a state, a product of two fields, the solution of a Lyapunov or Riccati equation. Makers stand in an order in which
// each finds what it needs. *Steps* then take a stacked vector through fields and sweeps, register by register.
#pragma once

#include "../config.hpp"

#define SOACRAFT_PROGRAM_BEGIN \
    namespace soacraft {       \
    namespace program {        \
    namespace SOACRAFT_TARGET {
#define SOACRAFT_PROGRAM_END \
    }                        \
    }                        \
    }

namespace soacraft {
namespace program {

// How a stacked vector is cut: `count` slices, from offset[k] to offset[k + 1].
struct Space {
    index count;
    const index* offset;
};

// Blocks at (row[i], col[i]), row-major, block i from start[i] of what begins at `at` in the arena of a state's numbers.
struct Field {
    index rows, cols;  // the spaces
    index count;
    const index *row, *col, *start;
    index at;
};

enum How : int {
    GIVEN,      // numbers from outside
    RIGID,      // A, H and M of a rigid tree at q
    PICK_OFF,   // phi(k, O) of nodes on a rigid tree at q
    PRODUCT,    // X Y
    SUM,        // a X + b Y
    INVERSE,    // of a block-diagonal, positive definite X
    FORWARD,    // Y = X + E_A Y E_B*, tips to base
    BACKWARD,   // Y = X + diagOf{ E_A* Y E_B }, base to tips
    RICCATI,    // P, D, G of E, H and M
    PAST_HINGE, // P+ = (I - G H) P
    REMAINDER,  // X - Y Z, block by block
    SWEEP,      // of a column of the nodes
    CROSS,      // diagonal blocks made of a column
    HINGE_RATE, // dH of one hinge along one of its dofs
};

// The blocks that CROSS makes of x = [w; v]: crf(x), crf([w; 0]), and the X with crf(s) x = X s.
enum CrossKind : int { FORCE_CROSS, TURNING, MOMENTUM_CROSS };

// What `list` holds: of a product triples (block of X, block of Y, block of the result); of a sum for each block of X,
// then of Y, the block of the result or -1; of equations for each node the block of E (and of E_B), then of X, of Lyapunov's
// then of the result; of a remainder for each block of X those of Y and of Z; of a sweep for each node the block of E, then
// of X, then of the result; of CROSS for each block of the result that of X; of HINGE_RATE node and dof; -1: none.
struct Maker {
    int how;
    int transposed;  // bit 0: X, bit 1: Y; given: whether it is the same at every state; a sweep: its act; CROSS: its kind
    index in[3];     // fields, -1 for none
    index out[4];
    double factor[2];
    const index* list;
    index length;
};

enum Act : int { APPLY, APPLY_T, GATHER, SCATTER, GATHER_TILDE, SCATTER_TILDE, COMBINE };

// out = field in, the sweep of field on in, or factor[0] in + factor[1] other. `list` has, for a sweep, the block of the
// field above each node, or -1. Register 0 is what the program is applied to, register 1 the result.
struct Step {
    int act;
    index field;
    index in, other, out;
    double factor[2];
    index size;  // of what is combined
    const index* list;
};

struct Forest {
    index count;
    const index *order, *parent;
};

enum HingeKind : int { SCREWS, WELDED, BALL, ANYWHERE, ROLLS };

// exp(S x) = (1, t, sin t, 1 - cos t) times the basis, t = rate x: nine numbers of R, then three of p.
struct Screw {
    double vector[6], rate, basis[48];
};

struct RigidBody {
    index parent;         // among the bodies, -1: the base
    index q, nv;          // where its coordinates begin
    index screws;         // the first of its screws
    int kind;
    int constant;         // whether H does not depend on q
    int turned, shifted;  // whether the outboard pose turns, travels
    double R_in[9], p_in[3], R_out[9], p_out[3];
    double H[36];         // H* in the body frame, 6 x nv, where it is constant
    double M[36];
    double armature[6];
    int extended;         // whether the node has the dofs below its six
    double radius, normal[3], t1[3], t2[3];
};

// A node of a pick-off field: its body, and where it is on it.
struct Spot {
    index body;
    double R[9], p[3];
};

enum Axes : int { BODY_AXES, INERTIAL_AXES, ORIGIN_AXES };

struct RigidTree {
    index count, nq;
    const RigidBody* bodies;
    const Screw* screws;
    int axes;
    index A, H, M;        // the fields it fills
    const index* edge;    // the block of A above each body, or -1
    index world;          // where poses are kept in the arena: 12 numbers for each body
};

struct Plan {
    const Space* spaces;
    const Field* fields;
    const Maker* makers;
    index makers_count;
    Forest forest;
    RigidTree rigid;      // of no bodies, when numbers are given
    const Spot* const* spots;  // of each maker; null but for pick-off
    index arena;          // how many numbers a state has, all fields together
    index work;           // how many numbers makers work on
};

struct Program {
    const Plan* plan;
    const index* needs;   // makers, in order
    index needs_count;
    const Step* steps;
    index steps_count;
    const index* registers;  // where each begins, in numbers for one column; those of 0 and 1 do not count
    index register_room;
    index rows, cols;     // sizes of result and argument
};

// What a program is run on. A step of 0 uses one row for all states.
struct Job {
    const Program* program;
    const double* q;
    index q_step;
    const double* base;      // pose of what base bodies hang from: R row-major, then p
    const double* const* given;  // of each maker that is given: its numbers, or null where the arena has them
    const index* given_step;
    const double* x;         // rows x columns of one state
    index x_step, columns;
    double* out;
    index out_step;
};

// One state: makes what is not yet made in an arena that is kept (`made` of each maker: 1 when it is), then runs the
// steps. False when a number is in doubt, and Python should look at it.
typedef bool (*MakeOne)(const Job&, double* arena, unsigned char* made, double* work);
typedef bool (*RunOne)(const Job&, const double* arena, double* registers);
// States first to last of a batch; `workspace` has `batch_bytes`. Returns the first state in doubt, or -1.
typedef index (*RunBatch)(const Job&, index first, index last, void* workspace);
typedef unsigned long long (*BatchBytes)(const Job&);

struct Machine {
    const char* name;
    int lanes;
    MakeOne make_one;
    RunOne run_one;
    RunBatch run_batch;
    BatchBytes batch_bytes;
};

const Machine& machine();  // for the instruction set in use

}  // namespace program
}  // namespace soacraft
