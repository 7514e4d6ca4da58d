"""Rows of a level, and rows that are decided on: how they push where a level pulls, and how they bend
(`kinematics/level_ties.hpp`).

    mu = (G G*)^-1 G (p - what the level is free to do of it)
    T y = how  J* W^2 pull - G* mu  changes along a small step y
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import qr

from soacraft.robot.whole_body.tolerances import LevelTolerances
from soacraft.spatial.checks import Array

Held = npt.NDArray[np.bool_]

Turning = Callable[[int, Array], Array]
"""The rows of a level, by its number, after a small step."""


class Rows(NamedTuple):
    """Rows of one level: J y is to be `wish`, weighed, of which `pull` reduces the residual; a bound of their bending,
    by dof, in a step; the part of their squares that counts next to that.
    """

    J: Array
    wish: Array
    pull: Array
    weight: Array
    damping: Array
    calm: Array
    size: float = 0.0
    """|W^2 pull|"""
    steady: float = 0.0
    """Size of the part of the pull that is not removed at once."""
    given: bool = False
    """True if the change of the rows is unknown."""
    upright: bool = False
    """True if there are postures among them."""
    firm: bool = False
    """True if these determine velocities in all directions."""


class Tie(NamedTuple):
    """Rows that are decided on: their level (-1: closures), and dofs that were stopped by limits with them."""

    level: int
    known: bool
    G: Array
    stopped: Array
    part: float = 1.0
    """Part of the bound by which they bend."""

    def bound(self, mu: Array) -> Array:
        """Bound of their bending by all dofs, but for dt."""
        root = np.sqrt(self.part * np.linalg.norm(self.G, axis=0))
        return np.asarray(float(np.linalg.norm(mu)) * root * root.sum())


class Ties:
    """Rows that are decided on, of closures and of levels: how they push."""

    def __init__(self, n: int, tolerances: LevelTolerances) -> None:
        self.rows: list[Tie] = []
        self.kept = np.zeros((0, n))
        self.n, self.tolerances = n, tolerances

    def add(self, level: int, known: bool, G: Array, stopped: Held) -> None:
        """Rows, and dofs at limits that hold them back."""
        self.rows.append(Tie(level, known, G, np.eye(self.n)[stopped]))

    def keep(self, level: int, directions: Array) -> None:
        """Keep directions (n, count) of a level that its rows do not see: they turn as the robot moves, in an unknown
        way.
        """
        if directions.shape[1]:
            self.rows.append(Tie(level, False, directions.T, np.zeros((0, self.n)), self.tolerances.rolls))

    def pushing(self, level: Rows, pull: Array, held: Held, N: Array) -> list[Array]:
        """mu = (G G*)^-1 G (what a level pulls, and is not free to do within N), with dofs that hold it back; by
        entry."""
        if not self.rows:
            return []
        G = np.vstack([*(x for tie in self.rows for x in (tie.G, tie.stopped)), np.eye(self.n)[held]])
        p = level.J.T @ (level.weight**2 * pull)
        at_rest = orthonormal(np.vstack([N[held], self.kept @ N]), np.zeros((0, N.shape[1])), self.tolerances.sees)
        free = N.T @ p
        seen = G @ (p - N @ (free - at_rest.T @ (at_rest @ free)))
        mu = np.zeros(len(G))
        if np.abs(seen).max(initial=0.0) > 0.0:
            K = G @ G.T
            mu = np.linalg.solve(K + self.tolerances.pushes * K.diagonal().max() * np.eye(len(K)), seen)
        forces, at = [], 0
        for tie in self.rows:
            forces.append(mu[at : at + len(tie.G)])
            at += len(tie.G) + len(tie.stopped)
        return forces

    def with_kept(self, C: Array) -> Ties:
        """Next to rows C that are kept, and hold a level back."""
        if not len(C):
            return self
        other = Ties(self.n, self.tolerances)
        other.rows, other.kept = [*self.rows, Tie(-1, False, C, np.zeros((0, self.n)))], C
        return other

    def bounds(self, mus: list[Array], dt: float) -> tuple[Array, Array]:
        """Bounds of the bending of rows whose bending is known, and of the others."""
        scale, none = self.tolerances.bends * dt, np.zeros(self.n)
        pairs = list(zip(self.rows, mus, strict=True))
        return (
            none + sum(scale * x.bound(mu) for x, mu in pairs if x.known),
            none + sum(scale * x.bound(mu) for x, mu in pairs if not x.known),
        )

    def bend(self, level: Rows, number: int, pull: Array, mus: list[Array], turning: Turning, step: Array) -> Array:
        """Change of J* W^2 pull - G* mu along a small step."""
        change = (turning(number, step) - level.J).T @ (level.weight**2 * pull)
        for tie, mu in zip(self.rows, mus, strict=True):
            if tie.known:
                change = change - (turning(tie.level, step) - tie.G).T @ mu
        return np.asarray(change)

    def bends(self, level: Rows, number: int, pull: Array, mus: list[Array], turning: Turning, Y: Array) -> Array:
        """Y* T Y; what is rounding is nothing."""
        h = self.tolerances.turn
        T = np.stack([Y.T @ self.bend(level, number, pull, mus, turning, h * y) / h for y in Y.T])
        T = 0.5 * (T + T.T)
        return np.where(np.abs(T) > self.tolerances.nothing * np.abs(T).max(), T, 0.0)


def settled(Y: Array) -> Array:
    """V, of which Y V has orthonormal columns as near as can be to one dof each, the nearest first: the same space, and
    always the same axes."""
    V, R, _ = qr(Y.T, pivoting=True)
    return np.asarray(V * np.where(R.diagonal()[: len(V)] < 0.0, -1.0, 1.0))

def orthonormal(rows: Array, others: Array, least: float) -> Array:
    """Rows that span the same next to others, without those of which no more than that is left."""
    basis = others
    for row in rows:
        u = row
        for _ in range(2):
            u = u - basis.T @ (basis @ u)
        size = float(np.linalg.norm(u))
        if size > least and len(basis) < len(u):
            basis = np.vstack([basis, u / size])
    return basis[len(others) :]
