// Where elements and the bodies and nodes on them are and how they move, base to tips, and what sums over bodies follow:
// centre of mass, momentum, energies. O(n).
//
//     V(k) = phi*(p,k) V(p) + H*(k) v(k),     d omega/dt and d^2 p/dt^2 by move_outward (rnea.hpp)
#pragma once

#include "kinematics.hpp"
#include "rnea.hpp"

SOACRAFT_RIGID_BEGIN

// How much of a motion is asked for.
enum Order : int { PLACES = 0, VELOCITIES = 1, ACCELERATIONS = 2 };

// An element: its place, its velocity in its own axes, its acceleration and what turns with it.
template <class T>
struct Track {
    Place<T> X;
    Spatial<T> V;
    Motion<T> motion;
};

// What the base elements hang from.
template <class T>
SOACRAFT_FLAT Track<T> ground_of(const Base& base, const Place<T>& at) {
    const Spatial<T> V = spatial<T>(base.V), a = spatial<T>(base.a);
    return {at, V, {V.w, a.w, a.v + cross(V.w, V.v), swing(V.w, a.w)}};
}

// Elements 0 to last - 1.
template <int ORDER, class T, class In>
SOACRAFT_INLINE void follow(const Model& model, const Track<T>& ground, const In& q, const In& v, const In& vdot,
                            index last, Track<T>* SOACRAFT_RESTRICT to) {
    auto turns = turns_of<T>(model, q, last);
    for (index k = 0; k < last; ++k) {
        const Element& e = model.elements[k];
        const Track<T>& parent = e.parent < 0 ? ground : to[e.parent];
        Track<T>& me = to[k];
        const Place<T> X = place<T>(e, turns(k), q);
        me.X = parent.X * X;
        if (ORDER >= VELOCITIES) me.V = outward(X, parent.V) + across<T>(e, q, v);
        if (ORDER >= ACCELERATIONS) {
            me.motion = parent.motion;
            move_outward<T>(e, X, q, v, vdot, me.motion);
        }
    }
}

// How many elements the frames are on, counted from the first.
SOACRAFT_INLINE index last_of(const Body* frames, index count) {
    index last = 0;
    for (index i = 0; i < count; ++i) last = frames[i].element >= last ? frames[i].element + 1 : last;
    return last;
}

// Velocity, or acceleration, of a frame's origin: [w; v + w x p] and [dw/dt; A + W p], in the axes of its element.
template <class T>
SOACRAFT_FLAT Spatial<T> velocity_at(const Track<T>& k, const Vec<T>& p) { return {k.V.w, k.V.v + cross(k.V.w, p)}; }
template <class T>
SOACRAFT_FLAT Spatial<T> acceleration_at(const Track<T>& k, const Vec<T>& p) {
    return {k.motion.wdot, k.motion.A + k.motion.W * p};
}

template <class T>
SOACRAFT_FLAT Spatial<T> turned(const Mat<T>& R, const Spatial<T>& x) { return {R * x.w, R * x.v}; }

template <class T, class Out>
SOACRAFT_FLAT void set_six(Out& to, index at, const Spatial<T>& x) {
    to.set(at, x.w.x), to.set(at + 1, x.w.y), to.set(at + 2, x.w.z);
    to.set(at + 3, x.v.x), to.set(at + 4, x.v.y), to.set(at + 5, x.v.z);
}
template <class T, class Out>
SOACRAFT_FLAT void set_three(Out& to, index at, const Vec<T>& x) { to.set(at, x.x), to.set(at + 1, x.y), to.set(at + 2, x.z); }
// Row-major.
template <class T, class Out>
SOACRAFT_FLAT void set_rotation(Out& to, index at, const Mat<T>& R) {
    const Vec<T>* columns[] = {&R.a, &R.b, &R.c};
    for (int j = 0; j < 3; ++j)
        to.set(at + j, columns[j]->x), to.set(at + 3 + j, columns[j]->y), to.set(at + 6 + j, columns[j]->z);
}

// Six numbers for each frame: its velocity or its acceleration, in base axes.
template <int ORDER, class T, class Out>
SOACRAFT_INLINE void set_twists(const Body* frames, index count, const Track<T>& ground, const Track<T>* at, Out& to) {
    for (index i = 0; i < count; ++i) {
        const Track<T>& k = frames[i].element < 0 ? ground : at[frames[i].element];
        const Vec<T> p = vec<T>(frames[i].p);
        set_six(to, 6 * i, turned(k.X.R, ORDER == VELOCITIES ? velocity_at(k, p) : acceleration_at(k, p)));
    }
}

// Places of frames.
template <class T, class Out>
SOACRAFT_INLINE void set_places(const Body* frames, index count, const Track<T>& ground, const Track<T>* at,
                                Out& rotation, Out& translation) {
    for (index i = 0; i < count; ++i) {
        const Track<T>& k = frames[i].element < 0 ? ground : at[frames[i].element];
        const Place<T> X = k.X * place_at<T>(frames[i].R, frames[i].p);
        set_rotation(rotation, 9 * i, X.R), set_three(translation, 3 * i, X.p);
    }
}

// -- sums over bodies -------------------------------------------------------------------------------------------------

// What is welded to the base: moment about its frame, first moment, mass.
template <class T>
SOACRAFT_FLAT Rigid<T> fixed_inertia(const Model& model) {
    const double* x = model.fixed;
    return {{T(x[0]), T(x[1]), T(x[2]), T(x[3]), T(x[4]), T(x[5])}, vec<T>(x + 6), T(x[9])};
}

// sum m c with its mass, from places.
template <class T>
SOACRAFT_INLINE Vec<T> first_moment(const Model& model, const Track<T>& ground, const Track<T>* at, T& mass) {
    const Rigid<T> fixed = fixed_inertia<T>(model);
    Vec<T> sum = ground.X.R * fixed.h + fixed.m * ground.X.p;
    mass = fixed.m;
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        if (e.massless) continue;
        sum += at[k].X.R * vec<T>(e.h) + T(e.m) * at[k].X.p;
        mass += T(e.m);
    }
    return sum;
}

// sum phi(0,k) M(k) V(k), about the origin of the axes.
template <class T>
SOACRAFT_INLINE Spatial<T> momentum(const Model& model, const Track<T>& ground, const Track<T>* at) {
    Spatial<T> sum = inward(ground.X, fixed_inertia<T>(model) * ground.V);
    for (index k = 0; k < model.count; ++k)
        if (!model.elements[k].massless) sum += inward(at[k].X, inertia<T>(model.elements[k]) * at[k].V);
    return sum;
}

// V* M V / 2 + v* J v / 2
template <class T, class In>
SOACRAFT_INLINE T kinetic_energy(const Model& model, const Spatial<T>& ground, const In& q, const In& v,
                                 Spatial<T>* SOACRAFT_RESTRICT V) {
    T twice = dot(ground, fixed_inertia<T>(model) * ground);
    auto turns = turns_of<T>(model, q, model.count);
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        V[k] = outward(place<T>(e, turns(k), q), e.parent < 0 ? ground : V[e.parent]) + across<T>(e, q, v);
        if (!e.massless) twice += dot(V[k], inertia<T>(e) * V[k]);
    }
    for (index i = 0; i < model.nv && model.has_armature; ++i) twice += T(model.armature[i]) * v[i] * v[i];
    return T(0.5) * twice;
}

SOACRAFT_RIGID_END
