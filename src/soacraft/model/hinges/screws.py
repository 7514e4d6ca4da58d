"""Any product of screws."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.errors import ModelError
from soacraft.model.hinges.base import Hinge
from soacraft.model.hinges.product import ScrewProduct
from soacraft.spatial import Array, finite, frozen


class Screws(ScrewProduct):
    """A product of any one-dof screws: `pose(q) = exp(S_1 q_1) exp(S_2 q_2) ...`

    Each item is a 6-vector [angular; linear], used as it is (not normalised), or a hinge with one degree of freedom,
    which is taken as its screw. A turn about an axis through the point r is `[axis; r x axis]`.

    >>> from soacraft.model.hinges import Pin, Prismatic
    >>> polar = Screws([Pin((0, 0, 1)), Prismatic((1, 0, 0))])
    >>> polar.pose([np.pi / 2, 3]).translation.round(12)
    array([0., 3., 0.])
    >>> polar
    Screws(screws=[[0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0]])
    """

    def __init__(self, screws: Any) -> None:
        items = list(screws)
        if not items:
            raise ModelError("Screws needs at least one screw; a hinge without freedom is a Weld()")
        self._vectors = frozen(np.array([_vector(item, i) for i, item in enumerate(items)]))
        super().__init__(self._vectors)

    @property
    def screws(self) -> Array:
        """The screws, one in each row [angular; linear]."""
        return self._vectors


def _vector(item: Any, i: int) -> Array:
    """Screw of an item of the list."""
    what = f"screw {i} of Screws"
    if isinstance(item, Hinge):
        if item.nv != 1 or item.nq != 1 or not item.constant_H:
            raise ModelError(f"{what} must be a 6-vector or a hinge that is one constant screw (Pin, "
                             f"Prismatic, Helical), got {item!r}")
        return np.array(item.H_T(item.neutral()), dtype=np.float64)[:, 0]
    vector = finite(item, (6,), what)
    if not vector.any():
        raise ModelError(f"{what} must not be zero")
    return vector
