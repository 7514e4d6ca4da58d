// Derivatives of the forces of springs and bushings between nodes along the dofs and in v: the same sweeps on dual numbers,
// several dofs at a time. O(nv (n + links)).
#pragma once

#include "links.hpp"

SOACRAFT_RIGID_BEGIN

#if !defined(__CUDACC__)

typedef Pack<SOACRAFT_LANES> Directions;
typedef Dual<Directions> Varying;

struct LinkRateWork {
    Varying *q = nullptr, *v = nullptr;
    LinkedElement<Varying>* at = nullptr;
    LinkRateWork() = default;
    template <class Taker>
    LinkRateWork(const Model& m, Taker& arena)
        : q(arena.template take<Varying>(m.nq)), v(arena.template take<Varying>(m.nv)),
          at(arena.template take<LinkedElement<Varying>>(m.count + 2)) {}
};

// The change of an element's coordinates q along its dof i: of a quaternion q e/2, of a free hinge R e, of a ball the way that
// it rolls.
SOACRAFT_INLINE void step_along(const Element& e, index i, int lane, Varying* q) {
    if (e.kind <= HELICAL) {
        q->d.x[lane] = 1.0;
        return;
    }
    const double own[] = {q[0].x, q[1].x, q[2].x, q[3].x}, w = own[3];
    const Mat<double> R = quaternion_at<double>(own, 0);
    const Vec<double> u{own[0], own[1], own[2]}, turned = i % 3 == 0 ? R.a : i % 3 == 1 ? R.b : R.c;
    if (i >= 3) {
        q[4].d.x[lane] = turned.x, q[5].d.x[lane] = turned.y, q[6].d.x[lane] = turned.z;
        return;
    }
    const Vec<double> half{i == 0 ? 0.5 : 0.0, i == 1 ? 0.5 : 0.0, i == 2 ? 0.5 : 0.0}, rate = w * half + cross(u, half);
    q[0].d.x[lane] = rate.x, q[1].d.x[lane] = rate.y, q[2].d.x[lane] = rate.z, q[3].d.x[lane] = -dot(u, half);
    if (e.kind != ROLLING) return;
    q[4].d.x[lane] = e.radius * dot(turned, vec<double>(e.t2)), q[5].d.x[lane] = -e.radius * dot(turned, vec<double>(e.t1));
}

SOACRAFT_INLINE Ground<Varying> varying(const Ground<double>& g) {
    const auto three = [](const Vec<double>& x) { return Vec<Varying>{Varying(x.x), Varying(x.y), Varying(x.z)}; };
    return {{{three(g.X.R.a), three(g.X.R.b), three(g.X.R.c)}, three(g.X.p)}, {three(g.V.w), three(g.V.v)}};
}

// along_q(i, j, x) and along_v(i, j, x) for every -d(force i)/d(dof j) and -d(force i)/d(v j).
template <class In, class Q, class V>
SOACRAFT_INLINE void each_link_rate(const Model& model, const Links& links, const Curves& curves, const Ground<double>& ground,
                                    const In& q, const In& v, const LinkRateWork& w, const Q& along_q, const V& along_v) {
    double damps = 0.0;
    for (index i = 0; i < links.lines_count; ++i) damps += damped(links.lines[i].law);
    for (index i = 0; i < links.bushings_count; ++i)
        for (double x : links.bushings[i].D) damps += x != 0.0;
    const Ground<Varying> base = varying(ground);
    for (index i = 0; i < model.nq; ++i) w.q[i] = Varying(q[i]);
    for (index i = 0; i < model.nv; ++i) w.v[i] = Varying(v[i]);
    index dof[SOACRAFT_LANES];
    int count = 0;
    const auto run = [&](const auto& along) {
        const Varying *at_q = w.q, *at_v = w.v;
        each_link_force<Varying>(model, links, curves, base, at_q, at_v, w.at, [&](index i, const Varying& x) {
            for (int k = 0; k < count; ++k) along(i, dof[k], -x.d.x[k]);
        });
    };
    const auto flush = [&] {
        run(along_q);
        for (index i = 0; i < model.nq; ++i) w.q[i].d = Directions(0.0);
        if (damps != 0.0) {
            for (int k = 0; k < count; ++k) w.v[dof[k]].d.x[k] = 1.0;
            run(along_v);
            for (int k = 0; k < count; ++k) w.v[dof[k]].d = Directions(0.0);
        }
        count = 0;
    };
    for (index k = 0; k < links.last; ++k) {
        const Element& e = model.elements[k];
        for (index i = 0; i < dofs(e.kind); ++i) {
            step_along(e, i, count, w.q + e.q);
            dof[count++] = e.v + i;
            if (count == SOACRAFT_LANES) flush();
        }
    }
    if (count) flush();
}

#endif

SOACRAFT_RIGID_END
