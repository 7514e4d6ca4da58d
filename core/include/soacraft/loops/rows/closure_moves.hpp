// How far each dof moves the ends of a closure whatever the other end does: what sizes of rows and dofs are made from
// (soacraft/kinematics/sizes.py).
//
//     T_j: how far dof j turns an end;   S_j: how far it slides it at most, turns times the way from frame to frame
#pragma once

#include "../work.hpp"

SOACRAFT_RIGID_BEGIN

// Whether body k is `other`, or carries it.
inline bool is_inboard(const Plan& plan, index k, index other) {
    while (other >= 0 && other != k) other = plan.body_parent[other];
    return other == k;
}

inline double distance(const Vec3& a, const Vec3& b) {
    const Vec3 d = a - b;
    return std::sqrt(dot(d, d));
}

// Turns and slides of each dof of a hinge at the frame of its body, by dof; nothing of modes.
inline void dof_moves(const LoopWork& w, double* turns, double* slides) {
    for (index i = 0; i < w.model.nv; ++i) turns[i] = slides[i] = 0.0;
    for (index k = 0; k < w.model.count; ++k) {
        const Element& e = w.model.elements[k];
        for (index j = 0, n = dofs(e.kind); j < n; ++j) {
            const Place<double> X = spot(w.model.bodies[w.plan.body_of_dof[e.v + j]], w.limbs).X;
            const Twist at = carried(X.p - w.limbs[k].p, w.S[e.d + j]);
            turns[e.v + j] = std::sqrt(dot(at.w, at.w)), slides[e.v + j] = std::sqrt(dot(at.v, at.v));
        }
    }
}

// T and S (nv) of one closure, of rows that were taken.
inline void end_moves(const LoopWork& w, const Closure& c, const double* turns, const double* slides, double* T, double* S) {
    const Plan& plan = w.plan;
    const index bodies[2] = {c.body_a, c.body_b};
    const Body frames[2] = {c.a, c.b};
    const Vec3 b = spot(c.b, w.limbs).X.p;
    for (index i = 0; i < w.model.nv; ++i) T[i] = S[i] = 0.0;
    for (int end = 0; end < 2; ++end) {
        Vec3 here = spot(frames[end], w.limbs).X.p;
        double way = distance(b, here);
        for (index k = bodies[end]; k >= 0 && !is_inboard(plan, k, bodies[1 - end]); k = plan.body_parent[k]) {
            const Vec3 at = spot(w.model.bodies[k], w.limbs).X.p;
            way += distance(here, at), here = at;
            for (index i = plan.body_dofs[k]; i < plan.body_dofs[k + 1]; ++i)
                T[i] = turns[i], S[i] = slides[i] + way * turns[i];
        }
    }
}

// How far frames and bodies are from the origin at most: positions are rounded relative to this.
inline double furthest(const LoopWork& w) {
    double most = 0.0;
    const auto take = [&](const Body& frame) {
        const Vec3 p = spot(frame, w.limbs).X.p;
        most = larger(most, dot(p, p));
    };
    for (index i = 0; i < w.model.body_count; ++i) take(w.model.bodies[i]);
    for (const Closure& c : w.plan.closures) take(c.a), take(c.b);
    return std::sqrt(most);
}

SOACRAFT_RIGID_END
