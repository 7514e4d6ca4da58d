// The block engine against its equations in dense matrices: random forests, block sizes 0 to 7, 0 to 7 dofs.
#include "soacraft/ab_dynamics.hpp"
#include "soacraft/checks.hpp"
#include "soacraft/lyapunov.hpp"
#include "support.hpp"

namespace soacraft {
namespace {

// X Y, either of them transposed.
template <typename T>
Dense<T> product(const Dense<T>& X, const Dense<T>& Y, bool X_star = false, bool Y_star = false) {
    const index inner = X_star ? X.rows : X.cols;
    const auto x = [&](index r, index i) { return X.a[X_star ? i * X.cols + r : r * X.cols + i]; };
    const auto y = [&](index i, index c) { return Y.a[Y_star ? c * Y.cols + i : i * Y.cols + c]; };
    Dense<T> Z(X_star ? X.cols : X.rows, Y_star ? Y.rows : Y.cols);
    for (index r = 0; r < Z.rows; ++r)
        for (index c = 0; c < Z.cols; ++c)
            for (index i = 0; i < inner; ++i) Z.at(r, c) += x(r, i) * y(i, c);
    return Z;
}

template <typename T>
Dense<T> minus(Dense<T> X, const Dense<T>& Y) {
    for (std::size_t i = 0; i < X.a.size(); ++i) X.a[i] -= Y.a[i];
    return X;
}

// A forest in any numbering, with slices of its own for hinges or for the right side of a Lyapunov equation.
struct RandomForest {
    index n;
    bool rigid;
    Buffer<index> order, parent, node, hinge;

    RandomForest(Random& random, unsigned seed)
        : n(random.integer(0, 9)), rigid(seed % 3 == 0), order(random.permutation(n)), parent(n, -1),
          node(random.offsets(n, rigid)), hinge(n + 1, 0) {
        for (index i = 1; i < n; ++i)
            if (random.integer(0, 4) > 0) parent[order[i]] = order[random.integer(0, i - 1)];
        for (index k = 0; k < n; ++k) {
            const index size = node[k + 1] - node[k];
            hinge[k + 1] = hinge[k] + (rigid && random.integer(0, 2) > 0 ? 1 : random.integer(0, size));
        }
    }
    Tree tree() const { return {n, order.data(), parent.data(), {node.data()}}; }

    // Where blocks rows(k) x cols(k) begin; on edges the rows are those of the parent.
    Buffer<index> cut(const Buffer<index>& rows, const Buffer<index>& cols, bool on_edges = false) const {
        Buffer<index> offset(n + 1);
        const auto height = [&](index k) {
            const index at = on_edges ? parent[k] : k;
            return at < 0 ? 0 : rows[at + 1] - rows[at];
        };
        const auto width = [&](index k) { return cols[k + 1] - cols[k]; };
        expect(cut_blocks(n, height, width, index(1) << 40, offset.data()) == n, "small blocks are cut");
        return offset;
    }

    // The dense matrix with blocks at (k, k), or at (parent, k).
    template <typename T>
    Dense<T> dense(const Buffer<T>& data, const Buffer<index>& rows, const Buffer<index>& cols,
                   bool on_edges = false) const {
        Dense<T> X(rows[n], cols[n]);
        std::size_t next = 0;
        for (index k = 0; k < n; ++k) {
            const index at = on_edges ? parent[k] : k;
            if (at < 0) continue;
            for (index r = rows[at]; r < rows[at + 1]; ++r)
                for (index c = cols[k]; c < cols[k + 1]; ++c) X.at(r, c) = data[next++];
        }
        expect(next == data.size(), "the blocks use up the data");
        return X;
    }
};

// The entries of X inside the blocks (k, k).
template <typename T>
Dense<T> diagonal_of(const RandomForest& f, Dense<T> X, const Buffer<index>& rows, const Buffer<index>& cols) {
    for (index k = 0; k < f.n; ++k)
        for (index r = rows[k]; r < rows[k + 1]; ++r)
            for (index c = 0; c < X.cols; ++c)
                if (c < cols[k] || c >= cols[k + 1]) X.at(r, c) = T(0);
    return X;
}

template <typename T>
void test_lyapunov(unsigned seed) {
    Random random(seed);
    const RandomForest f(random, seed);
    const Buffer<index> right_sizes = random.offsets(f.n, f.rigid);
    const Slices right{right_sizes.data()};
    const Buffer<index> A_cut = f.cut(f.node, f.node, true), B_cut = f.cut(right_sizes, right_sizes, true);
    const Buffer<index> block = f.cut(f.node, right_sizes);
    const Buffer<T> A = random.numbers<T>(A_cut[f.n]), B = random.numbers<T>(B_cut[f.n]),
                    X = random.numbers<T>(block[f.n]);
    const Dense<T> E_A = f.dense(A, f.node, f.node, true), E_B = f.dense(B, right_sizes, right_sizes, true);
    const Dense<T> wanted = f.dense(X, f.node, right_sizes);

    Buffer<T> work(lyapunov_room(f.tree(), right)), Y(X.size(), T(7));
    forward_lyapunov<T>(f.tree(), right, {A.data(), {A_cut.data()}}, {B.data(), {B_cut.data()}}, {block.data()},
                        X.data(), Y.data(), work.data());
    Dense<T> solved = f.dense(Y, f.node, right_sizes);
    expect(close(minus(solved, product(product(E_A, solved), E_B, false, true)).a, wanted.a), "Y - E_A Y E_B* is X");

    backward_lyapunov<T>(f.tree(), right, {A.data(), {A_cut.data()}}, {B.data(), {B_cut.data()}}, {block.data()},
                         X.data(), Y.data(), work.data());
    solved = f.dense(Y, f.node, right_sizes);
    const Dense<T> carried = product(product(E_A, solved, true), E_B);
    expect(close(minus(solved, diagonal_of(f, carried, f.node, right_sizes)).a, wanted.a),
           "Y - diagOf{E_A* Y E_B} is X");
}

// An SKO model: rows of H well apart, M positive semi-definite and definite on the hinge.
template <typename T>
struct RandomModel : RandomForest {
    Buffer<index> A_cut, body_body, hinge_body, hinge_hinge;
    Buffer<T> A, H, M;

    RandomModel(Random& random, unsigned seed)
        : RandomForest(random, seed), A_cut(cut(node, node, true)), body_body(cut(node, node)),
          hinge_body(cut(hinge, node)), hinge_hinge(cut(hinge, hinge)), A(random.numbers<T>(A_cut[n])),
          H(random.numbers<T>(hinge_body[n])), M(body_body[n], T(0)) {
        for (index k = 0; k < n; ++k) {
            const index size = node[k + 1] - node[k], dofs = hinge[k + 1] - hinge[k];
            T* const h = H.data() + hinge_body[k];
            for (index r = 0; r < dofs; ++r)
                for (index c = 0; c < size; ++c) h[r * size + c] = h[r * size + c] / T(5) + T(r == c);
            const Buffer<T> half = random.numbers<T>(size * random.integer(0, size));
            for (index r = 0; r < size; ++r)
                for (index c = 0; c < size; ++c) {
                    T& entry = M[body_body[k] + r * size + c];
                    for (index i = 0; i < dofs; ++i) entry += h[i * size + r] * h[i * size + c];
                    for (index i = 0; i < index(half.size()); i += size) entry += half[i + r] * half[i + c];
                }
        }
    }
    Hinged<T> view() const {
        return {tree(),
                {hinge.data()},
                {body_body.data()},
                {hinge_body.data()},
                {hinge_hinge.data()},
                {A.data(), {A_cut.data()}},
                H.data()};
    }
};

template <typename T>
struct Solution {
    Buffer<T> P, P_plus, D, G;
    index singular;

    explicit Solution(const RandomModel<T>& m, T least = T(1e-14))
        : P(m.M.size(), T(7)), P_plus(m.M.size(), T(7)), D(m.hinge_hinge[m.n], T(7)), G(m.H.size(), T(7)) {
        Buffer<T> work(riccati_room(m.view()));
        singular = riccati<T>(m.view(), m.M.data(), least, {P.data(), P_plus.data(), D.data(), G.data()}, work.data());
    }
};

template <typename T>
void test_riccati(unsigned seed) {
    Random random(seed);
    RandomModel<T> m(random, seed);
    const Solution<T> s(m);
    expect(s.singular == -1, "a good model has inertia at every hinge");

    const Dense<T> E = m.dense(m.A, m.node, m.node, true), H = m.dense(m.H, m.hinge, m.node),
                   P = m.dense(s.P, m.node, m.node), P_plus = m.dense(s.P_plus, m.node, m.node),
                   D = m.dense(s.D, m.hinge, m.hinge), G = m.dense(s.G, m.node, m.hinge);
    const Dense<T> HP = product(H, P);
    expect(close(minus(P, product(product(E, P_plus), E, false, true)).a, m.dense(m.M, m.node, m.node).a),
           "P - E P+ E* is M");
    expect(close(D.a, product(HP, H, false, true).a), "D is H P H*");
    expect(close(product(G, D).a, product(P, H, false, true).a), "G D is P H*");
    expect(close(P_plus.a, minus(P, product(G, HP)).a), "P+ is (I - G H) P");
    bool symmetric = true;
    for (index r = 0; r < P.rows; ++r)
        for (index c = 0; c < r; ++c) symmetric = symmetric && P_plus.a[r * P.cols + c] == P_plus.a[c * P.cols + r];
    expect(symmetric, "P+ is symmetric to the last bit");

    for (index i = m.n; i-- > 0;) {  // a tip without inertia
        const index k = m.order[i];
        bool tip = m.hinge[k + 1] > m.hinge[k];
        for (index j = 0; j < m.n; ++j) tip = tip && m.parent[j] != k;
        if (!tip) continue;
        for (index at = m.body_body[k]; at < m.body_body[k + 1]; ++at) m.M[at] = T(0);
        expect(Solution<T>(m).singular == k, "the hinge of a massless tip is singular");
        for (index at = m.body_body[k]; at < m.body_body[k + 1]; ++at) m.M[at] = T(NAN);
        expect(Solution<T>(m).singular == k, "NaN is no inertia");
        break;
    }
}

// Inertia along a hinge is measured by what it was computed from, row by row: no absolute threshold, no common unit.
void test_scale() {
    Random random(0);
    RandomModel<double> m(random, 1);
    const auto singular = [&m](double first, double second, double both, index dofs) {
        m.n = 1;
        m.order = {0};
        m.parent = {-1};
        m.node = {0, 2};
        m.hinge = {0, dofs};
        m.A_cut = {0, 0};
        m.body_body = {0, 4};
        m.hinge_body = {0, 2 * dofs};
        m.hinge_hinge = {0, dofs * dofs};
        m.H = dofs == 1 ? Buffer<double>{1, 1} : Buffer<double>{1, 0, 0, 1};
        m.M = {first, both, both, second};
        return Solution<double>(m).singular == 0;
    };
    for (const index dofs : {1, 2}) {
        for (const double unit : {1e-40, 1.0, 1e40}) {
            expect(singular(unit, unit, -unit * (1 - 1e-15), dofs), "what is left is rounding");
            expect(!singular(unit, unit, -unit * (1 - 1e-11), dofs), "what is left is inertia");
        }
        expect(!singular(1e-20, 1e20, 0, dofs), "rows of other units");
        expect(singular(0, 0, 0, dofs) && singular(-1, 1, 0, dofs), "no inertia, and less than none");
        expect(singular(1e-300, 1e-300, 0, dofs), "digits are lost at the end of the range");
    }
}

template <typename T>
void test_ab_dynamics(unsigned seed) {
    Random random(seed);
    const RandomModel<T> m(random, seed);
    Solution<T> s(m);
    const index columns = random.integer(1, 3), bodies = m.node[m.n] * columns, hinges = m.hinge[m.n] * columns;
    const Buffer<T> force = random.numbers<T>(hinges), a = random.numbers<T>(bodies), b = random.numbers<T>(bodies);
    Buffer<T> z(bodies, T(7)), alpha(bodies, T(7)), eps(hinges, T(7)), nu(hinges, T(7)), vdot(hinges, T(7));
    Buffer<T> work(ab_dynamics_room(m.view(), columns));
    const auto run = [&] {
        return ab_dynamics<T>(m.view(), {s.P.data(), nullptr, s.D.data(), s.G.data()}, columns,
                              {force.data(), a.data(), b.data()},
                              {z.data(), eps.data(), nu.data(), vdot.data(), alpha.data()}, work.data());
    };
    expect(run() == -1, "AB dynamics of a good model");

    const auto plus = [](Buffer<T> x, const Buffer<T>& y) {
        for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
        return x;
    };
    const Dense<T> H = m.dense(m.H, m.hinge, m.node), M = m.dense(m.M, m.node, m.node);
    const Edges<T> A{m.A.data(), {m.A_cut.data()}};
    Buffer<T> expected(bodies, T(7)), f(bodies, T(7));
    scatter(m.tree(), A, columns, plus(H.times(vdot, columns, true), a).data(), expected.data());
    expect(close(alpha, expected), "alpha is phi* (H* vdot + a)");
    gather(m.tree(), A, columns, plus(M.times(alpha, columns, false), b).data(), f.data());
    expect(close(H.times(f, columns, false), force), "H phi (M alpha + b) is T");
    expect(close(plus(H.times(z, columns, false), eps), force), "H z + eps is T");
    expect(close(m.dense(s.D, m.hinge, m.hinge).times(nu, columns, false), eps), "D nu is eps");

    for (index k = 0; k < m.n; ++k)
        if (m.hinge[k + 1] > m.hinge[k]) {
            s.D[m.hinge_hinge[k]] = T(-1);
            expect(run() == k, "a D that is not positive definite is told");
            break;
        }
}

// D = Q diag(values) Q*, Q = I - 2 u u* / |u|^2: nearly singular ones are told by their smallest eigenvalue.
void test_eigenvalues(unsigned seed) {
    Random random(seed);
    const index n = random.integer(2, 7);
    Buffer<double> u = random.numbers<double>(n), values = random.numbers<double>(n);
    Buffer<double> D(n * n), L(n * n), work(n * n + n);
    double length = 0, smallest = 1;
    for (const double x : u) length += x * x;
    if (length == 0) return;
    for (double& value : values) value = 0.6 + value;  // 0.1 to 1.1
    values[random.integer(0, n - 1)] = smallest = seed % 2 ? 3e-14 : 0.05;
    for (index r = 0; r < n; ++r)
        for (index c = 0; c < n; ++c)
            for (index i = 0; i < n; ++i)
                D[r * n + c] += (double(r == i) - 2 * u[r] * u[i] / length) * values[i] *
                                (double(i == c) - 2 * u[i] * u[c] / length);
    Buffer<double> S = D;
    expect(std::fabs(smallest_eigenvalue(n, S.data()) - smallest) < 1e-14, "the smallest eigenvalue");
    expect(cholesky(n, D.data(), L.data()), "positive definite matrices have a factor");
    expect(eigenvalues_above(smallest / 2, n, D.data(), L.data(), work.data()), "above half of the smallest");
    expect(!eigenvalues_above(smallest * 2, n, D.data(), L.data(), work.data()), "not above twice the smallest");
    Buffer<double> x = random.numbers<double>(n * 2), y(n * 2, 0.0);
    for (index r = 0; r < n; ++r)
        for (index c = 0; c < n; ++c)
            for (index t = 0; t < 2; ++t) y[r * 2 + t] += D[r * n + c] * x[c * 2 + t];
    cholesky_solve(n, 2, L.data(), y.data());
    expect(seed % 2 || close(y, x), "D^-1 D x is x");
}

}  // namespace
}  // namespace soacraft

void test_engine(unsigned seed) {
    using namespace soacraft;
    test_lyapunov<double>(seed);
    test_lyapunov<float>(seed);
    test_riccati<double>(seed);
    test_riccati<float>(seed);
    test_ab_dynamics<double>(seed);
    test_ab_dynamics<float>(seed);
    test_eigenvalues(seed);
    if (seed == 0) test_scale();
}
