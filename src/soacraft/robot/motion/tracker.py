"""Jerk-limited motion to a target that moves, one step of a control loop at a time (Ruckig; Berscheid and Kroeger
2021).

Each step computes the fastest way from the present state to the target within limits of velocity, acceleration and
jerk, and goes along it for dt. Limits of position are kept by induction: a step is taken only where the robot could
still stop within them afterwards; a dof for which that fails brakes instead, and is named.

Balls and free bodies go along dofs, in their own axes (`turning`): the way is planned to difference(q, target) as if
velocities were its rates, which they are at the target and for a turn about one axis. Velocity, acceleration and jerk
keep their limits exactly, and the configuration is that of the velocities. Elsewhere the way bends, each step plans it
again, and the time that remains is an estimate; such ways are not the fastest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.errors import ConvergenceError, StateError
from soacraft.model.sizes.lengths import length_of
from soacraft.model.states.dof_sets import movable_dofs
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.limbs.limb import Limb
from soacraft.robot.motion.extras import package
from soacraft.robot.motion.jerks import Way
from soacraft.robot.motion.limits import MotionLimits, read_limits
from soacraft.robot.motion.ties import require_independent
from soacraft.robot.motion.turning import Chart
from soacraft.robot.robot import Robot
from soacraft.spatial.checks import Array, finite

#: Past a limit by less than this part of its range is rounding.
_ROUNDING = 1e-9
#: Targets are met in a frame that moves with them, at this part of the largest velocity at most, so that there is some
#: velocity left to come nearer with.
_FRAME = 0.9


@dataclass(frozen=True, eq=False)
class Tracked:
    """The state after a step."""

    q: Array
    v: Array
    vdot: Array
    remaining: float
    """Seconds to the target from here, if it goes on as it does; where a ball or a free body turns, as far as is
    known."""
    limited: tuple[str, ...]
    """Dofs that brake, or are to rest at the target, since the way to it and on would leave their limits."""

    @property
    def arrived(self) -> bool:
        """True if the target was reached within this step."""
        return self.remaining <= 0.0

    def __repr__(self) -> str:
        limited = f", limited: {', '.join(self.limited)}" if self.limited else ""
        return f"{'arrived' if self.arrived else f'{self.remaining:.4g} s to go'}{limited}"


def _coordinates(mb: Multibody, dofs: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """Places of the coordinates of the hinges that dofs are of."""
    chosen = np.isin(np.arange(mb.nv), dofs)
    spans = [q for q, v in zip(mb.layout.hinge_q, mb.layout.hinge_v, strict=True) if chosen[v].any()]
    return np.concatenate([np.zeros(0, dtype=np.intp), *(np.arange(q.start, q.stop) for q in spans)])


class Tracker:
    """Follows targets with the movable dofs of a robot, or those of one of its limbs, `dt` seconds a step. The same
    state and target give the same step; nothing is kept between steps.

    Dofs that loops or couplings tie to each other are refused. Where they are independent, as those of a limb may be,
    dofs tied to them follow, and limits are of these dofs alone.

    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.load("panda"))
    >>> tracker = sc.robot.Tracker(rb, 0.01, sc.robot.MotionLimits.of(rb, velocity=2.0, acceleration=10.0, jerk=100.0))
    >>> state = tracker.rest([0.0, 0.0, 0.0, -1.2, 0.0, 1.6, 0.0])
    >>> for _ in range(200):
    ...     state = tracker.step(state, [0.2, 0.1, 0.0, -1.5, 0.0, 1.6, 0.5])
    >>> state.arrived, float(state.q[0].round(6))
    (True, 0.2)
    """

    def __init__(self, robot: Robot, dt: float, limits: MotionLimits, limb: Limb | None = None) -> None:
        if not isinstance(robot, Robot):
            raise StateError(f"a Tracker moves a Robot, got {robot!r:.60}.")
        if limb is not None and (not isinstance(limb, Limb) or limb.robot is not robot):
            raise StateError(f"limb= is a limb of this robot, got {limb!r:.60}.")
        self._made_of = robot, dt, limits, limb
        self._dt = float(finite(dt, (), "dt", StateError))
        if not self._dt > 0.0:
            raise StateError(f"dt must be positive, in seconds; got {dt!r:.40}.")
        mb, limits = robot.mb, read_limits(robot, limits)
        dofs = np.flatnonzero(movable_dofs(mb, robot.held)) if limb is None else limb.v_places
        require_independent(mb, dofs, "a Tracker")
        self._chart = Chart(mb, dofs, _coordinates(mb, dofs), limits.balls)
        self._names = tuple(mb.dof_names[i] for i in dofs)
        for kind in ("velocity", "acceleration", "jerk"):
            bad = ~np.isfinite(getattr(limits, kind)[dofs])
            if bad.any():
                raise StateError(
                    f"a Tracker needs a limit of {kind} for every dof, and {self._names[int(np.argmax(bad))]!r} has "
                    f"none: MotionLimits.of(robot, {kind}=...)."
                )
        self._lower, self._upper = limits.lower[dofs], limits.upper[dofs]
        self._limits = [getattr(limits, kind)[dofs] for kind in ("velocity", "acceleration", "jerk")]
        slides = np.array([u != "r" for u in "".join(mb.layout.units.hinge)], dtype=bool)[dofs]
        self._unit = np.where(slides, np.exp2(np.round(np.log2(length_of(mb) or 1.0))), 1.0)
        ruckig = package("ruckig", "a Tracker")
        self._ruckig = ruckig
        self._otg = ruckig.Ruckig(len(dofs), self._dt)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._made_of

    @property
    def dt(self) -> float:
        """Seconds of a step."""
        return self._dt

    @property
    def dof_names(self) -> tuple[str, ...]:
        """The dofs that move; v and vdot are theirs, and q are the coordinates of their hinges."""
        return self._names

    def rest(self, q: Any) -> Tracked:
        """The state of rest at q."""
        zero = np.zeros(len(self._names))
        return Tracked(self._chart.read(q, "q of a Tracker"), zero, zero.copy(), np.inf, ())

    def step(self, state: Tracked | tuple[Any, Any, Any], q: Any, v: Any = None, vdot: Any = None) -> Tracked:
        """The state after dt on the way from `state`, (q, v, vdot) or the result of a step, to a target at q with
        velocity v and acceleration vdot, zero by default; of a ball or a free body in its own axes.

        Targets beyond a limit are refused, and so are states from which the robot cannot stop within its limits of
        position. O(dofs).
        """
        parts = (state.q, state.v, state.vdot) if isinstance(state, Tracked) else state
        if not isinstance(parts, list | tuple) or len(parts) != 3:
            raise StateError(f"the state of a Tracker is (q, v, vdot), or the result of a step; got {state!r:.60}.")
        start = self._chart.read(parts[0], "q of a Tracker")
        here = [self._chart.places(start, start), self._read(parts[1], "v"), self._read(parts[2], "vdot")]
        zero, target = np.zeros(len(self._names)), self._chart.read(q, "target of a Tracker")
        aim = [self._chart.places(start, target), *(zero if x is None else self._read(x, what) for x, what in
               ((v, "target velocity"), (vdot, "target acceleration")))]  # fmt: skip
        self._require_inside(aim)
        passing = (
            self._leaves(self._brake(aim), aim) if v is not None or vdot is not None else np.zeros(len(zero), bool)
        )
        aim[1:] = [np.where(passing, 0.0, x) for x in aim[1:]]
        way, frame = self._way(here, aim)
        after, within, ways = here, np.zeros(len(zero), dtype=bool), [] if way is None else [way]
        if way is not None:
            after = self._at(way, frame)
            within = self._within(way, here, after)
        if not within.all():
            stop = self._brake(here)
            out = self._leaves(stop, here)
            if out.any():
                i = int(np.argmax(out))
                raise StateError(
                    f"dof {self._names[i]!r} at {here[0][i]:.6g} with velocity {here[1][i]:.4g} cannot stop within its "
                    f"limits {self._lower[i]:.6g} to {self._upper[i]:.6g}."
                )
            after = [np.where(within, x, y) for x, y in zip(after, self._at(stop, zero), strict=True)]
            ways.append(stop)
        limited = tuple(n for n, ok in zip(self._names, within & ~passing, strict=True) if not ok)
        remaining = np.inf if way is None else way.duration - self._dt
        end = self._chart.moved(start, after[0], *self._turned(ways, here, within))
        return Tracked(end, after[1], after[2], remaining if within.all() else max(remaining, self._dt), limited)

    # -- inside --------------------------------------------------------------------------------------------------

    def _read(self, x: Any, what: str) -> Array:
        return self._chart.read_along(x, f"{what} of a Tracker")

    def _slack(self) -> Array:
        wide = self._upper - self._lower
        return _ROUNDING * np.where(np.isfinite(wide), np.maximum(wide, self._unit), self._unit)

    def _require_inside(self, aim: list[Array]) -> None:
        q, v, a = aim
        v = np.where(v * a > 0.0, v + 0.5 * a * np.abs(a) / self._limits[2], v)  # the velocity when a is back at zero
        for value, low, high, what in (
            (q, self._lower, self._upper, "position"),
            (v, -self._limits[0], self._limits[0], "velocity (with what its acceleration adds before it can end)"),
            (a, -self._limits[1], self._limits[1], "acceleration"),
        ):
            wrong = (value < low) | (value > high)
            if wrong.any():
                i = int(np.argmax(wrong))
                raise StateError(
                    f"the target {what} of dof {self._names[i]!r} is {value[i]:.6g}, outside its limits {low[i]:.6g} "
                    f"to {high[i]:.6g}."
                )

    def _input(self, here: list[Array], frame: Array) -> Any:
        """Input of the package, in a frame that moves with the velocity `frame`."""
        request = self._ruckig.InputParameter(len(self._names))
        most, turn, jerk = (x / self._unit for x in self._limits)
        frame = frame / self._unit
        q, v, request.current_acceleration = (x / self._unit for x in here)
        request.current_position, request.current_velocity = q, v - frame
        request.max_velocity, request.min_velocity = most - frame, -most - frame
        request.max_acceleration, request.max_jerk = turn, jerk
        return request

    def _computed(self, request: Any) -> Way | None:
        """A trajectory; None where the package cannot compute it, which happens for some states."""
        way = self._ruckig.Trajectory(len(self._names))
        try:
            got = self._otg.calculate(request, way)
        except self._ruckig.RuckigError as wrong:
            if "step" in str(wrong):
                return None
            raise StateError(f"no way to the target within the limits: {str(wrong).strip()[:300]}.") from None
        if got == self._ruckig.Result.ErrorInvalidInput:
            raise StateError(
                "no way to the target within the limits: a target that accelerates must be able to go on so."
            )
        return Way(way, self._unit) if int(got) >= 0 else None

    def _way(self, here: list[Array], aim: list[Array]) -> tuple[Way | None, Array]:
        """Way to the target, all dofs in the same time where that can be computed, in a frame that moves with it, so
        that it is met where it will be; and the velocity of that frame.
        """
        frame = np.clip(aim[1], -_FRAME * self._limits[0], _FRAME * self._limits[0])
        request = self._input(here, frame)
        request.target_position, request.target_velocity, request.target_acceleration = (
            x / self._unit for x in (aim[0], aim[1] - frame, aim[2])
        )
        way = self._computed(request)
        if way is None:
            request.synchronization = self._ruckig.Synchronization.No
            way = self._computed(request)
        return way, frame

    def _brake(self, here: list[Array]) -> Way:
        """Way to rest, each dof as fast as it may."""
        request = self._input(here, np.zeros(len(self._names)))
        request.control_interface = self._ruckig.ControlInterface.Velocity
        request.synchronization = self._ruckig.Synchronization.No
        request.target_velocity = request.target_acceleration = np.zeros(len(self._names))
        way = self._computed(request)
        if way is None:
            raise ConvergenceError(f"a way to rest from {[x.tolist() for x in here]!r:.200} was not computed.")
        return way

    def _at(self, way: Way, frame: Array) -> list[Array]:
        """The state after dt."""
        q, v, a = way.at(self._dt)
        return [q + self._dt * frame, v + frame, a]

    def _turned(self, ways: list[Way], here: list[Array], within: Any) -> tuple[Array, Array, Array]:
        """Times from zero to dt, and the integrals of v and of t v up to each, (times, dofs), along the way to the
        target for dofs that are `within`, along the last way for others; the first time alone where nothing turns."""
        if not self._chart.turns:
            return np.zeros(1), np.zeros((1, len(within))), np.zeros((1, len(within)))
        most = np.max([x.fastest(here, self._dt) for x in ways], axis=0)
        times = self._chart.pieces(most, self._dt)
        each = [np.stack([x.integrals(here, t) for t in times], axis=1) for x in ways]
        first, second = np.where(within, each[0], each[-1])
        return times, first, second

    def _leaves(self, way: Way, here: list[Array]) -> Any:
        """Mask of the dofs that leave their limits of position along a way."""
        low, high = way.extent(here)
        return np.maximum(self._lower - low, high - self._upper) > self._slack()

    def _within(self, way: Way, here: list[Array], after: list[Array]) -> Any:
        """Mask of the dofs that stay within their limits of position during this step, and can stop within all limits
        after it.
        """
        low, high = way.extent(here, self._dt)
        slack = self._slack()
        inside = (low >= self._lower - slack) & (high <= self._upper + slack) & ~self._leaves(self._brake(after), after)
        fastest = np.abs(after[1] + 0.5 * after[2] * np.abs(after[2]) / self._limits[2])  # when vdot is back at zero
        return inside & (np.maximum(fastest, np.abs(after[1])) <= self._limits[0] * (1.0 + _ROUNDING))
