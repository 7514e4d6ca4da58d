"""A closed chain of the benchmarks in Pinocchio: loops closed by balls are its 3D constraints.

`pin.constraintDynamics` and `pin.lcaba` solve the same equations: accelerations of the tree under the closures, without
stabilization. Both regularize the multipliers; how much, and how often they refine, is chosen for the fastest call that
gives the same answer: redundant rows need some of it, and `lcaba` more than `constraintDynamics`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin

import soacraft as sc

SWAP = [3, 4, 5, 0, 1, 2]  # angular first <-> linear first
#: Accuracy of the closures, absolute and relative; what is added to the diagonal; rounds at most. One is the default.
CONSTRAINT_DYNAMICS = (1e-12, 1e-12, 1e-12, 1)
LCABA = (1e-8, 1e-8, 1e-4, 30)


class ClosedInPinocchio:
    """A tree of pins, slides, balls, universal, welded and free hinges, added branch by branch, with its loops."""

    def __init__(self, mb: sc.Multibody) -> None:
        self.model = pin.Model()
        self.model.gravity = pin.Motion(np.array(mb.gravity), np.zeros(3))
        self._carriers: dict[Any, tuple[int, sc.Pose]] = {mb.root: (0, sc.Pose())}
        for body in mb.bodies:
            self._add(body)
        self._q = np.concatenate([_order(body, body.q_slice, [4, 5, 6, 0, 1, 2, 3]) for body in mb.bodies])
        self._v = np.concatenate([_order(body, body.v_slice, SWAP) for body in mb.bodies])
        assert self.model.nv == mb.nv
        self.model.armature = np.concatenate([np.zeros(0), *(body.armature for body in mb.bodies)])
        self.data = self.model.createData()
        self.loops, self.loop_data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for closure in mb.loops:
            self._close(closure)
        self.settings, self.lcaba_settings = (pin.ProximalSettings(*x) for x in (CONSTRAINT_DYNAMICS, LCABA))
        pin.initConstraintDynamics(self.model, self.data, self.loops, self.loop_data)
        pin.computeJointMinimalOrdering(self.model, self.data, self.loops)

    def _add(self, body: sc.Body) -> None:
        parent, on_parent = self._carriers[body.parent]
        joint, on_joint = parent, on_parent @ body.inboard @ body.outboard
        if not isinstance(body.hinge, sc.Weld):
            joint = self.model.addJoint(parent, _joint(body.hinge), _se3(on_parent @ body.inboard), body.name)
            on_joint = body.outboard
        self._carriers[body] = joint, on_joint
        inertia = pin.Inertia(body.inertia.mass, np.array(body.inertia.com), np.array(body.inertia.moment))
        self.model.appendBodyToJoint(joint, inertia, _se3(on_joint))

    def _close(self, closure: Any) -> None:
        assert isinstance(closure.hinge, sc.Spherical), f"{closure.name!r} is not closed by a ball"
        ends: list[Any] = []
        for frame in (closure.a, closure.b):
            joint, on_joint = self._carriers[frame.carrier]
            ends += [joint, _se3(on_joint @ frame.offset)]
        self.loops.append(pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, self.model, *ends, pin.LOCAL))
        self.loop_data.append(self.loops[-1].createData())

    def inputs(self, q: np.ndarray, v: np.ndarray, force: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Coordinates, velocities and a third vector in Pinocchio's order."""
        return q[..., self._q], v[..., self._v], force[..., self._v]

    def dofs(self, found: Any) -> np.ndarray:
        """Accelerations in soacraft's order."""
        vdot = np.empty(len(self._v))
        vdot[self._v] = found
        return vdot

    def coordinates(self, found: Any) -> np.ndarray:
        """Coordinates in soacraft's order."""
        q = np.empty(len(self._q))
        q[self._q] = found
        return q

    def square(self, found: Any) -> np.ndarray:
        """A matrix over the dofs in soacraft's order."""
        to = np.empty((len(self._v), len(self._v)))
        to[np.ix_(self._v, self._v)] = found
        return to


def _order(body: sc.Body, where: slice, free: list[int]) -> np.ndarray:
    numbers = np.arange(where.start, where.stop)
    return numbers[free] if isinstance(body.hinge, sc.Free) else numbers


def _joint(hinge: sc.Hinge) -> Any:
    match hinge:
        case sc.Free():
            return pin.JointModelFreeFlyer()
        case sc.Spherical():
            return pin.JointModelSpherical()
        case sc.Universal():
            return pin.JointModelUniversal(np.array(hinge.axis), np.array(hinge.axis2))
        case sc.Pin() | sc.Prismatic():
            short, long = ("R", "Revolute") if isinstance(hinge, sc.Pin) else ("P", "Prismatic")
            for name, along in zip("XYZ", np.eye(3), strict=True):
                if np.array_equal(hinge.axis, along):
                    return getattr(pin, f"JointModel{short}{name}")()
            return getattr(pin, f"JointModel{long}Unaligned")(np.array(hinge.axis))
    raise TypeError(f"{hinge!r} is not among the hinges of the closed chains of the benchmarks")


def _se3(pose: sc.Pose) -> Any:
    return pin.SE3(np.array(pose.rotation), np.array(pose.translation))
