// `_core.Lanes`: states that go on step by step under the numbers of their controls.
#include "sim/contact/contact_tables.hpp"
#include "lanes.hpp"
#include "setting_reader.hpp"
#include "signals.hpp"

namespace soacraft {
namespace sim {
namespace {

// Setting of the steps, read once, with the tables of the tree at that time.
struct Reading {
    Given given;
    std::shared_ptr<const rigid::Tables> tables;
    bool ready;

    Reading(rigid::RigidModel& tree, nb::handle setting) : given(setting), ready(given.read(tree, setting)) {
        if (!ready) return;
        if (given.set.plan) refuse("lanes carry no components along");
        tables = tree.pin(given.set.job);
        given.chain.solver.tree = given.chain.mover.tree = given.set.job.model;
    }
};

// The wrenches that push a lane.
struct LanePushes {
    rigid::Wrenches read;
    Pushes pushes;
};

// Impulses of contacts in the last step of each lane.
class LaneImpulses {
public:
    std::vector<std::vector<PointImpulse>> of_lane;

    explicit LaneImpulses(index count) : of_lane(static_cast<std::size_t>(count < 0 ? 0 : count)) {}
    nb::object get(index lane) const { return as_table(of_lane[at(lane)]); }
    void set(index lane, nb::handle table) { of_lane[at(lane)] = read_impulses(table, "impulses"); }
    void clear(index lane) { of_lane[at(lane)].clear(); }
    void take(const LaneImpulses& other) {
        if (other.of_lane.size() != of_lane.size()) refuse("there are %lld lanes", shown(static_cast<index>(of_lane.size())));
        of_lane = other.of_lane;
    }

private:
    std::size_t at(index lane) const {
        if (lane < 0 || lane >= static_cast<index>(of_lane.size())) refuse("there is no lane %lld", shown(lane));
        return static_cast<std::size_t>(lane);
    }
};

// All lanes (`LaneArrays` of sim/compiled.py); `x`, `theta`, `u` and `now` stay those of Python.
class Lanes {
public:
    Lanes(rigid::RigidModel& tree, nb::object setting, nb::object arrays)
        : tree_(tree), setting_(setting), arrays_(arrays), reading_(tree, setting), x_(field(arrays, "x"), "x", 2, true),
          theta_(field(arrays, "theta"), "theta", 2, true), u_(field(arrays, "u"), "u", 2), now_(field(arrays, "now"), "now", 1, true),
          stops_(field(arrays, "stops"), "stops", 1), impulses_(nb::cast<LaneImpulses*>(field(arrays, "impulses"))) {
        const index threads = integer(arrays, "threads"), step = integer(arrays, "step");
        if (reading_.given.tableau.adaptive() || step < 1 || threads < 1) refuse("lanes take fixed steps, in a thread or more");
        if (!reading_.ready) return;
        const Setting& set = reading_.given.set;
        const auto loads = static_cast<index>(set.loads.size());
        team_.method = reading_.given.method, team_.tableau = reading_.given.tableau;
        team_.driven = read_numbers(arrays, "driven", -1, 0, loads);
        for (const index i : team_.driven)
            if (set.loads[static_cast<std::size_t>(i)].knots != 1) refuse("a control that is driven has one number");
        const index pushed = integer(arrays, "pushed");
        if (pushed < -1 || pushed >= loads) refuse("there is no load %lld", shown(pushed));
        stamp_ = tree.stamp;
        const index count = x_.size(0), inputs = static_cast<index>(team_.driven.size());
        if (u_.size(0) != count || u_.size(1) != inputs || now_.size() != count || theta_.size(0) != count || count < 1)
            refuse("the arrays of lanes do not fit each other");
        if (static_cast<index>(impulses_->of_lane.size()) != count) refuse("the impulses of lanes are those of each");
        pushes_.resize(static_cast<std::size_t>(count)), pushing_.resize(static_cast<std::size_t>(count));
        own_.resize(static_cast<std::size_t>(count)), team_.kept.resize(static_cast<std::size_t>(count));
        team_.settings.resize(static_cast<std::size_t>(count));
        all_ = {x_.data(), theta_.data(), u_.data(),     now_.data(),    count, inputs, theta_.size(1), pushing_.data(),
                pushed,    stops_.data(), stops_.size(), step,           integer(arrays, "origin"), impulses_->of_lane.data()};
        for (index i = 0; i < std::min(reading_.given.calls_python() ? index(1) : threads, count); ++i)  // functions need Python's lock
            team_.threads.push_back(made(set, true));
    }

    // True if compiled code knows all of it, in its present form.
    bool ready() const { return reading_.ready && !tree_.retired && !tree_.outdated && tree_.stamp == stamp_; }

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
        if (!reading_.given.calls_python()) {
            without_lock(walked);
            return fault;
        }
        if (!until_a_signal(walked) || PyErr_Occurred()) throw nb::python_error();
        return fault;
    }

    // Let a lane have another setting, on a tree that may change afterwards: False where compiled code does not know all of it.
    bool set_own(index lane, rigid::RigidModel& tree, nb::object setting, bool lean) {
        const std::size_t i = at(lane);
        auto own = std::make_unique<Own>(Own{setting, std::make_unique<Reading>(tree, setting)});
        if (!own->reading->ready) return false;
        const Given &given = own->reading->given, &base = reading_.given;
        if (given.method != base.method || given.set.loads.size() != base.set.loads.size() ||
            given.set.job.model->nq != base.set.job.model->nq || given.set.job.model->nv != base.set.job.model->nv)
            refuse("the setting of a lane has another method, other loads or another tree");
        auto lane_made = made(given.set, lean);
        team_.kept[i] = lean && all_.count > 1 ? nullptr : std::move(lane_made);
        team_.settings[i] = &given.set, own_[i] = std::move(own);
        return true;
    }

    // Let a lane have what the others have.
    void share(index lane) {
        const std::size_t i = at(lane);
        team_.kept[i] = nullptr, team_.settings[i] = nullptr, own_[i] = nullptr;
    }

    // Let wrenches, {node: wrench}, push a lane from now on, in place of those before; nodes are those of a tree. False where only
    // Python can read them.
    bool push(index lane, const rigid::RigidModel& tree, nb::handle frames, nb::handle forces) {
        const std::size_t i = at(lane);
        if (all_.pushed < 0 || !PyDict_CheckExact(forces.ptr()) || !PyDict_Check(frames.ptr())) refuse("lanes are pushed by {node: wrench}");
        auto to = std::make_unique<LanePushes>();
        rigid::Job job = tree.job(true);
        if (!to->read.read(tree, frames.ptr(), forces.ptr(), nullptr, -1, job)) return false;
        to->pushes.wrenches.assign(job.wrenches, job.wrenches + job.wrench_count), to->pushes.turned = job.turned;
        pushing_[i] = &to->pushes, pushes_[i] = std::move(to);
        return true;
    }

    // Last step of a lane that is the only one, or is recorded: its contacts, (steps, 8) and (points, 13), and their mean
    // generalized force with those of rows of loads behind it, the mean rates of velocities, and its length.
    nb::tuple last(index which) {
        const std::size_t i = at(which);
        if (all_.count > 1 && !team_.kept[i]) refuse("lane %lld is not recorded", shown(which));
        const Lane& lane = team_.kept[i] ? *team_.kept[i] : *team_.threads.front();
        const ContactLog none, *log = lane.contacts();
        if (!log) log = &none;
        const auto row = [](const std::vector<double>& x) {
            return x.empty() ? nb::object(nb::none()) : as_table(x, static_cast<index>(x.size()));
        };
        std::vector<double> rates(static_cast<std::size_t>(reading_.given.set.job.model->nv));
        lane.mean_rate(all_.x + which * lane.points(), rates.data());
        return nb::make_tuple(as_tables(*log), row(lane.impulse_forces()), row(rates), lane.length());
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
    struct Own {
        nb::object setting;
        std::unique_ptr<Reading> reading;
    };

    std::unique_ptr<Lane> made(const Setting& set, bool lean) const {
        auto lane = team_.made(set, lean);
        Held::require("x", x_.size(1), lane->points()), Held::require("theta", theta_.size(1), lane->turns());
        return lane;
    }
    // The place of a lane, between steps.
    std::size_t at(index lane) const {
        if (!reading_.ready) refuse("there are no lanes");
        if (busy_) refuse("a step goes on");
        if (lane < 0 || lane >= all_.count) refuse("there is no lane %lld", shown(lane));
        return static_cast<std::size_t>(lane);
    }

    rigid::RigidModel& tree_;
    nb::object setting_, arrays_;
    Reading reading_;
    Array<double> x_, theta_, u_;
    Array<index> now_, stops_;
    LaneImpulses* impulses_;  // of the arrays
    std::vector<std::unique_ptr<LanePushes>> pushes_;
    std::vector<const Pushes*> pushing_;
    std::vector<std::unique_ptr<Own>> own_;
    unsigned long long stamp_ = 0;
    bool busy_ = false;
    LaneStates all_ = {};
    LaneTeam team_;
};

}  // namespace

void bind_lanes(nb::module_& m) {
    nb::class_<LaneImpulses>(m, "LaneImpulses", "Impulses of contacts in the last step of each lane, (points, 11).")
        .def(nb::init<index>(), nb::arg("count"))
        .def("get", &LaneImpulses::get, nb::arg("lane"), "Those of a lane: shapes, place, impulse and moment of each point.")
        .def("set", &LaneImpulses::set, nb::arg("lane"), nb::arg("table"), "Let a lane have these.")
        .def("clear", &LaneImpulses::clear, nb::arg("lane"), "Let a lane have none.")
        .def("take", &LaneImpulses::take, nb::arg("other"), "Let all lanes have those of other ones.");
    nb::class_<Lanes>(m, "Lanes", "States that go on step by step under the numbers of their controls.")
        .def(nb::init<rigid::RigidModel&, nb::object, nb::object>(), nb::arg("tree"), nb::arg("setting"), nb::arg("arrays"),
             nb::keep_alive<1, 2>())
        .def_prop_ro("ready", &Lanes::ready, "Whether compiled code knows all of it, as it is now.")
        .def("advance", &Lanes::advance, nb::arg("goal"),
             "All on to a nanosecond: -1, or the first lane that Python should go on with; -2 where the model is another one, -3 where "
             "controls are not finite, -4 where another call goes on.")
        .def("set_own", &Lanes::set_own, nb::arg("lane"), nb::arg("tree"), nb::arg("setting"), nb::arg("lean"),
             "Let a lane have a separate setting; False where compiled code does not know all of it.")
        .def("share", &Lanes::share, nb::arg("lane"), "Let a lane have what the others have.")
        .def("push", &Lanes::push, nb::arg("lane"), nb::arg("tree"), nb::arg("frames"), nb::arg("forces"),
             "Let wrenches push a lane from now on; False where only Python can read them.")
        .def("last", &Lanes::last, nb::arg("lane"),
             "Contacts, their mean force, mean rates of velocities and length of the last step of a lane that is alone or recorded.");
}

}  // namespace sim
}  // namespace soacraft
