"""The tolerances of closed chains, each with its unit and reason. Compiled code has no others: it is handed these.

All are numbers without unit. Angles are in radians. Distances are relative to the length of their loop, the sum of its
links; slides to the length of the model; couplings to the largest of their terms. `CLOSED`, how far a state may be off
its closures and what an answer may leave of its equations, and `SHORT` are in `soacraft.model.sizes.measure`, where the
health report has them from too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from soacraft.errors import StateError
from soacraft.model.sizes.measure import CLOSED, SHORT
from soacraft.spatial.checks import finite

__all__ = [
    "ABREAST",
    "ABREAST_PIVOT",
    "ACCURATE",
    "AHEAD",
    "ALIGNED",
    "ALIKE",
    "ALONG_AXIS",
    "ASSEMBLED",
    "AT_LIMIT",
    "BALANCED",
    "BETTER",
    "BOX_SLACK",
    "CLEAR",
    "CLOSED",
    "CLOSEST",
    "DAMPED",
    "DAMPING",
    "DOUBTFUL",
    "FOLLOWED",
    "FORETOLD",
    "FURTHEST",
    "GAINED",
    "GIVEN_BACK",
    "HEAVY",
    "HELD",
    "LEAST_DAMPED",
    "LEAST_DAMPING",
    "LESS",
    "LEVER",
    "LONGEST",
    "MASSLESS",
    "MET",
    "MOST_DAMPING",
    "NEARBY",
    "NEAREST",
    "NEAR_SINGULAR",
    "NOT_PRINTED",
    "NO_COMPONENT",
    "NO_PITCH",
    "ONWARD",
    "OPEN_ROWS",
    "PARALLEL",
    "PIVOT",
    "PIVOT_ROUNDING",
    "PIVOT_ZERO",
    "POOR_CONDITION",
    "RANK",
    "REACH_SLACK",
    "REFINED",
    "REFINED_PIVOT",
    "REPEATED",
    "REUSED",
    "ROUNDING",
    "SAME",
    "SAME_DIRECTION",
    "SCALED",
    "SETTLED",
    "SHORT",
    "SHORTEST",
    "SHRINKS",
    "SINGULAR",
    "SLACK",
    "SMALL",
    "STALLED",
    "STRIDE",
    "TRUST",
    "TURNED_OVER",
    "UNIMPROVED",
    "UNTOLD",
    "ZERO",
    "Tolerances",
    "read_tolerance",
]

#: Tolerance of inverse kinematics: of the reach of the chain, and in radians. Steps converge quadratically, so the last
#: one that is taken leaves less than that.
MET = 1e-9
#: End of the search for closed configurations. Steps converge quadratically, so the last one leaves less. Loops that
#: cannot be closed so well (large mechanisms, many turns, the digits of a file) are brought as near as steps bring
#: them, and judged by `tolerance=`.
ASSEMBLED = 1e-11
#: The search for closed configurations goes on in steps of no more than this in a single dof, in radians or lengths:
#: the radius of the trust region grows with the root of their number,
STRIDE = 0.5
#: and ends at this radius: a mechanism that must go so carefully does not get there.
SHORTEST = 1e-9
#: A step whose rows foretell less than this part of what is open, squared, is rounding;
FORETOLD = 1e-14
#: one that gains less than this part of what was foretold is not taken.
GAINED = 1e-3
#: The way back towards the start ends with steps, or gains, of this part of the distance: the next ones are rounding.
NEAREST = 1e-9
#: Added to the damping of steps within limits, in squares of scaled rows, so that every dof has a say of its own.
DAMPED = 1e-14
#: The least damping that is looked at, relative to the largest: the square root of the smallest singular value of rows.
LEAST_DAMPED = 1e-24
#: The rows of closures relative to what else a step is measured by, where both are in one least-squares problem: their
#: square is well within the digits, and that of one over it is what is closed afterwards.
HEAVY = 1e4
#: Damping of inverse kinematics relative to the square of the residual: to begin with, and between these two.
DAMPING, LEAST_DAMPING, MOST_DAMPING = 1e-3, 1e-9, 1e9
#: Damping of limbs: times the square of the residual, and added to it, which keeps singular limbs from leaping.
LIMB_DAMPING, LIMB_DAMPED = 0.3, 1e-12
#: A slide along its axis that is less than this part of what a screw of a limb moves its frame by is rounding.
NO_PITCH = 1e-14
#: A row of a quadratic program holds to this, relative to the size of what is added in it.
ROWS_OF_QP = 1e-12
#: A step of inverse kinematics that reduces the square of the residual by less than this part ends a descent.
UNIMPROVED = 1e-13
#: Scaled pivots above this part of the largest count, for compiled assembly: well above `RANK`, so that singular values
#: do too. Those up to `ZERO` do not, and what lies between is left to Python.
CLEAR = 1e-4
#: End of the projection on the closures and of following dependent dofs: steps go on while they halve the opening.
CLOSEST = 1e-15
#: Singular values of rows and columns in their sizes (`kinematics.sizes`) that are zero: axes parallel but for the
#: digits of a file. A motion against such rows opens the closures by no more than that part, which is taken for closed.
RANK = 1e-6
#: and those that are zero whatever else is known: rounding of positions decides on them, to fewer than six digits. What
#: lies between the two counts where it does nearby (`kinematics.partition`).
ZERO = 1e-10
#: Open loops make singular values of redundant rows of about what they are open by: up to so many times that they do
#: not count.
OPEN_ROWS = 10.0
#: Distance of nearby configurations, in radians, and in lengths of the loops: far enough to tell rows that vanish from
#: others.
NEARBY = 0.05
#: Dependent dofs whose part of the scaled rows is worse conditioned than this are given up
POOR_CONDITION = 1e3
#: for others that are better by this factor; compiled code leaves a state to Python where pivots are in this ratio.
BETTER = 30.0
DOUBTFUL = 1.0 / POOR_CONDITION
#: Largest scaled residual of the rows when independent dofs move: a row that does not count, times the condition of a
#: choice.
HELD = RANK * POOR_CONDITION
#: A singular value of the dependent dofs' columns relative to the largest that is rounding.
ROUNDING = 1e-13
#: A step of dependent dofs whose correction is larger than this part of it, and than so many radians or lengths, is
#: halved; a step that is longer than this, in radians or lengths, may be corrected by no more than one of that length;
TRUST, SMALL, LONGEST = 0.1, 1e-3, 0.3
#: a correction that is larger than this, in radians or lengths, or that does not shrink by this factor from step to
#: step, leads to another branch.
FURTHEST, SHRINKS = 1.0, 0.5
#: Columns of dependent dofs, in units, that change over a step by no more than this part of their smallest pivot pass
#: no singular pose, where branches meet. Pivots are up to about twice the smallest singular value.
ALIKE = 0.5
#: A step onto the closures no longer than this, in radians or lengths: the factors of its start serve the velocities at
#: its end, whose change is then nearest in a metric that is off by this part.
REUSED = 1e-9
#: The step of differences along a branch, as a part of the way between two states: how pivots vary towards the pose at
#: which they are lost.
ONWARD = 1e-4
#: A pivot of the mass matrix relative to the inertia of its own dof that is rounding: nothing to move.
SINGULAR = 1e-13
#: Relative to the accelerations, so much may be left of rows that repeat others where they truly do: rounding of some
#: ten bodies. More, and they do not: compiled code leaves the state to Python.
REPEATED = 1e-12
#: Pivots of the scaled compliance of the closures, squares of singular values: above the first they count,
PIVOT = 1e-9
#: up to the second they are rounding; what lies between compiled code leaves to Python, which cuts
PIVOT_ROUNDING = 1e-13
#: here.
PIVOT_ZERO = 1e-12
#: Derivatives by a smaller pivot are refined once: what rounding leaves of the rows is 1e-16 of the inverse pivot.
REFINED_PIVOT = 1e-5
#: The smallest pivot that counts relative to the largest, below which a report says that a singular pose is near.
NEAR_SINGULAR = 1e-3
#: A coordinate this near its limit, in radians or lengths of the model, is at it.
AT_LIMIT = 1e-9
#: Largest imbalance relative to the constraint forces before embedded accelerations are refined.
BALANCED = 1e-13
#: Augmented accelerations are refined until multipliers change by no more than this part: the next round is rounding.
REFINED = 1e-9
#: A sparse solution that leaves more of its equations is compared with a dense one: rounding of long lengths, in which
#: turns and slides are far apart.
ACCURATE = 1e-12
#: Accelerations that forces give back are those asked for where no more is between them, relative to the largest.
GIVEN_BACK = 1e-9
#: Slack of the closures in the first fully augmented solution, relative to the compliance of their bodies;
SLACK = 1e-8
#: a change of the accelerations by this part is rounding, and by this one it has settled where no round helps.
#: Dependent dofs that leave more than the first of the rows of their group are solved for once more.
SETTLED, STALLED = 1e-14, 1e-12
#: A compliance in turns this small relative to that in slides over the length of the loop, or the reverse, is rounding:
#: no lever is so long.
LEVER = 1e-18
#: Columns of a closure's hinge whose pivots are in this ratio depend on each other: its coordinates are not known.
PARALLEL = 1e-9
#: A turn or slide of a hinge of which no more than this part is off the others is one of them: rounding.
ALIGNED = 1e-12
#: An axis with so much more of it left than of another is taken for a row before it: so rounding does not choose rows.
AHEAD = 1e-9
#: Coordinates of a closure's hinge are found where a step moves it by less, in radians or lengths of the loop.
FOLLOWED = 1e-13
#: Sine of the angle from a pose turned over, to which no angle of a pin is nearest.
TURNED_OVER = 1e-3
#: A direction of a pose whose sine to another is less is that one, or its opposite.
SAME_DIRECTION = 1e-12
#: Rounding of bounds on a distance relative to the reach;
REACH_SLACK = 1e-9
#: of an angle from its cosine, which has half the digits, and of a distance relative to the lengths of a box.
BOX_SLACK = 1e-7
#: Weight of a coupling in the size of a dof relative to a loop: loops decide where there are both.
LESS = 1e-3
#: Singular values of the logarithms of sizes that are zero: what is not told stays 1.
UNTOLD = 1e-10
#: Inertias of a node relative to its largest that are rounding, where they are inverted.
MASSLESS = 1e-12
#: Places of nodes that differ by a rounding or two are one, where a loop is cut elsewhere.
SAME = 1e-14
#: Components of a row of turns or slides in words: none,
NO_COMPONENT = 1e-9
#: along an axis,
ALONG_AXIS = 1e-12
#: and too small to be printed in three digits.
NOT_PRINTED = 5e-4
#: The largest scaled compliance of rows lies between these where their scale serves: it is 1 before anything cancels at
#: the state the scale was made for, and far from it that state says nothing of rounding.
SCALED = 1e-3, 1e2
#: States of a batch side by side eliminate rows and dofs in one order, without pivoting. One whose pivots of dependent
#: dofs are not this many times above `DOUBTFUL`, or whose pivots of the compliance that count are not above the second,
#: is solved on its own.
ABREAST, ABREAST_PIVOT = 10.0, 1e-6


@dataclass(frozen=True)
class Tolerances:
    """Tolerances for compiled code, with the names it uses."""

    closed: float = CLOSED
    doubtful: float = DOUBTFUL
    pivot: float = PIVOT
    rounding: float = PIVOT_ROUNDING
    lowest: float = SCALED[0]
    highest: float = SCALED[1]
    repeated: float = REPEATED
    open_rows: float = OPEN_ROWS
    closest: float = CLOSEST
    furthest: float = FURTHEST
    shrinks: float = SHRINKS
    trust: float = TRUST
    small: float = SMALL
    longest: float = LONGEST
    balanced: float = BALANCED
    settled: float = SETTLED
    parallel: float = PARALLEL
    aligned: float = ALIGNED
    ahead: float = AHEAD
    followed: float = FOLLOWED
    assembled: float = ASSEMBLED
    zero: float = ZERO
    clear: float = CLEAR
    stride: float = STRIDE
    foretold: float = FORETOLD
    gained: float = GAINED
    nearest: float = NEAREST
    refined_pivot: float = REFINED_PIVOT
    turned_over: float = TURNED_OVER
    stalled: float = STALLED
    abreast: float = ABREAST
    abreast_pivot: float = ABREAST_PIVOT
    lever: float = LEVER
    given_back: float = GIVEN_BACK
    alike: float = ALIKE
    reused: float = REUSED


def read_tolerance(tolerance: Any, function: str) -> float:
    """A tolerance that a user gives: a positive number."""
    x = float(finite(tolerance, (), f"tolerance of {function}", StateError))
    if not x > 0.0:
        raise StateError(f"tolerance of {function} must be positive, got {tolerance!r:.60}.")
    return x
