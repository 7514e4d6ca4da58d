// Articulated-body forward dynamics of a tree with flexible bodies, three sweeps. O(n) bodies; the steps of rigid bodies and of
// hinges are those of rigid/aba.hpp.
//
// A node of a flexible body that deforms moves as a frame N at the body frame (spots.hpp), so that children there, with L and
// z what they pass inward to it, and alpha_N = alpha + Pi etadd + a_N, a_N = rate - crm(s) V, add
//
//     P_rr += L,   P_re += L Pi,   P_ee += Pi* L Pi,   z_r += z + L a_N,   z_e += Pi* (z + L a_N)
//
// Where the hinge holds such a node, its frame N is what the hinge moves: alpha = alpha_N - Pi etadd + a_h,
// a_h = crm(s) V - rate, and with U = P_re - P_rr Pi
//
//     z_r += P_rr a_h,   z_e += P_er a_h - Pi* z_r,   P_ee -= Pi* P_re + U* Pi,   P_re = U
//
// Then the modes are eliminated (eliminate.hpp), and P and z go through the hinge.
#pragma once

#include "../rigid/aba.hpp"
#include "eliminate.hpp"
#include "state.hpp"

SOACRAFT_RIGID_BEGIN

// What a flexible body keeps of its elimination: rows of seven; `constant`: the factor of its mass is that of P_ee.
template <class T>
struct Eliminated {
    Spatial<T> V, a_h;
    T* sevens;
    bool constant;
};
// What hangs on a spot.
template <class T>
struct OnSpot {
    Spatial<T> motion, a;  // the velocity of N, later its acceleration; a_N
    Carried<T> carried;
};

template <class T>
struct FlexAbaWork {
    AbaWork<T> rigid;
    FlexStates<T> states;
    Eliminated<T>* eliminated;
    OnSpot<T>* on_spots;
    T *L, *inverse, *scratch;  // of one body at a time: P_ee and its factor, six rows over the modes
    template <class Taker>
    FlexAbaWork(const Job& job, Taker& arena)
        : rigid(*job.model, arena), states(job, arena, true),
          eliminated(arena.template take<Eliminated<T>>(job.model->flexible_count)),
          on_spots(arena.template take<OnSpot<T>>(job.model->spot_count)) {
        const Model& m = *job.model;
        const index most = most_modes<T>(m);
        L = arena.template take<T>(most * most), inverse = arena.template take<T>(most), scratch = arena.template take<T>(6 * most);
        for (index i = 0; i < m.flexible_count; ++i) {
            const Flexible& f = m.flexible[i];
            bool constant = f.held < 0;
            for (index s = f.first_spot; s < f.last_spot; ++s) constant = constant && !m.spots[s].children;
            T* sevens = arena.template take<T>(Across<T>::end(f.n) * Across<T>::seven);
            if (eliminated) eliminated[i].sevens = sevens, eliminated[i].constant = constant;
        }
    }
    Factor<T> factor(index step) const { return {L, inverse, step}; }
};

template <class T>
SOACRAFT_FLAT Articulated<typename Across<T>::Wide> widened(const Articulated<T>& P) {
    typedef typename Across<T>::Wide W;
    const auto vec = [](const Vec<T>& x) { return Vec<W>{W(x.x), W(x.y), W(x.z)}; };
    const auto sym = [](const Sym<T>& x) { return Sym<W>{W(x.xx), W(x.xy), W(x.xz), W(x.yy), W(x.yz), W(x.zz)}; };
    return {sym(P.A), {vec(P.B.a), vec(P.B.b), vec(P.B.c)}, sym(P.C)};
}
template <class T>
SOACRAFT_FLAT Spatial<typename Across<T>::Wide> six_at(const T* rows, index step) {
    return {{wide(rows), wide(rows + step), wide(rows + 2 * step)}, {wide(rows + 3 * step), wide(rows + 4 * step), wide(rows + 5 * step)}};
}
template <class T, class W>
SOACRAFT_FLAT void set_six_at(T* rows, index step, const Spatial<W>& x) {
    store(rows, x.w.x), store(rows + step, x.w.y), store(rows + 2 * step, x.w.z);
    store(rows + 3 * step, x.v.x), store(rows + 4 * step, x.v.y), store(rows + 5 * step, x.v.z);
}

// The lower triangle by columns: to += factor a* b for two blocks of six rows over the modes.
template <class T>
SOACRAFT_FLAT void add_product(index n, const T* a, const T* b, index step, double factor, T* SOACRAFT_RESTRICT to) {
    typedef typename Across<T>::Wide Wide;
    for (index r = 0; r < Across<T>::end(n); r += Across<T>::step) {
        const Spatial<Wide> x = Wide(factor) * six_at(b + r, step);
        const index last = r + Across<T>::step < n ? r + Across<T>::step : n;
        for (index i = 0; i < last; ++i) {
            const Spatial<Wide> y{{Wide(a[i]), Wide(a[step + i]), Wide(a[2 * step + i])},
                                  {Wide(a[3 * step + i]), Wide(a[4 * step + i]), Wide(a[5 * step + i])}};
            store(to + i * step + r, wide(to + i * step + r) + dot(x, y));
        }
    }
}

// L and z of what is on a spot, taken by the body and its modes.
template <class T>
SOACRAFT_APART void absorb(const Flexible& f, const Spotted<T>& spot, const OnSpot<T>& on, bool carries, const FlexAbaWork<T>& w,
                           FlexBody<T>& body, Carried<T>& my) {
    const index step = body.at.step;
    Spatial<T> z = on.carried.z;
    if (carries) {
        z += on.carried.P * on.a;
        my.P += on.carried.P, my.of += on.carried.of;
        const auto L = widened(on.carried.P);
        for (index j = 0; j < Across<T>::end(f.n); j += Across<T>::step) {
            const auto x = L * six_at(spot.Pi + j, step);
            set_six_at(w.scratch + j, step, x);
            set_six_at(body.at.rows + j, step, six_at(body.at.rows + j, step) + x);
        }
        add_product(f.n, spot.Pi, w.scratch, step, 1.0, w.L);
    }
    my.z += z;
    add_to_modes(spot, f.n, z, body.at.rows + 6 * step);
}

// From the motion of the body to that of the node that its hinge holds.
template <class T>
SOACRAFT_APART void hold(const Flexible& f, const Spotted<T>& spot, const Spatial<T>& a_h, const FlexAbaWork<T>& w,
                         FlexBody<T>& body, Carried<T>& my) {
    const index step = body.at.step;
    my.z += my.P * a_h;
    Spotted<T> P_re = spot;
    P_re.Pi = body.at.rows;
    add_to_modes(P_re, f.n, a_h, body.at.rows + 6 * step);
    add_to_modes(spot, f.n, T(-1.0) * my.z, body.at.rows + 6 * step);
    const auto P = widened(my.P);
    for (index j = 0; j < Across<T>::end(f.n); j += Across<T>::step)
        set_six_at(w.scratch + j, step, six_at(body.at.rows + j, step) - P * six_at(spot.Pi + j, step));
    add_product(f.n, spot.Pi, static_cast<const T*>(body.at.rows), step, -1.0, w.L);
    add_product(f.n, static_cast<const T*>(w.scratch), static_cast<const T*>(spot.Pi), step, -1.0, w.L);
    for (index j = 0; j < Across<T>::end(f.n); j += Across<T>::step)
        set_six_at(body.at.rows + j, step, six_at(static_cast<const T*>(w.scratch) + j, step));
}

SOACRAFT_FLAT Factor<double> mass_factor(const Model& model, const Flexible& f) {
    const double* L = model.modal[f.factor].x;
    return {L, L + f.n * 8 * f.blocks(), 8 * f.blocks()};
}

// M(eta) and b of a flexible body, whose frame has a linear velocity too.
template <bool elastic, class T, class In>
SOACRAFT_FLAT void bend(const Model& model, const Flexible& f, const In& q, const In& v, const Spatial<T>& V, FlexBody<T>& body) {
    read_modes(q, f.q, f.n, body.eta), read_modes(v, f.v, f.n, body.etad);
    flex<elastic>(model, f, body.eta, body.etad, V.w, body.at);
    const Vec<T> a = cross(V.w, V.v);
    body.at.b += Spatial<T>{cross(body.at.I.h, a), body.at.I.m * a};
    Spotted<T> linear;
    linear.Pi = body.at.rows, linear.step = body.at.step;
    add_to_modes(linear, f.n, Spatial<T>{zeros<T>(), a}, body.at.rows + 6 * body.at.step);
}

// The inertia of a flexible body and what is on it, with its modes eliminated, at the frame of its element.
template <bool elastic, class T, class In>
SOACRAFT_APART void flexible_inward(const Model& model, const Flexible& f, const In& q, const In& v, const In& tau,
                                    const FlexPulls<T>& pulls, const FlexAbaWork<T>& w, Carried<T>& my, T& margin) {
    const index i = &f - model.flexible;
    FlexBody<T>& body = w.states.bodies[i];
    const Eliminated<T>& by = w.eliminated[i];
    const index step = body.at.step;
    bend<elastic>(model, f, q, v, by.V, body);
    my.P += body.at.I, my.z += body.at.b;
    T* const last = body.at.rows + 6 * step;
    for (index j = 0; j < f.n; ++j) last[j] -= tau[f.v + j];
    if (pulls.modes)
        for (index j = 0; j < f.n; ++j) last[j] -= pulls.modes[f.mode + j];
    if (!by.constant)
        for (index k = 0; k < f.n; ++k) {
            const double* column = model.modal[f.mass + k * f.blocks()].x;
            for (index j = 0; j < Across<T>::end(f.n); j += Across<T>::step) store(w.L + k * step + j, constants<T>(column + j));
        }
    for (index s = f.first_spot; s < f.last_spot; ++s) {
        if (!w.states.used[s]) continue;
        OnSpot<T>& on = w.on_spots[s];
        if (pulls.on) on.carried.z -= pulls.on[model.count + s];
        absorb(f, w.states.spots[s], on, model.spots[s].children != 0, w, body, my);
    }
    if (f.held >= 0) hold(f, w.states.spots[f.held], by.a_h, w, body, my);
    const Sizes<T> own{my.P.A.xx + my.P.A.yy + my.P.A.zz, my.P.C.xx + my.P.C.yy + my.P.C.zz};
    my.of = {larger_by(FORGOTTEN, my.of.A, own.A), larger_by(FORGOTTEN, my.of.C, own.C)};
    to_sevens(f.n, static_cast<const T*>(body.at.rows), step, by.sevens);
    const auto eliminate = [&](const auto& by_factor) {
        solve_rows(f.n, by_factor, by.sevens);
        take_modes(f.n, static_cast<const T*>(by.sevens), my.P, my.z);
        solve_rows_back(f.n, by_factor, by.sevens);
    };
    if (by.constant) {
        eliminate(mass_factor(model, f));
    } else {
        factor(f.n, w.L, step, w.inverse, margin);
        eliminate(w.factor(step));
    }
    if (f.held >= 0) my = {inward(body.held, my.P), inward(body.held, my.z), shifted(body.held.p, my.of)};
}

// Where elements, flexible bodies and their nodes are and how fast, base to tips.
template <class T, class In>
SOACRAFT_INLINE void flexible_velocities(const Model& model, const Spatial<T>& V0, const In& q, const In& v, const FlexAbaWork<T>& w) {
    Spatial<T> at = V0;
    auto turns = turns_of<T>(model, q, model.count);
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        if (e.parent < 0)
            at = V0;
        else if (e.spot >= 0)
            at = w.on_spots[e.spot].motion;
        else if (model.elements[e.parent].branch >= 0)
            at = w.rigid.motions[model.elements[e.parent].branch];
        Joint<T>& me = w.rigid.joints[k];
        me.X = place_on<T>(e, turns(k), q, w.states.spots);
        me.V = at = outward(me.X, at) + across_floating<T>(e, q, v);
        if (e.flexible >= 0) {
            const Flexible& f = model.flexible[e.flexible];
            FlexBody<T>& body = w.states.bodies[e.flexible];
            Eliminated<T>& by = w.eliminated[e.flexible];
            read_modes(q, f.q, f.n, body.eta), read_modes(v, f.v, f.n, body.etad);
            for (index s = f.first_spot; s < f.last_spot; ++s)
                if (w.states.used[s] || s == f.held) spot_at<true, T>(model, model.spots[s], body.eta, body.etad, w.states.spots[s]);
            if (f.held >= 0) {
                const Spotted<T>& spot = w.states.spots[f.held];
                body.held = held_at(f, spot);
                at = outward(body.held, at) - spot.s;
                by.a_h = motion_cross(spot.s, at) - spot.rate;
            }
            by.V = at;
            for (index s = f.first_spot; s < f.last_spot; ++s) {
                if (!w.states.used[s]) continue;
                const Spotted<T>& spot = w.states.spots[s];
                w.on_spots[s] = {at + spot.s, spot.rate - motion_cross(spot.s, at), nothing<T>()};
            }
        }
        if (e.branch >= 0) w.rigid.motions[e.branch] = at;
    }
}

// Articulated inertias and residual forces, tips to base; `past(e, me, my, margin)` is what an element passes inward through
// its hinge. False when a hinge or a mode has no inertia to move.
template <bool elastic, class T, class In, class Past>
SOACRAFT_INLINE bool flexible_inertias(const Model& model, const In& q, const In& v, const In& tau, const FlexPulls<T>& pulls,
                                       const FlexAbaWork<T>& w, const Past& past) {
    for (index i = 0; i < model.branches; ++i) w.rigid.branches[i] = nothing<T>();
    T margin(1.0);
    Carried<T> carry = nothing<T>();
    for (index k = model.count; k-- > 0;) {
        const Element& e = model.elements[k];
        const Joint<T>& me = w.rigid.joints[k];
        Carried<T> my = e.branch >= 0 ? w.rigid.branches[e.branch] : e.last > k + 1 && e.flexible < 0 ? carry : nothing<T>();
        if (!e.massless) {
            const Rigid<T> I = inertia<T>(e);
            const Spatial<T>& V = e.flexible < 0 ? me.V : w.eliminated[e.flexible].V;
            my.P += I;
            my.z += gyroscopic(I, V);
        }
        if (pulls.on) my.z -= pulls.on[k];
        if (e.flexible >= 0) flexible_inward<elastic>(model, model.flexible[e.flexible], q, v, tau, pulls, w, my, margin);
        const Carried<T> out = past(e, me, my, margin);
        if (e.parent < 0) continue;
        const index branch = model.elements[e.parent].branch;
        if (e.spot >= 0)
            w.on_spots[e.spot].carried += out;
        else if (branch >= 0)
            w.rigid.branches[branch] += out;
        else
            carry = out;
    }
    return !any_not_above(margin, T(0.0));
}

// Accelerations, base to tips.
template <class T, class In, class Out>
SOACRAFT_INLINE void flexible_accelerations(const Model& model, const Spatial<T>& a0, const In& q, const In& v,
                                            const FlexAbaWork<T>& w, Out& vdot) {
    Spatial<T> at = a0;
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        const Joint<T>& me = w.rigid.joints[k];
        if (e.parent < 0)
            at = a0;
        else if (e.spot >= 0)
            at = w.on_spots[e.spot].motion;
        else if (model.elements[e.parent].branch >= 0)
            at = w.rigid.motions[model.elements[e.parent].branch];
        at = accelerate(e, me, q, v, w.rigid.dofs, at, vdot);
        if (e.flexible >= 0) {
            const Flexible& f = model.flexible[e.flexible];
            const FlexBody<T>& body = w.states.bodies[e.flexible];
            const Eliminated<T>& by = w.eliminated[e.flexible];
            if (f.held >= 0) at = outward(body.held, at);
            accelerate_modes(f.n, static_cast<const T*>(by.sevens), at, body.etadd);
            for (index j = 0; j < f.n; ++j) vdot.set(f.v + j, body.etadd[j]);
            if (f.held >= 0) at += by.a_h - along_modes(w.states.spots[f.held], f.n, body.etadd);
            for (index s = f.first_spot; s < f.last_spot; ++s)
                if (model.spots[s].children) w.on_spots[s].motion = at + w.on_spots[s].a + along_modes(w.states.spots[s], f.n, body.etadd);
        }
        if (e.branch >= 0) w.rigid.motions[e.branch] = at;
    }
}

// vdot for tau. False when a hinge or a mode has no inertia to move.
template <bool elastic, class T, class In, class Out>
SOACRAFT_INLINE bool flexible_forward_dynamics(const Job& job, const Rows<T>& rows, const In& q, const In& v, const In& tau,
                                               const FlexPulls<T>& pulls, const FlexAbaWork<T>& w, Out& vdot) {
    const Model& model = *job.model;
    const Base base = base_of(job);
    flexible_velocities<T>(model, spatial<T>(base.V), q, v, w);
    pulls.add(job, rows, w.states, [&](index k) { return w.rigid.joints[k].X; });
    const bool moves = flexible_inertias<elastic, T>(model, q, v, tau, pulls, w, [&](const Element& e, const Joint<T>& me, Carried<T>& my, T& margin) {
        return past_element(model, e, me, q, v, tau, my, w.rigid.dofs, margin);
    });
    flexible_accelerations<T>(model, spatial<T>(base.a), q, v, w, vdot);
    return moves;
}

SOACRAFT_RIGID_END
