// The rigid kernels for one instruction set. Built several times; SOACRAFT_TARGET names the build, SOACRAFT_LANES is the
// number of states its registers hold.
#include "access.hpp"
#include "soacraft/rigid/aba.hpp"

SOACRAFT_RIGID_BEGIN

template <class T>
bool run_inverse_dynamics(const Job& job, index first, index last, void* workspace) {
    const Model& model = *job.model;
    Bench bench{static_cast<char*>(workspace)};
    Moving<T>* moving = bench.take<Moving<T>>(model.count);
    Spatial<T>* forces = bench.take<Spatial<T>>(model.count);
    for (index i = first; i < last; i += Lanes<T>::count) {
        const Rows<T> rows(i, last);
        const Reader<T> q(job, Q, rows), v(job, V, rows), vdot(job, X, rows);
        Writer<T> tau(job, 0, rows);
        inverse_dynamics<T>(model, base_of(job), q, v, vdot, pulls(job, rows, forces), moving, tau);
    }
    return true;
}

template <class T>
std::size_t room_for_inverse_dynamics(const Job& job) {
    const index n = job.model->count;
    return room<Moving<T>>(n) + room<Spatial<T>>(n);
}

template <class T>
bool run_forward_dynamics(const Job& job, index first, index last, void* workspace) {
    const Model& model = *job.model;
    Bench bench{static_cast<char*>(workspace)};
    AbaWork<T> work;
    work.joints = bench.take<Joint<T>>(model.count);
    work.wides = bench.take<Wide<T>>(model.wides);
    work.branches = bench.take<Carried<T>>(model.branches);
    work.a = bench.take<Spatial<T>>(model.count);
    Spatial<T>* forces = bench.take<Spatial<T>>(model.count);
    bool fine = true;
    for (index i = first; i < last; i += Lanes<T>::count) {
        const Rows<T> rows(i, last);
        const Reader<T> q(job, Q, rows), v(job, V, rows), tau(job, X, rows);
        Writer<T> vdot(job, 0, rows);
        fine &= forward_dynamics<T>(model, base_of(job), q, v, tau, pulls(job, rows, forces), work, vdot);
    }
    return fine;
}

template <class T>
std::size_t room_for_forward_dynamics(const Job& job) {
    const Model& m = *job.model;
    return room<Joint<T>>(m.count) + room<Wide<T>>(m.wides) + room<Carried<T>>(m.branches) +
           2 * room<Spatial<T>>(m.count);
}

#define SOACRAFT_NAME2(x) #x
#define SOACRAFT_NAME(x) SOACRAFT_NAME2(x)
#define SOACRAFT_BOTH(f) \
    { run_##f<double>, run_##f<Pack<SOACRAFT_LANES>>, room_for_##f<double>, room_for_##f<Pack<SOACRAFT_LANES>> }

extern const Kernels kernels;
const Kernels kernels = {SOACRAFT_NAME(SOACRAFT_TARGET), SOACRAFT_LANES, SOACRAFT_BOTH(inverse_dynamics),
                         SOACRAFT_BOTH(forward_dynamics)};

SOACRAFT_RIGID_END
