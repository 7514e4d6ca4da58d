// The logarithm of the determinant of the mass matrix (000 Eq. 47, 004 Eq. 53) and its gradient along all dofs. O(n).
//
//     P(k) = sum over children j of phi(k,j) P+(j) phi*(k,j) + M(k)
//     P+ by the hinge step (hinge_step.hpp),    log det = sum of log D
//
// and from the base outwards, with the paper's Upsilon and Y(k) = phi*(p,k) Upsilon(p) phi(p,k),
//
//     Upsilon(k) = (I - G H)* Y(k) (I - G H) + H* D^-1 H
//     d log det / d q_c = -2 tr(crm(H*_c) Y P+)       (+ 2 tr(G* (I - Y P+) dH*_c)  for a rolling ball, whose H varies)
//
// as what is outboard of an element turns along c, P+ with it. Dofs are taken one by one: a hinge with several is a
// chain of them without bodies between. In inertially oriented axes phi has no rotation.
#pragma once

#include "minv.hpp"
#include "steps/variation.hpp"

SOACRAFT_RIGID_BEGIN

template <class T>
struct LogDetWork {
    HingeTurn<T>* turns;        // by elements
    Place<T>* at;
    Articulated<T>* P;          // P+
    Taken<T>* dofs;        // in the order of the elements
    Sized<T>* branches;        // P, later Upsilon
};

template <class T, class Arena>
SOACRAFT_INLINE LogDetWork<T> log_det_work(const Model& m, Arena& arena) {
    return {arena.template take<HingeTurn<T>>(m.count), arena.template take<Place<T>>(m.count),
            arena.template take<Articulated<T>>(m.count), arena.template take<Taken<T>>(m.nv),
            arena.template take<Sized<T>>(m.branches)};
}

// G, D and P+ of all hinges. False when one has no inertia to move.
template <class C, class T, class In>
SOACRAFT_INLINE bool eliminate_dofs(const Model& model, const In& q, const LogDetWork<T>& w) {
    turn<C>(model, q, w.turns);
    stand(model, q, w.turns, w.at);
    const Sized<T> no{no_inertia<T>(), no_sizes<T>()};
    for (index i = 0; i < model.branches; ++i) w.branches[i] = no;
    T margin(1.0);
    Sized<T> carry = no;
    for (index k = model.count; k-- > 0;) {
        const Element& e = model.elements[k];
        const Mat<T>& R = w.at[k].R;
        Sized<T> my = e.branch >= 0 ? w.branches[e.branch] : e.last > k + 1 ? carry : no;
        Articulated<T>& P = my.P;
        if (!e.massless) P += e.parent < 0 ? inertia<T>(e) : turned(R, inertia<T>(e));
        take_hinge(model, e, q, TreeAxes<T>{R}, P, my.of, margin,
                   [&](index i, const auto&, const Taken<T>& dof) { w.dofs[e.d + i] = dof; });
        w.P[k] = P;
        if (e.parent >= 0) {
            carry = {shifted(w.at[k].p, P), shifted(w.at[k].p, my.of)};
            const Element& p = model.elements[e.parent];
            if (p.branch >= 0) w.branches[p.branch] += carry;
        }
    }
    return !any_not_above(margin, T(0.0));
}

SOACRAFT_FLAT double logarithm(double x) { return std::log(x); }
#if !defined(__CUDACC__)
template <int W>
SOACRAFT_FLAT Pack<W> logarithm(Pack<W> x) {
    for (int i = 0; i < W; ++i) x.x[i] = std::log(x.x[i]);
    return x;
}
#endif

// log det of the mass matrix. False when a hinge has no inertia to move.
template <class C, class T, class In>
SOACRAFT_INLINE bool log_det(const Model& model, const In& q, const LogDetWork<T>& w, T& sum) {
    if (!eliminate_dofs<C>(model, q, w)) return false;
    sum = T(0.0);
    for (index i = 0; i < model.nv; ++i) sum += logarithm(w.dofs[i].D);
    return true;
}

// -- gradient ---------------------------------------------------------------------------------------------------------

template <class T>
SOACRAFT_FLAT Spatial<T> swapped(const Spatial<T>& a) { return {a.v, a.w}; }
// Y a, for Y with the linear part first.
template <class T>
SOACRAFT_FLAT Spatial<T> respond(const Articulated<T>& Y, const Spatial<T>& a) { return swapped(Y * swapped(a)); }

// Y += S z* + z S*, for Y with the linear part first.
template <class T>
SOACRAFT_FLAT void add_both(Sym<T>& A, const Vec<T>& a, const Vec<T>& b) {
    A.xx += T(2.0) * a.x * b.x, A.xy += a.x * b.y + a.y * b.x, A.xz += a.x * b.z + a.z * b.x;
    A.yy += T(2.0) * a.y * b.y, A.yz += a.y * b.z + a.z * b.y, A.zz += T(2.0) * a.z * b.z;
}
template <class T>
SOACRAFT_FLAT void add_outer(Mat<T>& A, const Vec<T>& a, const Vec<T>& b) {
    A.a += b.x * a, A.b += b.y * a, A.c += b.z * a;
}
template <class T>
SOACRAFT_FLAT void put_in(Articulated<T>& Y, const Turning<T>& S, const Spatial<T>& z) {
    add_outer(Y.B, z.v, S.w);
    add_both(Y.C, S.w, z.w);
}
template <class T>
SOACRAFT_FLAT void put_in(Articulated<T>& Y, const Sliding<T>& S, const Spatial<T>& z) {
    add_both(Y.A, S.v, z.v);
    add_outer(Y.B, S.v, z.w);
}
template <class T>
SOACRAFT_FLAT void put_in(Articulated<T>& Y, const Spatial<T>& S, const Spatial<T>& z) {
    put_in(Y, Turning<T>{S.w}, z);
    put_in(Y, Sliding<T>{S.v}, z);
}

// a with tr(w~ X Z) = w . a: the sum of the products of columns of X with rows of Z.
template <class T>
SOACRAFT_FLAT Vec<T> axis(const Mat<T>& columns, const Mat<T>& rows) {
    return cross(columns.a, rows.a) + cross(columns.b, rows.b) + cross(columns.c, rows.c);
}
// tr(crm(S) Y P) = S . this, in parts; Y with the linear part first.
template <class T>
SOACRAFT_FLAT Vec<T> along_turns(const Articulated<T>& Y, const Articulated<T>& P) {
    return axis(full(Y.C), full(P.A)) + axis(transpose(Y.B), P.B) + axis(Y.B, transpose(P.B)) +
           axis(full(Y.A), full(P.C));
}
template <class T>
SOACRAFT_FLAT Vec<T> along_slides(const Articulated<T>& Y, const Articulated<T>& P) {
    return axis(full(Y.C), transpose(P.B)) + axis(transpose(Y.B), full(P.C));
}
template <class T>
SOACRAFT_FLAT T along(const Turning<T>& S, const Articulated<T>& Y, const Articulated<T>& P) {
    return dot(S.w, along_turns(Y, P));
}
template <class T>
SOACRAFT_FLAT T along(const Sliding<T>& S, const Articulated<T>& Y, const Articulated<T>& P) {
    return dot(S.v, along_slides(Y, P));
}
template <class T>
SOACRAFT_FLAT T along(const Spatial<T>& S, const Articulated<T>& Y, const Articulated<T>& P) {
    return dot(S.w, along_turns(Y, P)) + dot(S.v, along_slides(Y, P));
}

// What a rolling ball adds: 2 G* (I - Y P+), row by row, times the change (l x a_c) x a_i of its columns.
template <class T, class In>
SOACRAFT_INLINE Vec<T> of_ball(const Element& e, const In& q, const Mat<T>& R, const Taken<T>* dofs,
                               const Articulated<T>& Y, const Articulated<T>& P) {
    Spatial<T> S[3];
    hinge_columns(e, q, R, S);
    const Vec<T> l = R * lever<T>(e, q), la = cross(l, R.a), lb = cross(l, R.b), lc = cross(l, R.c);
    Vec<T> sum = zeros<T>();
    for (int i = 0; i < 3; ++i) {
        Spatial<T> G = dofs[i].G;  // of the hinge as a whole
        for (int j = i; j-- > 0;) G -= dot(S[j], G) * dofs[j].G;
        const Vec<T> z = T(2.0) * (G - P * respond(Y, G)).v, a = cross(S[i].w, z);
        sum += Vec<T>{dot(la, a), dot(lb, a), dot(lc, a)};
    }
    return sum;
}

// d log det / d q. False when a hinge has no inertia to move.
template <class C, class T, class In, class Out>
SOACRAFT_INLINE bool log_det_gradient(const Model& model, const In& q, const LogDetWork<T>& w, Out& gradient) {
    if (!eliminate_dofs<C>(model, q, w)) return false;
    Articulated<T> carry = no_inertia<T>();
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        const Mat<T>& R = w.at[k].R;
        Articulated<T> Y = no_inertia<T>();
        if (e.parent >= 0) {
            const index branch = model.elements[e.parent].branch;
            Y = shifted(-w.at[k].p, branch >= 0 ? w.branches[branch].P : carry);
        }
        const Articulated<T> before = Y, P = w.P[k];
        each_column(e, q, R, [&](index i, const auto& S) {
            const Taken<T>& dof = w.dofs[e.d + i];
            gradient.set(e.v + i, T(-2.0) * along(S, before, P));
            const Spatial<T> y = respond(Y, dof.G);
            put_in(Y, S, (T(0.5) * (dot(dof.G, y) + dof.D_inv)) * whole(S) - y);
        });
        if (e.kind == ROLLING) {
            const Vec<T> more = of_ball(e, q, R, w.dofs + e.d, before, P);
            gradient.set(e.v, gradient[e.v] + more.x);
            gradient.set(e.v + 1, gradient[e.v + 1] + more.y);
            gradient.set(e.v + 2, gradient[e.v + 2] + more.z);
        }
        carry = Y;
        if (e.branch >= 0) w.branches[e.branch].P = Y;
    }
    return true;
}

SOACRAFT_RIGID_END
