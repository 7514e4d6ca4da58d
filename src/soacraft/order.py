"""The order of the entries of a vector, and the one way in which vectors that know theirs are read.

A vector knows its order where it says so by `order`: the state arrays of a model (`mb.q`, `s.v`) and arrays computed
from them entry by entry, and stacked vectors. `in_order` gives its numbers in the order that is wanted, or refuses it;
it is never read in another order. Plain arrays and lists know none and are read as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from soacraft.errors import SoacraftError, StateError

#: Labels that a message names.
_SHOWN = 4


class Order:
    """Labels (bodies, nodes) with how many entries each has, one after another; equal orders are the same object.

    >>> order_of(["arm", "hand"], [1, 2]) is order_of(["arm", "plate", "hand"], [1, 0, 2])
    True
    """

    __slots__ = ("__weakref__", "labels", "size", "sizes")

    def __init__(self, labels: tuple[str, ...], sizes: tuple[int, ...]) -> None:
        self.labels, self.sizes, self.size = labels, sizes, sum(sizes)

    def __reduce__(self) -> tuple[Any, ...]:
        return order_of, (self.labels, self.sizes)

    def entries_of(self, wanted: Order) -> npt.NDArray[np.intp] | None:
        """Places in this order of the entries of another one; None unless both have the same labels and sizes."""
        ends = np.cumsum([0, *self.sizes])
        places = {label: np.arange(ends[i], ends[i + 1]) for i, label in enumerate(self.labels)}
        if len(self.labels) != len(wanted.labels) or len(places) != len(self.labels):
            return None
        if any(len(places.get(label, ())) != size for label, size in zip(wanted.labels, wanted.sizes, strict=True)):
            return None
        return np.concatenate([np.zeros(0, dtype=np.intp), *(places[label] for label in wanted.labels)])

    def __repr__(self) -> str:
        each = [f"{x!r}" if n == 1 else f"{x!r} ({n})" for x, n in zip(self.labels, self.sizes, strict=True)]
        return ", ".join(each if len(each) <= _SHOWN else [*each[: _SHOWN - 1], "...", each[-1]])


_ORDERS: WeakValueDictionary[tuple[tuple[str, ...], tuple[int, ...]], Order] = WeakValueDictionary()


def order_of(labels: Iterable[str], sizes: Iterable[int]) -> Order:
    """The order of these labels, always the same object; labels without entries do not count."""
    pairs = [(label, int(size)) for label, size in zip(labels, sizes, strict=True) if size]
    key = tuple(label for label, _ in pairs), tuple(size for _, size in pairs)
    order = _ORDERS.get(key)
    return _ORDERS.setdefault(key, Order(*key)) if order is None else order


def known_order(value: Any) -> Order | None:
    """The order that a vector knows; None for plain numbers."""
    if type(value) is np.ndarray:
        return None
    order = getattr(value, "order", None)
    return order if isinstance(order, Order) else None


def in_order(value: Any, wanted: Order, what: str, error: type[SoacraftError] = StateError) -> Any:
    """A vector's numbers in the order wanted, entries along the last axis; refused where it knows another one.

    Vectors of the same labels are put in order. Plain numbers, and those of another length, are given back as they are:
    the reader judges their shape.

    >>> import soacraft as sc
    >>> one, other = sc.serial_chain(2), sc.load("double_pendulum")
    >>> one.q = other.q
    Traceback (most recent call last):
        ...
    soacraft.errors.StateError: q of 'chain' takes 'link1', 'link2', one after another, but these are numbers of \
'upper', 'lower', of another model or sub-graph. Give them by name; np.asarray(x) are the numbers alone, read in their \
order.
    """
    order = known_order(value)
    data = getattr(value, "in_model_order", value)
    if order is None or order is wanted or np.shape(data)[-1:] != (wanted.size,) or order.size != wanted.size:
        return data
    entries = order.entries_of(wanted)
    if entries is None:
        raise error(
            f"{what} takes {wanted}, one after another, but these are numbers of {order}, of another model or "
            "sub-graph. Give them by name; np.asarray(x) are the numbers alone, read in their order."
        )
    return np.take(np.asarray(data), entries, axis=-1)
