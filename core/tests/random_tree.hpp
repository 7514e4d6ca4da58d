// Random rigid trees with every kind of hinge, and their mass matrices from the kinetic energy.
#pragma once

#include <cstring>

#include "soacraft/rigid/model/model.hpp"
#include "support.hpp"

namespace soacraft {

using namespace rigid;
using namespace rigid::portable;

inline void fill(Random& random, double* x, int n) {
    const Buffer<double> numbers = random.numbers<double>(n);
    for (int i = 0; i < n; ++i) x[i] = numbers[i];
}

inline void put_rotation(Random& random, double* R) {
    double x[4];
    fill(random, x, 4);
    x[3] += 1.0;
    const double norm = std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3]);
    const Mat<double> A = rotation(x[0] / norm, x[1] / norm, x[2] / norm, x[3] / norm);
    const double rows[9] = {A.a.x, A.b.x, A.c.x, A.a.y, A.b.y, A.c.y, A.a.z, A.b.z, A.c.z};
    std::memcpy(R, rows, sizeof rows);
}

// Elements depth first: each hangs from the one before, or from one inboard of it, or from the base.
struct RandomTree {
    Buffer<Element> elements;
    Buffer<double> armature;
    Model model = {};

    RandomTree(Random& random, index n, bool has_armature) : elements(n) {
        Buffer<index> children(n, 0);
        index nq = 0, nv = 0;
        for (index k = 0; k < n; ++k) {
            Element& e = elements[k];
            e.parent = k - 1, e.flexible = e.spot = -1;
            while (e.parent >= 0 && random.integer(0, 3) == 0) e.parent = at(e.parent).parent;
            if (e.parent >= 0) ++children[e.parent];
            e.kind = random.integer(REVOLUTE, ROLLING);
            e.q = nq, e.v = e.d = nv, e.last = k + 1, e.wide = e.kind > HELICAL ? model.wides++ : -1;
            nq += e.kind <= HELICAL ? 1 : e.kind == SPHERICAL ? 4 : e.kind == FREE ? 7 : 6;
            nv += dofs(e.kind);
            body(random, e);
            for (index i = 0; i < dofs(e.kind); ++i) armature.push_back(has_armature && random.integer(0, 2) ? 0.375 : 0.0);
            for (index p = e.parent; p >= 0; p = at(p).parent) elements[p].last = k + 1;
        }
        for (index k = 0; k < n; ++k)
            elements[k].branch = children[k] > 1 ? model.branches++ : -1;
        model.count = n, model.nq = nq, model.nv = nv, model.elements = elements.data(), model.in_order = 1;
        look_for_armature();
    }

    void look_for_armature() {
        model.armature = armature.data();
        for (Element& e : elements)
            for (index i = 0; i < dofs(e.kind); ++i)
                if (armature[e.v + i] != 0.0) e.has_armature = 1, model.has_armature = 1;
    }

    const Element& at(index k) const { return elements[k]; }

    static void body(Random& random, Element& e) {
        put_rotation(random, e.R);
        fill(random, e.p, 3);
        double c[3];
        fill(random, c, 3);
        e.m = 1.5;
        for (int i = 0; i < 3; ++i) e.h[i] = e.m * c[i];
        const double r2 = c[0] * c[0] + c[1] * c[1] + c[2] * c[2];
        const int row[6] = {0, 0, 0, 1, 1, 2}, column[6] = {0, 1, 2, 1, 2, 2};
        for (int i = 0; i < 6; ++i)
            e.J[i] = (row[i] == column[i] ? 0.1 * (i + 3) + e.m * r2 : 0.0) - e.m * c[row[i]] * c[column[i]];
        e.scale = e.kind <= HELICAL ? 1.25 : 1.0, e.unscale = 1.0 / e.scale, e.pitch = e.kind == HELICAL ? 0.3 : 0.0;
        e.radius = 0.4, e.normal[2] = e.t1[0] = e.t2[1] = 1.0;
    }

    Buffer<double> state(Random& random) const {
        Buffer<double> q = random.numbers<double>(model.nq);
        for (const Element& e : elements) {
            if (e.kind <= HELICAL) continue;
            double* x = q.data() + e.q;
            x[3] += 1.0;
            const double norm = std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3]);
            for (int i = 0; i < 4; ++i) x[i] /= norm;
        }
        return q;
    }
};

// M(i,j) = sum over elements of V_i . I V_j, where V_i are the velocities when dof i alone moves; and M(i,i) += armature.
inline Buffer<double> by_energy(const Model& model, const Buffer<double>& q) {
    const index n = model.nv;
    Buffer<Spatial<double>> V(n * model.count);
    Buffer<double> M(n * n, 0.0);
    for (index i = 0; i < n; ++i) {
        Buffer<double> v(n, 0.0);
        v[i] = 1.0;
        Spatial<double>* of = V.data() + i * model.count;
        for (index k = 0; k < model.count; ++k) {
            const Element& e = model.elements[k];
            of[k] = across<double>(e, q, v);
            if (e.parent >= 0) of[k] += outward(place<double>(e, q), of[e.parent]);
        }
    }
    for (index i = 0; i < n; ++i)
        for (index j = 0; j < n; ++j)
            for (index k = 0; k < model.count; ++k)
                M[i * n + j] +=
                    dot(V[i * model.count + k], inertia<double>(model.elements[k]) * V[j * model.count + k]);
    for (index i = 0; i < n; ++i) M[i * n + i] += model.armature[i];
    return M;
}

}  // namespace soacraft
