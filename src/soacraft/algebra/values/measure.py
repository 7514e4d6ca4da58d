"""Distance of an expression from zero, in any units.

Sizes are those of pieces: neighbouring entries that share a unit (`Space.pieces`). With each column x go columns d of
what rounding may have made of it (`soacraft.algebra.spaces.rounding`), with random signs e:

    A x,    A d + e o (|A| |x|)               a sparse factor A, |A| the largest entry of each piece
    S x,    S (d + e o z) + e o z             a propagator S = (I - E)^-1,  z = |x| + |S x| + |E| (|x| + |S x|)

A number is zero when it is small relative to the terms it is the sum of, or relative to d. Each is compared with what
has its own unit, row by row and column by column: lengths, masses and times in other units multiply both alike.
"""

from __future__ import annotations

from functools import reduce, singledispatch

import numpy as np
import numpy.typing as npt

from soacraft.algebra.expressions import questions
from soacraft.algebra.expressions.instant import at_one_instant
from soacraft.algebra.expressions.nodes import Identity, Inverse, Power, Product, Scaled, Sum, Transpose
from soacraft.algebra.expressions.operator import Leaf, Operator
from soacraft.algebra.expressions.rules import structured
from soacraft.algebra.spaces.blocks import Blocks, identity
from soacraft.algebra.spaces.rounding import NOISES, ROUNDING, noise, noise_sizes
from soacraft.algebra.spaces.space import Space
from soacraft.algebra.values.evaluate import array, chunks, unit_columns

Array = npt.NDArray[np.float64]

#: Above this many blocks a column space is probed with random vectors instead of column by column.
PROBE_ABOVE = 200
PROBES = 8
#: Powers up to this one are followed factor by factor; of higher ones the product alone is known.
FOLLOWED = 8

#: Products of terms with probes, by the identity of the term and the number of the probe.
Known = dict[tuple[int, int], tuple[Operator, Array]]


@at_one_instant
def relative_norm(expr: Operator, dense: bool = False, enough: float = 0.0, known: Known | None = None) -> float:
    """The largest ratio, over columns and pieces of rows, of |expr x| to the sum of the sizes of its terms.

    Where the terms themselves are nothing but rounding, as in `H*tau_bar`, they are measured by what went into them. So
    a heavy body hides nothing of a light one, and no choice of units changes the answer. NaN and infinite entries give
    infinity. O(n) for each column; random probes above 200 blocks. An inverse of no known structure is refused, or with
    `dense` formed densely. A ratio to the terms alone that is no more than `enough` is returned as it is; the products
    of its terms are taken from `known` and kept there, for several expressions of the same terms at the same state.
    """
    worst, known = 0.0, {} if known is None else known
    for i, x in enumerate(_probes(expr)):
        with np.errstate(over="ignore", invalid="ignore"):
            ratio = _ratio_to_terms(expr, x, i, known) if enough > 0.0 and structured(expr) else np.inf
            if not ratio <= enough:
                y, size = _measured(expr, x, dense)
                ratio = largest_ratio(expr.spaces[0].sizes(y), size)
            worst = max(worst, ratio)
    return worst


def _ratio_to_terms(expr: Operator, x: Array, i: int, known: Known) -> float:
    """The largest ratio of |expr x| to the sizes of its terms, at half the cost: rounding is not looked at."""

    def product(term: Operator) -> Array:
        if isinstance(term, Scaled):
            return term.factor * product(term.arg)
        if (id(term), i) not in known:
            known[id(term), i] = term, term.apply(x)  # the term stays, so that its id does
        return known[id(term), i][1]

    rows, parts = expr.spaces[0], [product(term) for term in _terms(expr)]
    terms = reduce(np.add, map(rows.sizes, parts))
    return largest_ratio(rows.sizes(reduce(np.add, parts)), terms)


def sizes(expr: Operator) -> Array:
    """Reference for the errors of the dense matrix: the size of each piece in each column, (..., pieces, N)."""
    cols = expr.spaces[1]
    parts = [_measured(expr, unit_columns(cols, chunk))[1] for chunk in chunks(cols)]
    return np.concatenate(parts, axis=-1) if parts else np.zeros((len(expr.spaces[0].pieces), 0))


def largest_ratio(gap: npt.ArrayLike, size: npt.ArrayLike) -> float:
    """The largest of gap / size, where there is a gap; numbers that are not finite count as infinite."""
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


@singledispatch
def _terms(expr: Operator) -> list[Operator]:
    """The terms that an expression is the sum of."""
    return [expr]


@_terms.register
def _(expr: Sum) -> list[Operator]:
    return [t for term in expr.terms for t in _terms(term)]


@_terms.register
def _(expr: Scaled) -> list[Operator]:
    return [Scaled(expr.factor, t) for t in _terms(expr.arg)]


# -- columns with their rounding ---------------------------------------------------------------------------------------


class Followed:
    """Products with columns x (..., N, m) and with their rounding d (..., N, NOISES m)."""

    def __init__(self, rng: np.random.Generator | None = None, dense: bool = True) -> None:
        self.rng, self.dense, self.m = np.random.default_rng(0) if rng is None else rng, dense, 0

    def __call__(self, expr: Operator, x: Array, d: Array) -> tuple[Array, Array]:
        """expr x, and what rounding may have made of it."""
        self.m = x.shape[-1]
        xd = followed(expr, self, _together(x, d))
        return xd[..., : self.m], xd[..., self.m :]

    def by_numbers(self, expr: Operator, xd: Array) -> Array:
        """Product with an expression that is not split further, and the rounding of its numbers."""
        s = expr.spaces[1].sizes(xd[..., : self.m])
        if expr.pattern() is None or isinstance(expr, Power):
            return self._swept(expr, xd, s)
        return self._shaken(expr.apply(xd), expr.spaces[0], magnitude(expr).apply(s))

    def _swept(self, expr: Operator, xd: Array, s: Array) -> Array:
        """Product with a propagator, whose rounding goes from node to node, or with another operator without blocks."""
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

    def solved(self, expr: Inverse, xd: Array) -> Array:
        """X^-1 x for an inverse of no known structure, densely: X y is off by rounding of |X| |y|."""
        s = expr.spaces[1].sizes(xd[..., : self.m])
        space, X, X_inv = expr.spaces[0], array(expr.arg), array(expr)
        largest = space.sizes(space.sizes(X).swapaxes(-1, -2)).swapaxes(-1, -2)
        y = X_inv @ xd[..., : self.m]
        return np.asarray(X_inv @ self._shaken(xd, space, s + largest @ space.sizes(y)))

    def _shaken(self, xd: Array, space: Space, s: Array) -> Array:
        """Columns and their rounding, with rounding of the sizes s added."""
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


@singledispatch
def followed(expr: Operator, follow: Followed, xd: Array) -> Array:
    """The product of an expression with [x d], as one array."""
    meaning = _meaning(expr)
    return follow.by_numbers(expr, xd) if meaning is None else followed(meaning, follow, xd)


@followed.register
def _(expr: Product, follow: Followed, xd: Array) -> Array:
    for factor in reversed(expr.factors):
        xd = followed(factor, follow, xd)
    return xd


@followed.register
def _(expr: Sum, follow: Followed, xd: Array) -> Array:
    return reduce(np.add, [followed(t, follow, xd) for t in expr.terms])


@followed.register
def _(expr: Scaled, follow: Followed, xd: Array) -> Array:
    return expr.factor * followed(expr.arg, follow, xd)


@followed.register
def _(expr: Identity, follow: Followed, xd: Array) -> Array:
    return xd


@followed.register
def _(expr: Power, follow: Followed, xd: Array) -> Array:
    if expr.n > FOLLOWED:
        return follow.by_numbers(expr, xd)
    return reduce(lambda z, _: followed(expr.arg, follow, z), range(expr.n), xd)


@followed.register
def _(expr: Inverse, follow: Followed, xd: Array) -> Array:
    meaning = _meaning(expr)
    if meaning is not None:
        return followed(meaning, follow, xd)
    return follow.solved(expr, xd) if follow.dense and not structured(expr) else follow.by_numbers(expr, xd)


@singledispatch
def _meaning(expr: Operator) -> Operator | None:
    """The expression that is computed in place of one."""
    return None


@_meaning.register
def _(expr: Leaf) -> Operator | None:
    return expr.definition()


@_meaning.register
def _(expr: Inverse) -> Operator | None:
    known = expr.known() if expr.pattern() is None else None
    return None if known is None else known[0]


@_meaning.register
def _(expr: Transpose) -> Operator | None:
    return _starred(expr.arg)


@singledispatch
def _starred(expr: Operator) -> Operator | None:
    """Expression computed in place of the transpose of another: the star goes inside sums and products."""
    meaning = _meaning(expr)
    return None if meaning is None else meaning.T


@_starred.register
def _(expr: Sum) -> Operator | None:
    return Sum(tuple(t.T for t in expr.terms))


@_starred.register
def _(expr: Product) -> Operator | None:
    return Product(tuple(f.T for f in reversed(expr.factors)))


@_starred.register
def _(expr: Scaled) -> Operator | None:
    return Scaled(expr.factor, expr.arg.T)


@_starred.register
def _(expr: Power) -> Operator | None:
    return Power(expr.arg.T, expr.n)


@_starred.register
def _(expr: Inverse) -> Operator | None:
    if not structured(expr):
        return expr.arg.T.inv
    meaning = _meaning(expr)
    return None if meaning is None else meaning.T


# -- sizes of blocks ---------------------------------------------------------------------------------------------------


@singledispatch
def magnitude(expr: Operator) -> Blocks:
    """|expr| for a sparse expression: the size, piece by piece, of what its numbers were computed from."""
    return expr.cached("magnitude", lambda: _of_numbers(expr))


@magnitude.register
def _(expr: Leaf) -> Blocks:
    return expr.cached("magnitude", expr.magnitude)


@magnitude.register
def _(expr: Identity) -> Blocks:
    return identity(expr.spaces[0].in_pieces)


@magnitude.register
def _(expr: Sum) -> Blocks:
    return reduce(Blocks.plus, map(magnitude, expr.terms))


@magnitude.register
def _(expr: Product) -> Blocks:
    return reduce(Blocks.times, map(magnitude, expr.factors))


@magnitude.register
def _(expr: Scaled) -> Blocks:
    return magnitude(expr.arg).scaled(abs(expr.factor))


@magnitude.register
def _(expr: Transpose) -> Blocks:
    return magnitude(expr.arg).transposed()


def _of_numbers(expr: Operator) -> Blocks:
    """Sizes of the numbers of an inverse or a power."""
    own = expr.blocks().magnitude
    return own.bounded() if "symmetric" in expr.tags else own


def _is_dense(expr: Operator) -> bool:
    """True for a plain matrix, or the transpose of one."""
    leaf = expr.arg if isinstance(expr, Transpose) else expr
    return isinstance(leaf, Leaf) and leaf.dense


def _kernel(expr: Operator) -> Operator | None:
    """E of (I - E)^-1."""
    if isinstance(expr, Transpose):
        kernel = _kernel(expr.arg)
        return None if kernel is None else kernel.T
    return expr.kernel if isinstance(expr, Leaf) else None


def _with_rounding(expr: Operator, x: Array, rounding: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """The product with columns, and what rounding may have made of it."""
    return Followed(rng)(expr, x, rounding)


questions.relative_norm.register(Operator, relative_norm)
questions.with_rounding.register(Operator, _with_rounding)
