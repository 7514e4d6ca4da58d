// The kernels by name, and the shapes of what they give, as the bindings see them.
#pragma once

#include <cstring>

#include "array.hpp"
#include "numpy_array.hpp"
#include "rigid_model.hpp"

namespace soacraft {
namespace rigid {

inline const Algorithm& algorithm(const char* name) {
    const Kernels& k = best_kernels();
    for (int i = 0; i < k.count; ++i)
        if (std::strcmp(k.algorithms[i].name, name) == 0) return k.algorithms[i];
    refuse("there is no kernel %s", name);
}

// The axes of one state's output.
inline int axes_of(Shape shape, const Model& m, npy_intp* axes) {
    switch (shape) {
        case DOFS: axes[0] = m.nv; return 1;
        case DOFS_DOFS: axes[0] = axes[1] = m.nv; return 2;
        case DOFS_DOFS_DOFS: axes[0] = axes[1] = axes[2] = m.nv; return 3;
        case SIX_DOFS: axes[0] = 6, axes[1] = m.nv; return 2;
        case BODIES_3_3: axes[0] = m.body_count, axes[1] = axes[2] = 3; return 3;
        case BODIES_3: axes[0] = m.body_count, axes[1] = 3; return 2;
        default: return 0;
    }
}

inline index size_of(Shape shape, const Model& m) {
    npy_intp axes[3];
    index size = 1;
    const int ndim = axes_of(shape, m, axes);
    for (int i = 0; i < ndim; ++i) size *= axes[i];
    return size;
}

inline int outputs_of(const Algorithm& a) {
    int n = 0;
    while (n < OUTPUTS && a.out[n] != NONE) ++n;
    return n;
}

}  // namespace rigid
}  // namespace soacraft
