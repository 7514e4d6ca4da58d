// Velocities of a whole robot in a control loop, for C++: tasks are added once, then asked for at one state after the other.
//
//     soacraft::WholeBody body(robot);                                    // a Multibody
//     const index hand = body.placement(robot.frame("hand/tool"), 0);     // a task of level 0
//     body.posture(q0, 1);
//     body.aim(hand, R, p);
//     if (!body.step(q, 0.001, v)) ...
//
// It is what `rb.velocity` is in Python (docs/robots/whole_body.md). After the first step nothing is allocated, and every loop is
// bounded. A WholeBody belongs to one thread.
#pragma once

#include <limits>
#include <vector>

#include "kinematics/velocity.hpp"
#include "multibody.hpp"

SOACRAFT_BEGIN

class WholeBody {
public:
    // `length`: what metres are measured by next to radians; 0: the longest chain of the robot.
    explicit WholeBody(const Multibody& robot, double length = 0.0) : robot_(robot), model_(robot_.job(false).model) {
        const double far = std::numeric_limits<double>::infinity();
        const auto n = static_cast<std::size_t>(nv());
        lower_.assign(n, -far), upper_.assign(n, far), fastest_.assign(n, far), place_.assign(n, -1), unit_.assign(n, 1.0);
        plan_.mass = model_->fixed[9];
        std::vector<double> reach(static_cast<std::size_t>(model_->count), 0.0);
        for (index k = 0; k < model_->count; ++k) {
            const rigid::Element& e = model_->elements[k];
            plan_.mass += e.m;
            if (e.kind <= rigid::HELICAL) place_[at(e.v)] = e.q;
            if (e.parent >= 0) reach[at(k)] = reach[at(e.parent)] + std::sqrt(e.p[0] * e.p[0] + e.p[1] * e.p[1] + e.p[2] * e.p[2]);
            if (length <= 0.0 && reach[at(k)] > plan_.length) plan_.length = reach[at(k)];
        }
        if (length > 0.0) plan_.length = length;
        if (!(plan_.length > 0.0)) plan_.length = 1.0;
        for (index k = 0; k < model_->count; ++k) {
            const rigid::Element& e = model_->elements[k];
            for (index i = 0; i < rigid::dofs(e.kind); ++i)
                if (e.kind == rigid::PRISMATIC || (e.kind == rigid::FREE && i >= 3)) unit_[at(e.v + i)] = 1.0 / plan_.length;
        }
    }
    WholeBody(const WholeBody&) = delete;
    WholeBody& operator=(const WholeBody&) = delete;

    index nv() const { return model_->nv; }

    // By dof, infinite where there is none; a position limit counts where the dof is a coordinate.
    void set_limits(const double* lower, const double* upper, const double* fastest) {
        for (index i = 0; i < nv(); ++i) {
            if (!(lower[i] <= upper[i]) || !(fastest[i] >= 0.0)) throw std::invalid_argument("a limit of a dof is not in order");
            lower_[at(i)] = lower[i], upper_[at(i)] = upper[i], fastest_[at(i)] = fastest[i];
        }
    }

    // Tasks, lower levels first; the number of each. Goals are where frames are until they are aimed elsewhere.
    index placement(index frame, index level, double weight = 1.0, double gain = 1.0) { return add(kinematics::PLACEMENT, frame, level, weight, gain); }
    index position(index frame, index level, double weight = 1.0, double gain = 1.0) { return add(kinematics::AT_POINT, frame, level, weight, gain); }
    index center_of_mass(index level, double weight = 1.0, double gain = 1.0) {
        const index i = add(kinematics::CENTER, -1, level, weight, gain);
        tasks_[at(i)].picked = 7;
        return i;
    }
    index stand(index frame, index level, double weight = 1.0) {
        const index i = add(kinematics::STAND, frame, level, weight, 1.0);
        tasks_[at(i)].rows = 6;
        return i;
    }
    index posture(const double* q, index level, double weight = 1.0, double gain = 1.0) {
        const index i = add(kinematics::POSTURE, -1, level, weight, gain);
        postures_.push_back({i, std::vector<double>(q, q + model_->nq), std::vector<double>(at(nv()), 0.0)});
        return i;
    }
    // Axes (row-major) and place of a goal, relative to the inertial frame; R may be null for a point.
    void aim(index task, const double* R, const double* p) {
        kinematics::Task& t = tasks_.at(at(task));
        for (int k = 0; R && k < 9; ++k) t.goal_R[k] = R[k];
        for (int k = 0; k < 3; ++k) t.goal[k] = p[k];
    }

    // v (nv) <- velocities for the next dt seconds; `before` and `acceleration` (nv) may be null. False where q is not finite, or
    // has a quaternion that is not unit, or a posture none to compare with.
    [[nodiscard]] bool step(const double* q, double dt, double* v, const double* before = nullptr, const double* acceleration = nullptr) {
        if (!(dt > 0.0) || !rigid::finite(q, model_->nq) || !robot_.unit(q)) return false;
        begin();
        call_.q = q, call_.v = before, call_.acceleration = acceleration, call_.dt = dt, call_.to = v;
        void* memory = space_.hold(rigid::SOACRAFT_TARGET::velocity_room(*model_, plan_, call_));
        return rigid::SOACRAFT_TARGET::velocity_step(*model_, plan_, call_, memory) && rigid::finite(v, nv());
    }
    // |J v - wanted| of a task in the last step, in SI units.
    double missed(index task) const { return missed_.at(at(task)); }

private:
    struct Posture {
        index task;
        std::vector<double> q, rates;
    };
    Multibody robot_;
    const rigid::Model* model_;
    kinematics::VelocityPlan plan_ = {};
    kinematics::VelocityCall call_ = {};
    std::vector<kinematics::Task> tasks_;
    std::vector<Posture> postures_;
    std::vector<double> lower_, upper_, fastest_, unit_, missed_, held_;
    std::vector<index> place_;
    rigid::Workspace space_;

    static std::size_t at(index i) { return static_cast<std::size_t>(i); }

    index add(index kind, index frame, index level, double weight, double gain) {
        const index before = tasks_.empty() ? -1 : tasks_.back().level;
        if (level != before && level != before + 1) throw std::invalid_argument("tasks are added lower levels first, without a gap");
        if (!(weight > 0.0) || !(gain >= 0.0)) throw std::invalid_argument("a task needs a positive weight and a gain that is not negative");
        kinematics::Task t = {};
        t.kind = kind, t.level = level, t.weight = weight, t.gain = gain;
        t.frame.element = t.to.element = -1;
        for (int k = 0; k < 9; k += 4) t.frame.R[k] = t.to.R[k] = t.goal_R[k] = 1.0;
        if (frame >= 0) t.frame = robot_.place(frame);
        tasks_.push_back(t);
        return static_cast<index>(tasks_.size()) - 1;
    }
    void begin() {
        for (Posture& x : postures_) tasks_[at(x.task)].q = x.q.data(), tasks_[at(x.task)].rates = x.rates.data();
        plan_.tasks = tasks_.data(), plan_.count = static_cast<index>(tasks_.size());
        plan_.levels = tasks_.empty() ? 0 : tasks_.back().level + 1;
        plan_.limits = {place_.data(), lower_.data(), upper_.data(), fastest_.data()};
        plan_.unit = unit_.data();
        missed_.resize(tasks_.size()), held_.resize(at(plan_.levels * nv()));
        call_.limits = true, call_.damping = 1.0, call_.missed = missed_.data(), call_.held = held_.data();
    }
};

SOACRAFT_END
