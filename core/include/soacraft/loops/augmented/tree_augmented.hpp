// Tree-augmented dynamics of a closed chain (formula F3): articulated bodies, then the forces that close the loops.
//
//     vdot_f = Mcal^-1 (force - C)
//     Y = D^-1/2 (I - H psi K) Gc*  by climbing from the closures to the base,   S = Y* Y,   S lambda = Gc vdot_f + Gcdot v
//     vdot = vdot_f - Mcal^-1 Gc* lambda                                                    one sweep outward
#pragma once

#include "../linear/block_cholesky_lanes.hpp"
#include "../linear/hinge_factor.hpp"

SOACRAFT_RIGID_BEGIN

// The rows of Y of one closure or coupling: F moves inward past the hinges, which take their part.
template <class T>
inline void climb(LoopWorkOf<T>& w, std::size_t number) {
    const Plan& plan = w.plan;
    const loops::Way& way = plan.ways[number];
    const auto count = static_cast<index>(way.steps.size());
    const bool loop = number < plan.closures.size();
    Spatial<T>* F = w.F;
    T* Y = w.Y + way.Y;
    const Spatial<T> nothing = none<T>();
    for (index i = 0; i < count * way.rows; ++i) F[i] = nothing;
    if (loop) {
        const TieOf<T>& t = w.ties[number];
        for (index r = 0; r < way.rows; ++r) {
            if (way.from_b >= 0) F[way.from_b * way.rows + r] += pulled(t.r_b, t.Q[r]);
            if (way.from_a >= 0) F[way.from_a * way.rows + r] -= pulled(t.r_a, t.Q[r]);
        }
    }
    for (index i = count; i-- > 0;) {
        const loops::Step& step = way.steps[i];
        const Element& e = w.model.elements[step.element];
        const index n = dofs(e.kind);
        const Spatial<T> *S = w.S + e.d, *W = w.W + e.d;
        const T* L = w.factor(e, step.element);
        for (index r = 0; r < way.rows; ++r) {
            Spatial<T>& f = F[i * way.rows + r];
            T* y = Y + r * way.width + step.at;
            for (index k = 0; k < n; ++k) y[k] = dot(S[k], f);
            if (!loop) {
                const std::size_t c = number - plan.closures.size();
                const Coupling& coupling = plan.couplings[c];
                for (std::size_t k = 0; k < coupling.terms.size(); ++k)
                    if (coupling.terms[k].element == step.element)
                        y[coupling.terms[k].d - e.d] += w.rates[w.ratios[c].rates + k];
            }
            divide(n, L, y);
            if (step.inboard < 0) continue;
            for (index k = 0; k < n; ++k) f -= y[k] * W[k];
            F[step.inboard * way.rows + r] += pulled(w.limbs[step.element].l, f);
        }
    }
    const double* scale = plan.scale.data() + way.row;
    for (index r = 0; r < way.rows; ++r)
        for (index c = 0; c < way.width; ++c) Y[r * way.width + c] *= T(scale[r]);
}

// S = Y* Y in scaled rows; false where the scale does not serve.
template <class T>
inline Where<T> schur(LoopWorkOf<T>& w) {
    for (std::size_t i = 0; i < w.plan.ways.size(); ++i) climb(w, i);
    return meet(w, w.Y, w.Y);
}

// vdot <- vdot - Mcal^-1 Gc* lambda; x: multipliers of scaled rows.
template <class T>
inline void close_with(LoopWorkOf<T>& w, const T* x) {
    const Plan& plan = w.plan;
    T* y = w.push;
    for (index i = 0; i < w.model.nv; ++i) y[i] = T(0.0);
    for (const loops::Way& way : plan.ways)
        for (index r = 0; r < way.rows; ++r) {
            const T *Y = w.Y + way.Y + r * way.width, part = x[way.row + r];
            for (const loops::Step& step : way.steps) {
                const Element& e = w.model.elements[step.element];
                for (index k = 0, n = dofs(e.kind); k < n; ++k) y[e.d + k] -= part * Y[step.at + k];
            }
        }
    T* step = w.step;
    for (index k = 0; k < w.model.count; ++k) {
        const Element& e = w.model.elements[k];
        Spatial<T>& a = w.f[k];
        a = e.parent < 0 ? none<T>() : carried(w.limbs[k].l, w.f[e.parent]);
        release_hinge(w, e, k, y, a, step);
    }
    for (index i = 0; i < w.model.nv; ++i) w.vdot[i] += step[i];
}

// Articulated inertias and what each hinge takes, tips to base; false where a hinge has no inertia to move.
template <class T>
inline Where<T> articulate(LoopWorkOf<T>& w, const T* force) {
    const Model& model = w.model;
    Where<T> moves = everywhere<T>();
    for (index k = 0; k < model.count; ++k) w.P[k] = articulated(w.limbs[k].I), w.z[k] = w.limbs[k].b;
    for (index k = model.count; k-- > 0;) {
        const Element& e = model.elements[k];
        moves &= factor_hinge(w, e, k);
        if (!any(moves)) return moves;
        eliminate_hinge(w, e, k, force);
        if (e.parent < 0) continue;
        w.P[e.parent] += shifted(w.limbs[k].l, w.P[k]);
        w.z[e.parent] += pulled(w.limbs[k].l, w.z[k]);
    }
    return moves;
}

// Add to lambda and vdot what closes the rows that are open by w.row, but where it was `done`.
template <class T>
inline void close_rows(LoopWorkOf<T>& w, const Where<T>& done) {
    const Plan& plan = w.plan;
    const index m = plan.size;
    T* x = w.extra + 3 * m;
    for (index i = 0; i < m; ++i) w.open[i] = choose(done, T(0.0), T(plan.scale[i]) * w.row[i]);
    solve_fronts(w, w.open, x);
    for (index i = 0; i < m; ++i) w.lambda[i] += T(plan.scale[i]) * x[i];
    close_with(w, x);
}

// The largest of what is left of the rows, in units.
template <class T>
inline T open_rows(const LoopWorkOf<T>& w) {
    T most(0.0);
    for (index i = 0; i < w.plan.size; ++i) most = larger(most, absolute(w.row[i]) / w.unit[i]);
    return most;
}

// vdot, lambda and what they leave, for the rows taken before; false where Python should look at it.
template <class T>
inline Where<T> tree_augmented(LoopWorkOf<T>& w, const Base& base, const T* force, ResidualOf<T>& left) {
    const Model& model = w.model;
    const index m = w.plan.size;
    Where<T> fine = articulate(w, force);
    if (!any(fine)) return fine;
    const Spatial<T> ground = spatial<T>(base.a);
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        w.A[k] = carried(w.limbs[k].l, of_element(w.A, e.parent, ground)) + w.limbs[k].c;
        release_hinge(w, e, k, w.u, w.A[k], w.vdot);
    }
    fine &= schur(w);
    if (!any(fine)) return fine;
    fine &= factor_fronts(w);
    if (!any(fine)) return fine;
    for (index i = 0; i < m; ++i) w.lambda[i] = T(0.0);
    row_residual(w, base, w.vdot, w.row);
    const T before = open_rows(w);
    Where<T> done = nowhere<T>();
    for (int round = 0; round < 3 && any(fine & !done); ++round) {
        close_rows(w, done);
        accelerations(model, base, w.limbs, w.S, w.vdot, w.A);
        row_residual(w, base, w.vdot, w.row);
        done |= is_at_most(open_rows(w), T(w.plan.tolerances.balanced) * larger(before, largest_rate(w.plan, w.vdot)));
    }
    fine &= least_norm(w, w.lambda);
    if (!any(fine)) return fine;
    unbalanced(w, force, w.vdot, w.lambda);
    left = residual_of(w, force);
    return fine;
}

// Articulated bodies and S of the rows taken before, factored; false where Python should look at it.
inline bool factor_rows(LoopWork& w) {
    for (index i = 0; i < w.model.nv; ++i) w.vdot[i] = 0.0;
    return articulate(w, w.vdot) && schur(w) && factor_fronts(w);
}

// w.vdot <- -Mcal^-1 Gc* S^+ rhs: the jump of the velocities that closes the rows by rhs, with the least kinetic energy, for
// factors of these rows or of rows next to them. What of rhs no jump closes is left in w.row.
inline void jump(LoopWork& w, const double* rhs) {
    const Model& model = w.model;
    const index m = w.plan.size;
    for (index i = 0; i < model.nv; ++i) w.vdot[i] = 0.0;
    for (index i = 0; i < m; ++i) w.lambda[i] = 0.0, w.row[i] = rhs[i];
    for (int round = 0; round < 3; ++round) {
        close_rows(w, false);
        for (index k = 0; k < model.count; ++k) {
            const Element& e = model.elements[k];
            w.A[k] = e.parent < 0 ? none<double>() : carried(w.limbs[k].l, w.A[e.parent]);
            for (index i = 0, n = dofs(e.kind); i < n; ++i) w.A[k] += w.vdot[e.v + i] * w.S[e.d + i];
        }
        row_rates(w, none<double>(), w.vdot, w.row);
        for (index i = 0; i < m; ++i) w.row[i] += rhs[i];
        if (largest(w.row, m) <= w.plan.tolerances.closest * largest(rhs, m)) break;
    }
}

// Both; false where Python should look at it.
inline bool impulse(LoopWork& w, const double* rhs) {
    if (!factor_rows(w)) return false;
    jump(w, rhs);
    return true;
}

SOACRAFT_RIGID_END
