// Derivatives of inverse dynamics along q and v, and the mass matrix: closed form (variation.hpp). O(n depth), at most
// O(nv^2).
//
// With composite M, B and f of what is outboard of an element, referred to one point so that phi is the identity,
//
//     row i, column j of an element inboard of that of i, or the same:
//         dq = (M S_i) . psi''_j + (B* S_i) . psi'_j      dv = (M S_i) . (psi' + S')_j + (B* S_i) . S_j
//     row i, column j of an element farther out:
//         dq = S_i . (M psi'' + B psi' + crf(S) f)_j      dv = S_i . (M (psi' + S') + B S)_j
//
// and M S_i . S_j is the mass matrix, with armature on its diagonal. Sums over composite bodies are taken about the
// elements' own origins; the point in common is the middle of the tree, for distance from it costs digits.
#pragma once

#include "steps/standing.hpp"

SOACRAFT_RIGID_BEGIN

// What is outboard of an element, about its origin: inertia, B, and the force that moves it.
template <class T>
struct Composite {
    Rigid<T> M;
    Coriolis<T> B;
    Spatial<T> f;
};
template <class T>
SOACRAFT_FLAT Composite<T> no_composite() {
    const T o(0.0);
    const Vec<T> no = zeros<T>();
    return {{{o, o, o, o, o, o}, no, o}, {{no, no, no}, no}, none<T>()};
}
template <class T>
SOACRAFT_FLAT void operator+=(Composite<T>& a, const Composite<T>& b) { a.M += b.M, a.B += b.B, a.f += b.f; }
template <class T>
SOACRAFT_FLAT Composite<T> shifted(const Vec<T>& l, const Composite<T>& k) {
    return {shifted(l, k.M), shifted(l, k.B), force_from(l, k.f)};
}

// The parent's acceleration about the origin of an element, and its own.
template <class T>
struct Accelerated {
    Spatial<T> plus, own;
};

// Columns by dofs: where the numbers of each kind begin among the rows of a table.
enum IdColumn : int {
    ID_S = 0,    // S
    ID_S2 = 6,   // psi''
    ID_E = 12,   // psi' + S'
    ID_S1 = 18,  // psi', angular
    ID_A = 21,   // M S
    ID_C = 27,   // B* S, angular
    ID_F = 30,   // M psi'' + B psi' + crf(S) f
    ID_G = 36,   // M (psi' + S') + B S
    ID_ROWS = 42
};

template <class C>
struct IdWork : TreeWork<Composite<double>> {
    Accelerated<double>* a;
    Table<ID_ROWS, C> columns;
};

// The arrays of a model, taken one after the other.
template <class C, class Arena>
SOACRAFT_INLINE IdWork<C> id_work(const Model& model, Arena& arena) {
    IdWork<C> w;
    w.take(model, arena);
    w.a = arena.template take<Accelerated<double>>(model.count);
    w.columns = Table<ID_ROWS, C>::take(model.nv, arena);
    return w;
}

// All columns of one tree, elements [first, last).
template <class C, class In>
SOACRAFT_INLINE void id_columns(const Model& model, const Base& base, const In& q, const In& v, const In& vdot,
                                const Spatial<double>* pull, const IdWork<C>& w, index first, index last) {
    typedef double T;
    const Spatial<T> V0 = spatial<T>(base.V), a0 = spatial<T>(base.a);
    for (index k = first; k < last; ++k) {
        const Element& e = model.elements[k];
        Standing<T>& me = w.at[k];
        stand_on(e, w.turns[k], q, V0, w.at, me);
        const Spatial<T> plus = motion_at(me.l, e.parent < 0 ? a0 : w.a[e.parent].own);
        Spatial<T> VJ = none<T>(), aJ = none<T>();
        each_column(e, q, me.R, [&](index i, const auto& S) { VJ += v[e.v + i] * S, aJ += vdot[e.v + i] * S; });
        me.V = me.V_plus + VJ;
        w.a[k] = {plus, plus + aJ + motion_cross(me.V_plus, VJ)};
    }
    const Vec<T> c = middle(w.at, first, last);
    const Composite<T> nothing = no_composite<T>();
    Composite<T> carry = nothing;
    for (index k = last; k-- > first;) {
        const Element& e = model.elements[k];
        const Standing<T>& me = w.at[k];
        const Spatial<T>& a = w.a[k].plus;
        Composite<T> my = w.outboard(e, k, carry, nothing);
        if (!e.massless) {
            const Rigid<T> I = turned(me.R, inertia<T>(e));
            my += Composite<T>{I, coriolis(I, me.V), I * w.a[k].own + gyroscopic(I, me.V)};
        }
        if (pull) my.f -= Spatial<T>{me.R * pull[k].w, me.R * pull[k].v};
        const Vec<T> d = me.r - c, away = -d;
        each_column(e, q, me.R, [&](index i, const auto& S) {
            const index j = w.number.first[k] + i;
            const auto S1 = motion_cross(me.V_plus, S);
            const auto S2 = motion_cross(a, S) + motion_cross(me.V_plus, S1);
            const auto E = S1 + motion_cross(me.V, S);
            w.columns.set(ID_S, j, motion_at(away, whole(S)));
            w.columns.set(ID_S2, j, motion_at(away, whole(S2)));
            w.columns.set(ID_E, j, motion_at(away, whole(E)));
            w.columns.set(ID_S1, j, whole(S1).w);
            w.columns.set(ID_A, j, force_from(d, my.M * S));
            w.columns.set(ID_C, j, back(my.B, S));
            w.columns.set(ID_F, j, force_from(d, my.M * S2 + my.B * S1 + force_cross(S, my.f)));
            w.columns.set(ID_G, j, force_from(d, my.M * E + my.B * S));
        });
        w.pass_inward(model, e, me.l, my, carry);
    }
}

// Columns [from, to) of row r that belong to elements inboard, or to the element of r.
template <class C>
SOACRAFT_FLAT void inboard_columns(const Table<ID_ROWS, C>& t, index r, index from, index to, const Sheet* y) {
    constexpr index w = columns_in<C, double>;
    C A[6], B[3];
    for (int i = 0; i < 6; ++i) A[i] = C(t.at(ID_A + i, r));
    for (int i = 0; i < 3; ++i) B[i] = C(t.at(ID_C + i, r));
    for (index c = from / w * w; c < to; c += w) {
        C q = A[0] * t.side(ID_S2, c), e = A[0] * t.side(ID_E, c), m = A[0] * t.side(ID_S, c);
        for (int i = 1; i < 6; ++i) {
            q += A[i] * t.side(ID_S2 + i, c);
            e += A[i] * t.side(ID_E + i, c);
            m += A[i] * t.side(ID_S + i, c);
        }
        for (int i = 0; i < 3; ++i) q += B[i] * t.side(ID_S1 + i, c), e += B[i] * t.side(ID_S + i, c);
        y[0].put(r, c, q, from, to), y[1].put(r, c, e, from, to), y[2].put(r, c, m, from, to);
    }
}

// Columns [from, to) of row r that belong to elements farther out.
template <class C>
SOACRAFT_FLAT void outboard_columns(const Table<ID_ROWS, C>& t, index r, index from, index to, const Sheet* y) {
    constexpr index w = columns_in<C, double>;
    C S[6];
    for (int i = 0; i < 6; ++i) S[i] = C(t.at(ID_S + i, r));
    for (index c = from / w * w; c < to; c += w) {
        C q = S[0] * t.side(ID_F, c), e = S[0] * t.side(ID_G, c), m = S[0] * t.side(ID_A, c);
        for (int i = 1; i < 6; ++i) {
            q += S[i] * t.side(ID_F + i, c);
            e += S[i] * t.side(ID_G + i, c);
            m += S[i] * t.side(ID_A + i, c);
        }
        y[0].put(r, c, q, from, to), y[1].put(r, c, e, from, to), y[2].put(r, c, m, from, to);
    }
}

// dq, dv and the mass matrix of one state, each nv x nv. C holds the columns that are worked on together. False when a
// number is not finite, or so large that another might not be.
template <class C, class In>
SOACRAFT_INLINE bool inverse_dynamics_derivatives(const Model& model, const Base& base, const In& q, const In& v,
                                                  const In& vdot, const Spatial<double>* pull, IdWork<C> w,
                                                  double* const* out) {
    w.template begin<C>(model, q, no_composite<double>());
    const Sheet y[3] = {sheet(model, w.number, out[0]), sheet(model, w.number, out[1]), sheet(model, w.number, out[2])};
    for (index k = 0; k < model.count; k = model.elements[k].last)
        id_columns(model, base, q, v, vdot, pull, w, k, model.elements[k].last);
    w.columns.close(model.nv);
    if (!w.columns.moderate(model.nv)) return false;
    constexpr index STRIP = 64;  // columns whose numbers stay in the nearest cache
    const index* first = w.number.first;
    for (const Sheet& sheet : y) sheet.clear();
    for (index begin = 0; begin < model.nv; begin += STRIP) {
        const Strip strip{begin, begin + STRIP < model.nv ? begin + STRIP : model.nv};
        for (index k = 0; k < model.count; ++k) {
            const index out = first[k + 1], end = first[model.elements[k].last];
            for (index r = first[k]; r < out; ++r) {
                if (w.number.run[k] > 0 || end < model.nv)  // some columns are of elements beside the path
                    for (const Sheet& sheet : y) sheet.clear(r, strip);
                outboard_columns(w.columns, r, strip.from(out), strip.to(end), y);
                for (index tip = k; tip >= 0;) {
                    const index root = w.number.run[tip];
                    inboard_columns(w.columns, r, strip.from(first[root]), strip.to(first[tip + 1]), y);
                    tip = model.elements[root].parent;
                }
            }
        }
    }
    for (index k = 0; k < model.count; ++k)
        if (model.elements[k].wide >= 0) y[2].mirror_square(first[k], first[k + 1]);
    double bad = 0.0;
    for (index i = 0; i < model.nv && model.has_armature; ++i) bad += nonsense(out[2][i * (model.nv + 1)] += model.armature[i]);
    return bad == 0.0;
}

SOACRAFT_RIGID_END
