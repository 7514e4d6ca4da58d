// All that touches holds: u = 0 in all rows, with the forces of least norm; or all but contacts that open, which are left out
// one set after the other. A resting machine is solved by this alone.
//
//     S = L L*, L (rows, rank) by pivoted Cholesky,     L z = -b,     p = L (L* L)^-1 z,     S p = -b where b is in the range of S
#pragma once

#include <algorithm>
#include <vector>

#include "problem.hpp"

SOACRAFT_SOLVERS_BEGIN

class Held {
  public:
    double left = 0;  // the natural map of the last answer

    // The rank of S; pivots this small relative to the largest are rounding. L is kept by columns.
    index factor(const Problem& x) {
        constexpr double ZERO = 1e-10;
        const index n = x.rows;
        L.assign(x.S, x.S + n * n), order.resize(n), rank = 0;
        double most = 0;
        for (index i = 0; i < n; ++i) order[i] = i, most = std::fmax(most, x.S[i * n + i]);
        for (; rank < n; ++rank) {
            if (n > LONG) interrupt::check();
            index best = rank;
            for (index i = rank + 1; i < n; ++i)
                if (L[i * n + i] > L[best * n + best]) best = i;
            if (!(L[best * n + best] > ZERO * most)) break;
            exchange(n, rank, best);
            double* column = L.data() + rank * n;
            const double root = std::sqrt(column[rank]), inverse = 1 / root;
            column[rank] = root;
            for (index i = rank + 1; i < n; ++i) column[i] *= inverse;
            for (index j = rank + 1; j < n; ++j) {
                const double m = column[j];
                double* SOACRAFT_RESTRICT other = L.data() + j * n;
                for (index i = j; i < n; ++i) other[i] -= m * column[i];
            }
        }
        return rank;
    }

    // p <- the forces that hold all rows; the largest entry of their natural map: small where they obey the laws.
    double solve(const Problem& x, double* p) {
        const index n = x.rows, r = rank;
        for (index c = 0; c < x.count; ++c)
            if (x.blocks[c].kind == CONE && !(x.b[x.blocks[c].first] < 0)) return INFINITY;  // it opens by itself
        z.resize(n), u.resize(n), F.resize(n);
        if (r == n) return solve_regular(x, p);
        N.assign(r * r, 0);
        for (index i = 0; i < r; ++i) {  // L* L
            if (n > LONG) interrupt::check();
            for (index j = 0; j <= i; ++j) {
                double a = 0, b = 0;  // two sums side by side
                index k = i;
                for (; k + 2 <= n; k += 2) a += L[i * n + k] * L[j * n + k], b += L[i * n + k + 1] * L[j * n + k + 1];
                if (k < n) a += L[i * n + k] * L[j * n + k];
                N[i * r + j] = a + b;
            }
        }
        for (index i = 0; i < r; ++i)
            for (index j = 0; j <= i; ++j) {
                double sum = N[i * r + j];
                for (index k = 0; k < j; ++k) sum -= N[i * r + k] * N[j * r + k];
                if (i == j && !(sum > 0)) return INFINITY;
                N[i * r + j] = i == j ? std::sqrt(sum) : sum / N[j * r + j];
            }
        for (index i = 0; i < n; ++i) p[i] = 0, u[i] = x.b[i];
        for (int turn = 0; turn < 2; ++turn) {  // the second one refines
            forward(n, r);
            for (index i = 0; i < r; ++i) {
                for (index k = 0; k < i; ++k) z[i] -= N[i * r + k] * z[k];
                z[i] /= N[i * r + i];
            }
            for (index i = r; i-- > 0;) {
                for (index k = i + 1; k < r; ++k) z[i] -= N[k * r + i] * z[k];
                z[i] /= N[i * r + i];
            }
            spread.assign(at(n), 0);
            for (index i = 0; i < r; ++i)
                for (index k = i; k < n; ++k) spread[k] += L[i * n + k] * z[i];
            for (index k = 0; k < n; ++k) p[order[k]] += spread[k];
            velocity(x, p, u.data());
        }
        return left = natural_map(x, p, u.data(), F.data());
    }

    // p <- the forces of least norm that hold all but contacts that open, where leaving out those that would pull ends with
    // such; true where they obey the laws to `wanted`, and what is left out does open. `unique`: whether there are no others.
    // `known`: whether p has the forces that hold all.
    bool solve_some(const Problem& x, double wanted, bool known, double* p, bool& unique) {
        open.assign(static_cast<std::size_t>(x.count), 0);
        for (index c = 0; c < x.count; ++c) {
            const index first = x.blocks[c].first;
            open[at(c)] = x.blocks[c].kind == CONE && (known ? p[first] < 0 : !(x.b[first] < 0));
        }
        return solve_closed(x, wanted, p, unique);
    }

    // The same, beginning with all contacts open that do not press in p.
    bool solve_pressing(const Problem& x, double wanted, double* p, bool& unique) {
        open.assign(static_cast<std::size_t>(x.count), 0);
        for (index c = 0; c < x.count; ++c) open[at(c)] = x.blocks[c].kind == CONE && !(p[x.blocks[c].first] > 0);
        return solve_closed(x, wanted, p, unique);
    }

    // to (rows, rank) <- L, its rows in the order of S.
    void rows_of_factor(index n, double* to) const {
        for (index k = 0; k < rank; ++k)
            for (index i = 0; i < n; ++i) to[order[at(i)] * rank + k] = i < k ? 0.0 : L[at(k * n + i)];
    }

  private:
    static constexpr int TURNS = 12;

    std::vector<double> L, N, z, u, F, S, b, held, spread;
    std::vector<index> order, rows;
    std::vector<Block> blocks;
    std::vector<char> open;
    index rank = 0;

    static std::size_t at(index i) { return static_cast<std::size_t>(i); }

    // The same where S is regular: p = -S^-1 b, there is no other.
    double solve_regular(const Problem& x, double* p) {
        const index n = x.rows;
        for (index i = 0; i < n; ++i) p[i] = 0, u[i] = x.b[i];
        for (int turn = 0; turn < 2; ++turn) {  // the second one refines
            forward(n, n);
            for (index i = n; i-- > 0;) {
                double a = z[i], b = 0;  // two sums side by side
                index k = i + 1;
                for (; k + 2 <= n; k += 2) a -= L[i * n + k] * z[k], b += L[i * n + k + 1] * z[k + 1];
                if (k < n) a -= L[i * n + k] * z[k];
                z[i] = (a - b) / L[i * n + i];
                p[order[i]] += z[i];
            }
            velocity(x, p, u.data());
        }
        return left = natural_map(x, p, u.data(), F.data());
    }

    // z <- L^-1 (-u) of the first r rows.
    void forward(index n, index r) {
        for (index i = 0; i < r; ++i) z[i] = -u[order[i]];
        for (index k = 0; k < r; ++k) {
            const double part = z[k] /= L[k * n + k];
            for (index i = k + 1; i < r; ++i) z[i] -= L[k * n + i] * part;
        }
    }

    bool solve_closed(const Problem& x, double wanted, double* p, bool& unique) {
        const index n = x.rows;
        for (int turn = 0; turn < TURNS; ++turn) {
            gather(x);
            const Problem part{static_cast<index>(rows.size()), blocks.data(), static_cast<index>(blocks.size()), S.data(), b.data()};
            held.resize(rows.size());
            unique = factor(part) == part.rows;
            const double rest = solve(part, held.data());
            if (!std::isfinite(rest)) return false;
            for (index i = 0; i < n; ++i) p[i] = 0;
            for (std::size_t i = 0; i < rows.size(); ++i) p[rows[i]] = held[i];
            bool changed = false;
            for (index c = 0; c < x.count; ++c) {
                if (x.blocks[c].kind != CONE || open[at(c)] || p[x.blocks[c].first] >= 0) continue;
                open[at(c)] = changed = true;
            }
            if (changed) continue;
            if (!(rest <= wanted)) {
                if (!ends(part, rest)) return false;
                continue;
            }
            u.resize(at(n)), F.resize(at(n));
            velocity(x, p, u.data());
            for (index c = 0; c < x.count; ++c)
                if (open[at(c)] && !(u[at(x.blocks[c].first)] > wanted)) return false;
            left = natural_map(x, p, u.data(), F.data());
            return left <= wanted;
        }
        return false;
    }

    // Not all can hold: what is left of u is along forces that move nothing, as of four feet of a table on a floor that is not
    // flat. Forces go on along it until one of them ends, and that contact opens. False where that is not what is left.
    bool ends(const Problem& part, double most) {
        constexpr double MOST_OF_IT = 0.1;
        index first = -1, kept = 0;
        double soonest = INFINITY;
        for (std::size_t c = 0; c < open.size(); ++c) {
            if (open[c]) continue;
            const Block& block = part.blocks[kept++];
            const double speed = u[at(block.first)], lasts = held[at(block.first)] / speed;
            if (block.kind == CONE && speed > MOST_OF_IT * most && lasts < soonest) first = static_cast<index>(c), soonest = lasts;
        }
        if (first < 0) return false;
        open[at(first)] = true;
        return true;
    }

    // The problem of the blocks that do not open.
    void gather(const Problem& x) {
        rows.clear(), blocks.clear(), b.clear(), S.clear();
        for (index c = 0; c < x.count; ++c) {
            if (open[at(c)]) continue;
            Block block = x.blocks[c];
            for (index i = 0; i < block.rows; ++i) rows.push_back(block.first + i), b.push_back(x.b[block.first + i]);
            block.first = static_cast<index>(rows.size()) - block.rows;
            blocks.push_back(block);
        }
        for (const index i : rows)
            for (const index j : rows) S.push_back(x.S[i * x.rows + j]);
    }

    // Rows and columns i < j of the lower triangle, by columns.
    void exchange(index n, index i, index j) {
        if (i == j) return;
        std::swap(order[i], order[j]);
        for (index k = 0; k < i; ++k) std::swap(L[k * n + i], L[k * n + j]);
        std::swap(L[i * n + i], L[j * n + j]);
        for (index k = i + 1; k < j; ++k) std::swap(L[i * n + k], L[k * n + j]);
        for (index k = j + 1; k < n; ++k) std::swap(L[i * n + k], L[j * n + k]);
    }
};

SOACRAFT_SOLVERS_END
