"""A convex shape rolling on a plane without slipping, whose contact point wanders over it: what such hinges share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np

from soacraft.model.hinges.rolling import Rolling
from soacraft.model.hinges.spherical import turned
from soacraft.spatial import Array, Pose, quaternion_rate, quaternion_to_matrix, skew

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_PANEL = 0.5  # radians: over so much of a turn twelve points are exact to rounding


class Lever(NamedTuple):
    """Contact point of the shape, in its axes."""

    l: Array
    """Vector from the centre to the contact point."""
    rate: Array
    """(3, 3): dl = rate w dt for the angular velocity w."""


class RollingShape(Rolling):
    """A convex shape that touches its plane at l, a function of the normal seen from the shape.

        H* = [I; l~],   dH*_j = [0; (dl/dv_j)~],   the contact point moves on the plane by R dl/dt

    The outboard frame is at the shape's centre, v its angular velocity in its own axes.
    """

    @abstractmethod
    def _lever(self, R: Array) -> Lever:
        """Contact point at an attitude, and its rate in the axes of the shape."""

    def pose(self, q: Any) -> Pose:
        """Attitude of the shape; its centre at `px t1 + py t2 - R l`."""
        q = np.asarray(q, dtype=np.float64)
        R = quaternion_to_matrix(q[:4])
        return Pose.unchecked(R, q[4:] @ self._tangents - R @ self._lever(R).l)

    def H_T(self, q: Any) -> Array:
        """`[I; l~]`."""
        return np.concatenate([np.eye(3), skew(self._at(q).l)])

    def dH(self, q: Any) -> Array:
        """`dH*_j = [0; (dl/dv_j)~]`; exact."""
        lever, dH = self._at(q), np.zeros((3, 6, 3))
        dH[:, 3:] = skew(lever.rate.T)
        return dH

    def qdot(self, q: Any, v: Any) -> Array:
        """Quaternion rate `q [v, 0] / 2`; the contact point moves with R dl/dt."""
        q, v = np.asarray(q, dtype=np.float64), np.asarray(v, dtype=np.float64)
        return np.concatenate([quaternion_rate(q[:4], v), self._travel(quaternion_to_matrix(q[:4]), v)])

    def integrate(self, q: Any, dv: Any) -> Array:
        """Rolling with constant dv for unit time: the attitude exactly, the path of the contact by quadrature."""
        q, dv = np.asarray(q, dtype=np.float64), np.asarray(dv, dtype=np.float64)
        panels = 1 + int(np.linalg.norm(dv) / _PANEL)
        contact = q[4:].copy()
        for i in range(panels):
            for node, weight in zip(_NODES, _WEIGHTS, strict=True):
                R = quaternion_to_matrix(turned(q[:4], (i + 0.5 + 0.5 * node) / panels * dv))
                contact += 0.5 * weight / panels * self._travel(R, dv)
        return np.concatenate([turned(q[:4], dv), contact])

    def place(self, pose: Pose) -> Array:
        """The attitude as it is, the contact below the lowest point: a shape may be anywhere on its plane."""
        R = np.asarray(pose.rotation)
        return np.concatenate([pose.as_quaternion(), self._tangents @ (pose.translation + R @ self._lever(R).l)])

    def _at(self, q: Any) -> Lever:
        return self._lever(quaternion_to_matrix(np.asarray(q, dtype=np.float64)[:4]))

    def _travel(self, R: Array, v: Array) -> Array:
        """Velocity of the contact point along t1 and t2."""
        return np.asarray(self._tangents @ (R @ (self._lever(R).rate @ v)))
