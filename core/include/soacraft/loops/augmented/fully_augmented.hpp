// Fully augmented dynamics of a closed chain (formula F4): all bodies free, hinges and closures as rows of one system.
//
//     [ K   C* ] [ z      ]   [ f ]      K: the tree in maximal coordinates (free_bodies.hpp),  z = (alpha, rho, mu)
//     [ C   0  ] [ lambda ] = [ c ]      C: closures and couplings on the bodies' accelerations
//
// The elements are eliminated first, tips to base, then the closures, S = C K^-1 C*; what is left is solved for again
// until nothing changes. No articulated-body formula: a witness for the solvers that use them.
#pragma once

#include "../linear/block_cholesky.hpp"
#include "free_bodies.hpp"

SOACRAFT_RIGID_BEGIN

// Put on the bodies what multipliers of a row of a coupling do: p (H*)^+ on an element, and back on its parent.
template <class Put>
inline void push_coupling(const LoopWork& w, const FullWork& s, std::size_t number, double part, const Put& put) {
    const Coupling& c = w.plan.couplings[number];
    for (std::size_t i = 0; i < c.terms.size(); ++i) {
        const Term& term = c.terms[i];
        const Twist f = (part * w.rates[w.ratios[number].rates + static_cast<index>(i)]) * s.h[term.d];
        put(term.element, f);
        const index p = w.model.elements[term.element].parent;
        if (p >= 0) put(p, pulled(w.limbs[term.element].l, -1.0 * f));
    }
}

// The forces on the bodies of y less C* x.
inline void pull_bodies(const LoopWork& w, const FullWork& s, const double* x, double* y) {
    const Plan& plan = w.plan;
    for (std::size_t i = 0; i < plan.closures.size(); ++i) {
        const Closure& c = plan.closures[i];
        const Tie& t = w.ties[i];
        Twist f = none<double>();
        for (index r = 0; r < c.rows; ++r) f += x[c.row + r] * t.Q[r];
        if (c.b.element >= 0) s.alpha(y, c.b.element) -= pulled(t.r_b, f);
        if (c.a.element >= 0) s.alpha(y, c.a.element) += pulled(t.r_a, f);
    }
    for (std::size_t i = 0; i < plan.couplings.size(); ++i)
        push_coupling(w, s, i, -x[plan.couplings[i].row], [&](index k, const Twist& f) { s.alpha(y, k) += f; });
}

// The rows F of one closure or coupling on their way to the base, with X F: what each element gives way by.
inline void climb_bodies(LoopWork& w, const FullWork& s, std::size_t number) {
    const Plan& plan = w.plan;
    const loops::Way& way = plan.ways[number];
    const auto count = static_cast<index>(way.steps.size());
    Twist* F = w.F;
    for (index i = 0; i < count * way.rows; ++i) F[i] = none<double>();
    if (number < plan.closures.size()) {
        const Tie& t = w.ties[number];
        for (index r = 0; r < way.rows; ++r) {
            if (way.from_b >= 0) F[way.from_b * way.rows + r] += pulled(t.r_b, t.Q[r]);
            if (way.from_a >= 0) F[way.from_a * way.rows + r] -= pulled(t.r_a, t.Q[r]);
        }
    } else {
        push_coupling(w, s, number - plan.closures.size(), 1.0, [&](index k, const Twist& f) {
            for (index i = 0; i < count; ++i)
                if (way.steps[i].element == k) F[i] += f;
        });
    }
    const double* scale = plan.scale.data() + way.row;
    for (index i = count; i-- > 0;) {
        const loops::Step& step = way.steps[i];
        const FreeBody& b = plan.free_bodies[step.element];
        const double* A = s.inverse + b.inverse_at;
        const index first = 6 + b.rotors;
        for (index r = 0; r < way.rows; ++r) {
            double f[6], x[20] = {};
            put(f, F[i * way.rows + r]);
            with_width(b.width, [&](auto width) {
                constexpr int W = width.value;
                for (index j = 0; j < 6; ++j)
                    for (int c = 0; c < W; ++c) x[c] += f[j] * A[j * W + c];
            });
            const index at = way.Y + r * way.width + step.at;
            for (int c = 0; c < 6; ++c) w.Y[at + c] = scale[r] * f[c], s.XY[at + c] = scale[r] * x[c];
            if (step.inboard >= 0)
                F[step.inboard * way.rows + r] += pulled(w.limbs[step.element].l, hinge_force(s, b, x + first));
        }
    }
}

// vdot = (H*)^+ (alpha(k) - phi* alpha(p) - c), and the accelerations where rows look for them.
inline void hinge_accelerations(LoopWork& w, const FullWork& s, const Twist& ground) {
    for (index k = 0; k < w.model.count; ++k) {
        const Element& e = w.model.elements[k];
        w.A[k] = s.alpha(s.z, k);
        const Twist across = w.A[k] - carried(w.limbs[k].l, e.parent < 0 ? ground : w.A[e.parent]) - w.limbs[k].c;
        for (index j = 0, n = dofs(e.kind); j < n; ++j) w.vdot[e.v + j] = dot(s.h[e.d + j], across);
    }
}

// The largest acceleration of bodies in y, in radians or lengths a second squared.
inline double largest_alpha(const LoopWork& w, const FullWork& s, double* y) {
    const double per = 1.0 / w.plan.length;
    double most = 0.0;
    for (index k = 0; k < w.model.count; ++k) {
        const Twist& A = s.alpha(y, k);
        most = larger(most, larger(dot(A.w, A.w), per * per * dot(A.v, A.v)));
    }
    return std::sqrt(most);
}

constexpr int MOST_ROUNDS = 8;

// z and lambda, refined until what a further round would change is rounding; false where they do not settle.
inline bool settle_bodies(LoopWork& w, const FullWork& s, const Base& base) {
    const Plan& plan = w.plan;
    const index m = plan.size, size = plan.free_size;
    const Twist ground = spatial<double>(base.a);
    double *x = w.extra + 3 * m, before = 0.0;
    for (index i = 0; i < size; ++i) s.z[i] = 0.0;
    for (index i = 0; i < m; ++i) w.lambda[i] = 0.0;
    for (int round = 0; round < MOST_ROUNDS; ++round) {
        left_of_bodies(w, s, ground);
        pull_bodies(w, s, w.lambda, s.r);
        solve_bodies(w, s, s.r);
        for (index i = 0; i < size; ++i) s.z[i] += s.r[i], s.step[i] = s.r[i], s.r[i] = 0.0;
        hinge_accelerations(w, s, ground);
        row_residual(w, base, w.vdot, w.row);
        for (index i = 0; i < m; ++i) w.open[i] = plan.scale[i] * w.row[i];
        solve_fronts(w, w.open, x);
        for (index i = 0; i < m; ++i) x[i] *= plan.scale[i], w.lambda[i] += x[i];
        pull_bodies(w, s, x, s.r);
        solve_bodies(w, s, s.r);
        for (index i = 0; i < size; ++i) s.z[i] += s.r[i], s.step[i] += s.r[i];
        const double change = largest_alpha(w, s, s.step), largest = larger(w.rate * w.rate, largest_alpha(w, s, s.z));
        if (round > 0 && change * change <= plan.tolerances.settled * largest * before) return true;  // the next one's
        if (round > 0 && !(change <= 0.1 * before)) return change <= plan.tolerances.stalled * largest;
        before = change;
    }
    return false;
}

// vdot, lambda and what they leave, for the rows taken before; false where Python should look at it.
inline bool fully_augmented(LoopWork& w, const FullWork& s, const Base& base, const double* T, Residual& left) {
    const Model& model = w.model;
    if (!factor_bodies(w, s)) return false;
    for (std::size_t i = 0; i < w.plan.ways.size(); ++i) climb_bodies(w, s, i);
    if (!meet(w, w.Y, s.XY) || !factor_fronts(w)) return false;  // S = F* X F in scaled rows
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        Twist f = none<double>();
        for (index j = 0, n = dofs(e.kind); j < n; ++j) f += T[e.v + j] * s.h[e.d + j];
        s.push[k] = f;
        if (e.parent >= 0) s.push[e.parent] -= pulled(w.limbs[k].l, f);
    }
    if (!settle_bodies(w, s, base)) return false;
    hinge_accelerations(w, s, spatial<double>(base.a));
    accelerations(model, base, w.limbs, w.S, w.vdot, w.A);
    row_residual(w, base, w.vdot, w.row);
    if (!least_norm(w, w.lambda)) return false;
    unbalanced(w, T, w.vdot, w.lambda);
    left = residual_of(w, T);
    return true;
}

SOACRAFT_RIGID_END
