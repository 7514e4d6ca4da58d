// What damps a level of tasks, so that no step goes beyond where it leads.
//
// A level pulls by p = J* W^2 pull, pull = gain left. After a step y of dt seconds it pulls by (S + D) y - dt (J* W^2 gain J - T) y,
// S being its squares and T y how J* W^2 pull changes while what is left does not. It goes back and forth where that is against y.
// It does not with
//
//     D = the positive part of  2 |dt T| - calm S,      calm = 1 - gain dt, at least a quarter
//
// T is that of the part of the pull that the level cannot meet, and zero where it meets all: what can be done is done exactly. Rows G
// of the levels before bend too, and push, and so do rows that are kept (`level_ties.hpp`). A step that does all that is asked for, and bends by no more than a little
// by a bound of T, dt |pull| sqrt(c_i) sum_j sqrt(c_j) for dof i, c being the lengths of the columns of rows, is not damped at all; of
// closures and of rows that the caller gave that bound serves. A direction that hardly bends is damped by a little more than D, so that
// the level does not undo at once what those after it do there. A first level that postures tell in full takes a part of the bound, by
// how rows bend along the step without it, which costs next to nothing.
//
// The same as soacraft/robot/whole_body/damping.py. O(nv^3), and rows after nv small steps, where there is anything to damp.
#pragma once

#include "level_ties.hpp"
#include "symmetric.hpp"

SOACRAFT_RIGID_BEGIN

class LevelDamping : public LevelTies {
protected:
    using LevelTies::LevelTies;

    double curbed_by_ = 0.0;  // the part of D that damps, 0 to 1
    double missed_ = 0.0;     // what a level cannot meet, as a part of what it pulls
    bool unbounded_ = false;  // whether no bound has a say in the step of the trial

    // True where the work of the program has the step of the level already.
    template <class After>
    bool damp(const Level& level, const RowWork& rows, double dt, const After& after, double* held) {
        const bool tied = blocks_ > 0 || kept_ > 0;
        double much = 0.0;
        for (index i = 0; i < n_; ++i) much = larger(much, level.damping[i]);
        for (index r = level.begin; tied && r < level.end; ++r) much = larger(much, std::fabs(rows.pull[r]));
        for (index i = 0; tied && level.upright && i < n_; ++i) much = larger(much, std::fabs(level.pull[i]));
        stopping_ = 0;
        if (!(much * dt > 0.0) || !trial(level, tied, held)) return false;
        if (blocks_ == 0 && stopping_ == 0 && !turned_) {
            damp_simply(level, rows, dt, after);
            return false;
        }
        push(level, rows, rows.pull + level.begin, level.upright ? level.pull : nullptr, dt);
        if (easy(level, rows) || !limit(level, held)) return false;
        outweigh(level, rows, dt, after);
        for (double look = 1.0; look < t_.looks; ++look) {
            if (!run(level)) return false;
            if (!held_by_more(level, held)) return true;
            for (index c = 0; c < nz_; ++c) m_.limited[c] = m_.qp.x[c], m_.center[c] = 0.0;
            block(held);
            unbounded_ = curbed_ = factored_ = false;
            squares(level.end - level.begin, wide(nz_), level);
            outweigh(level, rows, dt, after);
        }
        return false;
    }
    // D, from the step `limited` on.
    template <class After>
    void outweigh(const Level& level, const RowWork& rows, double dt, const After& after) {
        squares_of(level, rows);
        const index weak = find_unmet(level, rows);
        if (weak > 0) curb(weak, level, rows, dt, after);
    }
    // Whether dofs hold the step back that did not hold the one back that the whole bound damps.
    bool held_by_more(const Level& level, double* held) {
        mark(level, held);
        index before = 0, now = 0;
        for (index i = 0; i < n_; ++i) now += held[i] != 0.0;
        for (index b = 0; b < blocked_; ++b) before += held[m_.blocked[b]] != 0.0;
        return now > before;
    }
    // The step without damping into `next`, and what holds it back. Of a first level without rows that are kept it is the one that
    // nothing bounds, cut off at the bounds, which takes a factorization and no search.
    bool trial(const Level& level, bool tied, double* held) {
        if (tied) {
            if (!run(level)) return false;
            mark(level, held);
        } else {
            m_.qp = QpWork(nz_, most_rows(), m_.qp_memory);
            factored_ = free_minimum(program(false), m_.qp, gradient(level));
            if (!factored_) return false;
        }
        double *step = m_.next, *y = m_.asked;
        spread(m_.qp.x, step);
        for (index i = 0; i < n_; ++i) {
            const double to = m_.x[i] + step[i];
            y[i] = to < m_.low[i] ? m_.low[i] : to > m_.high[i] ? m_.high[i] : to;
            step[i] = y[i] - m_.x[i];
        }
        block(held);
        unbounded_ = blocked_ == 0 && stopping_ == 0;
        for (index i = 0; i < n_; ++i) unbounded_ = unbounded_ && m_.low[i] < y[i] && y[i] < m_.high[i];
        for (index c = 0; c < nz_; ++c) m_.center[c] = 0.0;
        return true;
    }
    // What the step of the trial gains.
    double gained(const Level& level, const RowWork& rows) const {
        double sum = 0.0;
        for (index r = level.begin; r < level.end; ++r)
            if (rows.pull[r] != 0.0) sum += squared(rows.weight[r]) * rows.pull[r] * dot(w_, rows.J + r * w_, m_.next);
        if (level.upright) sum += dot(w_, level.pull, m_.next);
        return sum;
    }
    // Whether rows do not bend, by the bound, or the step of the trial, which no bound has a say in, does all that the level asks for and
    // bends next to nothing.
    bool easy(const Level& level, const RowWork& rows) const {
        double bent = 0.0, most = 0.0, off = 0.0, asked = 0.0;
        for (index i = 0; i < n_; ++i) {
            const double much = level.damping[i] + m_.tied[i] + m_.loops[i];
            most = larger(most, much), bent += 0.5 * much * squared(m_.next[i]);
        }
        if (!(most > 0.0)) return true;
        if (!unbounded_ || level.upright || bent > t_.slight * gained(level, rows)) return false;
        for (index r = level.begin; r < level.end; ++r) {
            off += squared(rows.weight[r] * (dot(w_, rows.J + r * w_, m_.asked) - rows.wish[r]));
            asked += squared(rows.weight[r] * rows.pull[r]);
        }
        return off <= squared(t_.across) * asked;
    }
    // 0 to 1 for one to two times of the least that counts: what depends on it does not leap.
    static double beyond(double x, double least) { return !(x > least) ? 0.0 : x < 2.0 * least ? x / least - 1.0 : 1.0; }
    // The step within bounds, damped by the whole bound, into `limited` (z); that bound, and the dofs that hold the step back.
    bool limit(const Level& level, double* held) {
        for (index i = 0; i < n_; ++i) {
            m_.much[i] = m_.full[i] = (level.damping[i] + m_.tied[i] + m_.loops[i]) / t_.bends;
            weigh(i, m_.full[i]);
        }
        damped_ = true, factored_ = false;
        const bool found = run(level);
        if (found) {
            mark(level, held);
            clear(w_, m_.limited), copy(nz_, m_.qp.x, m_.limited);
            block(held);
        }
        clear(w_, m_.full), damped_ = false;
        for (index c = 0; c < nz_; ++c) m_.center[c] = 0.0;
        squares(level.end - level.begin, wide(nz_), level);
        return found;
    }
    // sum = A* A + N* P N, `calm` the same with rows times their calm.
    void squares_of(const Level& level, const RowWork& rows) {
        const index wz = wide(nz_);
        for (index c = 0; c < nz_; ++c) clear(wz, m_.sum + c * wz), clear(wz, m_.calm + c * wz);
        const auto join = [&](const double* row, double square, double calm) {
            for (index c = 0; c < nz_; ++c) {
                if (row[c] == 0.0) continue;
                add(wz, square * row[c], row, m_.sum + c * wz), add(wz, calm * row[c], row, m_.calm + c * wz);
            }
        };
        for (index r = level.begin; r < level.end; ++r) join(m_.A + (r - level.begin) * wz, 1.0, rows.calm[r]);
        for (index i = 0; level.upright && i < n_; ++i) {
            if (plain_)
                m_.sum[i * wz + i] += level.posture[i], m_.calm[i * wz + i] += level.calm[i];
            else
                join(m_.N + i * wz, level.posture[i], level.calm[i]);
        }
        for (index c = 0; shared_ && c < nz_; ++c) add(wz, 1.0, m_.sharing + c * wz, m_.sum + c * wz);
    }
    // Orthonormal axes of what the level sees with the dofs and rows that hold it back at rest, into `weak`; how many.
    index see(const Level& level) {
        const index wz = wide(nz_), all = level.upright ? nz_ : rank_;
        if (blocked_ == 0 && stopping_ == 0) {
            for (index c = 0; c < all; ++c) clear(wz, m_.weak + c * wz), m_.weak[c * wz + c] = 1.0;
            return all;
        }
        const index first = at_rest();
        index count = first;
        double *row = m_.wide_row, size = 0.0;
        for (index r = 0; r < level.end - level.begin; ++r) size = larger(size, dot(wz, m_.A + r * wz, m_.A + r * wz));
        for (index r = 0; r < level.end - level.begin; ++r) take(m_.A + r * wz, std::sqrt(t_.hardly * size), count);
        for (index c = 0; level.upright && c < nz_; ++c) {
            clear(wz, row), row[c] = 1.0;
            take(row, t_.sees, count);
        }
        for (index c = first; c < count; ++c) copy(wz, m_.axes + c * wz, m_.weak + (c - first) * wz);
        return count - first;
    }
    // to[c, d] = a_c* S b_d, of so many axes.
    void between(index count, const double* S, const double* axes, index w, double* to) const {
        const index wz = wide(nz_);
        for (index c = 0; c < count; ++c)
            for (index d = 0; d < count; ++d) {
                double sum = 0.0;
                for (index k = 0; k < nz_; ++k)
                    if (axes[c * wz + k] != 0.0) sum += axes[c * wz + k] * dot(wz, S + k * wz, axes + d * wz);
                to[c * w + d] = sum;
            }
    }
    // What the level cannot meet of what it pulls, from the step of `limit` on, with the dofs that hold it back as they are, along axes
    // `weak` that it sees, by squares K (seen, seen); as a part of all that it pulls. Negative where K has no factor.
    double miss(index seen, const double* K, const Level& level, const RowWork& rows) {
        const index wz = wide(nz_), count = level.end - level.begin;
        double *z = m_.tied, *g = m_.wide_row, *of = m_.asked, asked = 0.0, unmet = 0.0;
        clear(w_, g), clear(w_, z);
        for (index r = 0; r < count; ++r) {
            const double *a = m_.A + r * wz, pull = rows.weight[level.begin + r] * rows.pull[level.begin + r];
            m_.unmet[r] = pull - dot(wz, a, m_.limited), asked += squared(pull);
            add(wz, m_.unmet[r], a, g);
        }
        if (level.upright) {
            spread(m_.limited, m_.unmet_posture);
            for (index i = 0; i < n_; ++i) {
                m_.unmet_posture[i] = level.pull[i] - level.posture[i] * m_.unmet_posture[i];
                if (level.posture[i] > 0.0) asked += squared(level.pull[i]) / level.posture[i];
                for (index c = 0; c < nz_; ++c) g[c] += column(i, c) * m_.unmet_posture[i];
            }
        }
        if (pivoted_cholesky(seen, K, 0.0, m_.factor_of, m_.axis_order, m_.still) < seen) return -1.0;
        for (index c = 0; c < seen; ++c) of[c] = dot(wz, g, m_.weak + m_.axis_order[c] * wz);
        solve_lower(seen, seen, m_.factor_of, 1, of), solve_lower_transposed(seen, seen, m_.factor_of, of);
        for (index c = 0; c < seen; ++c) add(wz, of[c], m_.weak + m_.axis_order[c] * wz, z);
        for (index r = 0; r < count; ++r) {
            m_.unmet[r] -= dot(wz, m_.A + r * wz, z), unmet += squared(m_.unmet[r]);
            m_.unmet[r] /= rows.weight[level.begin + r];
        }
        for (index i = 0; level.upright && i < n_; ++i) {
            m_.unmet_posture[i] -= level.posture[i] * (plain_ ? z[i] : dot(wz, m_.N + i * wz, z));
            if (level.posture[i] > 0.0) unmet += squared(m_.unmet_posture[i]) / level.posture[i];
        }
        return asked > 0.0 ? std::sqrt(unmet / asked) : 0.0;
    }
    // What the level cannot meet, damped by what of the bound outweighs calm squares. Axes along which rows may bend too much into
    // `weak`; how many, none where all is met.
    index find_unmet(const Level& level, const RowWork& rows) {
        const index wz = wide(nz_), seen = see(level), ws = wide(seen);
        double *E = m_.bent, *V = m_.axes, *K = m_.outweighed;
        for (index c = 0; c < seen; ++c) clear(ws, E + c * ws), spread(m_.weak + c * wz, m_.next + c * w_);
        between(seen, m_.calm, m_.weak, ws, E);
        for (index c = 0; c < seen; ++c)
            for (index d = 0; d < seen; ++d) {
                double sum = 0.0;
                for (index i = 0; i < n_; ++i) sum += m_.much[i] * m_.next[c * w_ + i] * m_.next[d * w_ + i];
                E[c * ws + d] = t_.outweigh * sum - E[c * ws + d];
            }
        diagonalize(seen, E, V, m_.eigen);
        between(seen, m_.sum, m_.weak, seen, K);
        for (index e = 0; e < seen; ++e)
            for (index c = 0; E[e * ws + e] > 0.0 && c < seen; ++c)
                for (index d = 0; d < seen; ++d) K[c * seen + d] += E[e * ws + e] * V[e * ws + c] * V[e * ws + d];
        missed_ = miss(seen, K, level, rows);
        if (!(missed_ > t_.across)) return 0;
        return unbounded_ && blocked_ == 0 && stopping_ == 0 ? may_bend(seen) : columns(0, 0);
    }
    // Axes along which the bound outweighs calm squares, and those that the level does not see; of axes and a matrix as `find_unmet` has
    // them.
    index may_bend(index seen) {
        const index wz = wide(nz_), ws = wide(seen);
        index weak = 0;
        double* to = m_.outweighed;
        for (index e = 0; e < seen; ++e) {
            if (!(m_.bent[e * ws + e] > 0.0)) continue;
            double* v = to + weak++ * wz;
            clear(wz, v);
            for (index c = 0; c < seen; ++c) add(wz, m_.axes[e * ws + c], m_.weak + c * wz, v);
        }
        for (index c = 0; c < weak; ++c) copy(wz, to + c * wz, m_.weak + c * wz), spread(m_.weak + c * wz, m_.next + c * w_);
        return columns(seen, weak);
    }
    // D, of so many axes; what is little next to the pull is nothing.
    template <class After>
    void curb(index count, const Level& level, const RowWork& rows, double dt, const After& after) {
        const index wz = wide(nz_), wc = wide(count);
        double size = 0.0;
        for (index r = level.begin; r < level.end; ++r) size += squared(squared(rows.weight[r]) * m_.unmet[r - level.begin]);
        if (level.upright) size += dot(w_, m_.unmet_posture, m_.unmet_posture);
        const double little = t_.across * dt * std::sqrt(size);
        double *T = m_.bent, *Q = m_.outweighed, *V = m_.axes;
        push(level, rows, m_.unmet, level.upright ? m_.unmet_posture : nullptr, dt);
        if (level.given) add(w_, 1.0, level.damping, m_.loops);
        if (!look_along(count, level, rows, m_.unmet, t_.outweigh * dt, after)) return;
        diagonalize(count, T, V, m_.eigen);
        for (index c = 0; c < count; ++c) clear(wc, Q + c * wc);
        between(count, m_.calm, m_.weak, wc, Q);
        for (index c = 0; c < count; ++c)
            for (index d = 0; d < count; ++d) {
                double sum = c == d ? -little : 0.0;
                for (index e = 0; e < count; ++e) sum += std::fabs(T[e * wc + e]) * V[e * wc + c] * V[e * wc + d];
                for (index i = 0; i < n_; ++i) sum += m_.loops[i] / t_.bends * m_.next[c * w_ + i] * m_.next[d * w_ + i];
                Q[c * wc + d] = sum - Q[c * wc + d];
            }
        diagonalize(count, Q, V, m_.eigen);
        for (index c = 0; c < nz_; ++c) clear(wz, m_.D + c * wz), clear(wz, m_.keeps + c * wz);
        double* u = m_.wide_row;
        const double least = t_.slowly * dt * steady_pull(level, rows);
        for (index e = 0; e < count; ++e) {
            const double much = Q[e * wc + e];
            if (!(much > 0.0)) continue;
            const double most = much / t_.met, enough = larger(much, most < least ? most : least);
            curbed_ = true;
            clear(wz, u);
            for (index c = 0; c < count; ++c) add(wz, V[e * wc + c], m_.weak + c * wz, u);
            for (index c = 0; c < nz_; ++c) add(wz, enough * u[c], u, m_.D + c * wz), add(wz, much * u[c], u, m_.keeps + c * wz);
        }
        if (curbed_) curbed_by_ = beyond(still_missed(missed_, level, rows), t_.met);
        curbed_ = curbed_ && curbed_by_ > 0.0;
        for (index c = 0; curbed_ && c < nz_; ++c) {
            for (index k = 0; k < wz; ++k) m_.D[c * wz + k] *= curbed_by_;
            add(wz, 1.0, m_.D + c * wz, m_.H + c * wz);
        }
        factored_ = factored_ && !curbed_;
    }
    // |W^2 pull| of what is not taken away at once.
    double steady_pull(const Level& level, const RowWork& rows) const {
        const auto part = [&](double calm) { return (calm - t_.calm) / (1.0 - t_.calm); };
        double sum = 0.0;
        for (index r = level.begin; r < level.end; ++r) sum += squared(squared(rows.weight[r]) * rows.pull[r] * part(rows.calm[r]));
        for (index i = 0; level.upright && i < n_; ++i)
            if (level.posture[i] > 0.0) sum += squared(level.pull[i] * part(level.calm[i] / level.posture[i]));
        return std::sqrt(sum);
    }
    // What the level misses with D, as a part of what it misses with the bound: where it misses less, D is less, and so on.
    double still_missed(double missed, const Level& level, const RowWork& rows) {
        constexpr index ROUNDS = 4;
        const index wz = wide(nz_), seen = see(level);
        double part = 1.0, *S = m_.calm;  // which is not needed any more
        for (index round = 0; round < ROUNDS && part > t_.met; ++round) {
            for (index c = 0; c < nz_; ++c) copy(wz, m_.sum + c * wz, S + c * wz), add(wz, part, m_.D + c * wz, S + c * wz);
            between(seen, S, m_.weak, seen, m_.outweighed);
            const double now = miss(seen, m_.outweighed, level, rows) / missed;
            if (!(now >= 0.0 && now < part)) break;
            part = now;
        }
        return part;
    }
    // A part of the bound, 0 to 1 for bent / gained = 1/4 to 1/2 at the step of the trial, `bent` by rows after a small step.
    template <class After>
    void damp_simply(const Level& level, const RowWork& rows, double dt, const After& after) {
        double bent = 0.0, most = 0.0;
        for (index i = 0; i < n_; ++i) bent += 0.5 * level.damping[i] * squared(m_.next[i]), most = larger(most, std::fabs(m_.next[i]));
        const double all = gained(level, rows);
        if (!(bent > 0.0) || bent <= 0.25 * all) return;
        const double far = t_.probe / most;
        double *step = m_.center, *change = m_.asked;
        for (index i = 0; i < n_; ++i) step[i] = far * m_.next[i];
        if (!level.given && bend(level, rows, rows.pull + level.begin, step, after, change)) {
            const double found = t_.margin * std::fabs(0.5 * dt / far * dot(w_, change, m_.next));
            bent = found < bent ? found : bent;
        }
        for (index c = 0; c < nz_; ++c) step[c] = 0.0;
        if (bent <= 0.25 * all) return;
        const double part = bent < 0.5 * all ? 4.0 * bent / all - 1.0 : 1.0;
        for (index i = 0; i < n_; ++i) m_.full[i] = part * level.damping[i], weigh(i, m_.full[i]);
        damped_ = true, factored_ = false;
    }
};

SOACRAFT_RIGID_END
