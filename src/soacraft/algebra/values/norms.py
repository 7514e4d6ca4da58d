"""The size of an expression as a matrix of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.expressions import questions
from soacraft.algebra.expressions.instant import at_one_instant
from soacraft.algebra.expressions.operator import DIAGONAL, Operator
from soacraft.algebra.expressions.rules import structured
from soacraft.algebra.values.evaluate import chunks, unit_columns
from soacraft.errors import SpaceError

Array = npt.NDArray[np.float64]


@at_one_instant
def norm(expr: Operator, kind: Any) -> Any:
    """The Frobenius norm, or the largest singular value, from blocks where the expression is sparse."""
    if kind not in ("fro", 2) or isinstance(kind, bool):
        raise SpaceError(f'norm({kind!r}) is not known; there are "fro" and 2, the largest singular value.')
    found = _frobenius(expr) if kind == "fro" else _spectral(expr)
    return np.array(np.broadcast_to(found, expr.batch))[()]


def _frobenius(expr: Operator) -> Array:
    if not structured(expr):
        return _size([expr.array()])
    if expr.pattern() is not None:
        return _size(list(expr.blocks().entries.values()))
    cols = expr.spaces[1]
    return _size([np.asarray(_size([expr.apply(unit_columns(cols, c))]))[..., None, None] for c in chunks(cols)])


def _size(parts: list[Array]) -> Array:
    """The root of the sum of all squares, without overflow."""
    largest = np.asarray(_over(np.maximum, [np.max(np.abs(x), axis=(-2, -1), initial=0.0) for x in parts]))
    safe = np.where(largest > 0.0, largest, 1.0)
    squares = [np.sum((x / safe[..., None, None]) ** 2, axis=(-2, -1)) for x in parts]
    return np.asarray(largest * np.sqrt(_over(np.add, squares)))


def _spectral(expr: Operator) -> Array:
    sparse = expr.pattern() == DIAGONAL and structured(expr)
    parts = expr.blocks().diagonal() if sparse else [expr.array()]
    return _over(np.maximum, [_largest_singular_value(x) for x in parts])


def _largest_singular_value(x: Array) -> Array:
    if 0 in x.shape[-2:]:
        return np.zeros(x.shape[:-2])
    return np.asarray(np.linalg.svd(x, compute_uv=False)[..., 0])


def _over(do: Any, parts: list[Array]) -> Array:
    found = np.zeros(())
    for x in parts:
        found = do(found, x)
    return np.asarray(found)


questions.norm.register(Operator, norm)
