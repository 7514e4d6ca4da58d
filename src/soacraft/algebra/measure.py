"""How far an expression is from zero, whatever the units.

Sizes are those of pieces: neighbouring entries that share a unit (`Space.pieces`). With each column x go columns d of
what rounding may have made of it (`soacraft.algebra.rounding`), with random signs e:

    A x,    A d + e o (|A| |x|)               a sparse factor A, |A| the largest entry of each piece
    S x,    S (d + e o z) + e o z             a propagator S = (I - E)^-1,  z = |x| + |S x| + |E| (|x| + |S x|)

A number is zero when it is small relative to the terms it is the sum of, or relative to d. Each is compared with what
has its own unit, row by row and column by column: lengths, masses and times in other units multiply both alike.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
import numpy.typing as npt

from soacraft.algebra.blocks import Blocks, identity
from soacraft.algebra.evaluate import chunks, unit_columns
from soacraft.algebra.instant import at_one_instant
from soacraft.algebra.nodes import Identity, Inverse, Power, Product, Scaled, Sum, Transpose
from soacraft.algebra.operator import Leaf, Operator
from soacraft.algebra.rounding import NOISES, ROUNDING, noise, noise_sizes
from soacraft.algebra.rules import structured
from soacraft.algebra.space import Space

Array = npt.NDArray[np.float64]

#: Above this many blocks a column space is probed with random vectors instead of column by column.
PROBE_ABOVE = 200
PROBES = 8
#: Powers up to this one are followed factor by factor; of higher ones the product alone is known.
FOLLOWED = 8


@at_one_instant
def relative_norm(expr: Operator, dense: bool = False, enough: float = 0.0) -> float:
    """The largest ratio, over columns and pieces of rows, of |expr x| to the sum of the sizes of its terms.

    Where the terms themselves are nothing but rounding, as in `H*tau_bar`, they are measured by what went into them. So
    a heavy body hides nothing of a light one, and no choice of units changes the answer. NaN and infinite entries give
    infinity. O(n) for each column; random probes above 200 blocks. An inverse of no known structure is refused, or with
    `dense` formed densely. A ratio to the terms alone that is no more than `enough` is returned as it is.
    """
    worst = 0.0
    for x in _probes(expr):
        with np.errstate(over="ignore", invalid="ignore"):
            ratio = _ratio_to_terms(expr, x) if enough > 0.0 and structured(expr) else np.inf
            if not ratio <= enough:
                y, size = _measured(expr, x, dense)
                ratio = largest_ratio(expr.spaces[0].sizes(y), size)
            worst = max(worst, ratio)
    return worst


def _ratio_to_terms(expr: Operator, x: Array) -> float:
    """The largest ratio of |expr x| to the sizes of its terms, at half the cost: rounding is not looked at."""
    rows, parts = expr.spaces[0], [term.apply(x) for term in _terms(expr)]
    terms = reduce(np.add, map(rows.sizes, parts))
    return largest_ratio(rows.sizes(reduce(np.add, parts)), terms)


def sizes(expr: Operator) -> Array:
    """What the errors of the dense matrix are measured by: the size of each piece in each column, (..., pieces, N)."""
    cols = expr.spaces[1]
    parts = [_measured(expr, unit_columns(cols, chunk))[1] for chunk in chunks(cols)]
    return np.concatenate(parts, axis=-1) if parts else np.zeros((len(expr.spaces[0].pieces), 0))


def largest_ratio(gap: npt.ArrayLike, size: npt.ArrayLike) -> float:
    """The largest of gap / size, where there is a gap; what is not finite is infinitely far."""
    gaps, sizes = np.broadcast_arrays(np.asarray(gap, dtype=np.float64), np.asarray(size, dtype=np.float64))
    if not np.isfinite(gaps).all():
        return float("inf")
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.divide(gaps, sizes, out=np.zeros(gaps.shape), where=gaps > 0)
    return float(np.max(ratio, initial=0.0))


def random_columns(space: Space, count: int, seed: int | np.random.Generator = 0) -> list[Array]:
    """Random vectors of a space, so many for each unit: entries of other units are zero."""
    drawn = np.random.default_rng(seed).standard_normal((space.size, count))
    return [np.where((space.letters == letter)[:, None], drawn, 0.0) for letter in np.unique(space.letters)]


def _probes(expr: Operator) -> list[Array]:
    """Columns that an expression is looked at through, each with entries of one unit only."""
    cols, _ = expr.spaces[1], expr.batch
    if len(cols) <= PROBE_ABOVE:
        return [unit_columns(cols, chunk) for chunk in chunks(cols)]
    return random_columns(cols, PROBES)


def _measured(expr: Operator, x: Array, dense: bool = False) -> tuple[Array, Array]:
    """expr x, and for each piece of each column the size that its error is measured by."""
    rows = expr.spaces[0]
    follow, exact = Followed(dense=dense), np.zeros((*x.shape[:-1], NOISES * x.shape[-1]))
    parts = [follow(term, x, exact) for term in _terms(expr)]
    terms = reduce(np.add, [rows.sizes(y) for y, _ in parts])
    y, d = (reduce(np.add, [part[i] for part in parts]) for i in (0, 1))
    return y, np.maximum(terms, ROUNDING * noise_sizes(rows, d))


def _terms(expr: Operator) -> list[Operator]:
    if isinstance(expr, Sum):
        return [t for term in expr.terms for t in _terms(term)]
    if isinstance(expr, Scaled):
        return [Scaled(expr.factor, t) for t in _terms(expr.arg)]
    return [expr]


class Followed:
    """Products with columns x (..., N, m) and with their rounding d (..., N, NOISES m)."""

    def __init__(self, rng: np.random.Generator | None = None, dense: bool = True) -> None:
        self.rng, self.dense, self.m = np.random.default_rng(0) if rng is None else rng, dense, 0

    def __call__(self, expr: Operator, x: Array, d: Array) -> tuple[Array, Array]:
        """expr x, and what rounding may have made of it."""
        self.m = x.shape[-1]
        found = self._product(expr, _together(x, d))
        return found[..., : self.m], found[..., self.m :]

    def _product(self, expr: Operator, xd: Array) -> Array:
        """Of [x d], as one array."""
        if isinstance(expr, Product):
            for factor in reversed(expr.factors):
                xd = self._product(factor, xd)
            return xd
        if isinstance(expr, Sum):
            return reduce(np.add, [self._product(t, xd) for t in expr.terms])
        if isinstance(expr, Scaled):
            return expr.factor * self._product(expr.arg, xd)
        if isinstance(expr, Identity):
            return xd
        if isinstance(expr, Power) and expr.n <= FOLLOWED:
            return reduce(lambda z, _: self._product(expr.arg, z), range(expr.n), xd)
        meaning = _meaning(expr)
        if meaning is not None:
            return self._product(meaning, xd)
        s = expr.spaces[1].sizes(xd[..., : self.m])
        if self.dense and isinstance(expr, Inverse) and not structured(expr):
            return self._solved(expr, xd, s)
        if expr.pattern() is None or isinstance(expr, Power):
            return self._swept(expr, xd, s)
        return self._shaken(expr.apply(xd), expr.spaces[0], magnitude(expr).apply(s))

    def _swept(self, expr: Operator, xd: Array, s: Array) -> Array:
        """By a propagator, whose rounding goes from node to node, or by another operator of no blocks."""
        rows, cols = expr.spaces
        y, kernel = expr.apply(xd[..., : self.m]), _kernel(expr)
        size = rows.sizes(y)
        if _is_dense(expr):
            size = size + magnitude(expr).apply(s)
        if kernel is not None:
            along = magnitude(kernel).apply(s + size)
            s, size = s + along, size + along
        d = expr.apply(xd[..., self.m :] + noise(cols, s, self.rng))
        return _together(y, d + noise(rows, size, self.rng))

    def _solved(self, expr: Inverse, xd: Array, s: Array) -> Array:
        """X^-1 x for an inverse of no known structure, densely: X y is off by rounding of |X| |y|."""
        space, X, X_inv = expr.spaces[0], expr.arg.array(), expr.array()
        largest = space.sizes(space.sizes(X).swapaxes(-1, -2)).swapaxes(-1, -2)
        y = X_inv @ xd[..., : self.m]
        return np.asarray(X_inv @ self._shaken(xd, space, s + largest @ space.sizes(y)))

    def _shaken(self, xd: Array, space: Space, s: Array) -> Array:
        """With rounding of the sizes s added."""
        e = noise(space, s, self.rng)
        if xd.ndim < e.ndim:
            return _together(xd[..., : self.m], xd[..., self.m :] + e)
        shaken = xd.copy()
        shaken[..., self.m :] += e
        return shaken


def _together(x: Array, d: Array) -> Array:
    """Columns and their rounding as one array, with the leading axes of both."""
    if x.ndim == d.ndim == 2:
        return np.concatenate((x, d), axis=-1)
    lead = np.broadcast_shapes(x.shape[:-2], d.shape[:-2])
    return np.concatenate([np.broadcast_to(z, (*lead, *z.shape[-2:])) for z in (x, d)], axis=-1)


def _meaning(expr: Operator) -> Operator | None:
    """The expression that is computed in place of one."""
    if isinstance(expr, Leaf):
        return expr.definition()
    if isinstance(expr, Inverse) and expr.pattern() is None:
        known = expr.known()
        return None if known is None else known[0]
    if isinstance(expr, Transpose):
        if isinstance(expr.arg, Inverse) and not structured(expr.arg):
            return expr.arg.arg.T.inv
        if isinstance(expr.arg, (Sum, Product, Scaled, Power)):
            return _transposed(expr.arg)
        meaning = _meaning(expr.arg)
        return None if meaning is None else meaning.T
    return None


def magnitude(expr: Operator) -> Blocks:
    """|expr| for a sparse expression: the size, piece by piece, of what its numbers were computed from."""
    if isinstance(expr, Identity):
        return identity(expr.spaces[0].in_pieces)
    if isinstance(expr, Sum):
        return reduce(Blocks.plus, map(magnitude, expr.terms))
    if isinstance(expr, Product):
        return reduce(Blocks.times, map(magnitude, expr.factors))
    if isinstance(expr, Scaled):
        return magnitude(expr.arg).scaled(abs(expr.factor))
    if isinstance(expr, Transpose):
        return magnitude(expr.arg).transposed()
    if isinstance(expr, Leaf):
        return expr.cached("magnitude", expr.magnitude)
    return expr.cached("magnitude", lambda: _of_numbers(expr))


def _of_numbers(expr: Operator) -> Blocks:
    """Of an inverse or a power: its own sizes."""
    own = expr.blocks().magnitude
    return own.bounded() if "symmetric" in expr.tags else own


def _is_dense(expr: Operator) -> bool:
    """Whether it is a plain matrix, or the transpose of one."""
    leaf = expr.arg if isinstance(expr, Transpose) else expr
    return isinstance(leaf, Leaf) and leaf.dense


def _kernel(expr: Operator) -> Operator | None:
    """E of (I - E)^-1."""
    if isinstance(expr, Transpose):
        kernel = _kernel(expr.arg)
        return None if kernel is None else kernel.T
    return expr.kernel if isinstance(expr, Leaf) else None


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
