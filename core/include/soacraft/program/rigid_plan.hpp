// Plans of rigid trees: A, H and M filled from q, nodes picked off bodies, blocks that are given.
#pragma once

#include "builder.hpp"

namespace soacraft {
namespace program {

inline index coordinates(const RigidBody& b) {
    switch (b.kind) {
        case SCREWS: return b.nv < 0 || b.nv > 6 ? 0 : b.nv;
        case BALL: return 4;
        case ANYWHERE: return 7;
        case ROLLS: return 6;
        default: return 0;
    }
}

inline void check_bodies(const Builder& b, const std::vector<RigidBody>& bodies, const std::vector<Screw>& screws, index nq) {
    if (static_cast<index>(bodies.size()) != b.count()) reject("there is one record for each node");
    const index dofs[] = {-1, 0, 3, 6, 3};
    for (index k = 0; k < b.count(); ++k) {
        const RigidBody& body = bodies[static_cast<std::size_t>(k)];
        const index size = b.size(0, k), nv = b.size(1, k);
        const bool known = body.kind >= SCREWS && body.kind <= ROLLS;
        const bool screwed = known && body.kind == SCREWS;
        if (!known || body.nv != nv || nv > 6 || (screwed ? nv < 1 : dofs[body.kind] != nv) || body.q < 0 ||
            body.q > nq - coordinates(body) || body.parent != b.parent[static_cast<std::size_t>(k)] || body.parent >= k ||
            size != (body.extended ? 6 + nv : 6) ||
            (screwed && (body.screws < 0 || body.screws > static_cast<index>(screws.size()) - nv)) ||
            (body.kind == ROLLS && body.constant) || (body.kind != ROLLS && !screwed && !body.constant))
            reject("body %lld is not that of a rigid tree", static_cast<long long>(k));
    }
}

// The parameters of all bodies; the structure stays.
inline void set_bodies(Builder& b, std::vector<RigidBody> bodies, std::vector<Screw> screws, unsigned long long version) {
    check_bodies(b, bodies, screws, b.plan.rigid.nq);
    b.bodies = std::move(bodies), b.screws = std::move(screws);
    ++b.parameters;
    b.version = version;
    b.refresh();
}

// A, H and M: fields 0, 1 and 2.
inline void add_A_H_M(Builder& b) {
    if (!b.fields.empty()) reject("A, H and M come first");
    b.edges(0, 0), b.diagonal(1, 0), b.diagonal(0, 0);
}

// The same of a rigid tree at q.
inline void add_rigid(Builder& b, std::vector<RigidBody> bodies, std::vector<Screw> screws, unsigned long long version,
                      int axes, index nq) {
    if (axes < BODY_AXES || axes > ORIGIN_AXES || nq < 0) reject("there are three kinds of axes");
    b.plan.rigid.nq = nq;
    set_bodies(b, std::move(bodies), std::move(screws), version);
    add_A_H_M(b);
    RigidTree& rigid = b.plan.rigid;
    rigid.axes = axes, rigid.A = 0, rigid.H = 1, rigid.M = 2;
    rigid.edge = b.keep(b.above(0));
    rigid.world = b.plan.arena;
    b.plan.arena += 12 * b.count();
    b.add_maker({RIGID, 0, {-1, -1, -1}, {0, 1, 2, -1}, {0, 0}, nullptr, 0});
    rigid.count = b.count();
}

// Where the quaternions are in q.
inline Indices quaternions_of(const RigidTree& tree) {
    Indices at;
    for (index k = 0; k < tree.count; ++k)
        if (tree.bodies[k].kind >= BALL) at.push_back(tree.bodies[k].q);
    return at;
}

// A field whose numbers come from outside.
inline index add_given(Builder& b, index rows, index cols, Indices row, Indices col, bool constant) {
    b.require_space(rows), b.require_space(cols);
    if (row.size() != col.size()) reject("a block has a row and a column");
    const index count = static_cast<index>(row.size());
    reject_fault(check_places("row", row.data(), count, b.spaces[static_cast<std::size_t>(rows)].count));
    reject_fault(check_places("col", col.data(), count, b.spaces[static_cast<std::size_t>(cols)].count));
    return b.given(b.add_field(rows, cols, std::move(row), std::move(col)), constant);
}

inline index add_pick_off(Builder& b, index cols, std::vector<Spot> spots) {
    b.require_space(cols);
    if (b.plan.rigid.count == 0 || b.spaces[static_cast<std::size_t>(cols)].count != static_cast<index>(spots.size()))
        reject("a pick-off has one spot of a rigid tree for each node");
    Indices row, col;
    for (std::size_t i = 0; i < spots.size(); ++i) {
        if (spots[i].body < 0 || spots[i].body >= b.count() || b.size(cols, static_cast<index>(i)) != 6)
            reject("spot %lld is on no body", static_cast<long long>(i));
        row.push_back(spots[i].body), col.push_back(static_cast<index>(i));
    }
    const index f = b.add_field(0, cols, std::move(row), std::move(col));
    b.nodes.push_back(std::move(spots));
    const index maker = b.add_maker({PICK_OFF, 0, {-1, -1, -1}, {f, -1, -1, -1}, {0, 0}, nullptr, 0});
    b.spots[static_cast<std::size_t>(maker)] = b.nodes.back().data();
    b.refresh();
    return f;
}

}  // namespace program
}  // namespace soacraft
