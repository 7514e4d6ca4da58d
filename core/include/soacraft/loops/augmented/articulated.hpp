// Articulated inertias in inertially oriented axes.
#pragma once

#include "soacraft/rigid/aba.hpp"
#include "soacraft/rigid/minv.hpp"  // shifted
#include "../work.hpp"

SOACRAFT_RIGID_BEGIN

// P -= W W*
template <class T>
SOACRAFT_FLAT void subtract(Articulated<T>& P, const Spatial<T>& W) {
    subtract_square(P.A, T(1.0), W.w);
    subtract_square(P.C, T(1.0), W.v);
    P.B.a -= W.v.x * W.w, P.B.b -= W.v.y * W.w, P.B.c -= W.v.z * W.w;
}

template <class T>
SOACRAFT_FLAT Articulated<T> articulated(const Rigid<T>& I) {
    const T o(0.0), h = I.h.x, i = I.h.y, j = I.h.z, m = I.m;
    return {I.J, {{o, j, -i}, {-j, o, h}, {i, -h, o}}, {m, o, o, m, o, m}};
}

SOACRAFT_RIGID_END
