"""Inverses of plain matrices whose rows and columns have units of their own."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

#: A matrix is singular when, its rows and columns brought to one size, its smallest singular value is below this part
#: of their number: the rounding of an entry.
SINGULAR = 1e-15


def least_singular_value(x: Array) -> Array:
    """The smallest singular value of matrices (..., d, d) after their rows and columns are brought to one size, so that
    mixed units (moments and masses) do not look singular.
    """
    even = _even(x)[0]
    if x.shape[-1] == 1:
        return np.abs(even[..., 0, 0])
    return np.asarray(np.linalg.svd(even, compute_uv=False)[..., -1], dtype=np.float64)


def is_regular(x: Array) -> npt.NDArray[np.bool_]:
    """True for each of some matrices (..., d, d) that has an inverse."""
    return np.asarray(least_singular_value(x) > SINGULAR * x.shape[-1]) if x.shape[-1] else np.ones(x.shape[:-2], bool)


def inverse(x: Array) -> Array:
    """The inverses of regular matrices (..., d, d)."""
    if not x.shape[-1]:
        return x
    even, rows, cols = _even(x)
    return np.asarray(np.linalg.inv(even) / cols.mT / rows.mT, dtype=np.float64)


def _even(x: Array) -> tuple[Array, Array, Array]:
    """x / rows / cols with 1 for the largest entry of each column, and of most rows."""
    rows = _largest(x, -1)
    cols = _largest(x / rows, -2)
    return x / rows / cols, rows, cols


def _largest(x: Array, axis: int) -> Array:
    largest = np.max(np.abs(x), axis=axis, keepdims=True)
    return np.where(largest > 0.0, largest, 1.0)
