"""One step of a control loop of the whole robot: velocities that do the tasks as well as limits let them.

    level by level:   min over v of  sum of weight^2 |J v - gain left - rate|^2 + (a little) |v|^2

with limits of position, velocity and acceleration as bounds, distances as rows, and what the levels before decided held
exactly (v = v_before + N z, N the null space of their rows). There is always an answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.errors import ConvergenceError, StateError
from soacraft.kinematics.qp import solve_qp
from soacraft.model.states.coordinates import read_q, read_v
from soacraft.model.states.ranges import Ranges
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.whole_body.tasks import Task
from soacraft.spatial.checks import Array, finite

#: Singular values of the rows of a level below this part of the largest leave their directions to the next level.
_RANK = 1e-9
#: Of |v|^2, relative to the largest of the level's cost: what no task asks for does not move.
_LITTLE = 1e-10


@dataclass(frozen=True, eq=False)
class Step:
    """Velocities of one step, and what they leave undone."""

    v: Array
    left: dict[str, float]
    """By task: the norm of J v - wanted, or by how much rows that are to be kept are broken."""
    at_limits: tuple[str, ...]
    """Dofs that a bound holds back."""

    def __repr__(self) -> str:
        worst = max(self.left.items(), key=lambda x: x[1], default=("", 0.0))
        held = f", held back: {', '.join(self.at_limits)}" if self.at_limits else ""
        return f"step: least done {worst[0]!r} (off by {worst[1]:.3g}){held}"


def step(
    mb: Multibody,
    tasks: Iterable[Task],
    q: Any,
    dt: float,
    v: Any = None,
    acceleration: Any = None,
    limits: bool = True,
) -> Step:
    """`Robot.velocity`."""
    if mb.is_closed:
        raise StateError(
            f"{mb.name!r} has loops or couplings: ask for velocities of its independent dofs with sc.loops, or ungrasp."
        )
    tasks = list(tasks)
    for x in tasks:
        if not isinstance(x, Task):
            raise StateError(f"a task is a Posture, a CenterOfMass, a Reaching(Placement(...)) ..., got {x!r:.60}.")
    dt = float(finite(dt, (), "dt", StateError))
    if not dt > 0.0:
        raise StateError(f"dt must be positive, in seconds; got {dt:g}.")
    q = read_q(mb, q)
    lower, upper = _bounds(mb, q, dt, limits)
    if acceleration is not None:
        most = np.broadcast_to(finite(acceleration, (...,), "acceleration", StateError), (mb.nv,)) * dt
        before = np.zeros(mb.nv) if v is None else read_v(mb, v)
        lower, upper = _within(lower, upper, before - most), _within(lower, upper, before + most)
    wanted = [(x, x.wanted(mb, q)) for x in tasks]
    C, low = _rows([x for x in wanted if x[0].kept], mb.nv)
    low = _reachable(C, low, lower, upper)
    found, N = _start(C, low, lower, upper), np.eye(mb.nv)
    held = np.zeros(mb.nv, dtype=bool)
    for level in sorted({x.level for x in tasks if not x.kept}):
        those = [(t, w) for t, w in wanted if t.level == level and not t.kept and len(w.J)]
        if not those or not N.shape[1]:
            continue
        sizes = [np.broadcast_to(w.size, w.left.shape) for _, w in those]
        J = np.vstack([t.weight * w.J / x[:, None] for (t, w), x in zip(those, sizes, strict=True)])
        r = np.concatenate([t.weight * _asked(t, w) / x for (t, w), x in zip(those, sizes, strict=True)])
        found, N, held = _solve(J, r, found, N, C, low, lower, upper)
    left: dict[str, float] = {}
    for t, w in wanted:
        name, k = w.name, 2
        while name in left:
            name, k = f"{w.name} ({k})", k + 1
        missed = (
            np.max(-t.gain * w.left - w.J @ found, initial=0.0)
            if t.kept
            else np.linalg.norm(w.J @ found - _asked(t, w))
        )
        left[name] = float(missed)
    names = tuple(mb.dof_names[i] for i in np.flatnonzero(held))
    return Step(found, left, names)


def _asked(t: Task, w: Any) -> Array:
    return np.asarray(t.gain * w.left + np.broadcast_to(np.asarray(t.rate, dtype=float), w.left.shape))


def _solve(
    J: Array, r: Array, x: Array, N: Array, C: Array, low: Array, lower: Array, upper: Array
) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
    """The best v = x + N z of a level, what of N does not change its rows, and the dofs whose bounds hold it back."""
    size = float(np.linalg.norm(J))
    U, s, Vt = np.linalg.svd(J @ N)
    rank = int((s > _RANK * size).sum())
    A = (U[:, :rank] * s[:rank]) @ Vt[:rank]
    none = np.zeros(len(x), dtype=bool)
    if not rank:
        return x, N, none
    H = A.T @ A
    H[np.diag_indices_from(H)] += _LITTLE * size**2 / len(H)
    rows = np.vstack([N, C @ N])
    # where x is at a bound up to rounding, it stays allowed
    least = np.minimum(np.concatenate([lower - x, low - C @ x]), 0.0)
    most = np.maximum(np.concatenate([upper - x, np.full(len(C), np.inf)]), 0.0)
    rest = N @ Vt[rank:].T
    try:
        z, y = solve_qp(H, A.T @ (J @ x - r), rows, least, most)
    except ConvergenceError:  # of rows that are nearly the same: what the levels before gave is an answer
        return x, rest, none
    held = np.abs(y[: len(x)]) > 1e-9 * max(float(np.abs(y).max(initial=0.0)), 1e-300)
    return np.clip(x + N @ z, lower, upper), rest, held


def _bounds(mb: Multibody, q: Array, dt: float, limits: bool) -> tuple[Array, Array]:
    """Velocities that keep the limits at the end of the step, or lead back to them as fast as is allowed."""
    fastest = np.full(mb.nv, np.inf)
    for body, at in zip(mb.bodies, mb.layout.hinge_v, strict=True):
        if body._limits is not None and at.stop > at.start:
            given = np.asarray(body.limits.velocity, dtype=float)
            fastest[at] = np.where(given > 0.0, given, np.inf)
    if not limits:
        return -fastest, fastest
    ranges = Ranges(mb)
    x = np.where(ranges.place >= 0, q[ranges.place], 0.0)
    room_up, room_down = (ranges.upper - x) / dt, (ranges.lower - x) / dt
    upper = np.where(room_up >= 0.0, np.minimum(fastest, room_up), np.maximum(-fastest, room_up))
    lower = np.where(room_down <= 0.0, np.maximum(-fastest, room_down), np.minimum(fastest, room_down))
    return np.minimum(lower, upper), upper


def _within(lower: Array, upper: Array, x: Array) -> Array:
    return np.asarray(np.minimum(np.maximum(x, lower), upper))


def _rows(kept: list[Any], nv: int) -> tuple[Array, Array]:
    if not kept:
        return np.zeros((0, nv)), np.zeros(0)
    return np.vstack([w.J for _, w in kept]), np.concatenate([-t.gain * w.left for t, w in kept])


def _reachable(C: Array, low: Array, lower: Array, upper: Array) -> Array:
    """How far rows C v >= low can be kept at all within the bounds, together: least squares of what is missing."""
    if not len(C):
        return low
    n, m = C.shape[1], len(C)
    scale = float(np.abs(C).max(initial=0.0)) or 1.0
    H = np.diag(np.concatenate([np.full(n, 1e-9 * scale**2), np.ones(m)]))
    rows = np.block([[np.eye(n), np.zeros((n, m))], [C, np.eye(m)], [np.zeros((m, n)), np.eye(m)]])
    bounds = np.concatenate([lower, low, np.zeros(m)]), np.concatenate([upper, np.full(2 * m, np.inf)])
    x = solve_qp(H, np.zeros(n + m), rows, *bounds).x
    missing = x[n:]
    return np.where(missing > 1e-9 * max(float(np.abs(low).max(initial=0.0)), 1e-300), low - missing, low)


def _start(C: Array, low: Array, lower: Array, upper: Array) -> Array:
    """The slowest velocities that keep bounds and rows."""
    slowest = np.minimum(np.maximum(0.0, lower), upper)
    if not len(C) or (C @ slowest >= low).all():
        return slowest
    n = C.shape[1]
    rows, slack = np.vstack([np.eye(n), C]), 1e-9 * (np.abs(low) + 1e-300)
    try:
        bounds = np.concatenate([lower, low - slack]), np.concatenate([upper, np.full(len(C), np.inf)])
        return np.clip(solve_qp(np.eye(n), np.zeros(n), rows, *bounds).x, lower, upper)
    except ConvergenceError:
        return slowest
