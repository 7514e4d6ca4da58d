// The kernels of the mass matrix and its inverse. A single state fills the rows of its result with several columns at a
// time; small models in a batch take a pack of states at a time instead.
#pragma once

#include "access.hpp"
#include "../crba.hpp"
#include "../minv.hpp"

SOACRAFT_RIGID_BEGIN

// Numbers in a row by dofs, so that whole registers can be read behind the last; an odd number of cache lines, so that
// the rows do not meet in a cache.
SOACRAFT_FLAT index row_step(index nv) { return (((nv + EIGHT) * 8 + 63) / 64 | 1) * 8; }

template <class T, class Taker>
SOACRAFT_INLINE CrbaWork<T> crba_work(const Model& m, Taker& arena) {
    CrbaWork<T> w;
    w.step = row_step(m.nv);
    w.turns = arena.template take<HingeTurn<T>>(m.count);
    w.at = arena.template take<Place<T>>(m.count);
    w.R = arena.template take<Rigid<T>>(m.count);
    w.r = arena.template take<Vec<T>>(m.count);
    w.piece_of = arena.template take<index>(m.count);
    w.pieces = arena.template take<Piece>(m.count);
    w.H = arena.template take<T>(6 * m.nv);
    w.F = arena.template take<T>(6 * w.step);
    return w;
}

template <class T, class Taker>
SOACRAFT_INLINE MinvWork<T> minv_work(const Model& m, Taker& arena) {
    MinvWork<T> w;
    w.step = row_step(m.nv);
    w.turns = arena.template take<HingeTurn<T>>(m.count);
    w.at = arena.template take<Place<T>>(m.count);
    w.piece_of = arena.template take<index>(m.count);
    w.dofs = arena.template take<Dof<T>>(m.nv);
    w.w = arena.template take<T>(EIGHT * m.nv);
    w.wides = arena.template take<Coupled<T>>(m.wides);
    w.branches = arena.template take<Sized<T>>(m.branches);
    w.pieces = arena.template take<Piece>(m.count);
    w.passages = arena.template take<Passage<T>>(m.count);
    w.z = arena.template take<T>(6 * w.step);
    w.y = arena.template take<T>(6 * w.step);
    return w;
}

// The two algorithms under one roof.
struct MassMatrix {
    template <class T, class Taker>
    static CrbaWork<T> work(const Model& m, Taker& arena) { return crba_work<T>(m, arena); }
    template <class C, class T, class In>
    static bool fill(const Model& m, const In& q, const CrbaWork<T>& w, T* y) { return mass_matrix<C>(m, q, w, y); }
};
struct MassMatrixInverse {
    template <class T, class Taker>
    static MinvWork<T> work(const Model& m, Taker& arena) { return minv_work<T>(m, arena); }
    template <class C, class T, class In>
    static bool fill(const Model& m, const In& q, const MinvWork<T>& w, T* y) { return mass_matrix_inverse<C>(m, q, w, y); }
};

// Where the matrix is made: in the order of the elements, then in the user's.
template <class T>
struct Sheets {
    T *grid, *sorted;
    index* dof_at;  // the dof that stands at a place of the user's
    template <class Taker>
    Sheets(const Model& m, Taker& arena) {
        const index size = m.nv * m.nv;
        grid = arena.template take<T>(m.in_order ? vector_room<T>(size) : size);
        sorted = arena.template take<T>(m.in_order ? 0 : vector_room<T>(size));
        dof_at = arena.template take<index>(m.in_order ? 0 : m.nv);
    }
    SOACRAFT_INLINE void number(const Model& m) const {
        for (index k = 0; k < m.count && !m.in_order; ++k)
            for (index i = 0; i < dofs(m.elements[k].kind); ++i) dof_at[m.elements[k].v + i] = m.elements[k].d + i;
    }
    SOACRAFT_INLINE void sort(index n, T* SOACRAFT_RESTRICT to) const {
        for (index i = 0; i < n; ++i) {
            const T* row = grid + dof_at[i] * n;
            for (index j = 0; j < n; ++j) to[i * n + j] = row[dof_at[j]];
        }
    }
};

// One state after the other.
template <class Matrix>
bool run_matrix(const Job& job, index first, index last, Arena arena, double*) {
    const Model& model = *job.model;
    const auto work = Matrix::template work<double>(model, arena);
    const Sheets<double> sheets(model, arena);
    sheets.number(model);
    bool fine = true;
    for (index i = first; i < last; ++i) {
        double* out = job.out[0] + i * job.out_step[0];
        const Rows<double> rows(i, last);
        const StateVector<double> q = read_vector(job, Q, rows, model.nq, nullptr);
        const bool filled = Matrix::template fill<Abreast>(model, q, work, model.in_order ? out : sheets.grid);
        if (filled && !model.in_order) sheets.sort(model.nv, out);
        fine &= filled;
    }
    return fine;
}

// Packs of states, while their matrices stay in a cache.
constexpr index SMALL = 40;

template <class Matrix>
bool run_matrix(const Job& job, index first, index last, Arena arena, Abreast*) {
    const Model& model = *job.model;
    if (model.nv > SMALL) return run_matrix<Matrix>(job, first, last, arena, static_cast<double*>(nullptr));
    const auto work = Matrix::template work<Abreast>(model, arena);
    const Sheets<Abreast> sheets(model, arena);
    Abreast* space = arena.take<Abreast>(model.nq);
    sheets.number(model);
    bool fine = true;
    for (index i = first; i < last; i += SOACRAFT_LANES) {
        const Rows<Abreast> rows(i, last);
        const StateVector<Abreast> q = read_vector(job, Q, rows, model.nq, space);
        fine &= Matrix::template fill<Abreast>(model, q, work, sheets.grid);
        if (!model.in_order) sheets.sort(model.nv, sheets.sorted);
        deliver(job, 0, rows, model.nv * model.nv, StateVector<Abreast>{model.in_order ? sheets.grid : sheets.sorted});
    }
    return fine;
}

template <class Matrix, class T>
std::size_t room_for_matrix(const Job& job) {
    const Model& model = *job.model;
    if (Lanes<T>::count > 1 && model.nv > SMALL) return room_for_matrix<Matrix, double>(job);
    Room taken;
    Matrix::template work<T>(model, taken);
    Sheets<T>(model, taken);
    return taken.bytes + room<T>(vector_room<T>(model.nq));
}

template <class T>
bool run_mass_matrix(const Job& job, index first, index last, void* workspace) {
    return run_matrix<MassMatrix>(job, first, last, Arena{static_cast<char*>(workspace)}, static_cast<T*>(nullptr));
}
template <class T>
std::size_t room_for_mass_matrix(const Job& job) { return room_for_matrix<MassMatrix, T>(job); }

template <class T>
bool run_mass_matrix_inverse(const Job& job, index first, index last, void* workspace) {
    return run_matrix<MassMatrixInverse>(job, first, last, Arena{static_cast<char*>(workspace)}, static_cast<T*>(nullptr));
}
template <class T>
std::size_t room_for_mass_matrix_inverse(const Job& job) { return room_for_matrix<MassMatrixInverse, T>(job); }

SOACRAFT_RIGID_END
