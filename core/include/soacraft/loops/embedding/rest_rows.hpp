// Rows that no group holds, on the embedded tree: what the tree-augmented solver does on the plain one.
//
//     Y = Mcal^-1 G*, one sweep for each row;   S = G Y;   S lambda = G vdot + Gdot v;   vdot <- vdot - Y lambda
#pragma once

#include "embedding.hpp"

SOACRAFT_RIGID_BEGIN

// Memory for these rows, as Plan::rest_size counts it.
struct RestWork {
    index m;
    double *Y, *S, *L, *left, *x;

    explicit RestWork(const LoopWork& w) : m(static_cast<index>(w.plan.rest.size())) {
        double* at = w.rest;
        Y = at, S = Y + m * w.model.nv, L = S + m * m, left = L + m * m, x = left + m;
    }
};

// The unit push of a row against what it ties: on bodies into w.z, on dofs into T (zero before).
inline void push_row(LoopWork& w, const loops::Rest& rest, double* T) {
    if (rest.loop) {
        const Closure& c = w.plan.closures[rest.number];
        const Tie& t = w.ties[rest.number];
        const Twist& Q = t.Q[rest.row - c.row];
        if (c.b.element >= 0) w.z[c.b.element] -= pulled(t.r_b, Q);
        if (c.a.element >= 0) w.z[c.a.element] += pulled(t.r_a, Q);
        return;
    }
    const Coupling& c = w.plan.couplings[rest.number];
    for (std::size_t k = 0; k < c.terms.size(); ++k) T[c.terms[k].v] += w.rates[w.ratios[rest.number].rates + static_cast<index>(k)];
}

// Y, S and its factors, in scaled rows; false where a pivot neither counts nor is rounding.
inline bool factor_rest(LoopWork& w, const RestWork& r, index& rank) {
    const Plan& plan = w.plan;
    const index nv = w.model.nv;
    for (index i = 0; i < r.m; ++i) {
        for (index k = 0; k < w.model.count; ++k) w.z[k] = none<double>();
        for (index k = 0; k < nv; ++k) w.push[k] = 0.0;
        push_row(w, plan.rest[i], w.push);
        respond(w, w.push);
        for (index k = 0; k < nv; ++k) r.Y[i * nv + k] = w.step[k];
        row_rates(w, none<double>(), w.step, w.row);
        for (index j = 0; j < r.m; ++j) r.S[j * r.m + i] = w.row[plan.rest[j].row];
    }
    for (index i = 0; i < r.m; ++i) {  // what rounding is measured by: the most compliant row of its closure, in units
        double most = plan.inertia > 0.0 ? 1.0 / plan.inertia : 0.0;
        for (index j = 0; j < r.m; ++j) {
            const double unit = w.unit[plan.rest[j].row];
            if (plan.rest[j].loop == plan.rest[i].loop && plan.rest[j].number == plan.rest[i].number)
                most = larger(most, r.S[j * r.m + j] / (unit * unit));
        }
        if (!(most > 0.0)) return false;
        r.x[i] = 1.0 / (w.unit[plan.rest[i].row] * std::sqrt(most));
    }
    for (index i = 0; i < r.m; ++i)
        for (index j = 0; j < r.m; ++j) r.S[i * r.m + j] *= r.x[i] * r.x[j];
    for (index i = 0; i < r.m; ++i)
        for (index j = 0; j < i; ++j) r.S[i * r.m + j] = r.S[j * r.m + i] = 0.5 * (r.S[i * r.m + j] + r.S[j * r.m + i]);
    rank = pivoted_cholesky(r.m, r.S, plan.tolerances.pivot, r.L, w.rest_order, r.left);
    for (index i = rank; i < r.m; ++i)
        if (!(r.left[i] <= plan.tolerances.rounding)) return false;
    return true;
}

// Close the rows that vdot leaves open: lambda and vdot with it, from accelerations A that are vdot's.
inline void close_rest(LoopWork& w, const RestWork& r, index rank, const Base& base) {
    const Plan& plan = w.plan;
    row_residual(w, base, w.vdot, w.row);
    for (index i = 0; i < rank; ++i) r.left[i] = r.x[w.rest_order[i]] * w.row[plan.rest[w.rest_order[i]].row];
    solve_lower(rank, r.m, r.L, 1, r.left);
    solve_lower_transposed(rank, r.m, r.L, r.left);
    for (index i = 0; i < rank; ++i) {
        const index own = w.rest_order[i];
        const double x = r.x[own] * r.left[i];
        w.lambda[plan.rest[own].row] += x;
        for (index k = 0; k < w.model.nv; ++k) w.vdot[k] -= x * r.Y[own * w.model.nv + k];
    }
    accelerations(w.model, base, w.limbs, w.S, w.vdot, w.A);
}

// lambda <- the one of least norm with the same effect: less its part along the vectors that S takes to nothing, made
// orthonormal in the rows of S, which is used up.
inline void shorten_rest(LoopWork& w, const RestWork& r, index rank) {
    for (index n = rank; n < r.m; ++n) {
        double *own = r.S + (n - rank) * r.m, size = 0.0;
        for (index i = 0; i < rank; ++i) r.left[i] = -r.L[n * r.m + i];
        solve_lower_transposed(rank, r.m, r.L, r.left);
        for (index i = 0; i < r.m; ++i) own[i] = 0.0;
        for (index i = 0; i < rank; ++i) own[w.rest_order[i]] = r.x[w.rest_order[i]] * r.left[i];
        own[w.rest_order[n]] = r.x[w.rest_order[n]];
        for (index k = 0; k < n - rank; ++k) {
            double along = 0.0;
            for (index i = 0; i < r.m; ++i) along += own[i] * r.S[k * r.m + i];
            for (index i = 0; i < r.m; ++i) own[i] -= along * r.S[k * r.m + i];
        }
        for (index i = 0; i < r.m; ++i) size += own[i] * own[i];
        double along = 0.0;
        size = 1.0 / std::sqrt(size);
        for (index i = 0; i < r.m; ++i) own[i] *= size, along += own[i] * w.lambda[w.plan.rest[i].row];
        for (index i = 0; i < r.m; ++i) w.lambda[w.plan.rest[i].row] -= along * own[i];
    }
}

// x, by all rows: multipliers that S takes to nothing, given those of the rows left out.
inline void from_free_rest(LoopWork& w, const RestWork& r, index rank, double* x) {
    for (index i = 0; i < rank; ++i) {
        r.left[i] = 0.0;
        for (index n = rank; n < r.m; ++n) {
            const index own = w.rest_order[n];
            r.left[i] -= r.L[n * r.m + i] * x[w.plan.rest[own].row] / r.x[own];
        }
    }
    solve_lower_transposed(rank, r.m, r.L, r.left);
    for (index i = 0; i < rank; ++i) x[w.plan.rest[w.rest_order[i]].row] = r.x[w.rest_order[i]] * r.left[i];
}

// What constraint embedding does about such rows.
template <class T>
struct RestRows;

template <>
struct RestRows<double> {
    LoopWork& w;
    RestWork r;
    index rank = 0;

    explicit RestRows(LoopWork& w_) : w(w_), r(w_) {}
    const double* known() const { return r.m > 0 ? w.lambda : nullptr; }
    // False where Python should look at it.
    bool close(const Base& base) {
        if (r.m == 0) return true;
        if (!factor_rest(w, r, rank)) return false;
        w.kept = static_cast<double>(rank);
        accelerations(w.model, base, w.limbs, w.S, w.vdot, w.A);
        for (int twice = 0; twice < 2; ++twice) close_rest(w, r, rank, base);
        return true;
    }
    void close_again(const Base& base) {
        if (r.m > 0) close_rest(w, r, rank, base);
    }
    // Whether there was something to shorten.
    bool shorten() {
        if (rank < r.m) shorten_rest(w, r, rank);
        return rank < r.m;
    }
};

// States side by side have none: where there are such rows, each is solved on its own.
template <int W>
struct RestRows<Pack<W>> {
    LoopWorkOf<Pack<W>>& w;

    explicit RestRows(LoopWorkOf<Pack<W>>& w_) : w(w_) {}
    const Pack<W>* known() const { return nullptr; }
    Flags<W> close(const Base&) { return w.plan.rest.empty() ? everywhere<Pack<W>>() : nowhere<Pack<W>>(); }
    void close_again(const Base&) {}
    bool shorten() { return false; }
};

SOACRAFT_RIGID_END
