"""The weld: no motion."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.model.hinges.base import Hinge
from soacraft.spatial import Array, Pose

_IDENTITY = Pose()


class Weld(Hinge):
    """No freedom at all: nq = nv = 0, the outboard frame is the inboard frame.

    >>> Weld().pose(np.zeros(0)), Weld().H_T(np.zeros(0)).shape
    (Pose(), (6, 0))
    """

    nq = nv = 0
    batched = True
    constant_H = True

    def neutral(self) -> Array:
        """No coordinates."""
        return np.zeros(0)

    def pose(self, q: Any) -> Pose:
        """The identity."""
        lead = np.shape(q)[:-1]
        if not lead:
            return _IDENTITY
        return Pose.unchecked(np.broadcast_to(_IDENTITY.rotation, (*lead, 3, 3)), np.zeros((*lead, 3)))

    def H_T(self, q: Any) -> Array:
        """No columns."""
        return np.zeros((*np.shape(q)[:-1], 6, 0))
