// The mass matrix of a tree with flexible bodies, its inverse, column by column, and the logarithm of its determinant.
//
// A column is inverse or forward dynamics of a unit vector, at rest, without springs and gravity: O(N) for N bodies, as many
// columns at a time as a register holds. M(eta) need not be positive; what is in doubt is left to Python.
#pragma once

#include "../rigid/log_det.hpp"
#include "drivers.hpp"

SOACRAFT_RIGID_BEGIN

// log det of the mass matrix: the sum of log D of all dofs and of the modes, which are eliminated before their hinge.
struct FlexibleLogDet {
    template <class T>
    static bool run(const Job& job, index first, index last, void* workspace) {
        const Model& model = *job.model;
        Arena arena{static_cast<char*>(workspace)};
        const FlexAbaWork<T> work(job, arena);
        const FlexPulls<T> pulls(job, arena);
        T* space = arena.take<T>(vector_room<T>(model.nq));
        StateVector<T> still{arena.take<T>(model.nv)};
        still.clear(model.nv);
        bool fine = true;
        for (index i = first; i < last; i += Lanes<T>::count) {
            const Rows<T> rows(i, last);
            T sum(0.0);
            fine &= add_up<T>(model, read_vector(job, Q, rows, model.nq, space), still, pulls, work, sum);
            Writer<T>(job, 0, rows).set(0, sum);
        }
        return fine;
    }
    template <class T>
    static std::size_t room(const Job& job) {
        Room taken;
        FlexAbaWork<T>(job, taken);
        FlexPulls<T>(job, taken);
        taken.take<T>(vector_room<T>(job.model->nq));
        taken.take<T>(job.model->nv);
        return taken.bytes;
    }

    // False where a hinge or a mode has no inertia to move.
    template <class T>
    static bool add_up(const Model& model, const StateVector<T>& q, const StateVector<T>& still, const FlexPulls<T>& pulls,
                       const FlexAbaWork<T>& w, T& sum) {
        flexible_velocities<T>(model, {zeros<T>(), zeros<T>()}, q, still, w);
        const auto past = [&](const Element& e, const Joint<T>& me, Carried<T>& my, T& margin) {
            if (e.flexible >= 0) {
                const Flexible& f = model.flexible[e.flexible];
                const double* constant = mass_factor(model, f).inverse;
                for (index j = 0; j < f.n; ++j)
                    sum += T(-2.0) * logarithm(w.eliminated[e.flexible].constant ? T(constant[j]) : w.inverse[j]);
            }
            take_hinge(model, e, q, OwnAxes<T>{}, my.P, my.of, margin, [&](index, const auto&, const Taken<T>& dof) {
                sum += logarithm(T(e.scale * e.scale) * dof.D);
            });
            return Carried<T>{inward(me.X, my.P), my.z, shifted(me.X.p, my.of)};
        };
        return flexible_inertias<false, T>(model, q, still, still, pulls, w, past);
    }
};

// The matrix whose products with x are Product's results, symmetric but for rounding; one state after the other.
template <bool inverse>
struct FlexibleMatrix {
    typedef Abreast C;

    template <class T>
    static bool run(const Job& job, index first, index last, void* workspace) {
        const Model& model = *job.model;
        const index n = model.nv;
        Arena arena{static_cast<char*>(workspace)};
        const Work work(job, arena);
        const FlexPulls<C> pulls(job, arena);
        const StateVector<C> q{arena.take<C>(model.nq)}, v{arena.take<C>(n)};
        StateVector<C> x{arena.take<C>(n)}, y{arena.take<C>(n)};
        for (index i = 0; i < n; ++i) v.x[i] = x.x[i] = C(0.0);
        const FlexAbaWork<double> check(job, arena);
        const FlexPulls<double> none(job, arena);
        StateVector<double> still{arena.take<double>(n)};
        still.clear(n);
        bool fine = true;
        for (index i = first; i < last; ++i) {
            const Rows<double> row(i, last);
            const Reader<double> given(job, Q, row);
            for (index k = 0; k < model.nq; ++k) q.x[k] = C(given[k]);
            if constexpr (!inverse) {
                double unused = 0.0;
                const StateVector<double> at{const_cast<double*>(given.x)};
                if (!FlexibleLogDet::add_up<double>(model, at, still, none, check, unused)) return false;
            }
            fine &= fill(job, work, pulls, q, v, x, y, job.out[0] + i * job.out_step[0]);
        }
        return fine;
    }
    template <class T>
    static std::size_t room(const Job& job) {
        Room taken;
        Work(job, taken);
        FlexPulls<C>(job, taken);
        taken.take<C>(job.model->nq);
        for (int i = 0; i < 3; ++i) taken.take<C>(job.model->nv);
        FlexAbaWork<double>(job, taken);
        FlexPulls<double>(job, taken);
        taken.take<double>(job.model->nv);
        return taken.bytes;
    }

private:
    typedef std::conditional_t<inverse, FlexAbaWork<C>, FlexRneaWork<C>> Work;

    static bool fill(const Job& job, const Work& work, const FlexPulls<C>& pulls, const StateVector<C>& q, const StateVector<C>& v,
                     StateVector<C>& x, StateVector<C>& y, double* to) {
        const index n = job.model->nv;
        const Rows<C> rows(0, 1);
        for (index c = 0; c < n; c += SOACRAFT_LANES) {
            const index count = c + SOACRAFT_LANES < n ? SOACRAFT_LANES : n - c;
            for (index i = 0; i < count; ++i) x.x[c + i].x[i] = 1.0;
            if constexpr (inverse) {
                if (!flexible_forward_dynamics<false, C>(job, rows, q, v, x, pulls, work, y)) return false;
            } else {
                flexible_inverse_dynamics<false, C>(job, rows, q, v, x, pulls, work, y);
            }
            for (index i = 0; i < count; ++i) x.x[c + i] = C(0.0);
            for (index i = 0; i < count; ++i)
                for (index r = 0; r < n; ++r) to[(c + i) * n + r] = lane(y.x[r], static_cast<int>(i));
        }
        double bad = 0.0;
        for (index r = 0; r < n; ++r)
            for (index c = 0; c <= r; ++c) {
                to[r * n + c] = to[c * n + r] = 0.5 * (to[r * n + c] + to[c * n + r]);
                bad += 0.0 * to[r * n + c];
            }
        return bad == 0.0;
    }
};

SOACRAFT_RIGID_END
