"""How far an expression is from zero, relative to the size of what it is made of."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from soacraft.algebra.evaluate import chunks, unit_columns
from soacraft.algebra.nodes import Inverse, Power, Product, Scaled, Sum, Transpose
from soacraft.algebra.operator import Leaf, Operator

Array = npt.NDArray[np.float64]

#: Above this many blocks a column space is probed with random vectors instead of column by column.
PROBE_ABOVE = 200
PROBES = 8
#: A result counts as rounding when it is this part of the tolerance (by default 1e-12) of what went into it.
ROUNDING = 1e-3


def relative_norm(expr: Operator) -> float:
    """The largest ratio, over the columns, of |expr x| to the sum of the norms of its terms.

    Where the terms themselves are nothing but rounding, as in `H*tau_bar`, they are measured against the factors they
    were made of. NaN and infinite entries give infinity. O(n) for each column; random probes above 200 blocks.
    """
    cols = expr.spaces[1]
    if len(cols) > PROBE_ABOVE:
        probes = [np.random.default_rng(0).standard_normal((cols.size, PROBES))]
    else:
        probes = [unit_columns(cols, chunk) for chunk in chunks(cols)]
    worst = 0.0
    for x in probes:
        parts = [_sized(term, x) for term in _terms(expr)]
        norm = np.linalg.norm(sum(y for y, _ in parts), axis=-2)
        terms = sum(np.linalg.norm(y, axis=-2) for y, _ in parts)
        size = np.maximum(terms, ROUNDING * sum(inner for _, inner in parts))
        if not np.isfinite(norm).all():
            return float("inf")
        ratio = np.divide(norm, size, out=np.zeros_like(norm), where=norm > 0)
        worst = max(worst, float(np.max(ratio, initial=0.0)))
    return worst


def _terms(expr: Operator) -> list[Operator]:
    if isinstance(expr, Sum):
        return [t for term in expr.terms for t in _terms(term)]
    if isinstance(expr, Scaled):
        return [Scaled(expr.factor, t) for t in _terms(expr.arg)]
    return [expr]


def _sized(expr: Operator, x: Array) -> tuple[Array, Array]:
    """expr x, and for each column the size of what went into it."""
    if isinstance(expr, Sum):
        pairs = [_sized(t, x) for t in expr.terms]
        return sum(y for y, _ in pairs), sum(s for _, s in pairs)  # type: ignore[return-value]
    if isinstance(expr, Scaled):
        y, size = _sized(expr.arg, x)
        return expr.factor * y, abs(expr.factor) * size
    if isinstance(expr, Transpose) and expr.arg.parts():
        return _sized(_transposed(expr.arg), x)
    if isinstance(expr, Product):
        y, size = x, np.linalg.norm(x, axis=-2)
        for factor in reversed(expr.factors):
            before = size
            y, size = _sized(factor, y)
            size = np.maximum(size, _gain(factor) * before)
        return y, size
    y = expr.apply(x)
    return y, np.maximum(np.linalg.norm(y, axis=-2), _gain(expr) * np.linalg.norm(x, axis=-2))


def _gain(expr: Operator) -> float:
    """The size of the entries of a factor; a sum or multiple of propagators is sized term by term instead."""
    if isinstance(expr, (Transpose, Power)):
        return _gain(expr.arg)
    if isinstance(expr, Leaf):
        return expr.magnitude()
    if expr.pattern() is None:
        return 0.0 if isinstance(expr, (Sum, Scaled)) else 1.0
    return expr.blocks().largest


def _transposed(expr: Operator) -> Operator:
    """The transpose with the star moved inside sums and products."""
    if isinstance(expr, Sum):
        return Sum(tuple(t.T for t in expr.terms))
    if isinstance(expr, Product):
        return Product(tuple(f.T for f in reversed(expr.factors)))
    if isinstance(expr, Scaled):
        return Scaled(expr.factor, expr.arg.T)
    if isinstance(expr, Power):
        return Power(expr.arg.T, expr.n)
    assert isinstance(expr, Inverse)
    return Inverse(expr.arg.T)
