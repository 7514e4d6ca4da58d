// Associated contact problems, which are convex, by an interior point method: from inside the cones towards their walls, some ten
// to twenty steps from anywhere.
//
//     s = S p + b,   p and s in K,   p o s = mu e,   mu -> 0            o: Jordan's product of the cone
//
// with the scaling W of Nesterov and Todd (W p = W^-1 s = l), where a step obeys
//     (W^2 + S) dp = W d + r,   ds = S dp - r,
//     l o d = sigma mu e - l o l - (W dp_0) o (W^-1 ds_0),   r = s - S p - b           (Mehrotra's corrector).
// W^2 is positive definite, so forces that are not unique do no harm. A box has two slacks, bound - p and bound + p. It ends
// where numbers near the walls cancel: other steps go on from there (fixed_point.hpp).
#pragma once

#include <vector>

#include "lu.hpp"
#include "problem.hpp"

SOACRAFT_SOLVERS_BEGIN

inline double dot(const double* a, const double* b, index n) {
    double sum = 0;
    for (index i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
}

// x_0^2 - |x_t|^2, without cancellation of squares.
inline double cone_det(const double* x, index d) {
    const double t = norm(x + 1, d - 1);
    return (x[0] - t) * (x[0] + t);
}

// z <- a o b
inline void jordan(const double* a, const double* b, index d, double* z) {
    const double first = dot(a, b, d);
    for (index i = 1; i < d; ++i) z[i] = a[0] * b[i] + b[0] * a[i];
    z[0] = first;
}

// x <- the solution of a o x = x
inline void jordan_divide(const double* a, index d, double* x) {
    const double first = (a[0] * x[0] - dot(a + 1, x + 1, d - 1)) / cone_det(a, d);
    for (index i = 1; i < d; ++i) x[i] = (x[i] - first * a[i]) / a[0];
    x[0] = first;
}

// The largest t for which x + t dx is in K, x inside it.
inline double cone_step(const double* x, const double* dx, index d) {
    double most = dx[0] < 0 ? -x[0] / dx[0] : INFINITY;
    if (d == 1) return most;
    const double a = dx[0] * dx[0] - dot(dx + 1, dx + 1, d - 1), b = x[0] * dx[0] - dot(x + 1, dx + 1, d - 1);
    const double c = cone_det(x, d), under = b * b - a * c;
    if (under < 0) return most;
    const double q = -(b + std::copysign(std::sqrt(under), b));
    if (a != 0 && q / a > 0) most = std::fmin(most, q / a);
    if (q != 0 && c / q > 0) most = std::fmin(most, c / q);
    return most;
}

class InteriorPoint {
  public:
    // p <- the best point met; the largest entry of its natural map. Stops at `wanted`.
    double solve(const Problem& x, double wanted, double size, index most, double* p, index& steps) {
        n = x.rows;
        for (auto* each : {&s, &u, &r, &F, &dp, &ds, &rhs, &correction, &best}) each->assign(n, 0);
        K.resize(n * n), W.resize(n * WIDEST), l.resize(n), exchange.resize(n);
        above.resize(x.count), below.resize(x.count), up.resize(x.count), down.resize(x.count);
        begin(x, size, p);
        double least = INFINITY;
        for (index i = 0; i <= most; ++i) {
            velocity(x, p, u.data());
            const double residual = natural_map(x, p, u.data(), F.data());
            if (!std::isfinite(residual)) break;
            if (residual < least) least = residual, std::copy(p, p + n, best.begin());
            if (residual <= wanted || i == most) break;
            ++steps;
            if (!advance(x, p)) break;
        }
        std::copy(best.begin(), best.end(), p);
        return least;
    }

  private:
    static constexpr double ANCHOR = 1e-9;  // of rows that hold, which may say the same twice: their steps are a little shorter

    index n = 0;
    std::vector<double> s, u, r, F, dp, ds, rhs, correction, best, K, W, l;
    std::vector<double> above, below, up, down;  // of boxes: bound - p, bound + p, and the velocities that press on them
    double aim = 0;
    std::vector<index> exchange;

    void begin(const Problem& x, double size, double* p) {
        for (index c = 0; c < x.count; ++c) {
            const Block& block = x.blocks[c];
            for (index i = 0; i < block.rows; ++i) p[block.first + i] = 0;
            if (block.kind == CONE) {  // on the central path of p o s = size^2, where s is near what it will be if that is open
                s[block.first] = std::fmax(size, 2 * norm(x.b + block.first, block.rows));
                p[block.first] = size / s[block.first] * size;
            }
            if (block.kind == BOX) above[c] = below[c] = block.bound, up[c] = down[c] = size;
        }
    }

    double gap(const Problem& x, const double* p) const {
        double sum = 0;
        index count = 0;
        for (index c = 0; c < x.count; ++c) {
            const Block& block = x.blocks[c];
            if (block.kind == CONE) sum += dot(p + block.first, s.data() + block.first, block.rows), count += 1;
            if (block.kind == BOX) sum += above[c] * up[c] + below[c] * down[c], count += 2;
        }
        return count > 0 ? sum / static_cast<double>(count) : 0;
    }

    bool advance(const Problem& x, double* p) {
        const double mu = gap(x, p);
        if (!scale(x, p)) return false;
        if (!lu_factor(K.data(), n, 0, exchange.data())) return false;
        std::fill(correction.begin(), correction.end(), 0);
        direction(x, 0);
        const double reach = std::fmin(1, longest(x, p));
        const double sigma = std::fmax(std::pow(1 - reach, 3), 1e-8);
        second_order(x);
        direction(x, sigma * mu);
        const double t = std::fmin(1, 0.99 * longest(x, p));
        for (index i = 0; i < n; ++i) {
            if (!std::isfinite(dp[i]) || !std::isfinite(ds[i])) return false;
            p[i] += t * dp[i], s[i] += t * ds[i];
        }
        for (index c = 0; c < x.count; ++c)
            if (x.blocks[c].kind == BOX) {
                const double d = dp[x.blocks[c].first];
                up[c] += t * rise(c, d), down[c] += t * fall(c, d), above[c] -= t * d, below[c] += t * d;
            }
        return t > 1e-8;
    }

    // W, l and r of every block, and Newton's matrix K.
    bool scale(const Problem& x, const double* p) {
        std::copy(x.S, x.S + n * n, K.begin());
        for (index c = 0; c < x.count; ++c) {
            const Block& block = x.blocks[c];
            const index f = block.first, d = block.rows;
            if (block.kind == CONE) {
                if (!nesterov_todd(p + f, s.data() + f, d, W.data() + f * WIDEST, l.data() + f)) return false;
                for (index i = 0; i < d; ++i) r[f + i] = s[f + i] - u[f + i];
            }
            if (block.kind == CONE) {
                const double* w2 = W.data() + f * WIDEST;
                for (index i = 0; i < d; ++i)
                    for (index j = 0; j < d; ++j) K[(f + i) * n + f + j] += dot(w2 + i * d, w2 + j * d, d);  // W is symmetric
            } else if (block.kind == BOX) {
                K[f * n + f] += up[c] / above[c] + down[c] / below[c];
            } else {
                K[f * n + f] += ANCHOR;
            }
        }
        return true;
    }

    static bool nesterov_todd(const double* p, const double* s, index d, double* W, double* l) {
        const double of_p = cone_det(p, d), of_s = cone_det(s, d);
        if (!(of_p > 0 && of_s > 0 && p[0] > 0 && s[0] > 0)) return false;
        const double eta = std::sqrt(std::sqrt(of_s / of_p)), a = 1 / std::sqrt(of_p), b = 1 / std::sqrt(of_s);
        double w[WIDEST];
        const double g = std::sqrt(0.5 * (1 + a * b * dot(p, s, d)));
        for (index i = 0; i < d; ++i) w[i] = (b * s[i] + (i == 0 ? a : -a) * p[i]) / (2 * g);
        for (index i = 0; i < d; ++i)
            for (index j = 0; j < d; ++j)
                W[i * d + j] = eta * (i == 0 || j == 0 ? w[i + j] : (i == j ? 1 : 0) + w[i] * w[j] / (1 + w[0]));
        for (index i = 0; i < d; ++i) l[i] = dot(W + i * d, p, d);
        return true;
    }

    // dp and ds for a target of the gap, with what `second_order` kept.
    void direction(const Problem& x, double target) {
        aim = target;
        for (index c = 0; c < x.count; ++c) {
            const Block& block = x.blocks[c];
            const index f = block.first, d = block.rows;
            if (block.kind == CONE) {
                double e[WIDEST];
                jordan(l.data() + f, l.data() + f, d, e);
                for (index i = 0; i < d; ++i) e[i] = (i == 0 ? target : 0) - e[i] - correction[f + i];
                jordan_divide(l.data() + f, d, e);
                const double* w = W.data() + f * WIDEST;
                for (index i = 0; i < d; ++i) rhs[f + i] = dot(w + i * d, e, d) + r[f + i];
            } else if (block.kind == BOX) {
                rhs[f] = target / below[c] - target / above[c] - u[f];
            } else {
                rhs[f] = -u[f];
            }
        }
        dp = rhs;
        lu_solve(K.data(), n, exchange.data(), dp.data());
        for (index c = 0; c < x.count; ++c) {
            const Block& block = x.blocks[c];
            const index f = block.first, d = block.rows;
            if (block.kind != CONE) continue;
            for (index i = 0; i < d; ++i) ds[f + i] = dot(x.S + (f + i) * n, dp.data(), n) - r[f + i];
        }
    }

    // How the velocities that press on the walls of a box change with its dp = d.
    double rise(index c, double d) const { return (aim + up[c] * d) / above[c] - up[c]; }
    double fall(index c, double d) const { return (aim - down[c] * d) / below[c] - down[c]; }

    // correction <- (W dp) o (W^-1 ds)
    void second_order(const Problem& x) {
        for (index c = 0; c < x.count; ++c) {
            const Block& block = x.blocks[c];
            const index f = block.first, d = block.rows;
            if (block.kind != CONE) continue;
            const double* w = W.data() + f * WIDEST;
            double a[WIDEST], b[WIDEST];
            for (index i = 0; i < d; ++i) a[i] = dot(w + i * d, dp.data() + f, d);
            unscale(w, d, ds.data() + f, b);
            jordan(a, b, d, correction.data() + f);
        }
    }

    // y <- W^-1 z: W = eta V with V^-1 = j V j, j = diag(1, -1, ...), and eta^2 = det of W's first column.
    static void unscale(const double* W, index d, const double* z, double* y) {
        const double eta2 = cone_det(W, d);
        for (index i = 0; i < d; ++i) {
            double sum = 0;
            for (index j = 0; j < d; ++j) sum += ((i == 0) == (j == 0) ? W[i * d + j] : -W[i * d + j]) * z[j];
            y[i] = sum / eta2;
        }
    }

    // The longest step along dp and ds that stays inside.
    double longest(const Problem& x, const double* p) const {
        double t = INFINITY;
        for (index c = 0; c < x.count; ++c) {
            const Block& block = x.blocks[c];
            const index f = block.first;
            if (block.kind == CONE) {
                t = std::fmin(t, cone_step(p + f, dp.data() + f, block.rows));
                t = std::fmin(t, cone_step(s.data() + f, ds.data() + f, block.rows));
            } else if (block.kind == BOX) {
                const double d = dp[f], rate[4] = {-d, d, rise(c, d), fall(c, d)};
                const double at[4] = {above[c], below[c], up[c], down[c]};
                for (int i = 0; i < 4; ++i)
                    if (rate[i] < 0) t = std::fmin(t, -at[i] / rate[i]);
            }
        }
        return t;
    }
};

SOACRAFT_SOLVERS_END
