"""The prismatic hinge: one slide."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.model.hinges.product import ScrewProduct
from soacraft.spatial import Array, unit


class Prismatic(ScrewProduct):
    """A slide along `axis` (normalised): q is the travel in metres, `H* = [0; axis]`.

    >>> Prismatic(axis=(0, 1, 0)).pose([0.5])
    Pose(translation=(0, 0.5, 0))
    """

    def __init__(self, axis: Any) -> None:
        self._axis = unit(axis, "axis of a Prismatic hinge")
        super().__init__(np.concatenate([np.zeros(3), self._axis])[None])

    @property
    def axis(self) -> Array:
        """The unit axis, the same in inboard and outboard axes."""
        return self._axis
