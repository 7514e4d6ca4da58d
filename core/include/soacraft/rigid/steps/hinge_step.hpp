// The articulated step P -> P+ across a hinge, in any axes: the one place where a hinge takes inertia out.
//
//     U = P S,   D = S* U + J,   G = U D^-1,   P+ = P - U G*            S: a column of H*,  J: armature
//
// for one dof. A hinge with several is a chain of them without bodies between, the last one outermost. What G, D and u are
// kept for differs from kernel to kernel: each sees the dofs as they are taken out.
#pragma once

#include "twists.hpp"
#include "verdict.hpp"

SOACRAFT_RIGID_BEGIN

// P -= U G*
template <class T>
SOACRAFT_FLAT void take_out(Articulated<T>& P, const Spatial<T>& U, const Spatial<T>& G) {
    P.A.xx -= U.w.x * G.w.x, P.A.xy -= U.w.x * G.w.y, P.A.xz -= U.w.x * G.w.z;
    P.A.yy -= U.w.y * G.w.y, P.A.yz -= U.w.y * G.w.z, P.A.zz -= U.w.z * G.w.z;
    P.B.a -= G.v.x * U.w, P.B.b -= G.v.y * U.w, P.B.c -= G.v.z * U.w;
    P.C.xx -= U.v.x * G.v.x, P.C.xy -= U.v.x * G.v.y, P.C.xz -= U.v.x * G.v.z;
    P.C.yy -= U.v.y * G.v.y, P.C.yz -= U.v.y * G.v.z, P.C.zz -= U.v.z * G.v.z;
}

// A dof as it was taken out.
template <class T>
struct Taken {
    Spatial<T> G;
    T D, D_inv;
};
// What it keeps for the sweep outward: G and D^-1 u.
template <class T>
struct Solved {
    Spatial<T> G;
    T rate;
};

// Dof i of an element, column S of H*, taken out of P. `of`: the sizes of P, `grown`: what `meet` returned at the element;
// the margin stays above zero as long as D is above doubt.
template <class Axes, class T, class Column>
SOACRAFT_FLAT Taken<T> take_dof(const Model& model, const Element& e, index i, const Axes& axes, const Column& S,
                                const Sizes<T>& grown, Articulated<T>& P, Sizes<T>& of, T& margin) {
    const Scale scale = axes.scale(e, model.armature[e.v + i]);
    const Spatial<T> U = P * S;
    Taken<T> dof;
    dof.D = dot(S, U) + T(scale.armature);
    dof.D_inv = T(1.0) / dof.D;
    dof.G = dof.D_inv * U;
    margin = minimum(margin, T(scale.inverse) * dof.D - T(doubt<T>) * along_dof(of, e, i));
    take_out(P, U, dof.G);
    take_out(of, T(scale.square) * along_dof(grown, e, i), dof.G);
    return dof;
}

// The residual force past a dof:  u = T - S* z,  z+ = z + G u.
template <class T, class Column>
SOACRAFT_FLAT Solved<T> pass_force(const Column& S, const Taken<T>& dof, const T& force, Spatial<T>& z) {
    const T u = force - dot(S, z);
    z += u * dof.G;
    return {dof.G, dof.D_inv * u};
}

// Whether a hinge leaves nothing of P but rounding.
SOACRAFT_FLAT bool takes_all(const Element& e) { return e.kind == FREE && !e.has_armature; }

template <class T>
SOACRAFT_FLAT Articulated<T> no_inertia() {
    const T o(0.0);
    return {{o, o, o, o, o, o}, {{o, o, o}, {o, o, o}, {o, o, o}}, {o, o, o, o, o, o}};
}

// The hinge of an element: P and its sizes become P+ and what it passes inward. f(i, S, dof) sees each dof.
template <class Axes, class T, class In, class F>
SOACRAFT_FLAT void take_hinge(const Model& model, const Element& e, const In& q, const Axes& axes, Articulated<T>& P,
                              Sizes<T>& of, T& margin, F&& f) {
    const Sizes<T> grown = meet(of, P, e);
    axes.template each<true>(e, q, [&](index i, const auto& S) {
        f(i, S, take_dof(model, e, i, axes, S, grown, P, of, margin));
    });
    if (takes_all(e)) P = no_inertia<T>(), of = no_sizes<T>();
}

// -- a free hinge without armature ------------------------------------------------------------------------------------

// S^-1 by its cofactors. The determinant, of the third degree, would overflow at entries of 1e103, so it is divided by the
// trace; entries beyond 1e154 leave `smallest` below zero or no number.
template <class T>
SOACRAFT_FLAT Sym<T> inverse(const Sym<T>& S, T& smallest) {
    const T trace = S.xx + S.yy + S.zz, scale = T(1.0) / trace;
    const T a = S.yy * S.zz - S.yz * S.yz, b = S.xz * S.yz - S.xy * S.zz, c = S.xy * S.yz - S.xz * S.yy;
    const T f = S.xx * S.zz - S.xz * S.xz, g = S.xy * S.xz - S.xx * S.yz, h = S.xx * S.yy - S.xy * S.xy;
    const T det = (scale * S.xx) * a + (scale * S.xy) * b + (scale * S.xz) * c, d = T(1.0) / det;
    // Within a factor of three of the smallest eigenvalue; of rank one `pairs` and `det` are rounding, as their quotient.
    const T pairs = a + f + h;
    smallest = minimum(trace * (det / pairs), scale * pairs);
    return {scale * (d * a), scale * (d * b), scale * (d * c), scale * (d * f), scale * (d * g), scale * (d * h)};
}

// P a = r, the acceleration of what nothing holds, faster than six dofs one after the other: by way of the block C,
// a.v = C^-1 (r.v - B* a.w), with the Schur complement A - B C^-1 B* for a.w. The margin is above zero when all six dofs
// have inertia relative to the sizes of P.
template <class T>
SOACRAFT_FLAT Spatial<T> solve(const Articulated<T>& P, const Sizes<T>& of, const Spatial<T>& r, T& margin) {
    T of_C, of_A;
    const Sym<T> C_inv = inverse(P.C, of_C);
    const Mat<T> Bt = transpose(P.B);                                    // columns are rows of B
    const Vec<T> g0 = C_inv * Bt.a, g1 = C_inv * Bt.b, g2 = C_inv * Bt.c;  // columns of C^-1 B*
    const Sym<T> A{P.A.xx - dot(Bt.a, g0), P.A.xy - dot(Bt.a, g1), P.A.xz - dot(Bt.a, g2),
                   P.A.yy - dot(Bt.b, g1), P.A.yz - dot(Bt.b, g2), P.A.zz - dot(Bt.c, g2)};
    const Sym<T> A_inv = inverse(A, of_A);
    margin = minimum(of_A - T(doubt<T>) * of.A, of_C - T(doubt<T>) * of.C);
    const Vec<T> w = A_inv * (r.w - Vec<T>{dot(g0, r.v), dot(g1, r.v), dot(g2, r.v)});
    return {w, C_inv * r.v - (w.x * g0 + w.y * g1 + w.z * g2)};
}

SOACRAFT_RIGID_END
