// Articulated-body forward dynamics of an SKO model for `m` stacked columns, from the solution of the Riccati equation.
#pragma once

#include "riccati.hpp"

SOACRAFT_BEGIN

// Stacked columns: the force T, eps, nu and vdot on hinges, a, b, z and alpha on nodes.
template <typename T>
struct Driven {
    const T* force;
    const T* a;
    const T* b;
};

template <typename T>
struct Motion {
    T* z;
    T* eps;
    T* nu;
    T* vdot;
    T* alpha;
};

// How many entries the workspace of `ab_dynamics` must have.
template <typename T>
SOACRAFT_INLINE index ab_dynamics_room(const Hinged<T>& model, index m) {
    index room = 0;
    for (index k = 0; k < model.tree.count; ++k) {
        const index size = model.tree.node.size(k), dofs = model.hinge.size(k);
        const index wanted = size * m > dofs * dofs ? size * m : dofs * dofs;
        if (wanted > room) room = wanted;
    }
    return room;
}

namespace detail {

template <typename T>
SOACRAFT_INLINE void subtract_from(T* y, const T* x, index size) {
    for (index i = 0; i < size; ++i) y[i] = x[i] - y[i];
}

template <typename T>
SOACRAFT_INLINE void add(T* y, const T* x, index size) {
    for (index i = 0; i < size; ++i) y[i] += x[i];
}

// Tips to base:   z(k)   = sum over children j of  A(k,j) z+(j)  +  P(k) a(k) + b(k)
//                 eps(k) = T(k) - H(k) z(k),   nu(k) = D^-1(k) eps(k),   z+(k) = z(k) + G(k) eps(k)
template <typename T>
SOACRAFT_INLINE index gather_forces(const Hinged<T>& model, const Articulated<const T>& known, index m,
                                    const Driven<T>& in, const Motion<T>& out, T* work) {
    const Tree& tree = model.tree;
    fill(out.z, in.b, tree.node.start(tree.count) * m);
    fill_zero(out.eps, model.hinge.start(tree.count) * m);
    for (index i = tree.count; i-- > 0;) {
        const index k = tree.order[i], p = tree.parent[k];
        const index size = tree.node.size(k), dofs = model.hinge.size(k);
        const index at = tree.node.start(k) * m, hinge_at = model.hinge.start(k) * m;
        T* const z = out.z + at;
        T* const eps = out.eps + hinge_at;
        soacraft::add_product(size, size, m, known.P + model.body_body.start(k), One<T>{in.a + at}, z);
        soacraft::add_product(dofs, size, m, model.H + model.hinge_body.start(k), One<T>{z}, eps);
        subtract_from(eps, in.force + hinge_at, dofs * m);
        if (!cholesky(dofs, known.D + model.hinge_hinge.start(k), work)) return k;
        fill(out.nu + hinge_at, eps, dofs * m);
        cholesky_solve(dofs, m, work, out.nu + hinge_at);
        if (p < 0) continue;
        fill(work, z, size * m);
        soacraft::add_product(size, dofs, m, known.G + model.hinge_body.start(k), One<T>{eps}, work);
        soacraft::add_product(tree.node.size(p), size, m, model.A(k), One<T>{work}, out.z + tree.node.start(p) * m);
    }
    return -1;
}

// Base to tips:   alpha+(k) = A*(p(k),k) alpha(p(k)),   vdot(k) = nu(k) - G*(k) alpha+(k)
//                 alpha(k)  = alpha+(k) + H*(k) vdot(k) + a(k)
template <typename T>
SOACRAFT_INLINE void scatter_accelerations(const Hinged<T>& model, const T* G, index m, const Driven<T>& in,
                                           const Motion<T>& out) {
    const Tree& tree = model.tree;
    fill_zero(out.alpha, tree.node.start(tree.count) * m);
    fill_zero(out.vdot, model.hinge.start(tree.count) * m);
    for (index i = 0; i < tree.count; ++i) {
        const index k = tree.order[i], p = tree.parent[k];
        const index size = tree.node.size(k), dofs = model.hinge.size(k);
        const index at = tree.node.start(k) * m, hinge_at = model.hinge.start(k) * m;
        T* const alpha = out.alpha + at;
        T* const vdot = out.vdot + hinge_at;
        if (p >= 0)
            soacraft::add_transpose_product(tree.node.size(p), size, m, model.A(k),
                                            One<T>{out.alpha + tree.node.start(p) * m}, alpha);
        soacraft::add_transpose_product(size, dofs, m, G + model.hinge_body.start(k), One<T>{alpha}, vdot);
        subtract_from(vdot, out.nu + hinge_at, dofs * m);
        soacraft::add_transpose_product(dofs, size, m, model.H + model.hinge_body.start(k), One<T>{vdot}, alpha);
        add(alpha, in.a + at, size * m);
    }
}

}  // namespace detail

// Both sweeps; of the Riccati solution P, D and G are read. Returns -1, or the first node whose D is not positive
// definite, where the sweep ends.
template <typename T>
SOACRAFT_INLINE index ab_dynamics(const Hinged<T>& model, const Articulated<const T>& known, index m,
                                  const Driven<T>& in, const Motion<T>& out, T* work) {
    const index singular = detail::gather_forces(model, known, m, in, out, work);
    if (singular < 0) detail::scatter_accelerations(model, known.G, m, in, out);
    return singular;
}

SOACRAFT_END
