"""The compiled solvers of contact problems. This file and `geometry` alone import the core in this layer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft import _core
from soacraft.spatial.checks import Array

CONE, BOX, FREE = range(3)

Integers = npt.NDArray[np.int64]


class Effort(NamedTuple):
    """Cost of a solution, and its residual."""

    residual: float
    sweeps: int
    newton: int
    interior: int
    proximal: int
    unique: bool


def solve_cones(
    kinds: Integers, rows: Integers, bounds: Array, S: Array, b: Array, tolerance: float, p: Array
) -> Effort:
    """Impulses p, from those it holds, of blocks with unit cones (`contact/solvers/solver.hpp` of the core)."""
    return Effort(*_core.solve_contact(kinds, rows, bounds, S, b, tolerance, p))


def lemke(M: Array, q: Array, most: int) -> tuple[str, Array, int]:
    """z of w = M z + q, both 0 or more and complementary: how it ended ("solved", "ray", "spent"), z, pivots."""
    z = np.zeros_like(q)
    how, pivots = _core.lemke(M, q, most, z)
    return ("solved", "ray", "spent")[how], z, pivots
