// A model in motion as integrators see it (sim/system.py): a state and its rates,
//
//     x = [q; v; work; z],    w = [v; a; powers; zdot],    u = chart coordinates, in the size of w
//
// with a = vdot but for the travel of what is free, whose a = vdot + w x v is that of its velocity in inboard axes;
// with z the states of components that are carried along (plan.hpp), and vdot by forward dynamics of the tree or by a solver of closed chains, which also puts states back on the closures.
// What is not sure is false: the step is then taken in Python.
#pragma once

#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "chart.hpp"
#include "sim/contact/contact_setting.hpp"
#include "sim/calls/functions.hpp"
#include "implicit.hpp"
#include "loops/job.hpp"
#include "mixed_dynamics.hpp"
#include "sim/components/plan.hpp"
#include "rigid/algorithms.hpp"

namespace soacraft {
namespace sim {

// The solver of a closed chain and what projects its states.
struct Chain {
    loops::Plan solver, mover;
    loops::Method method;
    double base[6];
    std::size_t room;
};

// Setting of a run. `stored`, `passive`, `contact` and that of prescribed motions are rows of forces behind those of the loads,
// whose work is counted.
struct Setting {
    rigid::Job job;  // of the tree: gravity, springs, stored wrenches
    std::vector<Load> loads;
    bool passive;        // whether the model has springs and the like
    const Chain* chain;  // null for a tree
    const double* unit;  // what dofs are measured by
    double slowest;      // a rate that gravity gives
    const double* floating;  // (nv): 1 of the linear velocities of bodies that are free on the ground, else 0
    const ContactSetting* contact;  // null where nothing touches
    const double* held;  // (steps or 1, nv), or null: a generalized force held in each step, whose work is not counted
    index held_step;     // from one row to the next: 0 where one is held all along
    Plan* plan;          // components that are carried along, or null; their forces come behind those of the loads
    Functions* functions;  // of the user, which set numbers and forces of the loads, or null
    const Prescribed* prescribed;  // dofs whose motion is prescribed, or null where all may only follow from forces
    std::vector<Hold> holds;       // friction that sticks, and rigid stops
};

class Mechanism {
public:
    const index nq, nv, names, states, points, size;  // states: of components

    explicit Mechanism(const Setting& s)
        : nq(s.job.model->nq), nv(s.job.model->nv), names(names_of(s)), states(s.plan ? s.plan->z.count : 0),
          points(nq + nv + names + states), size(2 * nv + names + states), set_(s), model_(*s.job.model),
          dynamics_(named("forward_dynamics")), at_rest_(named("mass_matrix_multiply")), springs_(named("passive_force")),
          integrate_(named("integrate")), difference_(named("difference")), jacobians_(named("integrate_jacobians")),
          derivatives_(model_.flexible_count ? nullptr : &named("inverse_dynamics_derivatives")),
          kinetic_(named("kinetic_energy")), potential_(named("potential_energy")), motions_(named("node_motion")) {
        const auto numbers = [](index n) { return std::vector<double>(static_cast<std::size_t>(n)); };
        if (s.contact) implicit_.begin(s.loads, s.job.passive, springs_row(), model_, locked(s));
        total_ = numbers(nv), zeros_ = numbers(nv), calm_ = numbers(nv), forces_ = numbers(names * nv), moved_ = numbers(nq);
        if (s.contact) load_rows = rows_of(*s.contact);
        contact_force = numbers(s.contact ? nv : 0), momenta_ = numbers(nv), powers_ = numbers(names), vdot_ = numbers(nv);
        std::size_t most = 0;
        rigid::Job largest = s.job;
        if (s.plan) largest.frame_count = static_cast<index>(s.plan->frames.size()), motion_ = numbers(24 * largest.frame_count);
        for (const rigid::Algorithm* a :
             {&dynamics_, &at_rest_, &springs_, &integrate_, &difference_, &jacobians_, derivatives_, &kinetic_, &potential_, &motions_,
              &named("passive_energy")})
            most = a && a->one_bytes(largest) > most ? a->one_bytes(largest) : most;
        space_.hold(most);
        for (index k = 0; k < model_.count; ++k) {
            const rigid::Element& e = model_.elements[k];
            const bool free = e.kind == rigid::FREE;
            if (free || e.kind == rigid::SPHERICAL) groups_.push_back({e.v, e.q, free, free && s.floating[e.v + 3] != 0.0});
            plain_ = plain_ && (e.kind <= rigid::HELICAL || e.kind == rigid::FIXED) && e.q == e.v;
        }
        for (index k = 0; k < model_.flexible_count; ++k) plain_ = plain_ && model_.flexible[k].q == model_.flexible[k].v;
        for (index i = 0; i < nv; ++i) floats_ = floats_ || s.floating[i] != 0.0;
        if (s.prescribed) mixed_ = std::make_unique<MixedDynamics>(*s.prescribed, s.job);
        own_ = s.job, bare_ = s.job, based_ = s.job, calm_job_ = s.job, calm_job_.passive = nullptr;
        bare_.passive = based_.passive = nullptr, bare_.wrenches = based_.wrenches = nullptr;
        bare_.wrench_count = based_.wrench_count = 0, bare_.turned = based_.turned = false;
        std::memset(bare_.base, 0, sizeof bare_.base);
        if (!s.chain) return;
        const std::size_t closing = mixed_ ? loops::best_kernels().closing_room(s.chain->mover) : 0;
        closed_.hold(closing > s.chain->room ? closing : s.chain->room), rest_ = numbers(2 + 6 * closures() + couplings());
        theta = numbers(s.chain->solver.coordinates);
        rows_ = numbers(s.chain->mover.coordinates + 21 * s.chain->mover.size + (15 + 2 * nv) * closures() + 2 * nv + 1);
        if (!s.contact) return;
        pressed_ = s.chain->mover, pressed_.tree = &implicit_.model();
        scale_ = pressed_.scale;
    }

    // Take the force that is held in a step: whether it is another one than before.
    bool hold(index step) {
        const double* before = held_;
        held_ = set_.held ? set_.held + step * set_.held_step : nullptr;
        return held_ != before;
    }
    double held(index dof) const { return held_ ? held_[dof] : 0.0; }

    std::vector<double> contact_force;  // of contacts, averaged over a step: it has acted, and is counted
    std::vector<LoadRow> load_rows;     // the same of stops and friction that are loads
    void take_impulses(const Impulses& from) { contact_force = from.force, load_rows = from.of_loads; }
    void forget_impulses() {
        std::fill(contact_force.begin(), contact_force.end(), 0.0);
        for (LoadRow& x : load_rows) x.force = 0.0;
    }
    // Both, one behind the other.
    std::vector<double> impulse_forces() const {
        std::vector<double> all = contact_force;
        for (const LoadRow& x : load_rows) all.push_back(x.force);
        return all;
    }
    std::vector<double> theta;  // coordinates of the closures' hinges, followed from state to state

    // w at x, and the generalized force of everything, (names, nv), where it is wanted.
    bool rates(double t, const double* x, double* w, double* forces = nullptr) {
        const double *q = x, *v = x + nq;
        if (nv) std::memcpy(w, v, bytes(nv));
        if (set_.plan && !place(t, x)) return false;
        if (!push(t, q, v, forces ? forces : forces_.data(), w + 2 * nv, !forces)) return false;
        const bool implicit = takes_implicitly_ && implicit_.acts();
        if (implicit) {
            implicit_.shift(t, q, v, total_.data()), own_.model = calm_job_.model = &implicit_.model();
            hold_axes(v);
        }
        const bool fine = inertial(t, q, v, forces ? forces : forces_.data(), w);
        own_.model = calm_job_.model = set_.job.model;
        if (!fine) return false;
        if (implicit) {
            own_rates(v, w + nv, vdot_.data());
            implicit_.answer(vdot_.data(), v, forces ? forces : forces_.data(), w + 2 * nv);
        }
        if (set_.plan && !of_components(v, w)) return false;
        return rigid::finite(w, size);
    }

    Plan* plan() const { return set_.plan; }
    // The times between which components are evaluated: those beyond are taken for the nearer one.
    void see(double low, double high) { low_ = low, high_ = high; }
    // vdot at x under the forces that components have given last, into the slots of the plan.
    bool accelerate(double t, const double* x) {
        if (!push(t, x, x + nq, forces_.data(), powers_.data(), true)) return false;
        if (!solve(t, x, x + nq, own_, vdot_.data()) || !rigid::finite(vdot_.data(), nv)) return false;
        set_.plan->accelerate(vdot_.data(), nv);
        return true;
    }

    // Values of components at x, which has the rates w, after they were evaluated elsewhere.
    bool arrive(double t, const double* x, const double* w) {
        if (!place(t, x)) return false;
        if (!set_.plan->reads_vdot) return true;
        own_rates(x + nq, w + nv, vdot_.data());
        set_.plan->accelerate(vdot_.data(), nv);
        return set_.plan->behind.run();
    }

    // The functions of crossings at x, into the slots of the plan.
    bool margins(double t, const double* x) {
        if (!place(t, x)) return false;
        if (set_.plan->reads_vdot && !(accelerate(t, x) && set_.plan->behind.run())) return false;
        return set_.plan->margins.run();
    }

    // Call the functions that act once a step, at its start; again only at another point, or after `forget_sample`.
    bool sample(double t, const double* x) {
        if (!set_.functions || !set_.functions->of_step) return true;
        constexpr double SAME = 0.5e-9;  // times are whole nanoseconds
        if (sampled_ && std::fabs(t - sampled_at_) < SAME && std::memcmp(x, sampled_x_.data(), bytes(nq + nv)) == 0) return true;
        sampled_ = set_.functions->step(t, x, x + nq);
        sampled_at_ = t, sampled_x_.assign(x, x + nq + nv);
        return sampled_;
    }
    void forget_sample() {
        sampled_ = false;
        if (mixed_) mixed_->forget();
    }
    bool samples() const { return set_.functions && set_.functions->of_step; }

    // Push at a point of which components know nothing yet.
    bool push_at(double t, const double* x, double* of, double* powers) {
        return (!set_.plan || place(t, x)) && push(t, x, x + nq, of, powers);
    }

    // The dofs, from the first to before the last, that may feel the force of a row of (names, nv): of a control those of its row.
    struct Span {
        index first, last;
    };
    Span span(index row) const {
        const index count = static_cast<index>(set_.loads.size());
        if (row >= count) {
            const index dof = row < count + pushes() ? set_.plan->pushes[static_cast<std::size_t>(row - count)].dof : -1;
            return dof < 0 ? Span{0, nv} : Span{dof, dof + 1};
        }
        const Load& load = set_.loads[static_cast<std::size_t>(row)];
        for (const LoadRow& x : load_rows)
            if (x.load == row) return {0, nv};
        if (load.force_of_function || load.pushes) return {0, nv};
        if (load.hold) return {load.hold->dof, load.hold->dof + 1};
        return {load.row_first, load.row_last};
    }

    // The generalized force of everything, (names, nv), and its powers. `own`: the rows are those of the last call, whose zeros
    // are zero still. False where a function failed.
    bool push(double t, const double* q, const double* v, double* of, double* powers, bool own = false) {
        if (set_.functions && set_.functions->of_stage && !set_.functions->stage(t, q, v)) return false;
        const index count = static_cast<index>(set_.loads.size());
        if (held_)
            std::memcpy(total_.data(), held_, bytes(nv));
        else
            std::memset(total_.data(), 0, bytes(nv));
        for (index i = 0; i < count; ++i, of += nv) {
            const Load& load = set_.loads[static_cast<std::size_t>(i)];
            if (load.force_of_function) {
                std::memcpy(of, load.force_of_function, bytes(nv));
                powers[i] = dot(of, v, nv);
                for (index k = 0; k < nv; ++k) total_[static_cast<std::size_t>(k)] += of[k];
                continue;
            }
            if (load.hold) {
                const index dof = load.hold->dof;
                if (!own) std::memset(of, 0, bytes(nv));
                of[dof] = load.hold->force(v[dof]);
                total_[static_cast<std::size_t>(dof)] += of[dof], powers[i] = of[dof] * v[dof];
                continue;
            }
            if (load.pushes) {
                at_nodes(*load.pushes, q, of);
                for (index k = 0; k < nv; ++k) total_[static_cast<std::size_t>(k)] += of[k];
                powers[i] = dot(of, v, nv);
                continue;
            }
            const double f = force_of(load, t, q, v);
            if (!own) std::memset(of, 0, bytes(nv));
            powers[i] = 0.0;
            for (index k = load.row_first; k < load.row_last; ++k) {
                of[k] = load.row[k] * f;
                total_[static_cast<std::size_t>(k)] += of[k], powers[i] += of[k] * v[k];
            }
        }
        for (LoadRow& x : load_rows) {  // they have acted
            (of - count * nv)[x.load * nv + x.dof] += x.force;
            x.power = powers[x.load], powers[x.load] += x.force * v[x.dof];
        }
        powers += count;
        if (set_.plan) pushed(q, v, of, powers, own), of += nv * pushes(), powers += pushes();
        if (!nv) return true;
        stored(q, of);
        if (set_.chain)  // a tree takes the wrenches themselves
            for (index k = 0; k < nv; ++k) total_[static_cast<std::size_t>(k)] += of[k];
        *powers++ = dot(of, v, nv), of += nv;
        if (set_.passive) {
            if (set_.job.passive)
                run(springs_, q, v, nullptr, of);
            else
                std::memset(of, 0, bytes(nv));
            *powers++ = dot(of, v, nv), of += nv;
        }
        if (set_.contact) {
            std::memcpy(of, contact_force.data(), bytes(nv));
            *powers++ = dot(of, v, nv), of += nv;
        }
        if (has_prescribed_row(set_)) std::memset(of, 0, bytes(nv)), *powers = 0.0;  // what it takes, the dynamics tell
        return true;
    }

    // Forces of single dofs that a step may take implicitly; whether `rates` takes them so.
    Implicit& implicit() { return implicit_; }
    // The tree that answers impulses, and its closures.
    const rigid::Model& pressed_model() const { return implicit_.pressed(); }
    TouchingLoops pressed_loops() const { return set_.chain ? TouchingLoops{&pressed_, &theta} : TouchingLoops{nullptr, nullptr}; }
    // Measure rows of closures again, at x, where forces that are taken implicitly make them much stiffer than the tree is; false
    // where a hinge has nothing to move.
    bool measure_closures(const double* x) {
        constexpr double STIFF = 100.0;  // a row less compliant by about this is measured well enough by the tree
        if (!set_.chain) return true;
        pressed_.scale = scale_;
        if (!(implicit_.stiffness() > STIFF)) return true;
        if (!loops::best_kernels().compliance(pressed_, closed_.hold(0), state(x, x + nq), pressed_.scale.data())) return false;
        for (double& each : pressed_.scale) each = each > 0.0 ? 1.0 / std::sqrt(each) : 1.0;
        return true;
    }
    void take_implicitly(bool how) { takes_implicitly_ = how; }

    const ContactSetting* contact() const { return set_.contact; }
    // The row of springs and dampers among those of a run with contact, -1 where there are none.
    index springs_row() const { return set_.passive ? contact_row() - 1 : -1; }
    // The row of contacts, in front of that of prescribed motions.
    index contact_row() const { return names - 1 - has_prescribed_row(set_); }
    // The force of impulses that change velocities at q by dv, at prescribed dofs: with what their motions take, (nv).
    void add_reactions(const double* q, const double* dv, double h, std::vector<double>& force) {
        if (!mixed_) return;
        momentum(q, dv, momenta_.data());
        for (const PrescribedDof& x : mixed_->dofs()) force[static_cast<std::size_t>(x.dof)] = momenta_[static_cast<std::size_t>(x.dof)] / h;
    }

    // Kinetic and potential energy: what grows by the work of all forces, springs included.
    double mechanical_energy(const double* x) {
        double sum = 0.0;
        for (const rigid::Algorithm* a : {&kinetic_, &potential_}) {
            double part = 0.0;
            run(*a, x, x + nq, nullptr, &part);
            sum += part;
        }
        return sum;
    }

    // Kinetic, potential and spring energy.
    void energies(const double* x, double* to) {
        run(kinetic_, x, x + nq, nullptr, to), run(potential_, x, x + nq, nullptr, to + 1);
        to[2] = 0.0;
        if (set_.job.passive) run(named("passive_energy"), x, x + nq, nullptr, to + 2);
    }

    // Functions of a tree for variational steps: p = Mcal v, v = Mcal^-1 p, the force of gravity, slopes of the Coriolis force
    // with v, (nv, nv); and motions of coordinates, with their Jacobians (nv, nv) along q and the step.
    bool is_tree() const { return !set_.chain; }
    // True if states are put back on closures with all dofs; true if motions are prescribed, or may be.
    bool projects() const { return set_.chain && !mixed_; }
    bool prescribes() const { return mixed_ != nullptr; }
    const std::vector<Hold>& holds() const { return set_.holds; }
    void momentum(const double* q, const double* v, double* p) { alone(at_rest_, q, zeros_.data(), v, p); }
    bool velocity(const double* q, const double* p, double* v) { return alone(dynamics_, q, zeros_.data(), p, v); }
    void gravity(const double* q, double* to) { alone(at_rest_, q, zeros_.data(), zeros_.data(), to, true); }
    bool coriolis(const double* q, const double* v, double* in_q, double* in_v, double* in_vdot) {
        return derivatives_ && alone(*derivatives_, q, v, zeros_.data(), in_q, false, in_v, in_vdot);
    }
    void integrate(const double* q, const double* u, double* to) { alone(integrate_, q, u, nullptr, to); }
    bool difference(const double* from, const double* to, double* u) {
        return alone(difference_, from, to, nullptr, u);
    }
    bool jacobians(const double* q, const double* u, double* in_q, double* in_u) {
        return alone(jacobians_, q, u, nullptr, in_q, false, in_u);
    }
    // Call `work` with the first dof of each hinge that turns as a group, and the count of its dofs.
    template <class Work>
    void each_group(const Work& work) const {
        for (const Turning& x : groups_) work(x.at, x.free ? index(6) : index(3));
    }

    // The point with coordinates u in the chart of x: what is free goes straight on in the axes of the start, and has the
    // velocity v + dv in them.
    void move(const double* x, const double* u, double* to) {
        const index rest = plain_ ? 0 : nv;  // plain coordinates are added as velocities and work are
        if (!plain_) go(x, u, to);
        for (index i = rest; i < size; ++i) to[nq - nv + i] = x[nq - nv + i] + u[i];
        for (const Turning& g : groups_)
            if (g.free) rigid::change_axes(x + g.q, to + g.q, to + nq + g.at + 3);
    }

    // The rate of u when the point moves with w. The travel of what is free has the rate v + dv, without rounding.
    void chart(const double* x, const double* u, const double* w, double* to) const {
        std::memcpy(to, w, bytes(size));
        chart_of(u, to);
        for (const Turning& g : groups_) {
            if (!g.free) continue;
            const index v = g.at + 3;
            double straight[3];
            for (int i = 0; i < 3; ++i) straight[i] = x[nq + v + i] + u[nv + v + i];
            if (rigid::same_but_rounding(to + v, straight)) std::memcpy(to + v, straight, sizeof straight);
            rigid::turn_forward(u + g.at, to + nv + v);
        }
    }

    // Rates of a velocity alone, (nv), in its place.
    void chart_of(const double* u, double* w) const {
        for (const Turning& x : groups_) {
            double to[3];
            rigid::chart_rate(u + x.at, w + x.at, to);
            std::memcpy(w + x.at, to, sizeof to);
            if (x.free) rigid::turn_forward(u + x.at, w + x.at + 3);
        }
    }

    // u <- the coordinates of a point in the chart of x, without those of what is not q or v.
    bool between(const double* x, const double* there, double* u) {
        if (!difference(x, there, u)) return false;
        for (index i = 0; i < nv; ++i) u[nv + i] = there[nq + i] - x[nq + i];
        for (const Turning& g : groups_) {
            if (!g.free) continue;
            double *d = u + g.at + 3, *dv = u + nv + g.at + 3;
            for (int i = 0; i < 3; ++i) d[i] = there[g.q + 4 + i] - x[g.q + 4 + i], dv[i] = there[nq + g.at + 3 + i];
            rigid::turn_by(x + g.q, -1.0, d), rigid::change_axes(there + g.q, x + g.q, dv);
            for (int i = 0; i < 3; ++i) dv[i] -= x[nq + g.at + 3 + i];
        }
        return true;
    }

    // The mean of a over a step of length h between two points, in the axes of its end.
    void mean_rate(const double* x, const double* end, double h, double* a) const {
        std::memcpy(a, x + nq, bytes(nv));
        for (const Turning& g : groups_)
            if (g.free) rigid::change_axes(x + g.q, end + g.q, a + g.at + 3);
        for (index i = 0; i < nv; ++i) a[i] = (end[nq + i] - a[i]) / h;
    }

    // True of the travel of what is free.
    bool travels(index i) const {
        for (const Turning& g : groups_)
            if (g.free && i >= g.at + 3 && i < g.at + 6) return true;
        return false;
    }

    // vdot for velocities v and their rates a.
    void own_rates(const double* v, const double* a, double* vdot) const {
        std::memcpy(vdot, a, bytes(nv));
        for (const Turning& g : groups_) add_turn(g, v, -1.0, vdot);
    }

    // The rates of turns in u (coordinates, changes of velocity from v0) <- those that are v where the turns are `from`.
    void carry_turns(const double* from, const double* v, const double* v0, double* u) const {
        for (const Turning& g : groups_) {
            double w[] = {v[g.at], v[g.at + 1], v[g.at + 2]};
            rigid::turn_forward(from + g.at, w), rigid::turn_back(u + g.at, w);
            for (int i = 0; i < 3; ++i) u[nv + g.at + i] = w[i] - v0[g.at + i];
        }
    }

    // v <- the velocities that are the same in the axes of each hinge's parent after its own axes were turned by u.
    void carry(const double* u, double* v) const {
        for (const Turning& x : groups_) {
            rigid::turn_back(u + x.at, v + x.at);
            if (x.free) rigid::turn_back(u + x.at, v + x.at + 3);
        }
    }

    // Move by u h with constant velocities u in the axes of each hinge's parent: what is free goes straight on.
    void go(const double* x, const double* u, double* to) {
        integrate(x, u, to);
        for (const Turning& g : groups_) {
            if (!g.free) continue;
            double way[] = {u[g.at + 3], u[g.at + 4], u[g.at + 5]};
            rigid::turn_by(x + g.q, 1.0, way);
            for (int i = 0; i < 3; ++i) to[g.q + 4 + i] = x[g.q + 4 + i] + way[i];
        }
    }
    // v without the velocities of what floats: what it carries feels no constant velocity.
    const double* calm(const double* v) {
        if (!floats_) return v;
        for (index i = 0; i < nv; ++i) calm_[static_cast<std::size_t>(i)] = set_.floating[i] != 0.0 ? 0.0 : v[i];
        return calm_.data();
    }
    // a <- the rates of velocities in the axes of each hinge's parent, where it has vdot: those of travel differ.
    void straighten(const double* v, double* a) const {
        for (const Turning& g : groups_) add_turn(g, v, 1.0, a);
    }

    // The sum of all forces that `push` gave, (names, nv), but of contacts; and what a step holds.
    const double* all_of(const double* forces) {
        for (index i = static_cast<index>(set_.loads.size()); i + 1 < names; ++i)
            for (index k = 0; k < nv; ++k) total_[static_cast<std::size_t>(k)] += forces[i * nv + k];
        return total_.data();
    }
    const double* ground() const { return set_.job.base + 6; }

    // True if u is within the chart: finite, and no hinge turned too far.
    bool inside(const double* u) const {
        for (const Turning& x : groups_)
            if (rigid::turns_too_far(u + x.at)) return false;
        return rigid::finite(u, size);
    }

    // The largest motion of a dof, in radians or lengths of the model.
    double largest(const double* u) const {
        double most = 0.0;
        for (index i = 0; i < nv; ++i) most = std::fabs(set_.unit[i] * u[i]) > most ? std::fabs(set_.unit[i] * u[i]) : most;
        return most;
    }

    // The point of the motion next to x, in its place: with prescribed coordinates, and put back on the closures.
    bool settle(double t, double* x) {
        if (mixed_) {
            if (set_.plan && mixed_->has_row() && !place(t, x)) return false;
            if (!mixed_->impose(t, x, x + nq) || !rigid::finite(x, nq + nv)) return false;
        }
        if (!set_.chain) return true;
        if (mixed_ && mixed_->has_row()) return held_shut(x, true);
        std::memcpy(total_.data(), x + nq, bytes(nv));
        if (!moved(loops::PROJECT, state(x, x + nq), {total_.data(), nullptr, 0, moved_.data(), x + nq, theta.data(), &open})) return false;
        std::memcpy(x, moved_.data(), bytes(nq));
        if (mixed_ && mixed_->any()) {
            for (const PrescribedDof& each : mixed_->dofs()) x[nq + each.dof] = 0.0;
            return held_shut(x, false);
        }
        return rigid::finite(x, nq + nv);
    }
    double open = 0.0;  // by how much closures are open at the point that was settled last: radians, or lengths of the loop

    // Project dv (nv) at x, in its place, as its end is projected.
    bool keep(const double* x, double* dv) {
        std::memcpy(total_.data(), dv, bytes(nv));
        return moved(loops::PROJECT_VELOCITY, state(x, x + nq), {total_.data(), nullptr, 0, nullptr, dv, nullptr}) &&
               rigid::finite(dv, nv);
    }

    // Rows of closures and couplings.
    index closure_rows() const { return set_.chain ? set_.chain->mover.size : 0; }
    // Gc (rows, nv) and what it is open by at q, in units: radians, and lengths of loops. `open` <- by how much, as of a point that
    // was settled.
    bool closures_at(const double* q, double* G, double* residual) {
        const loops::Plan& plan = set_.chain->mover;
        const index rows = plan.size, loop_count = closures();
        double* at = rows_.data();
        const auto cut = [&](index n) { return std::exchange(at, at + n); };
        loops::Rows out = {};
        out.theta = cut(plan.coordinates), out.gap = cut(6 * loop_count), out.Q = cut(6 * rows), out.R_ab = cut(9 * loop_count);
        out.local = cut(rows), out.gamma = cut(rows), out.speed = cut(rows), out.residual = residual;
        out.W_a = cut(6 * rows), out.W_b = cut(6 * rows), out.G = G, out.turns = cut(nv), out.slides = cut(nv);
        out.T = cut(loop_count * nv), out.S = cut(loop_count * nv), out.furthest = cut(1);
        if (!loops::best_kernels().rows(plan, closed_.hold(0), state(q, zeros_.data()), out)) return false;
        const auto length = [](const double* x) { return std::sqrt(dot(x, x, 3)); };
        open = 0.0;
        const auto measure = [&](index row, double unit) {
            residual[row] /= unit;
            for (index k = 0; k < nv; ++k) G[row * nv + k] /= unit;
        };
        for (index i = 0; i < loop_count; ++i) {
            const loops::Closure& c = plan.closures[static_cast<std::size_t>(i)];
            const double *gap = out.gap + 6 * i, turned = length(gap), slid = length(gap + 3) / c.length;
            open = std::fmax(open, std::fmax(turned, slid));
            for (index r = c.row; r < c.row + c.rows; ++r) measure(r, length(out.Q + 6 * r) + c.length * length(out.Q + 6 * r + 3));
        }
        for (const loops::Coupling& c : plan.couplings) {
            open = std::fmax(open, std::fabs(residual[c.row]) / c.size);
            measure(c.row, c.size);
        }
        return rigid::finite(residual, rows) && rigid::finite(G, rows * nv);
    }
    // The velocity nearest to v that the closures allow at q, in its place.
    bool keep_velocity(const double* q, double* v) {
        std::memcpy(total_.data(), v, bytes(nv));
        return moved(loops::PROJECT_VELOCITY, state(q, v), {total_.data(), nullptr, 0, nullptr, v, theta.data()}) && rigid::finite(v, nv);
    }
    double armature(index dof) const { return model_.armature[dof]; }

    // True of the travel of what floats, which a constant velocity has, too.
    bool drifts(index i) const { return i < nv && set_.floating[i] != 0.0; }

    // Measures of coordinates, velocities and states of components, (2 nv + states): `Mechanism.scale` of
    // sim/system.py.
    void scale(const double* x, const double* w, double* to) const {
        constexpr double SLOWEST = 1e-3;  // a dof is judged by no less than this part of the fastest
        double fastest = set_.slowest;
        for (index i = 0; i < nv; ++i) {
            const double unit = 1.0 / set_.unit[i], speed = set_.floating[i] != 0.0 ? 0.0 : std::fabs(x[nq + i]) / unit, rise = std::sqrt(std::fabs(w[nv + i]) / unit);
            to[i] = unit, to[nv + i] = speed > rise ? speed : rise;
            fastest = to[nv + i] > fastest ? to[nv + i] : fastest;
        }
        const double least = SLOWEST * (fastest > 0.0 ? fastest : 1.0);
        for (index i = 0; i < nv; ++i) to[nv + i] = to[i] * (to[nv + i] > least ? to[nv + i] : least);
        for (index i = 0; i < states; ++i)
            to[2 * nv + i] = std::fmax(std::fabs(x[nq + nv + names + i]), set_.plan->nominal[static_cast<std::size_t>(i)]);
    }
    // The place in a tangent vector of the i-th number that is measured: work is not measured.
    index measured(index i) const { return i < 2 * nv ? i : i + names; }

private:
    static std::size_t bytes(index n) { return static_cast<std::size_t>(n) * sizeof(double); }
    index closures() const { return static_cast<index>(set_.chain->solver.closures.size()); }
    index couplings() const { return static_cast<index>(set_.chain->solver.couplings.size()); }

    index pushes() const { return set_.plan ? static_cast<index>(set_.plan->pushes.size()) : 0; }
    static index names_of(const Setting& s) {
        const std::size_t own = s.loads.size() + (s.plan ? s.plan->pushes.size() : 0);
        return static_cast<index>(own) + (s.job.model->nv ? 1 + s.passive : 0) + (s.contact ? 1 : 0) + has_prescribed_row(s);
    }
    static bool has_prescribed_row(const Setting& s) { return s.prescribed && s.prescribed->has_row; }
    // The rows of loads, stops first.
    static std::vector<LoadRow> rows_of(const ContactSetting& contact) {
        std::vector<LoadRow> rows;
        for (const Stop& x : contact.stops)
            if (x.load >= 0) rows.push_back({x.load, x.dof});
        for (const Rub& x : contact.rubs)
            if (x.load >= 0) rows.push_back({x.load, x.dof});
        return rows;
    }
    static std::vector<index> locked(const Setting& s) {
        std::vector<index> dofs;
        if (s.prescribed)
            for (const PrescribedDof& x : s.prescribed->dofs) dofs.push_back(x.dof);
        return dofs;
    }

    // vdot under the total force that `push` gave last, where motions may be prescribed.
    bool solve(double t, const double* q, const double* v, rigid::Job& job, double* vdot) {
        if (mixed_ && mixed_->any() && set_.chain) return driven(t, q, v, job, vdot);
        if (mixed_ && mixed_->any()) return mixed_->solve(t, job, q, v, total_.data(), vdot);
        return accelerations(q, v, job, total_.data(), vdot);
    }

    bool accelerations(const double* q, const double* v, rigid::Job& job, const double* force, double* vdot) {
        if (!nv || !set_.chain) return !nv || with(job, dynamics_, q, v, force, vdot);
        const bool implicit = job.model == &implicit_.model();
        const loops::Plan& plan = implicit ? pressed_ : set_.chain->solver;
        return solved(plan, implicit ? loops::TREE_AUGMENTED : set_.chain->method, q, v, job.passive, force, vdot);
    }
    // Implicit forces answer accelerations in own axes: vdot = a - w x v of bodies that float.
    void hold_axes(const double* v) {
        std::fill(vdot_.begin(), vdot_.end(), 0.0);
        for (const Turning& g : groups_) {
            if (!g.floats) continue;
            add_turn(g, v, 1.0, vdot_.data());
            for (index i = g.at + 3; i < g.at + 6; ++i)
                total_[static_cast<std::size_t>(i)] += implicit_.model().armature[i] * vdot_[static_cast<std::size_t>(i)];
        }
    }
    // Drive these dofs of a closed chain by couplings.
    bool driven(double t, const double* q, const double* v, rigid::Job& job, double* vdot) {
        if (!mixed_->drive(t, v, total_.data())) return false;
        const index ties = closures() + couplings(), count = static_cast<index>(mixed_->dofs().size());
        places_.assign(static_cast<std::size_t>(ties), -1);
        for (index i = 0; i < count; ++i) places_[static_cast<std::size_t>(ties - count + i)] = 2 * i;
        const loops::Drives drives{places_.data(), mixed_->rates()};
        if (!solved(set_.chain->solver, set_.chain->method, q, v, job.passive, mixed_->force(), vdot, &drives)) return false;
        mixed_->take(rest_.data() + rest_.size() - 2 - static_cast<std::size_t>(count), total_.data());
        return true;
    }
    // The point of the motion next to x, in its place: prescribed and held dofs stay. `open`: coordinates may have to be
    // closed, too.
    bool held_shut(double* x, bool may_be_open) {
        const Prescribed& set = *set_.prescribed;
        const auto allowed = [](const std::vector<index>& dofs, const std::vector<double>& limits, const std::vector<index>& nowhere) {
            return loops::Allowed{dofs.data(), static_cast<index>(dofs.size()), limits.data(), limits.data(), nowhere.data(), true};
        };
        places_.assign(static_cast<std::size_t>(nv), -1);
        const loops::Allowed moves = allowed(set.movable, zeros_, places_), changes = allowed(set.restless, zeros_, places_);
        std::memcpy(total_.data(), x + nq, bytes(nv));
        loops::State s = state(x, total_.data());
        const loops::Motion to{nullptr, nullptr, 0, moved_.data(), x + nq, theta.data(), &open};
        if (!loops::best_kernels().hold(set_.chain->mover, closed_.hold(0), s, may_be_open ? &moves : nullptr, changes, to)) return false;
        std::memcpy(x, moved_.data(), bytes(nq));
        return rigid::finite(x, nq + nv);
    }
    // a for the forces that `push` gave last, those of springs at v as it is, into the rates w; the forces of prescribed motions, and
    // of what holds, come to the others.
    bool inertial(double t, const double* q, const double* v, double* forces, double* w) {
        double* const a = w + nv;
        if (floats_ && set_.passive && set_.job.passive) {
            const double* springs = forces + (names - 1 - (set_.contact ? 1 : 0) - has_prescribed_row(set_)) * nv;
            for (index k = 0; k < nv; ++k) total_[static_cast<std::size_t>(k)] += springs[k];
        }
        if (!solve(t, q, calm(v), floats_ ? calm_job_ : own_, a)) return false;
        if (mixed_)
            for (const PrescribedDof& x : mixed_->dofs()) {
                const double reaction = mixed_->reaction(x.dof);
                const index row = x.row < 0 ? names - 1 : x.row;
                forces[row * nv + x.dof] += reaction, w[2 * nv + row] += reaction * v[x.dof];
            }
        for (const Turning& g : groups_)
            if (!g.floats) add_turn(g, v, 1.0, a);
        return true;
    }

    // Evaluate components at x for forces and rates, but for what depends on the accelerations.
    bool place(double t, const double* x) {
        Plan& plan = *set_.plan;
        plan.place(t < low_ ? low_ : t > high_ ? high_ : t, x, x + nq, nq, nv, x + nq + nv + names);
        const auto count = static_cast<index>(plan.frames.size());
        if (count) {
            rigid::Job& job = bare_;
            double *R = motion_.data(), *p = R + 9 * count, *twists = p + 3 * count;
            job.frames = plan.frames.data(), job.frame_count = count, job.out[3] = twists + 6 * count;
            if (!alone(motions_, x, x + nq, zeros_.data(), R, false, p, twists)) return false;
            for (index i = 0; i < count; ++i) plan.put(i, R, p, twists);
        }
        return plan.before.run();
    }
    // J* f of a force at a node.
    void at_node(const Push& push, const double* f, const double* q, double* to) {
        double wrench[6] = {};
        std::memcpy(wrench + (push.kind == FORCE ? 3 : 0), f, bytes(push.kind == BOTH ? 6 : 3));
        rigid::Wrench one = {};
        one.at = set_.plan->spots[static_cast<std::size_t>(push.spot)], one.turned = !push.own, one.f = wrench;
        one.axes.element = -1, one.axes.R[0] = one.axes.R[4] = one.axes.R[8] = 1.0;
        at_nodes(&one, 1, one.turned, q, to);
    }
    // J* f of all of them.
    void at_nodes(const Pushes& pushes, const double* q, double* to) {
        if (pushes.wrenches.empty())
            std::memset(to, 0, bytes(nv));
        else
            at_nodes(pushes.wrenches.data(), static_cast<index>(pushes.wrenches.size()), pushes.turned, q, to);
    }
    void at_nodes(const rigid::Wrench* wrenches, index count, bool turned, const double* q, double* to) {
        rigid::Job& job = bare_;
        job.wrenches = wrenches, job.wrench_count = count, job.turned = turned;
        alone(at_rest_, q, zeros_.data(), zeros_.data(), to);
        job.wrenches = nullptr, job.wrench_count = 0, job.turned = false;
        for (index i = 0; i < nv; ++i) to[i] = -to[i];
    }
    // The forces of components, a row each, and their powers.
    void pushed(const double* q, const double* v, double* of, double* powers, bool own) {
        const Plan& plan = *set_.plan;
        for (const Push& x : plan.pushes) {
            const double* f = plan.slots + x.at;
            if (x.dof < 0) {
                x.spot < 0 ? Plan::copy(of, f, nv) : at_node(x, f, q, of);
                for (index k = 0; k < nv; ++k) total_[static_cast<std::size_t>(k)] += of[k];
                *powers++ = dot(of, v, nv);
            } else {
                if (!own) std::memset(of, 0, bytes(nv));
                of[x.dof] = *f, total_[static_cast<std::size_t>(x.dof)] += *f;
                *powers++ = *f * v[x.dof];
            }
            of += nv;
        }
    }
    // zdot, from the accelerations in w.
    bool of_components(const double* v, double* w) {
        Plan& plan = *set_.plan;
        if (plan.reads_vdot) {
            own_rates(v, w + nv, vdot_.data());
            plan.accelerate(vdot_.data(), nv);
            if (!plan.behind.run()) return false;
        }
        if (!plan.rates.run()) return false;
        Plan::copy(w + 2 * nv + names, plan.slots + plan.zdot, states);
        return true;
    }

    bool run(const rigid::Algorithm& a, const double* q, const double* v, const double* x, double* to) {
        return with(own_, a, q, v, x, to);
    }
    bool with(rigid::Job& job, const rigid::Algorithm& a, const double* q, const double* v, const double* x, double* to) {
        job.in[rigid::Q] = q, job.in[rigid::V] = v, job.in[rigid::X] = x, job.out[0] = to;
        return a.one(job, 0, 1, space_.hold(0));
    }

    // A kernel on the tree without springs and wrenches.
    bool alone(const rigid::Algorithm& a, const double* q, const double* v, const double* x, double* to, bool based = false,
               double* second = nullptr, double* third = nullptr) {
        rigid::Job& job = based ? based_ : bare_;
        job.out[1] = second, job.out[2] = third;
        return with(job, a, q, v, x, to);
    }

    // J* f of the stored wrenches: what inverse dynamics has less at rest, without gravity.
    const rigid::Algorithm& named(const char* name) const { return rigid::algorithm(name, model_.flexible_count > 0); }

    void stored(const double* q, double* to) {
        std::memset(to, 0, bytes(nv));
        if (!set_.job.wrench_count) return;
        rigid::Job job = set_.job;
        std::memset(job.base, 0, sizeof job.base);
        job.passive = nullptr;
        job.in[rigid::Q] = q, job.in[rigid::V] = job.in[rigid::X] = zeros_.data(), job.out[0] = to;
        at_rest_.one(job, 0, 1, space_.hold(0));
        for (index i = 0; i < nv; ++i) to[i] = -to[i];
    }

    loops::State state(const double* q, const double* v) const {
        loops::State s = {};
        std::memcpy(s.base, set_.chain->base, sizeof s.base);
        s.q = q, s.v = v, s.force = total_.data(), s.theta = theta.data(), s.passive = set_.job.passive;
        return s;
    }

    template <class Passive>
    bool solved(const loops::Plan& plan, loops::Method method, const double* q, const double* v, const Passive* passive,
                const double* force, double* vdot, const loops::Drives* drives = nullptr) {
        const loops::Answer to{vdot, rest_.data(), rest_.data() + rest_.size() - 2, theta.data()};
        loops::State s = state(q, v);
        s.passive = passive, s.force = force, s.drives = drives;
        return loops::best_kernels().solve(plan, closed_.hold(0), method, s, to) &&
               rigid::finite(rest_.data(), static_cast<index>(rest_.size()));
    }

    bool moved(loops::Move how, const loops::State& s, const loops::Motion& to) {
        return loops::best_kernels().move(set_.chain->mover, closed_.hold(0), how, s, to);
    }

    const Setting& set_;
    const rigid::Model& model_;
    const rigid::Algorithm &dynamics_, &at_rest_, &springs_, &integrate_, &difference_, &jacobians_;
    const rigid::Algorithm* derivatives_;  // null of a tree with flexible bodies
    const rigid::Algorithm &kinetic_, &potential_, &motions_;
    struct Turning {
        index at, q;  // its velocities and its coordinates
        bool free, floats;
    };
    // a += sign w x v of what is free
    static void add_turn(const Turning& g, const double* v, double sign, double* a) {
        if (!g.free) return;
        double across[3];
        rigid::cross3(v + g.at, v + g.at + 3, across);
        for (int i = 0; i < 3; ++i) a[g.at + 3 + i] += sign * across[i];
    }
    std::vector<Turning> groups_;  // hinges that turn as groups
    bool plain_ = true;            // all coordinates are numbers that are added
    bool floats_ = false;          // a body is free on the ground
    rigid::Job own_, bare_, based_, calm_job_;  // with all that acts; without springs and wrenches, and gravity; without springs
    const double* held_ = nullptr;
    double low_ = -std::numeric_limits<double>::infinity(), high_ = std::numeric_limits<double>::infinity();  // `see`
    Implicit implicit_;
    bool takes_implicitly_ = false;
    std::unique_ptr<MixedDynamics> mixed_;  // null where all follows from forces
    bool sampled_ = false;  // `sample` was called at
    double sampled_at_ = 0.0;
    std::vector<double> sampled_x_;
    loops::Plan pressed_;        // what projects states, on the tree that answers impulses
    std::vector<double> scale_;  // of its rows, where no force is taken implicitly
    std::vector<double> rows_;   // of closures, but for G and what they are open by
    std::vector<double> momenta_, total_, zeros_, calm_, forces_, moved_, rest_, powers_, vdot_, motion_;
    std::vector<index> places_;
    rigid::Workspace space_, closed_;
};

}  // namespace sim
}  // namespace soacraft
