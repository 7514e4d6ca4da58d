// Random closed chains: closures of every kind between random elements, made to close, and couplings. The solvers
// must agree; each answer must leave nothing of the closures and of the motion.
#include <algorithm>
#include <memory>

#include "loops/job.hpp"
#include "random_tree.hpp"
#include "soacraft/contact/dynamics/tree_rows.hpp"
#include "soacraft/loops/closing.hpp"
#include "soacraft/loops/make_plan.hpp"
#include "soacraft/loops/embedding/constraint_embedding.hpp"
#include "soacraft/loops/augmented/fully_augmented.hpp"
#include "soacraft/loops/motion.hpp"
#include "soacraft/workspace.hpp"

namespace soacraft {
namespace rigid {
namespace portable {
extern const loops::Kernels loop_kernels;
}
}  // namespace rigid
namespace {

struct RandomClosed {
    RandomTree tree;
    Buffer<double> q, v;
    Plan plan, full;
    Buffer<double> theta;
    Base base = {};

    RandomClosed(Random& random, index n, bool has_armature)
        : tree(random, n, has_armature), q(tree.state(random)), v(random.numbers<double>(tree.model.nv)) {
        for (int i = 0; i < 3; ++i) base.a[3 + i] = random.numbers<double>(1)[0];
        plan.tree = &tree.model;
        const index closures = random.integer(1, 3);
        for (index i = 0; i < closures; ++i) add_closure(random);
        plan.coordinates = static_cast<index>(theta.size());
        close(random);
        if (random.integer(0, 1)) add_coupling(random);
        plan.length = 1.0, plan.inertia = 1.0, plan.unit.assign(static_cast<std::size_t>(tree.model.nv), 1.0);
        plan.tolerances = {1e-6, 1e-3, 1e-9, 1e-13, 1e-12, 10.0, 1e-3, 1e2, 1e-15, 1.0, 0.5, 0.1, 1e-3, 0.3,
                           1e-13, 1e-14, 1e-9, 1e-12, 1e-9, 1e-13, 1e-11, 1e-10, 1e-4, 0.5, 1e-14, 1e-3, 1e-9, 1e-4, 1e-3,
                           1e-12, 10.0, 1e-6, 1e-18, 1e-9, 0.5, 1e-9};
        full = plan;
        loops::complete(full, true, true);
        loops::complete(plan);
        one_group();
    }

    Buffer<char> memory() const { return Buffer<char>(LoopWork(plan, nullptr).bytes + 64); }

private:
    Buffer<double> bent;  // the coordinates at which the closures close

    void add_closure(Random& random) {
        Closure c = {};
        c.a.element = random.integer(-1, tree.model.count - 1), c.b.element = random.integer(-1, tree.model.count - 1);
        c.body_a = c.body_b = -1;
        c.fit = random.integer(loops::WELD, loops::CHAIN), c.length = 1.0;
        put_rotation(random, c.a.R), fill(random, c.a.p, 3), put_rotation(random, c.R), fill(random, c.p, 3);
        if (c.fit == loops::BALL)
            for (int i = 0; i < 9; ++i) c.R[i] = i % 4 == 0, c.p[i % 3] = 0.0;
        c.first = static_cast<index>(plan.hinges.size()), c.theta = static_cast<index>(theta.size());
        const index screws = c.fit == loops::TURN || c.fit == loops::SLIDE ? 1 : c.fit == loops::CHAIN ? random.integer(2, 4) : 0;
        for (index i = 0; i < screws; ++i) {
            Element e = {};
            e.kind = random.integer(REVOLUTE, HELICAL);
            if (c.fit == loops::TURN) e.kind = REVOLUTE;
            if (c.fit == loops::SLIDE) e.kind = PRISMATIC;
            e.q = static_cast<index>(theta.size());
            put_rotation(random, e.R), fill(random, e.p, 3);
            e.scale = 1.5, e.unscale = 1.0 / 1.5, e.pitch = 0.25;
            plan.hinges.push_back(e);
            theta.push_back(0.5), bent.push_back(0.75 + random.numbers<double>(1)[0]);
            theta.back() = bent.back() + 0.05;
        }
        c.last = static_cast<index>(plan.hinges.size());
        if (c.fit == loops::BALL)
            for (int i = 0; i < 4; ++i) theta.push_back(i == 3), bent.push_back(i == 3);
        c.rows = 6 - (c.fit == loops::BALL ? 3 : screws), c.row = plan.size, c.fixed = c.fit != loops::CHAIN;
        plan.size += c.rows;
        plan.closures.push_back(c);
    }

    // Put the frames b where the hinges lead from a, and keep the rows of those that do not turn.
    void close(Random& random) {
        Buffer<Limb> limbs(tree.model.count);
        Buffer<Twist> S(tree.model.nv);
        take_stance(tree.model, base, q.data(), v.data(), nullptr, limbs.data(), S.data());
        for (Closure& c : plan.closures) {
            HingeAt hinge = hinge_at(plan, c, bent.data());
            if (c.fit == loops::BALL) {
                double R[9];
                put_rotation(random, R);
                hinge.T = {mat<double>(R), {0.0, 0.0, 0.0}}, hinge.count = 3;
                for (int i = 0; i < 3; ++i) hinge.H[i] = none<double>();
                hinge.H[0].w.x = hinge.H[1].w.y = hinge.H[2].w.z = 1.0;
            }
            if (c.fixed) forbidden(plan.tolerances, hinge, c.Q);
            const Place<double> X = spot(c.a, limbs.data()).X * hinge.T;
            Place<double> on = X;
            if (c.b.element >= 0) {
                const Limb& limb = limbs[c.b.element];
                on = inverse(Place<double>{limb.R, limb.p}) * X;
            }
            const double R[9] = {on.R.a.x, on.R.b.x, on.R.c.x, on.R.a.y, on.R.b.y, on.R.c.y, on.R.a.z, on.R.b.z, on.R.c.z};
            const double p[3] = {on.p.x, on.p.y, on.p.z};
            std::memcpy(c.b.R, R, sizeof R), std::memcpy(c.b.p, p, sizeof p);
        }
    }

    void add_coupling(Random& random) {
        Coupling c = {};
        c.size = 1.0;
        for (index k = 0; k < tree.model.count; ++k) {
            const Element& e = tree.elements[k];
            if (e.kind > HELICAL || random.integer(0, 2)) continue;
            Term term = {k, e.d, e.v, e.q, {1.0 + random.numbers<double>(1)[0], 0.5, 0.25}};
            const double x = q[e.q];
            c.offset += ((term.c[2] * x + term.c[1]) * x + term.c[0]) * x;
            c.terms.push_back(term);
        }
        if (c.terms.empty()) return;
        c.row = plan.size++;
        plan.couplings.push_back(c);
    }

    // One compound body of all elements.
    void one_group() {
        const Buffer<index> group(tree.model.count, 0);
        loops::find_groups(plan, group, Buffer<index>(plan.closures.size(), 0), Buffer<index>(plan.couplings.size(), 0));
        loops::arrange_groups(plan);
    }
};

// The pivots of G choose the dependent dofs; false where the rank is in doubt.
bool choose(RandomClosed& closed, LoopWork& w) {
    Plan& plan = closed.plan;
    loops::Group& g = plan.groups[0];
    const index n = closed.tree.model.nv, m = plan.size, tall = m > n ? m : n;
    g.dependent.clear(), g.independent.clear();
    const GroupWork s(g, w.group, w.group_order);
    tie_group(w, g, s);
    Buffer<double> A(tall * n, 0.0), tau(n), norm(n);
    for (const loops::Tied& tied : g.ties) {
        const auto wide = static_cast<index>(tied.columns.size());
        for (index r = 0; r < tied.rows; ++r)
            for (index c = 0; c < wide; ++c) A[(tied.row + r) * n + tied.columns[c]] = s.G[tied.at + r * wide + c];
    }
    Buffer<index> order(n);
    PivotedQR qr{tall, n, A.data(), tau.data(), norm.data(), order.data()};
    qr.factor();
    for (index i = 0; i < n; ++i) {
        const double pivot = n > 0 ? std::fabs(A[i * n + i]) : 0.0;
        if (pivot > 1e-12 && pivot < 1e-3) return false;
        (pivot > 1e-3 ? g.dependent : g.independent).push_back(order[i]);
    }
    loops::arrange_groups(plan);
    return true;
}

// Scale the rows by the largest compliance.
void measure(Plan& plan, LoopWork& w) {
    const Buffer<double> still(w.model.nv, 0.0);
    double most = 0.0;
    if (articulate(w, still.data())) schur(w);
    for (const loops::Way& way : plan.ways)
        for (index r = 0; r < way.rows; ++r) {
            double sum = 0.0;
            for (index c = 0; c < way.width; ++c) sum += w.Y[way.Y + r * way.width + c] * w.Y[way.Y + r * way.width + c];
            most = std::fmax(most, sum);
        }
    for (double& scale : plan.scale) scale = most > 0.0 ? 1.0 / std::sqrt(most) : 1.0;
}

// What is assembled is closed, and no further from the start than the configuration that the start was moved from.
void test_assembly(const RandomClosed& closed, LoopWork& w, MotionWork& m, Random& random) {
    const Plan& plan = closed.plan;
    const Model& model = closed.tree.model;
    Buffer<char> memory(ClosingWork(plan, nullptr).bytes + 64);
    ClosingWork c(plan, memory.data());
    Buffer<index> free(model.nv), place(model.nv);
    Buffer<double> low(model.nv), high(model.nv), start(model.nq), step = random.numbers<double>(model.nv);
    for (index i = 0; i < model.nv; ++i)
        free[i] = i, place[i] = -1, low[i] = high[i] = 0.0, step[i] *= 1e-3 / plan.unit[static_cast<std::size_t>(i)];
    const loops::Allowed allowed{free.data(), model.nv, low.data(), high.data(), place.data(), true};
    integrate(model, closed.q.data(), step.data(), start.data());
    for (index i = 0; i < plan.coordinates; ++i) w.theta[i] = closed.theta[i];
    if (!assemble(w, m, c, start.data(), allowed)) return;  // a rank in doubt, as in half of these: Python's part
    expect(rows_at(w, m.q, m.still) && opening(w) < 1e-9, "what was assembled is closed");
    double far[2] = {0.0, 0.0};
    const double* ends[2] = {m.q, closed.q.data()};
    for (int k = 0; k < 2; ++k) {
        if (!difference(model, start.data(), ends[k], step.data())) return;
        for (index i = 0; i < model.nv; ++i) {
            const double x = plan.unit[static_cast<std::size_t>(i)] * step[i];
            far[k] += x * x;
        }
    }
    expect(far[0] < 1.01 * far[1], "what was assembled is near");
}

// What is projected, completed or followed closes; velocities expanded from independent ones keep it closed.
void test_motion(const RandomClosed& closed, LoopWork& w, const Buffer<double>& v, Random& random) {
    const Plan& plan = closed.plan;
    const Model& model = closed.tree.model;
    Buffer<char> memory(MotionWork(plan, nullptr).bytes + 64);
    MotionWork m(plan, memory.data());
    for (index i = 0; i < model.nv; ++i) m.still[i] = 0.0;
    const loops::Group& g = plan.groups[0];
    Buffer<index> order;
    for (index column : g.independent) order.push_back(plan.user_dof[g.dofs[column]]);
    expect(find_places(w, order.data(), static_cast<index>(order.size()), m.place), "the order of independent dofs");
    expect(order.empty() || !find_places(w, order.data(), static_cast<index>(order.size()) - 1, m.place), "one too few");
    find_places(w, order.data(), static_cast<index>(order.size()), m.place);
    const auto start = [&] {
        for (index i = 0; i < plan.coordinates; ++i) w.theta[i] = closed.theta[i];
        return rows_at(w, closed.q.data(), m.still);
    };
    const Buffer<double> x = random.numbers<double>(static_cast<index>(order.size()) + 1);
    Buffer<double> to(model.nv);
    if (!(start() && expand(w, m.place, x.data(), 1.0, to.data(), nullptr)) && gives_up("X is in doubt")) return;
    if (!rows_at(w, closed.q.data(), to.data()) && gives_up("a closure at a singular pose of its own")) return;
    Buffer<double> speed(plan.size);
    speeds(w, speed.data());
    double size = 1.0;
    for (double each : to) size = std::fmax(size, std::fabs(each));
    for (double each : speed) expect(std::fabs(each) < 1e-8 * size, "expanded velocities keep the loops closed");
    start();
    Buffer<double> along = x;
    for (double& each : along) each *= 1e-3 / size;
    if (advance(w, m, closed.q.data(), along.data())) {
        expect(rows_at(w, m.q, m.still) && opening(w) < 1e-9, "what was followed is closed");
    }
    start();
    double open = 1.0;
    if (!project(w, m, closed.q.data(), v.data(), to.data(), open) && gives_up("a state is not projected")) return;
    expect(open < 1e-9 && rows_at(w, m.q, m.still) && opening(w) == open, "what was projected is closed");
    for (index i = 0; i < model.nv; ++i) expect(std::fabs(to[i] - v[i]) < 1e-6, "a velocity on the closures stays");
    test_assembly(closed, w, m, random);
}

// All bodies free: the same accelerations and multipliers.
void test_free_bodies(RandomClosed& closed, const Buffer<double>& v, const Buffer<double>& T, const Buffer<double>& vdot,
                      const Buffer<double>& lambda) {
    Plan& plan = closed.full;
    plan.scale = closed.plan.scale;
    Buffer<char> memory(LoopWork(plan, nullptr).bytes + 64), more(FullWork(plan, nullptr).bytes + 64);
    LoopWork w(plan, memory.data());
    const FullWork s(plan, more.data());
    if (!take_rows(w, closed.base, closed.q.data(), v.data(), nullptr, nullptr, closed.theta.data(), true, false)) return;
    Residual left;
    if (!fully_augmented(w, s, closed.base, T.data(), left) && gives_up("refused by the fully augmented solver")) return;
    expect(left.closures < 1e-8 && left.motion < 1e-8, "residuals of the fully augmented solver");
    const auto apart = [](const Buffer<double>& x, const double* y) {
        double scale = 1.0, worst = 0.0;
        for (std::size_t i = 0; i < x.size(); ++i) scale = std::fmax(scale, std::fabs(x[i])), worst = std::fmax(worst, std::fabs(x[i] - y[i]));
        return worst / scale;
    };
    expect(apart(vdot, w.vdot) < 1e-7 && apart(lambda, w.lambda) < 1e-6, "the augmented solvers agree");
}

// Two states side by side, that have what each has alone; the answer of one where the other is off its closures is the same.
void test_side_by_side(const RandomClosed& closed, loops::Method method, const Buffer<double>& v, const Buffer<double>& T) {
    const Plan& plan = closed.plan;
    const loops::Kernels& kernels = loop_kernels;
    const std::size_t nv = v.size(), forces = 6 * plan.closures.size() + plan.couplings.size();
    Workspace workspace;
    const std::size_t alone = kernels.room(plan), abreast = kernels.room_abreast(plan);
    void* memory = workspace.hold(alone < abreast ? abreast : alone);
    Buffer<double> rates[2] = {v, v}, torques[2] = {T, T}, q[2] = {closed.q, closed.q};
    for (std::size_t i = 0; i < nv; ++i) rates[1][i] *= -0.5, torques[1][i] *= 2.0;
    struct Found {
        Buffer<double> vdot, rest, theta;
    };
    loops::State states[2] = {};
    loops::Answer answers[2];
    Found found[2], single[2];
    const auto answer = [&](Found& to) {
        to = {Buffer<double>(nv), Buffer<double>(forces + 2), Buffer<double>(closed.theta.size())};
        return loops::Answer{to.vdot.data(), to.rest.data(), to.rest.data() + forces, to.theta.data()};
    };
    unsigned fine = 0;
    for (int i = 0; i < 2; ++i) {
        for (int k = 0; k < 6; ++k) states[i].base[k] = closed.base.a[k];
        states[i].q = q[i].data(), states[i].v = rates[i].data(), states[i].force = torques[i].data();
        states[i].theta = closed.theta.data();
        if (kernels.solve(plan, memory, method, states[i], answer(single[i]))) fine |= 1u << i;
        answers[i] = answer(found[i]);
    }
    const unsigned answered = kernels.solve_abreast(plan, memory, method, states, answers, 2);
    expect((answered & ~fine) == 0, "no state is answered side by side that is in doubt alone");
    for (int i = 0; i < 2; ++i) {
        if (!(answered >> i & 1u)) continue;
        double scale = 1.0, worst = 0.0;
        for (std::size_t k = 0; k < nv; ++k) {
            scale = std::fmax(scale, std::fabs(single[i].vdot[k]));
            worst = std::fmax(worst, std::fabs(single[i].vdot[k] - found[i].vdot[k]));
        }
        expect(worst < 1e-9 * scale, "a state side by side with another has the answer it has alone");
    }
    for (int i = 0; i < 2; ++i) {
        if (!(answered >> i & 1u)) continue;
        Found again[2];
        for (int k = 0; k < 2; ++k) answers[k] = answer(again[k]);
        for (double& x : q[1 - i]) x += 0.125;
        const unsigned left = kernels.solve_abreast(plan, memory, method, states, answers, 2);
        expect((left >> i & 1u) && again[i].vdot == found[i].vdot && again[i].rest == found[i].rest,
               "a state off its closures changes nothing for its neighbour");
        std::copy(closed.q.begin(), closed.q.end(), q[1 - i].begin());
    }
    if (fine == 3 && answered != 3) gives_up("side by side, a state is in doubt");
    answers[0] = answer(found[0]);
    const unsigned one = kernels.solve_abreast(plan, memory, method, states, answers, 1);
    expect(one == (answered & 1u), "one state in lanes for two");
}

// Impulses of rows move what the closures leave free, by its own inertia: no closure moves, and the power of Mcal dv along any
// velocity that closures allow is that of the rows.
void test_rows_of_contacts(const RandomClosed& closed, LoopWork& w, const Buffer<double>& v, Random& random) {
    const Model& model = closed.tree.model;
    const auto nv = static_cast<std::size_t>(model.nv);
    const std::vector<double> theta(closed.theta.begin(), closed.theta.end());
    TreeRows tree(model, &closed.plan, &theta);
    tree.place(closed.q.data(), v.data());
    if (!tree.articulate() && gives_up("the rank of closures is in doubt")) return;
    std::vector<Touch> touches;
    for (int i = 0; i < 3; ++i) {
        double R[9], x[6];
        put_rotation(random, R), fill(random, x, 6);
        touches.push_back({random.integer(-1, model.count - 1), random.integer(-1, model.count - 1), {x[0], x[1], x[2]}, {x[3], x[4], x[5]},
                           {{R[0], R[3], R[6]}, {R[1], R[4], R[7]}, {R[2], R[5], R[8]}}, i == 0 ? 6 : 3});
        tree.add(touches.back());
    }
    const DofRow limit{random.integer(0, model.nv - 1), -1.0};
    tree.add(limit);
    const auto speeds_of = [&](const std::vector<double>& x) {  // N x
        tree.place(closed.q.data(), x.data());
        std::vector<double> u;
        for (const Touch& t : touches) {
            const Twist V = tree.velocity(t.b, t.at_b) - tree.velocity(t.a, t.at_a);
            for (index r = 0; r < t.rows; ++r) u.push_back(r < 3 ? dot(t.axes[r], V.v) : dot(t.axes[r - 3], V.w));
        }
        u.push_back(limit.sign * x[static_cast<std::size_t>(limit.dof)]);
        return u;
    };
    const Buffer<double> p = random.numbers<double>(tree.rows.rows);
    std::vector<double> dv(nv), force(nv), S(static_cast<std::size_t>(tree.rows.rows * tree.rows.rows)), allowed(v.begin(), v.end());
    tree.release(tree.rows, p.data(), dv.data());
    tree.momentum(dv.data(), force.data());
    tree.rows.product(S.data());
    std::vector<double> changes(p.size(), 0.0);
    for (std::size_t i = 0; i < p.size(); ++i)
        for (std::size_t j = 0; j < p.size(); ++j) changes[i] += S[i * p.size() + j] * p[j];
    double size = 1.0, power = 0.0, of_rows = 0.0, most = 1.0;
    for (const double x : dv) size = std::fmax(size, std::fabs(x));
    for (std::size_t i = 0; i < nv; ++i) power += force[i] * allowed[i], most += std::fabs(force[i] * allowed[i]);
    const std::vector<double> u = speeds_of(allowed), made = speeds_of(dv);
    for (std::size_t i = 0; i < p.size(); ++i) of_rows += p[i] * u[i], most += std::fabs(p[i] * u[i]);
    expect(std::fabs(power - of_rows) < 1e-7 * most, "impulses of closures have no power");
    for (std::size_t i = 0; i < p.size(); ++i)
        expect(std::fabs(made[i] - changes[i]) < 1e-7 * size * most, "the compliance of rows is that of their velocities, closures included");
    Buffer<double> moved(dv.begin(), dv.end()), speed(closed.plan.size);
    for (index i = 0; i < closed.plan.coordinates; ++i) w.theta[i] = closed.theta[static_cast<std::size_t>(i)];
    if (!rows_at(w, closed.q.data(), moved.data()) && gives_up("a closure at a singular pose of its own")) return;
    speeds(w, speed.data());
    for (const double x : speed) expect(std::fabs(x) < 1e-7 * size, "impulses of contacts keep the loops closed");
    for (const double enough : {0.0, 1e9}) {  // of one dof, as a row and alone
        tree.place(closed.q.data(), v.data());
        tree.articulate(), tree.add(limit);
        double one = 0.0;
        tree.rows.product(&one);
        const double alone = tree.compliance(limit.dof, enough);
        expect(enough > 0.0 ? alone >= one - 1e-9 * (1.0 + one) : std::fabs(alone - one) < 1e-7 * (1.0 + one), "compliance of a dof, closures included");
    }
}

}  // namespace

void test_closed_chain(unsigned seed) {
    Random random(seed);
    RandomClosed closed(random, random.integer(1, 6), seed % 3 == 1);
    const Model& model = closed.tree.model;
    Plan& plan = closed.plan;
    const Buffer<double> T = random.numbers<double>(model.nv);
    const auto rows_of = [&](LoopWork& at, const Buffer<double>& v) {
        return take_rows(at, closed.base, closed.q.data(), v.data(), nullptr, nullptr, closed.theta.data(), true, false);
    };
    Buffer<char> before = closed.memory();
    LoopWork start(plan, before.data());
    if (!rows_of(start, closed.v) && gives_up("a closure at a singular pose of its own")) return;
    for (const Tie& t : Buffer<Tie>(start.ties, start.ties + plan.closures.size()))
        for (double gap : t.gap) expect(std::fabs(gap) < 1e-9, "a closure that was made to close");
    if (!choose(closed, start) && gives_up("rank in doubt")) return;
    Buffer<char> memory = closed.memory();
    LoopWork w(plan, memory.data());
    const auto rows = [&](const Buffer<double>& v) { return rows_of(w, v); };
    rows(closed.v);
    measure(plan, w);
    Buffer<double> speed(plan.size), v = closed.v;
    for (int twice = 0; twice < 2; ++twice) {
        for (std::size_t i = 0; i < plan.closures.size(); ++i)
            for (index r = 0; r < plan.closures[i].rows; ++r) speed[plan.closures[i].row + r] = w.ties[i].speed[r];
        for (std::size_t i = 0; i < plan.couplings.size(); ++i) speed[plan.couplings[i].row] = w.ratios[i].speed;
        if (!impulse(w, speed.data()) && gives_up("a velocity is not projected")) return;
        for (index i = 0; i < model.nv; ++i) v[i] += w.vdot[i];
        rows(v);
    }
    for (std::size_t i = 0; i < plan.closures.size(); ++i)
        for (index r = 0; r < plan.closures[i].rows; ++r)
            expect(std::fabs(w.ties[i].speed[r]) < 1e-9, "a velocity that was projected");
    test_motion(closed, w, v, random);
    test_rows_of_contacts(closed, w, v, random);
    rows(v);
    Residual left;
    if (!tree_augmented(w, closed.base, T.data(), left) && gives_up("refused by the tree-augmented solver")) return;
    expect(left.closures < 1e-8 && left.motion < 1e-8, "residuals of the tree-augmented solver");
    const Buffer<double> first(w.vdot, w.vdot + model.nv);
    test_free_bodies(closed, v, T, first, Buffer<double>(w.lambda, w.lambda + plan.size));
    if (!constraint_embedding(w, closed.base, T.data(), left) && gives_up("refused by constraint embedding")) return;
    expect(left.closures < 1e-8 && left.motion < 1e-8, "residuals of constraint embedding");
    double scale = 1.0, worst = 0.0;
    for (index i = 0; i < model.nv; ++i) {
        scale = std::fmax(scale, std::fabs(first[i]));
        worst = std::fmax(worst, std::fabs(first[i] - w.vdot[i]));
    }
    expect(worst < 1e-7 * scale, "the two solvers agree");
    test_side_by_side(closed, loops::TREE_AUGMENTED, v, T);
    test_side_by_side(closed, loops::CONSTRAINT_EMBEDDING, v, T);
}

}  // namespace soacraft

void test_loops(unsigned seed) { soacraft::test_closed_chain(seed); }
