"""Mapping from names to values as two arrays, one of floats and one of integers, and back: `pack`, `unpack`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from soacraft.spatial.checks import Array

#: Kinds of values, by the letter of their dtype, and the dtype in which each is kept.
_KINDS = {"f": "float", "i": "int", "u": "int", "b": "bool"}
_DTYPES = {"float": np.float64, "int": np.int64, "bool": np.bool_}
#: Name, kind and shape of each value.
Listed = list[tuple[str, str, list[int]]]


def frozen(values: Any, kind: str = "float") -> Array:
    """Return an array of a kind over new bytes: nobody can write into it.

    >>> frozen([1.0, 2.0])
    array([1., 2.])
    """
    array: Array = np.ascontiguousarray(values, dtype=_DTYPES[kind])
    if not array.size:
        array = np.zeros(array.shape, dtype=array.dtype)
        array.flags.writeable = False
        return array
    return np.frombuffer(array.tobytes(), dtype=array.dtype).reshape(np.shape(values))


def frozen_value(value: Any) -> Any:
    """Return a number as one of Python, an array as a frozen one, and anything else unchanged."""
    array = np.asarray(value)
    kind = _KINDS.get(array.dtype.kind)
    if kind is None or (array.dtype.kind == "u" and array.size and int(array.max()) >= 2**63):
        return value
    return frozen(array, kind) if array.ndim else array.item()


def pack(values: Mapping[str, Any]) -> tuple[Listed, Array, Any]:
    """Split values into names with kinds and shapes, an array of floats and an array of integers. Raises TypeError for
    one that is no number."""
    listed: Listed = []
    floats: list[Any] = [np.zeros(0)]
    integers: list[Any] = [np.zeros(0, dtype=np.int64)]
    for name, value in values.items():
        array = np.asarray(value)
        kind = _KINDS.get(array.dtype.kind)
        if kind is None or (array.dtype.kind == "u" and array.size and int(array.max()) >= 2**63):
            raise TypeError(f"{name!r:.60} is {value!r:.60}, and no number or array of numbers")
        listed.append((name, kind, list(array.shape)))
        (floats if kind == "float" else integers).append(array.ravel())
    return listed, np.concatenate(floats).astype("f8"), np.concatenate(integers).astype("i8")


def shapes(values: Mapping[str, Any]) -> list[tuple[str, tuple[int, ...], str]]:
    """List names, shapes and kinds of values."""
    return sorted((name, np.shape(x), _KINDS.get(np.asarray(x).dtype.kind, "")) for name, x in values.items())


def unpack(listed: Listed, floats: Array, integers: Any) -> dict[str, Any]:
    """Join names and arrays to values, the inverse of `pack`. Raises ValueError if they do not fit."""
    values: dict[str, Any] = {}
    at = {"float": 0, "int": 0, "bool": 0}
    for name, kind, shape in listed:
        if kind not in at or any(n < 0 for n in shape) or len(shape) > 32:
            raise ValueError(f"{name!r:.60} is of the kind {kind!r:.20} and the shape {shape!r:.40}")
        if name in values:
            raise ValueError(f"{name!r:.60} is there twice")
        source, counted = (floats, "float") if kind == "float" else (integers, "int")
        size = int(np.prod(shape, dtype=object)) if shape else 1
        if size > len(source) - at[counted] or max(shape, default=0) > 2**31:
            raise ValueError(f"there are no {size} numbers for {name!r:.60}")
        array = source[at[counted] : at[counted] + size].reshape(shape)
        at[counted] += size
        array = np.array(array, dtype=_DTYPES[kind])
        values[name] = array if shape else array.item()
    if (at["float"], at["int"]) != (len(floats), len(integers)):
        raise ValueError("there are more numbers than names")
    return values
