"""`LastValue`: a value that is computed again where its key is another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class LastValue(Generic[T]):
    """The value of the last key that was asked for.

    >>> squares = LastValue()
    >>> squares.of(3, lambda: 9), squares.of(3, lambda: 1 / 0), squares.of(2, lambda: 4)
    (9, 9, 4)
    """

    __slots__ = ("_key", "_value")

    def __init__(self) -> None:
        self._key: object = self
        self._value: Any = None

    def of(self, key: object, make: Callable[[], T]) -> T:
        """The value of a key; `make` computes it."""
        if self._key != key:
            self._value, self._key = make(), key
        value: T = self._value
        return value
