// How a kernel reads its inputs and writes its outputs: one row, or a pack of rows side by side.
#pragma once

#include "../../poison.hpp"
#include "../steps/grid.hpp"
#include "job.hpp"

SOACRAFT_RIGID_BEGIN

// What a register holds side by side: columns of one state, or states of a batch.
typedef Pack<SOACRAFT_LANES> Abreast;

// The functions of an algorithm in its table: for one state and for packs of states, or for one state alone.
#define SOACRAFT_BOTH(f) run_##f<double>, run_##f<Abreast>, room_for_##f<double>, room_for_##f<Abreast>
#define SOACRAFT_SINGLY(A) run_singly<A>, run_singly<A>, room_singly<A>, room_singly<A>

// The states that one run of a kernel works on: `first`, and for packs the next ones; the last is repeated in a tail.
template <class T>
struct Rows {
    index row[Lanes<T>::count];
    index count;
    Rows(index first, index last) {
        count = last - first < Lanes<T>::count ? last - first : Lanes<T>::count;
        for (int i = 0; i < Lanes<T>::count; ++i) row[i] = first + (i < count ? i : count - 1);
    }
};

template <class T>
struct Reader;

template <>
struct Reader<double> {
    const double* x;
    Reader(const Job& job, int which, const Rows<double>& rows)
        : x(job.in[which] ? job.in[which] + rows.row[0] * job.in_step[which] : nullptr) {}
    SOACRAFT_FLAT double operator[](index i) const { return x[i]; }
};

template <int W>
struct Reader<Pack<W>> {
    const double* x[W];
    Reader(const Job& job, int which, const Rows<Pack<W>>& rows) {
        for (int i = 0; i < W; ++i)
            x[i] = job.in[which] ? job.in[which] + rows.row[i] * job.in_step[which] : nullptr;
    }
    SOACRAFT_FLAT Pack<W> operator[](index k) const {
        Pack<W> r;
        for (int i = 0; i < W; ++i) r.x[i] = x[i][k];
        return r;
    }
};

template <class T>
struct Writer {
    double* y;
    index step;
    const Rows<T>& rows;
    Writer(const Job& job, int which, const Rows<T>& r) : y(job.out[which]), step(job.out_step[which]), rows(r) {}
    SOACRAFT_FLAT void set(index k, const T& x) {
        for (int i = 0; i < rows.count; ++i) y[rows.row[i] * step + k] = lane(x, i);
    }
    SOACRAFT_INLINE void clear(index n) {
        for (int i = 0; i < rows.count; ++i) std::memset(y + rows.row[i] * step, 0, static_cast<std::size_t>(n) * sizeof(double));
    }
};

template <>
struct Writer<double> {
    double* y;
    Writer(const Job& job, int which, const Rows<double>& rows)
        : y(job.out[which] + rows.row[0] * job.out_step[which]) {}
    SOACRAFT_FLAT void set(index k, double x) { y[k] = x; }
    SOACRAFT_INLINE void clear(index n) { std::memset(y, 0, static_cast<std::size_t>(n) * sizeof(double)); }
};

// One input or output of the states at work. For a single state it is the row itself; for a pack, rows are turned into
// packs once, column by column, and back.
template <class T>
struct StateVector;

template <>
struct StateVector<double> {
    double* x;
    SOACRAFT_FLAT double operator[](index i) const { return x[i]; }
    SOACRAFT_FLAT void set(index i, double value) { x[i] = value; }
    SOACRAFT_INLINE void clear(index n) { std::memset(x, 0, static_cast<std::size_t>(n) * sizeof(double)); }
};

template <int W>
struct StateVector<Pack<W>> {
    Pack<W>* x;
    SOACRAFT_FLAT const Pack<W>& operator[](index i) const { return x[i]; }
    SOACRAFT_FLAT void set(index i, const Pack<W>& value) { x[i] = value; }
    SOACRAFT_INLINE void clear(index n) { std::memset(static_cast<void*>(x), 0, static_cast<std::size_t>(n) * sizeof *x); }
};

SOACRAFT_FLAT StateVector<double> read_vector(const Job& job, int which, const Rows<double>& rows, index, double*) {
    return {const_cast<double*>(job.in[which]) + rows.row[0] * job.in_step[which]};
}

// Rows x[0] to x[W - 1] of n numbers, side by side.
template <int W>
SOACRAFT_INLINE void side_by_side(const double* const* x, index n, Pack<W>* space) {
    index k = 0;
    for (; k + W <= n; k += W) {
        Pack<W>* r = space + k;
        for (int i = 0; i < W; ++i) r[i] = load<Pack<W>>(x[i] + k);
        transpose(r);
    }
    for (; k < n; ++k)
        for (int i = 0; i < W; ++i) space[k].x[i] = x[i][k];
}
// And back to the first `count` rows y; the packs are used up.
template <int W>
SOACRAFT_INLINE void to_rows(Pack<W>* space, index n, double* const* y, index count) {
    index k = 0;
    for (; k + W <= n; k += W) {
        Pack<W>* r = space + k;
        transpose(r);
        for (int i = 0; i < count; ++i) store(y[i] + k, r[i]);
    }
    for (; k < n; ++k)
        for (int i = 0; i < count; ++i) y[i][k] = space[k].x[i];
}

template <int W>
SOACRAFT_INLINE StateVector<Pack<W>> read_vector(const Job& job, int which, const Rows<Pack<W>>& rows, index n, Pack<W>* space) {
    const double* x[W];
    for (int i = 0; i < W; ++i) x[i] = job.in[which] + rows.row[i] * job.in_step[which];
    side_by_side(x, n, space);
    return {space};
}

SOACRAFT_FLAT StateVector<double> write_vector(const Job& job, int which, const Rows<double>& rows, double*) {
    return {job.out[which] + rows.row[0] * job.out_step[which]};
}
template <int W>
SOACRAFT_FLAT StateVector<Pack<W>> write_vector(const Job&, int, const Rows<Pack<W>>&, Pack<W>* space) {
    return {space};
}

// What a pack left in its space goes to its rows; a single state is there already.
SOACRAFT_FLAT void deliver(const Job&, int, const Rows<double>&, index, const StateVector<double>&) {}
template <int W>
SOACRAFT_INLINE void deliver(const Job& job, int which, const Rows<Pack<W>>& rows, index n, const StateVector<Pack<W>>& vector) {
    double* y[W];
    for (int i = 0; i < W; ++i) y[i] = job.out[which] + rows.row[i] * job.out_step[which];
    to_rows(vector.x, n, y, rows.count);
}

// Space for a vector of n numbers; a single state needs none.
template <class T>
constexpr index vector_room(index n) { return Lanes<T>::count == 1 ? 0 : n; }

// A workspace cut into arrays, each on a cache line.
struct Arena {
    char* at;
    template <class S>
    S* take(index n) {
        S* array = reinterpret_cast<S*>(at);
        const std::size_t bytes = static_cast<std::size_t>(n) * sizeof(S);
        mark_cut(at, bytes);
        at += cut_size(bytes);
        return array;
    }
};
template <class S>
constexpr std::size_t room(index n) {
    return cut_size(static_cast<std::size_t>(n) * sizeof(S));
}

// What would be taken.
struct Room {
    std::size_t bytes = 0;
    template <class S>
    S* take(index n) {
        bytes += room<S>(n);
        return nullptr;
    }
};

// Space for the three inputs and the output of a sweep.
template <class T>
struct StateVectors {
    T *q, *v, *x, *y;
    StateVectors(const Model& m, Arena& arena)
        : q(arena.take<T>(vector_room<T>(m.nq))), v(arena.take<T>(vector_room<T>(m.nv))),
          x(arena.take<T>(vector_room<T>(m.nv))), y(arena.take<T>(vector_room<T>(m.nv))) {}
    static std::size_t bytes(const Model& m) { return room<T>(vector_room<T>(m.nq)) + 3 * room<T>(vector_room<T>(m.nv)); }
};

// Six numbers of a wrench for the states at work.
template <class T>
SOACRAFT_FLAT Spatial<T> wrench_of(const Wrench& wrench, const Rows<T>& rows) {
    T x[6];
    for (int c = 0; c < 6; ++c) {
        double own[Lanes<T>::count];
        for (int i = 0; i < Lanes<T>::count; ++i) own[i] = wrench.f[rows.row[i] * wrench.step + c];
        std::memcpy(static_cast<void*>(&x[c]), own, sizeof own);
    }
    return {{x[0], x[1], x[2]}, {x[3], x[4], x[5]}};
}

// External forces on elements, in their axes, of wrenches on bodies and at nodes: phi(k, O) f, first turned where the
// wrench is in the axes of another frame.
template <class T>
struct Pulls {
    Spatial<T>* on = nullptr;
    Mat<T>* R = nullptr;  // rotations of the elements, where a wrench needs them

    template <class Taker>
    Pulls(const Job& job, Taker& arena) {
        if (job.in[PULL] || job.wrench_count) on = arena.template take<Spatial<T>>(job.model->count);
        if (job.turned) R = arena.template take<Mat<T>>(job.model->count);
    }

    // By elements; null when there are none.
    template <class In>
    SOACRAFT_INLINE const Spatial<T>* at(const Job& job, const Rows<T>& rows, const In& q) const {
        if (!on) return nullptr;
        const Model& model = *job.model;
        const T o(0.0);
        for (index k = 0; k < model.count; ++k) on[k] = {{o, o, o}, {o, o, o}};
        if (job.in[PULL]) add_rows(job, rows);
        for (index k = 0; k < model.count && job.turned; ++k) {
            const Element& e = model.elements[k];
            const Mat<T> own = place<T>(e, q).R;
            R[k] = e.parent < 0 ? own : R[e.parent] * own;
        }
        for (index i = 0; i < job.wrench_count; ++i) add(job.wrenches[i], rows);
        return on;
    }

private:
    SOACRAFT_INLINE void add_rows(const Job& job, const Rows<T>& rows) const {
        const Reader<T> f(job, PULL, rows);
        for (index b = 0; b < job.model->body_count; ++b) {
            const Body& body = job.model->bodies[b];
            if (body.element < 0) continue;
            const Place<T> X{mat<T>(body.R), vec<T>(body.p)};
            on[body.element] += inward(X, Spatial<T>{three<T>(f, 6 * b), three<T>(f, 6 * b + 3)});
        }
    }
    SOACRAFT_INLINE void add(const Wrench& wrench, const Rows<T>& rows) const {
        const index k = wrench.at.element;
        if (k < 0) return;  // welded to the base
        Spatial<T> f = wrench_of(wrench, rows);
        Place<T> X{mat<T>(wrench.at.R), vec<T>(wrench.at.p)};
        if (wrench.turned) {
            const Mat<T> axes = mat<T>(wrench.axes.R);
            const index other = wrench.axes.element;
            X.R = transpose(R[k]) * (other < 0 ? axes : R[other] * axes);
        }
        on[k] += inward(X, f);
    }
};

template <class T>
std::size_t room_for_pulls(const Job& job) {
    Room taken;
    Pulls<T>(job, taken);
    return taken.bytes;
}

// An output from some place on.
template <class Out>
struct Part_of {
    Out to;
    index from;
    template <class T>
    SOACRAFT_FLAT void set(index k, const T& x) { to.set(from + k, x); }
};

// Where the base hangs from.
template <class T>
SOACRAFT_FLAT Place<T> place_of(const Job& job) { return {mat<T>(job.place), vec<T>(job.place + 9)}; }

// How it moves, in inertial axes.
template <class T>
SOACRAFT_FLAT Ground<T> ground_of(const Job& job) {
    const Place<T> at = place_of<T>(job);
    return {at, {at.R * vec<T>(job.base), at.R * vec<T>(job.base + 3)}};
}

// add(i, x) for every force x of springs and dampers on dof i; nothing where they do not act.
template <class T, class In, class Add>
SOACRAFT_FLAT void each_passive(const Job& job, const LinkWork<T>& work, const In& q, const In& v, const Add& add) {
    if (job.passive) each_passive<T>(*job.passive, *job.model, ground_of<T>(job), q, v, work, add);
}

// The generalized force with what springs and dampers add to it, in `whole`; itself where they do not act.
template <class T>
SOACRAFT_FLAT StateVector<T> with_passive(const Job& job, const LinkWork<T>& work, const StateVector<T>& q,
                                         const StateVector<T>& v, const StateVector<T>& tau, T* whole) {
    if (!job.passive) return tau;
    for (index i = 0; i < job.model->nv; ++i) whole[i] = tau[i];
    each_passive<T>(job, work, q, v, [&](index i, const T& x) { whole[i] += x; });
    return {whole};
}

template <class T>
std::size_t room_for_links(const Job& job) {
    Room taken;
    LinkWork<T>(job.passive, *job.model, taken);
    return taken.bytes;
}

SOACRAFT_FLAT Base base_of(const Job& job) {
    Base base;
    for (int i = 0; i < 6; ++i) base.V[i] = job.base[i], base.a[i] = job.base[6 + i];
    return base;
}

// Methods: an algorithm for one state, and its work, taken from an arena or counted in a Room. One state after the other.
template <class Method>
bool run_singly(const Job& job, index first, index last, void* workspace) {
    Arena arena{static_cast<char*>(workspace)};
    const Method method(job, arena);
    bool fine = true;
    for (index i = first; i < last; ++i) {
        double* out[OUTPUTS];
        for (int k = 0; k < OUTPUTS; ++k) out[k] = job.out[k] + i * job.out_step[k];
        fine &= method.fill(job, Rows<double>(i, last), out);
    }
    return fine;
}

template <class Method>
std::size_t room_singly(const Job& job) {
    Room taken;
    Method(job, taken);
    return taken.bytes;
}

SOACRAFT_RIGID_END
