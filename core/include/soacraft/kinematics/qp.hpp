// A small dense quadratic program by the dual active-set method of Goldfarb and Idnani (1983):
//
//     min over x of  x* H x / 2 + g* x,     lower <= C x <= upper,     least <= x <= most
//
// H = L L* is positive definite; where two bounds are equal there is an equality. J = L^-* is turned so that its first columns
// span the rows that hold, R being their triangle: J1* C* = R, J2* C* = 0. O(n^3) to begin, O(n^2) a row that comes or goes.
//
// The gradient H x + g is asked for as a function. One of least squares, A* (A x - b), is more exact than H, and what it says
// at the end takes away what the factors of H have lost: x - J2 J2* gradient.
#pragma once

#include "soacraft/loops/work.hpp"
#include "wide.hpp"

namespace soacraft {
namespace kinematics {

struct QuadraticProgram {
    index n, rows;
    const double* H;                        // (n, wide(n)): the upper triangle is read
    const double *C, *lower, *upper;        // (rows, wide(n)), (rows), (rows)
    const double *least, *most;             // (n), or null: no bounds of x itself
    double tolerance;                       // of a row, relative to the size of what is added in it,
    double scale;                           // x being a part of something of this size
    index changes;                          // of the active set, at most
    bool factored = false;                  // whether the work has the factor of H already (`free_minimum`)
};

enum class Verdict : index { YES = 0, NOT_POSITIVE = 1, NO_SOLUTION = 2, TOO_LONG = 3 };

}  // namespace kinematics
}  // namespace soacraft

SOACRAFT_RIGID_BEGIN

using kinematics::QuadraticProgram;
using kinematics::Verdict;

// Memory of a program, and its solution: x (n) and multipliers, first of x itself (n), then of the rows: positive where the
// lower bound holds, negative where the upper one does.
struct QpWork {
    double *x, *multipliers, *U, *J, *R, *d, *z, *r, *u, *g, *length;
    index *which, *side;
    std::size_t bytes;

    QpWork() = default;
    QpWork(index n, index rows, char* memory) {
        Cutter cut{memory};
        const index w = wide(n);
        cut(x, w), cut(multipliers, n + rows), cut(U, n * w), cut(J, n * w), cut(R, n * w), cut(d, w), cut(z, w), cut(r, w);
        cut(u, w), cut(g, w), cut(length, rows), cut(which, n), cut(side, n + rows);
        bytes = cut.taken;
    }
};

// H = U* U, in place of the upper triangle (n, wide(n)); false where it is not positive definite.
inline bool factor_upper(index n, double* U) {
    const index w = wide(n);
    for (index k = 0; k < n; ++k) {
        double* u = U + k * w;
        const double pivot = u[k];
        if (!(pivot > 0.0)) return false;
        const double by = 1.0 / std::sqrt(pivot);
        for (index i = k / FEW * FEW; i < w; i += FEW) put(Few(by) * few(u + i), u + i);
        for (index i = k + 1; i < n; ++i) {
            const index at = i / FEW * FEW;
            add(w - at, -u[i], u + at, U + i * w + at);
        }
    }
    return true;
}

// x where nothing bounds it, into the work, with the factor of H.
template <class Gradient>
bool free_minimum(const QuadraticProgram& p, const QpWork& m, const Gradient& gradient) {
    const index n = p.n, w = wide(n);
    copy(n * w, p.H, m.U);
    if (!factor_upper(n, m.U)) return false;
    clear(w, m.x);
    for (int round = 0; round < 2; ++round) {
        gradient(m.x, m.g);
        for (index k = 0; k < n; ++k) {  // U* y = g
            double* u = m.U + k * w;
            const double y = m.g[k] / u[k];
            for (index i = k + 1; i < n; ++i) m.g[i] -= y * u[i];
            m.g[k] = y;
        }
        for (index k = n; k-- > 0;) {  // U d = y
            const double* u = m.U + k * w;
            double sum = m.g[k];
            for (index i = k + 1; i < n; ++i) sum -= u[i] * m.g[i];
            m.g[k] = sum / u[k];
            m.x[k] -= m.g[k];
        }
    }
    return true;
}

template <class Gradient>
class DualActiveSet {
public:
    // gradient(x, to): H x + g, of wide rows.
    DualActiveSet(const QuadraticProgram& p, const QpWork& work, const Gradient& gradient)
        : p_(p), n_(p.n), w_(wide(p.n)), own_(p.least ? p.n : 0), m_(work), gradient_(gradient) {}

    Verdict solve() {
        if (!begin()) return Verdict::NOT_POSITIVE;
        for (index polished = 0, changes = 0; changes < p_.changes; ++changes) {
            const Broken worst = choose();
            if (worst.row >= 0) {
                if (!take(worst)) return Verdict::NO_SOLUTION;
            } else if (polished++ == 2 || polish()) {
                return finish();
            }
        }
        return Verdict::TOO_LONG;
    }

private:
    // A row, first those of x itself, that is off by `by` below (sign 1) or above (-1) its bound.
    struct Broken {
        index row;
        double sign, by;
    };
    static constexpr double MOVES = 1e-11;    // what J2 sees of a row, relative to all of J, that is less is rounding
    static constexpr double PUSHES = 1e-12;   // multipliers that are more, relative to the gradient, count

    const QuadraticProgram& p_;
    const index n_, w_, own_;
    const QpWork& m_;
    const Gradient& gradient_;
    index active_ = 0;
    double size_ = 0.0;  // |J|

    double* J(index k) const { return m_.J + k * w_; }  // column k of J
    double* R(index k) const { return m_.R + k * w_; }  // column k of R
    double lower(index k) const { return k < own_ ? p_.least[k] : p_.lower[k - own_]; }
    double upper(index k) const { return k < own_ ? p_.most[k] : p_.upper[k - own_]; }
    bool equality(index k) const { return lower(k) == upper(k); }
    const double* row(index k) const { return p_.C + (k - own_) * w_; }

    // H = U* U, J = U^-1 (by columns: the rows of U^-*), x where nothing bounds it.
    bool begin() {
        double *U = m_.U, squares = 0.0;
        if (!p_.factored) {
            copy(n_ * w_, p_.H, U);
            if (!factor_upper(n_, U)) return false;
        }
        for (index k = 0; k < n_; ++k) {
            double* to = J(k);
            const index length = wide(k + 1);
            clear(w_, to);
            for (index i = 0; i < k; ++i)
                if (U[i * w_ + k] != 0.0) add(wide(i + 1), -U[i * w_ + k], J(i), to);
            to[k] += 1.0;
            const double by = 1.0 / U[k * w_ + k];
            for (index i = 0; i < length; ++i) to[i] *= by;
            squares += dot(length, to, to);
        }
        size_ = std::sqrt(squares);
        active_ = 0;
        clear(w_, m_.x), clear(w_, m_.d), clear(w_, m_.u);
        for (index k = 0; k < p_.rows; ++k) m_.length[k] = std::sqrt(dot(w_, p_.C + k * w_, p_.C + k * w_));
        for (index k = 0; k < own_ + p_.rows; ++k) m_.side[k] = 0;
        descend(), descend();
        return true;
    }

    // x <- x - J2 J2* gradient(x)
    void descend() {
        gradient_(m_.x, m_.g);
        for (index k = active_; k < n_; ++k) m_.d[k] = -dot(w_, J(k), m_.g);
        for (index k = active_; k < n_; ++k) add(w_, m_.d[k], J(k), m_.x);
    }

    double size() const { return p_.scale + std::sqrt(dot(w_, m_.x, m_.x)); }

    // By how much a row is off its bounds, at most, and what of that is rounding.
    Broken look(index k) const {
        const double value = k < own_ ? m_.x[k] : dot(w_, row(k), m_.x);
        const double low = lower(k) - value, high = value - upper(k);
        return low > high ? Broken{k, 1.0, low} : Broken{k, -1.0, high};
    }
    double rounding(const Broken& x, double size) const {
        const double length = x.row < own_ ? 1.0 : m_.length[x.row - own_];
        return p_.tolerance * (size * length + std::fabs(x.sign > 0.0 ? lower(x.row) : upper(x.row)));
    }
    // The row that is broken most, equalities first.
    Broken choose() const {
        Broken worst = {-1, 0.0, 0.0};
        bool exact = false;
        const double size = this->size();
        for (index k = 0; k < own_ + p_.rows; ++k) {
            if (m_.side[k] != 0) continue;
            const Broken found = look(k);
            const bool equal = equality(k);
            if (!equal && !(found.by > rounding(found, size))) continue;
            if (exact ? !equal || !(found.by > worst.by) : !equal && !(found.by > worst.by)) continue;
            worst = found, exact = equal;
        }
        return worst;
    }

    // d = J* c sign of a row; |c|
    double seen(index k, double sign) {
        if (k < own_) {
            for (index m = 0; m < n_; ++m) m_.d[m] = sign * J(m)[k];
            return 1.0;
        }
        const double* c = row(k);
        for (index m = 0; m < n_; ++m) m_.d[m] = sign * dot(w_, J(m), c);
        return m_.length[k - own_];
    }

    // Let a row hold, dropping others on the way; false where nothing satisfies them all.
    bool take(const Broken& broken) {
        double mine = 0.0, off = broken.by;
        const index k = broken.row;
        for (index rounds = 0; rounds <= p_.changes; ++rounds) {
            const double length = seen(k, broken.sign);
            double free = 0.0;
            clear(w_, m_.z);
            for (index m = active_; m < n_; ++m) {
                free += m_.d[m] * m_.d[m];
                if (m_.d[m] != 0.0) add(w_, m_.d[m], J(m), m_.z);
            }
            const double least = MOVES * size_ * length;
            const bool moves = free > least * least;
            if (!moves && implied(k)) return true;
            copy(active_, m_.d, m_.r);
            solve_triangle(m_.r);
            double part = HUGE_VAL;
            index leaves = -1;
            for (index j = 0; j < active_; ++j)
                if (m_.r[j] > 0.0 && !equality(m_.which[j]) && m_.u[j] < part * m_.r[j]) part = m_.u[j] / m_.r[j], leaves = j;
            const double whole = moves ? off / free : HUGE_VAL, t = part < whole ? part : whole;
            if (!(t < HUGE_VAL)) return implied(k);
            for (index j = 0; j < active_; ++j) m_.u[j] -= t * m_.r[j];
            mine += t;
            if (moves) add(w_, t, m_.z, m_.x), off -= t * free;
            if (moves && t == whole) {
                hold(k, broken.sign > 0.0 ? 1 : -1, mine);
                return true;
            }
            drop(leaves);
        }
        return false;
    }

    // Whether the rows that hold, once they do so to rounding, let another one hold too.
    bool implied(index k) {
        onto_rows();
        const Broken now = look(k);
        if (now.by > rounding(now, size())) return false;
        m_.side[k] = equality(k) ? 2 : 0;
        return true;
    }

    // r <- R^-1 r
    void solve_triangle(double* r) const {
        for (index i = active_; i-- > 0;) {
            r[i] /= R(i)[i];
            for (index m = 0; m < i; ++m) r[m] -= r[i] * R(i)[m];
        }
    }

    // The row whose d and z were taken last joins: one reflection turns J2 so that a single column sees it.
    void hold(index k, index side, double multiplier) {
        const index a = active_;
        double square = 0.0;
        for (index m = a; m < n_; ++m) square += m_.d[m] * m_.d[m];
        const double first = m_.d[a], size = std::sqrt(square), beta = first > 0.0 ? -size : size;
        const double tau = 1.0 / (size * (size + std::fabs(first)));
        add(w_, -beta, J(a), m_.z);  // J2 v, v = d2 - beta e1
        for (index m = a; m < n_; ++m) {
            const double v = m == a ? first - beta : m_.d[m];
            if (v != 0.0) add(w_, -tau * v, m_.z, J(m));
        }
        clear(w_, R(a)), copy(a, m_.d, R(a));
        R(a)[a] = beta;
        m_.which[a] = k, m_.u[a] = multiplier, m_.side[k] = side, ++active_;
    }

    void drop(index j) {
        m_.side[m_.which[j]] = 0;
        --active_;
        for (index m = j; m < active_; ++m) {
            m_.which[m] = m_.which[m + 1], m_.u[m] = m_.u[m + 1];
            copy(w_, R(m + 1), R(m));
        }
        for (index m = j; m < active_; ++m) {  // rows m and m + 1 of R, back to a triangle
            const double h = std::hypot(R(m)[m], R(m)[m + 1]);
            if (h == 0.0) continue;
            const double c = R(m)[m] / h, s = R(m)[m + 1] / h;
            for (index i = m; i < active_; ++i) {
                const double x = R(i)[m], y = R(i)[m + 1];
                R(i)[m] = c * x + s * y, R(i)[m + 1] = c * y - s * x;
            }
            for (index i = 0; i < w_; ++i) {
                const double x = J(m)[i], y = J(m + 1)[i];
                J(m)[i] = c * x + s * y, J(m + 1)[i] = c * y - s * x;
            }
        }
    }

    // x and the multipliers once more, from the gradient. False where a row was let go that would rather not push.
    bool polish() {
        bool stays = true;
        for (;;) {
            onto_rows();
            descend();
            gradient_(m_.x, m_.g);
            for (index j = 0; j < active_; ++j) m_.u[j] = dot(w_, J(j), m_.g);
            solve_triangle(m_.u);
            double size = 0.0, least = 0.0;
            index leaves = -1;
            for (index j = 0; j < active_; ++j) size = larger(size, std::fabs(m_.u[j]));
            for (index j = 0; j < active_; ++j)
                if (!equality(m_.which[j]) && m_.u[j] < least) least = m_.u[j], leaves = j;
            if (leaves < 0 || !(least < -PUSHES * size)) break;
            drop(leaves), stays = false;
        }
        return stays && choose().row < 0;
    }
    // x <- x + J1 R^-* (bounds - C x): the rows that hold do so to rounding.
    void onto_rows() {
        for (index j = 0; j < active_; ++j) {
            const index k = m_.which[j];
            const double value = k < own_ ? m_.x[k] : dot(w_, row(k), m_.x);
            const double sign = static_cast<double>(m_.side[k]);
            double off = sign * ((sign > 0.0 ? lower(k) : upper(k)) - value);
            for (index i = 0; i < j; ++i) off -= R(j)[i] * m_.r[i];
            m_.r[j] = off / R(j)[j];
        }
        for (index j = 0; j < active_; ++j) add(w_, m_.r[j], J(j), m_.x);
    }

    Verdict finish() {
        for (index k = 0; k < n_ + p_.rows; ++k) m_.multipliers[k] = 0.0;
        for (index j = 0; j < active_; ++j) {
            const index k = m_.which[j];
            if (!(m_.u[j] > 0.0) && !equality(k)) m_.u[j] = 1e-300;  // it holds, and pushes no more than rounding
            m_.multipliers[k < own_ ? k : k - own_ + n_] = static_cast<double>(m_.side[k]) * m_.u[j];
            if (k < own_) m_.x[k] = m_.side[k] > 0 ? p_.least[k] : p_.most[k];
        }
        for (index i = 0; i < n_; ++i)
            if (!std::isfinite(m_.x[i])) return Verdict::NO_SOLUTION;
        return Verdict::YES;
    }
};

template <class Gradient>
Verdict solve_qp(const QuadraticProgram& p, const QpWork& work, const Gradient& gradient) {
    return DualActiveSet<Gradient>(p, work, gradient).solve();
}

SOACRAFT_RIGID_END
