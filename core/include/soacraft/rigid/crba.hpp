// The mass matrix by composite bodies (000 Eq. 16 and 20, 004 Algorithm 4.2). O(n depth), at most O(nv^2).
//
//     R(k)   = sum over children j of phi(k,j) R(j) phi*(k,j) + M(k),    F(k) = R(k) H*(k)
//     M(i,k) = H(i) phi(i,k) F(k)                                        i inboard of k or k itself
//
// and armature on the diagonal.
//
// Inside a piece of the tree all is referred to one point: phi is the identity, and the rows of a piece are one product of
// its H with the F of all dofs outboard, side by side. Tips to base, F is shifted from the point of one piece to the next,
// so that a point is always near the rows it serves and no digits are lost far from the base.
#pragma once

#include "steps/inertial.hpp"

SOACRAFT_RIGID_BEGIN

template <class T>
struct CrbaWork {
    HingeTurn<T>* turns;    // by elements
    Place<T>* at;
    Rigid<T>* R;
    Vec<T>* r;         // from the origin of the first element of a piece
    index* piece_of;
    Piece* pieces;
    T* H;              // by dofs, six numbers each
    T* F;              // six rows of `step` numbers, by dofs
    index step;        // nv and the columns of a C, or more
};

// The columns of F and H of one piece, about the origin of its first element.
template <class T, class In>
SOACRAFT_INLINE void composite_columns(const Model& model, const In& q, const CrbaWork<T>& w, const Piece& piece) {
    w.r[piece.first] = {T(0.0), T(0.0), T(0.0)};
    for (index k = piece.first + 1; k <= piece.tip; ++k) w.r[k] = w.r[k - 1] + w.at[k].p;
    for (index k = piece.tip; k >= piece.first; --k) {
        const Element& e = model.elements[k];
        if (e.parent >= 0) w.R[e.parent] += shifted(w.at[k].p, w.R[k]);
        Spatial<T> H[6];
        hinge_columns(e, q, w.at[k].R, H);
        const Vec<T>& p = w.r[k];
        for (index c = 0; c < dofs(e.kind); ++c) {
            const Spatial<T> F = w.R[k] * H[c];
            const Vec<T> n = F.w + cross(p, F.v), v = H[c].v + cross(p, H[c].w);
            T *to = w.F + e.d + c, *row = w.H + 6 * (e.d + c);
            to[0] = n.x, to[w.step] = n.y, to[2 * w.step] = n.z;
            to[3 * w.step] = F.v.x, to[4 * w.step] = F.v.y, to[5 * w.step] = F.v.z;
            row[0] = H[c].w.x, row[1] = H[c].w.y, row[2] = H[c].w.z, row[3] = v.x, row[4] = v.y, row[5] = v.z;
        }
    }
}

// phi F for the columns [first, last); what follows belongs to other branches.
template <class C, class T>
SOACRAFT_INLINE void shift_columns(const Vec<T>& l, T* F, index step, index first, index last) {
    constexpr int width = columns_in<C, T>;
    for (index c = first; c < last; c += width) {
        T* at = F + c;
        Vec<C> n{load<C>(at), load<C>(at + step), load<C>(at + 2 * step)};
        add_cross(n, l, Vec<C>{load<C>(at + 3 * step), load<C>(at + 4 * step), load<C>(at + 5 * step)});
        if (c + width <= last) {
            store(at, n.x), store(at + step, n.y), store(at + 2 * step, n.z);
        } else {
            store_part(at, n.x, 0, last - c), store_part(at + step, n.y, 0, last - c);
            store_part(at + 2 * step, n.z, 0, last - c);
        }
    }
}

// The mass matrix by rows, dofs in the order of the elements. False when a number is not finite.
template <class C, class T, class In>
SOACRAFT_INLINE bool mass_matrix(const Model& model, const In& q, const CrbaWork<T>& w, T* out) {
    const index n = model.nv;
    turn<C>(model, q, w.turns);
    stand(model, q, w.turns, w.at);
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        w.R[k] = e.parent < 0 ? inertia<T>(e) : turned(w.at[k].R, inertia<T>(e));
    }
    for (index i = cut(model, w.pieces, w.piece_of); i-- > 0;) {
        const Piece& piece = w.pieces[i];
        const index end = dofs_end(model, piece.tip);
        composite_columns(model, q, w, piece);
        six_terms<C>(piece.count, w.H + 6 * piece.d, 6, 1, w.F, w.step, piece.d, end, out + piece.d * n, n);
        for (index r = piece.d; r < piece.d + piece.count; ++r) fill_zero(out + r * n + end, n - end);
        if (piece.parent < 0) continue;
        Vec<T> l = w.at[piece.first].p;
        for (index k = w.pieces[piece.parent].tip; k > w.pieces[piece.parent].first; --k) l += w.at[k].p;
        shift_columns<C>(l, w.F, w.step, piece.d, end);
    }
    for (index k = 0; k < model.count && model.has_armature; ++k) {
        const Element& e = model.elements[k];
        for (index i = 0; i < dofs(e.kind); ++i) out[(e.d + i) * (n + 1)] += T(model.armature[e.v + i]);
    }
    return mirror<C>(out, n);
}

SOACRAFT_RIGID_END
