// A plan as Python holds it: made from descriptions of calls, with calls into Python between compiled ones.
#pragma once

#include "array.hpp"
#include "sim/components/plan.hpp"
#include "rigid/rigid_model.hpp"

namespace soacraft {
namespace sim {

class PlanObject {
public:
    Plan plan;
    bool busy = false;    // while a run walks through it
    bool edited = false;  // a call into Python edited the model
    PyObject* failed = nullptr;  // the name of the call into Python that raised, held among others

    // `slots` (1-d float64) and `counts` (1-d int64) are shared with Python. `places` are the slots of q, v and vdot (-1 for none),
    // of z and of its rates, and how many z there are. `clocks`: (count, 3) numerator, denominator, offset.
    PlanObject(nb::object slots, nb::object counts, nb::object places, nb::object clocks, index origin, index nq, index nv,
               index objects);
    PlanObject(const PlanObject&) = delete;
    PlanObject& operator=(const PlanObject&) = delete;
    ~PlanObject() { clear(); }

    // `nominal`: the usual size of each z.
    void set_stage(nb::list before, nb::list behind, nb::list rates, bool reads_vdot, nb::object pushes,
                   nb::object nominal);
    // `frames` and `spots` (count, 13) as kernels read them, `places` (count, 4) where what a frame has goes to.
    void set_nodes(nb::object frames, nb::object places, nb::object spots);
    // Let the kernels of a tree have the frames; false where one of them is not on it.
    bool find_frames(const rigid::RigidModel& tree);
    void set_record(nb::list before, nb::list behind, nb::object columns);
    // Functions of crossings with the slots of their values from `at` on, their directions, and `signs` (2, crossings) shared with
    // Python.
    void set_crossings(nb::list margins, index at, nb::object directions, nb::object signs);
    // (slot, whether it is whether they press, shapes that are pressed, shapes that press) of each; both are 1 or 0 for each shape.
    void set_touches(nb::list touches);
    void add_due(std::uint64_t which, nb::list before, nb::list behind, bool reads_vdot, nb::list updates, nb::object outputs,
                 nb::object fresh);

    // True if there is a call into Python: then its lock is kept.
    bool calls_python() const { return python_; }
    // True if the model has been edited since the call that walks through it began; sets `edited`.
    bool sees_edit() { return edited = tree_ && (tree_->retired || tree_->stamp != stamp_); }
    void begin() { busy = true, edited = false, failed = nullptr, plan.begin(); }
    void end() { busy = false, tree_ = nullptr; }
    bool fits(index nq, index nv) const { return nq == nq_ && nv == nv_; }

    // The slots where the last step failed; empty where none did.
    nb::object wrong() const;

    int traverse(visitproc visit, void* arg) const;
    void clear();

private:
    Calls read(nb::list calls);
    void read_twin(nb::handle call, Calls& to) const;
    void read_python(nb::handle call, Calls& to);
    std::vector<Range> ranges(nb::handle given, const char* name, int columns, std::vector<index>* third = nullptr) const;
    void require_range(const char* name, index at, index count) const;
    void require_idle() const;
    PyObject* hold(nb::handle x);

    nb::object slots_kept_, counts_kept_, signs_kept_;
    Array<double> slots_;
    Array<index> counts_;
    std::unique_ptr<Array<double>> signs_;
    index nq_, nv_;
    const rigid::RigidModel* tree_ = nullptr;  // of the call that goes on,
    unsigned long long stamp_ = 0;             // and its edits then
    bool python_ = false;
    std::vector<double> frames_, spots_;  // 13 numbers each
    std::vector<PyObject*> objects_;  // slots of what is no number
    std::vector<PyObject*> held_;     // functions and constants of calls
};

void bind_plan(nb::module_& m);

}  // namespace sim
}  // namespace soacraft
