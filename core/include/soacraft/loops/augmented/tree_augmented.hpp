// Tree-augmented dynamics of a closed chain (formula F3): articulated bodies, then the forces that close the loops.
//
//     vdot_f = Mcal^-1 (force - C)
//     Y = D^-1/2 (I - H psi K) Gc*  by climbing from the closures to the base,   S = Y* Y,   S lambda = Gc vdot_f + Gcdot v
//     vdot = vdot_f - Mcal^-1 Gc* lambda                                                    one sweep outward
#pragma once

#include "../linear/block_cholesky_lanes.hpp"
#include "../linear/hinge_factor.hpp"

SOACRAFT_RIGID_BEGIN

// Add f, at the origin of a spot of a flexible body or of the body of a step, to what climbs there, in row r.
template <class T>
inline void push_step(LoopWorkOf<T>& w, const loops::Way& way, index place, index spot, index r, const Spatial<T>& f) {
    Spatial<T>& to = w.F[place * way.rows + r];
    if (spot < 0) {
        to += f;
        return;
    }
    const Spatial<T> at = pulled(w.limbs[w.model.count + spot].l, f);
    T* y = w.Y + way.Y + r * way.width + way.steps[place].at;
    const Spotted<T>& s = w.flexible.spots[spot];
    for (index j = 0, n = w.model.flexible[w.model.spots[spot].flexible].n; j < n; ++j)
        y[j] += dot(FlexibleLimbs<T>::column(s.Pi, s.step, j), at);
    to += at;
}

// The rates of the terms of a coupling on an element, added to its row; `first`: where d of its dofs begins.
template <class T>
inline void add_terms(const LoopWorkOf<T>& w, std::size_t coupling, index element, index first, index count, T* y) {
    const Coupling& c = w.plan.couplings[coupling];
    for (std::size_t k = 0; k < c.terms.size(); ++k) {
        const index at = c.terms[k].d - first;
        if (c.terms[k].element == element && at >= 0 && at < count) y[at] += w.rates[w.ratios[coupling].rates + static_cast<index>(k)];
    }
}

// The step of a flexible body: F past its modes, which have what their spots gave them, and past its hinge.
template <class T>
inline void climb_modes(LoopWorkOf<T>& w, std::size_t number, const loops::Step& step, Spatial<T>* F) {
    const loops::Way& way = w.plan.ways[number];
    const Element& e = w.model.elements[step.element];
    const FlexibleLimb<T>& limb = w.flexible.bodies[e.flexible];
    const index modes = w.model.flexible[e.flexible].n, n = limb.width;
    for (index r = 0; r < way.rows; ++r) {
        Spatial<T>& f = F[r];
        T* y = w.Y + way.Y + r * way.width + step.at;
        for (index k = 0; k < n; ++k) y[k] += dot(w.S[w.place(e, k)], f);
        if (number >= w.plan.closures.size()) {
            const std::size_t c = number - w.plan.closures.size();
            add_terms(w, c, step.element, w.place(e, 0), modes, y), add_terms(w, c, step.element, e.d, n - modes, y + modes);
        }
        divide_wide(n, limb.L, y);
        if (step.inboard < 0) continue;
        for (index k = 0; k < n; ++k) f -= y[k] * w.W[w.place(e, k)];
        push_step(w, way, step.inboard, e.spot, r, pulled(w.limbs[step.element].l, f));
    }
}

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
    for (index i = 0; w.model.flexible_count && i < way.rows * way.width; ++i) Y[i] = T(0.0);
    if (loop) {
        const TieOf<T>& t = w.ties[number];
        for (index r = 0; r < way.rows; ++r) {
            if (way.from_b >= 0) push_step(w, way, way.from_b, way.spot_b, r, pulled(t.r_b, t.Q[r]));
            if (way.from_a >= 0) push_step(w, way, way.from_a, way.spot_a, r, T(-1.0) * pulled(t.r_a, t.Q[r]));
        }
    }
    for (index i = count; i-- > 0;) {
        const loops::Step& step = way.steps[i];
        const Element& e = w.model.elements[step.element];
        if (e.flexible >= 0) {
            climb_modes(w, number, step, F + i * way.rows);
            continue;
        }
        const index n = dofs(e.kind);
        const Spatial<T> *S = w.S + e.d, *W = w.W + e.d;
        const T* L = w.factor(e, step.element);
        for (index r = 0; r < way.rows; ++r) {
            Spatial<T>& f = F[i * way.rows + r];
            T* y = Y + r * way.width + step.at;
            for (index k = 0; k < n; ++k) y[k] = dot(S[k], f);
            if (!loop) add_terms(w, number - plan.closures.size(), step.element, e.d, n, y);
            divide(n, L, y);
            if (step.inboard < 0) continue;
            for (index k = 0; k < n; ++k) f -= y[k] * W[k];
            push_step(w, way, step.inboard, e.spot, r, pulled(w.limbs[step.element].l, f));
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
                if (e.flexible >= 0)
                    for (index k = 0, n = w.flexible.bodies[e.flexible].width; k < n; ++k) y[w.place(e, k)] -= part * Y[step.at + k];
                else
                    for (index k = 0, n = dofs(e.kind); k < n; ++k) y[e.d + k] -= part * Y[step.at + k];
            }
        }
    T* step = w.step;
    for (index k = 0; k < w.model.count; ++k) {
        const Element& e = w.model.elements[k];
        Spatial<T>& a = w.f[k];
        a = e.parent < 0 ? none<T>() : carried(w.limbs[k].l, w.f[inboard(w.model, e)]);
        release_hinge<false>(w, e, k, y, a, step);
    }
    for (index i = 0; i < w.model.nv; ++i) w.vdot[i] += step[i];
}

// Articulated inertias and what each hinge takes, tips to base; false where a hinge has no inertia to move.
template <class T>
inline Where<T> articulate(LoopWorkOf<T>& w, const T* force) {
    const Model& model = w.model;
    Where<T> moves = everywhere<T>();
    for (index k = 0; k < model.count; ++k) w.P[k] = articulated(w.limbs[k].I), w.z[k] = w.limbs[k].b;
    for (index k = model.count; k < model.count + model.spot_count; ++k) w.P[k] = no_inertia<T>(), w.z[k] = none<T>();
    for (index k = model.count; k-- > 0;) {
        const Element& e = model.elements[k];
        moves &= factor_hinge(w, e, k);
        if (!any(moves)) return moves;
        eliminate_hinge(w, e, k, force);
        if (e.parent < 0) continue;
        w.P[inboard(model, e)] += shifted(w.limbs[k].l, w.P[k]);
        w.z[inboard(model, e)] += pulled(w.limbs[k].l, w.z[k]);
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
        w.A[k] = carried(w.limbs[k].l, of_element(w.A, inboard(model, e), ground)) + w.limbs[k].c;
        release_hinge<true>(w, e, k, w.u, w.A[k], w.vdot);
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
        accelerations(model, base, w.limbs, w.S, w.vdot, w.A, &w.flexible);
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
        velocities(model, w.limbs, w.S, w.vdot, w.A, &w.flexible);
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
