// One level of tasks in what the levels before have left, within bounds:
//
//     y = x + N z,     min over z of  |W (J y - wish)|^2 + |P y - p|^2 + z* D z,     low <= y <= high,  C y >= least
//
// N spans what the rows of the levels before do not see. Its columns are turned so that the rows of this one see the first of them:
// of the others, what bounds ask for is found by proximal steps. Bounds that cannot all be kept give way as little as they can.
// `levels.hpp` goes through the levels and says what D is. O(rows nv^2 + nv^3).
#pragma once

#include "qp.hpp"
#include "soacraft/loops/linear/dense.hpp"
#include "task_rows.hpp"

SOACRAFT_RIGID_BEGIN

using kinematics::LevelTolerances;

struct LevelWork {
    double *x, *low, *high, *N, *next, *A, *b, *H, *D, *rows, *least, *most, *full, *own, *center, *still, *ones, *wide_row, *C, *bound, *shift;
    double *ties, *square, *factor, *mu, *scratch, *roots, *tied, *loops;  // rows G that are decided on, G G* = factor factor*, the roots of their columns
    index *order, *factor_order, *axis_order, *ends, *begins, *blocked, *stopping;  // ends: of their blocks, in rows; dofs at bounds, and kept rows, that hold a level back
    double *calm, *sum, *axes, *weak, *bent, *outweighed, *factor_of;  // of the damping: (n, wide(n)) each
    double *unmet, *unmet_posture, *much, *asked, *limited;  // (rows), and (n) each
    double *keeps, *shared, *sharing;  // D as rows bend; directions that levels before keep in part, of y and of z: (n, wide(n)) each
    double* eigen;  // three rows
    QpWork qp, elastic;
    char *qp_memory, *elastic_memory;
    double *elastic_H, *elastic_rows, *elastic_low, *elastic_high, *elastic_least, *elastic_most;

    template <class Cut>
    LevelWork(index n, index count, index all, index levels, index kept, bool closed, Cut& cut) {
        const index w = wide(n), bounds = n + kept, spare = kept + (closed ? n : 0), m = n + spare, mw = wide(m);
        const index elastic_count = spare > 0 ? kept + (closed ? 2 * n : n) : 0, size = spare > 0 ? m : 0;
        cut(x, w), cut(low, w), cut(high, w), cut(N, n * w), cut(next, n * w), cut(A, count * w), cut(b, count), cut(H, n * w), cut(D, n * w);
        cut(rows, bounds * w), cut(least, bounds), cut(most, bounds), cut(full, w), cut(own, w), cut(center, w), cut(still, w), cut(ones, w), cut(wide_row, w), cut(C, kept * w);
        cut(bound, kept), cut(shift, bounds), cut(order, count);
        const index decided = closed || levels > 1 || kept > 0 ? all + (2 * levels + 1) * n + kept : 0;
        cut(ties, decided * w), cut(square, decided * decided), cut(factor, decided * decided), cut(mu, decided), cut(scratch, 2 * decided);
        cut(roots, (4 * levels + 3) * w), cut(factor_order, decided), cut(ends, 4 * levels + 2), cut(begins, 4 * levels + 2), cut(blocked, n), cut(stopping, kept), cut(tied, w), cut(loops, w);
        cut(calm, n * w), cut(sum, n * w), cut(axes, n * w), cut(weak, n * w), cut(bent, n * w), cut(outweighed, n * w), cut(factor_of, n * w), cut(axis_order, n);
        cut(keeps, n * w), cut(shared, n * w), cut(sharing, n * w), cut(eigen, 3 * w), cut(unmet, count), cut(unmet_posture, w), cut(much, w), cut(asked, w), cut(limited, w);
        cut(qp_memory, static_cast<index>(QpWork(n, bounds, nullptr).bytes));
        cut(elastic_memory, size > 0 ? static_cast<index>(QpWork(m, elastic_count, nullptr).bytes) : 0);
        cut(elastic_H, size * mw), cut(elastic_rows, elastic_count * mw), cut(elastic_low, elastic_count), cut(elastic_high, elastic_count);
        cut(elastic_least, size), cut(elastic_most, size);
    }
};

class LevelProgram {
public:
    const double* y() const { return m_.x; }

protected:
    const index n_, w_, kept_;
    const bool closed_;
    const LevelTolerances& t_;
    LevelWork& m_;
    index nz_;             // columns of N
    index rank_ = 0;       // how many of them the rows of the level see,
    bool turned_ = false;  // if N was turned so
    bool damped_ = false;  // by a diagonal,
    bool curbed_ = false;  // by D
    bool shared_ = false;    // whether levels before keep directions in part
    bool factored_ = false;  // whether the work of the program has the factor of H
    bool plain_ = true;      // N is the identity, x is zero
    bool solved_ = false;
    bool bounded_ = false;
    index stopping_ = 0;  // rows that are kept and hold the level back

    static double squared(double x) { return x * x; }

    LevelProgram(index n, index kept, bool closed, const LevelTolerances& tolerances, LevelWork& work)
        : n_(n), w_(wide(n)), kept_(kept), closed_(closed), t_(tolerances), m_(work), nz_(n) {
        clear(w_, m_.x);
    }

    // A* (A z - b) + D z + N* (P (x + N z) - p + F N z), F being the diagonal that a first level is damped by
    struct Gradient {
        const LevelProgram& of;
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
            for (index c = 0; of.shared_ && c < of.nz_; ++c) g[c] += rigid::SOACRAFT_TARGET::dot(wz, m.sharing + c * wz, z);
            for (index c = 0; of.curbed_ && c < of.nz_; ++c) g[c] += rigid::SOACRAFT_TARGET::dot(wz, m.D + c * wz, z);
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
        clear(w_, m_.full), damped_ = false, curbed_ = false, factored_ = false;
        share(mean);
        squares(rows, wz, level);
        return true;
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
        for (index c = 0; shared_ && c < nz_; ++c) add(wz, 1.0, m_.sharing + c * wz, m_.H + c * wz);
        for (index c = 0; curbed_ && c < nz_; ++c) add(wz, 1.0, m_.D + c * wz, m_.H + c * wz);
    }
    // What it costs a level, whose squares have this mean, to go along directions that levels before keep in part: mean N* Q N.
    void share(double mean) {
        if (!shared_) return;
        const index wz = wide(nz_);
        for (index c = 0; c < nz_; ++c) clear(wz, m_.sharing + c * wz);
        double* row = m_.wide_row;
        for (index i = 0; i < n_; ++i) {
            clear(wz, row);
            for (index k = 0; k < n_; ++k)
                if (m_.shared[i * w_ + k] != 0.0) add(wz, mean * m_.shared[i * w_ + k], m_.N + k * wz, row);
            for (index c = 0; c < nz_; ++c) add(wz, m_.N[i * wz + c], row, m_.sharing + c * wz);
        }
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
    // left has no say, and one of which little is left holds up to the rounding that it had.
    void bound(QuadraticProgram& p, const double* row, double square, double least, double most) {
        const index wz = wide(nz_);
        const double left = dot(wz, row, row), slack = left < squared(t_.faint) * square ? t_.rows * t_.faint * std::sqrt(square) * p.scale : 0.0;
        copy(wz, row, m_.rows + p.rows * wz);
        if (!(left > squared(t_.sees) * square)) least = -HUGE_VAL, most = HUGE_VAL;
        m_.least[p.rows] = (solved_ && least > 0.0 ? 0.0 : least) - slack, m_.most[p.rows] = (solved_ && most < 0.0 ? 0.0 : most) + slack;
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
        for (index i = 0; !closed_ && !plain_ && i < n_; ++i) row(m_.N + i * wz, 0, 0.0, m_.low[i] - m_.x[i], m_.high[i] - m_.x[i]);  // these do not
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

    // Dofs whose bounds hold a step back, and rows that are kept and do.
    void mark(const Level& level, double* held) {
        const index wz = wide(nz_);
        double size = 0.0;
        clear(wz, m_.wide_row);
        gradient(level)(m_.wide_row, m_.qp.g);
        for (index i = 0; i < nz_; ++i) size = larger(size, std::fabs(m_.qp.g[i]));
        const double* push = m_.qp.multipliers + (plain_ ? 0 : nz_);
        for (index i = 0; i < n_; ++i) held[i] = std::fabs(push[i]) > t_.holds * size ? 1.0 : 0.0;
        stopping_ = 0;
        for (index r = 0; r < kept_; ++r)
            if (std::fabs(push[n_ + r]) > t_.holds * size) m_.stopping[stopping_++] = r;
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
