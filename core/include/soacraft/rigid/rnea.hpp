// Newton-Euler inverse dynamics (004 Algorithm 3.1), two sweeps. O(n).
#pragma once

#include "steps/turns.hpp"

SOACRAFT_RIGID_BEGIN

// What one element keeps between the sweeps.
template <class T>
struct Moving {
    Place<T> X;
    Spatial<T> f;
};

// The motion of a frame: angular velocity, the acceleration of its origin, and W = wdot~ + w~ w~, which gives the
// acceleration A + W r of a point r that moves with it. Linear velocities are not needed. Kept by elements with several
// children only: an only child follows its parent and finds it at hand.
template <class T>
struct Motion {
    Vec<T> w, wdot, A;
    Mat<T> W;
};

template <class T>
SOACRAFT_FLAT Mat<T> swing(const Vec<T>& w, const Vec<T>& d) {
    const T xx = w.x * w.x, yy = w.y * w.y, zz = w.z * w.z, xy = w.x * w.y, xz = w.x * w.z, yz = w.y * w.z;
    return {{-yy - zz, xy + d.z, xz - d.y}, {xy - d.z, -xx - zz, yz + d.x}, {xz + d.y, yz - d.x, -xx - yy}};
}

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
        case FIXED: return;
        default: break;
    }
    Vec<T> n = f.w;
    if (e.kind == ROLLING) n -= cross(lever<T>(e, q), f.v);
    tau.set(e.v, n.x), tau.set(e.v + 1, n.y), tau.set(e.v + 2, n.z);
    if (e.kind == FREE) tau.set(e.v + 3, f.v.x), tau.set(e.v + 4, f.v.y), tau.set(e.v + 5, f.v.z);
}

// The acceleration of a hinge's outboard side across it: H* vdot + (dH*/dt) v, with VJ = H* v.
template <class T, class In>
SOACRAFT_FLAT Spatial<T> rate_across(const Element& e, const In& q, const In& vdot, const Spatial<T>& VJ) {
    Spatial<T> rate = across<T>(e, q, vdot);
    if (e.kind == ROLLING) rate.v -= cross(cross(VJ.w, lever<T>(e, q)), VJ.w);
    return rate;
}

// The motion of an element from that of its parent, and its place.
template <class T, class In>
SOACRAFT_FLAT void move_outward(const Element& e, const Place<T>& X, const In& q, const In& v, const In& vdot,
                                Motion<T>& at) {
    const Vec<T> A = turn_back(X.R, at.A + at.W * X.p);
    at.w = turn_back(X.R, at.w), at.wdot = turn_back(X.R, at.wdot);
    if (e.kind == REVOLUTE) {
        const T rate = T(e.scale) * v[e.v];
        at.wdot.x += at.w.y * rate, at.wdot.y -= at.w.x * rate, at.wdot.z += T(e.scale) * vdot[e.v];
        at.w.z += rate;
        at.A = A;
    } else {
        const Spatial<T> VJ = across<T>(e, q, v), rate = rate_across<T>(e, q, vdot, VJ);
        at.wdot += rate.w + cross(at.w, VJ.w);
        const Vec<T> inboard = at.w;
        at.w += VJ.w;
        at.A = A + rate.v + cross(inboard + at.w, VJ.v);
    }
    at.W = swing(at.w, at.wdot);
}

// What moves a rigid body so.
template <class T>
SOACRAFT_FLAT Spatial<T> newton_euler(const Rigid<T>& I, const Motion<T>& at) {
    return {I.J * at.wdot + cross(at.w, I.J * at.w) + cross(I.h, at.A), I.m * at.A + at.W * I.h};
}

// tau for vdot, with J vdot for armature J; `pull` holds external forces by element, in element axes, or is null.
template <class T, class In, class Out>
SOACRAFT_INLINE void inverse_dynamics(const Model& model, const Base& base, const In& q, const In& v, const In& vdot,
                                      const Spatial<T>* pull, Moving<T>* SOACRAFT_RESTRICT moving,
                                      Motion<T>* SOACRAFT_RESTRICT branches, Out& tau) {
    const Spatial<T> V0 = spatial<T>(base.V), a0 = spatial<T>(base.a);
    const Motion<T> ground{V0.w, a0.w, a0.v + cross(V0.w, V0.v), swing(V0.w, a0.w)};
    Motion<T> at = ground;
    auto turns = turns_of<T>(model, q, model.count);
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        if (e.parent < 0)
            at = ground;
        else if (model.elements[e.parent].branch >= 0)
            at = branches[model.elements[e.parent].branch];
        Moving<T>& me = moving[k];
        me.X = place<T>(e, turns(k), q);
        move_outward<T>(e, me.X, q, v, vdot, at);
        if (e.branch >= 0) branches[e.branch] = at;
        if (e.massless) {
            const T o(0.0);
            me.f = {{o, o, o}, {o, o, o}};
        } else {
            me.f = newton_euler(inertia<T>(e), at);
        }
        if (pull) me.f -= pull[k];
    }
    for (index k = model.count; k-- > 0;) {
        const Element& e = model.elements[k];
        project<T>(e, q, moving[k].f, tau);
        if (e.parent >= 0) moving[e.parent].f += inward(moving[k].X, moving[k].f);
    }
    for (index i = 0; i < model.nv && model.has_armature; ++i) tau.set(i, tau[i] + T(model.armature[i]) * vdot[i]);
}

SOACRAFT_RIGID_END
