// What inverse kinematics aims at, and what bounds it: plain structs, made by Python (soacraft/kinematics/reaching.py).
#pragma once

#include "soacraft/loops/plan.hpp"

namespace soacraft {
namespace kinematics {

enum Kind : int { POSE = 0, POSITION = 1, DIRECTION = 2, KINDS = 3 };

// A frame on an element (-1: the ground) to be brought to a goal as seen from another.
struct Aim {
    index kind;
    rigid::Body frame, to;
    double goal_R[9], goal[3];  // the goal's axes, and its point or direction
    double axis[3];             // in the frame, of a direction
    double weight, length;      // relative to the heaviest; what distances are measured by, in metres
    double distance, angle;     // how near is enough
    index row, rows;
};

// As soacraft/kinematics/tolerances.py has them.
struct Tolerances {
    double damping, least, most;  // relative to the square of what is left: to begin with, and its range
    double damped;                // added to it
    double unimproved;            // part of the square by which a step must better it
    double same_direction, turned_over;
    double turn;                  // the largest angle of a step
    double enough;                // so much must be left at most after `patience` steps,
    index patience, steps;
    bool hasty;                   // where other starts are left
};

struct Reach {
    const Aim* aims;
    index count, rows;
    loops::Allowed allowed;
    const double* unit;   // by dof: radians or lengths in one SI unit
    const index* turning;  // by dof: whether it turns
    Tolerances tolerances;
};

}  // namespace kinematics
}  // namespace soacraft
