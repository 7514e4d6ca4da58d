// The operational-space compliance of nodes, J Mcal^-1 J*, and its inverse. O(n) for each register of columns.
//
// A column is what a unit force at a node accelerates: forward dynamics of the tree at rest, without gravity, several
// columns side by side.
#pragma once

#include "aba.hpp"
#include "kinematics.hpp"

SOACRAFT_RIGID_BEGIN

// One row for all lanes.
template <class C>
struct Spread {
    const double* x;
    SOACRAFT_FLAT C operator[](index i) const { return C(x[i]); }
};

template <class C>
struct ComplianceWork {
    AbaWork<C> aba;
    Spatial<C>* pull;
    C* vdot;
    Place<double>* at;      // by elements
    index* path;
    double *J, *zeros;      // 6 nodes x nv; nv
    double *scaled, *inverse;  // (6 nodes)^2 each
    template <class Taker>
    ComplianceWork(const Model& m, index nodes, bool inverted, Taker& arena) : aba(m, arena) {
        const index size = 36 * nodes * nodes;
        pull = arena.template take<Spatial<C>>(m.count);
        vdot = arena.template take<C>(m.nv);
        at = arena.template take<Place<double>>(m.count);
        path = arena.template take<index>(m.count);
        J = arena.template take<double>(6 * nodes * m.nv);
        zeros = arena.template take<double>(m.nv);
        scaled = arena.template take<double>(inverted ? size : 0);
        inverse = arena.template take<double>(inverted ? size : 0);
    }
};

template <class C>
struct Kept {
    C* x;
    SOACRAFT_FLAT void set(index i, const C& value) { x[i] = value; }
};

struct Rows6 {
    double* y;
    SOACRAFT_FLAT void set(index i, double value) { y[i] = value; }
};

// A unit force along axis `which` of the base at a frame, on its element and in the element's axes.
SOACRAFT_INLINE Spatial<double> unit_force(const Mat<double>& R, const Vec<double>& p, index which) {
    const Vec<double>& x = *(which % 3 == 0 ? &R.a : which % 3 == 1 ? &R.b : &R.c);  // R*, by columns: an axis in it
    const Vec<double> no{0.0, 0.0, 0.0};
    return which < 3 ? Spatial<double>{x, no} : Spatial<double>{cross(p, x), x};
}

SOACRAFT_INLINE void put_lane(double& to, int, double x) { to = x; }
template <int W>
SOACRAFT_INLINE void put_lane(Pack<W>& to, int i, double x) { to.x[i] = x; }
template <class C>
SOACRAFT_INLINE void put_lane(Spatial<C>& to, int i, const Spatial<double>& x) {
    put_lane(to.w.x, i, x.w.x), put_lane(to.w.y, i, x.w.y), put_lane(to.w.z, i, x.w.z);
    put_lane(to.v.x, i, x.v.x), put_lane(to.v.y, i, x.v.y), put_lane(to.v.z, i, x.v.z);
}

// In the axes of `base`. False when a hinge has no inertia to move.
template <class C>
SOACRAFT_INLINE bool compliance(const Model& model, const Mat<double>& base, const double* q, const Body* frames,
                                index nodes, const ComplianceWork<C>& w, double* to) {
    const index n = model.nv, size = 6 * nodes;
    const Place<double> ground{base, {0.0, 0.0, 0.0}};
    for (index i = 0; i < n; ++i) w.zeros[i] = 0.0;
    std::memset(w.J, 0, static_cast<std::size_t>(size * n) * sizeof(double));
    for (index i = 0; i < nodes; ++i) {
        Rows6 rows{w.J + 6 * i * n};
        jacobian<double>(model, ground, q, frames[i].element, place_at<double>(frames[i].R, frames[i].p), w.path, w.at, rows);
    }
    auto turns = turns_of<double>(model, q, model.count);
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        w.at[k] = (e.parent < 0 ? ground : w.at[e.parent]) * place<double>(e, turns(k), q);
    }
    const C o(0.0);
    const Base still = {};
    bool fine = true;
    for (index first = 0; first < size; first += Lanes<C>::count) {
        for (index k = 0; k < model.count; ++k) w.pull[k] = {{o, o, o}, {o, o, o}};
        for (int i = 0; i < Lanes<C>::count && first + i < size; ++i) {
            const Body& frame = frames[(first + i) / 6];
            if (frame.element < 0) continue;
            put_lane(w.pull[frame.element], i,
                     unit_force(transpose(w.at[frame.element].R), vec<double>(frame.p), (first + i) % 6));
        }
        Kept<C> vdot{w.vdot};
        fine &= forward_dynamics<C>(model, still, Spread<C>{q}, Spread<C>{w.zeros}, Spread<C>{w.zeros}, w.pull, w.aba, vdot);
        for (index r = 0; r < size; ++r) {
            C sum = o;
            for (index j = 0; j < n; ++j) sum += C(w.J[r * n + j]) * w.vdot[j];
            for (int i = 0; i < Lanes<C>::count && first + i < size; ++i) to[r * size + first + i] = lane(sum, i);
        }
    }
    for (index r = 0; r < size; ++r)
        for (index j = 0; j < r; ++j)
            to[r * size + j] = to[j * size + r] = 0.5 * (to[r * size + j] + to[j * size + r]);
    return fine;
}

// Whether a matrix surely has full rank in the sense of reference/operational_space.py, with this to spare.
constexpr double SURE_RANK = 1e-11;

// The inverse of a compliance, turns and travels each scaled by the root of the largest. By Cholesky; false where the rank
// is in doubt: the smallest eigenvalue is at least 1 / tr X, the largest at most tr C.
SOACRAFT_INLINE bool invert_compliance(const double* C, index size, double* scaled, double* X) {
    double largest[2] = {0.0, 0.0};
    for (index i = 0; i < size; ++i) {
        double& most = largest[i % 6 / 3];
        most = C[i * size + i] > most ? C[i * size + i] : most;
    }
    if (!(largest[0] > 0.0 && largest[1] > 0.0)) return false;
    const double scale[2] = {1.0 / std::sqrt(largest[0]), 1.0 / std::sqrt(largest[1])};
    double trace = 0.0, trace_of_inverse = 0.0;
    for (index i = 0; i < size; ++i) {
        for (index j = 0; j < size; ++j) scaled[i * size + j] = scale[i % 6 / 3] * C[i * size + j] * scale[j % 6 / 3];
        trace += scaled[i * size + i];
    }
    for (index j = 0; j < size; ++j)  // L by columns, below the diagonal of `scaled`
        for (index i = j; i < size; ++i) {
            double x = scaled[i * size + j];
            for (index k = 0; k < j; ++k) x -= scaled[i * size + k] * scaled[j * size + k];
            if (i == j && !(x > 0.0)) return false;
            scaled[i * size + j] = i == j ? std::sqrt(x) : x / scaled[j * size + j];
        }
    for (index c = 0; c < size; ++c) {  // L L* X = I
        for (index i = 0; i < size; ++i) {
            double x = i == c ? 1.0 : 0.0;
            for (index k = c; k < i; ++k) x -= scaled[i * size + k] * X[k * size + c];
            X[i * size + c] = i < c ? 0.0 : x / scaled[i * size + i];
        }
        for (index i = size; i-- > 0;) {
            double x = X[i * size + c];
            for (index k = i + 1; k < size; ++k) x -= scaled[k * size + i] * X[k * size + c];
            X[i * size + c] = x / scaled[i * size + i];
        }
        trace_of_inverse += X[c * size + c];
    }
    if (!(1.0 > SURE_RANK * trace * trace_of_inverse)) return false;
    for (index i = 0; i < size; ++i)
        for (index j = 0; j <= i; ++j)
            X[i * size + j] = X[j * size + i] =
                0.5 * scale[i % 6 / 3] * (X[i * size + j] + X[j * size + i]) * scale[j % 6 / 3];
    return true;
}

SOACRAFT_RIGID_END
