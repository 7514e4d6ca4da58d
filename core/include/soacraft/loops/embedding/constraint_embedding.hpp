// Forward dynamics by constraint embedding: groups of elements as compound bodies, and rows that none of them holds.
#pragma once

#include "rest_rows.hpp"

SOACRAFT_RIGID_BEGIN

// vdot, lambda and what they leave, for the rows taken before; false where Python should look at it.
template <class T>
inline Where<T> constraint_embedding(LoopWorkOf<T>& w, const Base& base, const T* force, ResidualOf<T>& left) {
    const Model& model = w.model;
    Where<T> fine = everywhere<T>();
    for (index k = 0; k < model.count; ++k) w.P[k] = articulated(w.limbs[k].I), w.z[k] = w.limbs[k].b;
    for (std::size_t i = w.plan.groups.size(); i-- > 0;) {
        fine &= eliminate_group(w, w.plan.groups[i], force);
        if (!any(fine)) return fine;
    }
    release_all(w, spatial<T>(base.a), true, w.vdot);
    for (index i = 0; i < w.plan.size; ++i) w.lambda[i] = T(0.0);
    RestRows<T> rest(w);
    fine &= rest.close(base);
    if (!any(fine)) return fine;
    for (int round = 0;; ++round) {
        unbalanced(w, force, w.vdot, rest.known());
        const T most = larger(T(w.plan.inertia) * w.rate * w.rate, largest_force(w.plan, w.left));
        const Where<T> done = is_at_most(largest_reduced(w, w.left), T(w.plan.tolerances.balanced) * most);
        if (round == 2 || !any(fine & !done)) break;
        correct(w, w.left, done);
        accelerations(model, base, w.limbs, w.S, w.vdot, w.A);
        rest.close_again(base);
    }
    if (rest.shorten()) unbalanced(w, force, w.vdot, rest.known());
    row_residual(w, base, w.vdot, w.row);
    carry_left(w);
    left = residual_of(w, force);
    return fine;
}

SOACRAFT_RIGID_END
