// Closures whose coordinates are followed, for states side by side: lane by lane, as each takes steps of its own.
#pragma once

#include "closure_hinge.hpp"

SOACRAFT_RIGID_BEGIN

template <int W>
inline Vec3 lane(const Vec<Pack<W>>& v, int i) { return {lane(v.x, i), lane(v.y, i), lane(v.z, i)}; }
template <int W>
inline Mat3 lane(const Mat<Pack<W>>& R, int i) { return {lane(R.a, i), lane(R.b, i), lane(R.c, i)}; }
template <int W>
inline void set_lane(Vec<Pack<W>>& v, int i, const Vec3& to) {
    set_lane(v.x, i, to.x), set_lane(v.y, i, to.y), set_lane(v.z, i, to.z);
}
template <int W>
inline void set_lane(Mat<Pack<W>>& R, int i, const Mat3& to) {
    set_lane(R.a, i, to.a), set_lane(R.b, i, to.b), set_lane(R.c, i, to.c);
}
template <int W>
inline void set_lane(Spatial<Pack<W>>& x, int i, const Twist& to) { set_lane(x.w, i, to.w), set_lane(x.v, i, to.v); }

template <int W>
inline HingeAt lane(const HingeAtOf<Pack<W>>& hinge, int i) {
    HingeAt one;
    one.count = hinge.count;
    for (index k = 0; k < hinge.count; ++k) one.H[k] = {lane(hinge.H[k].w, i), lane(hinge.H[k].v, i)};
    return one;
}

// The coordinates of one closure, by their places among all.
struct OwnCoordinates {
    const Element* hinge;
    index count;
    double x[6] = {};

    OwnCoordinates(const Element* hinge_, index count_) : hinge(hinge_), count(count_) {}
    double& operator[](index place) { return x[number(place)]; }
    double operator[](index place) const { return x[number(place)]; }

private:
    index number(index place) const {
        index i = 0;
        while (i + 1 < count && hinge[i].q != place) ++i;
        return i;
    }
};

template <int W>
inline Flags<W> follow(const Plan& plan, const Closure& c, const Place<Pack<W>>& T_ab, Pack<W>* theta,
                       HingeAtOf<Pack<W>>& hinge) {
    Pack<W> fine(0.0);
    hinge.count = c.last - c.first;
    for (int i = 0; i < W; ++i) {
        OwnCoordinates own(hinge_of(plan, c), hinge.count);
        for (index k = 0; k < own.count; ++k) own.x[k] = lane(theta[own.hinge[k].q], i);
        HingeAt one;
        const bool followed = follow(plan, c, Place<double>{lane(T_ab.R, i), lane(T_ab.p, i)}, own, one);
        set_lane(fine, i, followed ? 1.0 : 0.0);
        for (index k = 0; k < own.count; ++k) set_lane(theta[own.hinge[k].q], i, own.x[k]), set_lane(hinge.H[k], i, one.H[k]);
        set_lane(hinge.T.R, i, one.T.R), set_lane(hinge.T.p, i, one.T.p);
    }
    return is_above(fine, Pack<W>(0.5));
}

template <int W>
inline void forbidden(const Tolerances& t, const HingeAtOf<Pack<W>>& hinge, Pack<W>* Q) {
    const index numbers = 6 * (6 - hinge.count);
    for (int i = 0; i < W; ++i) {
        double one[36] = {};
        forbidden(t, lane(hinge, i), one);
        for (index k = 0; k < numbers; ++k) set_lane(Q[k], i, one[k]);
    }
}

template <int W>
inline Flags<W> hinge_bias(const Tolerances& t, const HingeAtOf<Pack<W>>& hinge, const Spatial<Pack<W>>& seen, double length,
                           Spatial<Pack<W>>& bias) {
    Pack<W> fine(0.0);
    for (int i = 0; i < W; ++i) {
        Twist one = none<double>();
        set_lane(fine, i, hinge_bias(t, lane(hinge, i), Twist{lane(seen.w, i), lane(seen.v, i)}, length, one) ? 1.0 : 0.0);
        set_lane(bias, i, one);
    }
    return is_above(fine, Pack<W>(0.5));
}

SOACRAFT_RIGID_END
