// Contact of a run (sim/forces/compiled_contact.py): its setting, its log, and the solver of its steps.
#pragma once

#include <memory>
#include <vector>

#include "contact/spot_query.hpp"
#include "soacraft/loops/plan.hpp"

namespace soacraft {
namespace sim {

constexpr index FRICTIONS = 5;  // coefficients of a contact: of its rows after the first

// A dof with limits, or with dry friction; the load that it is of, -1 of the hinge itself.
struct Stop {
    index dof, place;  // and where its coordinate is in q
    double lower, upper, restitution;
    index load;
};
struct Rub {
    index dof;
    double limit;
    index load;
};

// A stop or friction of a load: its dof, its force in a step, averaged over it, and its part in the way out of what the step ended in.
struct LoadRow {
    index load, dof;
    double force = 0.0, part = 0.0;
    double power = 0.0;  // of viscous friction, at the end
};

// Closures of what touches: their tree-augmented plan on the tree that answers impulses, and the coordinates of their hinges; those
// of the caller, as they are at the time of a step. Both null of a tree.
struct TouchingLoops {
    const loops::Plan* plan;
    const std::vector<double>* theta;
};

// The impulse on the second of two shapes at a point, and its moment of friction, in inertial axes.
struct PointImpulse {
    index a, b;
    double point[3], impulse[3], moment[3];
    static constexpr index SIZE = 11;

    bool operator<(const PointImpulse& other) const { return a != other.a ? a < other.a : b < other.b; }
};

struct ContactSetting {
    const contact::SpotQuery* scene;
    std::vector<index> body;     // that carries each shape, -1: the inertial frame
    const double* local;         // (shapes, 12): its pose there
    const double* surface;       // (shapes, 3): the velocity of its surface, in its axes
    const double* far;           // by body: how far its shapes reach
    std::vector<index> group;    // by shape: those of equal friction and restitution
    index groups;
    std::vector<index> rows;                // (groups, groups): of a contact of two, 1, 3, 4 or 6
    std::vector<double> friction;           // (groups, groups, 5): of the rows after the first
    const double* restitution;              // (groups, groups)
    std::vector<Stop> stops;
    std::vector<Rub> rubs;
    bool energy;  // restitution is made smaller where the energy would rise
    double tolerance;
    double thin;  // the least width of two shapes that may touch, together
    std::vector<PointImpulse> impulses;  // of the step before the first one
};

// Numbers for each step with a contact problem, and for each point of contact in it.
struct ContactLog {
    static constexpr index STEP = 8, POINT = 13;
    std::vector<double> steps;   // end of the step, its points, residual, effort, unique, work, factor, depth
    std::vector<double> points;  // shapes a and b, point, impulse and moment on b, gap, state
};

// The contacts of one step after the other (`ContactStep`), built once for each instruction set.
class Impulses {
public:
    std::vector<double> v, force;  // velocities after, and the generalized force of all impulses averaged over the step
    std::vector<LoadRow> of_loads;  // what of it is of rows of loads, stops first, which `force` is without
    ContactLog log;
    std::vector<PointImpulse> before, after;  // by shapes: of the last step, next to which those of this one are sought; of this one
    bool recorded = true;  // whether forces and a log are wanted
    double part = 1.0;     // of a step that would lead shapes through each other: what of it does not

    virtual ~Impulses() = default;
    // Take a step of length h from (q0, v0) to its smooth end (q, v_free) at t: false where Python should take it.
    // `pressed`: whether there are impulses.
    virtual bool act(double t, double h, const double* q0, const double* v0, const double* q, const double* v_free, bool& pressed) = 0;

    // some <- (Mcal^-1)_kk of some dofs at (q, v), or parts of them that are more than `some` was; false where a hinge has no inertia to move.
    virtual bool compliance(const double* q, const double* v, const std::vector<index>& dofs, std::vector<double>& some) = 0;

    // Begin in the middle of a step, at q with the velocities v of its start: compute the inertias there.
    virtual bool begin_midway(const double* q, const double* v) = 0;
    // vdot <- Mcal^-1 (force - C) there with velocities v; `ground` (6): the acceleration of the base.
    virtual void accelerate(const double* v, const double* force, const double* ground, double* vdot) = 0;
    // Act with all that touches in the middle, from the start (q0, v0) of the step.
    virtual bool act_midway(double t, double h, const double* q0, const double* v0, const double* q, const double* v_free, bool& pressed) = 0;
    // True if a step from (q0, v0) to (q1, v1) leads no shapes through each other: the last call of a step. Else `part`
    // is what of it does not.
    virtual bool keeps_sides(double h, const double* q0, const double* v0, const double* q1, const double* v1, bool pressed) = 0;
    // dq (nv) <- the displacement out of what a step that ends at q would be in, and not into anything near. `needed`: whether it
    // is in anything.
    virtual bool way_out(const double* q, const double* v_end, double* dq, bool& needed) = 0;
};

struct ContactKernels {
    std::unique_ptr<Impulses> (*begin)(const ContactSetting&, const rigid::Model&, const TouchingLoops&);
};

// Kernels of this machine (`dispatch.cpp`).
const ContactKernels& contact_kernels();

}  // namespace sim
}  // namespace soacraft
