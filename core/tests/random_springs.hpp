// Springs, dampers and a tendon on a random rigid tree.
#pragma once

#include "random_tree.hpp"
#include "soacraft/rigid/passive.hpp"

namespace soacraft {

// A spring on every hinge, and a tendon on all one-dof ones.
struct Springs {
    Buffer<Spring> springs;
    Buffer<Ball> balls;
    Buffer<Tendon> tendons;
    Buffer<Strand> strands;
    Passive passive = {};

    Springs(const Model& model, const Buffer<double>& rest, Random& random) {
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
        tendons.push_back({0, static_cast<index>(strands.size()), draw(), draw(), -60.0, -50.0});
        passive = {static_cast<index>(springs.size()), static_cast<index>(balls.size()), 1, springs.data(), balls.data(),
                   tendons.data(), strands.data()};
    }
    template <class T, class In>
    Buffer<T> force(const In& q, const In& v, index n) const {
        Buffer<T> y(n, T(0.0));
        each_passive<T>(passive, q, v, [&y](index i, const T& x) { y[i] += x; });
        return y;
    }
};

}  // namespace soacraft
