// Kernels of coordinates, for one instruction set: integrate, difference and how they vary.
#include "soacraft/rigid/drivers/access.hpp"
#include "soacraft/rigid/coordinates.hpp"

SOACRAFT_RIGID_BEGIN

// The two given vectors of a state.
struct Pair {
    const double *a, *b;
    Pair(const Job& job, const Rows<double>& rows) : a(Reader<double>(job, Q, rows).x), b(Reader<double>(job, V, rows).x) {}
};

struct Integrate {
    template <class Taker>
    Integrate(const Job&, Taker&) {}
    SOACRAFT_INLINE bool fill(const Job& job, const Rows<double>& rows, double* const* out) const {
        const Pair x(job, rows);
        integrate(*job.model, x.a, x.b, out[0]);
        return true;
    }
};

struct Difference {
    template <class Taker>
    Difference(const Job&, Taker&) {}
    SOACRAFT_INLINE bool fill(const Job& job, const Rows<double>& rows, double* const* out) const {
        const Pair x(job, rows);
        return difference(*job.model, x.a, x.b, out[0]);
    }
};

typedef bool (*Varied)(const Model&, const double*, const double*, double*, double*);

template <Varied vary>
struct Jacobians {
    template <class Taker>
    Jacobians(const Job&, Taker&) {}
    SOACRAFT_INLINE bool fill(const Job& job, const Rows<double>& rows, double* const* out) const {
        const Pair x(job, rows);
        const index size = job.model->nv * job.model->nv;
        for (int i = 0; i < 2; ++i) std::memset(out[i], 0, static_cast<std::size_t>(size) * sizeof(double));
        if (!vary(*job.model, x.a, x.b, out[0], out[1])) return false;
        double bad[4] = {};  // 0 times infinity is no number; four sums, since one would wait for every addition
        for (index i = 0; i < size; ++i) bad[i & 3] += 0.0 * out[0][i] + 0.0 * out[1][i];
        return bad[0] + bad[1] + bad[2] + bad[3] == 0.0;
    }
};

extern const Algorithm coordinate_algorithms[];
const Algorithm coordinate_algorithms[] = {
    {"integrate", {COORDINATES, DOFS}, {COORDINATES}, SOACRAFT_SINGLY(Integrate), 0},
    {"difference", {COORDINATES, COORDINATES}, {DOFS}, SOACRAFT_SINGLY(Difference), 0},
    {"integrate_jacobians", {COORDINATES, DOFS}, {DOFS_DOFS, DOFS_DOFS}, SOACRAFT_SINGLY(Jacobians<integrate_jacobians>), 0},
    {"difference_jacobians", {COORDINATES, COORDINATES}, {DOFS_DOFS, DOFS_DOFS}, SOACRAFT_SINGLY(Jacobians<difference_jacobians>), 0},
    {},
};

SOACRAFT_RIGID_END
