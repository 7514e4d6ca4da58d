"""States and motions of hinges as messages. They hold hinges of one dof; others have messages of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.errors import ModelError, StateError, near
from soacraft.model.states.coordinates import read_q, read_v
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.motion.motion import Moment, Motion
from soacraft.robot.robot import Robot
from soacraft.robot.ros.cdr import LONGEST
from soacraft.robot.ros.places import header, read_header, read_time, time
from soacraft.spatial.checks import Array, finite

Places = npt.NDArray[np.intp]


def joint_state(
    robot: Robot,
    q: Any = None,
    v: Any = None,
    force: Any = None,
    *,
    joints: Sequence[str] | str | None = None,
    stamp: float = 0.0,
) -> dict[str, Any]:
    """A `sensor_msgs/msg/JointState` of q (nq), v (nv) and force (nv), by default the robot's own q and v; `force` is
    left out where it is not given.

    `joints` names hinges; without it all, or with "single" those of one dof: a robot with a free base has that as a
    pose.

    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.load("panda"))
    >>> sc.robot.ros.joint_state(rb)["name"][:2]
    ['joint1', 'joint2']
    """
    mb = _model(robot)
    names, qi, vi = _hinges(mb, joints)
    return {
        "header": header("", stamp),
        "name": names,
        "position": _single(read_q(mb, mb.q if q is None else q), "q")[qi],
        "velocity": _single(read_v(mb, mb.v if v is None else v), "v")[vi],
        "effort": np.zeros(0) if force is None else _single(read_v(mb, force, "force"), "force")[vi],
    }


def read_joint_state(robot: Robot, message: dict[str, Any]) -> tuple[Array, Array, Array]:
    """q (nq), v (nv) and force (nv) of a JointState. What it does not hold is as in the robot's state, force zero;
    `robot` itself is not changed. A joint that the robot does not have, or one that is named twice, is refused."""
    mb = _model(robot)
    read_header(message)
    names, qi, vi = _hinges(mb, _texts(message, "name"))
    q, v, force = np.array(mb.q), np.array(mb.v), np.zeros(mb.nv)
    for name, into, at in (("position", q, qi), ("velocity", v, vi), ("effort", force, vi)):
        numbers = _numbers(message.get(name), len(names), name)
        if numbers is not None:
            into[at] = numbers
    return q, v, force


def joint_trajectory(
    robot: Robot,
    times: Any,
    q: Any = None,
    v: Any = None,
    vdot: Any = None,
    force: Any = None,
    *,
    joints: Sequence[str] | str | None = None,
    stamp: float = 0.0,
    step: float | None = None,
) -> dict[str, Any]:
    """A `trajectory_msgs/msg/JointTrajectory` of times (k) in seconds, q (k, nq), and v, vdot, force (k, nv) where they
    are given; or of a `Motion` of the robot, at its knots, or with `step` every so many seconds and at its end. O(k n).

    >>> import soacraft as sc
    >>> rb = sc.robot.Robot(sc.serial_chain(2))
    >>> motion = sc.robot.minimum_jerk(rb, [0.0, 0.0], [1.0, -0.5], duration=2.0)
    >>> points = sc.robot.ros.joint_trajectory(rb, motion, step=0.5)["points"]
    >>> len(points), points[2]["positions"], points[-1]["time_from_start"]
    (5, array([ 0.5 , -0.25]), {'sec': 2, 'nanosec': 0})
    """
    mb = _model(robot)
    if isinstance(times, Motion):
        if any(x is not None for x in (q, v, vdot)):
            raise StateError("a Motion has its own q, v and vdot: give none beside it.")
        times, (q, v, vdot) = _sampled(robot, times, step)
    elif step is not None:
        raise StateError("step= is for a Motion: times are given as they are.")
    elif q is None:
        raise StateError(f"a trajectory is a Motion, or times and q; got {times!r:.60} without q.")
    names, qi, vi = _hinges(mb, joints)
    t = finite(times, (None,), "times", StateError)
    if (t < 0.0).any() or (np.diff(np.round(t * 1e9)) <= 0.0).any():
        raise StateError("times of a trajectory must not be negative and must grow by nanoseconds from point to point.")
    columns = {"positions": _rows(read_q(mb, q), len(t), "q")[:, qi]}
    for name, values in (("velocities", v), ("accelerations", vdot), ("effort", force)):
        if values is not None:
            columns[name] = _rows(read_v(mb, values, name), len(t), name)[:, vi]
    points = [
        {**{name: x[i] for name, x in columns.items()}, "time_from_start": time(t[i], "times")}
        for i in range(len(t))
    ]
    return {"header": header("", stamp), "joint_names": names, "points": points}


def read_joint_trajectory(
    robot: Robot, message: dict[str, Any]
) -> tuple[Array, Array, Array | None, Array | None, Array | None]:
    """times (k), q (k, nq), v, vdot, force (k, nv) of a JointTrajectory; None for what no point has. Hinges that it
    does not name stay as in the robot's state, at rest. Points of which only some have velocities are refused."""
    mb = _model(robot)
    read_header(message)
    names, qi, vi = _hinges(mb, _texts(message, "joint_names"))
    points = message.get("points")
    if not isinstance(points, list) or not points:
        raise StateError("the trajectory has no points.")
    times = np.array([_seconds(x, i) for i, x in enumerate(points)])
    if (np.diff(times) <= 0.0).any():
        i = int(np.argmax(np.diff(times) <= 0.0))
        raise StateError(f"point {i + 1} of the trajectory is not later than the one before it.")
    q = np.tile(np.array(mb.q), (len(points), 1))
    placed = _columns(points, "positions", len(names))
    if placed is None:
        raise StateError("the trajectory has no positions.")
    q[:, qi] = placed
    rest: list[Array | None] = []
    for name in ("velocities", "accelerations", "effort"):
        columns = _columns(points, name, len(names))
        full = None if columns is None else np.zeros((len(points), mb.nv))
        if full is not None and columns is not None:
            full[:, vi] = columns
        rest.append(full)
    return times, q, rest[0], rest[1], rest[2]


# -- inside ----------------------------------------------------------------------------------------------------------


def _model(robot: Any) -> Multibody:
    if not isinstance(robot, Robot):
        raise ModelError(f"messages of joints are of a Robot, got {robot!r:.60}.")
    return robot.mb


def _sampled(robot: Robot, motion: Motion, step: Any) -> tuple[Array, Moment]:
    """Times of a motion that differ by a nanosecond or more, and where it is then."""
    if motion.robot is not robot:
        raise StateError(f"the {motion!r:.60} is of another robot: make it for this one.")
    t, T = motion.knots, motion.duration
    if step is not None:
        dt = float(finite(step, (), "step", StateError))
        if not max(1e-9, T / LONGEST) <= dt:
            raise StateError(
                f"step must be a nanosecond at least, and give {LONGEST} points at most; got {step!r:.40} s."
            )
        t = np.append(np.arange(0.0, T, dt), T)
    later = np.append(np.diff(np.round(t * 1e9)) > 0.0, True)
    return t[later], motion.at(t[later])


def _hinges(mb: Multibody, joints: Any) -> tuple[list[str], Places, Places]:
    """Names of hinges with one dof, and the places of their coordinates and dofs."""
    layout = mb.layout
    moving = {x.hinge_name: k for k, x in enumerate(mb.bodies) if x.hinge.nv}
    if joints is None or (isinstance(joints, str) and joints == "single"):
        names = [n for n, k in moving.items() if joints is None or mb.bodies[k].hinge.nv == 1]
    else:
        if not isinstance(joints, str | list | tuple):
            raise ModelError(f"joints are names of hinges, a list of them, or 'single'; got {joints!r:.60}.")
        names = [joints] if isinstance(joints, str) else list(joints)
    seen: set[str] = set()
    for name in names:
        if not isinstance(name, str) or name not in moving:
            raise ModelError(f"the robot {mb.name!r} has no hinge {name!r:.60} that moves{near(str(name), moving)}")
        hinge = mb.bodies[moving[name]].hinge
        if hinge.nv != 1 or hinge.nq != 1:
            raise ModelError(
                f"hinge {name!r} has {hinge.nv} dofs, and a message of joints holds those of one: pass "
                "joints='single', and send it as a pose."
            )
        if name in seen:
            raise StateError(f"the joint {name!r} is there twice.")
        seen.add(name)
    at = [moving[n] for n in names]
    q_places = np.array([layout.hinge_q[k].start for k in at], dtype=np.intp)
    v_places = np.array([layout.hinge_v[k].start for k in at], dtype=np.intp)
    return names, q_places, v_places


def _texts(message: dict[str, Any], name: str) -> list[str]:
    texts = message.get(name)
    if not isinstance(texts, list | tuple) or not all(isinstance(x, str) for x in texts):
        raise StateError(f"{name!r} of the message must be a list of names, got {texts!r:.60}.")
    return list(texts)


def _numbers(values: Any, count: int, what: str) -> Array | None:
    """Read as many numbers as there are joints, or none."""
    if isinstance(values, np.ndarray):
        values = values if values.size else None
    if values is None or (isinstance(values, list | tuple) and not values):
        return None
    return finite(values, (count,), what, StateError)


def _single(values: Array, what: str) -> Array:
    if values.ndim > 1:
        raise StateError(f"{what} of a message is one state, got the shape {values.shape}.")
    return values


def _rows(values: Array, count: int, what: str) -> Array:
    if values.ndim != 2 or len(values) != count:
        raise StateError(f"{what} must have a row for each of the {count} times, got the shape {values.shape}.")
    return values


def _columns(points: list[Any], name: str, count: int) -> Array | None:
    rows = [_numbers(x.get(name), count, f"{name} of point {i}") for i, x in enumerate(points)]
    present = [x for x in rows if x is not None]
    if present and len(present) != len(rows):
        i = next(i for i, x in enumerate(rows) if x is None)
        raise StateError(f"point {i} of the trajectory has no {name}, and others have.")
    return np.array(present) if present else None


def _seconds(point: Any, i: int) -> float:
    if not isinstance(point, dict):
        raise StateError(f"point {i} of the trajectory is no message: {point!r:.60}.")
    return read_time(point, "time_from_start")
