// Forward dynamics by constraint embedding: groups of elements as compound bodies, and rows that none of them holds.
#pragma once

#include "rest_rows.hpp"

SOACRAFT_RIGID_BEGIN

// vdot, lambda and what they leave, for the rows taken before; false where Python should look at it.
inline bool constraint_embedding(LoopWork& w, const Base& base, const double* T, Residual& left) {
    const Model& model = w.model;
    for (index k = 0; k < model.count; ++k) w.P[k] = articulated(w.limbs[k].I), w.z[k] = w.limbs[k].b;
    for (std::size_t i = w.plan.groups.size(); i-- > 0;)
        if (!eliminate_group(w, w.plan.groups[i], T)) return false;
    release_all(w, spatial<double>(base.a), true, w.vdot);
    for (index i = 0; i < w.plan.size; ++i) w.lambda[i] = 0.0;
    const RestWork rest(w);
    const double* known = rest.m > 0 ? w.lambda : nullptr;
    index rank = 0;
    if (rest.m > 0) {
        if (!factor_rest(w, rest, rank)) return false;
        accelerations(model, base, w.limbs, w.S, w.vdot, w.A);
        for (int twice = 0; twice < 2; ++twice) close_rest(w, rest, rank, base);
    }
    for (int round = 0;; ++round) {
        unbalanced(w, T, w.vdot, known);
        const double most = larger(w.plan.inertia * w.rate * w.rate, largest_force(w.plan, w.left));
        if (round == 2 || largest_reduced(w, w.left) <= w.plan.tolerances.balanced * most) break;
        correct(w, w.left);
        accelerations(model, base, w.limbs, w.S, w.vdot, w.A);
        if (rest.m > 0) close_rest(w, rest, rank, base);
    }
    if (rank < rest.m) {
        shorten_rest(w, rest, rank);
        unbalanced(w, T, w.vdot, known);
    }
    row_residual(w, base, w.vdot, w.row);
    carry_left(w);
    left = residual_of(w, T);
    return true;
}

SOACRAFT_RIGID_END
