// A small dense quadratic program by the dual active-set method of Goldfarb and Idnani (1983):
//
//     min over x of  x* H x / 2 + g* x,     lower <= C x <= upper
//
// H is positive definite; where lower equals upper a row is an equality. O(n^3) to begin, O(n^2) a row that comes or goes.
#pragma once

#include <cmath>

#include "soacraft/config.hpp"

namespace soacraft {
namespace kinematics {

struct QuadraticProgram {
    index n, rows;
    const double *H, *g, *C, *lower, *upper;  // (n, n), (n), (rows, n), (rows), (rows)
    double tolerance;                         // of a row, relative to the size of what is added in it
    index most;                               // changes of the active set
};

enum class Solved : index { YES = 0, NOT_POSITIVE = 1, NO_SOLUTION = 2, TOO_LONG = 3 };

// Numbers that `solve_qp` needs besides.
inline index room_of_qp(index n, index rows) { return 2 * n * n + 5 * n + rows; }

class DualActiveSet {
public:
    // x (n) and the multipliers of the rows, (rows): positive where the lower bound holds, negative where the upper one does.
    DualActiveSet(const QuadraticProgram& p, double* x, double* multipliers, double* room)
        : p_(p), n_(p.n), x_(x), y_(multipliers), J_(room), R_(J_ + p.n * p.n), d_(R_ + p.n * p.n), z_(d_ + p.n), r_(z_ + p.n), u_(r_ + p.n), a_(u_ + p.n), side_(a_ + p.n) {}

    Solved solve() {
        if (!begin()) return Solved::NOT_POSITIVE;
        for (index k = 0; k < p_.rows; ++k) side_[k] = 0.0, y_[k] = 0.0;
        for (index changes = 0; changes < p_.most; ++changes) {
            index row = -1;
            double sign = 0.0, s = 0.0;
            choose(row, sign, s);
            if (row < 0) return finish();
            if (!take(row, sign, s)) return Solved::NO_SOLUTION;
        }
        return Solved::TOO_LONG;
    }

private:
    const QuadraticProgram& p_;
    const index n_;
    double *x_, *y_, *J_, *R_, *d_, *z_, *r_, *u_, *a_, *side_;
    index active_ = 0;

    double& J(index i, index k) { return J_[i * n_ + k]; }
    double& R(index i, index k) { return R_[i * n_ + k]; }
    const double* row(index k) const { return p_.C + k * n_; }
    bool equality(index k) const { return p_.lower[k] == p_.upper[k]; }
    double dot(const double* a, const double* b) const {
        double sum = 0.0;
        for (index i = 0; i < n_; ++i) sum += a[i] * b[i];
        return sum;
    }

    // J = L^-T of H = L L*, x = -H^-1 g.
    bool begin() {
        for (index i = 0; i < n_; ++i)
            for (index k = 0; k <= i; ++k) {
                double s = p_.H[i * n_ + k];
                for (index m = 0; m < k; ++m) s -= R(i, m) * R(k, m);
                if (i == k) {
                    if (!(s > 0.0)) return false;
                    R(i, i) = std::sqrt(s);
                } else {
                    R(i, k) = s / R(k, k);
                }
            }
        for (index c = 0; c < n_; ++c)  // columns of L^-1 are rows of J
            for (index i = 0; i < n_; ++i) {
                double s = i == c ? 1.0 : 0.0;
                for (index m = c; m < i; ++m) s -= R(i, m) * J(c, m);
                J(c, i) = i < c ? 0.0 : s / R(i, i);
            }
        for (index k = 0; k < n_; ++k) {
            double s = 0.0;
            for (index i = 0; i < n_; ++i) s += J(i, k) * p_.g[i];
            d_[k] = -s;
        }
        for (index i = 0; i < n_; ++i) {
            double s = 0.0;
            for (index k = 0; k < n_; ++k) s += J(i, k) * d_[k];
            x_[i] = s;
        }
        active_ = 0;
        return true;
    }

    // The row that is broken most, equalities first; its sign (1: the lower bound) and by how much, less than zero.
    void choose(index& best, double& sign, double& s) const {
        double most = 0.0;
        bool first = false;
        for (index k = 0; k < p_.rows; ++k) {
            if (side_[k] != 0.0) continue;
            const double* c = row(k);
            double value = 0.0, size = 0.0;
            for (index i = 0; i < n_; ++i) value += c[i] * x_[i], size += std::fabs(c[i] * x_[i]);
            const double low = p_.lower[k] - value, high = value - p_.upper[k];
            const double broken = low > high ? low : high;
            const double bound = low > high ? p_.lower[k] : p_.upper[k];
            const bool exact = equality(k);
            const double limit = p_.tolerance * (size + std::fabs(bound));
            if (!(broken > limit) && !exact) continue;
            if (!(broken > most) && !(exact && !first)) continue;
            if (first && !exact) continue;
            best = k, most = broken, sign = low > high ? 1.0 : -1.0, s = -broken, first = exact;
        }
    }

    // Let a row hold, dropping others on the way; false where nothing satisfies them all.
    bool take(index k, double sign, double s) {
        double mine = 0.0;
        const double* c = row(k);
        for (index rounds = 0; rounds <= p_.most; ++rounds) {
            for (index m = 0; m < n_; ++m) {
                double sum = 0.0;
                for (index i = 0; i < n_; ++i) sum += J(i, m) * c[i];
                d_[m] = sign * sum;
            }
            double free = 0.0, all = 0.0;
            for (index m = 0; m < n_; ++m) all += d_[m] * d_[m];
            for (index m = active_; m < n_; ++m) free += d_[m] * d_[m];
            const bool moves = free > 1e-24 * all;
            for (index i = 0; i < n_; ++i) {
                double sum = 0.0;
                for (index m = active_; m < n_; ++m) sum += J(i, m) * d_[m];
                z_[i] = sum;
            }
            for (index i = active_ - 1; i >= 0; --i) {
                double sum = d_[i];
                for (index m = i + 1; m < active_; ++m) sum -= R(i, m) * r_[m];
                r_[i] = sum / R(i, i);
            }
            double part = HUGE_VAL;
            index leaves = -1;
            for (index j = 0; j < active_; ++j)
                if (r_[j] > 0.0 && !equality(which(j)) && u_[j] / r_[j] < part) part = u_[j] / r_[j], leaves = j;
            const double whole = moves ? -s / free : HUGE_VAL;
            const double t = part < whole ? part : whole;
            if (!(t < HUGE_VAL)) return equality(k) && std::fabs(s) <= p_.tolerance * (1.0 + std::fabs(p_.lower[k])) ? hold(k, 0.0) : false;
            for (index j = 0; j < active_; ++j) u_[j] -= t * r_[j];
            mine += t;
            if (moves) {
                for (index i = 0; i < n_; ++i) x_[i] += t * z_[i];
                s += t * free;
            }
            if (moves && t == whole) {
                add(k, sign, mine);
                return true;
            }
            drop(leaves);
        }
        return false;
    }
    // A row that others imply: it holds already.
    bool hold(index k, double) {
        side_[k] = 2.0;
        return true;
    }

    index which(index j) const { return static_cast<index>(a_[j]); }

    void add(index k, double sign, double multiplier) {
        for (index m = n_ - 1; m > active_; --m) rotate(m - 1, m);
        for (index i = 0; i <= active_; ++i) R(i, active_) = d_[i];
        a_[active_] = static_cast<double>(k), u_[active_] = multiplier, side_[k] = sign, ++active_;
    }
    // Turn columns a and b of J so that d_b becomes zero.
    void rotate(index a, index b) {
        if (d_[b] == 0.0) return;
        const double h = std::hypot(d_[a], d_[b]), c = d_[a] / h, s = d_[b] / h;
        d_[a] = h, d_[b] = 0.0;
        for (index i = 0; i < n_; ++i) {
            const double x = J(i, a), y = J(i, b);
            J(i, a) = c * x + s * y, J(i, b) = c * y - s * x;
        }
    }
    void drop(index j) {
        side_[which(j)] = 0.0;
        for (index m = j; m + 1 < active_; ++m) {
            a_[m] = a_[m + 1], u_[m] = u_[m + 1];
            for (index i = 0; i <= m + 1; ++i) R(i, m) = R(i, m + 1);
        }
        --active_;
        for (index m = j; m < active_; ++m) {  // rows m and m + 1 of R, back to a triangle
            const double h = std::hypot(R(m, m), R(m + 1, m));
            if (h == 0.0) continue;
            const double c = R(m, m) / h, s = R(m + 1, m) / h;
            for (index i = m; i < active_; ++i) {
                const double x = R(m, i), y = R(m + 1, i);
                R(m, i) = c * x + s * y, R(m + 1, i) = c * y - s * x;
            }
            for (index i = 0; i < n_; ++i) {
                const double x = J(i, m), y = J(i, m + 1);
                J(i, m) = c * x + s * y, J(i, m + 1) = c * y - s * x;
            }
        }
    }
    Solved finish() {
        for (index j = 0; j < active_; ++j) y_[which(j)] = side_[which(j)] * u_[j];
        for (index i = 0; i < n_; ++i)
            if (!std::isfinite(x_[i])) return Solved::NO_SOLUTION;
        return Solved::YES;
    }
};

}  // namespace kinematics
}  // namespace soacraft
