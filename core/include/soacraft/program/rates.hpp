// The blocks of derivatives along a dof, for one state or several side by side (see `ops/derivatives/leaves.py`).
#pragma once

#include "../block.hpp"
#include "made.hpp"
#include "rigid_fill.hpp"

SOACRAFT_PROGRAM_BEGIN

// y = (I - E)^-1 x of a column of the nodes, its transpose and the tilde forms; blocks that are not there are zero.
template <class T>
SOACRAFT_INLINE void make_sweep(const Made<T>& m, const Maker& maker) {
    const index E = maker.in[0], X = maker.in[1], Y = maker.out[0];
    const int act = maker.transposed;
    const bool tilde = act == GATHER_TILDE || act == SCATTER_TILDE, outward = act == SCATTER || act == SCATTER_TILDE;
    const Forest& forest = m.plan->forest;
    const index *const edge = maker.list, *const x = edge + forest.count, *const y = x + forest.count;
    m.clear(Y);
    for (index k = 0; k < forest.count && !tilde; ++k) {
        if (x[k] < 0) continue;
        const T* const from = m.block(X, x[k]);
        T* const to = m.block(Y, y[k]);
        for (index i = 0; i < m.rows(Y, y[k]); ++i) to[i] = from[i];
    }
    for (index i = 0; i < forest.count; ++i) {
        const index k = forest.order[outward ? i : forest.count - 1 - i], p = forest.parent[k];
        if (edge[k] < 0) continue;
        const index from = outward ? p : k, to = outward ? k : p;
        const index rows = m.rows(E, edge[k]), cols = m.cols(E, edge[k]);
        const T* const weight = m.block(E, edge[k]);
        const auto add = [&](const T* u) {
            if (outward)
                add_transpose_product(rows, cols, 1, weight, One<T>{u}, m.block(Y, y[to]));
            else
                add_product(rows, cols, 1, weight, One<T>{u}, m.block(Y, y[to]));
        };
        if (y[from] >= 0) add(m.block(Y, y[from]));
        if (tilde && x[from] >= 0) add(m.block(X, x[from]));
    }
}

template <class T>
SOACRAFT_FLAT void put_skew(const Vec<T>& w, T* to, index stride) {
    const T o(0.0);
    put_matrix(Mat<T>{{o, w.z, -w.y}, {-w.z, o, w.x}, {w.y, -w.x, o}}, to, stride);
}

template <class T>
SOACRAFT_FLAT Spatial<T> six_of(const T* a) { return {{a[0], a[1], a[2]}, {a[3], a[4], a[5]}}; }

// Of x = [w; v]: crf(x) = [[w~, v~], [0, w~]]; the same of [w; 0]; or X with crf(s) x = X s, -[[w~, v~], [v~, 0]].
template <class T>
SOACRAFT_INLINE void make_cross(const Made<T>& m, const Maker& maker) {
    const index X = maker.in[0], Z = maker.out[0];
    m.clear(Z);
    for (index i = 0; i < maker.length; ++i) {
        const Spatial<T> x = six_of(m.block(X, maker.list[i]));
        const index n = m.rows(Z, i);
        T* const to = m.block(Z, i);
        if (maker.transposed == MOMENTUM_CROSS) {
            put_skew(-x.w, to, n), put_skew(-x.v, to + 3, n), put_skew(-x.v, to + 3 * n, n);
        } else {
            put_skew(x.w, to, n), put_skew(x.w, to + 3 * n + 3, n);
            if (maker.transposed == FORCE_CROSS) put_skew(x.v, to + 3, n);
        }
    }
}

// dH of one hinge along its dof j. A later screw moves the columns before it, d H*_m = -crm(H*_j) H*_m for m < j, which
// reads the same in all axes; of a rolling ball d H*_m = [0; (l x e_j) x e_m] in ball axes, l from its centre to the contact.
template <class T, class In>
SOACRAFT_INLINE void make_hinge_rate(const Filled<T>& to, const Maker& maker, const In& q) {
    const RigidTree& model = to.plan->rigid;
    const index k = maker.list[0], j = maker.list[1], size = to.size(k);
    const RigidBody& b = model.bodies[k];
    const T* const H = to.block(model.H, k);
    T* const dH = to.block(maker.out[0], 0);
    const T o(0.0), one(1.0);
    for (index i = 0; i < b.nv * size; ++i) dH[i] = o;
    if (b.kind == SCREWS) {
        const Spatial<T> h = six_of(H + j * size);
        for (index m = 0; m < j; ++m) put_row(motion_cross(six_of(H + m * size), h), dH + m * size);
    } else if (b.kind == ROLLS) {
        const Vec<T> axes[] = {{one, o, o}, {o, one, o}, {o, o, one}};
        const Vec<T> lever = turn_back(turned_by<T>(q, b.q), T(-b.radius) * vector_of<T>(b.normal));
        const Vec<T> rate = cross(lever, axes[j]);
        for (int m = 0; m < 3; ++m) {
            const Vec<T> v = turn_back(matrix_of<T>(b.R_out), cross(rate, axes[m]));
            put_row(Spatial<T>{{o, o, o}, model.axes == BODY_AXES ? v : to.world()[k].R * v}, dH + m * size);
        }
    }
}

SOACRAFT_PROGRAM_END
