// Levels of tasks, one after the other: the best velocities of a level among those that leave the levels before as they are.
//
//     y = x + N z,     min over z of  |W (J y - wish)|^2 + |P y - p|^2 + (N z)* D N z,     low <= y <= high,  C y >= least
//
// x and N are what the levels before have left: N spans what their rows do not see. Of z that the rows do not see either, what
// bounds ask for is found by proximal steps; the slowest comes last. D is a little of what they see, and a part of the damping of
// the level, where rows bend too much:
//
//     bent = (N z)* damping (N z) / 2,     gained = W^2 (gain left)* J N z,     part: 0 to 1 for bent / gained = 1/4 to 1/2
//
// at the step without it (of the first level the one that nothing bounds, cut off at the bounds),
//
// so that no step goes beyond where it leads, near a singular pose or out of reach (Levenberg and Marquardt), and what can be done
// is done exactly elsewhere. Rows G of closures and of the levels before bend too, and push by mu, G* mu being what the level pulls,
// as far as they see it: their damping of dof i is dt |mu| sqrt(c_i) sum_j sqrt(c_j). These are bounds; where they would damp, rows
// after a small step tell whether they bend along that step. Where a level pulls across all that it can do, out of reach from
// a straight arm, directions along which its rows turn towards that pull are its own as well: to second order it does see them. y is
// in radians and lengths. The same as soacraft/robot/whole_body/levels.py. O(rows nv^2 + nv^3) a level.
#pragma once

#include "qp.hpp"
#include "soacraft/loops/linear/dense.hpp"
#include "task_rows.hpp"

SOACRAFT_RIGID_BEGIN

using kinematics::LevelTolerances;

struct LevelWork {
    double *x, *low, *high, *N, *next, *A, *b, *H, *rows, *least, *most, *full, *own, *center, *still, *ones, *wide_row, *C, *bound, *shift;
    double *ties, *square, *factor, *mu, *scratch, *roots, *tied, *loops;  // rows G that are decided on, G G* = factor factor*, the roots of their columns
    index *order, *factor_order, *ends, *begins, *blocked;  // ends: of their blocks, in rows; dofs at limits of position
    QpWork qp, elastic;
    char *qp_memory, *elastic_memory;
    double *elastic_H, *elastic_rows, *elastic_low, *elastic_high, *elastic_least, *elastic_most;

    template <class Cut>
    LevelWork(index n, index count, index all, index levels, index kept, bool closed, Cut& cut) {
        const index w = wide(n), bounds = n + kept, spare = kept + (closed ? n : 0), m = n + spare, mw = wide(m);
        const index elastic_count = spare > 0 ? kept + (closed ? 2 * n : 0) : 0, size = spare > 0 ? m : 0;
        cut(x, w), cut(low, w), cut(high, w), cut(N, n * w), cut(next, n * w), cut(A, count * w), cut(b, count), cut(H, n * w);
        cut(rows, bounds * w), cut(least, bounds), cut(most, bounds), cut(full, w), cut(own, w), cut(center, w), cut(still, w), cut(ones, w), cut(wide_row, w), cut(C, kept * w);
        cut(bound, kept), cut(shift, bounds), cut(order, count);
        const index decided = closed || levels > 1 ? all + (levels + 1) * n : 0;
        cut(ties, decided * w), cut(square, decided * decided), cut(factor, decided * decided), cut(mu, decided + w), cut(scratch, 2 * decided + n * w);
        cut(roots, 2 * (levels + 1) * w), cut(factor_order, decided), cut(ends, 2 * (levels + 1)), cut(begins, 2 * (levels + 1)), cut(blocked, n), cut(tied, w), cut(loops, w);
        cut(qp_memory, static_cast<index>(QpWork(n, bounds, nullptr).bytes));
        cut(elastic_memory, size > 0 ? static_cast<index>(QpWork(m, elastic_count, nullptr).bytes) : 0);
        cut(elastic_H, size * mw), cut(elastic_rows, elastic_count * mw), cut(elastic_low, elastic_count), cut(elastic_high, elastic_count);
        cut(elastic_least, size), cut(elastic_most, size);
    }
};

class Levels {
public:
    Levels(index n, index kept, bool closed, const LevelTolerances& tolerances, LevelWork& work)
        : n_(n), w_(wide(n)), kept_(kept), closed_(closed), t_(tolerances), m_(work), nz_(n) {
        clear(w_, m_.x);
    }

    index freedom() const { return nz_; }
    const double* y() const { return m_.x; }

    // The rows J (count, wide(n)) of closures, whatever the bounds are.
    void close(index count, const double* J, const double* wish, double* weight) {
        for (index r = 0; r < count; ++r) weight[r] = 1.0;
        const Level none = {0, count, nullptr, nullptr, nullptr, false};
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
        turned_ = false;
        if (nz_ == 0 || !gather(level, rows.J, rows.wish, rows.weight, t_.sees)) return;
        if (trial(level, held)) {
            bend(level, rows, dt);
            const double part = damped_part(level, rows, dt, after);
            if (part > 0.0) damp(level, part);
        }
        for (index i = 0; i < n_; ++i) held[i] = 0.0;
        if (run(level)) {
            mark(level, held);
            move();
        }
        solved_ = true;
        if (!last && turned_) {
            block(held);
            tie(level.begin, level.end, rows.J, !level.given);
            keep_turning(level, rows, after);
        }
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
        clear(w_, m_.own), clear(w_, m_.center), clear(w_, m_.full), rank_ = nz_, damped_ = false, factored_ = false;
        const Level all = {0, 0, m_.ones, m_.still, nullptr, true};
        if (!run(all)) return;
        move();
    }

private:
    const index n_, w_, kept_;
    const bool closed_;
    const LevelTolerances& t_;
    LevelWork& m_;
    index nz_;            // columns of N
    index rank_ = 0;      // how many of them the rows of the level see,
    bool turned_ = false; // if N was turned so
    bool damped_ = false;
    bool factored_ = false;  // whether the work of the program has the factor of H
    index blocks_ = 0;   // closures and levels that are decided on, two for each
    index blocked_ = 0;  // dofs that are stopped
    bool plain_ = true;   // N is the identity, x is zero
    bool solved_ = false;
    bool bounded_ = false;

    // A* (A z - b) + N* (P (x + N z) - p + D N z)
    struct Gradient {
        const Levels& of;
        const Level& level;
        SOACRAFT_FLAT void operator()(const double* z, double* g) const {
            const LevelWork& m = of.m_;
            const index wz = wide(of.nz_), rows = level.end - level.begin;
            clear(wz, g);
            for (index r = 0; r < rows; ++r) {
                const double* a = m.A + r * wz;
                add(wz, rigid::SOACRAFT_TARGET::dot(wz, a, z) - m.b[r], a, g);
            }
            for (index c = 0; c < of.nz_; ++c) g[c] += m.own[c] * (z[c] - m.center[c]);
            if (!of.damped_ && !level.upright) return;
            for (index i = 0; i < of.n_; ++i) {
                const double y = of.plain_ ? z[i] : rigid::SOACRAFT_TARGET::dot(wz, m.N + i * wz, z);
                double t = m.full[i] * y;
                if (level.upright) t += level.posture[i] * (m.x[i] + y) - level.wish[i];
                if (of.plain_)
                    g[i] += t;
                else
                    add(wz, t, m.N + i * wz, g);
            }
        }
    };
    Gradient gradient(const Level& level) const { return {*this, level}; }

    // A = W J N, b = W (wish - J x), H; false where there is nothing to do. Where nothing else tells y in all directions, N is turned
    // so that its first columns are those that the rows see: A has nothing in the others, not even rounding.
    bool gather(const Level& level, const double* J, const double* wish, const double* weight, double sees) {
        const index rows = level.end - level.begin;
        rank_ = nz_;
        if (!firm(level, J, weight)) turn(level, J, sees);
        const index wz = wide(nz_);
        double total = 0.0;
        for (index r = 0; r < rows; ++r) {
            const double *j = J + (level.begin + r) * w_, by = weight[level.begin + r];
            double* a = m_.A + r * wz;
            if (plain_)
                for (index i = 0; i < wz; ++i) a[i] = by * j[i];
            else if (turned_)
                for (index i = 0; i < wz; ++i) a[i] *= by;
            else
                project(j, by, a);
            m_.b[r] = by * (wish[level.begin + r] - (plain_ ? 0.0 : dot(w_, j, m_.x)));
            total += dot(wz, a, a);
        }
        if (level.upright)
            for (index i = 0; i < n_; ++i) total += level.posture[i] * (plain_ ? 1.0 : dot(wz, m_.N + i * wz, m_.N + i * wz));
        if (!(total > 0.0 && total < HUGE_VAL)) return false;
        const double mean = total / static_cast<double>(nz_);
        for (index c = 0; c < nz_; ++c) m_.own[c] = (c < rank_ || level.upright ? t_.little : t_.near) * mean, m_.center[c] = 0.0;
        clear(w_, m_.full), damped_ = false, factored_ = false;
        squares(rows, wz, level);
        return true;
    }
    // Dofs that limits of position stop, and which hold the level back.
    void block(const double* held) {
        blocked_ = 0;
        for (index i = 0; i < n_; ++i)
            if (held[i] != 0.0 && std::fabs(m_.x[i]) <= t_.still) m_.blocked[blocked_++] = i;
    }
    // Keep rows that are decided on, and dofs that are stopped, for what follows. `known`: whether they can be asked for after a step.
    void tie(index begin, index end, const double* J, bool known) {
        m_.begins[blocks_] = known ? begin : -1, m_.begins[blocks_ + 1] = -1;
        double* root = m_.roots + blocks_ * w_;
        index rows = blocks_ > 0 ? m_.ends[blocks_ - 1] : 0;
        clear(w_, root);
        for (index r = begin; r < end; ++r, ++rows) {
            copy(w_, J + r * w_, m_.ties + rows * w_);
            for (index i = 0; i < w_; ++i) root[i] += J[r * w_ + i] * J[r * w_ + i];
        }
        for (index i = 0; i < w_; ++i) root[i] = std::sqrt(std::sqrt(root[i]));
        m_.ends[blocks_++] = rows;
        clear(w_, m_.roots + blocks_ * w_);
        m_.ends[blocks_] = stop(rows), ++blocks_;
    }
    // Rows of the dofs that are stopped, behind so many others.
    index stop(index rows) {
        for (index k = 0; k < blocked_; ++k, ++rows) {
            clear(w_, m_.ties + rows * w_);
            m_.ties[rows * w_ + m_.blocked[k]] = 1.0;
        }
        return rows;
    }
    // What rows that are decided on add to the damping of a level, with its own dofs that are stopped: mu = (G G*)^-1 G (what it pulls);
    // of levels into `tied`, of closures and rows that nothing is known of into `loops`.
    void bend(const Level& level, const RowWork& rows, double dt) {
        clear(w_, m_.tied), clear(w_, m_.loops);
        if (blocks_ == 0) return;
        const index count = stop(m_.ends[blocks_ - 1]);
        for (index r = 0; r < count; ++r) m_.mu[r] = 0.0;
        double *pull = m_.still, *mu = m_.mu, *seen = m_.scratch, most = 0.0, size = 0.0;
        clear(w_, pull);
        for (index r = level.begin; r < level.end; ++r) add(w_, rows.weight[r] * rows.weight[r] * rows.pull[r], rows.J + r * w_, pull);
        for (index r = 0; r < count; ++r) {
            const double* g = m_.ties + r * w_;
            seen[r] = dot(w_, g, pull), size = larger(size, std::fabs(seen[r]));
            for (index k = 0; k <= r; ++k) m_.square[r * count + k] = m_.square[k * count + r] = dot(w_, g, m_.ties + k * w_);
            most = larger(most, m_.square[r * count + r]);
        }
        if (!(size > 0.0)) return;
        for (index r = 0; r < count; ++r) m_.square[r * count + r] += t_.hardly * most;
        if (pivoted_cholesky(count, m_.square, 0.0, m_.factor, m_.factor_order, seen + count) < count) return;
        for (index r = 0; r < count; ++r) mu[r] = seen[m_.factor_order[r]];
        solve_lower(count, count, m_.factor, 1, mu);
        solve_lower_transposed(count, count, m_.factor, mu);
        for (index r = 0; r < count; ++r) seen[m_.factor_order[r]] = mu[r];
        for (index r = 0; r < count; ++r) mu[r] = seen[r];
        for (index b = 0, r = 0; b < blocks_; ++b) {
            double square = 0.0, sum = 0.0;
            for (; r < m_.ends[b]; ++r) square += mu[r] * mu[r];
            const double* root = m_.roots + b * w_;
            for (index i = 0; i < n_; ++i) sum += root[i];
            add(w_, t_.bends * dt * std::sqrt(square) * sum, root, m_.begins[b] < 0 ? m_.loops : m_.tied);
        }
    }
    // Let the level keep directions along which its rows turn towards what it pulls across all that it can do.
    template <class After>
    void keep_turning(const Level& level, const RowWork& rows, const After& after) {
        const index wz = wide(nz_), count = level.end - level.begin, m = nz_ - rank_;
        double *across = m_.mu, size = 0.0, asked = 0.0, *B = m_.A;
        if (m == 0 || rank_ == 0 || rows.pull == nullptr) return;
        // p - A z, the least there is with the dofs that are stopped at rest: these are heavy rows
        double *square = m_.square, *s = m_.wide_row, *seen = m_.still, heavy = 0.0;
        for (index i = 0; i < nz_ * nz_; ++i) square[i] = 0.0;
        clear(w_, seen);
        for (index r = 0; r < count; ++r) {
            const double* a = m_.A + r * wz;
            across[r] = rows.weight[level.begin + r] * rows.pull[level.begin + r];
            asked += across[r] * across[r];
            for (index i = 0; i < nz_; ++i) {
                seen[i] += a[i] * across[r];
                for (index k = 0; k < nz_; ++k) square[i * nz_ + k] += a[i] * a[k];
            }
        }
        if (!(asked > 0.0)) return;
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
        for (index r = 0; r < count; ++r) {
            across[r] -= dot(wz, m_.A + r * wz, seen);
            size += across[r] * across[r];
        }
        if (!(size > t_.across * t_.across * asked)) return;
        size = 0.0;
        for (index r = 0; r < count; ++r) across[r] *= rows.weight[level.begin + r], size += across[r] * across[r];
        size = std::sqrt(size);
        // rows of N2* S N2, S d being how J* across changes along d
        double *step = m_.still, *change = m_.center;
        bool some = false;
        for (index c = 0; c < m; ++c) {
            clear(w_, step);
            for (index i = 0; i < n_; ++i) step[i] = t_.turn * m_.N[i * wz + rank_ + c];
            const double* J = after(step);
            if (!J) return;
            clear(w_, change);
            for (index r = 0; r < count; ++r) add(w_, across[r], J + (level.begin + r) * w_, change), add(w_, -across[r], rows.J + (level.begin + r) * w_, change);
            double* row = B + c * wz;
            clear(wz, row);
            for (index i = 0; i < n_; ++i) add(wz, change[i] / (t_.turn * size), m_.N + i * wz, row);
            for (index i = 0; i < rank_; ++i) row[i] = 0.0;
            some = some || dot(wz, row, row) > t_.turns * t_.turns;
        }
        if (some) reflect(m, rank_, t_.turns * t_.turns);
    }
    // a <- by j N
    void project(const double* j, double by, double* a) const {
        const index wz = wide(nz_);
        clear(wz, a);
        for (index i = 0; i < n_; ++i)
            if (j[i] != 0.0) add(wz, by * j[i], m_.N + i * wz, a);
    }
    // Whether postures alone tell y, well next to the other rows.
    bool firm(const Level& level, const double* J, const double* weight) const {
        if (!level.upright) return false;
        double most = 0.0, least = HUGE_VAL;
        for (index r = level.begin; r < level.end; ++r) most += weight[r] * weight[r] * dot(w_, J + r * w_, J + r * w_);
        for (index i = 0; i < n_; ++i) least = level.posture[i] < least ? level.posture[i] : least;
        return least > t_.firm * most;
    }
    // A <- J N, N turned by reflections of rows with pivoting.
    void turn(const Level& level, const double* J, double sees) {
        const index rows = level.end - level.begin, wz = wide(nz_);
        if (plain_)
            for (index i = 0; i < n_; ++i) {
                clear(wz, m_.N + i * wz);
                m_.N[i * wz + i] = 1.0;
            }
        double size = 1.0;  // rows are in radians and lengths
        for (index r = 0; r < rows; ++r) {
            const double* j = J + (level.begin + r) * w_;
            if (plain_)
                copy(wz, j, m_.A + r * wz);
            else
                project(j, 1.0, m_.A + r * wz);
            size = larger(size, dot(w_, j, j));
        }
        plain_ = false, turned_ = true;
        reflect(rows, 0, sees * sees * size);
        for (index r = 0; r < rows; ++r) clear(wz - rank_, m_.A + r * wz + rank_);
    }
    // Turn the columns of N from `first` on so that the rows A see the first ones of them, by more than `least`, squared.
    void reflect(index rows, index first, double least) {
        const index wz = wide(nz_);
        for (index r = 0; r < rows; ++r) m_.order[r] = r;
        for (rank_ = first; rank_ < nz_ && rank_ - first < rows; ++rank_) {
            index best = rank_ - first;
            double most = -1.0;
            for (index r = rank_ - first; r < rows; ++r) {
                const double* a = m_.A + m_.order[r] * wz;
                double square = 0.0;
                for (index i = rank_; i < nz_; ++i) square += a[i] * a[i];
                if (square > most) most = square, best = r;
            }
            if (!(most > least)) break;
            const index own = m_.order[best];
            m_.order[best] = m_.order[rank_ - first], m_.order[rank_ - first] = own;
            double* v = m_.wide_row;
            clear(wz, v);
            for (index i = rank_; i < nz_; ++i) v[i] = m_.A[own * wz + i];
            const double norm = std::sqrt(most), head = v[rank_];
            v[rank_] += head > 0.0 ? norm : -norm;
            const double tau = 1.0 / (norm * (norm + std::fabs(head)));
            for (index r = rank_ - first; r < rows; ++r) {
                double* a = m_.A + m_.order[r] * wz;
                add(wz, -tau * dot(wz, a, v), v, a);
            }
            for (index i = 0; i < n_; ++i) add(wz, -tau * dot(wz, m_.N + i * wz, v), v, m_.N + i * wz);
        }
    }
    // The step without damping, and dofs at limits that stop it. Of the first level it is the one that nothing bounds, cut off at the
    // bounds, which takes a factorization and no search.
    bool trial(const Level& level, double* held) {
        const index wz = wide(nz_);
        double* step = m_.next;
        if (blocks_ > 0) {
            if (!run(level)) return false;
            mark(level, held);
        } else {
            m_.qp = QpWork(nz_, most_rows(), m_.qp_memory);
            factored_ = free_minimum(program(false), m_.qp, gradient(level));
            if (!factored_) return false;
        }
        clear(w_, step), blocked_ = 0;
        for (index i = 0; i < n_; ++i) {
            const double y = m_.x[i] + (plain_ ? m_.qp.x[i] : dot(wz, m_.N + i * wz, m_.qp.x));
            const double within = y < m_.low[i] ? m_.low[i] : y > m_.high[i] ? m_.high[i] : y;
            step[i] = within - m_.x[i];
            if (held[i] != 0.0 && std::fabs(within) <= t_.still) m_.blocked[blocked_++] = i;
        }
        for (index c = 0; c < nz_; ++c) m_.center[c] = 0.0;
        return true;
    }
    // What part of the damping it takes, at that step; then with that of rows decided on.
    template <class After>
    double damped_part(const Level& level, const RowWork& rows, double dt, const After& after) {
        double own = 0.0, tied = 0.0, loops = 0.0, gained = 0.0, most = 0.0, *step = m_.next;
        for (index i = 0; i < n_; ++i) {
            const double square = 0.5 * step[i] * step[i];
            own += level.damping[i] * square, tied += m_.tied[i] * square, loops += m_.loops[i] * square;
            most = larger(most, std::fabs(step[i]));
        }
        if (!(own + tied + loops > 0.0)) return 0.0;
        for (index r = level.begin; r < level.end; ++r)
            if (rows.pull[r] != 0.0) gained += rows.weight[r] * rows.weight[r] * rows.pull[r] * dot(w_, rows.J + r * w_, step);
        if (own + tied + loops <= 0.25 * gained) return 0.0;
        const double far = t_.probe / most, by = 0.5 * dt / far;
        for (index i = 0; i < n_; ++i) m_.center[i] = far * step[i];
        if (const double* J = after(m_.center)) {
            double own_bent = 0.0, tied_bent = 0.0;
            for (index r = level.begin; r < level.end; ++r)
                if (rows.pull[r] != 0.0) own_bent += rows.weight[r] * rows.weight[r] * rows.pull[r] * turned_by(J, rows.J, r, step);
            for (index b = 0, r = 0; b < blocks_; r = m_.ends[b], ++b)
                for (index k = r; m_.begins[b] >= 0 && k < m_.ends[b]; ++k) tied_bent += m_.mu[k] * turned_by(J, rows.J, m_.begins[b] + k - r, step);
            const double some = level.given ? 1.0 : share(by * own_bent, own), more = share(by * tied_bent, tied);
            own *= some, tied *= more;
        }
        add(w_, 1.0, m_.tied, level.damping), add(w_, 1.0, m_.loops, level.damping);
        for (index c = 0; c < nz_; ++c) m_.center[c] = 0.0;
        const double bent = own + tied + loops;
        if (!(bent < 0.5 * gained)) return 1.0;
        return bent > 0.25 * gained ? 4.0 * bent / gained - 1.0 : 0.0;
    }
    double turned_by(const double* after, const double* before, index r, const double* step) const {
        return dot(w_, after + r * w_, step) - dot(w_, before + r * w_, step);
    }
    // Of a bound, what was found of it, with a margin.
    double share(double found, double bound) const {
        const double much = t_.margin * std::fabs(found);
        return bound > 0.0 && much < bound ? much / bound : 1.0;
    }
    void damp(const Level& level, double part) {
        for (index i = 0; i < n_; ++i) m_.full[i] = part * level.damping[i], weigh(i, m_.full[i]);
        damped_ = true, factored_ = false;
    }
    // H = A* A + N* P N and what is added to its diagonal, its upper triangle; three rows at a time.
    void squares(index rows, index wz, const Level& level) {
        for (index i = 0; i < nz_; ++i) clear(wz, m_.H + i * wz);
        index r = 0;
        for (; r + 3 <= rows; r += 3) {
            const double *a = m_.A + r * wz, *b = a + wz, *c = b + wz;
            for (index i = 0; i < nz_; ++i) {
                if (a[i] == 0.0 && b[i] == 0.0 && c[i] == 0.0) continue;
                const Few x(a[i]), y(b[i]), z(c[i]);
                double* h = m_.H + i * wz;
                for (index k = i / FEW * FEW; k < wz; k += FEW) put(few(h + k) + (x * few(a + k) + (y * few(b + k) + z * few(c + k))), h + k);
            }
        }
        for (; r < rows; ++r) {
            const double* a = m_.A + r * wz;
            for (index i = 0; i < nz_; ++i) {
                const index from = i / FEW * FEW;
                if (a[i] != 0.0) add(wz - from, a[i], a + from, m_.H + i * wz + from);
            }
        }
        for (index c = 0; c < nz_; ++c) m_.H[c * wz + c] += m_.own[c];
        for (index i = 0; level.upright && i < n_; ++i) weigh(i, level.posture[i]);
    }
    // H += by N_i* N_i
    void weigh(index i, double by) {
        const index wz = wide(nz_);
        if (plain_) {
            m_.H[i * wz + i] += by;
            return;
        }
        const double* row = m_.N + i * wz;
        for (index k = 0; k < nz_; ++k) {
            const index from = k / FEW * FEW;
            add(wz - from, by * row[k], row + from, m_.H + k * wz + from);
        }
    }

    // The program within the bounds, which may be left where closures come first.
    QuadraticProgram program(bool bounded) {
        bounded_ = bounded;
        QuadraticProgram p = {nz_, 0, m_.H, m_.rows, m_.least, m_.most, nullptr, nullptr, t_.rows, std::sqrt(dot(w_, m_.x, m_.x)), 0};
        const index wz = wide(nz_);
        if (bounded && plain_) p.least = m_.low, p.most = m_.high;
        if (bounded && !plain_)
            for (index i = 0; i < n_; ++i) bound(p, m_.N + i * wz, 1.0, m_.low[i] - m_.x[i], m_.high[i] - m_.x[i]);
        for (index r = 0; bounded && r < kept_; ++r) {
            const double* c = m_.C + r * w_;
            if (plain_) {
                bound(p, c, 0.0, m_.bound[r], HUGE_VAL);
                continue;
            }
            clear(wz, m_.wide_row);
            for (index i = 0; i < n_; ++i) add(wz, c[i], m_.N + i * wz, m_.wide_row);
            bound(p, m_.wide_row, dot(w_, c, c), m_.bound[r] - dot(w_, c, m_.x), HUGE_VAL);
        }
        p.changes = 10 * (p.n + p.rows) + 100;
        return p;
    }
    // What was decided before stays allowed, where it is at a bound up to rounding; a row, once of this square, of which nothing is
    // left has no say.
    void bound(QuadraticProgram& p, const double* row, double square, double least, double most) {
        const index wz = wide(nz_);
        copy(wz, row, m_.rows + p.rows * wz);
        if (!(dot(wz, row, row) > t_.rows * t_.rows * square)) least = -HUGE_VAL, most = HUGE_VAL;
        m_.least[p.rows] = solved_ && least > 0.0 ? 0.0 : least, m_.most[p.rows] = solved_ && most < 0.0 ? 0.0 : most;
        ++p.rows;
    }
    index most_rows() const { return n_ + kept_; }
    bool run(const Level& level) {
        if (approach(level)) return true;
        return !solved_ && yield() && approach(level);
    }
    // Proximal steps: what rows do not see stays near where it was, until no step is needed.
    bool approach(const Level& level) {
        constexpr index STEPS = 64;  // most levels need one or two, nearly flat ones that bounds hold up to 25, or all
        for (index step = 0; step < STEPS; ++step) {
            if (!attempt(level)) return false;
            double far = 0.0, size = 0.0;
            for (index c = 0; c < nz_; ++c) {
                size = larger(size, std::fabs(m_.qp.x[c]));
                if (c >= rank_ && !level.upright) far = larger(far, std::fabs(m_.qp.x[c] - m_.center[c])), m_.center[c] = m_.qp.x[c];
            }
            if (!(far > t_.rows * size)) break;
        }
        return true;
    }
    bool attempt(const Level& level) {
        QuadraticProgram p = program(true);
        p.factored = factored_;
        m_.qp = QpWork(nz_, most_rows(), m_.qp_memory);
        return solve_qp(p, m_.qp, gradient(level)) == Verdict::YES;
    }

    // Bounds that cannot all be kept give way, as little as they can: least squares of what is missing.
    bool yield() {
        const index spare = kept_ + (closed_ ? n_ : 0), m = nz_ + spare, wm = wide(m), wz = wide(nz_);
        if (spare == 0) return false;
        QuadraticProgram p = {m, 0, m_.elastic_H, m_.elastic_rows, m_.elastic_low, m_.elastic_high, m_.elastic_least, m_.elastic_most, t_.rows, std::sqrt(dot(w_, m_.x, m_.x)), 0};
        for (index i = 0; i < m; ++i) {
            clear(wm, m_.elastic_H + i * wm);
            m_.elastic_H[i * wm + i] = i < nz_ ? t_.slow : 1.0;
            const bool boxed = plain_ && i < nz_;
            m_.elastic_least[i] = i >= nz_ ? 0.0 : boxed ? m_.low[i] : -HUGE_VAL, m_.elastic_most[i] = boxed ? m_.high[i] : HUGE_VAL;
        }
        const auto row = [&](const double* c, index own, double sign, double low, double high) {
            double* to = m_.elastic_rows + p.rows * wm;
            clear(wm, to), copy(nz_, c, to);
            to[nz_ + own] = sign;
            m_.elastic_low[p.rows] = low, m_.elastic_high[p.rows] = high, ++p.rows;
        };
        for (index r = 0; r < kept_; ++r) {
            const double* c = m_.C + r * w_;
            clear(wz, m_.wide_row);
            if (plain_)
                copy(wz, c, m_.wide_row);
            else
                for (index i = 0; i < n_; ++i) add(wz, c[i], m_.N + i * wz, m_.wide_row);
            row(m_.wide_row, r, 1.0, m_.bound[r] - dot(w_, c, m_.x), HUGE_VAL);
        }
        for (index i = 0; closed_ && i < n_; ++i) {
            row(m_.N + i * wz, kept_ + i, 1.0, m_.low[i] - m_.x[i], HUGE_VAL);
            row(m_.N + i * wz, kept_ + i, -1.0, -HUGE_VAL, m_.high[i] - m_.x[i]);
        }
        p.changes = 10 * (p.n + p.rows) + 100;
        m_.elastic = QpWork(m, p.rows, m_.elastic_memory);
        const auto slope = [&](const double* s, double* g) {
            for (index i = 0; i < wm; ++i) g[i] = i < nz_ ? t_.slow * s[i] : i < m ? s[i] : 0.0;
        };
        if (solve_qp(p, m_.elastic, slope) != Verdict::YES) return false;
        double size = 0.0;
        for (index i = 0; i < m; ++i) size = larger(size, std::fabs(m_.elastic.x[i]));
        for (index i = 0; i < spare; ++i) {
            const double s = m_.elastic.x[nz_ + i] + 10.0 * t_.rows * size;  // so that rounding leaves them possible
            if (i < kept_)
                m_.bound[i] -= s;
            else
                m_.low[i - kept_] -= s, m_.high[i - kept_] += s;
        }
        return true;
    }

    void mark(const Level& level, double* held) {
        const index wz = wide(nz_);
        double size = 0.0;
        clear(wz, m_.wide_row);
        gradient(level)(m_.wide_row, m_.qp.g);
        for (index i = 0; i < nz_; ++i) size = larger(size, std::fabs(m_.qp.g[i]));
        const double* push = m_.qp.multipliers + (plain_ ? 0 : nz_);
        for (index i = 0; i < n_; ++i) held[i] = std::fabs(push[i]) > t_.holds * size ? 1.0 : 0.0;
    }
    // x <- x + N z, within the bounds to the last digit.
    void move() {
        const index wz = wide(nz_);
        for (index i = 0; i < n_; ++i) m_.x[i] += plain_ ? m_.qp.x[i] : dot(wz, m_.N + i * wz, m_.qp.x);
        if (!bounded_) return;
        for (index i = 0; i < n_; ++i) m_.x[i] = m_.x[i] < m_.low[i] ? m_.low[i] : m_.x[i] > m_.high[i] ? m_.high[i] : m_.x[i];
    }

    // N <- what of N the rows of the level do not see; nothing, where a posture tells all.
    void release() {
        const index after = turned_ ? nz_ - rank_ : 0, wz = wide(nz_), wa = wide(after);
        for (index i = 0; i < n_; ++i) {
            clear(wa, m_.next + i * wa);
            copy(after, m_.N + i * wz + rank_, m_.next + i * wa);
        }
        copy(n_ * wa, m_.next, m_.N);
        nz_ = after, turned_ = false;
    }
};

SOACRAFT_RIGID_END
