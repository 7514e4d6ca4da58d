// Newton-Euler inverse dynamics of a tree with flexible bodies, two sweeps. O(n) bodies.
//
// The motion of a frame is that of rigid/rnea.hpp: w, wdot and the acceleration A of its origin, without linear velocities.
// A body frame at rest for a moment, V = [w; 0], has alpha = [wdot; A]: then the frame N of a node (spots.hpp) has
//
//     w_N = w + s_w,   wdot_N = (alpha + x)_w + w x s_w,   A_N = (alpha + x)_v + 2 w x s_v + s_w x s_v,   x = Pi etadd + rate
//
// and from N at rest to the body, where the hinge holds it, with V = -s but for w:  alpha = alpha_N - x + crm(s) V.
#pragma once

#include "../rigid/rnea.hpp"
#include "state.hpp"

SOACRAFT_RIGID_BEGIN

template <class T>
struct FlexRneaWork {
    Moving<T>* moving;
    Motion<T>* branches;
    FlexStates<T> states;
    Motion<T>* spot_motions;
    Spatial<T>* spot_forces;
    template <class Taker>
    FlexRneaWork(const Job& job, Taker& arena)
        : moving(arena.template take<Moving<T>>(job.model->count)), branches(arena.template take<Motion<T>>(job.model->branches)),
          states(job, arena, false), spot_motions(arena.template take<Motion<T>>(job.model->spot_count)),
          spot_forces(arena.template take<Spatial<T>>(job.model->spot_count)) {}
};

// The motion of a frame that is fixed at X on one that moves so.
template <class T>
SOACRAFT_FLAT Motion<T> fixed_on(const Place<T>& X, const Motion<T>& at) {
    const Vec<T> w = turn_back(X.R, at.w), wdot = turn_back(X.R, at.wdot);
    return {w, wdot, turn_back(X.R, at.A + at.W * X.p), swing(w, wdot)};
}

template <class T>
SOACRAFT_FLAT Motion<T> of_node(const Motion<T>& at, const Spatial<T>& s, const Spatial<T>& x) {
    const Vec<T> w = at.w + s.w, wdot = at.wdot + x.w + cross(at.w, s.w);
    return {w, wdot, at.A + x.v + cross(at.w + w, s.v), swing(w, wdot)};
}
template <class T>
SOACRAFT_FLAT Motion<T> of_body(const Motion<T>& node, const Spatial<T>& s, const Spatial<T>& x) {
    const Vec<T> w = node.w - s.w, wdot = node.wdot - x.w + cross(s.w, w);
    return {w, wdot, node.A - x.v - cross(s.w, s.v) + cross(s.v, w) - cross(w, s.v), swing(w, wdot)};
}

// M alpha + b of a flexible body in `f`, that of its modes in the last of its rows. The columns of the modal mass are rows.
template <class T>
SOACRAFT_APART void flexible_force(const Model& model, const Flexible& f, const Motion<T>& at, FlexBody<T>& body, Spatial<T>& to) {
    typedef typename Across<T>::Wide Wide;
    const Rigid<T>& I = body.at.I;
    const index step = body.at.step;
    Spotted<T> coupling;
    coupling.Pi = body.at.rows, coupling.step = step;
    to += body.at.b + Spatial<T>{I.J * at.wdot + cross(I.h, at.A), I.m * at.A - cross(I.h, at.wdot)} +
          along_modes(coupling, f.n, static_cast<const T*>(body.etadd));
    T* const last = body.at.rows + 6 * step;
    add_to_modes(coupling, f.n, Spatial<T>{at.wdot, at.A}, last);
    for (index j = 0; j < Across<T>::end(f.n); j += Across<T>::step) {
        Wide sum = wide(last + j);
        for (index i = 0; i < f.n; ++i) sum += Wide(body.etadd[i]) * constants<T>(model.modal[f.mass + i * f.blocks()].x + j);
        store(last + j, sum);
    }
}

// tau for vdot.
template <bool elastic, class T, class In, class Out>
SOACRAFT_INLINE void flexible_inverse_dynamics(const Job& job, const Rows<T>& rows, const In& q, const In& v, const In& vdot,
                                               const FlexPulls<T>& pulls, const FlexRneaWork<T>& work, Out& tau) {
    const Model& model = *job.model;
    const Base base = base_of(job);
    const Spatial<T> V0 = spatial<T>(base.V), a0 = spatial<T>(base.a);
    const Motion<T> ground{V0.w, a0.w, a0.v + cross(V0.w, V0.v), swing(V0.w, a0.w)};
    Motion<T> at = ground;
    auto turns = turns_of<T>(model, q, model.count);
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        if (e.parent < 0)
            at = ground;
        else if (e.spot >= 0)
            at = work.spot_motions[e.spot];
        else if (model.elements[e.parent].branch >= 0)
            at = work.branches[model.elements[e.parent].branch];
        Moving<T>& me = work.moving[k];
        me.X = place_on<T>(e, turns(k), q, work.states.spots);
        move_outward<T>(e, me.X, q, v, vdot, at);
        if (e.flexible >= 0) {
            const Flexible& f = model.flexible[e.flexible];
            FlexBody<T>& body = work.states.bodies[e.flexible];
            read_modes(q, f.q, f.n, body.eta), read_modes(v, f.v, f.n, body.etad), read_modes(vdot, f.v, f.n, body.etadd);
            for (index s = f.first_spot; s < f.last_spot; ++s)
                if (work.states.used[s] || s == f.held) spot_at<true, T>(model, model.spots[s], body.eta, body.etad, work.states.spots[s]);
            if (f.held >= 0) {
                const Spotted<T>& spot = work.states.spots[f.held];
                body.held = held_at(f, spot);
                at = of_body(fixed_on(body.held, at), spot.s, spot.rate + along_modes(spot, f.n, static_cast<const T*>(body.etadd)));
            }
            for (index s = f.first_spot; s < f.last_spot; ++s) {
                if (!work.states.used[s]) continue;
                const Spotted<T>& spot = work.states.spots[s];
                work.spot_motions[s] = of_node(at, spot.s, spot.rate + along_modes(spot, f.n, static_cast<const T*>(body.etadd)));
                work.spot_forces[s] = {zeros<T>(), zeros<T>()};
            }
        }
        if (e.branch >= 0) work.branches[e.branch] = at;
        me.f = {zeros<T>(), zeros<T>()};
        if (!e.massless) me.f = newton_euler(inertia<T>(e), at);
        if (e.flexible >= 0) {
            FlexBody<T>& body = work.states.bodies[e.flexible];
            flex<elastic>(model, model.flexible[e.flexible], body.eta, body.etad, at.w, body.at);
            flexible_force(model, model.flexible[e.flexible], at, body, me.f);
        }
    }
    pulls.add(job, rows, work.states, [&](index k) { return work.moving[k].X; });
    for (index k = model.count; k-- > 0;) {
        const Element& e = model.elements[k];
        Spatial<T>& f = work.moving[k].f;
        if (pulls.on) f -= pulls.on[k];
        if (e.flexible >= 0) {
            const Flexible& own = model.flexible[e.flexible];
            const FlexBody<T>& body = work.states.bodies[e.flexible];
            T* const last = body.at.rows + 6 * body.at.step;
            for (index s = own.first_spot; s < own.last_spot; ++s) {
                if (!work.states.used[s]) continue;
                if (pulls.on) work.spot_forces[s] -= pulls.on[model.count + s];
                f += work.spot_forces[s];
                add_to_modes(work.states.spots[s], own.n, work.spot_forces[s], last);
            }
            if (own.held >= 0) {
                add_to_modes(work.states.spots[own.held], own.n, T(-1.0) * f, last);
                f = inward(body.held, f);
            }
            for (index j = 0; j < own.n; ++j) tau.set(own.v + j, pulls.modes ? last[j] - pulls.modes[own.mode + j] : last[j]);
        }
        project<T>(e, q, f, tau);
        if (e.parent >= 0) (e.spot >= 0 ? work.spot_forces[e.spot] : work.moving[e.parent].f) += inward(work.moving[k].X, f);
    }
    for (index i = 0; i < model.nv && model.has_armature; ++i) tau.set(i, tau[i] + T(model.armature[i]) * vdot[i]);
}

SOACRAFT_RIGID_END
