// How a kernel reads its inputs and writes its outputs: one row, or a pack of rows side by side.
#pragma once

#include "job.hpp"

SOACRAFT_RIGID_BEGIN

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

// A workspace cut into arrays, each on a cache line.
struct Bench {
    char* at;
    template <class S>
    S* take(index n) {
        S* found = reinterpret_cast<S*>(at);
        at += (static_cast<std::size_t>(n) * sizeof(S) + 63) / 64 * 64;
        return found;
    }
};
template <class S>
constexpr std::size_t room(index n) {
    return (static_cast<std::size_t>(n) * sizeof(S) + 63) / 64 * 64;
}

// Wrenches on bodies, in their axes, as forces on elements; null when there are none.
template <class T>
SOACRAFT_INLINE Spatial<T>* pulls(const Job& job, const Rows<T>& rows, Spatial<T>* on) {
    if (!job.in[PULL]) return nullptr;
    const Reader<T> f(job, PULL, rows);
    const Model& model = *job.model;
    const T o(0.0);
    for (index k = 0; k < model.count; ++k) on[k] = {{o, o, o}, {o, o, o}};
    for (index b = 0; b < model.body_count; ++b) {
        const Body& body = model.bodies[b];
        if (body.element < 0) continue;
        const Place<T> X{mat<T>(body.R), vec<T>(body.p)};
        on[body.element] += inward(X, Spatial<T>{three<T>(f, 6 * b), three<T>(f, 6 * b + 3)});
    }
    return on;
}

SOACRAFT_FLAT Base base_of(const Job& job) {
    Base base;
    for (int i = 0; i < 6; ++i) base.V[i] = job.base[i], base.a[i] = job.base[6 + i];
    return base;
}

SOACRAFT_RIGID_END
