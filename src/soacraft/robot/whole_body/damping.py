"""Damping of a level of tasks, so that no step overshoots (`kinematics/levels.hpp`).

A level pulls by p = J* W^2 pull, pull = gain * residual. After a step y of dt seconds it pulls by
(S + D) y - dt (J* W^2 gain J - T) y, S being its squares and T y the change of J* W^2 pull at a constant residual.
It goes back and forth where that is against y. It does not with

    D = the positive part of  2 |dt T| - calm S,      calm = 1 - gain dt, at least a quarter

T is that of the part of the pull that the level cannot meet, and zero where it meets all: what can be done is done
exactly. Rows G of the levels before bend too, and push, and so do directions that they keep, and rows that are kept
(`ties`). A step that does all that is asked for, and bends by no more than a little by a bound of T, for dof i
dt |pull| sqrt(c_i) sum_j sqrt(c_j), c being the lengths of the columns of rows, is not damped at all; of closures, of
directions, and of rows that the caller gave that bound serves. What holds the damped step back may be more than what
held back the one before: then it is looked at once more. A direction that hardly bends is damped by a little more than
D, so that the level does not undo at once what those after it do there. A first level that postures tell in full takes
a part of the bound, by how rows bend along the step without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from soacraft.kinematics.qp import Solution
from soacraft.robot.whole_body.ties import Held, Rows, Ties, Turning, orthonormal, settled
from soacraft.robot.whole_body.tolerances import LevelTolerances
from soacraft.spatial.checks import Array

#: Largest number of tests if a level is met with its damping.
ROUNDS = 4


class Curb(NamedTuple):
    """Damping of a level: rows F of z* D z = |F z|^2, and K of the part that the level keeps, where it keeps any."""

    F: Array
    K: Array | None = None


@dataclass
class Damper:
    """Damper of one level. `within(F)` is the step that rows F damp, within bounds, and `free()` the one without
    bounds; `sharing` are rows that levels before keep in part.
    """

    level: Rows
    number: int
    A: Array
    sharing: Array
    x: Array
    N: Array
    rank: int
    low: Array
    high: Array
    C: Array
    ties: Ties
    within: Callable[[Array], Solution | None]
    free: Callable[[], Solution]
    turning: Turning | None
    dt: float
    tolerances: LevelTolerances

    def rows(self) -> Curb:
        """Rows that damp the level."""
        none, level, dt, t = np.zeros((0, self.N.shape[1])), self.level, self.dt, self.tolerances
        much = level.damping.max(initial=0.0)
        tied_down = bool(self.ties.rows or len(self.C))
        if tied_down:
            much = max(much, np.abs(level.pull).max(initial=0.0))
        if not much * dt > 0.0:
            return Curb(none)
        trial = self.within(none) if tied_down else self.free()
        if trial is None:
            return Curb(none)
        y = np.clip(self.x + self.N @ trial.x, self.low, self.high)
        step, held, kept_rows = y - self.x, np.zeros(len(y), dtype=bool), self.C[:0]
        if tied_down:
            held, kept_rows = self.held(trial), self.kept(trial)
        unbounded = not held.any() and not len(kept_rows) and bool(((self.low < y) & (y < self.high)).all())
        if not self.ties.rows and not len(kept_rows) and level.firm:
            return Curb(np.sqrt(self.part(step) * level.damping)[:, None] * self.N)
        ties = self.ties.with_kept(kept_rows)
        mus = ties.pushing(level, level.pull, held, self.N)
        tied, loops = ties.bounds(mus, dt)
        bound = level.damping + tied + loops
        if not bound.max() > 0.0 or (unbounded and not level.upright and self.easy(y, step, bound)):
            return Curb(none)
        bound = bound / t.bends
        limited = self.within(np.sqrt(bound)[:, None] * self.N)
        if limited is None:
            return Curb(none)
        curb = self.curbing(limited, bound, unbounded)
        for _ in range(1, int(t.looks)):
            before, limited = self.held(limited), self.within(curb.F)
            if limited is None or not (self.held(limited) & ~before).any():
                break
            curb = self.curbing(limited, bound, False)
        return curb

    def easy(self, y: Array, step: Array, bound: Array) -> bool:
        """True if a step does all that the level asks for, and bends next to nothing by the bound."""
        level, t = self.level, self.tolerances
        off = np.linalg.norm(level.weight * (level.J @ y - level.wish))
        met = bool(off <= t.across * np.linalg.norm(level.weight * level.pull))
        return met and 0.5 * float(bound @ step**2) <= t.slight * self.gained(step)

    def held(self, solution: Solution) -> Held:
        """Dofs whose bounds hold a step back."""
        return self._pushing(solution)[: len(self.x)]

    def kept(self, solution: Solution) -> Array:
        """Rows that are kept and hold a step back."""
        return self.C[self._pushing(solution)[len(self.x) :]]

    def _pushing(self, solution: Solution) -> Held:
        """Bounds, then rows, that push by more than rounding of the gradient."""
        level = self.level
        size = float(np.abs(self.A.T @ (level.weight * (level.wish - level.J @ self.x))).max(initial=0.0))
        return np.asarray(np.abs(solution.multipliers) > self.tolerances.holds * size)

    def gained(self, step: Array) -> float:
        """Gain of the level by a step."""
        return float((self.level.weight**2 * self.level.pull) @ (self.level.J @ step))

    def part(self, step: Array) -> float:
        """Part of the bound, 0 to 1 for bent / gained = 1/4 to 1/2 at a step, `bent` by rows after a small one."""
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

    def curbing(self, limited: Solution, bound: Array, unbounded: bool) -> Curb:
        """D, from a step on that the whole bound damps, with what holds it back as it is; along directions alone where
        that bound outweighs squares, where bounds have no say."""
        level, t, N, dt = self.level, self.tolerances, self.N, self.dt
        z, held, kept_rows = limited.x, self.held(limited), self.kept(limited)
        calm = self.A.T @ (level.calm[:, None] * self.A)
        size = float(np.linalg.norm(self.A, axis=1).max())
        at_rest = orthonormal(np.vstack([N[held], kept_rows @ N]), np.zeros((0, len(calm))), t.sees)
        seen = np.eye(len(calm))[:, : self.rank]
        if len(at_rest):
            seen = orthonormal(self.A, at_rest, np.sqrt(t.hardly) * size).T
        # what is unmet: damped by what of the bound outweighs calm squares, of what the level sees
        sizes, V = np.linalg.eigh(t.outweigh * (N @ seen).T @ (bound[:, None] * (N @ seen)) - seen.T @ calm @ seen)
        asked = level.weight * level.pull
        residual, A, shared = asked - self.A @ z, self.A @ seen, self.sharing @ seen
        squares = A.T @ A + shared.T @ shared

        def missed(D: Array) -> Array:
            return np.asarray(residual - A @ np.linalg.solve(squares + D, A.T @ residual))

        unmet, none = missed((V * np.maximum(sizes, 0.0)) @ V.T), Curb(np.zeros((0, len(z))))
        if not np.linalg.norm(unmet) > t.across * np.linalg.norm(asked):
            return none
        pull = unmet / level.weight
        ties = self.ties.with_kept(kept_rows)
        mus = ties.pushing(level, pull, held, N)
        loops = ties.bounds(mus, dt)[1] + (level.damping if level.given else 0.0)
        Z = np.eye(len(calm))
        if unbounded and not held.any() and not len(kept_rows):
            Z = np.hstack([seen @ V[:, sizes > 0.0], Z[:, self.rank :]])
        if not Z.size:
            return none
        Z = Z @ settled(N @ Z)
        Y = N @ Z
        if self.turning is None:
            loops, T = loops + level.damping, np.zeros((Y.shape[1],) * 2)
        else:
            T = t.outweigh * dt * ties.bends(level, self.number, pull, mus, self.turning, Y)
        bent, V = np.linalg.eigh(T)
        Q = (V * np.abs(bent)) @ V.T - Z.T @ calm @ Z + Y.T @ (loops[:, None] / t.bends * Y)
        sizes, V = np.linalg.eigh(Q)
        sizes = sizes - t.across * dt * float(np.linalg.norm(level.weight**2 * pull))  # what is less is nothing
        axes, sizes = (Z @ V[:, sizes > 0.0]).T, sizes[sizes > 0.0]
        enough = np.maximum(sizes, np.minimum(sizes / t.met, t.slowly * dt * level.steady))
        F = np.sqrt(enough)[:, None] * axes
        # with D, which is less than the bound, it may miss less; then D is less, and so on
        part, first, D = 1.0, float(np.linalg.norm(unmet)), (F @ seen).T @ (F @ seen)
        for _ in range(ROUNDS):
            now = float(np.linalg.norm(missed(part * D))) / first
            if part <= t.met or not now < part:
                break
            part = now
        by = min(max(part / t.met - 1.0, 0.0), 1.0)  # not at once, so that nothing leaps
        return Curb(np.sqrt(by) * F, np.sqrt(sizes)[:, None] * axes) if by > 0.0 and len(F) else none
