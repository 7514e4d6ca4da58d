// The kernels of how the mass matrix changes with the configuration. Those with a matrix for a result take one state at a
// time, its columns side by side; those with a number or one for each dof take a pack of states.
#pragma once

#include "access.hpp"
#include "soacraft/rigid/coriolis_matrix.hpp"
#include "soacraft/rigid/log_det.hpp"
#include "soacraft/rigid/mass_gradient.hpp"

SOACRAFT_RIGID_BEGIN

typedef Pack<SOACRAFT_LANES> Abreast;

template <class T>
bool run_mass_matrix_gradient(const Job& job, index first, index last, void* workspace) {
    Bench bench{static_cast<char*>(workspace)};
    const GradientWork<Abreast> work = gradient_work<Abreast>(*job.model, bench);
    bool fine = true;
    for (index i = first; i < last; ++i) {
        const Reader<double> q(job, Q, Rows<double>(i, last));
        fine &= mass_matrix_gradient<Abreast>(*job.model, q, work, job.out[0] + i * job.out_step[0]);
    }
    return fine;
}

template <class T>
std::size_t room_for_mass_matrix_gradient(const Job& job) {
    Room taken;
    gradient_work<Abreast>(*job.model, taken);
    return taken.bytes;
}

template <class T>
bool run_coriolis_matrix(const Job& job, index first, index last, void* workspace) {
    Bench bench{static_cast<char*>(workspace)};
    const CoriolisWork<Abreast> work = coriolis_work<Abreast>(*job.model, bench);
    bool fine = true;
    for (index i = first; i < last; ++i) {
        const Rows<double> rows(i, last);
        const Reader<double> q(job, Q, rows), v(job, V, rows);
        fine &= coriolis_matrix<Abreast>(*job.model, q, v, work, job.out[0] + i * job.out_step[0]);
    }
    return fine;
}

template <class T>
std::size_t room_for_coriolis_matrix(const Job& job) {
    Room taken;
    coriolis_work<Abreast>(*job.model, taken);
    return taken.bytes;
}

template <class T>
bool run_log_det(const Job& job, index first, index last, void* workspace) {
    Bench bench{static_cast<char*>(workspace)};
    const LogDetWork<T> work = log_det_work<T>(*job.model, bench);
    T* space = bench.take<T>(rank_room<T>(job.model->nq));
    bool fine = true;
    for (index i = first; i < last; i += Lanes<T>::count) {
        const Rows<T> rows(i, last);
        const Rank<T> q = read_rank(job, Q, rows, job.model->nq, space);
        T found(0.0);
        fine &= log_det<Abreast>(*job.model, q, work, found);
        Writer<T>(job, 0, rows).set(0, found);
    }
    return fine;
}

template <class T>
bool run_log_det_gradient(const Job& job, index first, index last, void* workspace) {
    const Model& model = *job.model;
    Bench bench{static_cast<char*>(workspace)};
    const LogDetWork<T> work = log_det_work<T>(model, bench);
    T* space = bench.take<T>(rank_room<T>(model.nq));
    T* found = bench.take<T>(rank_room<T>(model.nv));
    bool fine = true;
    for (index i = first; i < last; i += Lanes<T>::count) {
        const Rows<T> rows(i, last);
        const Rank<T> q = read_rank(job, Q, rows, model.nq, space);
        Rank<T> gradient = write_rank(job, 0, rows, found);
        fine &= log_det_gradient<Abreast>(model, q, work, gradient);
        deliver(job, 0, rows, model.nv, gradient);
    }
    return fine;
}

template <class T>
std::size_t room_for_log_det_gradient(const Job& job) {
    Room taken;
    log_det_work<T>(*job.model, taken);
    return taken.bytes + room<T>(rank_room<T>(job.model->nq)) + room<T>(rank_room<T>(job.model->nv));
}
template <class T>
std::size_t room_for_log_det(const Job& job) { return room_for_log_det_gradient<T>(job); }

SOACRAFT_RIGID_END
