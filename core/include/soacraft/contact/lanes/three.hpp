// Vectors of three scalars, one number or a pack of them, and choices without branches.
#pragma once

#include "../../scalars/pack.hpp"
#include "../target.hpp"

SOACRAFT_CONTACT_BEGIN

template <int W>
using Pack = rigid::SOACRAFT_TARGET::Pack<W>;

SOACRAFT_FLAT double least(double a, double b) { return a < b ? a : b; }
SOACRAFT_FLAT double most(double a, double b) { return a < b ? b : a; }
SOACRAFT_FLAT double root(double a) { return std::sqrt(a); }
SOACRAFT_FLAT double magnitude(double a) { return std::fabs(a); }
SOACRAFT_FLAT bool below(double a, double b) { return a < b; }
SOACRAFT_FLAT double choose(bool first, double a, double b) { return first ? a : b; }

template <int W>
SOACRAFT_FLAT Pack<W> least(Pack<W> a, Pack<W> b) { return Pack<W>(a.x < b.x ? a.x : b.x); }
template <int W>
SOACRAFT_FLAT Pack<W> most(Pack<W> a, Pack<W> b) { return Pack<W>(a.x < b.x ? b.x : a.x); }
template <int W>
SOACRAFT_FLAT Pack<W> root(Pack<W> a) {
    for (int i = 0; i < W; ++i) a.x[i] = std::sqrt(a.x[i]);
    return a;
}
template <int W>
SOACRAFT_FLAT Pack<W> magnitude(Pack<W> a) { return Pack<W>(a.x < 0.0 ? -a.x : a.x); }
template <int W>
SOACRAFT_FLAT typename Pack<W>::Mask below(Pack<W> a, Pack<W> b) { return a.x < b.x; }
template <int W>
SOACRAFT_FLAT Pack<W> choose(typename Pack<W>::Mask first, Pack<W> a, Pack<W> b) { return Pack<W>(first ? a.x : b.x); }

template <class T>
SOACRAFT_FLAT T clamped(T x, double to) { return most(least(x, T(to)), T(-to)); }

template <class T>
struct Three {
    T x, y, z;
    SOACRAFT_FLAT T& operator[](int i) { return i == 0 ? x : i == 1 ? y : z; }
    SOACRAFT_FLAT const T& operator[](int i) const { return i == 0 ? x : i == 1 ? y : z; }
    SOACRAFT_FLAT friend Three operator+(const Three& a, const Three& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
    SOACRAFT_FLAT friend Three operator-(const Three& a, const Three& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
    SOACRAFT_FLAT friend Three operator*(const T& s, const Three& a) { return {s * a.x, s * a.y, s * a.z}; }
};

template <class T>
SOACRAFT_FLAT T dot(const Three<T>& a, const Three<T>& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
template <class T>
SOACRAFT_FLAT Three<T> cross(const Three<T>& a, const Three<T>& b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
template <class M, class T>
SOACRAFT_FLAT Three<T> choose_three(const M& first, const Three<T>& a, const Three<T>& b) {
    return {choose(first, a.x, b.x), choose(first, a.y, b.y), choose(first, a.z, b.z)};
}

// A frame by the columns of its rotation: x -> column x + p.
template <class T>
struct Place {
    Three<T> column[3], p;
    SOACRAFT_FLAT Three<T> turned(const Three<T>& v) const { return v.x * column[0] + v.y * column[1] + v.z * column[2]; }
    SOACRAFT_FLAT Three<T> turned_back(const Three<T>& v) const { return {dot(column[0], v), dot(column[1], v), dot(column[2], v)}; }
};

// The frame b as seen from a.
template <class T>
SOACRAFT_FLAT Place<T> seen_from(const Place<T>& a, const Place<T>& b) {
    Place<T> t;
    for (int i = 0; i < 3; ++i) t.column[i] = a.turned_back(b.column[i]);
    t.p = a.turned_back(b.p - a.p);
    return t;
}

SOACRAFT_CONTACT_END
