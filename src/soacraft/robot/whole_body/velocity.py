"""One step of a control loop of the whole robot: velocities that do the tasks as well as limits let them.

    level by level:   min over v of  sum of weight^2 |J v - gain left - rate|^2 + v* D v

with limits of position, velocity and acceleration as bounds (`limits`), distances as rows that are kept, closures kept
before all else, and the results of the levels before held exactly (`levels`). A step removes at most the whole
residual: a gain counts up to 1 / dt. A level whose rows change as the robot moves is damped where a step would go
beyond where it leads, by as much as its rows bend towards what it cannot meet (`damping`). There is always an answer.

Movable dofs alone have a velocity (`model.states.dof_sets`); elastic modes and dofs of held objects, which no loop
moves, are constant: `Step.still` names them.

A `VelocityPlan` is compiled once from the tasks; a step then runs in compiled code and allocates nothing there. With
dofs that stay it runs in Python. O(nv^3).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft import _core
from soacraft.errors import StaleError, StateError
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.targets import Target
from soacraft.model.flat.compiled import CompiledModel
from soacraft.model.states.coordinates import in_graph_order, read_q, read_v
from soacraft.model.states.dof_sets import Held, movable_dofs
from soacraft.model.states.read_only import reads_state
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.whole_body.levels import Box, solve_levels
from soacraft.robot.whole_body.limits import ball_rows, row_braking_speed, speed_limits, speed_range
from soacraft.robot.whole_body.records import GIVEN, POSTURE, aimed_at, rate_of, record_of
from soacraft.robot.whole_body.step import Names, Step, distinct
from soacraft.robot.whole_body.tasks import Posture, Reaching, Task, Wanted, dof_units, length_or_one, read_tasks
from soacraft.robot.whole_body.ties import Rows
from soacraft.robot.whole_body.tolerances import CATCH_UP, LevelTolerances
from soacraft.spatial.checks import Array, finite

_limits_of = attrgetter("_limits")


class _Given(NamedTuple):
    """Rows in SI units, with the residual (or a bound), their units, and a rate."""

    J: Array
    left: Array
    size: Array
    rate: Array


class VelocityPlan:
    """Steps of a robot towards tasks, made once: a control loop holds it. It follows parameters of the model and its
    limits; a change of structure makes it stale. Without `speeds` a dof may go by a radian or a length in a second.
    `held` are the hands that hold each object, as `rb.held`: dofs of objects move where a loop moves them.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.serial_chain(3))
    >>> hand = sc.robot.Reaching(sc.Position("link3/tip", (2.0, 0.0, -1.0)), gain=20.0)
    >>> plan, q = rb.velocity_plan([hand]), np.array([0.1, 0.2, 0.3])
    >>> for k in range(200):                             # the goal sinks while the hand follows
    ...     plan.aim(hand, (2.0, 0.0, -1.0 - 0.005 * k))
    ...     q = q + 0.01 * plan.step(q, 0.01).v
    >>> rb.mb.pose("link3/tip", state=rb.mb.state(q)).translation[2].round(1)
    np.float64(-2.0)
    """

    def __init__(
        self,
        mb: Multibody,
        tasks: Iterable[Task | Target],
        limits: bool = True,
        *,
        speeds: bool = True,
        held: Held | None = None,
    ) -> None:
        if not isinstance(limits, bool):
            raise StateError(f"limits= is True or False, got {limits!r:.40}.")
        self._mb, self._tasks, self._limited, self._speeds = mb, read_tasks(mb, tasks), limits, bool(speeds)
        self._version, self._tolerances = mb.version, _TOLERANCES if speeds else _SEARCHING
        self._movable = movable_dofs(mb, held or {})
        self._make()

    def __getstate__(self) -> dict[str, Any]:
        self._renew()  # refuses one that is stale
        names = ("_mb", "_tasks", "_limited", "_speeds", "_tolerances", "_now", "_movable")
        return {name: vars(self)[name] for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._version = self._mb.version
        self._make()
        for i, (task, now) in enumerate(zip(self._tasks, state["_now"], strict=True)):
            if now is not task:
                self._aim(i, now)

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks; of a target that was given its `Reaching`."""
        return self._tasks

    def aim(self, task: Task | Target | int, goal: Any) -> None:
        """Give a task another goal: a pose, a point or a direction, or q of a posture. The tasks themselves do not
        change."""
        i = task if isinstance(task, int) else next((k for k, x in enumerate(self._tasks) if _is(x, task)), -1)
        if not 0 <= i < len(self._tasks):
            raise StateError(f"{task!r:.60} is not a task of this plan.")
        self._renew()
        self._aim(i, aimed_at(self._tasks[i], goal))

    def step(self, q: Any, dt: float, v: Any = None, acceleration: Any = None, *, damping: float = 1.0) -> Step:
        """Velocities for the next `dt` seconds: as `Robot.velocity`. `damping` multiplies that of tasks that bend; with
        0 each level has its optimum (`shortfall` is the distance from it), and loops may go back and forth.
        """
        self._renew()
        core = self._core
        if core is not None and not self._asks and reads_state(self._mb.layout, q, v, acceleration):
            to = np.empty(self._size)
            try:
                if core.step(q, dt, to, self._limited, damping, v, acceleration, None, None, None, None):
                    return Step(to[: self._nv], self._names, to[self._nv :])
            except (TypeError, ValueError):  # lists, integers, names of dofs: below
                pass
        call = self._read(q, dt, v, acceleration, damping)
        rows = self._rows(call)
        if core is None:
            return self._by_reference(call, rows)
        to = np.empty(self._size + len(rows.kept.left))
        fine = core.step(
            call.q, call.dt, to, self._limited, call.damping, call.v, call.acceleration, rows.counts, *rows.numbers
        )
        if not fine:
            return self._by_reference(call, rows)
        numbers = to[self._nv : self._size]
        if self._kept:
            ends = np.cumsum([0, *rows.kept_counts])
            missed = [to[self._size + a : self._size + b].max(initial=0.0) for a, b in pairwise(ends)]
            numbers = np.concatenate([numbers[: len(self._listed)], missed, numbers[len(self._listed) :]])
        return Step(to[: self._nv], self._names, numbers)

    def reference(self, q: Any, dt: float, v: Any = None, acceleration: Any = None, *, damping: float = 1.0) -> Step:
        """Step by Python alone, the reference for compiled steps."""
        self._renew()
        call = self._read(q, dt, v, acceleration, damping)
        return self._by_reference(call, self._rows(call))

    def shortfall(
        self, q: Any, dt: float, v: Any = None, acceleration: Any = None, *, damping: float = 1.0
    ) -> dict[int, float]:
        """Shortfall by level: the distance of a step from the optimum of that level, |W (J v - gain * residual -
        rate)|, rows in radians and lengths. The optimum is that of the step with damping=0, among velocities that leave
        the levels before at their optimum. Two steps.

        It is zero where damping changes nothing. A level that cannot be met keeps directions along which its rows turn
        towards what it misses, at any dt: an arm that is pulled out straight stays straight, since to second order
        bending takes its hand back, and a level after it that bends it would make the loop go back and forth. Levels
        after it have less to move by, and have this shortfall. A level may also do better than its optimum (negative)
        where one before it does worse.

        >>> import soacraft as sc
        >>> rb = sc.robot.Robot(sc.serial_chain(3))
        >>> far = sc.robot.Reaching(sc.Position("link3/tip", (9.0, 0.0, 0.0)), gain=2.0)
        >>> plan = rb.velocity_plan([far, sc.robot.Posture([0.5, 0.1, 0.2], level=1)])
        >>> sorted(plan.shortfall([0.1, 0.2, 0.3], 0.01))
        [0, 1]
        """
        dt = float(finite(dt, (), "dt", StateError))
        damped, best = (self.step(q, dt, v, acceleration, damping=x).v for x in (damping, 0.0))
        at = np.ascontiguousarray(read_q(self._mb, q), dtype=float)
        off: dict[int, float] = {}
        for level in self._level:
            squares = np.zeros(2)
            for i in (i for i in self._listed if self._tasks[i].level == level):
                w = _read_wanted(self._mb, self._now[i], self._now[i].wanted(self._mb, at))
                for k, velocity in enumerate((damped, best)):
                    missed = (w.J @ velocity - _wish(self._tasks[i], w, dt)) / w.size
                    squares[k] += self._tasks[i].weight ** 2 * float(missed @ missed)
            off[level] = float(np.sqrt(squares[0]) - np.sqrt(squares[1]))
        return off

    # -- making ------------------------------------------------------------------------------------------------

    def _make(self) -> None:
        mb = self._mb
        self._now = list(self._tasks)
        self._renewed = mb.parameters, tuple(map(_limits_of, mb.bodies))
        self._nv, self._closed = mb.nv, mb.is_closed
        self._limits, self._units = speed_limits(mb, self._limited), dof_units(mb)
        if not self._speeds:
            self._limits = self._limits._replace(fastest=1.0 / self._units)
        self._listed = sorted((i for i, x in enumerate(self._tasks) if not x.kept), key=lambda i: self._tasks[i].level)
        self._kept = [i for i, x in enumerate(self._tasks) if x.kept]
        self._place = {i: k for k, i in enumerate([*self._listed, *self._kept])}
        levels = sorted({self._tasks[i].level for i in self._listed})
        self._level = {level: k for k, level in enumerate(levels)}
        self._size = mb.nv + len(self._listed) + len(levels) * mb.nv
        records = [record_of(mb, self._tasks[i]) for i in self._listed]
        tree = CompiledModel.of(mb.layout)
        compiled = tree is not None and mb.nv > 0 and bool(self._movable.all())
        self._given = [i for i, x in zip(self._listed, records, strict=True) if x.kind == GIVEN]
        self._asks = bool(self._given or self._kept or self._closed or self._limits.balls)
        self._names = Names(
            distinct([_name(mb, x) for x in self._tasks]),
            tuple(self._place[i] for i in range(len(self._tasks))),
            tuple(-1 if x.kept else x.level for x in self._tasks),
            tuple(levels),
            mb.dof_names,
            tuple(name for name, moves in zip(mb.dof_names, self._movable, strict=True) if not moves),
        )
        self._core = None
        if not compiled or tree is None:
            return
        numbers = [
            record.numbers(mb, tree, self._tasks[i], self._level[self._tasks[i].level])
            for i, record in zip(self._listed, records, strict=True)
        ]
        postures = [x for x in records if x.kind == POSTURE]
        self._core = _core.Velocity(
            tree.kernels,
            np.array([x[0] for x in numbers], dtype=np.int64).reshape(-1, 6),
            np.array([x[1] for x in numbers], dtype=np.float64).reshape(-1, 47),
            np.array([x.q for x in postures], dtype=np.float64).reshape(-1, mb.nq),
            np.array([x.rate for x in postures], dtype=np.float64).reshape(-1, mb.nv),
            self._limits.place.astype(np.int64),
            self._limits.lower,
            self._limits.upper,
            self._limits.fastest,
            self._units,
            length_or_one(mb),
            mb.total_mass,
            self._tolerances,
        )

    def _renew(self) -> None:
        """Follow parameters and limits of the model."""
        mb = self._mb
        if mb.version != self._version:
            raise StaleError(f"the structure of {mb.name!r} has changed since the plan was made: make another.")
        if (mb.parameters, tuple(map(_limits_of, mb.bodies))) != self._renewed:
            now = self._now
            self._make()
            for i, x in enumerate(now):
                if x is not self._tasks[i]:
                    self._aim(i, x)

    def _aim(self, i: int, aimed: Task) -> None:
        record = record_of(self._mb, aimed)
        if self._core is not None and record.kind != GIVEN:
            goal = [*record.goal.rotation.ravel(), *record.goal.translation] if record.q is None else record.q
            self._core.aim(self._place[i], np.array(goal))
        self._now[i] = aimed

    # -- a step in Python ----------------------------------------------------------------------------------------

    def _read(self, q: Any, dt: Any, v: Any, acceleration: Any, damping: Any) -> _Call:
        mb = self._mb
        dt = float(finite(dt, (), "dt", StateError))
        if not dt > 0.0:
            raise StateError(f"dt must be positive, in seconds; got {dt:g}.")
        damping = float(finite(damping, (), "damping", StateError))
        if damping < 0.0:
            raise StateError(f"damping must not be negative; got {damping:g}.")
        q = np.ascontiguousarray(read_q(mb, q), dtype=float)
        if q.ndim != 1:
            raise StateError(f"a step has one configuration, got {q.shape[:-1]} of them.")
        v = None if v is None else np.ascontiguousarray(read_v(mb, v), dtype=float)
        if v is not None and v.ndim != 1:
            raise StateError(f"a step has one velocity v, got {v.shape[:-1]} of them.")
        if acceleration is not None:
            acceleration = in_graph_order(mb, acceleration, f"acceleration of {mb.name!r}")
            try:
                a = np.asarray(acceleration).astype(np.float64, casting="same_kind")
            except (TypeError, ValueError):
                a = np.array(np.nan)
            if np.isnan(a).any() or (a < 0.0).any() or a.shape not in ((), (mb.nv,)):
                raise StateError(
                    f"acceleration is a number, or one for each of the {mb.nv} dofs, not negative; got "
                    f"{acceleration!r:.60}."
                )
            acceleration = np.array(np.broadcast_to(a, (mb.nv,)))
        return _Call(q, dt, v, acceleration, damping)

    def _rows(self, call: _Call) -> _PythonRows:
        """Rows of tasks that compiled code does not know, of what is kept, of closures."""
        mb, q, dt, n = self._mb, call.q, call.dt, self._nv
        wanted = [_read_wanted(mb, self._now[i], self._now[i].wanted(mb, q)) for i in self._given]
        low = []
        for i in self._kept:
            task = self._now[i]
            x = _read_wanted(mb, task, task.wanted(mb, q))
            x = x._replace(J=np.where(self._movable, x.J, 0.0))
            towards = min(float(task.gain), 1.0 / dt) * x.left
            if call.acceleration is not None:
                towards = np.minimum(towards, row_braking_speed(x.J, x.left, call.acceleration, dt))
            low.append(x._replace(left=-towards))
        balls = ball_rows(self._limits, q, dt)
        low.append(_Given(balls[0], balls[1], np.ones(len(balls[1])), np.zeros(len(balls[1]))))
        closures = None
        if self._closed:
            at = Constraints(mb, mb.state(q))
            open_by = float(np.abs(at.residual / at.units).max(initial=0.0))
            residual = at.residual * min(1.0, CATCH_UP / max(open_by, 1e-300))
            closures = _Given(at.jacobian(), residual, at.common_units, np.zeros(len(residual)))
        counts = [len(x.left) for x in wanted]
        return _PythonRows(_stacked(wanted, n), counts, _stacked(low, n), [len(x.left) for x in low[:-1]], closures)

    def _by_reference(self, call: _Call, rows: _PythonRows) -> Step:
        mb, dt, at = self._mb, call.dt, np.flatnonzero(self._movable)
        units = self._units[at]
        wanted = {i: self._wanted(i, call.q) for i in self._listed}
        levels = []
        for level in self._level:
            those = [(self._tasks[i], wanted[i]) for i in self._listed if self._tasks[i].level == level]
            python = any(i in self._given for i in self._listed if self._tasks[i].level == level)
            levels.append(_level_rows(those, units, dt, call.damping)._replace(given=python))
        low, high = speed_range(self._limits, call.q, dt, call.acceleration, call.v)
        bounded, closures = rows.kept, rows.closures
        C = bounded.J[:, at] / bounded.size[:, None] / units
        box = Box(units * low[at], units * high[at], C, bounded.left / bounded.size)
        tied = None if closures is None else (
            closures.J[:, at] / closures.size[:, None] / units, -closures.left / closures.size / dt
        )  # fmt: skip
        numbers = list(self._level)

        def turning(number: int, step: Array) -> Array:
            q = np.asarray(mb.integrate(call.q, self._of_all(step / units)))
            those = [i for i in self._listed if self._tasks[i].level == numbers[number]]
            rows = [wanted[i] if i in self._given else self._wanted(i, q) for i in those]
            return np.concatenate([np.zeros((0, len(at))), *(w.J / w.size[:, None] / units for w in rows)])

        y, held = solve_levels(levels, tied, box, self._tolerances, call.damping * dt, turning)
        v = self._of_all(y / units)
        missed = [np.linalg.norm(w.J @ v[at] - _wish(self._tasks[i], w, dt)) for i, w in wanted.items()]
        ends = np.cumsum([0, *rows.kept_counts])
        broken = bounded.left - bounded.J @ v
        missed += [broken[a:b].max(initial=0.0) for a, b in pairwise(ends)]
        return Step(v, self._names, np.concatenate([missed, *map(self._of_all, held)]))

    def _of_all(self, x: npt.ArrayLike) -> Array:
        """Numbers of the movable dofs as numbers of all, (nv)."""
        full = np.zeros(self._nv)
        full[self._movable] = x
        return full

    def _wanted(self, i: int, q: Array) -> _Given:
        """Rows of a task along the movable dofs; a posture has those of these dofs alone."""
        task = self._now[i]
        w = _read_wanted(self._mb, task, task.wanted(self._mb, q))
        if isinstance(task, Posture):
            w = _Given(*(x[self._movable] for x in w))
        return w._replace(J=w.J[:, self._movable])


class _Call(NamedTuple):
    q: Array
    dt: float
    v: Array | None
    acceleration: Array | None
    damping: float


class _PythonRows(NamedTuple):
    given: _Given
    given_counts: list[int]
    kept: _Given
    kept_counts: list[int]
    """Counts by task; rows of limited balls are behind."""
    closures: _Given | None

    @property
    def counts(self) -> Any:
        """Counts of rows by task whose rows are given, for compiled code."""
        return np.array(self.given_counts, dtype=np.int64)

    @property
    def numbers(self) -> tuple[Any, Any, Any]:
        """Arrays of given and kept rows and closures, for compiled code."""
        return tuple(self.given), tuple(self.kept), None if self.closures is None else tuple(self.closures)


_TOLERANCES = LevelTolerances()
#: Tolerances of a search, whose steps have no speeds and are made shorter where they lead nowhere.
_SEARCHING = replace(_TOLERANCES, pushes=1e-10, rolls=1e-12, looks=1.0)


def _level_rows(those: list[tuple[Task, _Given]], units: Array, dt: float, damping: float) -> Rows:
    """All rows of a level in radians and lengths, and a bound of how they bend."""
    n = len(units)
    parts, pulls, damped, posture, others = [], [], np.zeros(n), np.zeros(2), 0.0
    upright = np.zeros(n)
    for task, w in those:
        J, gain, square = w.J / w.size[:, None] / units, min(task.gain, 1.0 / dt), task.weight**2
        if task.bends:
            root = np.sqrt(np.linalg.norm(J, axis=0))
            much = gain * dt * float(np.linalg.norm(w.left / w.size))
            damped += _TOLERANCES.bends * damping * much * square * root * root.sum()
        pull, calm = gain * w.left / w.size, max(1.0 - gain * dt, _TOLERANCES.calm)
        if isinstance(task, Posture):
            posture += square, square * calm
            upright += square * pull
        else:
            others += square * float(np.sum(J * J))
            pulls.append((square * pull, calm))
        one = np.ones(len(J))
        parts.append((J, _wish(task, w, dt) / w.size, pull, task.weight * one, calm * one))
    if posture[0] > 0.0:
        pulls.append((upright, posture[1] / posture[0]))
    J, wish, pull, weight, calms = (np.concatenate(x) for x in zip(*parts, strict=True))
    least = _TOLERANCES.calm
    size = float(np.linalg.norm(np.concatenate([x for x, _ in pulls])))
    steady = float(np.linalg.norm(np.concatenate([(calm - least) / (1.0 - least) * x for x, calm in pulls])))
    firm = bool(posture[0] > _TOLERANCES.firm * others)
    return Rows(J, wish, pull, weight, damped, calms, size, steady, upright=bool(posture[0] > 0.0), firm=firm)


def _wish(task: Task, w: _Given, dt: float) -> Array:
    """gain left + rate: no more goes away in a step than there is."""
    return np.asarray(min(task.gain, 1.0 / dt) * w.left + w.rate)


def _read_wanted(mb: Multibody, task: Task, w: Wanted) -> _Given:
    """Read the rows of a task, checked: tasks may be the user's own."""
    residual = finite(w.left, (...,), f"what is left of {w.name!r}", StateError)
    J = finite(w.J, (len(residual), mb.nv), f"the rows of {w.name!r}", StateError)
    size = np.broadcast_to(finite(w.size, (...,), f"the size of {w.name!r}", StateError), residual.shape)
    if not (size > 0.0).all():
        raise StateError(f"the size of {w.name!r}, which its rows are measured by, must be positive.")
    rate = np.zeros(len(residual)) if task.kept else rate_of(mb, task, len(residual), w.name)
    return _Given(*(np.ascontiguousarray(x, dtype=float) for x in (J, residual, size, rate)))


def _stacked(parts: list[_Given], n: int) -> _Given:
    none = _Given(np.zeros((0, n)), np.zeros(0), np.zeros(0), np.zeros(0))
    return _Given(*(np.concatenate(x) for x in zip(none, *parts, strict=True)))


def _name(mb: Multibody, task: Task) -> str:
    """Name of a task, from `wanted` at the state of the model."""
    return task.wanted(mb, np.asarray(mb.q)).name


def _is(task: Task, other: Task | Target) -> bool:
    """True if a task is the one that was given, or the one of a target that was given."""
    return task is other or (isinstance(task, Reaching) and task.target is other)
