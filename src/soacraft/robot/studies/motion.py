"""Motions that are studied, and the forces that they take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from soacraft import dynamics as dyn
from soacraft import loops
from soacraft.arguments import whole_number
from soacraft.errors import StateError
from soacraft.model.sizes.lengths import length_of
from soacraft.model.states.coordinates import in_graph_order, read_q, read_v
from soacraft.model.states.dof_sets import Held, modal_dofs
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.control.freedoms import apart_dofs
from soacraft.robot.robot import Robot
from soacraft.robot.studies.efforts import Efforts
from soacraft.spatial.checks import Array, finite

#: A dof without a motor may take this part of the weight, or of the largest force: it is rounding of the motion.
IDLE = 1e-6
SAMPLES = 501
#: Times of a motion at most.
MOST = 10_000_000


class Way(NamedTuple):
    """States along time: t (k), q (k, nq), v and vdot (k, nv)."""

    t: Array
    q: Array
    v: Array
    vdot: Array

    def faster(self, s: float) -> Way:
        """Motion in a time 1/s as long: v grows by s, vdot by s^2."""
        return Way(self.t[0] + (self.t - self.t[0]) / s, self.q, s * self.v, s * s * self.vdot)


def held_of(robot: Any) -> Held:
    """The hands of a robot that hold each object; of a model there is none."""
    return robot.held if isinstance(robot, Robot) else {}


def model_of(robot: Any) -> Multibody:
    """The model of a robot, or a model itself."""
    if isinstance(robot, Robot):
        return robot.mb
    if isinstance(robot, Multibody):
        return robot
    raise StateError(f"a study is of a Robot or its model, got {robot!r:.60}.")


def read_motion(mb: Multibody, motion: Any, t: Any = None) -> Way:
    """A motion from (t, q, v, vdot), from a run of `sc.sim`, or from an object with `at(t)`, which gives q, v and vdot:
    that is looked at at the times `t`, or at so many even ones up to its `duration`.
    """
    if hasattr(motion, "at") and not all(hasattr(motion, x) for x in ("t", "q", "v", "vdot")):
        return _sampled(mb, motion, t)
    if t is not None:
        raise StateError("t= is for motions that have at(t); give the others the rows that are to count.")
    try:
        times, q, v, vdot = (motion.t, motion.q, motion.v, motion.vdot) if hasattr(motion, "vdot") else motion
    except (TypeError, ValueError, AttributeError):
        raise StateError(
            f"a motion is (t, q, v, vdot), a run, or an object with at(t); got {type(motion).__name__}."
        ) from None
    times = finite(times, (None,), "t of a motion", StateError)
    k = len(times)
    if k < 2 or (np.diff(times) <= 0.0).any():
        raise StateError("the times of a motion are at least two, and grow.")
    q, v = read_q(mb, q, "q of a motion"), read_v(mb, v)
    vdot = in_graph_order(mb, vdot, "vdot of a motion")
    vdot = finite(vdot, (k, mb.nv), "vdot of a motion", StateError)
    if q.shape != (k, mb.nq) or v.shape != (k, mb.nv):
        raise StateError(
            f"a motion of {mb.name!r} at {k} times has q ({k}, {mb.nq}) and v ({k}, {mb.nv}); got {q.shape} and "
            f"{v.shape}."
        )
    return Way(times, np.asarray(q), np.asarray(v), vdot)


def _sampled(mb: Multibody, motion: Any, t: Any) -> Way:
    if t is None or isinstance(t, int | np.integer):
        count = whole_number(SAMPLES if t is None else t, "the number of times of a motion", 2, MOST)
        if not hasattr(motion, "duration"):
            raise StateError("a motion with at(t) needs its duration, or the times t= at which it is looked at.")
        t = np.linspace(0.0, float(motion.duration), count)
    t, rows = finite(t, (None,), "t of a motion", StateError), []
    for x in t:
        row = motion.at(float(x))
        rows.append([getattr(row, n) for n in ("q", "v", "vdot")] if hasattr(row, "vdot") else list(row)[:3])
    return read_motion(mb, (t, *(np.array([r[i] for r in rows], dtype=float) for i in range(3))))


def forces_of(
    mb: Multibody, q: Array, v: Array, vdot: Array, efforts: Efforts, f_ext: Mapping[Any, Any] | None = None
) -> Array:
    """The forces of the motors that states take, (..., nv): inverse dynamics of a tree; of a closed chain those of the
    motors that move it (least squares where there are more than needed).

    A force where there is no motor is refused; objects that lie around, with no motor outboard, do not count. Flexible
    bodies bend as the motion says, whatever pushes their modes.
    """
    if mb.is_closed:
        if not efforts.motors.any():
            raise StateError(
                f"{mb.name!r} is a closed chain without actuators: say which dofs have motors with efforts={{dof: "
                "limit}}."
            )
        return np.asarray(loops.TreeAugmented(mb).inverse_dynamics(q, v, vdot, efforts.motors, f_ext))
    force = np.array(dyn.inverse_dynamics(mb, q, v, vdot, f_ext))
    idle = ~efforts.motors
    if idle.any():
        force[..., modal_dofs(mb) | apart_dofs(mb, efforts.motors)] = 0.0
        size = IDLE * np.maximum(weights(mb), np.abs(force).max(initial=0.0))
        wrong = (np.abs(force) > size) & idle
        if wrong.any():
            worst = np.unravel_index(int(np.argmax(np.abs(force) * wrong / size)), force.shape)
            raise StateError(
                f"dof {mb.dof_names[worst[-1]]!r} of {mb.name!r} has no motor, and the motion takes a force of "
                f"{force[worst]:.4g} there: give the wrenches of the contacts with f_ext=, or a motor with efforts=."
            )
        force[..., idle] = 0.0
    return force


def weights(mb: Multibody) -> Array:
    """The weight of a model as a force on each dof, (nv): its moment about the model's length where the dof turns."""
    turning = np.array([x == "r" for x in "".join(mb.layout.units.hinge)], dtype=bool)
    weight = mb.total_mass * float(np.linalg.norm(mb.gravity))
    return np.where(turning, weight * (length_of(mb) or 1.0), weight)


def units_of(mb: Multibody) -> tuple[str, ...]:
    """The unit of the generalized force of each dof."""
    return tuple("N m" if x == "r" else "N" if x == "m" else "" for x in "".join(mb.layout.units.hinge))
