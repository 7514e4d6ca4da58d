// Contact problems with random rows, often with forces that are not unique: what is solved obeys the laws; the pivots of
// Lemke solve complementarity problems of positive matrices.
#include "soacraft/contact/solvers/islands.hpp"
#include "soacraft/contact/solvers/lemke.hpp"
#include "support.hpp"

namespace soacraft {
namespace {

using namespace complementarity;

struct Made {
    std::vector<Block> blocks;
    std::vector<double> S, b;
    index rows = 0;
};

// S = J J*, b = J v: each block divided by the root of its mean diagonal.
Made random_problem(unsigned seed) {
    std::mt19937 engine(seed);
    const auto normal = [&] { return std::normal_distribution<double>()(engine); };
    const auto pick = [&](int below) { return static_cast<int>(engine() % static_cast<unsigned>(below)); };
    Made x;
    const int count = 1 + pick(8);
    for (int i = 0; i < count; ++i) {
        const int kind = pick(6);
        const index d = kind < 4 ? (kind == 0 ? 1 : kind == 3 ? 6 : 3) : 1;
        x.blocks.push_back({kind < 4 ? CONE : kind == 4 ? BOX : FREE, x.rows, d, kind == 4 ? 0.5 : 0.0});
        x.rows += d;
    }
    const index dofs = 1 + pick(3 * count + 3);
    std::vector<double> J(static_cast<std::size_t>(x.rows * dofs)), v(static_cast<std::size_t>(dofs));
    for (double& each : J) each = normal();
    for (double& each : v) each = normal();
    for (const Block& block : x.blocks) {
        double sum = 0;
        for (index i = block.first; i < block.first + block.rows; ++i) {
            for (index k = 0; k < dofs; ++k) {
                double& each = J[static_cast<std::size_t>(i * dofs + k)];
                if (i > block.first) each *= 0.4;
                sum += each * each;
            }
        }
        const double scale = 1 / std::sqrt(sum / static_cast<double>(block.rows));
        for (index i = block.first * dofs; i < (block.first + block.rows) * dofs; ++i) J[static_cast<std::size_t>(i)] *= scale;
    }
    x.S.assign(static_cast<std::size_t>(x.rows * x.rows), 0.0), x.b.assign(static_cast<std::size_t>(x.rows), 0.0);
    for (index i = 0; i < x.rows; ++i)
        for (index k = 0; k < dofs; ++k) {
            const double each = J[static_cast<std::size_t>(i * dofs + k)];
            x.b[static_cast<std::size_t>(i)] += each * v[static_cast<std::size_t>(k)];
            for (index j = 0; j < x.rows; ++j)
                x.S[static_cast<std::size_t>(i * x.rows + j)] += each * J[static_cast<std::size_t>(j * dofs + k)];
        }
    return x;
}

// The same problem twice, the second in velocities of a millionth of a millionth: each is solved by its own size.
void test_islands(const Made& x) {
    const auto at = [](index i) { return static_cast<std::size_t>(i); };
    const double small = 1e-12;
    Made both = x;
    for (Block block : x.blocks) {
        block.first += x.rows, block.bound *= small;
        both.blocks.push_back(block);
    }
    both.rows = 2 * x.rows, both.S.assign(at(4 * x.rows * x.rows), 0.0);
    for (double each : x.b) both.b.push_back(small * each);
    for (index i = 0; i < x.rows; ++i)
        for (index j = 0; j < x.rows; ++j)
            both.S[at(i * both.rows + j)] = both.S[at((i + x.rows) * both.rows + j + x.rows)] = x.S[at(i * x.rows + j)];
    std::vector<double> p(at(both.rows)), u(at(x.rows)), F(at(x.rows)), b(both.b.begin() + x.rows, both.b.end());
    const Problem problem = {both.rows, both.blocks.data(), static_cast<index>(both.blocks.size()), both.S.data(), both.b.data()};
    expect(Islands().solve(problem, Options(), p.data()).residual <= 1e-9, "islands of contact");
    std::vector<Block> blocks = x.blocks;
    for (Block& block : blocks) block.bound *= small;
    const Problem slow = {x.rows, blocks.data(), static_cast<index>(blocks.size()), x.S.data(), b.data()};
    velocity(slow, p.data() + x.rows, u.data());
    double size = 0;
    for (double each : b) size = std::fmax(size, std::fabs(each));
    expect(natural_map(slow, p.data() + x.rows, u.data(), F.data()) <= 1e-9 * size, "islands of contact");
}

// Along softer problems, with each of some weights: what arrives solves the problem.
bool test_softened(const Made& x) {
    const auto n = static_cast<std::size_t>(x.rows);
    const Problem problem = {x.rows, x.blocks.data(), static_cast<index>(x.blocks.size()), x.S.data(), x.b.data()};
    std::vector<double> p(n), u(n), F(n);
    Softened softened;
    index steps = 0, arrived = 0;
    const double wanted = 1e-9 * measure(problem, 1e-9);
    for (index turn = 0; turn < 3; ++turn) {
        if (!softened.follow(problem, turn, 1e-6, wanted, 8, 12, p.data(), steps)) continue;
        velocity(problem, p.data(), u.data());
        expect(natural_map(problem, p.data(), u.data(), F.data()) <= wanted, "a contact problem along softer ones");
        ++arrived;
    }
    return arrived > 0;
}

// From which contacts press, rightly or not: the same motion.
void test_patterns(const Problem& problem, const std::vector<double>& p, const std::vector<double>& u, double size) {
    Options options;
    options.pattern = true;
    for (int guess = 0; guess < 3; ++guess) {
        std::vector<double> start(p.size()), after(p.size());
        for (std::size_t i = 0; i < p.size(); ++i) start[i] = guess == 0 ? (p[i] > 0.0 ? 1.0 : 0.0) : guess == 1 ? 1.0 : double(i % 2);
        expect(Solver().solve(problem, options, start.data()).residual <= 1e-9, "a contact problem from a pattern");
        velocity(problem, start.data(), after.data());
        bool same = true;
        for (std::size_t i = 0; i < p.size(); ++i) same = same && std::fabs(after[i] - u[i]) <= 1e-6 * size;
        if (!same) gives_up("from a pattern, another solution of Coulomb's law");
    }
}

// From impulses near those of the solution, or anywhere else: the laws are obeyed; from the solution itself, with its motion.
void test_guesses(const Problem& problem, const std::vector<double>& p, const std::vector<double>& u, double size) {
    Options options;
    for (const double scale : {1.0, 1.02, 0.3, -2.0}) {
        std::vector<double> guess(p), start(p.size(), 0.0), after(p.size());
        for (std::size_t i = 0; i < p.size(); ++i) guess[i] *= i % 3 == 1 ? scale : 1.0;
        options.guess = guess.data();
        expect(Solver().solve(problem, options, start.data()).residual <= 1e-9, "a contact problem from a guess");
        velocity(problem, start.data(), after.data());
        bool same = true;
        for (std::size_t i = 0; i < p.size(); ++i) same = same && std::fabs(after[i] - u[i]) <= 1e-6 * size;
        if (scale == 1.0) expect(same, "the motion of a contact problem from its solution");
        if (!same) gives_up("from a guess, another solution of Coulomb's law");
    }
}

}  // namespace
}  // namespace soacraft

void test_complementarity(unsigned seed) {
    using namespace soacraft;
    const Made x = random_problem(seed);
    test_islands(x);
    expect(test_softened(x), "some weights lead to a solution");
    std::vector<double> p(static_cast<std::size_t>(x.rows)), u(static_cast<std::size_t>(x.rows));
    const Problem problem = {x.rows, x.blocks.data(), static_cast<soacraft::index>(x.blocks.size()), x.S.data(), x.b.data()};
    Solver solver;
    Options options;
    const Outcome out = solver.solve(problem, options, p.data());
    velocity(problem, p.data(), u.data());
    double size = 0;
    for (double each : x.b) size = std::fmax(size, std::fabs(each));
    if (out.residual <= 1e-9) {
        for (const Block& block : x.blocks) {
            const double* mine = p.data() + block.first;
            const double* after = u.data() + block.first;
            const double near = 1e-7 * (size + std::fabs(mine[0]));
            if (block.kind == CONE) {
                expect(norm(mine + 1, block.rows - 1) <= mine[0] + near, "a contact problem");
                expect(after[0] >= -near, "a contact problem");
                expect(std::fmin(mine[0], after[0]) <= near, "a contact problem");
            } else if (block.kind == BOX) {
                expect(std::fabs(mine[0]) <= block.bound + near, "a contact problem");
            } else {
                expect(std::fabs(after[0]) <= near, "a contact problem");
            }
        }
    }
    expect(out.residual <= 1e-9, "a contact problem");
    test_patterns(problem, p, u, size);
    test_guesses(problem, p, u, size);
    std::vector<double> M = x.S, z(static_cast<std::size_t>(x.rows));
    for (soacraft::index i = 0; i < x.rows; ++i) M[static_cast<std::size_t>(i * x.rows + i)] += 0.1;
    soacraft::index pivots = 0;
    expect(complementarity::lemke(M.data(), x.b.data(), x.rows, 1000, z.data(), pivots) == Lemke::solved, "a contact problem");
    for (soacraft::index i = 0; i < x.rows; ++i) {
        double w = x.b[static_cast<std::size_t>(i)];
        for (soacraft::index j = 0; j < x.rows; ++j) w += M[static_cast<std::size_t>(i * x.rows + j)] * z[static_cast<std::size_t>(j)];
        expect(z[static_cast<std::size_t>(i)] >= 0 && w >= -1e-9 * size, "a contact problem");
        expect(std::fmin(w, z[static_cast<std::size_t>(i)]) <= 1e-9 * (1 + size), "a contact problem");
    }
}
