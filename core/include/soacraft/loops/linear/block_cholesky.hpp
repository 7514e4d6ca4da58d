// A sparse, rank-revealing Cholesky factorization of the Schur complement of the closures, in the order of the fronts.
//
// Each front is factored with pivoting. A row whose pivot vanishes repeats rows eliminated before; its multiplier is
// free, and chosen so that the multipliers have least norm. Pivots that are neither clearly there nor clearly rounding
// are left to Python. States side by side: block_cholesky_lanes.hpp.
#pragma once

#include "../work.hpp"

SOACRAFT_RIGID_BEGIN

// S = A* B by blocks, of rows A and B that stand as Y does; false when its diagonal shows that the scale is that of quite
// another configuration.
template <class T>
inline Where<T> meet(LoopWorkOf<T>& w, const T* A, const T* B) {
    const Plan& plan = w.plan;
    T most(0.0);
    for (index i = 0; i < plan.S_size; ++i) w.blocks[i] = T(0.0);
    for (const loops::Block& block : plan.blocks) {
        const loops::Way &a = plan.ways[block.i], &b = plan.ways[block.j];
        T* s = w.blocks + block.at;
        for (index r = 0; r < a.rows; ++r)
            for (index c = block.i == block.j ? r : 0; c < b.rows; ++c) {
                const T *x = A + a.Y + r * a.width, *y = B + b.Y + c * b.width;
                T sum(0.0);
                for (const loops::Run& run : block.runs)
                    for (index k = 0; k < run.count; ++k) sum += x[run.i + k] * y[run.j + k];
                s[r * b.rows + c] = sum;
                if (block.i == block.j) s[c * b.rows + r] = sum;
                if (block.i == block.j && r == c) most = larger(most, sum);
            }
    }
    Where<T> fine = is_above(T(plan.tolerances.highest), most);
    fine &= is_above(most, T(plan.tolerances.lowest));
    return fine;
}

// Gather one dense block out of parts.
template <class T>
inline void gather_parts(const LoopWorkOf<T>& w, const std::vector<loops::Front::Part>& parts, index width, T* D) {
    for (const loops::Front::Part& part : parts) {
        const T* s = w.blocks + part.at;
        for (index r = 0; r < part.rows; ++r)
            for (index c = 0; c < part.cols; ++c)
                D[(part.top + r) * width + part.left + c] = part.turned ? s[c * part.rows + r] : s[r * part.cols + c];
    }
}

// The rows of a front among themselves, a symmetric block.
template <class T>
inline void gather_corner(const LoopWorkOf<T>& w, const loops::Front& f, T* D) {
    const index n = static_cast<index>(f.own.size());
    for (const loops::Front::Part& part : f.corner) {
        const T* s = w.blocks + part.at;
        for (index r = 0; r < part.rows; ++r)
            for (index c = 0; c < part.cols; ++c)
                D[(part.top + r) * n + part.left + c] = D[(part.left + c) * n + part.top + r] = s[r * part.cols + c];
    }
}

// What `rows` rows of a front leave of the others: S - X* X.
template <class T>
inline void subtract_outer(LoopWorkOf<T>& w, const loops::Front& f, index rows, const T* X) {
    const index m = static_cast<index>(f.others.size());
    for (const loops::Front::Part& part : f.rest) {
        T* s = w.blocks + part.at;
        for (index i = 0; i < rows; ++i) {
            const T *a = X + i * m + part.top, *b = X + i * m + part.left;
            for (index r = 0; r < part.rows; ++r)
                for (index c = 0; c < part.cols; ++c) s[r * part.cols + c] -= a[r] * b[c];
        }
    }
}

inline bool factor_fronts(LoopWork& w) {
    const Plan& plan = w.plan;
    w.kept = 0.0;
    for (std::size_t number = 0; number < plan.fronts.size(); ++number) {
        const loops::Front& f = plan.fronts[number];
        const index n = static_cast<index>(f.own.size()), m = static_cast<index>(f.others.size());
        double *L = w.LL + f.L, *D = L + n * n, *spare = D + n * n, *X = w.X + f.X, *R = X + n * m;
        index* order = w.order + f.order;
        gather_corner(w, f, D);
        gather_parts(w, f.side, m, R);
        const index rank = pivoted_cholesky(n, D, plan.tolerances.pivot, L, order, spare);
        for (index i = rank; i < n; ++i)
            if (!(spare[i] <= plan.tolerances.rounding)) return false;
        w.rank[number] = rank, w.kept += static_cast<double>(rank);
        for (index i = 0; i < rank; ++i)
            for (index c = 0; c < m; ++c) X[i * m + c] = R[order[i] * m + c];
        solve_lower(rank, n, L, m, X);
        subtract_outer(w, f, rank, X);
    }
    return true;
}

// x <- a solution of S x = rhs with nothing at the rows that repeat others; rhs is used up. Scaled rows.
inline void solve_fronts(LoopWork& w, double* rhs, double* x) {
    const Plan& plan = w.plan;
    double* half = w.half;
    index at = 0;
    for (std::size_t number = 0; number < plan.fronts.size(); ++number) {
        const loops::Front& f = plan.fronts[number];
        const index n = static_cast<index>(f.own.size()), m = static_cast<index>(f.others.size()), rank = w.rank[number];
        const double *L = w.LL + f.L, *X = w.X + f.X;
        const index* order = w.order + f.order;
        for (index i = 0; i < rank; ++i) half[at + i] = rhs[f.own[order[i]]];
        solve_lower(rank, n, L, 1, half + at);
        for (index i = 0; i < rank; ++i)
            for (index c = 0; c < m; ++c) rhs[f.others[c]] -= X[i * m + c] * half[at + i];
        at += rank;
    }
    for (std::size_t number = plan.fronts.size(); number-- > 0;) {
        const loops::Front& f = plan.fronts[number];
        const index n = static_cast<index>(f.own.size()), m = static_cast<index>(f.others.size()), rank = w.rank[number];
        const double *L = w.LL + f.L, *X = w.X + f.X;
        const index* order = w.order + f.order;
        at -= rank;
        for (index i = 0; i < rank; ++i)
            for (index c = 0; c < m; ++c) half[at + i] -= X[i * m + c] * x[f.others[c]];
        solve_lower_transposed(rank, n, L, half + at);
        for (index i = 0; i < rank; ++i) x[f.own[order[i]]] = half[at + i];
        for (index i = rank; i < n; ++i) x[f.own[order[i]]] = 0.0;
    }
}

// x = N y, y standing at the rows that repeat others: a vector that S takes to nothing. Scaled rows.
inline void from_free_rows(const LoopWork& w, double* x) {
    const Plan& plan = w.plan;
    for (std::size_t number = plan.fronts.size(); number-- > 0;) {
        const loops::Front& f = plan.fronts[number];
        const index n = static_cast<index>(f.own.size()), m = static_cast<index>(f.others.size()), rank = w.rank[number];
        const double *L = w.LL + f.L, *X = w.X + f.X;
        const index* order = w.order + f.order;
        double* part = w.spare;
        for (index i = 0; i < rank; ++i) {
            double sum = 0.0;
            for (index c = 0; c < m; ++c) sum -= X[i * m + c] * x[f.others[c]];
            for (index d = rank; d < n; ++d) sum -= L[d * n + i] * x[f.own[order[d]]];
            part[i] = sum;
        }
        solve_lower_transposed(rank, n, L, part);
        for (index i = 0; i < rank; ++i) x[f.own[order[i]]] = part[i];
    }
}

// N* x at the rows that repeat others, zero at the rest. Scaled rows.
inline void to_free_rows(const LoopWork& w, double* x) {
    const Plan& plan = w.plan;
    for (std::size_t number = 0; number < plan.fronts.size(); ++number) {
        const loops::Front& f = plan.fronts[number];
        const index n = static_cast<index>(f.own.size()), m = static_cast<index>(f.others.size()), rank = w.rank[number];
        const double *L = w.LL + f.L, *X = w.X + f.X;
        const index* order = w.order + f.order;
        double* part = w.spare;
        for (index i = 0; i < rank; ++i) part[i] = x[f.own[order[i]]];
        solve_lower(rank, n, L, 1, part);
        for (index i = 0; i < rank; ++i) {
            for (index c = 0; c < m; ++c) x[f.others[c]] -= X[i * m + c] * part[i];
            for (index d = rank; d < n; ++d) x[f.own[order[d]]] -= L[d * n + i] * part[i];
            x[f.own[order[i]]] = 0.0;
        }
    }
}

// lambda <- the one of least norm with the same effect, by conjugate gradients on the free rows; false when that does
// not settle.
inline bool least_norm(LoopWork& w, double* lambda) {
    const Plan& plan = w.plan;
    const index m = plan.size;
    index kept = 0;
    for (std::size_t i = 0; i < plan.fronts.size(); ++i) kept += w.rank[i];
    if (kept == m) return true;
    double *g = w.extra, *d = g + m, *Ad = d + m;
    const double *scale = plan.scale.data();
    double size = 0.0, before = 0.0;
    for (index i = 0; i < m; ++i) size += scale[i] * lambda[i] * scale[i] * lambda[i];
    const double small = plan.tolerances.settled * plan.tolerances.settled * size;
    for (index round = 0; round <= 2 * (m - kept) + 20; ++round) {
        for (index i = 0; i < m; ++i) g[i] = scale[i] * lambda[i];
        to_free_rows(w, g);
        double now = 0.0;
        for (index i = 0; i < m; ++i) now += g[i] * g[i];
        if (now <= small) return true;
        for (index i = 0; i < m; ++i) d[i] = g[i] + (round == 0 ? 0.0 : now / before * d[i]);
        for (index i = 0; i < m; ++i) Ad[i] = d[i];
        from_free_rows(w, Ad);
        double curve = 0.0;
        for (index i = 0; i < m; ++i) Ad[i] *= scale[i], curve += Ad[i] * Ad[i];
        if (!(curve > 0.0)) return false;
        for (index i = 0; i < m; ++i) lambda[i] -= now / curve * Ad[i];
        before = now;
    }
    return false;
}

SOACRAFT_RIGID_END
