"""Stacked vectors: numbers that know their space, indexable by body or node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.space import Space
from soacraft.errors import SpaceError

Array = npt.NDArray[np.float64]


class StackedVector:
    """A vector of a space, `col{ x(k) }`: `x["tip"]` is one block, `np.asarray(x)` all the numbers.

    Adds, subtracts and scales; meets an operator only in the same space.

    >>> x = StackedVector(Space("hinge", ["base", "tip"], [1, 1], owner="arm"), np.array([1.0, 2.0]))
    >>> x["tip"], np.asarray(x + x)
    (array([2.]), array([2., 4.]))
    """

    __array_ufunc__ = None

    def __init__(self, space: Space, data: Array, is_columns: bool = False) -> None:
        self.space = space
        self._data = np.array(data, dtype=np.float64)
        self._data.flags.writeable = False
        self._columns = is_columns
        assert self._data.shape[-2 if is_columns else -1] == space.size

    @property
    def data(self) -> Array:
        """The numbers, read-only."""
        return self._data

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the numbers."""
        return self._data.shape

    def __len__(self) -> int:
        return len(self._data)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self._data, dtype=dtype) if copy or dtype is not None else self._data

    def __getitem__(self, label: Any) -> Array:
        block = self.space.block(self.space.index(label))
        return self._data[..., block, :] if self._columns else self._data[..., block]

    def __repr__(self) -> str:
        head = f"vector of {self.space!r}, shape {self.shape}"
        if self._data.ndim > 1:
            return head
        width = max((len(s) for s in self.space.labels), default=0)
        rows = [
            f"  {label:<{width}}  {np.array2string(self[i], precision=6, suppress_small=True, max_line_width=120)}"
            for i, label in enumerate(self.space.labels)
            if self.space.dims[i]
        ]
        if len(rows) > 24:
            rows = [*rows[:12], f"  ... {len(rows) - 18} more ...", *rows[-6:]]
        return "\n".join([f"vector of {self.space!r}", *rows])

    def _meet(self, other: Any, do: Callable[[Any, Any], Any]) -> StackedVector:
        if isinstance(other, StackedVector):
            if other.space != self.space:
                raise SpaceError(
                    f"cannot add vectors of {self.space.describe_against(other.space)} and "
                    f"{other.space.describe_against(self.space)}." + self.space.mismatch(other.space)
                )
            return StackedVector(self.space, do(self._data, other._data), self._columns)
        numbers = np.asarray(other, dtype=np.float64)
        if numbers.ndim and numbers.shape != self.shape:
            raise SpaceError(
                f"cannot combine a vector of {self.space}, shape {self.shape}, with an array of shape {numbers.shape}."
            )
        return StackedVector(self.space, do(self._data, numbers), self._columns)

    def __add__(self, other: Any) -> StackedVector:
        return self._meet(other, np.add)

    __radd__ = __add__

    def __sub__(self, other: Any) -> StackedVector:
        return self._meet(other, np.subtract)

    def __rsub__(self, other: Any) -> StackedVector:
        return self._meet(other, lambda x, y: y - x)

    def __neg__(self) -> StackedVector:
        return StackedVector(self.space, -self._data, self._columns)

    def _scale(self, c: Any) -> float:
        if isinstance(c, StackedVector) or np.ndim(c) != 0:
            raise SpaceError("a stacked vector is scaled by a number; for the inner product write x.dot(y).")
        return float(c)

    def __mul__(self, c: Any) -> StackedVector:
        return StackedVector(self.space, self._data * self._scale(c), self._columns)

    __rmul__ = __mul__

    def __truediv__(self, c: Any) -> StackedVector:
        return StackedVector(self.space, self._data / self._scale(c), self._columns)

    def dot(self, other: Any) -> Any:
        """The inner product x* y, one number for each state of a batch."""
        return self._meet(other, np.multiply)._data.sum(axis=-2 if self._columns else -1)
