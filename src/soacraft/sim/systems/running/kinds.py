"""Kinds of values: what an equation gives is a value of its signal, exactly, at every call; anything else is refused.

A value of another type that is the same number is converted (an int for a float, 3.0 for an int, float32). What would
be cut or rounded to fit is an error: 3.7 for an int, complex numbers, other shapes, texts, None.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from soacraft.sim.components.declarations import LARGEST_WHOLE, Signal, is_exact

_EXACT = " that a double holds exactly, as all up to 2^53"
_WORDS = {float: "number", int: "whole number", bool: "truth value"}


class KindError(Exception):
    """Declared and actual value of an equation, as the end of a sentence that begins with its name."""


def checked(function: Callable[..., Any], signal: Signal) -> Callable[..., Any]:
    """A function whose values are those of a signal; others are a `KindError`. About 0.1 us a call.

    >>> count = checked(lambda x: x, Signal((), None, None, int))
    >>> count(3), count(3.0)
    (3, 3)
    >>> count(3.7)
    Traceback (most recent call last):
        ...
    soacraft.sim.systems.running.kinds.KindError: must give a whole number, and gave 3.7
    """
    shape, dtype = signal.shape, signal.dtype
    if shape:
        kind = np.dtype(dtype)

        def of_array(*given: Any) -> Any:
            y = function(*given)
            if type(y) is np.ndarray and y.shape == shape and y.dtype is kind and dtype is not int:
                return y
            return _exact(y, signal)

        return of_array
    if dtype is float:

        def of_number(*given: Any) -> Any:
            y = function(*given)
            return y if isinstance(y, float) else _exact(y, signal)

        return of_number

    def of_other(*given: Any) -> Any:
        y = function(*given)
        plain = type(y) is dtype
        return y if plain and -LARGEST_WHOLE <= y <= LARGEST_WHOLE else _exact(y, signal)

    return of_other


def _exact(given: Any, signal: Signal) -> Any:
    """A value as one of a signal, where it is the same numbers."""
    try:
        array = np.asarray(given)
    except Exception:  # lists of several lengths, objects that refuse
        raise _error(given, signal) from None
    fits = array.shape == signal.shape and (not signal.shape or isinstance(given, np.ndarray))
    if fits and signal.dtype is int and array.dtype.kind == "O" and isinstance(given, int) and not is_exact(array):
        raise _error(given, signal, _EXACT)
    if not fits or array.dtype.kind not in "fiub":
        raise _error(given, signal)
    if signal.dtype is int:
        if array.dtype.kind == "f" and not (np.isfinite(array) & (array == np.trunc(array))).all():
            raise _error(given, signal)
        if not is_exact(array):
            raise _error(given, signal, _EXACT)
        value = array.astype(np.int64)
    else:
        value = array.astype(np.float64 if signal.dtype is float else np.bool_)
    if signal.dtype is not float and not bool((value == array).all()):
        raise _error(given, signal)
    return value if signal.shape else value.item()


def _error(given: Any, signal: Signal, more: str = "") -> KindError:
    word = _WORDS[signal.dtype]
    wanted = f"an array of shape {signal.shape}" if signal.shape else f"a {word}"
    wanted += f" of {word}s" if signal.shape and signal.dtype is not float else ""
    try:
        what = f"{' '.join(repr(given).split()):.60}"
    except Exception:  # an object that does not print
        what = f"a {type(given).__name__}"
    return KindError(f"must give {wanted}{more}, and gave {what}")
