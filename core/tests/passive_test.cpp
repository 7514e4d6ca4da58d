// Springs, dampers, tendons and what is between nodes on random trees: each lane of a pack as one state, forces
// against the energy, and rates against differences.
#include "random_springs.hpp"
#include "soacraft/rigid/drivers/access.hpp"

namespace soacraft {
namespace {

struct Lanes2 {
    const double *a, *b;
    Pack<2> operator[](index i) const {
        Pack<2> x;
        x.x[0] = a[i], x.x[1] = b[i];
        return x;
    }
};

// q after a step t along dof j of element e: of a quaternion and a position.
Buffer<double> moved(const Element& e, index j, Buffer<double> q, double t) {
    double* x = q.data() + e.q;
    if (e.kind <= HELICAL) {
        x[0] += t;
        return q;
    }
    const Mat<double> R = quaternion_at<double>(q, e.q);
    if (j >= 3) {
        const Vec<double> axis = j == 3 ? R.a : j == 4 ? R.b : R.c;
        x[4] += t * axis.x, x[5] += t * axis.y, x[6] += t * axis.z;
        return q;
    }
    const double s = std::sin(0.5 * t), c = std::cos(0.5 * t);
    const Vec<double> a{j == 0 ? s : 0.0, j == 1 ? s : 0.0, j == 2 ? s : 0.0}, u{x[0], x[1], x[2]};
    const Vec<double> turned = c * u + x[3] * a + cross(u, a);
    x[3] = x[3] * c - dot(u, a), x[0] = turned.x, x[1] = turned.y, x[2] = turned.z;
    return q;
}

// Between nodes the force at rest is minus the gradient of the energy, and dampers take energy away.
void test_energy(const Springs& springs, const Buffer<double>& q, const Buffer<double>& v, double scale) {
    const Model& model = springs.model;
    Passive between = springs.passive;
    between.springs_count = between.balls_count = between.tendons_count = 0;
    Buffer<LinkedElement<double>> memory(static_cast<std::size_t>(model.count + 2));
    LinkWork<double> work;
    work.at = memory.data();
    const Ground<double> ground = inertial_ground<double>();
    const auto energy = [&](const Buffer<double>& x) { return passive_energy<double>(between, model, ground, x, work); };
    const auto force = [&](const Buffer<double>& rates) {
        Buffer<double> y(static_cast<std::size_t>(model.nv), 0.0);
        each_passive<double>(between, model, ground, q, rates, work, [&y](index i, double x) { y[static_cast<std::size_t>(i)] += x; });
        return y;
    };
    const Buffer<double> still(v.size(), 0.0), held = force(still), moving = force(v);
    const double t = 1e-5;
    for (const Element* e = model.elements; e < model.elements + model.count; ++e)
        for (index j = 0; j < dofs(e->kind) && e->kind != ROLLING; ++j) {
            const double slope = (energy(moved(*e, j, q, t)) - energy(moved(*e, j, q, -t))) / (2.0 * t);
            expect(std::fabs(held[static_cast<std::size_t>(e->v + j)] + slope) < 1e-7 * scale, "the gradient of the energy");
        }
    double power = 0.0;
    for (std::size_t i = 0; i < v.size(); ++i) power += v[i] * (moving[i] - held[i]);
    expect(power <= 1e-12 * scale, "dampers take energy away");
}

void test_springs(unsigned seed) {
    Random random(seed);
    const RandomTree tree(random, 1 + random.integer(0, 9), false);
    const Model& model = tree.model;
    const index n = model.nv;
    const Buffer<double> q = tree.state(random), other = tree.state(random), rest = tree.state(random);
    const Buffer<double> v = random.numbers<double>(n), w = random.numbers<double>(n);
    const Springs springs(model, rest, random);
    const Buffer<double> one = springs.force<double>(q, v, n), two = springs.force<double>(other, w, n);
    const Buffer<Pack<2>> both =
        springs.force<Pack<2>>(Lanes2{q.data(), other.data()}, Lanes2{v.data(), w.data()}, n);
    double worst = 0.0, scale = 1.0;
    for (index i = 0; i < n; ++i) {
        worst = std::fmax(worst, std::fmax(std::fabs(lane(both[i], 0) - one[i]), std::fabs(lane(both[i], 1) - two[i])));
        scale = std::fmax(scale, std::fmax(std::fabs(one[i]), std::fabs(two[i])));
    }
    expect(worst < 1e-14 * scale, "each lane has the forces of its own state");
    test_energy(springs, q, v, scale);
    Buffer<double> dq(n * n, 0.0), dv(n * n, 0.0);
    Buffer<char> memory(1 << 20);
    Arena arena{memory.data()};
    const LinkRateWork work(model, arena);
    const Ground<double> ground = inertial_ground<double>();
    bool rolls = false;
    for (const Element& e : tree.elements) rolls = rolls || e.kind == ROLLING;
    const bool told = add_passive_rates(springs.passive, model, ground, q, v, work, dq.data(), dv.data());
    expect(told || rolls, "their rates are finite");
    if (!told) return;  // a link hangs from a hinge that rolls, of which there are none
    const double t = 1e-5;
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        for (index j = 0; j < dofs(e.kind); ++j) {
            Buffer<double> faster = v;
            faster[e.v + j] += 1.0;
            const Buffer<double> more = springs.force<double>(q, faster, n);
            const Buffer<double> ahead = e.kind == ROLLING ? one : springs.force<double>(moved(e, j, q, t), v, n);
            const Buffer<double> behind = e.kind == ROLLING ? one : springs.force<double>(moved(e, j, q, -t), v, n);
            for (index i = 0; i < n; ++i) {
                expect(std::fabs(dv[i * n + e.v + j] + more[i] - one[i]) < 1e-11 * scale, "dampers");
                const double slope = (ahead[i] - behind[i]) / (2.0 * t);
                expect(std::fabs(dq[i * n + e.v + j] + slope) < 1e-7 * scale, "springs");
            }
        }
    }
}

}  // namespace
}  // namespace soacraft

void test_passive(unsigned seed) { soacraft::test_springs(seed); }
