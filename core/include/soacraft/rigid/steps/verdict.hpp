// Whether a hinge has inertia to move: its D beside the numbers that rounding is part of.
//
// P loses digits where hinges take inertia out: of a point mass on three pins nothing but rounding is left at the third.
// So what is carried inward beside P are the sizes that its blocks A (mass times length squared) and C (mass) have had,
// as rounding is carried:  dP+ = (I - G H) dP (I - G H)*.  A D that turns is judged beside the first, one that slides
// beside the second, so that no choice of units changes the verdict. A D in doubt is not refused here: Python decides.
#pragma once

#include "../../doubt.hpp"
#include "../model/model.hpp"

SOACRAFT_RIGID_BEGIN

// A hinge inertia smaller than this beside the size of P counts as none; loops.
constexpr double SINGULAR = 1e-14;

template <class T>
SOACRAFT_FLAT T size(const Articulated<T>& P) { return P.A.xx + P.A.yy + P.A.zz + P.C.xx + P.C.yy + P.C.zz; }

// The sizes of A and C that rounding is part of.
template <class T>
struct Sizes {
    T A, C;
};

template <class T>
SOACRAFT_FLAT Sizes<T> no_sizes() { return {T(FAINT / DOUBT), T(FAINT / DOUBT)}; }
template <class T>
SOACRAFT_FLAT void operator+=(Sizes<T>& a, const Sizes<T>& b) { a.A += b.A, a.C += b.C; }
// At an element with P: the traces of A and C, unless more was lost outboard. Returned is what its hinge makes more of:
// all of it where there is no body, as between the pins of a gimbal, or else the traces, since numbers without signs
// cannot see that rounding does not grow from body to body along a chain.
template <class T>
SOACRAFT_FLAT Sizes<T> meet(Sizes<T>& a, const Articulated<T>& P, const Element& e) {
    const Sizes<T> own{P.A.xx + P.A.yy + P.A.zz, P.C.xx + P.C.yy + P.C.zz};
    a = {larger_by(FORGOTTEN, a.A, own.A), larger_by(FORGOTTEN, a.C, own.C)};
    return e.massless ? a : own;
}
// About the parent's origin: tr(-p~ C p~) is at most |p|^2 tr C.
template <class T>
SOACRAFT_FLAT Sizes<T> shifted(const Vec<T>& p, const Sizes<T>& a) { return {a.A + dot(p, p) * a.C, a.C}; }

// Of D of one dof of an element, for axes of unit length.
template <class T>
SOACRAFT_FLAT T along_dof(const Sizes<T>& a, const Element& e, index dof = 0) {
    const double lever = e.kind == HELICAL ? e.pitch : e.radius;
    if (e.kind == HELICAL || e.kind == ROLLING) return a.A + T(lever * lever) * a.C;
    return e.kind == PRISMATIC || (e.kind == FREE && dof > 2) ? a.C : a.A;
}
// What rounding is part of once a dof with this G is taken out; `along`: of what `meet` returned.
template <class T>
SOACRAFT_FLAT void take_out(Sizes<T>& a, const T& along, const Spatial<T>& G) {
    a.A += along * dot(G.w, G.w), a.C += along * dot(G.v, G.v);
}

// An articulated inertia with the sizes it was computed from.
template <class T>
struct Sized {
    Articulated<T> P;
    Sizes<T> of;
};
template <class T>
SOACRAFT_FLAT void operator+=(Sized<T>& a, const Sized<T>& b) { a.P += b.P, a.of += b.of; }

SOACRAFT_RIGID_END
