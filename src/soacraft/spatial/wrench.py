"""A force and a moment at a node."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.errors import ModelError
from soacraft.spatial.checks import Array, finite, frozen, number_text, shape_text


class Wrench:
    """A moment and a force acting at a node, `[moment; force]`; immutable.

    `expressed_in` is the frame (or its name) whose axes the numbers are in; None means the node's own.
    Leading batch axes are allowed.

    >>> push = Wrench(moment=(0, 0, 0), force=(10, 0, 0), expressed_in="inertial")
    >>> push
    Wrench(moment=(0, 0, 0), force=(10, 0, 0), expressed_in='inertial')
    >>> np.asarray(push)
    array([ 0.,  0.,  0., 10.,  0.,  0.])
    """

    __slots__ = ("_expressed_in", "_vector")
    _vector: Array
    _expressed_in: Any

    def __init__(self, moment: Any, force: Any, expressed_in: Any = None) -> None:
        n = finite(moment, (..., 3), "moment of a Wrench")
        f = finite(force, (..., 3), "force of a Wrench")
        try:
            n, f = np.broadcast_arrays(n, f)
        except ValueError:
            raise ModelError("moment and force of a Wrench must have the same leading axes, got shapes "
                             f"{shape_text(n.shape)} and {shape_text(f.shape)}") from None
        self._vector = frozen(np.concatenate([n, f], axis=-1))
        self._expressed_in = expressed_in

    @property
    def moment(self) -> Array:
        """The moment (..., 3), read-only."""
        return self._vector[..., :3]

    @property
    def force(self) -> Array:
        """The force (..., 3), read-only."""
        return self._vector[..., 3:]

    @property
    def expressed_in(self) -> Any:
        """The frame (or its name) whose axes are used; None: those of the node it acts at."""
        return self._expressed_in

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self._vector, dtype=dtype)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Wrench):
            return NotImplemented
        return np.array_equal(self._vector, other._vector) and self._expressed_in == other._expressed_in

    def __hash__(self) -> int:
        return hash((self._vector + 0.0).tobytes())

    def __reduce__(self) -> tuple[Any, ...]:
        return Wrench, (self.moment, self.force, self._expressed_in)

    def __repr__(self) -> str:
        where = "" if self._expressed_in is None else f", expressed_in={self._expressed_in!r}"
        return f"Wrench(moment={number_text(self.moment)}, force={number_text(self.force)}{where})"
