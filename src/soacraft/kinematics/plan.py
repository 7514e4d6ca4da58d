"""The plan of a compiled solver of a closed chain: all that it is made from, and never changes.

In goes a model with the choices made for it; `_core.ClosedSolver(tree, plan)` reads the fields by name. Another choice
of dofs, another gravity, other tolerances are another plan and another solver. What a solve carries to the next, the
coordinates of the closures' hinges, is no part of it: it is an argument, and comes back with the result.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from soacraft.kinematics.tolerances import Tolerances
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.kinematics.closure_arrays import ClosureArrays

TREE_AUGMENTED, CONSTRAINT_EMBEDDING, ROWS, FULLY_AUGMENTED = range(4)

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Groups:
    """The group of bodies that moves as one, by element of the compiled tree, by closure and by coupling; -1: none."""

    of_element: Integers
    of_closure: Integers
    of_coupling: Integers


@dataclass(frozen=True, eq=False)
class Plan:
    """Input of a compiled solver.

    >>> import soacraft as sc
    >>> from soacraft.kinematics.compiled import CompiledClosures
    >>> mb = sc.load("five_bar")
    >>> plan = CompiledClosures.of(mb).plan
    >>> plan.method == ROWS, plan.tolerances.closed
    (True, 1e-06)
    >>> plan.gravity = (0, 0, 0)
    Traceback (most recent call last):
        ...
    dataclasses.FrozenInstanceError: cannot assign to field 'gravity'
    """

    closures: ClosureArrays
    """The loops and couplings where the tree is cut."""
    tolerances: Tolerances
    gravity: Array
    method: int = ROWS
    """`TREE_AUGMENTED`, `FULLY_AUGMENTED`, `CONSTRAINT_EMBEDDING`, or `ROWS` for the rows alone."""
    compliance: Array | None = None
    """Compliance of each row, before anything cancels: the reference for rounding. For the augmented solvers."""
    groups: Groups | None = None
    """Groups for `CONSTRAINT_EMBEDDING`,"""
    dependent: Integers | None = None
    """(nv): 1 for the dependent dofs, 0 for the independent ones,"""
    independent: Integers | None = None
    """and these in the order of users, who move them."""
