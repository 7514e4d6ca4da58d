// How a tree stands and moves at one state, in inertially oriented axes about the origins of its elements, so that
// phi(p,k) = [[I, l~], [0, I]] and no digits are lost far from the base.
#pragma once

#include "../lanes.hpp"
#include "../plan.hpp"
#include "soacraft/rigid/steps/inertial.hpp"
#include "soacraft/rigid/rnea.hpp"

SOACRAFT_RIGID_BEGIN

typedef Vec<double> Vec3;
typedef Mat<double> Mat3;
typedef Spatial<double> Twist;

template <class T>
struct LimbOf {
    Mat<T> R;
    Vec<T> p, l;     // where it stands, and from its parent
    Spatial<T> V;    // velocity
    Spatial<T> c;    // what velocity adds to the acceleration across its hinge
    Spatial<T> A0;   // its acceleration at vdot = 0, that of the base included
    Spatial<T> b;    // gyroscopic force less external force
    Rigid<T> I;
};
typedef LimbOf<double> Limb;

// V or A of a frame that moves with another, at l from it: [[I, l~], [0, I]]*.
template <class T>
SOACRAFT_FLAT Spatial<T> carried(const Vec<T>& l, const Spatial<T>& V) { return {V.w, V.v + cross(V.w, l)}; }
// f about a point from which it stands at l: [[I, l~], [0, I]].
template <class T>
SOACRAFT_FLAT Spatial<T> pulled(const Vec<T>& l, const Spatial<T>& f) { return {f.w + cross(l, f.v), f.v}; }

// Limbs and the columns S of H*, base to tips. O(n). `pull` (6 for each body, in its axes) may be null.
template <class T>
inline void take_stance(const Model& model, const Base& base, const T* q, const T* v, Given<T> pull,
                        LimbOf<T>* SOACRAFT_RESTRICT limbs, Spatial<T>* SOACRAFT_RESTRICT S) {
    const T o(0.0);
    const Spatial<T> nothing{{o, o, o}, {o, o, o}}, ground = spatial<T>(base.a);
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        const Place<T> X = place<T>(e, q);
        LimbOf<T>& me = limbs[k];
        if (e.parent < 0) {
            me.R = X.R, me.p = me.l = X.p, me.V = nothing, me.A0 = carried(me.l, ground);
        } else {
            const LimbOf<T>& in = limbs[e.parent];
            me.R = in.R * X.R, me.l = in.R * X.p, me.p = in.p + me.l;
            me.V = carried(me.l, in.V), me.A0 = carried(me.l, in.A0);
        }
        Spatial<T>* H = S + e.d;
        hinge_columns<T>(e, q, me.R, H);
        Spatial<T> across = v[e.v] * H[0];
        for (index i = 1, n = dofs(e.kind); i < n; ++i) across += v[e.v + i] * H[i];
        me.c = motion_cross(me.V, across);
        if (e.kind == ROLLING) me.c.v -= cross(cross(across.w, me.R * lever<T>(e, q)), across.w);
        me.V += across, me.A0 += me.c;
        if (e.massless) {
            me.I = {{o, o, o, o, o, o}, {o, o, o}, o};
            me.b = nothing;
        } else {
            me.I = turned(me.R, inertia<T>(e));
            me.b = gyroscopic(me.I, me.V);
        }
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
                          Spatial<T>* SOACRAFT_RESTRICT A) {
    const Spatial<T> ground = spatial<T>(base.a);
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        A[k] = carried(limbs[k].l, e.parent < 0 ? ground : A[e.parent]) + limbs[k].c;
        for (index i = 0, n = dofs(e.kind); i < n; ++i) A[k] += vdot[e.v + i] * S[e.d + i];
    }
}

// H phi f of forces on the elements, tips to base; f is used up. `to` in the order of v.
template <class T>
inline void through_hinges(const Model& model, const LimbOf<T>* limbs, const Spatial<T>* S, Spatial<T>* SOACRAFT_RESTRICT f,
                           T* SOACRAFT_RESTRICT to) {
    for (index k = model.count; k-- > 0;) {
        const Element& e = model.elements[k];
        for (index i = 0, n = dofs(e.kind); i < n; ++i) to[e.v + i] = dot(S[e.d + i], f[k]);
        if (e.parent >= 0) f[e.parent] += pulled(limbs[k].l, f[k]);
    }
}

SOACRAFT_RIGID_END
