// The limb of an element, its place and motion at one state, in inertially oriented axes about its origin, so that
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
    Vec<T> p, l;     // its place, and that relative to its parent
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
// f about a point from which it is at l: [[I, l~], [0, I]].
template <class T>
SOACRAFT_FLAT Spatial<T> pulled(const Vec<T>& l, const Spatial<T>& f) { return {f.w + cross(l, f.v), f.v}; }

// The limb that carries an element: that of its parent, or of the node of it that deforms; -1: the base.
SOACRAFT_FLAT index inboard(const Model& model, const Element& e) { return e.spot >= 0 ? model.count + e.spot : e.parent; }

SOACRAFT_RIGID_END
