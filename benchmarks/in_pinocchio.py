"""A model of the benchmarks in Pinocchio: its joints, its coordinates, and its results in soacraft's order.

Pinocchio's spatial vectors are linear first, and a free joint has the position before the quaternion. It is given its
aligned joints throughout: where an axis points backwards, the joint's frame is turned instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pinocchio as pin

import soacraft as sc

JOINTS = (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ)
SWAP = [3, 4, 5, 0, 1, 2]  # angular first <-> linear first


def bytes_needed(nv: int) -> int:
    """What making `Data` takes at its peak: arrays of nv^3 numbers, made and then copied."""
    return 64 * nv**3


class InPinocchio:
    """A tree of pins about coordinate axes, on a fixed or a free base.

    `data` is that of the pool for batches, which has one of it; nothing of size nv^3 is made twice.
    """

    def __init__(self, mb: sc.Multibody) -> None:
        self.model = pin.Model()
        self.model.gravity = pin.Motion(np.array(mb.gravity), np.zeros(3))
        self._joints: dict[Any, tuple[int, sc.Pose]] = {mb.root: (0, sc.Pose())}
        self._bodies = [self._add(body) for body in mb.bodies]
        node = mb.bodies[-1].nodes[0]
        joint, on_joint = self._joints[mb.bodies[-1]]
        self.frame = self._frame(node.full_name, joint, on_joint @ node.pose)
        assert [self.model.joints[self._joints[body][0]].idx_v for body in mb.bodies] == [
            body.v_slice.start for body in mb.bodies
        ], "the dofs must be numbered alike"
        free = isinstance(mb.bodies[0].hinge, sc.Free)
        self._q = np.array([4, 5, 6, 0, 1, 2, 3, *range(7, mb.nq)] if free else range(mb.nq))
        self._v = np.array([*SWAP, *range(6, mb.nv)] if free else range(mb.nv))
        self.pool = pin.ModelPool(self.model, 1)
        self.data = self.pool.getData(0)

    def _add(self, body: sc.Body) -> int:
        parent, on_parent = self._joints[body.parent]
        kind, turned = _joint(body.hinge)
        joint = self.model.addJoint(parent, kind, _se3(on_parent @ body.inboard @ turned), body.name)
        self._joints[body] = joint, turned.inv @ body.outboard
        inertia = pin.Inertia(body.inertia.mass, np.array(body.inertia.com), np.array(body.inertia.moment))
        self.model.appendBodyToJoint(joint, inertia, _se3(self._joints[body][1]))
        return self._frame(body.name, *self._joints[body])

    def _frame(self, name: str, joint: int, place: sc.Pose) -> int:
        return self.model.addFrame(pin.Frame(name, joint, 0, _se3(place), pin.FrameType.OP_FRAME))

    # -- states, one in a row ---------------------------------------------------------------------------------

    def inputs(self, q: np.ndarray, v: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Coordinates, velocities and a third vector in Pinocchio's order."""
        return q[..., self._q], v[..., self._v], x[..., self._v]

    # -- results ----------------------------------------------------------------------------------------------

    def dofs(self, found: Any) -> tuple[np.ndarray, ...]:
        return (np.array(found)[self._v],)

    def symmetric(self, found: Any) -> tuple[np.ndarray, ...]:
        """Of crba and computeMinverse the upper triangle counts."""
        upper = np.triu(np.array(found))
        return (self._square(upper + np.triu(upper, 1).T),)

    def jacobian(self, found: Any) -> tuple[np.ndarray, ...]:
        return (np.array(found)[SWAP][:, self._v],)

    def poses(self, found: Any) -> tuple[np.ndarray, ...]:
        places = [self.data.oMf[frame] for frame in self._bodies]
        return np.array([x.rotation for x in places]), np.array([x.translation for x in places])

    def derivatives(self, found: Any) -> tuple[np.ndarray, ...]:
        dq, dv, dx = (np.array(x) for x in found)
        return self._square(dq), self._square(dv), *self.symmetric(dx)

    def batch(self, found: Any) -> tuple[np.ndarray, ...]:
        """States are columns there."""
        return (np.array(found)[self._v].T,)

    def _square(self, A: np.ndarray) -> np.ndarray:
        return A[np.ix_(self._v, self._v)]


def _joint(hinge: sc.Hinge) -> tuple[Any, sc.Pose]:
    """The joint, and how its frame is turned against the hinge's."""
    if isinstance(hinge, sc.Free):
        return pin.JointModelFreeFlyer(), sc.Pose()
    assert isinstance(hinge, sc.Pin)
    along = int(np.argmax(np.abs(hinge.axis)))
    unit = np.eye(3)[along]
    if np.array_equal(hinge.axis, unit):
        return JOINTS[along](), sc.Pose()
    assert np.array_equal(hinge.axis, -unit), f"{hinge!r} is not about a coordinate axis"
    half_turn: Sequence[float] = 2 * np.eye(3)[along - 1] - 1  # about the axis before
    return JOINTS[along](), sc.Pose(np.diag(half_turn))


def _se3(pose: sc.Pose) -> Any:
    return pin.SE3(np.array(pose.rotation), np.array(pose.translation))
