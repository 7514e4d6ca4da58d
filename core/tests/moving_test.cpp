// Shapes on random trees: near pairs against all pairs, gradients against differences, touches, and free motions against samples;
// accelerations against their bound. Calls after the first take no memory.
#include "contact/moving_scene.hpp"
#include "random_tree.hpp"
#include "soacraft/contact/smooth.hpp"
#include "soacraft/rigid/coordinates.hpp"

namespace soacraft {
namespace contact {
namespace SOACRAFT_TARGET {
extern const MovingKernels moving;
}
}  // namespace contact

namespace {

using contact::Shape;

Place<double> times(const Place<double>& X, const Place<double>& Y) { return {X.R * Y.R, X.p + X.R * Y.p}; }

// Shapes on the elements of a tree and on the base; every third has a padding, a pair has one of its own.
class TreeScene : public contact::ShapeScene {
public:
    RandomTree tree;
    Buffer<rigid::Body> bodies;
    Buffer<index> body;
    Buffer<double> local;

    TreeScene(Random& random, index elements, index fixed, bool rolls) : tree(random, elements, false) {
        while (!rolls && this->rolls()) tree = RandomTree(random, elements, false);
        furnish(random, fixed);
    }
    bool rolls() const {
        for (const Element& e : tree.elements)
            if (e.kind == rigid::ROLLING) return true;
        return false;
    }

private:
    void furnish(Random& random, index fixed) {
        for (index k = -1; k < tree.model.count; ++k) {
            rigid::Body b = {k, {}, {}};
            put_rotation(random, b.R), fill(random, b.p, 3);
            bodies.push_back(b);
        }
        tree.model.bodies = bodies.data(), tree.model.body_count = static_cast<index>(bodies.size());
        for (index i = 0; i < tree.model.count + fixed; ++i) add(random, i < tree.model.count ? i + 1 : random.integer(-1, 0), i);
        const index last = count() - 1;
        pair_padding_[key(0, last)] = most_ = 0.1;
        if (count() > 4) exceptions_[key(1, last)] = false, exceptions_[key(last - 1, last)] = true;
        measure();
    }
    void add(Random& random, index on, index number) {
        Shape s;
        const bool floor = number == tree.model.count;
        const index kind = floor ? index(contact::PLANE) : random.integer(contact::SPHERE, contact::ELLIPSOID);
        s.kind = static_cast<contact::Kind>(kind);
        for (double& each : s.size) each = 0.05 * static_cast<double>(random.integer(1, 5));
        const double* x = s.size;
        s.extent = kind == contact::PLANE ? HUGE_VAL : kind == contact::SPHERE ? x[0] : kind == contact::CAPSULE ? x[0] + x[1] : kind == contact::CYLINDER ? std::hypot(x[0], x[1]) : kind == contact::BOX ? std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]) : std::max({x[0], x[1], x[2]});
        shapes_.push_back(s), body.push_back(on), padding_.push_back(number % 3 == 0 ? 0.02 : 0.0);
        classes_.push_back({on <= 0 ? -1 : bodies[static_cast<std::size_t>(on)].element, -2, 1, 1});
        double pose[12];
        put_rotation(random, pose), fill(random, pose + 9, 3);
        local.insert(local.end(), pose, pose + 12);
    }
};

class Asked {
public:
    explicit Asked(const TreeScene& scene) : scene_(scene), made_(scene.tree.model, scene, scene.body.data(), scene.local.data()) {
        kernels().begin(made_.plan(), work);
    }
    static const contact::MovingKernels& kernels() { return contact::SOACRAFT_TARGET::moving; }
    const contact::MovingPlan& plan() const { return made_.plan(); }
    bool moving_plane() const { return made_.moving_plane(); }
    bool collides(const Buffer<double>& q) { return kernels().collides(made_.query(), q.data(), work); }
    bool edge(const contact::EdgeTask& task, const Buffer<double>& q0, const Buffer<double>& q1, contact::EdgeEnd& end) {
        return kernels().edge(made_.query(), task, q0.data(), q1.data(), work, end);
    }
    // gap, gradient and shapes of what is near
    void look(const Buffer<double>& q, double within) {
        const index nv = scene_.tree.model.nv;
        kernels().distances(made_.query(), q.data(), within, work);
        const auto found = static_cast<std::size_t>(work.found);
        numbers.resize(11 * found), gradient.resize(static_cast<std::size_t>(nv) * found), shapes.resize(2 * found);
        kernels().write(made_.plan(), work, q.data(), numbers.data(), gradient.data(), shapes.data());
    }
    Buffer<double> poses(const Buffer<double>& q) const {
        const Model& model = scene_.tree.model;
        Buffer<Place<double>> at(static_cast<std::size_t>(model.count));
        for (index k = 0; k < model.count; ++k) {
            const Element& e = model.elements[k];
            const Place<double> X = place<double>(e, q);
            at[static_cast<std::size_t>(k)] = e.parent < 0 ? X : times(at[static_cast<std::size_t>(e.parent)], X);
        }
        Buffer<double> all;
        for (index i = 0; i < scene_.count(); ++i) {
            Place<double> X = {mat<double>(scene_.local.data() + 12 * i), vec<double>(scene_.local.data() + 12 * i + 9)};
            const index on = scene_.body[static_cast<std::size_t>(i)];
            if (on >= 0) {
                const rigid::Body& b = scene_.bodies[static_cast<std::size_t>(on)];
                X = times({mat<double>(b.R), vec<double>(b.p)}, X);
                if (b.element >= 0) X = times(at[static_cast<std::size_t>(b.element)], X);
            }
            const double rows[12] = {X.R.a.x, X.R.b.x, X.R.c.x, X.R.a.y, X.R.b.y, X.R.c.y, X.R.a.z, X.R.b.z, X.R.c.z, X.p.x, X.p.y, X.p.z};
            all.insert(all.end(), rows, rows + 12);
        }
        return all;
    }

    contact::MovingWork work;
    Buffer<double> numbers, gradient;
    Buffer<index> shapes;

private:
    const TreeScene& scene_;
    contact::MovingScene made_;
};

// All pairs, one after the other, in the order of their shapes.
void test_near(const TreeScene& scene, Asked& moving, const Buffer<double>& q, double within) {
    moving.look(q, within);
    const Buffer<double> poses = moving.poses(q);
    std::size_t row = 0;
    bool touches = false;
    std::vector<contact::Spot> spots;
    for (index i = 0; i < scene.count(); ++i)
        for (index j = i + 1; j < scene.count(); ++j) {
            if (!scene.may(i, j)) continue;
            spots.clear();
            const double *a = poses.data() + 12 * i, *b = poses.data() + 12 * j;
            contact::touch(scene.shape(i), a, scene.shape(j), b, HUGE_VAL, false, spots);
            const double gap = spots[0].gap - scene.pad(i, j);
            touches = touches || gap <= 0.0;
            if (std::fabs(gap - within) < 1e-9) continue;
            if (!(gap < within)) continue;
            expect(row < moving.shapes.size() / 2 && moving.shapes[2 * row] == i && moving.shapes[2 * row + 1] == j, "moving: all pairs that are near, in order");
            const double* x = moving.numbers.data() + 11 * row++;
            expect(std::fabs(x[0] - gap) < 1e-9, "moving: distances are those of the shapes");
            const contact::Spot& s = spots[0];
            if (s.gap > 0.02) expect(std::fabs(x[7] - s.n.x) + std::fabs(x[8] - s.n.y) + std::fabs(x[9] - s.n.z) < 1e-6, "moving: normals");
            const contact::Vec3 p{x[1], x[2], x[3]}, r{x[4], x[5], x[6]}, n{x[7], x[8], x[9]};
            expect(std::fabs(dot(n, r - p) - gap - scene.pad(i, j)) < 1e-9, "moving: points are apart by the distance");
        }
    expect(row == moving.shapes.size() / 2, "moving: no other pairs");
    expect(moving.collides(q) == touches, "moving: whether anything touches");
}

void test_gradients(const TreeScene& scene, Asked& moving, const Buffer<double>& q) {
    const index nv = scene.tree.model.nv;
    moving.look(q, HUGE_VAL);
    const Buffer<double> here = moving.numbers, gradient = moving.gradient, poses = moving.poses(q);
    const Buffer<index> shapes = moving.shapes;
    Buffer<double> aside(q.size()), dv(static_cast<std::size_t>(nv), 0.0);
    std::vector<contact::Spot> spots;
    constexpr double h = 1e-6;
    for (index k = 0; k < nv; ++k) {
        Buffer<double> sides[2];
        for (int side = 0; side < 2; ++side) {
            dv.assign(dv.size(), 0.0), dv[static_cast<std::size_t>(k)] = side ? -h : h;
            integrate(scene.tree.model, q.data(), dv.data(), aside.data());
            moving.look(aside, HUGE_VAL);
            expect(moving.shapes == shapes, "moving: the same pairs");
            sides[side] = moving.numbers;
        }
        for (std::size_t r = 0; r < shapes.size() / 2; ++r) {
            const double *x = here.data() + 11 * r, forward = (sides[0][11 * r] - x[0]) / h, backward = (x[0] - sides[1][11 * r]) / h;
            if (std::fabs(forward - backward) > 1e-3) continue;
            const contact::Vec3 p{x[1], x[2], x[3]}, b{x[4], x[5], x[6]}, n{x[7], x[8], x[9]};
            const contact::Spot s{p, b, n, dot(n, b - p), 0.0};
            const double *a = poses.data() + 12 * shapes[2 * r], *c = poses.data() + 12 * shapes[2 * r + 1];
            if (!contact::is_smooth(scene.shape(shapes[2 * r]), a, scene.shape(shapes[2 * r + 1]), c, s, spots)) continue;
            expect(std::fabs(gradient[r * static_cast<std::size_t>(nv) + static_cast<std::size_t>(k)] - 0.5 * (forward + backward)) < 1e-3, "moving: gradients are differences");
        }
    }
}

// Along an edge: what is said to be free has no touch in many samples, and where it ends something touches.
void test_edge(const TreeScene& scene, Asked& moving, const Buffer<double>& q0, const Buffer<double>& q1) {
    const Model& model = scene.tree.model;
    constexpr double close = 1e-4;
    contact::EdgeEnd end, any;
    expect(moving.edge({close, true, 100000}, q0, q1, end) && !end.spent, "moving: an edge ends");
    const Buffer<double> there = moving.work.q;
    expect(moving.edge({close, false, 100000}, q0, q1, any) && any.free == end.free, "moving: any touch is a touch");
    Buffer<double> dv(static_cast<std::size_t>(model.nv)), part(dv.size()), q(q0.size());
    difference(model, q0.data(), q1.data(), dv.data());
    for (int i = 0; i <= 60; ++i) {
        const double s = i / 60.0;
        if (s >= end.part && !end.free) break;
        for (std::size_t k = 0; k < dv.size(); ++k) part[k] = s * dv[k];
        integrate(model, q0.data(), part.data(), q.data());
        moving.look(q, close);
        for (std::size_t r = 0; r < moving.shapes.size() / 2; ++r) expect(moving.numbers[11 * r] > 0.49 * close, "moving: what is free does not touch");
    }
    if (end.free) return;
    moving.look(there, close);
    expect(!moving.shapes.empty(), "moving: where an edge ends something touches");
    contact::EdgeEnd few;
    expect(moving.edge({close, true, 0}, q0, q1, few) && few.spent && !few.free && few.part == 0.0, "moving: an edge with no steps is spent");
}

// The second differences of points of shapes, seen from the base, are within the bound.
void test_accelerations(const TreeScene& scene, Asked& moving, const Buffer<double>& q0, const Buffer<double>& q1) {
    const Model& model = scene.tree.model;
    contact::EdgeEnd end;
    moving.edge({1e-9, true, 1}, q0, q1, end);
    Buffer<double> bound;
    for (index m = 0; m < moving.plan().mover_count; ++m) bound.push_back(moving.work.reach[static_cast<std::size_t>(2 * m)]);
    Buffer<double> dv(static_cast<std::size_t>(model.nv)), part(dv.size()), q(q0.size()), poses[3];
    difference(model, q0.data(), q1.data(), dv.data());
    constexpr double h = 1e-4;
    for (const double s : {0.0, 0.3, 0.7, 1.0}) {
        for (int i = 0; i < 3; ++i) {
            for (std::size_t k = 0; k < dv.size(); ++k) part[k] = (s + (i - 1) * h) * dv[k];
            integrate(model, q0.data(), part.data(), q.data());
            poses[i] = moving.poses(q);
        }
        for (index m = 0; m < moving.plan().mover_count; ++m) {
            const index shape = moving.plan().movers[m];
            const double core = moving.plan().shapes[shape].core;
            for (int axis = 0; axis < 3; ++axis) {  // the middle, moved along an axis of the shape
                if (scene.shape(shape).kind == contact::CAPSULE && axis < 2) continue;
                double square = 0.0;
                for (int r = 0; r < 3; ++r) {
                    double x[3];
                    for (int i = 0; i < 3; ++i) x[i] = poses[i][static_cast<std::size_t>(12 * shape + 9 + r)] + core * poses[i][static_cast<std::size_t>(12 * shape + 3 * r + axis)];
                    const double a = (x[0] - 2.0 * x[1] + x[2]) / (h * h);
                    square += a * a;
                }
                expect(std::sqrt(square) <= bound[static_cast<std::size_t>(m)] * (1.0 + 1e-4) + 1e-5, "moving: accelerations are within their bound");
            }
        }
    }
}

// The same calls again use the memory that is there.
void test_memory(Asked& moving, const Buffer<double>& q0, const Buffer<double>& q1) {
    contact::EdgeEnd end;
    const auto ask = [&] { moving.look(q0, HUGE_VAL), moving.collides(q0), moving.edge({1e-6, true, 1000}, q0, q1, end); };
    ask(), ask();
    const auto where = [&] {
        const contact::MovingWork& w = moving.work;
        Buffer<const void*> all = {w.q.data(), w.dv.data(), w.place.data(), w.twist.data(), w.poses.data(), w.middle.data(), w.rows.data(), w.reach.data(), w.order.data(), w.spans.data()};
        for (const auto& each : w.by_type) all.push_back(each.data());
        return all;
    };
    const Buffer<const void*> before = where();
    ask(), ask();
    expect(before == where(), "moving: calls after the first take no memory");
}

}  // namespace
}  // namespace soacraft

void test_moving(unsigned seed) {
    using namespace soacraft;
    Random random(seed);
    const TreeScene scene(random, 1 + seed % 5, seed % 3 == 0 ? 30 : 5, seed % 4 == 0);
    Asked moving(scene);
    const Buffer<double> q0 = scene.tree.state(random);
    for (const double within : {HUGE_VAL, 0.3, 0.0, -0.05}) test_near(scene, moving, q0, within);
    test_gradients(scene, moving, q0);
    const Model& model = scene.tree.model;
    Buffer<double> dv(static_cast<std::size_t>(model.nv)), q1(q0.size());
    for (const double far : {0.05, 0.6}) {
        const Buffer<double> by = random.numbers<double>(static_cast<int>(model.nv));
        for (std::size_t k = 0; k < dv.size(); ++k) dv[k] = far * by[k];
        integrate(model, q0.data(), dv.data(), q1.data());
        contact::EdgeEnd end;
        if (scene.rolls()) {
            expect(!moving.edge({1e-6, true, 10}, q0, q1, end), "moving: a rolling ball has no edges");
        } else {
            test_edge(scene, moving, q0, q1), test_accelerations(scene, moving, q0, q1);
            test_memory(moving, q0, q1);
        }
    }
}
