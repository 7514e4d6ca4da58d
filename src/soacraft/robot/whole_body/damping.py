"""What damps a level of tasks, so that no step goes beyond where it leads (`kinematics/levels.hpp`).

A level pulls by p = J* W^2 pull, pull = gain left. After a step y of dt seconds it pulls by
(S + D) y - dt (J* W^2 gain J - T) y, S being its squares and T y how J* W^2 pull changes while what is left does not.
It goes back and forth where that is against y. It does not with

    D = the positive part of  2 |dt T| - calm S,      calm = 1 - gain dt, at least a quarter

T is that of the part of the pull that the level cannot meet, and zero where it meets all: what can be done is done
exactly. Rows G of the levels before bend too, and push by mu, G* mu being what the level pulls, as far as they see it:
T has - G* mu as well. T is looked at along those directions alone where a bound of it, for dof i
dt |pull| sqrt(c_i) sum_j sqrt(c_j), c being the lengths of the columns of rows, outweighs calm S; of closures and of
rows that the caller gave that bound serves. A first level that postures tell in full takes a part of the bound, by how
rows bend along the step without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import qr

from soacraft.kinematics.qp import Solution
from soacraft.robot.whole_body.tolerances import LevelTolerances
from soacraft.spatial.checks import Array

#: How often it is looked at most whether a level is met with its damping.
ROUNDS = 4

Held = npt.NDArray[np.bool_]

Turning = Callable[[int, Array], Array]
"""The rows of a level, by its number, after a small step."""


class Rows(NamedTuple):
    """Rows of one level: J y is to be `wish`, weighed, of which `pull` goes to what is left; a bound of how they bend,
    by dof, in a step; what of their squares counts next to that."""

    J: Array
    wish: Array
    pull: Array
    weight: Array
    damping: Array
    calm: Array
    given: bool = False
    """Whether nothing tells how the rows change."""
    firm: bool = False
    """Whether postures tell velocities in all directions."""


class Tie(NamedTuple):
    """Rows that are decided on: their level (-1: closures), and dofs that were stopped by limits with them."""

    level: int
    known: bool
    G: Array
    stopped: Array

    def bound(self, mu: Array) -> Array:
        """Of how they bend, of all dofs, but for dt."""
        root = np.sqrt(np.linalg.norm(self.G, axis=0))
        return np.asarray(float(np.linalg.norm(mu)) * root * root.sum())


class Ties:
    """Rows that are decided on, of closures and of levels: how they push."""

    def __init__(self, n: int, tolerances: LevelTolerances) -> None:
        self.rows: list[Tie] = []
        self.n, self.tolerances = n, tolerances

    def add(self, level: int, known: bool, G: Array, stopped: Held) -> None:
        """Rows, and dofs at limits that hold them back."""
        self.rows.append(Tie(level, known, G, np.eye(self.n)[stopped]))

    def pushing(self, level: Rows, pull: Array, held: Held) -> list[Array]:
        """mu = (G G*)^-1 G (what a level pulls), with dofs that hold it back; by entry."""
        if not self.rows:
            return []
        G = np.vstack([*(x for tie in self.rows for x in (tie.G, tie.stopped)), np.eye(self.n)[held]])
        seen = G @ (level.J.T @ (level.weight**2 * pull))
        mu = np.zeros(len(G))
        if np.abs(seen).max(initial=0.0) > 0.0:
            K = G @ G.T
            mu = np.linalg.solve(K + self.tolerances.pushes * K.diagonal().max() * np.eye(len(K)), seen)
        found, at = [], 0
        for tie in self.rows:
            found.append(mu[at : at + len(tie.G)])
            at += len(tie.G) + len(tie.stopped)
        return found

    def bounds(self, mus: list[Array], dt: float) -> tuple[Array, Array]:
        """Of how rows bend that are known, and of how others do."""
        scale, none = self.tolerances.bends * dt, np.zeros(self.n)
        pairs = list(zip(self.rows, mus, strict=True))
        return (
            none + sum(scale * x.bound(mu) for x, mu in pairs if x.known),
            none + sum(scale * x.bound(mu) for x, mu in pairs if not x.known),
        )

    def bend(self, level: Rows, number: int, pull: Array, mus: list[Array], turning: Turning, step: Array) -> Array:
        """How J* W^2 pull - G* mu changes along a small step."""
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


@dataclass
class Damper:
    """What damps one level: rows F, of z* D z = |F z|^2. `within(F)` is the step that they damp, within bounds, and
    `free()` the one that nothing bounds."""

    level: Rows
    number: int
    A: Array
    x: Array
    N: Array
    rank: int
    low: Array
    high: Array
    ties: Ties
    within: Callable[[Array], Solution | None]
    free: Callable[[], Solution]
    turning: Turning | None
    dt: float
    tolerances: LevelTolerances

    def rows(self) -> tuple[Array, bool]:
        """F, and whether it is that of D, which tells what the level keeps."""
        none, level, dt, t = np.zeros((0, self.N.shape[1])), self.level, self.dt, self.tolerances
        much = level.damping.max(initial=0.0)
        if self.ties.rows:
            much = max(much, np.abs(level.pull).max(initial=0.0))
        if not much * dt > 0.0:
            return none, False
        trial = self.within(none) if self.ties.rows else self.free()
        if trial is None:
            return none, False
        y = np.clip(self.x + self.N @ trial.x, self.low, self.high)
        step, held = y - self.x, self.held(trial) if self.ties.rows else np.zeros(len(y), dtype=bool)
        unbounded = not held.any() and bool(((self.low < y) & (y < self.high)).all())
        if not self.ties.rows and level.firm:
            return np.sqrt(self.part(step) * level.damping)[:, None] * self.N, False
        mus = self.ties.pushing(level, level.pull, held)
        tied, loops = self.ties.bounds(mus, dt)
        bound = level.damping + tied + loops
        bent = 0.5 * float(bound @ step**2)
        if not bent > 0.0 or bent <= t.slight * self.gained(step):
            return none, False
        bound = bound / t.bends
        limited = self.within(np.sqrt(bound)[:, None] * self.N)
        if limited is None:
            return none, False
        F = self.curbing(limited.x, self.held(limited), bound, unbounded)
        return F, len(F) > 0

    def held(self, found: Solution) -> Held:
        """Dofs whose bounds hold a step back."""
        level = self.level
        size = float(np.abs(self.A.T @ (level.weight * (level.wish - level.J @ self.x))).max(initial=0.0))
        return np.asarray(np.abs(found.multipliers[: len(self.x)]) > self.tolerances.holds * size)

    def gained(self, step: Array) -> float:
        """By a step."""
        return float((self.level.weight**2 * self.level.pull) @ (self.level.J @ step))

    def part(self, step: Array) -> float:
        """Of the bound, 0 to 1 for bent / gained = 1/4 to 1/2 at a step, `bent` by rows after a small one."""
        level, t = self.level, self.tolerances
        bent, gained = 0.5 * float(level.damping @ step**2), self.gained(step)
        if not bent > 0.0 or bent <= 0.25 * gained:
            return 0.0
        if self.turning is not None and not level.given:
            far = t.probe / float(np.abs(step).max())
            change = Ties(len(step), t).bend(level, self.number, level.pull, [], self.turning, far * step)
            bent = min(bent, t.margin * abs(0.5 * self.dt / far * float(change @ step)))
        if bent <= 0.25 * gained:
            return 0.0
        return min(4.0 * bent / gained - 1.0, 1.0) if bent < 0.5 * gained else 1.0

    def curbing(self, z: Array, held: Held, bound: Array, unbounded: bool) -> Array:
        """Rows of D, from a step on that the whole bound damps, with the dofs that hold it back as they are; along
        directions alone where that bound outweighs squares, where bounds have no say."""
        level, t, N, dt = self.level, self.tolerances, self.N, self.dt
        calm = self.A.T @ (level.calm[:, None] * self.A)
        size = float(np.linalg.norm(self.A, axis=1).max())
        at_rest = _orthonormal(N[held], np.zeros((0, len(calm))), t.sees)
        seen = np.eye(len(calm))[:, : self.rank]
        if held.any():
            seen = _orthonormal(self.A, at_rest, np.sqrt(t.hardly) * size).T
        # what is unmet: damped by what of the bound outweighs calm squares, of what the level sees
        sizes, V = np.linalg.eigh(t.outweigh * (N @ seen).T @ (bound[:, None] * (N @ seen)) - seen.T @ calm @ seen)
        more = (V * np.maximum(sizes, 0.0)) @ V.T
        asked = level.weight * level.pull
        left, A = asked - self.A @ z, self.A @ seen
        unmet = left - A @ np.linalg.solve(A.T @ A + more, A.T @ left)
        if not np.linalg.norm(unmet) > t.across * np.linalg.norm(asked):
            return np.zeros((0, len(z)))
        pull = unmet / level.weight
        mus = self.ties.pushing(level, pull, held)
        loops = self.ties.bounds(mus, dt)[1] + (level.damping if level.given else 0.0)
        Z = np.eye(len(calm))
        if unbounded and not held.any():
            Z = np.hstack([seen @ V[:, sizes > 0.0], Z[:, self.rank :]])
        if not Z.size:
            return np.zeros((0, len(z)))
        Z = Z @ settled(N @ Z)
        Y = N @ Z
        if self.turning is None:
            loops, T = loops + level.damping, np.zeros((Y.shape[1],) * 2)
        else:
            T = t.outweigh * dt * self.ties.bends(level, self.number, pull, mus, self.turning, Y)
        bent, V = np.linalg.eigh(T)
        Q = (V * np.abs(bent)) @ V.T - Z.T @ calm @ Z + Y.T @ (loops[:, None] / t.bends * Y)
        sizes, V = np.linalg.eigh(Q)
        sizes = sizes - t.across * dt * float(np.linalg.norm(level.weight**2 * pull))  # what is less is nothing
        F = (np.sqrt(sizes[sizes > 0.0]) * (Z @ V[:, sizes > 0.0])).T
        # with D, which is less than the bound, it may miss less; then D is less, and so on
        part, first, D = 1.0, float(np.linalg.norm(unmet)), (F @ seen).T @ (F @ seen)
        for _ in range(ROUNDS):
            now = float(np.linalg.norm(left - A @ np.linalg.solve(A.T @ A + part * D, A.T @ left))) / first
            if part <= t.met or not now < part:
                break
            part = now
        return np.asarray(F[:0] if part <= t.met else F)


def _orthonormal(rows: Array, others: Array, least: float) -> Array:
    """Rows that span the same next to others, without those of which no more than that is left."""
    found = others
    for row in rows:
        u = row
        for _ in range(2):
            u = u - found.T @ (found @ u)
        size = float(np.linalg.norm(u))
        if size > least and len(found) < len(u):
            found = np.vstack([found, u / size])
    return found[len(others) :]
