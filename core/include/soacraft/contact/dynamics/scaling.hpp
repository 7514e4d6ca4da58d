// Contact problems without units, as contact/solvers/scaling.py has them: every cone a unit cone, every block divided by the
// root of its own compliance. With p = F phat / s and u = F^-1 s uhat:  uhat = (F S F / s s) phat + F b / s.
#pragma once

#include <vector>

#include "soacraft/contact/solvers/islands.hpp"

namespace soacraft {
namespace contact {

constexpr index FRICTIONS = complementarity::WIDEST - 1;

// What a block of rows obeys: a cone, with the coefficients of its rows after the first, or a box (1 row).
struct Law {
    index kind, rows;        // complementarity::CONE or BOX
    const double* friction;  // of a cone of several rows
    double bound;
};

enum State : int { OPEN = 0, STICK = 1, SLIP = 2 };

class ScaledProblem {
public:
    complementarity::Outcome outcome = {};

    // The rows that count, of S (n, n); false where one must move and nothing moves it.
    bool scale(const std::vector<Law>& laws, const double* S, const double* b, index n) {
        blocks_.clear(), owner_.clear(), kept_.clear(), factor_.clear();
        index first = 0;
        for (std::size_t number = 0; number < laws.size(); ++number) {
            const Law& law = laws[number];
            const index row = first;
            first += law.rows;
            if (law.kind == complementarity::BOX && law.bound == 0.0) continue;
            double most = 0.0;
            for (index i = 0; i < law.rows; ++i) most = std::fmax(most, S[(row + i) * n + row + i]);
            const double own = S[row * n + row];
            if (!(own > IMMOBILE * most)) {  // nothing moves it: nothing presses
                const double speed = b[row];
                if (law.kind == complementarity::BOX || speed >= 0.0) continue;
                return false;
            }
            const double size = std::sqrt(own);
            const auto at = static_cast<index>(kept_.size());
            for (index i = 0; i < law.rows; ++i) {
                const double friction = i > 0 ? law.friction[i - 1] : 1.0;
                if (i > 0 && !(friction > 0.0 && S[(row + i) * n + row + i] > 0.0)) continue;
                kept_.push_back(row + i), factor_.push_back(friction / size);
            }
            blocks_.push_back({law.kind, at, static_cast<index>(kept_.size()) - at, law.bound * size});
            owner_.push_back(number);
        }
        const std::size_t m = kept_.size();
        S_.resize(m * m);
        for (std::size_t i = 0; i < m; ++i)
            for (std::size_t j = 0; j < m; ++j) S_[i * m + j] = factor_[i] * S[kept_[i] * n + kept_[j]] * factor_[j];
        return true;
    }

    // p (n) <- the impulses for b, from those it holds; whether they are good to `tolerance`.
    bool solve(const double* b, double tolerance, double* p, index n) {
        const std::size_t m = kept_.size();
        b_.resize(m), p_.resize(m);
        for (std::size_t i = 0; i < m; ++i) b_[i] = factor_[i] * b[kept_[i]], p_[i] = p[kept_[i]] / factor_[i];
        complementarity::Options options;
        options.tolerance = tolerance;
        outcome = solver_.solve({static_cast<index>(m), blocks_.data(), static_cast<index>(blocks_.size()), S_.data(), b_.data()},
                                options, p_.data());
        for (index i = 0; i < n; ++i) p[i] = 0.0;
        for (std::size_t i = 0; i < m; ++i) p[kept_[i]] = factor_[i] * p_[i];
        return outcome.residual <= tolerance;
    }

    // What became of each law.
    void states(std::vector<int>& to, std::size_t laws) const {
        to.assign(laws, OPEN);
        double size = 0.0;
        for (const double x : b_) size = std::fmax(size, std::fabs(x));
        for (std::size_t i = 0; i < blocks_.size(); ++i) {
            const complementarity::Block& block = blocks_[i];
            const double* mine = p_.data() + block.first;
            int& state = to[owner_[i]];
            if (block.kind == complementarity::BOX)
                state = std::fabs(mine[0]) < (1 - ON_THE_CONE) * block.bound ? STICK : SLIP;
            else if (mine[0] > PRESSED * size)
                state = block.rows > 1 && complementarity::norm(mine + 1, block.rows - 1) < (1 - ON_THE_CONE) * mine[0] ? STICK : SLIP;
        }
    }

private:
    // Those of contact/solvers: a compliance of nothing, an impulse of nothing, the wall of a cone.
    static constexpr double IMMOBILE = 1e-14, PRESSED = 1e-9, ON_THE_CONE = 1e-7;

    std::vector<complementarity::Block> blocks_;
    std::vector<std::size_t> owner_;
    std::vector<index> kept_;
    std::vector<double> factor_, S_, b_, p_;
    complementarity::Islands solver_;
};

}  // namespace contact
}  // namespace soacraft
