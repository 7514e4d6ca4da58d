"""`sequence`: moves and grasps checked one after the other on a copy of a robot, and simulated before use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from soacraft import loops
from soacraft.arguments import listed
from soacraft.errors import LoopError, ModelError, StateError
from soacraft.model.sizes.lengths import length_of
from soacraft.model.states.coordinates import read_q
from soacraft.model.states.ranges import Ranges
from soacraft.model.tree.multibody import Multibody
from soacraft.progress import Bar
from soacraft.robot.control.freedoms import sizes_of_dofs
from soacraft.robot.motion.makers import minimum_jerk
from soacraft.robot.robot import Robot
from soacraft.robot.studies.operation import Margins, Operation
from soacraft.robot.studies.sizing import by_dof
from soacraft.robot.studies.steps import Grasp, Move, Sequence, Ungrasp, Wait
from soacraft.robot.studies.support import Contacts
from soacraft.robot.studies.trial import simulated
from soacraft.sim.runs.labels import labels_of
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.pose import Pose

#: Rows of a move at which torque and standing are looked at.
ROWS = 41
#: A simulated robot may be so far off its motion, in radians or lengths of the model.
TRACKED = 0.02
#: The largest velocity over the mean one of a minimum-jerk motion, and a little, so that limits hold in rounding.
_PEAK = 1.875 * (1.0 + 1e-9)

#: Coordinates with loops closed may differ so much from those that were given, in radians or lengths of the model.
CLOSED = 1e-6
#: Largest motion of a dof from row to row, relative to that of the way, with loops closed.
JUMP = 10.0

Planner = Callable[[Robot, Any, Array, Array], Any]


@dataclass
class _Found:
    """Findings about a step."""

    why: str = ""
    duration: float = 0.0
    clearance: float = np.nan
    torque: float = np.nan
    standing: float = np.nan
    error: float = np.nan
    path: list[tuple[float, dict[str, float]]] = field(default_factory=list)


def sequence(
    robot: Robot,
    steps: Any,
    *,
    world: Callable[[Robot], Any] | None = None,
    planner: Planner | None = None,
    contacts: Contacts | None = None,
    efforts: Any = None,
    speed: float = 1.0,
    simulate: bool = False,
    dt: float = 2e-3,
    progress: bool = True,
) -> Sequence:
    """Check of moves, grasps, releases and waits, one after the other, from the present state on, on a copy.

    A move needs a configuration (of a pose by inverse kinematics) within limits, a way that is free, `world(robot)`
    being a `World` around the copy, efforts that suffice, and, with `contacts`, a robot that keeps its balance. Ways
    are straight in coordinates, or those of `planner(robot, world, q0, q1)`, (k, nq) or None; `World.edge` checks each
    part. Motions are of minimum jerk; without limits of velocity the fastest dof has `speed`, in radians or lengths of
    the model a second. While loops are closed, by a second hand, ways follow them and torques are those at rest.

    With `simulate` each move and wait of an open chain is simulated, with computed torque cut to the efforts, in steps
    of `dt`; objects that nobody holds do not move. A step that cannot be done ends the sequence, with the reason in the
    result.

    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.load("panda"))
    >>> sc.robot.study.sequence(rb, [sc.robot.study.Move({"joint2": 0.5, "joint4": -1.0}), sc.robot.study.Wait(1.0)])
    Sequence of 'panda': 2 steps, 2.07 s, all can be done
    """
    if not isinstance(robot, Robot):
        raise StateError(f"a sequence is of a Robot, got {robot!r:.60}.")
    several = listed(steps)
    todo = [steps] if several is None else several
    for i, step in enumerate(todo):
        if not isinstance(step, Move | Grasp | Ungrasp | Wait):
            raise StateError(f"step {i} of a sequence is a Move, Grasp, Ungrasp or Wait, got {step!r:.60}.")
    for what, f in (("world", world), ("planner", planner)):
        if f is not None and not callable(f):
            raise StateError(
                f"{what}= is a function; got {f!r:.60}. A sequence is checked on a copy of the robot: world=lambda rb: "
                "... makes a World around it."
            )
    rate = float(finite(speed, (), "speed", StateError))
    if not rate > 0.0:
        raise StateError(f"speed must be positive, got {speed!r:.40}.")
    rb = robot.copy()
    rb.mb.set_state(rb.mb.q, np.zeros(rb.mb.nv))
    check = _Check(rb, None if world is None else world(rb), planner, contacts, efforts, rate, simulate, dt)
    results: list[_Found] = []
    with Bar("sequence", 0, max(len(todo), 1), progress) as bar:
        for i, step in enumerate(todo):
            if results and results[-1].why:
                results.append(_Found("not looked at, since a step before it cannot be done"))
            else:
                results.append(check.of(step))
            bar.at(i + 1)
    return _report(robot.mb.name, [str(x) for x in todo], results)


class _Check:
    """Steps one by one, on a robot that does them."""

    def __init__(
        self, robot: Robot, world: Any, planner: Planner | None, contacts: Contacts | None, efforts: Any, speed: float,
        simulate: bool, dt: float,
    ) -> None:  # fmt: skip
        if world is not None and getattr(world, "robot", None) is not robot:
            raise StateError(f"world= makes a World around the robot that it is given, got {world!r:.60}.")
        self.robot, self.world, self.planner = robot, world, planner
        self.contacts, self.efforts, self.speed, self.simulate, self.dt = contacts, efforts, speed, simulate, dt

    def of(self, step: Move | Grasp | Ungrasp | Wait) -> _Found:
        """Findings about a step; the robot has done it where there is no reason against it."""
        result = _Found()
        if isinstance(step, Move):
            self._move(step, result)
        elif isinstance(step, Wait):
            self._wait(step, result)
        else:
            self._hold(step, result)
        return result

    # -- moves ---------------------------------------------------------------------------------------------------

    def _move(self, step: Move, result: _Found) -> None:
        mb = self.robot.mb
        goal, result.why = self._goal(step)
        if result.why:
            return
        result.why = _beyond(mb, goal)
        if result.why:
            return
        way = self._way(np.array(mb.q), goal, result)
        if way is None:
            return
        asked = step.duration
        duration = self._duration(way) if asked is None else float(finite(asked, (), "duration of a move", StateError))
        if not duration > 0.0:
            raise StateError(f"the duration of a move must be positive, got {step.duration!r:.40}.")
        result.duration = duration
        if mb.is_closed:
            t, q = np.linspace(0.0, duration, len(way)), way
            operation = Operation(q)
        else:
            motion = minimum_jerk(self.robot, way[0], way[1:], duration)
            t = np.linspace(0.0, duration, ROWS)
            q, v, vdot = motion.at(t)
            operation = Operation(q, v, vdot)
        names = labels_of(mb).q
        result.path = [(float(a), dict(zip(names, map(float, b), strict=True))) for a, b in zip(t, q, strict=True)]
        self._judge(operation, result)
        if not result.why and self.simulate and not mb.is_closed:
            result.error, result.why = simulated(self.robot, motion, self.efforts, self.dt, TRACKED)
        if not result.why:
            mb.set_state(way[-1], np.zeros(mb.nv))

    def _goal(self, step: Move) -> tuple[Array, str]:
        mb = self.robot.mb
        here = np.array(mb.q)
        if (step.q is None) == (step.pose is None):
            raise StateError("a move goes to coordinates q, or to a pose of a limb; give one of them.")
        if step.pose is not None:
            if step.limb is None or not isinstance(step.pose, Pose):
                raise StateError(f"a move to a pose needs the name of a limb and a Pose(...), got {step.pose!r:.60}.")
            limb = self.robot[step.limb]
            r = limb.ik(step.pose, limb.q, step.free, collisions=self.world)
            return (limb.of_robot(r.q), "") if r.found else (here, f"no configuration: {r.why}")
        if step.limb is not None:
            limb = self.robot[step.limb]
            goal = np.asarray(limb.of_robot(step.q))
            if goal.ndim > 1:
                raise StateError(f"a move goes to one configuration, got a batch {goal.shape[:-1]}.")
            return goal, ""
        goal = np.asarray(read_q(mb, step.q, "q of a move", here))
        if not mb.is_closed:
            return goal, ""
        named = list(step.q) if isinstance(step.q, Mapping) else []
        try:
            closed = np.asarray(loops.TreeAugmented(mb).assemble(goal, named))
        except LoopError as why:
            return here, str(why)
        off = np.abs(mb.difference(goal, closed))
        if not named and (off > CLOSED * sizes_of_dofs(mb)).any():
            most = off.max()
            return here, f"loops are not closed at q, a dof is {most:.3g} off: name the dofs that count, others follow"
        return closed, ""

    def _way(self, q0: Array, q1: Array, result: _Found) -> Array | None:
        """Configurations from q0 to q1, free all the way; None where there is no way, with the reason."""
        mb = self.robot.mb
        if self.planner is not None:
            planned = self.planner(self.robot, self.world, q0, q1)
            if planned is None:
                result.why = "the planner found no way"
                return None
            way = finite(planned, (None, mb.nq), "the way of the planner", StateError)
            size = 1e-9 * sizes_of_dofs(mb)
            if len(way) < 2 or any((np.abs(mb.difference(*x)) > size).any() for x in ((q0, way[0]), (q1, way[-1]))):
                raise StateError("the way of the planner must begin where the robot is, and end at the goal.")
            result.why = next(filter(None, (_beyond(mb, x) for x in way[1:])), "")
            if result.why:
                return None
        else:
            way = np.stack([q0, q1])
        try:
            way = _along_loops(mb, way) if mb.is_closed else way
        except LoopError as why:
            result.why = str(why)
            return None
        if self.world is not None:
            for a, b in pairwise(way):
                edge = self.world.edge(a, b)
                result.clearance = float(np.fmin(result.clearance, edge.distance))
                if not edge.free:
                    result.why = f"the way is not free: {edge!r}"
                    return None
        return way

    def _duration(self, way: Array) -> float:
        """Duration at which the fastest dof has its limit of velocity, or the speed of the sequence."""
        mb = self.robot.mb
        turning = np.array([x == "r" for x in "".join(mb.layout.units.hinge)], dtype=bool)
        most = by_dof(mb, "velocity")
        most = np.where(np.isfinite(most), most, self.speed * np.where(turning, 1.0, length_of(mb) or 1.0))
        parts = [np.abs(mb.difference(a, b)) / most for a, b in pairwise(way)]
        return float(max(_PEAK * sum(float(x.max(initial=0.0)) for x in parts), 1e-3))

    # -- the others ----------------------------------------------------------------------------------------------

    def _wait(self, step: Wait, result: _Found) -> None:
        mb = self.robot.mb
        result.duration = float(finite(step.seconds, (), "seconds of a wait", StateError))
        if not result.duration > 0.0:
            raise StateError(f"a wait takes a positive number of seconds, got {step.seconds!r:.40}.")
        names, q = labels_of(mb).q, np.array(mb.q)
        result.path = [(t, dict(zip(names, map(float, q), strict=True))) for t in (0.0, result.duration)]
        self._judge(Operation(q), result)
        if not result.why and self.simulate and not mb.is_closed:
            result.error, result.why = simulated(self.robot, (q, result.duration), self.efforts, self.dt, TRACKED)

    def _hold(self, step: Grasp | Ungrasp, result: _Found) -> None:
        mb = self.robot.mb
        try:
            if isinstance(step, Ungrasp):
                self.robot.ungrasp(step.obj, step.hands)
            else:
                hands = list(step.hands)
                far = [float(np.linalg.norm(mb.pose(step.obj, h).translation)) for h in hands]
                if step.within is not None and max(far) > step.within:
                    i = int(np.argmax(far))
                    result.why = f"{step.obj!r} is {far[i]:.4g} m from {hands[i]!r}, more than {step.within:g} m"
                    return
                self.robot.grasp(step.obj, hands, step.hinge)
        except ModelError as why:
            result.why = str(why)
            return
        if self.world is not None:
            near = self.world.distances(np.array(mb.q), 0.0)
            hit = near.distance <= 0.0
            if hit.any():
                result.why = f"{' - '.join(near.pairs[int(np.argmin(near.distance))])} touch then"
                return
        self._judge(Operation(np.array(mb.q)), result)

    def _judge(self, operation: Operation, result: _Found) -> None:
        """Torque and standing along an operation."""
        margins = Margins(self.robot, lambda x: operation, efforts=self.efforts, contacts=self.contacts)(0.0)
        if "torque" in margins:
            result.torque = margins["torque"][0]
        if "standing" in margins:
            result.standing = margins["standing"][0]
        for name, (value, word) in margins.items():
            if not value >= 0.0:
                result.why = f"{name} does not hold{f', {word}' if word else ''}"
                return


def _along_loops(mb: Multibody, way: Array) -> Array:
    """Configurations along a way at which loops and couplings close, between its points as many as a move has rows; a
    `LoopError` where they do not, or where they would have to jump."""
    solver, rows, sizes = loops.TreeAugmented(mb), [way[0]], sizes_of_dofs(mb)
    for a, b in pairwise(way):
        d = np.asarray(mb.difference(a, b))
        small = float(np.linalg.norm(d / sizes)) / (ROWS - 1)
        for s in np.linspace(0.0, 1.0, ROWS)[1:]:
            rows.append(np.asarray(solver.assemble(mb.integrate(a, s * d))))
            step = np.abs(mb.difference(rows[-2], rows[-1]))
            if (step / sizes).max(initial=0.0) > JUMP * small + CLOSED:
                i = int(np.argmax(step / sizes))
                raise LoopError(f"loops would make {mb.dof_names[i]!r} jump by {step[i]:.3g} at {s:.3g} of the way.")
    return np.array(rows)


def _beyond(mb: Multibody, q: Array) -> str:
    """The dof that is outside its limits; empty where none is."""
    ranges = Ranges(mb)
    x = np.where(ranges.place >= 0, q[ranges.place], 0.0)
    wide = np.maximum(sizes_of_dofs(mb), np.abs(x)) * 1e-9
    out = (x < ranges.lower - wide) | (x > ranges.upper + wide)
    if not (out & (ranges.place >= 0)).any():
        return ""
    i = int(np.argmax(out & (ranges.place >= 0)))
    return f"{mb.dof_names[i]!r} = {x[i]:.6g} is outside its limits {ranges.lower[i]:.6g} to {ranges.upper[i]:.6g}"


def _report(robot: str, steps: list[str], results: list[_Found]) -> Sequence:
    names = list(dict.fromkeys(n for x in results for _, row in x.path for n in row))
    start, t, at, path = 0.0, [], [], []
    for i, x in enumerate(results):
        for when, row in x.path:
            t.append(start + when)
            at.append(i)
            path.append([row.get(n, np.nan) for n in names])
        start += x.duration
    numbers = {n: np.array([getattr(x, n) for x in results], dtype=float) for n in
               ("duration", "clearance", "torque", "standing", "error")}  # fmt: skip
    return Sequence(
        robot, tuple(steps), np.array([not x.why for x in results], dtype=np.bool_), tuple(x.why for x in results),
        **numbers, coordinates=tuple(names), t=np.array(t, dtype=float), step=np.array(at, dtype=np.int64),
        path=np.array(path, dtype=float).reshape(len(t), len(names)),
    )  # fmt: skip
