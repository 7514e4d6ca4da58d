// Vectors and matrices of three, for any scalar. Spatial quantities are pairs of them, angular part first.
#pragma once

#include "pack.hpp"

SOACRAFT_RIGID_BEGIN

template <class T>
struct Vec {
    T x, y, z;
};

template <class T>
SOACRAFT_FLAT Vec<T> operator+(const Vec<T>& a, const Vec<T>& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
template <class T>
SOACRAFT_FLAT Vec<T> operator-(const Vec<T>& a, const Vec<T>& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
template <class T>
SOACRAFT_FLAT Vec<T> operator-(const Vec<T>& a) { return {-a.x, -a.y, -a.z}; }
template <class T, class S>
SOACRAFT_FLAT Vec<T> operator*(const S& s, const Vec<T>& a) { return {T(s) * a.x, T(s) * a.y, T(s) * a.z}; }
template <class T>
SOACRAFT_FLAT void operator+=(Vec<T>& a, const Vec<T>& b) { a.x += b.x, a.y += b.y, a.z += b.z; }
template <class T>
SOACRAFT_FLAT void operator-=(Vec<T>& a, const Vec<T>& b) { a.x -= b.x, a.y -= b.y, a.z -= b.z; }
template <class T>
SOACRAFT_FLAT T dot(const Vec<T>& a, const Vec<T>& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
template <class T>
SOACRAFT_FLAT Vec<T> cross(const Vec<T>& a, const Vec<T>& b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

// A full matrix by columns.
template <class T>
struct Mat {
    Vec<T> a, b, c;
};

template <class T>
SOACRAFT_FLAT Vec<T> operator*(const Mat<T>& R, const Vec<T>& v) { return v.x * R.a + v.y * R.b + v.z * R.c; }
// R* v
template <class T>
SOACRAFT_FLAT Vec<T> turn_back(const Mat<T>& R, const Vec<T>& v) { return {dot(R.a, v), dot(R.b, v), dot(R.c, v)}; }
template <class T>
SOACRAFT_FLAT Mat<T> operator*(const Mat<T>& A, const Mat<T>& B) { return {A * B.a, A * B.b, A * B.c}; }
template <class T>
SOACRAFT_FLAT Mat<T> operator+(const Mat<T>& A, const Mat<T>& B) { return {A.a + B.a, A.b + B.b, A.c + B.c}; }
template <class T>
SOACRAFT_FLAT void operator+=(Mat<T>& A, const Mat<T>& B) { A.a += B.a, A.b += B.b, A.c += B.c; }
template <class T>
SOACRAFT_FLAT Mat<T> transpose(const Mat<T>& A) {
    return {{A.a.x, A.b.x, A.c.x}, {A.a.y, A.b.y, A.c.y}, {A.a.z, A.b.z, A.c.z}};
}
// p~ A
template <class T>
SOACRAFT_FLAT Mat<T> cross(const Vec<T>& p, const Mat<T>& A) { return {cross(p, A.a), cross(p, A.b), cross(p, A.c)}; }

// A symmetric matrix.
template <class T>
struct Sym {
    T xx, xy, xz, yy, yz, zz;
};

template <class T>
SOACRAFT_FLAT Vec<T> operator*(const Sym<T>& S, const Vec<T>& v) {
    return {S.xx * v.x + S.xy * v.y + S.xz * v.z, S.xy * v.x + S.yy * v.y + S.yz * v.z,
            S.xz * v.x + S.yz * v.y + S.zz * v.z};
}
template <class T>
SOACRAFT_FLAT Mat<T> full(const Sym<T>& S) { return {{S.xx, S.xy, S.xz}, {S.xy, S.yy, S.yz}, {S.xz, S.yz, S.zz}}; }
template <class T>
SOACRAFT_FLAT void operator+=(Sym<T>& A, const Sym<T>& B) {
    A.xx += B.xx, A.xy += B.xy, A.xz += B.xz, A.yy += B.yy, A.yz += B.yz, A.zz += B.zz;
}
// A -= s u u*
template <class T>
SOACRAFT_FLAT void subtract_square(Sym<T>& A, const T& s, const Vec<T>& u) {
    const Vec<T> v = s * u;
    A.xx -= v.x * u.x, A.xy -= v.x * u.y, A.xz -= v.x * u.z;
    A.yy -= v.y * u.y, A.yz -= v.y * u.z, A.zz -= v.z * u.z;
}
// R S R*
template <class T>
SOACRAFT_FLAT Sym<T> turned(const Mat<T>& R, const Sym<T>& S) {
    const Mat<T> W{{S.xx * R.a + S.xy * R.b + S.xz * R.c},
                   {S.xy * R.a + S.yy * R.b + S.yz * R.c},
                   {S.xz * R.a + S.yz * R.b + S.zz * R.c}};  // R S
    return {W.a.x * R.a.x + W.b.x * R.b.x + W.c.x * R.c.x, W.a.x * R.a.y + W.b.x * R.b.y + W.c.x * R.c.y,
            W.a.x * R.a.z + W.b.x * R.b.z + W.c.x * R.c.z, W.a.y * R.a.y + W.b.y * R.b.y + W.c.y * R.c.y,
            W.a.y * R.a.z + W.b.y * R.b.z + W.c.y * R.c.z, W.a.z * R.a.z + W.b.z * R.b.z + W.c.z * R.c.z};
}

// A spatial vector: velocity [w; v] or force [n; f].
template <class T>
struct Spatial {
    Vec<T> w, v;
};

template <class T>
SOACRAFT_FLAT Spatial<T> operator+(const Spatial<T>& a, const Spatial<T>& b) { return {a.w + b.w, a.v + b.v}; }
template <class T>
SOACRAFT_FLAT Spatial<T> operator-(const Spatial<T>& a, const Spatial<T>& b) { return {a.w - b.w, a.v - b.v}; }
template <class T>
SOACRAFT_FLAT void operator+=(Spatial<T>& a, const Spatial<T>& b) { a.w += b.w, a.v += b.v; }
template <class T>
SOACRAFT_FLAT void operator-=(Spatial<T>& a, const Spatial<T>& b) { a.w -= b.w, a.v -= b.v; }
template <class T, class S>
SOACRAFT_FLAT Spatial<T> operator*(const S& s, const Spatial<T>& a) { return {s * a.w, s * a.v}; }
template <class T>
SOACRAFT_FLAT T dot(const Spatial<T>& a, const Spatial<T>& b) { return dot(a.w, b.w) + dot(a.v, b.v); }
// crm(V) U
template <class T>
SOACRAFT_FLAT Spatial<T> motion_cross(const Spatial<T>& V, const Spatial<T>& U) {
    return {cross(V.w, U.w), cross(V.w, U.v) + cross(V.v, U.w)};
}
// crf(V) f
template <class T>
SOACRAFT_FLAT Spatial<T> force_cross(const Spatial<T>& V, const Spatial<T>& f) {
    return {cross(V.w, f.w) + cross(V.v, f.v), cross(V.w, f.v)};
}

// The pose of a child frame in its parent's: phi*(p,k) V and phi(p,k) f.
template <class T>
struct Place {
    Mat<T> R;
    Vec<T> p;
};
template <class T>
SOACRAFT_FLAT Spatial<T> outward(const Place<T>& X, const Spatial<T>& V) {
    return {turn_back(X.R, V.w), turn_back(X.R, V.v + cross(V.w, X.p))};
}
template <class T>
SOACRAFT_FLAT Spatial<T> inward(const Place<T>& X, const Spatial<T>& f) {
    const Vec<T> pull = X.R * f.v;
    return {X.R * f.w + cross(X.p, pull), pull};
}

// The inertia of a rigid body about its frame: moment, first moment, mass.
template <class T>
struct Rigid {
    Sym<T> J;
    Vec<T> h;
    T m;
};
template <class T>
SOACRAFT_FLAT Spatial<T> operator*(const Rigid<T>& I, const Spatial<T>& V) {
    return {I.J * V.w + cross(I.h, V.v), I.m * V.v - cross(I.h, V.w)};
}
// crf(V) I V without v x (m v), which is zero but for rounding: a constant velocity adds no more than m w x v.
template <class T>
SOACRAFT_FLAT Spatial<T> gyroscopic(const Rigid<T>& I, const Spatial<T>& V) {
    const Vec<T> turned = cross(V.w, V.v);
    return {cross(V.w, I.J * V.w) + cross(I.h, turned), I.m * turned + cross(V.w, cross(V.w, I.h))};
}

// An articulated inertia [[A, B], [B*, C]].
template <class T>
struct Articulated {
    Sym<T> A;
    Mat<T> B;
    Sym<T> C;
};
template <class T>
SOACRAFT_FLAT Spatial<T> operator*(const Articulated<T>& P, const Spatial<T>& V) {
    return {P.A * V.w + P.B * V.v, turn_back(P.B, V.w) + P.C * V.v};
}
template <class T>
SOACRAFT_FLAT void operator+=(Articulated<T>& P, const Articulated<T>& Q) { P.A += Q.A, P.B += Q.B, P.C += Q.C; }
template <class T>
SOACRAFT_FLAT void operator+=(Articulated<T>& P, const Rigid<T>& I) {
    P.A += I.J;
    P.B.a.y += I.h.z, P.B.a.z -= I.h.y;  // h~ by columns
    P.B.b.x -= I.h.z, P.B.b.z += I.h.x;
    P.B.c.x += I.h.y, P.B.c.y -= I.h.x;
    P.C.xx += I.m, P.C.yy += I.m, P.C.zz += I.m;
}
// [[I, p~], [0, I]] P [[I, p~], [0, I]]*, with B given by its rows.
template <class T>
SOACRAFT_FLAT Articulated<T> shifted(const Vec<T>& p, Sym<T> A, const Vec<T>& r0, const Vec<T>& r1, const Vec<T>& r2,
                                     const Sym<T>& C) {
    const Mat<T> Y = cross(p, full(C));
    const Vec<T> s0 = cross(p, r0), s1 = cross(p, r1), s2 = cross(p, r2);  // columns of p~ B*
    const Vec<T> y0 = cross(p, Vec<T>{Y.a.x, Y.b.x, Y.c.x});              // rows of - p~ C p~
    const Vec<T> y1 = cross(p, Vec<T>{Y.a.y, Y.b.y, Y.c.y});
    const Vec<T> y2 = cross(p, Vec<T>{Y.a.z, Y.b.z, Y.c.z});
    A.xx += s0.x + s0.x + y0.x;
    A.xy += s1.x + s0.y + y0.y;
    A.xz += s2.x + s0.z + y0.z;
    A.yy += s1.y + s1.y + y1.y;
    A.yz += s2.y + s1.z + y1.z;
    A.zz += s2.z + s2.z + y2.z;
    return {A, {Vec<T>{r0.x, r1.x, r2.x} + Y.a, Vec<T>{r0.y, r1.y, r2.y} + Y.b, Vec<T>{r0.z, r1.z, r2.z} + Y.c}, C};
}

// Row i of W R*, from the columns' entries.
template <class T>
SOACRAFT_FLAT Vec<T> row_turned(const Mat<T>& R, const T& a, const T& b, const T& c) {
    return {a * R.a.x + b * R.b.x + c * R.c.x, a * R.a.y + b * R.b.y + c * R.c.y, a * R.a.z + b * R.b.z + c * R.c.z};
}

// phi(p,k) P phi*(p,k)
template <class T>
SOACRAFT_FLAT Articulated<T> inward(const Place<T>& X, const Articulated<T>& P) {
    const Mat<T> W = X.R * P.B;
    return shifted(X.p, turned(X.R, P.A), row_turned(X.R, W.a.x, W.b.x, W.c.x), row_turned(X.R, W.a.y, W.b.y, W.c.y),
                   row_turned(X.R, W.a.z, W.b.z, W.c.z), turned(X.R, P.C));
}

SOACRAFT_RIGID_END
