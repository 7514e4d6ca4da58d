// A step of the whole robot as compiled code takes it: tasks, limits, what Python gives of rows; plain structs, made by Python
// (soacraft/robot/whole_body/plan.py) or by a program (soacraft/whole_body.hpp).
#pragma once

#include <cstddef>

#include "soacraft/rigid/model/model.hpp"

namespace soacraft {
namespace kinematics {

// What a task wants. GIVEN: rows that the caller has made.
enum TaskKind : int { PLACEMENT = 0, AT_POINT = 1, ALONG = 2, LOOK = 3, CENTER = 4, MOMENTUM = 5, POSTURE = 6, STAND = 7, GIVEN = 8, TASK_KINDS = 9 };

struct Task {
    index kind, level;
    index rows;                  // of STAND: 3 or 6; of GIVEN: the caller says it at each step
    index picked;                // bits of the directions that a CENTER has
    rigid::Body frame, to;       // on their elements, -1: the ground
    double goal_R[9], goal[3];   // axes of a PLACEMENT; its place, a point or a direction
    double axis[3];              // in the frame, of ALONG and LOOK
    double weight, gain;
    double rate[6];              // added to what is wanted
    const double *q, *rates;     // of a POSTURE: (nq), (nv)
};

// By dof: where its coordinate is in q (-1: it has none), its range and its largest speed, infinite where there is none.
struct SpeedLimits {
    const index* place;
    const double *lower, *upper, *fastest;
};

// As soacraft/robot/whole_body/tolerances.py has them.
struct LevelTolerances {
    double sees = 1e-9;           // a row of which no more than this part is left sees nothing that the others do not
    double faint = 1e-3;          // one of which no more than this part is left holds up to the rounding of the whole row
    double closures_see = 1e-6;   // the same of closures, which repeat each other to the digits of a file
    double firm = 1e-8;           // postures that weigh more than this part of all other rows tell velocities in all directions
    double little = 1e-10;        // of |v|^2, relative to the mean square of a level: what it hardly sees does not leap
    double near = 1e-5;           // the same of what it does not see at all, in a proximal step
    double bends = 0.5;           // what rows change by to second order, next to a bound of it
    double probe = 1e-3;          // the step along which that is looked at of a first level that postures tell, in radians and lengths,
    double margin = 4.0;          // and what it is multiplied by
    double slight = 0.05;         // a step that does all that is asked for and bends by no more than this part of what it gains is not damped
    double outweigh = 2.0;        // how many times of what rows bend by squares and damping outweigh
    double calm = 0.25;           // the part of squares that counts in that, where a task goes on by all that is left
    double pushes = 1e-10;        // of squares of rows decided on, relative to the largest: what they hardly see pushes no more
    double hardly = 1e-10;        // the same of squares of a level, where what it cannot meet is looked for
    double still = 1e-9;          // a dof that a bound holds back at no more than that in a step, in radians and lengths, is at a limit
    double across = 1e-6;         // a pull of which more than this part is across all that a level can do is out of reach
    double met = 1e-3;            // a level that misses less with its damping than this part of what it missed with the bound is not damped,
                                  // one that misses twice as much in full
    double slowly = 1e-2;         // what damps a direction along which rows bend, at least, next to dt |W^2 pull| of what is not taken away at once;
                                  // no more than 1 / met of how they bend
    double turn = 1e-3;           // the step that tells how rows turn, in radians and lengths,
    double turns = 1e-3;          // and how much of a pull they must turn towards for each of these
    double half = 0.5;            // from this part of that on, a direction costs the levels after it
    double costs = 1e6;           // as much at most, next to the mean square of a level
    double rolls = 3.0;           // what directions that a level keeps turn by, next to the bound of rows
    double looks = 2.0;           // how often it is looked at what holds a damped step back, and damping taken from that
    double nothing = 1e-8;        // what rows turn by, next to the most, that is less is rounding
    double holds = 1e-9;          // a bound that pushes by more than this part of a level's gradient holds it back
    double slow = 1e-9;           // of |v|^2, next to what is missing of rows that cannot all be kept
    double rows = 1e-12;          // of a row of a quadratic program, relative to the size of what is added in it
};

struct VelocityPlan {
    const Task* tasks;           // lower levels first
    index count;
    index levels;
    SpeedLimits limits;
    const double* unit;          // by dof: what one SI unit is in radians or lengths
    double length, mass;         // of the model: what rows in metres and momenta are measured by
    LevelTolerances tolerances;
};

// Rows of one kind (count, nv) with what is left (or a bound), what each is measured by, and a rate.
struct GivenRows {
    index count;
    const double *J, *left, *size, *rate;
};

// One step.
struct VelocityCall {
    const double *q, *v;         // the velocities before, or null: at rest
    const double* acceleration;  // by dof, or null: any
    double dt;
    bool limits;                 // whether limits of position count
    double damping;              // of what bends, 1 in a control loop
    GivenRows given;             // of all GIVEN tasks, one after the other
    const index* given_count;    // by GIVEN task
    GivenRows kept;              // J v >= left
    GivenRows closures;          // J v = -left / dt, before all else
    double* to;                  // (nv) <- velocities
    double* missed;              // (tasks) <- |J v - wanted|, in SI units
    double* missed_kept;         // (kept rows) <- by how much they are broken
    double* held;                // (levels, nv) <- 1 where a bound holds a level back, 0 elsewhere
};

struct PlainProgram {
    index n, rows;
    const double *H, *g, *C, *lower, *upper;  // (n, n), (n), (rows, n), (rows), (rows)
    double tolerance, scale;
};

struct VelocityKernels {
    std::size_t (*room)(const rigid::Model&, const VelocityPlan&, const VelocityCall&);  // bytes, on a cache line
    bool (*step)(const rigid::Model&, const VelocityPlan&, const VelocityCall&, void* memory);
    std::size_t (*qp_room)(const PlainProgram&);
    index (*solve_qp)(const PlainProgram&, void* memory, double* x, double* multipliers);
};

const VelocityKernels& velocity_kernels();  // of this machine (`dispatch.cpp`)

}  // namespace kinematics
}  // namespace soacraft
