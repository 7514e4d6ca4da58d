// Rows that are decided on, of closures and of levels before: how they push where a level pulls, and how they and the rows of the level
// bend along directions that are left.
//
//     mu = (G G*)^-1 G (p - what the level is free to do of it),     T y = how  J* W^2 pull - G* mu  changes along a small step y
//
// Rows that are kept, and hold the level back, are among G. The same as `Ties` of soacraft/robot/whole_body/ties.py. O(nv^3), and rows after as many small steps as there are directions.
#pragma once

#include "level_program.hpp"

SOACRAFT_RIGID_BEGIN

class LevelTies : public LevelProgram {
protected:
    using LevelProgram::LevelProgram;

    index blocks_ = 0;   // rows of closures and levels that are decided on, and dofs that were stopped with them, by turns
    index blocked_ = 0;  // dofs that bounds hold back

    // |W^2 pull|
    double pull_of(const Level& level, const RowWork& rows) const {
        double sum = level.upright ? dot(w_, level.pull, level.pull) : 0.0;
        for (index r = level.begin; r < level.end; ++r) sum += squared(squared(rows.weight[r]) * rows.pull[r]);
        return std::sqrt(sum);
    }
    double column(index dof, index c) const { return plain_ ? (dof == c ? 1.0 : 0.0) : m_.N[dof * wide(nz_) + c]; }
    // to (wide(n)) <- N z
    void spread(const double* z, double* to) const {
        clear(w_, to);
        for (index i = 0; i < n_; ++i) to[i] = plain_ ? z[i] : dot(wide(nz_), m_.N + i * wide(nz_), z);
    }

    // Dofs that hold a level back; with velocities y those alone that do not move in a step, since limits of position stop them.
    void block(const double* held, const double* y = nullptr, double dt = 0.0) {
        blocked_ = 0;
        for (index i = 0; i < n_; ++i)
            if (held[i] != 0.0 && !(y && dt * std::fabs(y[i]) > t_.still)) m_.blocked[blocked_++] = i;
    }
    // Keep rows that are decided on, and dofs that are stopped, for what follows. `known`: whether they can be asked for after a step;
    // else they bend by this part of the bound.
    void tie(index begin, index end, const double* J, bool known, double part = 1.0) {
        m_.begins[blocks_] = known ? begin : -1;
        double* root = m_.roots + blocks_ * w_;
        index rows = blocks_ > 0 ? m_.ends[blocks_ - 1] : 0;
        clear(w_, root);
        for (index r = begin; r < end; ++r, ++rows) append(J + r * w_, rows, root);
        for (index i = 0; i < w_; ++i) root[i] = std::sqrt(part * std::sqrt(root[i]));
        m_.ends[blocks_++] = rows;
        clear(w_, m_.roots + blocks_ * w_);
        m_.ends[blocks_] = stop(rows), ++blocks_;
    }
    // A row behind so many others, and the squares of its columns.
    void append(const double* row, index rows, double* squares) {
        copy(w_, row, m_.ties + rows * w_);
        for (index i = 0; i < w_; ++i) squares[i] += row[i] * row[i];
    }
    // Rows of the dofs that are held back, behind so many others.
    index stop(index rows) {
        for (index k = 0; k < blocked_; ++k, ++rows) {
            clear(w_, m_.ties + rows * w_);
            m_.ties[rows * w_ + m_.blocked[k]] = 1.0;
        }
        return rows;
    }
    // Rows that are kept, and hold the level back, behind so many others; the roots of their columns into `root`.
    index keep_rows(index rows, double* root) {
        clear(w_, root);
        for (index k = 0; k < stopping_; ++k, ++rows) append(m_.C + m_.stopping[k] * w_, rows, root);
        for (index i = 0; i < w_; ++i) root[i] = std::sqrt(std::sqrt(root[i]));
        return rows;
    }
    // What is left of a row (wide(nz)) next to so many axes, orthonormal, is one more where it is more than `least`.
    void take(const double* row, double least, index& count) {
        const index wz = wide(nz_);
        if (count == nz_) return;
        double* u = m_.axes + count * wz;
        copy(wz, row, u);
        for (int twice = 0; twice < 2; ++twice)
            for (index k = 0; k < count; ++k) add(wz, -dot(wz, m_.axes + k * wz, u), m_.axes + k * wz, u);
        const double square = dot(wz, u, u);
        if (!(square > squared(least))) return;
        for (index c = 0; c < nz_; ++c) u[c] /= std::sqrt(square);
        ++count;
    }
    // Axes of the dofs and rows that hold the level back; how many.
    index at_rest() {
        const index wz = wide(nz_);
        double* row = m_.wide_row;
        index count = 0;
        for (index b = 0; b < blocked_; ++b) {
            clear(wz, row);
            for (index c = 0; c < nz_; ++c) row[c] = column(m_.blocked[b], c);
            take(row, t_.sees, count);
        }
        for (index k = 0; k < stopping_; ++k) {
            const double* c = m_.C + m_.stopping[k] * w_;
            if (plain_)
                copy(wz, c, row);
            else
                project(c, 1.0, row);
            take(row, t_.sees, count);
        }
        return count;
    }
    // p (wide(n)) without what the level is free to do: rows that hardly see that do not push there.
    void tied_part(double* p) {
        const index wz = wide(nz_), held = at_rest();
        double* z = m_.wide_row;
        clear(wz, z);
        if (plain_)
            copy(wz, p, z);
        else
            project(p, 1.0, z);
        for (index k = 0; k < held; ++k) add(wz, -dot(wz, m_.axes + k * wz, z), m_.axes + k * wz, z);
        for (index i = 0; i < n_; ++i) p[i] -= plain_ ? z[i] : dot(wz, m_.N + i * wz, z);
    }
    // How they push, with the dofs that are held back, where a level pulls by these (rows) and these (n):
    // mu = (G G*)^-1 G (what it pulls, and is not free to do). A bound of how they bend, of levels into `tied`, of closures and rows that nothing is known of
    // into `loops`.
    void push(const Level& level, const RowWork& rows, const double* pull, const double* posture, double dt) {
        clear(w_, m_.tied), clear(w_, m_.loops);
        if (blocks_ == 0 && stopping_ == 0) return;
        const index decided = blocks_ > 0 ? m_.ends[blocks_ - 1] : 0, kept = keep_rows(decided, m_.roots + blocks_ * w_), count = stop(kept);
        for (index r = 0; r < count; ++r) m_.mu[r] = 0.0;
        double *all = m_.still, *mu = m_.mu, *seen = m_.scratch, most = 0.0, size = 0.0;
        clear(w_, all);
        if (posture) add(w_, 1.0, posture, all);
        for (index r = level.begin; r < level.end; ++r) add(w_, squared(rows.weight[r]) * pull[r - level.begin], rows.J + r * w_, all);
        tied_part(all);
        for (index r = 0; r < count; ++r) {
            const double* g = m_.ties + r * w_;
            seen[r] = dot(w_, g, all), size = larger(size, std::fabs(seen[r]));
            for (index k = 0; k <= r; ++k) m_.square[r * count + k] = m_.square[k * count + r] = dot(w_, g, m_.ties + k * w_);
            most = larger(most, m_.square[r * count + r]);
        }
        if (!(size > 0.0)) return;
        for (index r = 0; r < count; ++r) m_.square[r * count + r] += t_.pushes * most;
        if (pivoted_cholesky(count, m_.square, 0.0, m_.factor, m_.factor_order, seen + count) < count) return;
        for (index r = 0; r < count; ++r) mu[r] = seen[m_.factor_order[r]];
        solve_lower(count, count, m_.factor, 1, mu);
        solve_lower_transposed(count, count, m_.factor, mu);
        for (index r = 0; r < count; ++r) seen[m_.factor_order[r]] = mu[r];
        for (index r = 0; r < count; ++r) mu[r] = seen[r];
        for (index b = 0, r = 0; b <= blocks_; ++b) {
            const bool known = b < blocks_ && b % 2 == 0 && m_.begins[b] >= 0;
            double square = 0.0, sum = 0.0;
            for (const index end = b < blocks_ ? m_.ends[b] : kept; r < end; ++r) square += mu[r] * mu[r];
            const double* root = m_.roots + b * w_;
            for (index i = 0; i < n_; ++i) sum += root[i];
            add(w_, t_.bends * dt * std::sqrt(square) * sum, root, known ? m_.tied : m_.loops);
        }
    }
    // to (wide(n)) <- how J* W^2 pull - G* mu changes along a small step; false where there are no rows.
    template <class After>
    bool bend(const Level& level, const RowWork& rows, const double* pull, const double* step, const After& after, double* to) const {
        const double* J = after(step);
        if (!J) return false;
        clear(w_, to);
        const auto add_row = [&](index r, double by) { add(w_, by, J + r * w_, to), add(w_, -by, rows.J + r * w_, to); };
        for (index r = level.begin; r < level.end; ++r) add_row(r, squared(rows.weight[r]) * pull[r - level.begin]);
        for (index b = 0, r = 0; b < blocks_; r = m_.ends[b + 1], b += 2)  // dofs that are stopped do not bend
            for (index k = r; m_.begins[b] >= 0 && k < m_.ends[b]; ++k) add_row(m_.begins[b] + k - r, -m_.mu[k]);
        return true;
    }

    // The columns of N from `first` on as axes, behind so many others; how many there are then.
    index columns(index first, index count) {
        const index wz = wide(nz_);
        for (index c = first; c < nz_; ++c, ++count) {
            double *v = m_.weak + count * wz, *y = m_.next + count * w_;
            clear(wz, v), clear(w_, y);
            v[c] = 1.0;
            for (index i = 0; i < n_; ++i) y[i] = column(i, c);
        }
        return count;
    }
    // Axes `weak` (count, wide(nz)) and N times them, `next` (count, wide(n)), turned so that each is as near as can be to one dof,
    // whatever they were: the nearest first. The same space, and always the same axes.
    void settle(index count) {
        const index wz = wide(nz_);
        double *left = m_.bent, *V = m_.axes;  // what is left of `next`; the axes by those that are given
        for (index c = 0; c < count; ++c) copy(w_, m_.next + c * w_, left + c * w_);
        for (index k = 0; k < count; ++k) {
            index best = 0;
            double most = -1.0, *v = V + k * wz;
            for (index i = 0; i < n_; ++i) {
                double square = 0.0;
                for (index c = 0; c < count; ++c) square += squared(left[c * w_ + i]);
                if (square > most) most = square, best = i;
            }
            clear(wz, v);
            for (index c = 0; c < count; ++c) v[c] = left[c * w_ + best];
            for (index b = 0; b < k; ++b) add(wz, -dot(wz, V + b * wz, v), V + b * wz, v);
            const double size = 1.0 / std::sqrt(dot(wz, v, v));
            for (index c = 0; c < count; ++c) v[c] *= size;
            double* seen = m_.asked;
            clear(w_, seen);
            for (index c = 0; c < count; ++c) add(w_, v[c], left + c * w_, seen);
            for (index c = 0; c < count; ++c) add(w_, -v[c], seen, left + c * w_);
        }
        const auto turn = [&](double* axes, index w) {
            for (index k = 0; k < count; ++k) {
                clear(w, left + k * w_);
                for (index c = 0; c < count; ++c) add(w, V[k * wz + c], axes + c * w, left + k * w_);
            }
            for (index k = 0; k < count; ++k) copy(w, left + k * w_, axes + k * w);
        };
        turn(m_.weak, wz), turn(m_.next, w_);
    }
    // bent (count, wide(count)) <- Y* T Y by `by`, Y being the axes of `settle`; what is rounding is nothing. False where there are no rows.
    template <class After>
    bool look_along(index count, const Level& level, const RowWork& rows, const double* pull, double by, const After& after) {
        const index wc = wide(count);
        double *T = m_.bent, *step = m_.center, *change = m_.asked, most = 0.0;
        settle(count);
        bool fine = true;
        for (index c = 0; fine && c < count; ++c) {
            clear(wc, T + c * wc);
            for (index i = 0; i < n_; ++i) step[i] = t_.turn * m_.next[c * w_ + i];
            fine = bend(level, rows, pull, step, after, change);
            for (index d = 0; fine && d < count; ++d) T[c * wc + d] = by * dot(w_, change, m_.next + d * w_) / t_.turn;
        }
        for (index c = 0; c < nz_; ++c) step[c] = 0.0;
        if (!fine) return false;
        for (index c = 0; c < count; ++c)
            for (index d = 0; d < c; ++d) T[c * wc + d] = T[d * wc + c] = 0.5 * (T[c * wc + d] + T[d * wc + c]);
        for (index c = 0; c < count; ++c)
            for (index d = 0; d < count; ++d) most = larger(most, std::fabs(T[c * wc + d]));
        for (index c = 0; c < count; ++c)
            for (index d = 0; d < count; ++d)
                if (!(std::fabs(T[c * wc + d]) > t_.nothing * most)) T[c * wc + d] = 0.0;
        return true;
    }
};

SOACRAFT_RIGID_END
