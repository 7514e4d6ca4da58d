// Derivatives of forward dynamics of a closed chain along q, v and the force (formula F14, soacraft/loops/derivatives.py):
//
//     [ Mcal  Gc* ] [ dvdot   ]   [ dforce - dT - d(Gc* lambda) ]
//     [ Gc    0   ] [ dlambda ] = [ -d(Gc vdot + Gcdot v)       ]
//
// First those of the open tree under the forces of its closures, held in the axes of their bodies (fd_derivatives.hpp):
// X = Mcal^-1 (dforce - dT - push). Then dlambda = S^-1 (Gc X + d(Gc vdot + Gcdot v)), S = Gc Mcal^-1 Gc*, and
// dvdot = X - Mcal^-1 Gc* dlambda. Rows that repeat others give way by least squares, multipliers are of least norm.
// O(n nv + rows nv^2).
#pragma once

#include "rows/row_derivatives.hpp"
#include "soacraft/rigid/drivers/access.hpp"
#include "soacraft/rigid/fd_derivatives.hpp"

SOACRAFT_RIGID_BEGIN

struct DerivativeWork {
    RowRates rows;
    double *Z, *lambda[3];        // Gc Mcal^-1, and dlambda, by rows
    double *sorted, *part, *turned;  // Z by the order of pivots; room for rows; Gc*
    double *S, *L, *left, *null, *along;
    index *order, *second;
    Twist *pull, *J, *dw;         // pull on the elements in their axes; J and dw of all chains
    index *dof, *first;           // of each J, and where those of each closure begin
    double *T, *columns, *values;         // the entries of Gc by rows,
    index *pushed, *entries, *columns_of;  // where those of each row begin, and their dofs
    FdWork<Abreast> tree;
    LinkRateWork linked;

    template <class Taker>
    DerivativeWork(const Plan& plan, Taker& arena) {
        const Model& model = *plan.tree;
        const index nv = model.nv, m = plan.size, loops = static_cast<index>(plan.closures.size());
        rows.G = arena.template take<double>(m * nv), rows.dq = arena.template take<double>(m * nv);
        rows.dv = arena.template take<double>(m * nv), rows.push = arena.template take<double>(nv * nv);
        rows.links = arena.template take<Link>(nv), rows.way = arena.template take<index>(model.count);
        rows.turned = arena.template take<double>(6 * nv), rows.sum = arena.template take<double>(nv);
        Z = arena.template take<double>(m * nv), sorted = arena.template take<double>(m * nv);
        part = arena.template take<double>(m * nv), turned = arena.template take<double>(m * nv);
        for (double*& x : lambda) x = arena.template take<double>(m * nv);
        S = arena.template take<double>(m * m), L = arena.template take<double>(m * m);
        left = arena.template take<double>(m);
        null = arena.template take<double>(m * m), along = arena.template take<double>(nv + m);
        order = arena.template take<index>(m), second = arena.template take<index>(m);
        pull = arena.template take<Twist>(model.count);
        J = arena.template take<Twist>(loops * nv), dw = arena.template take<Twist>(loops * nv);
        dof = arena.template take<index>(loops * nv), first = arena.template take<index>(loops + 1);
        T = arena.template take<double>(nv), columns = arena.template take<double>(nv * nv);
        pushed = arena.template take<index>(nv), values = arena.template take<double>(m * nv);
        entries = arena.template take<index>(m + 1), columns_of = arena.template take<index>(m * nv);
        tree = fd_work<Abreast>(model, arena);
        linked = LinkRateWork(model, arena);
    }
};

// y -= a x over n numbers.
SOACRAFT_FLAT void subtract_row(index n, double a, const double* SOACRAFT_RESTRICT x, double* SOACRAFT_RESTRICT y) {
    for (index i = 0; i < n; ++i) y[i] -= a * x[i];
}
// y -= sum of a_k times row at[k] of B, or row k without `at`, of n numbers; four together.
inline void subtract_rows(index n, index count, const double* a, index right, const index* at, const double* B,
                          double* SOACRAFT_RESTRICT y) {
    const auto row = [&](index k) { return B + (at ? at[k] : k) * n; };
    index k = 0;
    for (; k + 4 <= count; k += 4) {
        const double a0 = a[k * right], a1 = a[(k + 1) * right], a2 = a[(k + 2) * right], a3 = a[(k + 3) * right];
        const double *b0 = row(k), *b1 = row(k + 1), *b2 = row(k + 2), *b3 = row(k + 3);
        for (index i = 0; i < n; ++i) y[i] -= (a0 * b0[i] + a1 * b1[i]) + (a2 * b2[i] + a3 * b3[i]);
    }
    for (; k < count; ++k) subtract_row(n, a[k * right], row(k), y);
}
// Y -= A B for A (rows, inner) with entries at steps of `down` and `right`, B (inner, n), Y (rows, n): two rows of Y and
// four of B together.
inline void subtract_product(index rows, index inner, index n, const double* A, index down, index right, const double* B,
                             double* SOACRAFT_RESTRICT Y) {
    index r = 0;
    for (; r + 2 <= rows; r += 2) {
        const double *a = A + r * down, *c = a + down;
        double *SOACRAFT_RESTRICT y = Y + r * n, *SOACRAFT_RESTRICT z = y + n;
        index k = 0;
        for (; k + 4 <= inner; k += 4) {
            const double a0 = a[k * right], a1 = a[(k + 1) * right], a2 = a[(k + 2) * right], a3 = a[(k + 3) * right];
            const double c0 = c[k * right], c1 = c[(k + 1) * right], c2 = c[(k + 2) * right], c3 = c[(k + 3) * right];
            const double *b0 = B + k * n, *b1 = b0 + n, *b2 = b1 + n, *b3 = b2 + n;
            for (index i = 0; i < n; ++i) {
                y[i] -= (a0 * b0[i] + a1 * b1[i]) + (a2 * b2[i] + a3 * b3[i]);
                z[i] -= (c0 * b0[i] + c1 * b1[i]) + (c2 * b2[i] + c3 * b3[i]);
            }
        }
        for (; k < inner; ++k) subtract_row(n, a[k * right], B + k * n, y), subtract_row(n, c[k * right], B + k * n, z);
    }
    for (; r < rows; ++r) subtract_rows(n, inner, A + r * down, right, nullptr, B, Y + r * n);
}
// A B*, which is symmetric, for rows of n numbers, (rows, rows), with B* (n, rows) at hand; sums side by side.
inline void gram(index rows, index n, const double* A, const double* B_turned, double* to) {
    for (index i = 0; i < rows * rows; ++i) to[i] = 0.0;
    for (index i = 0; i < rows; ++i) {
        for (index k = 0; k < n; ++k)
            if (A[i * n + k] != 0.0) subtract_row(rows - i, -A[i * n + k], B_turned + k * rows + i, to + i * rows + i);
        for (index j = i + 1; j < rows; ++j) to[j * rows + i] = to[i * rows + j];
    }
}

// What pulls on the elements, in their axes: `pull` of the bodies and the closures' forces, and what else is generalized
// force.
inline void pulled_open(const LoopWork& w, const double* T, const double* pull, const DerivativeWork& d) {
    const Plan& plan = w.plan;
    for (index k = 0; k < w.model.count; ++k) d.pull[k] = none<double>();
    for (index i = 0; pull && i < w.model.body_count; ++i) {
        const Body& body = w.model.bodies[i];
        if (body.element < 0) continue;
        d.pull[body.element] += inward(place_at<double>(body.R, body.p), Twist{vec<double>(pull + 6 * i), vec<double>(pull + 6 * i + 3)});
    }
    const auto add = [&](index k, const Twist& f) {
        const Mat3& R = w.limbs[k].R;
        d.pull[k] += Twist{turn_back(R, f.w), turn_back(R, f.v)};
    };
    for (std::size_t i = 0; i < plan.closures.size(); ++i) {
        const Closure& c = plan.closures[i];
        const Tie& t = w.ties[i];
        const Twist push = push_of(w, c, t);
        if (c.a.element >= 0) add(c.a.element, pulled(t.r_a, push));
        if (c.b.element >= 0) add(c.b.element, pulled(t.r_b, none<double>() - push));
    }
    for (index i = 0; i < w.model.nv; ++i) d.T[i] = T[i];
    for (std::size_t i = 0; i < plan.couplings.size(); ++i)
        for (std::size_t k = 0; k < plan.couplings[i].terms.size(); ++k)
            d.T[plan.couplings[i].terms[k].v] -=
                w.rates[w.ratios[i].rates + static_cast<index>(k)] * w.lambda[plan.couplings[i].row];
}

// The rows with their derivatives; J and dw of every closure are kept.
inline bool take_row_rates(const LoopWork& w, const double* q, const double* v, const DerivativeWork& d) {
    const Plan& plan = w.plan;
    const index nv = w.model.nv, size = plan.size * nv;
    for (index i = 0; i < size; ++i) d.rows.G[i] = d.rows.dq[i] = d.rows.dv[i] = 0.0;
    for (index i = 0; i < nv * nv; ++i) d.rows.push[i] = 0.0;
    index at = d.first[0] = 0;
    for (std::size_t i = 0; i < plan.closures.size(); ++i) {
        const auto keep = [&](const Link& link, const Twist& dw) { d.dof[at] = link.dof, d.J[at] = link.J, d.dw[at++] = dw; };
        if (!loop_rates(w, i, v, d.rows, keep)) return false;
        d.first[i + 1] = at;
    }
    for (std::size_t i = 0; i < plan.couplings.size(); ++i) coupling_rates(w, i, q, v, d.rows);
    return true;
}

// S = L L* on the `rank` rows that count, in the order of their pivots; the smallest of these relative to its row goes to
// `least`. False unless as many count as the solver found.
inline bool factor_rows(const LoopWork& w, const DerivativeWork& d, index rank, double& least) {
    const index m = w.plan.size, nv = w.model.nv;
    for (index k = 0; k < nv; ++k)
        for (index i = 0; i < m; ++i) d.turned[k * m + i] = d.rows.G[i * nv + k];
    gram(m, nv, d.Z, d.turned, d.S);
    const double* scale = w.plan.scale.data();  // what rounding is measured by
    double* scaled = d.null;
    for (index i = 0; i < m; ++i)
        for (index j = 0; j < m; ++j) scaled[i * m + j] = scale[i] * scale[j] * d.S[i * m + j];
    if (pivoted_cholesky(m, scaled, w.plan.tolerances.pivot, d.L, d.order, d.left) != rank) return false;
    least = 1.0;
    for (index i = 0; i < m; ++i) {
        if (i >= rank && !(d.left[i] <= w.plan.tolerances.rounding)) return false;
        if (i < rank) least = least < d.L[i * m + i] ? least : d.L[i * m + i];
    }
    for (index i = 0; i < rank; ++i)
        for (index j = 0; j <= i; ++j) d.L[i * m + j] /= scale[d.order[i]];  // of S itself
    least *= least;
    return true;
}

// X <- S^-1 X on the rows that count, which are the first `rank` rows of X in the order of pivots.
inline void solve_rows(const DerivativeWork& d, index m, index rank, index n, double* X) {
    const auto divide_row = [&](index i) {
        const double inverse = 1.0 / d.L[i * m + i];
        for (index c = 0; c < n; ++c) X[i * n + c] *= inverse;
    };
    for (index i = 0; i < rank; ++i) subtract_rows(n, i, d.L + i * m, 1, nullptr, X, X + i * n), divide_row(i);
    for (index i = rank; i-- > 0;) {
        subtract_rows(n, rank - 1 - i, d.L + (i + 1) * m + i, m, nullptr, X + (i + 1) * n, X + i * n);
        divide_row(i);
    }
}

// Orthonormal multipliers that do nothing, N* Gc = 0, as rows of d.null: at a row that repeats others, less the others.
inline void repeated_rows(const DerivativeWork& d, index m, index rank) {
    for (index k = rank; k < m; ++k) {
        double *x = d.null + (k - rank) * m, *part = d.left;
        for (index i = 0; i < rank; ++i) part[i] = d.S[d.order[i] * m + d.order[k]];
        solve_rows(d, m, rank, 1, part);
        for (index i = 0; i < m; ++i) x[i] = 0.0;
        for (index i = 0; i < rank; ++i) x[d.order[i]] = -part[i];
        x[d.order[k]] = 1.0;
        for (int twice = 0; twice < 2; ++twice)
            for (index j = 0; j < k - rank; ++j) {
                double sum = 0.0;
                for (index i = 0; i < m; ++i) sum += d.null[j * m + i] * x[i];
                subtract_row(m, sum, d.null + j * m, x);
            }
        double square = 0.0;
        for (index i = 0; i < m; ++i) square += x[i] * x[i];
        for (index i = 0; i < m; ++i) x[i] /= std::sqrt(square);
    }
}

// Y -= sign N N* X for X and Y (m, n), and the `count` rows of N* that repeated_rows left; `part` has as many rows of n.
inline void subtract_repeated(const DerivativeWork& d, index count, index m, index n, double sign, const double* X, double* part, double* Y) {
    for (index i = 0; i < count * n; ++i) part[i] = 0.0;
    subtract_product(count, m, n, d.null, m, 1, X, part);
    for (index i = 0; i < count * n; ++i) part[i] *= -sign;
    subtract_product(m, count, n, d.null, 1, m, part, Y);
}

// y -= row i of Gc X, by the entries that are not nothing.
inline void subtract_entries(const DerivativeWork& d, index i, index nv, const double* X, double* y) {
    const index from = d.entries[i], count = d.entries[i + 1] - from;
    subtract_rows(nv, count, d.values + from, 1, d.columns_of + from, X, y);
}

// One round of what closes the rows: x = S^-1 (Gc X + open), lambda += x, X -= Mcal^-1 Gc* x. `open` may be null; `known`
// has the rows of Gc X that count, or is null.
inline void respond_to_rows(const LoopWork& w, const DerivativeWork& d, index rank, const double* open, const double* known,
                            double* X, double* lambda) {
    const index m = w.plan.size, nv = w.model.nv;
    for (index i = 0; i < rank; ++i) {
        double* y = d.part + i * nv;  // less than nothing: what closes the rows has the other sign
        for (index c = 0; c < nv; ++c) y[c] = open ? -open[d.order[i] * nv + c] : 0.0;
        if (known) subtract_row(nv, 1.0, known + i * nv, y);
        else subtract_entries(d, d.order[i], nv, X, y);
    }
    solve_rows(d, m, rank, nv, d.part);
    for (index i = 0; i < rank; ++i) {
        double *x = d.part + i * nv, *to = lambda + d.order[i] * nv;
        for (index c = 0; c < nv; ++c) x[c] = -x[c], to[c] += x[c];
    }
    subtract_product(nv, rank, nv, d.sorted, 1, nv, d.part, X);
}

// Gc^+ lambda of multipliers of least norm, by the rows that count, into d.along.
inline bool least_motion(const LoopWork& w, const DerivativeWork& d, index rank) {
    const index nv = w.model.nv;
    double *GG = d.S, *x = d.along + nv, *kept = d.part;  // the rows that count
    for (index i = 0; i < rank; ++i)
        for (index k = 0; k < nv; ++k)
            kept[i * nv + k] = d.turned[k * rank + i] = d.rows.G[d.order[i] * nv + k];
    gram(rank, nv, kept, d.turned, GG);
    index* order = d.second;
    if (pivoted_cholesky(rank, GG, 0.0, d.L, order, d.left) != rank) return false;
    for (index i = 0; i < rank; ++i) x[i] = w.lambda[d.order[order[i]]];
    solve_lower(rank, rank, d.L, 1, x);
    solve_lower_transposed(rank, rank, d.L, x);
    for (index k = 0; k < nv; ++k) d.along[k] = 0.0;
    for (index i = 0; i < rank; ++i) subtract_row(nv, -x[i], d.rows.G + d.order[order[i]] * nv, d.along);
    return true;
}

// The forces of closures and couplings from the multipliers: of a closure the columns of -R_a* Q* lambda, where Q and the
// axes of a turn with the dofs as seen from b.
template <class Out>
inline void derived_forces(const LoopWork& w, const DerivativeWork& d, const Out& out) {
    const Plan& plan = w.plan;
    const index nv = w.model.nv;
    for (std::size_t i = 0; i < plan.closures.size(); ++i) {
        const Closure& c = plan.closures[i];
        const Tie& t = w.ties[i];
        double Q[6][6];  // rows in the axes of a
        for (index r = 0; r < c.rows; ++r) {
            const Vec3 n = turn_back(t.R_a, t.Q[r].w), f = turn_back(t.R_a, t.Q[r].v);
            Q[r][0] = n.x, Q[r][1] = n.y, Q[r][2] = n.z, Q[r][3] = f.x, Q[r][4] = f.y, Q[r][5] = f.z;
        }
        for (int which = 0; which < 3; ++which)
            for (int k = 0; k < 6; ++k) {
                double* to = out.forces[which] + (6 * static_cast<index>(i) + k) * nv;
                for (index j = 0; j < nv; ++j) to[j] = 0.0;
                for (index r = 0; r < c.rows; ++r)
                    if (Q[r][k] != 0.0) subtract_row(nv, Q[r][k], d.lambda[which] + (c.row + r) * nv, to);
            }
        const Twist push = push_of(w, c, t);
        for (index k = d.first[i]; k < d.first[i + 1]; ++k) {
            const Twist turned = Twist{cross(push.w, d.J[k].w), cross(push.v, d.J[k].w)} - d.dw[k];
            const Vec3 n = turn_back(t.R_a, turned.w), f = turn_back(t.R_a, turned.v);
            double* to = out.forces[0] + 6 * static_cast<index>(i) * nv + d.dof[k];
            to[0] += n.x, to[nv] += n.y, to[2 * nv] += n.z, to[3 * nv] += f.x, to[4 * nv] += f.y, to[5 * nv] += f.z;
        }
    }
    for (std::size_t i = 0; i < plan.couplings.size(); ++i)
        for (int which = 0; which < 3; ++which) {
            double* to = out.forces[which] + static_cast<index>(6 * plan.closures.size() + i) * nv;
            for (index j = 0; j < nv; ++j) to[j] = d.lambda[which][plan.couplings[i].row * nv + j];
        }
}


// `out` has vdot[3] (nv, nv) and forces[3] (numbers of closures and couplings, nv): by q, v and the force.
//
// All of them, for the rows, vdot and lambda that a solver left, of which `rank` rows count. `T`: the generalized force that
// acts, springs included. False where Python should look at it.
template <class Out>
inline bool derive_closed(const LoopWork& w, const DerivativeWork& d, const Base& base, const double* q, const double* v,
                          const double* T, const double* pull, const Passive* passive, index rank, const Out& out) {
    const Model& model = w.model;
    const index nv = model.nv, m = w.plan.size;
    for (index k = 0; k < model.count; ++k)
        if (model.elements[k].kind == ROLLING) return false;  // its dofs do not span where it can be
    for (const Closure& c : w.plan.closures)
        if (!c.is_holonomic()) return false;
    pulled_open(w, T, pull, d);
    if (!forward_dynamics_derivatives<Abreast>(model, base, q, v, static_cast<const double*>(d.T), d.pull, d.tree, out.vdot))
        return false;
    const double* inverse = out.vdot[2];  // of the mass matrix
    if (passive && !add_passive_response(*passive, model, inertial_ground<double>(), q, v, d.linked, inverse, out.vdot[0], out.vdot[1]))
        return false;
    if (!take_row_rates(w, q, v, d)) return false;
    index pushed = 0;  // rows of push that are not nothing, and the columns of the inverse mass matrix for them
    for (index k = 0; k < nv; ++k) {
        if (largest(d.rows.push + k * nv, nv) == 0.0) continue;
        if (pushed < k)
            for (index c = 0; c < nv; ++c) d.rows.push[pushed * nv + c] = d.rows.push[k * nv + c];
        d.pushed[pushed++] = k;
    }
    for (index r = 0; r < nv; ++r)
        for (index k = 0; k < pushed; ++k) d.columns[r * nv + k] = inverse[r * nv + d.pushed[k]];
    subtract_product(nv, pushed, nv, d.columns, nv, 1, d.rows.push, out.vdot[0]);
    index entries = 0;
    for (index i = 0; i < m; ++i) {
        d.entries[i] = entries;
        for (index k = 0; k < nv; ++k)
            if (d.rows.G[i * nv + k] != 0.0) d.values[entries] = d.rows.G[i * nv + k], d.columns_of[entries++] = k;
        d.entries[i + 1] = entries;
        double* z = d.Z + i * nv;
        for (index c = 0; c < nv; ++c) z[c] = 0.0;
        subtract_entries(d, i, nv, inverse, z);
        for (index c = 0; c < nv; ++c) z[c] = -z[c];
    }
    double least;
    if (!factor_rows(w, d, rank, least)) return false;
    for (index i = 0; i < rank; ++i)
        for (index k = 0; k < nv; ++k) d.sorted[i * nv + k] = d.Z[d.order[i] * nv + k];
    const index repeated = m - rank;
    if (repeated > 0) {
        repeated_rows(d, m, rank);
        subtract_repeated(d, repeated, m, nv, 1.0, d.rows.dq, d.part, d.rows.dq);
        subtract_repeated(d, repeated, m, nv, 1.0, d.rows.dv, d.part, d.rows.dv);
    }
    const double* open[3] = {d.rows.dq, d.rows.dv, nullptr};
    for (int which = 0; which < 3; ++which) {
        for (index i = 0; i < m * nv; ++i) d.lambda[which][i] = 0.0;
        for (int round = 0; round < (least < w.plan.tolerances.refined_pivot ? 2 : 1); ++round)
            respond_to_rows(w, d, rank, open[which], which == 2 && round == 0 ? d.sorted : nullptr, out.vdot[which],
                            d.lambda[which]);  // by the force: X is Mcal^-1
        if (repeated > 0) subtract_repeated(d, repeated, m, nv, 1.0, d.lambda[which], d.part, d.lambda[which]);
    }
    if (repeated > 0) {  // least norm turns with the range of Gc: N* dlambda = N* dGc Gc^+ lambda
        if (!least_motion(w, d, rank) || !row_speeds(w, q, d.along, d.rows, d.Z)) return false;
        subtract_repeated(d, repeated, m, nv, -1.0, d.Z, d.part, d.lambda[0]);
    }
    derived_forces(w, d, out);
    return true;
}

SOACRAFT_RIGID_END
