"""Symmetric blocks: whether they are positive, their Cholesky factors and their square roots.

Every judgement is made after row and column i are divided by s(i) = sqrt|x(i,i)|, so that moments among masses, in
whatever units, are judged alike: in a positive semi-definite block |x(i,j)| <= s(i) s(j).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

#: Rounding of an entry, as a part of s(i) s(j); no unit.
ROUNDING = 1e-12


class Factored(NamedTuple):
    """Lower triangular L with L L* = X for blocks (..., d, d), and what is wrong with those that have none."""

    L: Array
    unsymmetric: Flags
    indefinite: Flags


def is_exactly_symmetric(x: Array) -> bool:
    """True if a matrix is its own transpose, number by number."""
    return x.shape[-2] == x.shape[-1] and bool(np.array_equal(x, x.mT))


def definiteness(x: Array) -> str:
    """Definiteness of a symmetric block: "positive_definite", "positive_semidefinite", or "" for neither.

    >>> definiteness(np.diag([2.0, 1e-20])), definiteness(np.diag([2.0, 0.0])), definiteness(np.diag([2.0, -1e-20]))
    ('positive_definite', 'positive_semidefinite', '')
    """
    found = factored(x)
    if found.unsymmetric.any() or found.indefinite.any():
        return ""
    return "positive_definite" if (smallest_pivot(x) > ROUNDING).all() else "positive_semidefinite"


def smallest_pivot(x: Array) -> Array:
    """The smallest pivot of symmetric positive semi-definite blocks with ones on their diagonals: zero if singular."""
    pivots = np.diagonal(factored(x, trusted=True).L, axis1=-2, axis2=-1) / _sizes(x)
    return np.asarray(np.min(pivots**2, axis=-1, initial=1.0))


def factored(x: Array, trusted: bool = False) -> Factored:
    """Cholesky factors of symmetric positive semi-definite blocks (..., d, d); a pivot of zero leaves a zero column.

    `trusted` blocks are known to be positive semi-definite: what is negative in them is rounding.
    """
    s = _sizes(x)
    even = x / s[..., :, None] / s[..., None, :]
    unsymmetric = _any(np.abs(even - even.mT) > ROUNDING)
    L, rest = np.zeros_like(even), 0.5 * (even + even.mT)
    empty = np.diagonal(x, axis1=-2, axis2=-1) == 0.0  # such a row is zero, or the block is indefinite
    indefinite = _any(empty[..., :, None] & (x != 0.0))
    for j in range(x.shape[-1]):
        pivot, column = rest[..., j, j], rest[..., j:, j]
        indefinite |= (pivot < -ROUNDING) | ((pivot <= 0.0) & (np.abs(column).max(axis=-1) > ROUNDING))
        root = np.sqrt(np.maximum(pivot, 0.0))
        L[..., j:, j] = column / np.where(root > 0.0, root, np.inf)[..., None]
        rest = rest - L[..., :, j, None] * L[..., None, :, j]
    return Factored(s[..., :, None] * L, unsymmetric, indefinite & (not trusted))


def symmetric_root(L: Array) -> Array:
    """The symmetric positive semi-definite W with W W = L L*, as L Q with Q orthogonal: W W* keeps the accuracy of
    L L* in every row, however different the units of the rows are.
    """
    U, _, V = np.linalg.svd(L.mT)
    return np.asarray(L @ U @ V, dtype=np.float64)


def _sizes(x: Array) -> Array:
    s = np.sqrt(np.abs(np.diagonal(x, axis1=-2, axis2=-1)))
    return np.asarray(np.where(s > 0.0, s, 1.0))


def _any(flags: Flags) -> Flags:
    return np.asarray(flags.any(axis=(-2, -1)))
