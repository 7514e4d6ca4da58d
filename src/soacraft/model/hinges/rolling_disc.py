"""A thin disc, or a wheel with a sharp rim, rolling on a plane without slipping: a nonholonomic hinge."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from soacraft.errors import ModelError, StateError
from soacraft.model.hinges.rolling import Rolling
from soacraft.model.hinges.spherical import random_quaternion, turned
from soacraft.spatial import (
    Array,
    Pose,
    cross,
    quaternion_rate,
    quaternion_to_matrix,
    skew,
    unit,
)

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_PANEL = 0.5  # radians: over so much of a turn twelve points are exact to rounding


class _Lever(NamedTuple):
    """Where the rim touches, in disc axes."""

    l: Array
    """From the centre to the contact point."""
    rate: Array
    """dl = along (rate w) dt for the angular velocity w,"""
    along: Array


class RollingDisc(Rolling):
    """A thin disc of the given radius that rolls on its rim, without slipping, on the inboard plane with a normal.

    The outboard frame is at the centre of the disc, whose `axis` is fixed in it. q = [x, y, z, w, px, py]: attitude and
    contact point along two axes of the plane, as for a `RollingBall`. v is the angular velocity in disc axes (3). With
    n = R* normal, c = axis n and p the part of n across the axis, of length s,

        H* = [I; l~],   l = -radius p / s,   dl/dt = radius (axis x p / s) (axis w - (c / s) (p / s) w)

    The contact point moves on the plane by R dl/dt. Three velocities move five freedoms, so `difference` is refused; a
    disc that lies flat touches everywhere, and is refused too.

    >>> wheel = RollingDisc(radius=0.5)
    >>> wheel.qdot(wheel.neutral(), [0, 4, 0])[4:] + 0.0        # turning about its axis y it rolls along x
    array([2., 0.])
    """

    _thing = "disc"

    def __init__(self, radius: float, axis: Any = (0.0, 1.0, 0.0), normal: Any = (0.0, 0.0, 1.0)) -> None:
        super().__init__(radius, normal)
        self._axis = unit(axis, "axis of a RollingDisc")
        if np.linalg.norm(np.cross(self._axis, self._normal)) < 1e-6:
            raise ModelError("axis of a RollingDisc must not be along the normal: unturned it would lie flat")

    @property
    def axis(self) -> Array:
        """The unit axis of the disc, in its own axes."""
        return self._axis

    def pose(self, q: Any) -> Pose:
        """Attitude of the disc; its centre at `px t1 + py t2 - R l`."""
        q = np.asarray(q, dtype=np.float64)
        R = quaternion_to_matrix(q[:4])
        return Pose.unchecked(R, q[4:] @ self._tangents - R @ self._lever(R).l)

    def H_T(self, q: Any) -> Array:
        """`[I; l~]`."""
        return np.concatenate([np.eye(3), skew(self._at(q).l)])

    def dH(self, q: Any) -> Array:
        """`dH*_j = [0; (dl/dv_j)~]`; exact."""
        lever, dH = self._at(q), np.zeros((3, 6, 3))
        for j in range(3):
            dH[j, 3:] = skew(lever.along * lever.rate[j])
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
        """The attitude as it is, the contact below the rim's lowest point: a disc may be anywhere on its plane."""
        R = np.asarray(pose.rotation)
        return np.concatenate([pose.as_quaternion(), self._tangents @ (pose.translation + R @ self._lever(R).l)])

    def random(self, rng: np.random.Generator) -> Array:
        """Any attitude that is far from flat, contact points within a metre along each axis."""
        while True:
            turn = random_quaternion(rng)
            if np.linalg.norm(np.cross(self._axis, self._normal @ quaternion_to_matrix(turn))) > 0.3:
                return np.concatenate([turn, rng.uniform(-1.0, 1.0, 2)])

    def _at(self, q: Any) -> _Lever:
        return self._lever(quaternion_to_matrix(np.asarray(q, dtype=np.float64)[:4]))

    def _lever(self, R: Array) -> _Lever:
        """Where the rim touches, and how that point moves in disc axes."""
        axis, n = self._axis, self._normal @ R
        c = float(axis @ n)
        p = n - c * axis
        s = float(np.linalg.norm(p))
        if s < 1e-6:
            raise StateError(f"{self!r} lies flat: its rim touches the plane everywhere, so it does not roll there.")
        p = p / s
        return _Lever(-self._radius * p, self._radius * (axis - c / s * p), cross(axis, p))

    def _travel(self, R: Array, v: Array) -> Array:
        """Velocity of the contact point along t1 and t2."""
        lever = self._lever(R)
        return np.asarray(self._tangents @ (R @ (lever.along * (lever.rate @ v))))
