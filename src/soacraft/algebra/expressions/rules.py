"""Rules of the layers above about structure: other forms of inverses, dense matrices, blocks.

A rule looks at an expression and answers, or returns None. The first answer counts. The algebra itself knows only
what holds for any matrices: the inverse of a number, a transpose, a product of square parts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce, singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.expressions import questions
from soacraft.algebra.expressions.nodes import Identity, Inverse, Product, Scaled, Transpose, product
from soacraft.algebra.expressions.operator import Leaf, Operator

Array = npt.NDArray[np.float64]

#: expression -> (an expression for its inverse that sweeps can compute, the source that says so)
InverseRule = Callable[[Operator], tuple[Operator, str] | None]
#: expression -> (a function that forms the dense matrix, the source)
ArrayRule = Callable[[Operator], tuple[Callable[[], Array], str] | None]
#: expression, i, j -> (a function that forms block (i, j), the source)
BlockRule = Callable[[Operator], tuple[Callable[[int, int], Array], str] | None]

#: expression -> (the sign of its determinant, the logarithm of its size, the source)
DeterminantRule = Callable[[Operator], tuple[Any, Any, str] | None]
#: expression -> why it is singular at every state
SingularRule = Callable[[Operator], str | None]
#: expression -> whether it is regular, and why
RegularRule = Callable[[Operator], tuple[bool, str] | None]

inverse_rules: list[InverseRule] = []
#: asked when neither those nor the structure of the expression know an inverse
last_inverse_rules: list[InverseRule] = []
array_rules: list[ArrayRule] = []
block_rules: list[BlockRule] = []
determinant_rules: list[DeterminantRule] = []
singular_rules: list[SingularRule] = []
regular_rules: list[RegularRule] = []


# -- inverses -----------------------------------------------------------------------------------------------------


def inverse(x: Operator) -> tuple[Operator, str] | None:
    """Another form of the inverse of x, with its source."""
    for rule in inverse_rules:
        found = rule(x)
        if found is not None:
            return found
    own = _inverse_of_kind(x)
    if own is not None:
        return own
    parts = square_parts(x)
    plain = isinstance(x, Product) and len(parts) == len(x.factors)
    if plain and (found := _inverse_of_product(parts)) is not None:
        return found
    found = next((found for rule in last_inverse_rules if (found := rule(x)) is not None), None)
    return found if found is not None or plain else _inverse_of_product(parts)


@singledispatch
def _inverse_of_kind(x: Operator) -> tuple[Operator, str] | None:
    """Inverse by rules that hold for any matrices."""
    return None


@_inverse_of_kind.register
def _(x: Identity) -> tuple[Operator, str] | None:
    return x, "I is its own inverse"


@_inverse_of_kind.register
def _(x: Scaled) -> tuple[Operator, str] | None:
    if x.factor == 0 or not structured(x.arg.inv):
        return None
    return Scaled(1.0 / x.factor, x.arg.inv), "inverse of a multiple"


@_inverse_of_kind.register
def _(x: Transpose) -> tuple[Operator, str] | None:
    return (x.arg.inv.T, "inverse of a transpose") if structured(x.arg.inv) else None


def square_parts(x: Operator) -> list[Operator]:
    """The factors of a square product, gathered into the shortest products that are square. Where the whole has an
    inverse, each of them has.
    """
    if not isinstance(x, Product):
        return [x]
    parts: list[Operator] = []
    part: Operator | None = None
    for f in x.factors:
        part = f if part is None else product(part, f)
        if part.cols == x.rows:
            parts.append(part)
            part = None
    return parts


def _inverse_of_product(parts: list[Operator]) -> tuple[Operator, str] | None:
    inverses = [part.inv for part in reversed(parts)]
    if len(parts) < 2 or not all(map(structured, inverses)):
        return None
    return reduce(product, inverses), "inverse of a product of square factors"


@singledispatch
def structured(x: Operator) -> bool:
    """True if sweeps can compute x: no inverse in it is known only as a dense matrix."""
    return all(map(structured, x.parts()))


@structured.register
def _(x: Inverse) -> bool:
    return x.pattern() is not None or x.known() is not None


@structured.register
def _(x: Leaf) -> bool:
    meaning = x.definition()
    return meaning is None or structured(meaning)


# -- dense matrices and blocks ------------------------------------------------------------------------------------


def array(x: Operator) -> tuple[Callable[[], Array], str] | None:
    """A cheaper way to the dense matrix than a product with the identity, with its source."""
    return next((found for rule in array_rules if (found := rule(x)) is not None), None)


def block(x: Operator) -> tuple[Callable[[int, int], Array], str] | None:
    """A cheaper way to one block than a product with one block column, with its source."""
    return next((found for rule in block_rules if (found := rule(x)) is not None), None)


def singular(x: Operator) -> str | None:
    """Reason why x is singular at every state; None when no rule knows."""
    return next((why for rule in singular_rules if (why := rule(x)) is not None), None)


def regular(x: Operator) -> tuple[bool, str] | None:
    """True or False for an x with or without an inverse, and the reason; None when no rule says."""
    return next((found for rule in regular_rules if (found := rule(x)) is not None), None)


questions.known_inverse.register(Operator, inverse)
