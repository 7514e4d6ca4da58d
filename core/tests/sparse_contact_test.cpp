// Contact problems of free bodies in heaps, by what their rows move: S = Y Y*, factors of nodes, and impulses as those of the
// dense problem.
#include "soacraft/contact/solvers/islands.hpp"
#include "soacraft/contact/solvers/sparse_solver.hpp"
#include "support.hpp"

namespace soacraft {
namespace {

using namespace complementarity;

struct Heap {
    SparseRows rows;
    std::vector<Block> blocks;
    std::vector<double> b;
};

std::size_t at(index i) { return static_cast<std::size_t>(i); }

// Contacts of neighbours in a row of nodes of several widths, and of some with the ground; each block of unit compliance.
Heap random_heap(unsigned seed) {
    std::mt19937 engine(seed);
    const auto normal = [&] { return std::normal_distribution<double>()(engine); };
    const auto pick = [&](int below) { return static_cast<int>(engine() % static_cast<unsigned>(below)); };
    Heap x;
    const int count = 2 + pick(8);
    index length = 0;
    for (int i = 0; i < count; ++i) {
        const index width = pick(3) ? 6 : 1 + pick(5);
        x.rows.nodes.push_back({length, width}), length += width;
    }
    std::vector<double> v(at(length)), y(at(length));
    for (double& each : v) each = normal();
    for (int i = 0; i < 2 * count; ++i) {
        const int kind = pick(8), a = pick(count), c = pick(3) ? a - 1 - pick(2) : -1;
        const index d = kind < 6 ? (kind == 0 ? 1 : kind == 5 ? 6 : 3) : 1, first = x.rows.rows;
        x.blocks.push_back({kind < 6 ? CONE : kind == 6 ? BOX : FREE, first, d, kind == 6 ? 0.5 : 0.0});
        x.rows.begin(d), x.rows.add_piece(a);
        if (c >= 0) x.rows.add_piece(c);
        x.rows.end();
        const RowBlock& block = x.rows.blocks.back();
        for (index r = 0; r < d; ++r) {
            double* row = x.rows.row(block, r);
            double sum = 0;
            for (index k = 0; k < block.width; ++k) row[k] = normal(), sum += row[k] * row[k];
            for (index k = 0; k < block.width; ++k) row[k] *= (r > 0 ? 0.4 : 1.0) / std::sqrt(sum);
        }
        std::vector<double> u(at(d), 0.0);
        x.rows.pull(block, v.data(), u.data());
        x.b.insert(x.b.end(), u.begin(), u.end());
    }
    return x;
}

// (I + Y* X Y)^-1 times its own product.
void test_factor(const Heap& x, unsigned seed) {
    std::mt19937 engine(seed);
    const auto normal = [&] { return std::normal_distribution<double>()(engine); };
    const SparseRows& rows = x.rows;
    std::vector<double> X(rows.blocks.size() * WIDEST * WIDEST, 0.0), y(at(rows.length())), z(y.size());
    std::vector<char> counts(rows.blocks.size());
    for (double& each : y) each = normal();
    z = y;
    for (std::size_t c = 0; c < rows.blocks.size(); ++c) {
        const RowBlock& block = rows.blocks[c];
        double* mine = X.data() + c * WIDEST * WIDEST;
        counts[c] = engine() % 4 != 0;
        for (index i = 0; counts[c] && i < block.rows; ++i)
            for (index j = 0; j < block.rows; ++j) mine[i * block.rows + j] = (i == j ? 5.0 : 0.0) + 0.3 * normal();
        double u[WIDEST] = {}, p[WIDEST] = {};
        rows.pull(block, y.data(), u);
        for (index i = 0; i < block.rows; ++i)
            for (index j = 0; j < block.rows; ++j) p[i] += mine[i * block.rows + j] * u[j];
        rows.push(block, p, z.data());
    }
    NodeFactor factor;
    expect(factor.factor(rows, X.data(), counts), "a positive matrix of nodes has its factors");
    factor.solve(z.data());
    for (std::size_t i = 0; i < y.size(); ++i) expect(std::fabs(z[i] - y[i]) < 1e-10, "factors of nodes solve their equations");
}

void test_solver(Heap& x) {
    SparseRows& rows = x.rows;
    const index n = rows.rows;
    std::vector<double> S(at(n * n)), p(at(n)), sparse(at(n)), u(at(n)), product(at(n)), y(at(rows.length())), F(at(n));
    rows.product(S.data());
    const Problem dense = {n, x.blocks.data(), static_cast<index>(x.blocks.size()), S.data(), x.b.data()};
    Options options;
    Solver solver;
    SparseSolver by_rows;
    const Outcome one = solver.solve(dense, options, p.data());
    const Outcome two = by_rows.solve(x.blocks.data(), rows, x.b.data(), options, sparse.data());
    if (!(two.residual <= options.tolerance) && gives_up("rows that only S solves")) return;  // dynamics/scaling.hpp asks it
    velocity(dense, sparse.data(), u.data());
    rows.multiply(sparse.data(), y.data(), product.data());
    double size = 0, most = 0, away = 0;
    for (index i = 0; i < n; ++i) {
        size = std::fmax(size, std::fabs(x.b[at(i)])), most = std::fmax(most, std::fabs(p[at(i)]));
        away = std::fmax(away, std::fabs(sparse[at(i)] - p[at(i)]));
    }
    for (index i = 0; i < n; ++i)
        expect(std::fabs(product[at(i)] + x.b[at(i)] - u[at(i)]) < 1e-12 * (size + most), "products by rows are those of S");
    expect(natural_map(dense, sparse.data(), u.data(), F.data()) <= 1.1 * options.tolerance * size, "impulses of rows obey the laws");
    expect(one.unique == two.unique, "impulses of rows are as unique as those of S");
    if (away > 1e-5 * (size + most)) gives_up("Coulomb's law has several solutions");
}

}  // namespace
}  // namespace soacraft

void test_sparse_contact(unsigned seed) {
    using namespace soacraft;
    Heap x = random_heap(seed);
    test_factor(x, seed);
    test_solver(x);
}
