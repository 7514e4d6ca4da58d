// The kernels by name, and the shapes of what they give, as the bindings see them.
#pragma once

#include <cstring>

#include "array.hpp"
#include "numpy_array.hpp"
#include "rigid_model.hpp"

namespace soacraft {
namespace rigid {

inline const Algorithm& algorithm(const char* name) {
    for (const Algorithm* a : algorithms_of(best_kernels()))
        if (std::strcmp(a->name, name) == 0) return *a;
    refuse("there is no kernel %s", name);
}

// The axes of one state's input or output, in words: v dofs, q coordinates, n bodies, k nodes.
inline const char* axes_text(Shape shape) {
    switch (shape) {
        case THREE: return "3";
        case SIX: return "6";
        case COORDINATES: return "q";
        case DOFS: return "v";
        case DOFS_DOFS: return "v v";
        case DOFS_DOFS_DOFS: return "v v v";
        case BODIES_3_3: return "n 3 3";
        case BODIES_3: return "n 3";
        case BODIES_6: return "n 6";
        case NODES_3_3: return "k 3 3";
        case NODES_3: return "k 3";
        case NODES_6: return "k 6";
        case SIXES: return "6k";
        case SIXES_DOFS: return "6k v";
        case SIXES_SIXES: return "6k 6k";
        default: return "";
    }
}

// The same in numbers, read from the words.
inline int axes_of(Shape shape, const Model& m, index nodes, npy_intp* axes) {
    int count = 0;
    for (const char* at = axes_text(shape); *at; at += *at == ' ') {
        npy_intp size = 1;
        for (; *at && *at != ' '; ++at)
            size *= *at == 'v' ? m.nv : *at == 'q' ? m.nq : *at == 'n' ? m.body_count : *at == 'k' ? nodes : *at - '0';
        axes[count++] = size;
    }
    return count;
}

inline index size_of(Shape shape, const Job& job) {
    npy_intp axes[3];
    index size = 1;
    const int ndim = axes_of(shape, *job.model, job.frame_count, axes);
    for (int i = 0; i < ndim; ++i) size *= axes[i];
    return size;
}

inline int outputs_of(const Algorithm& a) {
    int n = 0;
    while (n < OUTPUTS && a.out[n] != NONE) ++n;
    return n;
}

// How many numbers a job gives for `states` states, all outputs together.
inline index numbers_of(const Algorithm& a, const Job& job, index states) {
    index sum = 0;
    for (int i = 0; i < outputs_of(a); ++i) sum += states * size_of(a.out[i], job);
    return sum;
}

// What the caller's arrays hold before a kernel writes into them: a refused call leaves them as they were.
class Before {
public:
    Before(const Algorithm& a, const Job& job, index states, Workspace& space)
        : kernel_(a), job_(job), states_(states),
          kept_(static_cast<double*>(space.hold(static_cast<std::size_t>(numbers_of(a, job, states)) * sizeof(double)))) {
        copy(false);
    }
    void restore() const { copy(true); }

private:
    void copy(bool back) const {
        double* at = kept_;
        for (int i = 0; i < outputs_of(kernel_); ++i) {
            const index count = states_ * size_of(kernel_.out[i], job_);
            std::memcpy(back ? job_.out[i] : at, back ? at : job_.out[i], static_cast<std::size_t>(count) * sizeof(double));
            at += count;
        }
    }
    const Algorithm& kernel_;
    const Job& job_;
    index states_;
    double* kept_;
};

// Whether all outputs are finite; kernels look at matrices over the dofs as they write them.
inline bool finite_outputs(const Algorithm& a, const Job& job, index states) {
    for (int i = 0; i < outputs_of(a); ++i)
        if (a.out[i] != DOFS_DOFS && a.out[i] != DOFS_DOFS_DOFS &&
            !finite(job.out[i], states * size_of(a.out[i], job)))
            return false;
    return true;
}

// One state; `kept`: its outputs are the caller's. False when the reference should look at it.
inline bool run_one(const Algorithm& a, RigidModel& m, const Job& job, bool kept) {
    void* const space = m.workspace.hold(a.one_bytes(job));
    if (!kept) return a.one(job, 0, 1, space) && finite_outputs(a, job, 1);
    const Before before(a, job, 1, m.before);
    if (a.one(job, 0, 1, space) && finite_outputs(a, job, 1)) return true;
    before.restore();
    return false;
}

// A batch; other threads of Python may run one at the same time, so it keeps memory of its own.
inline bool run_several(const Algorithm& a, const Job& job, index count, index threads, bool kept) {
    const index lanes = best_kernels().lanes;
    if (!kept) return run_batch(a, job, count, lanes, threads) && finite_outputs(a, job, count);
    Workspace space;
    const Before before(a, job, count, space);
    if (run_batch(a, job, count, lanes, threads) && finite_outputs(a, job, count)) return true;
    before.restore();
    return false;
}

}  // namespace rigid
}  // namespace soacraft
