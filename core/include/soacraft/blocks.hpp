// A list of blocks X_i at places (row[i], col[i]): block-diagonal, edge or any other sparse operator.
#pragma once

#include "block.hpp"
#include "tree.hpp"

SOACRAFT_BEGIN

template <typename T>
struct BlockList {
    index count;
    const index* row;
    const index* col;
    Slices row_node;  // slices of the vector on the left
    Slices col_node;  // slices of the vector on the right
    const T* data;    // row-major blocks, one after the other
    Slices block;
};

// y(row[i]) += X_i x(col[i]) over the list. A place named twice counts twice.
template <typename T>
SOACRAFT_INLINE void add_blocks(const BlockList<T>& X, index m, const T* x, T* y) {
    for (index i = 0; i < X.count; ++i) {
        const index r = X.row[i], c = X.col[i];
        add_product(X.row_node.size(r), X.col_node.size(c), m, X.data + X.block.start(i),
                    One<T>{x + X.col_node.start(c) * m}, y + X.row_node.start(r) * m);
    }
}

// y(col[i]) += X_i^T x(row[i]) over the list.
template <typename T>
SOACRAFT_INLINE void add_blocks_transposed(const BlockList<T>& X, index m, const T* x, T* y) {
    for (index i = 0; i < X.count; ++i) {
        const index r = X.row[i], c = X.col[i];
        add_transpose_product(X.row_node.size(r), X.col_node.size(c), m, X.data + X.block.start(i),
                              One<T>{x + X.row_node.start(r) * m}, y + X.col_node.start(c) * m);
    }
}

SOACRAFT_END
