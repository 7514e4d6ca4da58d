"""`Motion`: a curve through configurations and a law s(t) along it; q, v and vdot at any time.

q = q(s(t)),    v = u(s) sdot,    vdot = u'(s) sdot^2 + u(s) sddot
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.interpolate import PPoly

from soacraft.errors import StaleError, StateError
from soacraft.robot.motion.curves import Curve
from soacraft.robot.motion.limits import LimitCheck, MotionLimits, checked, read_limits
from soacraft.spatial.checks import Array, finite

if TYPE_CHECKING:
    from soacraft.robot.robot import Robot

#: A time past an end by less than this part of the duration is at the end.
_END = 1e-9


class Moment(NamedTuple):
    """State of a motion at a time, with the leading axes of the times."""

    q: Array
    v: Array
    vdot: Array


@dataclass(frozen=True, eq=False)
class Motion:
    """A motion of a robot, made by `minimum_jerk`, `spline`, `polyline` or `time_optimal`.

    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.serial_chain(2))
    >>> motion = sc.robot.minimum_jerk(rb, [0.0, 0.0], [1.0, -0.5], duration=2.0)
    >>> motion.at(1.0).q, motion.at([0.5, 1.5]).v[:, 0]
    (array([ 0.5 , -0.25]), array([0.52734375, 0.52734375]))
    """

    robot: Robot
    curve: Curve
    law: PPoly
    """s(t), a polynomial for each piece; each knot of the curve is one of its."""
    version: int
    """Version of the model's structure."""

    @property
    def duration(self) -> float:
        """Duration in seconds."""
        return float(self.law.x[-1])

    @property
    def knots(self) -> Array:
        """Times between which the motion is smooth, (k)."""
        return np.asarray(self.law.x)

    def at(self, t: Any) -> Moment:
        """q (..., nq), v and vdot (..., nv) at times within the motion (...). At a knot where vdot jumps, that after
        it. O(times n)."""
        times = finite(t, (...,), "t", StateError)
        T = self.duration
        if times.size and (times.min() < -_END * T or times.max() > (1.0 + _END) * T):
            wrong = float(times.min() if times.min() < -_END * T else times.max())
            raise StateError(
                f"t = {wrong:.6g} s is outside the motion, which goes from 0 to {T:.6g} s; clip it: np.clip(t, 0, "
                "motion.duration)."
            )
        flat = np.clip(times.reshape(-1), 0.0, T)
        q, v, vdot = self.moments(flat)
        nq, nv = q.shape[1], v.shape[1]
        shape = times.shape
        return Moment(q.reshape(*shape, nq), v.reshape(*shape, nv), vdot.reshape(*shape, nv))

    def moments(self, t: Array) -> Moment:
        """State at times (m) that are known to be within the motion."""
        if self.robot.mb.version != self.version:
            raise StaleError("the motion is of the robot as it was before it changed: make it again.")
        s = np.clip(np.asarray(self.law(t)), self.curve.s[0], self.curve.s[-1])
        sdot, sddot = (np.asarray(self.law(t, i))[:, None] for i in (1, 2))
        q, u, du = self.curve.at(s)
        return Moment(q, u * sdot, du * sdot**2 + u * sddot)

    def check(self, limits: MotionLimits | None = None) -> LimitCheck:
        """Check position, velocity, acceleration and effort against limits, by default the model's, anywhere on the
        way: the worst of each with its dof and time. True where all hold.

        Between knots each quantity is a Chebyshev series, exact where it is a polynomial of degree 15 at most (all but
        effort, and velocities of quaternion hinges on curved pieces); else the pieces are halved until the neglected
        part is below 1e-9 of the limit, and the rest is `slack`. Effort is inverse dynamics of the robot with the
        objects it holds. For a closed chain the row "closure" has the largest opening of loops between knots. O(pieces
        n).

        >>> import soacraft as sc
        >>> rb = sc.robot.Robot(sc.serial_chain(2))
        >>> motion = sc.robot.minimum_jerk(rb, [0.0, 0.0], [1.0, -0.5], duration=2.0)
        >>> motion.check(sc.robot.MotionLimits.of(rb, velocity=1.0))
        within limits: velocity 0.9375 of that of link1 at t = 1 s
        """
        return checked(self, read_limits(self.robot, limits))

    def slower(self, factor: float) -> Motion:
        """Motion on the same way in `factor` times the time."""
        k = float(finite(factor, (), "factor", StateError))
        if not k > 0.0:
            raise StateError(f"factor must be positive, got {factor!r:.40}.")
        degree = self.law.c.shape[0] - 1
        c = self.law.c / k ** np.arange(degree, -1, -1)[:, None]
        return Motion(self.robot, self.curve, PPoly(c, self.law.x * k), self.version)

    def __repr__(self) -> str:
        return f"Motion of {self.robot.mb.name!r}: {self.duration:.6g} s in {len(self.knots) - 1} pieces"
