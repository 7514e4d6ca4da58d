// The columns of H*, the twists that the dofs of a hinge turn or slide along, and visitors of them: in the axes of the tree
// (inertial.hpp) or in those of the element itself.
#pragma once

#include <utility>

#include "inertial.hpp"

SOACRAFT_RIGID_BEGIN

// Twists that only turn about, or only slide along, a line through the origin.
template <class T>
struct Turning {
    Vec<T> w;
};
template <class T>
struct Sliding {
    Vec<T> v;
};
// A unit turn about (0 to 2) or slide along (3 to 5) an axis of the element itself.
struct Axis {
    index i;
};

template <class T>
SOACRAFT_FLAT Vec<T> zeros() { return {T(0.0), T(0.0), T(0.0)}; }
template <class T>
SOACRAFT_FLAT Spatial<T> whole(const Turning<T>& S) { return {S.w, zeros<T>()}; }
template <class T>
SOACRAFT_FLAT Spatial<T> whole(const Sliding<T>& S) { return {zeros<T>(), S.v}; }
template <class T>
SOACRAFT_FLAT Spatial<T> whole(const Spatial<T>& S) { return S; }

template <class T>
SOACRAFT_FLAT Sliding<T> operator+(const Sliding<T>& a, const Sliding<T>& b) { return {a.v + b.v}; }
template <class T>
SOACRAFT_FLAT Turning<T> operator*(const T& s, const Turning<T>& a) { return {s * a.w}; }
template <class T>
SOACRAFT_FLAT Sliding<T> operator*(const T& s, const Sliding<T>& a) { return {s * a.v}; }
template <class T>
SOACRAFT_FLAT void operator+=(Spatial<T>& V, const Turning<T>& S) { V.w += S.w; }
template <class T>
SOACRAFT_FLAT void operator+=(Spatial<T>& V, const Sliding<T>& S) { V.v += S.v; }

template <class T>
SOACRAFT_FLAT Spatial<T> motion_cross(const Spatial<T>& V, const Turning<T>& S) {
    return {cross(V.w, S.w), cross(V.v, S.w)};
}
template <class T>
SOACRAFT_FLAT Sliding<T> motion_cross(const Spatial<T>& V, const Sliding<T>& S) { return {cross(V.w, S.v)}; }
template <class T>
SOACRAFT_FLAT Spatial<T> force_cross(const Turning<T>& S, const Spatial<T>& f) {
    return {cross(S.w, f.w), cross(S.w, f.v)};
}
template <class T>
SOACRAFT_FLAT Spatial<T> force_cross(const Sliding<T>& S, const Spatial<T>& f) { return {cross(S.v, f.v), zeros<T>()}; }

// S* f
template <class T>
SOACRAFT_FLAT T dot(const Turning<T>& S, const Spatial<T>& f) { return dot(S.w, f.w); }
template <class T>
SOACRAFT_FLAT T dot(const Sliding<T>& S, const Spatial<T>& f) { return dot(S.v, f.v); }
template <class T>
SOACRAFT_FLAT T dot(const Axis& S, const Spatial<T>& f) {
    switch (S.i) {
        case 0: return f.w.x;
        case 1: return f.w.y;
        case 2: return f.w.z;
        case 3: return f.v.x;
        case 4: return f.v.y;
        default: return f.v.z;
    }
}
// V += x S
template <class T, class Column>
SOACRAFT_FLAT void add_along(Spatial<T>& V, const T& x, const Column& S) { V += x * S; }
template <class T>
SOACRAFT_FLAT void add_along(Spatial<T>& V, const T& x, const Axis& S) {
    switch (S.i) {
        case 0: V.w.x += x; return;
        case 1: V.w.y += x; return;
        case 2: V.w.z += x; return;
        case 3: V.v.x += x; return;
        case 4: V.v.y += x; return;
        default: V.v.z += x;
    }
}

// M S and P S
template <class T>
SOACRAFT_FLAT Spatial<T> operator*(const Rigid<T>& I, const Turning<T>& S) { return {I.J * S.w, cross(S.w, I.h)}; }
template <class T>
SOACRAFT_FLAT Spatial<T> operator*(const Rigid<T>& I, const Sliding<T>& S) { return {cross(I.h, S.v), I.m * S.v}; }
template <class T>
SOACRAFT_FLAT Spatial<T> operator*(const Articulated<T>& P, const Turning<T>& S) {
    return {P.A * S.w, turn_back(P.B, S.w)};
}
template <class T>
SOACRAFT_FLAT Spatial<T> operator*(const Articulated<T>& P, const Sliding<T>& S) { return {P.B * S.v, P.C * S.v}; }
template <class T>
SOACRAFT_FLAT Spatial<T> operator*(const Articulated<T>& P, const Axis& S) {
    switch (S.i) {
        case 0: return {{P.A.xx, P.A.xy, P.A.xz}, {P.B.a.x, P.B.b.x, P.B.c.x}};
        case 1: return {{P.A.xy, P.A.yy, P.A.yz}, {P.B.a.y, P.B.b.y, P.B.c.y}};
        case 2: return {{P.A.xz, P.A.yz, P.A.zz}, {P.B.a.z, P.B.b.z, P.B.c.z}};
        case 3: return {P.B.a, {P.C.xx, P.C.xy, P.C.xz}};
        case 4: return {P.B.b, {P.C.xy, P.C.yy, P.C.yz}};
        default: return {P.B.c, {P.C.xz, P.C.yz, P.C.zz}};
    }
}

// How long the column of a dof is, squared; the inverse of that; and the dof's armature along that column.
struct Scale {
    double square, inverse, armature;
};

// The columns of an element whose axes are R. `each` calls f(i, S_i) for the dofs in their order or from the last.
template <class T>
struct TreeAxes {
    const Mat<T>& R;

    SOACRAFT_FLAT Scale scale(const Element& e, double armature) const {
        return {e.scale * e.scale, e.unscale * e.unscale, armature};
    }
    template <bool backwards, class In, class F>
    SOACRAFT_FLAT void each(const Element& e, const In& q, F&& f) const {
        switch (e.kind) {
            case REVOLUTE: f(0, Turning<T>{T(e.scale) * R.c}); return;
            case PRISMATIC: f(0, Sliding<T>{T(e.scale) * R.c}); return;
            case HELICAL: f(0, Spatial<T>{T(e.scale) * R.c, T(e.scale * e.pitch) * R.c}); return;
            case ROLLING: {
                Spatial<T> S[3];
                hinge_columns(e, q, R, S);
                for (index i = 0; i < 3; ++i) f(backwards ? 2 - i : i, S[backwards ? 2 - i : i]);
                return;
            }
            default: break;
        }
        const Vec<T> axes[3] = {R.a, R.b, R.c};
        const index count = e.kind == FREE ? 6 : 3;
        for (index n = 0; n < count; ++n) {
            const index i = backwards ? count - 1 - n : n;
            if (i < 3)
                f(i, Turning<T>{axes[i]});
            else
                f(i, Sliding<T>{axes[i - 3]});
        }
    }
};
template <bool backwards = false, class T, class In, class F>
SOACRAFT_FLAT void each_column(const Element& e, const In& q, const Mat<T>& R, F&& f) {
    TreeAxes<T>{R}.template each<backwards>(e, q, f);
}

// The column of a revolute hinge in the element's own axes, of unit length, whatever its scale.
template <class T>
struct OwnAxis {
    SOACRAFT_FLAT Scale scale(const Element& e, double armature) const {
        return {1.0, 1.0, e.unscale * e.unscale * armature};
    }
    template <bool, class In, class F>
    SOACRAFT_FLAT void each(const Element&, const In&, F&& f) const { f(0, Axis{2}); }
};
// The same of any hinge.
template <class T>
struct OwnAxes : OwnAxis<T> {
    template <bool backwards, class In, class F>
    SOACRAFT_FLAT void each(const Element& e, const In& q, F&& f) const {
        const T o(0.0), one(1.0);
        switch (e.kind) {
            case REVOLUTE: f(0, Axis{2}); return;
            case PRISMATIC: f(0, Axis{5}); return;
            case HELICAL: f(0, Spatial<T>{{o, o, one}, {o, o, T(e.pitch)}}); return;
            case SPHERICAL: each_axis<backwards>(f, std::make_index_sequence<3>()); return;
            case FREE: each_axis<backwards>(f, std::make_index_sequence<6>()); return;
            case FIXED: return;
            default: break;
        }
        const Vec<T> l = lever<T>(e, q);
        const Spatial<T> S[3] = {{{one, o, o}, {o, l.z, -l.y}}, {{o, one, o}, {-l.z, o, l.x}}, {{o, o, one}, {l.y, -l.x, o}}};
        for (index i = 0; i < 3; ++i) f(backwards ? 2 - i : i, S[backwards ? 2 - i : i]);
    }

private:
    // One after the other with numbers known to the compiler, which then sees which parts of P are needed.
    template <bool backwards, class F, std::size_t... I>
    SOACRAFT_FLAT void each_axis(F&& f, std::index_sequence<I...>) const {
        constexpr index last = sizeof...(I) - 1;
        (f(backwards ? last - index(I) : index(I), Axis{backwards ? last - index(I) : index(I)}), ...);
    }
};

SOACRAFT_RIGID_END
