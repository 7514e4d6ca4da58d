// The rigid kernels for one instruction set. Built several times; SOACRAFT_TARGET names the build, SOACRAFT_LANES is the
// number of states its registers hold.
#include "access.hpp"
#include "gradients.hpp"
#include "matrices.hpp"
#include "soacraft/rigid/aba.hpp"
#include "soacraft/rigid/kinematics.hpp"

SOACRAFT_RIGID_BEGIN

template <class T>
bool run_inverse_dynamics(const Job& job, index first, index last, void* workspace) {
    const Model& model = *job.model;
    Bench bench{static_cast<char*>(workspace)};
    Moving<T>* moving = bench.take<Moving<T>>(model.count);
    Motion<T>* branches = bench.take<Motion<T>>(model.branches);
    Spatial<T>* forces = bench.take<Spatial<T>>(model.count);
    const Ranks<T> ranks(model, bench);
    for (index i = first; i < last; i += Lanes<T>::count) {
        const Rows<T> rows(i, last);
        const Rank<T> q = read_rank(job, Q, rows, model.nq, ranks.q), v = read_rank(job, V, rows, model.nv, ranks.v);
        const Rank<T> vdot = read_rank(job, X, rows, model.nv, ranks.x);
        Rank<T> tau = write_rank(job, 0, rows, ranks.y);
        inverse_dynamics<T>(model, base_of(job), q, v, vdot, pulls(job, rows, forces), moving, branches, tau);
        if (job.passive) each_passive<T>(*job.passive, q, v, [&](index i, const T& x) { tau.set(i, tau[i] - x); });
        deliver(job, 0, rows, model.nv, tau);
    }
    return true;
}

template <class T>
std::size_t room_for_inverse_dynamics(const Job& job) {
    const index n = job.model->count;
    return room<Moving<T>>(n) + room<Motion<T>>(job.model->branches) + room<Spatial<T>>(n) + Ranks<T>::bytes(*job.model);
}

template <class T>
bool run_forward_dynamics(const Job& job, index first, index last, void* workspace) {
    const Model& model = *job.model;
    Bench bench{static_cast<char*>(workspace)};
    AbaWork<T> work;
    work.joints = bench.take<Joint<T>>(model.count);
    work.wides = bench.take<Wide<T>>(model.wides);
    work.branches = bench.take<Carried<T>>(model.branches);
    work.motions = bench.take<Spatial<T>>(model.branches);
    Spatial<T>* forces = bench.take<Spatial<T>>(model.count);
    const Ranks<T> ranks(model, bench);
    T* whole = bench.take<T>(job.passive ? model.nv : 0);
    bool fine = true;
    for (index i = first; i < last; i += Lanes<T>::count) {
        const Rows<T> rows(i, last);
        const Rank<T> q = read_rank(job, Q, rows, model.nq, ranks.q), v = read_rank(job, V, rows, model.nv, ranks.v);
        const Rank<T> tau = with_passive(job, q, v, read_rank(job, X, rows, model.nv, ranks.x), whole);
        Rank<T> vdot = write_rank(job, 0, rows, ranks.y);
        fine &= forward_dynamics<T>(model, base_of(job), q, v, tau, pulls(job, rows, forces), work, vdot);
        deliver(job, 0, rows, model.nv, vdot);
    }
    return fine;
}

template <class T>
std::size_t room_for_forward_dynamics(const Job& job) {
    const Model& m = *job.model;
    return room<Joint<T>>(m.count) + room<Wide<T>>(m.wides) + room<Carried<T>>(m.branches) +
           room<Spatial<T>>(m.branches) + room<Spatial<T>>(m.count) + Ranks<T>::bytes(m) +
           room<T>(job.passive ? m.nv : 0);
}

template <class T>
bool run_passive_force(const Job& job, index first, index last, void* workspace) {
    const Model& model = *job.model;
    Bench bench{static_cast<char*>(workspace)};
    const Ranks<T> ranks(model, bench);
    for (index i = first; i < last; i += Lanes<T>::count) {
        const Rows<T> rows(i, last);
        const Rank<T> q = read_rank(job, Q, rows, model.nq, ranks.q), v = read_rank(job, V, rows, model.nv, ranks.v);
        Rank<T> force = write_rank(job, 0, rows, ranks.y);
        force.clear(model.nv);
        if (job.passive) each_passive<T>(*job.passive, q, v, [&](index k, const T& x) { force.set(k, force[k] + x); });
        deliver(job, 0, rows, model.nv, force);
    }
    return true;
}

template <class T>
std::size_t room_for_passive_force(const Job& job) {
    return Ranks<T>::bytes(*job.model);
}

template <class T>
bool run_poses(const Job& job, index first, index last, void* workspace) {
    const Model& model = *job.model;
    Place<T>* places = static_cast<Place<T>*>(workspace);
    for (index i = first; i < last; i += Lanes<T>::count) {
        const Rows<T> rows(i, last);
        Writer<T> rotation(job, 0, rows), translation(job, 1, rows);
        poses<T>(model, no_place<T>(), Reader<T>(job, Q, rows), places, rotation, translation);
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
    Bench bench{static_cast<char*>(workspace)};
    Place<T>* places = bench.take<Place<T>>(model.count);
    index* path = bench.take<index>(model.count);
    const Place<T> spot = place_at<T>(job.frame->R, job.frame->p);
    for (index i = first; i < last; i += Lanes<T>::count) {
        const Rows<T> rows(i, last);
        Writer<T> J(job, 0, rows);
        jacobian<T>(model, no_place<T>(), Reader<T>(job, Q, rows), job.frame->element, spot, path, places, J);
    }
    return true;
}

template <class T>
std::size_t room_for_jacobian(const Job& job) {
    return room<Place<T>>(job.model->count) + room<index>(job.model->count);
}

#define SOACRAFT_NAME2(x) #x
#define SOACRAFT_NAME(x) SOACRAFT_NAME2(x)
#define SOACRAFT_BOTH(f) run_##f<double>, run_##f<Abreast>, room_for_##f<double>, room_for_##f<Abreast>
#define SOACRAFT_SINGLY(A) run_singly<A>, run_singly<A>, room_singly<A>, room_singly<A>

// Name, number of inputs, shapes of the outputs, the functions, and whether springs and dampers take part.
const Algorithm algorithms[] = {
    {"inverse_dynamics", 3, {DOFS}, SOACRAFT_BOTH(inverse_dynamics), true},
    {"forward_dynamics", 3, {DOFS}, SOACRAFT_BOTH(forward_dynamics), true},
    {"inverse_dynamics_derivatives", 3, {DOFS_DOFS, DOFS_DOFS, DOFS_DOFS}, SOACRAFT_SINGLY(Derivatives<InverseDynamics>), true},
    {"forward_dynamics_derivatives", 3, {DOFS_DOFS, DOFS_DOFS, DOFS_DOFS}, SOACRAFT_SINGLY(Derivatives<ForwardDynamics>), true},
    {"mass_matrix", 1, {DOFS_DOFS}, SOACRAFT_BOTH(mass_matrix), false},
    {"mass_matrix_inverse", 1, {DOFS_DOFS}, SOACRAFT_BOTH(mass_matrix_inverse), false},
    {"mass_matrix_gradient", 1, {DOFS_DOFS_DOFS}, SOACRAFT_SINGLY(MassMatrixGradient), false},
    {"coriolis_matrix", 2, {DOFS_DOFS}, SOACRAFT_SINGLY(CoriolisMatrix), false},
    {"log_det_mass_matrix", 1, {NUMBER}, SOACRAFT_BOTH(log_det), false},
    {"log_det_gradient", 1, {DOFS}, SOACRAFT_BOTH(log_det_gradient), false},
    {"passive_force", 2, {DOFS}, SOACRAFT_BOTH(passive_force), true},
    {"poses", 1, {BODIES_3_3, BODIES_3}, SOACRAFT_BOTH(poses), false},
    {"jacobian", 1, {SIX_DOFS}, SOACRAFT_BOTH(jacobian), false},
};

extern const Kernels kernels;
const Kernels kernels = {SOACRAFT_NAME(SOACRAFT_TARGET), SOACRAFT_LANES, algorithms,
                         sizeof algorithms / sizeof *algorithms};

SOACRAFT_RIGID_END
