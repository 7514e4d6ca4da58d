// The gradient of the mass matrix along all dofs (000 Eq. 42): closed form. O(nv depth^2), and nv^3 numbers to write.
//
// A step along dof c turns all that is outboard of its element as one rigid body. With the composite inertia R(l) of
// what is outboard of the element of l, referred to one point so that phi is the identity, and F_l = R(l) S_l,
//
//     d M(i,l) = S_i . U_l(c)       c outboard of i;  0 elsewhere
//     U_l(c)   = (crf(S_c) R(c) - R(c) crm(S_c)) S_l = dR(c) S_l       c outboard of l
//              = crf(S_c) F_l                                          c inboard of l, or of its element
//
// for i inboard of l, or of its element. Columns of one element turn with it; a rolling ball's do not, as its lever
// stays where it is, and their own change is added. Armature is constant.
//
// What is outboard of an element is a range of dofs: a row of the result is one product of S_i with the U of dof l, side
// by side. As dR is that of a rigid body, it has nine numbers. The common point is the middle of the tree.
#pragma once

#include "steps/columns.hpp"
#include "steps/variation.hpp"

SOACRAFT_RIGID_BEGIN

// dR along a twist: the mass stays.
template <class T>
SOACRAFT_FLAT Rigid<T> carried(const Spatial<T>& S, const Rigid<T>& R) {
    const Vec<T>&v = S.v, &h = R.h;
    const Mat<T> W = cross(S.w, full(R.J));  // w~ J - J w~ = W + W*, and - v~ h~ - h~ v~ = 2 v.h - v h* - h v*
    const T x = v.x * h.x, y = v.y * h.y, z = v.z * h.z, two(2.0);
    return {{two * (W.a.x + y + z), W.a.y + W.b.x - v.x * h.y - v.y * h.x, W.a.z + W.c.x - v.x * h.z - v.z * h.x,
             two * (W.b.y + x + z), W.b.z + W.c.y - v.y * h.z - v.z * h.y, two * (W.c.z + x + y)},
            cross(S.w, h) + R.m * v,
            T(0.0)};
}

// Columns by dofs: where the numbers of each kind begin among the rows of a table.
enum GradientColumn : int {
    GRADIENT_S = 0,   // S
    GRADIENT_F = 6,   // R S
    GRADIENT_J = 12,  // dR: xx xy xz yy yz zz,
    GRADIENT_H = 18,  // and its first moment
    GRADIENT_ROWS = 21
};

template <class C>
struct GradientWork {
    HingeTurn<double>* turns;  // by elements
    Place<double>* at;
    Vec<double>* r;            // from the point in common
    Rigid<double>* R;
    Table<GRADIENT_ROWS, C> columns;
    double* U;                 // six rows of `step` numbers, by dofs
    double* path;              // by dofs: 1 inboard of the element at work and in it, else 0
    index step;
    Numbering number;
};

template <class C, class Arena>
SOACRAFT_INLINE GradientWork<C> gradient_work(const Model& model, Arena& arena) {
    const index n = model.count;
    constexpr index width = columns_in<C, double>;
    GradientWork<C> w;
    w.step = (Table<GRADIENT_ROWS, C>::groups(model.nv) + 1) * width;
    w.turns = arena.template take<HingeTurn<double>>(n);
    w.at = arena.template take<Place<double>>(n);
    w.r = arena.template take<Vec<double>>(n);
    w.R = arena.template take<Rigid<double>>(n);
    w.columns = Table<GRADIENT_ROWS, C>::take(model.nv, arena);
    w.U = arena.template take<double>(6 * w.step);
    w.path = arena.template take<double>(w.step);
    w.number = take_numbering(model, arena);
    return w;
}

// All columns of one tree, elements [first, last).
template <class C, class In>
SOACRAFT_INLINE void gradient_columns(const Model& model, const In& q, const GradientWork<C>& w, index first,
                                      index last) {
    Vec<double> sum = zeros<double>();
    for (index k = first; k < last; ++k) {
        const Element& e = model.elements[k];
        w.r[k] = e.parent < 0 ? zeros<double>() : w.r[e.parent] + w.at[k].p;
        w.R[k] = e.parent < 0 ? inertia<double>(e) : turned(w.at[k].R, inertia<double>(e));
        sum += w.r[k];
    }
    const Vec<double> c = (1.0 / static_cast<double>(last - first)) * sum;
    for (index k = last; k-- > first;) {
        const Element& e = model.elements[k];
        const Rigid<double>& R = w.R[k];
        const Vec<double> d = w.r[k] - c;
        w.r[k] = d;
        Spatial<double> S[6];
        hinge_columns(e, q, w.at[k].R, S);
        for (index i = 0; i < dofs(e.kind); ++i) {
            const index j = w.number.first[k] + i;
            const Rigid<double> dR = shifted(d, carried(S[i], R));
            w.columns.set(GRADIENT_S, j, motion_at(-d, S[i]));
            w.columns.set(GRADIENT_F, j, force_from(d, R * S[i]));
            w.columns.set(GRADIENT_J, j, Vec<double>{dR.J.xx, dR.J.xy, dR.J.xz});
            w.columns.set(GRADIENT_J + 3, j, Vec<double>{dR.J.yy, dR.J.yz, dR.J.zz});
            w.columns.set(GRADIENT_H, j, dR.h);
        }
        if (e.parent >= 0) w.R[e.parent] += shifted(w.at[k].p, R);
    }
}

template <class C>
SOACRAFT_FLAT Vec<C> broad(const Vec<double>& a) { return {C(a.x), C(a.y), C(a.z)}; }
template <class C>
SOACRAFT_FLAT Vec<C> side_three(const Table<GRADIENT_ROWS, C>& t, index row, index c) {
    return {t.side(row, c), t.side(row + 1, c), t.side(row + 2, c)};
}

// U of dof l for one register of dofs c: those outboard of its element;
template <class C>
SOACRAFT_FLAT Spatial<C> outboard_turns(const Table<GRADIENT_ROWS, C>& t, index c, const Spatial<C>& S) {
    const Sym<C> J{t.side(GRADIENT_J, c),     t.side(GRADIENT_J + 1, c), t.side(GRADIENT_J + 2, c),
                   t.side(GRADIENT_J + 3, c), t.side(GRADIENT_J + 4, c), t.side(GRADIENT_J + 5, c)};
    const Vec<C> h = side_three(t, GRADIENT_H, c);
    return {J * S.w + cross(h, S.v), cross(S.w, h)};
}
// those on the path.
template <class C>
SOACRAFT_FLAT Spatial<C> path_turns(const Table<GRADIENT_ROWS, C>& t, index c, const Spatial<C>& F, const C& on) {
    const Spatial<C> S{side_three(t, GRADIENT_S, c), side_three(t, GRADIENT_S + 3, c)};
    return on * force_cross(S, F);
}
template <class C>
SOACRAFT_FLAT Vec<C> chosen(const Choice<C>& which, const Vec<C>& a, const Vec<C>& b) {
    return {which(a.x, b.x), which(a.y, b.y), which(a.z, b.z)};
}

template <class C>
SOACRAFT_FLAT void keep_turns(double* to, index step, const Spatial<C>& U) {
    store(to, U.w.x), store(to + step, U.w.y), store(to + 2 * step, U.w.z);
    store(to + 3 * step, U.v.x), store(to + 4 * step, U.v.y), store(to + 5 * step, U.v.z);
}

// U of dof l, of an element whose own dofs end before `out` and all outboard of it before `end`; for dofs [from, to).
template <class C>
SOACRAFT_INLINE void all_turns(const GradientWork<C>& w, index l, index from, index out, index end, index to) {
    constexpr index width = columns_in<C, double>;
    const Table<GRADIENT_ROWS, C>& t = w.columns;
    const Spatial<double> S1 = t.six(GRADIENT_S, l), F1 = t.six(GRADIENT_F, l);
    const Spatial<C> S{broad<C>(S1.w), broad<C>(S1.v)}, F{broad<C>(F1.w), broad<C>(F1.v)};
    index c = from / width * width;
    for (; c + width <= out; c += width) keep_turns(w.U + c, w.step, path_turns(t, c, F, load<C>(w.path + c)));
    if (c < out) {
        const Spatial<C> before = path_turns(t, c, F, load<C>(w.path + c)), after = outboard_turns(t, c, S);
        const Choice<C> which(out - c, end - c);  // path is 0 behind out
        keep_turns(w.U + c, w.step, Spatial<C>{chosen(which, after.w, before.w), chosen(which, after.v, before.v)});
        c += width;
    }
    for (; c + width <= end; c += width) keep_turns(w.U + c, w.step, outboard_turns(t, c, S));
    for (; c < to; c += width) {
        Spatial<C> U = {{C(0.0), C(0.0), C(0.0)}, {C(0.0), C(0.0), C(0.0)}};
        if (c < end) {
            const Spatial<C> after = outboard_turns(t, c, S);
            const Choice<C> which(0, end - c);
            U = {chosen(which, after.w, U.w), chosen(which, after.v, U.v)};
        }
        keep_turns(w.U + c, w.step, U);
    }
}

// The nv x nv x nv result.
struct Cube {
    double* y;
    index nv;
    const index* place;

    SOACRAFT_FLAT double* row(index i, index l) const {
        return y + ((place ? place[i] : i) * nv + (place ? place[l] : l)) * nv;
    }
    // To both halves. 0, or NaN when the sum is not finite.
    SOACRAFT_FLAT double add(index i, index l, index c, double x) const {
        const index at = place ? place[c] : c;
        const double sum = row(i, l)[at] + x;
        row(i, l)[at] = row(l, i)[at] = sum;
        return nonsense(sum);
    }
};

// Rows (i, l) and (l, i), dofs [from, to).
template <class C>
SOACRAFT_FLAT C gradient_row(const GradientWork<C>& w, const Cube& y, index i, index l, index from, index to) {
    constexpr index width = columns_in<C, double>;
    const Table<GRADIENT_ROWS, C>& t = w.columns;
    C S[6], bad(0.0);
    for (int a = 0; a < 6; ++a) S[a] = C(t.at(GRADIENT_S + a, i));
    double *one = y.row(i, l), *other = y.row(l, i);
    for (index c = from; c < to; c += width) {
        const double* U = w.U + c;
        const C x = (S[0] * load<C>(U) + S[1] * load<C>(U + w.step) + S[2] * load<C>(U + 2 * w.step)) +
                    (S[3] * load<C>(U + 3 * w.step) + S[4] * load<C>(U + 4 * w.step) + S[5] * load<C>(U + 5 * w.step));
        bad += nonsense(x);
        if (y.place) {
            double all[width];
            store(all, x);
            for (index a = 0; a < width && c + a < to; ++a) one[y.place[c + a]] = other[y.place[c + a]] = all[a];
        } else if (c + width <= to) {
            store(one + c, x);
            store(other + c, x);
        } else {
            store_part(one + c, x, 0, to - c);
            store_part(other + c, x, 0, to - c);
        }
    }
    return bad;
}

// What a rolling ball adds: the change of its column i along its dof c, with the lever held, is (l x a_c) x a_i.
template <class C, class In>
SOACRAFT_INLINE double add_ball(const Model& model, const In& q, const GradientWork<C>& w, const Cube& y, index k) {
    const Element& e = model.elements[k];
    const Place<double>& at = w.at[k];
    const Table<GRADIENT_ROWS, C>& t = w.columns;
    const index *first = w.number.first, end = first[e.last];
    const Vec<double> axes[3] = {at.R.a, at.R.b, at.R.c}, l = at.R * lever<double>(e, q);
    double bad = 0.0;
    for (index c = 0; c < 3; ++c)
        for (index i = 0; i < 3; ++i) {
            const Sliding<double> own{cross(cross(l, axes[c]), axes[i])};
            const Spatial<double> pulled = force_from(w.r[k], w.R[k] * own);
            const index mine = first[k] + i, along = first[k] + c;
            for (index j = first[k + 1]; j < end; ++j) bad += y.add(mine, j, along, dot(own.v, t.six(GRADIENT_F, j).v));
            for (index a = e.parent; a >= 0; a = model.elements[a].parent)
                for (index j = first[a]; j < first[a + 1]; ++j)
                    bad += y.add(j, mine, along, dot(t.six(GRADIENT_S, j), pulled));
            for (index other = 0; other < 3; ++other) {
                const double x = dot(t.six(GRADIENT_S, first[k] + other), pulled);
                bad += y.add(mine, first[k] + other, along, other == i ? x + x : x);
            }
        }
    return bad;
}

// d M(i,l) / d q_c of one state, by c within l within i. C holds the columns that are worked on together. False when a
// number is not finite, or so large that another might not be.
template <class C, class In>
SOACRAFT_INLINE bool mass_matrix_gradient(const Model& model, const In& q, GradientWork<C> w, double* out) {
    const index nv = model.nv;
    number_dofs(model, w.number);
    const Cube y{out, nv, w.number.place};
    turn<C>(model, q, w.turns);
    stand(model, q, w.turns, w.at);
    for (index k = 0; k < model.count; k = model.elements[k].last)
        gradient_columns(model, q, w, k, model.elements[k].last);
    w.columns.close(nv);
    if (!w.columns.moderate(nv)) return false;
    fill_zero(out, nv * nv * nv);
    fill_zero(w.U, 6 * w.step);
    fill_zero(w.path, w.step);
    const index* first = w.number.first;
    C bads(0.0);
    double bad = 0.0;
    index root = 0;
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        if (e.parent < 0) root = k;
        const index left = e.parent < 0 ? 0 : first[e.parent + 1];
        fill_zero(w.path + left, first[k] - left);
        for (index l = first[k]; l < first[k + 1]; ++l) w.path[l] = 1.0;
        for (index l = first[k]; l < first[k + 1]; ++l) {
            all_turns(w, l, first[root + 1], first[k + 1], first[e.last], first[model.elements[root].last]);
            for (index a = k; a >= 0; a = model.elements[a].parent)
                for (index i = first[a]; i < first[a + 1] && i <= l; ++i)
                    bads += gradient_row(w, y, i, l, first[a + 1], first[model.elements[a].last]);
        }
    }
    for (index k = 0; k < model.count; ++k)
        if (model.elements[k].kind == ROLLING) bad += add_ball(model, q, w, y, k);
    return bad == 0.0 && !any_not_above(C(1.0), bads);
}

SOACRAFT_RIGID_END
