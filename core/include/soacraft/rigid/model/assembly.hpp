// From bodies to elements: which elements a tree of bodies becomes, and their numbers, kept as its parameters change.
//
// A product of screws becomes one element for each screw, a spherical, free or rolling hinge one element, and a weld
// none: its body moves with what carries it. With T(p) the place of the parent on its element, X the axis frame of the
// first screw and Y the way back from that of the last one (both I for other hinges),
//
//     first element of k   = T(p) inboard(k) X        T(k) = Y outboard(k)
//     a weld                                          T(k) = T(p) inboard(k) outboard(k)
//
// The inertia of an element is that of all bodies on it. What a change of one body reaches is the bodies welded to it, the
// elements that hang on those, and one inertia.
//
// A flexible body always has an element of its own, and so has what is welded to a node that deforms: its pose there is
// that of the inboard frame on the undeformed node. Where the hinge holds a deforming node of a flexible body, the place
// of a body on that element is counted from the body's frame, not from the element's.
#pragma once

#include <vector>

#include "../../flexible/tables.hpp"
#include "model.hpp"

namespace soacraft {
namespace rigid {

constexpr index WELD = -1, PRODUCT = -2;  // kinds of hinges that are no kind of element

// A rotation, row-major, and a translation.
struct Frame {
    double R[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, p[3] = {};
};

inline Frame operator*(const Frame& a, const Frame& b) {
    Frame c;
    for (int i = 0; i < 3; ++i) {
        c.p[i] = a.p[i];
        for (int j = 0; j < 3; ++j) {
            c.R[3 * i + j] = a.R[3 * i] * b.R[j] + a.R[3 * i + 1] * b.R[3 + j] + a.R[3 * i + 2] * b.R[6 + j];
            c.p[i] += a.R[3 * i + j] * b.p[j];
        }
    }
    return c;
}

inline Frame inverse(const Frame& a) {
    Frame b;
    for (int i = 0; i < 3; ++i) {
        b.p[i] = 0.0;
        for (int j = 0; j < 3; ++j) b.R[3 * i + j] = a.R[3 * j + i], b.p[i] -= a.R[3 * j + i] * a.p[j];
    }
    return b;
}

// One screw of a hinge: the frame on its axis with z along it, and the way back.
struct Screw {
    index kind;
    double scale, pitch;
    Frame axis, back;
};

struct Hinge {
    index kind;         // WELD, PRODUCT, or that of its one element
    index first, last;  // its screws
    double ball[10];    // of a rolling ball: radius, normal, two tangents
};

// A body of the user's with its parameters, and what became of its hinge.
struct Link {
    index parent, hinge, q, v;
    Frame inboard, outboard;
    double mass, com[3], moment[9];  // about the centre of mass, in body axes
    index first, last;               // the elements of its hinge
    index modal = -1;                // its modal data, or -1
    index held = -1, rides = -1;     // deforming nodes: of its own, and of the parent's modal data
};

constexpr index coordinates(index kind) {
    return kind <= HELICAL ? 1 : kind == SPHERICAL ? 4 : kind == FREE ? 7 : kind == FIXED ? 0 : 6;
}

class Assembly {
public:
    std::vector<Screw> screws;
    std::vector<Hinge> hinges;
    std::vector<Link> links;  // parents first
    std::vector<ModalNumbers> modal;

    // The elements and the places of the bodies on them, without their numbers. False for links that are no tree.
    bool lay_out(std::vector<Element>& elements, std::vector<Body>& bodies) {
        const index n = size(links);
        children_.assign(links.size() + 2, 0);
        for (index k = 0; k < n; ++k)
            if (links[at(k)].parent < -1 || links[at(k)].parent >= k) return false;
        list_by(links.size() + 1, children_, child_, [&](index k) { return links[at(k)].parent + 1; });
        bodies.assign(links.size(), Body{});
        elements.clear();
        std::vector<index> stack;
        push_children(stack, -1);
        while (!stack.empty()) {  // depth first
            const index k = stack.back();
            stack.pop_back();
            Link& link = links[at(k)];
            const Hinge& hinge = hinges[at(link.hinge)];
            index carrier = link.parent < 0 ? -1 : bodies[at(link.parent)].element;
            link.first = size(elements);
            const index own = link.modal >= 0 || link.rides >= 0 ? 1 : 0;
            const index count = hinge.kind == WELD ? own : hinge.kind == PRODUCT ? hinge.last - hinge.first : 1;
            for (index i = 0; i < count; ++i) {
                elements.push_back(new_element(link, hinge, i, carrier));
                if (i == 0 && link.rides >= 0) elements.back().spot = link.rides;  // of its parent, till they are numbered
                carrier = size(elements) - 1;
            }
            if (link.modal >= 0) elements.back().flexible = k;
            link.last = size(elements);
            bodies[at(k)].element = carrier;
            push_children(stack, k);
        }
        number(elements);
        number_modes(elements);
        list_by(elements.size() + 1, on_, body_on_, [&](index k) { return bodies[at(k)].element + 1; });
        return true;
    }

    // All numbers of elements and places, parents first.
    void settle(std::vector<Element>& elements, std::vector<Body>& bodies, double* fixed) const {
        for (index k = 0; k < size(links); ++k) {
            hang(k, elements, bodies);
            place(k, bodies);
        }
        for (index e = -1; e < size(elements); ++e) set_inertia(e, elements, bodies, fixed);
    }

    // Flexible bodies and their nodes; bodies with the same data in the same frame share their tables.
    void settle_modes(const std::vector<Element>& elements, std::vector<Flexible>& flexible, std::vector<Spot>& spots,
                      std::vector<Eight>& numbers) const {
        flexible.clear(), spots.clear(), numbers.clear();
        std::vector<Frame> frames;
        index modes = 0;
        for (const Element& e : elements) {
            if (e.flexible < 0) continue;
            const index k = flexible_[at(e.flexible)], mine = size(flexible);
            const Link& link = links[at(k)];
            const ModalNumbers& data = modal[at(link.modal)];
            const Frame on = body_on_element(link);
            index same = 0;
            while (same < mine && (links[at(flexible_[at(same)])].modal != link.modal || !equal(frames[at(same)], on))) ++same;
            frames.push_back(on);
            Flexible f = same < mine ? flexible[at(same)] : Flexible{};
            const ModalTables tables(data, on.R, on.p, numbers);
            if (same == mine) tables.body(f);
            f.element = links[at(k)].last - 1, f.q = link.q + own_q(k), f.v = link.v + own_v(k);
            f.mode = modes, modes += f.n;
            const index first = f.first_spot;
            f.first_spot = size(spots);
            for (index i = 0; i < size(data.nodes); ++i) {
                Spot s = same < mine ? spots[at(first + i)] : Spot{};
                if (same == mine) tables.spot(data.nodes[at(i)], s);
                s.flexible = mine, s.children = 0;
                spots.push_back(s);
            }
            f.last_spot = size(spots), f.held = link.held < 0 ? -1 : f.first_spot + link.held;
            if (link.held >= 0) set(f, on_node(data, link.held) * inverse(link.outboard) * inverse(last_back(link)));
            flexible.push_back(f);
        }
        for (const Element& e : elements)
            if (e.spot >= 0) spots[at(e.spot)].children = 1;
    }

    // After a change of inboard(k) or outboard(k).
    void settle_pose(index k, std::vector<Element>& elements, std::vector<Body>& bodies, double* fixed) const {
        std::vector<index> waiting(1, k);
        while (!waiting.empty()) {
            const index j = waiting.back();
            waiting.pop_back();
            hang(j, elements, bodies);
            if (j != k && links[at(j)].first != links[at(j)].last) continue;  // its place on its own element stays
            place(j, bodies);
            push_children(waiting, j);
        }
        settle_inertia(k, elements, bodies, fixed);
    }

    // After a change of mass, com or moment of k, or of its place.
    void settle_inertia(index k, std::vector<Element>& elements, const std::vector<Body>& bodies, double* fixed) const {
        set_inertia(bodies[at(k)].element, elements, bodies, fixed);
    }

private:
    std::vector<index> flexible_;          // the links that are
    std::vector<index> children_, child_;  // of link k: child_[children_[k + 1]] to child_[children_[k + 2]]
    std::vector<index> on_, body_on_;      // of element e likewise: the bodies on it

    static std::size_t at(index i) { return static_cast<std::size_t>(i); }
    template <class T>
    static index size(const std::vector<T>& x) { return static_cast<index>(x.size()); }

    // Links by a key from 0 to keys - 1, each list in the order of the links.
    template <class Key>
    void list_by(std::size_t keys, std::vector<index>& starts, std::vector<index>& list, Key key) const {
        starts.assign(keys + 1, 0);
        list.resize(links.size());
        for (index k = 0; k < size(links); ++k) ++starts[at(key(k)) + 1];
        for (std::size_t i = 0; i < keys; ++i) starts[i + 1] += starts[i];
        std::vector<index> next(starts.begin(), starts.end() - 1);
        for (index k = 0; k < size(links); ++k) list[at(next[at(key(k))]++)] = k;
    }

    void push_children(std::vector<index>& stack, index k) const {
        for (index i = children_[at(k + 2)]; i-- > children_[at(k + 1)];) stack.push_back(child_[at(i)]);
    }

    Element new_element(const Link& link, const Hinge& hinge, index i, index carrier) const {
        Element e = {};
        e.parent = carrier, e.q = link.q + i, e.v = link.v + i, e.scale = e.unscale = 1.0;
        e.kind = hinge.kind == WELD ? index(FIXED) : hinge.kind, e.flexible = e.spot = -1;
        if (hinge.kind == PRODUCT) {
            const Screw& screw = screws[at(hinge.first + i)];
            e.kind = screw.kind, e.scale = screw.scale, e.unscale = 1.0 / screw.scale, e.pitch = screw.pitch;
        }
        const double* b = hinge.ball;
        e.radius = b[0];
        for (int j = 0; j < 3; ++j) e.normal[j] = b[1 + j], e.t1[j] = b[4 + j], e.t2[j] = b[7 + j];
        return e;
    }

    // Which elements have several dofs, which gather from several children, and where each one's outboard part ends.
    static void number(std::vector<Element>& elements) {
        const index n = size(elements);
        std::vector<index> children(elements.size(), 0);
        index wides = 0, branches = 0, d = 0;
        for (index k = n; k-- > 0;) {
            Element& e = elements[at(k)];
            if (e.last == 0) e.last = k + 1;
            if (e.parent < 0) continue;
            Element& p = elements[at(e.parent)];
            p.last = p.last > e.last ? p.last : e.last;
            if (e.spot < 0) ++children[at(e.parent)];
        }
        for (index k = 0; k < n; ++k) {
            Element& e = elements[at(k)];
            e.wide = e.kind > HELICAL && e.kind != FIXED ? wides++ : -1;
            e.branch = children[at(k)] > 1 || (children[at(k)] == 1 && e.flexible >= 0) ? branches++ : -1;
            e.d = d, d += dofs(e.kind);
        }
    }

    // Flexible bodies in the order of their elements, and the nodes of all of them in one row.
    void number_modes(std::vector<Element>& elements) {
        flexible_.clear();
        std::vector<index> first_spot;
        index spots = 0;
        for (Element& e : elements) {
            if (e.spot >= 0) e.spot += first_spot[at(elements[at(e.parent)].flexible)];
            if (e.flexible < 0) continue;
            flexible_.push_back(e.flexible), first_spot.push_back(spots);
            spots += size(modal[at(links[at(e.flexible)].modal)].nodes);
            e.flexible = size(flexible_) - 1;
        }
    }

    // The coordinates and dofs of a hinge, behind which those of the body itself begin.
    index own_q(index k) const { return of_hinge(k, true); }
    index own_v(index k) const { return of_hinge(k, false); }
    index of_hinge(index k, bool q) const {
        const Hinge& hinge = hinges[at(links[at(k)].hinge)];
        if (hinge.kind == WELD) return 0;
        return hinge.kind == PRODUCT ? hinge.last - hinge.first : q ? coordinates(hinge.kind) : dofs(hinge.kind);
    }

    // From the frame of its last element to the outboard frame of a hinge.
    Frame last_back(const Link& link) const {
        const Hinge& hinge = hinges[at(link.hinge)];
        return hinge.kind == PRODUCT ? screws[at(hinge.last - 1)].back : Frame();
    }
    // The frame of a flexible body in the one its element counts places from.
    Frame body_on_element(const Link& link) const {
        return link.held >= 0 ? Frame() : last_back(link) * link.outboard;
    }
    // The frame of the undeformed body on one of its nodes.
    static Frame on_node(const ModalNumbers& data, index i) {
        const ModalNumbers::Node& node = data.nodes[at(i)];
        Frame frame;
        set(frame, node);
        return inverse(frame);
    }
    static bool equal(const Frame& a, const Frame& b) {
        bool same = true;
        for (int i = 0; i < 9; ++i) same = same && a.R[i] == b.R[i];
        for (int i = 0; i < 3; ++i) same = same && a.p[i] == b.p[i];
        return same;
    }

    // Where the elements of a hinge are on what carries them.
    void hang(index k, std::vector<Element>& elements, const std::vector<Body>& bodies) const {
        const Link& link = links[at(k)];
        const Hinge& hinge = hinges[at(link.hinge)];
        Frame from = (link.rides < 0 ? carried(link.parent, bodies)
                                     : on_node(modal[at(links[at(link.parent)].modal)], link.rides)) * link.inboard;
        for (index e = link.first; e < link.last; ++e) {
            if (hinge.kind == PRODUCT) {
                const Screw& screw = screws[at(hinge.first + e - link.first)];
                set(elements[at(e)], from * screw.axis);
                from = screw.back;
            } else {
                set(elements[at(e)], from);
            }
        }
    }

    // Where the body is on its element.
    void place(index k, std::vector<Body>& bodies) const {
        const Link& link = links[at(k)];
        const Hinge& hinge = hinges[at(link.hinge)];
        if (hinge.kind == WELD && link.first == link.last)
            set(bodies[at(k)], carried(link.parent, bodies) * link.inboard * link.outboard);
        else
            set(bodies[at(k)], body_on_element(link));
    }

    static Frame carried(index parent, const std::vector<Body>& bodies) {
        Frame frame;
        if (parent < 0) return frame;
        const Body& b = bodies[at(parent)];
        for (int i = 0; i < 9; ++i) frame.R[i] = b.R[i];
        for (int i = 0; i < 3; ++i) frame.p[i] = b.p[i];
        return frame;
    }

    template <class To, class From>
    static void set(To& to, const From& frame) {
        for (int i = 0; i < 9; ++i) to.R[i] = frame.R[i];
        for (int i = 0; i < 3; ++i) to.p[i] = frame.p[i];
    }

    // The inertia of an element, or of what is welded to the base: J, m c and m in a row.
    void set_inertia(index e, std::vector<Element>& elements, const std::vector<Body>& bodies, double* fixed) const {
        double sum[10] = {};
        add_up(e, bodies, sum, sum + 6, sum[9]);
        if (e < 0) {
            for (int i = 0; i < 10; ++i) fixed[i] = sum[i];
            return;
        }
        Element& to = elements[at(e)];
        bool any = false;
        for (double x : sum) any = any || x != 0.0;
        for (int i = 0; i < 6; ++i) to.J[i] = sum[i];
        for (int i = 0; i < 3; ++i) to.h[i] = sum[6 + i];
        to.m = sum[9], to.massless = !any && to.flexible < 0;
    }

    // The sum over the bodies on an element, about the origin of its frame: with R, p of a body's frame on it,
    //
    //     m c = m (R c + p),    J = R J_c R* - m c~ c~
    void add_up(index e, const std::vector<Body>& bodies, double* J, double* h, double& m) const {
        for (index i = on_[at(e + 1)]; i < on_[at(e + 2)]; ++i) {
            const index k = body_on_[at(i)];
            const Link& link = links[at(k)];
            if (link.modal >= 0) continue;  // its inertia moves
            const Body& b = bodies[at(k)];
            double c[3], RJ[9];
            for (int r = 0; r < 3; ++r) {
                const double* R = b.R + 3 * r;
                c[r] = b.p[r] + R[0] * link.com[0] + R[1] * link.com[1] + R[2] * link.com[2];
                for (int s = 0; s < 3; ++s)
                    RJ[3 * r + s] = R[0] * link.moment[s] + R[1] * link.moment[3 + s] + R[2] * link.moment[6 + s];
            }
            const double cc = c[0] * c[0] + c[1] * c[1] + c[2] * c[2];
            int x = 0;
            for (int r = 0; r < 3; ++r)
                for (int s = r; s < 3; ++s, ++x) {
                    const double* R = b.R + 3 * s;
                    J[x] += RJ[3 * r] * R[0] + RJ[3 * r + 1] * R[1] + RJ[3 * r + 2] * R[2] +
                            link.mass * ((r == s ? cc : 0.0) - c[r] * c[s]);
                }
            for (int r = 0; r < 3; ++r) h[r] += link.mass * c[r];
            m += link.mass;
        }
    }
};

}  // namespace rigid
}  // namespace soacraft
