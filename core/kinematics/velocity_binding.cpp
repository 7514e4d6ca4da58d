// `_core.Velocity`: velocities of a whole robot that do tasks, made once from tasks and then asked at one state after the other.
#include <atomic>
#include <cmath>
#include <vector>

#include "call.hpp"
#include "fields.hpp"
#include "rigid/rigid_model.hpp"
#include "soacraft/kinematics/velocity_job.hpp"

namespace soacraft {
namespace kinematics {
namespace {

constexpr index WHOLE = 6, REAL = 47;  // numbers of a task in the arrays that describe it

// Rows that Python has made: an array of each, or null for none.
class Rows {
public:
    Rows(nb::handle given, const char* name, index nv) {
        if (given.is_none()) return;
        if (!PyTuple_CheckExact(given.ptr()) || PyTuple_GET_SIZE(given.ptr()) != 4) refuse("%s are four arrays: J, left, size, rate", name);
        const auto part = [&](int i) { return nb::handle(PyTuple_GET_ITEM(given.ptr(), i)); };
        J_.emplace_back(part(0), name, 2);
        for (int i = 1; i < 4; ++i) others_.emplace_back(part(i), name, 1);
        rows = {J_[0].size(0), J_[0].data(), others_[0].data(), others_[1].data(), others_[2].data()};
        bool fit = J_[0].size(1) == nv;
        for (const auto& x : others_) fit = fit && x.size() == rows.count;
        if (!fit) refuse("the arrays of %s do not fit each other", name);
        finite = rigid::finite(rows.J, rows.count * nv) && rigid::finite(rows.left, rows.count) && rigid::finite(rows.size, rows.count) && rigid::finite(rows.rate, rows.count);
        for (index i = 0; i < rows.count; ++i)
            if (!(rows.size[i] > 0.0)) refuse("sizes of %s must be positive", name);
    }
    GivenRows rows = {0, nullptr, nullptr, nullptr, nullptr};
    bool finite = true;

private:
    // One that stays where it is.
    template <class T>
    struct Few {
        std::vector<std::unique_ptr<T>> all;
        template <class... Args>
        void emplace_back(Args&&... args) { all.push_back(std::make_unique<T>(std::forward<Args>(args)...)); }
        T& operator[](std::size_t i) { return *all[i]; }
        struct Iterator {
            typename std::vector<std::unique_ptr<T>>::iterator at;
            T& operator*() const { return **at; }
            Iterator& operator++() { return ++at, *this; }
            bool operator!=(const Iterator& other) const { return at != other.at; }
        };
        Iterator begin() { return {all.begin()}; }
        Iterator end() { return {all.end()}; }
    };
    Few<Array<double>> J_, others_;
};

class Velocity {
public:
    Velocity(const rigid::RigidModel& model, nb::handle whole_, nb::handle real_, nb::handle postures_, nb::handle rates_, nb::handle place_, nb::handle lower_,
             nb::handle upper_, nb::handle fastest_, nb::handle unit_, double length, double mass, nb::handle tolerances)
        : model_(model) {
        const index nv = model.model.nv, nq = model.model.nq, count = model.model.count;
        const Array<index> whole(whole_, "tasks_whole", 2), place(place_, "place", 1);
        const Array<double> real(real_, "tasks_real", 2), postures(postures_, "postures", 2), rates(rates_, "rates", 2);
        const Array<double> lower(lower_, "lower", 1), upper(upper_, "upper", 1), fastest(fastest_, "fastest", 1), unit(unit_, "unit", 1);
        if (whole.size(1) != WHOLE || real.size(1) != REAL || real.size(0) != whole.size(0)) refuse("a task has %lld and %lld numbers", static_cast<long long>(WHOLE), static_cast<long long>(REAL));
        if (postures.size(1) != nq || rates.size(1) != nv || rates.size(0) != postures.size(0)) refuse("postures do not fit the model");
        for (const auto* x : {&lower, &upper, &fastest, &unit})
            if (x->size() != nv) refuse("limits and units must have %lld entries", static_cast<long long>(nv));
        if (place.size() != nv) refuse("place must have %lld entries", static_cast<long long>(nv));
        if (!(length > 0.0) || !std::isfinite(length) || !(mass >= 0.0)) refuse("the length of a model must be positive, its mass not negative");
        for (index i = 0; i < nv; ++i) {
            if (place.data()[i] < -1 || place.data()[i] >= nq) refuse("place has an entry %lld out of range", static_cast<long long>(place.data()[i]));
            if (!(unit.data()[i] > 0.0) || !(fastest.data()[i] >= 0.0) || !(lower.data()[i] <= upper.data()[i])) refuse("limits and units of dof %lld", static_cast<long long>(i));
        }
        places_.assign(place.data(), place.data() + nv);
        for (const Array<double>* x : {&lower, &upper, &fastest, &unit}) numbers_.insert(numbers_.end(), x->data(), x->data() + nv);
        postures_own_.assign(postures.data(), postures.data() + postures.size(0) * nq);
        rates_own_.assign(rates.data(), rates.data() + rates.size(0) * nv);
        if (!rigid::finite(postures_own_.data(), static_cast<index>(postures_own_.size())) || !rigid::finite(rates_own_.data(), static_cast<index>(rates_own_.size())))
            refuse("postures must be finite");
        for (index i = 0; i < postures.size(0); ++i)
            if (!rigid::unit_quaternions(model.quaternions, postures_own_.data() + i * nq)) refuse("a posture has a quaternion that is not unit");
        index number = 0;
        tasks_.reserve(at(whole.size(0)));
        for (index i = 0; i < whole.size(0); ++i) read(whole.data() + WHOLE * i, real.data() + REAL * i, count, postures.size(0), number);
        plan_.tasks = tasks_.data(), plan_.count = static_cast<index>(tasks_.size());
        plan_.levels = tasks_.empty() ? 0 : tasks_.back().level + 1;
        const double* x = numbers_.data();
        plan_.limits = {places_.data(), x, x + nv, x + 2 * nv};
        plan_.unit = x + 3 * nv, plan_.length = length, plan_.mass = mass;
        LevelTolerances& t = plan_.tolerances;
        t.sees = number_of(tolerances, "sees"), t.faint = number_of(tolerances, "faint"), t.closures_see = number_of(tolerances, "closures_see"), t.firm = number_of(tolerances, "firm"), t.little = number_of(tolerances, "little"), t.near = number_of(tolerances, "near");
        t.bends = number_of(tolerances, "bends"), t.probe = number_of(tolerances, "probe"), t.margin = number_of(tolerances, "margin"), t.slight = number_of(tolerances, "slight"), t.outweigh = number_of(tolerances, "outweigh"), t.calm = number_of(tolerances, "calm"), t.pushes = number_of(tolerances, "pushes"), t.hardly = number_of(tolerances, "hardly"), t.still = number_of(tolerances, "still"), t.across = number_of(tolerances, "across"), t.met = number_of(tolerances, "met"), t.slowly = number_of(tolerances, "slowly"), t.half = number_of(tolerances, "half"), t.costs = number_of(tolerances, "costs"), t.turn = number_of(tolerances, "turn"), t.turns = number_of(tolerances, "turns");
        t.rolls = number_of(tolerances, "rolls"), t.looks = number_of(tolerances, "looks"), t.nothing = number_of(tolerances, "nothing"), t.holds = number_of(tolerances, "holds"), t.slow = number_of(tolerances, "slow"), t.rows = number_of(tolerances, "rows");
        nv_ = nv, nq_ = nq;
    }

    // The goal of task i: axes and a place (12 numbers), or of a posture its q.
    void aim(index i, nb::handle goal_) {
        const Array<double> goal(goal_, "goal", 1);
        if (i < 0 || i >= plan_.count || tasks_[at(i)].kind == GIVEN) refuse("there is no task %lld with a goal", static_cast<long long>(i));
        Task& t = tasks_[at(i)];
        const index size = t.kind == POSTURE ? nq_ : 12;
        if (goal.size() != size || !rigid::finite(goal.data(), size)) refuse("the goal of task %lld has %lld finite numbers", static_cast<long long>(i), static_cast<long long>(size));
        if (t.kind == POSTURE) {
            if (!rigid::unit_quaternions(model_.quaternions, goal.data())) refuse("a posture has a quaternion that is not unit");
            std::memcpy(const_cast<double*>(t.q), goal.data(), static_cast<std::size_t>(size) * sizeof(double));
            return;
        }
        for (int k = 0; k < 9; ++k) t.goal_R[k] = goal.data()[k];
        for (int k = 0; k < 3; ++k) t.goal[k] = goal.data()[9 + k];
    }

    // to <- velocities (nv), what tasks miss (tasks), 1 where a bound holds a level back (levels, nv), what kept rows miss. False
    // where Python should look at it.
    bool step(nb::handle q_, double dt, nb::handle to_, bool limits, double damping, nb::handle v_, nb::handle acceleration_, nb::handle counts_, nb::handle given_,
              nb::handle kept_, nb::handle closures_) {
        const Array<double> q(q_, "q", 1), to(to_, "to", 1, true);
        const Optional v(v_, "v", nv_), acceleration(acceleration_, "acceleration", nv_);
        const Rows given(given_, "given rows", nv_), kept(kept_, "kept rows", nv_), closures(closures_, "closures", nv_);
        const index size = nv_ + plan_.count + plan_.levels * nv_ + kept.rows.count;
        if (q.size() != nq_ || to.size() != size) refuse("q and to must have %lld and %lld entries", static_cast<long long>(nq_), static_cast<long long>(size));
        if (!(dt > 0.0) || !std::isfinite(dt) || !(damping >= 0.0)) return false;
        if (!rigid::finite(q.data(), nq_) || !rigid::unit_quaternions(model_.quaternions, q.data()) || !given.finite || !kept.finite || !closures.finite) return false;
        std::vector<index> counts;
        read_counts(counts_, counts, given.rows.count);
        VelocityCall call = {};
        call.q = q.data(), call.v = v.data(), call.acceleration = acceleration.data(), call.dt = dt, call.limits = limits, call.damping = damping;
        call.given = given.rows, call.given_count = counts.data(), call.kept = kept.rows, call.closures = closures.rows;
        call.to = to.data(), call.missed = call.to + nv_, call.held = call.missed + plan_.count, call.missed_kept = call.held + plan_.levels * nv_;
        return run(call) && rigid::finite(to.data(), size);
    }

private:
    struct Optional {
        Optional(nb::handle x, const char* name, index n) {
            if (x.is_none()) return;
            given = std::make_unique<Array<double>>(x, name, 1);
            if (given->size() != n) refuse("%s must have %lld entries", name, static_cast<long long>(n));
        }
        const double* data() const { return given ? given->data() : nullptr; }
        std::unique_ptr<Array<double>> given;
    };
    static std::size_t at(index i) { return static_cast<std::size_t>(i); }
    static double number_of(nb::handle of, const char* name) {
        const double x = number(of, name);
        if (!(x > 0.0)) refuse("%s of a plan must be positive", name);
        return x;
    }

    void read(const index* w, const double* r, index elements, index postures, index& number) {
        Task t = {};
        t.kind = w[0], t.level = w[1], t.rows = w[2], t.picked = w[3], t.frame.element = w[4], t.to.element = w[5];
        if (t.kind < 0 || t.kind >= TASK_KINDS) refuse("there is no task of kind %lld", static_cast<long long>(t.kind));
        const index before = tasks_.empty() ? -1 : tasks_.back().level;
        if (t.level != before && t.level != before + 1) refuse("levels are numbered from 0 on, lower ones first");
        if (t.kind == STAND && t.rows != 3 && t.rows != 6) refuse("a task that stands has 3 or 6 rows");
        if (t.picked < 0 || t.picked > 7) refuse("a task picks directions by 3 bits");
        for (const index e : {t.frame.element, t.to.element})
            if (e < -1 || e >= elements) refuse("a task is on element %lld", static_cast<long long>(e));
        if (!rigid::finite(r, REAL)) refuse("numbers of a task must be finite");
        for (int k = 0; k < 9; ++k) t.frame.R[k] = r[k], t.to.R[k] = r[12 + k], t.goal_R[k] = r[24 + k];
        for (int k = 0; k < 3; ++k) t.frame.p[k] = r[9 + k], t.to.p[k] = r[21 + k], t.goal[k] = r[33 + k], t.axis[k] = r[36 + k];
        t.weight = r[39], t.gain = r[40];
        if (!(t.weight > 0.0) || !(t.gain >= 0.0)) refuse("a task needs a positive weight and a gain that is not negative");
        for (int k = 0; k < 6; ++k) t.rate[k] = r[41 + k];
        if (t.kind == POSTURE) {
            if (number >= postures) refuse("a posture is missing");
            t.q = postures_own_.data() + number * model_.model.nq, t.rates = rates_own_.data() + number * model_.model.nv, ++number;
        }
        given_ += t.kind == GIVEN;
        tasks_.push_back(t);
    }
    void read_counts(nb::handle counts_, std::vector<index>& counts, index rows) const {
        if (counts_.is_none()) {
            if (given_ != 0 || rows != 0) refuse("rows of %lld tasks are missing", static_cast<long long>(given_));
            return;
        }
        const Array<index> x(counts_, "counts", 1);
        index sum = 0;
        for (index i = 0; i < x.size(); ++i) {
            if (x.data()[i] < 0 || x.data()[i] > rows) refuse("counts of given rows");
            sum += x.data()[i];
        }
        if (x.size() != given_ || sum != rows) refuse("counts of given rows");
        counts.assign(x.data(), x.data() + x.size());
    }

    // What a step reads of the tasks, so that another thread may aim them elsewhere meanwhile, and its memory.
    struct Running {
        std::vector<Task> tasks;
        std::vector<double> postures;
        rigid::Workspace space;

        const Task* take(const std::vector<Task>& from, const std::vector<double>& of) {
            tasks = from, postures = of;
            for (Task& t : tasks)
                if (t.kind == POSTURE) t.q = postures.data() + (t.q - of.data());
            return tasks.data();
        }
    };
    // On the memory of this object; where another thread has it, on memory of its own.
    bool run(const VelocityCall& call) {
        const std::shared_ptr<const rigid::Tables> tables = model_.tables;
        const VelocityKernels& kernels = velocity_kernels();
        const bool mine = !busy_.test_and_set(std::memory_order_acquire);
        Running other;
        Running& running = mine ? running_ : other;
        VelocityPlan plan = plan_;
        plan.tasks = running.take(tasks_, postures_own_);
        void* memory = running.space.hold(kernels.room(tables->model, plan, call));
        bool fine = false;
        {
            nb::gil_scoped_release release;
            fine = kernels.step(tables->model, plan, call, memory);
        }
        if (mine) busy_.clear(std::memory_order_release);
        return fine;
    }

    const rigid::RigidModel& model_;
    VelocityPlan plan_ = {};
    std::vector<Task> tasks_;
    std::vector<index> places_;
    std::vector<double> numbers_, postures_own_, rates_own_;
    index nv_ = 0, nq_ = 0, given_ = 0;
    Running running_;
    std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
};

}  // namespace

void bind_velocity(nb::module_& m) {
    const auto array = [](const char* name) { return nb::arg(name).none(); };
    nb::class_<Velocity>(m, "Velocity", "Velocities of a whole robot that do tasks, level by level, within limits.")
        .def(nb::init<const rigid::RigidModel&, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, double, double, nb::handle>(),
             nb::keep_alive<1, 2>(), nb::arg("model"), array("tasks_whole"), array("tasks_real"), array("postures"), array("rates"), array("place"), array("lower"),
             array("upper"), array("fastest"), array("unit"), nb::arg("length"), nb::arg("mass"), array("tolerances"))
        .def("aim", &Velocity::aim, nb::arg("task"), array("goal"), "Another goal of a task.")
        .def("step", &Velocity::step, array("q"), nb::arg("dt"), array("to"), nb::arg("limits"), nb::arg("damping"), array("v"), array("acceleration"), array("counts"), array("given"),
             array("kept"), array("closures"), "Velocities at a state.");
}

}  // namespace kinematics
}  // namespace soacraft
