// Vectors of three numbers, rotations and frames, for the geometry of contact.
#pragma once

#include <algorithm>
#include <cmath>

#include "../config.hpp"

namespace soacraft {
namespace contact {

struct Vec3 {
    double x, y, z;
    double& operator[](int i) { return i == 0 ? x : i == 1 ? y : z; }
    double operator[](int i) const { return i == 0 ? x : i == 1 ? y : z; }
};

inline Vec3 operator+(const Vec3& a, const Vec3& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline Vec3 operator-(const Vec3& a, const Vec3& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline Vec3 operator-(const Vec3& a) { return {-a.x, -a.y, -a.z}; }
inline Vec3 operator*(double s, const Vec3& a) { return {s * a.x, s * a.y, s * a.z}; }
inline double dot(const Vec3& a, const Vec3& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline Vec3 cross(const Vec3& a, const Vec3& b) {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
inline double norm(const Vec3& a) { return std::sqrt(dot(a, a)); }

// A rotation, rows first.
struct Mat3 {
    Vec3 row[3];
    Vec3 operator*(const Vec3& v) const { return {dot(row[0], v), dot(row[1], v), dot(row[2], v)}; }
    Vec3 transposed(const Vec3& v) const { return v.x * row[0] + v.y * row[1] + v.z * row[2]; }  // R* v
    Vec3 column(int i) const { return {row[0][i], row[1][i], row[2][i]}; }
};

// x_a = R x_b + p
struct Frame {
    Mat3 R;
    Vec3 p;
    Vec3 operator*(const Vec3& v) const { return R * v + p; }
    Vec3 back(const Vec3& v) const { return R.transposed(v - p); }
};

inline Frame read_frame(const double* x) {
    return {{{{x[0], x[1], x[2]}, {x[3], x[4], x[5]}, {x[6], x[7], x[8]}}}, {x[9], x[10], x[11]}};
}

// The frame b as seen from a: T_a^-1 T_b.
inline Frame relative(const Frame& a, const Frame& b) {
    Frame t;
    for (int i = 0; i < 3; ++i) {
        const Vec3 axis = a.R.column(i);
        t.R.row[i] = {dot(axis, b.R.column(0)), dot(axis, b.R.column(1)), dot(axis, b.R.column(2))};
    }
    t.p = a.back(b.p);
    return t;
}

inline Frame product(const Frame& a, const Frame& b) {
    Frame t;
    for (int i = 0; i < 3; ++i)
        t.R.row[i] = {dot(a.R.row[i], b.R.column(0)), dot(a.R.row[i], b.R.column(1)), dot(a.R.row[i], b.R.column(2))};
    t.p = a * b.p;
    return t;
}

// Two unit vectors with n a right-handed triple (u, v, n); continuous but at one n.
inline void tangents(const Vec3& n, Vec3& u, Vec3& v) {
    const double s = n.z < 0.0 ? -1.0 : 1.0, a = -1.0 / (s + n.z), b = n.x * n.y * a;
    u = {1.0 + s * n.x * n.x * a, s * b, -s * n.x};
    v = {b, s + n.y * n.y * a, -n.y};
}

}  // namespace contact
}  // namespace soacraft
