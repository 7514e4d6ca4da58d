"""The universal joint: two pins in a row."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.errors import ModelError
from soacraft.model.hinges.product import PARALLEL, ScrewProduct
from soacraft.spatial import Array, number_text, unit


class Universal(ScrewProduct):
    """A turn about `axis` (fixed in the inboard frame), then one about `axis2` (fixed in the outboard frame).

    The axes are normalised; they must not be parallel. `H* = [[R2* axis, axis2], [0, 0]]`.

    >>> Universal((1, 0, 0), (0, 1, 0)).H_T([0, np.pi / 2])[:3].round(12)
    array([[0., 0.],
           [0., 1.],
           [1., 0.]])
    """

    def __init__(self, axis: Any, axis2: Any) -> None:
        self._axis = unit(axis, "axis of a Universal joint")
        self._axis2 = unit(axis2, "axis2 of a Universal joint")
        refuse_parallel(self._axis, self._axis2, "axis and axis2 of a Universal joint")
        zero = np.zeros(3)
        super().__init__(np.array([[*self._axis, *zero], [*self._axis2, *zero]]))

    @property
    def axis(self) -> Array:
        """The unit axis of the first turn."""
        return self._axis

    @property
    def axis2(self) -> Array:
        """The unit axis of the second turn."""
        return self._axis2


def refuse_parallel(a: Array, b: Array, what: str) -> None:
    """An error if two unit vectors are parallel to rounding; used for pins in a row."""
    if float(np.linalg.norm(np.cross(a, b))) < PARALLEL:
        raise ModelError(f"{what} must not be parallel, got {number_text(a)} and {number_text(b)}; "
                         "a single turn is a Pin")
