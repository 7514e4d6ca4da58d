"""Limits of motions, and the nearest that a motion comes to them anywhere on its way, between samples too.

On each piece a quantity is expanded in Chebyshev polynomials of the time, f = sum over k of c_k cos(k theta); its
largest value is found by Newton's method from a fine grid in theta. For polynomials this is exact; for others (effort)
the last coefficients bound the neglected part, and pieces are halved until that is small (Trefethen 2013).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from soacraft import dynamics as dyn
from soacraft.errors import StateError, near
from soacraft.kinematics.rows import Constraints
from soacraft.model.hinges.base import difference_of
from soacraft.model.sizes.lengths import length_of
from soacraft.model.states.coordinates import in_graph_order
from soacraft.model.states.ranges import Ball, Ranges
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.robot import Robot
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.robot.motion.motion import Moment, Motion

#: Nodes of a piece, and points of the grid on which its largest value is first looked for.
_NODES, _GRID = 16, 129
#: Pieces are halved while more than this part of the limit is left out, so many times at most.
_LEFT_OUT, _HALVINGS = 1e-9, 8
#: Bound of the rise of a series of size one between points of the grid: 1 - cos(15 pi/256) = 0.017.
_BETWEEN = 0.02
#: Default of the largest opening of loops on the way, in radians or parts of their length.
OPENING = 1e-3
#: A ratio above one by less is rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """Limits by dof, (nv) each, infinite where there is none; `lower` and `upper` of positions, the others magnitudes.

    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.load("panda"))
    >>> sc.robot.MotionLimits.of(rb, velocity=2.0, effort={"joint1": 87.0}).effort
    array([87., inf, inf, inf, inf, inf, inf])
    """

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    jerk: Array
    effort: Array
    balls: bool = True
    """True if largest angles of spherical hinges are kept."""
    opening: float = OPENING
    """Largest opening of loops and couplings on the way, in radians or parts of their length."""

    @classmethod
    def of(
        cls,
        robot: Robot,
        *,
        velocity: Any = None,
        acceleration: Any = None,
        jerk: Any = None,
        effort: Any = None,
        position: bool = True,
        opening: float = OPENING,
    ) -> MotionLimits:
        """Limits of the model, with others in place of some: a number, one for each dof, or `{dof: number}`. Models
        have no limits of acceleration and jerk. `position=False` leaves those of position out. `opening` limits the
        opening of loops and couplings on the way, in radians or parts of their length; `np.inf` leaves that out.
        """
        if not isinstance(robot, Robot):
            raise StateError(f"limits are of a Robot, got {robot!r:.60}.")
        mb = robot.mb
        of_model = {"velocity": np.full(mb.nv, np.inf), "effort": np.full(mb.nv, np.inf)}
        for body, v in zip(mb.bodies, mb.layout.hinge_v, strict=True):
            if body.hinge.nv and body._limits is not None:
                for name, to in of_model.items():
                    to[v] = getattr(body.limits, name)
        limits = {
            "velocity": _given(mb, velocity, "velocity", of_model["velocity"]),
            "acceleration": _given(mb, acceleration, "acceleration", np.full(mb.nv, np.inf)),
            "jerk": _given(mb, jerk, "jerk", np.full(mb.nv, np.inf)),
            "effort": _given(mb, effort, "effort", of_model["effort"]),
        }
        ranges = Ranges(mb, position)
        gap = float(_numbers(opening, "opening", 1, ((),)))
        if not gap > 0.0:
            raise StateError(f"opening= must be positive, got {opening!r:.40}.")
        return cls(ranges.lower, ranges.upper, **limits, balls=position, opening=gap)


def _given(mb: Multibody, value: Any, what: str, rest: Array) -> Array:
    if value is None:
        return rest
    if isinstance(value, Mapping):
        limits = rest.copy()
        for name, x in value.items():
            if name not in mb.dof_names:
                raise StateError(f"{what}: there is no dof {name!r:.60}{near(str(name), mb.dof_names)}")
            limits[mb.dof_names.index(name)] = _numbers(x, what, mb.nv, ((),))
    else:
        value = in_graph_order(mb, value, f"the limit of {what}")
        limits = np.array(np.broadcast_to(_numbers(value, what, mb.nv, ((), (mb.nv,))), (mb.nv,)))
    if not (limits > 0.0).all():
        i = int(np.argmin(limits > 0.0))
        raise StateError(f"the limit of {what} of dof {mb.dof_names[i]!r} must be positive, got {limits[i]:g}.")
    return limits


def _numbers(value: Any, what: str, count: int, shapes: tuple[tuple[int, ...], ...]) -> Array:
    """Real numbers of one of some shapes, which may be infinite."""
    try:
        array = np.asarray(value)
    except ValueError:
        array = np.array(None)
    if array.dtype.kind not in "iuf" or array.shape not in shapes:
        raise StateError(f"limits of {what} are a number, {count} numbers or {{dof: number}}; got {value!r:.60}.")
    return np.asarray(array, dtype=float)


def read_limits(robot: Robot, limits: Any) -> MotionLimits:
    """Limits that were given for a robot, or its own."""
    if limits is None:
        return MotionLimits.of(robot)
    if not isinstance(limits, MotionLimits) or limits.velocity.shape != (robot.mb.nv,):
        raise StateError(
            f"limits= of {robot.mb.name!r} are a MotionLimits.of(robot) of its {robot.mb.nv} dofs, got {limits!r:.60}."
        )
    return limits


@dataclass(frozen=True, eq=False)
class Worst:
    """The nearest that a motion comes to a kind of limit."""

    kind: str
    """"position", "velocity", "acceleration", "effort" or "closure"."""
    dof: str
    """Or the loop or coupling."""
    time: float
    ratio: float
    """1 at the limit. Of positions: the distance from the middle of the range by half of it; where there is one limit
    alone, or no room between two, 1 plus what is beyond it in radians or lengths of the model; of a ball, half of 1
    plus the squared part of its largest angle; of a closure the same of what it may be open by."""
    slack: float
    """Bound on how much larger the ratio may be; zero where it is exact."""

    def __repr__(self) -> str:
        of = "" if self.kind in ("position", "closure") else "that of "
        more = f" (+ {self.slack:.1g})" if self.slack > ROUNDING else ""
        return f"{self.kind} {self.ratio:.6g}{more} of {of}{self.dof} at t = {self.time:.4g} s"


@dataclass(frozen=True, eq=False)
class LimitCheck:
    """Result of `Motion.check`, a row for each kind of limit that there is; true where all hold."""

    rows: tuple[Worst, ...]

    @property
    def ratio(self) -> float:
        """The largest of all; above one a limit is broken. Zero where there are no limits."""
        return max((x.ratio + x.slack for x in self.rows), default=0.0)

    def __bool__(self) -> bool:
        return self.ratio <= 1.0 + ROUNDING

    def __getitem__(self, kind: str) -> Worst:
        """The row of a kind."""
        for row in self.rows:
            if row.kind == kind:
                return row
        raise StateError(f"no limit of {kind!r:.40} was checked{near(str(kind), [x.kind for x in self.rows])}")

    def __repr__(self) -> str:
        if not self.rows:
            return "there are no limits"
        return f"{'within limits' if self else 'NOT within limits'}: " + "; ".join(map(repr, self.rows))


def checked(motion: Motion, limits: MotionLimits) -> LimitCheck:
    """`Motion.check`."""
    rows = []
    for kind, (names, of) in _ratios(motion.robot.mb, limits).items():
        if names:
            value, time, column, slack = _largest(motion, of)
            rows.append(Worst(kind, names[column], time, value, slack))
    return LimitCheck(tuple(rows))


_Ratio = tuple[list[str], "Callable[[Moment], Array]"]


def _ratios(mb: Multibody, limits: MotionLimits) -> dict[str, _Ratio]:
    """Names of the dofs that are limited, and ratios that must be at most one, (times, names), by kind."""
    kinds = {"position": _positions(mb, limits)}
    for kind, field in (("velocity", "v"), ("acceleration", "vdot")):
        kinds[kind] = _both(mb, getattr(limits, kind), _part(field))
    if np.isfinite(limits.effort).any():
        require_tree(mb)
    kinds["effort"] = _both(mb, limits.effort, lambda m: np.asarray(dyn.inverse_dynamics(mb, *m)))
    kinds["closure"] = _closures(mb, limits.opening)
    return kinds


def _closures(mb: Multibody, opening: float) -> _Ratio:
    """Loops and couplings that are active, by how much they are open."""
    at = Constraints(mb, mb.current)
    names = [x.name for x in at.loops for _ in range(2)] + [x.name for x in at.couplings] if mb.is_closed else []

    def of(m: Moment) -> Array:
        rows = []
        for q in m.q:
            at = Constraints(mb, mb.state(q=q))
            gaps = [gap for x in at.loops for gap in (x.angle, x.distance / x.length)]
            rows.append([*gaps, *(x.opening for x in at.couplings)])
        return 0.5 + 0.5 * np.square(np.array(rows) / opening)

    return (names if np.isfinite(opening) else []), of


def _positions(mb: Multibody, limits: MotionLimits) -> _Ratio:
    ranges = Ranges(mb)
    units = np.array([1.0 if u == "r" else length_of(mb) or 1.0 for u in "".join(mb.layout.units.hinge)])
    wide = np.isfinite(limits.upper - limits.lower) & (limits.upper - limits.lower > ROUNDING * units)
    two = np.flatnonzero(wide)
    below, above = (np.flatnonzero(np.isfinite(x) & ~wide) for x in (limits.lower, limits.upper))
    half = 0.5 * (limits.upper[two] - limits.lower[two])
    middle, one = limits.lower[two] + half, np.concatenate([below, above])
    end = np.concatenate([limits.lower[below], limits.upper[above]])
    side = np.repeat([-1.0, 1.0], [len(below), len(above)])
    balls = ranges.balls if limits.balls else []

    def of(m: Moment) -> Array:
        inside = (m.q[:, ranges.place[two]] - middle) / half
        beyond = side * (m.q[:, ranges.place[one]] - end) / units[one]
        turns = [np.sum(np.square(_turn(x, m.q)), axis=1) / x.largest**2 for x in balls]
        return np.concatenate([inside, -inside, 1.0 + beyond, *(0.5 + 0.5 * x[:, None] for x in turns)], axis=1)

    names = [mb.dof_names[i] for i in (*two, *two, *one)] + [x.name for x in balls]
    return names, of


def _turn(ball: Ball, q: Array) -> Array:
    """The rotation vector of a ball."""
    return np.asarray(difference_of(ball.hinge, np.asarray(ball.hinge.neutral()), q[:, ball.q]))


def _both(mb: Multibody, limit: Array, of: Callable[[Moment], Array]) -> _Ratio:
    """Limits of either sign."""
    places = np.flatnonzero(np.isfinite(limit))

    def ratio(m: Moment) -> Array:
        x = of(m)[:, places] / limit[places]
        return np.concatenate([x, -x], axis=1)

    return [mb.dof_names[i] for i in (*places, *places)], ratio


def _part(field: str) -> Callable[[Moment], Array]:
    return lambda m: np.asarray(getattr(m, field))


def require_tree(mb: Multibody) -> None:
    """Effort is that of a tree."""
    if mb.is_closed:
        raise StateError(
            f"{mb.name!r} has loops or couplings, whose efforts are not determined by the motion alone: put the motion "
            "through inverse_dynamics of a solver of sc.loops, or give effort=np.inf to leave it out."
        )


# -- the largest value on the way ------------------------------------------------------------------------------------

_THETA = np.pi * (np.arange(_NODES) + 0.5) / _NODES
_TO_SERIES = 2.0 / _NODES * np.cos(np.outer(np.arange(_NODES), _THETA))
_TO_SERIES[0] *= 0.5
_GRID_THETA = np.linspace(0.0, np.pi, _GRID)
_ON_GRID = np.cos(np.outer(_GRID_THETA, np.arange(_NODES)))


def _largest(motion: Motion, of: Callable[[Moment], Array]) -> tuple[float, float, int, float]:
    """The largest of some columns over a motion: value, time, column, what may be left out."""
    low, high = motion.knots[:-1], motion.knots[1:]
    best = (-np.inf, 0.0, 0, 0.0)
    for halving in range(_HALVINGS + 1):
        t = 0.5 * (low + high)[:, None] + 0.5 * (high - low)[:, None] * np.cos(_THETA)
        f = of(motion.moments(t.reshape(-1))).reshape(len(low), _NODES, -1)
        c = np.einsum("kn,pnd->pkd", _TO_SERIES, f)
        remainder = np.abs(c[:, -2:]).sum(axis=1).max(axis=1)
        ready = remainder <= _LEFT_OUT if halving < _HALVINGS else np.ones(len(low), dtype=bool)
        if ready.any():
            best = max(best, _peak(c[ready], low[ready], high[ready], remainder[ready]), key=lambda x: x[0] + x[3])
        low, high = low[~ready], high[~ready]
        if not len(low):
            break
        middle = 0.5 * (low + high)
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    return best


def _peak(c: Array, low: Array, high: Array, remainder: Array) -> tuple[float, float, int, float]:
    values = np.einsum("gk,pkd->pgd", _ON_GRID, c)
    most, size = float(values.max()), np.abs(c).sum(axis=1)[:, None, :]
    around = np.pad(values, ((0, 0), (1, 1), (0, 0)), mode="edge")
    peak = (values >= around[:, :-2]) & (values >= around[:, 2:]) & (values >= most - _BETWEEN * size)
    piece, at, column = np.nonzero(peak)
    theta, k = _GRID_THETA[at], np.arange(_NODES)
    series, step = c[piece, :, column], np.pi / (_GRID - 1)
    start = theta
    for _ in range(6):  # Newton's method for f' = 0, kept between the neighbours on the grid
        slope = -(series * k * np.sin(np.outer(theta, k))).sum(axis=1)
        bend = -(series * k**2 * np.cos(np.outer(theta, k))).sum(axis=1)
        move = np.where(bend != 0.0, -slope / np.where(bend != 0.0, bend, 1.0), 0.0)
        theta = np.clip(theta + move, np.maximum(start - step, 0.0), np.minimum(start + step, np.pi))
    top = (series * np.cos(np.outer(theta, k))).sum(axis=1)
    better = top > values[piece, at, column]
    top, theta = np.where(better, top, values[piece, at, column]), np.where(better, theta, start)
    i = int(np.argmax(top + remainder[piece]))
    a, b = low[piece[i]], high[piece[i]]
    slack = float(remainder[piece[i]])
    time = float(0.5 * (a + b) + 0.5 * (b - a) * np.cos(theta[i]))
    return float(top[i]), time, int(column[i]), slack if slack > _LEFT_OUT else 0.0
