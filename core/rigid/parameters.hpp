// `_core.RigidModel` from a tree of bodies, its parameters all at once and one at a time, and what became of the bodies.
#pragma once

#include "array.hpp"
#include "numpy_array.hpp"
#include "rigid_model.hpp"

namespace soacraft {
namespace rigid {

inline bool a_model_was_made = false;  // from then on the kernels are chosen

// Rows of numbers, one for each of `count` things.
struct Numbers {
    const Array<double> held;
    index width;
    Numbers(nb::handle given, const char* name, index count, index columns) : held(given, name, 2), width(columns) {
        if (held.size(0) != count || held.size(1) != width)
            refuse("%s must be (%lld, %lld)", name, static_cast<long long>(count), static_cast<long long>(width));
    }
    void copy(index row, double* to) const {
        for (index i = 0; i < width; ++i) to[i] = held.data()[row * width + i];
    }
};

// The hinges that the bodies have: `kind` WELD, PRODUCT or that of an element, `end` one past the last of its screws,
// `ball` of a rolling one. Screws: kind, then axis frame, scale and pitch.
inline void read_hinges(Assembly& a, nb::handle kind_, nb::handle end_, nb::handle ball_, nb::handle screw_kind_,
                 nb::handle screw_) {
    const Array<index> kind(kind_, "hinge_kind", 1), end(end_, "hinge_end", 1), screw_kind(screw_kind_, "screw_kind", 1);
    const Numbers ball(ball_, "hinge_ball", kind.size(), 10), screw(screw_, "screw", screw_kind.size(), 14);
    if (end.size() != kind.size()) refuse("a hinge has one end of its screws");
    for (index i = 0; i < screw_kind.size(); ++i) {
        Screw s = {};
        double x[14];
        screw.copy(i, x);
        s.kind = screw_kind.data()[i], s.scale = x[12], s.pitch = x[13];
        for (int k = 0; k < 9; ++k) s.axis.R[k] = x[k];
        for (int k = 0; k < 3; ++k) s.axis.p[k] = x[9 + k];
        a.screws.push_back(s);
    }
    index first = 0;
    for (index i = 0; i < kind.size(); ++i) {
        Hinge h = {};
        h.kind = kind.data()[i], h.first = first, h.last = first = end.data()[i];
        ball.copy(i, h.ball);
        a.hinges.push_back(h);
    }
    check_hinges(a);
}

// The parameters of all bodies: constant poses as rotations and translations, masses, centres of mass, moments; and the
// armature of all dofs.
inline void set_parameters(RigidModel& m, nb::handle inboard_R, nb::handle inboard_p, nb::handle outboard_R,
                    nb::handle outboard_p, nb::handle mass_, nb::handle com_, nb::handle moment_, nb::handle armature_) {
    std::vector<Link>& links = m.assembly.links;
    const auto n = static_cast<index>(links.size());
    const Numbers in_R(inboard_R, "inboard_R", n, 9), in_p(inboard_p, "inboard_p", n, 3);
    const Numbers out_R(outboard_R, "outboard_R", n, 9), out_p(outboard_p, "outboard_p", n, 3);
    const Numbers com(com_, "com", n, 3), moment(moment_, "moment", n, 9);
    const Array<double> mass(mass_, "mass", 1), armature(armature_, "armature", 1);
    if (mass.size() != n) refuse("a body has one mass");
    if (armature.size() != m.model.nv) refuse("a dof has one armature");
    for (index k = 0; k < n; ++k) {
        Link& link = links[static_cast<std::size_t>(k)];
        in_R.copy(k, link.inboard.R), in_p.copy(k, link.inboard.p);
        out_R.copy(k, link.outboard.R), out_p.copy(k, link.outboard.p);
        com.copy(k, link.com), moment.copy(k, link.moment), link.mass = mass.data()[k];
    }
    m.change([&](Tables& t) {
        t.armature.assign(armature.data(), armature.data() + armature.size());
        t.model.has_armature = 0, t.mark_armature(0, t.model.count);
        m.assembly.settle(t.elements, t.bodies, t.model.fixed);
        m.assembly.settle_modes(t.elements, t.flexible, t.spots, t.modal);
    });
    m.outdated = false;
}

// Modal data: mass, then arrays of float64 in one row each: first, second, p, N, Q, M, K, D, S, T, and nodes, tuples of
// rotation, translation, lam, gam, lam2, gam2. What there is none of is empty.
inline ModalNumbers read_modal(nb::tuple given) {
    if (given.size() != 12) refuse("modal data have a mass, ten arrays and nodes");
    const auto numbers = [](nb::handle from) {
        const Array<double> x(from, "an array of modal data", 1);
        return std::vector<double>(x.data(), x.data() + x.size());
    };
    const auto copy = [&](nb::handle from, double* to, std::size_t count) {
        const std::vector<double> x = numbers(from);
        if (x.size() != count) refuse("an array of modal data has a wrong length");
        for (std::size_t i = 0; i < count; ++i) to[i] = x[i];
    };
    ModalNumbers data;
    data.mass = nb::cast<double>(given[0]);
    copy(given[1], data.first, 3), copy(given[2], data.second, 9);
    data.p = numbers(given[3]), data.N = numbers(given[4]), data.Q = numbers(given[5]), data.M = numbers(given[6]);
    data.K = numbers(given[7]), data.D = numbers(given[8]), data.S = numbers(given[9]), data.T = numbers(given[10]);
    data.n = static_cast<index>(data.p.size() / 3);
    for (nb::handle one : nb::cast<nb::list>(given[11])) {
        const auto parts = nb::cast<nb::tuple>(one);
        if (parts.size() != 6) refuse("a modal node has six parts");
        ModalNumbers::Node node;
        copy(parts[0], node.R, 9), copy(parts[1], node.p, 3);
        node.lam = numbers(parts[2]), node.gam = numbers(parts[3]), node.lam2 = numbers(parts[4]), node.gam2 = numbers(parts[5]);
        data.nodes.push_back(std::move(node));
    }
    return data;
}

// A number for each of n bodies; -1 where none are given.
inline std::vector<index> numbers_or_none(nb::handle given, index n) {
    if (given.is_none()) return std::vector<index>(static_cast<std::size_t>(n), -1);
    const Array<index> x(given, "a number of modal data or of a node", 1);
    if (x.size() != n) refuse("a body has one number of modal data, and of the nodes of its hinge");
    return std::vector<index>(x.data(), x.data() + n);
}

// A tree of bodies: what does not change with its parameters.
inline RigidModel* make(nb::handle parent_, nb::handle hinge_, nb::handle q_, nb::handle v_, nb::handle hinge_kind,
                 nb::handle hinge_end, nb::handle hinge_ball, nb::handle screw_kind, nb::handle screw, index nq, index nv,
                 nb::list modal, nb::handle modal_of_, nb::handle held_, nb::handle rides_, double large_turn) {
    const Array<index> parent(parent_, "parent", 1), hinge(hinge_, "hinge", 1), q(q_, "q", 1), v(v_, "v", 1);
    const index n = parent.size();
    if (hinge.size() != n || q.size() != n || v.size() != n) refuse("a body has one parent, hinge, q and v");
    a_model_was_made = true;
    auto made = std::make_unique<RigidModel>();
    made->large_turn = large_turn;
    Assembly& a = made->assembly;
    read_hinges(a, hinge_kind, hinge_end, hinge_ball, screw_kind, screw);
    for (nb::handle one : modal) a.modal.push_back(read_modal(nb::cast<nb::tuple>(one)));
    const std::vector<index> modal_of = numbers_or_none(modal_of_, n), held = numbers_or_none(held_, n), rides = numbers_or_none(rides_, n);
    for (index k = 0; k < n; ++k) {
        Link link = {};
        link.parent = parent.data()[k], link.hinge = hinge.data()[k], link.q = q.data()[k], link.v = v.data()[k];
        const auto at = static_cast<std::size_t>(k);
        link.modal = modal_of[at], link.held = held[at], link.rides = rides[at];
        a.links.push_back(link);
    }
    made->quaternions = lay_out(a, *made->tables, nq, nv);
    made->zeros.assign(static_cast<std::size_t>(nv) + 1, 0.0);  // of a tree without dofs too they are somewhere
    made->change([&](Tables& own) { a.settle(own.elements, own.bodies, own.model.fixed); });
    return made.release();
}

// -- one parameter ------------------------------------------------------------------------------------------------------

inline Link& link_of(RigidModel& m, index k) {
    if (k < 0 || k >= static_cast<index>(m.assembly.links.size())) refuse("there is no body %lld", static_cast<long long>(k));
    return m.assembly.links[static_cast<std::size_t>(k)];
}

// The numbers of a NumPy array of float64 with one or two axes, row by row.
inline void copy_numbers(nb::handle given, index count, const char* name, double* to) {
    PyObject* o = given.ptr();
    if (!PyArray_Check(o)) refuse("%s is no array", name);
    PyArrayObject* a = reinterpret_cast<PyArrayObject*>(o);
    const int ndim = PyArray_NDIM(a);
    if (PyArray_TYPE(a) != NPY_DOUBLE || !PyArray_ISBEHAVED_RO(a) || PyArray_SIZE(a) != count || ndim < 1 || ndim > 2)
        refuse("%s must be an array of %lld float64", name, static_cast<long long>(count));
    const npy_intp rows = ndim == 2 ? PyArray_DIM(a, 0) : 1, columns = PyArray_DIM(a, ndim - 1);
    for (npy_intp i = 0; i < rows; ++i)
        for (npy_intp j = 0; j < columns; ++j)
            *to++ = *static_cast<const double*>(ndim == 2 ? PyArray_GETPTR2(a, i, j) : PyArray_GETPTR1(a, j));
}

inline void set_inertia(RigidModel& m, index k, double mass, nb::handle com_, nb::handle moment_) {
    Link& link = link_of(m, k);
    double com[3], moment[9];
    copy_numbers(com_, 3, "com", com), copy_numbers(moment_, 9, "moment", moment);
    link.mass = mass;
    for (int i = 0; i < 3; ++i) link.com[i] = com[i];
    for (int i = 0; i < 9; ++i) link.moment[i] = moment[i];
    m.change([&](Tables& t) { m.assembly.settle_inertia(k, t.elements, t.bodies, t.model.fixed); });
}

inline void set_pose(RigidModel& m, index k, bool inboard, nb::handle rotation, nb::handle translation) {
    Link& link = link_of(m, k);
    Frame frame;
    copy_numbers(rotation, 9, "rotation", frame.R), copy_numbers(translation, 3, "translation", frame.p);
    (inboard ? link.inboard : link.outboard) = frame;
    m.change([&](Tables& t) {
        m.assembly.settle_pose(k, t.elements, t.bodies, t.model.fixed);
        m.assembly.settle_modes(t.elements, t.flexible, t.spots, t.modal);
    });
}

// Of all dofs of a hinge.
inline void set_armature(RigidModel& m, index k, nb::handle armature) {
    const Link& link = link_of(m, k);
    const std::vector<Element>& elements = m.tables->elements;
    index count = 0;
    for (index e = link.first; e < link.last; ++e) count += dofs(elements[static_cast<std::size_t>(e)].kind);
    double J[6];  // of a product of screws no more than six
    copy_numbers(armature, count, "armature", J);
    m.change([&](Tables& t) {
        for (index i = 0; i < count; ++i) t.armature[static_cast<std::size_t>(link.v + i)] = J[i];
        t.mark_armature(link.first, link.last);
    });
}

inline void set_gravity(RigidModel& m, nb::handle gravity) {
    double g[3];
    copy_numbers(gravity, 3, "gravity", g);
    for (int i = 0; i < 3; ++i) m.base[9 + i] = -g[i];
    ++m.stamp;
}

// -- what became of the bodies ------------------------------------------------------------------------------------------

inline nb::object integers(const std::vector<index>& x) {
    nb::object made = nb::module_::import_("numpy").attr("empty")(x.size(), "int64");
    const Array<index> to(made, "to", 1, true);
    for (std::size_t i = 0; i < x.size(); ++i) to.data()[i] = x[i];
    return made;
}

// By body: its element (-1: welded to the base), then the first and one past the last element of its hinge.
inline nb::tuple elements_of_bodies(const RigidModel& m) {
    std::vector<index> element, first, last;
    for (const Body& b : m.tables->bodies) element.push_back(b.element);
    for (const Link& link : m.assembly.links) first.push_back(link.first), last.push_back(link.last);
    return nb::make_tuple(integers(element), integers(first), integers(last));
}

// By element: its kind, and where its coordinates and velocities begin.
inline nb::tuple elements(const RigidModel& m) {
    std::vector<index> kind, q, v;
    for (const Element& e : m.tables->elements) kind.push_back(e.kind), q.push_back(e.q), v.push_back(e.v);
    return nb::make_tuple(integers(kind), integers(q), integers(v));
}

// Where the frame of a body is on its element: rotation and translation, 12 numbers.
inline nb::object place_of(RigidModel& m, index k) {
    link_of(m, k);
    const Body& b = m.tables->bodies[static_cast<std::size_t>(k)];
    nb::object made = new_vector(12);
    const Array<double> to(made, "to", 1, true);
    for (int i = 0; i < 9; ++i) to.data()[i] = b.R[i];
    for (int i = 0; i < 3; ++i) to.data()[9 + i] = b.p[i];
    return made;
}

}  // namespace rigid
}  // namespace soacraft
