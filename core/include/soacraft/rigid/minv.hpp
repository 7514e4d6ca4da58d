// The inverse of the mass matrix from one articulated-body factorization (000 Eq. 30). O(n depth), at most O(nv^2).
//
//     P(k)  = sum over children j of phi(k,j) P+(j) phi*(k,j) + M(k)
//     D(k)  = H(k) P(k) H*(k),    G(k) = P(k) H*(k) D^-1(k),    P+(k) = (I - G(k) H(k)) P(k)
//
// dof by dof, with armature added to D (hinge_step.hpp).
//
// A unit force at dof j puts z = psi(k,j) G(j) on a body k inboard of it; all outboard of k free to move, k answers it with
// the acceleration -Y(k) z, where Y is the paper's Upsilon. So the inverse has rank six between what is inboard of a body
// and what is outboard, and between the branches outboard of it:
//
//     M^-1(i,j) = w(i) . z_j(k)          i inboard of k or k itself, j outboard;  w(i): rates at i for unit forces on k
//     M^-1(i,j) = z*_i(k) Y(k) z_j(k)    i and j on different branches outboard of k
//
// The tree is cut into pieces, each a few elements in a row. Base to tips, two short sweeps across a piece for its own dofs
// and for six unit forces at its outer end give its square on the diagonal, its w, psi across it and Y at its outer end.
// Tips to base, the forces z of all dofs outboard are multiplied with w and carried by psi, side by side.
#pragma once

#include "aba.hpp"
#include "steps/inertial.hpp"

SOACRAFT_RIGID_BEGIN

// What one dof keeps of the factorization.
template <class T>
struct Dof {
    Spatial<T> H, G;
    T D_inv;
};

// H_j . G_i of a hinge with several dofs, j < i, at 6 j + i: what dof i, taken out first, changes at dof j.
template <class T>
struct Coupled {
    T HG[36];
};

// psi across a piece and Upsilon at its outer end: six rows of EIGHT.
template <class T>
struct Passage {
    T psi[6 * EIGHT], Y[6 * EIGHT];
};

template <class T>
struct MinvWork {
    HingeTurn<T>* turns;            // by elements
    Place<T>* at;
    index* piece_of;           // of a tip
    Dof<T>* dofs;
    T* w;                      // by dofs, rows of EIGHT
    Coupled<T>* wides;
    Sized<T>* branches;
    Piece* pieces;             // as many as elements
    Passage<T>* passages;
    T *z, *y;                  // six rows of `step` numbers each
    index step;                // nv and EIGHT, or more
};

// -- factorization ----------------------------------------------------------------------------------------------------

template <class T>
SOACRAFT_FLAT Articulated<T> shifted(const Vec<T>& l, const Articulated<T>& P) {
    return shifted(l, P.A, Vec<T>{P.B.a.x, P.B.b.x, P.B.c.x}, Vec<T>{P.B.a.y, P.B.b.y, P.B.c.y},
                   Vec<T>{P.B.a.z, P.B.b.z, P.B.c.z}, P.C);
}

// H, G and D^-1 of every dof. False when a hinge has no inertia to move.
template <class C, class T, class In>
SOACRAFT_INLINE bool factor(const Model& model, const In& q, const MinvWork<T>& w) {
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
        if (!e.massless) my.P += e.parent < 0 ? inertia<T>(e) : turned(R, inertia<T>(e));
        take_hinge(model, e, q, TreeAxes<T>{R}, my.P, my.of, margin, [&](index i, const auto& S, const Taken<T>& dof) {
            w.dofs[e.d + i] = {whole(S), dof.G, dof.D_inv};
        });
        const Dof<T>* me = w.dofs + e.d;
        for (index i = 1; i < dofs(e.kind); ++i)
            for (index j = 0; j < i; ++j) w.wides[e.wide].HG[6 * j + i] = dot(me[j].H, me[i].G);
        if (e.parent < 0) continue;
        carry = {shifted(w.at[k].p, my.P), shifted(w.at[k].p, my.of)};
        const index branch = model.elements[e.parent].branch;
        if (branch >= 0) w.branches[branch] += carry;
    }
    return !any_not_above(margin, T(0.0));
}

// -- pieces -----------------------------------------------------------------------------------------------------------

template <class C, class T>
SOACRAFT_FLAT C along(const Vec<T>& a, const Vec<C>& x) { return C(a.x) * x.x + C(a.y) * x.y + C(a.z) * x.z; }
template <class C, class T>
SOACRAFT_FLAT C along(const Spatial<T>& a, const Spatial<C>& x) { return along(a.w, x.w) + along(a.v, x.v); }
template <class C, class T>
SOACRAFT_FLAT void add(Vec<C>& x, const C& s, const Vec<T>& a) { x.x += s * C(a.x), x.y += s * C(a.y), x.z += s * C(a.z); }
template <class C, class T>
SOACRAFT_FLAT void add(Spatial<C>& x, const C& s, const Spatial<T>& a) { add(x.w, s, a.w), add(x.v, s, a.v); }
// H x
template <class C, class T>
SOACRAFT_FLAT C across_hinge(index kind, const Spatial<T>& H, const Spatial<C>& x) {
    return kind == REVOLUTE || kind == SPHERICAL ? along(H.w, x.w) : kind == PRISMATIC ? along(H.v, x.v) : along(H, x);
}

// 1 in column i, 0 elsewhere (and everywhere when i is no column of a C); i within 16 of 0.
template <class C, class T>
SOACRAFT_FLAT C unit(index i) {
    if constexpr (columns_in<C, T> == 1) {
        return C(i == 0 ? 1.0 : 0.0);
    } else {
        static const double line[40] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
        return load<C>(line + 16 - i);
    }
}

template <class C, class T>
SOACRAFT_FLAT Spatial<C> six(const T* x, index step) {
    return {{load<C>(x), load<C>(x + step), load<C>(x + 2 * step)},
            {load<C>(x + 3 * step), load<C>(x + 4 * step), load<C>(x + 5 * step)}};
}
template <class C, class T>
SOACRAFT_FLAT void store_six(T* y, index step, const Spatial<C>& a) {
    store(y, a.w.x), store(y + step, a.w.y), store(y + 2 * step, a.w.z);
    store(y + 3 * step, a.v.x), store(y + 4 * step, a.v.y), store(y + 5 * step, a.v.z);
}
// One row of a 6 x 6 matrix, times x.
template <class C, class T>
SOACRAFT_FLAT C row_times(const T* a, const Spatial<C>& x) {
    return (C(a[0]) * x.w.x + C(a[1]) * x.w.y + C(a[2]) * x.w.z) + (C(a[3]) * x.v.x + C(a[4]) * x.v.y + C(a[5]) * x.v.z);
}
template <class C, class T>
SOACRAFT_FLAT Spatial<C> times(const T* A, const Spatial<C>& x) {
    return {{row_times(A, x), row_times(A + EIGHT, x), row_times(A + 2 * EIGHT, x)},
            {row_times(A + 3 * EIGHT, x), row_times(A + 4 * EIGHT, x), row_times(A + 5 * EIGHT, x)}};
}

// Two sweeps across a piece, for B blocks of columns: its dofs are columns 0 to 7, the unit forces at its tip 8 to 13.
template <int B, class C, class T>
SOACRAFT_INLINE void cross_piece(const Model& model, const MinvWork<T>& w, const Piece& piece, index column,
                                 Passage<T>& passage, T* SOACRAFT_RESTRICT out) {
    constexpr int width = columns_in<C, T>;
    const index n = model.nv;
    Spatial<C> z[B];
    C s[EIGHT][B];
    for (int b = 0; b < B; ++b) {
        const index c = EIGHT - column - b * width;
        z[b] = {{unit<C, T>(c), unit<C, T>(c + 1), unit<C, T>(c + 2)},
                {unit<C, T>(c + 3), unit<C, T>(c + 4), unit<C, T>(c + 5)}};
    }
    for (index k = piece.tip; k >= piece.first; --k) {  // u = force - H z,  z+ = z + G u,  s = D^-1 u
        const Element& e = model.elements[k];
        const Dof<T>* me = w.dofs + e.d;
        const index row = e.d - piece.d, count = dofs(e.kind);
        for (int b = 0; b < B; ++b) {
            const index own = row - column - b * width;
            if (count == 1) {
                const C u = unit<C, T>(own) - across_hinge(e.kind, me->H, z[b]);
                add(z[b], u, me->G);
                add_cross(z[b].w, w.at[k].p, z[b].v);
                s[row][b] = C(me->D_inv) * u;
                continue;
            }
            C u[6];
            for (index i = 0; i < count; ++i) u[i] = unit<C, T>(own + i) - across_hinge(e.kind, me[i].H, z[b]);
            for (index i = count - 1; i > 0; --i)
                for (index j = 0; j < i; ++j) u[j] -= C(w.wides[e.wide].HG[6 * j + i]) * u[i];
            for (index i = 0; i < count; ++i) {
                add(z[b], u[i], me[i].G);
                s[row + i][b] = C(me[i].D_inv) * u[i];
            }
            if (takes_all(e)) {  // only its own force passes, along H*
                z[b] = none<C>();
                for (index i = 0; i < count; ++i) add(z[b], unit<C, T>(own + i), me[i].H);
            }
            add_cross(z[b].w, w.at[k].p, z[b].v);
        }
    }
    T* to[B];
    index step[B];
    Spatial<C> a[B];
    for (int b = 0; b < B; ++b) {
        const index c = column + b * width;
        const bool mine = c < EIGHT;
        if (mine) store_six(w.z + piece.d + c, w.step, z[b]);
        if (!mine) store_six(passage.psi + (c - EIGHT), EIGHT, z[b]);
        to[b] = mine ? out + piece.d * n + piece.d + c : w.w + piece.d * EIGHT + (c - EIGHT);
        step[b] = mine ? n : EIGHT;
        a[b] = piece.parent < 0 ? none<C>() : C(-1.0) * times(w.passages[piece.parent].Y, z[b]);
    }
    for (index k = piece.first; k <= piece.tip; ++k) {  // rate = s - G* a,  a+ = a + H* rate
        const Element& e = model.elements[k];
        const Dof<T>* me = w.dofs + e.d;
        const index row = e.d - piece.d, count = dofs(e.kind);
        for (int b = 0; b < B; ++b) {
            add_cross(a[b].v, -w.at[k].p, a[b].w);
            C rate[6];
            for (index i = 0; i < count; ++i) rate[i] = s[row + i][b] - along(me[i].G, a[b]);
            for (index i = 1; i < count; ++i)
                for (index j = 0; j < i; ++j) rate[i] -= C(w.wides[e.wide].HG[6 * j + i]) * rate[j];
            for (index i = 0; i < count; ++i) {
                if (e.kind != PRISMATIC) add(a[b].w, rate[i], me[i].H.w);
                if (e.kind != REVOLUTE && e.kind != SPHERICAL) add(a[b].v, rate[i], me[i].H.v);
                const index c = column + b * width;
                if (c >= EIGHT || c + width <= piece.count)
                    store(to[b] + (row + i) * step[b], rate[i]);
                else
                    store_part(to[b] + (row + i) * step[b], rate[i], 0, piece.count - c);
            }
        }
    }
    for (int b = 0; b < B; ++b)
        if (column + b * width >= EIGHT) store_six(passage.Y + (column + b * width - EIGHT), EIGHT, C(-1.0) * a[b]);
}

// -- columns ----------------------------------------------------------------------------------------------------------

// z = psi z, or y = Y z, for the columns [first, last).
template <class C, class T>
SOACRAFT_INLINE void carry(const T* A, const T* z, T* y, index step, index first, index last) {
    constexpr int width = columns_in<C, T>;
    for (index c = first; c < last; c += width) {
        const Spatial<C> a = times(A, six<C>(z + c, step));
        if (c + width <= last) {
            store_six(y + c, step, a);
        } else {
            const C part[6] = {a.w.x, a.w.y, a.w.z, a.v.x, a.v.y, a.v.z};
            for (int i = 0; i < 6; ++i) store_part(y + i * step + c, part[i], 0, last - c);
        }
    }
}

// Entries between the branches outboard of a piece: z*_i Y z_j.
template <class C, class T>
SOACRAFT_INLINE void cross_branches(const Model& model, const MinvWork<T>& w, const Piece& piece, const T* Y, T* out) {
    const index k = piece.tip, n = model.nv, end = dofs_end(model, k), last = model.elements[k].last;
    carry<C>(Y, w.z, w.y, w.step, model.elements[k + 1].d, end);
    for (index c = k + 1; c < last; c = model.elements[c].last) {
        const index begin = model.elements[c].d, over = dofs_end(model, c);
        if (over < end) six_terms<C>(over - begin, w.y + begin, 1, w.step, w.z, w.step, over, end, out + begin * n, n);
    }
}

// The inverse of the mass matrix by rows, dofs in the order of the elements. False when a hinge has no inertia to move or
// a number is not finite.
template <class C, class T, class In>
SOACRAFT_INLINE bool mass_matrix_inverse(const Model& model, const In& q, const MinvWork<T>& w, T* out) {
    constexpr int width = columns_in<C, T>;
    const index n = model.nv;
    if (!factor<C>(model, q, w)) return false;
    const index pieces = cut(model, w.pieces, w.piece_of);
    for (index i = 0; i < pieces; ++i) {
        const Piece& piece = w.pieces[i];
        const index columns = model.elements[piece.tip].last > piece.tip + 1 ? EIGHT + 6 : piece.count;
        for (index c = 0; c < columns;) {
            if (c >= piece.count && c < EIGHT) c = EIGHT;
            if (c + width < columns && !(c + width >= piece.count && c + width < EIGHT)) {
                cross_piece<2, C>(model, w, piece, c, w.passages[i], out);
                c += 2 * width;
            } else {
                cross_piece<1, C>(model, w, piece, c, w.passages[i], out);
                c += width;
            }
        }
    }
    for (index i = pieces; i-- > 0;) {
        const Piece& piece = w.pieces[i];
        const index begin = piece.d + piece.count, end = dofs_end(model, piece.tip);
        if (model.elements[piece.tip].branch >= 0) cross_branches<C>(model, w, piece, w.passages[i].Y, out);
        six_terms<C>(piece.count, w.w + piece.d * EIGHT, EIGHT, 1, w.z, w.step, begin, end, out + piece.d * n, n);
        if (piece.parent >= 0)
            carry<C>(w.passages[i].psi, w.z, w.z, w.step, begin, end);
        else
            for (index r = piece.d; r < end; ++r) fill_zero(out + r * n + end, n - end);
    }
    return mirror<C>(out, n);
}

SOACRAFT_RIGID_END
