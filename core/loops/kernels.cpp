// The solvers of closed chains for one instruction set; built several times, as the rigid kernels are.
#include "job.hpp"
#include "soacraft/kinematics/reaching.hpp"
#include "soacraft/loops/closing.hpp"
#include "soacraft/loops/constraint_embedding.hpp"
#include "soacraft/loops/derivatives.hpp"
#include "soacraft/loops/fully_augmented.hpp"
#include "soacraft/loops/inverse_embedding.hpp"

SOACRAFT_RIGID_BEGIN

namespace {

std::size_t room(const Plan& plan) {
    const std::size_t moves = MotionWork(plan, nullptr).bytes, full = FullWork(plan, nullptr).bytes;
    return LoopWork(plan, nullptr).bytes + (moves < full ? full : moves);
}

Base base_at(const double* a) {
    Base base = {};
    for (int i = 0; i < 6; ++i) base.a[i] = a[i];
    return base;
}

// How many rows were not taken to repeat others.
index rows_kept(const LoopWork& w, loops::Method method) {
    index kept = 0;
    if (method != loops::CONSTRAINT_EMBEDDING)
        for (std::size_t i = 0; i < w.plan.fronts.size(); ++i) kept += w.rank[i];
    else
        for (const Group& g : w.plan.groups) kept += static_cast<index>(g.dependent.size());
    return kept;
}

// vdot, lambda and what they leave at a state, and the generalized force T that acts; false where Python should look at it.
// `more`: memory for a fully augmented system.
bool settle(LoopWork& w, char* more, loops::Method method, const loops::State& s, const Base& base, const double*& T, Residual& left) {
    const Plan& plan = w.plan;
    T = s.force;
    if (s.passive) {
        for (index i = 0; i < w.model.nv; ++i) w.force[i] = s.force[i];
        each_passive<double>(*s.passive, s.q, s.v, [&w](index i, double x) { w.force[i] += x; });
        T = w.force;
    }
    if (!take_rows(w, base, s.q, s.v, T, s.pull, s.theta, false, true, s.drives)) return false;
    const bool fine = method == loops::TREE_AUGMENTED        ? tree_augmented(w, base, T, left)
                      : method == loops::CONSTRAINT_EMBEDDING ? constraint_embedding(w, base, T, left)
                                                              : fully_augmented(w, FullWork(plan, more), base, T, left);
    const double allowed = plan.tolerances.closed;
    if (!fine || !(left.closures <= allowed) || !(left.motion <= allowed)) return false;
    if (rows_kept(w, method) == plan.size) return true;
    // otherwise a row was left out that counts: near a singular pose
    return left.closures <= plan.tolerances.repeated + plan.tolerances.open_rows * w.open_by;
}

bool solve(const Plan& plan, void* memory, loops::Method method, const loops::State& s, const loops::Answer& out) {
    LoopWork w(plan, static_cast<char*>(memory));
    const double* T;
    Residual left;
    if (!settle(w, static_cast<char*>(memory) + w.bytes, method, s, base_at(s.base), T, left)) return false;
    out.residual[0] = left.closures, out.residual[1] = left.motion;
    for (index i = 0; i < w.model.nv; ++i) out.vdot[i] = w.vdot[i];
    double* to = out.forces;
    for (std::size_t i = 0; i < w.plan.closures.size(); ++i) {
        const Closure& c = w.plan.closures[i];
        const Tie& t = w.ties[i];
        Twist push{{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}};
        for (index r = 0; r < c.rows; ++r) push -= w.lambda[c.row + r] * t.Q[r];
        const Vec3 n = turn_back(t.R_a, push.w), f = turn_back(t.R_a, push.v);
        *to++ = n.x, *to++ = n.y, *to++ = n.z, *to++ = f.x, *to++ = f.y, *to++ = f.z;
    }
    for (index i = 0; out.theta && i < plan.coordinates; ++i) out.theta[i] = w.theta[i];
    for (const Coupling& c : w.plan.couplings) *to++ = w.lambda[c.row];
    return true;
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
    for (std::size_t i = 0; i < plan.closures.size(); ++i) {
        const Closure& c = plan.closures[i];
        const Tie& t = w.ties[i];
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
            fine = complete(w, m.still, m.dv, m.q, m.next);
            break;
        case loops::ADVANCE: fine = advance(w, m, s.q, x.x); break;
        case loops::INVERSE_DYNAMICS: {
            const Base base = base_at(s.base);
            for (index i = 0; i < nv; ++i) m.dv[i] = 0.0;
            if (s.passive) each_passive<double>(*s.passive, s.q, s.v, [&m](index i, double force) { m.dv[i] += force; });
            fine = take_rows(w, base, s.q, s.v, m.dv, s.pull, s.theta, false, true) &&
                   inverse_embedding(w, m, base, m.dv, x.x, x.v);
            break;
        }
        case loops::PROJECT_VELOCITY: fine = close_velocity(w, s.q, x.x, x.v); break;
        default: fine = close_position(w, m, s.q) && close_velocity(w, m.q, x.x, x.v); break;
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

std::size_t derive_room(const Plan& plan) {
    Room taken;
    DerivativeWork(plan, taken);
    return LoopWork(plan, nullptr).bytes + taken.bytes;
}

// By tree-augmented dynamics.
bool derive(const Plan& plan, void* memory, const loops::State& s, const loops::Derived& out) {
    LoopWork w(plan, static_cast<char*>(memory));
    Arena arena{static_cast<char*>(memory) + w.bytes};
    const DerivativeWork d(plan, arena);
    const Base base = base_at(s.base);
    const double* T;
    Residual left;
    if (!settle(w, nullptr, loops::TREE_AUGMENTED, s, base, T, left)) return false;
    for (index i = 0; out.theta && i < plan.coordinates; ++i) out.theta[i] = w.theta[i];
    return derive_closed(w, d, base, s.q, s.v, T, s.pull, s.passive, rows_kept(w, loops::TREE_AUGMENTED), out);
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
const loops::Kernels loop_kernels = {room,     solve,        push,   rows,       move, closing_room,
                                     assemble, derive_room, derive, reach_room, reach};

SOACRAFT_RIGID_END
