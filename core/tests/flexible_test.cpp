// Random trees with flexible bodies, hung on deforming nodes and held by nodes of their own. Every kernel of their table by way
// of its driver: a batch must give what single states give, on workspaces of the size that is asked for. Forward dynamics is
// the inverse of inverse dynamics, matrices are those of the kinetic energy, and forces do the work that energy grows by.
#include <limits>

#include "random_tree.hpp"
#include "rigid/rigid_model.hpp"
#include "soacraft/rigid/model/bodies.hpp"

namespace soacraft {
namespace rigid {
namespace portable { extern const Kernels kernels; }
}  // namespace rigid
namespace {

const Kernels& table = rigid::portable::kernels;

std::size_t at(index i) { return static_cast<std::size_t>(i); }

// Modes of a cloud of points, of which all moments are sums.
ModalNumbers cloud(Random& random, index n, bool geometric) {
    ModalNumbers x;
    x.n = n, x.p.resize(at(3 * n)), x.N.resize(at(9 * n)), x.Q.resize(at(9 * n * n)), x.M.resize(at(n * n));
    x.K.resize(at(n * n)), x.D.assign(at(n * n), 0.0);
    if (geometric) x.S.resize(at(3 * n * n)), x.T.resize(at(9 * n * n));
    for (int point = 0; point < 8 + 2 * n; ++point) {
        const double m = 0.2;
        double r[3];
        fill(random, r, 3);
        const Buffer<double> phi = random.numbers<double>(3 * n), phi2 = random.numbers<double>(3 * n * n);
        x.mass += m;
        const auto second = [&](index i, index j, int a) { return 0.5 * (phi2[at(3 * (i * n + j) + a)] + phi2[at(3 * (j * n + i) + a)]); };
        for (int a = 0; a < 3; ++a) {
            x.first[a] += m * r[a];
            for (int b = 0; b < 3; ++b) x.second[3 * a + b] += m * r[a] * r[b];
        }
        for (index j = 0; j < n; ++j)
            for (int a = 0; a < 3; ++a) {
                x.p[at(3 * j + a)] += m * phi[at(3 * j + a)];
                for (int b = 0; b < 3; ++b) x.N[at(9 * j + 3 * a + b)] += m * r[a] * phi[at(3 * j + b)];
                for (index i = 0; i < n; ++i) {
                    x.M[at(i * n + j)] += m * phi[at(3 * i + a)] * phi[at(3 * j + a)];
                    if (geometric) x.S[at(3 * (i * n + j) + a)] += m * second(i, j, a);
                    for (int b = 0; b < 3; ++b) {
                        x.Q[at(9 * (i * n + j) + 3 * a + b)] += m * phi[at(3 * i + a)] * phi[at(3 * j + b)];
                        if (geometric) x.T[at(9 * (i * n + j) + 3 * a + b)] += m * r[a] * second(i, j, b);
                    }
                }
            }
    }
    for (index i = 0; i < n; ++i) x.K[at(i * n + i)] = 1.0 + 0.5 * static_cast<double>(i);
    for (int i = 0; i < 2; ++i) {
        ModalNumbers::Node node;
        put_rotation(random, node.R), fill(random, node.p, 3);
        node.lam = random.numbers<double>(3 * n), node.gam = random.numbers<double>(3 * n);
        const Buffer<double> raw = random.numbers<double>(6 * n * n);
        for (int a = 0; a < 6 && geometric; ++a)
            for (index k = 0; k < n * n; ++k) {
                const double both = 0.5 * (raw[at(a * n * n + k)] + raw[at(a * n * n + k % n * n + k / n)]);
                (a < 3 ? node.lam2 : node.gam2).push_back(both);
            }
        x.nodes.push_back(node);
    }
    return x;
}

struct FlexibleCase {
    Assembly assembly;
    Tables tables;
    index count, nq = 0, nv = 0;
    Buffer<double> in[INPUTS], zeros, wrench;
    Buffer<Body> frames;
    Buffer<rigid::Wrench> wrenches;
    double gravity[3];

    explicit FlexibleCase(Random& random) : count(random.integer(1, 5)) {
        const index bodies = random.integer(1, 4);
        for (index k = 0; k < bodies; ++k) add(random, k);
        for (index k = 0; k < static_cast<index>(assembly.modal.size()); ++k) assembly.modal[at(k)].check();
        check_hinges(assembly);
        const Buffer<index> quaternions = lay_out(assembly, tables, nq, nv);
        assembly.settle(tables.elements, tables.bodies, tables.model.fixed);
        assembly.settle_modes(tables.elements, tables.flexible, tables.spots, tables.modal);
        for (index k = 0; k < tables.model.count; ++k)
            for (index i = 0; i < dofs(tables.elements[at(k)].kind); ++i) tables.armature[at(tables.elements[at(k)].v + i)] = k % 2 ? 0.3 : 0.0;
        tables.mark_armature(0, tables.model.count);
        tables.view();
        zeros.assign(at(nv + 1), 0.0), wrench = random.numbers<double>(6), fill(random, gravity, 3);
        for (index i = 0; i < count; ++i) {
            Buffer<double> q = random.numbers<double>(nq);
            for (double& x : q) x *= 0.3;  // modes stay where M(eta) is positive
            for (index first : quaternions) q[at(first)] = q[at(first + 1)] = 0.0, q[at(first + 2)] = 0.6, q[at(first + 3)] = 0.8;
            append(in[Q], q);
            for (int which : {V, X, Y}) append(in[which], random.numbers<double>(nv));
            append(in[PULL], random.numbers<double>(6 * bodies + tables.model.modes));
        }
        for (index k = 0; k < tables.model.count + tables.model.spot_count; k += 2) {
            Body b = {};
            b.element = k, put_rotation(random, b.R), fill(random, b.p, 3);
            frames.push_back(b);
        }
        for (const Body& frame : frames) {
            rigid::Wrench w = {};
            w.at = frame, w.axes = frames.back(), w.turned = !wrenches.empty(), w.f = wrench.data();
            wrenches.push_back(w);
        }
    }

    Job job(const Algorithm& a, bool pulled) const {
        Job j = {};
        j.model = &tables.model, j.frames = frames.data(), j.frame_count = static_cast<index>(frames.size());
        for (int i = 0; i < 3; ++i) j.place[4 * i] = 1.0, j.base[9 + i] = a.has(BASED) ? gravity[i] : 0.0;
        for (int i = 0; i < VECTORS; ++i) {
            j.in[i] = in[i].data(), j.in_step[i] = i == Q ? nq : nv;
            if (a.in[i] == ZEROS) j.in[i] = zeros.data(), j.in_step[i] = 0;
            if (i > 0 && a.in[i] == COORDINATES) j.in[i] = in[Q].data(), j.in_step[i] = nq;
        }
        if (pulled && a.has(PULLED_IN_OWN_AXES)) j.wrenches = wrenches.data(), j.wrench_count = 1;
        if (!pulled || !a.has(PULLED)) return j;
        j.in[PULL] = in[PULL].data(), j.in_step[PULL] = 6 * tables.model.body_count + tables.model.modes;
        j.wrenches = wrenches.data(), j.wrench_count = static_cast<index>(wrenches.size()), j.turned = true;
        return j;
    }

private:
    static void append(Buffer<double>& to, const Buffer<double>& from) { to.insert(to.end(), from.begin(), from.end()); }

    void add(Random& random, index k) {
        const HingeKind kinds[] = {pin(0, 0.6, 0.8), slide(1, 0, 0), helical(0, 0, 1, 0.3), free_hinge(), spherical(), weld()};
        const HingeKind hinge = kinds[random.integer(0, k ? 5 : 4)];
        Hinge h = {};
        h.kind = hinge.kind, h.first = static_cast<index>(assembly.screws.size());
        for (const Screw& s : hinge.screws) assembly.screws.push_back(s);
        h.last = static_cast<index>(assembly.screws.size());
        assembly.hinges.push_back(h);
        Link link = {};
        link.parent = random.integer(0, 3) ? k - 1 : -1, link.hinge = k, link.q = nq, link.v = nv, link.mass = 1.5;
        for (int i = 0; i < 3; ++i) link.moment[4 * i] = 0.3;
        fill(random, link.com, 3), put_rotation(random, link.inboard.R), put_rotation(random, link.outboard.R);
        fill(random, link.inboard.p, 3), fill(random, link.outboard.p, 3);
        nq += h.kind == PRODUCT ? 1 : h.kind == WELD ? 0 : coordinates(h.kind);
        nv += h.kind == PRODUCT ? 1 : h.kind == WELD ? 0 : dofs(h.kind);
        if (k == 0 || random.integer(0, 2)) {
            const index n = random.integer(1, 10);
            assembly.modal.push_back(cloud(random, n, random.integer(0, 1) == 1));
            link.modal = static_cast<index>(assembly.modal.size()) - 1, link.held = random.integer(-1, 1);
            nq += n, nv += n;
        }
        if (link.parent >= 0 && assembly.links[at(link.parent)].modal >= 0) link.rides = random.integer(-1, 1);
        assembly.links.push_back(link);
    }
};

index size_of(Shape shape, const Model& m, index nodes) {
    switch (shape) {
        case NUMBER: return 1;
        case THREE: return 3;
        case SIX: return 6;
        case COORDINATES: return m.nq;
        case DOFS: return m.nv;
        case DOFS_DOFS: return m.nv * m.nv;
        case BODIES_3_3: return 9 * m.body_count;
        case BODIES_3: return 3 * m.body_count;
        case BODIES_6: return 6 * m.body_count;
        case NODES_3_3: return 9 * nodes;
        case NODES_3: return 3 * nodes;
        case NODES_6: return 6 * nodes;
        case SIXES: return 6 * nodes;
        case SIXES_DOFS: return 6 * nodes * m.nv;
        default: return 0;
    }
}

struct Results {
    Buffer<double> y[OUTPUTS];
    bool fine = true;

    // One state after the other, or all in a batch; each on memory of its own, full of NaN.
    Results(const Algorithm& a, const FlexibleCase& c, Job job, bool batch) {
        for (int i = 0; i < OUTPUTS; ++i) {
            const index size = size_of(a.out[i], c.tables.model, static_cast<index>(c.frames.size()));
            y[i] = Buffer<double>(at(size * c.count), -7.0);
            job.out[i] = y[i].data(), job.out_step[i] = size;
        }
        for (index first = 0; first < c.count; first += batch ? c.count : 1) {
            Workspace space;
            const std::size_t bytes = ((batch ? a.batch_bytes(job) : a.one_bytes(job)) + 63) / 64 * 64 + 64;
            double* x = static_cast<double*>(space.hold(bytes));
            for (std::size_t i = 0; i < bytes / sizeof(double); ++i) x[i] = std::numeric_limits<double>::quiet_NaN();
            fine = fine && (batch ? a.batch(job, 0, c.count, x) : a.one(job, first, first + 1, x));
        }
    }
};

const Algorithm& named(const char* name) {
    for (const Algorithm* a : algorithms_of(table, true))
        if (std::strcmp(a->name, name) == 0) return *a;
    expect(false, name);
    std::exit(1);
}

Results singly(const char* name, const FlexibleCase& c, const Job& job) { return Results(named(name), c, job, false); }

// Batches give what single states give; refused by both alike.
bool test_batches(const FlexibleCase& c, bool pulled) {
    bool all = true;
    for (const Algorithm* a : algorithms_of(table, true)) {
        const Results one(*a, c, c.job(*a, pulled), false), several(*a, c, c.job(*a, pulled), true);
        expect(one.fine == several.fine, a->name);
        all = all && one.fine;
        for (int i = 0; i < OUTPUTS && one.fine; ++i) expect(close(several.y[i], one.y[i]), a->name);
    }
    return all;
}

void test_forward_of_inverse(FlexibleCase& c, bool pulled) {
    const Algorithm &inverse = named("inverse_dynamics"), &forward = named("forward_dynamics");
    const Buffer<double> vdot = c.in[X];
    const Results force(inverse, c, c.job(inverse, pulled), false);
    c.in[X] = force.y[0];
    const Results back(forward, c, c.job(forward, pulled), false);
    c.in[X] = vdot;
    double scale = 1.0, worst = 0.0;
    for (std::size_t i = 0; i < vdot.size(); ++i)
        scale = std::fmax(scale, std::fabs(force.y[0][i])), worst = std::fmax(worst, std::fabs(back.y[0][i] - vdot[i]));
    expect(worst <= 1e-8 * scale, "forward dynamics of inverse dynamics");
}

// v* M v / 2 is the kinetic energy, and M^-1 M is I.
void test_mass_matrix(const FlexibleCase& c) {
    const index n = c.nv;
    const Results M = singly("mass_matrix", c, c.job(named("mass_matrix"), false));
    const Results inverse = singly("mass_matrix_inverse", c, c.job(named("mass_matrix_inverse"), false));
    const Results kinetic = singly("kinetic_energy", c, c.job(named("kinetic_energy"), false));
    for (index s = 0; s < c.count; ++s) {
        double twice = 0.0, off = 0.0, scale = 0.0;
        for (index i = 0; i < n; ++i)
            for (index j = 0; j < n; ++j) {
                twice += c.in[V][at(s * n + i)] * M.y[0][at((s * n + i) * n + j)] * c.in[V][at(s * n + j)];
                double product = i == j ? -1.0 : 0.0;
                for (index k = 0; k < n; ++k) {
                    const double term = inverse.y[0][at((s * n + i) * n + k)] * M.y[0][at((s * n + k) * n + j)];
                    product += term, scale = std::fmax(scale, std::fabs(term));
                }
                off = std::fmax(off, std::fabs(product));
            }
        expect(std::fabs(0.5 * twice - kinetic.y[0][at(s)]) <= 1e-11 * std::fmax(1.0, std::fabs(twice)), "kinetic energy");
        expect(off <= 1e-9 * scale, "inverse of the mass matrix");
    }
}

// Energy grows by what forces do: d/dt (kinetic + potential) = v . T, by differences along a motion.
void test_power(FlexibleCase& c) {
    const index n = c.nv;
    const Algorithm& inverse = named("inverse_dynamics");
    const Results force(inverse, c, c.job(inverse, false), false);
    const Buffer<double> q = c.in[Q], v = c.in[V];
    Buffer<double> energy[2];
    for (int side = 0; side < 2; ++side) {
        const double h = side ? 1e-4 : -1e-4;
        Buffer<double> step = v;
        for (std::size_t i = 0; i < step.size(); ++i) step[i] = h * v[i];
        Job job = c.job(named("integrate"), false);
        job.in[V] = step.data();
        const Results moved = singly("integrate", c, job);
        c.in[Q] = moved.y[0];
        for (std::size_t i = 0; i < v.size(); ++i) c.in[V][i] = v[i] + h * c.in[X][i];
        energy[side] = singly("kinetic_energy", c, c.job(named("kinetic_energy"), false)).y[0];
        const Results potential = singly("potential_energy", c, c.job(named("potential_energy"), false));
        for (index s = 0; s < c.count; ++s) energy[side][at(s)] += potential.y[0][at(s)];
        c.in[Q] = q, c.in[V] = v;
    }
    for (index s = 0; s < c.count; ++s) {
        double power = 0.0, scale = 1.0;
        for (index i = 0; i < n; ++i) power += v[at(s * n + i)] * force.y[0][at(s * n + i)], scale = std::fmax(scale, std::fabs(force.y[0][at(s * n + i)]));
        const double slope = (energy[1][at(s)] - energy[0][at(s)]) / 2e-4;
        expect(std::fabs(slope - power) <= 2e-5 * scale, "power of forces");
    }
}

// d f along the dofs, in v and in x by central differences, of the first state.
void test_derivatives(const char* function, const char* derivatives, FlexibleCase& c, bool pulled) {
    const Algorithm &f = named(function), &d = named(derivatives);
    const index n = c.nv;
    const Results D(d, c, c.job(d, pulled), false);
    const Buffer<double> q = c.in[Q];
    double scale = 1.0;
    for (const Buffer<double>& y : D.y)
        for (index k = 0; k < n * n && !y.empty(); ++k) scale = std::fmax(scale, std::fabs(y[at(k)]));
    for (int which : {Q, V, X})
        for (index j = 0; j < n; ++j) {
            Buffer<double> side[2];
            for (int k = 0; k < 2; ++k) {
                const double h = k ? 1e-5 : -1e-5;
                Buffer<double> step(at(n * c.count), 0.0);
                step[at(j)] = h;
                Job move = c.job(named("integrate"), false);
                move.in[V] = step.data();
                if (which == Q) c.in[Q] = singly("integrate", c, move).y[0];
                else c.in[which][at(j)] += h;
                side[k] = Results(f, c, c.job(d, pulled), false).y[0];
                if (which == Q) c.in[Q] = q;
                else c.in[which][at(j)] -= h;
            }
            for (index i = 0; i < n; ++i) {
                const double slope = (side[1][at(i)] - side[0][at(i)]) / 2e-5;
                expect(std::fabs(slope - D.y[which][at(i * n + j)]) <= 1e-5 * scale, derivatives);
            }
        }
}

void test_refusals() {
    ModalNumbers wrong;
    wrong.n = 2;
    bool refused = false;
    try {
        wrong.check();
    } catch (const std::invalid_argument&) {
        refused = true;
    }
    expect(refused, "modal data of other sizes");
}

}  // namespace
}  // namespace soacraft

void test_flexible(unsigned seed) {
    using namespace soacraft;
    Random random(seed);
    FlexibleCase c(random);
    const bool pulled = seed % 2 == 1;
    if (!test_batches(c, pulled) && gives_up("a flexible body is bent too far")) return;
    test_forward_of_inverse(c, pulled);
    test_mass_matrix(c);
    test_power(c);
    if (seed < 12) test_derivatives("inverse_dynamics", "inverse_dynamics_derivatives", c, pulled);
    if (seed < 12) test_derivatives("forward_dynamics", "forward_dynamics_derivatives", c, pulled);
    if (seed == 0) test_refusals();
}
