// Flexible bodies of a tree as kernels read them: the moments of their modes and of the nodes that deform, made once for the
// frame they are in, laid out for loops across modes.
//
// Numbers of modes are kept eight modes side by side (`Eight`), the last ones filled up with zeros: of a table by (i, j)
// with A numbers each, mode j in block j / 8, those of block b begin at (b n + i) A, of one by j at b A.
#pragma once

#include "../config.hpp"

namespace soacraft {
namespace rigid {

struct alignas(64) Eight {
    double x[8];
};

// How many numbers a table has for a mode or a pair of modes. Of a flexible body, with x the axial vector of a 3 x 3 block:
//
//     first    dJ_j (6), x(N_j) (3), p_j (3)                                           at eta = 0
//     second   d2J_ij (6), x(Q_ij + T_ij) (3), K_ij, D_ij;  where it has S and T also  x(Q_ij) (3), S_ij (3)
//
// and of a node lam_j, gam_j (3 each), and lam2_ij, gam2_ij.
constexpr index FIRST = 12, SECOND = 11, SECOND_GEOMETRIC = 17, NODE = 6;

// A flexible body, whose element it is: `first`, `second` and `mass` are offsets of tables; `mass` by columns, n of them.
struct Flexible {
    index element, n, q, v;     // its modes in q and in v
    index mode;                 // the first of them among those of all bodies
    index held;                 // the node of its own that the hinge holds, or -1: the body frame is the element's
    index first_spot, last_spot;
    index geometric;            // whether it has S and T
    index first, second, mass, factor;
    double m, c[3], J[6];       // of the undeformed body, as those of an element
    double R[9], p[3];          // where the element's frame is on the node that holds it
    index blocks() const { return (n + 7) / 8; }
};

// A node that deforms. R and p: where it is on the undeformed body.
struct Spot {
    index flexible;
    index children;             // whether a hinge is on it
    index geometric;            // whether it has lam2 and gam2
    index first, second;
    double R[9], p[3];
};

}  // namespace rigid
}  // namespace soacraft
