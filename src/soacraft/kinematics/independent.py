"""Independent dofs of a closed chain and redundant rows, chosen by pivoting.

    Gc v = 0:   v_d = -G_d^+ G_i v_i,    so  v = X v_i,    vdot = X vdot_i + x0                   (formula F5)

Of a matrix; `kinematics.partition` applies it to a state. The columns of G_d are found by a QR factorization of Gc
with column pivoting, its rows and columns relative to their sizes before anything cancels, the rows that matter by
one of Gc*; so the choice is the same in all units. O(m nv^2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.linalg

from soacraft.errors import LoopError
from soacraft.kinematics.rows import Constraints, LoopRows
from soacraft.kinematics.sizes import Sizes, sizes_of
from soacraft.kinematics.tolerances import (
    ALONG_AXIS,
    BETTER,
    HELD,
    NO_COMPONENT,
    NOT_PRINTED,
    POOR_CONDITION,
    RANK,
    ZERO,
)
from soacraft.spatial.checks import Array

Indices = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Partition:
    """Independent and dependent dofs, and the rows that repeat others, at one state."""

    independent: Indices
    dependent: Indices
    rank: int
    redundant: Indices
    """Row numbers."""
    condition: float
    """Condition of G_d on the rows that matter."""
    smallest: float
    """The smallest pivot that counts relative to the largest; 1 without any."""
    loose: bool = False
    """True if rows repeat others up to more than rounding: up to the digits of a file."""

    def of_rows(self, numbers: Indices) -> Partition:
        """Partition with other numbers for its rows."""
        return replace(self, redundant=numbers[self.redundant])

    def __repr__(self) -> str:
        return (
            f"{len(self.independent)} independent and {len(self.dependent)} dependent dofs, rank {self.rank}, "
            f"{len(self.redundant)} redundant rows, condition {self.condition:.3g}"
        )


def choose(
    G: Array,
    sizes: Sizes | None = None,
    rank: int | None = None,
    wanted: Mask | None = None,
    previous: Indices | None = None,
) -> Partition:
    """The best conditioned choice for a constraint Jacobian (m, nv) with rows and dofs of given sizes.

    Without sizes rows and dofs are scaled; without a rank, singular values above `RANK` count. Dofs `wanted`
    independent are left so wherever the others can carry the rank; those of `previous` while they serve nearly as well
    as the best ones.

    >>> choose(np.array([[0.1, -0.5, 0.0], [0.2, -1.0, 0.0]]))
    2 independent and 1 dependent dofs, rank 1, 1 redundant rows, condition 1
    """
    G = G if sizes is None else sizes.scaled(G)
    if rank is None:
        rank = int(np.sum(singular_values(G) > RANK))
    dependent, smallest = _columns(G, rank, wanted)
    condition = condition_of(G[:, dependent])
    redundant = np.sort(_pivots(G.T)[0][rank:])
    if previous is not None and len(previous) == G.shape[1] - rank:
        before = np.setdiff1d(np.arange(G.shape[1]), previous)
        worse = condition_of(G[:, before])
        if not (worse > POOR_CONDITION and worse > BETTER * condition):
            return Partition(np.asarray(previous), before, rank, redundant, worse, smallest)
    independent = np.setdiff1d(np.arange(G.shape[1]), dependent)
    return Partition(independent, dependent, rank, redundant, condition, smallest)


def _columns(G: Array, rank: int, wanted: Mask | None) -> tuple[Indices, float]:
    """The dependent dofs, sorted, and the smallest pivot of the best ones relative to the largest."""
    columns, pivots = _pivots(G)
    smallest = float(pivots[rank - 1] / pivots[0]) if rank else 1.0
    if wanted is None:
        return np.sort(columns[:rank]), smallest
    free, rest = np.flatnonzero(~wanted), np.flatnonzero(wanted)
    order, pivots = _pivots(G[:, free])
    dependent = free[order[: min(rank, int(np.sum(pivots > ZERO)))]]
    if len(dependent) < rank:
        A = G[:, dependent]
        remainder = G[:, rest] - A @ np.linalg.lstsq(A, G[:, rest], rcond=None)[0]
        dependent = np.append(dependent, rest[_pivots(remainder)[0][: rank - len(dependent)]])
    return np.sort(dependent), smallest


def singular_values(G: Array) -> Array:
    """The singular values, largest first; none for an empty matrix."""
    return np.asarray(np.linalg.svd(G, compute_uv=False), dtype=np.float64) if G.size else np.zeros(0)


def weakest_row(G: Array, choice: Partition, sizes: Sizes | None = None) -> int | None:
    """The row nearest to repeating the others that count; None without any.

    >>> G = np.array([[1.0, 0.0], [1.0, 1e-3], [0.0, 0.0]])
    >>> weakest_row(G, choose(G))
    0
    """
    return int(_pivots((G if sizes is None else sizes.scaled(G)).T)[0][choice.rank - 1]) if choice.rank else None


def expansion(G: Array, choice: Partition, sizes: Sizes | None = None) -> Array:
    """X (nv, independent): all velocities from the independent ones. Rows that nearly repeat others count by size.

    >>> G = np.array([[1.0, -5.0]])
    >>> expansion(G, choose(G))
    array([[1. ],
           [0.2]])
    """
    i, d = choice.independent, choice.dependent
    G, c = (G, np.ones(G.shape[1])) if sizes is None else (sizes.scaled(G), sizes.dofs)
    X = np.zeros((G.shape[1], len(i)))
    X[i] = np.eye(len(i))
    X[d] = -_solve(G[:, d], G[:, i] * c[i]) / c[d, None]
    return X


def completed(G: Array, choice: Partition, independent: Array, rhs: Array, sizes: Sizes | None = None) -> Array:
    """The x with Gc x = rhs and the given independent entries, or columns; least squares where rows repeat others."""
    x = np.zeros((G.shape[1], *rhs.shape[1:]))
    x[choice.independent] = independent
    residual, d = rhs - G @ x, choice.dependent
    if sizes is None:
        x[d] = _solve(G[:, d], residual)
    else:
        x[d] = (_solve(sizes.scaled(G)[:, d], (residual.T / sizes.rows).T).T / sizes.dofs[d]).T
    return x


def refuse_held(one: Constraints, G: Array, choice: Partition, X: Array, sizes: Sizes) -> None:
    """Raise `LoopError` when the closures hold some of the dofs chosen to be independent: Gc X is not zero."""
    scaled = X * sizes.dofs[:, None] / sizes.dofs[choice.independent]
    open_by = np.abs(sizes.scaled(G) @ scaled).max(axis=1, initial=0.0)
    if open_by.max(initial=0.0) > HELD * np.abs(scaled).max(initial=1.0):
        name = max(one.places, key=lambda x: float(open_by[x[1]].max(initial=0.0)))[0]
        shown = ", ".join(map(repr, dofs_named(one, choice.independent)))
        raise LoopError(
            f"{name!r} of {one.graph.name!r} holds some of the dofs taken for independent, {shown}: "
            f"{open_by.max():.3g} of its rows is left. The closures are too near a configuration where their rank "
            "changes."
        )


class Ranges(NamedTuple):
    """The ranges of Gc and Gc* for a given rank, by orthonormal columns."""

    moved: Array
    """(m, rank): what rows can be moved by."""
    repeated: Array
    """(m, m - rank): multipliers that do nothing, N* Gc = 0."""
    held: Array
    """(nv, rank): the velocities that Gc sees."""
    free: Array
    """(nv, nv - rank): those that it allows, Gc v = 0."""

    def inverse(self, G: Array) -> Array:
        """Gc^+."""
        return np.asarray(self.held @ np.linalg.solve(self.moved.T @ G @ self.held, self.moved.T))


def ranges(G: Array, rank: int, sizes: Sizes) -> Ranges:
    """The ranges that belong to the largest singular values of the scaled rows: the same ones in all units.

    >>> G = np.array([[1.0, -1.0], [2.0, -2.0]])
    >>> np.round(ranges(G, 1, Sizes(np.ones(2), np.ones(2), G != 0.0)).inverse(G), 3)
    array([[ 0.1,  0.2],
           [-0.1, -0.2]])
    """
    U, _, V = np.linalg.svd(sizes.scaled(G))
    basis = np.linalg.qr(sizes.rows[:, None] * U[:, :rank], mode="complete")[0]
    right = np.linalg.qr(sizes.dofs[:, None] * V[:rank].T, mode="complete")[0]
    return Ranges(basis[:, :rank], basis[:, rank:], right[:, :rank], right[:, rank:])


def least_norm(one: Constraints, multipliers: Array, rank: int) -> Array:
    """The multipliers of least norm with the same Gc* lambda: less the nearest of those that do nothing, N y with
    N* Gc = 0, for scaled rows of known rank. O(m nv^2)."""
    if rank == len(multipliers):
        return multipliers
    sizes = sizes_of(one)
    U, _, _ = np.linalg.svd(sizes.scaled(one.jacobian()))
    N = U[:, rank:] / sizes.rows[:, None]
    N /= np.linalg.norm(N, axis=0)
    return np.asarray(multipliers - N @ np.linalg.lstsq(N, multipliers, rcond=None)[0])


def row_names(one: Constraints) -> list[str]:
    """A readable name for each row, all different: the loop and the motion it forbids, in the axes of its frame b."""
    names: dict[str, int] = {}
    for loop in one.loops:
        for i in range(loop.size):
            name = f"{loop.name}: {_motion(loop, i)}"
            names[name if name not in names else f"{name} (row {i})"] = i
    return [*names, *(row.name for row in one.couplings)]


def dofs_named(one: Constraints, numbers: Indices) -> tuple[str, ...]:
    """The names of dofs."""
    names = one.graph.dof_names
    return tuple(names[i] for i in numbers)


def _pivots(G: Array) -> tuple[Indices, Array]:
    """The columns in the order of their pivots, and these."""
    if not G.size:
        return np.arange(G.shape[1]), np.zeros(0)
    R, order = scipy.linalg.qr(G, mode="r", pivoting=True)
    return np.asarray(order), np.abs(np.diagonal(R))


def condition_of(G_d: Array) -> float:
    """The largest singular value relative to the smallest; 1 without any."""
    if not G_d.size:
        return 1.0
    values = singular_values(G_d)
    return float(values[0] / values[-1]) if values[-1] > 0.0 else float("inf")


def _solve(G_d: Array, rhs: Array) -> Array:
    return np.asarray(np.linalg.lstsq(G_d, rhs, rcond=None)[0])


def _motion(loop: LoopRows, i: int) -> str:
    turn, slide = loop.Q[i, :3], loop.Q[i, 3:]
    if np.abs(slide).max() < NO_COMPONENT:
        return f"turn about {_axis(turn)}"
    if np.abs(turn).max() < NO_COMPONENT:
        return f"slide along {_axis(slide)}"
    return f"turn about {_axis(turn)} with slide along {_axis(slide)}"


def _axis(x: Array) -> str:
    unit = x / np.linalg.norm(x)
    largest = int(np.argmax(np.abs(unit)))
    if np.abs(unit[largest]) > 1.0 - ALONG_AXIS:
        return "xyz"[largest]
    unit = np.where(np.abs(unit) < NOT_PRINTED, 0.0, unit * np.sign(unit[largest]))
    return "({:.3g}, {:.3g}, {:.3g})".format(*unit)
