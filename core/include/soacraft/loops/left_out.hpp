// Rows that a Schur complement left out because they repeat others: whether they truly do.
//
// The pivots of S are squares of singular values of the rows, so that one of 1e-8 is rounding there, and its row would be
// lost although it counts: next to a singular pose. What S takes to nothing is known better. For multipliers x = N y, with
// one number of y for each row left out,
//
//     |Gc* x| <= zero |x|              on an embedded tree  |Xt* Gc* x| <= zero |x|
//
// in units of rows and dofs, says that these forces do nothing: then no row was left out that counts.
#pragma once

#include "augmented/tree_augmented.hpp"
#include "embedding/rest_rows.hpp"

SOACRAFT_RIGID_BEGIN

// The k-th of numbers between 1/2 and 3/2 that no small sum of others cancels (multiples of the golden section).
inline double probe(index k) {
    const double x = 0.6180339887498949 * static_cast<double>(k + 1);
    return 0.5 + (x - std::floor(x));
}

// The largest of x by rows, in units.
template <class T>
inline T largest_push(const LoopWorkOf<T>& w, const T* x) {
    T most(0.0);
    for (index i = 0; i < w.plan.size; ++i) most = larger(most, absolute(x[i]) * w.unit[i]);
    return most;
}

// After the solver of a plan whose closures are rows next to the tree. Uses w.extra, w.f and w.left.
template <class T>
inline Where<T> left_out_do_nothing(LoopWorkOf<T>& w, const T& zero) {
    T* x = w.extra;
    for (index i = 0; i < w.plan.size; ++i) x[i] = T(probe(i) / w.plan.scale[i]) / w.unit[i];
    from_free_rows(w, x);
    for (index i = 0; i < w.plan.size; ++i) x[i] *= T(w.plan.scale[i]);
    row_forces(w, x);
    return is_at_most(largest_force(w.plan, w.left), zero * largest_push(w, x));
}

// After constraint embedding, for the rows next to the embedded tree.
inline bool left_out_of_rest_do_nothing(LoopWork& w, double zero) {
    const RestWork r(w);
    const auto rank = static_cast<index>(w.kept);
    double* x = w.extra;
    for (index i = 0; i < w.plan.size; ++i) x[i] = 0.0;
    for (index n = rank; n < r.m; ++n) {
        const index row = w.plan.rest[w.rest_order[n]].row;
        x[row] = probe(n) / w.unit[row];
    }
    from_free_rest(w, r, rank, x);
    row_forces(w, x);
    return largest_reduced(w, w.left) <= zero * largest_push(w, x);
}

// Whether rows that were left out repeat others, but where all were kept.
template <class T>
inline Where<T> truly_repeat(LoopWorkOf<T>& w, loops::Method method, const Where<T>& all_kept, const T& zero) {
    if (all(all_kept)) return all_kept;
    if (method != loops::CONSTRAINT_EMBEDDING) return all_kept | left_out_do_nothing(w, zero);
    if constexpr (Several<T>::value)
        return everywhere<T>();  // no such rows
    else
        return all_kept | left_out_of_rest_do_nothing(w, zero);
}

SOACRAFT_RIGID_END
