"""A model of the benchmarks in MuJoCo, without contacts and constraints.

Quaternions are w first. A free joint has the position first; its linear velocity is in inertial axes, the angular one
in body axes.
"""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

import soacraft as sc
from soacraft.spatial.rotations import quaternion_to_matrix

LEFT_OUT = ("CONSTRAINT", "CONTACT", "EQUALITY", "FRICTIONLOSS", "LIMIT", "SPRING", "DAMPER", "ACTUATION", "SENSOR")

mujoco.set_mju_user_warning(lambda text: None)  # results are compared; a log file in the working folder is of no use


class InMujoco:
    """A tree of pins on a fixed or a free base; a state is one vector for `mj_setState`."""

    def __init__(self, mb: sc.Multibody) -> None:
        spec = mujoco.MjSpec()
        spec.compiler.inertiafromgeom = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
        spec.compiler.degree = False
        spec.option.gravity = mb.gravity
        spec.option.disableflags = sum(getattr(mujoco.mjtDisableBit, f"mjDSBL_{name}") for name in LEFT_OUT)
        bodies: dict[Any, Any] = {mb.root: spec.worldbody}
        for body in mb.bodies:
            bodies[body] = add_body(bodies[body.parent], body)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        state = mujoco.mjtState
        self.parts = int(state.mjSTATE_QPOS | state.mjSTATE_QVEL | state.mjSTATE_QFRC_APPLIED)
        self._free = isinstance(mb.bodies[0].hinge, sc.Free)

    def inputs(self, q: np.ndarray, v: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Coordinates, velocities and forces in MuJoCo's, one after the other."""
        if self._free:
            R = quaternion_to_matrix(q[:4])
            q = np.concatenate([q[4:7], np.roll(q[:4], 1), q[7:]])
            v, x = (np.concatenate([R @ y[3:6], y[:3], y[6:]]) for y in (v, x))
        return np.concatenate([q, v, x])

    def accelerations(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The last result, as soacraft's vdot: the position's second rate is R (vdot + omega x v)."""
        found = np.array(self.data.qacc)
        if not self._free:
            return found
        linear = quaternion_to_matrix(q[:4]).T @ found[:3] - np.cross(v[:3], v[3:6])
        return np.concatenate([found[3:6], linear, found[6:]])

    def residual(self, vdot: np.ndarray, force: np.ndarray) -> float:
        """How far MuJoCo's inverse dynamics of accelerations, at the last state, is from the forces given."""
        assert not self._free
        self.data.qfrc_applied[:], self.data.qacc[:] = 0.0, vdot
        mujoco.mj_inverse(self.model, self.data)
        return float(np.max(np.abs(self.data.qfrc_inverse - force)))


def add_body(parent: Any, body: sc.Body) -> Any:
    """A body on its free joint or its pin, in MuJoCo's specification."""
    place, inertia = body.inboard, body.inertia
    mine = parent.add_body(name=body.name, pos=place.translation, quat=np.roll(place.as_quaternion(), 1))
    if isinstance(body.hinge, sc.Free):
        mine.add_joint(type=mujoco.mjtJoint.mjJNT_FREE)
    else:
        assert isinstance(body.hinge, sc.Pin)
        assert body.outboard == sc.Pose()
        mine.add_joint(type=mujoco.mjtJoint.mjJNT_HINGE, axis=body.hinge.axis)
    J = inertia.moment
    mine.mass, mine.ipos, mine.explicitinertial = inertia.mass, inertia.com, True
    mine.fullinertia = [J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]]
    return mine
