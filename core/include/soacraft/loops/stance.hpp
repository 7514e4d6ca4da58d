// How a tree stands and moves at one state, in inertially oriented axes about the origins of its elements, so that
// phi(p,k) = [[I, l~], [0, I]] and no digits are lost far from the base.
#pragma once

#include "plan.hpp"
#include "soacraft/rigid/inertial.hpp"
#include "soacraft/rigid/rnea.hpp"

SOACRAFT_RIGID_BEGIN

typedef Vec<double> Vec3;
typedef Mat<double> Mat3;
typedef Spatial<double> Twist;

struct Limb {
    Mat3 R;
    Vec3 p, l;   // where it stands, and from its parent
    Twist V;     // velocity
    Twist c;     // what velocity adds to the acceleration across its hinge
    Twist A0;    // its acceleration at vdot = 0, that of the base included
    Twist b;     // gyroscopic force less external force
    Rigid<double> I;
};

// V or A of a frame that moves with another, at l from it: [[I, l~], [0, I]]*.
SOACRAFT_FLAT Twist carried(const Vec3& l, const Twist& V) { return {V.w, V.v + cross(V.w, l)}; }
// f about a point from which it stands at l: [[I, l~], [0, I]].
SOACRAFT_FLAT Twist pulled(const Vec3& l, const Twist& f) { return {f.w + cross(l, f.v), f.v}; }

// Limbs and the columns S of H*, base to tips. O(n). `pull` (6 for each body, in its axes) may be null.
inline void take_stance(const Model& model, const Base& base, const double* q, const double* v, const double* pull,
                        Limb* SOACRAFT_RESTRICT limbs, Twist* SOACRAFT_RESTRICT S) {
    const double o = 0.0;
    const Twist nothing{{o, o, o}, {o, o, o}}, ground = spatial<double>(base.a);
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        const Place<double> X = place<double>(e, q);
        Limb& me = limbs[k];
        if (e.parent < 0) {
            me.R = X.R, me.p = me.l = X.p, me.V = nothing, me.A0 = carried(me.l, ground);
        } else {
            const Limb& in = limbs[e.parent];
            me.R = in.R * X.R, me.l = in.R * X.p, me.p = in.p + me.l;
            me.V = carried(me.l, in.V), me.A0 = carried(me.l, in.A0);
        }
        Twist* H = S + e.d;
        hinge_columns<double>(e, q, me.R, H);
        Twist across = v[e.v] * H[0];
        for (index i = 1, n = dofs(e.kind); i < n; ++i) across += v[e.v + i] * H[i];
        me.c = motion_cross(me.V, across);
        if (e.kind == ROLLING) me.c.v -= cross(cross(across.w, me.R * lever<double>(e, q)), across.w);
        me.V += across, me.A0 += me.c;
        if (e.massless) {
            me.I = {{o, o, o, o, o, o}, {o, o, o}, o};
            me.b = nothing;
        } else {
            me.I = turned(me.R, inertia<double>(e));
            me.b = force_cross(me.V, me.I * me.V);
        }
    }
    for (index i = 0; pull && i < model.body_count; ++i) {
        const Body& body = model.bodies[i];
        if (body.element < 0) continue;
        Limb& me = limbs[body.element];
        const Place<double> X{me.R * mat<double>(body.R), me.R * vec<double>(body.p)};
        me.b -= inward(X, Twist{vec<double>(pull + 6 * i), vec<double>(pull + 6 * i + 3)});
    }
}

// A(k) = phi* A(p) + H* vdot + c, base to tips.
inline void accelerations(const Model& model, const Base& base, const Limb* limbs, const Twist* S, const double* vdot,
                          Twist* SOACRAFT_RESTRICT A) {
    const Twist ground = spatial<double>(base.a);
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        A[k] = carried(limbs[k].l, e.parent < 0 ? ground : A[e.parent]) + limbs[k].c;
        for (index i = 0, n = dofs(e.kind); i < n; ++i) A[k] += vdot[e.v + i] * S[e.d + i];
    }
}

// H phi f of forces on the elements, tips to base; f is used up. `T` in the order of v.
inline void through_hinges(const Model& model, const Limb* limbs, const Twist* S, Twist* SOACRAFT_RESTRICT f,
                           double* SOACRAFT_RESTRICT T) {
    for (index k = model.count; k-- > 0;) {
        const Element& e = model.elements[k];
        for (index i = 0, n = dofs(e.kind); i < n; ++i) T[e.v + i] = dot(S[e.d + i], f[k]);
        if (e.parent >= 0) f[e.parent] += pulled(limbs[k].l, f[k]);
    }
}

SOACRAFT_RIGID_END
