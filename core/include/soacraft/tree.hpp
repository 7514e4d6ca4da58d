// What a kernel sees of an SKO model: views of flat arrays that somebody else owns.
#pragma once

#include "config.hpp"

SOACRAFT_BEGIN

// Cuts a stacked array into one slice per node (or per block); slices may be empty.
struct Slices {
    const index* offset;  // count + 1 entries, from 0, never decreasing

    SOACRAFT_INLINE index start(index k) const { return offset[k]; }
    SOACRAFT_INLINE index size(index k) const { return offset[k + 1] - offset[k]; }
};

// A forest: `order` lists its nodes parents first, `parent` is -1 for a base node.
struct Tree {
    index count;
    const index* order;
    const index* parent;
    Slices node;  // each node's slice of a stacked vector
};

// The edge weights A(p,k) of a tree, row-major, size(p) x size(k), one after the other; none for a base node.
template <typename T>
struct Edges {
    const T* data;
    Slices block;

    SOACRAFT_INLINE const T* operator()(index k) const { return data + block.start(k); }
};

SOACRAFT_END
