"""Ranges of the velocity of each dof in the next dt seconds: limits of position, velocity and acceleration by braking
distance.

    dt (v + (v - a dt) + (v - 2 a dt) + ...) <= room,    |v - v_before| <= a dt,    |v| <= fastest

The sum is the distance when every step from now on brakes by a dt. The speed that just stops at a limit is
followed by one that can be reached from it, so that a limit is reached at rest and without a jump; without a limit of
acceleration it is room / dt. Outside a limit a dof returns as fast as it may. Compiled code has the same
(`kinematics/speed_limits.hpp`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft.model.states.ranges import Ball, Ranges
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.whole_body.tolerances import BRAKES
from soacraft.spatial.checks import Array


class SpeedLimits(NamedTuple):
    """Limits by dof: the position of its coordinate in q (-1: it has none), its range, its largest speed; and balls
    whose angle is limited.
    """

    place: npt.NDArray[np.intp]
    lower: Array
    upper: Array
    fastest: Array
    balls: list[Ball]


def speed_limits(mb: Multibody, limits: bool = True) -> SpeedLimits:
    """Speed limits of a model; infinite where there is none."""
    ranges = Ranges(mb, limits)
    fastest = np.full(mb.nv, np.inf)
    for body, at in zip(mb.bodies, mb.layout.hinge_v, strict=True):
        if body._limits is not None and at.stop > at.start:
            fastest_of_body = np.asarray(body.limits.velocity, dtype=float)
            fastest[at] = np.where(fastest_of_body > 0.0, fastest_of_body, np.inf)
    return SpeedLimits(ranges.place, ranges.lower, ranges.upper, fastest, ranges.balls)


def braking_speed(room: Array, a: Array, dt: float) -> Array:
    """The fastest speed that still stops within some room, in steps of dt with a deceleration a.

    >>> import numpy as np
    >>> v = braking_speed(np.array([0.6]), np.array([1.0]), 0.1)
    >>> v, round(sum(max(v.item() - 0.1 * k, 0.0) * 0.1 for k in range(20)), 12)
    (array([1.04545455]), 0.6)
    """
    step = a * dt * dt
    with np.errstate(invalid="ignore", divide="ignore"):
        n = np.floor(0.5 * (np.sqrt(1.0 + 8.0 * room / step) - 1.0))
        speed = (room / dt + 0.5 * a * dt * n * (n + 1.0)) / (n + 1.0)
    return np.where(step == np.inf, room / dt, np.where(step > 0.0, speed, 0.0))


def row_braking_speed(J: Array, room: Array, a: Array, dt: float) -> Array:
    """Braking speed of rows J v, (rows), by the dofs that can brake them together, of which a part is taken: dofs have
    limits of their own to keep, and rows turn as they brake. Infinite where there is no room.
    """
    with np.errstate(invalid="ignore"):
        most = BRAKES * np.where(J != 0.0, np.abs(J) * a, 0.0).sum(axis=1)
    return np.where(room >= 0.0, braking_speed(np.maximum(room, 0.0), most, dt), np.inf)


def speed_range(
    limits: SpeedLimits, q: Array, dt: float, a: Array | None = None, before: Array | None = None
) -> tuple[Array, Array]:
    """The slowest and the fastest velocity of each dof, the velocities before being `before`."""
    a = np.full(len(limits.place), np.inf) if a is None else a
    before = np.zeros(len(a)) if before is None else before
    bounded, fastest = limits.place >= 0, limits.fastest
    x = np.where(bounded, q[limits.place], 0.0)
    up, down = np.where(bounded, limits.upper - x, np.inf), np.where(bounded, x - limits.lower, np.inf)
    high, low = _most(up, fastest, a, dt), -_most(down, fastest, a, dt)
    low = np.minimum(low, high)
    fast, slow = before + a * dt, before - a * dt
    # it cannot brake so hard: as hard as it can, but not through the limit
    late_up = np.where(up >= 0.0, np.minimum(slow, np.maximum(high, up / dt)), slow)
    late_down = np.where(down >= 0.0, np.maximum(fast, np.minimum(low, -down / dt)), fast)
    too_fast, too_slow = slow > high, ~(slow > high) & (fast < low)
    return (
        np.where(too_fast, late_up, np.where(too_slow, late_down, np.maximum(low, slow))),
        np.where(too_fast, late_up, np.where(too_slow, late_down, np.minimum(high, fast))),
    )


def _most(room: Array, fastest: Array, a: Array, dt: float) -> Array:
    """The largest speed towards a limit; less than zero outside of it."""
    inside = np.minimum(
        fastest, np.where(room == np.inf, np.inf, braking_speed(np.where(room > 0.0, room, 0.0), a, dt))
    )
    return np.where(room >= 0.0, inside, np.maximum(-fastest, room / dt))


def ball_rows(limits: SpeedLimits, q: Array, dt: float) -> tuple[Array, Array]:
    """Rows C v >= least that keep the angles of limited balls: along the turn so far it grows by u* omega."""
    rows, least = [], []
    for ball in limits.balls:
        w = ball.rotation(q)
        angle = float(np.linalg.norm(w))
        axes = np.vstack([np.eye(3), -np.eye(3)]) if angle == 0.0 else w[None] / angle
        for u in axes:
            row = np.zeros(len(limits.place))
            row[ball.v] = -u
            rows.append(row)
            least.append((angle - ball.largest) / dt / (1.0 if angle > 0.0 else np.sqrt(3.0)))
    return np.vstack([np.zeros((0, len(limits.place))), *rows]), np.array(least)
