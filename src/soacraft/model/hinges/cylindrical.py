"""The cylindrical hinge: a turn and a slide on one axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.model.hinges.product import ScrewProduct
from soacraft.spatial import Array, unit


class Cylindrical(ScrewProduct):
    """A turn about and a slide along one axis: q = (angle, travel), `H* = [[axis, 0], [0, axis]]`.

    >>> Cylindrical(axis=(0, 0, 1)).pose([0, 0.5])
    Pose(translation=(0, 0, 0.5))
    """

    def __init__(self, axis: Any) -> None:
        self._axis = unit(axis, "axis of a Cylindrical hinge")
        zero = np.zeros(3)
        super().__init__(np.array([[*self._axis, *zero], [*zero, *self._axis]]))

    @property
    def axis(self) -> Array:
        """The unit axis, the same in inboard and outboard axes."""
        return self._axis
