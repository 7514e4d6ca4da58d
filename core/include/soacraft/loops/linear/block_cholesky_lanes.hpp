// The factorization of block_cholesky.hpp for states side by side. All have one order of rows, that of the plan, so that
// what a lane gets does not depend on the others: a row whose pivot vanishes has nothing in its column of L, and zero for
// the inverse of its diagonal, which carries it through every sweep as a row that does not count. A lane in which a pivot
// is not clearly one or the other is in doubt.
#pragma once

#include "block_cholesky.hpp"

SOACRAFT_RIGID_BEGIN

// L L* = S for one front, into L with the inverse of its diagonal; rows that count are added to `kept`.
template <class T>
inline Where<T> factor_front(index n, const T* S, const loops::Tolerances& tolerances, T* L, T& kept) {
    const T counts(tolerances.abreast_pivot), rounding(tolerances.rounding), o(0.0), one(1.0);
    Where<T> fine = everywhere<T>();
    for (index j = 0; j < n; ++j) {
        T pivot = S[j * n + j];
        for (index t = 0; t < j; ++t) pivot -= L[j * n + t] * L[j * n + t];
        const Where<T> there = is_above(pivot, counts);
        fine &= there | is_at_most(pivot, rounding);
        kept += choose(there, one, o);
        const T inverse = L[j * n + j] = choose(there, one / square_root(pivot), o);
        for (index i = j + 1; i < n; ++i) {
            T sum = S[i * n + j];
            for (index t = 0; t < j; ++t) sum -= L[i * n + t] * L[j * n + t];
            L[i * n + j] = sum * inverse;
        }
    }
    return fine;
}

template <int W>
inline Flags<W> factor_fronts(LoopWorkOf<Pack<W>>& w) {
    typedef Pack<W> T;
    const Plan& plan = w.plan;
    Flags<W> fine = everywhere<T>();
    w.kept = T(0.0);
    for (const loops::Front& f : plan.fronts) {
        const index n = static_cast<index>(f.own.size()), m = static_cast<index>(f.others.size());
        T *L = w.LL + f.L, *D = L + n * n, *X = w.X + f.X;
        gather_corner(w, f, D);
        gather_parts(w, f.side, m, X);
        fine &= factor_front(n, D, plan.tolerances, L, w.kept);
        if (!any(fine)) return fine;
        for (index i = 0; i < n; ++i)
            for (index c = 0; c < m; ++c) {
                T sum = X[i * m + c];
                for (index t = 0; t < i; ++t) sum -= L[i * n + t] * X[t * m + c];
                X[i * m + c] = sum * L[i * n + i];
            }
        subtract_outer(w, f, n, X);
    }
    return fine;
}

// The part of a row of one front that its own and the other rows leave of x, from behind: x(i) - X x - L* x.
template <class T>
inline T less_later(const loops::Front& f, const T* L, const T* X, index i, const T* x, T sum) {
    const index n = static_cast<index>(f.own.size()), m = static_cast<index>(f.others.size());
    for (index c = 0; c < m; ++c) sum -= X[i * m + c] * x[f.others[c]];
    for (index t = i + 1; t < n; ++t) sum -= L[t * n + i] * x[f.own[t]];
    return sum;
}

// x <- a solution of S x = rhs with nothing at the rows that repeat others; rhs is used up. Scaled rows.
template <int W>
inline void solve_fronts(LoopWorkOf<Pack<W>>& w, Pack<W>* rhs, Pack<W>* x) {
    typedef Pack<W> T;
    for (const loops::Front& f : w.plan.fronts) {
        const index n = static_cast<index>(f.own.size()), m = static_cast<index>(f.others.size());
        const T *L = w.LL + f.L, *X = w.X + f.X;
        for (index i = 0; i < n; ++i) {
            T sum = rhs[f.own[i]];
            for (index t = 0; t < i; ++t) sum -= L[i * n + t] * rhs[f.own[t]];
            rhs[f.own[i]] = sum *= L[i * n + i];
            for (index c = 0; c < m; ++c) rhs[f.others[c]] -= X[i * m + c] * sum;
        }
    }
    for (std::size_t number = w.plan.fronts.size(); number-- > 0;) {
        const loops::Front& f = w.plan.fronts[number];
        const index n = static_cast<index>(f.own.size());
        const T* L = w.LL + f.L;
        for (index i = n; i-- > 0;) x[f.own[i]] = L[i * n + i] * less_later(f, L, w.X + f.X, i, x, rhs[f.own[i]]);
    }
}

// x = N y, y standing at the rows that repeat others: a vector that S takes to nothing. Scaled rows.
template <int W>
inline void from_free_rows(const LoopWorkOf<Pack<W>>& w, Pack<W>* x) {
    typedef Pack<W> T;
    for (std::size_t number = w.plan.fronts.size(); number-- > 0;) {
        const loops::Front& f = w.plan.fronts[number];
        const index n = static_cast<index>(f.own.size());
        const T* L = w.LL + f.L;
        for (index i = n; i-- > 0;) {
            T& own = x[f.own[i]];
            own = choose(is_above(L[i * n + i], T(0.0)), L[i * n + i] * less_later(f, L, w.X + f.X, i, x, T(0.0)), own);
        }
    }
}

// N* x at the rows that repeat others, zero at the rest. Scaled rows.
template <int W>
inline void to_free_rows(const LoopWorkOf<Pack<W>>& w, Pack<W>* x) {
    typedef Pack<W> T;
    for (const loops::Front& f : w.plan.fronts) {
        const index n = static_cast<index>(f.own.size()), m = static_cast<index>(f.others.size());
        const T *L = w.LL + f.L, *X = w.X + f.X;
        T* part = w.spare;
        for (index i = 0; i < n; ++i) {
            T& own = x[f.own[i]];
            for (index t = 0; t < i; ++t) own -= L[i * n + t] * part[t];
            part[i] = L[i * n + i] * own;
            own = choose(is_above(L[i * n + i], T(0.0)), T(0.0), own);
            for (index c = 0; c < m; ++c) x[f.others[c]] -= X[i * m + c] * part[i];
        }
    }
}

// lambda <- the one of least norm with the same effect, by conjugate gradients on the free rows; false where that does
// not settle.
template <int W>
inline Flags<W> least_norm(LoopWorkOf<Pack<W>>& w, Pack<W>* lambda) {
    typedef Pack<W> T;
    const Plan& plan = w.plan;
    const index m = plan.size;
    const T most = T(static_cast<double>(m)) - w.kept, rounds = T(2.0) * most + T(20.0), o(0.0);
    Flags<W> done = is_at_most(most, o), fine = everywhere<T>();
    T *g = w.extra, *d = g + m, *Ad = d + m;
    T size(0.0), before(1.0);
    for (index i = 0; i < m; ++i) size += T(plan.scale[i] * plan.scale[i]) * lambda[i] * lambda[i];
    const T small = T(plan.tolerances.settled * plan.tolerances.settled) * size;
    for (index round = 0; any(fine & !done); ++round) {
        for (index i = 0; i < m; ++i) g[i] = T(plan.scale[i]) * lambda[i];
        to_free_rows(w, g);
        T now(0.0), curve(0.0);
        for (index i = 0; i < m; ++i) now += g[i] * g[i];
        done |= is_at_most(now, small);
        fine &= done | is_at_most(T(static_cast<double>(round)), rounds);
        for (index i = 0; i < m; ++i) d[i] = round == 0 ? g[i] : g[i] + now / before * d[i];
        for (index i = 0; i < m; ++i) Ad[i] = d[i];
        from_free_rows(w, Ad);
        for (index i = 0; i < m; ++i) Ad[i] *= T(plan.scale[i]), curve += Ad[i] * Ad[i];
        fine &= done | is_above(curve, o);
        const T step = choose(fine & !done, now / curve, o);
        for (index i = 0; i < m; ++i) lambda[i] -= choose(done, o, step * Ad[i]);
        before = now;
    }
    return fine;
}

SOACRAFT_RIGID_END
