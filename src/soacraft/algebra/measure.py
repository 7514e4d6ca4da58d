"""How far an expression is from zero, relative to the size of what it is made of."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from soacraft.algebra.blocks import Sizes
from soacraft.algebra.evaluate import chunks, unit_columns
from soacraft.algebra.nodes import Inverse, Power, Product, Scaled, Sum, Transpose
from soacraft.algebra.operator import Leaf, Operator
from soacraft.algebra.space import Space

Array = npt.NDArray[np.float64]

#: Above this many blocks a column space is probed with random vectors instead of column by column.
PROBE_ABOVE = 200
PROBES = 8
#: A result counts as rounding when it is this part of the tolerance (by default 1e-12) of what went into it.
ROUNDING = 1e-3


def relative_norm(expr: Operator) -> float:
    """The largest ratio, over the columns, of |expr x| to the sum of the norms of its terms.

    Where the terms themselves are nothing but rounding, as in `H*tau_bar`, they are measured against the factors they
    were made of, block by block, so that a heavy body hides nothing of a light one. NaN and infinite entries give
    infinity. O(n) for each column; random probes above 200 blocks.
    """
    worst = 0.0
    for x in _probes(expr):
        with np.errstate(over="ignore", invalid="ignore"):
            y, size = _measured(expr, x)
        norm = _norm(y)
        if not np.isfinite(norm).all():
            return float("inf")
        ratio = np.divide(norm, size, out=np.zeros_like(norm), where=norm > 0)
        worst = max(worst, float(np.max(ratio, initial=0.0)))
    return worst


def scale(expr: Operator) -> float:
    """What errors of an expression are measured by: its largest entry, or where that is rounding, what went into it."""
    sizes = (float(np.max(_measured(expr, x)[1], initial=0.0)) for x in _probes(expr))
    return max(sizes, default=0.0)


def _probes(expr: Operator) -> list[Array]:
    cols, _ = expr.spaces[1], expr.batch
    if len(cols) > PROBE_ABOVE:
        return [np.random.default_rng(0).standard_normal((cols.size, PROBES))]
    return [unit_columns(cols, chunk) for chunk in chunks(cols)]


def _measured(expr: Operator, x: Array) -> tuple[Array, Array]:
    """expr x, and for each column the size that its error is measured by."""
    s = _block_norms(x, expr.spaces[1])
    parts = [_sized(term, x, s) for term in _terms(expr)]
    terms = sum(_norm(y) for y, _ in parts)
    inner = np.max(sum(size for _, size in parts), axis=-2, initial=0.0)
    return np.asarray(sum(y for y, _ in parts)), np.maximum(terms, ROUNDING * inner)


def _norm(y: Array) -> Array:
    """The largest entry of each column."""
    return np.asarray(np.max(np.abs(y), axis=-2, initial=0.0))


def _block_norms(y: Array, space: Space) -> Array:
    """The largest entry of each block of each column, (..., n, m)."""
    found = np.zeros((*y.shape[:-2], len(space), y.shape[-1]))
    filled = np.flatnonzero(space.dims)
    if filled.size:
        found[..., filled, :] = np.maximum.reduceat(np.abs(y), space.offsets[filled], axis=-2)
    return found


def _terms(expr: Operator) -> list[Operator]:
    if isinstance(expr, Sum):
        return [t for term in expr.terms for t in _terms(term)]
    if isinstance(expr, Scaled):
        return [Scaled(expr.factor, t) for t in _terms(expr.arg)]
    return [expr]


def _sized(expr: Operator, x: Array, s: Array) -> tuple[Array, Array]:
    """expr x, and for each of its blocks the size of what went into it; s is that of x."""
    if isinstance(expr, Sum):
        pairs = [_sized(t, x, s) for t in expr.terms]
        return sum(y for y, _ in pairs), sum(size for _, size in pairs)  # type: ignore[return-value]
    if isinstance(expr, Scaled):
        y, size = _sized(expr.arg, x, s)
        return expr.factor * y, abs(expr.factor) * size
    if isinstance(expr, Product):
        for factor in reversed(expr.factors):
            x, s = _sized(factor, x, s)
        return x, s
    if isinstance(expr, Power) and expr.pattern() is None:
        for _ in range(expr.n):
            x, s = _sized(expr.arg, x, s)
        return x, s
    meaning = _meaning(expr)
    if meaning is not None:
        return _sized(meaning, x, s)
    y = expr.apply(x)
    norms = _block_norms(y, expr.spaces[0])
    local = expr.pattern() is not None and not isinstance(expr, Power)
    return y, np.maximum(norms, _spread(expr, s) if local else _reached(_gain(expr), norms, s))


def _meaning(expr: Operator) -> Operator | None:
    """The expression that is worked out in place of one."""
    if isinstance(expr, Leaf):
        return expr.definition()
    if isinstance(expr, Inverse) and expr.pattern() is None:
        found = expr.known()
        return None if found is None else found[0]
    if isinstance(expr, Transpose):
        if isinstance(expr.arg, (Sum, Product, Scaled, Power)):
            return _transposed(expr.arg)
        meaning = _meaning(expr.arg)
        return None if meaning is None else meaning.T
    return None


def _spread(expr: Operator, s: Array) -> Array:
    """Sizes carried through the blocks of a sparse factor."""
    at = _sizes(expr)
    found = np.zeros((*s.shape[:-2], len(expr.spaces[0]), s.shape[-1]))
    np.add.at(found, (..., at.rows, slice(None)), at.sizes[:, None] * s[..., at.cols, :])  # type: ignore[arg-type]
    return found


def _sizes(expr: Operator) -> Sizes:
    if isinstance(expr, Transpose):
        at = _sizes(expr.arg)
        return Sizes(at.cols, at.rows, at.sizes)
    return expr.sizes() if isinstance(expr, Leaf) else expr.blocks().sizes


def _reached(gain: float, norms: Array, s: Array) -> Array:
    """Sizes carried to the blocks that are reached along paths of the tree."""
    return np.where(norms > 0, gain * np.max(s, axis=-2, keepdims=True, initial=0.0), 0.0)


def _gain(expr: Operator) -> float:
    """The entries of a propagator's diagonal are ones; a power of a sparse factor is measured by that factor."""
    if isinstance(expr, Transpose):
        return _gain(expr.arg)
    if isinstance(expr, Power):
        return float(np.max(_sizes(expr.arg).sizes, initial=0.0)) if expr.n else 1.0
    return expr.gain if isinstance(expr, Leaf) else 0.0


def _transposed(expr: Operator) -> Operator:
    """The transpose with the star moved inside sums and products."""
    if isinstance(expr, Sum):
        return Sum(tuple(t.T for t in expr.terms))
    if isinstance(expr, Product):
        return Product(tuple(f.T for f in reversed(expr.factors)))
    if isinstance(expr, Scaled):
        return Scaled(expr.factor, expr.arg.T)
    assert isinstance(expr, Power)
    return Power(expr.arg.T, expr.n)
