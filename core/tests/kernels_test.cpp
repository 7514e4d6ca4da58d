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

index size_of(Shape shape, const Model& m) {
    switch (shape) {
        case NUMBER: return 1;
        case DOFS: return m.nv;
        case DOFS_DOFS: return m.nv * m.nv;
        case DOFS_DOFS_DOFS: return m.nv * m.nv * m.nv;
        case SIX_DOFS: return 6 * m.nv;
        case BODIES_3_3: return 9 * m.body_count;
        case BODIES_3: return 3 * m.body_count;
        default: return 0;
    }
}

// A tree with bodies on its elements, whose dofs the user may count in another order, and several states of it.
struct Case {
    RandomTree tree;
    Buffer<Body> bodies;
    index count;
    Buffer<double> in[INPUTS];
    Body frame;
    double base[12];
    std::unique_ptr<Springs> springs;

    Case(Random& random, index n, bool armed, bool in_order, bool sprung)
        : tree(random, n, armed), count(random.integer(1, 5)) {
        Model& m = tree.model;
        if (!in_order) reverse_dofs();
        for (index k = -1; k < m.count; ++k) {
            Body b = {};
            b.element = k, put_rotation(random, b.R), fill(random, b.p, 3);
            bodies.push_back(b);
        }
        frame = bodies[static_cast<std::size_t>(random.integer(0, m.count))];
        m.bodies = bodies.data(), m.body_count = m.count + 1;
        for (index i = 0; i < count; ++i) {
            append(in[Q], tree.state(random));
            append(in[V], random.numbers<double>(m.nv)), append(in[X], random.numbers<double>(m.nv));
            append(in[PULL], random.numbers<double>(6 * m.body_count));
        }
        fill(random, base, 12);
        if (sprung) springs = std::make_unique<Springs>(m, tree.state(random), random);
    }

    index width(int which) const {
        const Model& m = tree.model;
        return which == Q ? m.nq : which == PULL ? 6 * m.body_count : m.nv;
    }

    Job job(bool pulled) const {
        Job j = {};
        j.model = &tree.model, j.frame = &frame, j.passive = springs ? &springs->passive : nullptr;
        for (int i = 0; i < 12; ++i) j.base[i] = base[i];
        for (int i = 0; i < (pulled ? INPUTS : PULL); ++i) j.in[i] = in[i].data(), j.in_step[i] = width(i);
        return j;
    }

private:
    static void append(Buffer<double>& to, const Buffer<double>& from) { to.insert(to.end(), from.begin(), from.end()); }

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
            const index size = size_of(a.out[i], c.tree.model);
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
    for (int i = 0; i < table.count; ++i)
        if (std::strcmp(table.algorithms[i].name, name) == 0) return table.algorithms[i];
    expect(false, name);
    std::exit(1);
}

Outputs one_by_one(const Algorithm& a, const Case& c, Job job) {
    Outputs out(a, c, job);
    for (index i = 0; i < c.count; ++i) {
        Filled space;
        expect(a.one(job, i, i + 1, space.hold(a.one_bytes(job))), a.name);
    }
    return out;
}

void test_algorithm(const Algorithm& a, const Case& c, bool pulled) {
    const Outputs wanted = one_by_one(a, c, c.job(pulled));
    for (index threads = 0; threads < 3; ++threads) {
        Job job = c.job(pulled);
        const Outputs out(a, c, job);
        Filled space;
        expect(threads ? run_batch(a, job, c.count, table.lanes, threads)
                       : a.batch(job, 0, c.count, space.hold(a.batch_bytes(job))), a.name);
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
    const Outputs D = one_by_one(d, c, c.job(pulled));
    for (int which : {V, X})
        for (index j = 0; j < n; ++j) {
            const double t = 1e-4, x = c.in[which][j];
            c.in[which][j] = x + t;
            const Outputs after = one_by_one(f, c, c.job(pulled));
            c.in[which][j] = x - t;
            const Outputs before = one_by_one(f, c, c.job(pulled));
            c.in[which][j] = x;
            for (index i = 0; i < n; ++i) {
                const double slope = (after.y[0][i] - before.y[0][i]) / (2.0 * t);
                const double got = D.y[which == V ? 1 : 2][i * n + j];
                expect(std::fabs(slope - got) <= 1e-5 * std::fmax(1.0, std::fabs(got)), derivatives);
            }
        }
}

// The mass matrix of the first state.
void test_mass_matrix(const Case& c) {
    const index n = c.tree.model.nv;
    if (!c.tree.model.in_order) return;
    const Buffer<double> q(c.in[Q].begin(), c.in[Q].begin() + c.tree.model.nq);
    const Outputs M = one_by_one(named("mass_matrix"), c, c.job(false));
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
    for (int i = 0; i < table.count; ++i) test_algorithm(table.algorithms[i], c, seed % 4 == 3);
    test_mass_matrix(c);
    if (rolls(c)) return;  // derivatives of dynamics are of hinges whose place their coordinates tell
    test_derivatives("inverse_dynamics", "inverse_dynamics_derivatives", c, seed % 4 == 3);
    test_derivatives("forward_dynamics", "forward_dynamics_derivatives", c, seed % 4 == 3);
}
