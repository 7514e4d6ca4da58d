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
    "CLOSED",
    "DOUBTFUL",
    "GROUP_RANK",
    "GROUP_ROUNDING",
    "MET",
    "PIVOT",
    "PIVOT_ROUNDING",
    "PIVOT_ZERO",
    "POOR",
    "RANK",
    "ROUNDED",
    "SCALED",
    "SHORT",
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
#: Where dependent dofs are followed from step to step: some hundred times what rounding leaves of ten bodies.
ROUNDED = 1e-13
#: Singular values of rows and columns in their sizes (`kinematics.sizes`) that are zero: axes parallel but for the
#: digits of a file. A motion against such rows opens the closures by no more than that part, which is taken for closed.
RANK = 1e-6
#: Singular values of the rows of a group, relative to their size, that are zero when its dofs are chosen (and where a
#: solution with all rows is made one of least norm),
GROUP_RANK = 1e-10
#: and when they were chosen before: near a singular pose all rows stay.
GROUP_ROUNDING = 1e-13
#: Below this ratio of pivots of a group's dependent dofs compiled code leaves the state to Python,
DOUBTFUL = 1e-3
#: and below this one of singular values Python compares the choice with the best one.
POOR = 1e-4
#: Pivots of the scaled compliance of the closures, squares of singular values: above the first they count,
PIVOT = 1e-9
#: up to the second they are rounding; what lies between compiled code leaves to Python, which cuts
PIVOT_ROUNDING = 1e-13
#: here.
PIVOT_ZERO = 1e-12
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


def read_tolerance(tolerance: Any, function: str) -> float:
    """A tolerance that a user gives: a positive number."""
    x = float(finite(tolerance, (), f"tolerance of {function}", StateError))
    if not x > 0.0:
        raise StateError(f"tolerance of {function} must be positive, got {tolerance!r:.60}.")
    return x
