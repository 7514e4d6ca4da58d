"""Joints as hinges, and MuJoCo's coordinates as ours.

    hinge, slide:  q = qpos - ref
    ball:          q = [x, y, z, w],                   v = qvel
    free:          q = [x, y, z, w, px, py, pz],       v = [omega; R* v]
    free in parts: q = [px, py, pz | x, y, z, w],      v = qvel

A free joint is at the world's origin for q = 0, as it is in MuJoCo. One that has armature or a spring becomes three
slides and a ball: there both act along the world's axes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soacraft.model import Limits, Passive
from soacraft.model.hinges import Free, Pin, Prismatic, Spherical
from soacraft.model.hinges.base import Hinge
from soacraft.spatial import Array, Pose

FREE, BALL, SLIDE, HINGE = range(4)
XYZ = ("x", "y", "z")


@dataclass(frozen=True)
class Step:
    """Hinge of the model made from a joint: its name, its pose in the frame before it, and the dofs and coordinates of
    the joint that it has.
    """

    hinge_name: str
    hinge: Hinge
    place: Pose
    joint: int
    dofs: range
    coordinates: range


def pose_of(position: Any, quaternion: Any = (1.0, 0.0, 0.0, 0.0)) -> Pose:
    """A pose from MuJoCo's position and quaternion [w, x, y, z].

    >>> pose_of((1, 2, 3)).translation
    array([1., 2., 3.])
    """
    w, x, y, z = np.asarray(quaternion, dtype=np.float64)
    return Pose.from_quaternion((x, y, z, w), np.array(position, dtype=np.float64))


def steps_of(model: Any, joint: int, name: str) -> list[Step]:
    """The hinges that a joint becomes: one, or four for a free joint in parts."""
    kind, dof, at = int(model.jnt_type[joint]), int(model.jnt_dofadr[joint]), int(model.jnt_qposadr[joint])
    place = pose_of(model.jnt_pos[joint])
    if kind == FREE:
        if not in_parts(model, joint):
            return [Step(name, Free(), Pose(), joint, range(dof, dof + 6), range(at, at + 7))]
        slides = [
            Step(f"{name}_{axis}", Prismatic(np.eye(3)[i]), Pose(), joint, range(dof + i, dof + i + 1),
                 range(at + i, at + i + 1))
            for i, axis in enumerate(XYZ)
        ]  # fmt: skip
        return [*slides, Step(name, Spherical(), Pose(), joint, range(dof + 3, dof + 6), range(at + 3, at + 7))]
    if kind == BALL:
        return [Step(name, Spherical(), place, joint, range(dof, dof + 3), range(at, at + 4))]
    axis = np.array(model.jnt_axis[joint])
    hinge: Hinge = Prismatic(axis) if kind == SLIDE else Pin(axis)
    return [Step(name, hinge, place if kind == HINGE else Pose(), joint, range(dof, dof + 1), range(at, at + 1))]


def in_parts(model: Any, joint: int) -> bool:
    """True if a free joint has armature or a spring."""
    dof = int(model.jnt_dofadr[joint])
    return bool(model.dof_armature[dof : dof + 6].any() or model.jnt_stiffness[joint] != 0.0)


def limits_of(model: Any, step: Step) -> Limits:
    """The range of a joint, and the bound on its actuators' force when it is the same both ways."""
    joint, kind = step.joint, int(model.jnt_type[step.joint])
    bounds: dict[str, float] = {}
    if model.jnt_limited[joint]:
        low, high = (float(x) for x in model.jnt_range[joint])
        if kind == BALL:
            bounds["upper"] = high
        elif kind in (SLIDE, HINGE):
            ref = float(model.qpos0[step.coordinates[0]])
            bounds |= {"lower": low - ref, "upper": high - ref}
    if model.jnt_actfrclimited[joint]:
        low, high = (float(x) for x in model.jnt_actfrcrange[joint])
        if low == -high:
            bounds["effort"] = high
    return Limits(**bounds)


def passive_of(model: Any, step: Step, off: frozenset[str]) -> Passive:
    """The spring, damper and friction of a joint; `off` says which of them the file turns off."""
    dofs = slice(step.dofs.start, step.dofs.stop)
    stiffness = 0.0 if "SPRING" in off else float(model.jnt_stiffness[step.joint])
    damping = np.array(model.dof_damping[dofs]) * ("DAMPER" not in off)
    friction = np.array(model.dof_frictionloss[dofs]) * ("FRICTIONLOSS" not in off)
    rest = None
    if stiffness:
        sprung = np.array(model.qpos_spring[step.coordinates.start : step.coordinates.stop])
        rest = coordinates_of(model, step, sprung)
    return Passive(stiffness, damping, friction, rest)


def coordinates_of(model: Any, step: Step, qpos: Array) -> Array:
    """The coordinates of a hinge from MuJoCo's of the same joint."""
    if isinstance(step.hinge, Free):
        return np.concatenate([qpos[[4, 5, 6, 3]], qpos[:3]])
    if isinstance(step.hinge, Spherical):
        return np.asarray(qpos[[1, 2, 3, 0]])
    if int(model.jnt_type[step.joint]) == FREE:
        return qpos
    return np.asarray(qpos - model.qpos0[step.coordinates.start : step.coordinates.stop])


def velocities_of(step: Step, qpos: Array, qvel: Array) -> Array:
    """The velocities of a hinge from MuJoCo's of the same joint."""
    if isinstance(step.hinge, Free):
        R = pose_of(qpos[:3], qpos[3:7]).rotation
        return np.concatenate([qvel[3:], R.T @ qvel[:3]])
    return qvel


def state_of(model: Any, steps: list[Step], qpos: Any, qvel: Any) -> tuple[Array, Array]:
    """q and v of the whole model from MuJoCo's, for hinges in MuJoCo's order."""
    qpos, qvel = np.array(qpos, dtype=np.float64), np.array(qvel, dtype=np.float64)
    q, v = [np.zeros(0)], [np.zeros(0)]
    for step in steps:
        here = qpos[step.coordinates.start : step.coordinates.stop]
        q.append(coordinates_of(model, step, here))
        v.append(velocities_of(step, here, qvel[step.dofs.start : step.dofs.stop]))
    return np.concatenate(q), np.concatenate(v)
