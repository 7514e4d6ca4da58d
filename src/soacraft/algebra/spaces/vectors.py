"""Stacked vectors: numbers that know their space, indexable by body or node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.spaces.rounding import measurer, noise
from soacraft.algebra.spaces.selection import chosen, entries, is_several
from soacraft.algebra.spaces.space import Space, finite_numbers, numbers, real
from soacraft.cards import card_of, says_why
from soacraft.errors import SpaceError
from soacraft.order import Order
from soacraft.results import finite_or_refused

Array = npt.NDArray[np.float64]
#: Options for printing the numbers of a block.
PRINT: dict[str, Any] = {"precision": 6, "suppress_small": True, "max_line_width": 120}


class StackedVector:
    """A vector of a space, `col{ x(k) }`: `x["tip"]` is one block, `np.asarray(x)` all the numbers.

    Adds, subtracts and scales; meets an operator only in the same space.

    >>> x = StackedVector(Space("hinge", ["base", "tip"], [1, 1], owner="arm"), np.array([1.0, 2.0]))
    >>> x["tip"], np.asarray(x + x)
    (array([2.]), array([2., 4.]))
    """

    __array_ufunc__ = None
    __iter__ = None  # neither blocks nor numbers: say which, by a label or by np.asarray

    def __init__(
        self,
        space: Space,
        data: Array,
        is_columns: bool = False,
        what: Callable[[], str] | None = None,
        rounding: Array | None = None,
    ) -> None:
        self.space = space
        name = (lambda: f"a vector of {space}") if what is None else what
        self._data = finite_or_refused(np.array(numbers(data, space, "the data")), name)
        self._data.flags.writeable = False
        self._columns = is_columns
        self._rounding = rounding
        if self._data.shape[-2 if is_columns else -1 :][:1] != (space.size,):
            wanted = f"(..., {space.size}, m)" if is_columns else f"(..., {space.size})"
            raise SpaceError(f"the data of a vector of {space} has shape {self.shape}, but {wanted} is wanted.")

    @classmethod
    def maker(cls, space: Space) -> Callable[[Array], StackedVector]:
        """A quick way to make vectors of a space of numbers that are finite, of the right size and read-only."""
        new = cls.__new__

        def make(data: Array) -> StackedVector:
            self = new(cls)
            self.space, self._data, self._columns, self._rounding = space, data, data.ndim == 2, None
            return self

        return make

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._data.flags.writeable = False

    @property
    def data(self) -> Array:
        """The numbers, read-only; in the numbering of the operators it comes from."""
        if self.space.numbering is None:
            return self._data
        shown = self.space.outward(self._data, self._axis)
        shown.flags.writeable = False
        return shown

    @property
    def order(self) -> Order:
        """The order of `in_model_order`."""
        return self.space.entries

    @property
    def in_model_order(self) -> Array:
        """The numbers in the order of the model's bodies, whatever the numbering, read-only."""
        return self._data

    @property
    def _axis(self) -> int:
        """The axis of the entries."""
        return -2 if self._columns else -1

    @property
    def rounding(self) -> Array:
        """Rounding of the vector within `measuring()`: what rounding may have made of it, (..., N, NOISES m) for m
        columns.
        """
        rng = measurer()
        assert rng is not None
        if self._rounding is None:
            s = self.space.sizes(self._data if self._columns else self._data[..., None])
            self._rounding = noise(self.space, s, rng)
        return self._rounding

    def with_rounding(self, rounding: Array) -> StackedVector:
        """Copy with the rounding of larger numbers that cancelled."""
        return StackedVector(self.space, self._data, self._columns, rounding=rounding)

    def _made(self, do: Callable[..., Array], *others: StackedVector | Array | float) -> StackedVector:
        """A vector like this one, made of it and others by a linear map."""
        rounding = None
        with np.errstate(all="ignore"):
            data = do(self._data, *(x._data if isinstance(x, StackedVector) else x for x in others))
            if measurer() is not None:
                rounding = do(self.rounding, *(x.rounding if isinstance(x, StackedVector) else 0.0 for x in others))
        return StackedVector(self.space, data, self._columns, rounding=rounding)

    @property
    def is_columns(self) -> bool:
        """True if it is a block of vectors, one in each column."""
        return self._columns

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the numbers."""
        return self._data.shape

    def __len__(self) -> int:
        return len(self._data)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.data, dtype=dtype) if copy or dtype is not None else self.data

    def __getitem__(self, label: Any) -> Array:
        several = is_several(label)
        block = entries(self.space, chosen(self.space, label)) if several else self.space.block(self.space.index(label))
        return self._data[..., block, :] if self._columns else self._data[..., block]

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.space.labels)

    def __repr__(self) -> str:
        head = f"vector of {self.space!r}, shape {self.shape}"
        if self._data.ndim > 1:
            return head
        width = max((len(s) for s in self.space.labels), default=0)
        rows = [
            f"  {label:<{width}}  {np.array2string(self._data[self.space.block(k)], **PRINT)}"
            for k, label in ((k, self.space.labels[k]) for k in self.space.order)
            if self.space.dims[k]
        ]
        if len(rows) > 24:
            rows = [*rows[:12], f"  ... {len(rows) - 18} more ...", *rows[-6:]]
        return "\n".join([f"vector of {self.space!r}", *rows])

    @says_why
    def _repr_html_(self) -> str:
        return card_of(self)

    def _meet(self, other: Any, do: Callable[[Any, Any], Any]) -> StackedVector:
        if isinstance(other, StackedVector):
            return self._join(other, do)
        if _defers(other):
            return NotImplemented  # type: ignore[no-any-return]
        if np.isscalar(other) and other == 0:  # the start of sum(...)
            return self._made(do, 0.0)
        data = finite_numbers(self.space.shown_in_order(other, "the other one"), self.space, "the other one")
        if data.shape != self.shape:
            raise SpaceError(
                f"cannot combine a vector of {self.space}, shape {self.shape}, with an array of shape {data.shape}."
            )
        return self._made(do, self.space.inward(data, self._axis))

    def _join(self, other: StackedVector, do: Callable[[Any, Any], Any]) -> StackedVector:
        """Vectors of the same space, or blocks of as many of them; batches of states broadcast."""
        if other.space != self.space:
            raise SpaceError(
                f"cannot add vectors of {self.space.describe_against(other.space)} and "
                f"{other.space.describe_against(self.space)}." + self.space.mismatch(other.space)
            )
        alike = self._columns == other._columns and (not self._columns or self.shape[-1] == other.shape[-1])
        try:
            if alike:
                return self._made(do, other)
        except ValueError:
            alike = False
        kinds = ["columns" if x._columns else "a vector" for x in (self, other)]
        raise SpaceError(
            f"cannot combine {kinds[0]} of {self.space}, shape {self.shape}, with {kinds[1]} of shape {other.shape}."
        )

    def __add__(self, other: Any) -> StackedVector:
        return self._meet(other, np.add)

    __radd__ = __add__

    def __sub__(self, other: Any) -> StackedVector:
        return self._meet(other, np.subtract)

    def __rsub__(self, other: Any) -> StackedVector:
        return self._meet(other, lambda x, y: y - x)

    def __neg__(self) -> StackedVector:
        return self._made(np.negative)

    def __mul__(self, c: Any) -> StackedVector:
        if not isinstance(c, StackedVector) and _defers(c):
            return NotImplemented
        if isinstance(c, (StackedVector, list, tuple)) or (isinstance(c, np.ndarray) and c.ndim):
            raise SpaceError("a stacked vector is scaled by a number; for the inner product write x.dot(y).")
        factor = real(c, "a stacked vector cannot be scaled by")
        return self._made(lambda x: x * factor)

    __rmul__ = __mul__

    def __truediv__(self, c: Any) -> StackedVector:
        divisor = real(c, "a stacked vector cannot be divided by")
        if divisor == 0:
            raise SpaceError("a stacked vector cannot be divided by zero.")
        return self._made(lambda x: x / divisor)

    def dot(self, other: Any) -> Any:
        """The inner product x* y, one number for each state of a batch."""
        product = self._meet(other, np.multiply)
        if product is NotImplemented:
            raise SpaceError(f"x.dot(y) takes a vector of {self.space}, not {other!r}.")
        with np.errstate(all="ignore"):
            return finite_or_refused(product._data.sum(axis=-2 if self._columns else -1), "x.dot(y)")


def _defers(x: Any) -> bool:
    """True if x defines its own operations with arrays, as operators do."""
    return getattr(x, "__array_ufunc__", True) is None
