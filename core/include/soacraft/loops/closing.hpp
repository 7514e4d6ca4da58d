// Closing the loops of a configuration, near where it is: what soacraft/kinematics/assemble.py says, for starts that are
// not in doubt. Full steps of least squares that shrink what is open, then back towards the start along what is closed,
//
//     y = -A^+ r,    q <- integrate(q, y / d);          y = (I - A^+ A) d difference(q, start)
//
// with A and r the rows in common units, d the units of the dofs. A step that would have to be damped, a limit in the way, a
// rank in doubt: Python looks.
#pragma once

#include "rows/closure_jacobian.hpp"
#include "motion.hpp"
#include "linear/row_space.hpp"

SOACRAFT_RIGID_BEGIN

using loops::Allowed;

// Memory of the search, behind that of a motion.
struct ClosingWork {
    double *G, *A, *tau, *norm, *L, *scale, *b, *r, *y, *before, *dv, *start, *kept, *theta;
    index* order;
    std::size_t bytes;

    ClosingWork(const Plan& plan, char* memory) {
        Cutter cut{memory};
        const index m = plan.size, nv = plan.tree->nv, nq = plan.tree->nq, least = m < nv ? m : nv;
        cut(G, m * nv), cut(A, m * nv), cut(tau, least), cut(norm, m), cut(L, m * least), cut(scale, least), cut(b, m);
        cut(r, m), cut(y, nv), cut(before, nv), cut(dv, nv), cut(start, nq), cut(kept, nq), cut(theta, plan.coordinates);
        cut(order, m);
        bytes = cut.taken;
    }
};

constexpr int MOST_BACK = 200;  // steps towards the start

struct Closing {
    LoopWork& w;
    MotionWork& m;
    ClosingWork& c;
    const Allowed& allowed;
    RowSpace space;
    double open = 0.0, square = 0.0;  // opening, and |r|^2, at m.q

    Closing(LoopWork& w_, MotionWork& m_, ClosingWork& c_, const Allowed& allowed_)
        : w(w_), m(m_), c(c_), allowed(allowed_),
          space{w_.plan.size, allowed_.count, c_.A, c_.tau, c_.norm, c_.L, c_.scale, c_.b, c_.order} {}

    bool inside(const double* q) const {
        for (index i = 0; i < w.model.nv; ++i) {
            const index at = allowed.place[i];
            if (at >= 0 && !(q[at] >= allowed.lower[i] && q[at] <= allowed.upper[i])) return false;
        }
        return true;
    }

    // r in common units: distances in lengths of the model, so that one metre counts as much as another.
    double unit(const Tie& t, index r) const { return length_of(t.local + 6 * r) + w.plan.length * length_of(t.local + 6 * r + 3); }
    bool residual(const double* q, double* r, double& opened, double& size) {
        if (!inside(q) || !rows_at(w, q, m.still)) return false;
        opened = opening(w);
        open_by(w, r);
        for (std::size_t i = 0; i < w.plan.closures.size(); ++i)
            for (index k = 0; k < w.plan.closures[i].rows; ++k) r[w.plan.closures[i].row + k] /= unit(w.ties[i], k);
        for (const Coupling& x : w.plan.couplings) r[x.row] /= x.size;
        size = 0.0;
        for (index i = 0; i < w.plan.size; ++i) size += r[i] * r[i];
        return opened == opened && size == size;
    }

    // The rows that were taken last, of the free dofs, and their space.
    bool factor() {
        const Plan& plan = w.plan;
        const index nv = w.model.nv, n = allowed.count;
        closure_jacobian(w, c.G);
        const auto fill = [&](index row, double per) {
            for (index k = 0; k < n; ++k)
                c.A[row * n + k] = c.G[row * nv + allowed.free[k]] * per / plan.unit[allowed.free[k]];
        };
        for (std::size_t i = 0; i < plan.closures.size(); ++i)
            for (index k = 0; k < plan.closures[i].rows; ++k) fill(plan.closures[i].row + k, 1.0 / unit(w.ties[i], k));
        for (const Coupling& x : plan.couplings) fill(x.row, 1.0 / x.size);
        return space.factor(plan.tolerances.zero, plan.tolerances.clear);
    }

    // From m.q to where no more is open than `assembled`; rows there are taken. False where a step is not sure.
    bool close() {
        const Tolerances& t = w.plan.tolerances;
        const double largest = t.stride * std::sqrt(static_cast<double>(allowed.count));
        double radius = largest;
        if (!residual(m.q, c.r, open, square)) return false;
        for (int step = 0; !(open <= t.assembled); ++step) {
            if (step == MOST_STEPS || !factor()) return false;
            const double foretold = space.solve(c.r, c.y);
            double length = 0.0;
            for (index k = 0; k < allowed.count; ++k) length += c.y[k] * c.y[k];
            length = std::sqrt(length);
            if (!(length <= radius) || !(foretold > t.foretold * square)) return false;
            const double before = square;
            move(m.q, 1.0, m.next);
            if (!residual(m.next, c.r, open, square)) return false;
            const double gained = (before - square) / foretold;
            if (!(gained > t.gained || open <= t.assembled)) return false;
            if (gained > 0.75)
                radius = larger(radius, 2.0 * length) < 2.0 * largest ? larger(radius, 2.0 * length) : 2.0 * largest;
            else if (gained < 0.25)
                radius = 0.25 * (radius < length ? radius : length);
            for (index i = 0; i < w.model.nq; ++i) m.q[i] = m.next[i];
        }
        return true;
    }

    // to <- integrate(from, part y / d).
    void move(const double* from, double part, double* to) {
        for (index i = 0; i < w.model.nv; ++i) c.dv[i] = 0.0;
        for (index k = 0; k < allowed.count; ++k) c.dv[allowed.free[k]] = part * c.y[k] / w.plan.unit[allowed.free[k]];
        integrate(w.model, from, c.dv, to);
    }

    // d difference(q, start) into c.dv, and its length.
    bool away(const double* q, double& far) {
        if (!difference(w.model, q, c.start, c.dv)) return false;
        far = 0.0;
        for (index i = 0; i < w.model.nv; ++i) c.dv[i] *= w.plan.unit[i], far += c.dv[i] * c.dv[i];
        far = std::sqrt(far);
        return far == far;
    }

    // From the closed m.q, rows taken, towards the start.
    bool go_back() {
        const Tolerances& t = w.plan.tolerances;
        double far = 0.0, size = 1.0, square_before = 0.0;
        for (int step = 0; step < MOST_BACK; ++step) {
            if (!factor() || !away(m.q, far)) return false;
            double length = 0.0, along = 0.0, most = 0.0;
            for (index k = 0; k < allowed.count; ++k) c.y[k] = c.dv[allowed.free[k]];
            space.drop(c.y);
            for (index k = 0; k < allowed.count; ++k) {
                length += c.y[k] * c.y[k], most = larger(most, std::fabs(c.y[k]));
                along += step > 0 ? c.y[k] * c.before[k] : 0.0;
            }
            if (!(std::sqrt(length) > t.nearest * (1.0 + far))) return true;
            const double bent = square_before > 0.0 ? 1.0 - along / square_before : size;
            size = bent > 0.0 ? size / bent : 1.0;  // Barzilai and Borwein: see _size_of_step
            if (bent > 0.0) size = size < 0.1 ? 0.1 : size > 10.0 ? 10.0 : size;
            const double largest = size < t.stride / most ? size : t.stride / most;
            const double parts[] = {largest, 1.0, 0.3, 0.1, 0.01}, was_open = open, was_far = far;
            for (index i = 0; i < w.model.nq; ++i) c.kept[i] = m.q[i];
            for (index i = 0; i < w.plan.coordinates; ++i) c.theta[i] = w.theta[i];
            for (index k = 0; k < allowed.count; ++k) c.before[k] = c.y[k];
            square_before = length;
            bool nearer = false;
            for (int part = 0; part < 5 && !nearer; ++part) {
                if (part > 0 && !(parts[part] < largest)) continue;
                size = parts[part];
                for (index k = 0; k < allowed.count; ++k) c.y[k] = c.before[k];
                for (index i = 0; i < w.plan.coordinates; ++i) w.theta[i] = c.theta[i];
                move(c.kept, size, m.q);
                if (!close() || !away(m.q, far)) return false;
                nearer = open <= larger(t.assembled, was_open) && far < was_far;
            }
            if (!nearer) {
                for (index i = 0; i < w.model.nq; ++i) m.q[i] = c.kept[i];
                return true;
            }
            if (was_far - far <= t.nearest * far) return true;
        }
        return true;
    }
};

// The configuration nearest to q at which all closes, into m.q.
inline bool assemble(LoopWork& w, MotionWork& m, ClosingWork& c, const double* q, const Allowed& allowed) {
    if (allowed.count == 0) return false;
    Closing search(w, m, c, allowed);
    integrate(w.model, q, m.still, m.q);  // quaternions of unit length
    for (index i = 0; i < w.model.nq; ++i) c.start[i] = m.q[i];
    return search.close() && (!allowed.nearest || search.go_back());
}

// The velocities next to v with which a closed q stays so, where the allowed dofs alone change theirs, by the least in their units:
// v - G_a^+ Gc v. False where a rank is in doubt.
inline bool keep_closed(LoopWork& w, MotionWork& m, ClosingWork& c, const double* q, const double* v, const Allowed& allowed, double* to) {
    if (!rows_at(w, q, v)) return false;
    Closing search(w, m, c, allowed);
    if (!search.factor()) return false;
    speeds(w, c.r);
    for (std::size_t i = 0; i < w.plan.closures.size(); ++i)
        for (index k = 0; k < w.plan.closures[i].rows; ++k) c.r[w.plan.closures[i].row + k] /= search.unit(w.ties[i], k);
    for (const Coupling& x : w.plan.couplings) c.r[x.row] /= x.size;
    search.space.solve(c.r, c.y);
    for (index i = 0; i < w.model.nv; ++i) to[i] = v[i];
    double most = 0.0;
    for (index k = 0; k < allowed.count; ++k) most = larger(most, std::fabs(c.y[k]));
    for (index k = 0; k < allowed.count; ++k) {
        const index dof = allowed.free[k];
        to[dof] += c.y[k] / w.plan.unit[dof];
        if (std::fabs(to[dof] * w.plan.unit[dof]) <= w.plan.tolerances.settled * most) to[dof] = 0.0;  // rounding
    }
    return true;
}

SOACRAFT_RIGID_END
