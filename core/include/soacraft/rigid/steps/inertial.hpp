// A tree seen in inertially oriented axes: phi(p,k) = [[I, l~], [0, I]] has no rotation, and spatial quantities keep the
// origins of their elements, so that no digits are lost far from the base.
//
// The axes are those of the base element: the mass matrix does not depend on where the base hinge stands.
#pragma once

#include "grid.hpp"

SOACRAFT_RIGID_BEGIN

template <class T>
SOACRAFT_FLAT Spatial<T> none() {
    const T o(0.0);
    return {{o, o, o}, {o, o, o}};
}

// Sine and cosine of what a hinge turns.
template <class T>
struct HingeTurn {
    T s, c;
};

// The turns of all elements; where T is one state, as many at a time as a C holds.
template <class C, class T, class In>
SOACRAFT_INLINE void turn(const Model& model, const In& q, HingeTurn<T>* SOACRAFT_RESTRICT t) {
    constexpr int w = columns_in<C, T>;
    for (index k = 0; k < model.count; k += w) {
        const index count = k + w <= model.count ? w : model.count - k;
        T angle[w];
        for (index i = 0; i < w; ++i) {
            const Element& e = model.elements[k + (i < count ? i : 0)];
            angle[i] = e.parent >= 0 && (e.kind == REVOLUTE || e.kind == HELICAL) ? T(e.scale) * q[e.q] : T(0.0);
        }
        C s, c;
        T sine[w], cosine[w];
        sine_cosine(load<C>(angle), s, c);
        store(sine, s), store(cosine, c);
        for (index i = 0; i < count; ++i) t[k + i] = {sine[i], cosine[i]};
    }
}

// The axes of the elements, and l from their parents.
template <class T, class In>
SOACRAFT_INLINE void stand(const Model& model, const In& q, const HingeTurn<T>* SOACRAFT_RESTRICT t,
                           Place<T>* SOACRAFT_RESTRICT at) {
    const T o(0.0), i(1.0);
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        if (e.parent < 0) {
            at[k] = {{{i, o, o}, {o, i, o}, {o, o, i}}, {o, o, o}};
            continue;
        }
        Place<T> X;
        if (e.kind == REVOLUTE || e.kind == HELICAL) {
            const Mat<T> K = mat<T>(e.R);
            const T &s = t[k].s, &c = t[k].c;
            X = {{c * K.a + s * K.b, c * K.b - s * K.a, K.c}, vec<T>(e.p)};
            if (e.kind == HELICAL) X.p += (T(e.pitch * e.scale) * q[e.q]) * K.c;
        } else {
            X = place<T>(e, q);
        }
        const Mat<T>& R = at[e.parent].R;
        at[k] = {R * X.R, R * X.p};
    }
}

// The columns of H* of an element whose axes are R, about its own origin.
template <class T, class In>
SOACRAFT_FLAT void hinge_columns(const Element& e, const In& q, const Mat<T>& R, Spatial<T>* S) {
    const T o(0.0);
    const Vec<T> no{o, o, o};
    switch (e.kind) {
        case REVOLUTE: S[0] = {T(e.scale) * R.c, no}; return;
        case PRISMATIC: S[0] = {no, T(e.scale) * R.c}; return;
        case HELICAL: S[0] = {T(e.scale) * R.c, T(e.scale * e.pitch) * R.c}; return;
        default: break;
    }
    const Vec<T> l = e.kind == ROLLING ? R * lever<T>(e, q) : no;
    S[0] = {R.a, cross(l, R.a)}, S[1] = {R.b, cross(l, R.b)}, S[2] = {R.c, cross(l, R.c)};
    if (e.kind == FREE) S[3] = {no, R.a}, S[4] = {no, R.b}, S[5] = {no, R.c};
}

template <class T>
SOACRAFT_FLAT Rigid<T> turned(const Mat<T>& R, const Rigid<T>& I) { return {turned(R, I.J), R * I.h, I.m}; }

// [[I, l~], [0, I]] I [[I, l~], [0, I]]*
template <class T>
SOACRAFT_FLAT Rigid<T> shifted(const Vec<T>& l, const Rigid<T>& I) {
    const Vec<T> k = I.h + (T(0.5) * I.m) * l;  // J - l~ h~ - h~ l~ - m l~ l~ = J + 2 l.k - l k* - k l*
    const T x = l.x * k.x, y = l.y * k.y, z = l.z * k.z;
    return {{I.J.xx + T(2.0) * (y + z), I.J.xy - l.x * k.y - l.y * k.x, I.J.xz - l.x * k.z - l.z * k.x,
             I.J.yy + T(2.0) * (x + z), I.J.yz - l.y * k.z - l.z * k.y, I.J.zz + T(2.0) * (x + y)},
            I.h + I.m * l,
            I.m};
}
template <class T>
SOACRAFT_FLAT void operator+=(Rigid<T>& I, const Rigid<T>& K) { I.J += K.J, I.h += K.h, I.m += K.m; }

// a += l x b
template <class C, class T>
SOACRAFT_FLAT void add_cross(Vec<C>& a, const Vec<T>& l, const Vec<C>& b) {
    a.x += C(l.y) * b.z - C(l.z) * b.y;
    a.y += C(l.z) * b.x - C(l.x) * b.z;
    a.z += C(l.x) * b.y - C(l.y) * b.x;
}

// At most EIGHT dofs of elements in a row, from `first` to `tip`; its dofs begin at d. Only its tip may have several
// children.
constexpr int EIGHT = 8;
struct Piece {
    index first, tip, parent, d, count;
};

// Cut a tree into pieces, parents first; `piece_of` gets the piece of each element. Returns their number.
SOACRAFT_INLINE index cut(const Model& model, Piece* SOACRAFT_RESTRICT pieces, index* SOACRAFT_RESTRICT piece_of) {
    index count = 0;
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        const bool follows = k > 0 && e.parent == k - 1 && model.elements[k - 1].branch < 0;
        if (follows && pieces[count - 1].count + dofs(e.kind) <= EIGHT) {
            pieces[count - 1].count += dofs(e.kind);
            pieces[count - 1].tip = k;
        } else {
            pieces[count] = {k, k, e.parent < 0 ? -1 : piece_of[e.parent], e.d, dofs(e.kind)};
            ++count;
        }
        piece_of[k] = count - 1;
    }
    return count;
}

// One past the last dof outboard of an element.
SOACRAFT_FLAT index dofs_end(const Model& model, index k) {
    const index last = model.elements[k].last;
    return last < model.count ? model.elements[last].d : model.nv;
}

SOACRAFT_RIGID_END
