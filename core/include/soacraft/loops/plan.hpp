// The compiled form of a closed chain: a rigid tree, its closures and couplings, and what follows from who shares what.
//
// All of it is made once, with the choices of Python's plan: another choice is another one.
#pragma once

#include <vector>

#include "soacraft/rigid/model/model.hpp"

namespace soacraft {
namespace loops {

using rigid::Body;
using rigid::Element;

// How the coordinates of a closure's hinge are found from the pose of b seen from a. Those from KNIFE on are nonholonomic.
enum Fit : int {
    WELD = 0, TURN = 1, SLIDE = 2, BALL = 3, CHAIN = 4, KNIFE = 5, ROLLING_BALL = 6, ROLLING_DISC = 7, ROLLING_ELLIPSOID = 8
};

struct Closure {
    Body a, b;           // its frames on their elements, -1: on the ground
    index body_a, body_b;  // the user's bodies that carry them, -1: the inertial frame
    index fit;
    index first, last;   // the one-dof elements of its hinge, in Plan::hinges
    double R[9], p[3];   // from the last of them to the outboard side of the hinge
    index theta;         // where its coordinates stand
    index row, rows;
    index fixed;         // whether the rows do not turn with the coordinates
    double length;       // of its links, in metres: what its distance is measured by; 0: unknown
    double Q[36];        // rows x 6 then: orthonormal, in the axes of b; of what rolls the numbers of its shape

    bool is_holonomic() const { return fit < KNIFE; }
    bool rolls() const { return fit > KNIFE; }
    index dofs() const { return fit == KNIFE ? 5 : fit == BALL || rolls() ? 3 : last - first; }
    index coordinates() const { return fit == KNIFE ? 7 : rolls() ? 6 : fit == BALL ? 4 : last - first; }
};

// A polynomial of one coordinate without a constant term.
struct Term {
    index element, d, v, q;
    std::vector<double> c;  // c[i] multiplies q^(i+1)
};

struct Coupling {
    std::vector<Term> terms;
    double offset;
    double size;         // its largest term: what its residual is measured by
    index row;
};

// All that is judged, as Python hands it over (soacraft/kinematics/tolerances.py and measure.py). Numbers without unit: rows
// are in radians and lengths of their loops, dofs in radians and lengths of the model.
struct Tolerances {
    double closed;    // of states off their closures, and of what an answer leaves
    double doubtful;  // ratio of pivots below which Python looks for other dofs, or another rank
    double pivot;     // pivots of the Schur complement above it count,
    double rounding;  // up to this one they do not; what lies between is doubtful
    double repeated;   // what may be left of rows that repeat others, relative to the accelerations, and, where it is more
                       // than `zero`, what they may push or see of motions that the others allow,
    double open_rows;  // and besides so many times what the loops are open by
    double lowest, highest;  // between them is the largest scaled compliance of rows whose scale serves here
    double closest;   // what is open goes no lower
    double furthest, shrinks;  // steps of dependent dofs are no longer, and each no more than this part of the one before
    double trust, small;  // a step along a branch may be corrected by this part of it, or by so much
    double longest;       // longer ones by that part of this
    double balanced;  // what refinement may leave of rows and of forces, relative to the largest
    double settled;   // a change by this part is rounding, and so much of rows
    double parallel;  // columns of a closure's hinge with pivots in this ratio depend on each other
    double aligned;   // a direction with no more than this part off the others is one of them
    double ahead;     // an axis with so much more left than another is taken for a row first
    double followed;  // where the coordinates of a closure's hinge are, in radians or lengths of its loop
    double assembled, zero, clear;  // where loops are closed; pivots up to `zero` of the largest are none, above `clear` one
    double stride, foretold, gained, nearest;  // steps towards closed loops: their size, what they must promise, bring, end at
    double refined_pivot;  // a smaller one of the compliance: its solutions are refined
    double turned_over;  // sine of the angle from a pose that no angle of a pin is nearest to
    double stalled;   // by this one fully augmented accelerations have settled where no round helps
    // Of states side by side, which have no pivoting: pivots of dependent dofs count so many times above what is doubtful,
    // and those of the Schur complement above this
    double abreast, abreast_pivot;
    double lever;       // turns over slides and lengths, or the reverse, below which a compliance is rounding
    double given_back;  // what may lie between accelerations asked for and those that forces give
    double alike;       // columns of dependent dofs that change by no more than this part of their smallest pivot: no singular
                        // pose lies between
    double reused;      // a step onto the closures up to this one leaves its factors good for the velocities there
};

// One element on the way of a block of rows to the base.
struct Step {
    index element;
    index inboard;  // the place of its parent among the steps, -1 at the base
    index at;       // where its dofs stand in a row of Y
};

// The rows of one closure or coupling, and the elements between its ends and the base.
struct Way {
    index row, rows;
    std::vector<Step> steps;  // in the order of the elements
    index width;              // the dofs of all of them
    index Y;                  // where its rows of Y begin
    index from_a, from_b;     // the steps that carry its frames, -1: on the ground
    index spot_a = -1, spot_b = -1;  // the nodes that deform which they are on, or -1
};

// A run of dofs that two ways share.
struct Run {
    index i, j, count;
};

// One block of the Schur complement.
struct Block {
    index i, j, at;  // rows x cols, row-major
    std::vector<Run> runs;
};

// One step of the block elimination: blocks that go together and those they leave their mark on.
struct Front {
    struct Part {
        index at;       // where it stands
        index top, left, rows, cols;
        bool turned;    // stored as its transpose
    };
    std::vector<index> own, others;  // row numbers
    std::vector<Part> corner, side, rest;  // own x own (upper), own x others, others x others (upper)
    index L, X, order;                     // where its factors stand
};

// The rows of one closure or coupling inside its group.
struct Tied {
    bool loop;
    index number;                  // of the closure, or of the coupling
    index row, rows;               // among the rows of the group
    std::vector<index> elements;   // of a closure: those on its way, with the sign of its side
    std::vector<double> sign;
    std::vector<index> columns;    // the dofs it has, as columns of the group
    std::vector<index> place;      // of each: its column in the stage that takes its rows, or -1 - number among the independent
    index at;                      // where its block of G begins, rows x columns
};

// One step of the orthogonal elimination of a group's dependent dofs: rows of closures and rows that earlier stages left,
// on the columns that no later stage has (`own`) and others. It leaves `kept` rows on the others.
struct Stage {
    struct From {
        index tied, stage;         // one of them; the other is -1
        index row, rows;           // where they come to stand
        std::vector<index> place;  // of each column of an earlier stage that it left: its column here
    };
    std::vector<From> from;
    std::vector<index> columns;    // of the group, own first
    index rows, own, kept;
    index F, B, tau, order, t;     // where its numbers begin
};

// A row that no group holds, next to groups that hold others.
struct Rest {
    bool loop;
    index number;  // of the closure, or of the coupling
    index row;
};

// An element of the fully augmented system: a free body with the rows of its hinge.
struct FreeBody {
    index rotors;       // of its dofs, if one has armature
    index rows, turns;  // of N; how many of them, the first, are without slides
    index width;        // of the rows of its inverted block, a multiple of 4
    index at, rows_at, inverse_at;  // where its unknowns, its rows and its inverted block begin
};

// What is driven: by closure, then by coupling, the place of its numbers in `rates`, or -1. Of a closure the twist u of b
// seen from a, at b in the axes of a, and its rate, 12 numbers; of a coupling 2.
template <class T>
struct DrivesOf {
    const index* place;
    const T* rates;
};
typedef DrivesOf<double> Drives;

// What may move when loops are closed: dofs, and coordinates between limits.
struct Allowed {
    const index* free;
    index count;
    const double *lower, *upper;  // by dof
    const index* place;           // of its coordinate, -1: it has none of its own
    bool nearest;                 // whether to go back towards the start: not where the way there matters
};

// Bodies that move as one (formula F5), or a single element without rows.
struct Group {
    index parent;                  // the element it hangs from, -1: the base
    std::vector<index> elements;   // parents first
    std::vector<index> inboard;    // the place of each one's parent among them, -1: outside
    std::vector<index> dofs;       // in the order of the elements
    std::vector<index> first;      // the column of each element's first dof
    std::vector<Tied> ties;
    std::vector<index> rows;       // row numbers
    std::vector<index> dependent, independent;  // columns
    std::vector<Stage> stages;     // in the order of elimination
    index at, order;               // where its workspace begins, and its order of pivots
    index G_size, F_size, B_size, tau_size, t_size;
};

struct Plan {
    const rigid::Model* tree;
    std::vector<Closure> closures;
    std::vector<Element> hinges;
    std::vector<Coupling> couplings;
    index size = 0;         // rows
    index coordinates = 0;  // of the closures' hinges
    bool follows = false;   // whether some are found from those before
    std::vector<Way> ways;
    std::vector<Block> blocks;
    std::vector<Front> fronts;
    std::vector<FreeBody> free_bodies;  // by element; empty unless the system is fully augmented
    std::vector<Group> groups;       // parents first; empty unless closures and couplings are embedded
    std::vector<Rest> rest;          // rows of those that are not
    std::vector<index> column;       // by d: its column in its group
    std::vector<index> user_dof;     // by d: where the user's v has it
    std::vector<double> scale;       // of rows: 1/sqrt of the compliance that rounding is measured by
    Tolerances tolerances = {};
    double length = 0.0, inertia = 0.0;  // of the model; its mass times the square of its length
    std::vector<double> unit;            // by v: what one SI unit of each dof is in radians or lengths
    std::vector<index> body_parent;      // of the user's bodies, -1: the base
    std::vector<index> body_dofs;        // where the dofs of each begin, and where they end
    std::vector<index> body_of_dof;      // by v
    std::vector<unsigned char> spot_used;  // by node that deforms: a hinge holds it or is on it, or a frame
    index Y_size = 0, S_size = 0, L_size = 0, X_size = 0, order_size = 0, group_size = 0, rest_size = 0;
    index free_size = 0, hinge_rows = 0, inverse_size = 0;
};

// The dofs of an element: its modes, then those of its hinge.
inline index width_of(const rigid::Model& tree, index element) {
    const Element& e = tree.elements[element];
    return (e.flexible < 0 ? 0 : tree.flexible[e.flexible].n) + rigid::dofs(e.kind);
}

// The nodes that deform which a plan looks at: those of hinges, and of the frames of closures.
inline void use_spots(Plan& plan) {
    const rigid::Model& tree = *plan.tree;
    plan.spot_used.assign(static_cast<std::size_t>(tree.spot_count), 0);
    for (index s = 0; s < tree.spot_count; ++s) plan.spot_used[static_cast<std::size_t>(s)] = tree.spots[s].children != 0;
    for (index k = 0; k < tree.flexible_count; ++k)
        if (tree.flexible[k].held >= 0) plan.spot_used[static_cast<std::size_t>(tree.flexible[k].held)] = 1;
    for (const Closure& c : plan.closures)
        for (index limb : {c.a.element, c.b.element})
            if (limb >= tree.count) plan.spot_used[static_cast<std::size_t>(limb - tree.count)] = 1;
}

}  // namespace loops
}  // namespace soacraft
