"""A knife edge, the blade of a skate: a nonholonomic hinge that forbids one velocity and no place."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from soacraft.errors import StateError
from soacraft.model.hinges.base import Hinge
from soacraft.model.hinges.free import Free
from soacraft.model.hinges.rolling import plane_tangents
from soacraft.spatial import Array, Pose, frozen, unit

_FREE = Free()


class KnifeEdge(Hinge):
    """Any motion in which the origin of the outboard frame does not move along `across`, a direction fixed in it.

    q = [x, y, z, w, px, py, pz] as of a `Free` hinge, v = [omega; speeds along t1 and t2] with t1, t2, across
    right-handed, in outboard axes (5):

        H* = [[I, 0], [0, t1 t2]],   constant                     (the sleigh of Chaplygin 1911)

    The place is free and the way there is not, so `difference` is refused.

    >>> skate = KnifeEdge(across=(0, 1, 0))
    >>> skate.tangents + 0.0                                     # along the blade, and up or down
    array([[ 1.,  0.,  0.],
           [ 0.,  0., -1.]])
    """

    nq, nv = 7, 5
    holonomic = False
    batched = True
    constant_H = True
    coordinate_units = "xxxxmmm"

    def __init__(self, across: Any = (0.0, 1.0, 0.0)) -> None:
        self._across = unit(across, "across of a KnifeEdge")
        self._tangents = frozen(plane_tangents(self._across))
        H_T = np.zeros((6, 5))
        H_T[:3, :3], H_T[3:, 3:] = np.eye(3), self._tangents.T
        self._H_T = frozen(H_T)

    @property
    def across(self) -> Array:
        """The unit direction, in outboard axes, along which it does not move."""
        return self._across

    @property
    def tangents(self) -> Array:
        """t1 and t2 as rows: t1 is the outboard x axis laid across (y, if `across` is close to x)."""
        return self._tangents

    def neutral(self) -> Array:
        """Coordinates at which the blade is at the inboard frame."""
        return _FREE.neutral()

    def pose(self, q: Any) -> Pose:
        """Rotation of the quaternion, translation p."""
        return _FREE.pose(q)

    def H_T(self, q: Any) -> Array:
        """`[[I, 0], [0, t1 t2]]`."""
        lead = np.shape(q)[:-1]
        return np.broadcast_to(self._H_T, (*lead, 6, 5)) if lead else self._H_T

    def qdot(self, q: Any, v: Any) -> Array:
        """Rate of the coordinates: that of a free hinge with the velocity H* v."""
        return _FREE.qdot(q, np.asarray(v, dtype=np.float64) @ self._H_T.T)

    def integrate(self, q: Any, dv: Any) -> Array:
        """`T exp(H* dv)`: the twist is constant in outboard axes, so it never leads across."""
        return _FREE.integrate(q, np.asarray(dv, dtype=np.float64) @ self._H_T.T)

    def difference(self, q0: Any, q1: Any) -> NoReturn:
        """Refuse: the end depends on the path."""
        raise StateError(
            f"{self!r} has no difference(q0, q1): it is nonholonomic (a blade does not move across), so where it ends "
            "depends on its path. Use integrate along the motion instead"
        )

    def place(self, pose: Pose) -> Array:
        """Coordinates at a pose; any pose can be taken."""
        return np.concatenate([pose.as_quaternion(), pose.translation])

    def normalize(self, q: Any, what: str = "q") -> Array:
        """Checked coordinates with a unit quaternion; refused if its length is further than 1e-6 from 1."""
        return _FREE.normalize(q, what)

    def random(self, rng: np.random.Generator) -> Array:
        """Uniform over all rotations, positions within a metre along each axis."""
        return _FREE.random(rng)
