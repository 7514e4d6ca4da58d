"""The chain of the benchmarks in Pinocchio. It has no operators: a product with the mass matrix is a call of `rnea`
with no gravity and no velocity, one with its inverse a call of `aba`.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

import soacraft as sc


class PinocchioChain:
    """A serial chain of pins about y and z, rebuilt in Pinocchio from ours."""

    def __init__(self, mb: sc.Multibody) -> None:
        self.model = pin.Model()
        joint = 0
        for body in mb.bodies:
            kind = pin.JointModelRY() if body.hinge == sc.Pin((0, 1, 0)) else pin.JointModelRZ()
            place = pin.SE3(body.inboard.rotation, body.inboard.translation)
            joint = self.model.addJoint(joint, kind, place, body.name)
            inertia = pin.Inertia(body.inertia.mass, np.array(body.inertia.com), np.array(body.inertia.moment))
            self.model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
        self.model.gravity = pin.Motion.Zero()
        self.data, self.rest = self.model.createData(), np.zeros(self.model.nv)

    def mass_matrix_times(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        """M(q) x."""
        return pin.rnea(self.model, self.data, q, self.rest, x)

    def inverse_times(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        """M(q)^-1 x."""
        return pin.aba(self.model, self.data, q, self.rest, x)

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """M(q), dense."""
        upper = np.triu(pin.crba(self.model, self.data, q))
        return upper + np.triu(upper, 1).T

    def inverse(self, q: np.ndarray) -> np.ndarray:
        """M(q)^-1, dense."""
        upper = np.triu(pin.computeMinverse(self.model, self.data, q))
        return upper + np.triu(upper, 1).T
