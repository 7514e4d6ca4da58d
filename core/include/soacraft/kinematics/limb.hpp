// A limb for inverse kinematics: hinges one after the other, each about or along the z of its own frame; plain structs, made by
// Python (soacraft/kinematics/limbs.py).
#pragma once

#include "soacraft/config.hpp"

namespace soacraft {
namespace kinematics {

constexpr index MOST_DOFS = 32;  // of a limb
constexpr index PLACE = 12;      // numbers of a pose: rows of the rotation, then the translation
constexpr index MOST_STORED = 512;  // configurations of a table

// z turns by `turn` and slides by `slide` for each unit of ratio * q[dof] + offset, behind a constant pose.
struct LimbHinge {
    double at[PLACE];
    double turn, slide, ratio, offset;
    index dof;
};

struct Limb {
    const LimbHinge* hinges;
    index count, dofs;
    double tip[PLACE];    // from the last hinge to the tip
    const double *lower, *upper;
    const double* unit;   // of a dof: 1 for radians, a length for slides
    double length;        // what distances are measured by
};

// Configurations and where the tip is then: the nearest go first. Numbers of one kind are in a row.
struct LimbTable {
    const double* q;         // (count, dofs)
    const double* position;  // (3, count)
    const double* turn;      // (4, count): unit quaternions
    index count;
};

struct LimbOptions {
    double tolerance[6];    // of the turn and the way that are left, in the axes of the goal; infinite where it is free
    index seeds;            // at most so many starts for a goal
    index steps;            // of one start
    index patience;         // after so many steps the square of what is left must have come down to the part `enough`
    double enough;
    double damping, damped; // of a step: damping * (square of what is left) + damped
    double largest;         // step of one dof, in its units
    bool all;               // every start, not only until one gets there
    bool near_first;        // the first start is waited for
    double seconds;         // for one goal; 0: no limit
    index settling;         // steps towards the nearest approach where no start got there
    double settled;         // one that betters the square of what is left by a smaller part is the last
};

// What became of a goal.
struct LimbAnswer {
    double* q;         // (dofs), or (seeds, dofs) of all
    double* left;      // (6): turn and way that are left; of all (seeds, 6)
    index found, tried, steps;
};

// Goals (count, PLACE) with starts `near` (count or 1, dofs): answers.
struct LimbJob {
    const Limb* limb;
    const LimbTable* table;
    const LimbOptions* options;
    const double* goals;
    const double* near;
    index near_step;  // 0: one for all
    index count;
    double *q, *left;
    index* told;  // (count, 3): found, tried, steps
};

struct LimbKernels {
    void (*search)(const LimbJob&, index begin, index end);
};

const LimbKernels& limb_kernels();  // of this machine (`dispatch.cpp`)

}  // namespace kinematics
}  // namespace soacraft
