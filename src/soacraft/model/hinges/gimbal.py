"""The gimbal: three pins in a row."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.model.hinges.product import ScrewProduct
from soacraft.model.hinges.universal import refuse_parallel
from soacraft.spatial import Array, finite, frozen, unit


class Gimbal(ScrewProduct):
    """Three turns, each about an axis carried by those before it: the rows of `axes` in order.

    The velocities are the rates of the three angles; H is singular where the axes fall into one plane (for
    x, y, z at a second angle of 90 degrees). `Spherical` has the same motions and is nowhere singular.

    >>> yaw_pitch_roll = Gimbal(axes=[[0, 0, 1], [0, 1, 0], [1, 0, 0]])
    >>> yaw_pitch_roll.pose([0.3, 0.2, 0.1]).as_rpy().round(12)
    array([0.1, 0.2, 0.3])
    """

    def __init__(self, axes: Any = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))) -> None:
        rows = finite(axes, (3, 3), "axes of a Gimbal")
        self._axes = frozen(np.array([unit(a, f"axis {i} of a Gimbal") for i, a in enumerate(rows)]))
        for i in (0, 1):
            refuse_parallel(self._axes[i], self._axes[i + 1], f"axes {i} and {i + 1} of a Gimbal")
        super().__init__(np.hstack([self._axes, np.zeros((3, 3))]))

    @property
    def axes(self) -> Array:
        """The unit axes, one in each row, in the order of the turns."""
        return self._axes
