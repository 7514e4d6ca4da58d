// How the motion of a tree varies with its dofs, in inertially oriented axes about the elements' own origins.
//
// A step along dof j of element k carries what is outboard by the twist S_j. To an observer carried along, for all i
// outboard of k and k itself (V+, a+: of the parent, referred to the origin of k),
//
//     dV(i) = psi'_j,                             psi'_j  = crm(V+) S_j
//     da(i) = psi''_j - crm(V(i)) psi'_j,         psi''_j = crm(a+) S_j + crm(V+) psi'_j
//
// and along v_j:  dV(i) = S_j,  da(i) = psi'_j + S'_j - crm(V(i)) S_j  with  S'_j = crm(V(k)) S_j.  What body i takes,
// M a + crf(V) M V, then changes by  M psi'' + B psi'  and  M (psi' + S') + B S,  where
//
//     B U = crf(V) M U - M crm(V) U + crf(U) M V = 2 int [x~; I] (w x x') dm = [[T, 0], [-2 p~, 0]] U
//
// needs the angular part w of U only: T = -2 int x~ x'~ dm, p is the linear momentum. M and B of several bodies are sums.
#pragma once

#include "../rnea.hpp"
#include "twists.hpp"

SOACRAFT_RIGID_BEGIN

// A motion about a point l away, and a force from there.
template <class T>
SOACRAFT_FLAT Spatial<T> motion_at(const Vec<T>& l, const Spatial<T>& V) { return {V.w, V.v + cross(V.w, l)}; }
template <class T>
SOACRAFT_FLAT Spatial<T> force_from(const Vec<T>& l, const Spatial<T>& f) { return {f.w + cross(l, f.v), f.v}; }

// B by its numbers.
template <class T>
struct Coriolis {
    Mat<T> A;   // T: -2 int x~ x'~ dm
    Vec<T> p2;  // 2 p
};
template <class T>
SOACRAFT_FLAT Coriolis<T> coriolis(const Rigid<T>& I, const Spatial<T>& V) {
    const Vec<T> w = T(-2.0) * V.w, v = T(-2.0) * V.v;
    const T half = T(0.5) * (I.J.xx + I.J.yy + I.J.zz), away = dot(I.h, v);  // second moments: 1/2 tr J - J
    Coriolis<T> B{{cross(w, Vec<T>{half - I.J.xx, -I.J.xy, -I.J.xz}) + I.h.x * v,
                   cross(w, Vec<T>{-I.J.xy, half - I.J.yy, -I.J.yz}) + I.h.y * v,
                   cross(w, Vec<T>{-I.J.xz, -I.J.yz, half - I.J.zz}) + I.h.z * v},
                  -(I.m * v + cross(w, I.h))};
    B.A.a.x -= away, B.A.b.y -= away, B.A.c.z -= away;
    return B;
}
template <class T>
SOACRAFT_FLAT void operator+=(Coriolis<T>& B, const Coriolis<T>& K) { B.A += K.A, B.p2 += K.p2; }
// The same about a point from which the old one is l away.
template <class T>
SOACRAFT_FLAT Coriolis<T> shifted(const Vec<T>& l, const Coriolis<T>& B) {
    const T away = dot(l, B.p2);
    Coriolis<T> K{{B.A.a - l.x * B.p2, B.A.b - l.y * B.p2, B.A.c - l.z * B.p2}, B.p2};
    K.A.a.x += away, K.A.b.y += away, K.A.c.z += away;
    return K;
}
// B U for the angular part of U.
template <class T>
SOACRAFT_FLAT Spatial<T> operator*(const Coriolis<T>& B, const Vec<T>& w) { return {B.A * w, cross(w, B.p2)}; }
template <class T>
SOACRAFT_FLAT Spatial<T> operator*(const Coriolis<T>& B, const Turning<T>& U) { return B * U.w; }
template <class T>
SOACRAFT_FLAT Spatial<T> operator*(const Coriolis<T>& B, const Spatial<T>& U) { return B * U.w; }
template <class T>
SOACRAFT_FLAT Spatial<T> operator*(const Coriolis<T>&, const Sliding<T>&) { return none<T>(); }
// The angular part of B* S; the other is zero.
template <class T>
SOACRAFT_FLAT Vec<T> back(const Coriolis<T>& B, const Turning<T>& S) { return turn_back(B.A, S.w); }
template <class T>
SOACRAFT_FLAT Vec<T> back(const Coriolis<T>& B, const Sliding<T>& S) { return cross(B.p2, S.v); }
template <class T>
SOACRAFT_FLAT Vec<T> back(const Coriolis<T>& B, const Spatial<T>& S) { return turn_back(B.A, S.w) + cross(B.p2, S.v); }

SOACRAFT_RIGID_END
