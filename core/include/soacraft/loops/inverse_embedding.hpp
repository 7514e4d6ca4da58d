// The generalized force at the independent dofs that gives their accelerations (soacraft/loops/inverse.py):
//
//     vdot = X vdot_i + x0,   T_i = X* (Mcal vdot + C - passive)
#pragma once

#include "motion.hpp"

SOACRAFT_RIGID_BEGIN

// For the rows taken before; `acting`: what springs and dampers add. False where Python should look at it.
inline bool inverse_embedding(LoopWork& w, const MotionWork& m, const Base& base, const double* acting, const double* x,
                              double* T) {
    const Plan& plan = w.plan;
    if (!expand(w, m.place, x, 1.0, w.vdot, w.step)) return false;
    for (index i = 0; i < w.model.nv; ++i) w.vdot[i] += w.step[i];
    accelerations(w.model, base, w.limbs, w.S, w.vdot, w.A);
    row_residual(w, base, w.vdot, w.row);
    unbalanced(w, acting, w.vdot, nullptr);
    for (index i = 0; i < w.model.nv; ++i) T[i] = 0.0;
    for (const Group& g : plan.groups) {
        const GroupWork s = group_work(w, g);
        for (index j = 0; j < s.ni; ++j) {
            const index own = plan.user_dof[g.dofs[s.free ? j : g.independent[j]]];
            if (s.free) T[own] = -w.left[own];
            for (index i = 0; i < s.n && !s.free; ++i) T[own] -= s.X[i * s.ni + j] * w.left[plan.user_dof[g.dofs[i]]];
        }
    }
    for (index i = 0; i < plan.size; ++i) w.lambda[i] = 0.0;
    return residual_of(w, acting).closures <= plan.tolerances.closed;
}

SOACRAFT_RIGID_END
