// A compiled closed chain as the bindings hold it.
#pragma once

#include <nanobind/nanobind.h>

#include <mutex>

#include "job.hpp"
#include "rigid/rigid_model.hpp"

namespace soacraft {
namespace loops {

struct ClosedModel {
    nanobind::object owner;  // keeps the tree alive
    const rigid::RigidModel* tree;
    unsigned long long stamp;  // of the tree when the plan was made: another one means other parameters
    Plan plan;
    rigid::Workspace workspace;  // of single calls
    std::vector<double> theta;   // the coordinates of the closures' hinges, from which they are followed
    std::vector<double> found;   // those of the last call
    double base[6] = {};
    bool ready[METHODS] = {};
    std::size_t room = 0;
    std::mutex changing;  // a batch runs without Python's lock: nothing is changed under it

    bool outdated() const { return tree->stamp != stamp; }
    State state() const {
        State s = {};
        for (int i = 0; i < 6; ++i) s.base[i] = base[i];
        s.theta = theta.data();
        return s;
    }
    index forces() const { return static_cast<index>(6 * plan.closures.size() + plan.couplings.size()); }
};

// While one lives, no batch runs and nobody else changes the model.
class Change {
public:
    explicit Change(ClosedModel& m) : lock_(m.changing, std::defer_lock) {
        nanobind::gil_scoped_release free;
        lock_.lock();
    }

private:
    std::unique_lock<std::mutex> lock_;
};

}  // namespace loops
}  // namespace soacraft
