"""Independent and dependent dofs of a group, chosen by pivoting and kept as long as they are good.

    G_d v_d + G_i v_i = 0,     v_d = -G_d^+ G_i v_i,     vdot_d = -G_d^+ (G_i vdot_i + Gdot v)          (formula F5)

The dependent dofs are the first pivots of a QR factorization of G with column pivoting, rows and dofs in their units
(`model.sizes.measure`). The rank is the number of singular values above `GROUP_RANK` times the size the rows have
before they cancel; where a loop is open by more than that, above what it is open by. It then belongs to the split: near
a singular pose all rows stay, until a singular value is rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.linalg

from soacraft.kinematics.tolerances import GROUP_RANK, GROUP_ROUNDING, POOR, RANK
from soacraft.spatial.checks import Array

#: A choice whose G_d is poorly conditioned is given up for one this many times better.
BETTER = 30.0

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Split:
    """Which columns of G are dependent and which independent, and how many rows count."""

    dependent: tuple[int, ...]
    independent: tuple[int, ...]

    @property
    def rank(self) -> int:
        """The number of dependent dofs."""
        return len(self.dependent)


@dataclass(frozen=True, eq=False)
class Solved:
    """The partition of a group's velocities at one state."""

    X: Array
    """v = X v_i, (n, n_i)."""
    x0: Array
    """vdot = X vdot_i + x0, (n)."""
    G_d: Array
    ratio: float
    """The smallest singular value of G_d relative to the largest; 1 without dependent dofs."""
    misfit: float
    """How far G X is from zero, relative to X."""


def choose(G: Array, zero: float | None = None, wanted: Mask | None = None, rank: int | None = None) -> Split:
    """Dependent columns by pivoting; those `wanted` independent are left so wherever the others can carry the rank.

    Singular values up to `zero` do not count.

    >>> choose(np.array([[1.0, 3.0, 0.0], [2.0, 6.0, 0.0]]))
    Split(dependent=(1,), independent=(0, 2))
    """
    n = G.shape[1]
    if zero is None:
        zero = GROUP_RANK * float(np.linalg.norm(G))
    if rank is None:
        rank = int(np.sum(singular_values(G) > zero))
    if wanted is None:
        dependent = _pivots(G, np.arange(n), rank, 0.0)
    else:
        free, rest = np.flatnonzero(~wanted), np.flatnonzero(wanted)
        dependent = _pivots(G[:, free], free, rank, zero)
        if len(dependent) < rank:
            left = G - G[:, dependent] @ np.linalg.pinv(G[:, dependent]) @ G if dependent else G
            dependent += _pivots(left[:, rest], rest, rank - len(dependent), 0.0)
    chosen = set(dependent)
    return Split(tuple(sorted(chosen)), tuple(i for i in range(n) if i not in chosen))


def singular_values(G: Array) -> Array:
    """The singular values, largest first; none for an empty matrix."""
    return np.asarray(np.linalg.svd(G, compute_uv=False), dtype=np.float64) if G.size else np.zeros(0)


def solve(G: Array, gamma: Array, split: Split) -> Solved:
    """X and x0 for a split. O(m n^2)."""
    n, d, i = G.shape[1], list(split.dependent), list(split.independent)
    X, x0 = np.zeros((n, len(i))), np.zeros(n)
    X[i, range(len(i))] = 1.0
    G_d, ratio = G[:, d], 1.0
    if d:
        right = np.concatenate([G[:, i], gamma[:, None]], axis=1)
        found, _, _, sigma = np.linalg.lstsq(G_d, -right, rcond=GROUP_ROUNDING)
        X[d], x0[d] = found[:, :-1], found[:, -1]
        ratio = float(sigma[-1] / sigma[0]) if sigma[-1] > GROUP_ROUNDING * sigma[0] else 0.0
    misfit = float(np.max(np.abs(G @ X), initial=0.0)) / float(np.max(np.abs(X), initial=1.0))
    return Solved(X, x0, G_d, ratio, misfit)


def revised(G: Array, found: Solved, split: Split, zero: float, size: float, wanted: Mask | None) -> Split:
    """The split to go on with: the same one as long as its dofs and its rank hold. `size` is that of the rows of G.

    Given up when a row that was redundant is not any more, when a singular value has become rounding, or when other
    dofs are much better conditioned.
    """
    if found.misfit > max(1e3 * zero, RANK * size):
        return choose(G, zero, wanted)
    if found.ratio > POOR or not split.rank:
        return split
    if singular_values(G)[split.rank - 1] <= GROUP_ROUNDING * size:
        return choose(G, zero, wanted)
    other = choose(G, GROUP_ROUNDING * size, wanted, split.rank)
    return other if _ratio(G, other) > BETTER * found.ratio else split


def _ratio(G: Array, split: Split) -> float:
    sigma = singular_values(G[:, list(split.dependent)])
    return float(sigma[-1] / sigma[0]) if sigma.size and sigma[0] > 0.0 else 0.0


def _pivots(G: Array, names: npt.NDArray[np.intp], count: int, zero: float) -> list[int]:
    """Up to `count` independent columns; those that add no more than `zero` do not count."""
    if not G.size or not count:
        return []
    R, order = scipy.linalg.qr(G, mode="r", pivoting=True)
    size = np.abs(np.diagonal(R))
    good = int(np.sum(size > zero))
    return [int(names[j]) for j in order[: min(count, good)]]
