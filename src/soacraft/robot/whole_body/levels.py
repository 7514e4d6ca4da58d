"""Levels of tasks, one after the other: the best velocities of a level among those that leave the levels before as they
are. What compiled code does (`kinematics/levels.hpp`), to be read, and to serve where a model has no compiled form.

    y = x + N z,    min over z of  |W (J y - wish)|^2 + z* D z,    low <= y <= high,   C y >= least

x and N are the freedom that the levels before leave: N spans what their rows do not see. Of z that the rows do not see
either, what bounds ask for is found by proximal steps; the slowest comes last. D is a little of what they see, and what
damps a level where its rows bend too much for a step (`damping`). What D sees is the level's own, and so are directions
along which its rows turn towards what it cannot meet: to second order it does see them; one that it nearly sees so
costs the levels after it. y, J and C are in radians and lengths of the model.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr

from soacraft.errors import ConvergenceError, SingularError
from soacraft.kinematics.qp import Solution, solve_qp
from soacraft.robot.whole_body.damping import Damper
from soacraft.robot.whole_body.ties import Held, Rows, Ties, Turning, settled
from soacraft.robot.whole_body.tolerances import LevelTolerances
from soacraft.spatial.checks import Array

#: Proximal steps at most: most levels need one or two, nearly flat ones that bounds hold up to 25, or all.
STEPS = 64
#: A row that holds, of which no more than this part is across the others that do.
ALIKE = 1e-7


@dataclass
class Box:
    """Bounds of y, and rows C y >= least. They give way where they cannot all be kept."""

    low: Array
    high: Array
    C: Array
    least: Array


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
    ties, shared = Ties(n, tolerances), np.zeros((0, n))
    if closures is not None:
        G, wish = closures
        N, rank = _turned(G, N, tolerances.closures_see)
        if rank:
            one = np.ones(len(G))
            A, b, sizes = _gathered(Rows(G, wish, wish, one, np.zeros(n), one), x, N, rank, tolerances)
            x = x + N @ _least_squares(A, b, np.diag(sizes), np.zeros(len(sizes)), *_no_rows(N)).x
            ties.add(-1, False, G, np.zeros(n, dtype=bool))
        N = N[:, rank:]
    for number, level in enumerate(levels):
        if not N.shape[1]:
            break
        N, rank = _turned(level.J, N, tolerances.sees)
        last, K = number + 1 == len(levels), None
        A, b, sizes = _gathered(level, x, N, rank, tolerances)
        if rank:
            sharing = np.sqrt(np.sum(A * A) / N.shape[1]) * shared @ N
            within = partial(_solved, A, b, sizes, x, N, rank, box, decided, closures is not None, tolerances, sharing)
            free = partial(_least_squares, A, b, np.diag(sizes), np.zeros(len(sizes)), *_no_rows(N))
            how = box.low, box.high, box.C, ties, within, free, turning, dt, tolerances
            damper = Damper(level, number, A, sharing, x, N, rank, *how)
            F, K = damper.rows()
            solution = within(F)
            if solution is not None:
                held[number] = damper.held(solution)
                x = np.clip(x + N @ solution.x, box.low, box.high)
            decided = True
        elif last:
            continue
        stopped, preserved = held[number] & (dt * np.abs(x) <= tolerances.still), None
        if rank < N.shape[1] and K is not None:
            preserved = _keeps_damped(level, K, N, rank, dt, tolerances)
        elif rank < N.shape[1] and not last and turning is not None and dt > 0.0:
            preserved = _keeps_turning(level, number, A, N, rank, stopped, ties, turning, tolerances)
        ties.add(number, not level.given and turning is not None, level.J, stopped)
        if preserved is not None:
            ties.keep(number, preserved.N[:, rank : preserved.rank])
            N, rank = preserved.N, preserved.rank
            shared = np.vstack([shared, preserved.shared])
        N = N[:, rank:]
    if N.shape[1]:  # of velocities that no level tells apart, the slowest
        none = np.zeros((0, N.shape[1]))
        still, closed = none.sum(axis=0), closures is not None
        solution = _solved(N, -x, still, x, N, N.shape[1], box, decided, closed, tolerances, none, none)
        if solution is not None:
            x = np.clip(x + N @ solution.x, box.low, box.high)
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


def _solved(
    A: Array,
    b: Array,
    sizes: Array,
    x: Array,
    N: Array,
    rank: int,
    box: Box,
    decided: bool,
    closed: bool,
    tolerances: LevelTolerances,
    sharing: Array,
    F: Array,
) -> Solution | None:
    """The best step within the box, damped by rows F and by what levels before keep in part; what cannot all be kept
    gives way first."""
    F = np.vstack([sharing, F])
    solution = _approach(A, b, sizes, F, x, N, rank, box, decided, tolerances)
    if solution is None and not decided and _give_way(x, N, box, closed, tolerances):
        solution = _approach(A, b, sizes, F, x, N, rank, box, decided, tolerances)
    return solution


def _approach(
    A: Array,
    b: Array,
    sizes: Array,
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
    solution: Solution | None = None
    for _ in range(STEPS):
        D, d = np.vstack([np.diag(sizes), damping]), np.concatenate([sizes * center, np.zeros(len(damping))])
        solution = _within(A, b, D, d, x, N, box, decided, tolerances)
        if solution is None:
            return None
        far, center = (
            np.abs(solution.x - center)[rank:].max(initial=0.0),
            np.where(np.arange(len(center)) < rank, 0.0, solution.x),
        )
        if not far > tolerances.rows * np.abs(solution.x).max(initial=0.0):
            break
    return solution


class _Kept(NamedTuple):
    """N and the rank with directions that are the level's own, and rows of those that are in part."""

    N: Array
    rank: int
    shared: Array


def _keeps(S: Array, N: Array, rank: int, least: float, tolerances: LevelTolerances) -> _Kept:
    """Directions, among columns that rows do not see, along which S is more than `least`. Near to it, a direction costs
    the levels after it the more the nearer: nothing leaps.
    """
    sizes, V = np.linalg.eigh(S)
    parts, half = np.abs(sizes) / least, tolerances.half
    strong, some = parts >= 1.0, (parts > half) & (parts < 1.0)
    near = (parts[some] - half) / (1.0 - half)
    cost = np.minimum(near**2 / (1.0 - near) ** 1.5, tolerances.costs)
    shared = np.sqrt(cost)[:, None] * (N[:, rank:] @ V[:, some]).T
    turned = np.hstack([N[:, :rank], N[:, rank:] @ V[:, strong], N[:, rank:] @ V[:, ~strong]])
    return _Kept(turned, rank + int(strong.sum()), shared)


def _keeps_damped(level: Rows, K: Array, N: Array, rank: int, dt: float, tolerances: LevelTolerances) -> _Kept:
    """Directions that the damping sees."""
    least = tolerances.turns * dt * level.size
    return _keeps(K[:, rank:].T @ K[:, rank:], N, rank, least, tolerances)


def _keeps_turning(
    level: Rows,
    number: int,
    A: Array,
    N: Array,
    rank: int,
    stopped: Held,
    ties: Ties,
    turning: Turning,
    tolerances: LevelTolerances,
) -> _Kept | None:
    """Directions along which rows turn towards what the level cannot meet, with dofs at limits at rest."""
    unmet = asked = level.weight * level.pull
    if not np.linalg.norm(asked) > 0.0:
        return None
    if rank:
        H = A.T @ A
        heavy = float(H.diagonal().max())
        H = H + heavy / tolerances.across * N[stopped].T @ N[stopped] + tolerances.hardly * heavy * np.eye(len(H))
        unmet = asked - A @ np.linalg.solve(H, A.T @ asked)
    if not np.linalg.norm(unmet) > tolerances.across * np.linalg.norm(asked):
        return None
    pull = unmet / level.weight
    N = np.hstack([N[:, :rank], N[:, rank:] @ settled(N[:, rank:])])
    T = ties.bends(level, number, pull, ties.pushing(level, pull, stopped, N), turning, N[:, rank:])
    return _keeps(T / float(np.linalg.norm(level.weight * unmet)), N, rank, tolerances.turns, tolerances)


def _within(
    A: Array, b: Array, D: Array, d: Array, x: Array, N: Array, box: Box, decided: bool, tolerances: LevelTolerances
) -> Solution | None:
    """The best z within the box; None where there is none. What was decided before stays allowed, up to rounding; a row
    of which nothing is left has no say, and one of which little is left holds up to the rounding that it had."""
    rows, scale = np.vstack([N, box.C @ N]), float(np.linalg.norm(x))
    lengths, remaining = np.concatenate([np.ones(len(N)), np.linalg.norm(box.C, axis=1)]), np.linalg.norm(rows, axis=1)
    gone = remaining <= tolerances.sees * lengths
    slack = np.where(remaining < tolerances.faint * lengths, tolerances.rows * tolerances.faint * lengths * scale, 0.0)
    least = np.concatenate([box.low - x, box.least - box.C @ x])
    most = np.concatenate([box.high - x, np.full(len(box.C), np.inf)])
    if decided:
        least, most = np.minimum(least, 0.0), np.maximum(most, 0.0)
    least, most = least - slack, most + slack
    if N.shape[1] < len(N):
        least, most = np.where(gone, -np.inf, least), np.where(gone, np.inf, most)
    try:
        return _least_squares(A, b, D, d, rows, least, most, scale)
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
    size = np.linalg.norm(rows[on], axis=1)
    Q, R, order = qr((rows[on] / size[:, None]).T, pivoting=True) if len(on) else (np.eye(n), np.zeros((0, 0)), on)
    k = int(np.count_nonzero(np.abs(R.diagonal()) > ALIKE))  # rows that repeat others but for rounding hold with them
    on = on[order[:k]]
    at = np.where(y[on] > 0.0, least[on], most[on]) / np.linalg.norm(rows[on], axis=1)
    z = Q[:, :k] @ np.linalg.solve(R[:k, :k].T, at) if k else np.zeros(n)
    free = Q[:, k:]
    return Solution(z + free @ np.linalg.lstsq(F @ free, f - F @ z, rcond=None)[0], y)


def _give_way(x: Array, N: Array, box: Box, closed: bool, tolerances: LevelTolerances) -> bool:
    """Let bounds that cannot all be kept give way as little as they can: least squares of what is missing. Of a tree
    only the rows C, since its bounds can be kept always."""
    n, nz, count = len(x), N.shape[1], len(box.C)
    spare = count + (n if closed else 0)
    if not spare:
        return False
    H = np.diag(np.concatenate([np.full(nz, tolerances.slow), np.ones(spare)]))
    rows, low, high = [np.hstack([box.C @ N, np.eye(count, spare)])], [box.least - box.C @ x], [np.full(count, np.inf)]
    if closed:
        units = np.eye(spare)[count:]
        rows += [np.hstack([N, units]), np.hstack([N, -units])]
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
        solution = solve_qp(H, np.zeros(nz + spare), np.vstack(rows), np.concatenate(low), np.concatenate(high)).x
    except ConvergenceError:
        return False
    missing = solution[nz:] + 10.0 * tolerances.rows * float(np.abs(solution).max(initial=0.0))
    box.least = box.least - missing[:count]
    if closed:
        box.low, box.high = box.low - missing[count:], box.high + missing[count:]
    return True
