"""The free hinge: all six motions."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.errors import StateError
from soacraft.model.hinges.base import Hinge
from soacraft.model.hinges.spherical import random_quaternion, turned
from soacraft.spatial import (
    Array,
    Pose,
    finite,
    frozen,
    normalize_quaternion,
    quaternion_rate,
    quaternion_to_matrix,
    se3_exp,
    se3_log,
)

_H_T = frozen(np.eye(6))


class Free(Hinge):
    """Any motion: q = [x, y, z, w, px, py, pz], a unit quaternion and the position in inboard axes.

    v = [omega; v], the spatial velocity in outboard axes, so `H* = I`. `integrate` follows the constant twist
    dv for unit time (the exponential of SE(3)).

    >>> hinge = Free()
    >>> q = [0, 0, np.sin(np.pi / 4), np.cos(np.pi / 4), 0, 0, 0]      # turned by 90 degrees about z ...
    >>> hinge.qdot(q, [0, 0, 0, 1, 0, 0])[4:].round(12)                # ... its own x is the inboard y
    array([0., 1., 0.])
    """

    nq, nv = 7, 6
    batched = True
    constant_H = True
    coordinate_units = "xxxxmmm"

    def neutral(self) -> Array:
        """Coordinates at which the outboard frame is at the inboard one: [0, 0, 0, 1, 0, 0, 0]."""
        return np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])

    def pose(self, q: Any) -> Pose:
        """Rotation of the quaternion, translation p."""
        q = np.asarray(q, dtype=np.float64)
        return Pose.unchecked(quaternion_to_matrix(q[..., :4]), q[..., 4:].copy())

    def H_T(self, q: Any) -> Array:
        """The identity."""
        lead = np.shape(q)[:-1]
        return np.broadcast_to(_H_T, (*lead, 6, 6)) if lead else _H_T

    def qdot(self, q: Any, v: Any) -> Array:
        """Quaternion rate `q [omega, 0] / 2`, position rate `R v`."""
        q, v = np.asarray(q, dtype=np.float64), np.asarray(v, dtype=np.float64)
        p_rate = (quaternion_to_matrix(q[..., :4]) @ v[..., 3:, None])[..., 0]
        return np.concatenate([quaternion_rate(q[..., :4], v[..., :3]), p_rate], axis=-1)

    def integrate(self, q: Any, dv: Any) -> Array:
        """`T exp(dv)`: rotation `R exp(omega)`, position `p + R J(omega) v`."""
        q, dv = np.asarray(q, dtype=np.float64), np.asarray(dv, dtype=np.float64)
        _, step = se3_exp(dv)
        p = q[..., 4:] + (quaternion_to_matrix(q[..., :4]) @ step[..., None])[..., 0]
        return np.concatenate([turned(q[..., :4], dv[..., :3]), p], axis=-1)

    def difference(self, q0: Any, q1: Any) -> Array:
        """`log(T0^-1 T1)`, with an angle of at most pi."""
        relative = self.pose(q0).inv @ self.pose(q1)
        return se3_log(relative.rotation, relative.translation)

    def normalize(self, q: Any, what: str = "q") -> Array:
        """Checked coordinates with a unit quaternion; refused if its length is further than 1e-6 from 1."""
        q = finite(q, (..., 7), what, StateError)
        q[..., :4] = normalize_quaternion(q[..., :4], f"{what}[:4]")
        return np.asarray(q)

    def random(self, rng: np.random.Generator) -> Array:
        """Uniform over all rotations, positions within a metre along each axis."""
        return np.concatenate([random_quaternion(rng), rng.uniform(-1.0, 1.0, 3)])
