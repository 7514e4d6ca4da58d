// Variational steps (sim/integrators/variational.py has the equations), of closed chains with impulses of their closures at both
// ends of a step:
//
//     mu0 = Jl(xi)^-* pi - h Ad(exp(-xi/2))* f        solved for xi,    pi = p + (h/2) Jr(xi/2)* f
//     mu1 = Jr(xi)^-* pi,     v1 = Mcal(q1)^-1 mu1
#pragma once

#include "closure_impulses.hpp"

namespace soacraft {
namespace sim {

class Variational {
public:
    explicit Variational(Mechanism& m) : m_(m), impulses_(m) {
        const auto numbers = [](index n) { return std::vector<double>(static_cast<std::size_t>(n)); };
        const index nv = m.nv, square = nv * nv;
        for (std::vector<double>* x : {&q_, &half_, &end_}) *x = numbers(m.nq);
        for (std::vector<double>* x : {&mu_, &v_, &xi_, &p_, &f_, &pi_, &left_, &step_, &rate_, &gravity_}) *x = numbers(nv);
        for (std::vector<double>* x : {&A_, &B_, &C_, &D_, &E_}) *x = numbers(square);
        forces_ = numbers(m.names * nv), powers_ = numbers(m.names);
    }

    // The work, behind 2 nv numbers of u, of steps of order two, one after the other; false where Python should look at it.
    bool take(double t, const double* x, double h, const double* parts, index count, double* u) {
        const index nq = m_.nq, nv = m_.nv;
        bool far = false;  // turns too far: the difference of its ends would be the way round
        m_.each_group([&](index first, index) {
            const double *v = x + nq + first, turn[] = {h * v[0], h * v[1], h * v[2]};
            far = far || rigid::turns_too_far(turn);
        });
        if (far) return false;
        std::memcpy(q_.data(), x, bytes(nq)), std::memcpy(v_.data(), x + nq, bytes(nv));
        m_.momentum(x, x + nq, mu_.data());
        std::memset(u + 2 * nv, 0, bytes(m_.names));
        for (index i = 0; i < count; ++i) {
            if (!middle(t, parts[i] * h)) return false;
            for (index k = 0; k < m_.names; ++k) u[2 * nv + k] += parts[i] * h * powers_[at(k)];
            t += parts[i] * h;
            if (!m_.velocity(q_.data(), mu_.data(), v_.data())) return false;
            if (m_.is_tree()) continue;
            if (!m_.keep_velocity(q_.data(), v_.data())) return false;
            m_.momentum(q_.data(), v_.data(), mu_.data());
        }
        return m_.is_tree() || impulses_.begin(q_.data());  // how far the closures are open there
    }

    // q and v after them.
    void end(double* x) const {
        std::memcpy(x, q_.data(), bytes(m_.nq)), std::memcpy(x + m_.nq, v_.data(), bytes(m_.nv));
    }

private:
    static constexpr int ROUNDS = 60;         // those of sim/integrators/variational.py
    static constexpr double SMALL = 4e-16, STALLED = 1e-12;
    static std::size_t at(index i) { return static_cast<std::size_t>(i); }
    static std::size_t bytes(index n) { return static_cast<std::size_t>(n) * sizeof(double); }

    // q and mu a step on.
    bool middle(double t, double h) {
        const index nv = m_.nv;
        for (index k = 0; k < nv; ++k) xi_[at(k)] = h * v_[at(k)];
        if (!m_.is_tree() && !impulses_.begin(q_.data())) return false;
        double last = INFINITY;
        for (int round = 0; round < ROUNDS; ++round) {
            for (index k = 0; k < nv; ++k) step_[at(k)] = 0.5 * xi_[at(k)], rate_[at(k)] = xi_[at(k)] / h;
            m_.integrate(q_.data(), step_.data(), half_.data());
            if (!gradient(t + 0.5 * h)) return false;
            if (!motions(h)) return false;
            std::memcpy(left_.data(), pi_.data(), bytes(nv));
            if (!solve(D_, left_.data())) return false;
            times_transposed(A_, f_.data(), step_.data());
            for (index k = 0; k < nv; ++k) left_[at(k)] = mu_[at(k)] - left_[at(k)] + h * step_[at(k)];
            if (!change_of(h)) return false;
            for (index k = 0; k < nv; ++k) xi_[at(k)] += step_[at(k)];
            const double change = m_.largest(step_.data()), size = m_.largest(xi_.data());
            if (change <= SMALL * size || (change >= 0.5 * last && change < STALLED * (size > 1.0 ? size : 1.0))) {
                m_.integrate(q_.data(), xi_.data(), half_.data());
                q_.swap(half_);
                if (!solve(C_, pi_.data())) return false;
                mu_.swap(pi_);
                return rigid::finite(mu_.data(), nv);
            }
            if (!(change < INFINITY)) return false;
            last = change;
        }
        return false;
    }

    // step_ <- the change of xi for the remainder `left_` of mu0.
    bool change_of(double h) {
        const index nv = m_.nv;
        if (m_.is_tree()) {
            if (!m_.velocity(half_.data(), left_.data(), step_.data())) return false;
            for (index k = 0; k < nv; ++k) step_[at(k)] *= h;
            return true;
        }
        m_.integrate(q_.data(), xi_.data(), end_.data());
        step_.swap(left_);
        return impulses_.step(half_.data(), step_.data(), end_.data(), h, [&](double* row) {
            m_.each_group([&](index first, index n) {
                double turned[6] = {};
                for (index i = 0; i < n; ++i)
                    for (index k = 0; k < n; ++k) turned[k] += row[first + i] * C_[at((first + i) * nv + first + k)];
                std::copy(turned, turned + n, row + first);
            });
        });
    }

    // f = dL/dq and forces at the middle, the momentum p there, and the powers.
    bool gradient(double t) {
        const index nv = m_.nv;
        m_.momentum(half_.data(), rate_.data(), p_.data());
        if (!m_.push(t, half_.data(), rate_.data(), forces_.data(), powers_.data())) return false;
        if (!m_.coriolis(half_.data(), rate_.data(), A_.data(), B_.data(), C_.data())) return false;
        times_transposed(B_, rate_.data(), f_.data());
        m_.each_group([&](index first, index dofs) {
            double found[6], mu[6];  // momentum of rotors stays in the axes of the hinge, it does not turn along: twice for half of it
            for (index k = 0; k < dofs; ++k) mu[k] = p_[at(first + k)] + m_.armature(first + k) * rate_[at(first + k)];
            bracket(rate_.data() + first, mu, dofs, found);
            for (index k = 0; k < dofs; ++k) f_[at(first + k)] -= found[k];
        });
        m_.gravity(half_.data(), gravity_.data());
        for (index k = 0; k < nv; ++k) {
            double sum = 0.5 * f_[at(k)] - gravity_[at(k)] + m_.held(k);
            for (index i = 0; i < m_.names; ++i) sum += forces_[at(i * nv + k)];
            f_[at(k)] = sum;
        }
        return true;
    }

    // A = Ad(exp(-xi/2)), B = Jr(xi/2), C = Jr(xi), D = Jl(xi) = Jr(-xi), and pi = p + (h/2) B* f.
    bool motions(double h) {
        const index nv = m_.nv;
        for (index k = 0; k < nv; ++k) step_[at(k)] = -xi_[at(k)], left_[at(k)] = 0.5 * xi_[at(k)];
        if (!m_.jacobians(q_.data(), xi_.data(), E_.data(), C_.data()) || !m_.jacobians(q_.data(), step_.data(), E_.data(), D_.data()) ||
            !m_.jacobians(q_.data(), left_.data(), A_.data(), B_.data()))
            return false;
        times_transposed(B_, f_.data(), pi_.data());
        for (index k = 0; k < nv; ++k) pi_[at(k)] = p_[at(k)] + 0.5 * h * pi_[at(k)];
        return true;
    }

    // ad_v* mu of one hinge: mu x v of turns, with the travel of a free one.
    static void bracket(const double* v, const double* mu, index dofs, double* to) {
        rigid::cross3(mu, v, to);
        if (dofs < 6) return;
        double more[3];
        rigid::cross3(mu + 3, v + 3, more), rigid::cross3(mu + 3, v, to + 3);
        for (int k = 0; k < 3; ++k) to[k] += more[k];
    }

    void times_transposed(const std::vector<double>& A, const double* x, double* to) const {
        const index nv = m_.nv;
        std::memset(to, 0, bytes(nv));
        for (index i = 0; i < nv; ++i)
            for (index k = 0; k < nv; ++k) to[k] += A[at(i * nv + k)] * x[i];
    }

    // x = J^-* x, hinge by hinge: J is the identity but for those that turn as groups.
    bool solve(const std::vector<double>& J, double* x) const {
        bool fine = true;
        m_.each_group([&](index first, index n) { fine = fine && solve_one(J, first, n, x + first); });
        return fine;
    }
    bool solve_one(const std::vector<double>& J, index first, index n, double* x) const {
        double A[36];
        for (index i = 0; i < n; ++i)
            for (index k = 0; k < n; ++k) A[i * n + k] = J[at((first + k) * m_.nv + first + i)];
        for (index c = 0; c < n; ++c) {
            index best = c;
            for (index i = c + 1; i < n; ++i)
                if (std::fabs(A[i * n + c]) > std::fabs(A[best * n + c])) best = i;
            if (!(std::fabs(A[best * n + c]) > 0.0)) return false;
            for (index k = 0; k < n && best != c; ++k) std::swap(A[c * n + k], A[best * n + k]);
            if (best != c) std::swap(x[c], x[best]);
            for (index i = c + 1; i < n; ++i) {
                const double factor = A[i * n + c] / A[c * n + c];
                for (index k = c; k < n; ++k) A[i * n + k] -= factor * A[c * n + k];
                x[i] -= factor * x[c];
            }
        }
        for (index c = n - 1; c >= 0; --c) {
            for (index k = c + 1; k < n; ++k) x[c] -= A[c * n + k] * x[k];
            x[c] /= A[c * n + c];
        }
        return true;
    }

    Mechanism& m_;
    ClosureImpulses impulses_;
    std::vector<double> q_, half_, end_, mu_, v_, xi_, p_, f_, pi_, left_, step_, rate_, gravity_, A_, B_, C_, D_, E_, forces_, powers_;
};

}  // namespace sim
}  // namespace soacraft
