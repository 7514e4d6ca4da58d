"""Reading a user's numbers: one function that copies, checks and names the fault."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import isfinite
from types import EllipsisType
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.errors import ModelError, SoacraftError

Array = npt.NDArray[np.float64]
Shape = tuple[int | EllipsisType | None, ...]

_REAL_KINDS = "iuf"
_FLOAT64 = np.dtype(np.float64)
_SMALL = 16  # entries, of which looking at each as a number takes less time than two calls of numpy
_KIND_NAMES = {"c": "complex numbers", "b": "booleans", "U": "text", "S": "bytes", "O": "objects",
               "M": "dates", "m": "time differences", "V": "records"}


def finite(value: Any, shape: Shape, what: str, error: type[SoacraftError] = ModelError) -> Array:
    """A float64 copy of `value`, with the right shape and finite entries; or an error that names `what`.

    In `shape`, None stands for any length and a leading `...` for any number of leading (batch) axes.
    Complex numbers, booleans, text, objects and masked entries are refused rather than converted.

    >>> finite([1, 2, 3], (3,), "the axis")
    array([1., 2., 3.])
    >>> finite([[1, 2], [3, 4]], (..., 2), "the points").shape
    (2, 2)
    >>> finite([1, float("nan")], (2,), "the axis")
    Traceback (most recent call last):
        ...
    soacraft.errors.ModelError: the axis must be finite, got nan at index 1
    """
    if type(value) is float and shape == () and isfinite(value):
        return np.array(value)
    if type(value) is tuple and shape in ((len(value),), (None,)) and all(map(_finite_float, value)):
        return np.array(value, dtype=np.float64)
    if (
        type(value) is np.ndarray
        and value.dtype is _FLOAT64
        and (value.shape == shape or (shape == (None,) and value.ndim == 1))
        and value.size <= _SMALL
    ):
        copy = value.copy()
        if all(map(isfinite, copy.ravel().tolist())):
            return copy
    value = getattr(value, "in_model_order", value)  # a stacked vector in a numbering of its own
    try:
        array = np.asarray(value)
    except (ValueError, TypeError) as problem:
        raise error(f"{what} must be an array of real numbers, got a ragged or unreadable "
                    f"{type(value).__name__}: {problem}") from None
    if is_masked_array(value) and np.ma.is_masked(value):
        raise error(f"{what} must be real numbers, but entries of the masked array given are masked")
    if array.dtype.kind not in _REAL_KINDS or holds_boolean(value):
        kind = _KIND_NAMES.get(array.dtype.kind if array.dtype.kind not in _REAL_KINDS else "b", str(array.dtype))
        raise error(f"{what} must be real numbers, got {kind}: {_short(value)}")
    if not shape_fits(array.shape, shape):
        raise error(f"{what} must have shape {shape_text(shape)}, got shape {shape_text(array.shape)}")
    copy = np.array(array, dtype=np.float64)
    good = np.isfinite(copy)
    if not good.all():
        index = tuple(int(i) for i in np.argwhere(~good)[0])
        place = f" at index {index[0] if len(index) == 1 else index}" if index else ""
        raise error(f"{what} must be finite, got {copy[index]}{place}")
    return copy


def holds_boolean(value: object) -> bool:
    """True if a boolean is in a list or in lists of lists: numpy would take it for 0 or 1 among numbers.

    >>> holds_boolean([1.0, True]), holds_boolean([[1, 0], (2, np.True_)]), holds_boolean([1, 0])
    (True, True, False)
    """
    if isinstance(value, (list, tuple)):
        return any(type(x) is not float and holds_boolean(x) for x in value)
    return isinstance(value, (bool, np.bool_)) or (isinstance(value, np.ndarray) and value.dtype.kind == "b")


def is_masked_array(value: object) -> bool:
    """True for an array of `numpy.ma`; False without a look where that module has not been imported.

    >>> is_masked_array(np.ma.masked_equal([1, 2], 2)), is_masked_array(np.zeros(2))
    (True, False)
    """
    return "numpy.ma" in sys.modules and isinstance(value, np.ma.MaskedArray)


def _finite_float(x: object) -> bool:
    return type(x) is float and isfinite(x)


def shape_fits(shape: tuple[int, ...], wanted: Shape) -> bool:
    """True if an array's shape is of the form `wanted` (None: any length; leading `...`: any leading axes).

    >>> shape_fits((5, 3), (..., 3)), shape_fits((5, 3), (3,)), shape_fits((2, 7), (2, None))
    (True, False, True)
    """
    if wanted and wanted[0] is ...:
        wanted = wanted[1:]
        shape = shape[max(len(shape) - len(wanted), 0):]
    return len(shape) == len(wanted) and all(w is None or n == w for n, w in zip(shape, wanted, strict=True))


def shape_text(shape: Shape) -> str:
    """A shape as text.

    >>> shape_text((..., 3)), shape_text((6,)), shape_text((None, 2))
    ('(..., 3)', '(6,)', '(any, 2)')
    """
    parts = ["..." if n is ... else "any" if n is None else str(n) for n in shape]
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def unit(axis: Any, what: str) -> Array:
    """The 3-vector `axis` at unit length, read-only. Zero and non-finite vectors are refused.

    A vector that is unit to rounding is not changed, so normalising twice changes nothing.

    >>> unit((0, 3, 4), "the axis")
    array([0. , 0.6, 0.8])
    """
    a = finite(axis, (3,), what)
    largest = float(np.max(np.abs(a)))
    if largest == 0.0:
        raise ModelError(f"{what} must not be zero, got {number_text(a)}; give a direction such as (0, 0, 1)")
    if largest > 2.0 or abs(float(a @ a) - 1.0) > 8 * np.finfo(float).eps:
        a = a / largest                         # no overflow or underflow in the norm
        a = a / float(np.sqrt(a @ a))
    return frozen(a)


def state_text(where: Sequence[Any], batch: Sequence[int]) -> str:
    """Prefix of an error that names the state of a batch it is about; empty for a single state.

    >>> state_text((17,), (100,)), state_text((1, 2), (3, 4)), state_text((), ())
    ('state 17 of 100: ', 'state (1, 2) of (3, 4): ', '')
    """
    if not batch:
        return ""
    index = tuple(int(i) for i in where)
    return f"state {index[0]} of {batch[0]}: " if len(batch) == 1 else f"state {index} of {tuple(batch)}: "


def frozen(array: Array) -> Array:
    """Mark the array read-only and return it."""
    array.setflags(write=False)
    return array


def number_text(value: Any) -> str:
    """Numbers as text that reads back to the same numbers: scalars, tuples for vectors, lists for matrices.

    >>> number_text([0.0, 0.5, -2.0]), number_text(np.eye(2)), number_text(0.1)
    ('(0, 0.5, -2)', '[[1, 0], [0, 1]]', '0.1')
    """
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 0:
        x = float(array)
        return str(int(x)) if x.is_integer() and abs(x) < 1e16 else repr(x)
    parts = ", ".join(number_text(x) if array.ndim == 1 else _list_text(x) for x in array)
    if array.ndim > 1:
        return f"[{parts}]"
    return f"({parts},)" if len(array) == 1 else f"({parts})"


def _list_text(array: Array) -> str:
    if array.ndim == 0:
        return number_text(array)
    return f"[{', '.join(_list_text(x) for x in array)}]"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
