// What the block engine asks of a scalar besides its arithmetic; `scalars/pack.hpp` answers for packs.
#pragma once

#include <cmath>

#include "config.hpp"

SOACRAFT_BEGIN

// Whether a scalar holds several states side by side: what is decided for one state must then hold for all of them.
template <class T>
struct Several {
    static constexpr bool value = false;
};

template <class T>
SOACRAFT_INLINE T absolute(T x) { return std::fabs(x); }
template <class T>
SOACRAFT_INLINE T square_root(T x) { return std::sqrt(x); }
template <class T>
SOACRAFT_INLINE T maximum(T a, T b) { return a < b ? b : a; }
// a where it is larger than b by a factor, or else b.
template <class T>
SOACRAFT_INLINE T if_larger(double factor, T a, T b) { return a > T(factor) * b ? a : b; }
// Whether a > b; NaN is not.
template <class T>
SOACRAFT_INLINE bool above(T a, T b) { return a > b; }
template <class T>
SOACRAFT_INLINE bool is_zero(T x) { return x == T(0); }

SOACRAFT_END
