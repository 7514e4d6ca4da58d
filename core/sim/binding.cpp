// `_core.advance`: many steps of a motion in one call.
#include "advance.hpp"
#include "sim/contact/contact_rollout.hpp"
#include "sim/contact/contact_tables.hpp"
#include "sim/calls/python_visits.hpp"
#include "setting_reader.hpp"
#include "signals.hpp"

namespace soacraft {
namespace sim {

void bind_lanes(nb::module_& m);

namespace {

Course read_course(nb::handle of, const Tableau& tableau) {
    Course c = {};
    c.now = integer(of, "now"), c.goal = integer(of, "goal"), c.step = integer(of, "step"), c.origin = integer(of, "origin");
    c.rtol = number(of, "rtol"), c.length = number(of, "length");
    c.unstable = integer(of, "unstable"), c.calm = integer(of, "calm"), c.longest = number(of, "longest");
    constexpr index LAST = index(1) << 62;
    const auto off = [&](index x) { return x <= -LAST || x >= LAST; };
    if (off(c.now) || off(c.goal) || off(c.origin) || c.origin > c.now) refuse("a course goes from its origin on");
    if (tableau.adaptive() ? !(c.rtol > 0.0 && c.length > 0.0 && c.longest > 0.0) : c.step < 1 || off(c.step)) refuse("a course needs a step");
    return c;
}

// A plan that is walked through, for the length of a call.
class Walking {
public:
    explicit Walking(PlanObject* plan) : plan_(plan) {
        if (plan_) plan_->begin();
    }
    ~Walking() {
        if (plan_) plan_->end();
    }

private:
    PlanObject* plan_;
};

// Error of a call into Python: taken from the interpreter, to be raised, or not, once the steps are kept.
nb::object raised() {
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (value && trace) PyException_SetTraceback(value, trace);
    Py_XDECREF(type), Py_XDECREF(trace);
    return nb::steal<nb::object>(value);
}

// Wait for the end of a step; false where that raised.
bool paused(nb::handle pause, index ns) {
    PyObject* done = PyObject_CallFunction(pause.ptr(), "L", static_cast<long long>(ns));
    Py_XDECREF(done);
    return done != nullptr;
}

// Steps from x, where the rates are w, as long as compiled code is sure of them. Returned is the course as it is then: steps
// taken, length of the next, and the counts of stability; the log of contacts, (steps, 8) and (points, 13), or None; and what an
// equation in Python or the handler of a signal raised, or None.
nb::tuple advance(rigid::RigidModel& tree, nb::handle setting, nb::handle course, nb::handle x_, nb::handle w_, nb::handle track) {
    Given given(setting);
    const Tableau& tableau = given.tableau;
    const Method method = given.method;
    Course way = read_course(course, tableau);
    const auto nothing = [&] { return nb::make_tuple(index(0), way.length, way.unstable, way.calm, nb::none(), nb::none()); };
    if (!given.read(tree, setting)) return nothing();
    Setting& set = given.set;
    Chain& chain = given.chain;
    Held& held = given.held;

    const nb::object stops_given = field(course, "stops"), ends_given = field(track, "ends");
    const Array<index> stops(stops_given, "stops", 1), ends(ends_given, "ends", 1, true);
    way.stops = stops.data(), way.stop_count = stops.size(), way.most = ends.size();
    const nb::object breaks_given = field(course, "breaks");
    const Array<double> breaks(breaks_given, "breaks", 1);
    way.breaks = breaks.data(), way.break_count = breaks.size();
    const auto held_tables = tree.pin(set.job);
    chain.solver.tree = chain.mover.tree = set.job.model;
    const nb::object held_given = field(setting, "held");
    if (!held_given.is_none()) {  // a row for each step, or one for all
        const index rows = length_of(setting, "held"), nv = tree.model.nv;
        set.held = held.table(setting, "held", rows == 1 ? 1 : way.most, nv), set.held_step = rows == 1 ? 0 : nv;
    }
    Mechanism m(set);
    const nb::object visits_given = field(setting, "visits");
    std::unique_ptr<PythonVisits> visits;
    if (!visits_given.is_none()) visits = std::make_unique<PythonVisits>(visits_given, m.nq, m.nv);
    const index most = way.most, rows = Stepper::rows(method, tableau);
    const Array<double> x(x_, "x", 1), w(w_, "w", 1);
    Held::require("x", x.size(), m.points), Held::require("w", w.size(), m.size);
    const Array<index> entries(field(track, "entries"), "entries", 1);
    for (index i = 0; i < entries.size(); ++i)
        if (entries.data()[i] < 0 || entries.data()[i] >= m.names * m.nv) refuse("an entry of forces is out of range");
    const Track to{entries.data(), entries.size(), ends.data(), held.output(track, "X", most, m.points), held.output(track, "W", most, m.size),
                   held.output(track, "F", most, rows * m.size), held.output(track, "forces", most, entries.size()),
                   held.output(track, "errors", most, 1), held.output(track, "openings", most, 1),
                   set.plan ? held.output(track, "before", most, m.size) : nullptr,
                   set.plan ? held.output(track, "signals", most, set.plan->width) : nullptr,
                   set.plan ? held.output(track, "begun", 1, m.size) : nullptr,
                   visits && !touches(method) ? held.output(track, "starts", most, m.size) : nullptr,
                   visits && visits->energies ? held.output(track, "energies", most, 3) : nullptr};
    if (!rigid::finite(x.data(), m.points) || !rigid::finite(w.data(), m.size) ||
        !rigid::unit_quaternions(tree.quaternions, x.data()))
        return nothing();
    std::unique_ptr<Array<double>> theta;
    if (set.chain) {
        theta = std::make_unique<Array<double>>(field(given.chain_given, "theta"), "theta", 1, true);
        Held::require("theta", theta->size(), chain.solver.coordinates);
        m.theta.assign(theta->data(), theta->data() + theta->size());
    }
    index done = 0;
    Walk walk(m, method, tableau, way, to);
    const Walking walking(given.plan);
    const nb::object pause = field(setting, "pause");
    if (!pause.is_none() && !given.plan) refuse("only a run with a plan pauses");
    if (!pause.is_none()) walk.pause = [&](index ns) { return paused(pause, ns); };
    constexpr double PATIENCE = 0.2;  // functions of the user may be slow, steps may have many contacts, and a pause waits
    const bool is_slow = visits || set.functions || given.motions || set.contact || walk.pause;
    walk.visits = visits.get(), walk.patience = is_slow ? PATIENCE : 0.0;
    const auto walked = [&] { until_a_signal([&] { done = walk.run(x.data(), w.data()); }); };  // it ends with the steps it has
    if (given.calls_python() || walk.pause || visits) {
        walked();
    } else {
        const nb::gil_scoped_release free;
        walked();
    }
    nb::object wrong = nb::none(), log = nb::none();
    if (PyErr_Occurred()) wrong = raised();
    if (const ContactLog* told = walk.contacts())
        log = as_tables(*told);
    if (theta) std::memcpy(theta->data(), m.theta.data(), m.theta.size() * sizeof(double));
    return nb::make_tuple(done, way.length, way.unstable, way.calm, log, wrong);
}

// Steps of `step` nanoseconds with contact from each state of a batch, under forces that are held in each: `force` (count or 1,
// steps or 1, nv); `Q` and `V` (count, steps + 1, nq or nv). None when all went well; else the state and the step at fault, or
// (-1, -1) where compiled code does not know all of it.
nb::object roll_contacts(rigid::RigidModel& tree, nb::handle setting, nb::handle q_, nb::handle v_, nb::handle force_, index step,
                         nb::handle Q_, nb::handle V_, index threads) {
    const Array<double> q(q_, "q", 2), v(v_, "v", 2), force(force_, "force", 3), Q(Q_, "Q", 3, true), V(V_, "V", 3, true);
    const index count = q.size(0), steps = Q.size(1) - 1, nq = tree.model.nq, nv = tree.model.nv;
    const bool fits = q.size(1) == nq && v.size(0) == count && v.size(1) == nv && Q.size(0) == count && Q.size(2) == nq &&
                      V.size(0) == count && V.size(1) == steps + 1 && V.size(2) == nv && (force.size(0) == 1 || force.size(0) == count) &&
                      (force.size(1) == 1 || force.size(1) == steps) && force.size(2) == nv && steps >= 0 && step > 0;
    if (!fits) refuse("the arrays of a rollout do not fit each other");
    Given given(setting);
    if (!touches(given.method)) refuse("rollouts with contact are by a method that takes contacts");
    if (!field(setting, "functions").is_none() || !field(setting, "prescribed").is_none())
        refuse("rollouts call no functions and prescribe no motions");
    if (!given.read(tree, setting)) return nb::make_tuple(index(-1), index(-1));
    const auto held_tables = tree.pin(given.set.job);
    const ContactRollout task{q.data(), v.data(), force.data(), force.size(0) == 1 ? 0 : force.size(1) * nv,
                              force.size(1) == 1 ? 0 : nv, count, steps, step, Q.data(), V.data()};
    ContactRollout::End end;
    without_lock([&] { end = task.run(given.set, given.method, given.tableau, threads); });
    if (end.state < 0) return nb::none();
    return nb::make_tuple(end.state, end.step);
}

}  // namespace

void bind(nb::module_& m) {
    bind_plan(m);
    bind_lanes(m);
    const auto any = [](const char* name) { return nb::arg(name).none(); };
    m.def("advance", &advance, nb::arg("tree"), any("setting"), any("course"), any("x"), any("w"), any("track"),
          "Many steps of a motion, from x with rates w: how many, the length of the next, the counts of stability, contacts.");
    m.def("roll_contacts", &roll_contacts, nb::arg("tree"), any("setting"), any("q"), any("v"), any("force"), nb::arg("step"), any("Q"),
          any("V"), nb::arg("threads"), "Many steps with contact from each state of a batch; where one cannot go on, it and the step.");
}

}  // namespace sim
}  // namespace soacraft
