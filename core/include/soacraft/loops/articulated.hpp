// Articulated inertias in inertially oriented axes.
#pragma once

#include "soacraft/rigid/aba.hpp"
#include "work.hpp"

SOACRAFT_RIGID_BEGIN

// P -= W W*
SOACRAFT_FLAT void subtract(Articulated<double>& P, const Twist& W) {
    subtract_square(P.A, 1.0, W.w);
    subtract_square(P.C, 1.0, W.v);
    P.B.a -= W.v.x * W.w, P.B.b -= W.v.y * W.w, P.B.c -= W.v.z * W.w;
}

SOACRAFT_FLAT Articulated<double> articulated(const Rigid<double>& I) {
    const double o = 0.0, h = I.h.x, i = I.h.y, j = I.h.z, m = I.m;
    return {I.J, {{o, j, -i}, {-j, o, h}, {i, -h, o}}, {m, o, o, m, o, m}};
}

// [[I, l~], [0, I]] P [[I, l~], [0, I]]*
SOACRAFT_FLAT Articulated<double> shifted(const Vec3& l, const Articulated<double>& P) {
    return shifted(l, P.A, Vec3{P.B.a.x, P.B.b.x, P.B.c.x}, Vec3{P.B.a.y, P.B.b.y, P.B.c.y},
                   Vec3{P.B.a.z, P.B.b.z, P.B.c.z}, P.C);
}

SOACRAFT_RIGID_END
