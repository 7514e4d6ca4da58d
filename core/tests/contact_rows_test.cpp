// Rows of contacts and dofs on random trees: their compliance by articulated sweeps against velocities, the mass matrix of the
// kinetic energy, and the power of their forces; scaled problems against their own laws.
#include "soacraft/contact/dynamics/scaling.hpp"
#include "soacraft/contact/dynamics/tree_rows.hpp"
#include "random_tree.hpp"

namespace soacraft {
namespace {

struct Rows {
    std::vector<Touch> touches;
    std::vector<DofRow> dofs;
};

Vec3 point(Random& random) {
    double x[3];
    fill(random, x, 3);
    return {x[0], x[1], x[2]};
}

Rows random_rows(Random& random, const Model& model) {
    Rows made;
    const index widths[] = {1, 3, 4, 6};
    for (index i = 0; i < random.integer(1, 5); ++i) {
        double R[9];
        put_rotation(random, R);
        Touch t{random.integer(-1, model.count - 1), random.integer(-1, model.count - 1), point(random), point(random),
                {{R[0], R[3], R[6]}, {R[1], R[4], R[7]}, {R[2], R[5], R[8]}}, widths[random.integer(0, 3)]};
        made.touches.push_back(t);
    }
    for (index i = 0; i < random.integer(0, 3); ++i)
        made.dofs.push_back({random.integer(0, model.nv - 1), random.integer(0, 1) ? 1.0 : -1.0});
    return made;
}

// N v, row by row, where the tree was placed with v.
std::vector<double> velocities(const TreeRows& tree, const Rows& rows, const double* v) {
    std::vector<double> u;
    for (const Touch& t : rows.touches) {
        const Twist V = tree.velocity(t.b, t.at_b) - tree.velocity(t.a, t.at_a);
        for (index r = 0; r < t.rows; ++r) u.push_back(r < 3 ? dot(t.axes[r], V.v) : dot(t.axes[r - 3], V.w));
    }
    for (const DofRow& x : rows.dofs) u.push_back(x.sign * v[x.dof]);
    return u;
}

void test_rows(unsigned seed) {
    Random random(seed);
    const RandomTree made(random, random.integer(1, 7), seed % 3 == 0);
    const Model& model = made.model;
    const Buffer<double> q = made.state(random), v = random.numbers<double>(model.nv), M = by_energy(model, q);
    TreeRows tree(model);
    tree.place(q.data(), v.data());
    const Rows rows = random_rows(random, model);
    expect(tree.articulate(), "every hinge has something to move");
    for (const Touch& t : rows.touches) tree.add(t);
    for (const DofRow& x : rows.dofs) tree.add(x);
    const index n = tree.rows.rows;
    const auto size = static_cast<std::size_t>(n), nv = static_cast<std::size_t>(model.nv);
    const Buffer<double> p = random.numbers<double>(n);
    std::vector<double> S(size * size), dv(nv), contact(nv), held(nv);
    tree.rows.product(S.data());
    tree.release(tree.rows, p.data(), dv.data());
    tree.push(p.data(), contact.data(), held.data());
    double scale = 1.0;
    for (const double x : dv) scale = std::fmax(scale, std::fabs(x));
    for (std::size_t i = 0; i < nv; ++i) {  // Mcal dv = N* p
        double sum = 0.0, most = 0.0;
        for (std::size_t j = 0; j < nv; ++j) sum += M[i * nv + j] * dv[j], most = std::fmax(most, std::fabs(M[i * nv + j]));
        expect(std::fabs(sum - contact[i] - held[i]) < 1e-8 * scale * (1.0 + most), "impulses of rows change velocities by the mass matrix");
    }
    tree.place(q.data(), dv.data());
    const std::vector<double> u = velocities(tree, rows, dv.data());
    expect(u.size() == size, "rows are counted");
    for (std::size_t i = 0; i < size; ++i) {
        double sum = 0.0;
        for (std::size_t j = 0; j < size; ++j) {
            sum += S[i * size + j] * p[j];
            expect(S[i * size + j] == S[j * size + i], "a compliance is symmetric");
        }
        expect(std::fabs(sum - u[i]) < 1e-8 * scale, "the compliance of rows is that of their velocities");
    }
}

// Two rows on the wall of their cones, one that nothing presses, one that nothing moves.
void test_scaling() {
    namespace scaled = contact::SOACRAFT_TARGET;
    const double mu[] = {0.5, 0.5, 0.0, 0.0, 0.0};
    const std::vector<scaled::Law> laws = {{complementarity::CONE, 3, mu, 0.0}, {complementarity::BOX, 1, nullptr, 0.25},
                                            {complementarity::CONE, 1, nullptr, 0.0}, {complementarity::CONE, 1, nullptr, 0.0}};
    std::vector<double> b = {-3.0, 4.0, 0.0, 1.0, 2.0, 1.0}, p(6, 0.0);
    complementarity::SparseRows rows;  // each moves a dof of its own, the last nothing
    for (index i = 0; i < 6; ++i) rows.nodes.push_back({i, 1});
    for (const scaled::Law& law : laws) {
        rows.begin(law.rows);
        for (index i = rows.rows; i-- > rows.blocks.back().row;) rows.add_piece(i);
        rows.end();
        const complementarity::RowBlock& block = rows.blocks.back();
        for (index i = 0; i < law.rows; ++i) rows.row(block, i)[law.rows - 1 - i] = block.row < 5 ? std::sqrt(0.5) : 0.0;
    }
    scaled::ScaledProblem problem;
    expect(problem.scale(laws, rows, b.data()), "a row that nothing moves may open");
    expect(problem.solve(b.data(), 1e-12, p.data(), 6), "a ball that slides is solved");
    const double expected[] = {6.0, -3.0, 0.0, -0.25, 0.0, 0.0};
    for (std::size_t i = 0; i < 6; ++i) expect(std::fabs(p[i] - expected[i]) < 1e-10, "a ball that slides has its impulses");
    std::vector<int> states;
    problem.states(states, laws.size());
    expect(states == std::vector<int>{scaled::SLIP, scaled::SLIP, scaled::OPEN, scaled::OPEN}, "states of laws");
    b[5] = -1.0;
    expect(!problem.scale(laws, rows, b.data()), "a row that nothing moves and that must open is in doubt");
}

}  // namespace
}  // namespace soacraft

void test_contact_rows(unsigned seed) {
    soacraft::test_rows(seed);
    if (seed == 0) soacraft::test_scaling();
}
