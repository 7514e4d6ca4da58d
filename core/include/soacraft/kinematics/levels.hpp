// Levels of tasks, one after the other: the best velocities of a level among those that leave the levels before as they are
// (`level_program.hpp`), damped where rows bend too much for a step (`level_damping.hpp`).
//
//     y = x + N z,     min over z of  |W (J y - wish)|^2 + |P y - p|^2 + z* D z,     low <= y <= high,  C y >= least
//
// What the squares and D see is the level's own, and so are directions along which its rows turn towards what it cannot meet: to
// second order it does see them; one that it nearly sees so costs the levels after it. What is left is for these; of what no level
// tells, the slowest comes last. y is in radians and lengths. The same as soacraft/robot/whole_body/levels.py. O(rows nv^2 + nv^3) a
// level.
#pragma once

#include "level_damping.hpp"

SOACRAFT_RIGID_BEGIN

class Levels : public LevelDamping {
public:
    Levels(index n, index kept, bool closed, const LevelTolerances& tolerances, LevelWork& work) : LevelDamping(n, kept, closed, tolerances, work) {}

    // The rows J (count, wide(n)) of closures, whatever the bounds are.
    void close(index count, const double* J, const double* wish, double* weight) {
        for (index r = 0; r < count; ++r) weight[r] = 1.0;
        const Level none = {0, count, nullptr, nullptr, nullptr, nullptr, nullptr, false};
        if (!gather(none, J, wish, weight, t_.closures_see)) return;
        const QuadraticProgram p = program(false);
        m_.qp = QpWork(nz_, 0, m_.qp_memory);
        if (solve_qp(p, m_.qp, gradient(none)) == Verdict::YES) move();
        tie(0, count, J, false);
        release();
    }

    // One level; `held` (n) <- where bounds hold it back. `after(step)`: all rows after a step, or null; `last`: no level follows.
    template <class After>
    void solve(const Level& level, const RowWork& rows, double dt, bool last, const After& after, double* held) {
        for (index i = 0; i < n_; ++i) held[i] = 0.0;
        turned_ = damped_ = curbed_ = false;
        if (nz_ == 0) return;
        if (gather(level, rows.J, rows.wish, rows.weight, t_.sees)) {
            const bool ready = damp(level, rows, dt, after, held);
            for (index i = 0; i < n_; ++i) held[i] = 0.0;
            if (ready || run(level)) {
                mark(level, held);
                move();
            }
            solved_ = true;
            stopping_ = 0;  // those of another level are others
        } else if (last || !turned_) {
            return;
        }
        const index seen = rank_;
        if (!last && turned_) {
            block(held, m_.x, dt);
            if (!curbed_ && dt > 0.0) keep_turning(level, rows, after);
            tie(level.begin, level.end, rows.J, !level.given);
        }
        if (curbed_ && turned_) keep_damped(level, rows, dt);
        if (!last && turned_ && rank_ > seen) tie_kept(seen);
        release();
    }
    // Of velocities that no level tells apart, the slowest.
    void rest() {
        if (nz_ == 0) return;
        const index wz = wide(nz_);
        for (index i = 0; i < nz_; ++i) {
            clear(wz, m_.H + i * wz);
            m_.H[i * wz + i] = 1.0;
        }
        for (index i = 0; i < n_; ++i) m_.still[i] = 0.0, m_.ones[i] = 1.0;
        clear(w_, m_.own), clear(w_, m_.center), clear(w_, m_.full), rank_ = nz_, damped_ = curbed_ = factored_ = shared_ = false;
        const Level all = {0, 0, m_.ones, m_.still, nullptr, nullptr, nullptr, true};
        if (!run(all)) return;
        move();
    }

private:
    // Of these axes those directions along which a symmetric matrix, `bent`, is more than that are the level's own.
    void keep(double least) {
        const index wz = wide(nz_), m = nz_ - rank_, wm = wide(m);
        diagonalize(m, m_.bent, m_.axes, m_.eigen);
        index kept = 0;
        for (index e = 0; e < m; ++e) {
            const double part = std::fabs(m_.bent[e * wm + e]) / least;
            if (!(part > t_.half)) continue;
            if (part < 1.0) {
                share_axis(m, e, (part - t_.half) / (1.0 - t_.half));
                continue;
            }
            double* row = m_.A + kept++ * wz;
            clear(wz, row);
            for (index c = 0; c < m; ++c) add(wz, m_.axes[e * wm + c], m_.weak + c * wz, row);
        }
        if (kept > 0) reflect(kept, rank_, 0.25);
    }
    // A direction that is the level's own by a part: to those after it, it costs the more the nearer the part is to one.
    void share_axis(index m, index e, double part) {
        const index wm = wide(m);
        double *u = m_.asked, much = part * part / ((1.0 - part) * std::sqrt(1.0 - part));
        if (!(much < t_.costs)) much = t_.costs;
        if (!shared_) {
            for (index i = 0; i < n_; ++i) clear(w_, m_.shared + i * w_);
            shared_ = true;
        }
        clear(w_, u);
        for (index c = 0; c < m; ++c) add(w_, m_.axes[e * wm + c], m_.next + c * w_, u);
        for (index i = 0; i < n_; ++i) add(w_, much * u[i], u, m_.shared + i * w_);
    }
    // Columns of N that are the level's own besides those that its rows see: they turn as the robot moves, nothing tells how.
    void tie_kept(index first) {
        const index wz = wide(nz_), count = rank_ - first;
        for (index c = 0; c < count; ++c) {
            clear(w_, m_.next + c * w_);
            for (index i = 0; i < n_; ++i) m_.next[c * w_ + i] = m_.N[i * wz + first + c];
        }
        blocked_ = 0;
        tie(0, count, m_.next, false, t_.rolls);
    }
    // Directions that D sees.
    void keep_damped(const Level& level, const RowWork& rows, double dt) {
        const index wz = wide(nz_), m = nz_ - rank_, wm = wide(m);
        if (m == 0) return;
        for (index c = 0; c < m; ++c) {
            clear(wm, m_.bent + c * wm);
            for (index d = 0; d < m; ++d) m_.bent[c * wm + d] = m_.keeps[(rank_ + c) * wz + rank_ + d];
        }
        columns(rank_, 0);
        keep(t_.turns * dt * pull_of(level, rows));
    }
    // Directions along which rows turn towards what the level cannot meet, with the dofs that are stopped at rest.
    template <class After>
    void keep_turning(const Level& level, const RowWork& rows, const After& after) {
        const index wz = wide(nz_), count = level.end - level.begin, m = nz_ - rank_;
        double *square = m_.square, *s = m_.wide_row, *seen = m_.still, *unmet = m_.unmet, heavy = 0.0, size = 0.0, asked = 0.0;
        if (m == 0) return;
        // p - A z, the least there is: dofs that are stopped are heavy rows
        for (index i = 0; i < nz_ * nz_; ++i) square[i] = 0.0;
        clear(w_, seen);
        for (index r = 0; r < count; ++r) {
            const double* a = m_.A + r * wz;
            unmet[r] = rows.weight[level.begin + r] * rows.pull[level.begin + r];
            asked += squared(unmet[r]);
            for (index i = 0; i < rank_; ++i) {
                seen[i] += a[i] * unmet[r];
                for (index k = 0; k < rank_; ++k) square[i * nz_ + k] += a[i] * a[k];
            }
        }
        if (!(asked > 0.0)) return;
        if (rank_ > 0) {
            for (index i = 0; i < nz_; ++i) heavy = larger(heavy, square[i * nz_ + i]);
            for (index b = 0; b < blocked_; ++b) {
                const double* row = m_.N + m_.blocked[b] * wz;
                for (index i = 0; i < nz_; ++i)
                    for (index k = 0; k < nz_; ++k) square[i * nz_ + k] += heavy * row[i] * row[k] / t_.across;
            }
            for (index i = 0; i < nz_; ++i) square[i * nz_ + i] += t_.hardly * heavy;
            if (pivoted_cholesky(nz_, square, 0.0, m_.factor, m_.factor_order, m_.scratch) < nz_) return;
            for (index i = 0; i < nz_; ++i) s[i] = seen[m_.factor_order[i]];
            solve_lower(nz_, nz_, m_.factor, 1, s);
            solve_lower_transposed(nz_, nz_, m_.factor, s);
            clear(w_, seen);
            for (index i = 0; i < nz_; ++i) seen[m_.factor_order[i]] = s[i];
        }
        for (index r = 0; r < count; ++r) {
            if (rank_ > 0) unmet[r] -= dot(wz, m_.A + r * wz, seen);
            size += squared(unmet[r]);
        }
        if (!(size > squared(t_.across) * asked)) return;
        size = 0.0;
        for (index r = 0; r < count; ++r) size += squared(rows.weight[level.begin + r] * unmet[r]), unmet[r] /= rows.weight[level.begin + r];
        size = std::sqrt(size);
        push(level, rows, unmet, nullptr, 0.0);
        columns(rank_, 0);
        if (look_along(m, level, rows, unmet, 1.0 / size, after)) keep(t_.turns);
    }
};

SOACRAFT_RIGID_END
