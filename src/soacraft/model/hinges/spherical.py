"""The ball-and-socket hinge."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.model.hinges.base import Hinge
from soacraft.spatial import (
    Array,
    Pose,
    frozen,
    normalize_quaternion,
    quaternion_exp,
    quaternion_log,
    quaternion_multiply,
    quaternion_rate,
    quaternion_to_matrix,
)

_H_T = frozen(np.eye(6, 3))
CONJUGATE = frozen(np.array([-1.0, -1.0, -1.0, 1.0]))


class Spherical(Hinge):
    """Any turn about a point: q = [x, y, z, w], a unit quaternion; v the angular velocity in outboard axes.

    `H* = [I; 0]` is constant. `integrate` multiplies from the right: `q exp(dv)`.

    >>> hinge = Spherical()
    >>> hinge.qdot(hinge.neutral(), [0, 0, 2])
    array([0., 0., 1., 0.])
    """

    nq, nv = 4, 3
    batched = True
    constant_H = True

    def neutral(self) -> Array:
        """No turn: [0, 0, 0, 1]."""
        return np.array([0.0, 0.0, 0.0, 1.0])

    def pose(self, q: Any) -> Pose:
        """The rotation of the quaternion."""
        R = quaternion_to_matrix(q)
        return Pose.unchecked(R, np.zeros(R.shape[:-1]))

    def H_T(self, q: Any) -> Array:
        """`[I; 0]`."""
        lead = np.shape(q)[:-1]
        return np.broadcast_to(_H_T, (*lead, 6, 3)) if lead else _H_T

    def qdot(self, q: Any, v: Any) -> Array:
        """`q [v, 0] / 2`."""
        return quaternion_rate(q, v)

    def integrate(self, q: Any, dv: Any) -> Array:
        """`q exp(dv)`."""
        return turned(q, dv)

    def difference(self, q0: Any, q1: Any) -> Array:
        """`log(q0^-1 q1)`, of length at most pi."""
        return quaternion_log(quaternion_multiply(np.asarray(q0) * CONJUGATE, q1))

    def normalize(self, q: Any, what: str = "q") -> Array:
        """A unit quaternion; refused if its length is further than 1e-6 from 1."""
        return normalize_quaternion(q, what)

    def random(self, rng: np.random.Generator) -> Array:
        """Uniform over all rotations."""
        return random_quaternion(rng)


def turned(q: Any, dv: Any) -> Array:
    """The unit quaternion `q exp(dv)`: turned by dv in its own (outboard) axes.

    >>> turned([0, 0, 0, 1], [0, 0, np.pi]).round(12)
    array([0., 0., 1., 0.])
    """
    product = quaternion_multiply(q, quaternion_exp(dv))
    return np.asarray(product / np.sqrt(np.sum(product * product, axis=-1, keepdims=True)))


def random_quaternion(rng: np.random.Generator) -> Array:
    """A unit quaternion, uniform over all rotations, with w >= 0."""
    q = rng.standard_normal(4)
    q /= np.sqrt(q @ q)
    return np.asarray(-q if q[3] < 0.0 else q)
