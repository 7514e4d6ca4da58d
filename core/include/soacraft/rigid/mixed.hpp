// Mixed dynamics: accelerations are given at some dofs, forces at the others. O(n).
//
// The articulated-body dynamics with H -> H_f and a -> a + H_p* vdot_p; the forces at the other dofs are those of inverse
// dynamics with all accelerations. Only the free dofs of a hinge are taken out (hinge_step.hpp).
#pragma once

#include "aba.hpp"

SOACRAFT_RIGID_BEGIN

template <class T>
struct MixedWork {
    Place<T>* X;       // by elements
    Spatial<T>* V;
    Spatial<T>* c;     // what velocity and prescribed accelerations add to the acceleration
    Spatial<T>* a;
    Carried<T>* branches;
    Solved<T>* dofs;   // in the order of the elements; of the free ones
    template <class Taker>
    MixedWork(const Model& m, Taker& arena)
        : X(arena.template take<Place<T>>(m.count)), V(arena.template take<Spatial<T>>(m.count)),
          c(arena.template take<Spatial<T>>(m.count)), a(arena.template take<Spatial<T>>(m.count)),
          branches(arena.template take<Carried<T>>(m.branches)), dofs(arena.template take<Solved<T>>(m.nv)) {}
};

// All accelerations: `given` at the dofs that `held` marks, the others for the force `tau`. False when a dof that is free
// has no inertia to move.
template <class T, class In, class Out>
SOACRAFT_INLINE bool mixed_accelerations(const Model& model, const Base& base, const In& q, const In& v, const In& tau,
                                         const In& given, const unsigned char* held, const Spatial<T>* pull,
                                         const MixedWork<T>& w, Out& vdot) {
    const Spatial<T> V0 = spatial<T>(base.V), a0 = spatial<T>(base.a);
    const OwnAxes<T> own;
    auto turns = turns_of<T>(model, q, model.count);
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        w.X[k] = place<T>(e, turns(k), q);
        const Spatial<T> VJ = across<T>(e, q, v);
        w.V[k] = outward(w.X[k], e.parent < 0 ? V0 : w.V[e.parent]) + VJ;
        w.c[k] = velocity_terms<T>(e, q, w.V[k], VJ);
        own.template each<false>(e, q, [&](index i, const auto& S) {
            if (held[e.v + i]) add_along(w.c[k], T(e.scale) * given[e.v + i], S);
        });
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
            my.z += gyroscopic(I, w.V[k]);
        }
        if (pull) my.z -= pull[k];
        const Sizes<T> grown = meet(my.of, my.P, e);
        index free = 0;
        own.template each<true>(e, q, [&](index i, const auto& S) {
            if (held[e.v + i]) return;
            const Taken<T> dof = take_dof(model, e, i, own, S, grown, my.P, my.of, margin);
            w.dofs[e.d + i] = pass_force(S, dof, T(e.unscale) * tau[e.v + i], my.z);
            ++free;
        });
        if (free == 6 && takes_all(e)) {  // nothing is left but rounding
            my = nothing<T>();
            my.z = {three<T>(tau, e.v), three<T>(tau, e.v + 3)};
        }
        my.z += my.P * w.c[k];
        if (e.parent < 0) continue;
        const Carried<T> out{inward(w.X[k], my.P), inward(w.X[k], my.z), shifted(w.X[k].p, my.of)};
        const index branch = model.elements[e.parent].branch;
        if (branch >= 0)
            w.branches[branch] += out;
        else
            carry = out;
    }
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        w.a[k] = outward(w.X[k], e.parent < 0 ? a0 : w.a[e.parent]) + w.c[k];
        own.template each<false>(e, q, [&](index i, const auto& S) {
            const index at = e.v + i;
            if (held[at]) {
                vdot.set(at, given[at]);
                return;
            }
            const Solved<T>& dof = w.dofs[e.d + i];
            const T rate = dof.rate - dot(dof.G, w.a[k]);
            vdot.set(at, T(e.unscale) * rate);
            add_along(w.a[k], rate, S);
        });
    }
    return !any_not_above(margin, T(0.0));
}

SOACRAFT_RIGID_END
