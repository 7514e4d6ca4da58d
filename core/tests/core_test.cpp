// The kernels against dense matrices, on random forests with random block sizes (0 to 7, square or not).
// A program of its own, so that it can be built with the address and undefined-behaviour sanitizers.
#include <cstdio>

#include "soacraft/blocks.hpp"
#include "soacraft/checks.hpp"
#include "soacraft/sweeps.hpp"
#include "support.hpp"

void test_engine(unsigned seed);  // engine_test.cpp
void test_rigid(unsigned seed);   // rigid_test.cpp
void test_flexible(unsigned seed);
void test_kernels(unsigned seed); // kernels_test.cpp
void test_loops(unsigned seed);   // loops_test.cpp
void test_passive(unsigned seed); // passive_test.cpp
void test_contact(unsigned seed); // contact_test.cpp
void test_complementarity(unsigned seed);  // complementarity_test.cpp
void test_contact_rows(unsigned seed);      // contact_rows_test.cpp
void test_sparse_contact(unsigned seed);    // sparse_contact_test.cpp
void test_limbs(unsigned seed);             // limb_test.cpp
void test_velocities(unsigned seed);        // velocity_test.cpp
void test_moving(unsigned seed);            // moving_test.cpp
void test_programs(unsigned seed);  // program_test.cpp
void test_files();                  // files_test.cpp
void test_plans();                  // plan_test.cpp

namespace soacraft {
namespace {

// (phi - I) x by repeated products with the dense E_A; phi = I + E_A + E_A^2 + ... ends, the forest being
// finite.
template <typename T>
Buffer<T> tilde_of(const Dense<T>& E, const Buffer<T>& x, index m, index n, bool transpose) {
    Buffer<T> sum(x.size(), T(0)), term = x;
    for (index i = 0; i < n; ++i) {
        term = E.times(term, m, transpose);
        for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += term[j];
    }
    return sum;
}

template <typename T>
void test_sweeps(unsigned seed) {
    Random random(seed);
    const index n = random.integer(0, 9), m = random.integer(0, 4);
    const bool rigid = seed % 3 == 0;
    const Buffer<index> order = random.permutation(n), offset = random.offsets(n, rigid);
    Buffer<index> parent(n, -1), edge_offset(n + 1, 0);
    for (index i = 1; i < n; ++i)
        if (random.integer(0, 4) > 0) parent[order[i]] = order[random.integer(0, i - 1)];
    const Slices node{offset.data()};
    for (index k = 0; k < n; ++k)
        edge_offset[k + 1] = edge_offset[k] + (parent[k] < 0 ? 0 : node.size(parent[k]) * node.size(k));
    const Buffer<T> edge = random.numbers<T>(edge_offset[n]), x = random.numbers<T>(offset[n] * m);

    Buffer<unsigned char> seen(n);
    const Tree tree{n, order.data(), parent.data(), node};
    const Edges<T> A{edge.data(), {edge_offset.data()}};
    expect(!check_tree(order.data(), parent.data(), n, seen.data()), "a good tree is accepted");
    expect(!check_slices("offset", offset.data(), n, offset[n]), "good offsets are accepted");
    expect(!check_edges(tree, A.block), "good edges are accepted");

    Dense<T> E(offset[n], offset[n]);
    for (index k = 0; k < n; ++k)
        if (parent[k] >= 0)
            for (index r = 0; r < node.size(parent[k]); ++r)
                for (index c = 0; c < node.size(k); ++c)
                    E.at(node.start(parent[k]) + r, node.start(k) + c) = A(k)[r * node.size(k) + c];

    Buffer<T> y(x.size(), T(7));
    for (const bool transpose : {false, true}) {
        const Buffer<T> tilde = tilde_of(E, x, m, n, transpose);
        Buffer<T> whole = tilde;
        for (std::size_t i = 0; i < x.size(); ++i) whole[i] += x[i];
        transpose ? scatter(tree, A, m, x.data(), y.data()) : gather(tree, A, m, x.data(), y.data());
        expect(close(y, whole), transpose ? "scatter is phi* x" : "gather is phi x");
        transpose ? scatter_tilde(tree, A, m, x.data(), y.data())
                  : gather_tilde(tree, A, m, x.data(), y.data());
        expect(close(y, tilde), transpose ? "scatter_tilde is (phi - I)* x" : "gather_tilde is (phi - I) x");
    }
}

template <typename T>
void test_blocks(unsigned seed) {
    Random random(seed);
    const index rows = random.integer(1, 6), cols = random.integer(1, 6), m = random.integer(0, 3);
    const index count = random.integer(0, 12);
    const Buffer<index> row_offset = random.offsets(rows, seed % 3 == 0);
    const Buffer<index> col_offset = random.offsets(cols, seed % 3 == 0);
    const Slices row_node{row_offset.data()}, col_node{col_offset.data()};
    Buffer<index> row(count), col(count), data_offset(count + 1, 0);
    for (index i = 0; i < count; ++i) {
        row[i] = random.integer(0, rows - 1);
        col[i] = random.integer(0, cols - 1);
        data_offset[i + 1] = data_offset[i] + row_node.size(row[i]) * col_node.size(col[i]);
    }
    const Buffer<T> data = random.numbers<T>(data_offset[count]);
    const BlockList<T> X{count,    row.data(),  col.data(),          row_node,
                         col_node, data.data(), {data_offset.data()}};
    expect(!check_places("row", row.data(), count, rows), "good places are accepted");
    expect(!check_blocks(row.data(), col.data(), count, row_node, col_node, X.block),
           "good blocks are accepted");

    Dense<T> dense(row_offset[rows], col_offset[cols]);
    for (index i = 0; i < count; ++i)
        for (index r = 0; r < row_node.size(row[i]); ++r)
            for (index c = 0; c < col_node.size(col[i]); ++c)
                dense.at(row_node.start(row[i]) + r, col_node.start(col[i]) + c) +=
                    data[data_offset[i] + r * col_node.size(col[i]) + c];

    const Buffer<T> x = random.numbers<T>(dense.cols * m), w = random.numbers<T>(dense.rows * m);
    Buffer<T> y(dense.rows * m, T(0)), z(dense.cols * m, T(0));
    add_blocks(X, m, x.data(), y.data());
    add_blocks_transposed(X, m, w.data(), z.data());
    expect(close(y, dense.times(x, m, false)), "add_blocks is X x");
    expect(close(z, dense.times(w, m, true)), "add_blocks_transposed is X* x");
}

void test_faults() {
    const index big = index(1) << 62;
    Buffer<unsigned char> seen(3);
    const auto tree = [&](Buffer<index> order, Buffer<index> parent) {
        return bool(check_tree(order.data(), parent.data(), 3, seen.data()));
    };
    expect(!tree({2, 0, 1}, {2, 0, -1}), "parents first in any numbering");
    expect(tree({0, 2, 1}, {2, 0, -1}), "a child before its parent");
    expect(tree({0, 0, 1}, {-1, 0, 1}), "a node listed twice");
    expect(tree({0, 1, 3}, {-1, 0, 1}), "a node that does not exist");
    expect(tree({0, 1, -1}, {-1, 0, 1}), "a negative node");
    expect(tree({0, 1, 2}, {-1, 1, 1}), "a node that is its own parent");
    expect(tree({0, 1, 2}, {-1, big, 1}), "a parent out of range");
    expect(tree({0, 1, 2}, {-2, 0, 1}), "a parent below -1");

    const auto slices = [&](Buffer<index> offset, index end) {
        return bool(check_slices("offset", offset.data(), index(offset.size()) - 1, end));
    };
    expect(!slices({0, 0, 6}, 6), "an empty slice");
    expect(slices({1, 3, 6}, 6), "a first offset that is not 0");
    expect(slices({0, 7, 6}, 6), "decreasing offsets");
    expect(slices({0, -3, 6}, 6), "a negative offset");
    expect(slices({0, 3, 6}, 5), "offsets beyond the end");

    expect(product_is(0, big, 0) && product_is(3, 4, 12), "products that hold");
    expect(!product_is(big, 4, 0) && !product_is(3, 4, 13) && !product_is(5, 0, 1), "products that do not");

    Buffer<index> cut(4);
    const auto cuts = [&](Buffer<index> rows, Buffer<index> cols, index length) {
        return cut_blocks(
            3, [&](index k) { return rows[k]; }, [&](index k) { return cols[k]; }, length, cut.data());
    };
    expect(cuts({2, 0, 1}, {3, big, 0}, 6) == 3 && cut == Buffer<index>{0, 6, 6, 6}, "blocks that fit");
    expect(cuts({2, 1, 1}, {3, 1, 0}, 6) == 1, "entries that run out");
    expect(cuts({2, big, 1}, {3, big, 0}, 6) == 1, "a block too large for any array");

    const Buffer<index> order{0, 1}, parent{-1, 0}, offset{0, 2, 5}, good{0, 0, 6}, base{0, 1, 7},
        small{0, 0, 5};
    const Tree pair{2, order.data(), parent.data(), {offset.data()}};
    expect(!check_edges(pair, {good.data()}), "a 2 x 3 edge");
    expect(bool(check_edges(pair, {base.data()})), "an edge block on a base node");
    expect(bool(check_edges(pair, {small.data()})), "an edge block of the wrong size");
}

}  // namespace
}  // namespace soacraft

int main() {
    using namespace soacraft;
    for (unsigned seed = 0; seed < 400; ++seed) {
        test_sweeps<double>(seed);
        test_sweeps<float>(seed);
        test_blocks<double>(seed);
        test_blocks<float>(seed);
        test_engine(seed);
        test_rigid(seed);
        test_loops(seed);
        if (seed < 100) test_kernels(seed);
        if (seed < 100) test_flexible(seed);
        test_passive(seed);
        if (seed < 20) test_contact(seed);
        if (seed < 100) test_complementarity(seed);
        if (seed < 100) test_contact_rows(seed);
        if (seed < 100) test_sparse_contact(seed);
        if (seed < 100) test_limbs(seed);
        if (seed < 200) test_velocities(seed);
        if (seed < 100) test_moving(seed);
        test_programs(seed);
    }
    test_faults();
    test_files();
    test_plans();
    for (const auto& one : given_up) std::printf("core_test: %4d given up: %s\n", one.second, one.first.c_str());
    expect_few_given_up();
    std::printf("core_test: %d checks passed\n", checks);
    return 0;
}
