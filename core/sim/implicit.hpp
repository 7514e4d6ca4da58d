// Springs, dampers and servos of single dofs, taken implicitly in steps with contact (sim/implicit.py):
//
//     (M + A) vdot = f + f_s(q0 + h v0, v0),     A = h B + h^2 K
//
// with B and K how the forces f_s of single dofs vary. A is added where articulated bodies have armature.
#pragma once

#include <limits>
#include <vector>

#include "load.hpp"
#include "soacraft/rigid/passive.hpp"

namespace soacraft {
namespace sim {

class Implicit {
public:
    // Forces of single dofs: those of loads, and of springs and dampers, whose row of forces is `springs`. `locked`: dofs that no
    // impulse moves.
    void begin(const std::vector<Load>& loads, const rigid::Passive* passive, index springs, const rigid::Model& model,
               const std::vector<index>& locked) {
        passive_ = passive, loads_ = loads.data();
        for (std::size_t i = 0; i < loads.size(); ++i) {
            const Load& x = loads[i];
            if (x.row_last - x.row_first != 1 || (x.bias[1] == 0.0 && x.bias[2] == 0.0)) continue;
            add(static_cast<index>(i), SERVO, static_cast<index>(i), 0, x.row_first);
        }
        if (passive) {
            for (index i = 0; i < passive->springs_count; ++i) add(springs, SPRING, i, 0, passive->springs[i].v);
            for (index i = 0; i < passive->balls_count; ++i)
                for (index k = 0; k < (passive->balls[i].free ? 6 : 3); ++k) add(springs, BALL, i, k, passive->balls[i].v + k);
            for (index i = 0; i < passive->tendons_count; ++i) {
                const rigid::Tendon& x = passive->tendons[i];
                if (x.last - x.first == 1) add(springs, TENDON, i, 0, passive->strands[x.first].v);
            }
        }
        nv_ = model.nv, model_ = model;
        elements_.assign(model.elements, model.elements + model.count);
        own_.assign(model.armature, model.armature + nv_), armature_ = own_, sum_.resize(own_.size());
        model_.elements = elements_.data(), model_.armature = armature_.data();
        locked_ = locked, pressed_ = model_;
        if (locked_.empty()) return;
        stiff_elements_ = elements_, stiff_ = armature_;
        pressed_.elements = stiff_elements_.data(), pressed_.armature = stiff_.data();
        arm();
    }

    bool any() const { return !terms_.empty(); }
    bool acts() const { return acts_; }
    // The largest A (Mcal^-1)_kk of a dof whose forces are taken.
    double stiffness() const { return stiffness_; }
    // The tree with A as armature: no inertia of it, but what velocities answer forces with.
    const rigid::Model& model() const { return model_; }
    // The same that answers impulses: dofs that none moves have infinite armature.
    const rigid::Model& pressed() const { return locked_.empty() ? model_ : pressed_; }

    void clear() {
        acts_ = false, stiffness_ = 0.0;
        for (Term& x : terms_) x.taken = x.held = false;
        arm();
    }
    // Find the candidates at the place that the dofs go to in a step of length h, (q, v); returns the dofs.
    const std::vector<index>& look(double t, double h, const double* q, index nq, const double* v) {
        ahead_.assign(q, q + nq), speed_.assign(v, v + nv_), dofs_.clear();
        std::fill(sum_.begin(), sum_.end(), 0.0);
        for (Term& x : terms_) {
            const Value at = value(x, t, q, v);
            x.added = h * std::fmax(at.damping, 0.0) + h * h * std::fmax(at.stiffness, 0.0);
            double& sum = sum_[static_cast<std::size_t>(x.dof)];
            if (sum == 0.0 && x.added > 0.0) dofs_.push_back(x.dof);
            sum += x.added;
        }
        return dofs_;
    }
    // The (Mcal^-1)_kk of the dofs beyond which they are fast for the step.
    void fast_from(std::vector<double>& compliance) const {
        constexpr double SLOW = 1e-2;  // that of sim/implicit.py
        compliance.clear();
        for (const index dof : dofs_) compliance.push_back(SLOW / sum_[static_cast<std::size_t>(dof)]);
    }
    // Take those that are fast.
    void choose(const std::vector<double>& compliance, const std::vector<double>& fast) {
        for (std::size_t i = 0; i < dofs_.size(); ++i) {
            double& sum = sum_[static_cast<std::size_t>(dofs_[i])];
            if (!(compliance[i] > fast[i])) sum = 0.0;
            stiffness_ = std::fmax(stiffness_, sum * compliance[i]);
        }
        for (Term& x : terms_) x.taken = x.added > 0.0 && sum_[static_cast<std::size_t>(x.dof)] > 0.0, acts_ = acts_ || x.taken;
        arm();
    }

    // total += f_s(q0 + h v0, v0) - f_s(q, v)
    void shift(double t, const double* q, const double* v, double* total) {
        for (Term& x : terms_)
            if (x.taken) x.shift = then(x, t) - now(x, t, q, v), total[x.dof] += x.shift;
    }
    // Add the forces that act, -A vdot included, to the forces (names, nv) and, where there are some, their powers.
    void answer(const double* vdot, const double* v, double* forces, double* powers) const {
        for (const Term& x : terms_) {
            if (!x.taken) continue;
            const double more = x.shift - added(x) * vdot[x.dof];
            forces[x.row * nv_ + x.dof] += more;
            if (powers) powers[x.row] += more * v[x.dof];
        }
    }
    // Add them to forces at (q, v), with the mean acceleration of a step.
    void answer_at(double t, const double* q, const double* v, const double* mean, double* forces) {
        for (Term& x : terms_)
            if (x.taken) x.shift = then(x, t) - now(x, t, q, v);
        answer(mean, v, forces, nullptr);
    }
    // The work of -A (v1 - v) along (v0 + v1)/2, into that of each force.
    void impulse_work(const double* v0, const double* v, const double* v1, double* work) const {
        for (const Term& x : terms_)
            if (x.taken) work[x.row] -= added(x) * (v1[x.dof] - v[x.dof]) * 0.5 * (v0[x.dof] + v1[x.dof]);
    }

    // Hold at their limits the actuators whose forces would go beyond, with a mean acceleration; whether there are some.
    bool hold(double t, const double* mean) {
        constexpr double ROUNDING = 1e-9;
        bool more = false;
        for (Term& x : terms_) {
            if (x.kind != SERVO || !x.taken || x.held) continue;
            const Load& load = loads_[x.which];
            const double gear = load.row[x.dof], force = (then(x, t) - x.added * mean[x.dof]) / gear;
            const double *limit = load.force, cut = within(force, limit);
            if (force >= limit[0] - ROUNDING * std::fabs(limit[0]) && force <= limit[1] + ROUNDING * std::fabs(limit[1])) continue;
            x.held = more = true, x.limit = gear * cut;
        }
        if (more) arm();
        return more;
    }

private:
    enum Kind : int { SERVO, SPRING, BALL, TENDON };
    struct Term {
        index row, which, part, dof;  // of the forces; of its kind; of its dofs; and the dof
        Kind kind;
        bool taken, held;  // whether it is taken implicitly; of an actuator that is at its limit
        double added, shift, limit;
    };
    struct Value {
        double force, stiffness, damping;
    };

    void add(index row, Kind kind, index which, index part, index dof) {
        terms_.push_back({row, which, part, dof, kind, false, false, 0.0, 0.0, 0.0});
    }
    static double added(const Term& x) { return x.held ? 0.0 : x.added; }
    double then(const Term& x, double t) const { return x.held ? x.limit : value(x, t, ahead_.data(), speed_.data()).force; }
    double now(const Term& x, double t, const double* q, const double* v) const {
        return x.kind == SERVO ? loads_[x.which].row[x.dof] * force_of(loads_[x.which], t, q, v) : value(x, t, q, v).force;
    }

    // Force of a term, and its decrease along its dof and with its velocity.
    Value value(const Term& x, double t, const double* q, const double* v) const {
        const double speed = v[x.dof];
        if (x.kind == SERVO) {
            const Load& load = loads_[x.which];
            const double gear = load.row[x.dof], along = load.length_last > load.length_first ? load.length[load.length_first] : 0.0;
            return {gear * uncut_force(load, t, q, v), -load.bias[1] * gear * along, -load.bias[2] * gear * gear};
        }
        if (x.kind == SPRING) {
            const rigid::Spring& s = passive_->springs[x.which];
            return {s.k * (s.rest - q[s.q]) - s.d * speed, s.k, s.d};
        }
        if (x.kind == BALL) {
            const rigid::Ball& s = passive_->balls[x.which];
            const auto u = x.part < 3 ? rigid::SOACRAFT_TARGET::turned_by<double>(s.rest, q, s.q)
                                      : rigid::SOACRAFT_TARGET::moved_by<double>(s.rest, q, s.q);
            const double all[] = {u.x, u.y, u.z};
            return {-s.k[x.part] * all[x.part % 3] - s.d[x.part] * speed, s.k[x.part], s.d[x.part]};
        }
        const rigid::Tendon& s = passive_->tendons[x.which];
        const rigid::Strand& strand = passive_->strands[s.first];
        const auto curves = rigid::SOACRAFT_TARGET::curves_of(*passive_);
        const double c = strand.c, length = c * q[strand.q], rate = c * speed;
        return {-c * rigid::SOACRAFT_TARGET::tension(curves, s.law, length, rate),
                c * c * rigid::SOACRAFT_TARGET::stiffness(curves, s.law, length),
                c * c * rigid::SOACRAFT_TARGET::damping(curves, s.law, rate)};
    }

    // The armature of the tree: its own, and A.
    void arm() {
        armature_ = own_;
        for (const Term& x : terms_)
            if (x.taken) armature_[static_cast<std::size_t>(x.dof)] += added(x);
        model_.has_armature = 0;
        for (rigid::Element& e : elements_) {
            e.has_armature = 0;
            for (index i = e.v; i < e.v + rigid::dofs(e.kind); ++i)
                if (armature_[static_cast<std::size_t>(i)] != 0.0) e.has_armature = model_.has_armature = 1;
        }
        if (!locked_.empty()) lock();
    }
    void lock() {
        stiff_ = armature_;
        for (const index i : locked_) stiff_[static_cast<std::size_t>(i)] = std::numeric_limits<double>::infinity();
        for (std::size_t k = 0; k < elements_.size(); ++k) {
            rigid::Element& e = stiff_elements_[k];
            e.has_armature = elements_[k].has_armature;
            for (const index i : locked_)
                if (i >= e.v && i < e.v + rigid::dofs(e.kind)) e.has_armature = 1;
        }
        pressed_.has_armature = 1;
    }

    const rigid::Passive* passive_ = nullptr;
    const Load* loads_ = nullptr;
    index nv_ = 0;
    bool acts_ = false;
    double stiffness_ = 0.0;
    std::vector<Term> terms_;
    std::vector<index> dofs_;
    std::vector<double> ahead_, speed_, sum_, own_, armature_;
    std::vector<rigid::Element> elements_;
    rigid::Model model_ = {};
    std::vector<index> locked_;
    std::vector<double> stiff_;  // armature with that of locked dofs
    std::vector<rigid::Element> stiff_elements_;
    rigid::Model pressed_ = {};
};

}  // namespace sim
}  // namespace soacraft
