// Columns of forward-dynamics derivatives and of the inverse mass matrix from one articulated-body factorization,
// several side by side in a register. O(n) for each register of columns.
//
// Dofs one by one in the order of the elements, each with S, G = P S D^-1 and D^-1 of the factorization; a hinge with
// several is a chain of them without bodies between. All is referred to one point of the tree: phi is the identity.
//
//     tips to base:  u = tau - S . z,    z+ = z + G u              base to tips:  x = D^-1 u - G . a,   a+ = a + S x
//
// A column is what one dof j of element k stirs. Its force starts at one place, so that tips to base is the way from
// there to the base. In the columns of dq and dv what is outboard of k, and k, is carried with an acceleration A_j
// (psi''_j or psi'_j + S'_j) and meets B U_j (U_j = psi'_j or S_j, variation.hpp). Both are the same for all that is
// outboard, so that there z(i) = P(i) A_j + Bcal(i) U_j, with Bcal gathered as P is, and
//
//     x = -G . (a + A_j) - c . U_j,   c = D^-1 Bcal* S;     inboard of k:  z = P+(k) A_j + Bcal+(k) U_j (+ crf(S_j) f(k))
#pragma once

#include "sheet.hpp"

SOACRAFT_RIGID_BEGIN

// What a row needs of its dof.
struct DofRow {
    double S[6], G[6], c[3], D_inv;
};

// What stands in a table of columns by dofs: z inboard of the element, A and U, for dq and for dv.
enum StirredColumn : int { Z_Q = 0, Z_V = 6, A_Q = 12, A_V = 18, U_Q = 24, U_V = 27, STIRRED_ROWS = 30 };

// The three kinds of columns are worked on together: dq, dv, and the inverse mass matrix.
template <class C>
struct Stirred {
    C a[3][6], U[2][3];
};
template <class C>
struct Driven {
    C u[3];  // D^-1 u
};

template <class C>
struct ColumnWork {
    DofRow* rows;
    Table<STIRRED_ROWS, C> columns;
    Driven<C>* driven;
    Stirred<C>* branches;
    double* trays;
};

// Up to so many columns are written where they belong; of more, so many at a time go on a tray.
constexpr index DIRECT = 64, TRAY = 32;

template <class C, class Arena>
SOACRAFT_INLINE ColumnWork<C> column_work(const Model& model, Arena& arena) {
    ColumnWork<C> w;
    w.rows = arena.template take<DofRow>(model.nv);
    w.columns = Table<STIRRED_ROWS, C>::take(model.nv, arena);
    w.driven = arena.template take<Driven<C>>(model.nv);
    w.branches = arena.template take<Stirred<C>>(model.branches);
    w.trays = arena.template take<double>(3 * TRAY * model.nv);
    return w;
}

// Some of the columns in a C, [from, to) counted from 0; a where they are, b elsewhere.
template <class C>
struct Choice {
    typename C::Mask which;
    SOACRAFT_FLAT Choice(index from, index to) {
        typename C::Mask number;
        for (int i = 0; i < columns_in<C, double>; ++i) number[i] = i;
        which = (number >= from) & (number < to);
    }
    SOACRAFT_FLAT C operator()(const C& a, const C& b) const { return C(which ? a.x : b.x); }
};
template <>
struct Choice<double> {
    bool which;
    SOACRAFT_FLAT Choice(index from, index to) : which(from <= 0 && to > 0) {}
    SOACRAFT_FLAT double operator()(double a, double b) const { return which ? a : b; }
};

template <class C>
SOACRAFT_FLAT C dot_six(const double* s, const C* x) {
    return (C(s[0]) * x[0] + C(s[1]) * x[1] + C(s[2]) * x[2]) + (C(s[3]) * x[3] + C(s[4]) * x[4] + C(s[5]) * x[5]);
}
template <class C>
SOACRAFT_FLAT C dot_three(const double* s, const C* x) { return C(s[0]) * x[0] + C(s[1]) * x[1] + C(s[2]) * x[2]; }
template <class C>
SOACRAFT_FLAT void add_six(C* x, const C& u, const double* s) {
    for (int i = 0; i < 6; ++i) x[i] += C(s[i]) * u;
}

// One register of columns, from dof `column` on.
template <class C>
struct ColumnSweep {
    static constexpr index lanes = columns_in<C, double>;
    const Model& model;
    const Numbering& number;
    const ColumnWork<C>& w;
    index column, first, last;  // and the elements that its first and last dof belong to

    // From the columns' own elements to the base.
    SOACRAFT_INLINE void inward() const {
        C z[3][6];
        for (auto& one : z)
            for (C& x : one) x = C(0.0);
        for (index k = last; k >= first; --k) {
            const index begin = number.first[k] - column, out = number.first[k + 1] - column;
            const index end = number.first[model.elements[k].last] - column;
            const Choice<C> outboard(out, end), own(begin, out);
            for (index d = out - 1; d >= begin; --d) {
                const DofRow& row = w.rows[column + d];
                const Choice<C> later(d + 1, end), here(d, d + 1);
                for (int s = 0; s < 3; ++s) {
                    C u = -dot_six(row.S, z[s]);
                    u = s < 2 ? outboard(u, C(0.0)) : here(C(1.0), later(u, C(0.0)));
                    add_six(z[s], u, row.G);
                    w.driven[column + d].u[s] = C(row.D_inv) * u;
                }
            }
            for (int i = 0; i < 6; ++i) {
                z[0][i] = own(w.columns.side(Z_Q + i, column), z[0][i]);
                z[1][i] = own(w.columns.side(Z_V + i, column), z[1][i]);
            }
        }
        for (index k = model.elements[first].parent; k >= 0; k = model.elements[k].parent) {
            const index end = number.first[model.elements[k].last] - column;
            if (end >= lanes)
                for (index d = number.first[k + 1]; d-- > number.first[k];) inward_row(d, z);
            else  // the last columns are of another branch
                for (index d = number.first[k + 1]; d-- > number.first[k];) inward_row(d, Choice<C>(0, end), z);
        }
    }
    SOACRAFT_FLAT void inward_row(index d, C (&z)[3][6]) const {
        const DofRow& row = w.rows[d];
        for (int s = 0; s < 3; ++s) {
            const C u = -dot_six(row.S, z[s]);
            add_six(z[s], u, row.G);
            w.driven[d].u[s] = C(row.D_inv) * u;
        }
    }
    SOACRAFT_FLAT void inward_row(index d, const Choice<C>& which, C (&z)[3][6]) const {
        const DofRow& row = w.rows[d];
        for (int s = 0; s < 3; ++s) {
            const C u = which(-dot_six(row.S, z[s]), C(0.0));
            add_six(z[s], u, row.G);
            w.driven[d].u[s] = C(row.D_inv) * u;
        }
    }

    // Row d of the first SETS kinds of columns.
    template <bool DRIVEN, bool STIRRED, int SETS>
    SOACRAFT_FLAT C outward_row(index d, Stirred<C>& on, const Tray* y) const {
        const DofRow& row = w.rows[d];
        C bad(0.0);
        for (int s = 0; s < SETS; ++s) {
            C x = DRIVEN ? w.driven[d].u[s] - dot_six(row.G, on.a[s]) : -dot_six(row.G, on.a[s]);
            if (STIRRED && s < 2) x -= dot_three(row.c, on.U[s]);
            add_six(on.a[s], x, row.S);
            bad += nonsense(x);
            y[s].put(d, column, x);
        }
        return bad;
    }

    SOACRAFT_FLAT void enter(index k, Stirred<C>& on) const {
        const index p = model.elements[k].parent;
        if (p < 0) {
            for (auto& one : on.a)
                for (C& x : one) x = C(0.0);
            for (auto& one : on.U)
                for (C& x : one) x = C(0.0);
        } else if (p != k - 1) {
            on = w.branches[model.elements[p].branch];
        }
    }
    SOACRAFT_FLAT void leave(index k, const Stirred<C>& on) const {
        if (model.elements[k].branch >= 0) w.branches[model.elements[k].branch] = on;
    }

    // From the base of the trees that the columns belong to, to their tips. 0, or NaN when a number is not finite.
    SOACRAFT_INLINE C outward(index root, index tip, const Tray* y) const {
        Stirred<C> on;
        C bad(0.0);
        for (index k = root; k < first; ++k) {
            enter(k, on);
            const bool driven = model.elements[k].last > first;
            for (index d = number.first[k]; d < number.first[k + 1]; ++d)
                bad += driven ? outward_row<true, false, 3>(d, on, y) : outward_row<false, false, 3>(d, on, y);
            leave(k, on);
        }
        for (index k = first; k <= last; ++k) {
            enter(k, on);
            const Choice<C> own(number.first[k] - column, number.first[k + 1] - column);
            for (int s = 0; s < 2; ++s) {
                for (int i = 0; i < 6; ++i)
                    on.a[s][i] += own(w.columns.side((s ? A_V : A_Q) + i, column), C(0.0));
                for (int i = 0; i < 3; ++i)
                    on.U[s][i] = own(w.columns.side((s ? U_V : U_Q) + i, column), on.U[s][i]);
            }
            for (index d = number.first[k]; d < number.first[k + 1]; ++d) bad += outward_row<true, true, 3>(d, on, y);
            leave(k, on);
        }
        for (index k = last + 1; k < tip; ++k) {
            enter(k, on);
            for (index d = number.first[k]; d < number.first[k + 1]; ++d) bad += outward_row<false, true, 2>(d, on, y);
            leave(k, on);
        }
        return bad;
    }
};

// All columns of dq and dv, and of the inverse mass matrix; of that only what is on and above the diagonal, when the
// user's order is that of the elements.
template <class C>
SOACRAFT_INLINE bool sweep_columns(const Model& model, const Numbering& number, const ColumnWork<C>& w,
                                   const Sheet* y) {
    constexpr index lanes = columns_in<C, double>;
    static_assert(TRAY % lanes == 0, "a tray holds whole registers");
    const index nv = model.nv;
    const bool direct = nv <= DIRECT && !number.place;
    const bool several = nv > 0 && model.elements[0].last < model.count;  // trees, which do not meet
    w.columns.close(nv);
    C bad(0.0);
    index first = 0, root = 0, last, tip;
    for (index begin = 0; begin < nv; begin += direct ? nv : TRAY) {
        const index end = direct || begin + TRAY > nv ? nv : begin + TRAY;
        Tray tray[3];
        for (int s = 0; s < 3; ++s)
            tray[s] = direct ? Tray{y[s].y, nv, 0, nv} : Tray{w.trays + s * TRAY * nv, TRAY, begin, end};
        if (several)
            for (const Tray& one : tray) one.clear(nv);
        for (index column = begin; column < end; column += lanes) {
            const index over = column + lanes < end ? column + lanes : end;
            while (number.first[first + 1] <= column) ++first;
            while (model.elements[root].last <= first) root = model.elements[root].last;
            for (last = first; number.first[last + 1] < over;) ++last;
            for (tip = model.elements[root].last; tip <= last;) tip = model.elements[tip].last;
            const ColumnSweep<C> sweep{model, number, w, column, first, last};
            sweep.inward();
            bad += sweep.outward(root, tip, tray);
        }
        if (!direct) {
            tray[0].pour(y[0], nv), tray[1].pour(y[1], nv);
            tray[2].pour_above(y[2], nv);
        }
    }
    return !any_not_above(C(1.0), bad);
}

SOACRAFT_RIGID_END
