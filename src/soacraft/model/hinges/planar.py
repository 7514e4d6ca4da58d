"""The planar hinge: two slides and a turn."""

from __future__ import annotations

import numpy as np

from soacraft.model.hinges.product import ScrewProduct

_SCREWS = np.array([[0.0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0], [0, 0, 1, 0, 0, 0]])


class Planar(ScrewProduct):
    """Motion in the inboard x-y plane: q = (x, y, angle): slide along inboard x, then y, then turn about z.

    The velocities are the rates of these coordinates, so the columns of `H*` turn with the angle.

    >>> Planar().pose([1, 2, 0])
    Pose(translation=(1, 2, 0))
    >>> Planar().H_T([0, 0, np.pi / 2])[3:].round(12) + 0.0
    array([[ 0.,  1.,  0.],
           [-1.,  0.,  0.],
           [ 0.,  0.,  0.]])
    """

    def __init__(self) -> None:
        super().__init__(_SCREWS)
