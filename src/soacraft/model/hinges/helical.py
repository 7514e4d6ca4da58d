"""The helical hinge: a screw thread."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.model.hinges.product import ScrewProduct
from soacraft.spatial import Array, finite, unit


class Helical(ScrewProduct):
    """A turn about `axis` with a travel of `pitch` metres per radian along it: `H* = [axis; pitch axis]`.

    q is the angle; a thread with a lead of L metres per turn has `pitch = L / (2 pi)`.

    >>> Helical(axis=(0, 0, 1), pitch=0.5).pose([2 * np.pi]).translation / np.pi
    array([0., 0., 1.])
    """

    def __init__(self, axis: Any, pitch: float) -> None:
        self._axis = unit(axis, "axis of a Helical hinge")
        self._pitch = float(finite(pitch, (), "pitch of a Helical hinge"))
        super().__init__(np.concatenate([self._axis, self._pitch * self._axis])[None])

    @property
    def axis(self) -> Array:
        """The unit axis, the same in inboard and outboard axes."""
        return self._axis

    @property
    def pitch(self) -> float:
        """Travel per angle, metres per radian."""
        return self._pitch
