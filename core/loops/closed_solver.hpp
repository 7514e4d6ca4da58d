// A compiled solver of a closed chain as the bindings hold it: made from a plan, and never changed.
#pragma once

#include <nanobind/nanobind.h>

#include "job.hpp"
#include "rigid/rigid_model.hpp"

namespace soacraft {
namespace loops {

struct ClosedSolver {
    nanobind::object owner;  // keeps the tree alive
    const rigid::RigidModel* tree = nullptr;
    unsigned long long stamp = 0;  // of the tree when the plan was made: another one means other parameters
    Plan plan;
    Method method = ROWS;  // what it solves by
    double base[6] = {};   // acceleration of the ground: gravity upwards
    std::size_t room = 0;
    mutable rigid::Workspace workspace;  // of single calls, which hold Python's lock

    bool outdated() const { return tree->stamp != stamp; }
    State state(const double* theta) const {
        State s = {};
        for (int i = 0; i < 6; ++i) s.base[i] = base[i];
        s.theta = theta;
        return s;
    }
    index forces() const { return static_cast<index>(6 * plan.closures.size() + plan.couplings.size()); }
};

// Read a plan of Python's: an object with the attributes of soacraft.kinematics.plan.Plan.
void read_plan(ClosedSolver& to, nanobind::handle plan);

}  // namespace loops
}  // namespace soacraft
