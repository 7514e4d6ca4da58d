// Drivers of trees with flexible bodies, as those of rigid ones in rigid/drivers. `elastic`: whether modal stiffness and damping
// act; they do not where a product with the mass matrix or its inverse, or gravity alone, is asked for.
#pragma once

#include "aba.hpp"
#include "rnea.hpp"

SOACRAFT_RIGID_BEGIN

// For one state the registers hold modes; several states side by side are quicker where there are few of those, and all of
// them stay in a cache.
constexpr index FEW_MODES = 16;
inline bool few_modes(const Model& model) {
    bool few = true;
    for (index i = 0; i < model.flexible_count; ++i) few = few && model.flexible[i].n <= FEW_MODES;
    return few;
}
template <class Driver, class T>
bool run_flexible(const Job& job, index first, index last, void* workspace) {
    if (Lanes<T>::count > 1 && !few_modes(*job.model)) return Driver::template run<double>(job, first, last, workspace);
    return Driver::template run<T>(job, first, last, workspace);
}
template <class Driver, class T>
std::size_t room_for_flexible(const Job& job) {
    if (Lanes<T>::count > 1 && !few_modes(*job.model)) return Driver::template room<double>(job);
    return Driver::template room<T>(job);
}
#define SOACRAFT_FLEXIBLE(A) run_flexible<A, double>, run_flexible<A, Abreast>, room_for_flexible<A, double>, room_for_flexible<A, Abreast>

template <bool elastic>
struct FlexibleForward {
    template <class T>
    static bool run(const Job& job, index first, index last, void* workspace) {
        const Model& model = *job.model;
        Arena arena{static_cast<char*>(workspace)};
        const FlexAbaWork<T> work(job, arena);
        const FlexPulls<T> pulls(job, arena);
        const StateVectors<T> vectors(model, arena);
        T* whole = arena.take<T>(job.passive ? model.nv : 0);
        bool fine = true;
        for (index i = first; i < last; i += Lanes<T>::count) {
            const Rows<T> rows(i, last);
            const StateVector<T> q = read_vector(job, Q, rows, model.nq, vectors.q), v = read_vector(job, V, rows, model.nv, vectors.v);
            const StateVector<T> tau = with_passive(job, LinkWork<T>(), q, v, read_vector(job, X, rows, model.nv, vectors.x), whole);
            StateVector<T> vdot = write_vector(job, 0, rows, vectors.y);
            fine &= flexible_forward_dynamics<elastic, T>(job, rows, q, v, tau, pulls, work, vdot);
            deliver(job, 0, rows, model.nv, vdot);
        }
        return fine;
    }
    template <class T>
    static std::size_t room(const Job& job) {
        Room taken;
        FlexAbaWork<T>(job, taken);
        FlexPulls<T>(job, taken);
        return taken.bytes + StateVectors<T>::bytes(*job.model) + rigid::SOACRAFT_TARGET::room<T>(job.passive ? job.model->nv : 0);
    }
};

template <bool elastic>
struct FlexibleInverse {
    template <class T>
    static bool run(const Job& job, index first, index last, void* workspace) {
        const Model& model = *job.model;
        Arena arena{static_cast<char*>(workspace)};
        const FlexRneaWork<T> work(job, arena);
        const FlexPulls<T> pulls(job, arena);
        const StateVectors<T> vectors(model, arena);
        for (index i = first; i < last; i += Lanes<T>::count) {
            const Rows<T> rows(i, last);
            const StateVector<T> q = read_vector(job, Q, rows, model.nq, vectors.q), v = read_vector(job, V, rows, model.nv, vectors.v);
            const StateVector<T> vdot = read_vector(job, X, rows, model.nv, vectors.x);
            StateVector<T> tau = write_vector(job, 0, rows, vectors.y);
            flexible_inverse_dynamics<elastic, T>(job, rows, q, v, vdot, pulls, work, tau);
            each_passive<T>(job, LinkWork<T>(), q, v, [&](index k, const T& x) { tau.set(k, tau[k] - x); });
            deliver(job, 0, rows, model.nv, tau);
        }
        return true;
    }
    template <class T>
    static std::size_t room(const Job& job) {
        Room taken;
        FlexRneaWork<T>(job, taken);
        FlexPulls<T>(job, taken);
        return taken.bytes + StateVectors<T>::bytes(*job.model);
    }
};

SOACRAFT_RIGID_END
