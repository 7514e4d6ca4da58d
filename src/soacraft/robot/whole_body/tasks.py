"""Tasks of a robot as a whole in a control step: each wants a rate J v = gain * residual + rate.

Tasks of a lower level are never disturbed by those of a higher one; within a level weights count. Distances are rows
that are kept, as far as limits let them. Compiled code has the rows of the tasks here but for those of distances
(`kinematics/task_rows.hpp`); `wanted` is their definition, and is used where there is no compiled form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from soacraft import dynamics as dyn
from soacraft.arguments import listed
from soacraft.errors import StateError
from soacraft.kinematics.targets import Direction, Placement, Position
from soacraft.model.sizes.lengths import length_of
from soacraft.model.sizes.measure import constant_measure_of
from soacraft.model.states.coordinates import read_q
from soacraft.order import known_order
from soacraft.robot.interfaces import Surroundings
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.rotations import log, skew

if TYPE_CHECKING:
    from soacraft.model.tree.multibody import Multibody

#: The part of the distance within which pairs are looked at, within which all their corners are.
NEAR = 0.5


class Wanted(NamedTuple):
    """Rows J (k, nv), the residual along them (k), a name, and the unit of the rows: 1 for radians, the length of the
    model for metres, so that weights do not depend on units.
    """

    J: Array
    left: Array
    name: str
    size: Any = 1.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Task:
    """Base of tasks: its `level` (0 counts most), its `weight` within the level, the part of the residual that goes
    away in a second (`gain`), and a rate that is added.
    """

    level: int = 0
    weight: float = 1.0
    gain: float = 1.0
    rate: Any = 0.0
    kept: ClassVar[bool] = False
    """True if J v >= -gain * residual is enough."""
    bends: ClassVar[bool] = True
    """True if J changes as the robot moves: steps are damped by the residual, so that they do not overshoot."""
    preferred: ClassVar[bool] = False
    """True for a preference: `Robot.reach` succeeds without it."""

    def __post_init__(self) -> None:
        what = type(self).__name__
        level, weight, gain = (
            float(finite(x, (), f"the {name} of a {what}", StateError))
            for x, name in ((self.level, "level"), (self.weight, "weight"), (self.gain, "gain"))
        )
        if not level.is_integer() or level < 0.0:
            raise StateError(f"the level of a {what} is a whole number from 0 on, got {self.level!r:.40}.")
        if not weight > 0.0 or gain < 0.0:
            raise StateError(f"a {what} needs a positive weight and a gain that is not negative.")
        for name, x in (("level", int(level)), ("weight", weight), ("gain", gain)):
            object.__setattr__(self, name, x)
        rate = finite(self.rate, (...,), f"the rate of a {what}", StateError)
        if known_order(self.rate) is None:  # else it is read in the order of the model that the task is for
            object.__setattr__(self, "rate", rate)

    def wanted(self, mb: Multibody, q: Array) -> Wanted:
        """Rows at a configuration."""
        raise AssertionError("every kind of task has rows")


@dataclass(frozen=True, eq=False)
class Reaching(Task):
    """A frame goes to where a `Placement`, `Position` or `Direction` has it."""

    target: Placement | Position | Direction

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.target, Placement | Position | Direction):
            raise StateError(
                f"a Reaching has a Placement(...), Position(...) or Direction(...), got {self.target!r:.60}."
            )
        if self.target.weight != 1.0 or self.target.tolerance is not None:
            raise StateError(
                "the weight and the tolerance of a target are for inverse_kinematics: give a weight to the task, "
                "Reaching(target, weight=...), and a tolerance to rb.reach."
            )

    def wanted(self, mb: Multibody, q: Array) -> Wanted:
        """Turn and way to the target, in axes of the frame it is relative to."""
        t, state = self.target, mb.state(q)
        node, to = mb.frame(t.node), mb.root if t.relative_to is None else mb.frame(t.relative_to)
        here = mb.pose(node, to, state=state)
        J = np.asarray(dyn.jacobian(mb, q, node, to, relative_to=to, ignore_loops=True))
        name = node.full_name
        if isinstance(t, Position):
            return Wanted(J[3:], np.asarray(t.point) - here.translation, name, length_or_one(mb))
        if isinstance(t, Placement):
            turn = log(t.pose.rotation @ here.rotation.T)
            residual = np.concatenate([turn, t.pose.translation - here.translation])
            return Wanted(J, residual, name, np.repeat([1.0, length_or_one(mb)], 3))
        return _pointing(J[:3], here.rotation @ np.asarray(t.axis), np.asarray(t.direction), name)


@dataclass(frozen=True, eq=False)
class Posture(Task):
    """The coordinates of the robot go to q."""

    q: Any
    bends: ClassVar[bool] = False
    preferred: ClassVar[bool] = True

    def wanted(self, mb: Multibody, q: Array) -> Wanted:
        """The difference."""
        return Wanted(np.eye(mb.nv), np.asarray(mb.difference(q, read_q(mb, self.q))), "posture", 1.0 / dof_units(mb))


@dataclass(frozen=True, eq=False)
class CenterOfMass(Task):
    """The centre of mass goes to a point; NaN leaves a direction free."""

    point: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            point = np.asarray(self.point).astype(np.float64, casting="same_kind")
        except (TypeError, ValueError):
            point = np.zeros(0)
        if point.shape != (3,) or np.isinf(point).any():
            raise StateError(f"a CenterOfMass goes to a point, with NaN where it is free; got {self.point!r:.60}.")
        object.__setattr__(self, "point", point)

    def wanted(self, mb: Multibody, q: Array) -> Wanted:
        """The way there."""
        point = self.point
        picked = np.isfinite(point)
        J = np.asarray(dyn.centroidal_momentum_matrix(mb, q, ignore_loops=True))[3:] / mb.total_mass
        residual = np.where(picked, point, 0.0) - np.asarray(dyn.center_of_mass(mb, q, ignore_loops=True))
        return Wanted(J[picked], residual[picked], "centre of mass", length_or_one(mb))


@dataclass(frozen=True, eq=False)
class Momentum(Task):
    """The momentum about the centre of mass is `rate`, [angular; linear]; measured by the mass and the length of the
    model."""

    preferred: ClassVar[bool] = True

    def wanted(self, mb: Multibody, q: Array) -> Wanted:
        """Rows of the momentum, without a residual: it is a rate."""
        J, length = np.asarray(dyn.centroidal_momentum_matrix(mb, q, ignore_loops=True)), length_or_one(mb)
        return Wanted(J, np.zeros(6), "momentum", mb.total_mass * length * np.repeat([length, 1.0], 3))


@dataclass(frozen=True, eq=False)
class LookAt(Task):
    """An axis of a frame points to a point in the inertial frame."""

    node: Any
    point: Any
    axis: Any = (0.0, 0.0, 1.0)

    def wanted(self, mb: Multibody, q: Array) -> Wanted:
        """The turn of the axis, with the way the frame itself moves."""
        node = mb.frame(self.node)
        X = mb.pose(node, state=mb.state(q))
        J = np.asarray(dyn.jacobian(mb, q, node, ignore_loops=True))
        way = np.asarray(self.point, dtype=float) - X.translation
        far = float(np.linalg.norm(way))
        name = f"{node.full_name} looks"
        if far == 0.0:  # at the point: nothing to look at
            return Wanted(np.zeros((2, mb.nv)), np.zeros(2), name)
        u = way / far
        seen = J[:3] + skew(u) @ J[3:] / far  # the direction to the point turns as the frame moves
        return _pointing(seen, X.rotation @ unit_axis(self.axis), u, name)


@dataclass(frozen=True, eq=False)
class Relative(Task):
    """A frame is at a pose as seen from another: hand to hand."""

    node: Any
    relative_to: Any
    pose: Any

    def wanted(self, mb: Multibody, q: Array) -> Wanted:
        """Rows of a `Placement` relative to that frame."""
        return Reaching(Placement(self.node, self.pose, relative_to=self.relative_to)).wanted(mb, q)


@dataclass(frozen=True, eq=False)
class Contact(Task):
    """A point of a body does not move (a foot on the ground): rows "linear", or "all"."""

    node: Any
    rows: str = "linear"
    preferred: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.rows, str) or self.rows not in ("linear", "all"):
            raise StateError(f"rows of a Contact are 'linear' or 'all', got {self.rows!r:.40}.")

    def wanted(self, mb: Multibody, q: Array) -> Wanted:
        """No rate."""
        node = mb.frame(self.node)
        J = np.asarray(dyn.jacobian(mb, q, node, ignore_loops=True))
        J, size = (J[3:], length_or_one(mb)) if self.rows == "linear" else (J, np.repeat([1.0, length_or_one(mb)], 3))
        return Wanted(J, np.zeros(len(J)), f"{node.full_name} stands", size)


@dataclass(frozen=True, eq=False)
class Distance(Task):
    """Distance that everything of a world keeps from everything else at least, in metres; computed within another
    distance. It is kept before all levels: it has a gain, and neither level nor weight.
    """

    world: Surroundings
    least: float
    within: float = 0.2
    kept: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.level != 0 or self.weight != 1.0:
            raise StateError("a Distance is kept before all levels: it takes a gain, and neither a level nor a weight.")
        for name in ("least", "within"):
            object.__setattr__(self, name, float(finite(getattr(self, name), (), f"{name} of a Distance", StateError)))

    def wanted(self, mb: Multibody, q: Array) -> Wanted:
        """Gradients of the points that are near, and how far they are beyond the least distance. Where faces look at
        each other, all corners of where they do count: the nearest alone jumps from one to the other."""
        rows, size = self.world.distances(q, self.within + self.least), length_or_one(mb)
        far = rows.distance > self.least + NEAR * self.within
        if far.all():
            return Wanted(rows.gradient, rows.distance - self.least, "distances", size)
        scene = self.world.scene
        corners = scene.contacts(q, self.least + NEAR * self.within)
        J = np.vstack([rows.gradient[far], scene.gradient(corners)])
        return Wanted(J, np.concatenate([rows.distance[far], corners.distance]) - self.least, "distances", size)


def read_tasks(mb: Multibody, tasks: Any) -> tuple[Task, ...]:
    """Tasks of a robot; a target is a `Reaching` of it."""
    several = None if isinstance(tasks, Task) else listed(tasks)
    if several is None:
        raise StateError(f"tasks are a list of Posture(...), Reaching(...) ..., got {tasks!r:.60}.")
    read = tuple(Reaching(x) if isinstance(x, Placement | Position | Direction) else x for x in several)
    for x in read:
        if not isinstance(x, Task):
            raise StateError(f"a task is a Posture, a CenterOfMass, a Reaching(Placement(...)) ..., got {x!r:.60}.")
        if isinstance(x, Distance) and getattr(getattr(x.world, "robot", None), "mb", None) is not mb:
            raise StateError(
                f"the world of a Distance must be one around this robot, {mb.name!r}; got {x.world!r:.60}."
            )
    return read


def length_or_one(mb: Multibody) -> float:
    """The length of a model; a metre where nothing has an extent."""
    return length_of(mb) or 1.0


def dof_units(mb: Multibody) -> Array:
    """Size of one SI unit of each dof in radians or lengths of the model."""
    units = constant_measure_of(mb).dofs
    return np.where(units > 0.0, units, 1.0)


def unit_axis(axis: Any) -> Array:
    """An axis of length one."""
    x = finite(axis, (3,), "an axis", StateError)
    size = float(np.linalg.norm(x))
    if size == 0.0:
        raise StateError("an axis must not be zero.")
    return np.asarray(x / size)


def _pointing(J: Array, u: Array, goal: Array, name: str) -> Wanted:
    """Rows that turn a unit vector u to a goal, across u: two of them count. From half a turn away any way is as
    short."""
    a = np.cross(u, np.eye(3)[int(np.argmin(np.abs(u)))])
    a = a / np.linalg.norm(a)
    basis = np.stack([a, np.cross(u, a)])
    across = np.cross(u, goal)
    sine, cosine = float(np.linalg.norm(across)), float(u @ goal)
    turn = np.arctan2(sine, cosine) / sine * across if sine > 0.0 else across if cosine > 0.0 else np.pi * a
    return Wanted(basis @ J, basis @ turn, name)
