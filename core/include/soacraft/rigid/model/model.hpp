// The compiled form of a rigid tree: elements, parents first and depth first, each with one simple hinge.
//
// A universal, gimbal, cylindrical, planar or screw-product hinge is a chain of one-dof elements with massless bodies
// between; a weld is merged into its parent. The frame of an element stands on its outboard hinge frame, turned so that
// the axis of a one-dof hinge is z; `R, p` lead from the parent element's frame to the inboard side of the hinge.
//
// A flexible body is the body of an element of its own; so is what is welded to a node that deforms. FIXED is the kind of
// an element without dofs, which only such trees have.
#pragma once

#include "../../flexible/model.hpp"
#include "../../scalars/small.hpp"

namespace soacraft {
namespace rigid {

enum Kind : int { REVOLUTE = 0, PRISMATIC = 1, HELICAL = 2, SPHERICAL = 3, FREE = 4, ROLLING = 5, FIXED = 6 };

struct Element {
    index parent;    // -1: hangs from the base
    index kind;
    index q, v;      // where its coordinates and velocities stand
    index wide;      // number among the elements with several dofs, or -1
    index branch;    // number among the elements whose children are accumulated, or -1: the one child follows
    index last;      // one past the last element outboard of this one
    int massless;
    int has_armature;       // whether a dof of it has armature
    index d;         // where its dofs stand when counted in the order of the elements
    double R[9], p[3];           // row-major
    double J[6], h[3], m;        // moment xx xy xz yy yz zz about the frame, first moment, mass
    double scale, unscale, pitch;  // of a screw: turns scale * q, travels pitch * scale * q; unscale = 1 / scale
    double radius, normal[3], t1[3], t2[3];  // of a rolling ball, in inboard axes
    index flexible;  // number among the flexible bodies, or -1
    index spot;      // the deforming node of the parent that its hinge is on, or -1: `R, p` lead from that node
};

// A body of the user's: the element that carries it, and where its frame is on it.
struct Body {
    index element;  // -1: welded to the base
    double R[9], p[3];
};

struct Model {
    index count, nq, nv, wides, branches, body_count;
    const Element* elements;
    const Body* bodies;
    index in_order;  // whether the user's dofs are in the order of the elements: v = d
    const double* armature;  // the user's, in the order of v: what a dof adds to its own inertia
    index has_armature;             // whether an element is
    double fixed[10];        // the inertia of what is welded to the base, as J, h and m of an element
    index flexible_count, spot_count, modes;  // modes of all flexible bodies
    const Flexible* flexible;
    const Spot* spots;
    const Eight* modal;      // what the offsets of flexible bodies and spots are counted in
};

SOACRAFT_INLINE index dofs(index kind) { return kind <= HELICAL ? 1 : kind == FREE ? 6 : kind == FIXED ? 0 : 3; }

}  // namespace rigid
}  // namespace soacraft

SOACRAFT_RIGID_BEGIN

template <class T>
SOACRAFT_FLAT Vec<T> vec(const double* a) { return {T(a[0]), T(a[1]), T(a[2])}; }
template <class T>
SOACRAFT_FLAT Mat<T> mat(const double* a) {
    return {{T(a[0]), T(a[3]), T(a[6])}, {T(a[1]), T(a[4]), T(a[7])}, {T(a[2]), T(a[5]), T(a[8])}};
}
template <class T>
SOACRAFT_FLAT Rigid<T> inertia(const Element& e) {
    return {{T(e.J[0]), T(e.J[1]), T(e.J[2]), T(e.J[3]), T(e.J[4]), T(e.J[5])}, vec<T>(e.h), T(e.m)};
}

// The rotation of a unit quaternion x, y, z, w.
template <class T>
SOACRAFT_FLAT Mat<T> rotation(const T& x, const T& y, const T& z, const T& w) {
    const T xx = x + x, yy = y + y, zz = z + z;
    return {{T(1.0) - (y * yy + z * zz), x * yy + w * zz, x * zz - w * yy},
            {x * yy - w * zz, T(1.0) - (x * xx + z * zz), y * zz + w * xx},
            {x * zz + w * yy, y * zz - w * xx, T(1.0) - (x * xx + y * yy)}};
}

// Quaternions come within 1e-6 of unit: two Newton steps for 1/|q| are exact to rounding.
template <class T, class In>
SOACRAFT_FLAT Mat<T> quaternion_at(const In& q, index i) {
    const T x = q[i], y = q[i + 1], z = q[i + 2], w = q[i + 3], n = x * x + y * y + z * z + w * w;
    const T first = T(1.5) - T(0.5) * n, s = first * (T(1.5) - T(0.5) * n * first * first);
    return rotation<T>(s * x, s * y, s * z, s * w);
}

// Cosine and sine of a hinge's turn; a hinge that slides, or has a quaternion, has none.
template <class T>
struct Turn {
    T c, s;
};

template <class T, class In>
SOACRAFT_FLAT Turn<T> turn_of(const Element& e, const In& q) {
    Turn<T> turn{T(1.0), T(0.0)};
    if (e.kind == REVOLUTE || e.kind == HELICAL) sine_cosine(T(e.scale) * q[e.q], turn.s, turn.c);
    return turn;
}

// The frame of an element in its parent element's frame.
template <class T, class In>
SOACRAFT_FLAT Place<T> place(const Element& e, const Turn<T>& turn, const In& q) {
    const Mat<T> K = mat<T>(e.R);
    const Vec<T> p = vec<T>(e.p);
    const T &c = turn.c, &s = turn.s;
    switch (e.kind) {
        case REVOLUTE: return {{c * K.a + s * K.b, c * K.b - s * K.a, K.c}, p};
        case PRISMATIC: return {K, p + (T(e.scale) * q[e.q]) * K.c};
        case HELICAL:
            return {{c * K.a + s * K.b, c * K.b - s * K.a, K.c}, p + (T(e.pitch * e.scale) * q[e.q]) * K.c};
        case SPHERICAL: return {K * quaternion_at<T>(q, e.q), p};
        case FIXED: return {K, p};
        case FREE: return {K * quaternion_at<T>(q, e.q), p + K * Vec<T>{q[e.q + 4], q[e.q + 5], q[e.q + 6]}};
        default:
            return {K * quaternion_at<T>(q, e.q),
                    p + K * (q[e.q + 4] * vec<T>(e.t1) + q[e.q + 5] * vec<T>(e.t2) + T(e.radius) * vec<T>(e.normal))};
    }
}

template <class T, class In>
SOACRAFT_FLAT Place<T> place(const Element& e, const In& q) { return place<T>(e, turn_of<T>(e, q), q); }

// From the centre of a rolling ball to its contact point, in ball axes.
template <class T, class In>
SOACRAFT_FLAT Vec<T> lever(const Element& e, const In& q) {
    return turn_back(quaternion_at<T>(q, e.q), T(-e.radius) * vec<T>(e.normal));
}

template <class T, class In>
SOACRAFT_FLAT Vec<T> three(const In& x, index i) { return {x[i], x[i + 1], x[i + 2]}; }

// H* x, the velocity across the hinge, and its rate at fixed x: (dH*/dt) x.
template <class T, class In>
SOACRAFT_FLAT Spatial<T> across(const Element& e, const In& q, const In& x) {
    const T o(0.0);
    switch (e.kind) {
        case REVOLUTE: return {{o, o, T(e.scale) * x[e.v]}, {o, o, o}};
        case PRISMATIC: return {{o, o, o}, {o, o, T(e.scale) * x[e.v]}};
        case HELICAL: return {{o, o, T(e.scale) * x[e.v]}, {o, o, T(e.scale * e.pitch) * x[e.v]}};
        case SPHERICAL: return {three<T>(x, e.v), {o, o, o}};
        case FREE: return {three<T>(x, e.v), three<T>(x, e.v + 3)};
        case FIXED: return {{o, o, o}, {o, o, o}};
        default: {
            const Vec<T> w = three<T>(x, e.v);
            return {w, cross(lever<T>(e, q), w)};
        }
    }
}

SOACRAFT_RIGID_END
