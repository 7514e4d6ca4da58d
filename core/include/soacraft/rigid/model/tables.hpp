// The numbers of a rigid tree that kernels read, and how they come from its bodies, hinges and springs. What is no tree is
// refused with std::invalid_argument.
#pragma once

#include <cmath>
#include <initializer_list>
#include <vector>

#include "../../reject.hpp"
#include "assembly.hpp"
#include "../drivers/job.hpp"

namespace soacraft {
namespace rigid {

// The numbers that kernels read, and views of them.
struct Tables {
    std::vector<Element> elements;
    std::vector<Body> bodies;
    std::vector<double> armature;
    std::vector<Spring> springs;
    std::vector<Ball> balls;
    std::vector<Tendon> tendons;
    std::vector<Strand> strands;
    std::vector<Line> lines;
    std::vector<Bushing> bushings;
    std::vector<NodeOn> nodes;  // of all lines, then both of each bushing
    std::vector<Site> sites;    // those of lines, on their elements
    std::vector<Curve> curves;
    std::vector<CurvePiece> pieces;
    std::vector<Flexible> flexible;
    std::vector<Spot> spots;
    std::vector<Eight> modal;
    Model model = {};
    Passive passive = {};

    Tables() = default;
    Tables(const Tables& other)
        : elements(other.elements), bodies(other.bodies), armature(other.armature), springs(other.springs),
          balls(other.balls), tendons(other.tendons), strands(other.strands), lines(other.lines),
          bushings(other.bushings), nodes(other.nodes), curves(other.curves), pieces(other.pieces), flexible(other.flexible),
          spots(other.spots), modal(other.modal), model(other.model) {
        view();
    }
    Tables& operator=(const Tables&) = delete;

    void view() {
        place_nodes();
        model.elements = elements.data(), model.bodies = bodies.data(), model.armature = armature.data();
        model.flexible = flexible.data(), model.spots = spots.data(), model.modal = modal.data();
        passive = {static_cast<index>(springs.size()), static_cast<index>(balls.size()),
                   static_cast<index>(tendons.size()), springs.data(), balls.data(), tendons.data(), strands.data(),
                   {static_cast<index>(lines.size()), static_cast<index>(bushings.size()), 0, lines.data(), sites.data(),
                    bushings.data()}, curves.data(), pieces.data()};
        index& last = passive.links.last;
        const auto reach = [&](index element) { last = element < model.count && element >= last ? element + 1 : last; };
        for (const Site& s : sites) reach(s.element);
        for (const Bushing& b : bushings) reach(b.a.element), reach(b.b.element);
    }
    // A node on the element that carries its body, or on one of the two behind the last: the base, the inertial frame.
    Body on_element(const NodeOn& node) const {
        Frame at;
        for (int i = 0; i < 9; ++i) at.R[i] = node.R[i];
        for (int i = 0; i < 3; ++i) at.p[i] = node.p[i];
        Body found = {model.count + 1, {}, {}};
        if (node.body >= 0) {
            const Body& body = bodies[static_cast<std::size_t>(node.body)];
            Frame on;
            for (int i = 0; i < 9; ++i) on.R[i] = body.R[i];
            for (int i = 0; i < 3; ++i) on.p[i] = body.p[i];
            at = on * at;
            found.element = body.element < 0 ? model.count : body.element;
        }
        for (int i = 0; i < 9; ++i) found.R[i] = at.R[i];
        for (int i = 0; i < 3; ++i) found.p[i] = at.p[i];
        return found;
    }
    void place_nodes() {
        const std::size_t both = 2 * bushings.size(), own = nodes.size() - both;
        sites.clear();
        for (std::size_t i = 0; i < own; ++i) {
            const Body on = on_element(nodes[i]);
            sites.push_back({on.element, {on.p[0], on.p[1], on.p[2]}});
        }
        for (std::size_t i = 0; i < bushings.size(); ++i)
            bushings[i].a = on_element(nodes[own + 2 * i]), bushings[i].b = on_element(nodes[own + 2 * i + 1]);
    }
    // Which of some elements have armature.
    void mark_armature(index first, index last) {
        for (index k = first; k < last; ++k) {
            Element& e = elements[static_cast<std::size_t>(k)];
            e.has_armature = 0;
            for (index i = e.v; i < e.v + dofs(e.kind); ++i)
                if (armature[static_cast<std::size_t>(i)] != 0.0) e.has_armature = 1, model.has_armature = 1;
        }
    }
};

// The screws and hinges of an assembly: known kinds, and each hinge with the screws that follow those of the one before.
inline void check_hinges(Assembly& a) {
    const index count = static_cast<index>(a.screws.size());
    for (index i = 0; i < count; ++i) {
        Screw& s = a.screws[static_cast<std::size_t>(i)];
        if (s.kind < REVOLUTE || s.kind > HELICAL) reject("screw %lld has no such kind", static_cast<long long>(i));
        s.back = inverse(s.axis);
    }
    index first = 0;
    for (index i = 0; i < static_cast<index>(a.hinges.size()); ++i) {
        const Hinge& h = a.hinges[static_cast<std::size_t>(i)];
        if ((h.kind != WELD && h.kind != PRODUCT && (h.kind < SPHERICAL || h.kind > ROLLING)) || h.first != first ||
            h.last < first || h.last > count || (h.kind == PRODUCT) != (h.last > first) || h.last - first > 6)
            reject("hinge %lld has no such kind, or not its screws", static_cast<long long>(i));
        first = h.last;
    }
}

// What does not change with the parameters of a tree: which elements its links become, every coordinate and every dof being
// that of one of them. The hinges are checked already. Returns where the quaternions are in q.
inline std::vector<index> lay_out(Assembly& a, Tables& t, index nq, index nv) {
    constexpr index MOST = index(1) << 40;
    if (nq < 0 || nv < 0 || nq > MOST || nv > MOST) reject("q and v have lengths of no tree");
    for (const ModalNumbers& x : a.modal) x.check();
    const auto has_node = [&](index modal, index node) {
        return node == -1 || (modal >= 0 && node >= 0 && node < static_cast<index>(a.modal[static_cast<std::size_t>(modal)].nodes.size()));
    };
    for (std::size_t k = 0; k < a.links.size(); ++k) {
        const Link& link = a.links[k];
        const bool inside = link.parent >= 0 && link.parent < static_cast<index>(k);
        if (link.modal < -1 || link.modal >= static_cast<index>(a.modal.size()) || !has_node(link.modal, link.held) ||
            !has_node(inside ? a.links[static_cast<std::size_t>(link.parent)].modal : -1, link.rides))
            reject("body %lld has modes or nodes that are not there", static_cast<long long>(k));
        if (link.hinge < 0 || link.hinge >= static_cast<index>(a.hinges.size()) || link.q < 0 || link.q > nq ||
            link.v < 0 || link.v > nv)
            reject("body %lld is not that of a tree", static_cast<long long>(k));
    }
    if (!a.lay_out(t.elements, t.bodies)) reject("the bodies are not those of a tree, parents first");
    index all_q = 0, all_v = 0, wides = 0, branches = 0, modes = 0;
    bool in_order = true;
    std::vector<index> quaternions;
    for (const Element& e : t.elements) {
        if (e.q > nq - coordinates(e.kind) || e.v > nv - dofs(e.kind)) reject("a hinge is beyond q or v");
        all_q += coordinates(e.kind), all_v += dofs(e.kind);
        in_order = in_order && e.v == e.d;
        wides += e.wide >= 0, branches += e.branch >= 0;
        if (e.kind > HELICAL && e.kind != FIXED) quaternions.push_back(e.q);
    }
    a.settle_modes(t.elements, t.flexible, t.spots, t.modal);
    for (const Flexible& f : t.flexible) {
        if (f.q > nq - f.n || f.v > nv - f.n) reject("the modes of a flexible body are beyond q or v");
        modes += f.n;
    }
    all_q += modes, all_v += modes, in_order = in_order && modes == 0;
    if (all_v != nv) reject("the elements have %lld dofs, not %lld", static_cast<long long>(all_v), static_cast<long long>(nv));
    if (all_q != nq) reject("the elements have %lld coordinates, not %lld", static_cast<long long>(all_q), static_cast<long long>(nq));
    std::vector<char> q(static_cast<std::size_t>(nq), 0), v(static_cast<std::size_t>(nv), 0);
    const auto take = [](std::vector<char>& of, index first, index count) {
        for (index i = first; i < first + count; ++i)
            if (of[static_cast<std::size_t>(i)]++) reject("two hinges share coordinate or dof %lld", static_cast<long long>(i));
    };
    for (const Element& e : t.elements) take(q, e.q, coordinates(e.kind)), take(v, e.v, dofs(e.kind));
    for (const Flexible& f : t.flexible) take(q, f.q, f.n), take(v, f.v, f.n);
    t.armature.assign(static_cast<std::size_t>(nv), 0.0);
    t.model = {static_cast<index>(t.elements.size()), nq, nv, wides, branches, static_cast<index>(a.links.size()), nullptr,
               nullptr, in_order, nullptr, 0, {}, static_cast<index>(t.flexible.size()), static_cast<index>(t.spots.size()),
               modes, nullptr, nullptr, nullptr};
    return quaternions;
}

// Whether R R* = I within 1e-6, and R is no mirror.
inline bool is_rotation(const double* R) {
    double worst = 0.0;
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            double dot = i == j ? -1.0 : 0.0;
            for (int k = 0; k < 3; ++k) dot += R[3 * i + k] * R[3 * j + k];
            worst = std::fmax(worst, std::fabs(dot));
        }
    const double det = R[0] * (R[4] * R[8] - R[5] * R[7]) - R[1] * (R[3] * R[8] - R[5] * R[6]) + R[2] * (R[3] * R[7] - R[4] * R[6]);
    return worst < 1e-6 && det > 0.0;
}

// The numbers of springs and dampers: finite, ranges and curves from low to high, frames that are rotations.
inline void check_passive_numbers(const Tables& t) {
    const auto finite = [](std::initializer_list<double> some) {
        for (double x : some)
            if (!std::isfinite(x)) reject("a spring has a number that is not finite");
    };
    const auto all_finite = [&](const auto& some) {
        for (double x : some) finite({x});
    };
    const auto law = [&](const Law& x) {
        finite({x.k, x.d, x.low, x.high});
        if (x.low > x.high) reject("a spring or tendon is slack from %g up to %g", x.low, x.high);
    };
    for (const Spring& s : t.springs) finite({s.k, s.d, s.rest});
    for (const Ball& b : t.balls) {
        all_finite(b.k), all_finite(b.d), all_finite(b.rest);
        double square = -1.0;
        for (int i = 0; i < 4; ++i) square += b.rest[i] * b.rest[i];
        if (!(std::fabs(square) < 1e-6)) reject("a spring of a ball joint rests where there is no unit quaternion");
    }
    for (const Strand& s : t.strands) finite({s.c});
    for (const Tendon& x : t.tendons) law(x.law);
    for (const Line& x : t.lines) law(x.law);
    for (const Bushing& x : t.bushings) {
        all_finite(x.K), all_finite(x.D), all_finite(x.rest_p);
        if (!is_rotation(x.rest_R)) reject("a bushing rests where there is no rotation");
    }
    for (const NodeOn& x : t.nodes) {
        all_finite(x.p);
        if (!is_rotation(x.R)) reject("a node of a spring has a frame that is no rotation");
    }
    for (const CurvePiece& x : t.pieces) finite({x.x, x.integral}), all_finite(x.c);
    for (const Curve& c : t.curves)
        for (index i = c.first + 1; i < c.last; ++i)
            if (t.pieces[static_cast<std::size_t>(i)].x < t.pieces[static_cast<std::size_t>(i - 1)].x)
                reject("the pieces of a curve are not in order");
}

// Springs and dampers are on dofs of the tree, the strands of a tendon are there, and their numbers are those of springs.
inline void check_passive(const Tables& t) {
    const auto within = [&t](index q, index width, index v, index count) {
        if (q < 0 || v < 0 || q > t.model.nq - width || v > t.model.nv - count) reject("a spring is on no dof of this tree");
    };
    for (const Spring& s : t.springs) within(s.q, 1, s.v, 1);
    for (const Ball& b : t.balls) within(b.q, b.free ? 7 : 4, b.v, b.free ? 6 : 3);
    for (const Strand& s : t.strands) within(s.q, 1, s.v, 1);
    const auto size = [](const auto& some) { return static_cast<index>(some.size()); };
    for (const Curve& c : t.curves)
        if (c.first < 0 || c.first >= c.last || c.last > size(t.pieces)) reject("a curve has pieces that are not there");
    const auto check = [&](index first, index last, index least, index there, const Law& law) {
        if (first < 0 || first > there || last > there || last < first + least)
            reject("a spring or tendon has ends that are not there");
        if (law.spring < -1 || law.spring >= size(t.curves) || law.damper < -1 || law.damper >= size(t.curves))
            reject("a spring or tendon has a curve that is not there");
    };
    for (const Tendon& x : t.tendons) check(x.first, x.last, 0, size(t.strands), x.law);
    if (size(t.nodes) < 2 * size(t.bushings)) reject("a bushing has two nodes");
    for (const Line& x : t.lines) check(x.first, x.last, 2, size(t.nodes) - 2 * size(t.bushings), x.law);
    for (const NodeOn& x : t.nodes)
        if (x.body < -1 || x.body >= t.model.body_count) reject("a spring is on no body of this tree");
    check_passive_numbers(t);
}

}  // namespace rigid
}  // namespace soacraft
