"""X and x0 of a group of bodies, for the dofs that are dependent in it.

    G_d v_d + G_i v_i = 0,     v_d = -G_d^+ G_i v_i,     vdot_d = -G_d^+ (G_i vdot_i + Gdot v)          (formula F5)

Which dofs these are, `kinematics.partition` says.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soacraft.kinematics.tolerances import ROUNDING
from soacraft.spatial.checks import Array


@dataclass(frozen=True)
class Split:
    """Columns of G that are dependent, and those that are independent."""

    dependent: tuple[int, ...]
    independent: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Solved:
    """The partition of a group's velocities at one state."""

    X: Array
    """v = X v_i, (n, n_i)."""
    x0: Array
    """vdot = X vdot_i + x0, (n)."""
    G_d: Array
    ratio: float
    """The smallest singular value of G_d relative to the largest; 1 without dependent dofs, 0 where it is rounding."""


def solve(G: Array, gamma: Array, split: Split) -> Solved:
    """X and x0 for a split. O(m n^2).

    >>> solve(np.array([[1.0, 2.0]]), np.zeros(1), Split((1,), (0,))).X
    array([[ 1. ],
           [-0.5]])
    """
    n, d, i = G.shape[1], list(split.dependent), list(split.independent)
    X, x0 = np.zeros((n, len(i))), np.zeros(n)
    X[i, range(len(i))] = 1.0
    G_d, ratio = G[:, d], 1.0
    if d:
        right = np.concatenate([G[:, i], gamma[:, None]], axis=1)
        solution, _, _, sigma = np.linalg.lstsq(G_d, -right, rcond=ROUNDING)
        X[d], x0[d] = solution[:, :-1], solution[:, -1]
        ratio = float(sigma[-1] / sigma[0]) if sigma[-1] > ROUNDING * sigma[0] else 0.0
    return Solved(X, x0, G_d, ratio)
