// Kernels of mixed dynamics and of the operational space, for one instruction set.
#include "soacraft/rigid/drivers/access.hpp"
#include "soacraft/rigid/compliance.hpp"
#include "soacraft/rigid/mixed.hpp"

SOACRAFT_RIGID_BEGIN

template <class T>
struct MixedSpace {
    MixedWork<T> work;
    Moving<T>* moving;
    Motion<T>* branches;
    Pulls<T> pulls;
    LinkWork<T> links;
    T *q, *v, *given_force, *given_vdot, *vdot, *force, *whole, *all;
    template <class Taker>
    MixedSpace(const Job& job, Taker& arena) : work(*job.model, arena),
        moving(arena.template take<Moving<T>>(job.model->count)),
        branches(arena.template take<Motion<T>>(job.model->branches)), pulls(job, arena),
        links(job.passive, *job.model, arena),
        q(arena.template take<T>(vector_room<T>(job.model->nq))) {
        const index n = job.model->nv;
        for (T** one : {&v, &given_force, &given_vdot, &vdot, &force}) *one = arena.template take<T>(vector_room<T>(n));
        whole = arena.template take<T>(job.passive ? n : 0), all = arena.template take<T>(n);
    }
};

template <class T>
bool run_mixed_dynamics(const Job& job, index first, index last, void* workspace) {
    const Model& model = *job.model;
    const index n = model.nv;
    Arena arena{static_cast<char*>(workspace)};
    const MixedSpace<T> space(job, arena);
    bool fine = true;
    for (index i = first; i < last; i += Lanes<T>::count) {
        const Rows<T> rows(i, last);
        const StateVector<T> q = read_vector(job, Q, rows, model.nq, space.q), v = read_vector(job, V, rows, n, space.v);
        const StateVector<T> force = read_vector(job, X, rows, n, space.given_force);
        const StateVector<T> vdot = read_vector(job, Y, rows, n, space.given_vdot);
        StateVector<T> all_vdot = write_vector(job, 0, rows, space.vdot), all_force = write_vector(job, 1, rows, space.force);
        const Spatial<T>* pull = space.pulls.at(job, rows, q);
        fine &= mixed_accelerations<T>(model, base_of(job), q, v, with_passive(job, space.links, q, v, force, space.whole), vdot,
                                       job.mask, pull, space.work, all_vdot);
        StateVector<T> all{space.all};
        inverse_dynamics<T>(model, base_of(job), q, v, all_vdot, pull, space.moving, space.branches, all);
        each_passive<T>(job, space.links, q, v, [&](index k, const T& x) { all.set(k, all[k] - x); });
        for (index k = 0; k < n; ++k) all_force.set(k, job.mask[k] ? all[k] : force[k]);
        deliver(job, 0, rows, n, all_vdot), deliver(job, 1, rows, n, all_force);
    }
    return fine;
}

template <class T>
std::size_t room_for_mixed_dynamics(const Job& job) {
    Room taken;
    MixedSpace<T>(job, taken);
    return taken.bytes;
}

struct Compliance {
    ComplianceWork<Abreast> work;
    template <class Taker>
    Compliance(const Job& job, Taker& arena) : work(*job.model, job.frame_count, false, arena) {}
    SOACRAFT_INLINE bool fill(const Job& job, const Rows<double>& rows, double* const* out) const {
        return compliance<Abreast>(*job.model, place_of<double>(job).R, Reader<double>(job, Q, rows).x, job.frames,
                                   job.frame_count, work, out[0]);
    }
};

struct OperationalInertia {
    ComplianceWork<Abreast> work;
    template <class Taker>
    OperationalInertia(const Job& job, Taker& arena) : work(*job.model, job.frame_count, true, arena) {}
    SOACRAFT_INLINE bool fill(const Job& job, const Rows<double>& rows, double* const* out) const {
        const index size = 6 * job.frame_count;
        return compliance<Abreast>(*job.model, place_of<double>(job).R, Reader<double>(job, Q, rows).x, job.frames,
                                   job.frame_count, work, work.inverse) &&
               invert_compliance(work.inverse, size, work.scaled, out[0]);
    }
};

extern const Algorithm mixed_algorithms[];
const Algorithm mixed_algorithms[] = {
    {"mixed_dynamics", {COORDINATES, DOFS, DOFS, DOFS}, {DOFS, DOFS}, SOACRAFT_BOTH(mixed_dynamics),
     SPRUNG | BASED | PULLED | MASKED},
    {"operational_space_compliance", {COORDINATES}, {SIXES_SIXES}, SOACRAFT_SINGLY(Compliance), NODES},
    {"operational_space_inertia", {COORDINATES}, {SIXES_SIXES}, SOACRAFT_SINGLY(OperationalInertia), NODES},
    {},
};

SOACRAFT_RIGID_END
