// Distances and contacts of random convex shapes: the separation along the normal is the distance, no direction that is
// tried separates more, points fit, changing places mirrors the answer; rays end where a point has no distance. A scene that
// remembers its last search, against one that does not, and against all pairs.
#include "contact/scene.hpp"
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

// Points in both shapes, as far apart as they are separated: the distance.
void test_cylinder(Draw& draw, int kind, bool aligned) {
    const Shape a = draw.shape(CYLINDER), b = draw.shape(kind);
    double pose[12];
    draw.pose(0.8, pose);
    for (int i = 0; i < 9 && aligned; ++i) pose[i] = i % 4 == 0 ? 1.0 : 0.0;
    const Cores c(a, b, read_frame(pose));
    Nearest x{}, y{};
    Simplex simplex;
    const bool apart = gjk(c, simplex, y, HUGE_VAL, c.at.p), solved = CylinderApart(c).solve(x);
    expect(solved ? apart : !(apart && y.distance > 1e-2 * c.size), "a cylinder and a box that are apart are solved");
    if (!solved) return;
    const Vec3 local = c.at.back(x.b), half = half_edges(b);
    expect(std::hypot(x.a.x, x.a.y) <= a.size[0] + 1e-14 && std::fabs(x.a.z) <= a.size[1], "its point is in the cylinder");
    for (int i = 0; i < 3; ++i) expect(std::fabs(local[i]) <= half[i] + 1e-14, "its point is in the box");
    expect(std::fabs(norm(x.b - x.a) - x.distance) < 1e-14 * c.size && std::fabs(norm(x.n) - 1.0) < 1e-14, "points and normal fit");
    expect(x.distance + dot(x.n, c.support(x.n).w) <= 4e-14 * c.size, "they are separated by their distance");
    expect(std::fabs(x.distance - y.distance) < 1e-8, "the distance is that of GJK");
}

class RandomScene : public ShapeScene {
public:
    std::vector<double> poses;

    explicit RandomScene(Draw& draw) {
        for (int i = 0; i < 12; ++i) {
            shapes_.push_back(draw.shape(i == 0 ? static_cast<int>(PLANE) : static_cast<int>(draw.between(0.0, static_cast<int>(ELLIPSOID) + 0.999))));
            classes_.push_back({i / 2, -1, 1, 1});
            padding_.push_back(i % 3 == 0 ? 0.01 : 0.0);
            poses.resize(poses.size() + POSE), draw.pose(i == 0 ? 0.1 : 1.0, poses.data() + POSE * i);
        }
        pair_padding_[key(2, 4)] = most_ = 0.1, exceptions_[key(3, 6)] = false, exceptions_[key(4, 5)] = true;
        measure();
    }
    void move(Draw& draw, double by) {
        for (index i = 1; i < count(); ++i) {
            double* x = poses.data() + POSE * i;
            const Vec3 w = by * draw.direction();
            for (int k = 9; k < 12; ++k) x[k] += by * draw.normal();
            const double s = norm(w), c = std::cos(s), a = s > 0.0 ? std::sin(s) / s : 1.0, b = s > 0.0 ? (1.0 - c) / (s * s) : 0.5;
            for (int k = 0; k < 3; ++k) {  // each column, turned by w
                const Vec3 e{x[k], x[3 + k], x[6 + k]}, turned = c * e + a * cross(w, e) + b * dot(w, e) * w;
                for (int r = 0; r < 3; ++r) x[3 * r + k] = turned[r];
            }
        }
    }
    // All pairs, one after the other.
    std::vector<double> everything(double within) const {
        std::vector<double> gaps;
        for (index i = 0; i < count(); ++i)
            for (index j = i + 1; j < count(); ++j) {
                if (!may(i, j)) continue;
                const auto a = static_cast<std::size_t>(i), b = static_cast<std::size_t>(j);
                const double pad = padding_[a] + padding_[b] + (i == 2 && j == 4 ? 0.1 : 0.0);
                std::vector<Spot> spots;
                touch(shapes_[a], poses.data() + POSE * i, shapes_[b], poses.data() + POSE * j, within + pad, true, spots);
                for (const Spot& s : spots) gaps.push_back(s.gap - pad);
            }
        return gaps;
    }
};

void test_scene(Draw& draw) {
    RandomScene scene(draw);
    Spots kept;
    int searched = 0;
    const double* last = nullptr;
    for (int i = 0; i < 60; ++i) {
        const double within = i % 4 == 0 ? 0.2 : 1e-3, before = kept.reach;
        scene.move(draw, i % 10 == 9 ? 0.3 : 1e-3);
        scene.spots(scene.poses.data(), within, kept);
        searched += kept.reach != before || last == nullptr, last = kept.poses.data();
        Spots fresh;
        scene.spots(scene.poses.data(), within, fresh);
        expect(kept.numbers == fresh.numbers && kept.places == fresh.places, "what was searched before changes nothing");
        const std::vector<double> all = scene.everything(within);
        bool same = all.size() * SPOT == kept.numbers.size();
        for (std::size_t k = 0; same && k < all.size(); ++k) same = all[k] == kept.numbers[SPOT * k];
        expect(same, "all pairs that are near are found");
    }
    expect(searched < 40, "a scene that hardly moves is not searched anew");
}

}  // namespace
}  // namespace soacraft

void test_contact(unsigned seed) {
    using namespace soacraft;
    Draw draw(seed);
    test_scene(draw);
    for (int b = 0; b <= BOX; ++b)
        for (const bool aligned : {false, true}) test_cylinder(draw, b, aligned);
    for (int a = 0; a <= ELLIPSOID; ++a) {
        test_ray(draw, a);
        for (int b = 0; b <= ELLIPSOID; ++b)
            for (const double spread : {1.0, 0.3, 0.05}) test_pair(draw, a, b, spread);
    }
}
