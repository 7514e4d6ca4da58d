// Derivatives of forward dynamics along q, v and the force (the inverse mass matrix), analytic:
//
//     d vdot = -M^-1 (d tau at vdot held)
//
// without the columns of d tau: what a dof stirs goes through the articulated bodies at once (columns.hpp). O(n^2).
// The factorization is that of articulated bodies (004 Algorithm 6.1) in inertially oriented axes about the elements' own
// origins, dof by dof, with Bcal gathered beside P:
//
//     Bcal(k) = sum over children of phi (I - G S*) Bcal + B(k),     six rows, three columns: it acts on angular parts.
#pragma once

#include "steps/columns.hpp"
#include "minv.hpp"
#include "steps/standing.hpp"

SOACRAFT_RIGID_BEGIN

// What moves inward past hinges: articulated inertia, residual force, and Bcal by its two halves.
template <class T>
struct Gathered {
    Articulated<T> P;
    Spatial<T> z;
    Mat<T> Bw, Bv;
    Sizes<T> of;
};
template <class T>
SOACRAFT_FLAT Gathered<T> nothing_gathered() {
    const Vec<T> o = zeros<T>();
    const Carried<T> no = nothing<T>();
    return {no.P, no.z, {o, o, o}, {o, o, o}, no.of};
}
template <class T>
SOACRAFT_FLAT Gathered<T> shifted(const Vec<T>& l, const Gathered<T>& k) {
    return {shifted(l, k.P), force_from(l, k.z), k.Bw + cross(l, k.Bv), k.Bv, shifted(l, k.of)};
}
template <class T>
SOACRAFT_FLAT void operator+=(Gathered<T>& a, const Gathered<T>& b) {
    a.P += b.P, a.z += b.z, a.Bw += b.Bw, a.Bv += b.Bv, a.of += b.of;
}
template <class T>
SOACRAFT_FLAT void operator+=(Gathered<T>& a, const Coriolis<T>& B) {
    a.Bw += B.A;
    a.Bv.a.y -= B.p2.z, a.Bv.a.z += B.p2.y;  // w x 2p by columns
    a.Bv.b.x += B.p2.z, a.Bv.b.z -= B.p2.x;
    a.Bv.c.x -= B.p2.y, a.Bv.c.y += B.p2.x;
}
// Bcal* S
template <class T>
SOACRAFT_FLAT Vec<T> back(const Gathered<T>& k, const Turning<T>& S) { return turn_back(k.Bw, S.w); }
template <class T>
SOACRAFT_FLAT Vec<T> back(const Gathered<T>& k, const Sliding<T>& S) { return turn_back(k.Bv, S.v); }
template <class T>
SOACRAFT_FLAT Vec<T> back(const Gathered<T>& k, const Spatial<T>& S) {
    return turn_back(k.Bw, S.w) + turn_back(k.Bv, S.v);
}

// What an element keeps: what it passes inward; its acceleration, and what velocity adds to it.
template <class T>
struct Passed {
    Articulated<T> P;
    Spatial<T> z, a, extra;
};

template <class C>
struct FdWork : TreeWork<Gathered<double>> {
    Passed<double>* passed;
    Solved<double>* dofs;
    ColumnWork<C> columns;
};

template <class C, class Arena>
SOACRAFT_INLINE FdWork<C> fd_work(const Model& model, Arena& arena) {
    FdWork<C> w;
    w.take(model, arena);
    w.passed = arena.template take<Passed<double>>(model.count);
    w.dofs = arena.template take<Solved<double>>(model.nv);
    w.columns = column_work<C>(model, arena);
    return w;
}

SOACRAFT_FLAT void keep_six(double* to, const Spatial<double>& a) {
    to[0] = a.w.x, to[1] = a.w.y, to[2] = a.w.z, to[3] = a.v.x, to[4] = a.v.y, to[5] = a.v.z;
}

// Bcal past a dof:  b = Bcal* S,  Bcal+ = Bcal - G b*;  and the row that the dof keeps, about the common point d away.
template <class T, class Column>
SOACRAFT_FLAT void pass_coriolis(const Column& S, const Taken<T>& dof, const Vec<T>& d, Gathered<T>& k, DofRow& row) {
    const Vec<T> b = back(k, S);
    k.Bw.a -= b.x * dof.G.w, k.Bw.b -= b.y * dof.G.w, k.Bw.c -= b.z * dof.G.w;
    k.Bv.a -= b.x * dof.G.v, k.Bv.b -= b.y * dof.G.v, k.Bv.c -= b.z * dof.G.v;
    keep_six(row.S, motion_at(-d, whole(S)));
    keep_six(row.G, force_from(d, dof.G));
    row.c[0] = dof.D_inv * b.x, row.c[1] = dof.D_inv * b.y, row.c[2] = dof.D_inv * b.z;
    row.D_inv = dof.D_inv;
}

// The factorization and all columns of one tree, elements [first, last). False when a hinge has no inertia to move.
template <class C, class In>
SOACRAFT_INLINE bool fd_columns(const Model& model, const Base& base, const In& q, const In& v, const In& tau,
                                const Spatial<double>* pull, const FdWork<C>& w, index first, index last) {
    typedef double T;
    const Spatial<T> V0 = spatial<T>(base.V), a0 = spatial<T>(base.a);
    for (index k = first; k < last; ++k) {
        const Element& e = model.elements[k];
        Standing<T>& me = w.at[k];
        stand_on(e, w.turns[k], q, V0, w.at, me);
        Spatial<T> VJ = none<T>();
        each_column(e, q, me.R, [&](index i, const auto& S) { VJ += v[e.v + i] * S; });
        me.V = me.V_plus + VJ;
        w.passed[k].extra = motion_cross(me.V_plus, VJ);
    }
    const Vec<T> c = middle(w.at, first, last);
    const Table<STIRRED_ROWS, C>& columns = w.columns.columns;
    T margin(1.0);
    const Gathered<T> nothing = nothing_gathered<T>();
    Gathered<T> carry = nothing;
    for (index k = last; k-- > first;) {
        const Element& e = model.elements[k];
        const Standing<T>& me = w.at[k];
        Passed<T>& passed = w.passed[k];
        Gathered<T> my = w.outboard(e, k, carry, nothing);
        if (!e.massless) {
            const Rigid<T> I = turned(me.R, inertia<T>(e));
            my.P += I;
            my.z += gyroscopic(I, me.V);
            my += coriolis(I, me.V);
        }
        if (pull) my.z -= Spatial<T>{me.R * pull[k].w, me.R * pull[k].v};
        my.z += my.P * passed.extra;
        const Vec<T> d = me.r - c;
        take_hinge(model, e, q, TreeAxes<T>{me.R}, my.P, my.of, margin, [&](index i, const auto& S, const Taken<T>& dof) {
            const index j = w.number.first[k] + i;
            w.dofs[j] = pass_force(S, dof, tau[e.v + i], my.z);
            pass_coriolis(S, dof, d, my, w.columns.rows[j]);
        });
        if (takes_all(e)) {
            my = nothing;
            my.z = {me.R * three<T>(tau, e.v), me.R * three<T>(tau, e.v + 3)};
        }
        passed.P = my.P, passed.z = my.z;
        each_column(e, q, me.R, [&](index i, const auto& S) {
            const index j = w.number.first[k] + i;
            const Spatial<T> S1 = whole(motion_cross(me.V_plus, S)), E = S1 + whole(motion_cross(me.V, S));
            const Vec<T> turn = whole(S).w;
            columns.set(Z_Q, j, Spatial<T>{my.Bw * S1.w, my.Bv * S1.w});  // about its own origin as yet
            columns.set(Z_V, j, force_from(d, my.P * E + Spatial<T>{my.Bw * turn, my.Bv * turn}));
            columns.set(A_V, j, motion_at(-d, E));
            columns.set(U_Q, j, S1.w);
            columns.set(U_V, j, turn);
        });
        w.pass_inward(model, e, me.l, my, carry);
    }
    for (index k = first; k < last; ++k) {
        const Element& e = model.elements[k];
        const Standing<T>& me = w.at[k];
        Passed<T>& passed = w.passed[k];
        const Spatial<T> plus = motion_at(me.l, e.parent < 0 ? a0 : w.passed[e.parent].a);
        const Spatial<T> f = passed.P * plus + passed.z;  // through the hinge
        const Vec<T> d = me.r - c;
        passed.a = plus;
        each_column(e, q, me.R, [&](index i, const auto& S) {
            const index j = w.number.first[k] + i;
            passed.a += (w.dofs[j].rate - dot(w.dofs[j].G, passed.a)) * S;
            const auto S2 = motion_cross(plus, S) + motion_cross(me.V_plus, motion_cross(me.V_plus, S));
            columns.set(Z_Q, j, force_from(d, columns.six(Z_Q, j) + passed.P * S2 + force_cross(S, f)));
            columns.set(A_Q, j, motion_at(-d, whole(S2)));
        });
        passed.a += passed.extra;
    }
    return margin > 0.0;
}

// dq, dv and the inverse mass matrix of one state, each nv x nv. C holds the columns that are worked on together. False
// when a hinge has no inertia to move or a number is not finite.
template <class C, class In>
SOACRAFT_INLINE bool forward_dynamics_derivatives(const Model& model, const Base& base, const In& q, const In& v,
                                                  const In& tau, const Spatial<double>* pull, FdWork<C> w,
                                                  double* const* out) {
    w.template begin<C>(model, q, nothing_gathered<double>());
    const Sheet y[3] = {sheet(model, w.number, out[0]), sheet(model, w.number, out[1]), sheet(model, w.number, out[2])};
    bool fine = true;
    for (index k = 0; k < model.count; k = model.elements[k].last)
        fine &= fd_columns(model, base, q, v, tau, pull, w, k, model.elements[k].last);
    if (!fine) return false;
    fine = sweep_columns<C>(model, w.number, w.columns, y);
    return (w.number.place || mirror<C>(out[2], model.nv)) && fine;
}

SOACRAFT_RIGID_END
