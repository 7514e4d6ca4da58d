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
    "ASSEMBLED",
    "AT_LIMIT",
    "BALANCED",
    "BETTER",
    "CLOSED",
    "CLOSEST",
    "DOUBTFUL",
    "FURTHEST",
    "HELD",
    "LEVER",
    "MET",
    "NEARBY",
    "NEAR_SINGULAR",
    "OPEN_ROWS",
    "PIVOT",
    "PIVOT_ROUNDING",
    "PIVOT_ZERO",
    "POOR_CONDITION",
    "RANK",
    "REFINED",
    "REPEATED",
    "ROUNDING",
    "SCALED",
    "SETTLED",
    "SHORT",
    "SHRINKS",
    "SINGULAR",
    "SLACK",
    "SMALL",
    "STALLED",
    "TRUST",
    "ZERO",
    "Tolerances",
    "read_tolerance",
]

#: What inverse kinematics takes for met: of the reach of the chain, and in radians. Steps converge quadratically, so
#: the last one that is taken leaves less than that.
MET = 1e-9
#: Where the search for closed configurations ends. Steps converge quadratically, so the last one leaves less. What
#: cannot be closed so well (large mechanisms, many turns, the digits of a file) is brought as near as steps bring it,
#: and judged by `tolerance=`.
ASSEMBLED = 1e-11
#: Where projection on the closures and following dependent dofs end at most: steps go on while they halve what is open.
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
#: How far nearby is, in radians, and in lengths of the loops: far enough to tell rows that vanish from others.
NEARBY = 0.05
#: Dependent dofs whose part of the scaled rows is worse conditioned than this are given up
POOR_CONDITION = 1e3
#: for others that are better by this factor; compiled code leaves a state to Python where pivots are in this ratio.
BETTER = 30.0
DOUBTFUL = 1.0 / POOR_CONDITION
#: So much of scaled rows may be left when independent dofs move: what does not count, times what a choice makes of it.
HELD = RANK * POOR_CONDITION
#: A singular value of the dependent dofs' columns relative to the largest that is rounding.
ROUNDING = 1e-13
#: A step of dependent dofs whose correction is larger than this part of it, and than so many radians or lengths, is
#: halved;
TRUST, SMALL = 0.1, 1e-3
#: a correction that is larger than this, in radians or lengths, or that does not shrink by this factor from step to
#: step, leads to another branch.
FURTHEST, SHRINKS = 1.0, 0.5
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
#: The smallest pivot that counts relative to the largest, below which a report says that a singular pose is near.
NEAR_SINGULAR = 1e-3
#: A coordinate this near its limit, in radians or lengths of the model, is at it.
AT_LIMIT = 1e-9
#: What may stay unbalanced relative to the constraint forces before embedded accelerations are refined.
BALANCED = 1e-13
#: Augmented accelerations are refined until multipliers change by no more than this part: the next round is rounding.
REFINED = 1e-9
#: How far closures give way in the first fully augmented solution, relative to the compliance of their bodies;
SLACK = 1e-8
#: a change of the accelerations by this part is rounding, and by this one it has settled where no round helps.
SETTLED, STALLED = 1e-14, 1e-12
#: A compliance in turns this small relative to that in slides over the length of the loop, or the reverse, is rounding:
#: no lever is so long.
LEVER = 1e-18
#: The largest scaled compliance of rows lies between these where their scale serves: it is 1 before anything cancels at
#: the state the scale was made for, and far from it that state says nothing of rounding.
SCALED = 1e-3, 1e2


@dataclass(frozen=True)
class Tolerances:
    """What compiled code is handed, with the words it has for each."""

    closed: float = CLOSED
    rank: float = RANK
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


def read_tolerance(tolerance: Any, function: str) -> float:
    """A tolerance that a user gives: a positive number."""
    x = float(finite(tolerance, (), f"tolerance of {function}", StateError))
    if not x > 0.0:
        raise StateError(f"tolerance of {function} must be positive, got {tolerance!r:.60}.")
    return x
