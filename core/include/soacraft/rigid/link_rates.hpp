// Derivatives of the forces of springs and bushings between nodes along the dofs and in v, as matrices
//
//     K = -d(J* f)/dq,    D = -d(J* f)/dv
//
// A link feels the dofs on the way between its ends alone: each moves one of them, as a rigid body with w and the travel of
// the hinge. With d from end to end, u its direction, e_j = +-(dp/dq_j) how d varies, g_j = u . e_j and c_j = e_j - u g_j,
//
//     line      K_ij = (T_L g_j + T_r h_j) g_i + (T/|d|) (c_i . e_j + d . d(e_i)/dq_j),    D_ij = T_r g_i g_j
//
// where T_L and T_r are the slopes of the tension in the length and its rate, and h_j = dLdot/dq_j. Of two dofs that move the
// same end, the outer one turns with the inner one: d(e_i)/dq_j = w x e, w of the inner, e of the outer. A bushing takes
// several dofs at a time by dual numbers. O(links way^2).
#pragma once

#include "links.hpp"

SOACRAFT_RIGID_BEGIN

#if !defined(__CUDACC__)

typedef Pack<SOACRAFT_LANES> Directions;
typedef Dual<Directions> Varying;

// A dof on the way: +1 if it moves the second end, -1 the first; in inertial axes w and the travel of the element's origin.
struct WayDof {
    index v, element;
    double side;
    Vec<double> w, travel, e, c, m;
};

struct LinkRateWork {
    LinkedElement<double>* now = nullptr;
    WayDof* way = nullptr;
    double *K = nullptr, *D = nullptr, *g = nullptr, *h = nullptr;
    index* felt = nullptr;  // dofs that the length of a line depends on
    LinkRateWork() = default;
    template <class Taker>
    LinkRateWork(const Model& m, Taker& arena)
        : now(arena.template take<LinkedElement<double>>(m.count + 2)), way(arena.template take<WayDof>(m.nv)),
          K(arena.template take<double>(m.nv * m.nv)), D(arena.template take<double>(m.nv * m.nv)),
          g(arena.template take<double>(m.nv)), h(arena.template take<double>(m.nv)), felt(arena.template take<index>(m.nv)) {}
};

// Whether element e moves with the hinge of element k.
SOACRAFT_FLAT bool carries(const Model& model, index k, index e) { return k <= e && e < model.elements[k].last; }

// each(i, w, travel) for the dofs of a hinge; not for one that rolls, which derivatives refuse.
template <class Each>
SOACRAFT_INLINE void each_axis(const Element& e, const Mat<double>& R, const Each& each) {
    const Vec<double> none{0.0, 0.0, 0.0}, axes[] = {R.a, R.b, R.c}, along = e.scale * R.c;
    switch (e.kind) {
        case REVOLUTE: each(0, along, none); return;
        case PRISMATIC: each(0, none, along); return;
        case HELICAL: each(0, along, e.pitch * along); return;
        default: break;
    }
    for (index i = 0; i < 3; ++i) each(i, axes[i], e.kind == ROLLING ? Vec<double>{NAN, NAN, NAN} : none);
    for (index i = 0; i < 3 && e.kind == FREE; ++i) each(3 + i, none, axes[i]);
}

// The dofs that move one of two elements; how many.
SOACRAFT_INLINE index find_way(const Model& model, index a, index b, const LinkRateWork& w) {
    index count = 0;
    const index ends[] = {a, b};
    for (int end = 0; end < 2; ++end)
        for (index k = ends[end] < model.count ? ends[end] : -1; k >= 0 && !carries(model, k, ends[1 - end]);
             k = model.elements[k].parent)
            each_axis(model.elements[k], w.now[k].X.R, [&](index i, const Vec<double>& turn, const Vec<double>& travel) {
                WayDof& dof = w.way[count++];
                dof.v = model.elements[k].v + i, dof.element = k, dof.side = end ? 1.0 : -1.0, dof.w = turn, dof.travel = travel;
            });
    return count;
}

// How a point p moves with a dof, and its velocity v with it: the part of it that is relative to the parent turns with w.
SOACRAFT_FLAT Vec<double> step(const WayDof& dof, const LinkedElement<double>* now, const Vec<double>& p) {
    return dof.travel + cross(dof.w, p - now[dof.element].X.p);
}
SOACRAFT_FLAT Vec<double> step_of_velocity(const Model& model, const WayDof& dof, const LinkedElement<double>* now,
                                           const Vec<double>& p, const Vec<double>& v) {
    const index parent = model.elements[dof.element].parent;
    const LinkedElement<double>& k = now[parent < 0 ? model.count : parent];
    const Vec<double> carried = k.V.v + cross(k.V.w, p - k.X.p);
    return cross(k.V.w, step(dof, now, p)) + cross(dof.w, v - carried);
}

// -- lines ------------------------------------------------------------------------------------------------------------

SOACRAFT_INLINE void line_rates(const Model& model, const Curves& curves, const Line& s, const Site* sites, const LinkRateWork& w) {
    const index n = model.nv;
    const LinkedElement<double>* now = w.now;
    const bool plain = is_plain(s), damps = damped(s.law);
    double length = 0.0, rate = 0.0;
    for (index i = s.first; i + 1 < s.last; ++i) {
        const Segment<double> x = segment(sites + i, now);
        length += x.length;
        if (damps) rate += growth(sites + i, x, now);
    }
    const Law& law = s.law;
    const double in_doubt = law.low != law.high && (length == law.low || length == law.high) ? NAN : 0.0;  // a corner
    const double T = damps ? tension(curves, law, length, rate) : elastic(curves, law, length);
    const double T_L = stiffness(curves, law, length) + in_doubt, T_r = damping(curves, law, rate);
    index count = 0;
    for (index i = s.first; i + 1 < s.last; ++i) {
        const Site* two = sites + i;
        const Segment<double> x = segment(two, now);
        const double over = plain ? s.law.k : T * x.inverse;
        const index way = find_way(model, two[0].element, two[1].element, w);
        const Vec<double> p[] = {now[two[0].element].X.p + x.r_a, now[two[1].element].X.p + x.r_b}, u = x.inverse * x.d;
        Vec<double> v[2];
        for (int k = 0; k < 2; ++k) {
            const LinkedElement<double>& at = now[two[k].element];
            v[k] = at.V.v + cross(at.V.w, p[k] - at.X.p);
        }
        for (index j = 0; j < way; ++j) {
            WayDof& dof = w.way[j];
            const int end = dof.side > 0.0;
            dof.e = dof.side * step(dof, now, p[end]), dof.m = cross(dof.e, x.d), dof.c = dof.e;
            if (plain) continue;
            const double g = dot(u, dof.e);
            dof.c -= g * u;
            index k = 0;
            while (k < count && w.felt[k] != dof.v) ++k;
            if (k == count) w.felt[count++] = dof.v, w.g[dof.v] = 0.0, w.h[dof.v] = 0.0;
            w.g[dof.v] += g;
            if (damps)
                w.h[dof.v] += x.inverse * dot(dof.c, v[1] - v[0]) + dof.side * dot(u, step_of_velocity(model, dof, now, p[end], v[end]));
        }
        for (index k = 0; k < way; ++k)
            for (index j = 0; j < way; ++j) {
                const WayDof &a = w.way[k], &b = w.way[j];
                double bent = dot(a.c, b.e);
                if (a.side == b.side) bent += carries(model, b.element, a.element) ? dot(b.w, a.m) : dot(a.w, b.m);
                w.K[a.v * n + b.v] += over * bent;
            }
    }
    for (index k = 0; k < count; ++k)
        for (index j = 0; j < count; ++j) {
            const index a = w.felt[k], b = w.felt[j];
            w.K[a * n + b] += (T_L * w.g[b] + (damps ? T_r * w.h[b] : 0.0)) * w.g[a];
            w.D[a * n + b] += T_r * w.g[b] * w.g[a];
        }
}

// -- bushings ---------------------------------------------------------------------------------------------------------

SOACRAFT_INLINE Vec<Varying> held(const Vec<double>& x) { return {Varying(x.x), Varying(x.y), Varying(x.z)}; }
SOACRAFT_FLAT void vary(Vec<Varying>& to, int lane, const Vec<double>& x) {
    to.x.d.x[lane] = x.x, to.y.d.x[lane] = x.y, to.z.d.x[lane] = x.z;
}
SOACRAFT_INLINE LinkedElement<Varying> held(const LinkedElement<double>& k) {
    return {{{held(k.X.R.a), held(k.X.R.b), held(k.X.R.c)}, held(k.X.p)}, {held(k.V.w), held(k.V.v)}, at_rest<Varying>()};
}

// Dofs first to first + count - 1 of the way: K, or D with `fast`. The wrench G on the second end is about the origin of its
// element as it is now; a dof outboard of the one that varies turns with it, and with it the axes that G is seen in.
SOACRAFT_INLINE void vary_bushing(const Model& model, const Bushing& s, index way, index first, int count, bool fast,
                                  const LinkRateWork& w) {
    const index on[] = {s.a.element, s.b.element}, n = model.nv;
    LinkedElement<Varying> ends[] = {held(w.now[on[0]]), held(w.now[on[1]])};
    for (int l = 0; l < count; ++l) {
        const WayDof& dof = w.way[first + l];
        const int end = dof.side > 0.0;
        const LinkedElement<double>& k = w.now[on[end]];
        LinkedElement<Varying>& to = ends[end];
        const Vec<double> moved = step(dof, w.now, k.X.p);
        if (fast) {
            vary(to.V.w, l, dof.w), vary(to.V.v, l, moved);
            continue;
        }
        const index parent = model.elements[dof.element].parent;
        vary(to.X.R.a, l, cross(dof.w, k.X.R.a)), vary(to.X.R.b, l, cross(dof.w, k.X.R.b)), vary(to.X.R.c, l, cross(dof.w, k.X.R.c));
        vary(to.X.p, l, moved);
        vary(to.V.w, l, cross(dof.w, k.V.w - w.now[parent < 0 ? model.count : parent].V.w));
        vary(to.V.v, l, step_of_velocity(model, dof, w.now, k.X.p, k.V.v));
    }
    push_bushing(between_two(s), ends);
    const Vec<double> o = w.now[on[1]].X.p;
    const Spatial<Varying> G{ends[1].f.w + cross(ends[1].X.p - held(o), ends[1].f.v), ends[1].f.v};
    const Spatial<double> now{{G.w.x.x, G.w.y.x, G.w.z.x}, {G.v.x.x, G.v.y.x, G.v.z.x}};
    for (index i = 0; i < way; ++i) {
        const WayDof& a = w.way[i];
        const Vec<double> t = step(a, w.now, o);
        const Directions rate = a.w.x * G.w.x.d + a.w.y * G.w.y.d + a.w.z * G.w.z.d + t.x * G.v.x.d + t.y * G.v.y.d + t.z * G.v.z.d;
        for (int l = 0; l < count; ++l) {
            const WayDof& b = w.way[first + l];
            double x = rate.x[l];
            if (!fast && carries(model, b.element, a.element))
                x -= dot(Spatial<double>{a.w, t}, force_cross(Spatial<double>{b.w, step(b, w.now, o)}, now));
            (fast ? w.D : w.K)[a.v * n + b.v] -= a.side * x;
        }
    }
}

// -- all of them ------------------------------------------------------------------------------------------------------

// K and D of the work, for all dofs.
template <class In>
SOACRAFT_INLINE void link_rates(const Model& model, const Links& links, const Curves& curves, const Ground<double>& ground,
                                const In& q, const In& v, const LinkRateWork& w) {
    follow_links<true>(model, links, ground, q, v, w.now);
    for (index i = 0; i < model.nv * model.nv; ++i) w.K[i] = w.D[i] = 0.0;
    for (index i = 0; i < links.lines_count; ++i) line_rates(model, curves, links.lines[i], links.sites, w);
    for (index i = 0; i < links.bushings_count; ++i) {
        const Bushing& s = links.bushings[i];
        const index way = find_way(model, s.a.element, s.b.element, w);
        for (index first = 0; first < way; first += SOACRAFT_LANES) {
            const int count = static_cast<int>(way - first < SOACRAFT_LANES ? way - first : SOACRAFT_LANES);
            vary_bushing(model, s, way, first, count, false, w), vary_bushing(model, s, way, first, count, true, w);
        }
    }
}

#endif

SOACRAFT_RIGID_END
