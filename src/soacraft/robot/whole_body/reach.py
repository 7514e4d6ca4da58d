"""Inverse kinematics of the whole robot: the tasks of velocity steps, with their weights and strict levels, to where
they are met.

    q <- closed(integrate(q, v)),   v the step that takes away all that is left (`velocity`, with dt = 1 and gain = 1)

A step counts when the sum of the squares that are left becomes less, a level weighing a hundredth of the one before: a
step of a higher level bends the rows of a lower one to second order, and the next one takes that away. Else it is
damped more (Levenberg and Marquardt), and half of it is taken. Then the higher levels are left out, one after the
other, so that lower ones are met as well as they can. Preferences come last: steps that better them, followed by steps
that bring all else back, where all else is met. Limits are kept in every step and closures after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from soacraft.errors import LoopError, StateError
from soacraft.kinematics.assemble import close
from soacraft.kinematics.bounds import Bounds
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.targets import Placement, Position, Target
from soacraft.kinematics.tolerances import CLOSED, MET
from soacraft.model.states.coordinates import read_q
from soacraft.model.states.dof_sets import Held, movable_dofs
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.whole_body.step import distinct
from soacraft.robot.whole_body.tasks import Contact, Momentum, Posture, Reaching, Task
from soacraft.robot.whole_body.velocity import VelocityPlan
from soacraft.spatial.checks import Array, finite

#: A step is halved so often at most; what damping is multiplied by each time, and after a step that counts; its range.
HALVED, MORE, LESS, LEAST, MOST = 12, 6.0, 0.2, 1e-4, 1e6
#: Weight of a level relative to the one before.
NEXT = 1e-2
#: A sum of squares that changes by less than this part has not changed.
SAME = 1e-12
#: Preferences that become less by a smaller part, at the cost of no more than this part of all else, are settled.
SETTLED = 1e-4
#: Largest number of steps for preferences.
PREFERRED = 30
#: A step of less than this, in radians and lengths, ends a search.
SHORT = 1e-12


@dataclass(frozen=True, eq=False)
class BodyReach:
    """Coordinates that `Robot.reach` found, within limits and with loops closed, and how well they do."""

    q: Array
    found: bool
    """True if every task but preferences (postures) is met."""
    residual: dict[str, float]
    """Norm of the residual by task, in radians and metres; of distances the amount by which they are too small."""
    why: str
    """Tasks that are missed, and limits that hold them back; empty where a solution was found."""
    steps: int
    tried: int
    """Number of configurations that it started from."""
    still: tuple[str, ...] = ()
    """Dofs that are as they were in q0: elastic modes, and dofs of what is held that no loop moves."""

    def __bool__(self) -> bool:
        return self.found

    def __repr__(self) -> str:
        return f"reach: {'found' if self.found else self.why}, {self.steps} steps from {self.tried} starts"


class _Point(NamedTuple):
    """Configuration with the residual of each task, in radians and lengths; sums of squares by level, without
    preferences, and that of preferences.
    """

    q: Array
    theta: dict[str, Array] | None
    left: Array
    costs: Array
    rest: float

    def cost(self, levels: int) -> float:
        """Cost of the first `levels` levels, each weighing less than the one before."""
        return float(self.costs[:levels] @ NEXT ** np.arange(levels))


class _Search:
    def __init__(self, mb: Multibody, tasks: list[Task], limits: bool, tolerance: float, held: Held) -> None:
        self.mb, self.tasks, self.tolerance = mb, tasks, tolerance
        self.plan = VelocityPlan(mb, tasks, limits, speeds=False, held=held)
        """Plan of all tasks."""
        self.movable = movable_dofs(mb, held)
        self.bounds = Bounds(mb, ~self.movable, limits)
        self.levels = sorted({-1 if x.kept else x.level for x in tasks if not x.preferred})
        place = [self.levels.index(-1 if x.kept else x.level) if not x.preferred else len(self.levels) for x in tasks]
        self.plans = [
            VelocityPlan(mb, _until(tasks, place, last), limits, speeds=False, held=held)
            for last in range(len(self.levels))
        ]
        """Plans of the first level, of two, ... without preferences."""
        self.start = mb.current.replace(v=np.zeros(mb.nv), vdot=np.zeros(mb.nv), forces=())
        self.steps = 0

    def at(self, q: Array, theta: dict[str, Array] | None = None) -> _Point | None:
        """The point at coordinates brought within limits and onto closures; None where they do not close."""
        q = self.bounds.inside(q)
        if self.mb.is_closed:
            end = close(Constraints(self.mb, self.start.replace(q=q), theta), self.bounds)
            if end.opening > CLOSED:
                return None
            q, theta = np.asarray(end.state.q), end.theta
        residual, costs, rest = np.zeros(len(self.tasks)), np.zeros(len(self.levels)), 0.0
        for i, task in enumerate(self.tasks):
            w = task.wanted(self.mb, q)
            off = self.counted(task, np.asarray(w.left) / w.size)
            residual[i] = np.linalg.norm(np.minimum(off, 0.0) if task.kept else off)
            square = (task.weight * float(residual[i])) ** 2
            if task.preferred:
                rest += square
            else:
                costs[self.levels.index(-1 if task.kept else task.level)] += square
        return _Point(q, theta, residual, costs, rest)

    def counted(self, task: Task, residual: Array) -> Array:
        """Residual that counts: a posture is one of the movable dofs."""
        return np.asarray(residual[self.movable] if isinstance(task, Posture) else residual)

    def met(self, point: _Point) -> bool:
        return all(x <= self.tolerance for x, task in zip(point.left, self.tasks, strict=True) if not task.preferred)

    def better(
        self, plan: VelocityPlan, point: _Point, damping: float, less: Callable[[_Point], bool]
    ) -> tuple[_Point | None, float]:
        """The point after a step by which there is less; None where there is none. And the damping of the next."""
        self.steps += 1
        for part in 0.5 ** np.arange(HALVED):
            v = part * plan.step(point.q, 1.0, damping=damping).v
            if float(np.abs(v * self.bounds.units).max(initial=0.0)) < SHORT:
                break
            after = self.at(np.asarray(self.mb.integrate(point.q, v)), point.theta)
            if after is not None and less(after):
                return after, max(damping * LESS, LEAST)
            damping = min(damping * MORE, MOST)
        return None, damping

    def descend(self, point: _Point, steps: int, levels: int) -> _Point:
        """Descend from a point to one that no step betters, by the sum of the first `levels` levels."""
        damping = 1.0
        for _ in range(steps if levels else 0):
            most = (1.0 - SAME) * point.cost(levels)
            if self.met(point):
                break

            def less(x: _Point, most: float = most) -> bool:
                return x.cost(levels) < most

            after, damping = self.better(self.plans[levels - 1], point, damping, less)
            if after is None:
                break
            point = after
        return point

    def restored(self, point: _Point, steps: int) -> _Point:
        """Point with lower levels met as well as they can."""
        for levels in range(len(self.levels), 0, -1):
            point = self.descend(point, steps, levels)
        return point

    def preferring(self, point: _Point, steps: int) -> _Point:
        """A point at which preferences are met better, and all else as well."""
        levels = len(self.levels)
        for _ in range(min(steps, PREFERRED)):
            if not point.rest > self.tolerance**2:
                break
            allowed, latest = point.costs + self.tolerance**2, [point]

            def less(x: _Point, rest: float = point.rest, allowed: Array = allowed, latest: Any = latest) -> bool:
                latest[0] = self.descend(x, 5, levels)
                less = latest[0].rest < (1.0 - SETTLED) * rest
                return less and bool((latest[0].costs <= (1.0 + SETTLED) * allowed).all())

            after, _ = self.better(self.plan, point, 1.0, less)
            if after is None:
                break
            point = latest[0]
        return point


def _until(tasks: list[Task], place: list[int], last: int) -> list[Task]:
    """Tasks of the levels up to one."""
    return [task for task, k in zip(tasks, place, strict=True) if k <= last]


def reach(
    mb: Multibody,
    tasks: Iterable[Task | Target],
    q0: Any,
    limits: bool,
    tolerance: Any,
    starts: Any,
    seed: Any,
    steps: Any,
    held: Held,
) -> BodyReach:
    """`Robot.reach`."""
    q = np.asarray(read_q(mb, np.asarray(mb.q) if q0 is None else q0))
    if q.ndim != 1:
        raise StateError(f"reach has one configuration to start from, got {q.shape[:-1]} of them.")
    tolerance = float(finite(MET if tolerance is None else tolerance, (), "tolerance", StateError))
    for x, what in ((starts, "starts"), (steps, "steps")):
        if isinstance(x, bool) or not isinstance(x, int | np.integer) or x < 1:
            raise StateError(f"{what} is a whole number from 1 on, got {x!r:.40}.")
    if not tolerance > 0.0:
        raise StateError(f"tolerance must be positive, in radians and lengths of the model; got {tolerance:g}.")
    read = list(VelocityPlan(mb, tasks, limits).tasks)  # refuses what is no task
    search = _Search(mb, [_goal(mb, x, q) for x in read], bool(limits), tolerance, held)
    best: _Point | None = None
    count = 0
    for start in _starts(search, q, int(starts), seed):
        point, count = search.at(start), count + 1
        if point is None:
            continue
        point = search.restored(point, int(steps))
        levels = len(search.levels)
        if best is None or (not search.met(point), point.cost(levels)) < (not search.met(best), best.cost(levels)):
            best = point
        if search.met(best):
            break
    if best is None:
        raise LoopError(
            f"the loops of {mb.name!r} do not close from {count} starts: begin at a q0 that is nearer to closed, as "
            "s.assemble of a solver of sc.loops gives."
        )
    return _told(search, search.preferring(best, int(steps)) if search.met(best) else best, count)


def _starts(search: _Search, q0: Array, starts: int, seed: Any) -> Iterator[Array]:
    """q0, then others ever further away, the same ones for the same seed."""
    yield q0
    rng = np.random.default_rng(seed)
    for i in range(starts - 1):
        yield search.bounds.scattered(q0, rng, min(1.0, 0.05 * 2.0**i))


def _goal(mb: Multibody, task: Task, q0: Array) -> Task:
    """Task whose residual is to vanish at once; a contact gets its present place as its goal."""
    if isinstance(task, Momentum):
        raise StateError("a Momentum is a rate and has no place in reach; leave it out.")
    if isinstance(task, Contact):
        here = mb.pose(mb.frame(task.node), state=mb.state(q0))
        target = Position(task.node, here.translation) if task.rows == "linear" else Placement(task.node, here)
        return Reaching(target, level=task.level, weight=task.weight)
    return replace(task, gain=1.0, rate=0.0)


def _told(search: _Search, point: _Point, tried: int) -> BodyReach:
    mb = search.mb
    names, residual = [], []
    for task in search.tasks:
        w = task.wanted(mb, point.q)
        names.append(w.name)
        off = search.counted(task, np.asarray(w.left))
        residual.append(float(np.linalg.norm(np.minimum(off, 0.0) if task.kept else off)))
    by_name = dict(zip(distinct(names), residual, strict=True))
    missed = [
        f"{name} by {by_name[name]:.3g}"
        for name, task, residual_of_task in zip(by_name, search.tasks, point.left, strict=True)
        if not task.preferred and residual_of_task > search.tolerance
    ]
    met = not missed
    why = ""
    if missed:
        at = [name for name, side in zip(mb.dof_names, search.bounds.sides(point.q), strict=True) if side]
        why = f"misses {', '.join(missed)}" + (f"; at limits: {', '.join(at)}" if at else "")
    still = tuple(name for name, moves in zip(mb.dof_names, search.movable, strict=True) if not moves)
    return BodyReach(point.q, met, by_name, why, search.steps, tried, still)
