// What must hold before a kernel may run. The kernels trust their input; these functions earn that trust.
// Each returns the first fault found: which array, at which entry, its value, and what was wanted.
#pragma once

#include "tree.hpp"

namespace soacraft {

struct Fault {
    const char* array = nullptr;  // null: nothing is wrong
    index at = 0;
    index value = 0;
    const char* wanted = nullptr;

    explicit operator bool() const { return array != nullptr; }
};

// rows * cols == size, without overflow; all three are >= 0.
inline bool product_is(index rows, index cols, index size) {
    if (rows == 0 || cols == 0) return size == 0;
    return size % rows == 0 && size / rows == cols;
}

// `offset` (count + 1 entries) runs from 0 to `end` and never decreases.
inline Fault check_slices(const char* name, const index* offset, index count, index end) {
    if (offset[0] != 0) return {name, 0, offset[0], "the first offset must be 0"};
    for (index k = 0; k < count; ++k)
        if (offset[k + 1] < offset[k]) return {name, k + 1, offset[k + 1], "offsets must not decrease"};
    if (offset[count] != end)
        return {name, count, offset[count], "the last offset must be the length of what it cuts"};
    return {};
}

// Every entry of `place` is one of 0 .. limit - 1.
inline Fault check_places(const char* name, const index* place, index count, index limit) {
    for (index i = 0; i < count; ++i)
        if (place[i] < 0 || place[i] >= limit) return {name, i, place[i], "no node has this number"};
    return {};
}

// `order` is a permutation of the nodes with every parent before its children; `seen` holds count bytes.
inline Fault check_tree(const index* order, const index* parent, index count, unsigned char* seen) {
    for (index k = 0; k < count; ++k) seen[k] = 0;
    for (index i = 0; i < count; ++i) {
        const index k = order[i];
        if (k < 0 || k >= count) return {"order", i, k, "no node has this number"};
        if (seen[k]) return {"order", i, k, "each node must be listed once"};
        const index p = parent[k];
        if (p < -1 || p >= count) return {"parent", k, p, "must be a node, or -1 for a base node"};
        if (p >= 0 && !seen[p]) return {"order", i, k, "a node must come after its parent"};
        seen[k] = 1;
    }
    return {};
}

// Edge block k has size(parent) x size(k) entries; a base node has none. Tree and slices are already checked.
inline Fault check_edges(const Tree& tree, const Slices& block) {
    for (index k = 0; k < tree.count; ++k) {
        const index p = tree.parent[k], size = block.size(k);
        if (p < 0 && size != 0)
            return {"edge_offset", k + 1, block.offset[k + 1], "a base node has no edge block"};
        if (p >= 0 && !product_is(tree.node.size(p), tree.node.size(k), size))
            return {"edge_offset", k + 1, block.offset[k + 1],
                    "the edge block must be size(parent) x size(node)"};
    }
    return {};
}

// Block i has size(row[i]) x size(col[i]) entries. Places and slices are already checked.
inline Fault check_blocks(const index* row, const index* col, index count, const Slices& row_node,
                          const Slices& col_node, const Slices& block) {
    for (index i = 0; i < count; ++i)
        if (!product_is(row_node.size(row[i]), col_node.size(col[i]), block.size(i)))
            return {"data_offset", i + 1, block.offset[i + 1], "the block must be size(row) x size(col)"};
    return {};
}

// Cuts `length` entries into one block rows(k) x cols(k) for each node; `offset` has room for count + 1 entries.
// Returns how many nodes were served: fewer than count when the entries run out, and then the next was too large.
template <typename Rows, typename Cols>
inline index cut_blocks(index count, Rows rows, Cols cols, index length, index* offset) {
    offset[0] = 0;
    for (index k = 0; k < count; ++k) {
        const index left = length - offset[k], r = rows(k), c = cols(k);
        if (r > 0 && c > left / r) return k;
        offset[k + 1] = offset[k] + r * c;
    }
    return count;
}

}  // namespace soacraft
