"""An ellipsoid rolling on a plane without slipping: a nonholonomic hinge. With its mass askew it is a rattleback."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.errors import ModelError
from soacraft.model.hinges.rolling_shape import Lever, RollingShape
from soacraft.model.hinges.spherical import random_quaternion
from soacraft.spatial import Array, finite, frozen, number_text, skew


class RollingEllipsoid(RollingShape):
    """An ellipsoid that rolls, without slipping, on the inboard plane with the given normal.

    The outboard frame is at its centre, the semi-axes are along that frame's x, y and z. q = [x, y, z, w, px, py]:
    attitude and contact point along two axes of the plane, as for a `RollingBall`. v is the angular velocity in its own
    axes (3). With n = R* normal and S the squares of the semi-axes on a diagonal,

        H* = [I; l~],   l = -S n / s,   s = sqrt(n* S n),   dl/dt = -(S - l l*) (n x w) / s

    Three velocities move five freedoms, so `difference` is refused.

    >>> egg = RollingEllipsoid((0.5, 0.5, 0.2))
    >>> egg.qdot(egg.neutral(), [0, 4, 0])[4:].round(12) + 0.0     # its flat side rolls on with radius 0.5^2 / 0.2
    array([5., 0.])
    """

    _thing = "ellipsoid"

    def __init__(self, semi_axes: Any, normal: Any = (0.0, 0.0, 1.0)) -> None:
        self._semi_axes = frozen(finite(semi_axes, (3,), "semi_axes of a RollingEllipsoid"))
        if (self._semi_axes <= 0.0).any():
            given = number_text(self._semi_axes)
            raise ModelError(f"semi_axes of a RollingEllipsoid must be positive, got {given}")
        super().__init__(normal)

    @property
    def semi_axes(self) -> Array:
        """Half its lengths along its own x, y and z, metres."""
        return self._semi_axes

    def random(self, rng: np.random.Generator) -> Array:
        """Uniform over all rotations, contact points within a metre along each axis."""
        return np.concatenate([random_quaternion(rng), rng.uniform(-1.0, 1.0, 2)])

    def _lever(self, R: Array) -> Lever:
        """l = -S n / s; dn = n x w dt."""
        n, squares = self._normal @ R, self._semi_axes**2
        s = float(np.sqrt(n @ (squares * n)))
        l = -squares * n / s
        return Lever(l, -(np.diag(squares) - np.outer(l, l)) @ skew(n) / s)
