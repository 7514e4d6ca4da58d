// How a tree stands and moves at one state, in inertially oriented axes about the origins of its elements, so that
// phi(p,k) = [[I, l~], [0, I]] and no digits are lost far from the base.
#pragma once

#include "flexible_limbs.hpp"

SOACRAFT_RIGID_BEGIN

// Limbs and the columns S of H*, base to tips. O(n). `pull` (6 for each body, in its axes, then one for each mode) may be null;
// `flexible` where there are flexible bodies.
template <class T>
inline void take_stance(const Model& model, const Base& base, const T* q, const T* v, Given<T> pull,
                        LimbOf<T>* SOACRAFT_RESTRICT limbs, Spatial<T>* SOACRAFT_RESTRICT S,
                        const FlexibleLimbs<T>* flexible = nullptr) {
    const T o(0.0);
    const Spatial<T> nothing{{o, o, o}, {o, o, o}}, ground = spatial<T>(base.a);
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        const Place<T> X = place<T>(e, q);
        LimbOf<T>& me = limbs[k];
        if (e.parent < 0) {
            me.R = X.R, me.p = me.l = X.p, me.V = nothing, me.A0 = carried(me.l, ground);
        } else {
            const LimbOf<T>& in = limbs[inboard(model, e)];
            me.R = in.R * X.R, me.l = in.R * X.p, me.p = in.p + me.l;
            me.V = carried(me.l, in.V), me.A0 = carried(me.l, in.A0);
        }
        Spatial<T>* H = S + e.d;
        if (e.kind != FIXED) hinge_columns<T>(e, q, me.R, H);
        Spatial<T> across = nothing;
        for (index i = 0, n = dofs(e.kind); i < n; ++i) across += v[e.v + i] * H[i];
        me.c = motion_cross(me.V, across);
        if (e.kind == ROLLING) me.c.v -= cross(cross(across.w, me.R * lever<T>(e, q)), across.w);
        me.V += across, me.A0 += me.c;
        if (e.flexible >= 0) hold_limb(model, e, q, v, *flexible, me, S);
        if (e.massless) {
            me.I = {{o, o, o, o, o, o}, {o, o, o}, o};
            me.b = nothing;
        } else {
            me.I = turned(me.R, inertia<T>(e));
            me.b = gyroscopic(me.I, me.V);
        }
        if (e.flexible >= 0) bend_limb(model, e, q, v, pull, *flexible, me, limbs);
    }
    for (index i = 0; pull && i < model.body_count; ++i) {
        const Body& body = model.bodies[i];
        if (body.element < 0) continue;
        LimbOf<T>& me = limbs[body.element];
        const Place<T> X{me.R * mat<T>(body.R), me.R * vec<T>(body.p)};
        me.b -= inward(X, Spatial<T>{three<T>(pull, 6 * i), three<T>(pull, 6 * i + 3)});
    }
}

// A(k) = phi* A(p) + H* vdot + c, base to tips.
template <class T>
inline void accelerations(const Model& model, const Base& base, const LimbOf<T>* limbs, const Spatial<T>* S, const T* vdot,
                          Spatial<T>* SOACRAFT_RESTRICT A, const FlexibleLimbs<T>* flexible = nullptr) {
    const Spatial<T> ground = spatial<T>(base.a);
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        A[k] = carried(limbs[k].l, e.parent < 0 ? ground : A[inboard(model, e)]) + limbs[k].c;
        for (index i = 0, n = dofs(e.kind); i < n; ++i) A[k] += vdot[e.v + i] * S[e.d + i];
        if (e.flexible >= 0) flexible->template move_spots<true>(model, e, S, vdot, limbs, A);
    }
}

// Velocities that rates x of the dofs go with, of a base at rest: V(k) = phi* V(p) + H* x, base to tips.
template <class T>
inline void velocities(const Model& model, const LimbOf<T>* limbs, const Spatial<T>* S, const T* x, Spatial<T>* SOACRAFT_RESTRICT V,
                       const FlexibleLimbs<T>* flexible = nullptr) {
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        V[k] = e.parent < 0 ? none<T>() : carried(limbs[k].l, V[inboard(model, e)]);
        for (index i = 0, n = dofs(e.kind); i < n; ++i) V[k] += x[e.v + i] * S[e.d + i];
        if (e.flexible >= 0) flexible->template move_spots<false>(model, e, S, x, limbs, V);
    }
}

// H phi f of forces on the limbs, tips to base; f is used up. `to` in the order of v; forces along modes that do
// not come from limbs are those that `flexible` has.
template <class T>
inline void through_hinges(const Model& model, const LimbOf<T>* limbs, const Spatial<T>* S, Spatial<T>* SOACRAFT_RESTRICT f,
                           T* SOACRAFT_RESTRICT to, const FlexibleLimbs<T>* flexible = nullptr) {
    for (index k = model.count; k-- > 0;) {
        const Element& e = model.elements[k];
        if (e.flexible >= 0) flexible->gather_spots(model, e, S, limbs, f, to);
        for (index i = 0, n = dofs(e.kind); i < n; ++i) to[e.v + i] = dot(S[e.d + i], f[k]);
        if (e.parent >= 0) f[inboard(model, e)] += pulled(limbs[k].l, f[k]);
    }
}

SOACRAFT_RIGID_END
