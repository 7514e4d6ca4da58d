// Drivers of dynamics and kinematics: each cuts its workspace, reads the rows of a job, runs a kernel and writes its rows.
// `run_...<double>` takes one state at a time, `run_...<Abreast>` a pack of states; `room_for_...` says how many bytes each
// works on.
#pragma once

#include "../aba.hpp"
#include "access.hpp"
#include "../kinematics.hpp"

SOACRAFT_RIGID_BEGIN

template <class T>
bool run_inverse_dynamics(const Job& job, index first, index last, void* workspace) {
    const Model& model = *job.model;
    Arena arena{static_cast<char*>(workspace)};
    Moving<T>* moving = arena.take<Moving<T>>(model.count);
    Motion<T>* branches = arena.take<Motion<T>>(model.branches);
    const Pulls<T> pulls(job, arena);
    const LinkWork<T> links(job.passive, model, arena);
    const StateVectors<T> vectors(model, arena);
    for (index i = first; i < last; i += Lanes<T>::count) {
        const Rows<T> rows(i, last);
        const StateVector<T> q = read_vector(job, Q, rows, model.nq, vectors.q),
                             v = read_vector(job, V, rows, model.nv, vectors.v);
        const StateVector<T> vdot = read_vector(job, X, rows, model.nv, vectors.x);
        StateVector<T> tau = write_vector(job, 0, rows, vectors.y);
        inverse_dynamics<T>(model, base_of(job), q, v, vdot, pulls.at(job, rows, q), moving, branches, tau);
        each_passive<T>(job, links, q, v, [&](index i, const T& x) { tau.set(i, tau[i] - x); });
        deliver(job, 0, rows, model.nv, tau);
    }
    return true;
}

template <class T>
std::size_t room_for_inverse_dynamics(const Job& job) {
    return room<Moving<T>>(job.model->count) + room<Motion<T>>(job.model->branches) + room_for_pulls<T>(job) +
           room_for_links<T>(job) + StateVectors<T>::bytes(*job.model);
}

template <class T>
bool run_forward_dynamics(const Job& job, index first, index last, void* workspace) {
    const Model& model = *job.model;
    Arena arena{static_cast<char*>(workspace)};
    const AbaWork<T> work(model, arena);
    const Pulls<T> pulls(job, arena);
    const LinkWork<T> links(job.passive, model, arena);
    const StateVectors<T> vectors(model, arena);
    T* whole = arena.take<T>(job.passive ? model.nv : 0);
    bool fine = true;
    for (index i = first; i < last; i += Lanes<T>::count) {
        const Rows<T> rows(i, last);
        const StateVector<T> q = read_vector(job, Q, rows, model.nq, vectors.q),
                             v = read_vector(job, V, rows, model.nv, vectors.v);
        const StateVector<T> tau = with_passive(job, links, q, v, read_vector(job, X, rows, model.nv, vectors.x), whole);
        StateVector<T> vdot = write_vector(job, 0, rows, vectors.y);
        fine &= forward_dynamics<T>(model, base_of(job), q, v, tau, pulls.at(job, rows, q), work, vdot);
        deliver(job, 0, rows, model.nv, vdot);
    }
    return fine;
}

template <class T>
std::size_t room_for_forward_dynamics(const Job& job) {
    const Model& m = *job.model;
    Room taken;
    AbaWork<T>(m, taken);
    return taken.bytes + room_for_pulls<T>(job) + room_for_links<T>(job) + StateVectors<T>::bytes(m) +
           room<T>(job.passive ? m.nv : 0);
}

template <class T>
bool run_passive_force(const Job& job, index first, index last, void* workspace) {
    const Model& model = *job.model;
    Arena arena{static_cast<char*>(workspace)};
    const LinkWork<T> links(job.passive, model, arena);
    const StateVectors<T> vectors(model, arena);
    for (index i = first; i < last; i += Lanes<T>::count) {
        const Rows<T> rows(i, last);
        const StateVector<T> q = read_vector(job, Q, rows, model.nq, vectors.q),
                             v = read_vector(job, V, rows, model.nv, vectors.v);
        StateVector<T> force = write_vector(job, 0, rows, vectors.y);
        force.clear(model.nv);
        each_passive<T>(job, links, q, v, [&](index k, const T& x) { force.set(k, force[k] + x); });
        deliver(job, 0, rows, model.nv, force);
    }
    return true;
}

template <class T>
std::size_t room_for_passive_force(const Job& job) {
    return StateVectors<T>::bytes(*job.model) + room_for_links<T>(job);
}

template <class T>
bool run_poses(const Job& job, index first, index last, void* workspace) {
    const Model& model = *job.model;
    Place<T>* places = static_cast<Place<T>*>(workspace);
    for (index i = first; i < last; i += Lanes<T>::count) {
        const Rows<T> rows(i, last);
        Writer<T> rotation(job, 0, rows), translation(job, 1, rows);
        poses<T>(model, place_of<T>(job), Reader<T>(job, Q, rows), places, rotation, translation);
    }
    return true;
}

template <class T>
std::size_t room_for_poses(const Job& job) {
    return room<Place<T>>(job.model->count);
}

template <class T>
bool run_jacobian(const Job& job, index first, index last, void* workspace) {
    const Model& model = *job.model;
    Arena arena{static_cast<char*>(workspace)};
    Place<T>* places = arena.take<Place<T>>(model.count);
    index* path = arena.take<index>(model.count);
    const Place<T> base{place_of<T>(job).R, {T(0.0), T(0.0), T(0.0)}};
    const index size = 6 * model.nv;
    for (index i = first; i < last; i += Lanes<T>::count) {
        const Rows<T> rows(i, last);
        Writer<T>(job, 0, rows).clear(size * job.frame_count);
        for (index f = 0; f < job.frame_count; ++f) {
            const Body& frame = job.frames[f];
            Part_of<Writer<T>> J{Writer<T>(job, 0, rows), size * f};
            jacobian<T>(model, base, Reader<T>(job, Q, rows), frame.element, place_at<T>(frame.R, frame.p), path, places, J);
        }
    }
    return true;
}

template <class T>
std::size_t room_for_jacobian(const Job& job) {
    return room<Place<T>>(job.model->count) + room<index>(job.model->count);
}

SOACRAFT_RIGID_END
