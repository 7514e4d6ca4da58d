// One step of each compiled method, as sim/integrators has them: explicit Runge-Kutta methods and those of Gauss by their
// tableau, symplectic Euler, Verlet, variational steps, steps with contact. Stages are in the chart of the step's start
// (Munthe-Kaas).
#pragma once

#include <limits>

#include "sim/contact/contact_setting.hpp"
#include "variational.hpp"

namespace soacraft {
namespace sim {

enum Method : int {
    EXPLICIT = 0, EULER = 1, VERLET = 2, VARIATIONAL = 3, VARIATIONAL4 = 4, MOREAU = 5, GAUSS = 6, MIDPOINT = 7, METHODS = 8
};
inline bool touches(Method method) { return method == MOREAU || method == MIDPOINT; }

// A (stages, stages), b and c; of an adaptive method also what its error is estimated and its dense output made with.
struct Tableau {
    index stages = 0, extra = 0, rows = 0;        // rows of the dense output
    const double *A = nullptr, *b = nullptr, *c = nullptr;
    const double *E5 = nullptr, *E3 = nullptr;    // (stages + 1)
    const double *A_extra = nullptr, *c_extra = nullptr, *D = nullptr;  // (extra, all), (extra), (rows, all)
    index all() const { return stages + 1 + extra; }
    bool adaptive() const { return E5 != nullptr; }
};

class Stepper {
public:
    // Results of a step: the point at its end, its rates, the forces there, and its chart coordinates; the opening of closures.
    std::vector<double> x1, w1, forces, u;
    double open = 0.0;
    bool forces_end = false;  // whether other forces act from its end on, so that the next begins with other rates
    double t1 = 0.0;  // its end to the nanosecond, which components see: t + h may be off by rounding

    Stepper(Mechanism& mechanism, Method method, const Tableau& tableau)
        : m_(mechanism), method_(method), tableau_(tableau) {
        if (method == VARIATIONAL || method == VARIATIONAL4) variational_ = std::make_unique<Variational>(mechanism);
        const auto numbers = [](index n) { return std::vector<double>(static_cast<std::size_t>(n)); };
        x1 = numbers(m_.points), w1 = numbers(m_.size), forces = numbers(m_.names * m_.nv), u = numbers(m_.size);
        K_ = numbers(tableau.all() * m_.size), stage_ = numbers(m_.points), w_ = numbers(m_.size), last_ = numbers(m_.size);
        scale_ = numbers(2 * m_.nv + m_.states), scale0_ = scale_;
        if (method == GAUSS) next_ = numbers(tableau.all() * m_.size);
        if (!touches(method)) return;
        touch_ = contact_kernels().begin(*m_.contact(), m_.pressed_model(), m_.pressed_loops());
        touch_->of_loads = m_.load_rows;
        touch_->before = m_.contact()->impulses;
        free_ = numbers(m_.points), known_ = numbers(m_.points), smooth_ = numbers(m_.size), rates_ = numbers(m_.size);
        work_ = numbers(m_.names);
    }

    const ContactLog* contacts() const { return touch_ ? &touch_->log : nullptr; }
    // Impulses of contacts in the last step, by shapes, next to which those of the next one are sought; null where nothing touches.
    std::vector<PointImpulse>* impulses() { return touch_ ? &touch_->before : nullptr; }

    // End of a shorter step for one that could not be taken, in nanoseconds; `now`, if it cannot be taken at all. It is shorter where shapes
    // would pass each other in it.
    index shorter(index now, index end) const {
        if (!touch_ || !(touch_->part < 1.0)) return now;
        return now + static_cast<index>(touch_->part * static_cast<double>(end - now));
    }

    // States alone are wanted of the steps: no work, forces or contacts, and no rates at their ends.
    void states_alone() {
        lean_ = true;
        record(false);
    }
    // Record contacts, or stop that.
    void record(bool how) {
        if (touch_) touch_->recorded = how;
    }

    // The next step is one of another motion: nothing is known of its start, and the log is cleared.
    void forget() {
        begun_ = weighed_ = false, m_.forget_sample();
        if (touch_) touch_->log.steps.clear(), touch_->log.points.clear(), touch_->before.clear();
    }

    // Forces are others than those that the last step ended with.
    void forget_rates() {
        begun_ = false;
        m_.forget_sample();
    }

    // Take a step from x with rates w at t over h; false where Python should take it.
    bool take(double t, const double* x, const double* w, double h) {
        switch (method_) {
            case EXPLICIT: return explicit_step(t, x, w, h);
            case EULER: return euler(t, x, w, h);
            case VERLET: return verlet(t, x, w, h);
            case GAUSS: return gauss(t, x, w, h);
            case MOREAU:
            case MIDPOINT: {  // on the way out without a step, nothing of the log has changed
                const std::size_t steps = touch_->log.steps.size(), points = touch_->log.points.size();
                touch_->part = 1.0;
                if (!m_.sample(t, x)) return false;
                if (method_ == MOREAU ? moreau(t, x, w, h) : midpoint(t, x, w, h)) {
                    touch_->before.swap(touch_->after);
                    return true;
                }
                touch_->log.steps.resize(steps), touch_->log.points.resize(points);
                return false;
            }
            default: return variational(t, x, h);
        }
    }

    // The error of the step just taken, relative to what rtol allows (`Pace.error`).
    double error(const double* x0, const double* w0, double h, double rtol) {
        m_.scale(x0, w0, scale0_.data()), m_.scale(x1.data(), w1.data(), scale_.data());
        for (std::size_t i = 0; i < scale_.size(); ++i) scale_[i] = rtol * (scale_[i] > scale0_[i] ? scale_[i] : scale0_[i]);
        double all = estimate(h, false);
        if (all > 1.0 && m_.projects()) all = estimate(h, true);
        if (m_.prescribes()) all = std::fmax(all, drift());
        const double bent = bend(h, rtol);
        return bent <= 1.0 || bent <= all ? all : bent;
    }

    // True if stability limits the step (`Pace.is_stiff`): a difference of rates over that of the coordinates it belongs to.
    bool unstable(double h, double rtol) {
        constexpr double STABLE = 6.1;  // that of sim/integrators/pace.py
        const double *end = K(tableau_.stages), *before = K(tableau_.stages - 1);
        m_.scale(x1.data(), w1.data(), scale_.data());
        for (double& s : scale_) s *= rtol;
        for (index i = 0; i < m_.size; ++i) last_[at(i)] = end[i] - before[i];
        const double rise = size(last_.data());
        combine(tableau_.A + (tableau_.stages - 1) * tableau_.stages, tableau_.stages - 1, h, last_.data());
        for (index i = 0; i < m_.size; ++i) last_[at(i)] = u[at(i)] - last_[at(i)];
        const double run = size(last_.data());
        return run > 0.0 && h * rise > STABLE * run;
    }

    // Number of rows of the dense output of a step.
    static index rows(Method method, const Tableau& tableau) { return tableau.adaptive() ? 3 + tableau.rows : touches(method) ? 3 : 1; }

    // Write the rows: u alone, completed where it is asked for; with contact the cubic by the rates that the step began with; or those
    // of an adaptive method.
    bool dense(double t, const double* x, double h, double* F) {
        const auto row = static_cast<std::size_t>(m_.size);
        std::memcpy(F, u.data(), row * sizeof(double));
        if (touches(method_)) {
            m_.chart(x, u.data(), w1.data(), last_.data());
            for (std::size_t i = 0; i < row; ++i) {
                F[row + i] = h * slope_[i] - u[i];
                F[2 * row + i] = 2.0 * u[i] - (h * slope_[i] + h * last_[i]);
            }
            return true;
        }
        if (!tableau_.adaptive()) return true;
        const double *first = K(0), *end = K(tableau_.stages);
        for (std::size_t i = 0; i < row; ++i) {
            F[row + i] = h * first[i] - u[i];
            F[2 * row + i] = 2.0 * u[i] - (h * first[i] + h * end[i]);
        }
        const index all = tableau_.all();
        for (index i = 0; i < tableau_.extra; ++i)
            if (!slope(t, x, h, tableau_.A_extra + i * all, tableau_.stages + 1 + i, tableau_.c_extra[i])) return false;
        for (index i = 0; i < tableau_.rows; ++i) combine(tableau_.D + i * all, all, h, F + (3 + i) * m_.size);
        return true;
    }

private:
    static std::size_t at(index i) { return static_cast<std::size_t>(i); }
    double* K(index i) { return K_.data() + i * m_.size; }

    // to = h sum of a_j K_j, or of a_j (K_j - from)
    void combine(const double* a, index count, double h, double* to, const double* from = nullptr) {
        std::memset(to, 0, static_cast<std::size_t>(m_.size) * sizeof(double));
        for (index j = 0; j < count; ++j) {
            const double* k = K(j);
            if (a[j] == 0.0) continue;
            if (from)
                for (index i = 0; i < m_.size; ++i) to[i] += a[j] * (k[i] - from[i]);
            else
                for (index i = 0; i < m_.size; ++i) to[i] += a[j] * k[i];
        }
        for (index i = 0; i < m_.size; ++i) to[i] *= h;
    }

    // Estimate of orders five and three together; `kept`: of the part that remains when the end is put back on closures. The rest
    // is no error of the step, and next to a singular pose rounding divided by a row that vanishes.
    double estimate(double h, bool kept) {
        double squares[2];
        const double* orders[] = {tableau_.E5, tableau_.E3};
        for (int i = 0; i < 2; ++i) {
            combine(orders[i], tableau_.stages + 1, h, last_.data(), K(0));  // their sum is zero: of what changes, no more
            if (kept && !(m_.keep(x1.data(), last_.data()) && m_.keep(x1.data(), last_.data() + m_.nv)))
                return std::numeric_limits<double>::quiet_NaN();  // Python looks
            const double root = size(last_.data());
            squares[i] = root * root;
        }
        return squares[0] > 0.0 ? squares[0] / std::sqrt(squares[0] + 0.01 * squares[1]) : squares[0];
    }

    // Difference of the rates at the end from those of the stages (`Pace.bend`): above 1 beyond a kink that none has met.
    double bend(double h, double rtol) {
        const double *end = K(tableau_.stages), *before = K(tableau_.stages - 1);
        const double part = std::sqrt(std::sqrt(rtol)), weight = h * tableau_.b[tableau_.stages - 1];
        for (index i = 0; i < m_.size; ++i) last_[at(i)] = weight * (end[i] - before[i]);
        const double bent = part * size(last_.data());
        if (bent <= 1.0 || !m_.projects()) return bent;
        if (!(m_.keep(x1.data(), last_.data()) && m_.keep(x1.data(), last_.data() + m_.nv)))
            return std::numeric_limits<double>::quiet_NaN();  // Python looks
        return part * size(last_.data());
    }

    // Size of the change that puts the velocities at the end where they have to be (`Pace.drift`).
    double drift() const {
        constexpr double WEIGHT = 0.1;  // that of sim/integrators/pace.py
        double sum = 0.0;
        for (index i = 0; i < m_.nv; ++i) {
            const double part = (x1[at(m_.nq + i)] - loose_[at(i)]) / scale_[at(m_.nv + i)];
            sum += part * part;
        }
        return WEIGHT * std::sqrt(sum / static_cast<double>(m_.nv));
    }

    // The root of the mean square of coordinates, velocities and states of components, each relative to its scale.
    double size(const double* x) const {
        double sum = 0.0;
        for (std::size_t i = 0; i < scale_.size(); ++i) {
            const double part = x[m_.measured(static_cast<index>(i))] / scale_[i];
            sum += part * part;
        }
        return scale_.empty() ? 0.0 : std::sqrt(sum / static_cast<double>(scale_.size()));
    }

    // K_i at h sum of a_j K_j; `loose`: where that is, next to the closures.
    bool slope(double t, const double* x, double h, const double* a, index i, double c, bool loose = false) {
        return rate(t + c * h, x, h, a, i, K(i), loose);
    }
    // The rate of u at h sum of the first `count` a_j K_j.
    bool rate(double t, const double* x, double h, const double* a, index count, double* to, bool loose) {
        combine(a, count, h, last_.data());
        if (!m_.inside(last_.data())) return false;
        m_.move(x, last_.data(), stage_.data());
        if ((!loose && !m_.settle(t, stage_.data())) || !m_.rates(t, stage_.data(), w_.data())) return false;
        m_.chart(x, last_.data(), w_.data(), to);
        return true;
    }

    bool slopes(double t, const double* x, double h, bool loose) {
        const index stages = tableau_.stages;
        for (index i = 1; i < stages; ++i)
            if (!slope(t, x, h, tableau_.A + i * stages, i, tableau_.c[i], loose)) return false;
        return true;
    }

    // The stages of short steps are as good next to the closures as on them: accelerations there keep what is open as it is,
    // so that the closures are an invariant of the motion of all dofs, and its method has its order (Hairer, Lubich, Wanner,
    // Geometric Numerical Integration, IV.4). Where a stage is farther off than a state may be, all of them are put back.
    bool explicit_step(double t, const double* x, const double* w, double h) {
        if (!stages(t, x, w, h)) return false;
        m_.move(x, u.data(), x1.data());
        if (tableau_.adaptive() && m_.prescribes()) loose_.assign(x1.begin() + m_.nq, x1.begin() + m_.nq + m_.nv);
        if (!ended(t, h)) return false;
        if (tableau_.adaptive()) m_.chart(x, u.data(), w1.data(), K(tableau_.stages));
        return true;
    }
    // u <- the chart coordinates of its end.
    bool stages(double t, const double* x, const double* w, double h) {
        const index stages = tableau_.stages;
        std::memcpy(K(0), w, static_cast<std::size_t>(m_.size) * sizeof(double));
        if (m_.is_tree() || m_.prescribes() || tableau_.adaptive()) {
            if (!slopes(t, x, h, false)) return false;
        } else {
            const std::vector<double> theta = m_.theta;
            if (!slopes(t, x, h, true)) {
                m_.theta = theta;
                if (!slopes(t, x, h, false)) return false;
            }
        }
        combine(tableau_.b, stages, h, u.data());
        return m_.inside(u.data());
    }

    // Stages that depend on each other, by repetition from the rates at the start.
    bool gauss(double t, const double* x, const double* w, double h) {
        constexpr int ROUNDS = 80, PATIENCE = 8;  // those of sim/integrators/gauss.py
        constexpr double SMALL = 2e-16, STALLED = 1e-12, SETTLED = 1e-9;
        const index stages = tableau_.stages;
        for (index i = 0; i < stages; ++i) std::memcpy(K(i), w, at(m_.size) * sizeof(double));
        m_.scale(x, w, scale_.data());
        double last = INFINITY, best = INFINITY;
        for (int round = 0, since = 0; round < ROUNDS; ++round) {
            double change = 0.0, size = 0.0;
            for (index i = 0; i < stages; ++i) {
                double* to = next_.data() + i * m_.size;
                if (!rate(t + tableau_.c[i] * h, x, h, tableau_.A + i * stages, stages, to, false)) return false;
                for (std::size_t k = 0; k < scale_.size(); ++k) {
                    const index own = m_.measured(static_cast<index>(k));
                    change = std::fmax(change, std::fabs(h * (to[own] - K(i)[own]) / scale_[k]));
                    if (!m_.drifts(own)) size = std::fmax(size, std::fabs(h * to[own] / scale_[k]));
                }
            }
            K_.swap(next_);
            since = change < 0.5 * best ? 0 : since + 1;
            if (!since) best = change;
            const double large = std::fmax(1.0, size);
            if (change <= SMALL * size || (change >= 0.5 * last && change < STALLED * large) ||
                (since >= PATIENCE && change < SETTLED * large)) {
                combine(tableau_.b, stages, h, u.data());
                return end(t, x, h);
            }
            last = change;
        }
        return false;
    }

    // v1 = v0 + h a(q0, v0), then q1 = move(q0, h v1).
    bool euler(double t, const double* x, const double* w, double h) {
        for (index i = 0; i < m_.size; ++i) u[at(i)] = h * w[i];
        for (index i = 0; i < m_.nv; ++i) u[at(i)] = h * (x[m_.nq + i] + u[at(m_.nv + i)]);
        return end(t, x, h);
    }

    // v_half = v0 + (h/2) a(q0, v0), q1 = move(q0, h v_half), v1 = v_half + (h/2) a(q1, v0 + h a(q0, v0)).
    bool verlet(double t, const double* x, const double* w, double h) {
        for (index i = 0; i < m_.size; ++i) u[at(i)] = h * w[i];
        for (index i = 0; i < m_.nv; ++i) u[at(i)] = h * (x[m_.nq + i] + 0.5 * h * w[m_.nv + i]);
        if (!m_.inside(u.data())) return false;
        m_.move(x, u.data(), stage_.data());
        if (!m_.settle(t + h, stage_.data()) || !m_.rates(t + h, stage_.data(), w_.data())) return false;
        m_.chart(x, u.data(), w_.data(), last_.data());
        for (index i = m_.nv; i < m_.size; ++i) u[at(i)] = 0.5 * h * (w[i] + last_[at(i)]);
        return end(t, x, h);
    }

    // One step of order two, or three with the middle one back (Yoshida 1990).
    bool variational(double t, const double* x, double h) {
        const double one = 1.0, a = 1.0 / (2.0 - std::cbrt(2.0)), three[] = {a, 1.0 - 2.0 * a, a};
        const bool second = method_ == VARIATIONAL;
        if (!variational_->take(t, x, h, second ? &one : three, second ? 1 : 3, u.data())) return false;
        variational_->end(x1.data());  // as it is, and not moved by u: momentum is kept to rounding
        if (!m_.between(x, x1.data(), u.data()) || !m_.inside(u.data())) return false;
        for (index i = 0; i < m_.names; ++i) x1[at(m_.nq + m_.nv + i)] = x[m_.nq + m_.nv + i] + u[at(2 * m_.nv + i)];
        return settled(t, h);
    }

    // A smooth step, then the impulses of all that touches (sim/integrators/moreau.py). The rates at the end have the mean
    // acceleration of the step; those that the next one begins with are kept here. Fast springs, dampers and servos are taken
    // implicitly; where actuators would go beyond their limits, the step is taken again with them held there.
    bool moreau(double t, const double* x, const double* w, double h) {
        Implicit& implicit = m_.implicit();
        m_.forget_impulses();
        if (!implicit.any()) return pressed(t, x, w, h);
        if (!look_ahead(t, x, h)) return false;
        if (implicit.acts() && m_.prescribes()) return false;  // what their motions take would be that of explicit forces
        const std::size_t steps = touch_->log.steps.size(), points = touch_->log.points.size();
        while (pressed(t, x, w, h)) {
            if (!implicit.acts()) return true;
            mean_acceleration(x, h, last_.data() + m_.nv);
            if (!implicit.hold(t, last_.data() + m_.nv)) return true;
            touch_->log.steps.resize(steps), touch_->log.points.resize(points);
            begun_ = false;
        }
        return false;
    }

    // Choose what is taken implicitly, and the actuators that are at their limits from the beginning.
    bool look_ahead(double t, const double* x, double h) {
        Implicit& implicit = m_.implicit();
        const double* v = x + m_.nq;
        implicit.clear();
        for (index i = 0; i < m_.nv; ++i) u[at(i)] = h * v[i];
        m_.integrate(x, u.data(), stage_.data());
        const std::vector<index>& dofs = implicit.look(t, h, stage_.data(), m_.nq, v);
        if (!m_.measure_closures(x)) return false;
        if (dofs.empty()) return true;
        implicit.fast_from(fast_), compliance_ = fast_;
        if (!touch_->compliance(x, v, dofs, compliance_)) return false;
        implicit.choose(compliance_, fast_);
        if (!m_.measure_closures(x)) return false;
        if (!implicit.acts()) return true;
        weighed_ = weighed_ && std::equal(known_.begin(), known_.end(), x);
        do {
            if (!rates_implicitly(t, x)) return false;
        } while (implicit.hold(t, rates_.data() + m_.nv));
        known_.assign(x, x + m_.points), begun_ = true;
        return true;
    }
    // rates_ <- those at x with what is taken implicitly.
    bool rates_implicitly(double t, const double* x) {
        m_.take_implicitly(m_.implicit().acts());
        const bool fine = m_.rates(t, x, rates_.data());
        m_.take_implicitly(false);
        return fine;
    }
    bool stages_implicitly(double t, const double* x, double h) {
        m_.take_implicitly(m_.implicit().acts());
        const bool fine = stages(t, x, rates_.data(), h);
        m_.take_implicitly(false);
        return fine;
    }
    // (v1 - v0)/h
    void mean_acceleration(const double* x, double h, double* to) const {
        for (index i = 0; i < m_.nv; ++i) to[i] = (x1[at(m_.nq + i)] - x[m_.nq + i]) / h;
    }

    bool pressed(double t, const double* x, const double* w, double h) {
        constexpr double STILL = 1e-6;  // that of sim/integrators/moreau.py
        const index nq = m_.nq, nv = m_.nv;
        m_.forget_impulses();
        const bool same = (begun_ || weighed_) && std::equal(known_.begin(), known_.end(), x);
        const bool known = same && begun_, weighed = same && weighed_;
        weighed_ = false;
        if (!known && !rates_implicitly(t, x)) return false;
        slope_ = rates_, begun_ = true;
        if (!stages_implicitly(t, x, h)) return false;
        m_.move(x, u.data(), x1.data());
        if (!m_.settle(t + h, x1.data()) || !rigid::finite(x1.data(), m_.points)) return false;
        bool pressed = false;
        if (!touch_->act(t + h, h, x, x + nq, x1.data(), x1.data() + nq, pressed)) return false;
        if (!pressed) {
            if (m_.implicit().acts()) {
                slope_.assign(w, w + m_.size);
                return ended_by_mean(t, x, h);
            }
            if (!settled(t, h)) return false;
            known_ = x1, rates_ = w1, begun_ = !lean_;
            return true;
        }
        if (touch_->recorded && m_.prescribes()) {
            for (index i = 0; i < nv; ++i) last_[at(i)] = touch_->v[at(i)] - x1[at(nq + i)];
            m_.add_reactions(x1.data(), last_.data(), h, touch_->force);
        }
        free_ = x1, smooth_ = u, slope_.assign(w, w + m_.size);
        if (!m_.is_tree() && !m_.between(x, free_.data(), smooth_.data())) return false;  // where it was put on the closures
        const std::vector<double>& v = touch_->v;
        double *rf = last_.data(), *r1 = w_.data();
        std::memcpy(rf, free_.data() + nq, at(nv) * sizeof(double)), std::memcpy(r1, v.data(), at(nv) * sizeof(double));
        m_.chart_of(smooth_.data(), rf), m_.chart_of(smooth_.data(), r1);
        for (index i = 0; i < nv; ++i) {  // those of dofs at rest before and after do not creep
            const double r0 = x[nq + i], most = std::fmax(std::fabs(r0), std::fabs(r1[i]));
            const bool still = most <= STILL * std::fabs(rf[i]);
            u[at(i)] = still ? 0.5 * h * (r0 + r1[i]) : smooth_[at(i)] + 0.5 * h * (r1[i] - rf[i]);
            u[at(nv + i)] = (m_.travels(i) ? r1[i] : v[at(i)]) - x[nq + i];
        }
        m_.carry_turns(smooth_.data(), v.data(), x + nq, u.data());
        for (index i = 2 * nv; i < m_.size; ++i) u[at(i)] = free_[at(nq - nv + i)] - x[nq - nv + i];
        if (!m_.inside(u.data())) return false;
        m_.move(x, u.data(), x1.data());
        bool needed = false;
        if (!m_.settle(t + h, x1.data()) || !ends_apart(needed)) return false;
        if (needed || !lean_) {
            if (!m_.push_at(t + h, free_.data(), forces.data(), w_.data())) return false;
            for (index i = 0; i < nv; ++i) w_[at(i)] = (free_[at(nq + i)] - x[nq + i]) / h;
            m_.implicit().answer_at(t + h, free_.data(), free_.data() + nq, w_.data(), forces.data());
            const auto work = [&] {  // what it was in the smooth step, and along h/2 (v1 - v_f) since then
                const double *end = x1.data() + nq, *smooth = free_.data() + nq;
                for (index i = 0; i < m_.names; ++i)
                    work_[at(i)] = work_along(i, h, smooth_[at(2 * nv + i)], [&](index k) { return end[k] - smooth[k]; });
                m_.implicit().impulse_work(x + nq, free_.data() + nq, x1.data() + nq, work_.data());
            };
            if (!balance(t + h, x, h, weighed, needed, work)) return false;
        }
        if (!touch_->keeps_sides(h, x, x + nq, x1.data(), x1.data() + nq, true)) return false;
        m_.take_impulses(*touch_);
        if (m_.implicit().acts() || forces_end) {
            if (!ended_by_mean(t, x, h)) return false;
            known_ = x1, weighed_ = !lean_;
            return true;
        }
        if (!settled(t, h)) return false;
        known_ = x1, rates_ = w1, rates_[at(2 * nv + m_.contact_row())] = 0.0, begun_ = weighed_ = !lean_;
        for (const LoadRow& y : m_.load_rows) rates_[at(2 * nv + y.load)] = y.power;
        if (lean_) return true;
        m_.mean_rate(x, x1.data(), h, w1.data() + nv);
        return true;
    }
    // The rates at the end of a step by its mean acceleration, where the next one does not begin with them: it chooses again what it
    // takes implicitly, or has other forces.
    bool ended_by_mean(double t, const double* x, double h) {
        begun_ = false;
        open = m_.open;
        if (!rigid::finite(x1.data(), m_.points)) return false;
        if (lean_) return true;
        std::memcpy(w1.data(), x1.data() + m_.nq, at(m_.nv) * sizeof(double));
        if (!m_.sample(t + h, x1.data())) return false;
        const bool fine = m_.plan() ? m_.rates(t1, x1.data(), w1.data(), forces.data())
                                    : m_.push(t + h, x1.data(), x1.data() + m_.nq, forces.data(), w1.data() + 2 * m_.nv);
        if (!fine) return false;
        m_.mean_rate(x, x1.data(), h, w1.data() + m_.nv);
        return rigid::finite(w1.data(), m_.size);
    }

    // Moreau's midpoint (sim/integrators/moreau_midpoint.py): forces, contacts and inertias of the middle of the step, where
    // velocities are in the axes that bodies have there.
    bool midpoint(double t, const double* x, const double* w, double h) {
        const index nq = m_.nq, nv = m_.nv;
        m_.forget_impulses();
        const bool weighed = weighed_ && std::equal(known_.begin(), known_.end(), x);
        weighed_ = false;
        double *q = free_.data(), *v0 = q + nq, *v = stage_.data(), *a = w_.data();
        std::fill(u.begin(), u.end(), 0.0);
        for (index i = 0; i < nv; ++i) u[at(i)] = 0.5 * h * x[nq + i], v0[i] = x[nq + i];
        if (!m_.inside(u.data())) return false;
        m_.go(x, u.data(), q), m_.carry(u.data(), v0);
        if (!touch_->begin_midway(q, v0)) return false;
        std::copy(v0, v0 + nv, v);
        for (const double way : {0.5 * h, h}) {  // at first to the middle
            if (!m_.push(t + 0.5 * h, q, v, forces.data(), last_.data(), true)) return false;
            touch_->accelerate(v, m_.all_of(forces.data()), m_.ground(), a);
            m_.straighten(v, a);
            for (index i = 0; i < nv; ++i) v[i] = v0[i] + way * a[i];
            if (!rigid::finite(v, nv)) return false;
        }
        bool pressed = false, needed = false;
        if (!touch_->act_midway(t + h, h, x, x + nq, q, v, pressed)) return false;
        const std::vector<double>& v1 = touch_->v;
        for (index i = 0; i < nv; ++i) u[at(i)] = 0.5 * h * v1[at(i)], x1[at(nq + i)] = v1[at(i)];
        if (!m_.inside(u.data())) return false;
        m_.go(q, u.data(), x1.data()), m_.carry(u.data(), x1.data() + nq);
        const auto work = [&] {
            for (index i = 0; i < m_.names; ++i)
                work_[at(i)] = work_along(i, h, 0.0, [&](index k) { return v0[k] + v1[at(k)]; });
        };
        if (pressed && !ends_apart(needed)) return false;
        if (pressed && (needed || !lean_)) {
            if (!balance(t + h, x, h, weighed, needed, work)) return false;
            known_ = x1, weighed_ = true;
        } else if (!lean_) {
            work(), work_[at(m_.contact_row())] = 0.0;
            for (index i = 0; i < m_.names; ++i) x1[at(nq + nv + i)] = x[nq + nv + i] + work_[at(i)];
        }
        if (!rigid::finite(x1.data(), m_.points)) return false;
        if (!touch_->keeps_sides(h, x, x + nq, x1.data(), x1.data() + nq, pressed)) return false;
        m_.take_impulses(*touch_);
        if (lean_) return true;
        if (!m_.sample(t + h, x1.data())) return false;
        if (!m_.push(t + h, x1.data(), x1.data() + nq, forces.data(), w1.data() + 2 * nv, true)) return false;
        if (!m_.between(x, x1.data(), u.data())) return false;
        std::memcpy(w1.data(), x1.data() + nq, at(nv) * sizeof(double));
        m_.mean_rate(x, x1.data(), h, w1.data() + nv);
        for (index i = 2 * nv; i < m_.size; ++i) u[at(i)] = x1[at(nq - nv + i)] - x[nq - nv + i];
        slope_.assign(w, w + m_.size);
        return m_.inside(u.data());
    }

    // `before` and h/2 f . way of the forces of a row.
    template <class Way>
    double work_along(index row, double h, double before, const Way& way) const {
        const Mechanism::Span dofs = m_.span(row);
        const double* const f = forces.data() + row * m_.nv;
        for (index k = dofs.first; k < dofs.last; ++k) before += 0.5 * h * f[k] * way(k);
        return before;
    }

    // last_ <- the way out of what a step ended in; `needed`: whether it is in anything.
    bool ends_apart(bool& needed) {
        std::fill(last_.begin(), last_.end(), 0.0);
        return touch_->way_out(x1.data(), x1.data() + m_.nq, last_.data(), needed) && m_.inside(last_.data());
    }

    // The work of every force in a step with contact that ends at t, which `work` computes in work_; all the rest of what the energy grew by is
    // that of the contacts. Where it is `needed` the end is lifted out of what it is in, as far as the energy that they took allows.
    // A force that the step holds has no separate row.
    template <class Work>
    bool balance(double t, const double* x, double h, bool weighed, bool needed, const Work& work) {
        const index first = m_.nq + m_.nv, springs = m_.springs_row(), contact = m_.contact_row();
        const double before = weighed ? energy_ : m_.mechanical_energy(x);
        const auto taken = [&] {
            double left = energy_ - before;
            for (index i = 0; i < m_.names; ++i) left -= i == contact ? 0.0 : work_[at(i)];
            for (index k = 0; k < m_.nv; ++k) left -= 0.5 * h * m_.held(k) * (x[m_.nq + k] + x1[at(m_.nq + k)]);
            return -left;
        };
        energy_ = m_.mechanical_energy(x1.data()), work();
        const double begun = energy_;
        if (needed) {
            bool moved = false;
            if (!lifted(t, taken() - (springs < 0 ? 0.0 : std::fmax(work_[at(springs)], 0.0)), moved)) return false;
            if (moved) work();
        }
        work_[at(contact)] = -taken();
        for (const LoadRow& y : touch_->of_loads) {
            const double part = 0.5 * h * y.force * (x[m_.nq + y.dof] + x1[at(m_.nq + y.dof)]) + y.part * (energy_ - begun);
            work_[at(y.load)] += part, work_[at(contact)] -= part;
        }
        for (index i = 0; i < m_.names; ++i) x1[at(first + i)] = x[first + i] + work_[at(i)];
        return rigid::finite(work_.data(), m_.names);
    }

    // x1 moved by what is in last_, by a part of it where it would take more energy than `most`, what the impulses took less what
    // springs and dampers gave; or not at all. `moved`: whether it is moved. False where closures are in doubt.
    bool lifted(double t, double most, bool& moved) {
        constexpr double LEAST = 1e-6, SHORT = 1.0 - 1e-9;  // those of sim/integrators/moreau.py
        most = std::fmax(most, 0.0), moved = false;
        const double start = energy_;
        double part = 1.0;
        for (int i = 0; i < 2; ++i) {
            for (double& y : last_) y *= part;
            m_.move(x1.data(), last_.data(), stage_.data());
            std::memcpy(stage_.data() + m_.nq, x1.data() + m_.nq, at(m_.nv) * sizeof(double));
            m_.carry(last_.data(), stage_.data() + m_.nq);
            if (!m_.settle(t, stage_.data())) return false;
            const double now = m_.mechanical_energy(stage_.data()), rise = now - start;
            if (rise <= most) {
                energy_ = now, moved = true;
                x1.swap(stage_);
                return true;
            }
            part = SHORT * (most / rise);
            if (!(part > LEAST)) return true;
        }
        return true;
    }

    bool end(double t, const double* x, double h) {
        if (!m_.inside(u.data())) return false;
        m_.move(x, u.data(), x1.data());
        return ended(t, h);
    }
    bool ended(double t, double h) { return m_.settle(m_.plan() ? t1 : t + h, x1.data()) && settled(t, h); }
    // The end is on the closures.
    bool settled(double t, double h) {
        open = m_.open;
        if (!rigid::finite(x1.data(), m_.points)) return false;
        return lean_ || (m_.sample(t + h, x1.data()) && m_.rates(m_.plan() ? t1 : t + h, x1.data(), w1.data(), forces.data()));
    }

    Mechanism& m_;
    Method method_;
    const Tableau& tableau_;
    std::unique_ptr<Variational> variational_;
    std::vector<double> K_, next_, stage_, w_, last_, scale_, scale0_;  // next_: K_ of the next round
    std::unique_ptr<Impulses> touch_;
    bool begun_ = false, weighed_ = false, lean_ = false;
    std::vector<double> free_, smooth_, known_, rates_, slope_, work_, compliance_, fast_;  // known_: the point that rates_ are at, if begun_, and energy_, if weighed_; work_: of a step
    std::vector<double> loose_;  // velocities at the end before they are put where they have to be
    double energy_ = 0.0;
};

}  // namespace sim
}  // namespace soacraft
