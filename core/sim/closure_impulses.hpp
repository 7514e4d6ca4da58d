// Impulses of the closures at the start of a variational step, Gc(q0)* lambda, that let it end on them
// (sim/integrators/variational.py): with C = Gc(q1) Jr(xi) and Mcal at the middle,
//
//     xi = h Mcal^-1 (left + Gc* lambda),     C xi = -g
#pragma once

#include <algorithm>

#include "mechanism.hpp"

namespace soacraft {
namespace sim {

class ClosureImpulses {
public:
    explicit ClosureImpulses(Mechanism& m)
        : m_(m), rows_(m.closure_rows()), G_(at(rows_ * m.nv)), C_(at(rows_ * m.nv)), X_(at(rows_ * m.nv)), A_(at(rows_ * rows_)),
          impulse_(at(m.nv)), free_(at(m.nv)), residual_(at(rows_)), more_(at(rows_)), size_(at(rows_)), order_(at(rows_)) {}

    // A step from q begins, without impulses.
    bool begin(const double* q) {
        std::fill(impulse_.begin(), impulse_.end(), 0.0);
        return m_.closures_at(q, G_.data(), residual_.data());
    }

    // `left` -> the change of xi for the remainder of mu0 and for what the closures are open by at the end q1. `turn` multiplies a
    // row (nv) with Jr(xi) from the right. False where Mcal or the closures are in doubt.
    template <class Turn>
    bool step(const double* half, double* left, const double* q1, double h, const Turn& turn) {
        const index nv = m_.nv;
        for (index k = 0; k < nv; ++k) left[k] += impulse_[at(k)];
        if (!m_.velocity(half, left, free_.data())) return false;
        for (double& x : free_) x *= h;
        for (index r = 0; r < rows_; ++r) {
            double* x = X_.data() + r * nv;
            if (!m_.velocity(half, G_.data() + r * nv, x)) return false;
            for (index k = 0; k < nv; ++k) x[k] *= h;
        }
        if (!m_.closures_at(q1, C_.data(), residual_.data())) return false;
        for (index r = 0; r < rows_; ++r) {
            double* c = C_.data() + r * nv;
            turn(c);
            for (index j = 0; j < rows_; ++j) A_[at(r * rows_ + j)] = dot(c, X_.data() + j * nv, nv);
            more_[at(r)] = -residual_[at(r)] - dot(c, free_.data(), nv);
        }
        solve();
        std::copy(free_.begin(), free_.end(), left);
        for (index r = 0; r < rows_; ++r)
            for (index k = 0; k < nv; ++k) {
                impulse_[at(k)] += more_[at(r)] * G_[at(r * nv + k)];
                left[k] += more_[at(r)] * X_[at(r * nv + k)];
            }
        return rigid::finite(left, nv);
    }

private:
    static constexpr double REPEATED = 1e-9;  // that of sim/integrators/variational.py
    static std::size_t at(index i) { return static_cast<std::size_t>(i); }

    // more_ <- a solution of A x = more_ by reflections, the largest column first: those that repeat others have none.
    void solve() {
        const index n = rows_;
        for (index c = 0; c < n; ++c) order_[at(c)] = c;
        double first = 0.0;
        index rank = 0;
        for (; rank < n; ++rank) {
            for (index c = rank; c < n; ++c) {
                double sum = 0.0;
                for (index i = rank; i < n; ++i) sum += entry(i, c) * entry(i, c);
                size_[at(c)] = sum;
            }
            const index best = std::max_element(size_.begin() + rank, size_.begin() + n) - size_.begin();
            const double norm = std::sqrt(size_[at(best)]);
            if (rank == 0) first = norm;
            if (!(norm > REPEATED * first)) break;
            std::swap(order_[at(rank)], order_[at(best)]);
            reflect(rank, norm);
        }
        for (index i = rank; i-- > 0;) {
            double sum = more_[at(i)];
            for (index c = i + 1; c < rank; ++c) sum -= entry(i, c) * size_[at(c)];
            size_[at(i)] = sum / entry(i, i);
        }
        std::fill(more_.begin(), more_.end(), 0.0);
        for (index i = 0; i < rank; ++i) more_[at(order_[at(i)])] = size_[at(i)];
    }
    // Householder's reflection that leaves of column k from row k on its first entry alone.
    void reflect(index k, double norm) {
        const index n = rows_;
        const double head = entry(k, k), to = head > 0.0 ? -norm : norm;
        const double scale = 1.0 / (norm * (norm + std::fabs(head)));
        reflector_.resize(at(n));
        for (index i = k; i < n; ++i) reflector_[at(i)] = entry(i, k);
        reflector_[at(k)] -= to;
        const auto turned = [&](const auto& of) {
            double sum = 0.0;
            for (index i = k; i < n; ++i) sum += reflector_[at(i)] * of(i);
            sum *= scale;
            for (index i = k; i < n; ++i) of(i) -= sum * reflector_[at(i)];
        };
        for (index c = k; c < n; ++c) turned([&](index i) -> double& { return entry(i, c); });
        turned([&](index i) -> double& { return more_[at(i)]; });
    }
    double& entry(index row, index place) { return A_[at(row * rows_ + order_[at(place)])]; }

    Mechanism& m_;
    index rows_;
    std::vector<double> G_, C_, X_, A_, impulse_, free_, residual_, more_, size_, reflector_;
    std::vector<index> order_;
};

}  // namespace sim
}  // namespace soacraft
