// Nonholonomic hinges of closures: a knife edge, and shapes that roll on a plane (soacraft/model/hinges/rolling.py).
//
//     H* = [I; l~],   l from the centre to the contact,   Hdot* w = [0; ldot x w],   ldot = rate w
//
// They say by themselves where they are: a knife edge anywhere, a shape with its contact on the plane.
#pragma once

#include "closure_hinge.hpp"

SOACRAFT_RIGID_BEGIN

// The numbers of a shape in Closure::Q: the normal of the plane and two axes along it, on the side of a; the axis of a disc or the
// semi-axes of an ellipsoid, on that of b; the radius of a ball or a disc.
struct RollingShape {
    Vec3 normal, t1, t2, own;
    double radius;
    explicit RollingShape(const Closure& c)
        : normal(three<double>(c.Q, 0)), t1(three<double>(c.Q, 3)), t2(three<double>(c.Q, 6)), own(three<double>(c.Q, 9)), radius(c.Q[12]) {}
};

inline Vec3 entrywise(const Vec3& a, const Vec3& b) { return {a.x * b.x, a.y * b.y, a.z * b.z}; }

// l and its rate for the normal n seen from the shape; false where a disc lies flat.
inline bool lever_of(const Closure& c, const RollingShape& shape, const Vec3& n, Vec3& l, Mat3& rate) {
    constexpr double FLAT = 1e-6;  // that of soacraft/model/hinges/rolling_disc.py
    const Vec3 x{1.0, 0.0, 0.0}, y{0.0, 1.0, 0.0}, z{0.0, 0.0, 1.0};
    if (c.fit == loops::ROLLING_BALL) {  // ldot = radius w x n
        l = -shape.radius * n;
        rate = {cross(x, n), cross(y, n), cross(z, n)};
        rate = {shape.radius * rate.a, shape.radius * rate.b, shape.radius * rate.c};
        return true;
    }
    const Vec3& own = shape.own;
    if (c.fit == loops::ROLLING_DISC) {  // p / s the part of n across the axis, ldot = radius (axis x p) (axis - (c / s) p) . w
        const double along = dot(own, n);
        const Vec3 across = n - along * own;
        const double s = std::sqrt(dot(across, across));
        if (!(s >= FLAT)) return false;
        const Vec3 p = (1.0 / s) * across, way = shape.radius * cross(own, p), of = own - along / s * p;
        l = -shape.radius * p;
        rate = {of.x * way, of.y * way, of.z * way};
        return true;
    }
    const Vec3 squares = entrywise(own, own), Sn = entrywise(squares, n);  // ldot = -(S - l l*) (n x w) / s
    const double s = std::sqrt(dot(n, Sn));
    l = -1.0 / s * Sn;
    const auto column = [&](const Vec3& w) {
        const Vec3 turned = cross(n, w);
        return -1.0 / s * (entrywise(squares, turned) - dot(l, turned) * l);
    };
    rate = {column(x), column(y), column(z)};
    return true;
}

// A knife edge may be anywhere: its coordinates are the pose itself.
inline bool place_knife(const Closure& c, const Place<double>& T_ab, bool wanted, double* theta) {
    if (!wanted) return true;
    double* q = theta + c.theta;
    quaternion_of(T_ab.R, q);
    q[4] = T_ab.p.x, q[5] = T_ab.p.y, q[6] = T_ab.p.z;
    return true;
}

// A shape with its contact below its lowest point; false where a disc lies flat.
inline bool roll(const Closure& c, const Place<double>& T_ab, bool wanted, double* theta, HingeAt& hinge) {
    const RollingShape shape(c);
    const Vec3 n = turn_back(T_ab.R, shape.normal);
    Vec3 l;
    if (!lever_of(c, shape, n, l, hinge.rate)) return false;
    const Vec3 contact = T_ab.p + T_ab.R * l, axes[] = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};
    hinge.off = dot(shape.normal, contact) * n;
    hinge.count = 3;
    for (int i = 0; i < 3; ++i) hinge.H[i] = {axes[i], cross(l, axes[i])};
    if (!wanted) return true;
    double* q = theta + c.theta;
    quaternion_of(T_ab.R, q);
    q[4] = dot(shape.t1, contact), q[5] = dot(shape.t2, contact);
    return true;
}

// Hdot* w, where b moves by `seen` relative to a.
inline bool rolling_bias(const Tolerances& t, const HingeAt& hinge, const Twist& seen, double length, Twist& bias) {
    double rate[6];
    if (!nearest(t, hinge, seen, length, rate)) return false;
    const Vec3 w{rate[0], rate[1], rate[2]};
    bias = {{0.0, 0.0, 0.0}, cross(hinge.rate * w, w)};
    return true;
}

SOACRAFT_RIGID_END
