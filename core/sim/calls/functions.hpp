// Calls from steps into another language: functions of time and state that act, prescribed motions, and visits between steps.
#pragma once

#include "soacraft/rigid/model/model.hpp"

namespace soacraft {
namespace sim {

// Functions of (t, q, v) that set the numbers of controls and fill generalized forces (`Evaluation` of sim/forces/evaluation.py).
// Those of a stage are called at every evaluation of the forces; those of a step once, at its start.
struct Functions {
    bool of_stage = false, of_step = false;
    virtual ~Functions() = default;
    // False where a function failed.
    virtual bool stage(double t, const double* q, const double* v) = 0;
    virtual bool step(double t, const double* q, const double* v) = 0;
};

// Functions of time that write the numbers of prescribed motions. False where one failed.
struct Motions {
    virtual ~Motions() = default;
    virtual bool at(double t) = 0;
};

// Calls between steps, at times that each call returns. Steps end there.
struct Visits {
    index next;  // in nanoseconds
    virtual ~Visits() = default;
    // The visit at a state; false where the steps should end.
    virtual bool call(index now, const double* q, const double* v, const double* vdot) = 0;
};

}  // namespace sim
}  // namespace soacraft
