// A Coriolis matrix C with d/dt M - 2 C skew and C v the bias without gravity, for any hinge (formula F8).
// O(n depth), at most O(nv^2).
//
//     C = H phi (M d/dt(phi* H*) + Bh phi* H*),    Bh(k) = -[[n~, f~], [f~, 0]],   [n; f] = M V
//
// Referred to one point that does not move, phi is the identity; with S' = crm(V) S, and the sums over all that is
// outboard of an element
//
//     R = sum M(k),    E = sum E(k),    E(k) U = crf(U) M(k) V(k) - M(k) crm(V(k)) U
//
//     row i, column j of the element of i or farther out:   S_i . (R S' + E S)_j
//     row i, column j of an element inboard:                (R S_i) . S'_j + (E* S_i) . S_j
//
// Columns of one element turn with it; a rolling ball's lever stays where it is. The base is at rest, and armature is
// constant.
#pragma once

#include "steps/standing.hpp"

SOACRAFT_RIGID_BEGIN

template <class T>
SOACRAFT_FLAT Mat<T> tilde(const Vec<T>& a) {
    const T o(0.0);
    return {{o, a.z, -a.y}, {-a.z, o, a.x}, {a.y, -a.x, o}};
}
// a b*
template <class T>
SOACRAFT_FLAT Mat<T> outer(const Vec<T>& a, const Vec<T>& b) { return {b.x * a, b.y * a, b.z * a}; }
template <class T>
SOACRAFT_FLAT void add_diagonal(Mat<T>& A, const T& s) { A.a.x += s, A.b.y += s, A.c.z += s; }

// E = [[A, B], [C, -k~]], k the sum of m w.
template <class T>
struct Swept {
    Mat<T> A, B, C;
    Vec<T> k;
};
template <class T>
SOACRAFT_FLAT Swept<T> swept(const Rigid<T>& I, const Spatial<T>& V) {
    const Vec<T>&w = V.w, &h = I.h;
    const T hw = dot(h, w);
    const Mat<T> P = tilde(I.m * V.v), hw_ = outer(h, w), wh_ = outer(w, h);
    Swept<T> E;
    E.A = transpose(cross(w, full(I.J))) + outer(-V.v, h) + tilde(-(I.J * w + cross(h, V.v)));
    add_diagonal(E.A, dot(h, V.v));
    E.B = {-P.a - hw_.a, -P.b - hw_.b, -P.c - hw_.c};
    add_diagonal(E.B, hw);
    const T two(2.0);
    E.C = {two * (wh_.a - P.a) - hw_.a, two * (wh_.b - P.b) - hw_.b, two * (wh_.c - P.c) - hw_.c};
    add_diagonal(E.C, -hw);
    E.k = I.m * w;
    return E;
}
template <class T>
SOACRAFT_FLAT void operator+=(Swept<T>& E, const Swept<T>& K) { E.A += K.A, E.B += K.B, E.C += K.C, E.k += K.k; }
// The same about a point from which the old one is l away.
template <class T>
SOACRAFT_FLAT Swept<T> shifted(const Vec<T>& l, const Swept<T>& E) {
    const T lk = dot(l, E.k);
    Swept<T> F{E.A + cross(l, E.C), E.B + outer(-E.k, l), E.C + outer(l, E.k), E.k};
    add_diagonal(F.B, lk);
    add_diagonal(F.C, -lk);
    F.A += transpose(cross(l, transpose(F.B)));
    return F;
}
template <class T>
SOACRAFT_FLAT Spatial<T> operator*(const Swept<T>& E, const Spatial<T>& S) {
    return {E.A * S.w + E.B * S.v, E.C * S.w - cross(E.k, S.v)};
}
// E* S
template <class T>
SOACRAFT_FLAT Spatial<T> back(const Swept<T>& E, const Spatial<T>& S) {
    return {turn_back(E.A, S.w) + turn_back(E.C, S.v), turn_back(E.B, S.w) + cross(E.k, S.v)};
}

// What is outboard of an element, about its origin.
template <class T>
struct SweptAlong {
    Rigid<T> R;
    Swept<T> E;
};
template <class T>
SOACRAFT_FLAT SweptAlong<T> nothing_swept() {
    const T o(0.0);
    const Vec<T> no = zeros<T>();
    const Mat<T> none{no, no, no};
    return {{{o, o, o, o, o, o}, no, o}, {none, none, none, no}};
}

template <class T>
SOACRAFT_FLAT void operator+=(SweptAlong<T>& a, const SweptAlong<T>& b) { a.R += b.R, a.E += b.E; }
template <class T>
SOACRAFT_FLAT SweptAlong<T> shifted(const Vec<T>& l, const SweptAlong<T>& k) { return {shifted(l, k.R), shifted(l, k.E)}; }

// Columns by dofs: where the numbers of each kind begin among the rows of a table.
enum CoriolisColumn : int {
    CORIOLIS_S = 0,   // S
    CORIOLIS_S1 = 6,  // S'
    CORIOLIS_Z = 12,  // R S' + E S
    CORIOLIS_A = 18,  // R S
    CORIOLIS_K = 24,  // E* S
    CORIOLIS_ROWS = 30
};

template <class C>
struct CoriolisWork : TreeWork<SweptAlong<double>> {
    Table<CORIOLIS_ROWS, C> columns;
};

template <class C, class Arena>
SOACRAFT_INLINE CoriolisWork<C> coriolis_work(const Model& model, Arena& arena) {
    CoriolisWork<C> w;
    w.take(model, arena);
    w.columns = Table<CORIOLIS_ROWS, C>::take(model.nv, arena);
    return w;
}

// All columns of one tree, elements [first, last).
template <class C, class In>
SOACRAFT_INLINE void coriolis_columns(const Model& model, const In& q, const In& v, const CoriolisWork<C>& w,
                                      index first, index last) {
    typedef double T;
    for (index k = first; k < last; ++k) {
        const Element& e = model.elements[k];
        Standing<T>& me = w.at[k];
        stand_on(e, w.turns[k], q, none<T>(), w.at, me);
        me.V = me.V_plus;
        Spatial<T> S[6];
        hinge_columns(e, q, me.R, S);
        for (index i = 0; i < dofs(e.kind); ++i) me.V += v[e.v + i] * S[i];
    }
    const Vec<T> c = middle(w.at, first, last);
    const SweptAlong<T> nothing = nothing_swept<T>();
    SweptAlong<T> carry = nothing;
    for (index k = last; k-- > first;) {
        const Element& e = model.elements[k];
        const Standing<T>& me = w.at[k];
        SweptAlong<T> my = w.outboard(e, k, carry, nothing);
        if (!e.massless) {
            const Rigid<T> I = turned(me.R, inertia<T>(e));
            my.R += I, my.E += swept(I, me.V);
        }
        const Vec<T> d = me.r - c, away = -d;
        const Vec<T> turning = me.V.w - me.V_plus.w, l = e.kind == ROLLING ? me.R * lever<T>(e, q) : zeros<T>();
        Spatial<T> S[6];
        hinge_columns(e, q, me.R, S);
        for (index i = 0; i < dofs(e.kind); ++i) {
            const index j = w.number.first[k] + i;
            Spatial<T> S1 = motion_cross(me.V, S[i]);
            if (e.kind == ROLLING) S1.v -= cross(cross(turning, l), S[i].w);
            w.columns.set(CORIOLIS_S, j, motion_at(away, S[i]));
            w.columns.set(CORIOLIS_S1, j, motion_at(away, S1));
            w.columns.set(CORIOLIS_Z, j, force_from(d, my.R * S1 + my.E * S[i]));
            w.columns.set(CORIOLIS_A, j, force_from(d, my.R * S[i]));
            w.columns.set(CORIOLIS_K, j, force_from(d, back(my.E, S[i])));
        }
        w.pass_inward(model, e, me.l, my, carry);
    }
}

// Columns [from, to) of row r: of its own element and farther out, or of elements inboard.
template <bool INBOARD, class C>
SOACRAFT_FLAT C coriolis_row(const Table<CORIOLIS_ROWS, C>& t, index r, index from, index to, const Sheet& y) {
    constexpr index w = columns_in<C, double>;
    C a[6], b[6], bad(0.0);
    for (int i = 0; i < 6; ++i) {
        a[i] = C(t.at((INBOARD ? CORIOLIS_A : CORIOLIS_S) + i, r));
        if (INBOARD) b[i] = C(t.at(CORIOLIS_K + i, r));
    }
    for (index c = from / w * w; c < to; c += w) {
        C x(0.0);
        for (int i = 0; i < 6; ++i) {
            x += a[i] * t.side((INBOARD ? CORIOLIS_S1 : CORIOLIS_Z) + i, c);
            if (INBOARD) x += b[i] * t.side(CORIOLIS_S + i, c);
        }
        bad += nonsense(x);
        y.put(r, c, x, from, to);
    }
    return bad;
}

// The Coriolis matrix of one state, nv x nv. C holds the columns that are worked on together. False when a number is
// not finite, or so large that another might not be.
template <class C, class In>
SOACRAFT_INLINE bool coriolis_matrix(const Model& model, const In& q, const In& v, CoriolisWork<C> w, double* out) {
    w.template begin<C>(model, q, nothing_swept<double>());
    const Sheet y = sheet(model, w.number, out);
    for (index k = 0; k < model.count; k = model.elements[k].last)
        coriolis_columns(model, q, v, w, k, model.elements[k].last);
    w.columns.close(model.nv);
    if (!w.columns.moderate(model.nv)) return false;
    fill_zero(out, model.nv * model.nv);
    const index* first = w.number.first;
    C bad(0.0);
    for (index k = 0; k < model.count; ++k)
        for (index r = first[k]; r < first[k + 1]; ++r) {
            bad += coriolis_row<false>(w.columns, r, first[k], first[model.elements[k].last], y);
            for (index tip = model.elements[k].parent; tip >= 0;) {
                const index root = w.number.run[tip];
                bad += coriolis_row<true>(w.columns, r, first[root], first[tip + 1], y);
                tip = model.elements[root].parent;
            }
        }
    return !any_not_above(C(1.0), bad);
}

SOACRAFT_RIGID_END
