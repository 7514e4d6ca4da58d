"""A thin disc, or a wheel with a sharp rim, rolling on a plane without slipping: a nonholonomic hinge."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.errors import ModelError, StateError
from soacraft.model.hinges.rolling_shape import Lever, RollingShape
from soacraft.model.hinges.spherical import random_quaternion
from soacraft.spatial import Array, cross, quaternion_to_matrix, unit


class RollingDisc(RollingShape):
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
        self._radius = self._positive(radius, "radius")
        super().__init__(normal)
        self._axis = unit(axis, "axis of a RollingDisc")
        if np.linalg.norm(np.cross(self._axis, self._normal)) < 1e-6:
            raise ModelError("axis of a RollingDisc must not be along the normal: unturned it would lie flat")

    @property
    def radius(self) -> float:
        """The radius of the rim, metres."""
        return self._radius

    @property
    def axis(self) -> Array:
        """The unit axis of the disc, in its own axes."""
        return self._axis

    def random(self, rng: np.random.Generator) -> Array:
        """Any attitude that is far from flat, contact points within a metre along each axis."""
        while True:
            turn = random_quaternion(rng)
            if np.linalg.norm(np.cross(self._axis, self._normal @ quaternion_to_matrix(turn))) > 0.3:
                return np.concatenate([turn, rng.uniform(-1.0, 1.0, 2)])

    def _lever(self, R: Array) -> Lever:
        """l = -radius p / s, and how it goes round the rim."""
        axis, n = self._axis, self._normal @ R
        c = float(axis @ n)
        p = n - c * axis
        s = float(np.linalg.norm(p))
        if s < 1e-6:
            raise StateError(f"{self!r} lies flat: its rim touches the plane everywhere, so it does not roll there.")
        p = p / s
        return Lever(-self._radius * p, self._radius * np.outer(cross(axis, p), axis - c / s * p))
