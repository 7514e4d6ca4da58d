// Springs, tendons and bushings between nodes as generalized forces J* f: places and velocities base to tips, wrenches by
// their laws, tips to base. The law is model/flat/links.py. O(n + links).
//
//     line      pulls each of its sites towards its neighbours with the tension of its length (law.hpp)
//     bushing   x = log(rest^-1 X_ab),  xdot = J(x) nu,  f_b = -J*(x) (K x + D xdot),  opposite on a
#pragma once

#include "law.hpp"
#include "rnea.hpp"
#include "twist_log.hpp"

namespace soacraft {
namespace rigid {

// A node as it is given, on a body; -1 for one on the inertial frame.
struct NodeOn {
    index body;
    double R[9], p[3];
};
// A point of an element; `element` is the number of elements for what the base hangs from, one more for the inertial frame.
struct Site {
    index element;
    double p[3];
};
struct Line {
    index first, last;  // of its sites
    Law law;
};
struct Bushing {
    Body a, b;
    double K[36], D[36], rest_R[9], rest_p[3];
};

struct Links {
    index lines_count, bushings_count, last;  // last: one past the last element that has an end
    const Line* lines;
    const Site* sites;
    const Bushing* bushings;
    bool any() const { return lines_count || bushings_count; }
};

}  // namespace rigid
}  // namespace soacraft

SOACRAFT_RIGID_BEGIN

// An element, all in inertial axes: its place, the velocity of its origin, the wrench about its origin.
template <class T>
struct LinkedElement {
    Place<T> X;
    Spatial<T> V, f;
};

// Where what the base hangs from is and how it moves, in inertial axes.
template <class T>
struct Ground {
    Place<T> X;
    Spatial<T> V;
};

template <class T>
SOACRAFT_FLAT Spatial<T> at_rest() {
    const T o(0.0);
    return {{o, o, o}, {o, o, o}};
}
template <class T>
SOACRAFT_FLAT Ground<T> inertial_ground() {
    const T o(0.0), i(1.0);
    return {{{{i, o, o}, {o, i, o}, {o, o, i}}, {o, o, o}}, at_rest<T>()};
}

// How many numbered elements the sweeps work on: those of the tree, the ground and the inertial frame.
SOACRAFT_INLINE index linked_elements(const Links& links, const Model& model) { return links.any() ? model.count + 2 : 0; }

template <bool MOVING, class T, class In>
SOACRAFT_INLINE void follow_links(const Model& model, const Links& links, const Ground<T>& ground, const In& q, const In& v,
                                  LinkedElement<T>* SOACRAFT_RESTRICT at) {
    const Ground<T> fixed = inertial_ground<T>();
    at[model.count] = {ground.X, ground.V, at_rest<T>()}, at[model.count + 1] = {fixed.X, fixed.V, at_rest<T>()};
    auto turns = turns_of<T>(model, q, links.last);
    for (index k = 0; k < links.last; ++k) {
        const Element& e = model.elements[k];
        const LinkedElement<T>& parent = at[e.parent < 0 ? model.count : e.parent];
        LinkedElement<T>& me = at[k];
        const Place<T> X = place<T>(e, turns(k), q);
        const Vec<T> arm = parent.X.R * X.p;
        me.X = {parent.X.R * X.R, parent.X.p + arm};
        me.f = at_rest<T>();
        if (!MOVING) continue;
        me.V = {parent.V.w, parent.V.v + cross(parent.V.w, arm)};
        if (e.kind == REVOLUTE) {
            me.V.w += (T(e.scale) * v[e.v]) * me.X.R.c;
        } else {
            const Spatial<T> VJ = across<T>(e, q, v);
            me.V.w += me.X.R * VJ.w, me.V.v += me.X.R * VJ.v;
        }
    }
}

// -- lines ------------------------------------------------------------------------------------------------------------

// From one site to the next: arms from the origins of their elements, the way between them, its length and 1 over it.
template <class T>
struct Segment {
    Vec<T> r_a, r_b, d;
    T length, inverse;
};

template <class T>
SOACRAFT_FLAT Segment<T> segment(const Site* s, const LinkedElement<T>* at) {
    const LinkedElement<T>&a = at[s[0].element], &b = at[s[1].element];
    Segment<T> x;
    x.r_a = a.X.R * vec<T>(s[0].p), x.r_b = b.X.R * vec<T>(s[1].p);
    x.d = (b.X.p - a.X.p) + (x.r_b - x.r_a);
    x.length = square_root(dot(x.d, x.d)), x.inverse = T(1.0) / x.length;
    return x;
}
// How fast it grows.
template <class T>
SOACRAFT_FLAT T growth(const Site* s, const Segment<T>& x, const LinkedElement<T>* at) {
    const LinkedElement<T>&a = at[s[0].element], &b = at[s[1].element];
    const Vec<T> rate = (b.V.v - a.V.v) + (cross(b.V.w, x.r_b) - cross(a.V.w, x.r_a));
    return x.inverse * dot(x.d, rate);
}
template <class T>
SOACRAFT_FLAT void pull_together(const Site* s, const Segment<T>& x, const Vec<T>& pull, LinkedElement<T>* at) {
    LinkedElement<T>&a = at[s[0].element], &b = at[s[1].element];
    a.f.w += cross(x.r_a, pull), a.f.v += pull;
    b.f.w -= cross(x.r_b, pull), b.f.v -= pull;
}

// Without a rest, a damper or a curve the pull is k d: it needs no direction.
SOACRAFT_FLAT bool is_plain(const Line& s) {
    return s.last - s.first == 2 && s.law.low == 0.0 && s.law.high == 0.0 && s.law.spring < 0 && !damped(s.law);
}

template <class T>
SOACRAFT_FLAT void pull_line(const Curves& curves, const Line& s, const Site* sites, LinkedElement<T>* at) {
    const bool damps = damped(s.law);
    if (s.last - s.first == 2) {
        const Site* two = sites + s.first;
        const Segment<T> x = segment(two, at);
        if (is_plain(s)) {
            pull_together(two, x, T(s.law.k) * x.d, at);
        } else {
            const T pull = damps ? tension(curves, s.law, x.length, growth(two, x, at)) : elastic(curves, s.law, x.length);
            pull_together(two, x, (pull * x.inverse) * x.d, at);
        }
        return;
    }
    T length(0.0), rate(0.0);
    for (index i = s.first; i + 1 < s.last; ++i) {
        const Segment<T> x = segment(sites + i, at);
        length += x.length;
        if (damps) rate += growth(sites + i, x, at);
    }
    const T pull = damps ? tension(curves, s.law, length, rate) : elastic(curves, s.law, length);
    for (index i = s.first; i + 1 < s.last; ++i) {
        const Segment<T> x = segment(sites + i, at);
        pull_together(sites + i, x, (pull * x.inverse) * x.d, at);
    }
}

// -- bushings ---------------------------------------------------------------------------------------------------------

// A symmetric matrix of six by a vector.
template <class T>
SOACRAFT_INLINE Spatial<T> six_by_six(const double* M, const Spatial<T>& x) {
    const T in[6] = {x.w.x, x.w.y, x.w.z, x.v.x, x.v.y, x.v.z};
    T out[6];
    for (int i = 0; i < 6; ++i) {
        out[i] = T(M[6 * i]) * in[0];
        for (int j = 1; j < 6; ++j) out[i] += T(M[6 * i + j]) * in[j];
    }
    return {{out[0], out[1], out[2]}, {out[3], out[4], out[5]}};
}

template <class T>
SOACRAFT_FLAT Place<T> node_of(const Body& node, const LinkedElement<T>* at) {
    const Place<T>& X = at[node.element].X;
    return {X.R * mat<T>(node.R), X.p + X.R * vec<T>(node.p)};
}
// x = log(rest^-1 X_ab) of the places of both nodes.
template <class T>
SOACRAFT_INLINE Spatial<T> displacement(const Bushing& s, const Place<T>& a, const Place<T>& b) {
    const Mat<T> rest = a.R * mat<T>(s.rest_R);
    return twist_log(transpose(rest) * b.R, turn_back(rest, b.p - a.p - a.R * vec<T>(s.rest_p)));
}

template <class T>
SOACRAFT_INLINE void push_bushing(const Bushing& s, LinkedElement<T>* at) {
    LinkedElement<T>&on_a = at[s.a.element], &on_b = at[s.b.element];
    const Place<T> a = node_of(s.a, at), b = node_of(s.b, at);
    const Spatial<T> x = displacement(s, a, b);
    const LogRate<T> J(x);
    const Vec<T> w = on_b.V.w - on_a.V.w;  // of b relative to a, at b
    const Vec<T> v = on_b.V.v + cross(on_b.V.w, b.p - on_b.X.p) - (on_a.V.v + cross(on_a.V.w, b.p - on_a.X.p));
    const Spatial<T> xdot = J.times({turn_back(b.R, w), turn_back(b.R, v)});
    const Spatial<T> f = J.back(six_by_six(s.K, x) + six_by_six(s.D, xdot));
    const Vec<T> n = b.R * f.w, pull = b.R * f.v;  // on a, at b
    on_a.f.w += n + cross(b.p - on_a.X.p, pull), on_a.f.v += pull;
    on_b.f.w -= n + cross(b.p - on_b.X.p, pull), on_b.f.v -= pull;
}

template <class T>
SOACRAFT_INLINE T bushing_energy(const Bushing& s, const LinkedElement<T>* at) {
    const Spatial<T> x = displacement(s, node_of(s.a, at), node_of(s.b, at));
    return T(0.5) * dot(x, six_by_six(s.K, x));
}

#if !defined(__CUDACC__)
// A pack lane by lane, as a bushing has cases: one element of one state.
template <int W>
SOACRAFT_INLINE LinkedElement<double> one_state(const LinkedElement<Pack<W>>& k, int i) {
    LinkedElement<double> one;
    constexpr int count = sizeof(one) / sizeof(double);
    static_assert(sizeof(k) == count * sizeof(Pack<W>), "numbers one after the other");
    double numbers[count];
    for (int c = 0; c < count; ++c) {
        Pack<W> x;
        std::memcpy(&x, reinterpret_cast<const char*>(&k) + c * sizeof x, sizeof x);
        numbers[c] = x.x[i];
    }
    std::memcpy(static_cast<void*>(&one), numbers, sizeof one);
    return one;
}
template <int W>
SOACRAFT_INLINE void add_lane(Vec<Pack<W>>& to, int i, const Vec<double>& x) { to.x.x[i] += x.x, to.y.x[i] += x.y, to.z.x[i] += x.z; }

// The bushing between the first two of two elements.
SOACRAFT_INLINE Bushing between_two(Bushing s) {
    s.a.element = 0, s.b.element = 1;
    return s;
}

template <int W>
SOACRAFT_INLINE void push_bushing(const Bushing& s, LinkedElement<Pack<W>>* at) {
    const Bushing two = between_two(s);
    for (int i = 0; i < W; ++i) {
        LinkedElement<double> ends[] = {one_state(at[s.a.element], i), one_state(at[s.b.element], i)};
        ends[0].f = ends[1].f = at_rest<double>();
        push_bushing(two, ends);
        add_lane(at[s.a.element].f.w, i, ends[0].f.w), add_lane(at[s.a.element].f.v, i, ends[0].f.v);
        add_lane(at[s.b.element].f.w, i, ends[1].f.w), add_lane(at[s.b.element].f.v, i, ends[1].f.v);
    }
}
template <int W>
SOACRAFT_INLINE Pack<W> bushing_energy(const Bushing& s, const LinkedElement<Pack<W>>* at) {
    const Bushing two = between_two(s);
    Pack<W> found;
    for (int i = 0; i < W; ++i) {
        const LinkedElement<double> ends[] = {one_state(at[s.a.element], i), one_state(at[s.b.element], i)};
        found.x[i] = bushing_energy(two, ends);
    }
    return found;
}
#endif

// -- all of them ------------------------------------------------------------------------------------------------------

// What a projection sets is added.
template <class Add>
struct Adding {
    const Add& add;
    template <class T>
    SOACRAFT_FLAT void set(index i, const T& x) { add(i, x); }
};

// add(i, x) for the force x on each dof i.
template <class T, class In, class Add>
SOACRAFT_INLINE void each_link_force(const Model& model, const Links& links, const Curves& curves, const Ground<T>& ground,
                                     const In& q, const In& v, LinkedElement<T>* SOACRAFT_RESTRICT at, const Add& add) {
    follow_links<true>(model, links, ground, q, v, at);
    for (index i = 0; i < links.lines_count; ++i) pull_line(curves, links.lines[i], links.sites, at);
    for (index i = 0; i < links.bushings_count; ++i) push_bushing(links.bushings[i], at);
    Adding<Add> adding{add};
    for (index k = links.last; k-- > 0;) {
        const Element& e = model.elements[k];
        const LinkedElement<T>& me = at[k];
        if (e.kind == REVOLUTE)
            add(e.v, T(e.scale) * dot(me.X.R.c, me.f.w));
        else
            project<T>(e, q, Spatial<T>{turn_back(me.X.R, me.f.w), turn_back(me.X.R, me.f.v)}, adding);
        if (e.parent < 0) continue;
        LinkedElement<T>& parent = at[e.parent];
        parent.f.w += me.f.w + cross(me.X.p - parent.X.p, me.f.v), parent.f.v += me.f.v;
    }
}

template <class T, class In>
SOACRAFT_INLINE T link_energy(const Model& model, const Links& links, const Curves& curves, const Ground<T>& ground, const In& q,
                              LinkedElement<T>* SOACRAFT_RESTRICT at) {
    follow_links<false>(model, links, ground, q, q, at);
    T sum(0.0);
    for (index i = 0; i < links.lines_count; ++i) {
        const Line& s = links.lines[i];
        T length(0.0);
        for (index k = s.first; k + 1 < s.last; ++k) length += segment(links.sites + k, at).length;
        sum += energy(curves, s.law, length);
    }
    for (index i = 0; i < links.bushings_count; ++i) sum += bushing_energy(links.bushings[i], at);
    return sum;
}

SOACRAFT_RIGID_END
