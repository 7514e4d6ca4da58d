// Velocities of a whole robot on random trees with every hinge: bounds kept, the conditions of optimality of one level, levels
// that leave those before as they are; quadratic programs by their conditions. In memory of exactly its size.
#include "random_tree.hpp"
#include "soacraft/kinematics/velocity.hpp"
#include "soacraft/whole_body.hpp"
#include "soacraft/rigid/model/bodies.hpp"

namespace soacraft {
namespace {

using namespace kinematics;

std::size_t at(index i) { return static_cast<std::size_t>(i); }

struct Problem {
    RandomTree tree;
    Buffer<double> q, lower, upper, fastest, unit, posture, rates;
    Buffer<index> place;
    Buffer<kinematics::Task> tasks;
    VelocityPlan plan = {};

    Problem(Random& random, index n) : tree(random, n, false), q(tree.state(random)), posture(tree.state(random)) {
        const Model& m = tree.model;
        const double far = HUGE_VAL;
        lower.assign(at(m.nv), -far), upper.assign(at(m.nv), far), fastest.assign(at(m.nv), far), unit.assign(at(m.nv), 1.0);
        place.assign(at(m.nv), -1), rates.assign(at(m.nv), 0.0);
        for (const Element& e : tree.elements)
            if (e.kind <= HELICAL) {
                place[at(e.v)] = e.q, fastest[at(e.v)] = 1.0 + static_cast<double>(random.integer(0, 4));
                lower[at(e.v)] = -0.25, upper[at(e.v)] = 0.25;
            }
        for (index k = 0; k < m.nv; ++k) plan.mass = 1.5 * static_cast<double>(n);
    }
    void add(Random& random, index kind, index level) {
        kinematics::Task t = {};
        t.kind = kind, t.level = level, t.weight = 0.5 + 0.25 * static_cast<double>(random.integer(0, 8)), t.gain = static_cast<double>(random.integer(0, 20));
        t.picked = 7, t.rows = random.integer(0, 1) ? 3 : 6;
        t.frame.element = random.integer(-1, tree.model.count - 1), t.to.element = random.integer(-1, tree.model.count - 1);
        for (double* R : {t.frame.R, t.to.R, t.goal_R}) put_rotation(random, R);
        for (double* p : {t.frame.p, t.to.p, t.goal}) fill(random, p, 3);
        t.axis[2] = 1.0;
        if (kind == ALONG) {  // a direction is a unit vector
            const double size = std::sqrt(t.goal[0] * t.goal[0] + t.goal[1] * t.goal[1] + t.goal[2] * t.goal[2]);
            for (double& x : t.goal) x /= size;
        }
        fill(random, t.rate, 6);
        tasks.push_back(t);
    }
    void finish() {
        for (kinematics::Task& t : tasks) t.q = posture.data(), t.rates = rates.data();
        plan.tasks = tasks.data(), plan.count = static_cast<index>(tasks.size()), plan.levels = tasks.empty() ? 0 : tasks.back().level + 1;
        plan.limits = {place.data(), lower.data(), upper.data(), fastest.data()};
        plan.unit = unit.data(), plan.length = 1.0;
    }
};

struct Result {
    Buffer<double> v, missed, held, kept;
    bool fine;
};

Result step(const Problem& x, VelocityCall call) {
    const Model& m = x.tree.model;
    Result r{Buffer<double>(at(m.nv)), Buffer<double>(x.tasks.size()), Buffer<double>(at(x.plan.levels * m.nv)), Buffer<double>(at(call.kept.count)), false};
    call.q = x.q.data(), call.dt = 0.01, call.limits = true, call.damping = 1.0;
    call.to = r.v.data(), call.missed = r.missed.data(), call.held = r.held.data(), call.missed_kept = r.kept.data();
    const std::size_t bytes = rigid::portable::velocity_room(m, x.plan, call);
    void* memory = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    r.fine = rigid::portable::velocity_step(m, x.plan, call, memory);
    std::free(memory);
    return r;
}

bool has_ball(const Problem& x) {
    for (const Element& e : x.tree.elements)
        if (e.kind == ROLLING) return true;
    return false;
}

void steps(unsigned seed) {
    Random random(seed);
    Problem x(random, random.integer(1, 6));
    const Model& m = x.tree.model;
    const index count = random.integer(0, 5);
    index level = 0;
    for (index i = 0; i < count; ++i) {
        index kind = random.integer(PLACEMENT, STAND);
        if (kind == POSTURE && has_ball(x)) kind = AT_POINT;
        x.add(random, kind, level);
        if (i + 1 < count) level += random.integer(0, 1);
    }
    x.finish();
    VelocityCall call = {};
    const Result r = step(x, call);
    expect(r.fine, "a step has an answer");
    for (index i = 0; i < m.nv; ++i) {
        const double here = x.place[at(i)] < 0 ? 0.0 : x.q[at(x.place[at(i)])], v = r.v[at(i)];
        expect(std::isfinite(v), "a velocity is finite");
        expect(std::fabs(v) <= x.fastest[at(i)] * (1.0 + 1e-12), "no dof is faster than it may");
        const bool inside = here >= x.lower[at(i)] && here <= x.upper[at(i)];
        const double after = here + 0.01 * v;
        expect(!inside || (after >= x.lower[at(i)] - 1e-12 && after <= x.upper[at(i)] + 1e-12), "limits are kept");
        expect(inside || (here > x.upper[at(i)] ? v < 0.0 : v > 0.0), "outside a limit it returns");
    }
    const Result again = step(x, call);
    expect(r.v == again.v, "the same call gives the same answer");
    if (x.plan.levels > 1) {  // the first level alone
        Problem first = x;
        while (first.tasks.back().level > 0) first.tasks.pop_back();
        first.finish();
        const Result alone = step(first, call);
        for (std::size_t i = 0; i < first.tasks.size(); ++i)
            expect(std::fabs(alone.missed[i] - r.missed[i]) < 1e-7 * (1.0 + alone.missed[i]), "levels are strict");
    }
    // rows that Python would give: velocities of all dofs, kept above what they are, and a closure between the first two
    Buffer<double> J(at(m.nv * m.nv), 0.0), left(at(m.nv)), size(at(m.nv), 1.0), rate(at(m.nv), 0.0);
    for (index i = 0; i < m.nv; ++i) J[at(i * m.nv + i)] = 1.0, left[at(i)] = r.v[at(i)] + 0.125;
    call.kept = {m.nv, J.data(), left.data(), size.data(), rate.data()};
    const Result pushed = step(x, call);
    double most = 1.0;
    for (index i = 0; i < m.nv; ++i) most = std::fabs(left[at(i)]) > most ? std::fabs(left[at(i)]) : most;
    expect(pushed.fine, "a step of a tree with rows that are kept has an answer");
    for (index i = 0; i < m.nv; ++i) {
        const double v = pushed.v[at(i)], up = left[at(i)] < x.fastest[at(i)] ? left[at(i)] : x.fastest[at(i)];
        const index place = x.place[at(i)];
        const bool limited = place >= 0 && x.q[at(place)] + 0.01 * left[at(i)] > x.upper[at(i)];
        expect(std::fabs(v) <= x.fastest[at(i)] * (1.0 + 1e-12), "rows that are kept make no dof faster than it may be");
        expect(limited || v >= up - 1e-8 * most, "rows are kept as far as bounds let them");
    }
    if (m.nv > 1) {
        J[1] = -1.0;
        call.closures = {1, J.data(), left.data(), size.data(), rate.data()};
    }
    const Result held = step(x, call);
    expect(held.fine, "a step with rows that are kept has an answer");
    if (m.nv > 1) expect(std::fabs(held.v[0] - held.v[1] + left[0] / 0.01) < 1e-6 * (1.0 + std::fabs(left[0]) / 0.01), "a closure is kept whatever the bounds are");
}

// min x* H x / 2 + g* x, rows between bounds: the gradient is that of the rows that hold, each pushing inward.
void programs(unsigned seed) {
    Random random(seed);
    const index n = random.integer(1, 9), rows = random.integer(0, 12);
    Buffer<double> A = random.numbers<double>(n * n), H(at(n * n), 0.0), g = random.numbers<double>(n), C = random.numbers<double>(rows * n), lower(at(rows)), upper(at(rows));
    for (index i = 0; i < n; ++i)
        for (index k = 0; k < n; ++k) {
            for (index r = 0; r < n; ++r) H[at(i * n + k)] += A[at(r * n + i)] * A[at(r * n + k)];
            if (i == k) H[at(i * n + k)] += 0.01;
        }
    const Buffer<double> inside = random.numbers<double>(n);
    for (index r = 0; r < rows; ++r) {
        double value = 0.0;
        for (index i = 0; i < n; ++i) value += C[at(r * n + i)] * inside[at(i)];
        lower[at(r)] = random.integer(0, 3) ? value - 0.01 * static_cast<double>(random.integer(0, 20)) : -HUGE_VAL;
        upper[at(r)] = random.integer(0, 3) ? value + 0.01 * static_cast<double>(random.integer(0, 20)) : HUGE_VAL;
    }
    Buffer<double> x(at(n)), y(at(rows));
    const PlainProgram p = {n, rows, H.data(), g.data(), C.data(), lower.data(), upper.data(), 1e-12, 0.0};
    void* memory = std::aligned_alloc(64, (rigid::portable::plain_room(p) + 63) / 64 * 64);
    const index told = rigid::portable::solve_plain(p, memory, x.data(), y.data());
    std::free(memory);
    expect(told == 0, "a program that a point satisfies has a solution");
    for (index i = 0; i < n; ++i) {
        double slope = g[at(i)];
        for (index k = 0; k < n; ++k) slope += H[at(i * n + k)] * x[at(k)];
        for (index r = 0; r < rows; ++r) slope -= C[at(r * n + i)] * y[at(r)];
        expect(std::fabs(slope) < 1e-8, "the gradient is that of the rows that hold");
    }
    for (index r = 0; r < rows; ++r) {
        double value = 0.0;
        for (index i = 0; i < n; ++i) value += C[at(r * n + i)] * x[at(i)];
        expect(value >= lower[at(r)] - 1e-9 && value <= upper[at(r)] + 1e-9, "rows are between their bounds");
        expect(!(y[at(r)] > 1e-12) || std::fabs(value - lower[at(r)]) < 1e-9, "a row pushes up at its lower bound");
        expect(!(y[at(r)] < -1e-12) || std::fabs(value - upper[at(r)]) < 1e-9, "a row pushes down at its upper bound");
    }
}

// Eigenvalues and vectors of symmetric matrices, also of those with equal and with no eigenvalues, and of diagonal ones.
void eigenvalues(unsigned seed) {
    Random random(seed);
    const index n = 1 + static_cast<index>(seed % 29), w = rigid::portable::wide(n), rank = seed % 3 ? random.integer(0, n) : n;
    Buffer<double> S(at(n * w), 0.0), V(at(n * w)), memory(at(3 * w)), B(at(n * n), 0.0);
    const double scale = seed % 4 ? 1.0 : 1e-9;
    for (index i = 0; i < n; ++i) fill(random, B.data() + i * n, static_cast<int>(rank));
    for (index i = 0; i < n; ++i)
        for (index k = 0; k < n; ++k) {
            for (index j = 0; j < rank; ++j) S[at(i * w + k)] += (j % 2 ? -scale : scale) * B[at(i * n + j)] * B[at(k * n + j)];
            if (seed % 7 == 0) S[at(i * w + k)] = i == k ? static_cast<double>(i % 3) : 0.0;
        }
    const Buffer<double> given = S;
    rigid::portable::diagonalize(n, S.data(), V.data(), memory.data());
    double size = 0.0;
    for (double x : given) size = std::fabs(x) > size ? std::fabs(x) : size;
    for (index i = 0; i < n; ++i)
        for (index k = 0; k < n; ++k) {
            double made = 0.0, square = 0.0;
            for (index j = 0; j < n; ++j) {
                made += V[at(j * w + i)] * S[at(j * w + j)] * V[at(j * w + k)];
                square += V[at(i * w + j)] * V[at(k * w + j)];
            }
            expect(std::fabs(made - given[at(i * w + k)]) <= 1e-13 * size, "V* diag V is the matrix");
            expect(std::fabs(square - (i == k ? 1.0 : 0.0)) <= 1e-13, "rows of V are orthonormal");
            expect(i == k || S[at(i * w + k)] == 0.0, "nothing is left off the diagonal");
        }
}

// The class for programs without Python: a pendulum's tip goes sideways.
void whole_bodies() {
    using namespace rigid;
    Bodies bodies;
    const index rod = bodies.add("rod", -1, pin(0, 1, 0), rigid::at(0, 0, 0), {1.0, {0, 0, -0.5}, {}});
    bodies.add("end", rod, pin(0, 1, 0), rigid::at(0, 0, -1), {1.0, {0, 0, -0.5}, {}});
    Multibody mb(bodies.tree);
    WholeBody body(mb, 2.0);
    const double q[] = {0.3, 0.4}, limit[] = {1.0, 1.0}, lower[] = {-2.0, -2.0}, upper[] = {2.0, 2.0}, goal[3] = {0.9, 0.0, -0.8};
    double v[2] = {};
    body.set_limits(lower, upper, limit);
    const index tip = body.position(mb.frame("end"), 0);
    body.aim(tip, nullptr, goal);
    body.posture(q, 1);
    expect(body.step(q, 0.01, v), "a whole body has a step");
    expect(std::fabs(v[0]) <= 1.0 && v[1] == 0.0, "the second rod does not move its own hinge");
    const double wrong[] = {NAN, 0.0};
    expect(!body.step(wrong, 0.01, v), "a whole body refuses what is not finite");
}

}  // namespace
}  // namespace soacraft

void test_velocities(unsigned seed) {
    soacraft::steps(seed);
    soacraft::programs(seed);
    soacraft::eigenvalues(seed);
    if (seed == 0) soacraft::whole_bodies();
}
