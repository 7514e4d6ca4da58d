// Independent and dependent dofs of a group at one state: v_S = X v_i, vdot_S = X vdot_i + x0 (formula F5), by orthogonal
// elimination stage by stage, and the multipliers of least norm from the same factors.
//
//     Q* [G_d, -G_i, -gamma] = [R, C],   R x_d = C                      own columns of a stage; the rest goes to the next
#pragma once

#include "../work.hpp"

SOACRAFT_RIGID_BEGIN

using loops::Group;
using loops::Stage;
using loops::Tied;

// The workspace of one group; `arrange_groups` counts what it takes.
template <class T>
struct GroupWorkOf {
    index n, ni, nd, m;
    bool free;  // a body that no row ties: X = I
    Spatial<T> *U, *Uc, *F;               // by independent dofs, the same, by elements
    T *G, *front, *B, *tau, *norm, *t;    // blocks of rows; of the stages
    T *X, *D, *x0, *h, *y, *nu, *Y;
    T* E;                                 // what refinement adds to [X, x0]
    index* order;

    GroupWorkOf(const Group& g, T* at, index* order_)
        : n(static_cast<index>(g.dofs.size())), ni(static_cast<index>(g.rows.empty() ? g.dofs.size() : g.independent.size())),
          nd(static_cast<index>(g.dependent.size())), m(static_cast<index>(g.rows.size())), free(g.rows.empty()),
          order(order_) {
        const auto take = [&at](index count) { T* found = at; at += count; return found; };
        U = reinterpret_cast<Spatial<T>*>(take(6 * ni)), Uc = reinterpret_cast<Spatial<T>*>(take(6 * ni));
        F = reinterpret_cast<Spatial<T>*>(take(6 * static_cast<index>(g.elements.size())));
        G = take(g.G_size), front = take(g.F_size), B = take(g.B_size), tau = take(g.tau_size), norm = take(g.tau_size);
        t = take(g.t_size), X = take(n * ni), D = take(ni * ni), x0 = take(n), h = take(n), y = take(n), nu = take(ni);
        Y = take(ni), E = take(free ? 0 : n * (ni + 1));
    }
};
typedef GroupWorkOf<double> GroupWork;

template <class T>
inline GroupWorkOf<T> group_work(LoopWorkOf<T>& w, const Group& g) {
    return GroupWorkOf<T>(g, w.group + g.at, w.group_order + g.order);
}

// The blocks of rows of a group on its own dofs.
template <class T>
inline void tie_group(LoopWorkOf<T>& w, const Group& g, const GroupWorkOf<T>& s) {
    for (const Tied& tied : g.ties) {
        T* G = s.G + tied.at;
        const auto wide = static_cast<index>(tied.columns.size());
        if (!tied.loop) {
            for (index c = 0; c < wide; ++c) G[c] = w.rates[w.ratios[tied.number].rates + c];
            continue;
        }
        const TieOf<T>& t = w.ties[tied.number];
        index c = 0;
        for (std::size_t i = 0; i < tied.elements.size(); ++i) {
            const index k = tied.elements[i];
            const Element& e = w.model.elements[k];
            const Vec<T> arm = t.at - w.limbs[k].p;
            for (index j = 0, n = dofs(e.kind); j < n; ++j, ++c) {
                const Spatial<T> at = carried(arm, w.S[e.d + j]);
                for (index r = 0; r < tied.rows; ++r) G[r * wide + c] = T(tied.sign[i]) * dot(t.Q[r], at);
            }
        }
    }
}

template <class T>
inline PivotedQROf<T> front_of(const GroupWorkOf<T>& s, const Stage& stage) {
    const auto columns = static_cast<index>(stage.columns.size());
    const index spare = stage.rows - stage.own, others = columns - stage.own;
    const index steps = stage.own + (spare > others ? others : 0);  // rows that must be fewer go on as a triangle
    return {stage.rows, columns, s.front + stage.F, s.tau + stage.tau, s.norm + stage.tau, s.order + stage.order, stage.own, steps};
}

// The right-hand sides of a stage, `wide` columns: `fill` sets those of a tie, the rest is what stages before it left.
template <class T, class Fill>
inline void gather_right(const Group& g, const GroupWorkOf<T>& s, const Stage& stage, index wide, const Fill& fill) {
    T* B = s.B + stage.B;
    for (index i = 0; i < stage.rows * wide; ++i) B[i] = T(0.0);
    for (const Stage::From& from : stage.from) {
        T* right = B + from.row * wide;
        if (from.tied >= 0) {
            fill(g.ties[from.tied], right);
            continue;
        }
        const Stage& before = g.stages[from.stage];
        const T* B0 = s.B + before.B + before.own * wide;
        for (index i = 0; i < from.rows * wide; ++i) right[i] = B0[i];
    }
}

// The rows of a stage: of closures, and of stages before it. `wide`: columns on the right, `fill` sets those of a tie.
template <class T, class Fill>
inline void gather_stage(const Group& g, const GroupWorkOf<T>& s, const Stage& stage, index wide, const Fill& fill) {
    const auto columns = static_cast<index>(stage.columns.size());
    T *F = s.front + stage.F, *B = s.B + stage.B;
    for (index i = 0; i < stage.rows * columns; ++i) F[i] = T(0.0);
    gather_right(g, s, stage, wide, [](const Tied&, T*) {});
    for (const Stage::From& from : stage.from) {
        T* to = F + from.row * columns;
        if (from.tied >= 0) {
            fill(g.ties[from.tied], to, columns, B + from.row * wide);
            continue;
        }
        const Stage& before = g.stages[from.stage];
        const auto old = static_cast<index>(before.columns.size());
        const T* F0 = s.front + before.F + before.own * old;
        const bool triangle = before.rows - before.own > old - before.own;  // below the diagonal are reflections
        for (index r = 0; r < from.rows; ++r)
            for (index c = triangle ? r : 0; c < old - before.own; ++c) to[r * columns + from.place[c]] = F0[r * old + before.own + c];
    }
}

// Factor all stages with their right-hand sides; false where a pivot is too small relative to the largest.
template <class T, class Fill>
inline Where<T> factor_stages(const Group& g, const GroupWorkOf<T>& s, index wide, double doubtful, const Fill& fill) {
    T most(0.0), least(0.0);
    Where<T> fine = everywhere<T>();
    for (const Stage& stage : g.stages) {
        if (stage.rows < stage.own) return nowhere<T>();
        gather_stage(g, s, stage, wide, fill);
        PivotedQROf<T> qr = front_of(s, stage);
        qr.factor();
        const T large = qr.largest(), small = qr.smallest();
        least = &stage == g.stages.data() ? small : minimum(small, least);
        most = larger(most, large);
        fine &= is_above(small, T(doubtful) * large);
        if (!any(fine)) return fine;
        qr.apply_transposed(wide, s.B + stage.B);
    }
    return g.stages.empty() ? fine : fine & is_above(least, T(doubtful) * most);
}

// x of the dependent columns, last stage first: `set` takes a column, its row on the right, and may be asked for others by
// `get`, which adds a multiple of what was set before.
template <class T, class Get, class Set>
inline void solve_stages(const Group& g, const GroupWorkOf<T>& s, index wide, const Get& get, const Set& set) {
    for (std::size_t number = g.stages.size(); number-- > 0;) {
        const Stage& stage = g.stages[number];
        const PivotedQROf<T> qr = front_of(s, stage);
        T* B = s.B + stage.B;
        for (index i = 0; i < stage.own; ++i)
            for (index c = stage.own; c < qr.n; ++c) get(stage.columns[c], -qr.A[i * qr.n + c], B + i * wide);
        qr.solve_upper(wide, B);
        for (index i = 0; i < stage.own; ++i) set(stage.columns[qr.order[i]], B + i * wide);
    }
}

// What column j of X, or x0 for j = ni, leaves of a row: G X, G x0 + gamma.
template <class T>
inline T left_open(const LoopWorkOf<T>& w, const Group& g, const GroupWorkOf<T>& s, const Tied& tied, index r, index j) {
    const auto wide = static_cast<index>(tied.columns.size());
    const T *G = s.G + tied.at + r * wide, *x = j < s.ni ? s.X + j : s.x0;
    const index stride = j < s.ni ? s.ni : 1;
    T sum = j < s.ni ? T(0.0) : w.gamma[g.rows[tied.row + r]];
    for (index c = 0; c < wide; ++c) sum += G[c] * x[tied.columns[c] * stride];
    return sum;
}

// Whether the first `columns` of [X, x0] leave no more of the rows than is `allowed`, rows and dofs in their units.
template <class T>
inline Where<T> fits(const LoopWorkOf<T>& w, const Group& g, const GroupWorkOf<T>& s, index columns, const T& allowed) {
    const Plan& plan = w.plan;
    Where<T> fine = everywhere<T>();
    for (index j = 0; j < columns; ++j) {
        T most(0.0);
        for (index k = 0; k < s.n; ++k) {
            const T& x = j < s.ni ? s.X[k * s.ni + j] : s.x0[k];
            most = larger(most, T(plan.unit[plan.user_dof[g.dofs[k]]]) * absolute(x));
        }
        for (const Tied& tied : g.ties)
            for (index r = 0; r < tied.rows; ++r) {
                const index own = g.rows[tied.row + r];
                T size = w.unit[own] * most;
                if (j == s.ni) size += absolute(w.gamma[own]);
                fine &= is_at_most(absolute(left_open(w, g, s, tied, r, j)), allowed * size);
            }
        if (!any(fine)) return fine;
    }
    return fine;
}

// X and x0 solved for once more with what they leave of the rows, but where they are `done`. Reflections mix rows of turns
// with rows of slides: in a loop of 1e-5 units of length, the rounding of turns is 1e-11 of a slide.
template <class T>
inline void refine_group(LoopWorkOf<T>& w, const Group& g, const GroupWorkOf<T>& s, const Where<T>& done) {
    const index wide = s.ni + 1;
    for (const Stage& stage : g.stages) {
        gather_right(g, s, stage, wide, [&](const Tied& tied, T* right) {
            for (index r = 0; r < tied.rows; ++r)
                for (index j = 0; j < wide; ++j) right[r * wide + j] = -left_open(w, g, s, tied, r, j);
        });
        front_of(s, stage).apply_transposed(wide, s.B + stage.B);
    }
    for (index i = 0; i < s.n * wide; ++i) s.E[i] = T(0.0);
    const auto get = [&](index column, const T& factor, T* to) {
        for (index j = 0; j < wide; ++j) to[j] += factor * s.E[column * wide + j];
    };
    const auto set = [&](index column, const T* x) {
        for (index j = 0; j < wide; ++j) s.E[column * wide + j] = x[j];
    };
    solve_stages(g, s, wide, get, set);
    for (index i = 0; i < s.n; ++i) {
        for (index j = 0; j < s.ni; ++j) s.X[i * s.ni + j] += choose(done, T(0.0), s.E[i * wide + j]);
        s.x0[i] += choose(done, T(0.0), s.E[i * wide + s.ni]);
    }
}

// The dependent columns of a tie, rows and dofs in their units.
template <class T>
inline void fill_in_units(const LoopWorkOf<T>& w, const Group& g, const GroupWorkOf<T>& s, const Tied& tied, index columns, T* F) {
    const auto count = static_cast<index>(tied.columns.size());
    for (index r = 0; r < tied.rows; ++r)
        for (index c = 0; c < count; ++c) {
            const T unit = w.unit[g.rows[tied.row + r]] * T(w.plan.unit[w.plan.user_dof[g.dofs[tied.columns[c]]]]);
            if (tied.place[c] >= 0) F[r * columns + tied.place[c]] = s.G[tied.at + r * count + c] / unit;
        }
}

// X and x0 of a group: v_S = X v_i, vdot_S = X vdot_i + x0.
template <class T>
inline Where<T> split_group(LoopWorkOf<T>& w, const Group& g, const GroupWorkOf<T>& s) {
    tie_group(w, g, s);
    const index wide = s.ni + 1;
    const auto fill = [&](const Tied& tied, T* F, index columns, T* right) {
        const auto count = static_cast<index>(tied.columns.size());
        const T* G = s.G + tied.at;
        for (index r = 0; r < tied.rows; ++r) {
            for (index c = 0; c < count; ++c) {
                const index place = tied.place[c];
                if (place >= 0) F[r * columns + place] = G[r * count + c];
                else right[r * wide - 1 - place] = -G[r * count + c];
            }
            right[r * wide + s.ni] = -w.gamma[g.rows[tied.row + r]];
        }
    };
    const loops::Tolerances& t = w.plan.tolerances;
    const double doubtful = t.doubtful * (Several<T>::value ? t.abreast : 1.0);
    Where<T> fine = factor_stages(g, s, wide, doubtful, fill);
    if (!all(fine)) {  // turns and slides may be far apart: judged once more in units
        fine = fine | factor_stages(g, s, 0, doubtful, [&](const Tied& tied, T* F, index columns, T*) { fill_in_units(w, g, s, tied, columns, F); });
        if (!any(fine)) return fine;
        fine &= factor_stages(g, s, wide, 0.0, fill);
    }
    if (!any(fine)) return fine;
    for (index j = 0; j < s.ni; ++j) {
        const index column = g.independent[j];
        for (index i = 0; i < s.ni; ++i) s.X[column * s.ni + i] = T(i == j ? 1.0 : 0.0);
        s.x0[column] = T(0.0);
    }
    const auto get = [&](index column, const T& factor, T* to) {
        for (index j = 0; j < s.ni; ++j) to[j] += factor * s.X[column * s.ni + j];
        to[s.ni] += factor * s.x0[column];
    };
    const auto set = [&](index column, const T* x) {
        for (index j = 0; j < s.ni; ++j) s.X[column * s.ni + j] = x[j];
        s.x0[column] = x[s.ni];
    };
    solve_stages(g, s, wide, get, set);
    const T open = T(t.open_rows) * w.open_by;
    const Where<T> done = fits(w, g, s, wide, T(t.settled) + open);
    if (any(fine & !done)) refine_group(w, g, s, done);
    // otherwise a row counts that was left out when the dofs were chosen: next to a singular pose
    return s.m == s.nd ? fine : fine & fits(w, g, s, s.ni, larger(T(t.zero), T(t.repeated) + open));
}

// lambda of least norm with G_d* lambda = left on the dependent columns (s.y by columns, used up), by rows of the group.
template <class T>
inline void multipliers(const Group& g, const GroupWorkOf<T>& s, T* lambda) {
    for (const Stage& stage : g.stages) {  // R* y = left
        const PivotedQROf<T> qr = front_of(s, stage);
        T* t = s.t + stage.t;
        for (index i = 0; i < stage.rows; ++i) t[i] = i < stage.own ? s.y[stage.columns[qr.order[i]]] : T(0.0);
        qr.solve_upper_transposed(t);
        for (index i = 0; i < stage.own; ++i)
            for (index c = stage.own; c < qr.n; ++c) s.y[stage.columns[c]] -= qr.A[i * qr.n + c] * t[i];
    }
    for (index r = 0; r < s.m; ++r) lambda[r] = T(0.0);
    for (std::size_t number = g.stages.size(); number-- > 0;) {  // Q y
        const Stage& stage = g.stages[number];
        T* t = s.t + stage.t;
        front_of(s, stage).apply(t);
        for (const Stage::From& from : stage.from)
            for (index r = 0; r < from.rows; ++r) {
                if (from.tied >= 0) lambda[g.ties[from.tied].row + r] = t[from.row + r];
                else s.t[g.stages[from.stage].t + g.stages[from.stage].own + r] = t[from.row + r];
            }
    }
}

SOACRAFT_RIGID_END
