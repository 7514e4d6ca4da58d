"""The pin: one turn."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.model.hinges.product import ScrewProduct
from soacraft.spatial import Array, unit


class Pin(ScrewProduct):
    """A turn about `axis` (normalised): q is the angle in radians, `H* = [axis; 0]`.

    >>> Pin(axis=(0, 0, 2))
    Pin(axis=(0, 0, 1))
    >>> (Pin((0, 0, 1)).pose([np.pi / 2]) @ (1, 0, 0)).round(12)
    array([0., 1., 0.])
    """

    def __init__(self, axis: Any) -> None:
        self._axis = unit(axis, "axis of a Pin")
        super().__init__(np.concatenate([self._axis, np.zeros(3)])[None])

    @property
    def axis(self) -> Array:
        """The unit axis, the same in inboard and outboard axes."""
        return self._axis
