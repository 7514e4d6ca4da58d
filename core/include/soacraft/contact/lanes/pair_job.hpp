// Distances of one pair of shapes at many pairs of poses, as the kernels take them: several pairs of poses side by side.
#pragma once

#include "../../config.hpp"

namespace soacraft {
namespace contact {

// What became of a pair of poses. AXIS: boxes in each other, or whose faces or edges look at each other; the row has their
// Axis (separation, n, code in place of the error) in the axes of A, and the nearest points where they are apart.
enum Answer : unsigned char { DONE, AXIS, LEFT };

// Rotations (rows first) and translations, one for all (step 0) or one for each (step 1).
struct Poses {
    const double *R, *p;
    index step;
    const double* rotation(index i) const { return R + 9 * step * i; }
    const double* translation(index i) const { return p + 3 * step * i; }
};

struct PairJob {
    int kind[2];             // of A and B, in the order of `touch.hpp`
    double half[2][3];       // half edges of their cores
    double round[2];         // their roundings
    double extent;           // of both: judgements are relative to it
    Poses at[2];
    double within;
    bool by_pose;            // equal shapes: which is A is told by their poses
    bool mirrored;           // rows are of B and A
};

// Pairs [begin, end): rows of 11 numbers (gap, a, b, n, error) from `row` on, and what became of each.
struct PairKernels {
    void (*distances)(const PairJob&, index begin, index end, double* row, Answer* answer);
};

// Those of this machine (`dispatch.cpp`).
const PairKernels& pair_kernels();

// Whether A, of equal shapes, is the second of two poses; both then change places.
inline bool second_first(const PairJob& job, index i) {
    if (!job.by_pose) return false;
    const double* x[2] = {job.at[0].rotation(i), job.at[0].translation(i)};
    const double* y[2] = {job.at[1].rotation(i), job.at[1].translation(i)};
    for (int part = 0; part < 2; ++part)
        for (int k = 0; k < (part == 0 ? 9 : 3); ++k)
            if (x[part][k] != y[part][k]) return y[part][k] < x[part][k];
    return false;
}

}  // namespace contact
}  // namespace soacraft
