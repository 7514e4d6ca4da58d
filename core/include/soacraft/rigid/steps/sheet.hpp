// Results of nv x nv numbers written piece by piece, and the columns by dofs that they are made of.
//
// Kernels number dofs as the elements stand: depth first, so that what is outboard of an element is a range. The user's
// order is applied where a result is written.
#pragma once

#include "grid.hpp"

SOACRAFT_RIGID_BEGIN

// Dofs in the order of the elements.
struct Numbering {
    index* first;  // of each element, and one past all: count + 1
    index* run;    // of each element: the farthest one inboard from which every element is the parent of the next
    index* place;  // where a dof stands in the user's order; null when that is the same
};

template <class Arena>
SOACRAFT_INLINE Numbering take_numbering(const Model& model, Arena& arena) {
    return {arena.template take<index>(model.count + 1), arena.template take<index>(model.count),
            arena.template take<index>(model.nv)};
}

SOACRAFT_INLINE void number_dofs(const Model& model, Numbering& to) {
    index d = 0;
    bool same = true;
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        to.first[k] = d;
        to.run[k] = k > 0 && e.parent == k - 1 ? to.run[k - 1] : k;
        same = same && e.v == d;
        for (index i = 0; i < dofs(e.kind); ++i) to.place[d++] = e.v + i;
    }
    to.first[model.count] = d;
    if (same) to.place = nullptr;
}

// ROWS numbers for each dof, in groups of dofs that fill a register: a row of a group, then its next.
template <int ROWS, class C>
struct Table {
    static constexpr index width = columns_in<C, double>;
    double* x;

    static SOACRAFT_FLAT index groups(index nv) { return (nv + width - 1) / width; }
    template <class Arena>
    static SOACRAFT_INLINE Table take(index nv, Arena& arena) {
        return {arena.template take<double>(groups(nv) * ROWS * width)};
    }
    // One number of one dof, and one row of the group that begins with dof c.
    SOACRAFT_FLAT double& at(index row, index j) const { return x[(j / width * ROWS + row) * width + j % width]; }
    SOACRAFT_FLAT C side(index row, index c) const { return load<C>(x + c * ROWS + row * width); }
    SOACRAFT_FLAT void set(index row, index j, const Vec<double>& a) const {
        double* to = &at(row, j);
        to[0] = a.x, to[width] = a.y, to[2 * width] = a.z;
    }
    SOACRAFT_FLAT void set(index row, index j, const Spatial<double>& a) const {
        set(row, j, a.w), set(row + 3, j, a.v);
    }
    SOACRAFT_FLAT Spatial<double> six(index row, index j) const {
        const double* from = &at(row, j);
        return {{from[0], from[width], from[2 * width]}, {from[3 * width], from[4 * width], from[5 * width]}};
    }
    // Zeros in place of the dofs that the last group is short of.
    SOACRAFT_INLINE void close(index nv) const {
        for (index j = nv; j < groups(nv) * width; ++j)
            for (index r = 0; r < ROWS; ++r) at(r, j) = 0.0;
    }
    // Whether no number is so large that a product of two could overflow.
    SOACRAFT_INLINE bool moderate(index nv) const {
        C bad(0.0);
        for (index i = 0; i < groups(nv) * ROWS; ++i) bad += C(0.0) * (C(1e158) * load<C>(x + i * width));
        return !any_not_above(C(1.0), bad);
    }
};

// Some columns next to each other; a range cut to them.
struct Strip {
    index begin, end;
    SOACRAFT_FLAT index from(index c) const { return c > begin ? c : begin; }
    SOACRAFT_FLAT index to(index c) const { return c < end ? c : end; }
};

// One nv x nv result.
struct Sheet {
    double* y;
    index nv;
    const index* place;

    // What of the columns [from, to) of row r is in x, which begins at column c.
    template <class C>
    SOACRAFT_FLAT void put(index r, index c, const C& x, index from, index to) const {
        constexpr int w = columns_in<C, double>;
        if (!place) {
            double* at = y + r * nv + c;
            if (c >= from && c + w <= to)
                store(at, x);
            else
                store_part(at, x, from > c ? from - c : 0, to - c < w ? to - c : w);
        } else {
            double *row = y + place[r] * nv, all[w];
            store(all, x);
            for (index i = from > c ? from - c : 0; i < w && c + i < to; ++i) row[place[c + i]] = all[i];
        }
    }
    // Make the square of dofs [first, last) symmetric: what is below the diagonal counts.
    SOACRAFT_INLINE void mirror_square(index first, index last) const {
        for (index r = first; r < last; ++r)
            for (index c = r + 1; c < last; ++c)
                y[(place ? place[r] : r) * nv + (place ? place[c] : c)] =
                    y[(place ? place[c] : c) * nv + (place ? place[r] : r)];
    }
    // Zeros everywhere, when rows and columns are not those of the elements;
    SOACRAFT_INLINE void clear() const {
        if (place) std::memset(y, 0, static_cast<std::size_t>(nv * nv) * sizeof(double));
    }
    // or else in some columns of row r, as they come.
    SOACRAFT_FLAT void clear(index r, const Strip& strip) const {
        if (!place)
            for (index c = strip.begin; c < strip.end; ++c) y[r * nv + c] = 0.0;
    }
};

// Columns [first, end) of a result on their way to it, in the order of the elements, by rows of `step` numbers: side by
// side in a cache until they are poured out row by row.
struct Tray {
    double* y;
    index step, first, end;

    template <class C>
    SOACRAFT_FLAT void put(index r, index c, const C& x) const {
        double* at = y + r * step + (c - first);
        if (c + columns_in<C, double> <= end)
            store(at, x);
        else
            store_part(at, x, 0, end - c);
    }
    SOACRAFT_INLINE void clear(index rows) const {
        std::memset(y, 0, static_cast<std::size_t>(rows * step) * sizeof(double));
    }
    SOACRAFT_INLINE void pour(const Sheet& to, index rows) const {
        const std::size_t bytes = static_cast<std::size_t>(end - first) * sizeof(double);
        for (index r = 0; r < rows; ++r)
            if (!to.place)
                std::memcpy(to.y + r * to.nv + first, y + r * step, bytes);
            else
                for (index c = first; c < end; ++c) to.y[to.place[r] * to.nv + to.place[c]] = y[r * step + c - first];
    }
    // The same of a symmetric result, which is on the tray on and above the diagonal. What is below is to be mirrored,
    // unless the user's order is another: then both are written here.
    SOACRAFT_INLINE void pour_above(const Sheet& to, index rows) const {
        if (!to.place) return pour(to, rows < end ? rows : end);
        for (index r = 0; r < rows && r < end; ++r)
            for (index c = r > first ? r : first; c < end; ++c)
                to.y[to.place[r] * to.nv + to.place[c]] = to.y[to.place[c] * to.nv + to.place[r]] =
                    y[r * step + c - first];
    }
};

SOACRAFT_INLINE Sheet sheet(const Model& model, const Numbering& number, double* y) {
    return {y, model.nv, number.place};
}

SOACRAFT_RIGID_END
