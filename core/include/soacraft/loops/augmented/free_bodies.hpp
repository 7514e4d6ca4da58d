// A tree in maximal coordinates (formula F4): every element a free body with an acceleration of its own, its hinge rows.
//
//     [ P(k)        N(k)* ]                             N(k) (alpha(k) - phi* alpha(p)) = N(k) c(k),   N(k) H*(k) = 0
//     [       J    -H     ]  block of element k         with rotors: alpha(k) - phi* alpha(p) - H* rho = c(k), N(k) = 1
//     [ N(k) -H*          ]
//
// The matrix of the tree has the pattern of the tree: eliminated from tips to base, the block of an element leaves its
// mark on the acceleration of its parent alone, P(p) += phi N* W N phi* with -W the corner of the inverted block at the
// hinge forces. Blocks are inverted whole, by Gauss-Jordan elimination with pivoting. O(n).
#pragma once

#include <type_traits>

#include "articulated.hpp"

SOACRAFT_RIGID_BEGIN

using loops::FreeBody;

// What the solver in maximal coordinates keeps besides LoopWork.
struct FullWork {
    const Plan& plan;
    double* inverse;       // of the blocks
    double *z, *r, *step;  // alpha, rho, mu of all elements; right-hand sides
    double* XY;            // X F of all rows, F in LoopWork::Y
    Twist *N, *h;          // hinge rows; (H*)^+ by dof: h(i) H*(j) = 1 where i = j, else 0
    Twist* push;           // forces on the bodies
    std::size_t bytes;

    FullWork(const Plan& plan_, char* memory) : plan(plan_) {
        Cutter cut{memory};
        const index n = static_cast<index>(plan.free_bodies.size()), some = n > 0 ? 1 : 0;
        cut(inverse, plan.inverse_size), cut(z, plan.free_size), cut(r, plan.free_size), cut(step, plan.free_size);
        cut(XY, some * plan.Y_size), cut(N, plan.hinge_rows), cut(h, some * plan.tree->nv), cut(push, n);
        bytes = cut.taken;
    }
    Twist& alpha(double* of, index k) const { return *reinterpret_cast<Twist*>(of + plan.free_bodies[k].at); }
};

// Rows of blocks come in these widths.
template <class Work>
SOACRAFT_FLAT auto with_width(index width, const Work& work) {
    switch (width) {
        case 8: return work(std::integral_constant<int, 8>{});
        case 12: return work(std::integral_constant<int, 12>{});
        case 16: return work(std::integral_constant<int, 16>{});
        default: return work(std::integral_constant<int, 20>{});
    }
}

// A <- A^-1 (n x n in rows of W); false where a pivot is no more than `zero`.
template <int W>
inline bool invert(index n, double* SOACRAFT_RESTRICT A, double zero) {
    index swapped[20];
    for (index k = 0; k < n; ++k) {
        index best = k;
        for (index i = k + 1; i < n; ++i)
            if (std::fabs(A[i * W + k]) > std::fabs(A[best * W + k])) best = i;
        swapped[k] = best;
        double* own = A + k * W;
        if (best != k)
            for (int c = 0; c < W; ++c) {
                const double x = own[c];
                own[c] = A[best * W + c], A[best * W + c] = x;
            }
        if (!(std::fabs(own[k]) > zero)) return false;
        const double pivot = 1.0 / own[k];
        own[k] = 1.0;
        for (int c = 0; c < W; ++c) own[c] *= pivot;
        for (index i = 0; i < n; ++i) {
            double* row = A + i * W;
            const double x = row[k];
            if (i == k || x == 0.0) continue;
            row[k] = 0.0;
            for (int c = 0; c < W; ++c) row[c] -= x * own[c];
        }
    }
    for (index k = n; k-- > 0;)
        if (swapped[k] != k)
            for (index i = 0; i < n; ++i) {
                const double x = A[i * W + k];
                A[i * W + k] = A[i * W + swapped[k]], A[i * W + swapped[k]] = x;
            }
    return true;
}

// The rows N of an element's hinge, turns first, and (H*)^+.
inline void hinge_rows(const LoopWork& w, const FullWork& s, index k) {
    const Element& e = w.model.elements[k];
    const FreeBody& b = w.plan.free_bodies[k];
    const Mat3& R = w.limbs[k].R;
    const Twist* S = w.S + e.d;
    Twist *N = s.N + b.rows_at, *h = s.h + e.d;
    const Vec3 no{0.0, 0.0, 0.0}, axes[] = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};
    const index n = dofs(e.kind);
    if (e.kind == PRISMATIC) h[0] = {no, e.unscale * R.c};
    else if (n == 1) h[0] = {e.unscale * R.c, no};
    else
        for (index j = 0; j < n; ++j) h[j] = S[j], (j < 3 ? h[j].v : h[j].w) = no;
    if (b.rotors > 0) {
        for (int i = 0; i < 3; ++i) N[i] = {axes[i], no}, N[3 + i] = {no, axes[i]};
    } else if (e.kind == PRISMATIC) {
        for (int i = 0; i < 3; ++i) N[i] = {axes[i], no};
        N[3] = {no, R.a}, N[4] = {no, R.b};
    } else if (e.kind != FREE) {
        if (n == 1) *N++ = {R.a, no}, *N++ = {R.b, no};
        for (int i = 0; i < 3; ++i) {  // what moves along an axis besides what the turns make of it
            N[i] = {no, axes[i]};
            for (index j = 0; j < n; ++j) N[i].w -= dot(S[j].v, axes[i]) * h[j].w;
        }
    }
}

inline void put(double* to, const Twist& x) { to[0] = x.w.x, to[1] = x.w.y, to[2] = x.w.z, to[3] = x.v.x, to[4] = x.v.y, to[5] = x.v.z; }

// The inverted block of an element whose P is known: in units of the model's length and of the largest inertia in it, so
// that pivots compare. False where the hinge has no inertia to move.
inline bool invert_block(const LoopWork& w, const FullWork& s, index k) {
    const Element& e = w.model.elements[k];
    const FreeBody& b = w.plan.free_bodies[k];
    const Articulated<double>& P = w.P[k];
    const double length = w.plan.length, square = length * length;
    const double size = larger(larger(P.A.xx, larger(P.A.yy, P.A.zz)), square * larger(P.C.xx, larger(P.C.yy, P.C.zz)));
    if (!(size > 0.0)) return false;
    const double root = std::sqrt(size), turn = 1.0 / root, slide = length * turn, per_length = 1.0 / length;
    double *A = s.inverse + b.inverse_at, scale[20] = {turn, turn, turn, slide, slide, slide};
    const index W = b.width, first = 6 + b.rotors, n = first + b.rows;
    for (index i = 0; i < n * W; ++i) A[i] = 0.0;
    put(A, {{P.A.xx, P.A.xy, P.A.xz}, {P.B.a.x, P.B.b.x, P.B.c.x}}), put(A + W, {{P.A.xy, P.A.yy, P.A.yz}, {P.B.a.y, P.B.b.y, P.B.c.y}});
    put(A + 2 * W, {{P.A.xz, P.A.yz, P.A.zz}, {P.B.a.z, P.B.b.z, P.B.c.z}}), put(A + 3 * W, {P.B.a, {P.C.xx, P.C.xy, P.C.xz}});
    put(A + 4 * W, {P.B.b, {P.C.xy, P.C.yy, P.C.yz}}), put(A + 5 * W, {P.B.c, {P.C.xz, P.C.yz, P.C.zz}});
    for (index j = 0; j < b.rotors; ++j) {
        const index at = 6 + j;
        scale[at] = turn / w.plan.unit[e.v + j];
        A[at * W + at] = w.model.armature[e.v + j];
        double column[6];
        put(column, w.S[e.d + j]);
        for (index i = 0; i < 6; ++i) A[at * W + first + i] = A[(first + i) * W + at] = -column[i];
    }
    for (index q = 0; q < b.rows; ++q) {
        const index at = first + q;
        scale[at] = q < b.turns ? root : root * per_length;
        put(A + at * W, s.N[b.rows_at + q]);
        for (index i = 0; i < 6; ++i) A[i * W + at] = A[at * W + i];
    }
    for (index i = 0; i < n; ++i)
        for (index j = 0; j < n; ++j) A[i * W + j] *= scale[i] * scale[j];
    if (!with_width(W, [&](auto width) { return invert<width.value>(n, A, SINGULAR); })) return false;
    for (index i = 0; i < n; ++i)
        for (index j = 0; j < n; ++j) A[i * W + j] *= scale[i] * scale[j];
    return true;
}

// N* W N of an inverted block: what the parent has to move, at the element itself.
inline Articulated<double> passed_inward(const FullWork& s, const FreeBody& b) {
    const index first = 6 + b.rotors;
    const Twist* N = s.N + b.rows_at;
    Articulated<double> P = {{0.0, 0.0, 0.0, 0.0, 0.0, 0.0}, {{0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}},
                             {0.0, 0.0, 0.0, 0.0, 0.0, 0.0}};
    for (index q = 0; q < b.rows; ++q) {
        const double* row = s.inverse + b.inverse_at + (first + q) * b.width + first;
        Twist x = none<double>();
        for (index t = 0; t < b.rows; ++t) x -= row[t] * N[t];
        const Vec3 &n = N[q].w, &m = N[q].v;
        P.A.xx += n.x * x.w.x, P.A.xy += n.x * x.w.y, P.A.xz += n.x * x.w.z;
        P.A.yy += n.y * x.w.y, P.A.yz += n.y * x.w.z, P.A.zz += n.z * x.w.z;
        P.B.a += x.v.x * n, P.B.b += x.v.y * n, P.B.c += x.v.z * n;
        P.C.xx += m.x * x.v.x, P.C.xy += m.x * x.v.y, P.C.xz += m.x * x.v.z;
        P.C.yy += m.y * x.v.y, P.C.yz += m.y * x.v.z, P.C.zz += m.z * x.v.z;
    }
    return P;
}

// All blocks, tips to base.
inline bool factor_bodies(LoopWork& w, const FullWork& s) {
    const Model& model = w.model;
    for (index k = 0; k < model.count; ++k) hinge_rows(w, s, k), w.P[k] = articulated(w.limbs[k].I);
    for (index k = model.count; k-- > 0;) {
        if (!invert_block(w, s, k)) return false;
        const index p = model.elements[k].parent;
        if (p >= 0) w.P[p] += shifted(w.limbs[k].l, passed_inward(s, w.plan.free_bodies[k]));
    }
    return true;
}

// The force N* mu of a hinge on its element.
inline Twist hinge_force(const FullWork& s, const FreeBody& b, const double* mu) {
    const Twist* N = s.N + b.rows_at;
    Twist f = none<double>();
    for (index q = 0; q < b.rows; ++q) f += mu[q] * N[q];
    return f;
}

// y <- K^-1 y for the tree: tips to base, then base to tips.
inline void solve_bodies(const LoopWork& w, const FullWork& s, double* y) {
    const Model& model = w.model;
    for (index k = model.count; k-- > 0;) {
        const FreeBody& b = w.plan.free_bodies[k];
        const index p = model.elements[k].parent, n = 6 + b.rotors + b.rows;
        double* own = y + b.at;
        const double* A = s.inverse + b.inverse_at;
        with_width(b.width, [&](auto width) {
            constexpr int W = width.value;
            double x[W] = {};
            for (index j = 0; j < n; ++j)
                for (int i = 0; i < W; ++i) x[i] += own[j] * A[j * W + i];
            for (int i = 0; i < W; ++i) own[i] = x[i];
        });
        if (p >= 0) s.alpha(y, p) += pulled(w.limbs[k].l, hinge_force(s, b, own + 6 + b.rotors));
    }
    for (index k = 0; k < model.count; ++k) {
        const FreeBody& b = w.plan.free_bodies[k];
        const index p = model.elements[k].parent;
        if (p < 0) continue;
        const Twist A_p = carried(w.limbs[k].l, s.alpha(y, p));
        const Twist* N = s.N + b.rows_at;
        double* own = y + b.at;
        const double* A = s.inverse + b.inverse_at + (6 + b.rotors) * b.width;
        with_width(b.width, [&](auto width) {
            constexpr int W = width.value;
            for (index q = 0; q < b.rows; ++q) {
                const double x = dot(N[q], A_p);
                for (int i = 0; i < W; ++i) own[i] += x * A[q * W + i];
            }
        });
    }
}

// r <- what z leaves of the equations of the tree, without closures; the ground has its own acceleration.
inline void left_of_bodies(const LoopWork& w, const FullWork& s, const Twist& ground) {
    const Model& model = w.model;
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        const FreeBody& b = w.plan.free_bodies[k];
        const Limb& me = w.limbs[k];
        const double *rho = s.z + b.at + 6, *mu = rho + b.rotors;
        double* to = s.r + b.at + 6;
        const Twist &A = s.alpha(s.z, k), force = hinge_force(s, b, mu);
        s.alpha(s.r, k) = s.push[k] - me.b - me.I * A - force;
        if (e.parent >= 0) s.alpha(s.r, e.parent) += pulled(me.l, force);
        Twist across = me.c + carried(me.l, e.parent < 0 ? ground : s.alpha(s.z, e.parent)) - A;
        for (index j = 0; j < b.rotors; ++j) {
            const Twist& S = w.S[e.d + j];
            to[j] = dot(S, force) - w.model.armature[e.v + j] * rho[j];
            across += rho[j] * S;
        }
        const Twist* N = s.N + b.rows_at;
        for (index q = 0; q < b.rows; ++q) to[b.rotors + q] = dot(N[q], across);
    }
}

SOACRAFT_RIGID_END
