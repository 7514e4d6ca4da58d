"""Friction that sticks and rigid stops as compiled steps read them: their laws, and the modes that they have now.

Compiled steps go on with these modes, and end in front of a step in which one may begin or end to hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.sim.forces.holds import Hold

Integers = npt.NDArray[np.int64]


class HoldLaw(NamedTuple):
    """The numbers of a stop or of friction."""

    stops: bool
    lower: float = 0.0
    upper: float = 0.0
    """Limits of a stop."""
    coulomb: float = 0.0
    static: float = 0.0
    stribeck: float = 0.0
    """The numbers of friction; 0 where there is no such speed."""
    viscous: float = 0.0


class CompiledHolds(NamedTuple):
    """Loads that may hold a dof (core/sim/holds.hpp)."""

    dofs: Integers
    places: Integers
    """Places of the coordinates of the dofs."""
    rows: Integers
    """Numbers of the loads."""
    stops: Integers
    """1 of a stop, 0 of friction."""
    modes: Array
    laws: Array
    """(holds, 6): lower, upper, coulomb, static, stribeck, viscous."""


def compiled_holds(holds: Sequence[Hold], rows: Sequence[int]) -> CompiledHolds:
    """The holds of a problem; `rows` are their numbers among the loads."""
    laws = [x.law for x in holds]
    return CompiledHolds(
        np.array([x.number for x in holds], dtype=np.int64),
        np.array([x.place for x in holds], dtype=np.int64),
        np.array(rows, dtype=np.int64),
        np.array([x.stops for x in laws], dtype=np.int64),
        np.array([float(x.mode) for x in holds]),
        np.array([x[1:] for x in laws], dtype=np.float64).reshape(-1, 6),
    )
