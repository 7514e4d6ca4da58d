// Articulated-body forward dynamics (004 Algorithm 6.1), three sweeps. O(n).
//
// The articulated inertia of an only child that follows its parent is carried in registers; only branch points keep an
// accumulator. The hinge step is that of hinge_step.hpp, in the element's own axes. A revolute hinge without armature has
// one of its own: what it eliminates is dropped before the congruence, a third of the arithmetic.
#pragma once

#include "steps/hinge_step.hpp"
#include "rnea.hpp"

SOACRAFT_RIGID_BEGIN

// What one element keeps between the sweeps.
template <class T>
struct Joint {
    Place<T> X;
    Spatial<T> V;
};

// An articulated inertia with its residual force.
template <class T>
struct Carried {
    Articulated<T> P;
    Spatial<T> z;
    Sizes<T> of;
};
template <class T>
SOACRAFT_FLAT Carried<T> nothing() { return {no_inertia<T>(), none<T>(), no_sizes<T>()}; }
template <class T>
SOACRAFT_FLAT void operator+=(Carried<T>& a, const Carried<T>& b) { a.P += b.P, a.z += b.z, a.of += b.of; }

template <class T>
struct AbaWork {
    Joint<T>* joints;
    Solved<T>* dofs;      // in the order of the elements; of a free hinge the first has its acceleration as G
    Carried<T>* branches;
    Spatial<T>* motions;  // velocities, later accelerations, of elements with several children
    template <class Taker>
    AbaWork(const Model& m, Taker& arena)
        : joints(arena.template take<Joint<T>>(m.count)), dofs(arena.template take<Solved<T>>(m.nv)),
          branches(arena.template take<Carried<T>>(m.branches)), motions(arena.template take<Spatial<T>>(m.branches)) {}
};

// The revolute hinge about z without armature, and what it passes inward: take_dof, pass_force, z += P+ c and the
// congruence in one, where G.w.z = 1 and P+ has zeros about z.
template <class T>
SOACRAFT_FLAT Carried<T> past_turn(const Carried<T>& k, const Place<T>& X, const T& tau, const Spatial<T>& c,
                                   const T& along, Solved<T>& dof) {
    const Articulated<T>& P = k.P;
    const Vec<T> U{P.B.a.z, P.B.b.z, P.B.c.z};  // the linear part
    const T D_inv = T(1.0) / P.A.zz, pull = D_inv * (tau - k.z.w.z);
    const T x = D_inv * P.A.xz, y = D_inv * P.A.yz;
    const Spatial<T> G{{x, y, T(1.0)}, D_inv * U};
    dof = {G, pull};
    const T xx = P.A.xx - x * P.A.xz, xy = P.A.xy - x * P.A.yz, yy = P.A.yy - y * P.A.yz;
    const Vec<T> b0 = Vec<T>{P.B.a.x, P.B.b.x, P.B.c.x} - x * U;  // rows of B
    const Vec<T> b1 = Vec<T>{P.B.a.y, P.B.b.y, P.B.c.y} - y * U;
    Sym<T> C = P.C;
    subtract_square(C, D_inv, U);
    Sizes<T> of = k.of;
    take_out(of, along, G);
    const Spatial<T> z{{k.z.w.x + xx * c.w.x + xy * c.w.y + b0.x * c.v.x + b0.y * c.v.y + pull * P.A.xz,
                        k.z.w.y + xy * c.w.x + yy * c.w.y + b1.x * c.v.x + b1.y * c.v.y + pull * P.A.yz, tau},
                       {k.z.v.x + b0.x * c.w.x + b1.x * c.w.y + C.xx * c.v.x + C.xy * c.v.y + pull * U.x,
                        k.z.v.y + b0.y * c.w.x + b1.y * c.w.y + C.xy * c.v.x + C.yy * c.v.y + pull * U.y,
                        k.z.v.z + b0.z * c.w.x + b1.z * c.w.y + C.xz * c.v.x + C.yz * c.v.y + pull * U.z}};
    const Vec<T>&ra = X.R.a, &rb = X.R.b;
    const Vec<T> wa = xx * ra + xy * rb, wb = xy * ra + yy * rb;
    const Sym<T> A{wa.x * ra.x + wb.x * rb.x, wa.x * ra.y + wb.x * rb.y, wa.x * ra.z + wb.x * rb.z,
                   wa.y * ra.y + wb.y * rb.y, wa.y * ra.z + wb.y * rb.z, wa.z * ra.z + wb.z * rb.z};
    const Vec<T> t0 = X.R * b0, t1 = X.R * b1;  // rows of B R*
    return {shifted(X.p, A, ra.x * t0 + rb.x * t1, ra.y * t0 + rb.y * t1, ra.z * t0 + rb.z * t1, turned(X.R, C)),
            inward(X, z), shifted(X.p, of)};
}

// P -> P+ and z -> z + G u across a hinge.
template <class Axes, class T, class In>
SOACRAFT_FLAT void cross_hinge(const Model& model, const Element& e, const In& q, const In& tau, const Axes& axes,
                               Carried<T>& my, Solved<T>* dofs, T& margin) {
    take_hinge(model, e, q, axes, my.P, my.of, margin, [&](index i, const auto& S, const Taken<T>& dof) {
        dofs[i] = pass_force(S, dof, T(e.unscale) * tau[e.v + i], my.z);
    });
}
// Across any hinge. Apart and by value, so that the sweep keeps its own in registers.
template <class T, class In>
SOACRAFT_APART Carried<T> past_any(const Model& model, const Element& e, const In& q, const In& tau, Carried<T> my,
                                   Solved<T>* dofs, T& margin) {
    if (takes_all(e)) {
        meet(my.of, my.P, e);
        const Spatial<T> force{three<T>(tau, e.v), three<T>(tau, e.v + 3)};
        dofs->G = solve(my.P, my.of, force - my.z, margin);
        return {no_inertia<T>(), force, no_sizes<T>()};
    }
    cross_hinge(model, e, q, tau, OwnAxes<T>{}, my, dofs, margin);
    return my;
}

// A free hinge on the ground feels no constant velocity, nor does what it carries: the tree is that of v = 0 there.
SOACRAFT_FLAT bool floats(const Element& e) { return e.parent < 0 && takes_all(e); }

// H* v across a hinge, without the velocity of what floats.
template <class T, class In>
SOACRAFT_FLAT Spatial<T> across_floating(const Element& e, const In& q, const In& v) {
    if (floats(e)) return {three<T>(v, e.v), zeros<T>()};
    return across<T>(e, q, v);
}

// What an element passes inward: P+ and z + G u + P+ c past its hinge, in the frame of its parent.
template <class T, class In>
SOACRAFT_FLAT Carried<T> past_element(const Model& model, const Element& e, const Joint<T>& me, const In& q, const In& v,
                                      const In& tau, Carried<T>& my, Solved<T>* dofs, T& margin) {
    const Spatial<T> c = velocity_terms<T>(e, q, me.V, across_floating<T>(e, q, v));
    if (e.kind == REVOLUTE && !e.has_armature) {
        const Sizes<T> grown = meet(my.of, my.P, e);
        margin = minimum(margin, my.P.A.zz - T(doubt<T>) * my.of.A);
        return past_turn(my, me.X, T(e.unscale) * tau[e.v], c, grown.A, dofs[e.d]);
    }
    T here(1.0);
    if (e.kind == REVOLUTE)
        cross_hinge(model, e, q, tau, OwnAxis<T>{}, my, dofs + e.d, here);
    else
        my = past_any(model, e, q, tau, my, dofs + e.d, here);
    margin = minimum(margin, here);
    my.z += my.P * c;
    return {inward(me.X, my.P), inward(me.X, my.z), shifted(me.X.p, my.of)};
}
// The acceleration of an element past its hinge, from that of its parent.
template <class T, class In, class Out>
SOACRAFT_FLAT Spatial<T> accelerate(const Element& e, const Joint<T>& me, const In& q, const In& v, const Solved<T>* dofs,
                                    const Spatial<T>& from, Out& vdot) {
    Spatial<T> at = outward(me.X, from) + velocity_terms<T>(e, q, me.V, across_floating<T>(e, q, v));
    if (takes_all(e)) {
        const Spatial<T> a = dofs[e.d].G;
        Spatial<T> rate = a - at;
        if (floats(e)) {  // the rate of v in turning axes, and what a ground that turns adds
            const Vec<T> w = me.V.w, ground = w - three<T>(v, e.v);
            rate.v -= cross(w + ground, three<T>(v, e.v + 3));
        }
        vdot.set(e.v, rate.w.x), vdot.set(e.v + 1, rate.w.y), vdot.set(e.v + 2, rate.w.z);
        vdot.set(e.v + 3, rate.v.x), vdot.set(e.v + 4, rate.v.y), vdot.set(e.v + 5, rate.v.z);
        return a;
    }
    OwnAxes<T>{}.template each<false>(e, q, [&](index i, const auto& S) {
        const Solved<T>& dof = dofs[e.d + i];
        const T rate = dof.rate - dot(dof.G, at);
        vdot.set(e.v + i, T(e.unscale) * rate);
        add_along(at, rate, S);
    });
    return at;
}

// Where elements are and how fast:  V(k) = phi*(p,k) V(p) + H*(k) v(k),  base to tips; what floats as seen with its velocity.
template <class T, class In>
SOACRAFT_INLINE void velocities_outward(const Model& model, const Spatial<T>& V0, const In& q, const In& v,
                                        const AbaWork<T>& w) {
    Joint<T>* SOACRAFT_RESTRICT joints = w.joints;
    Spatial<T> at = V0;
    auto turns = turns_of<T>(model, q, model.count);
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        if (e.parent < 0)
            at = V0;
        else if (model.elements[e.parent].branch >= 0)
            at = w.motions[model.elements[e.parent].branch];
        Joint<T>& me = joints[k];
        me.X = place<T>(e, turns(k), q);
        me.V = at = outward(me.X, at) + across_floating<T>(e, q, v);
        if (e.branch >= 0) w.motions[e.branch] = at;
    }
}

// Articulated inertias and residual forces, tips to base, with c = (dH*/dt) v + crm(V) H* v:
//
//     P(k)  = M(k) + sum over children j of phi(k,j) P+(j) phi*(k,j)
//     z(k)  = crf(V) M V - f(k) + sum over children j of phi(k,j) z+(j)
//     P+(k) by the hinge step,   u = T - H z,   z+ = z + G u + P+ c
//
// False when a hinge has no inertia to move.
template <class T, class In>
SOACRAFT_INLINE bool inertias_inward(const Model& model, const In& q, const In& v, const In& tau, const Spatial<T>* pull,
                                     const AbaWork<T>& w) {
    const Joint<T>* SOACRAFT_RESTRICT joints = w.joints;
    Solved<T>* SOACRAFT_RESTRICT dofs = w.dofs;
    for (index i = 0; i < model.branches; ++i) w.branches[i] = nothing<T>();
    T margin(1.0);
    Carried<T> carry = nothing<T>();
    for (index k = model.count; k-- > 0;) {
        const Element& e = model.elements[k];
        const Joint<T>& me = joints[k];
        Carried<T> my = e.branch >= 0 ? w.branches[e.branch] : e.last > k + 1 ? carry : nothing<T>();
        if (!e.massless) {
            const Rigid<T> I = inertia<T>(e);
            my.P += I;
            my.z += gyroscopic(I, me.V);
        }
        if (pull) my.z -= pull[k];
        const Carried<T> out = past_element(model, e, me, q, v, tau, my, dofs, margin);
        if (e.parent < 0) continue;
        const index branch = model.elements[e.parent].branch;
        if (branch >= 0)
            w.branches[branch] += out;
        else
            carry = out;
    }
    return !any_not_above(margin, T(0.0));
}

// Accelerations, base to tips:  a'(k) = phi*(p,k) a(p) + c(k),   vdot = D^-1 u - G* a',   a = a' + H* vdot,  dof by dof.
template <class T, class In, class Out>
SOACRAFT_INLINE void accelerations_outward(const Model& model, const Spatial<T>& a0, const In& q, const In& v,
                                           const AbaWork<T>& w, Out& vdot) {
    const Joint<T>* SOACRAFT_RESTRICT joints = w.joints;
    const Solved<T>* SOACRAFT_RESTRICT dofs = w.dofs;
    Spatial<T> at = a0;
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        const Joint<T>& me = joints[k];
        if (e.parent < 0)
            at = a0;
        else if (model.elements[e.parent].branch >= 0)
            at = w.motions[model.elements[e.parent].branch];
        at = accelerate(e, me, q, v, dofs, at, vdot);
        if (e.branch >= 0) w.motions[e.branch] = at;
    }
}

// vdot for tau. False when a hinge has no inertia to move.
template <class T, class In, class Out>
SOACRAFT_INLINE bool forward_dynamics(const Model& model, const Base& base, const In& q, const In& v, const In& tau,
                                      const Spatial<T>* pull, const AbaWork<T>& work, Out& vdot) {
    velocities_outward<T>(model, spatial<T>(base.V), q, v, work);
    const bool moves = inertias_inward<T>(model, q, v, tau, pull, work);
    accelerations_outward<T>(model, spatial<T>(base.a), q, v, work, vdot);
    return moves;
}

SOACRAFT_RIGID_END
