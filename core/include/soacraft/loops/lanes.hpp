// Decisions on numbers for any scalar: a bool for one state, one for each lane of a pack. Kernels that ask these questions
// run every lane to the end and say of each whether its answer holds; no lane changes another's numbers.
#pragma once

#include "soacraft/scalars/pack.hpp"

SOACRAFT_RIGID_BEGIN

using soacraft::absolute;
using soacraft::square_root;

// Yes (all bits) or no for each lane.
template <int W>
struct Flags {
    typename Pack<W>::Mask on;

    SOACRAFT_FLAT friend Flags operator&(const Flags& a, const Flags& b) { return {a.on & b.on}; }
    SOACRAFT_FLAT friend Flags operator|(const Flags& a, const Flags& b) { return {a.on | b.on}; }
    SOACRAFT_FLAT friend Flags operator!(const Flags& a) { return {~a.on}; }
    SOACRAFT_FLAT Flags& operator&=(const Flags& b) { on &= b.on; return *this; }
    SOACRAFT_FLAT Flags& operator|=(const Flags& b) { on |= b.on; return *this; }
};

template <class T>
struct WhereOf {
    typedef bool type;
    static bool yes() { return true; }
};
template <int W>
struct WhereOf<Pack<W>> {
    typedef Flags<W> type;
    static Flags<W> yes() { return {~typename Pack<W>::Mask{}}; }
};
// For which of the states that a T holds something is so.
template <class T>
using Where = typename WhereOf<T>::type;
template <class T>
SOACRAFT_FLAT Where<T> everywhere() { return WhereOf<T>::yes(); }
template <class T>
SOACRAFT_FLAT Where<T> nowhere() { return !WhereOf<T>::yes(); }

// A T that other arguments tell, and an array of it that may be null.
template <class T>
struct Same {
    typedef T type;
};
template <class T>
using Given = const typename Same<T>::type*;

// a > b and a <= b; NaN is neither.
SOACRAFT_FLAT bool is_above(double a, double b) { return a > b; }
SOACRAFT_FLAT bool is_at_most(double a, double b) { return a <= b; }
SOACRAFT_FLAT bool any(bool a) { return a; }
SOACRAFT_FLAT bool all(bool a) { return a; }
SOACRAFT_FLAT bool lane(bool a, int) { return a; }
SOACRAFT_FLAT double choose(bool which, double a, double b) { return which ? a : b; }
// The larger of two numbers, the first if the second is none; what std::fmax calls a library for.
SOACRAFT_FLAT double larger(double a, double b) { return a < b ? b : a; }

template <int W>
SOACRAFT_FLAT Flags<W> is_above(const Pack<W>& a, const Pack<W>& b) { return {a.x > b.x}; }
template <int W>
SOACRAFT_FLAT Flags<W> is_at_most(const Pack<W>& a, const Pack<W>& b) { return {a.x <= b.x}; }
template <int W>
SOACRAFT_FLAT bool any(const Flags<W>& a) {
    long long some = 0;
    for (int i = 0; i < W; ++i) some |= a.on[i];
    return some != 0;
}
template <int W>
SOACRAFT_FLAT bool all(const Flags<W>& a) { return !any(!a); }
template <int W>
SOACRAFT_FLAT bool lane(const Flags<W>& a, int i) { return a.on[i] != 0; }
template <int W>
SOACRAFT_FLAT Pack<W> choose(const Flags<W>& which, const Pack<W>& a, const Pack<W>& b) {
    return Pack<W>(which.on ? a.x : b.x);
}
template <int W>
SOACRAFT_FLAT Pack<W> larger(const Pack<W>& a, const Pack<W>& b) { return maximum(a, b); }
template <int W>
SOACRAFT_FLAT Pack<W> larger(const Pack<W>& a, double b) { return maximum(a, Pack<W>(b)); }

SOACRAFT_FLAT void set_lane(double& x, int, double to) { x = to; }
template <int W>
SOACRAFT_FLAT void set_lane(Pack<W>& x, int i, double to) { x.x[i] = to; }

SOACRAFT_RIGID_END
