// The kernels of derivatives: of dynamics, and of the mass matrix along the configuration. Those with matrices for a result
// take one state at a time, its columns side by side; those with a number or one for each dof take a pack of states.
#pragma once

#include "access.hpp"
#include "../coriolis_matrix.hpp"
#include "../fd_derivatives.hpp"
#include "../id_derivatives.hpp"
#include "../log_det.hpp"
#include "../mass_gradient.hpp"

SOACRAFT_RIGID_BEGIN


struct MassMatrixGradient {
    GradientWork<Abreast> work;
    template <class Taker>
    MassMatrixGradient(const Job& job, Taker& arena) : work(gradient_work<Abreast>(*job.model, arena)) {}
    SOACRAFT_INLINE bool fill(const Job& job, const Rows<double>& rows, double* const* out) const {
        return mass_matrix_gradient<Abreast>(*job.model, Reader<double>(job, Q, rows), work, out[0]);
    }
};

struct CoriolisMatrix {
    CoriolisWork<Abreast> work;
    template <class Taker>
    CoriolisMatrix(const Job& job, Taker& arena) : work(coriolis_work<Abreast>(*job.model, arena)) {}
    SOACRAFT_INLINE bool fill(const Job& job, const Rows<double>& rows, double* const* out) const {
        const Reader<double> q(job, Q, rows), v(job, V, rows);
        return coriolis_matrix<Abreast>(*job.model, q, v, work, out[0]);
    }
};

// Whose derivatives; and what springs and dampers add to them.
struct InverseDynamics {
    static constexpr bool takes_force = false;
    static SOACRAFT_INLINE bool add_passive(const Job& job, const Reader<double>& q, const Reader<double>& v,
                                            const LinkRateWork& links, double* const* out) {
        return add_passive_rates(*job.passive, *job.model, ground_of<double>(job), q, v, links, out[0], out[1]);
    }
    template <class Taker>
    static IdWork<Abreast> work(const Model& m, Taker& arena) { return id_work<Abreast>(m, arena); }
    template <class... Given>
    static SOACRAFT_INLINE bool fill(const Given&... given) { return inverse_dynamics_derivatives<Abreast>(given...); }
};
struct ForwardDynamics {
    static constexpr bool takes_force = true;
    static SOACRAFT_INLINE bool add_passive(const Job& job, const Reader<double>& q, const Reader<double>& v,
                                            const LinkRateWork& links, double* const* out) {
        return add_passive_response(*job.passive, *job.model, ground_of<double>(job), q, v, links, out[2], out[0], out[1]);
    }
    template <class Taker>
    static FdWork<Abreast> work(const Model& m, Taker& arena) { return fd_work<Abreast>(m, arena); }
    template <class... Given>
    static SOACRAFT_INLINE bool fill(const Given&... given) { return forward_dynamics_derivatives<Abreast>(given...); }
};

template <class Dynamics>
struct Derivatives {
    decltype(Dynamics::work(*static_cast<const Model*>(nullptr), *static_cast<Arena*>(nullptr))) work;
    Pulls<double> pulls;
    LinkWork<double> links;
    LinkRateWork rates;
    double* whole;
    template <class Taker>
    Derivatives(const Job& job, Taker& arena)
        : work(Dynamics::work(*job.model, arena)), pulls(job, arena), links(job.passive, *job.model, arena),
          rates(link_rate_work(job.passive, *job.model, arena)), whole(arena.template take<double>(job.model->nv)) {}
    SOACRAFT_INLINE bool fill(const Job& job, const Rows<double>& rows, double* const* out) const {
        const Reader<double> q(job, Q, rows), v(job, V, rows);
        Reader<double> x(job, X, rows);
        if (job.passive && Dynamics::takes_force) {
            for (index i = 0; i < job.model->nv; ++i) whole[i] = x[i];
            each_passive<double>(job, links, q, v, [&](index i, double own) { whole[i] += own; });
            x.x = whole;
        }
        return Dynamics::fill(*job.model, base_of(job), q, v, x, pulls.at(job, rows, q), work, out) &&
               (!job.passive || Dynamics::add_passive(job, q, v, rates, out));
    }
};

template <class T>
bool run_log_det(const Job& job, index first, index last, void* workspace) {
    Arena arena{static_cast<char*>(workspace)};
    const LogDetWork<T> work = log_det_work<T>(*job.model, arena);
    T* space = arena.take<T>(vector_room<T>(job.model->nq));
    bool fine = true;
    for (index i = first; i < last; i += Lanes<T>::count) {
        const Rows<T> rows(i, last);
        const StateVector<T> q = read_vector(job, Q, rows, job.model->nq, space);
        T found(0.0);
        fine &= log_det<Abreast>(*job.model, q, work, found);
        Writer<T>(job, 0, rows).set(0, found);
    }
    return fine;
}

template <class T>
bool run_log_det_gradient(const Job& job, index first, index last, void* workspace) {
    const Model& model = *job.model;
    Arena arena{static_cast<char*>(workspace)};
    const LogDetWork<T> work = log_det_work<T>(model, arena);
    T* space = arena.take<T>(vector_room<T>(model.nq));
    T* found = arena.take<T>(vector_room<T>(model.nv));
    bool fine = true;
    for (index i = first; i < last; i += Lanes<T>::count) {
        const Rows<T> rows(i, last);
        const StateVector<T> q = read_vector(job, Q, rows, model.nq, space);
        StateVector<T> gradient = write_vector(job, 0, rows, found);
        fine &= log_det_gradient<Abreast>(model, q, work, gradient);
        deliver(job, 0, rows, model.nv, gradient);
    }
    return fine;
}

template <class T>
std::size_t room_for_log_det_gradient(const Job& job) {
    Room taken;
    log_det_work<T>(*job.model, taken);
    return taken.bytes + room<T>(vector_room<T>(job.model->nq)) + room<T>(vector_room<T>(job.model->nv));
}
template <class T>
std::size_t room_for_log_det(const Job& job) { return room_for_log_det_gradient<T>(job); }

SOACRAFT_RIGID_END
