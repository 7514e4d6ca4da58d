// Springs, dampers, a tendon, lines and a bushing between nodes on a random rigid tree.
#pragma once

#include "random_tree.hpp"
#include "soacraft/rigid/passive.hpp"

namespace soacraft {

// A spring on every hinge, a tendon on all one-dof ones; lines through two nodes by curves and through three to the inertial
// frame, and a bushing to it.
struct Springs {
    Buffer<Spring> springs;
    Buffer<Ball> balls;
    Buffer<Tendon> tendons;
    Buffer<Strand> strands;
    Buffer<Line> lines;
    Buffer<Site> sites;
    Buffer<Bushing> bushings;
    Buffer<Curve> curves = {{0, 3}, {3, 5}};
    // 4 s up to x = 1, then 4 + 4 s + s^2 + s^3 / 2; and 0.75 x
    Buffer<CurvePiece> pieces = {{0.0, {0.0, 4.0, 0.0, 0.0}, 0.0}, {0.5, {2.0, 4.0, 0.0, 0.0}, 0.5},
                                 {1.0, {4.0, 4.0, 1.0, 0.5}, 2.0}, {0.0, {0.0, 0.75, 0.0, 0.0}, 0.0},
                                 {0.25, {0.1875, 0.75, 0.0, 0.0}, 0.0}};
    const Model& model;
    Passive passive = {};

    Springs(const Model& m, const Buffer<double>& rest, Random& random) : model(m) {
        const auto draw = [&random] { return 2.0 + random.numbers<double>(1)[0]; };
        for (index k = 0; k < model.count; ++k) {
            const Element& e = model.elements[k];
            if (e.kind <= HELICAL) {
                springs.push_back({e.q, e.v, draw(), draw(), rest[e.q]});
                strands.push_back({e.q, e.v, draw()});
            } else if (e.kind == SPHERICAL || e.kind == FREE) {
                Ball b = {e.q, e.v, e.kind == FREE, {}, {}, {}};
                for (int i = 0; i < 6; ++i) b.k[i] = draw(), b.d[i] = draw();
                for (index i = 0; i < (b.free ? 7 : 4); ++i) b.rest[i] = rest[e.q + i];
                balls.push_back(b);
            } else {
                for (index i = 0; i < 3; ++i) springs.push_back({e.q + i, e.v + i, 0.0, draw(), 0.0});
            }
        }
        tendons.push_back({0, static_cast<index>(strands.size()), {draw(), draw(), -60.0, -50.0, -1, -1}});
        const index ends[] = {random.integer(0, m.count - 1), m.count + 1, m.count, random.integer(0, m.count - 1), m.count - 1};
        for (index element : ends) {
            Site s = {element, {}};
            fill(random, s.p, 3);
            sites.push_back(s);
        }
        lines.push_back({0, 2, {0.0, 0.0, 0.0, 0.0, 0, 1}}), lines.push_back({2, 5, {draw(), draw(), 0.4, 0.4, -1, -1}});
        Bushing b = {};
        b.a.element = m.count + 1, b.b.element = m.count - 1;
        put_rotation(random, b.a.R), put_rotation(random, b.b.R), put_rotation(random, b.rest_R);
        fill(random, b.a.p, 3), fill(random, b.b.p, 3), fill(random, b.rest_p, 3);
        for (int i = 0; i < 6; ++i) b.K[7 * i] = draw(), b.D[7 * i] = draw();
        b.K[1] = b.K[6] = 0.5, b.D[3] = b.D[18] = 0.3;
        bushings.push_back(b);
        passive = {static_cast<index>(springs.size()), static_cast<index>(balls.size()), 1, springs.data(), balls.data(),
                   tendons.data(), strands.data(), {2, 1, m.count, lines.data(), sites.data(), bushings.data()},
                   curves.data(), pieces.data()};
    }
    template <class T, class In>
    Buffer<T> force(const In& q, const In& v, index n) const {
        Buffer<T> y(n, T(0.0));
        Buffer<LinkedElement<T>> at(model.count + 2);
        LinkWork<T> work;
        work.at = at.data();
        each_passive<T>(passive, model, inertial_ground<T>(), q, v, work, [&y](index i, const T& x) { y[i] += x; });
        return y;
    }
};

}  // namespace soacraft
