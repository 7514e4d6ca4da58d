// Rays x = o + t d, t >= 0: where they first meet the skin of a shape, from outside or from inside.
#pragma once

#include "shape.hpp"

namespace soacraft {
namespace contact {

// Where a ray meets: t in units of |d|, and the outward normal there. t is infinite where it does not.
struct Hit {
    double t = HUGE_VAL;
    Vec3 n = {0.0, 0.0, 0.0};
    void take(double at, const Vec3& normal) {
        if (at >= 0.0 && at < t) t = at, n = normal;
    }
};

// The roots of a t^2 + 2 b t + c, without cancellation; false where there are none.
inline bool roots(double a, double b, double c, double& low, double& high) {
    const double disc = b * b - a * c;
    if (!(disc >= 0.0) || !(a > 0.0)) return false;
    const double q = -(b + (b < 0.0 ? -1.0 : 1.0) * std::sqrt(disc));
    low = q / a, high = q != 0.0 ? c / q : low;
    if (low > high) std::swap(low, high);
    return true;
}

// A ball of radius r about c; `keep` tells which points of its skin count.
template <typename Keep>
void ray_ball(const Vec3& o, const Vec3& d, const Vec3& c, double r, const Keep& keep, Hit& hit) {
    const Vec3 e = o - c;
    double t[2];
    if (!(r > 0.0) || !roots(dot(d, d), dot(e, d), dot(e, e) - r * r, t[0], t[1])) return;
    for (const double at : t) {
        const Vec3 x = e + at * d;
        if (keep(c + x)) hit.take(at, (1.0 / r) * x);
    }
}

// The side of a cylinder along z, |z| <= h.
inline void ray_side(const Vec3& o, const Vec3& d, double r, double h, Hit& hit) {
    double t[2];
    if (!(r > 0.0) || !roots(d.x * d.x + d.y * d.y, o.x * d.x + o.y * d.y, o.x * o.x + o.y * o.y - r * r, t[0], t[1]))
        return;
    for (const double at : t) {
        const Vec3 x = o + at * d;
        if (std::abs(x.z) <= h) hit.take(at, {x.x / r, x.y / r, 0.0});
    }
}

// A convex solid as half spaces n.x <= offset: where the ray enters it, or leaves it if it begins inside.
class Slabs {
public:
    void cut(const Vec3& n, double offset, const Vec3& o, const Vec3& d) {
        const double speed = dot(n, d), left = offset - dot(n, o);
        if (speed == 0.0) {
            if (left < 0.0) empty_ = true;
            return;
        }
        const double t = left / speed;
        if (speed < 0.0 && t > enter_) enter_ = t, n_in_ = n;
        if (speed > 0.0 && t < leave_) leave_ = t, n_out_ = n;
    }
    void hit(Hit& out) const {
        if (empty_ || enter_ > leave_) return;
        if (enter_ >= 0.0) out.take(enter_, n_in_);
        else out.take(leave_, n_out_);
    }

private:
    double enter_ = -HUGE_VAL, leave_ = HUGE_VAL;
    Vec3 n_in_ = {}, n_out_ = {};
    bool empty_ = false;
};

// A triangle, from either side; its normal is turned to the ray only by the caller.
inline void ray_triangle(const Vec3& o, const Vec3& d, const Vec3* corner, Hit& hit) {
    const Vec3 p[3] = {corner[0] - o, corner[1] - o, corner[2] - o};
    const double u = dot(d, cross(p[2], p[1])), v = dot(d, cross(p[0], p[2])), w = dot(d, cross(p[1], p[0]));
    if ((u < 0.0 || v < 0.0 || w < 0.0) && (u > 0.0 || v > 0.0 || w > 0.0)) return;  // edges count for both sides
    const double det = u + v + w;
    if (det == 0.0) return;
    const Vec3 n = cross(p[1] - p[0], p[2] - p[0]);
    const double t = (u * dot(d, p[0]) + v * dot(d, p[1]) + w * dot(d, p[2])) / (det * dot(d, d));
    hit.take(t, (1.0 / norm(n)) * n);
}

// Where a ray enters a box, 0 from inside; infinite where it misses it.
inline double ray_enters(const Vec3& o, const Vec3& d, const Vec3& low, const Vec3& high) {
    double enter = 0.0, leave = HUGE_VAL;
    for (int i = 0; i < 3; ++i) {
        if (d[i] == 0.0) {
            if (o[i] < low[i] || o[i] > high[i]) return HUGE_VAL;
            continue;
        }
        const double a = (low[i] - o[i]) / d[i], b = (high[i] - o[i]) / d[i];
        enter = std::max(enter, std::min(a, b)), leave = std::min(leave, std::max(a, b) * (1.0 + 1e-15));
    }
    return enter <= leave ? enter : HUGE_VAL;
}

inline Hit ray_convex(const Shape& s, const Vec3& o, const Vec3& d) {
    Hit hit;
    static const Vec3 AXES[3] = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};
    const auto all = [](const Vec3&) { return true; };
    switch (s.kind) {
        case SPHERE: ray_ball(o, d, {0.0, 0.0, 0.0}, s.size[0], all, hit); break;
        case CAPSULE: {
            const double h = s.size[1];
            ray_side(o, d, s.size[0], h, hit);
            ray_ball(o, d, {0.0, 0.0, h}, s.size[0], [&](const Vec3& x) { return x.z >= h; }, hit);
            ray_ball(o, d, {0.0, 0.0, -h}, s.size[0], [&](const Vec3& x) { return x.z <= -h; }, hit);
            break;
        }
        case BOX: {
            Slabs slabs;
            for (int i = 0; i < 3; ++i) slabs.cut(AXES[i], s.size[i], o, d), slabs.cut(-AXES[i], s.size[i], o, d);
            slabs.hit(hit);
            break;
        }
        case CYLINDER: {
            const double r = s.size[0], h = s.size[1];
            ray_side(o, d, r, h, hit);
            for (const double side : {-1.0, 1.0}) {
                if (d.z == 0.0) break;
                const double t = (side * h - o.z) / d.z;
                const Vec3 x = o + t * d;
                if (x.x * x.x + x.y * x.y <= r * r) hit.take(t, {0.0, 0.0, side});
            }
            break;
        }
        case ELLIPSOID: {
            const double *r = s.size;
            const Vec3 e{o.x / r[0], o.y / r[1], o.z / r[2]}, f{d.x / r[0], d.y / r[1], d.z / r[2]};
            ray_ball(e, f, {0.0, 0.0, 0.0}, 1.0, all, hit);
            if (hit.t < HUGE_VAL) {
                const Vec3 n{hit.n.x / r[0], hit.n.y / r[1], hit.n.z / r[2]};
                hit.n = (1.0 / norm(n)) * n;
            }
            break;
        }
        case HULL: {
            Slabs slabs;
            for (std::size_t i = 0; i < s.hull->normal.size(); ++i) slabs.cut(s.hull->normal[i], s.hull->offset[i], o, d);
            slabs.hit(hit);
            break;
        }
        case PLANE:
            if (d.z != 0.0) hit.take(-o.z / d.z, {0.0, 0.0, 1.0});
            break;
        default: break;
    }
    return hit;
}

}  // namespace contact
}  // namespace soacraft
