// Articulated-body forward dynamics (004 Algorithm 6.1), three sweeps. O(n).
//
// The articulated inertia of an only child that follows its parent is carried in registers; only branch points keep an
// accumulator. What a revolute hinge eliminates is dropped before the congruence. Armature adds to D alone: a hinge with
// it eliminates less, and nothing is dropped.
#pragma once

#include "rnea.hpp"
#include "verdict.hpp"

SOACRAFT_RIGID_BEGIN

// What one element keeps between the sweeps; `Wide` for those with several dofs.
template <class T>
struct Joint {
    Place<T> X;
    Spatial<T> V, U;
    T D_inv, u;
};

template <class T>
struct Wide {
    Spatial<T> U[3];
    Sym<T> D_inv;
    Vec<T> u;
    Spatial<T> a;     // of a free element: its acceleration; with armature, its rates D^-1 u
    Spatial<T> G[6];  // and G then
};

// An articulated inertia with its residual force.
template <class T>
struct Carried {
    Articulated<T> P;
    Spatial<T> z;
    Sizes<T> of;
};

template <class T>
SOACRAFT_FLAT Carried<T> nothing() {
    const T o(0.0);
    return {{{o, o, o, o, o, o}, {{o, o, o}, {o, o, o}, {o, o, o}}, {o, o, o, o, o, o}}, {{o, o, o}, {o, o, o}},
            no_sizes<T>()};
}

template <class T>
struct AbaWork {
    Joint<T>* joints;
    Wide<T>* wides;
    Carried<T>* branches;
    Spatial<T>* motions;  // velocities, later accelerations, of elements with several children
};

// Take U D^-1 U* out of P and move the residual force across the hinge: z+ = z + P+ c + U D^-1 u. `along`: the size of D.
template <class T>
SOACRAFT_FLAT void eliminate(Carried<T>& k, const Joint<T>& me, const Spatial<T>& c, const T& along) {
    subtract_square(k.P.A, me.D_inv, me.U.w);
    subtract_square(k.P.C, me.D_inv, me.U.v);
    k.P.B.a -= (me.D_inv * me.U.v.x) * me.U.w;
    k.P.B.b -= (me.D_inv * me.U.v.y) * me.U.w;
    k.P.B.c -= (me.D_inv * me.U.v.z) * me.U.w;
    take_out(k.of, along, me.D_inv * me.U);
    k.z += k.P * c + (me.D_inv * me.u) * me.U;
}

// The revolute hinge about z, and what it passes inward.
template <class T>
SOACRAFT_FLAT Carried<T> past_turn(const Carried<T>& k, Joint<T>& me, const Place<T>& X, const T& tau,
                                   const Spatial<T>& c, const T& along) {
    const Articulated<T>& P = k.P;
    me.U = {{P.A.xz, P.A.yz, P.A.zz}, {P.B.a.z, P.B.b.z, P.B.c.z}};
    me.D_inv = T(1.0) / P.A.zz;
    me.u = tau - k.z.w.z;
    const T x = me.D_inv * me.U.w.x, y = me.D_inv * me.U.w.y;
    const T xx = P.A.xx - x * me.U.w.x, xy = P.A.xy - x * me.U.w.y, yy = P.A.yy - y * me.U.w.y;
    const Vec<T> b0 = Vec<T>{P.B.a.x, P.B.b.x, P.B.c.x} - x * me.U.v;  // rows of B
    const Vec<T> b1 = Vec<T>{P.B.a.y, P.B.b.y, P.B.c.y} - y * me.U.v;
    Sym<T> C = P.C;
    subtract_square(C, me.D_inv, me.U.v);
    Sizes<T> of = k.of;
    take_out(of, along, Spatial<T>{{x, y, T(1.0)}, me.D_inv * me.U.v});
    const T pull = me.D_inv * me.u;
    const Spatial<T> z{{k.z.w.x + xx * c.w.x + xy * c.w.y + b0.x * c.v.x + b0.y * c.v.y + pull * me.U.w.x,
                        k.z.w.y + xy * c.w.x + yy * c.w.y + b1.x * c.v.x + b1.y * c.v.y + pull * me.U.w.y, tau},
                       {k.z.v.x + b0.x * c.w.x + b1.x * c.w.y + C.xx * c.v.x + C.xy * c.v.y + pull * me.U.v.x,
                        k.z.v.y + b0.y * c.w.x + b1.y * c.w.y + C.xy * c.v.x + C.yy * c.v.y + pull * me.U.v.y,
                        k.z.v.z + b0.z * c.w.x + b1.z * c.w.y + C.xz * c.v.x + C.yz * c.v.y + pull * me.U.v.z}};
    const Vec<T>&ra = X.R.a, &rb = X.R.b;
    const Vec<T> wa = xx * ra + xy * rb, wb = xy * ra + yy * rb;
    const Sym<T> A{wa.x * ra.x + wb.x * rb.x, wa.x * ra.y + wb.x * rb.y, wa.x * ra.z + wb.x * rb.z,
                   wa.y * ra.y + wb.y * rb.y, wa.y * ra.z + wb.y * rb.z, wa.z * ra.z + wb.z * rb.z};
    const Vec<T> t0 = X.R * b0, t1 = X.R * b1;  // rows of B R*
    return {shifted(X.p, A, ra.x * t0 + rb.x * t1, ra.y * t0 + rb.y * t1, ra.z * t0 + rb.z * t1, turned(X.R, C)),
            inward(X, z), shifted(X.p, of)};
}

// S^-1 by its cofactors. The determinant, of the third degree, would overflow at entries of 1e103, so it is divided by the
// trace; entries beyond 1e154 leave `smallest` below zero or no number.
template <class T>
SOACRAFT_FLAT Sym<T> inverse(const Sym<T>& S, T& smallest) {
    const T trace = S.xx + S.yy + S.zz, scale = T(1.0) / trace;
    const T a = S.yy * S.zz - S.yz * S.yz, b = S.xz * S.yz - S.xy * S.zz, c = S.xy * S.yz - S.xz * S.yy;
    const T f = S.xx * S.zz - S.xz * S.xz, g = S.xy * S.xz - S.xx * S.yz, h = S.xx * S.yy - S.xy * S.xy;
    const T det = (scale * S.xx) * a + (scale * S.xy) * b + (scale * S.xz) * c, d = T(1.0) / det;
    // Within a factor of three of the smallest eigenvalue; of rank one `pairs` and `det` are rounding, as their quotient.
    const T pairs = a + f + h;
    smallest = minimum(trace * (det / pairs), scale * pairs);
    return {scale * (d * a), scale * (d * b), scale * (d * c), scale * (d * f), scale * (d * g), scale * (d * h)};
}

// P a = r by way of the block C: a.v = C^-1 (r.v - B* a.w), with the Schur complement A - B C^-1 B* for a.w. The margin
// is above zero when all six dofs have inertia beside the sizes of P.
template <class T>
SOACRAFT_FLAT Spatial<T> solve(const Articulated<T>& P, const Sizes<T>& of, const Spatial<T>& r, T& margin) {
    T of_C, of_A;
    const Sym<T> C_inv = inverse(P.C, of_C);
    const Mat<T> Bt = transpose(P.B);                                    // columns are rows of B
    const Vec<T> g0 = C_inv * Bt.a, g1 = C_inv * Bt.b, g2 = C_inv * Bt.c;  // columns of C^-1 B*
    const Sym<T> A{P.A.xx - dot(Bt.a, g0), P.A.xy - dot(Bt.a, g1), P.A.xz - dot(Bt.a, g2),
                   P.A.yy - dot(Bt.b, g1), P.A.yz - dot(Bt.b, g2), P.A.zz - dot(Bt.c, g2)};
    const Sym<T> A_inv = inverse(A, of_A);
    margin = minimum(of_A - T(DOUBT) * of.A, of_C - T(DOUBT) * of.C);
    const Vec<T> w = A_inv * (r.w - Vec<T>{dot(g0, r.v), dot(g1, r.v), dot(g2, r.v)});
    return {w, C_inv * r.v - (w.x * g0 + w.y * g1 + w.z * g2)};
}

// D = H P H* + J of a hinge with three dofs, U = P H*.
template <bool ARMATURE, class T>
SOACRAFT_FLAT Sym<T> hinge_inertia(const double* J, const Spatial<T>* S, const Spatial<T>* U) {
    Sym<T> D{dot(S[0], U[0]), dot(S[0], U[1]), dot(S[0], U[2]), dot(S[1], U[1]), dot(S[1], U[2]), dot(S[2], U[2])};
    if (ARMATURE) D.xx += T(J[0]), D.yy += T(J[1]), D.zz += T(J[2]);
    return D;
}

// A hinge with three dofs and columns S of H*.
template <bool ARMATURE, class T>
SOACRAFT_FLAT T past_three(const double* J, Carried<T>& k, Wide<T>& me, const Spatial<T>* S, const Vec<T>& tau,
                           const Spatial<T>& c, const T& along) {
    for (int i = 0; i < 3; ++i) me.U[i] = k.P * S[i];
    const Sym<T> D = hinge_inertia<ARMATURE>(J, S, me.U);
    T smallest;
    me.D_inv = inverse(D, smallest);
    me.u = tau - Vec<T>{dot(S[0], k.z), dot(S[1], k.z), dot(S[2], k.z)};
    const Sym<T>& Q = me.D_inv;
    const Spatial<T> G[3] = {Q.xx * me.U[0] + Q.xy * me.U[1] + Q.xz * me.U[2],
                             Q.xy * me.U[0] + Q.yy * me.U[1] + Q.yz * me.U[2],
                             Q.xz * me.U[0] + Q.yz * me.U[1] + Q.zz * me.U[2]};
    for (int i = 0; i < 3; ++i) {
        const Spatial<T>&g = G[i], &U = me.U[i];
        k.P.A += Sym<T>{-g.w.x * U.w.x, -g.w.x * U.w.y, -g.w.x * U.w.z, -g.w.y * U.w.y, -g.w.y * U.w.z, -g.w.z * U.w.z};
        k.P.C += Sym<T>{-g.v.x * U.v.x, -g.v.x * U.v.y, -g.v.x * U.v.z, -g.v.y * U.v.y, -g.v.y * U.v.z, -g.v.z * U.v.z};
        k.P.B.a -= U.v.x * g.w;
        k.P.B.b -= U.v.y * g.w;
        k.P.B.c -= U.v.z * g.w;
        take_out(k.of, along, g);
    }
    k.z += k.P * c + me.u.x * G[0] + me.u.y * G[1] + me.u.z * G[2];
    return smallest;
}

// P -= U G*
template <class T>
SOACRAFT_FLAT void take_out(Articulated<T>& P, const Spatial<T>& U, const Spatial<T>& G) {
    P.A.xx -= U.w.x * G.w.x, P.A.xy -= U.w.x * G.w.y, P.A.xz -= U.w.x * G.w.z;
    P.A.yy -= U.w.y * G.w.y, P.A.yz -= U.w.y * G.w.z, P.A.zz -= U.w.z * G.w.z;
    P.B.a -= G.v.x * U.w, P.B.b -= G.v.y * U.w, P.B.c -= G.v.z * U.w;
    P.C.xx -= U.v.x * G.v.x, P.C.xy -= U.v.x * G.v.y, P.C.xz -= U.v.x * G.v.z;
    P.C.yy -= U.v.y * G.v.y, P.C.yz -= U.v.y * G.v.z, P.C.zz -= U.v.z * G.v.z;
}

template <class T>
SOACRAFT_FLAT Spatial<T> swapped(const Spatial<T>& a) { return {a.v, a.w}; }

// P^-1 with the linear part first, by way of the block C; the margin as above.
template <class T>
SOACRAFT_FLAT Articulated<T> inverse(const Articulated<T>& P, const Sizes<T>& of, T& margin) {
    T of_C, of_A;
    const Sym<T> C = inverse(P.C, of_C);
    const Mat<T> Bt = transpose(P.B);
    const Mat<T> E{C * Bt.a, C * Bt.b, C * Bt.c};  // C^-1 B*
    const Sym<T> S{P.A.xx - dot(Bt.a, E.a), P.A.xy - dot(Bt.a, E.b), P.A.xz - dot(Bt.a, E.c),
                   P.A.yy - dot(Bt.b, E.b), P.A.yz - dot(Bt.b, E.c), P.A.zz - dot(Bt.c, E.c)};
    const Sym<T> A = inverse(S, of_A);
    margin = minimum(of_A - T(DOUBT) * of.A, of_C - T(DOUBT) * of.C);
    const Mat<T> X = E * full(A);  // the block off the diagonal is -X
    Sym<T> L = turned(E, A);
    L += C;
    return {L, {-X.a, -X.b, -X.c}, A};
}

// A hinge with all six dofs, columns S of H*, and armature: D^-1 = (P + J)^-1 with the linear part first. As H is
// orthogonal, G = P D^-1 in the axes of P, and P+ = P - G P = J D^-1 P is the sum of J_i S_i G*_i.
template <class T>
SOACRAFT_INLINE Articulated<T> past_six(const double* J, Articulated<T>& P, const Sizes<T>& of, const Spatial<T>* S,
                                        Spatial<T>* G, T& margin) {
    Articulated<T> D = P;
    for (int i = 0; i < 6; ++i) take_out(D, T(-J[i]) * S[i], S[i]);
    const Articulated<T> D_inv = inverse(D, of, margin);
    for (int i = 0; i < 6; ++i) G[i] = P * swapped(D_inv * swapped(S[i]));
    P = nothing<T>().P;
    for (int i = 0; i < 6; ++i) take_out(P, T(-J[i]) * S[i], G[i]);
    return D_inv;
}

// A free hinge with armature, S = I. What it passes inward; by value, so that the sweep keeps its own in registers.
template <class T>
SOACRAFT_INLINE Carried<T> past_free(const double* J, Carried<T> k, Wide<T>& me, Spatial<T> tau, Spatial<T> c,
                                     T& margin) {
    const T o(0.0), i(1.0);
    const Vec<T> x{i, o, o}, y{o, i, o}, z{o, o, i}, no{o, o, o};
    const Spatial<T> S[6] = {{x, no}, {y, no}, {z, no}, {no, x}, {no, y}, {no, z}}, u = tau - k.z, *G = me.G;
    me.a = swapped(past_six(J, k.P, k.of, S, me.G, margin) * swapped(u));
    k.z += k.P * c + u.w.x * G[0] + u.w.y * G[1] + u.w.z * G[2] + u.v.x * G[3] + u.v.y * G[4] + u.v.z * G[5];
    return k;
}

// Its rates when what it hangs from, with what velocity adds, accelerates with a:  D^-1 u - G* a.
template <class T>
SOACRAFT_FLAT Spatial<T> free_rates(const Wide<T>& me, const Spatial<T>& a) {
    const Spatial<T>* G = me.G;
    return me.a - Spatial<T>{{dot(G[0], a), dot(G[1], a), dot(G[2], a)}, {dot(G[3], a), dot(G[4], a), dot(G[5], a)}};
}

// The columns of H* of a spherical hinge or a rolling ball.
template <class T, class In>
SOACRAFT_FLAT void columns(const Element& e, const In& q, Spatial<T>* S) {
    const T o(0.0), i(1.0);
    const Vec<T> l = e.kind == ROLLING ? lever<T>(e, q) : Vec<T>{o, o, o};
    S[0] = {{i, o, o}, {o, l.z, -l.y}};
    S[1] = {{o, i, o}, {-l.z, o, l.x}};
    S[2] = {{o, o, i}, {l.y, -l.x, o}};
}

// The three sweeps. ARMATURE: whether the model has armature; one without is spared the looking.
template <bool ARMATURE, class T, class In, class Out>
SOACRAFT_INLINE bool articulated_sweeps(const Model& model, const Base& base, const In& q, const In& v, const In& tau,
                                        const Spatial<T>* pull, const AbaWork<T>& work, Out& vdot) {
    Joint<T>* SOACRAFT_RESTRICT w = work.joints;
    const Spatial<T> V0 = spatial<T>(base.V), a0 = spatial<T>(base.a);
    Spatial<T> at = V0;
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        if (e.parent < 0)
            at = V0;
        else if (model.elements[e.parent].branch >= 0)
            at = work.motions[model.elements[e.parent].branch];
        w[k].X = place<T>(e, q);
        w[k].V = at = outward(w[k].X, at) + across<T>(e, q, v);
        if (e.branch >= 0) work.motions[e.branch] = at;
    }
    for (index i = 0; i < model.branches; ++i) work.branches[i] = nothing<T>();
    T margin(1.0);
    Carried<T> carry = nothing<T>();
    for (index k = model.count; k-- > 0;) {
        const Element& e = model.elements[k];
        const double* J = model.armature + e.v;
        Joint<T>& me = w[k];
        Carried<T> my = e.branch >= 0 ? work.branches[e.branch] : e.last > k + 1 ? carry : nothing<T>();
        if (!e.massless) {
            const Rigid<T> I = inertia<T>(e);
            my.P += I;
            my.z += force_cross(me.V, I * me.V);
        }
        if (pull) my.z -= pull[k];
        const Spatial<T> VJ = across<T>(e, q, v), c = velocity_terms<T>(e, q, me.V, VJ);
        const Sizes<T> grown = meet(my.of, my.P, e);
        const Place<T>& X = me.X;
        Carried<T> out;
        if (e.kind == REVOLUTE && !(ARMATURE && e.has_armature)) {
            margin = minimum(margin, my.P.A.zz - T(DOUBT) * my.of.A);
            out = past_turn(my, me, X, T(e.unscale) * tau[e.v], c, grown.A);
        } else {
            if (e.kind == PRISMATIC || e.kind == HELICAL || (ARMATURE && e.kind == REVOLUTE)) {
                me.U = {my.P.B.c, {my.P.C.xz, my.P.C.yz, my.P.C.zz}};
                T D = me.U.v.z;
                me.u = T(e.unscale) * tau[e.v] - my.z.v.z;
                if (e.kind == HELICAL) {
                    const T h(e.pitch);
                    me.U = Spatial<T>{{my.P.A.xz, my.P.A.yz, my.P.A.zz}, {my.P.B.a.z, my.P.B.b.z, my.P.B.c.z}} + h * me.U;
                    D = me.U.w.z + h * me.U.v.z;
                    me.u = T(e.unscale) * tau[e.v] - my.z.w.z - h * my.z.v.z;
                } else if (ARMATURE && e.kind == REVOLUTE) {
                    me.U = {{my.P.A.xz, my.P.A.yz, my.P.A.zz}, {my.P.B.a.z, my.P.B.b.z, my.P.B.c.z}};
                    D = me.U.w.z;
                    me.u = T(e.unscale) * tau[e.v] - my.z.w.z;
                }
                if (ARMATURE) D += T(e.unscale * e.unscale * J[0]);
                margin = minimum(margin, D - T(DOUBT) * along_dof(my.of, e));
                me.D_inv = T(1.0) / D;
                eliminate(my, me, c, along_dof(grown, e));
            } else if (e.kind == FREE) {
                T here;
                const Spatial<T> force{three<T>(tau, e.v), three<T>(tau, e.v + 3)};
                if (ARMATURE && e.has_armature) {
                    my = past_free(J, my, work.wides[e.wide], force, c, here);
                } else {
                    work.wides[e.wide].a = solve(my.P, my.of, force - my.z, here);
                    my = nothing<T>();
                    my.z = force;
                }
                margin = minimum(margin, here);
            } else {
                Spatial<T> S[3];
                columns<T>(e, q, S);
                const T least = T(DOUBT) * along_dof(my.of, e), along = along_dof(grown, e);
                const T smallest = past_three<ARMATURE>(J, my, work.wides[e.wide], S, three<T>(tau, e.v), c, along);
                margin = minimum(margin, smallest - least);
            }
            out = {inward(X, my.P), inward(X, my.z), shifted(X.p, my.of)};
        }
        if (e.parent >= 0) {
            const Element& p = model.elements[e.parent];
            if (p.branch >= 0) {
                work.branches[p.branch].P += out.P;
                work.branches[p.branch].z += out.z;
                work.branches[p.branch].of += out.of;
            } else {
                carry = out;
            }
        }
    }
    at = a0;
    for (index k = 0; k < model.count; ++k) {
        const Element& e = model.elements[k];
        const Joint<T>& me = w[k];
        if (e.parent < 0)
            at = a0;
        else if (model.elements[e.parent].branch >= 0)
            at = work.motions[model.elements[e.parent].branch];
        const Spatial<T> VJ = across<T>(e, q, v);
        Spatial<T> a = outward(me.X, at) + velocity_terms<T>(e, q, me.V, VJ);
        if (e.kind <= HELICAL) {
            const T rate = me.D_inv * (me.u - dot(me.U, a));
            vdot.set(e.v, T(e.unscale) * rate);
            if (e.kind != PRISMATIC) a.w.z += rate;
            if (e.kind == PRISMATIC) a.v.z += rate;
            if (e.kind == HELICAL) a.v.z += T(e.pitch) * rate;
        } else if (e.kind == FREE) {
            const Wide<T>& wide = work.wides[e.wide];
            const Spatial<T> rate = ARMATURE && e.has_armature ? free_rates(wide, a) : wide.a - a;
            vdot.set(e.v, rate.w.x), vdot.set(e.v + 1, rate.w.y), vdot.set(e.v + 2, rate.w.z);
            vdot.set(e.v + 3, rate.v.x), vdot.set(e.v + 4, rate.v.y), vdot.set(e.v + 5, rate.v.z);
            a = ARMATURE && e.has_armature ? a + rate : wide.a;
        } else {
            const Wide<T>& wide = work.wides[e.wide];
            const Vec<T> rate =
                wide.D_inv * (wide.u - Vec<T>{dot(wide.U[0], a), dot(wide.U[1], a), dot(wide.U[2], a)});
            vdot.set(e.v, rate.x), vdot.set(e.v + 1, rate.y), vdot.set(e.v + 2, rate.z);
            a.w += rate;
            if (e.kind == ROLLING) a.v += cross(lever<T>(e, q), rate);
        }
        at = a;
        if (e.branch >= 0) work.motions[e.branch] = at;
    }
    return !any_not_above(margin, T(0.0));
}

// vdot for tau. False when a hinge has no inertia to move.
template <class T, class In, class Out>
SOACRAFT_INLINE bool forward_dynamics(const Model& model, const Base& base, const In& q, const In& v, const In& tau,
                                      const Spatial<T>* pull, const AbaWork<T>& work, Out& vdot) {
    return model.has_armature ? articulated_sweeps<true, T>(model, base, q, v, tau, pull, work, vdot)
                       : articulated_sweeps<false, T>(model, base, q, v, tau, pull, work, vdot);
}

SOACRAFT_RIGID_END
