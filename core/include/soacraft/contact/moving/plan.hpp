// Shapes on the elements of a tree, and which of them may touch: what queries at states of the tree read. Plain structs.
//
// Shapes that never move are in a tree of boxes, made once. Pairs of a moving shape and one of these are not listed: a bit
// tells whether they may touch. Pairs of two moving shapes, pairs with a plane, and pairs with a padding of their own are.
#pragma once

#include <cstdint>
#include <vector>

#include "../../rigid/model/model.hpp"

namespace soacraft {
namespace contact {

// Which kernel answers: those of `near_lanes.hpp`, or one pair after the other (`Ask`).
enum PairClass : int { SEGMENTS, BOX_POINT, BOX_SEGMENT, PLANE_BOX, SINGLY, PAIR_CLASSES };

// That of two kinds of shapes; `swapped`: the second is the first of the kernel.
constexpr int pair_class(int a, int b, bool& swapped) {
    constexpr int BALL = 0, ROD = 1, BRICK = 2, HALF_SPACE_KIND = 6;  // as in shape.hpp
    swapped = a < b;
    const int A = swapped ? b : a, B = swapped ? a : b;
    if (A <= ROD) return SEGMENTS;
    if (A == BRICK && B <= ROD) return B == BALL ? BOX_POINT : BOX_SEGMENT;
    return A == HALF_SPACE_KIND && B <= BRICK ? PLANE_BOX : SINGLY;
}

// A shape is within `radius` of its middle, its core within `core` (a sphere is a point with something around it).
struct MovingShape {
    int kind;          // as in shape.hpp
    bool convex;
    double half[3];    // half edges of the core of a sphere, capsule or box
    double round;      // what is around that
    double middle[3];  // in its own axes
    double radius, core;
    double extent;     // the largest distance from its origin
    double pad;        // what it keeps clear of others by
    index element;     // that carries it; -1: it never moves
    double at[12];     // its pose there, rows of the rotation first
    double arm;        // from the origin of the element to its middle
};

// Two shapes a < b that may touch. `common` is the outermost element that carries both (-1: the base); `far_a` and `far_b`
// say which `Reach` has the motion of each relative to it (-1: none).
struct MovingPair {
    index a, b;
    double pad;        // of both, and of the pair
    int type;          // a PairClass
    bool swapped;      // b is the first of that kernel
    index common, far_a, far_b;
};

// The motion of a shape relative to an element inboard of its own.
struct Reach {
    index shape, common;
};

// A node of the tree of boxes: slots [first, last). Its left child is the next node; a leaf has 0 for the right one.
struct BoxNode {
    double low[3], high[3];
    index first, last, right;
};

struct MovingPlan {
    const rigid::Model* model;
    index count;                  // of shapes
    const MovingShape* shapes;
    const index* movers;          // shapes that move, and have an end
    index mover_count;
    const index* slots;           // fixed shapes that have an end, in the order of the tree
    index slot_count;
    const double* boxes;          // (6, box_step): low and high of the boxes around slots, with their paddings
    index box_step;               // at least a register more than there are slots
    const BoxNode* nodes;
    const std::uint64_t* may;     // (movers, words): whether the pair of mover and slot may touch
    index words;
    const MovingPair* pairs;
    index pair_count;
    const Reach* reaches;         // the first ones are those of the movers, relative to the base
    index reach_count;
};

// The nearest points of two shapes at their poses, one pair at a time: gap, a, b, n, error into `row`; false beyond `within`.
typedef bool (*Ask)(const void* scene, index a, const double* pose_a, index b, const double* pose_b, double within, double* row);

constexpr index NEAR_ROW = 11;

// A pair that may be near.
struct Near {
    index a, b;
    double pad;
    int type;
    bool swapped;
    index common, far_a, far_b;
};

// A part of an edge that is not known to be free, and which of the pairs in a list may touch there.
struct Span {
    double low, high;
    index first, count;
};

// Memory of one thread. It grows with the first calls; those after them take no more.
struct MovingWork {
    std::vector<double> q, dv, place, twist, poses, middle, rows, reach;
    std::vector<Near> near, kept;
    std::vector<index> by_type[PAIR_CLASSES], order;
    std::vector<Span> spans;
    index found = 0;
};

// What an edge came to.
struct EdgeEnd {
    double part = 1.0;    // where it touches, or how far it is known to be free
    double least = 0.0;   // the least distance seen
    index a = -1, b = -1; // what touches
    index steps = 0;      // configurations that were looked at
    bool free = true;
    bool spent = false;   // it took too many of them
};

// Whether an edge is to be followed to the first touch, nearer than what is one, and how many configurations it may look at.
struct EdgeTask {
    double close;
    bool first;
    index most;
};

struct MovingQuery {
    const MovingPlan* plan;
    const void* scene;
    Ask ask;
};

struct MovingKernels {
    // The memory for a plan, with the poses of fixed shapes.
    void (*begin)(const MovingPlan&, MovingWork&);
    // Pairs within a distance at q: `work.found` rows, in the order of their shapes.
    void (*distances)(const MovingQuery&, const double* q, double within, MovingWork&);
    // Rows of numbers (11), gradients (nv) and shapes (2) of what was found at q.
    void (*write)(const MovingPlan&, const MovingWork&, const double* q, double* numbers, double* gradient, index* shapes);
    bool (*collides)(const MovingQuery&, const double* q, MovingWork&);
    // From q0 to q1. `work.q` is the configuration where it ended. False where a hinge has no difference.
    bool (*edge)(const MovingQuery&, const EdgeTask&, const double* q0, const double* q1, MovingWork&, EdgeEnd&);
};

// Those of this machine (`dispatch.cpp`).
const MovingKernels& moving_kernels();

}  // namespace contact
}  // namespace soacraft
