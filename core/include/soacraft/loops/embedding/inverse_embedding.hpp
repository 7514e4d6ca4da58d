// The generalized force at the independent dofs that gives their accelerations (soacraft/loops/inverse.py):
//
//     vdot = X vdot_i + x0,   T_i = X* (Mcal vdot + C - passive)
#pragma once

#include "../motion.hpp"

SOACRAFT_RIGID_BEGIN

// w.vdot and the accelerations of the elements from x, those of the independent dofs, for the rows taken before; `acting`:
// what springs and dampers add. False where Python should look at it.
inline bool accelerate_embedding(LoopWork& w, const MotionWork& m, const Base& base, const double* acting, const double* x) {
    if (!expand(w, m.place, x, 1.0, w.vdot, w.step)) return false;
    for (index i = 0; i < w.model.nv; ++i) w.vdot[i] += w.step[i];
    accelerations(w.model, base, w.limbs, w.S, w.vdot, w.A);
    row_residual(w, base, w.vdot, w.row);
    unbalanced(w, acting, w.vdot, nullptr);
    for (index i = 0; i < w.plan.size; ++i) w.lambda[i] = 0.0;
    return residual_of(w, acting).closures <= w.plan.tolerances.closed;
}

// Whether these are the accelerations of all dofs.
inline bool is_given_back(LoopWork& w, const double* vdot) {
    for (index i = 0; i < w.model.nv; ++i) w.step[i] = w.vdot[i] - vdot[i];
    return largest_rate(w.plan, w.step) <= w.plan.tolerances.given_back * largest_rate(w.plan, vdot);
}

// T, zero but at the independent dofs, for the accelerations found before.
inline void embedded_force(LoopWork& w, double* T) {
    const Plan& plan = w.plan;
    for (index i = 0; i < w.model.nv; ++i) T[i] = 0.0;
    for (const Group& g : plan.groups) {
        const GroupWork s = group_work(w, g);
        for (index j = 0; j < s.ni; ++j) {
            const index own = plan.user_dof[g.dofs[s.free ? j : g.independent[j]]];
            if (s.free) T[own] = -w.left[own];
            for (index i = 0; i < s.n && !s.free; ++i) T[own] -= s.X[i * s.ni + j] * w.left[plan.user_dof[g.dofs[i]]];
        }
    }
}

SOACRAFT_RIGID_END
