"""Base of shapes that roll on a plane without slipping: nonholonomic hinges of three dofs."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

import numpy as np

from soacraft.errors import ModelError, StateError
from soacraft.model.hinges.base import Hinge
from soacraft.spatial import Array, cross, finite, frozen, normalize_quaternion, number_text, unit


class Rolling(Hinge):
    """A thing that rolls without slipping on the inboard plane with the given normal.

    The outboard frame is at its centre. q = [x, y, z, w, px, py]: attitude and contact point along two axes t1, t2 of
    the plane (`tangents`; t1, t2, normal right-handed; x and y for the normal z). v is its angular velocity in its own
    axes (3). Three velocities move five freedoms: where it ends depends on the path, so `difference` is refused.
    """

    nq, nv = 6, 3
    holonomic = False
    neutral_is_identity = False
    coordinate_units = "xxxxmm"
    _thing: ClassVar[str]
    """Name of the rolling shape, in the words of its errors."""

    def __init__(self, normal: Any = (0.0, 0.0, 1.0)) -> None:
        self._normal = unit(normal, f"normal of a {type(self).__name__}")
        self._tangents = frozen(plane_tangents(self._normal))

    def _positive(self, value: Any, what: str) -> float:
        """A length of what rolls."""
        length = float(finite(value, (), f"{what} of a {type(self).__name__}"))
        if length <= 0.0:
            raise ModelError(f"{what} of a {type(self).__name__} must be positive, got {number_text(length)}")
        return length

    @property
    def normal(self) -> Array:
        """The unit normal of the plane, from the plane to what rolls, in inboard axes."""
        return self._normal

    @property
    def tangents(self) -> Array:
        """t1 and t2 as rows: t1 is the inboard x axis laid on the plane (y, if the normal is close to x)."""
        return self._tangents

    def neutral(self) -> Array:
        """Coordinates of a shape that is not turned and touches at the inboard origin."""
        return np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])

    def difference(self, q0: Any, q1: Any) -> NoReturn:
        """Refuse: the end depends on the path."""
        raise StateError(
            f"{self!r} has no difference(q0, q1): it is nonholonomic (rolls without slipping), so where the "
            f"{self._thing} ends depends on its path, and no constant velocity leads from one configuration to another "
            "in general. Use integrate along the motion instead"
        )

    def normalize(self, q: Any, what: str = "q") -> Array:
        """Checked coordinates with a unit quaternion; refused if its length is further than 1e-6 from 1."""
        q = finite(q, (..., 6), what, StateError)
        q[..., :4] = normalize_quaternion(q[..., :4], f"{what}[:4]")
        return np.asarray(q)


def plane_tangents(normal: Array) -> Array:
    """Two unit vectors t1, t2 with t1 x t2 = normal."""
    start = np.array([1.0, 0.0, 0.0]) if abs(normal[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    t1 = start - normal * (normal @ start)
    t1 /= np.sqrt(t1 @ t1)
    return np.array([t1, cross(normal, t1)])
