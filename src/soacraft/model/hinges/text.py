"""Text and comparison of the parameters of a hinge."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.spatial import number_text

_NUMBERS = (int, float, np.number, np.ndarray, list, tuple)


def value_text(value: Any) -> str:
    """A parameter as text that reads back.

    >>> value_text(np.array([0, 0, 1.0])), value_text("rail"), value_text([[0, 1.0]])
    ('(0, 0, 1)', "'rail'", '[[0, 1]]')
    """
    return number_text(value) if _numeric(value) else repr(value)


def same_value(a: Any, b: Any) -> bool:
    """True if two parameters are equal: numbers and arrays entry by entry, anything else with ==.

    >>> same_value(np.array([1.0, 2.0]), (1, 2)), same_value("a", "b")
    (True, False)
    """
    if _numeric(a) and _numeric(b):
        return np.array_equal(np.asarray(a), np.asarray(b))
    return bool(a == b)


def _numeric(value: Any) -> bool:
    """True for a number or an array (or nested sequence) of numbers."""
    if isinstance(value, bool) or not isinstance(value, _NUMBERS):
        return False
    try:
        array = np.asarray(value)
    except ValueError:
        return False
    return array.dtype.kind in "iuf" and array.size > 0
