"""Levels of tasks, one after the other: the best velocities of a level among those that leave the levels before as they
are. What compiled code does (`kinematics/levels.hpp`), to be read, and to serve where a model has no compiled form.

    y = x + N z,    min over z of  |W (J y - wish)|^2 + (N z)* D N z,    low <= y <= high,   C y >= least

x and N are what the levels before have left: N spans what their rows do not see. Of z that the rows do not see either,
what bounds ask for is found by proximal steps; the slowest comes last. D is a little of what they see, and a part of
the damping of the level, where rows bend too much:

    bent = (N z)* damping (N z) / 2,   gained = W^2 (gain left)* J N z,   part: 0 to 1 for bent / gained = 1/4 to 1/2

at the step without it (of the first level the one that nothing bounds, cut off at the bounds),

so that no step goes beyond where it leads, near a singular pose or out of reach (Levenberg and Marquardt), and what can
be done is done exactly elsewhere. Rows G of closures and of the levels before bend too, and push by mu, G* mu being
what the level pulls, as far as they see it: their damping of dof i is dt |mu| sqrt(c_i) sum_j sqrt(c_j). These are
bounds; where they would damp, rows after a small step tell whether they bend along that step. Where a level pulls
across all that it can do, out of reach from a straight arm, directions along which its rows turn towards that pull
are its own as well: to second order it does see them. y, J and C are in radians and lengths of the model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import qr

from soacraft.errors import ConvergenceError, SingularError
from soacraft.kinematics.qp import Solution, solve_qp
from soacraft.robot.whole_body.tolerances import LevelTolerances
from soacraft.spatial.checks import Array

#: Proximal steps at most: most levels need one or two, nearly flat ones that bounds hold up to 25, or all.
STEPS = 64


class Rows(NamedTuple):
    """Rows of one level: J y is to be `wish`, weighed, of which `pull` goes to what is left; `damping` by dof."""

    J: Array
    wish: Array
    pull: Array
    weight: Array
    damping: Array
    given: bool = False
    """Whether nothing tells how the rows change."""


@dataclass
class Box:
    """Bounds of y, and rows C y >= least. They give way where they cannot all be kept."""

    low: Array
    high: Array
    C: Array
    least: Array


Held = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.intp]


Turning = Callable[[int, Array], Array]
"""The rows of a level, by its number, after a small step."""


def solve_levels(
    levels: list[Rows],
    closures: tuple[Array, Array] | None,
    box: Box,
    tolerances: LevelTolerances,
    dt: float,
    turning: Turning | None = None,
) -> tuple[Array, list[Held]]:
    """y, and for each level the dofs whose bounds hold it back. Closures come before all else, bounds too."""
    n = len(box.low)
    x, N, decided = np.zeros(n), np.eye(n), False
    held = [np.zeros(n, dtype=bool) for _ in levels]
    ties = _Ties(n, tolerances)
    if closures is not None:
        G, wish = closures
        N, rank = _turned(G, N, tolerances.closures_see)
        if rank:
            A, b, own = _gathered(Rows(G, wish, wish, np.ones(len(G)), np.zeros(n)), x, N, rank, tolerances)
            x = x + N @ _least_squares(A, b, np.diag(own), np.zeros(len(own)), *_no_rows(N)).x
            ties.add(-1, False, G, np.zeros(0, dtype=np.intp))
        N = N[:, rank:]
    for number, level in enumerate(levels):
        N, rank = _turned(level.J, N, tolerances.sees)
        if not rank:
            continue
        A, b, own = _gathered(level, x, N, rank, tolerances)
        none = np.zeros((0, N.shape[1]))
        if ties.rows:
            trial = _approach(A, b, own, none, x, N, rank, box, decided, tolerances)
            if trial is None and not decided and _give_way(x, N, box, closures is not None, tolerances):
                trial = _approach(A, b, own, none, x, N, rank, box, decided, tolerances)
        else:
            trial = _least_squares(A, b, np.diag(own), np.zeros(len(own)), *_no_rows(N))
        damping = none
        if trial is not None:
            step = np.clip(x + N @ trial.x, box.low, box.high) - x
            pushing = np.zeros(n, dtype=bool)
            if ties.rows:
                pushing = np.abs(trial.multipliers[:n]) > tolerances.holds * float(np.abs(A.T @ b).max(initial=0.0))
            stopped = np.eye(n)[pushing & (np.abs(x + step) <= tolerances.still)]
            level, part = _damped(level, number, ties, stopped, step, turning, dt, tolerances)
            damping = np.sqrt(part * level.damping)[:, None] * N
        found = _approach(A, b, own, damping, x, N, rank, box, decided, tolerances)
        if found is None and not decided and _give_way(x, N, box, closures is not None, tolerances):
            found = _approach(A, b, own, damping, x, N, rank, box, decided, tolerances)
        if found is not None:
            size = float(np.abs(A.T @ b).max(initial=0.0))
            held[number] = np.abs(found.multipliers[:n]) > tolerances.holds * size
            x = np.clip(x + N @ found.x, box.low, box.high)
        decided = True
        blocked = np.flatnonzero(held[number] & (np.abs(x) <= tolerances.still))
        ties.add(number, not level.given and turning is not None, level.J, blocked)
        if turning is not None and number + 1 < len(levels) and rank < N.shape[1]:
            N, rank = _kept_turning(level, A, N, rank, blocked, partial(turning, number), tolerances)
        N = N[:, rank:]
    if N.shape[1]:  # of velocities that no level tells apart, the slowest
        slowest = N, -x, np.zeros(N.shape[1]), np.zeros((0, N.shape[1]))
        found = _approach(*slowest, x, N, N.shape[1], box, decided, tolerances)
        if found is None and not decided and _give_way(x, N, box, closures is not None, tolerances):
            found = _approach(*slowest, x, N, N.shape[1], box, decided, tolerances)
        if found is not None:
            x = np.clip(x + N @ found.x, box.low, box.high)
    return x, held


def _turned(J: Array, N: Array, sees: float) -> tuple[Array, int]:
    """N with those columns first that the rows, in radians and lengths, see, and how many these are."""
    size = float(np.sqrt(np.max(np.sum(J * J, axis=1), initial=1.0)))
    Q, rank = _seen(J @ N, sees * size)
    return N @ Q, rank


def _seen(A: Array, least: float) -> tuple[Array, int]:
    """Orthonormal columns, those first that the rows of A see by more than that, and how many: rows with pivoting."""
    if not A.size:
        return np.eye(A.shape[1]), 0
    Q, R, _ = qr(A.T, pivoting=True)
    small = np.flatnonzero(~(np.abs(R.diagonal()) > least))
    return np.asarray(Q), int(small[0]) if len(small) else min(A.shape)


def _gathered(level: Rows, x: Array, N: Array, rank: int, tolerances: LevelTolerances) -> tuple[Array, Array, Array]:
    """A = W J N, with nothing in columns that the rows do not see, b = W (wish - J x), and the root of what is added
    for each column itself."""
    A = level.weight[:, None] * level.J @ N
    A[:, rank:] = 0.0
    mean, seen = float(np.sum(A * A)) / N.shape[1], np.arange(N.shape[1]) < rank
    return (
        A,
        level.weight * (level.wish - level.J @ x),
        np.sqrt(mean * np.where(seen, tolerances.little, tolerances.near)),
    )


def _approach(
    A: Array,
    b: Array,
    own: Array,
    damping: Array,
    x: Array,
    N: Array,
    rank: int,
    box: Box,
    decided: bool,
    tolerances: LevelTolerances,
) -> Solution | None:
    """Proximal steps: what rows do not see stays near where it was, until no step is needed; None where there is no
    solution."""
    center = np.zeros(N.shape[1])
    found: Solution | None = None
    for _ in range(STEPS):
        D, d = np.vstack([np.diag(own), damping]), np.concatenate([own * center, np.zeros(len(damping))])
        found = _within(A, b, D, d, x, N, box, decided, tolerances)
        if found is None:
            return None
        far, center = (
            np.abs(found.x - center)[rank:].max(initial=0.0),
            np.where(np.arange(len(center)) < rank, 0.0, found.x),
        )
        if not far > tolerances.rows * np.abs(found.x).max(initial=0.0):
            break
    return found


class _Tie(NamedTuple):
    """Rows that are decided on: their level (-1: closures), and dofs that were stopped by limits with them."""

    level: int
    known: bool
    G: Array
    stopped: Array

    def damping(self, mu: Array) -> Array:
        """Of all dofs, but for dt."""
        root = np.sqrt(np.linalg.norm(self.G, axis=0))
        return np.asarray(float(np.linalg.norm(mu)) * root * root.sum())


class _Ties:
    """Rows that are decided on, of closures and of levels: how they push."""

    def __init__(self, n: int, tolerances: LevelTolerances) -> None:
        self.rows: list[_Tie] = []
        self.n, self.tolerances = n, tolerances

    def add(self, level: int, known: bool, G: Array, blocked: Numbers) -> None:
        """Rows, and dofs at limits that hold them back."""
        self.rows.append(_Tie(level, known, G, np.eye(self.n)[blocked]))

    def pushing(self, level: Rows, stopped: Array) -> list[Array]:
        """mu = (G G*)^-1 G (what a level pulls), with its own dofs that are stopped; by entry."""
        G = np.vstack([*(x for tie in self.rows for x in (tie.G, tie.stopped)), stopped])
        seen = G @ (level.J.T @ (level.weight**2 * level.pull))
        mu = np.zeros(len(G))
        if np.abs(seen).max(initial=0.0) > 0.0:
            K = G @ G.T
            mu = np.linalg.solve(K + self.tolerances.hardly * K.diagonal().max() * np.eye(len(K)), seen)
        found, at = [], 0
        for tie in self.rows:
            found.append(mu[at : at + len(tie.G)])
            at += len(tie.G) + len(tie.stopped)
        return found


def _damped(
    level: Rows,
    number: int,
    ties: _Ties,
    stopped: Array,
    step: Array,
    turning: Turning | None,
    dt: float,
    tolerances: LevelTolerances,
) -> tuple[Rows, float]:
    """The level with all that damps it, and what part of that a step takes."""
    pushed = list(zip(ties.rows, ties.pushing(level, stopped), strict=True)) if ties.rows else []
    scale, none = tolerances.bends * dt, np.zeros(len(step))
    tied = none + sum(scale * x.damping(mu) for x, mu in pushed if x.known)
    loops = none + sum(scale * x.damping(mu) for x, mu in pushed if not x.known)
    own, of_ties, of_loops = (0.5 * float(x @ step**2) for x in (level.damping, tied, loops))
    if not own + of_ties + of_loops > 0.0:
        return level, 0.0
    push = level.weight**2 * level.pull
    gained = float(push @ (level.J @ step))
    if own + of_ties + of_loops <= 0.25 * gained:
        return level, 0.0
    some = more = 1.0
    if turning is not None:
        far = tolerances.probe / float(np.abs(step).max())
        by = 0.5 * dt / far

        def share(found: float, bound: float) -> float:
            return min(tolerances.margin * abs(by * found) / bound, 1.0) if bound > 0.0 else 1.0

        if not level.given:
            some = share(float(push @ ((turning(number, far * step) - level.J) @ step)), own)
        bends = [mu @ ((turning(x.level, far * step) - x.G) @ step) for x, mu in pushed if x.known]
        more = share(float(sum(bends)), of_ties)
    bent = some * own + more * of_ties + of_loops
    part = 1.0 if not bent < 0.5 * gained else max(4.0 * bent / gained - 1.0, 0.0)
    return level._replace(damping=level.damping + tied + loops), part


def _kept_turning(
    level: Rows,
    A: Array,
    N: Array,
    rank: int,
    blocked: Numbers,
    rows: Callable[[Array], Array],
    tolerances: LevelTolerances,
) -> tuple[Array, int]:
    """N and the rank with directions along which rows turn towards what the level pulls across all that it can do, with
    dofs at limits at rest."""
    pull = level.weight * level.pull
    if not np.linalg.norm(pull) > 0.0:
        return N, rank
    H = A.T @ A
    heavy = float(H.diagonal().max())
    H = H + heavy / tolerances.across * N[blocked].T @ N[blocked] + tolerances.hardly * heavy * np.eye(len(H))
    across = pull - A @ np.linalg.solve(H, A.T @ pull)
    if not np.linalg.norm(across) > tolerances.across * np.linalg.norm(pull):
        return N, rank
    push = level.weight * across
    rest, h = N[:, rank:], tolerances.turn
    now = rows(np.zeros(len(N))).T @ push
    S = np.stack([(rows(h * d).T @ push - now) / h for d in rest.T])
    Q, more = _seen(S @ rest / float(np.linalg.norm(push)), tolerances.turns)
    return np.hstack([N[:, :rank], rest @ Q]), rank + more


def _within(
    A: Array, b: Array, D: Array, d: Array, x: Array, N: Array, box: Box, decided: bool, tolerances: LevelTolerances
) -> Solution | None:
    """The best z within the box; None where there is none. What was decided before stays allowed, up to rounding; a row
    of which nothing is left has no say."""
    rows = np.vstack([N, box.C @ N])
    gone = np.linalg.norm(rows, axis=1) <= tolerances.rows * np.concatenate(
        [np.ones(len(N)), np.linalg.norm(box.C, axis=1)]
    )
    least = np.concatenate([box.low - x, box.least - box.C @ x])
    most = np.concatenate([box.high - x, np.full(len(box.C), np.inf)])
    if decided:
        least, most = np.minimum(least, 0.0), np.maximum(most, 0.0)
    if N.shape[1] < len(N):
        least, most = np.where(gone, -np.inf, least), np.where(gone, np.inf, most)
    try:
        return _least_squares(A, b, D, d, rows, least, most, float(np.linalg.norm(x)))
    except (ConvergenceError, SingularError):
        return None


def _no_rows(N: Array) -> tuple[Array, Array, Array]:
    return np.zeros((0, N.shape[1])), np.zeros(0), np.zeros(0)


def _least_squares(
    A: Array, b: Array, D: Array, d: Array, rows: Array, least: Array, most: Array, scale: float = 0.0
) -> Solution:
    """min |A z - b|^2 + |D z - d|^2; once more on the rows that hold, by orthogonal factors, which lose fewer
    digits."""
    F, f, n = np.vstack([A, D]), np.concatenate([b, d]), A.shape[1]
    z, y = solve_qp(F.T @ F, -F.T @ f, rows, least, most, scale)
    on = np.flatnonzero(y != 0.0)
    k = len(on)
    Q, R = np.linalg.qr(rows[on].T, mode="complete") if k else (np.eye(n), np.zeros((0, 0)))
    z = Q[:, :k] @ np.linalg.solve(R[:k].T, np.where(y[on] > 0.0, least[on], most[on])) if k else np.zeros(n)
    free = Q[:, k:]
    return Solution(z + free @ np.linalg.lstsq(F @ free, f - F @ z, rcond=None)[0], y)


def _give_way(x: Array, N: Array, box: Box, closed: bool, tolerances: LevelTolerances) -> bool:
    """Let bounds that cannot all be kept give way as little as they can: least squares of what is missing. Of a tree
    only the rows C, since its bounds can be kept always."""
    n, nz, kept = len(x), N.shape[1], len(box.C)
    spare = kept + (n if closed else 0)
    if not spare:
        return False
    H = np.diag(np.concatenate([np.full(nz, tolerances.slow), np.ones(spare)]))
    rows, low, high = [np.hstack([box.C @ N, np.eye(kept, spare)])], [box.least - box.C @ x], [np.full(kept, np.inf)]
    if closed:
        own = np.eye(spare)[kept:]
        rows += [np.hstack([N, own]), np.hstack([N, -own])]
        low += [box.low - x, np.full(n, -np.inf)]
        high += [np.full(n, np.inf), box.high - x]
    else:
        rows.append(np.hstack([N, np.zeros((n, spare))]))
        low.append(box.low - x)
        high.append(box.high - x)
    rows.append(np.hstack([np.zeros((spare, nz)), np.eye(spare)]))
    low.append(np.zeros(spare))
    high.append(np.full(spare, np.inf))
    try:
        found = solve_qp(H, np.zeros(nz + spare), np.vstack(rows), np.concatenate(low), np.concatenate(high)).x
    except ConvergenceError:
        return False
    missing = found[nz:] + 10.0 * tolerances.rows * float(np.abs(found).max(initial=0.0))
    box.least = box.least - missing[:kept]
    if closed:
        box.low, box.high = box.low - missing[kept:], box.high + missing[kept:]
    return True
