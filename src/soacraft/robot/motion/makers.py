"""Motions through configurations: minimum-jerk, splines, and straight ways with rounded corners."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.interpolate import CubicSpline, PPoly, make_interp_spline

from soacraft.errors import StateError
from soacraft.model.states.coordinates import read_q, read_v
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.motion.curves import Curve, hermite, knots, require_tangent, sized, straight
from soacraft.robot.motion.motion import Motion
from soacraft.robot.robot import Robot
from soacraft.spatial.checks import Array, finite

#: 10 r^3 - 15 r^4 + 6 r^5, highest power first.
_MINIMUM_JERK = np.array([6.0, -15.0, 10.0, 0.0, 0.0, 0.0])


def minimum_jerk(robot: Robot, q0: Any, q1: Any, duration: Any) -> Motion:
    """Motion from rest at q0 to rest at q1, straight in the tangent, with the least integral of squared jerk (Flash and
    Hogan 1985):

        q(t) = q0 exp(s d),   d = difference(q0, q1),   s = 10 r^3 - 15 r^4 + 6 r^5,   r = t / duration

    q1 may be several configurations, (k, nq): the robot rests at each, and `duration` is then one for all ways
    together, shared by their lengths, or one for each. Every way is one that `World.edge` judges. O(n).

    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.serial_chain(1))
    >>> sc.robot.minimum_jerk(rb, [0.0], [1.0], 2.0).at(1.0).v            # 15/8 of the mean velocity
    array([0.9375])
    """
    mb = _model(robot)
    start, ends = read_q(mb, q0, "q0"), np.atleast_2d(read_q(mb, q1, "q1"))
    if start.ndim != 1 or ends.ndim != 2 or not len(ends):
        raise StateError(
            f"a motion goes from one configuration to one or several (k, nq), got shapes {start.shape}, {ends.shape}."
        )
    q = np.concatenate([start[None], ends])
    curve = straight(mb, q)
    times = finite(duration, (...,), "duration", StateError)
    if times.shape not in ((), (len(ends),)) or not (times > 0.0).all():
        raise StateError(f"duration is a positive number, or one for each of {len(ends)} ways; got {duration!r:.60}.")
    if not times.shape:
        ways = np.linalg.norm(sized(mb, curve.c[:, 1]), axis=1)
        share = ways / ways.sum() if ways.sum() > 0.0 else np.full(len(ways), 1.0 / len(ways))
        if (share == 0.0).any():
            raise StateError("two configurations that follow each other are the same: leave one out.")
        times = times * share
    return Motion(robot, curve, _rests(times), mb.version)


def _rests(times: Array) -> PPoly:
    """s(t) that rests at every integer, with so many seconds between them."""
    c = _MINIMUM_JERK[:, None] / times ** np.arange(5, -1, -1)[:, None]
    c[-1] = np.arange(len(times))
    return PPoly(c, np.concatenate([[0.0], np.cumsum(times)]))


def spline(
    robot: Robot, q: Any, times: Any, *, degree: int = 3, start: Any = None, end: Any = None, natural: bool = False
) -> Motion:
    """A cubic or quintic spline through configurations (k, nq) at times (k), the first of which is 0.

    `start` and `end` are velocities (nv) there, by default zero; a quintic has zero accelerations there too.
    `natural=True` leaves the ends of a cubic without acceleration instead. Coordinates are splines as scipy has them;
    for spherical and free hinges velocities and accelerations at the knots are those of a spline through the rotation
    vectors laid end to end, and between them quintics in the tangent meet both. O(k n).

    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.serial_chain(1))
    >>> sc.robot.spline(rb, [[0.0], [1.0], [0.0]], [0.0, 1.0, 2.0]).at([1.0, 2.0]).q
    array([[1.],
           [0.]])
    """
    mb = _model(robot)
    q = read_q(mb, q)
    t = knots(finite(times, (None,), "times", StateError), "times")
    if q.ndim != 2 or len(q) != len(t):
        raise StateError(f"spline takes one configuration for each of {len(t)} times, got q of shape {q.shape}.")
    if abs(t[0]) > 0.0:
        raise StateError(f"times begin with 0, got {t[0]:g}.")
    if degree not in (3, 5):
        raise StateError(f"degree is 3 or 5, got {degree!r:.40}.")
    if natural and (degree == 5 or start is not None or end is not None):
        raise StateError("natural=True is for a cubic whose velocities at the ends are not given.")
    v0, v1 = (np.zeros(mb.nv) if x is None else read_v(mb, x, what) for x, what in ((start, "start"), (end, "end")))
    x = np.concatenate([np.zeros((1, mb.nv)), np.cumsum(mb.difference(q[:-1], q[1:]), axis=0)])
    curve: Any
    ends: Any
    if degree == 3:
        curve = CubicSpline(t, x, bc_type="natural" if natural else ((1, v0), (1, v1)))
        u, du = curve(t, 1), curve(t, 2)
    else:
        zero = np.zeros(mb.nv)
        ends = [(1, v0), (2, zero)], [(1, v1), (2, zero)]
        curve = make_interp_spline(t, x, k=5, bc_type=ends)
        u, du = curve(t, nu=1), curve(t, nu=2)
    return Motion(robot, hermite(mb, t, q, np.asarray(u), np.asarray(du)), _as_time(t), mb.version)


def polyline(robot: Robot, q: Any, duration: Any, *, blend: float = 0.0) -> Motion:
    """Straight ways through configurations (k, nq), in one sweep from rest to rest with the minimum-jerk law along the
    whole. Corners are rounded: `blend`, between 0 and 0.5, is the part of each of the two ways that a corner takes.
    Without any the robot rests at every configuration. O(k n).

    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.serial_chain(2))
    >>> motion = sc.robot.polyline(rb, [[0, 0], [1, 0], [1, 1.0]], 3.0, blend=0.25)
    >>> motion.at([0.0, 3.0]).q
    array([[0., 0.],
           [1., 1.]])
    """
    mb = _model(robot)
    q = read_q(mb, q)
    if q.ndim != 2 or len(q) < 2:
        raise StateError(f"a polyline goes through at least two configurations, got q of shape {q.shape}.")
    part = float(finite(blend, (), "blend", StateError))
    if not 0.0 <= part <= 0.5:
        raise StateError(f"blend is between 0 and 0.5, got {blend!r:.40}.")
    if part == 0.0 or len(q) == 2:
        return minimum_jerk(robot, q[0], q[1:], duration)
    curve = rounded(robot, q, np.full(len(q) - 2, part))
    T = float(finite(duration, (), "duration", StateError))
    if not T > 0.0:
        raise StateError(f"duration is a positive number, got {duration!r:.60}.")
    return Motion(robot, curve, _swept(curve, T), mb.version)


def rounded(robot: Robot, q: Array, part: Array) -> Curve:
    """The curve of straight ways whose corners are rounded: in corner i, the part `part[i]` of the ways before and
    after it are replaced by a quintic that joins them with continuous first and second derivative. Ways are as long in
    s as in the tangent."""
    mb = robot.mb
    d = np.asarray(mb.difference(q[:-1], q[1:]))
    way = np.linalg.norm(sized(mb, d), axis=1)
    if not (way > 0.0).all():
        raise StateError("two configurations that follow each other are the same: leave one out.")
    u = d / way[:, None]
    at, points, speed = [0.0], [q[0]], [u[0]]
    for i in range(1, len(q) - 1):
        r = float(part[i - 1])
        before = at[-1] + way[i - 1] * (1.0 - r - (part[i - 2] if i > 1 else 0.0))
        if before > at[-1] + 1e-9 * way[i - 1]:
            at.append(before)
            points.append(np.asarray(mb.integrate(q[i - 1], (1.0 - r) * d[i - 1])))
            speed.append(u[i - 1])
        at.append(at[-1] + r * (way[i - 1] + way[i]))
        points.append(np.asarray(mb.integrate(q[i], r * d[i])))
        speed.append(u[i])
    last = at[-1] + way[-1] * (1.0 - part[-1])
    if last > at[-1] + 1e-9 * way[-1]:
        at.append(last)
        points.append(q[-1])
        speed.append(u[-1])
    return hermite(mb, np.array(at), np.array(points), np.array(speed), np.zeros((len(at), mb.nv)))


def _swept(curve: Curve, T: float) -> PPoly:
    """The minimum-jerk law along a curve as a whole, with a knot at every one of the curve."""
    r = (curve.s - curve.s[0]) / curve.length
    profile = np.polynomial.Polynomial(_MINIMUM_JERK[::-1])
    t = np.array([_inverse(profile, x) for x in r])
    t[0], t[-1] = 0.0, 1.0
    pieces = [_shifted(profile, x) for x in t[:-1]]
    c = np.array(pieces).T[::-1] * curve.length / T ** np.arange(5, -1, -1)[:, None]
    c[-1] = curve.s[:-1]
    return PPoly(c, t * T)


def _inverse(p: np.polynomial.Polynomial, value: float) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if p(middle) < value else (low, middle)
    return 0.5 * (low + high)


def _shifted(p: np.polynomial.Polynomial, x: float) -> npt.NDArray[np.float64]:
    """Coefficients of p(x + h), lowest power first."""
    coefficients, scale = [], 1.0
    for i in range(6):
        coefficients.append(float(p(x)) / scale)
        p, scale = p.deriv(), scale * (i + 1)
    return np.array(coefficients)


def _as_time(t: Array) -> PPoly:
    """s = t."""
    return PPoly(np.array([np.ones(len(t) - 1), t[:-1]]), t)


def _model(robot: Robot) -> Multibody:
    if not isinstance(robot, Robot):
        raise StateError(f"a motion is of a Robot, got {robot!r:.60}.")
    require_tangent(robot.mb)
    return robot.mb
