"""The fastest motion along a path within limits of velocity, acceleration and effort (TOPP-RA; Pham and Pham 2018).

Along a path effort is linear in the two numbers that are to be chosen at each point of it:

    T = a sddot + b sdot^2 + d sdot + c,    a = Mcal u,    b = Mcal u' + C(u, u),    c = T at rest,    d from dampers

a to d for all points are four batches of inverse dynamics. `toppra` chooses sdot on a grid; d sdot is put on its
tangent at the sdot of the last round. The motion is then checked everywhere, and the grid made finer, or the limits a
little tighter, until they hold.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import PPoly

from soacraft import dynamics as dyn
from soacraft.arguments import whole_number
from soacraft.errors import ConvergenceError, StateError
from soacraft.model.states.coordinates import read_q
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.motion.curves import Curve, require_tangent, straight
from soacraft.robot.motion.extras import package
from soacraft.robot.motion.limits import LimitCheck, MotionLimits, read_limits, require_tree
from soacraft.robot.motion.makers import rounded
from soacraft.robot.motion.motion import Motion
from soacraft.robot.robot import Robot
from soacraft.spatial.checks import Array, finite

#: Points of the first grid, and of the finest.
GRID, _FINEST = 200, 1600
#: Points of a grid that can be asked for.
_MOST_GRID = 1_000_000
#: Rounds of finer grids and tighter limits.
_ROUNDS = 10
#: A limit that is broken by more between the points of a grid asks for a finer one; by less, for a limit that is
#: tighter by so many times that.
_COARSE, _TIGHTER = 3e-3, {"velocity": 1.5, "acceleration": 1.5, "effort": 2.0}
#: Rounds in which the tangent of dampers settles.
_TANGENTS = 3
#: Points of a grid are 1/(1 - this) times as dense at its ends.
_DENSER = 0.9
#: Directions that differ by more than this at a knot are a corner, where the robot rests.
_CORNER = 1e-6
#: Part of the largest velocity at which dampers are linearized where the robot is nearly at rest.
_SLOW = 0.002


def time_optimal(
    robot: Robot, path: Any, limits: MotionLimits | None = None, *, blend: float = 0.2, grid: int = GRID
) -> Motion:
    """The fastest motion from rest to rest along a path, within limits of velocity, acceleration and effort, by default
    those of the model. What the robot holds counts.

    `path` is a `Motion`, whose curve is kept, or configurations (k, nq), joined by straight ways whose corners take
    `blend` of each; at corners (`blend=0`) the robot rests. The result holds the limits everywhere (`Motion.check`),
    not only on the grid; where that fails a `ConvergenceError` says by how much. Paths that leave the limits of
    position, robots that cannot hold still at an end, and closed chains with limits of effort are refused. O(grid n).

    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.serial_chain(1))
    >>> limits = sc.robot.MotionLimits.of(rb, acceleration=1.0)
    >>> round(sc.robot.time_optimal(rb, [[0.0], [1.0]], limits).duration, 3)    # 1/2 t^2 and back: 2 s
    2.0
    """
    if not isinstance(robot, Robot):
        raise StateError(f"a motion is of a Robot, got {robot!r:.60}.")
    mb = robot.mb
    require_tangent(mb)
    limits = read_limits(robot, limits)
    if np.isfinite(limits.effort).any():
        require_tree(mb)
    curve = _curve(robot, path, blend)
    count = whole_number(grid, "grid", 2, _MOST_GRID)
    parts = _parts(curve)
    tight = {"velocity": 1.0, "acceleration": 1.0, "effort": 1.0}
    check: LimitCheck | None = None
    for _ in range(_ROUNDS):
        laws = [_timed(robot, curve, s, limits, tight, count) for s in parts]
        motion = Motion(robot, curve, _joined(laws), mb.version)
        check = motion.check(limits)
        position = [x for x in check.rows if x.kind == "position"]
        if position and position[0].ratio > 1.0 + 1e-9:
            raise StateError(f"the path leaves the limits of position of {position[0].dof!r}: {position[0]!r}.")
        if check:
            return motion
        if max(x.ratio + x.slack for x in check.rows) - 1.0 > _COARSE and count < _FINEST:
            count = min(2 * count, _FINEST)
            continue
        for row in check.rows:
            if row.kind in tight and row.ratio + row.slack > 1.0:
                tight[row.kind] *= 1.0 - min(_TIGHTER[row.kind] * (row.ratio + row.slack - 1.0) + 1e-7, 0.5)
    assert check is not None
    raise ConvergenceError(
        f"after {_ROUNDS} rounds the fastest motion still breaks a limit: {check!r}. Give a finer grid."
    )


# -- the path --------------------------------------------------------------------------------------------------------


def _curve(robot: Robot, path: Any, blend: Any) -> Curve:
    mb = robot.mb
    if isinstance(path, Motion):
        if path.robot is not robot:
            raise StateError("path is a Motion of another robot; make it of this one.")
        path.at(0.0)  # stale motions are refused
        return path.curve
    q = read_q(mb, path, "path")
    if q.ndim != 2 or len(q) < 2:
        raise StateError(f"a path has at least two configurations, got an array of shape {q.shape}.")
    part = float(finite(blend, (), "blend", StateError))
    if not 0.0 <= part <= 0.5:
        raise StateError(f"blend is between 0 and 0.5, got {blend!r:.40}.")
    if (np.abs(np.asarray(mb.difference(q[:-1], q[1:]))).max(axis=1, initial=0.0) == 0.0).any():
        raise StateError("two configurations that follow each other are the same: leave one out.")
    return straight(mb, q) if part == 0.0 or len(q) == 2 else rounded(robot, q, np.full(len(q) - 2, part))


def _parts(curve: Curve) -> list[Array]:
    """Knots of the parts between corners."""
    h = np.diff(curve.s)
    before = curve.at(curve.s[1:-1] - 1e-9 * h[:-1]).u
    after = curve.at(curve.s[1:-1] + 1e-9 * h[1:]).u
    size = np.maximum(np.linalg.norm(before, axis=1), np.linalg.norm(after, axis=1))
    corners = 1 + np.flatnonzero(np.linalg.norm(before - after, axis=1) > _CORNER * size)
    return np.split(curve.s, corners) if not len(corners) else [
        curve.s[a : b + 1] for a, b in zip([0, *corners], [*corners, len(curve.s) - 1], strict=True)
    ]  # fmt: skip


# -- one part --------------------------------------------------------------------------------------------------------


class _Rows(NamedTuple):
    """lower <= a sddot + b sdot^2 + d sdot <= upper, (points, rows) each, and bounds of sdot^2, (points)."""

    a: Array
    b: Array
    d: Array
    lower: Array
    upper: Array
    fastest: Array


def _timed(
    robot: Robot, curve: Curve, knots: Array, limits: MotionLimits, tight: dict[str, float], count: int
) -> PPoly:
    """s(t) along one part, from rest to rest."""
    length = knots[-1] - knots[0]
    s = _grid(knots, count)
    inside = np.clip(s, knots[0] + 1e-9 * length, knots[-1] - 1e-9 * length)  # this side of a corner
    rows = _rows(robot.mb, curve, inside, limits, tight)
    unit = _time_of(rows) / length
    scaled = _Rows(
        rows.a / (unit**2 * length), rows.b / unit**2, rows.d / unit, rows.lower, rows.upper, rows.fastest * unit**2
    )
    r = (s - s[0]) / length
    speed = _solved(r, scaled, None)
    if scaled.d.any():
        for _ in range(_TANGENTS):
            speed = _solved(r, scaled, np.maximum(speed, _SLOW * speed.max()))
    sdot = speed / unit
    h = np.diff(s)
    dt = 2.0 * h / (sdot[:-1] + sdot[1:])
    sddot = (sdot[1:] ** 2 - sdot[:-1] ** 2) / (2.0 * h)
    return PPoly(np.array([0.5 * sddot, sdot[:-1], s[:-1]]), np.concatenate([[0.0], np.cumsum(dt)]))


def _grid(knots: Array, count: int) -> Array:
    """Points with all knots among them, closer together at the ends, where the velocity changes most with s."""
    r = np.linspace(0.0, 1.0, count + 1)
    even = knots[0] + (knots[-1] - knots[0]) * (r - _DENSER * np.sin(2.0 * np.pi * r) / (2.0 * np.pi))
    at = np.searchsorted(knots, even)
    near = np.minimum(np.abs(even - knots[np.maximum(at - 1, 0)]), np.abs(even - knots[np.minimum(at, len(knots) - 1)]))
    gap = np.gradient(even)
    return np.sort(np.concatenate([even[near > 0.3 * gap], knots]))


def _rows(mb: Multibody, curve: Curve, s: Array, limits: MotionLimits, tight: dict[str, float]) -> _Rows:
    q, u, du = curve.at(s)
    with np.errstate(divide="ignore"):
        fastest = np.min(np.where(u != 0.0, limits.velocity * tight["velocity"] / np.abs(u), np.inf), axis=1)
    some = np.flatnonzero(np.isfinite(limits.acceleration))
    most = np.broadcast_to(limits.acceleration[some] * tight["acceleration"], (len(s), len(some)))
    a, b, d = [u[:, some] / most], [du[:, some] / most], [np.zeros_like(most)]
    lower, upper = [-np.ones_like(most)], [np.ones_like(most)]
    strong = np.flatnonzero(np.isfinite(limits.effort))
    if len(strong):
        rest = np.zeros_like(u)
        c = np.asarray(dyn.inverse_dynamics(mb, q, rest, rest))
        inertial = np.asarray(dyn.inverse_dynamics(mb, q, rest, u)) - c
        forth, back = (np.asarray(dyn.inverse_dynamics(mb, q, v, du)) - c for v in (u, -u))
        L, c = limits.effort[strong], c[:, strong]
        _require_held(mb, strong, c, L)
        a.append(inertial[:, strong] / L)
        b.append(0.5 * (forth + back)[:, strong] / L)
        damped = 0.5 * (forth - back)[:, strong] / L
        d.append(np.where(np.abs(damped) > 1e-12 * np.abs(damped).max(initial=1e-300), damped, 0.0))
        low, high = -1.0 - c / L, 1.0 - c / L
        room = tight["effort"]  # of the effort beyond the force at rest, where that leaves any
        lower.append(np.where(low <= 0.0, room * low, low))
        upper.append(np.where(high >= 0.0, room * high, high))
    arrays = [np.concatenate(x, axis=1) for x in (a, b, d, lower, upper)]
    if not arrays[0].shape[1] and not np.isfinite(fastest).any():
        raise StateError(
            "nothing limits the motion: give limits of velocity, acceleration or effort, as "
            "MotionLimits.of(robot, velocity=...)."
        )
    return _Rows(arrays[0], arrays[1], arrays[2], arrays[3], arrays[4], fastest**2)


def _require_held(mb: Multibody, strong: Any, c: Array, limit: Array) -> None:
    for k, moment in ((0, "beginning"), (-1, "end")):
        over = np.abs(c[k]) / limit
        i = int(np.argmax(over))
        if over[i] > 1.0:
            raise StateError(
                f"dof {mb.dof_names[strong[i]]!r} would need {abs(c[k, i]):.4g} to hold still at the {moment} of the "
                f"path, and its limit of effort is {limit[i]:.4g}: take a lighter load, another configuration, or a "
                "larger limit."
            )


def _time_of(rows: _Rows) -> float:
    """A time in which s goes by about one unit, to scale by."""
    fast = rows.fastest[np.isfinite(rows.fastest)]
    times = [float(1.0 / np.sqrt(fast.min()))] if len(fast) and fast.min() > 0.0 else []
    if rows.a.shape[1]:
        room = np.maximum(np.minimum(-rows.lower, rows.upper), 1e-3)
        times.append(float(np.sqrt(np.max((np.abs(rows.a) + np.abs(rows.b)) / room))))
    return max(times, default=1.0) or 1.0


def _solved(r: Array, rows: _Rows, around: Array | None) -> Array:
    """sdot at the points r of [0, 1], in units in which all numbers are of size one."""
    constraint, algorithm = package("toppra.constraint", "time_optimal"), package("toppra.algorithm", "time_optimal")
    b, lower, upper = rows.b, rows.lower, rows.upper
    if around is not None:  # sdot <= (sdot^2 / w + w) / 2
        b = b + 0.5 * rows.d / around[:, None]
        lower, upper = (x - 0.5 * rows.d * around[:, None] for x in (lower, upper))
    constraints = []
    if rows.a.shape[1]:
        constraints.append(_linear(constraint, rows.a, b, lower, upper))
    bounds = np.stack([np.zeros(len(r)), np.minimum(rows.fastest, 1e8)], axis=1)
    constraints.append(_bounded(constraint, bounds))
    u = algorithm.TOPPRA(constraints, _Line(), gridpoints=r, solver_wrapper="seidel").compute_parameterization(0.0, 0.0)
    if u[1] is None or not np.isfinite(u[1]).all() or (u[1][:-1] + u[1][1:] <= 0.0).any():
        raise StateError(
            "no timing keeps the limits along this path: somewhere on it the robot can neither hold still nor pass. "
            "Take a lighter load, another path, or larger limits of effort."
        )
    return np.asarray(u[1])


class _Line:
    """Attributes that `toppra` reads of a path, other than the rows."""

    path_interval = np.array([0.0, 1.0])
    duration, dof = 1.0, 1


def _linear(constraint: Any, a: Array, b: Array, lower: Array, upper: Array) -> Any:
    class Rows(constraint.LinearConstraint):  # type: ignore[misc]
        """Rows that are known at the points of the grid."""

        def __init__(self) -> None:
            super().__init__()
            self.set_discretization_type(1)

        def compute_constraint_params(self, path: Any, gridpoints: Array) -> Any:
            eye = np.eye(a.shape[1])
            F = np.broadcast_to(np.concatenate([eye, -eye]), (len(a), 2 * len(eye), len(eye)))
            g = np.concatenate([upper, -lower], axis=1)
            return package("toppra.constraint.linear_constraint", "time_optimal").canlinear_colloc_to_interpolate(
                a, b, np.zeros_like(a), F, g, None, None, gridpoints
            )

    return Rows()


def _bounded(constraint: Any, bounds: Array) -> Any:
    class Bounds(constraint.LinearConstraint):  # type: ignore[misc]
        """Bounds of sdot^2."""

        def compute_constraint_params(self, path: Any, gridpoints: Array) -> Any:
            return None, None, None, None, None, None, bounds

    return Bounds()


def _joined(laws: list[PPoly]) -> PPoly:
    times, c, start = [np.zeros(1)], [], 0.0
    for law in laws:
        c.append(law.c)
        times.append(start + law.x[1:])
        start += float(law.x[-1])
    return PPoly(np.concatenate(c, axis=1), np.concatenate(times))
