"""Which dofs of a closed chain are independent, which rows are redundant: by pivoting.

    Gc v = 0:   v_d = -G_d^+ G_i v_i,    so  v = X v_i,    vdot = X vdot_i + x0                   (formula F5)

The rank is the number of singular values of Gc above `sizes.RANK`, its rows and columns beside what they are before
anything cancels. The columns of G_d are found by a QR factorization of it with column pivoting, the rows that matter by
one of Gc*; so the choice is the same in all units. O(m nv^2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.linalg

from soacraft.loops.rows import Constraints, LoopRows
from soacraft.loops.sizes import RANK, Sizes
from soacraft.spatial.checks import Array

Indices = npt.NDArray[np.intp]

#: A kept choice whose G_d is worse conditioned than this, and this many times worse than the best, is given up.
WORST_CONDITION = 1e3


@dataclass(frozen=True, eq=False)
class Choice:
    """Independent and dependent dofs, and the rows that repeat others, at one state."""

    independent: Indices
    dependent: Indices
    rank: int
    redundant: Indices
    """Row numbers."""
    condition: float
    """Of G_d on the rows that matter."""
    smallest: float
    """The smallest pivot that counts beside the largest; 1 without any."""

    def __repr__(self) -> str:
        return (
            f"{len(self.independent)} independent and {len(self.dependent)} dependent dofs, rank {self.rank}, "
            f"{len(self.redundant)} redundant rows, condition {self.condition:.3g}"
        )


def choose(G: Array, sizes: Sizes | None = None) -> Choice:
    """The best conditioned choice for a constraint Jacobian (m, nv) with rows and dofs of given sizes.

    Without sizes all entries are beside the largest.

    >>> choose(np.array([[1.0, -5.0, 0.0], [2.0, -10.0, 0.0]]))
    2 independent and 1 dependent dofs, rank 1, 1 redundant rows, condition 1
    """
    G = _scaled(G, sizes)
    rank = int(np.sum(np.linalg.svd(G, compute_uv=False) > RANK)) if G.size else 0
    columns, pivots = _pivots(G)
    dependent, redundant = np.sort(columns[:rank]), np.sort(_pivots(G.T)[0][rank:])
    independent = np.setdiff1d(np.arange(G.shape[1]), dependent)
    smallest = float(pivots[rank - 1] / pivots[0]) if rank else 1.0
    return Choice(independent, dependent, rank, redundant, _condition(G[:, dependent]), smallest)


def weakest_row(G: Array, choice: Choice, sizes: Sizes | None = None) -> int | None:
    """The row nearest to repeating the others that count; None without any.

    >>> G = np.array([[1.0, 0.0], [1.0, 1e-3], [0.0, 0.0]])
    >>> weakest_row(G, choose(G))
    0
    """
    return int(_pivots(_scaled(G, sizes).T)[0][choice.rank - 1]) if choice.rank else None


def keep_or_choose(G: Array, kept: Indices | None, sizes: Sizes | None = None) -> Choice:
    """The kept independent dofs while they serve nearly as well as the best ones, else the best ones."""
    best = choose(G, sizes)
    if kept is None or len(kept) != len(best.independent):
        return best
    dependent = np.setdiff1d(np.arange(G.shape[1]), kept)
    condition = _condition(_scaled(G, sizes)[:, dependent])
    if condition > max(WORST_CONDITION, WORST_CONDITION * best.condition):
        return best
    return Choice(np.asarray(kept), dependent, best.rank, best.redundant, condition, best.smallest)


def expansion(G: Array, choice: Choice) -> Array:
    """X (nv, independent): all velocities from the independent ones.

    >>> G = np.array([[1.0, -5.0]])
    >>> expansion(G, choose(G))
    array([[1. ],
           [0.2]])
    """
    X = np.zeros((G.shape[1], len(choice.independent)))
    X[choice.independent] = np.eye(len(choice.independent))
    X[choice.dependent] = -_solve(G[:, choice.dependent], G[:, choice.independent])
    return X


def completed(G: Array, choice: Choice, independent: Array, rhs: Array) -> Array:
    """The x with Gc x = rhs and the given independent entries; least squares where rows repeat others."""
    x = np.zeros(G.shape[1])
    x[choice.independent] = independent
    x[choice.dependent] = _solve(G[:, choice.dependent], rhs - G @ x)
    return x


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


def _scaled(G: Array, sizes: Sizes | None) -> Array:
    return G / max(float(np.abs(G).max(initial=0.0)), 1e-9) if sizes is None else sizes.scaled(G)


def _pivots(G: Array) -> tuple[Indices, Array]:
    """The columns in the order of their pivots, and these."""
    if not G.size:
        return np.arange(G.shape[1]), np.zeros(0)
    R, order = scipy.linalg.qr(G, mode="r", pivoting=True)
    return np.asarray(order), np.abs(np.diagonal(R))


def _condition(G_d: Array) -> float:
    if not G_d.size:
        return 1.0
    values = np.linalg.svd(G_d, compute_uv=False)
    return float(values[0] / values[-1]) if values[-1] > 0.0 else float("inf")


def _solve(G_d: Array, rhs: Array) -> Array:
    return np.asarray(np.linalg.lstsq(G_d, rhs, rcond=None)[0])


def _motion(loop: LoopRows, i: int) -> str:
    turn, slide = loop.Q[i, :3], loop.Q[i, 3:]
    if np.abs(slide).max() < 1e-9:
        return f"turn about {_axis(turn)}"
    if np.abs(turn).max() < 1e-9:
        return f"slide along {_axis(slide)}"
    return f"turn about {_axis(turn)} with slide along {_axis(slide)}"


def _axis(x: Array) -> str:
    unit = x / np.linalg.norm(x)
    largest = int(np.argmax(np.abs(unit)))
    if np.abs(unit[largest]) > 1.0 - 1e-12:
        return "xyz"[largest]
    unit = np.where(np.abs(unit) < 5e-4, 0.0, unit * np.sign(unit[largest]))
    return "({:.3g}, {:.3g}, {:.3g})".format(*unit)
