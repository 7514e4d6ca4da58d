// The solvers of closed chains for one instruction set; built several times, as the rigid kernels are.
#include "job.hpp"
#include "soacraft/kinematics/reaching.hpp"
#include "soacraft/loops/closing.hpp"
#include "soacraft/loops/rows/closure_moves.hpp"
#include "soacraft/loops/embedding/constraint_embedding.hpp"
#include "soacraft/loops/derivatives.hpp"
#include "soacraft/loops/augmented/fully_augmented.hpp"
#include "soacraft/loops/embedding/inverse_embedding.hpp"
#include "soacraft/loops/augmented/reference_compliance.hpp"
#include "soacraft/loops/left_out.hpp"
#include "soacraft/rigid/drivers/access.hpp"

SOACRAFT_RIGID_BEGIN

namespace {

std::size_t room(const Plan& plan) {
    std::size_t most = 0;
    for (std::size_t bytes : {MotionWork(plan, nullptr).bytes, FullWork(plan, nullptr).bytes, ComplianceWork(plan, nullptr).bytes})
        most = most < bytes ? bytes : most;
    return LoopWork(plan, nullptr).bytes + most;
}

Base base_at(const double* a) {
    Base base = {};
    for (int i = 0; i < 6; ++i) base.a[i] = a[i];
    return base;
}

// How many rows were not taken to repeat others.
template <class T>
T rows_kept(const LoopWorkOf<T>& w, loops::Method method) {
    if (method != loops::CONSTRAINT_EMBEDDING) return w.kept;
    index kept = 0;
    for (const Group& g : w.plan.groups) kept += static_cast<index>(g.dependent.size());
    return T(static_cast<double>(kept)) + w.kept;
}

// The states that a T holds: q, v and so on as the kernels take them.
template <class T>
struct Inputs {
    const T *q, *v, *force, *pull, *theta;
    const loops::DrivesOf<T>* drives;
};

Inputs<double> inputs_of(const loops::State& s) { return {s.q, s.v, s.force, s.pull, s.theta, s.drives}; }

// By the solver of a plan. `more`: memory for a fully augmented system, which is solved one state at a time.
template <class T>
Where<T> solved_by(loops::Method method, LoopWorkOf<T>& w, char* more, const Base& base, const T* force, ResidualOf<T>& left) {
    if (method == loops::TREE_AUGMENTED) return tree_augmented(w, base, force, left);
    if (method == loops::CONSTRAINT_EMBEDDING) return constraint_embedding(w, base, force, left);
    if constexpr (Several<T>::value)
        return nowhere<T>();
    else
        return fully_augmented(w, FullWork(w.plan, more), base, force, left);
}

// The rows at a state on its closures, and the generalized force that acts; false where it is off them.
template <class T>
Where<T> take_state(LoopWorkOf<T>& w, const loops::State& s, const Base& base, const Inputs<T>& in, const T*& force) {
    force = in.force;
    if (s.passive) {
        for (index i = 0; i < w.model.nv; ++i) w.force[i] = in.force[i];
        each_passive<T>(*s.passive, w.model, inertial_ground<T>(), in.q, in.v, w.linked, [&w](index i, const T& x) { w.force[i] += x; });
        force = w.force;
    }
    return take_rows(w, base, in.q, in.v, force, in.pull, in.theta, false, true, in.drives);
}

// vdot, lambda and what they leave at a state, and the generalized force that acts; false where Python should look at it.
template <class T>
Where<T> settle(LoopWorkOf<T>& w, char* more, loops::Method method, const loops::State& s, const Base& base,
                const Inputs<T>& in, const T*& force, ResidualOf<T>& left) {
    const Plan& plan = w.plan;
    Where<T> fine = take_state(w, s, base, in, force);
    if (!any(fine)) return fine;
    fine &= solved_by(method, w, more, base, force, left);
    if (!any(fine)) return fine;
    const T allowed(plan.tolerances.closed);
    fine &= is_at_most(left.closures, allowed);
    fine &= is_at_most(left.motion, allowed);
    // otherwise a row was left out that counts: near a singular pose
    const T repeated = T(plan.tolerances.repeated) + T(plan.tolerances.open_rows) * w.open_by;
    const Where<T> all_kept = is_at_most(T(static_cast<double>(plan.size)), rows_kept(w, method));
    fine &= all_kept | is_at_most(left.closures, repeated);
    if (!any(fine)) return fine;
    return fine & truly_repeat(w, method, all_kept, larger(T(plan.tolerances.zero), repeated));
}

// The wrench of each closure on its frame b in the axes of a, and the multiplier of each coupling.
template <class T>
void forces_of(const LoopWorkOf<T>& w, T* to) {
    for (std::size_t i = 0; i < w.plan.closures.size(); ++i) {
        const Closure& c = w.plan.closures[i];
        const TieOf<T>& t = w.ties[i];
        Spatial<T> push = none<T>();
        for (index r = 0; r < c.rows; ++r) push -= w.lambda[c.row + r] * t.Q[r];
        const Vec<T> n = turn_back(t.R_a, push.w), f = turn_back(t.R_a, push.v);
        *to++ = n.x, *to++ = n.y, *to++ = n.z, *to++ = f.x, *to++ = f.y, *to++ = f.z;
    }
    for (const Coupling& c : w.plan.couplings) *to++ = w.lambda[c.row];
}

bool solve(const Plan& plan, void* memory, loops::Method method, const loops::State& s, const loops::Answer& out) {
    LoopWork w(plan, static_cast<char*>(memory));
    const double* force;
    Residual left;
    if (!settle(w, static_cast<char*>(memory) + w.bytes, method, s, base_at(s.base), inputs_of(s), force, left)) return false;
    out.residual[0] = left.closures, out.residual[1] = left.motion;
    for (index i = 0; i < w.model.nv; ++i) out.vdot[i] = w.vdot[i];
    forces_of(w, out.forces);
    for (index i = 0; out.theta && i < plan.coordinates; ++i) out.theta[i] = w.theta[i];
    return true;
}

// States side by side as a solver takes them, and its forces, behind its own memory.
struct AbreastWork {
    Abreast *q, *v, *force, *pull, *theta, *rates, *forces;
    index* place;
    std::size_t bytes;

    AbreastWork(const Plan& plan, char* memory) {
        Cutter cut{memory};
        const auto closures = static_cast<index>(plan.closures.size()), couplings = static_cast<index>(plan.couplings.size());
        cut(q, plan.tree->nq), cut(v, plan.tree->nv), cut(force, plan.tree->nv), cut(pull, loops::pull_width(*plan.tree));
        cut(theta, plan.coordinates), cut(rates, 12 * closures + 2 * couplings), cut(place, closures + couplings);
        cut(forces, 6 * closures + couplings);
        bytes = cut.taken;
    }
};

std::size_t room_abreast(const Plan& plan) {
    return LoopWorkOf<Abreast>(plan, nullptr).bytes + AbreastWork(plan, nullptr).bytes;
}

// One of the arrays of several states, those behind the last as the last.
Abreast* turned_over(const double* loops::State::*which, const loops::State* s, int count, index n, Abreast* space) {
    const double* x[SOACRAFT_LANES];
    for (int i = 0; i < SOACRAFT_LANES; ++i) x[i] = s[i < count ? i : count - 1].*which;
    if (!x[0]) return nullptr;
    side_by_side(x, n, space);
    return space;
}

// What is driven, the numbers of each behind one another.
loops::DrivesOf<Abreast> driven_abreast(const Plan& plan, const loops::State* s, int count, const AbreastWork& in) {
    const index* place = s[0].drives->place;
    index at = 0;
    for (std::size_t i = 0; i < plan.closures.size() + plan.couplings.size(); ++i) {
        in.place[i] = place[i] < 0 ? -1 : at;
        if (place[i] < 0) continue;
        const index n = i < plan.closures.size() ? 12 : 2;
        const double* x[SOACRAFT_LANES];
        for (int k = 0; k < SOACRAFT_LANES; ++k) x[k] = s[k < count ? k : count - 1].drives->rates + place[i];
        side_by_side(x, n, in.rates + at);
        at += n;
    }
    return {in.place, in.rates};
}

unsigned solve_abreast(const Plan& plan, void* memory, loops::Method method, const loops::State* s, const loops::Answer* out,
                       int count) {
    typedef Abreast T;
    LoopWorkOf<T> w(plan, static_cast<char*>(memory));
    const AbreastWork in(plan, static_cast<char*>(memory) + w.bytes);
    const index nv = w.model.nv;
    const auto read = [&](const double* loops::State::*which, index n, T* space) {
        return turned_over(which, s, count, n, space);
    };
    loops::DrivesOf<T> drives = {};
    if (s[0].drives) drives = driven_abreast(plan, s, count, in);
    const Inputs<T> given{read(&loops::State::q, w.model.nq, in.q), read(&loops::State::v, nv, in.v),
                          read(&loops::State::force, nv, in.force), read(&loops::State::pull, loops::pull_width(w.model), in.pull),
                          read(&loops::State::theta, plan.coordinates, in.theta), s[0].drives ? &drives : nullptr};
    const T* force;
    ResidualOf<T> left;
    const Where<T> fine = settle(w, nullptr, method, s[0], base_at(s[0].base), given, force, left);
    if (!any(fine)) return 0;
    forces_of(w, in.forces);
    double *vdot[SOACRAFT_LANES], *forces[SOACRAFT_LANES], *theta[SOACRAFT_LANES];
    unsigned answered = 0;
    for (int i = 0; i < count; ++i) {
        vdot[i] = out[i].vdot, forces[i] = out[i].forces, theta[i] = out[i].theta;
        out[i].residual[0] = lane(left.closures, i), out[i].residual[1] = lane(left.motion, i);
        if (lane(fine, i)) answered |= 1u << i;
    }
    to_rows(w.vdot, nv, vdot, count);
    to_rows(in.forces, static_cast<index>(6 * plan.closures.size() + plan.couplings.size()), forces, count);
    to_rows(w.theta, plan.coordinates, theta, count);
    return answered;
}

// `rhs`: 6 for each closure, in the axes of its b, then one for each coupling.
bool push(const Plan& plan, void* memory, const loops::State& s, const double* rhs, double* dv) {
    LoopWork w(plan, static_cast<char*>(memory));
    const Base base = base_at(s.base);
    if (!take_rows(w, base, s.q, s.v, nullptr, nullptr, s.theta, false, false)) return false;
    for (std::size_t i = 0; i < plan.closures.size(); ++i, rhs += 6)
        for (index r = 0; r < plan.closures[i].rows; ++r) {
            double sum = 0.0;
            for (int k = 0; k < 6; ++k) sum += w.ties[i].local[6 * r + k] * rhs[k];
            w.gamma[plan.closures[i].row + r] = sum;
        }
    for (const Coupling& c : plan.couplings) w.gamma[c.row] = *rhs++;
    if (!impulse(w, w.gamma)) return false;
    for (index i = 0; i < w.model.nv; ++i) dv[i] = w.vdot[i];
    return true;
}

// A row of a closure on the velocity of a body: [moment; force] of the row at the body's frame, in its axes.
void row_on_body(const LoopWork& w, index body, const Tie& t, index r, double sign, double* to) {
    Place<double> X = no_place<double>();
    if (body >= 0) X = spot(w.model.bodies[body], w.limbs).X;
    const Twist f = pulled(t.at - X.p, sign * t.Q[r]);
    const Vec3 n = turn_back(X.R, f.w), v = turn_back(X.R, f.v);
    to[0] = n.x, to[1] = n.y, to[2] = n.z, to[3] = v.x, to[4] = v.y, to[5] = v.z;
}

bool rows(const Plan& plan, void* memory, const loops::State& s, const loops::Rows& out) {
    LoopWork w(plan, static_cast<char*>(memory));
    if (!take_rows(w, base_at(s.base), s.q, s.v, nullptr, nullptr, s.theta, true, false)) return false;
    for (index i = 0; i < plan.coordinates; ++i) out.theta[i] = w.theta[i];
    closure_jacobian(w, out.G);
    for (index i = 0; i < plan.size; ++i) out.gamma[i] = w.gamma[i];
    dof_moves(w, out.turns, out.slides);
    *out.furthest = furthest(w);
    for (std::size_t i = 0; i < plan.closures.size(); ++i) {
        const Closure& c = plan.closures[i];
        const Tie& t = w.ties[i];
        const index begin = static_cast<index>(i) * w.model.nv;
        end_moves(w, c, out.turns, out.slides, out.T + begin, out.S + begin);
        for (int k = 0; k < 6; ++k) out.gap[6 * i + k] = t.gap[k];
        const Mat3 R = transpose(t.R_a) * t.R_b;
        const double entries[] = {R.a.x, R.b.x, R.c.x, R.a.y, R.b.y, R.c.y, R.a.z, R.b.z, R.c.z};
        for (int k = 0; k < 9; ++k) out.R_ab[9 * i + k] = entries[k];
        for (index r = 0; r < c.rows; ++r) {
            const index row = c.row + r;
            out.local[row] = t.gamma[r], out.speed[row] = t.speed[r], out.residual[row] = 0.0;
            for (int k = 0; k < 6; ++k) {
                out.Q[6 * row + k] = t.local[6 * r + k];
                out.residual[row] += t.local[6 * r + k] * t.gap[k];
            }
            row_on_body(w, c.body_a, t, r, -1.0, out.W_a + 6 * row);
            row_on_body(w, c.body_b, t, r, 1.0, out.W_b + 6 * row);
        }
    }
    for (std::size_t i = 0; i < plan.couplings.size(); ++i) {
        const Coupling& c = plan.couplings[i];
        const Ratio& r = w.ratios[i];
        out.local[c.row] = r.gamma, out.speed[c.row] = r.speed, out.residual[c.row] = r.residual;
    }
    return true;
}

bool is_closed(const Plan& plan, void* memory, const loops::State& s) {
    LoopWork w(plan, static_cast<char*>(memory));
    const double* force;
    return take_state(w, s, base_at(s.base), inputs_of(s), force);
}

bool compliance(const Plan& plan, void* memory, const loops::State& s, double* to) {
    LoopWork w(plan, static_cast<char*>(memory));
    const ComplianceWork c(plan, static_cast<char*>(memory) + w.bytes);
    return take_rows(w, base_at(s.base), s.q, s.v, nullptr, nullptr, s.theta, false, false) && reference_compliance(w, c, to);
}

bool move(const Plan& plan, void* memory, loops::Move how, const loops::State& s, const loops::Motion& x) {
    LoopWork w(plan, static_cast<char*>(memory));
    MotionWork m(plan, static_cast<char*>(memory) + w.bytes);
    const index nq = w.model.nq, nv = w.model.nv;
    const double closed = plan.tolerances.closed;
    for (index i = 0; i < nv; ++i) m.still[i] = 0.0;
    for (index i = 0; i < plan.coordinates; ++i) w.theta[i] = s.theta[i];
    const bool all = how == loops::COMPLETE || how == loops::PROJECT_VELOCITY || how == loops::PROJECT;
    bool fine = all || find_places(w, x.order, x.count, m.place);
    if (!fine || !plan.rest.empty()) return false;  // rows next to the groups: no motion in independent dofs alone
    switch (how) {
        case loops::EXPAND:
            fine = rows_at(w, s.q, m.still) && opening(w) <= closed && expand(w, m.place, x.x, 1.0, x.v, nullptr);
            break;
        case loops::COMPLETE:
            integrate(w.model, s.q, m.still, m.q);  // quaternions of unit length
            fine = complete(w, m.still, m.dv, m.q, m.next, m.rows);
            break;
        case loops::ADVANCE: fine = advance(w, m, s.q, x.x); break;
        case loops::INVERSE_DYNAMICS:
        case loops::INVERSE_OF_ALL:
        case loops::ACCELERATE: {
            const Base base = base_at(s.base);
            const bool of_all = how == loops::INVERSE_OF_ALL;
            for (index i = 0; i < nv; ++i) m.dv[i] = 0.0;
            if (s.passive) each_passive<double>(*s.passive, w.model, inertial_ground<double>(), s.q, s.v, w.linked,
                                                [&m](index i, double force) { m.dv[i] += force; });
            for (index i = 0; of_all && i < x.count; ++i) m.v[i] = x.x[x.order[i]];
            const double* own = of_all ? m.v : x.x;
            fine = take_rows(w, base, s.q, s.v, m.dv, s.pull, s.theta, false, true, s.drives) &&
                   accelerate_embedding(w, m, base, m.dv, own) && (!of_all || is_given_back(w, x.x));
            if (fine && how == loops::ACCELERATE)
                for (index i = 0; i < nv; ++i) x.v[i] = w.vdot[i];
            else if (fine)
                embedded_force(w, x.v);
            break;
        }
        case loops::PROJECT_VELOCITY: fine = close_velocity(w, s.q, x.x, x.v); break;
        default: {
            double open = 0.0;
            fine = project(w, m, s.q, x.x, x.v, open);
            if (x.open) *x.open = open;
            break;
        }
    }
    for (index i = 0; x.q && i < nq; ++i) x.q[i] = m.q[i];
    for (index i = 0; x.theta && i < plan.coordinates; ++i) x.theta[i] = w.theta[i];
    return fine;
}

std::size_t closing_room(const Plan& plan) { return room(plan) + ClosingWork(plan, nullptr).bytes; }

bool assemble(const Plan& plan, void* memory, const double* q, const double* theta, const Allowed& allowed, double* to) {
    LoopWork w(plan, static_cast<char*>(memory));
    MotionWork m(plan, static_cast<char*>(memory) + w.bytes);
    ClosingWork c(plan, static_cast<char*>(memory) + w.bytes + m.bytes);
    for (index i = 0; i < w.model.nv; ++i) m.still[i] = 0.0;
    for (index i = 0; i < plan.coordinates; ++i) w.theta[i] = theta[i];
    if (!assemble(w, m, c, q, allowed)) return false;
    for (index i = 0; i < w.model.nq; ++i) to[i] = m.q[i];
    return true;
}

bool hold(const Plan& plan, void* memory, const loops::State& s, const Allowed* places, const Allowed& rates, const loops::Motion& x) {
    LoopWork w(plan, static_cast<char*>(memory));
    MotionWork m(plan, static_cast<char*>(memory) + w.bytes);
    ClosingWork c(plan, static_cast<char*>(memory) + w.bytes + m.bytes);
    for (index i = 0; i < w.model.nv; ++i) m.still[i] = 0.0;
    for (index i = 0; i < plan.coordinates; ++i) w.theta[i] = s.theta[i];
    if (places && !assemble(w, m, c, s.q, *places)) return false;
    if (!places) integrate(w.model, s.q, m.still, m.q);
    if (!keep_closed(w, m, c, m.q, s.v, rates, x.v)) return false;
    *x.open = opening(w);
    for (index i = 0; i < w.model.nq; ++i) x.q[i] = m.q[i];
    for (index i = 0; i < plan.coordinates; ++i) x.theta[i] = w.theta[i];
    return true;
}

std::size_t derive_room(const Plan& plan) {
    Room taken;
    DerivativeWork(plan, taken);
    return LoopWork(plan, nullptr).bytes + taken.bytes;
}

// By tree-augmented dynamics.
bool derive(const Plan& plan, void* memory, const loops::State& s, const loops::Derived& out) {
    if (plan.tree->flexible_count) return false;
    LoopWork w(plan, static_cast<char*>(memory));
    Arena arena{static_cast<char*>(memory) + w.bytes};
    const DerivativeWork d(plan, arena);
    const Base base = base_at(s.base);
    const double* T;
    Residual left;
    if (!settle(w, nullptr, loops::TREE_AUGMENTED, s, base, inputs_of(s), T, left)) return false;
    for (index i = 0; out.theta && i < plan.coordinates; ++i) out.theta[i] = w.theta[i];
    return derive_closed(w, d, base, s.q, s.v, T, s.pull, s.passive, static_cast<index>(w.kept), out);
}

std::size_t reach_room(const Model& model, const Reach& x) { return ReachWork(model, x, nullptr).bytes; }

index reach(const Model& model, void* memory, const Reach& x, double* q, double* left) {
    ReachWork w(model, x, static_cast<char*>(memory));
    Reaching search(model, x, w);
    const bool met = search.descend(q);
    for (index i = 0; met && i < x.rows; ++i) left[i] = w.r[i];
    return met ? search.iterations : -1;
}

}  // namespace

extern const loops::Kernels loop_kernels;
const loops::Kernels loop_kernels = {room,       room_abreast, SOACRAFT_LANES, solve_abreast, solve,  push,       rows, is_closed,
                                     compliance, move,         closing_room,   assemble,      derive_room, derive, reach_room, reach,
                                     hold};

SOACRAFT_RIGID_END
