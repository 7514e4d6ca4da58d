// Mixed dynamics: accelerations are given at some dofs, forces at the others. O(n).
//
// The articulated-body dynamics with H -> H_f and a -> a + H_p* vdot_p; the forces at the other dofs are those of inverse
// dynamics with all accelerations. The free dofs of a hinge are taken out one by one, each as if it were the last:
//
//     U = P S,   D = S* U + J,   u = T - S* z;     P <- P - U D^-1 U*,   z <- z + U D^-1 u        and, the last first,
//     x = D^-1 (u - U* a),   a <- a + S x
#pragma once

#include "aba.hpp"

SOACRAFT_RIGID_BEGIN

// What a free dof keeps between the sweeps.
template <class T>
struct Taken {
    Spatial<T> U;
    T D_inv, u;
};

template <class T>
struct MixedWork {
    Place<T>* X;       // by elements
    Spatial<T>* V;
    Spatial<T>* c;     // what velocity and prescribed accelerations add to the acceleration
    Spatial<T>* a;
    Carried<T>* branches;
    Taken<T>* taken;   // by dofs
    template <class Taker>
    MixedWork(const Model& m, Taker& arena)
        : X(arena.template take<Place<T>>(m.count)), V(arena.template take<Spatial<T>>(m.count)),
          c(arena.template take<Spatial<T>>(m.count)), a(arena.template take<Spatial<T>>(m.count)),
          branches(arena.template take<Carried<T>>(m.branches)), taken(arena.template take<Taken<T>>(m.nv)) {}
};

// Column i of H*, of unit length where the hinge has one dof.
template <class T, class In>
SOACRAFT_FLAT Spatial<T> unit_column(const Element& e, const In& q, index i) {
    const T o(0.0), one(1.0);
    const Vec<T> no{o, o, o}, z{o, o, one};
    if (e.kind == REVOLUTE) return {z, no};
    if (e.kind == PRISMATIC) return {no, z};
    if (e.kind == HELICAL) return {z, {o, o, T(e.pitch)}};
    const index axis = i % 3;
    const Vec<T> x{axis == 0 ? one : o, axis == 1 ? one : o, axis == 2 ? one : o};
    if (i >= 3) return {no, x};
    return {x, e.kind == ROLLING ? cross(lever<T>(e, q), x) : no};
}

// Take a dof out; its D less what is in doubt.
template <class T>
SOACRAFT_FLAT T take_dof(const Element& e, index i, const Spatial<T>& S, const T& force, const T& armature,
                         const Sizes<T>& grown, Carried<T>& my, Taken<T>& me) {
    me.U = my.P * S;
    const T D = dot(S, me.U) + armature;
    me.D_inv = T(1.0) / D;
    me.u = force - dot(S, my.z);
    const T margin = D - T(DOUBT) * along_dof(my.of, e, i);
    subtract_square(my.P.A, me.D_inv, me.U.w);
    subtract_square(my.P.C, me.D_inv, me.U.v);
    my.P.B.a -= (me.D_inv * me.U.v.x) * me.U.w;
    my.P.B.b -= (me.D_inv * me.U.v.y) * me.U.w;
    my.P.B.c -= (me.D_inv * me.U.v.z) * me.U.w;
    take_out(my.of, along_dof(grown, e, i), me.D_inv * me.U);
    my.z += (me.D_inv * me.u) * me.U;
    return margin;
}

// All accelerations: `given` at the dofs that `held` marks, the others for the force `tau`. False when a dof that is free
// has no inertia to move.
template <class T, class In, class Out>
SOACRAFT_INLINE bool mixed_accelerations(const Model& model, const Base& base, const In& q, const In& v, const In& tau,
                                         const In& given, const unsigned char* held, const Spatial<T>* pull,
                                         const MixedWork<T>& w, Out& vdot) {
    const Spatial<T> V0 = spatial<T>(base.V), a0 = spatial<T>(base.a);
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        w.X[k] = place<T>(e, q);
        const Spatial<T> VJ = across<T>(e, q, v);
        w.V[k] = outward(w.X[k], e.parent < 0 ? V0 : w.V[e.parent]) + VJ;
        w.c[k] = velocity_terms<T>(e, q, w.V[k], VJ);
        for (index i = 0; i < dofs(e.kind); ++i)
            if (held[e.v + i]) w.c[k] += (T(e.scale) * given[e.v + i]) * unit_column<T>(e, q, i);
    }
    for (index i = 0; i < model.branches; ++i) w.branches[i] = nothing<T>();
    T margin(1.0);
    Carried<T> carry = nothing<T>();
    for (index k = model.count; k-- > 0;) {
        const Element& e = model.elements[k];
        Carried<T> my = e.branch >= 0 ? w.branches[e.branch] : e.last > k + 1 ? carry : nothing<T>();
        if (!e.massless) {
            const Rigid<T> I = inertia<T>(e);
            my.P += I;
            my.z += force_cross(w.V[k], I * w.V[k]);
        }
        if (pull) my.z -= pull[k];
        const Sizes<T> grown = meet(my.of, my.P, e);
        index free = 0;
        for (index i = 0; i < dofs(e.kind); ++i) {
            if (held[e.v + i]) continue;
            const T armature(e.unscale * e.unscale * model.armature[e.v + i]);
            margin = minimum(margin, take_dof(e, i, unit_column<T>(e, q, i), T(e.unscale) * tau[e.v + i], armature, grown,
                                              my, w.taken[e.v + i]));
            ++free;
        }
        if (free == 6 && !e.has_armature) {  // nothing is left but rounding
            my = nothing<T>();
            my.z = {three<T>(tau, e.v), three<T>(tau, e.v + 3)};
        }
        my.z += my.P * w.c[k];
        if (e.parent < 0) continue;
        const Carried<T> out{inward(w.X[k], my.P), inward(w.X[k], my.z), shifted(w.X[k].p, my.of)};
        const Element& p = model.elements[e.parent];
        if (p.branch >= 0) {
            w.branches[p.branch].P += out.P;
            w.branches[p.branch].z += out.z;
            w.branches[p.branch].of += out.of;
        } else {
            carry = out;
        }
    }
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        w.a[k] = outward(w.X[k], e.parent < 0 ? a0 : w.a[e.parent]) + w.c[k];
        for (index i = dofs(e.kind); i-- > 0;) {
            const index at = e.v + i;
            if (held[at]) {
                vdot.set(at, given[at]);
                continue;
            }
            const Taken<T>& me = w.taken[at];
            const T rate = me.D_inv * (me.u - dot(me.U, w.a[k]));
            vdot.set(at, T(e.unscale) * rate);
            w.a[k] += rate * unit_column<T>(e, q, i);
        }
    }
    return !any_not_above(margin, T(0.0));
}

SOACRAFT_RIGID_END
