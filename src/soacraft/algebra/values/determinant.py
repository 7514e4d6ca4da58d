"""Determinants from structure: the sign of det X and log |det X|, with the relation they come from.

    X block-triangular along the tree     det X = product of the determinants of its diagonal blocks
    Mcal = H phi M phi* H*                det Mcal = det D                                    (004 Eq. 52-53)
    X Y, X^n, X*, X^-1, c X               by the rules for any matrices
    X Y through a smaller space           0, by rank

An expression without a rule is refused, or formed densely on request.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft.algebra.expressions import questions, rules
from soacraft.algebra.expressions.instant import at_one_instant
from soacraft.algebra.expressions.nodes import Inverse, Power, Product, Scaled, Transpose
from soacraft.algebra.expressions.operator import DIAGONAL, Leaf, Operator
from soacraft.algebra.spaces.regular import is_regular
from soacraft.algebra.values.evaluate import array
from soacraft.algebra.values.support import Flags, closure, support
from soacraft.errors import SingularError, SpaceError, StateError

Array = npt.NDArray[np.float64]


class Determinant(NamedTuple):
    """det X = sign exp(log), for each state of a batch; a sign of 0 for a singular X, whose log is -inf."""

    sign: Any
    log: Any
    source: str

    def times(self, other: Determinant, source: str) -> Determinant:
        """Determinant of a product."""
        return Determinant(self.sign * other.sign, self.log + other.log, source)


ONE, ZERO = (np.float64(1.0), np.float64(0.0)), (np.float64(0.0), np.float64(-np.inf))


@at_one_instant
def determinant(expr: Operator, dense: bool = False) -> Determinant:
    """The determinant of a square expression, broadcast to its batch."""
    rows, cols = expr.spaces
    if rows != cols:
        raise SpaceError(f"{expr.text()} has no determinant, it maps {rows} <- {cols}.")
    with np.errstate(divide="ignore"):
        found = _known(expr)
        if found is None and dense:
            found = Determinant(*np.linalg.slogdet(array(expr)), "dense")
    if found is None:
        raise SpaceError(
            f"no factorization of {expr.text()} is known, so its determinant needs the dense matrix, O(N^3): "
            "log_det(dense=True) and det(dense=True) form it."
        )
    sign, log = (np.broadcast_to(x, expr.batch)[()] for x in found[:2])
    return Determinant(sign, log, found.source)


def log_det(expr: Operator, dense: bool = False) -> Any:
    """log |det X|."""
    return determinant(expr, dense).log


def det(expr: Operator, dense: bool = False) -> Any:
    """det X, refused where it is too large or too small for a double."""
    found = determinant(expr, dense)
    with np.errstate(over="ignore", under="ignore"):
        value = np.where(found.sign == 0.0, 0.0, found.sign * np.exp(found.log))[()]
    if not np.isfinite(value).all() or ((value == 0.0) & (found.sign != 0.0)).any():
        raise StateError(
            f"the determinant of {expr.text()} is beyond the range of doubles, its logarithm is "
            f"{float(np.max(np.abs(found.log))):.6g} in size; take log_det()."
        )
    return value


def _known(x: Operator) -> Determinant | None:
    """Determinant by the first rule that applies; None when there is none."""
    if not x.shape[0]:
        return Determinant(*ONE, "no entries")
    why = rules.singular(x)
    if why is not None:
        return Determinant(*ZERO, why)
    if x.pattern() == DIAGONAL:
        return _of_blocks(x, "block by block")
    for rule in rules.determinant_rules:
        found = rule(x)
        if found is not None:
            return Determinant(*found)
    return _of_kind(x) or _triangular(x)


def _of_blocks(x: Operator, source: str) -> Determinant:
    """The product over the diagonal blocks of an expression that has a pattern."""
    sign: Any = 1.0
    log: Any = 0.0
    for block in x.blocks().diagonal():
        if block.shape[-1]:
            one, size = np.linalg.slogdet(block)
            regular = is_regular(block)
            sign, log = sign * np.where(regular, one, 0.0), log + np.where(regular, size, -np.inf)
    return Determinant(sign, log, source)


def _of_kind(x: Operator) -> Determinant | None:
    """Determinant by rules that hold for any matrices."""
    if isinstance(x, Leaf):
        meaning = x.definition()
        return None if meaning is None else _known(meaning)
    if isinstance(x, Transpose):
        return _known(x.arg)
    if isinstance(x, Scaled):
        inner = None if x.factor == 0 else _known(x.arg)
        n = x.shape[0]
        if x.factor == 0:
            return Determinant(*ZERO, "zero")
        own = Determinant(np.sign(x.factor) ** n, n * np.log(abs(x.factor)), "a multiple")
        return None if inner is None else inner.times(own, inner.source)
    if isinstance(x, Power):
        inner = _known(x.arg) if x.n else Determinant(*ONE, "the zeroth power")
        return None if inner is None else Determinant(inner.sign**x.n, x.n * inner.log if x.n else 0.0, inner.source)
    if isinstance(x, Inverse):
        inner = _known(x.arg)
        if inner is None:
            return None
        if not np.all(inner.sign):
            raise SingularError(f"{x.arg.text()} is singular ({inner.source}), it has no inverse.")
        return Determinant(inner.sign, -inner.log, inner.source)
    return _of_product(x) if isinstance(x, Product) else None


def _of_product(x: Product) -> Determinant | None:
    narrow = narrowest(x)
    if narrow is not None:
        return Determinant(*ZERO, narrow)
    parts = rules.square_parts(x)
    if len(parts) < 2:
        return None
    found = Determinant(*ONE, "product of square factors")
    for part in parts:
        one = _known(part)
        if one is None:
            return None
        found = found.times(one, found.source)
    return found


def narrowest(x: Operator) -> str | None:
    """Reason why a square product is singular by its rank: a factor maps through a smaller space. None when there is
    none.
    """
    if isinstance(x, Product):
        space = min((f.spaces[1] for f in x.factors), key=lambda space: space.size)
        if space.size < x.shape[0]:
            return f"its rank is at most {space.size}, through {space}"
    return None


def _triangular(x: Operator) -> Determinant | None:
    """A block-triangular one, in whatever order of the nodes: the product over its diagonal blocks."""
    flags = support(x)
    if not is_triangular(flags):
        return None
    if not np.diagonal(flags).any():
        return Determinant(*ZERO, "nilpotent")
    return _of_blocks(questions.diag_of(x), "block-triangular: product over the diagonal blocks")


def is_triangular(flags: Flags) -> bool:
    """True if an order of the nodes makes it triangular: no two nodes reach each other."""
    far = closure(flags)
    return not (far & far.T & ~np.eye(len(far), dtype=np.bool_)).any()


questions.det.register(Operator, det)
questions.log_det.register(Operator, log_det)
