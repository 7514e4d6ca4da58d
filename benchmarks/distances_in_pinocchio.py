"""Distances with gradients by Pinocchio and coal: the shapes and pairs of a world, in the forms that its users have.

"distances" is `computeDistances`, of all pairs; "margin" is `computeCollisions` with a security margin, which is done
with a pair as soon as it is known to be farther away; "broad phase" is the same with a tree of boxes. All run in C++.
The pairs that are near are read from Python; with a broad phase, where results of other pairs are those of calls
before, they are told by the caller. Gradients are n.(J_b - J_a) in NumPy, from Jacobians of joints, once each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import coal
import numpy as np
import pinocchio as pin

import soacraft as sc

FORMS = ("distances", "margin", "broad phase")


class Peer:
    """The robot of a world, which is a tree of pins, and all shapes around it."""

    def __init__(self, w: sc.robot.World, within: float) -> None:
        mb, scene = w.robot.mb, w.scene
        self.within, self.model, self.geometry = within, pin.Model(), pin.GeometryModel()
        self._on: dict[Any, tuple[int, Any]] = {mb.root: (0, pin.SE3.Identity())}
        for body in mb.bodies:
            self._add(body)
        number = {}
        for placed, (name, shape) in zip(scene.placed, scene.shapes.items(), strict=True):
            joint, at = self._on[placed.carrier]
            made = pin.GeometryObject(name, joint, 0, at * _se3(placed.geometry.pose), _coal(shape))
            number[name] = self.geometry.addGeometryObject(made)
        self.names = scene.pairs
        for a, b in self.names:
            self.geometry.addCollisionPair(pin.CollisionPair(number[a], number[b]))
        self.data, self.found = self.model.createData(), self.geometry.createData()
        for request in self.found.collisionRequests:
            request.security_margin, request.enable_contact = within, True
        self._manager = pin.BroadPhaseManager_DynamicAABBTreeCollisionManager(self.model, self.geometry, self.found)
        self._joints = [x.parentJoint for x in self.geometry.geometryObjects]
        self._pairs = [(p.first, p.second) for p in self.geometry.collisionPairs]

    def _add(self, body: Any) -> None:
        joint, at = self._on[body.parent]
        if isinstance(body.hinge, sc.Weld):
            self._on[body] = joint, at * _se3(body.inboard) * _se3(body.outboard)
            return
        kind = pin.JointModelRevoluteUnaligned(np.array(body.hinge.axis, dtype=float))
        if np.array_equal(body.hinge.axis, (0, 0, 1)):
            kind = pin.JointModelRZ()
        joint = self.model.addJoint(joint, kind, at * _se3(body.inboard), body.name)
        self.model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Identity())
        self._on[body] = joint, _se3(body.outboard)

    def query(self, q: np.ndarray, form: str) -> None:
        """What is done in C++ alone."""
        if form == "distances":
            pin.computeDistances(self.model, self.data, self.geometry, self.found, q)
        elif form == "margin":
            pin.computeCollisions(self.model, self.data, self.geometry, self.found, q, False)
        else:
            pin.computeCollisions(self.model, self.data, self._manager, q, False)

    def collides(self, q: np.ndarray) -> bool:
        """Whether anything is nearer than the margin, with a tree of boxes, up to the first pair."""
        return bool(pin.computeCollisions(self.model, self.data, self._manager, q, True))

    def near(self, q: np.ndarray, form: str, told: Sequence[int] = ()) -> tuple[list[int], np.ndarray, np.ndarray]:
        """The numbers of the pairs that are near, their distances and gradients."""
        self.query(q, form)
        pin.computeJointJacobians(self.model, self.data, q)
        found: list[tuple[int, float, Any]]
        if form == "distances":
            results = self.found.distanceResults
            found = [(k, x.min_distance, x) for k, x in enumerate(results) if x.min_distance <= self.within]
        else:
            hits = self.found.collisionResults
            which = told if form == "broad phase" else [k for k, x in enumerate(hits) if x.isCollision()]
            found = [(k, c.penetration_depth, c) for k in which for c in (hits[k].getContact(0),)]
        jacobians: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        rows = np.zeros((len(found), self.model.nv))
        for g, (k, _, x) in zip(rows, found, strict=True):
            n = x.normal
            sides = zip(self._pairs[k], (-1.0, 1.0), (x.getNearestPoint1(), x.getNearestPoint2()), strict=True)
            for shape, sign, point in sides:
                joint = self._joints[shape]
                if not joint:
                    continue
                if joint not in jacobians:
                    J = pin.getJointJacobian(self.model, self.data, joint, pin.LOCAL_WORLD_ALIGNED)
                    jacobians[joint] = J, self.data.oMi[joint].translation
                J, origin = jacobians[joint]
                r = point - origin
                # n.(v + w x r) = n.v + w.(r x n)
                moment = np.array([r[1] * n[2] - r[2] * n[1], r[2] * n[0] - r[0] * n[2], r[0] * n[1] - r[1] * n[0]])
                g += sign * (n @ J[:3] + moment @ J[3:])
        return [k for k, _, _ in found], np.array([d for _, d, _ in found]), rows


def _se3(pose: sc.Pose) -> Any:
    return pin.SE3(np.array(pose.rotation), np.array(pose.translation))


def _coal(shape: Any) -> Any:
    size = [float(x) for x in shape.size]
    return {"capsule": coal.Capsule, "box": coal.Box, "sphere": coal.Sphere}[shape.kind](*size)
