// Poses of bodies and the Jacobian of a node, both relative to the frame the base hangs from.
#pragma once

#include "steps/turns.hpp"

SOACRAFT_RIGID_BEGIN

template <class T>
SOACRAFT_FLAT Place<T> operator*(const Place<T>& X, const Place<T>& Y) { return {X.R * Y.R, X.p + X.R * Y.p}; }

template <class T>
SOACRAFT_FLAT Place<T> place_at(const double* R, const double* p) { return {mat<T>(R), vec<T>(p)}; }

template <class T>
SOACRAFT_FLAT Place<T> no_place() {
    const T o(0.0), i(1.0);
    return {{{i, o, o}, {o, i, o}, {o, o, i}}, {o, o, o}};
}

// Rotations (row-major) and translations of all bodies, base to tips. O(n).
template <class T, class In, class Out>
SOACRAFT_INLINE void poses(const Model& model, const Place<T>& base, const In& q, Place<T>* SOACRAFT_RESTRICT w,
                           Out& rotation, Out& translation) {
    auto turns = turns_of<T>(model, q, model.count);
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        w[k] = (e.parent < 0 ? base : w[e.parent]) * place<T>(e, turns(k), q);
    }
    for (index b = 0; b < model.body_count; ++b) {
        const Body& body = model.bodies[b];
        const Place<T> X = (body.element < 0 ? base : w[body.element]) * place_at<T>(body.R, body.p);
        const Vec<T>* columns[] = {&X.R.a, &X.R.b, &X.R.c};
        for (int j = 0; j < 3; ++j) {
            rotation.set(9 * b + j, columns[j]->x);
            rotation.set(9 * b + 3 + j, columns[j]->y);
            rotation.set(9 * b + 6 + j, columns[j]->z);
        }
        translation.set(3 * b, X.p.x), translation.set(3 * b + 1, X.p.y), translation.set(3 * b + 2, X.p.z);
    }
}

// Column `at` of a Jacobian with `width` columns.
template <class T, class Out>
SOACRAFT_FLAT void set_column(Out& J, index width, index at, const Vec<T>& w, const Vec<T>& v) {
    J.set(at, w.x), J.set(width + at, w.y), J.set(2 * width + at, w.z);
    J.set(3 * width + at, v.x), J.set(4 * width + at, v.y), J.set(5 * width + at, v.z);
}

// The columns of a hinge in a Jacobian with nv columns: its element is at X, the frame at the point `tip`.
template <class T, class In, class Out>
SOACRAFT_FLAT void set_hinge_columns(const Element& e, const In& q, const Place<T>& X, const Vec<T>& tip, index nv, Out& J) {
    const Vec<T> arm = tip - X.p;
    if (e.kind <= HELICAL) {
        const Vec<T> z = T(e.scale) * X.R.c;
        if (e.kind == PRISMATIC) {
            const T o(0.0);
            set_column(J, nv, e.v, Vec<T>{o, o, o}, z);
        } else {
            set_column(J, nv, e.v, z, cross(z, arm) + T(e.kind == HELICAL ? e.pitch : 0.0) * z);
        }
        return;
    }
    if (e.kind == FIXED) return;
    const Vec<T> lead = e.kind == ROLLING ? X.R * lever<T>(e, q) : Vec<T>{T(0.0), T(0.0), T(0.0)};
    const Vec<T>* axes[] = {&X.R.a, &X.R.b, &X.R.c};
    for (int j = 0; j < 3; ++j) {
        const T o(0.0);
        set_column(J, nv, e.v + j, *axes[j], cross(*axes[j], arm) + cross(lead, *axes[j]));
        if (e.kind == FREE) set_column(J, nv, e.v + 3 + j, Vec<T>{o, o, o}, *axes[j]);
    }
}

// J = B* phi* H* for one frame at `spot` on an element: [angular; linear] in base axes, 6 x nv, zeroed before. O(depth).
template <class T, class In, class Out>
SOACRAFT_INLINE void jacobian(const Model& model, const Place<T>& base, const In& q, index element,
                              const Place<T>& spot, index* SOACRAFT_RESTRICT path, Place<T>* SOACRAFT_RESTRICT w, Out& J) {
    index depth = 0;
    for (index k = element; k >= 0; k = model.elements[k].parent) path[depth++] = k;
    Place<T> at = base;
    const auto outward = [path, depth](index i) { return path[depth - 1 - i]; };
    Turns<T, In, decltype(outward)> turns(model, q, depth, outward);
    for (index i = depth; i-- > 0;) at = w[i] = at * place<T>(model.elements[path[i]], turns(depth - 1 - i), q);
    const Vec<T> tip = (at * spot).p;
    for (index i = 0; i < depth; ++i) set_hinge_columns(model.elements[path[i]], q, w[i], tip, model.nv, J);
}

SOACRAFT_RIGID_END
