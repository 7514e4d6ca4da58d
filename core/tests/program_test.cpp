// Programs against dense matrices: random forests with blocks of any size, rigid trees, packs against single states.
#include "soacraft/program/rate_plan.hpp"
#include "soacraft/program/rigid_plan.hpp"
#include "soacraft/program/written.hpp"
#include "support.hpp"

namespace soacraft {
namespace program {
namespace portable {
extern const Machine kernels;
}

namespace {

using D = Dense<double>;

D times(const D& X, const D& Y, bool left = false, bool right = false) {
    const index rows = left ? X.cols : X.rows, inner = left ? X.rows : X.cols, cols = right ? Y.rows : Y.cols;
    D Z(rows, cols);
    for (index r = 0; r < rows; ++r)
        for (index c = 0; c < cols; ++c)
            for (index i = 0; i < inner; ++i)
                Z.at(r, c) += X.a[left ? i * X.cols + r : r * X.cols + i] * Y.a[right ? c * Y.cols + i : i * Y.cols + c];
    return Z;
}

D combined(double a, const D& X, double b, const D& Y) {
    D Z(X.rows, X.cols);
    for (std::size_t i = 0; i < Z.a.size(); ++i) Z.a[i] = a * X.a[i] + b * Y.a[i];
    return Z;
}

double largest(const D& X) {
    double most = 0.0;
    for (double x : X.a) most = std::fmax(most, std::fabs(x));
    return most;
}

D unit(index n) {
    D I(n, n);
    for (index i = 0; i < n; ++i) I.at(i, i) = 1.0;
    return I;
}

// A plan whose blocks are given, numbers for some states, and everything that was made of them.
struct Case {
    index n;
    Indices order, parent, node, hinge;
    Builder builder;
    index states;
    std::vector<Buffer<double>> given;  // by maker: a row for each state
    Buffer<double> arena, work;
    Buffer<unsigned char> made;

    static Indices parents(Random& random, const Indices& order) {
        Indices parent(order.size(), -1);
        for (std::size_t i = 1; i < order.size(); ++i)
            if (random.integer(0, 4) > 0) parent[order[i]] = order[random.integer(0, index(i) - 1)];
        return parent;
    }
    static Indices dofs(Random& random, const Indices& node, bool rigid) {
        Indices hinge(node.size(), 0);
        for (std::size_t k = 0; k + 1 < node.size(); ++k) {
            const index size = node[k + 1] - node[k];
            hinge[k + 1] = hinge[k] + (rigid && random.integer(0, 2) ? 1 : random.integer(0, size));
        }
        return hinge;
    }
    Case(Random& random, bool rigid)
        : n(random.integer(1, 8)), order(random.permutation(n)), parent(parents(random, order)),
          node(random.offsets(n, rigid)), hinge(dofs(random, node, rigid)), builder(order, parent, node, hinge),
          states(random.integer(1, 5)) {
        builder.edges(0, 0), builder.diagonal(1, 0), builder.diagonal(0, 0);
        for (index f = 0; f < 3; ++f) {
            builder.given(f, true);
            give(random, f);
        }
        Indices some;
        for (index k = 0; k < n; ++k)
            if (random.integer(0, 1)) some.push_back(k);
        const Indices first(some.size(), 0);
        give(random, add_given(builder, 0, builder.add_space({0, 1}), some, first, true));  // field 3: a column
    }
    void give(Random& random, index f) {
        given.push_back({});
        for (index s = 0; s < states; ++s) {
            Buffer<double> row = random.numbers<double>(length(f));
            if (f == 2) row = inertias(row);
            given.back().insert(given.back().end(), row.begin(), row.end());
        }
    }
    index length(index f) const { return builder.field(f).start[builder.field(f).count]; }
    // X X* + I of every block.
    Buffer<double> inertias(const Buffer<double>& x) const {
        Buffer<double> made_of(x.size(), 0.0);
        const Field& f = builder.field(2);
        for (index k = 0; k < n; ++k) {
            const index size = node[k + 1] - node[k], at = f.start[k];
            for (index r = 0; r < size; ++r)
                for (index c = 0; c < size; ++c) {
                    made_of[at + r * size + c] = r == c;
                    for (index i = 0; i < size; ++i) made_of[at + r * size + c] += x[at + r * size + i] * x[at + c * size + i];
                }
        }
        return made_of;
    }
    // The dense matrix of a field as it is in the arena.
    D dense(index number) const {
        const Field& f = builder.field(number);
        const Indices one{0, 1};
        const Indices& rows = f.rows ? hinge : node;
        const Indices& cols = f.cols == 2 ? one : f.cols ? hinge : node;
        D X(rows.back(), cols.back());
        for (index i = 0; i < f.count; ++i) {
            const index height = rows[f.row[i] + 1] - rows[f.row[i]], width = cols[f.col[i] + 1] - cols[f.col[i]];
            for (index r = 0; r < height; ++r)
                for (index c = 0; c < width; ++c)
                    X.at(rows[f.row[i]] + r, cols[f.col[i]] + c) = arena[f.at + f.start[i] + r * width + c];
        }
        return X;
    }
    bool make(const Program& p, index state) {
        arena.assign(builder.plan.arena, 0.0), work.assign(builder.plan.work, 0.0);
        made.assign(builder.makers.size(), 0);
        for (index f = 0; f < 4; ++f) {
            std::copy(given[f].begin() + state * length(f), given[f].begin() + (state + 1) * length(f),
                      arena.begin() + builder.field(f).at);
            made[f] = 1;
        }
        Job job = {};
        job.program = &p;
        return program::portable::kernels.make_one(job, arena.data(), made.data(), work.data());
    }
};

Step step(int act, index field, index in, index other, index out, double a = 1.0, double b = 0.0, index size = 0) {
    return {act, field, in, other, out, {a, b}, size, nullptr};
}

// The program with these steps; registers beyond the first two are of the spaces given.
Written written(Builder& b, const Indices& spaces, Buffer<Step> steps, const Indices& fields) {
    Written w;
    w.builder = &b;
    std::vector<char> seen(b.makers.size(), 0);
    for (Step& s : steps) {
        if (s.act != COMBINE) w.need(s.field, seen);
        if (s.act >= GATHER && s.act != COMBINE) w.lists.push_back(b.above(s.field)), s.list = w.lists.back().data();
    }
    for (index f : fields) w.need(f, seen);
    w.steps = std::move(steps);
    index room = 0;
    for (std::size_t r = 0; r < spaces.size(); ++r) {
        w.registers.push_back(room);
        if (r > 1) room += b.spaces[spaces[r]].offset[b.count()];
    }
    w.program = {&b.plan, w.needs.data(), index(w.needs.size()), w.steps.data(), index(w.steps.size()), w.registers.data(),
                 room, b.spaces[spaces[1]].offset[b.count()], b.spaces[spaces[0]].offset[b.count()]};
    return w;
}

void test_fields(Case& c) {
    Builder& b = c.builder;
    const index P = b.riccati(0, 1, 2), R = b.lyapunov(0, 2, 0, false), Y = b.lyapunov(0, 2, 0, true);
    const index K = b.product(0, false, P + 2, false), G_H = b.product(P + 2, false, 1, false), P_plus = b.past_hinge(P);
    const index turned = b.product(1, true, P + 1, false), D_inv = b.inverse(P + 1), E_psi = b.remainder(0, K, 1);
    const index sum = b.sum(2.0, 0, false, -3.0, 0, true, 0), diagonal = b.sum(1.0, sum, false, 0.0, -1, false, 1);
    expect(b.riccati(0, 1, 2) == P && b.product(0, false, P + 2, false) == K && b.past_hinge(P) == P_plus &&
               b.remainder(0, K, 1) == E_psi,
           "a field is made once");
    const Written w = written(b, {0, 0}, {}, {P, P_plus, R, Y, K, G_H, turned, D_inv, sum, diagonal, E_psi});
    if (!c.make(w.program, 0)) {
        gives_up("a hinge of a random model is in doubt");
        return;
    }
    const D A = c.dense(0), H = c.dense(1), M = c.dense(2), p = c.dense(P), p_plus = c.dense(P_plus), d = c.dense(P + 1),
            g = c.dense(P + 2);
    expect(close(p.a, combined(1, M, 1, times(times(A, p_plus), A, false, true)).a), "P = M + E P+ E*");
    expect(close(d.a, times(times(H, p), H, false, true).a), "D = H P H*");
    expect(close(times(g, d).a, times(p, H, false, true).a), "G D = P H*");
    expect(close(p_plus.a, combined(1, p, -1, times(times(g, H), p)).a), "P+ = (I - G H) P");
    expect(close(c.dense(R).a, combined(1, M, 1, times(times(A, c.dense(R)), A, false, true)).a), "R = M + E R E*");
    expect(close(c.dense(K).a, times(A, g).a) && close(c.dense(G_H).a, times(g, H).a), "products");
    expect(close(c.dense(E_psi).a, combined(1, A, -1, times(times(A, g), H)).a), "E_psi = E_phi - K H");
    expect(close(c.dense(turned).a, times(H, d, true).a), "a product with a transpose");
    const D inverse = c.dense(D_inv), gap = combined(1, times(inverse, d), -1, unit(d.rows));
    expect(largest(gap) <= 1e-14 * (1.0 + 36.0 * largest(inverse) * largest(d)), "D^-1 D = I");
    expect(close(c.dense(sum).a, combined(2, A, -3, times(A, unit(A.rows), true)).a), "sums");
    for (double x : c.dense(diagonal).a) expect(x == 0.0, "edges are off the diagonal");
    const D y = c.dense(Y), outward = times(times(A, y, true), A);
    for (index k = 0; k < c.n; ++k)
        for (index r = c.node[k]; r < c.node[k + 1]; ++r)
            for (index s = c.node[k]; s < c.node[k + 1]; ++s)
                expect(std::fabs(y.a[r * y.cols + s] - M.a[r * y.cols + s] - outward.a[r * y.cols + s]) <=
                           1e-12 * (1.0 + std::fabs(y.a[r * y.cols + s])),
                       "Y = M + diagOf{ E* Y E }");
}

// H (I - E)^-1 M (I - E)^-* H* x and the tilde forms, against dense matrices; packs against single states.
void test_steps(Case& c, Random& random) {
    Builder& b = c.builder;
    const index N = c.node[c.n], m = random.integer(1, 3);
    const Written w = written(b, {1, 1, 0, 0},
                              {step(APPLY_T, 1, 0, -1, 2), step(SCATTER, 0, 2, -1, 3), step(APPLY, 2, 3, -1, 2),
                               step(GATHER, 0, 2, -1, 3), step(APPLY, 1, 3, -1, 1),
                               step(COMBINE, -1, 1, 0, 1, 0.5, -2.0, c.hinge[c.n])},
                              {});
    const Written tilde = written(b, {0, 0, 0}, {step(GATHER_TILDE, 0, 0, -1, 2), step(SCATTER_TILDE, 0, 2, -1, 1)}, {});
    const Machine& on = program::portable::kernels;
    const Buffer<double> x = random.numbers<double>(c.states * c.hinge[c.n] * m), z = random.numbers<double>(N * m);
    Buffer<double> singly(x.size());
    for (index s = 0; s < c.states; ++s) {
        expect(c.make(w.program, s), "given numbers are in no doubt");
        Buffer<double> registers(w.program.register_room * m);
        Job job = {};
        job.program = &w.program, job.x = x.data() + s * c.hinge[c.n] * m, job.columns = m;
        job.out = singly.data() + s * c.hinge[c.n] * m;
        on.run_one(job, c.arena.data(), registers.data());
        const D A = c.dense(0), H = c.dense(1), M = c.dense(2);
        D phi = unit(N), power = unit(N);
        for (index i = 0; i < c.n; ++i) power = times(power, A), phi = combined(1, phi, 1, power);
        const D Mcal = times(times(times(times(H, phi), M), phi, false, true), H, false, true);
        const Buffer<double> own(x.begin() + s * c.hinge[c.n] * m, x.begin() + (s + 1) * c.hinge[c.n] * m);
        const Buffer<double> product = Mcal.times(own, m, false);
        for (std::size_t i = 0; i < own.size(); ++i) {
            const double wanted = 0.5 * product[i] - 2.0 * own[i];
            expect(std::fabs(singly[s * own.size() + i] - wanted) <= 1e-11 * (1.0 + std::fabs(wanted)), "H phi M phi* H* x");
        }
        Buffer<double> out(N * m), more(tilde.program.register_room * m);
        Job other = {};
        other.program = &tilde.program, other.x = z.data(), other.columns = m, other.out = out.data();
        on.run_one(other, c.arena.data(), more.data());
        const D phi_tilde = combined(1, phi, -1, unit(N));
        expect(close(out, phi_tilde.times(phi_tilde.times(z, m, false), m, true)), "tilde sweeps");
    }
    Job job = {};
    std::vector<const double*> given(b.makers.size(), nullptr);
    Indices steps(b.makers.size(), 0);
    for (index f = 0; f < 4; ++f) given[f] = c.given[f].data(), steps[f] = c.length(f);
    Buffer<double> abreast(x.size());
    job.program = &w.program, job.given = given.data(), job.given_step = steps.data();
    job.x = x.data(), job.x_step = c.hinge[c.n] * m, job.columns = m, job.out = abreast.data(), job.out_step = job.x_step;
    void* const memory = std::aligned_alloc(64, (on.batch_bytes(job) + 63) / 64 * 64 + 64);
    expect(on.run_batch(job, 0, c.states, memory) == -1, "a batch in no doubt");
    std::free(memory);
    expect(close(abreast, singly), "a pack gives what its states give one by one");
}

// What derivatives are made of: sweeps of a column as those of a dense one, cross products of six numbers.
void test_rates(Case& c) {
    Builder& b = c.builder;
    index sweep[4], cross[3] = {-1, -1, -1};
    for (int i = 0; i < 4; ++i) sweep[i] = add_sweep(b, GATHER + i, 0, 3);
    bool six = true;
    for (index k = 0; k < c.n; ++k) six = six && c.node[k + 1] - c.node[k] >= 6;
    for (int kind = 0; kind < 3 && six; ++kind) cross[kind] = add_cross(b, kind, 3, 0, {});
    Indices wanted(sweep, sweep + 4);
    if (six) wanted.insert(wanted.end(), cross, cross + 3);
    const Written w = written(b, {0, 0}, {}, wanted);
    expect(c.make(w.program, 0), "given numbers are in no doubt");
    const D A = c.dense(0), x = c.dense(3);
    D phi = unit(A.rows), power = unit(A.rows);
    for (index i = 0; i < c.n; ++i) power = times(power, A), phi = combined(1, phi, 1, power);
    const D tilde = combined(1, phi, -1, unit(A.rows));
    const D products[] = {times(phi, x), times(phi, x, true), times(tilde, x), times(tilde, x, true)};
    for (int i = 0; i < 4; ++i) expect(close(c.dense(sweep[i]).a, products[i].a), "a sweep of a column");
    if (!six) return;
    const D F = c.dense(cross[FORCE_CROSS]), W = c.dense(cross[TURNING]), N = c.dense(cross[MOMENTUM_CROSS]);
    for (index k = 0; k < c.n; ++k) {
        const double* const s = x.a.data() + c.node[k];
        const double f[] = {0.3, -0.7, 1.1, 0.4, 0.9, -1.3};
        const auto at = [&](const D& X, int r) {  // row r of block k with f
            double sum = 0.0;
            for (int i = 0; i < 6; ++i) sum += X.a[(c.node[k] + r) * X.cols + c.node[k] + i] * f[i];
            return sum;
        };
        for (int r = 0; r < 3; ++r) {
            const int u = (r + 1) % 3, v = (r + 2) % 3;
            const auto entry = [&](const double* p, const double* q) { return p[u] * q[v] - p[v] * q[u]; };  // of p x q
            const double turned = entry(s, f), moved = entry(s, f + 3), lever = entry(s + 3, f + 3), back = entry(s + 3, f);
            expect(std::fabs(at(F, r) - turned - lever) < 1e-12 && std::fabs(at(F, r + 3) - moved) < 1e-12, "crf(x) f");
            expect(std::fabs(at(W, r) - turned) < 1e-12 && std::fabs(at(W, r + 3) - moved) < 1e-12, "crf([w; 0]) f");
            expect(std::fabs(at(N, r) + turned + lever) < 1e-12 && std::fabs(at(N, r + 3) + back) < 1e-12, "crf(f) x");
        }
    }
}

void test_refusals(Case& c) {
    Builder& b = c.builder;
    const auto refused = [&](auto make) {
        try {
            make();
        } catch (const std::invalid_argument&) {
            return true;
        }
        return false;
    };
    expect(refused([&] { b.product(0, false, 99, false); }), "a field that is not there");
    if (c.hinge[c.n] != c.node[c.n]) expect(refused([&] { b.product(0, false, 1, false); }), "spaces that differ");
    bool edges = false;
    for (index p : c.parent) edges = edges || p >= 0;
    if (edges) expect(refused([&] { b.inverse(0); }), "the inverse of edges");
    if (edges) expect(refused([&] { b.on_diagonal(0); }), "edges on the diagonal");
    expect(refused([&] { b.above(2); }), "a diagonal on the edges");
    expect(refused([&] { b.past_hinge(2); }), "P+ of what no Riccati equation gives");
    if (edges) expect(refused([&] { b.remainder(2, 0, 2); }), "a product taken from blocks that are not there");
}

}  // namespace

void run_programs(unsigned seed) {
    Random random(seed + 77000);
    Case c(random, seed % 2 == 0);
    test_steps(c, random);
    test_fields(c);
    test_rates(c);
    test_refusals(c);
}

}  // namespace program
}  // namespace soacraft

void test_programs(unsigned seed) { soacraft::program::run_programs(seed); }
