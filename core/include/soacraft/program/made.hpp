// The fields of a plan as they are made: where their blocks are in the arena of a state, and their sizes.
#pragma once

#include "../scalars/pack.hpp"
#include "plan.hpp"

SOACRAFT_PROGRAM_BEGIN

template <class T>
struct Made {
    const Plan* plan;
    T* arena;
    T* work;

    SOACRAFT_FLAT const Field& field(index f) const { return plan->fields[f]; }
    SOACRAFT_FLAT T* block(index f, index i) const { return arena + field(f).at + field(f).start[i]; }
    SOACRAFT_FLAT index rows(index f, index i) const { return size(field(f).rows, field(f).row[i]); }
    SOACRAFT_FLAT index cols(index f, index i) const { return size(field(f).cols, field(f).col[i]); }
    SOACRAFT_FLAT index size(index space, index k) const {
        const index* const at = plan->spaces[space].offset + k;
        return at[1] - at[0];
    }
    SOACRAFT_FLAT void clear(index f) const {
        T* const to = arena + field(f).at;
        for (index i = 0; i < field(f).start[field(f).count]; ++i) to[i] = T(0.0);
    }
};

SOACRAFT_PROGRAM_END
