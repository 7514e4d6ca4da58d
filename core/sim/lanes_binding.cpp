// `_core.Lanes`: states that go on step by step under the numbers of their controls.
#include "contact_tables.hpp"
#include "lanes.hpp"
#include "setting_reader.hpp"
#include "signals.hpp"

namespace soacraft {
namespace sim {
namespace {

// What steps are taken with, read once; `x`, `u` and `now` stay those of Python.
class Lanes {
public:
    Lanes(rigid::RigidModel& tree, nb::object setting, nb::object x, nb::object u, nb::object now, nb::object driven, nb::object stops,
          index step, index origin, index threads)
        : tree_(tree), setting_(setting), given_(setting), x_(x, "x", 2, true), u_(u, "u", 2), now_(now, "now", 1, true),
          stops_(stops, "stops", 1) {
        if (given_.tableau.adaptive() || step < 1 || threads < 1) refuse("lanes take fixed steps, in a thread or more");
        ready_ = given_.read(tree, setting);
        if (!ready_) return;
        const Setting& set = given_.set;
        if (set.chain || set.plan) refuse("lanes are of trees alone");
        const Array<index> loads(driven, "driven", 1);
        driven_.assign(loads.data(), loads.data() + loads.size());
        for (const index i : driven_)
            if (i < 0 || i >= static_cast<index>(set.loads.size()) || set.loads[static_cast<std::size_t>(i)].knots != 1)
                refuse("a control that is driven has one number");
        stamp_ = tree.stamp, tables_ = tree.pin(given_.set.job);
        all_ = {x_.data(), u_.data(), now_.data(), x_.size(0), loads.size(), stops_.data(), stops_.size(), step, origin};
        if (u_.size(0) != all_.count || u_.size(1) != all_.inputs || now_.size() != all_.count || all_.count < 1)
            refuse("the arrays of lanes do not fit each other");
        if (set.functions) threads = 1;  // with Python's lock
        for (index i = 0; i < std::min(threads, all_.count); ++i)
            team_.push_back(std::make_unique<Lane>(set, given_.method, given_.tableau, driven_));
        Held::require("x", x_.size(1), team_.front()->points());
    }

    // Whether compiled code knows all of it, as it is now.
    bool ready() const { return ready_ && !tree_.retired && !tree_.outdated && tree_.stamp == stamp_; }

    // All on to a nanosecond: `DONE`, the first lane that Python should go on with, or why there was no step.
    index advance(index goal) {
        if (busy_) return BUSY;
        if (!ready()) return CHANGED;
        if (!rigid::finite(all_.u, all_.count * all_.inputs)) return NOT_FINITE;
        for (index i = 0; i < all_.count; ++i)
            if (all_.now[i] < all_.origin) refuse("a lane is before the beginning of its steps");
        const Busy now(busy_);
        index fault = DONE;
        const auto walked = [&] { fault = advance_lanes(team_, all_, goal); };
        if (!given_.set.functions) {
            without_lock(walked);
            return fault;
        }
        if (!until_a_signal(walked) || PyErr_Occurred()) throw nb::python_error();
        return fault;
    }

    // Of the last step of the only lane: its contacts, (steps, 8) and (points, 13), its mean rates of velocities, and its length.
    nb::tuple last() const {
        if (!ready_) refuse("there are no lanes");
        if (busy_) refuse("a step goes on");
        const Lane& lane = *team_.front();
        const ContactLog none, *log = lane.contacts();
        if (!log) log = &none;
        std::vector<double> rates(static_cast<std::size_t>(given_.set.job.model->nv));
        lane.mean_rate(all_.x, rates.data());
        const nb::object of_velocities = rates.empty() ? nb::object(nb::none()) : as_table(rates, static_cast<index>(rates.size()));
        return nb::make_tuple(as_tables(*log), of_velocities, lane.length());
    }

private:
    enum Answer : index { DONE = -1, CHANGED = -2, NOT_FINITE = -3, BUSY = -4 };
    // One call at a time: Python's lock is free meanwhile.
    class Busy {
    public:
        explicit Busy(bool& flag) : flag_(flag) { flag_ = true; }
        ~Busy() { flag_ = false; }

    private:
        bool& flag_;
    };

    rigid::RigidModel& tree_;
    nb::object setting_;
    Given given_;
    Array<double> x_, u_;
    Array<index> now_, stops_;
    std::vector<index> driven_;
    std::shared_ptr<const rigid::Tables> tables_;
    unsigned long long stamp_ = 0;
    bool ready_ = false, busy_ = false;
    LaneStates all_ = {};
    std::vector<std::unique_ptr<Lane>> team_;
};

}  // namespace

void bind_lanes(nb::module_& m) {
    nb::class_<Lanes>(m, "Lanes", "States that go on step by step under the numbers of their controls.")
        .def(nb::init<rigid::RigidModel&, nb::object, nb::object, nb::object, nb::object, nb::object, nb::object, index, index, index>(),
             nb::arg("tree"), nb::arg("setting"), nb::arg("x"), nb::arg("u"), nb::arg("now"), nb::arg("driven"), nb::arg("stops"),
             nb::arg("step"), nb::arg("origin"), nb::arg("threads"), nb::keep_alive<1, 2>())
        .def_prop_ro("ready", &Lanes::ready, "Whether compiled code knows all of it, as it is now.")
        .def("advance", &Lanes::advance, nb::arg("goal"),
             "All on to a nanosecond: -1, or the first lane that Python should go on with; -2 where the model is another one, -3 where "
             "controls are not finite, -4 where another call goes on.")
        .def("last", &Lanes::last, "Contacts, mean rates of velocities and length of the last step of the only lane.");
}

}  // namespace sim
}  // namespace soacraft
