"""Tasks as numbers that compiled code reads (`kinematics/velocity_job.hpp`); for the kinds it knows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from soacraft.errors import StateError
from soacraft.kinematics.closure_arrays import end_of, place_numbers
from soacraft.kinematics.targets import Direction, Placement, Position
from soacraft.model.flat.compiled import CompiledModel
from soacraft.model.states.coordinates import in_graph_order, read_q
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.whole_body.tasks import (
    CenterOfMass,
    Contact,
    LookAt,
    Momentum,
    Posture,
    Reaching,
    Relative,
    Task,
    unit_axis,
)
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.pose import Pose

PLACEMENT, AT_POINT, ALONG, LOOK, CENTER, MOMENTUM, POSTURE, STAND, GIVEN = range(9)
_STILL = Pose()


class Record(NamedTuple):
    """Task in numbers: its kind, rows of a contact, directions that one picks; its frames; goal and axis; of a posture
    its q; its rate by row.
    """

    kind: int
    rate: Array
    rows: int = 0
    picked: int = 0
    frames: tuple[Any, Any] = (None, None)
    goal: Pose = _STILL
    axis: Any = (0.0, 0.0, 0.0)
    q: Array | None = None

    def numbers(self, mb: Multibody, tree: CompiledModel, task: Task, level: int) -> tuple[list[int], list[float]]:
        """(6) and (47): as compiled code has them."""
        ends = [(-1, -1, _STILL) if x is None else end_of(mb, tree, x) for x in self.frames]
        rate = np.zeros(6)
        if self.kind not in (POSTURE, GIVEN):
            rate[: len(self.rate)] = self.rate
        integers = [self.kind, level, self.rows, self.picked, ends[0][0], ends[1][0]]
        real = [*place_numbers(ends[0][2]), *place_numbers(ends[1][2]), *place_numbers(self.goal), *self.axis]
        return integers, [*real, float(task.weight), float(task.gain), *rate]


def record_of(mb: Multibody, task: Task) -> Record:
    """The record of a task; of one that compiled code does not know its rows are to be given."""
    read = _READERS.get(type(task))
    return Record(GIVEN, np.zeros(0)) if read is None else read(mb, task)


def rate_of(mb: Multibody, task: Task, rows: int, what: str) -> Array:
    """The rate of a task by row; that of a posture is by dof."""
    rate = in_graph_order(mb, task.rate, f"the rate of {what}") if isinstance(task, Posture) else task.rate
    try:
        return np.broadcast_to(np.asarray(rate, dtype=float), (rows,))
    except ValueError:
        shape = np.shape(task.rate)
        raise StateError(
            f"the rate of {what} is a number, or one for each of its {rows} rows; got shape {shape}."
        ) from None


def aimed_at(task: Task, goal: Any) -> Task:
    """Task with another goal: a pose, a point, a direction, q."""
    fields = {Relative: "pose", LookAt: "point", CenterOfMass: "point", Posture: "q"}
    if isinstance(task, Reaching):
        t = task.target
        name = "pose" if isinstance(t, Placement) else "point" if isinstance(t, Position) else "direction"
        return replace(task, target=replace(t, **{name: goal}))
    if type(task) not in fields:
        raise StateError(f"a {type(task).__name__} has no goal that could be another.")
    return replace(task, **{fields[type(task)]: goal})


def _reaching(mb: Multibody, task: Any) -> Record:
    t = task.target
    node = mb.frame(t.node)
    frames = node, _frame(mb, t.relative_to)
    if isinstance(t, Placement):
        return Record(PLACEMENT, rate_of(mb, task, 6, node.full_name), frames=frames, goal=_one(t.pose, node))
    if isinstance(t, Position):
        goal = Pose(translation=finite(t.point, (3,), f"the position of {node.full_name!r}", StateError))
        return Record(AT_POINT, rate_of(mb, task, 3, node.full_name), frames=frames, goal=goal)
    assert isinstance(t, Direction)
    goal = Pose(translation=finite(t.direction, (3,), f"the direction of {node.full_name!r}", StateError))
    return Record(ALONG, rate_of(mb, task, 2, node.full_name), frames=frames, goal=goal, axis=t.axis)


def _relative(mb: Multibody, task: Any) -> Record:
    return _reaching(mb, Reaching(Placement(task.node, task.pose, relative_to=task.relative_to), rate=task.rate))


def _look(mb: Multibody, task: Any) -> Record:
    node = mb.frame(task.node)
    goal = Pose(translation=finite(task.point, (3,), "the point that is looked at", StateError))
    rate = rate_of(mb, task, 2, f"{node.full_name} looks")
    return Record(LOOK, rate, frames=(node, None), goal=goal, axis=unit_axis(task.axis))


def _center(mb: Multibody, task: Any) -> Record:
    _massive(mb)
    point = np.asarray(task.point, dtype=float)
    picked = ~np.isnan(point)
    bits = int(picked @ (1, 2, 4))
    goal = Pose(translation=np.where(picked, point, 0.0))
    return Record(CENTER, rate_of(mb, task, int(picked.sum()), "the centre of mass"), picked=bits, goal=goal)


def _momentum(mb: Multibody, task: Any) -> Record:
    _massive(mb)
    return Record(MOMENTUM, rate_of(mb, task, 6, "the momentum"))


def _posture(mb: Multibody, task: Any) -> Record:
    q = read_q(mb, task.q)
    if q.ndim != 1:
        raise StateError(f"a Posture is one configuration, got {q.shape[:-1]} of them.")
    mb.difference(q, q)  # refuses hinges without one
    return Record(POSTURE, rate_of(mb, task, mb.nv, "the posture"), q=q)


def _contact(mb: Multibody, task: Any) -> Record:
    node, rows = mb.frame(task.node), 3 if task.rows == "linear" else 6
    return Record(STAND, rate_of(mb, task, rows, f"{node.full_name} stands"), rows=rows, frames=(node, None))


_READERS = {
    Reaching: _reaching,
    Relative: _relative,
    LookAt: _look,
    CenterOfMass: _center,
    Momentum: _momentum,
    Posture: _posture,
    Contact: _contact,
}


def _frame(mb: Multibody, x: Any) -> Frame | None:
    return None if x is None else mb.frame(x)


def _one(pose: Pose, node: Frame) -> Pose:
    if pose.batch_shape:
        raise StateError(f"the pose of {node.full_name!r} is one pose, got {pose.batch_shape} of them.")
    return pose


def _massive(mb: Multibody) -> None:
    if not mb.total_mass > 0.0:
        raise StateError(f"{mb.name!r} has no mass: no centre of mass, and no momentum.")
