// Every kernel of the table by way of its driver, on random trees: one state, packs of states with a tail, several
// threads. Workspaces have the size that a kernel asks for, hold NaN before it runs, and a gap that must not be touched
// follows each array that is cut from them. Half of the trees have springs and dampers. A batch must give what single states give; derivatives are those of
// differences, matrices those of the kinetic energy.
#include <limits>
#include <memory>

#include "random_springs.hpp"
#include "rigid/rigid_model.hpp"

namespace soacraft {
namespace rigid {
namespace portable { extern const Kernels kernels; }
}  // namespace rigid
namespace {

const Kernels& table = rigid::portable::kernels;

index size_of(Shape shape, const Model& m, index nodes) {
    switch (shape) {
        case NUMBER: return 1;
        case THREE: return 3;
        case SIX: return 6;
        case COORDINATES: return m.nq;
        case DOFS: return m.nv;
        case DOFS_DOFS: return m.nv * m.nv;
        case DOFS_DOFS_DOFS: return m.nv * m.nv * m.nv;
        case BODIES_3_3: return 9 * m.body_count;
        case BODIES_3: return 3 * m.body_count;
        case BODIES_6: return 6 * m.body_count;
        case NODES_3_3: return 9 * nodes;
        case NODES_3: return 3 * nodes;
        case NODES_6: return 6 * nodes;
        case SIXES: return 6 * nodes;
        case SIXES_DOFS: return 6 * nodes * m.nv;
        case SIXES_SIXES: return 36 * nodes * nodes;
        default: return 0;
    }
}

// A tree with bodies on its elements, whose dofs the user may count in another order, and several states of it.
struct Case {
    RandomTree tree;
    Buffer<Body> bodies;
    index count;
    Buffer<double> in[INPUTS];
    Buffer<Body> frames;
    Buffer<unsigned char> mask;
    Buffer<rigid::Wrench> wrenches;
    Buffer<double> wrench, zeros, other_q;
    double base[12], place[12];
    std::unique_ptr<Springs> springs;

    Case(Random& random, index n, bool has_armature, bool in_order, bool sprung)
        : tree(random, n, has_armature), count(random.integer(1, 5)) {
        Model& m = tree.model;
        if (!in_order) reverse_dofs();
        for (index k = -1; k < m.count; ++k) {
            Body b = {};
            b.element = k, put_rotation(random, b.R), fill(random, b.p, 3);
            bodies.push_back(b);
        }
        for (index i = 0; i < random.integer(1, 3); ++i)
            frames.push_back(bodies[static_cast<std::size_t>(random.integer(0, m.count))]);
        m.bodies = bodies.data(), m.body_count = m.count + 1;
        fill(random, m.fixed, 10), zeros.assign(static_cast<std::size_t>(m.nv), 0.0);
        for (index i = 0; i < m.nv; ++i) mask.push_back(random.integer(0, 2) == 0);
        add_wrenches(random);
        for (index i = 0; i < count; ++i) {
            append(in[Q], tree.state(random));
            append(other_q, tree.state(random));
            for (int which : {V, X, Y}) append(in[which], random.numbers<double>(m.nv));
            append(in[PULL], random.numbers<double>(6 * m.body_count));
        }
        fill(random, base, 12), put_rotation(random, place), fill(random, place + 9, 3);
        if (sprung) springs = std::make_unique<Springs>(m, tree.state(random), random);
    }

    index width(int which) const {
        const Model& m = tree.model;
        return which == Q ? m.nq : which == PULL ? 6 * m.body_count : m.nv;
    }

    Job job(bool pulled) const {
        Job j = {};
        j.model = &tree.model, j.frames = frames.data(), j.frame_count = static_cast<index>(frames.size());
        j.mask = mask.data(), j.passive = springs ? &springs->passive : nullptr;
        for (int i = 0; i < 12; ++i) j.base[i] = base[i], j.place[i] = place[i];
        for (int i = 0; i < (pulled ? INPUTS : PULL); ++i) j.in[i] = in[i].data(), j.in_step[i] = width(i);
        if (pulled) j.wrenches = wrenches.data(), j.wrench_count = static_cast<index>(wrenches.size()), j.turned = true;
        return j;
    }

    // The same for one algorithm: with zeros, other coordinates, or wrenches in the axes of their nodes where it wants them.
    Job job(const Algorithm& a, bool pulled) const {
        Job j = job(pulled);
        for (int i = 0; i < VECTORS; ++i) {
            if (a.in[i] == ZEROS) j.in[i] = zeros.data(), j.in_step[i] = 0;
            if (i > 0 && a.in[i] == COORDINATES) j.in[i] = other_q.data(), j.in_step[i] = tree.model.nq;
        }
        if (a.has(PULLED_IN_OWN_AXES)) j.wrench_count = 0, j.turned = false;
        return j;
    }

private:
    static void append(Buffer<double>& to, const Buffer<double>& from) { to.insert(to.end(), from.begin(), from.end()); }

    // One in the axes of its node, one in those of the base, one in those of an element.
    void add_wrenches(Random& random) {
        wrench = random.numbers<double>(6);
        for (index axes : {index(-1), index(-1), tree.model.count - 1}) {
            rigid::Wrench w = {};
            w.at = bodies[static_cast<std::size_t>(random.integer(0, tree.model.count))];
            w.axes = bodies[static_cast<std::size_t>(axes + 1)], w.turned = !wrenches.empty(), w.f = wrench.data();
            wrenches.push_back(w);
        }
    }

    void reverse_dofs() {
        index v = tree.model.nv;
        Buffer<double> armature(tree.armature.size());
        for (Element& e : tree.elements) {
            v -= dofs(e.kind);
            for (index i = 0; i < dofs(e.kind); ++i) armature[v + i] = tree.armature[e.v + i];
            e.v = v;
        }
        tree.armature = armature, tree.model.armature = tree.armature.data(), tree.model.in_order = tree.model.count < 2;
    }
};

struct Outputs {
    Buffer<double> y[OUTPUTS];
    Outputs(const Algorithm& a, const Case& c, Job& job) {
        for (int i = 0; i < OUTPUTS; ++i) {
            const index size = size_of(a.out[i], c.tree.model, static_cast<index>(c.frames.size()));
            y[i] = Buffer<double>(size * c.count, -7.0);
            job.out[i] = y[i].data(), job.out_step[i] = size;
        }
    }
};

// A workspace of so many bytes on a cache line, full of NaN.
struct Filled {
    Workspace space;
    void* hold(std::size_t bytes) {
        const std::size_t lines = (bytes + 63) / 64 * 64;
        double* x = static_cast<double*>(space.hold(lines ? lines : 64));
        for (std::size_t i = 0; i < lines / sizeof(double); ++i) x[i] = std::numeric_limits<double>::quiet_NaN();
        return x;
    }
};

const Algorithm& named(const char* name) {
    for (const Algorithm* a : algorithms_of(table))
        if (std::strcmp(a->name, name) == 0) return *a;
    expect(false, name);
    std::exit(1);
}

// Balls that roll have no difference, nodes may be unable to move in all directions, and a random tree may have no mass.
bool may_refuse(const Algorithm& a) {
    return a.in[1] == COORDINATES || std::strstr(a.name, "jacobians") || std::strcmp(a.name, "center_of_mass") == 0 ||
           std::strcmp(a.name, "operational_space_inertia") == 0;
}

Outputs one_by_one(const Algorithm& a, const Case& c, Job job) {
    Outputs out(a, c, job);
    for (index i = 0; i < c.count; ++i) {
        Filled space;
        expect(a.one(job, i, i + 1, space.hold(a.one_bytes(job))) || may_refuse(a), a.name);
    }
    return out;
}

void test_algorithm(const Algorithm& a, const Case& c, bool pulled) {
    const Outputs wanted = one_by_one(a, c, c.job(a, pulled));
    for (index threads = 0; threads < 3; ++threads) {
        Job job = c.job(a, pulled);
        const Outputs out(a, c, job);
        Filled space;
        expect(threads ? run_batch(a, job, c.count, table.lanes, threads) || may_refuse(a)
                       : a.batch(job, 0, c.count, space.hold(a.batch_bytes(job))) || may_refuse(a), a.name);
        for (int i = 0; i < OUTPUTS; ++i) {
            double scale = 1.0, worst = 0.0;
            for (std::size_t k = 0; k < out.y[i].size(); ++k) {
                scale = std::fmax(scale, std::fabs(wanted.y[i][k]));
                const double gap = std::fabs(out.y[i][k] - wanted.y[i][k]);
                worst = gap > worst || std::isnan(gap) ? gap : worst;
            }
            expect(worst <= 1e-9 * scale, a.name);
        }
    }
}

// d f / d v and d f / d x by central differences; along q, one random direction of the first state.
void test_derivatives(const char* function, const char* derivatives, Case& c, bool pulled) {
    const Algorithm &f = named(function), &d = named(derivatives);
    const index n = c.tree.model.nv;
    const Outputs D = one_by_one(d, c, c.job(d, pulled)), at = one_by_one(f, c, c.job(d, pulled));
    for (int which : {V, X})
        for (index j = 0; j < n; ++j) {
            const double t = 1e-4, x = c.in[which][j];
            c.in[which][j] = x + t;
            const Outputs after = one_by_one(f, c, c.job(d, pulled));
            c.in[which][j] = x - t;
            const Outputs before = one_by_one(f, c, c.job(d, pulled));
            c.in[which][j] = x;
            for (index i = 0; i < n; ++i) {
                const double slope = (after.y[0][i] - before.y[0][i]) / (2.0 * t);
                const double got = D.y[which == V ? 1 : 2][i * n + j];
                const double right = (after.y[0][i] - at.y[0][i]) / t, left = (at.y[0][i] - before.y[0][i]) / t;
                const double near = 1e-5 * std::fmax(1.0, std::fabs(got));
                const bool one_sided = got >= std::fmin(left, right) - near && got <= std::fmax(left, right) + near;
                expect(std::fabs(slope - got) <= near || one_sided, derivatives);  // curves of dampers have corners
            }
        }
}

// Forward dynamics with the forces that mixed dynamics gives has its accelerations; what was given is kept.
void test_mixed(Case& c, bool pulled) {
    const Algorithm &mixed = named("mixed_dynamics"), &forward = named("forward_dynamics");
    const index n = c.tree.model.nv * c.count;
    const Outputs found = one_by_one(mixed, c, c.job(mixed, pulled));
    Job job = c.job(forward, pulled);
    job.in[X] = found.y[1].data();
    const Outputs vdot = one_by_one(forward, c, job);
    double scale = 1.0;
    for (index i = 0; i < n; ++i) scale = std::fmax(scale, std::fabs(found.y[0][i]));
    for (index i = 0; i < n; ++i) {
        expect(std::fabs(vdot.y[0][i] - found.y[0][i]) <= 1e-7 * scale, "mixed_dynamics");
        const bool held = c.mask[i % c.tree.model.nv] != 0;
        expect(held ? found.y[0][i] == c.in[Y][i] : found.y[1][i] == c.in[X][i], "mixed_dynamics: what is given");
    }
}

// difference(q, integrate(q, dv)) = dv for steps short of half a turn, and its Jacobians are inverse to each other.
void test_coordinates(const Case& c) {
    for (const Element& e : c.tree.elements)
        if (e.kind == ROLLING) return;
    const index n = c.tree.model.nv;
    Job job = c.job(false);
    const Outputs moved = one_by_one(named("integrate"), c, job), J = one_by_one(named("integrate_jacobians"), c, job);
    job.in[V] = moved.y[0].data(), job.in_step[V] = c.tree.model.nq;
    const Outputs back = one_by_one(named("difference"), c, job), K = one_by_one(named("difference_jacobians"), c, job);
    for (std::size_t i = 0; i < back.y[0].size(); ++i)
        expect(std::fabs(back.y[0][i] - c.in[V][i]) <= 1e-9, "difference of integrate");
    for (index r = 0; r < n * c.count; ++r)
        for (index j = 0; j < n; ++j) {
            double product = 0.0;
            for (index k = 0; k < n; ++k) product += K.y[1][r * n + k] * J.y[1][(r / n * n + k) * n + j];
            expect(std::fabs(product - (r % n == j ? 1.0 : 0.0)) <= 1e-9, "difference_jacobians");
        }
}

// The mass matrix of the first state.
void test_mass_matrix(const Case& c) {
    const index n = c.tree.model.nv;
    if (!c.tree.model.in_order) return;
    const Buffer<double> q(c.in[Q].begin(), c.in[Q].begin() + c.tree.model.nq);
    const Outputs M = one_by_one(named("mass_matrix"), c, c.job(named("mass_matrix"), false));
    expect(close(Buffer<double>(M.y[0].begin(), M.y[0].begin() + n * n), by_energy(c.tree.model, q)), "mass_matrix");
}

}  // namespace
}  // namespace soacraft

using namespace soacraft;

namespace {

bool rolls(const Case& c) {
    for (const Element& e : c.tree.elements)
        if (e.kind == ROLLING) return true;
    return false;
}

}  // namespace

void test_kernels(unsigned seed) {
    Random random(seed);
    Case c(random, random.integer(1, 9), seed % 2 == 1, seed % 3 != 2, seed % 4 < 2);
    const bool sprung = seed % 4 < 2;  // next to corners of springs derivatives are left to Python: passive_test.cpp has them
    for (const Algorithm* a : algorithms_of(table))
        if (!sprung || !std::strstr(a->name, "derivatives")) test_algorithm(*a, c, seed % 4 == 3);
    test_mixed(c, seed % 4 == 3);
    test_coordinates(c);
    test_mass_matrix(c);
    if (sprung || rolls(c)) return;  // derivatives of dynamics are of hinges whose place their coordinates tell
    test_derivatives("inverse_dynamics", "inverse_dynamics_derivatives", c, seed % 4 == 3);
    test_derivatives("forward_dynamics", "forward_dynamics_derivatives", c, seed % 4 == 3);
}
