// Drivers of motion and of sums over bodies: velocities and accelerations, motion of nodes, centre of mass, momentum,
// energies.
#pragma once

#include "access.hpp"
#include "../tracks.hpp"

SOACRAFT_RIGID_BEGIN

// What every one of them does: the tracks of the elements it needs, at the states at work, go to `Method::set`.
template <class T, class Method>
bool run_tracks(const Job& job, index first, index last, void* workspace) {
    const Model& model = *job.model;
    Arena arena{static_cast<char*>(workspace)};
    Track<T>* at = arena.take<Track<T>>(model.count);
    const Track<T> ground = ground_of<T>(base_of(job), place_of<T>(job));
    const index count = Method::of_nodes ? last_of(job.frames, job.frame_count) : model.count;
    bool fine = true;
    for (index i = first; i < last; i += Lanes<T>::count) {
        const Rows<T> rows(i, last);
        const Reader<T> q(job, Q, rows), v(job, V, rows), vdot(job, X, rows);
        follow<Method::order, T>(model, ground, q, v, vdot, count, at);
        fine &= Method::template set<T>(job, rows, ground, at);
    }
    return fine;
}

template <class T>
std::size_t room_for_tracks(const Job& job) { return room<Track<T>>(job.model->count); }

struct Velocities {
    static constexpr int order = VELOCITIES;
    static constexpr bool of_nodes = false;
    template <class T>
    static SOACRAFT_INLINE bool set(const Job& job, const Rows<T>& rows, const Track<T>& ground, const Track<T>* at) {
        Writer<T> to(job, 0, rows);
        set_twists<VELOCITIES>(job.model->bodies, job.model->body_count, ground, at, to);
        return true;
    }
};

struct Accelerations {
    static constexpr int order = ACCELERATIONS;
    static constexpr bool of_nodes = false;
    template <class T>
    static SOACRAFT_INLINE bool set(const Job& job, const Rows<T>& rows, const Track<T>& ground, const Track<T>* at) {
        Writer<T> to(job, 0, rows);
        set_twists<ACCELERATIONS>(job.model->bodies, job.model->body_count, ground, at, to);
        return true;
    }
};

struct NodeMotion {
    static constexpr int order = ACCELERATIONS;
    static constexpr bool of_nodes = true;
    template <class T>
    static SOACRAFT_INLINE bool set(const Job& job, const Rows<T>& rows, const Track<T>& ground, const Track<T>* at) {
        Writer<T> R(job, 0, rows), p(job, 1, rows), velocity(job, 2, rows), acceleration(job, 3, rows);
        set_places(job.frames, job.frame_count, ground, at, R, p);
        set_twists<VELOCITIES>(job.frames, job.frame_count, ground, at, velocity);
        set_twists<ACCELERATIONS>(job.frames, job.frame_count, ground, at, acceleration);
        return true;
    }
};

struct JacobianDotV {
    static constexpr int order = ACCELERATIONS;
    static constexpr bool of_nodes = true;
    template <class T>
    static SOACRAFT_INLINE bool set(const Job& job, const Rows<T>& rows, const Track<T>& ground, const Track<T>* at) {
        Writer<T> to(job, 0, rows);
        set_twists<ACCELERATIONS>(job.frames, job.frame_count, ground, at, to);
        return true;
    }
};

struct CenterOfMass {
    static constexpr int order = PLACES;
    static constexpr bool of_nodes = false;
    // False for a tree without mass.
    template <class T>
    static SOACRAFT_INLINE bool set(const Job& job, const Rows<T>& rows, const Track<T>& ground, const Track<T>* at) {
        T mass;
        const Vec<T> moment = first_moment(*job.model, ground, at, mass);
        Writer<T> to(job, 0, rows);
        set_three(to, 0, (T(1.0) / mass) * moment);
        return !any_not_above(mass, T(0.0));
    }
};

// -sum m g . c; the acceleration of the base is that of gravity upwards.
struct PotentialEnergy {
    static constexpr int order = PLACES;
    static constexpr bool of_nodes = false;
    template <class T>
    static SOACRAFT_INLINE bool set(const Job& job, const Rows<T>& rows, const Track<T>& ground, const Track<T>* at) {
        T mass;
        const Vec<T> moment = first_moment(*job.model, ground, at, mass);
        Writer<T>(job, 0, rows).set(0, dot(ground.X.R * vec<T>(job.base + 9), moment));
        return true;
    }
};

struct Momentum {
    static constexpr int order = VELOCITIES;
    static constexpr bool of_nodes = false;
    template <class T>
    static SOACRAFT_INLINE bool set(const Job& job, const Rows<T>& rows, const Track<T>& ground, const Track<T>* at) {
        Writer<T> to(job, 0, rows);
        set_six(to, 0, momentum(*job.model, ground, at));
        return true;
    }
};

template <class T>
bool run_kinetic_energy(const Job& job, index first, index last, void* workspace) {
    Spatial<T>* velocities = static_cast<Spatial<T>*>(workspace);
    for (index i = first; i < last; i += Lanes<T>::count) {
        const Rows<T> rows(i, last);
        const Reader<T> q(job, Q, rows), v(job, V, rows);
        Writer<T>(job, 0, rows).set(0, kinetic_energy<T>(*job.model, spatial<T>(job.base), q, v, velocities));
    }
    return true;
}
template <class T>
std::size_t room_for_kinetic_energy(const Job& job) { return room<Spatial<T>>(job.model->count); }

template <class T>
bool run_passive_energy(const Job& job, index first, index last, void* workspace) {
    Arena arena{static_cast<char*>(workspace)};
    const LinkWork<T> links(job.passive, *job.model, arena);
    for (index i = first; i < last; i += Lanes<T>::count) {
        const Rows<T> rows(i, last);
        const Reader<T> q(job, Q, rows);
        const T energy = job.passive ? passive_energy<T>(*job.passive, *job.model, ground_of<T>(job), q, links) : T(0.0);
        Writer<T>(job, 0, rows).set(0, energy);
    }
    return true;
}
template <class T>
std::size_t room_for_passive_energy(const Job& job) { return room_for_links<T>(job); }

SOACRAFT_RIGID_END
