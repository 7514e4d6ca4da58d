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
    const Pulls<T> pulls(job, bench);
    const Ranks<T> ranks(model, bench);
    for (index i = first; i < last; i += Lanes<T>::count) {
        const Rows<T> rows(i, last);
        const Rank<T> q = read_rank(job, Q, rows, model.nq, ranks.q), v = read_rank(job, V, rows, model.nv, ranks.v);
        const Rank<T> vdot = read_rank(job, X, rows, model.nv, ranks.x);
        Rank<T> tau = write_rank(job, 0, rows, ranks.y);
        inverse_dynamics<T>(model, base_of(job), q, v, vdot, pulls.at(job, rows, q), moving, branches, tau);
        if (job.passive) each_passive<T>(*job.passive, q, v, [&](index i, const T& x) { tau.set(i, tau[i] - x); });
        deliver(job, 0, rows, model.nv, tau);
    }
    return true;
}

template <class T>
std::size_t room_for_inverse_dynamics(const Job& job) {
    return room<Moving<T>>(job.model->count) + room<Motion<T>>(job.model->branches) + room_for_pulls<T>(job) +
           Ranks<T>::bytes(*job.model);
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
    const Pulls<T> pulls(job, bench);
    const Ranks<T> ranks(model, bench);
    T* whole = bench.take<T>(job.passive ? model.nv : 0);
    bool fine = true;
    for (index i = first; i < last; i += Lanes<T>::count) {
        const Rows<T> rows(i, last);
        const Rank<T> q = read_rank(job, Q, rows, model.nq, ranks.q), v = read_rank(job, V, rows, model.nv, ranks.v);
        const Rank<T> tau = with_passive(job, q, v, read_rank(job, X, rows, model.nv, ranks.x), whole);
        Rank<T> vdot = write_rank(job, 0, rows, ranks.y);
        fine &= forward_dynamics<T>(model, base_of(job), q, v, tau, pulls.at(job, rows, q), work, vdot);
        deliver(job, 0, rows, model.nv, vdot);
    }
    return fine;
}

template <class T>
std::size_t room_for_forward_dynamics(const Job& job) {
    const Model& m = *job.model;
    return room<Joint<T>>(m.count) + room<Wide<T>>(m.wides) + room<Carried<T>>(m.branches) +
           room<Spatial<T>>(m.branches) + room_for_pulls<T>(job) + Ranks<T>::bytes(m) +
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
    Bench bench{static_cast<char*>(workspace)};
    Place<T>* places = bench.take<Place<T>>(model.count);
    index* path = bench.take<index>(model.count);
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

#define SOACRAFT_NAME2(x) #x
#define SOACRAFT_NAME(x) SOACRAFT_NAME2(x)

// Name, inputs, outputs, the functions, and what else takes part.
extern const Algorithm dynamics_algorithms[];
const Algorithm dynamics_algorithms[] = {
    {"inverse_dynamics", {COORDINATES, DOFS, DOFS}, {DOFS}, SOACRAFT_BOTH(inverse_dynamics), SPRUNG | BASED | PULLED},
    {"bias_force", {COORDINATES, DOFS, ZEROS}, {DOFS}, SOACRAFT_BOTH(inverse_dynamics), SPRUNG | BASED | PULLED},
    {"gravity_force", {COORDINATES, ZEROS, ZEROS}, {DOFS}, SOACRAFT_BOTH(inverse_dynamics), BASED},
    {"mass_matrix_multiply", {COORDINATES, ZEROS, DOFS}, {DOFS}, SOACRAFT_BOTH(inverse_dynamics), 0},
    {"forward_dynamics", {COORDINATES, DOFS, DOFS}, {DOFS}, SOACRAFT_BOTH(forward_dynamics), SPRUNG | BASED | PULLED},
    {"mass_matrix_solve", {COORDINATES, ZEROS, DOFS}, {DOFS}, SOACRAFT_BOTH(forward_dynamics), 0},
    {"inverse_dynamics_derivatives", {COORDINATES, DOFS, DOFS}, {DOFS_DOFS, DOFS_DOFS, DOFS_DOFS},
     SOACRAFT_SINGLY(Derivatives<InverseDynamics>), SPRUNG | BASED | PULLED_IN_OWN_AXES},
    {"forward_dynamics_derivatives", {COORDINATES, DOFS, DOFS}, {DOFS_DOFS, DOFS_DOFS, DOFS_DOFS},
     SOACRAFT_SINGLY(Derivatives<ForwardDynamics>), SPRUNG | BASED | PULLED_IN_OWN_AXES},
    {"mass_matrix", {COORDINATES}, {DOFS_DOFS}, SOACRAFT_BOTH(mass_matrix), 0},
    {"mass_matrix_inverse", {COORDINATES}, {DOFS_DOFS}, SOACRAFT_BOTH(mass_matrix_inverse), 0},
    {"mass_matrix_gradient", {COORDINATES}, {DOFS_DOFS_DOFS}, SOACRAFT_SINGLY(MassMatrixGradient), 0},
    {"coriolis_matrix", {COORDINATES, DOFS}, {DOFS_DOFS}, SOACRAFT_SINGLY(CoriolisMatrix), 0},
    {"log_det_mass_matrix", {COORDINATES}, {NUMBER}, SOACRAFT_BOTH(log_det), 0},
    {"log_det_gradient", {COORDINATES}, {DOFS}, SOACRAFT_BOTH(log_det_gradient), 0},
    {"passive_force", {COORDINATES, DOFS}, {DOFS}, SOACRAFT_BOTH(passive_force), SPRUNG},
    {"poses", {COORDINATES}, {BODIES_3_3, BODIES_3}, SOACRAFT_BOTH(poses), 0},
    {"jacobian", {COORDINATES}, {SIXES_DOFS}, SOACRAFT_BOTH(jacobian), NODES},
    {},
};

extern const Algorithm motion_algorithms[], mixed_algorithms[], coordinate_algorithms[];  // the other files of kernels
extern const Kernels kernels;
const Kernels kernels = {SOACRAFT_NAME(SOACRAFT_TARGET), SOACRAFT_LANES,
                         {dynamics_algorithms, motion_algorithms, mixed_algorithms, coordinate_algorithms}};

SOACRAFT_RIGID_END
