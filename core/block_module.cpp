// The block engine for Python: Lyapunov both ways, Riccati and AB dynamics of any SKO model on flat arrays.
//
// Index arrays are copied before they are checked, so that nobody can change them between check and sweep. Blocks lie
// one after the other in the order of the nodes, row-major; the sizes of the nodes say where each begins, so that an
// array is right when its length is.
#include <nanobind/nanobind.h>

#include <memory>
#include <vector>

#include "array.hpp"
#include "require.hpp"
#include "soacraft/ab_dynamics.hpp"
#include "soacraft/checks.hpp"
#include "soacraft/lyapunov.hpp"
#include "soacraft/riccati.hpp"

namespace soacraft {

namespace {

using Indices = std::vector<index>;

Indices copied(nb::handle source, const char* name) {
    const Array<index> array(source, name, 1);
    return {array.data(), array.data() + array.size()};
}

// Who is whose parent, in which order to sweep.
struct Forest {
    Indices order, parent;
    index count;

    Forest(nb::handle order_, nb::handle parent_)
        : order(copied(order_, "order")), parent(copied(parent_, "parent")),
          count(static_cast<index>(order.size())) {
        require_length("parent", static_cast<index>(parent.size()), count);
        std::vector<unsigned char> seen(order.size());
        require(check_tree(order.data(), parent.data(), count, seen.data()));
    }

    Tree with(const Slices& node) const { return {count, order.data(), parent.data(), node}; }
};

// Offsets of one slice or block for each node.
struct Cut {
    Indices offset;

    // Slices of stacked vectors, as they were given.
    Cut(nb::handle source, const char* name, index count) : offset(copied(source, name)) {
        require_length(name, static_cast<index>(offset.size()), count + 1);
        require(check_slices(name, offset.data(), count, offset[count]));
    }

    // Blocks rows(k) x cols(k) that fill `length` entries.
    template <typename Rows, typename Cols>
    Cut(const char* name, index length, index count, Rows rows, Cols cols) : offset(count + 1) {
        const index served = cut_blocks(count, rows, cols, length, offset.data());
        if (served < count)
            refuse("%s has length %lld, too short for the %lld x %lld block of node %lld", name, as_printed(length),
                   as_printed(rows(served)), as_printed(cols(served)), as_printed(served));
        require_length(name, length, offset[count]);
    }

    operator Slices() const { return {offset.data()}; }
    index length() const { return offset.back(); }
    index size(index k) const { return offset[k + 1] - offset[k]; }

private:
    static long long as_printed(index value) { return value; }
};

// Blocks rows(k) x cols(k), one for each node.
Cut diagonal(const char* name, const Array<double>& data, index count, const Cut& rows, const Cut& cols) {
    return {name, data.size(), count, [&](index k) { return rows.size(k); }, [&](index k) { return cols.size(k); }};
}

// Blocks size(parent) x size(k), none for a base node.
Cut edges(const char* name, const Array<double>& data, const Forest& forest, const Cut& node) {
    const auto rows = [&](index k) { return forest.parent[k] < 0 ? 0 : node.size(forest.parent[k]); };
    return {name, data.size(), forest.count, rows, [&](index k) { return node.size(k); }};
}

std::unique_ptr<double[]> workspace(index room) { return std::unique_ptr<double[]>(new double[room]); }

nb::object lyapunov(nb::handle order_, nb::handle parent_, nb::handle left_, nb::handle right_, nb::handle A_,
                    nb::handle B_, nb::handle X_, bool backward) {
    const Forest forest(order_, parent_);
    const Cut left(left_, "left_offset", forest.count), right(right_, "right_offset", forest.count);
    const Array<double> A(A_, "A", 1), B(B_, "B", 1), X(X_, "X", 1);
    const Cut A_cut = edges("A", A, forest, left), B_cut = edges("B", B, forest, right);
    const Cut block = diagonal("X", X, forest.count, left, right);

    nb::object result = new_vector(X.size());
    const Array<double> Y(result, "result", 1, true);
    const Tree tree = forest.with(left);
    const auto work = workspace(lyapunov_room(tree, right));
    (backward ? backward_lyapunov<double> : forward_lyapunov<double>)(
        tree, right, {A.data(), A_cut}, {B.data(), B_cut}, block, X.data(), Y.data(), work.get());
    return result;
}

// The tree, sizes, weights and hinge maps that `riccati` and `ab_dynamics` share.
struct Sko {
    Forest forest;
    Cut node, hinge;
    Array<double> A, H, inertia;
    Cut A_cut, body_body, hinge_body, hinge_hinge;

    Sko(nb::handle order_, nb::handle parent_, nb::handle offset_, nb::handle hinge_offset_, nb::handle A_,
        nb::handle H_, nb::handle inertia_, const char* inertia_name)
        : forest(order_, parent_), node(offset_, "offset", forest.count),
          hinge(hinge_offset_, "hinge_offset", forest.count), A(A_, "A", 1), H(H_, "H", 1),
          inertia(inertia_, inertia_name, 1), A_cut(edges("A", A, forest, node)),
          body_body(diagonal(inertia_name, inertia, forest.count, node, node)),
          hinge_body(diagonal("H", H, forest.count, hinge, node)), hinge_hinge(squares()) {}

    Hinged<double> view() const {
        return {forest.with(node), hinge, body_body, hinge_body, hinge_hinge, {A.data(), A_cut}, H.data()};
    }

private:
    // D is no larger than the inertias, because no hinge has more dofs than its node has rows.
    Cut squares() const {
        index length = 0;
        for (index k = 0; k < forest.count; ++k) {
            if (hinge.size(k) > node.size(k))
                require({"hinge_offset", k + 1, hinge.offset[k + 1], "a hinge has no more dofs than its node rows"});
            length += hinge.size(k) * hinge.size(k);
        }
        const auto dofs = [&](index k) { return hinge.size(k); };
        return {"D", length, forest.count, dofs, dofs};
    }
};

nb::object riccati_arrays(nb::handle order, nb::handle parent, nb::handle offset, nb::handle hinge_offset,
                          nb::handle A, nb::handle H, nb::handle M, double tolerance) {
    const Sko sko(order, parent, offset, hinge_offset, A, H, M, "M");
    nb::object P_ = new_vector(sko.inertia.size()), P_plus_ = new_vector(sko.inertia.size());
    nb::object D_ = new_vector(sko.hinge_hinge.length()), G_ = new_vector(sko.H.size());
    const Array<double> P(P_, "P", 1, true), P_plus(P_plus_, "P_plus", 1, true), D(D_, "D", 1, true),
        G(G_, "G", 1, true);
    const Hinged<double> model = sko.view();
    const auto work = workspace(riccati_room(model));
    const index singular = riccati(model, static_cast<const double*>(sko.inertia.data()), tolerance,
                                   {P.data(), P_plus.data(), D.data(), G.data()}, work.get());
    return nb::make_tuple(P_, P_plus_, D_, G_, singular);
}

// Stacked columns of the right height, as many as T has.
void require_columns(const char* name, const Array<double>& x, const Cut& rows, index wanted) {
    require_length(name, x.size(0), rows.length());
    if (x.size(1) != wanted)
        refuse("%s must have as many columns as T, %lld, got %lld", name, static_cast<long long>(wanted),
               static_cast<long long>(x.size(1)));
}

nb::object ab_dynamics_arrays(nb::handle order, nb::handle parent, nb::handle offset, nb::handle hinge_offset,
                              nb::handle A, nb::handle H, nb::handle P, nb::handle D_, nb::handle G_, nb::handle T_,
                              nb::handle a_, nb::handle b_) {
    const Sko sko(order, parent, offset, hinge_offset, A, H, P, "P");
    const Array<double> D(D_, "D", 1), G(G_, "G", 1), T(T_, "T", 2), a(a_, "a", 2), b(b_, "b", 2);
    require_length("D", D.size(), sko.hinge_hinge.length());
    require_length("G", G.size(), sko.hinge_body.length());
    const index m = T.size(1);
    require_columns("T", T, sko.hinge, m);
    require_columns("a", a, sko.node, m);
    require_columns("b", b, sko.node, m);

    nb::object z_ = new_array("empty", sko.node.length(), m), alpha_ = new_array("empty", sko.node.length(), m);
    nb::object eps_ = new_array("empty", sko.hinge.length(), m), nu_ = new_array("empty", sko.hinge.length(), m);
    nb::object vdot_ = new_array("empty", sko.hinge.length(), m);
    if (m > 0) {
        const Array<double> z(z_, "z", 2, true), eps(eps_, "eps", 2, true), nu(nu_, "nu", 2, true),
            vdot(vdot_, "vdot", 2, true), alpha(alpha_, "alpha", 2, true);
        const Hinged<double> model = sko.view();
        const auto work = workspace(ab_dynamics_room(model, m));
        const index singular = ab_dynamics(
            model, {sko.inertia.data(), nullptr, D.data(), G.data()}, m, {T.data(), a.data(), b.data()},
            {z.data(), eps.data(), nu.data(), vdot.data(), alpha.data()}, work.get());
        if (singular >= 0) refuse("D of node %lld is not positive definite", static_cast<long long>(singular));
    }
    return nb::make_tuple(vdot_, alpha_, z_, eps_, nu_);
}

}  // namespace

void bind_blocks(nb::module_& m) {
    using namespace nb::literals;
    const auto array = [](const char* name) { return nb::arg(name).none(); };  // None gets our own refusal
    m.def("lyapunov", &lyapunov, array("order"), array("parent"), array("left_offset"), array("right_offset"),
          array("A"), array("B"), array("X"), "backward"_a = false,
          "Y(k) = X(k) + sum over children j of A(k,j) Y(j) B*(k,j), tips to base; backward: "
          "Y(k) = X(k) + A*(p,k) Y(p) B(p,k), base to tips.");
    m.def("riccati", &riccati_arrays, array("order"), array("parent"), array("offset"), array("hinge_offset"),
          array("A"), array("H"), array("M"), "tolerance"_a,
          "P, P_plus, D, G, and the first node whose hinge has no inertia to move, or -1.");
    m.def("ab_dynamics", &ab_dynamics_arrays, array("order"), array("parent"), array("offset"),
          array("hinge_offset"), array("A"), array("H"), array("P"), array("D"), array("G"), array("T"), array("a"),
          array("b"), "vdot, alpha, z, eps, nu from the solution of the Riccati equation.");
}

}  // namespace soacraft
