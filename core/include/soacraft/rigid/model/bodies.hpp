// A rigid tree from its bodies, one after the other, parents first:
//
//     Bodies bodies;
//     const index upper = bodies.add("upper", -1, pin(0, 1, 0), at(0, 0, 0), {1.0, {0, 0, -0.5}, {...}});
//     Multibody pendulum(bodies.tree);
//
// The outboard hinge frame is the body frame.
#pragma once

#include "../../files/model_file.hpp"

namespace soacraft {
namespace rigid {

// Mass, centre of mass and moment about it (row-major), in body axes.
struct Inertia {
    double mass, com[3], moment[9];
};

struct HingeKind {
    index kind;
    std::vector<Screw> screws;
};

// The frame on an axis through the origin with z along it.
inline Screw screw_about(index kind, double x, double y, double z, double pitch) {
    const double norm = std::sqrt(x * x + y * y + z * z);
    if (!(norm > 0.0 && std::isfinite(norm))) reject("the axis of a hinge has no direction");
    const double a[3] = {x / norm, y / norm, z / norm};
    int least = 0;
    for (int i = 1; i < 3; ++i)
        if (std::fabs(a[i]) < std::fabs(a[least])) least = i;
    double u[3], length = 0.0;
    for (int i = 0; i < 3; ++i) u[i] = (i == least ? 1.0 : 0.0) - a[i] * a[least], length += u[i] * u[i];
    for (double& e : u) e /= std::sqrt(length);
    Screw s = {};
    s.kind = kind, s.scale = 1.0, s.pitch = pitch;
    for (int i = 0; i < 3; ++i) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        s.axis.R[3 * i] = u[i], s.axis.R[3 * i + 1] = a[j] * u[k] - a[k] * u[j], s.axis.R[3 * i + 2] = a[i];
    }
    return s;
}

inline HingeKind pin(double x, double y, double z) { return {PRODUCT, {screw_about(REVOLUTE, x, y, z, 0.0)}}; }
inline HingeKind slide(double x, double y, double z) { return {PRODUCT, {screw_about(PRISMATIC, x, y, z, 0.0)}}; }
inline HingeKind helical(double x, double y, double z, double pitch) { return {PRODUCT, {screw_about(HELICAL, x, y, z, pitch)}}; }
inline HingeKind spherical() { return {SPHERICAL, {}}; }
inline HingeKind free_hinge() { return {FREE, {}}; }
inline HingeKind weld() { return {WELD, {}}; }

inline Frame at(double x, double y, double z) {
    Frame frame;
    frame.p[0] = x, frame.p[1] = y, frame.p[2] = z;
    return frame;
}

struct Bodies {
    TreeFile tree;

    // A body on the parent's frame `inboard`; -1 is the base. Returns its number.
    index add(const std::string& name, index parent, const HingeKind& hinge, const Frame& inboard, const Inertia& inertia) {
        Hinge h = {};
        h.kind = hinge.kind, h.first = static_cast<index>(tree.screws.size());
        tree.screws.insert(tree.screws.end(), hinge.screws.begin(), hinge.screws.end());
        h.last = static_cast<index>(tree.screws.size());
        Link link = {};
        link.parent = parent, link.hinge = static_cast<index>(tree.hinges.size()), link.q = tree.nq, link.v = tree.nv;
        link.inboard = inboard, link.mass = inertia.mass;
        for (int i = 0; i < 3; ++i) link.com[i] = inertia.com[i];
        for (int i = 0; i < 9; ++i) link.moment[i] = inertia.moment[i];
        const index screws = h.last - h.first;
        tree.nq += h.kind == PRODUCT ? screws : h.kind == WELD ? 0 : coordinates(h.kind);
        tree.nv += h.kind == PRODUCT ? screws : h.kind == WELD ? 0 : dofs(h.kind);
        tree.armature.resize(static_cast<std::size_t>(tree.nv), 0.0);
        tree.hinges.push_back(h), tree.links.push_back(link);
        const index number = static_cast<index>(tree.links.size()) - 1;
        add_frame(name, number, Frame());
        return number;
    }
    // A node on a body. Returns the number of the frame.
    index add_frame(const std::string& name, index body, const Frame& on) {
        NamedFrame frame;
        frame.name = name, frame.body = body, frame.at = on;
        tree.frames.push_back(frame);
        return static_cast<index>(tree.frames.size()) - 1;
    }
};

}  // namespace rigid
}  // namespace soacraft
