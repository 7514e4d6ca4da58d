// The kernels by name, and the shapes of what they give, as the bindings see them.
#pragma once

#include <cstring>
#include <vector>

#include "array.hpp"
#include "numpy_array.hpp"
#include "rigid_model.hpp"

namespace soacraft {
namespace rigid {

inline const Algorithm& algorithm(const char* name, bool flexible = false) {
    for (const Algorithm* a : algorithms_of(best_kernels(), flexible))
        if (std::strcmp(a->name, name) == 0) return *a;
    refuse("there is no kernel %s", name);
}

// The axes of one state's input or output, in words: v dofs, q coordinates, n bodies, k nodes.
constexpr const char* axes_text(Shape shape) {
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

// What axes count: numbers of their own, dofs, coordinates, bodies, nodes.
struct Counts {
    index of[5];
    Counts(const Model& m, index nodes) : of{1, m.nv, m.nq, m.body_count, nodes} {}
};
struct Axes {
    int ndim = 0, of[3] = {};
    index times[3] = {1, 1, 1};
};

// The same in numbers, read from the words by the compiler.
constexpr int SHAPES = SIXES_SIXES + 1;
struct AllAxes {
    Axes of[SHAPES];
    constexpr AllAxes() : of() {
        for (int s = 0; s < SHAPES; ++s) {
            Axes& axes = of[s];
            bool begins = true;
            for (const char* at = axes_text(static_cast<Shape>(s)); *at; ++at) {
                axes.ndim += begins;
                begins = *at == ' ';
                const int counted = *at == 'v' ? 1 : *at == 'q' ? 2 : *at == 'n' ? 3 : *at == 'k' ? 4 : 0;
                if (counted) axes.of[axes.ndim - 1] = counted;
                if (*at >= '0' && *at <= '9') axes.times[axes.ndim - 1] = *at - '0';
            }
        }
    }
};
inline constexpr AllAxes AXES_OF;

// The lengths of the axes of one state's part; returned is their number.
inline int axes_of(Shape shape, const Counts& counts, npy_intp* axes) {
    const Axes& a = AXES_OF.of[shape];
    for (int i = 0; i < a.ndim; ++i) axes[i] = a.times[i] * counts.of[a.of[i]];
    return a.ndim;
}

inline index size_of(Shape shape, const Counts& counts) {
    npy_intp axes[3];
    index size = 1;
    const int ndim = axes_of(shape, counts, axes);
    for (int i = 0; i < ndim; ++i) size *= axes[i];
    return size;
}
inline index size_of(Shape shape, const Job& job) { return size_of(shape, Counts(*job.model, job.frame_count)); }

inline int outputs_of(const Algorithm& a) {
    int n = 0;
    while (n < OUTPUTS && a.out[n] != NONE) ++n;
    return n;
}

// What the caller's arrays hold before a kernel writes into them: a refused call leaves them as they were.
class Before {
public:
    Before(const Algorithm& a, const Job& job, index states, Workspace& space)
        : kernel_(a), job_(job), states_(states),
          kept_(static_cast<double*>(space.hold(static_cast<std::size_t>(numbers()) * sizeof(double)))) {
        copy(false);
    }
    void restore() const { copy(true); }

private:
    index numbers() const {
        index sum = 0;
        for (int i = 0; i < outputs_of(kernel_); ++i) sum += states_ * job_.out_step[i];
        return sum;
    }
    void copy(bool back) const {
        double* at = kept_;
        for (int i = 0; i < outputs_of(kernel_); ++i) {
            const index count = states_ * job_.out_step[i];
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
            !finite(job.out[i], states * job.out_step[i]))
            return false;
    return true;
}

// One state; `kept`: its outputs are the caller's, and the kernel might refuse after it wrote into them. False when the
// reference should look at it.
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
    try {
        if (run_batch(a, job, count, lanes, threads) && finite_outputs(a, job, count)) return true;
    } catch (const interrupt::Ended&) {
        before.restore();
        throw;
    }
    before.restore();
    return false;
}

}  // namespace rigid
}  // namespace soacraft
