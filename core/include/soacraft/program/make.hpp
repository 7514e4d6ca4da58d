// How the fields of a plan are made, for one state or several side by side.
#pragma once

#include "../congruence.hpp"
#include "../riccati.hpp"
#include "rates.hpp"

SOACRAFT_PROGRAM_BEGIN

// A block whose inverse, its rows and columns brought to one size, has a larger trace is left to Python.
constexpr double ILL_CONDITIONED = 1e8;
// So is one whose entries, brought to that size, differ from those across the diagonal by more than rounding.
constexpr double ASYMMETRIC = 1e-12;

// Z += op(X) op(Y), Z rows x cols, `inner` between.
template <class Rows, class Inner, class Cols, class T>
SOACRAFT_FLAT void multiply(Rows rows, Inner inner, Cols cols, const T* X, index Xr, index Xi, const T* Y, index Yi,
                            index Yc, T* SOACRAFT_RESTRICT Z) {
    for (index r = 0; r < rows; ++r)
        for (index i = 0; i < inner; ++i) {
            const T x = X[r * Xr + i * Xi];
            for (index c = 0; c < cols; ++c) Z[r * cols + c] += x * Y[i * Yi + c * Yc];
        }
}

// Z = X - A B. The product is rounded before it is subtracted: what cancels leaves zero, not the rounding of a fused
// multiplication, and zeros of structure stay zeros.
template <class Rows, class Inner, class Cols, class T>
SOACRAFT_FLAT void subtract_product(Rows rows, Inner inner, Cols cols, const T* X, const T* A, const T* B,
                                    T* SOACRAFT_RESTRICT Z) {
    for (index r = 0; r < rows; ++r)
        for (index c = 0; c < cols; ++c) {
            T product = T(0.0);
            for (index i = 0; i < inner; ++i) product += A[r * inner + i] * B[i * cols + c];
            Z[r * cols + c] = X[r * cols + c] - product;
        }
}

template <class T>
SOACRAFT_INLINE void make_product(const Made<T>& m, const Maker& maker) {
    const index X = maker.in[0], Y = maker.in[1], Z = maker.out[0];
    const bool left = maker.transposed & 1, right = maker.transposed & 2;
    m.clear(Z);
    for (index t = 0; t < maker.length; t += 3) {
        const index x = maker.list[t], y = maker.list[t + 1], z = maker.list[t + 2];
        const index rows = m.rows(Z, z), cols = m.cols(Z, z), inner = left ? m.rows(X, x) : m.cols(X, x);
        const T *const a = m.block(X, x), *const b = m.block(Y, y);
        T* const to = m.block(Z, z);
        const Fixed<6> six{};
        if (rows == 6 && cols == 6 && inner == 6 && !left && !right)
            multiply(six, six, six, a, 6, 1, b, 6, 1, to);
        else
            multiply(rows, inner, cols, a, left ? 1 : inner, left ? rows : 1, b, right ? 1 : cols, right ? inner : 1, to);
    }
}

template <class T>
SOACRAFT_INLINE void make_sum(const Made<T>& m, const Maker& maker) {
    const index Z = maker.out[0];
    m.clear(Z);
    const index* list = maker.list;
    for (int side = 0; side < 2; ++side) {
        const index X = maker.in[side];
        if (X < 0) continue;
        const bool turned = maker.transposed & (1 << side);
        const T factor(maker.factor[side]);
        for (index x = 0; x < m.field(X).count; ++x) {
            const index z = *list++;
            if (z < 0) continue;
            const index rows = m.rows(X, x), cols = m.cols(X, x);
            const T* const from = m.block(X, x);
            T* const to = m.block(Z, z);
            if (turned) {
                for (index r = 0; r < rows; ++r)
                    for (index c = 0; c < cols; ++c) to[c * rows + r] += factor * from[r * cols + c];
            } else {
                for (index i = 0; i < rows * cols; ++i) to[i] += factor * from[i];
            }
        }
    }
}

// Of positive definite blocks, by Cholesky on rows and columns of unit diagonal; false for others.
template <class T>
SOACRAFT_INLINE bool make_inverse(const Made<T>& m, const Maker& maker) {
    const index X = maker.in[0], Z = maker.out[0];
    for (index i = 0; i < m.field(X).count; ++i) {
        const index n = m.rows(X, i);
        const T* const from = m.block(X, i);
        T* const to = m.block(Z, i);
        if (n == 1) {
            if (!above(from[0], T(0.0))) return false;
            to[0] = T(1.0) / from[0];
            continue;
        }
        T *const root = m.work, *const even = root + n, *const L = even + n * n, *const t = L + n * n;
        for (index r = 0; r < n; ++r) {
            if (!above(from[r * n + r], T(0.0))) return false;
            root[r] = T(1.0) / square_root(from[r * n + r]);
        }
        for (index r = 0; r < n; ++r)
            for (index c = 0; c < n; ++c) {
                even[r * n + c] = from[r * n + c] * root[r] * root[c];
                const T other = from[c * n + r] * root[r] * root[c];
                if (!above(T(ASYMMETRIC), absolute(even[r * n + c] - other))) return false;
            }
        if (!cholesky(n, even, L) || !above(T(ILL_CONDITIONED), trace_of_inverse(n, L, t))) return false;
        for (index c = 0; c < n; ++c) {
            for (index r = 0; r < n; ++r) t[r] = T(r == c ? 1.0 : 0.0);
            cholesky_solve(n, 1, L, t);
            for (index r = 0; r < n; ++r) to[r * n + c] = t[r] * root[r] * root[c];
        }
    }
    return true;
}

// Y(k) = X(k) + sum over children j of A(k,j) Y(j) B*(k,j), tips to base; backward Y(k) = X(k) + A*(p,k) Y(p) B(p,k).
template <class T>
SOACRAFT_INLINE void make_lyapunov(const Made<T>& m, const Maker& maker) {
    const index A = maker.in[0], X = maker.in[1], B = maker.in[2], Y = maker.out[0];
    const Forest& forest = m.plan->forest;
    const index *const a = maker.list, *const b = a + forest.count, *const x = b + forest.count, *const y = x + forest.count;
    m.clear(Y);
    for (index k = 0; k < forest.count; ++k) {
        if (x[k] < 0) continue;
        const index size = m.rows(Y, y[k]) * m.cols(Y, y[k]);
        const T* const from = m.block(X, x[k]);
        T* const to = m.block(Y, y[k]);
        for (index i = 0; i < size; ++i) to[i] = from[i];
    }
    for (index i = 0; i < forest.count; ++i) {
        const index k = forest.order[maker.how == FORWARD ? forest.count - 1 - i : i], p = forest.parent[k];
        if (p < 0 || a[k] < 0 || b[k] < 0 || y[maker.how == FORWARD ? k : p] < 0) continue;
        const index kr = m.rows(Y, y[k]), kc = m.cols(Y, y[k]), pr = m.rows(Y, y[p]), pc = m.cols(Y, y[p]);
        if (!kr || !kc || !pr || !pc) continue;
        T *const at_k = m.block(Y, y[k]), *const at_p = m.block(Y, y[p]);
        if (maker.how == FORWARD)
            add_AYBs(pr, kr, kc, pc, m.block(A, a[k]), at_k, m.block(B, b[k]), m.work, at_p);
        else
            add_AsYB(kr, pr, pc, kc, m.block(A, a[k]), at_p, m.block(B, b[k]), m.work, at_k);
    }
}

// X - Y Z, one term for each block.
template <class T>
SOACRAFT_INLINE void make_remainder(const Made<T>& m, const Maker& maker) {
    const index X = maker.in[0], Y = maker.in[1], Z = maker.in[2], out = maker.out[0];
    for (index i = 0; i < m.field(X).count; ++i) {
        const index y = maker.list[2 * i], z = maker.list[2 * i + 1], rows = m.rows(X, i), cols = m.cols(X, i);
        const index inner = y < 0 ? 0 : m.cols(Y, y);
        const T *const from = m.block(X, i), *const a = y < 0 ? nullptr : m.block(Y, y);
        const T* const b = y < 0 ? nullptr : m.block(Z, z);
        T* const to = m.block(out, i);
        const Fixed<6> six{};
        if (rows == 6 && cols == 6 && inner == 1)
            subtract_product(six, Fixed<1>{}, six, from, a, b, to);
        else
            subtract_product(rows, inner, cols, from, a, b, to);
    }
}

// P+(k) = the symmetric part of P(k) - G(k) H(k) P(k).
template <class T>
SOACRAFT_INLINE void make_past_hinge(const Made<T>& m, const Maker& maker) {
    const index P = maker.in[0], H = maker.in[1], G = maker.in[2], P_plus = maker.out[0];
    for (index k = 0; k < m.plan->forest.count; ++k) {
        const index size = m.rows(P, k), dofs = m.rows(H, k);
        for (index i = 0; i < dofs * size; ++i) m.work[i] = T(0.0);
        detail::add_product(dofs, size, size, m.block(H, k), One<T>{m.block(P, k)}, m.work);
        detail::remove_hinge(size, dofs, m.block(P, k), m.block(G, k), m.work, m.block(P_plus, k));
    }
}

// P, D and G; of P+ only that of the node at hand is kept. P(k) begins as M(k) when it is first met, by a child or by the
// sweep itself: one walk through memory, which is what long chains wait for. False when a hinge may have no inertia to
// move.
template <class T>
SOACRAFT_INLINE bool make_riccati(const Made<T>& m, const Maker& maker) {
    const index A = maker.in[0], H = maker.in[1], M = maker.in[2];
    const index P = maker.out[0], D = maker.out[1], G = maker.out[2];
    const Forest& forest = m.plan->forest;
    const Space& body = m.plan->spaces[m.field(P).rows];
    const index *const a = maker.list, *const x = a + forest.count;
    T* const sizes = m.work;  // below zero: not yet met
    T* const P_plus = sizes + body.offset[forest.count];
    for (index i = 0; i < body.offset[forest.count]; ++i) sizes[i] = T(-1.0);
    const auto meet = [&](index k) {
        const index size = m.rows(P, k);
        T *const to = m.block(P, k), *const own = sizes + body.offset[k];
        if (size == 0 || !above(T(0.0), own[0])) return;
        const T* const from = x[k] < 0 ? nullptr : m.block(M, x[k]);
        for (index i = 0; i < size * size; ++i) to[i] = from ? from[i] : T(0.0);
        for (index i = 0; i < size; ++i) own[i] = T(0.0);
    };
    for (index i = forest.count; i-- > 0;) {
        const index k = forest.order[i], p = forest.parent[k];
        const index size = m.rows(P, k), dofs = m.rows(D, k);
        meet(k);
        const T* const inertia = x[k] < 0 ? nullptr : m.block(M, x[k]);
        bool massless = true;
        for (index j = 0; inertia && j < size; ++j) massless = massless && is_zero(inertia[j * size + j]);
        T *const own = sizes + body.offset[k], *const work = P_plus + size * size;
        const bool moves = size == 6 && dofs == 1
                               ? detail::articulate(Fixed<6>{}, Fixed<1>{}, T(DOUBT), massless, m.block(H, k),
                                                    m.block(P, k), P_plus, m.block(D, k), m.block(G, k), own, work)
                               : detail::articulate(size, dofs, T(DOUBT), massless, m.block(H, k), m.block(P, k),
                                                    P_plus, m.block(D, k), m.block(G, k), own, work);
        if (!moves) return false;
        if (p < 0 || a[k] < 0) continue;
        meet(p);
        const index inboard = m.rows(P, p);
        const T* const edge = m.block(A, a[k]);
        add_AYAs(inboard, size, edge, P_plus, work, m.block(P, p));
        T* const carried = sizes + body.offset[p];
        for (index r = 0; r < inboard; ++r)
            for (index c = 0; c < size; ++c) carried[r] += edge[r * size + c] * edge[r * size + c] * own[c];
    }
    return true;
}

// One maker; those that are given have their numbers already.
template <class T, class In>
SOACRAFT_INLINE bool make(const Made<T>& m, index number, const In& q, const Pose<T>& base) {
    const Maker& maker = m.plan->makers[number];
    switch (maker.how) {
        case RIGID: fill_at(Filled<T>{m.plan, m.arena}, q, base); return true;
        case PICK_OFF: fill_pick_off(Filled<T>{m.plan, m.arena}, maker.out[0], m.plan->spots[number]); return true;
        case PRODUCT: make_product(m, maker); return true;
        case SUM: make_sum(m, maker); return true;
        case INVERSE: return make_inverse(m, maker);
        case FORWARD:
        case BACKWARD: make_lyapunov(m, maker); return true;
        case RICCATI: return make_riccati(m, maker);
        case PAST_HINGE: make_past_hinge(m, maker); return true;
        case REMAINDER: make_remainder(m, maker); return true;
        case SWEEP: make_sweep(m, maker); return true;
        case CROSS: make_cross(m, maker); return true;
        case HINGE_RATE: make_hinge_rate(Filled<T>{m.plan, m.arena}, maker, q); return true;
        default: return true;
    }
}

SOACRAFT_PROGRAM_END
