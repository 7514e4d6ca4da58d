// A rigid tree in a file: its hinges and bodies, armature, gravity, springs, and frames by name.
#pragma once

#include <cmath>

#include "../rigid/model/tables.hpp"
#include "archive.hpp"

namespace soacraft {
namespace rigid {

// A frame fixed on a body: that of the body itself, or a node on it.
struct NamedFrame {
    std::string name;
    index body = -1;
    Frame at;
};

// All there is to save of a tree.
struct TreeFile {
    index nq = 0, nv = 0;
    double gravity[3] = {0.0, 0.0, -9.80665};
    std::vector<Screw> screws;
    std::vector<Hinge> hinges;
    std::vector<Link> links;
    std::vector<double> armature;
    std::vector<Spring> springs;
    std::vector<Ball> balls;
    std::vector<Tendon> tendons;
    std::vector<Strand> strands;
    std::vector<Line> lines;
    std::vector<Bushing> bushings;
    std::vector<NodeOn> nodes;
    std::vector<Curve> curves;
    std::vector<CurvePiece> pieces;
    std::vector<NamedFrame> frames;
};

template <class Archive>
void pass(Archive& a, Frame& x) { a(x.R), a(x.p); }
template <class Archive>
void pass(Archive& a, Screw& x) { a(x.kind), a(x.scale), a(x.pitch), pass(a, x.axis); }
template <class Archive>
void pass(Archive& a, Hinge& x) { a(x.kind), a(x.first), a(x.last), a(x.ball); }
template <class Archive>
void pass(Archive& a, Link& x) {
    a(x.parent), a(x.hinge), a(x.q), a(x.v), pass(a, x.inboard), pass(a, x.outboard), a(x.mass), a(x.com), a(x.moment);
}
template <class Archive>
void pass(Archive& a, Spring& x) { a(x.q), a(x.v), a(x.k), a(x.d), a(x.rest); }
template <class Archive>
void pass(Archive& a, Ball& x) { a(x.q), a(x.v), a(x.free), a(x.k), a(x.d), a(x.rest); }
template <class Archive>
void pass(Archive& a, Law& x) { a(x.k), a(x.d), a(x.low), a(x.high), a(x.spring), a(x.damper); }
template <class Archive>
void pass(Archive& a, Tendon& x) { a(x.first), a(x.last), pass(a, x.law); }
template <class Archive>
void pass(Archive& a, Line& x) { a(x.first), a(x.last), pass(a, x.law); }
template <class Archive>
void pass(Archive& a, Bushing& x) { a(x.K), a(x.D), a(x.rest_R), a(x.rest_p); }
template <class Archive>
void pass(Archive& a, NodeOn& x) { a(x.body), a(x.R), a(x.p); }
template <class Archive>
void pass(Archive& a, Curve& x) { a(x.first), a(x.last); }
template <class Archive>
void pass(Archive& a, CurvePiece& x) { a(x.x), a(x.c), a(x.integral); }
template <class Archive>
void pass(Archive& a, Strand& x) { a(x.q), a(x.v), a(x.c); }
template <class Archive>
void pass(Archive& a, NamedFrame& x) { a(x.name), a(x.body), pass(a, x.at); }
template <class Archive>
void pass(Archive& a, TreeFile& x) {
    a(x.nq), a(x.nv), a(x.gravity), a(x.screws), a(x.hinges), a(x.links), a(x.armature), a(x.springs), a(x.balls);
    a(x.tendons), a(x.strands), a(x.lines), a(x.bushings), a(x.nodes), a(x.curves), a(x.pieces), a(x.frames);
}

inline std::string bytes_of(TreeFile& x) {
    files::Out out;
    pass(out, x);
    return out.file(files::MODEL);
}

inline void require_rotation(const Frame& x, const char* what, std::size_t at) {
    if (!is_rotation(x.R)) reject("%s %lld has a frame that is no rotation", what, static_cast<long long>(at));
}

inline TreeFile read_tree(const std::string& bytes) {
    files::In in(bytes.data(), bytes.size(), files::MODEL);
    TreeFile x;
    pass(in, x);
    in.end();
    for (std::size_t i = 0; i < x.screws.size(); ++i) {
        require_rotation(x.screws[i].axis, "screw", i);
        if (!std::isfinite(1.0 / x.screws[i].scale)) reject("screw %lld has no scale", static_cast<long long>(i));
    }
    for (std::size_t i = 0; i < x.links.size(); ++i)
        require_rotation(x.links[i].inboard, "body", i), require_rotation(x.links[i].outboard, "body", i);
    for (std::size_t i = 0; i < x.frames.size(); ++i) {
        require_rotation(x.frames[i].at, "frame", i);
        if (x.frames[i].body < 0 || x.frames[i].body >= static_cast<index>(x.links.size()))
            reject("frame %lld is on no body", static_cast<long long>(i));
    }
    return x;
}

// The tables that kernels read; everything is checked here, whoever made the tree. Returns where the quaternions are in q.
inline std::vector<index> tabulate(const TreeFile& x, Assembly& a, Tables& t) {
    a.screws = x.screws, a.hinges = x.hinges, a.links = x.links;
    check_hinges(a);
    std::vector<index> quaternions = lay_out(a, t, x.nq, x.nv);
    if (x.armature.size() != t.armature.size()) reject("a dof has one armature");
    t.armature = x.armature;
    t.springs = x.springs, t.balls = x.balls, t.tendons = x.tendons, t.strands = x.strands;
    t.lines = x.lines, t.bushings = x.bushings, t.nodes = x.nodes, t.curves = x.curves, t.pieces = x.pieces;
    check_passive(t);
    t.mark_armature(0, t.model.count);
    a.settle(t.elements, t.bodies, t.model.fixed);
    t.view();
    return quaternions;
}

}  // namespace rigid
}  // namespace soacraft
