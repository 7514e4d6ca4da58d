// Distances and contacts of random convex shapes: the separation along the normal is the distance, no direction that is
// tried separates more, points fit, changing places mirrors the answer; rays end where a point has no distance.
#include "soacraft/contact/touch.hpp"
#include "support.hpp"

namespace soacraft {
namespace {

using namespace contact;

class Draw {
public:
    explicit Draw(unsigned seed) : engine_(seed) {}
    double between(double low, double high) { return std::uniform_real_distribution<double>(low, high)(engine_); }
    double normal() { return std::normal_distribution<double>()(engine_); }
    Vec3 direction() {
        const Vec3 x{normal(), normal(), normal()};
        return (1.0 / norm(x)) * x;
    }
    void pose(double spread, double* to) {
        const Vec3 n = direction();
        Vec3 u, v;
        tangents(n, u, v);
        const double turn = between(0.0, 6.0), c = std::cos(turn), s = std::sin(turn);
        const Vec3 a = c * u + s * v, b = c * v - s * u;
        for (int i = 0; i < 3; ++i) to[3 * i] = a[i], to[3 * i + 1] = b[i], to[3 * i + 2] = n[i], to[9 + i] = spread * normal();
    }
    Shape shape(int kind) {
        Shape s;
        s.kind = static_cast<Kind>(kind);
        for (double& each : s.size) each = between(0.2, 0.6);
        s.extent = norm({s.size[0], s.size[1], s.size[2]}) + s.size[0];
        return s;
    }

private:
    std::mt19937 engine_;
};

double separation(const Shape& a, const Frame& at_a, const Shape& b, const Frame& at_b, const Vec3& n) {
    const Vec3 x = at_a * support(a, at_a.R.transposed(n)), y = at_b * support(b, at_b.R.transposed(-n));
    return dot(n, y - x) - rounding(a) - rounding(b);
}

void test_pair(Draw& draw, int first, int second, double spread) {
    const Shape a = draw.shape(first), b = draw.shape(second);
    double pose_a[12], pose_b[12];
    draw.pose(0.1, pose_a), draw.pose(spread, pose_b);
    const Frame at_a = read_frame(pose_a), at_b = read_frame(pose_b);
    std::vector<Spot> spots, mirrored;
    touch(a, pose_a, b, pose_b, HUGE_VAL, true, spots), touch(b, pose_b, a, pose_a, HUGE_VAL, true, mirrored);
    expect(!spots.empty() && spots.size() == mirrored.size(), "shapes have contacts, as many when they change places");
    const Spot& x = spots[0];
    expect(std::fabs(norm(x.n) - 1.0) < 1e-12, "normals have unit length");
    expect(std::fabs(separation(a, at_a, b, at_b, x.n) - x.gap) < 1e-6, "the distance is the separation along the normal");
    expect(norm(x.b - x.a - x.gap * x.n) < 1e-5, "the points are apart by the distance along the normal");
    for (int i = 0; i < 50; ++i) {
        const Vec3 way = x.n + draw.between(0.0, 1.0) * draw.direction();
        expect(separation(a, at_a, b, at_b, (1.0 / norm(way)) * way) <= x.gap + 1e-8, "no direction separates more");
    }
    for (std::size_t i = 0; i < spots.size(); ++i) {
        expect(spots[i].gap == mirrored[i].gap && norm(spots[i].n + mirrored[i].n) == 0.0, "the answer is mirrored");
        expect(spots[i].gap >= x.gap - 1e-5, "the first contact is the nearest");
    }
}

void test_ray(Draw& draw, int kind) {
    const Shape s = draw.shape(kind);
    const Vec3 d = draw.direction();
    const Hit hit = ray_convex(s, -4.0 * d, d);
    expect(std::isfinite(hit.t) && hit.t < 4.0 && dot(hit.n, d) < 0.0, "a ray at the middle of a shape meets it");
    Shape point;
    Touch t;
    Frame at{{{{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}}}, (hit.t - 4.0) * d};
    convex_touch(s, point, at, HUGE_VAL, false, t);
    expect(std::fabs(t.contact[0].gap) < 1e-7, "a ray ends on the surface");
}

}  // namespace
}  // namespace soacraft

void test_contact(unsigned seed) {
    using namespace soacraft;
    Draw draw(seed);
    for (int a = 0; a <= ELLIPSOID; ++a) {
        test_ray(draw, a);
        for (int b = 0; b <= ELLIPSOID; ++b)
            for (const double spread : {1.0, 0.3, 0.05}) test_pair(draw, a, b, spread);
    }
}
