// What the solvers of closed chains keep while they work on one state, or on as many as a T holds.
#pragma once

#include "../poison.hpp"
#include "../rigid/passive.hpp"
#include "rows/closure_rows.hpp"

SOACRAFT_RIGID_BEGIN

// Memory is cut by a Cutter: one that counts, then one that hands out. No containers: what they share between builds
// for several instruction sets, the linker would join.
struct Cutter {
    char* at;
    std::size_t taken = 0;
    template <class T>
    void operator()(T*& to, index n) {
        const std::size_t bytes = static_cast<std::size_t>(n) * sizeof(T);
        to = at ? reinterpret_cast<T*>(at + taken) : nullptr;
        if (at) mark_cut(at + taken, bytes);
        taken += cut_size(bytes);
    }
};

template <class T>
struct LoopWorkOf {
    const Plan& plan;
    const Model& model;
    LimbOf<T>* limbs;
    Spatial<T> *S, *W;  // columns of H*, and of U L^-* with D = L L*, in the order of d
    T* L;  // of each hinge: 1/sqrt(D), or 6 rows of 6
    T *u, *push;  // in the order of d
    Articulated<T>* P;
    Spatial<T> *z, *A, *f;
    T *vdot, *left, *step, *force;  // in the order of v
    LinkWork<T> linked;
    FlexibleLimbs<T> flexible;
    TieOf<T>* ties;
    RatioOf<T>* ratios;
    T *rates, *theta;
    T *gamma, *open, *row, *lambda, *extra, *unit;  // by rows; unit: what each is measured by
    T *Y, *blocks, *LL, *X, *half, *spare;  // of the Schur complement
    index *order, *rank;
    Spatial<T>* F;  // of one way
    T* group;  // of the groups
    index* group_order;
    T* rest;  // of rows that no group holds
    index* rest_order;
    std::size_t bytes;
    T moving = 0.0;   // the largest of Mcal vdot + C, in units
    T open_by = 0.0;  // the largest opening, in radians, lengths of loops, sizes of couplings
    T kept = 0.0;     // how many rows count, of those in a Schur complement
    T rate = 0.0;     // how fast the mechanism moves, in radians or lengths a second
    T strain = 0.0;   // what flexible bodies push back with at most, in units

    LoopWorkOf(const Plan& plan_, char* memory) : plan(plan_), model(*plan_.tree) {
        Cutter cut{memory};
        const index n = model.count, nv = model.nv, m = plan.size, limbs_count = n + model.spot_count;
        index terms = 0, longest = 0;
        for (const Coupling& c : plan.couplings) terms += static_cast<index>(c.terms.size());
        for (const loops::Way& way : plan.ways) {
            const index steps = static_cast<index>(way.steps.size());
            longest = longest < steps ? steps : longest;
        }
        cut(linked.at, n + 2), cut(limbs, limbs_count), cut(P, limbs_count), cut(z, limbs_count), cut(A, limbs_count);
        cut(f, limbs_count);
        cut(S, nv), cut(W, nv), cut(u, nv), cut(push, nv), cut(vdot, nv), cut(left, nv), cut(step, nv), cut(force, nv);
        cut(L, n + 36 * model.wides);
        cut(ties, static_cast<index>(plan.closures.size())), cut(ratios, static_cast<index>(plan.couplings.size()));
        cut(rates, terms), cut(theta, plan.coordinates);
        cut(gamma, m), cut(open, m), cut(row, m), cut(lambda, m), cut(extra, 4 * m), cut(unit, m), cut(half, m), cut(spare, m);
        cut(Y, plan.Y_size), cut(blocks, plan.S_size), cut(LL, plan.L_size), cut(X, plan.X_size);
        cut(order, plan.order_size), cut(rank, static_cast<index>(plan.fronts.size()));
        cut(F, 6 * longest), cut(group, plan.group_size), cut(group_order, nv);
        cut(rest, plan.rest_size), cut(rest_order, static_cast<index>(plan.rest.size()));
        flexible.take(model, plan.spot_used.data(), cut);
        bytes = cut.taken;
    }

    // The factor of a hinge's D: a number, or 6 rows of 6.
    T* factor(const Element& e, index k) { return e.wide < 0 ? L + k : L + model.count + 36 * e.wide; }
    // Place of dof i of a flexible body in the order of d, and of v: its modes, then those of its hinge.
    index place(const Element& e, index i) const {
        const Flexible& f = model.flexible[e.flexible];
        return i < f.n ? FlexibleLimbs<T>::first_mode(model, f) + i : e.d + i - f.n;
    }
    index dof(const Element& e, index i) const {
        const Flexible& f = model.flexible[e.flexible];
        return i < f.n ? f.v + i : e.v + i - f.n;
    }
};
typedef LoopWorkOf<double> LoopWork;

template <class T>
SOACRAFT_FLAT const Spatial<T>& of_element(const Spatial<T>* A, index element, const Spatial<T>& ground) {
    return element < 0 ? ground : A[element];
}

template <class T>
inline T largest(const T* x, index n) {
    T most(0.0);
    for (index i = 0; i < n; ++i) most = larger(most, absolute(x[i]));
    return most;
}

// The largest of rates x of dofs in their units, and of generalized forces.
template <class T>
inline T largest_rate(const Plan& plan, const T* x) {
    T most(0.0);
    for (index i = 0; i < plan.tree->nv; ++i) most = larger(most, T(plan.unit[i]) * absolute(x[i]));
    return most;
}
template <class T>
inline T largest_force(const Plan& plan, const T* x) {
    T most(0.0);
    for (index i = 0; i < plan.tree->nv; ++i) most = larger(most, absolute(x[i]) / T(plan.unit[i]));
    return most;
}

template <class T>
inline T length_of(const T* x) { return square_root(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]); }

// How fast a mechanism moves: its dofs as they move, or as gravity and forces would let the whole move on its own length.
template <class T>
inline T natural_rate(const Plan& plan, const Base& base, const T* v, Given<T> force, Given<T> pull, const T& strain) {
    T pushed = force ? larger(largest_force(plan, force), strain) : strain;
    for (index k = 0; pull && k < plan.tree->body_count; ++k)
        pushed = larger(pushed, length_of(pull + 6 * k) + T(plan.length) * length_of(pull + 6 * k + 3));
    const T falling(length_of(base.a + 3) / plan.length);
    return larger(largest_rate(plan, v), square_root(larger(falling, plan.inertia > 0.0 ? pushed / T(plan.inertia) : T(0.0))));
}

// Whether a closure is closed, unless it is driven, and does not open: angles in radians, distances in lengths of its loop.
template <class T>
inline Where<T> is_closed(const Plan& plan, const Closure& c, const TieOf<T>& t, const T* unit, const T& rate, bool driven) {
    const T closed(plan.tolerances.closed);
    Where<T> fine = everywhere<T>();
    if (!driven) {
        fine &= is_at_most(length_of(t.gap), closed);
        fine &= is_at_most(length_of(t.gap + 3), closed * T(c.length));
    }
    for (index r = 0; r < c.rows; ++r) fine &= is_at_most(absolute(t.speed[r]), closed * rate * unit[r]);
    return fine;
}

// A driven closure: its rows less U = Q u and Udot = Q (udot - w x u), the axes of a turning with -w as seen from b.
template <class T>
inline void drive(const Closure& c, const LimbOf<T>* limbs, const T* rates, TieOf<T>& t) {
    const Spatial<T> u = to_axes(t.R_a, rates), udot = to_axes(t.R_a, rates + 6);
    Vec<T> w = none<T>().w;
    if (c.b.element >= 0) w += limbs[c.b.element].V.w;
    if (c.a.element >= 0) w -= limbs[c.a.element].V.w;
    const Spatial<T> rate = udot - Spatial<T>{cross(w, u.w), cross(w, u.v)};
    for (index r = 0; r < c.rows; ++r) t.speed[r] -= dot(t.Q[r], u), t.gamma[r] -= dot(t.Q[r], rate);
}

// The stance and the rows at a state; false where the state is off its closures or Python should look at it. `wanted`:
// coordinates of all closures' hinges; `checked`: a state off its closures is refused.
template <class T>
inline Where<T> take_rows(LoopWorkOf<T>& w, const Base& base, const T* q, const T* v, Given<T> force, Given<T> pull,
                          Given<T> theta, bool wanted, bool checked,
                          const loops::DrivesOf<typename Same<T>::type>* drives = nullptr) {
    const Plan& plan = w.plan;
    if (checked && !(plan.length > 0.0)) return nowhere<T>();  // only a state tells how large the model is
    take_stance(w.model, base, q, v, pull, w.limbs, w.S, &w.flexible);
    w.strain = checked ? largest_strain(w.model, plan.unit.data(), w.flexible) : T(0.0);
    for (index i = 0; i < plan.coordinates; ++i) w.theta[i] = theta[i];
    w.rate = checked ? natural_rate(plan, base, v, force, pull, w.strain) : T(0.0);
    const Spatial<T> ground = spatial<T>(base.a);
    Where<T> fine = everywhere<T>();
    for (std::size_t i = 0; i < plan.closures.size(); ++i) {
        const Closure& c = plan.closures[i];
        TieOf<T>& t = w.ties[i];
        fine &= tie(plan, c, w.limbs, wanted, w.theta, t);
        if (!any(fine)) return fine;
        for (index r = 0; r < c.rows; ++r)
            w.unit[c.row + r] = length_of(t.local + 6 * r) + T(c.length) * length_of(t.local + 6 * r + 3);
        const bool driven = drives && drives->place[i] >= 0;
        if (driven && !c.fixed) return nowhere<T>();  // what it forbids turns with its coordinates
        if (driven) drive(c, w.limbs, drives->rates + drives->place[i], t);
        if (checked) fine &= is_closed(plan, c, t, w.unit + c.row, w.rate, driven);
        if (!any(fine)) return fine;
        if (!driven) w.open_by = larger(w.open_by, larger(length_of(t.gap), length_of(t.gap + 3) / T(c.length)));
        const Spatial<T> &A_a = c.a.element < 0 ? ground : w.limbs[c.a.element].A0,
                         &A_b = c.b.element < 0 ? ground : w.limbs[c.b.element].A0;
        for (index r = 0; r < c.rows; ++r) w.gamma[c.row + r] = t.gamma[r] + along(t, r, A_a, A_b);
    }
    index at = 0;
    for (std::size_t i = 0; i < plan.couplings.size(); ++i) {
        const Coupling& c = plan.couplings[i];
        RatioOf<T>& r = w.ratios[i] = ratio(c, q, v, w.rates, at);
        const index place = drives ? drives->place[plan.closures.size() + i] : -1;
        if (place >= 0) r.speed -= drives->rates[place], r.gamma -= drives->rates[place + 1];
        at += static_cast<index>(c.terms.size());
        const T allowed(plan.tolerances.closed * c.size);
        if (checked) fine &= is_at_most(absolute(r.speed), allowed * w.rate);
        if (checked && place < 0) fine &= is_at_most(absolute(r.residual), allowed);
        if (!any(fine)) return fine;
        if (place < 0) w.open_by = larger(w.open_by, absolute(r.residual) / T(c.size));
        w.unit[c.row] = T(c.size);
        w.gamma[c.row] = r.gamma;
    }
    return fine;
}

// Gc x of velocities or accelerations A of the elements that rates x of the dofs go with; `ground` has its own.
template <class T>
inline void row_rates(const LoopWorkOf<T>& w, const Spatial<T>& ground, const T* x, T* SOACRAFT_RESTRICT out) {
    const Plan& plan = w.plan;
    for (std::size_t i = 0; i < plan.closures.size(); ++i) {
        const Closure& c = plan.closures[i];
        const Spatial<T> &A_a = of_element(w.A, c.a.element, ground), &A_b = of_element(w.A, c.b.element, ground);
        for (index r = 0; r < c.rows; ++r) out[c.row + r] = along(w.ties[i], r, A_a, A_b);
    }
    for (std::size_t i = 0; i < plan.couplings.size(); ++i) {
        const Coupling& c = plan.couplings[i];
        out[c.row] = T(0.0);
        for (std::size_t k = 0; k < c.terms.size(); ++k)
            out[c.row] += w.rates[w.ratios[i].rates + static_cast<index>(k)] * x[c.terms[k].v];
    }
}

// Gc vdot + Gcdot v, from the accelerations A of the elements.
template <class T>
inline void row_residual(const LoopWorkOf<T>& w, const Base& base, const T* vdot, T* SOACRAFT_RESTRICT left) {
    row_rates(w, spatial<T>(base.a), vdot, left);
    for (std::size_t i = 0; i < w.plan.closures.size(); ++i) {
        const Closure& c = w.plan.closures[i];
        for (index r = 0; r < c.rows; ++r) left[c.row + r] += w.ties[i].gamma[r];
    }
    for (std::size_t i = 0; i < w.plan.couplings.size(); ++i) left[w.plan.couplings[i].row] += w.ratios[i].gamma;
}

// Add to the forces `w.f` on the elements what multipliers do by closures.
template <class T>
inline void push_elements(LoopWorkOf<T>& w, const T* lambda) {
    for (std::size_t i = 0; i < w.plan.closures.size(); ++i) {
        const Closure& c = w.plan.closures[i];
        const TieOf<T>& t = w.ties[i];
        Spatial<T> push = none<T>();
        for (index r = 0; r < c.rows; ++r) push += lambda[c.row + r] * t.Q[r];
        if (c.b.element >= 0) w.f[c.b.element] += pulled(t.r_b, push);
        if (c.a.element >= 0) w.f[c.a.element] -= pulled(t.r_a, push);
    }
}

// Add to generalized forces `sign` times what multipliers do by couplings.
template <class T>
inline void push_dofs(const LoopWorkOf<T>& w, const T* lambda, double sign, T* to) {
    for (std::size_t i = 0; i < w.plan.couplings.size(); ++i) {
        const Coupling& c = w.plan.couplings[i];
        for (std::size_t k = 0; k < c.terms.size(); ++k)
            to[c.terms[k].v] += T(sign) * w.rates[w.ratios[i].rates + static_cast<index>(k)] * lambda[c.row];
    }
}

// Gc* lambda into `w.left`. O(n).
template <class T>
inline void row_forces(LoopWorkOf<T>& w, const T* lambda) {
    for (index i = 0; i < w.model.count; ++i) w.f[i] = none<T>();
    w.flexible.clear(w.model, w.f);
    push_elements(w, lambda);
    through_hinges(w.model, w.limbs, w.S, w.f, w.left, &w.flexible);
    push_dofs(w, lambda, 1.0, w.left);
}

// force - Mcal vdot - C - Gc* lambda into `w.left`, from the accelerations A; lambda may be null. O(n).
template <class T>
inline void unbalanced(LoopWorkOf<T>& w, const T* force, const T* vdot, Given<T> lambda) {
    const Plan& plan = w.plan;
    for (index i = 0; i < w.model.count; ++i) {
        w.f[i] = w.limbs[i].I * w.A[i] + w.limbs[i].b;
    }
    w.flexible.clear(w.model, w.f), w.flexible.add_inertia(w.model, w.A, vdot, true, w.f);
    if (lambda) push_elements(w, lambda);
    through_hinges(w.model, w.limbs, w.S, w.f, w.left, &w.flexible);
    w.moving = largest_force(plan, w.left);
    for (index i = 0; i < w.model.nv; ++i) {
        T& left = w.left[i];
        left = force[i] - left;
        if (w.model.has_armature) left -= T(w.model.armature[i]) * vdot[i];
    }
    if (lambda) push_dofs(w, lambda, -1.0, w.left);
}

// What an answer leaves of the closures and of the motion, in units, relative to the largest of what each is made of: as
// soacraft/kinematics/residuals.py has it.
template <class T>
struct ResidualOf {
    T closures, motion;
};
typedef ResidualOf<double> Residual;

template <class T>
inline T part(const T& x, const T& of) { return choose(is_above(of, T(0.0)), x / of, x); }

template <class T>
inline ResidualOf<T> residual_of(const LoopWorkOf<T>& w, const T* force) {
    const Plan& plan = w.plan;
    T left(0.0), bent(0.0), carried(0.0);
    for (index i = 0; i < plan.size; ++i) {
        left = larger(left, absolute(w.row[i]) / w.unit[i]);
        bent = larger(bent, absolute(w.gamma[i]) / w.unit[i]);
        carried = larger(carried, absolute(w.lambda[i]) * w.unit[i]);
    }
    const T square = w.rate * w.rate;
    const T moved = larger(square, plan.inertia > 0.0 ? carried / T(plan.inertia) : T(0.0));
    const T rows = larger(larger(bent, moved), largest_rate(plan, w.vdot));
    const T forces = larger(larger(w.moving, carried), larger(larger(largest_force(plan, force), w.strain), T(plan.inertia) * square));
    return {part(left, rows), part(largest_force(plan, w.left), forces)};
}

SOACRAFT_RIGID_END
