// The constraint Jacobian Gc, dense (rows x nv), of rows that were taken: each from its bodies to the base. O(m depth).
#pragma once

#include "../work.hpp"

SOACRAFT_RIGID_BEGIN

inline void add_jacobian(const LoopWork& w, const Closure& c, const Tie& t, index element, double sign, double* G) {
    index spot = element < w.model.count ? -1 : element - w.model.count;
    index k = spot < 0 ? element : w.model.flexible[w.model.spots[spot].flexible].element;
    for (; k >= 0; spot = w.model.elements[k].spot, k = w.model.elements[k].parent) {
        const Element& e = w.model.elements[k];
        const Vec3 arm = t.at - w.limbs[k].p;
        for (index j = 0; e.flexible >= 0 && j < w.model.flexible[e.flexible].n; ++j) {
            Twist at = w.S[w.place(e, j)];
            if (spot >= 0) at += FlexibleLimbs<double>::column(w.flexible.spots[spot].Pi, w.flexible.spots[spot].step, j);
            at = carried(arm, at);
            for (index r = 0; r < c.rows; ++r) G[(c.row + r) * w.model.nv + w.dof(e, j)] += sign * dot(t.Q[r], at);
        }
        for (index j = 0, n = dofs(e.kind); j < n; ++j) {
            const Twist at = carried(arm, w.S[e.d + j]);
            for (index r = 0; r < c.rows; ++r) G[(c.row + r) * w.model.nv + e.v + j] += sign * dot(t.Q[r], at);
        }
    }
}

inline void closure_jacobian(const LoopWork& w, double* G) {
    const Plan& plan = w.plan;
    for (index i = 0; i < plan.size * w.model.nv; ++i) G[i] = 0.0;
    for (std::size_t i = 0; i < plan.closures.size(); ++i) {
        const Closure& c = plan.closures[i];
        add_jacobian(w, c, w.ties[i], c.b.element, 1.0, G);
        add_jacobian(w, c, w.ties[i], c.a.element, -1.0, G);
    }
    for (std::size_t i = 0; i < plan.couplings.size(); ++i) {
        const Coupling& c = plan.couplings[i];
        for (std::size_t k = 0; k < c.terms.size(); ++k)
            G[c.row * w.model.nv + c.terms[k].v] += w.rates[w.ratios[i].rates + static_cast<index>(k)];
    }
}

SOACRAFT_RIGID_END
