// Newton-Euler inverse dynamics (004 Algorithm 3.1), two sweeps. O(n).
#pragma once

#include "model.hpp"

SOACRAFT_RIGID_BEGIN

// What one element keeps between the sweeps.
template <class T>
struct Moving {
    Place<T> X;
    Spatial<T> V, a, f;
};

// The motion of what the base elements hang from, in its axes; gravity enters as an acceleration upwards.
struct Base {
    double V[6], a[6];
};

template <class T>
SOACRAFT_FLAT Spatial<T> spatial(const double* x) { return {vec<T>(x), vec<T>(x + 3)}; }

// (dH*/dt) v + crm(V) H* v: what velocity adds to the acceleration across a hinge.
template <class T, class In>
SOACRAFT_FLAT Spatial<T> velocity_terms(const Element& e, const In& q, const Spatial<T>& V, const Spatial<T>& VJ) {
    if (e.kind == REVOLUTE) {
        const T z = VJ.w.z;
        return {{V.w.y * z, -V.w.x * z, T(0.0)}, {V.v.y * z, -V.v.x * z, T(0.0)}};
    }
    if (e.kind == PRISMATIC) {
        const T z = VJ.v.z;
        return {{T(0.0), T(0.0), T(0.0)}, {V.w.y * z, -V.w.x * z, T(0.0)}};
    }
    Spatial<T> c = motion_cross(V, VJ);
    if (e.kind == ROLLING) c.v -= cross(cross(VJ.w, lever<T>(e, q)), VJ.w);
    return c;
}

// tau = H f, the generalized force through a hinge that carries f.
template <class T, class In, class Out>
SOACRAFT_FLAT void project(const Element& e, const In& q, const Spatial<T>& f, Out& tau) {
    switch (e.kind) {
        case REVOLUTE: tau.set(e.v, T(e.scale) * f.w.z); return;
        case PRISMATIC: tau.set(e.v, T(e.scale) * f.v.z); return;
        case HELICAL: tau.set(e.v, T(e.scale) * (f.w.z + T(e.pitch) * f.v.z)); return;
        default: break;
    }
    Vec<T> n = f.w;
    if (e.kind == ROLLING) n -= cross(lever<T>(e, q), f.v);
    tau.set(e.v, n.x), tau.set(e.v + 1, n.y), tau.set(e.v + 2, n.z);
    if (e.kind == FREE) tau.set(e.v + 3, f.v.x), tau.set(e.v + 4, f.v.y), tau.set(e.v + 5, f.v.z);
}

// tau for vdot; `pull` holds external forces by element, in element axes, or is null.
template <class T, class In, class Out>
SOACRAFT_INLINE void inverse_dynamics(const Model& model, const Base& base, const In& q, const In& v, const In& vdot,
                                      const Spatial<T>* pull, Moving<T>* SOACRAFT_RESTRICT w, Out& tau) {
    const Spatial<T> V0 = spatial<T>(base.V), a0 = spatial<T>(base.a);
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        Moving<T>& me = w[k];
        me.X = place<T>(e, q);
        const Spatial<T> VJ = across<T>(e, q, v);
        me.V = outward(me.X, e.parent < 0 ? V0 : w[e.parent].V) + VJ;
        me.a = outward(me.X, e.parent < 0 ? a0 : w[e.parent].a) + across<T>(e, q, vdot) +
               velocity_terms<T>(e, q, me.V, VJ);
        if (e.massless) {
            const T o(0.0);
            me.f = {{o, o, o}, {o, o, o}};
        } else {
            const Rigid<T> I = inertia<T>(e);
            me.f = I * me.a + force_cross(me.V, I * me.V);
        }
        if (pull) me.f -= pull[k];
    }
    for (index k = model.count; k-- > 0;) {
        const Element& e = model.elements[k];
        project<T>(e, q, w[k].f, tau);
        if (e.parent >= 0) w[e.parent].f += inward(w[k].X, w[k].f);
    }
}

SOACRAFT_RIGID_END
