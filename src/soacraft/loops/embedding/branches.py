"""Branches of a closed chain: a test that two configurations are on one of them, from the embedded models at both.

For given independent dofs the dependent ones have several solutions, branches, which meet where the columns of the
dependent dofs lose rank. With A the rows of these columns at the start of a step and B at its end,

    E = A^+ B                                               is I where nothing has moved

and an eigenvalue of E becomes zero on the way to where it is negative, one for each branch that was left for another
(det E < 0 where it is a single one). A short step along a branch has none: where |B - A| is below the smallest singular
value of A, E is nearer to I than 1, and all its eigenvalues have positive real parts. Compiled code (loops/motion.hpp)
asks that much of the same rule, and leaves steps that do not meet it to this one.

A mechanism may pass a singular pose all the same: branches cross at the flat pose of a parallelogram. Then that pose
is closed, and its rows have lost rank in all dofs. If links are not quite those of a parallelogram, it is open: the
branches turn off before they meet, and what looks like the way straight on is the other one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from soacraft.kinematics.tolerances import ONWARD
from soacraft.loops.embedding.model import Compound, EmbeddedModel
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.loops.embedding.solver import ConstraintEmbedding

_STEPS = 8


def on_one_branch(s: ConstraintEmbedding, start: EmbeddedModel, end: EmbeddedModel, closed: float) -> bool:
    """True if no branch was left from the one to the other, or each that was crosses its neighbour, at a pose that is
    closed to within `closed`. O(n_d^3), and some evaluations of the rows where one was left.
    """
    for u in start.compounds:
        leaving = _left(start, end, u)
        if len(leaving) and not _cross(s, start, end, u, leaving, closed):
            return False
    return True


def _left(start: EmbeddedModel, end: EmbeddedModel, u: int) -> npt.NDArray[np.complex128]:
    """The eigenvalues of A^+ B of a group whose real part is not positive. Complex ones too: several branches that are
    left at one pose have such pairs, and so have long steps."""
    A, B = (_dependent_rows(x, x.compounds[u]) for x in (start, end))
    if not A.shape[1]:
        return np.zeros(0, np.complex128)
    eigenvalues = np.linalg.eigvals(np.linalg.lstsq(A, B, rcond=None)[0])
    return np.asarray(eigenvalues[~(eigenvalues.real > 0.0)])


def _dependent_rows(embedded: EmbeddedModel, compound: Compound) -> Array:
    """Rows of the dependent dofs in all motions that the closures forbid: turns and slides in the axes of the closure,
    independent of the choice of rows, in radians and lengths of the loop; and the rows of couplings.
    """
    G = compound.G[:, list(compound.split.dependent)] / compound.dof_units[list(compound.split.dependent)]
    parts, at = [], 0
    for loop in embedded.one.loops:
        if loop.name in compound.group.ties:
            forbidden = loop.Q.T @ G[at : at + loop.size]
            parts += [forbidden[:3], forbidden[3:] / loop.length]
            at += loop.size
    return np.concatenate([*parts, G[at:] / compound.units[at:, None]])


def _cross(
    s: ConstraintEmbedding,
    start: EmbeddedModel,
    end: EmbeddedModel,
    u: int,
    leaving: npt.NDArray[np.complex128],
    closed: float,
) -> bool:
    """True if the singular pose between two configurations, where as many eigenvalues are zero at once as `leaving`
    has, is closed and has lost as much rank in all dofs.

    Newton's method on the closures but for the directions n that are lost, and on n* G_d y = 0 along the way,

        q <- integrate(q, -G_d^+ r),    q <- integrate(q, t w),    w: the part of the way that keeps those closed
    """
    graph, d, count = s.graph, start.one.measure.dofs, len(leaving)
    q0, q1 = (np.asarray(x.one.state.q) for x in (start, end))
    way = graph.difference(q0, q1)
    part = float(np.mean((1.0 / (1.0 - leaving)).real))  # eigenvalues that go straight from 1 are nearest to zero there
    q, far = graph.integrate(q0, part * way), float(np.abs(d * way).max())
    for _ in range(_STEPS):
        x = _Singular(s.held(q), u, count)
        if x.open_part <= closed and x.lost**2 <= closed:
            return True
        q = graph.integrate(q, x.closing())
        x = _Singular(s.held(q), u, count)
        w = x.along(way)
        small = ONWARD * far / max(float(np.abs(d * w).max()), 1e-300)
        rate = (x.pivots(_Singular(s.held(graph.integrate(q, small * w)), u, count)) - x.pivots(x)) / small
        if not (size := float(np.sum(rate * rate))) > 0.0:
            return False
        step = -float(np.sum(rate * x.pivots(x))) / size * w
        if not float(np.abs(d * step).max()) <= far:
            return False
        q = graph.integrate(q, step)
    return False


class _Singular:
    """The rows of a group near a pose where `count` of them no longer hold its dependent dofs."""

    def __init__(self, embedded: EmbeddedModel, u: int, count: int) -> None:
        compound = embedded.compounds[u]
        self.compound, self.nv = compound, embedded.graph.nv
        self.columns = list(compound.split.dependent)
        self.r = embedded.one.open_by[compound.rows] / compound.units
        U, sigma, V_T = np.linalg.svd(compound.scaled[:, self.columns], full_matrices=False)
        rank = len(sigma) - count
        self.n, self.y = U[:, rank:], V_T[rank:].T
        self.inverse = (V_T[:rank].T / sigma[:rank]) @ U[:, :rank].T
        self.open_part = float(np.abs(self.r).max(initial=0.0))
        self.lost = float(np.linalg.norm(self.n.T @ compound.scaled, 2))
        """Size of the part in which the lost rows still hold any dof."""

    def pivots(self, at: _Singular) -> Array:
        """n* G_d y, with the directions of here and the rows of `at`."""
        return np.asarray(self.n.T @ at.compound.scaled[:, self.columns] @ self.y)

    def closing(self) -> Array:
        """The step of dependent dofs that closes what is not lost, (nv)."""
        return self._moved(-self.inverse @ self.r)

    def along(self, way: Array) -> Array:
        """The motion along the way that keeps it closed, (nv)."""
        c = self.compound
        v = c.dof_units * way[c.dofs]
        return way + self._moved(-self.inverse @ (c.scaled @ v))

    def _moved(self, x: Array) -> Array:
        dv = np.zeros(self.nv)
        dofs = self.compound.dofs[self.columns]
        dv[dofs] = x / self.compound.dof_units[self.columns]
        return dv
