"""Where the layers above teach the algebra what structure knows: other forms of inverses, dense matrices, blocks.

A rule looks at an expression and answers, or returns None. The first answer counts. The algebra itself knows only
what holds for any matrices: the inverse of a number, a transpose, a product of square parts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.nodes import Identity, Inverse, Product, Scaled, Transpose, product
from soacraft.algebra.operator import Leaf, Operator

Array = npt.NDArray[np.float64]

#: expression -> (an expression for its inverse that sweeps can compute, the source that says so)
InverseRule = Callable[[Operator], tuple[Operator, str] | None]
#: expression -> (a function that forms the dense matrix, the source)
ArrayRule = Callable[[Operator], tuple[Callable[[], Array], str] | None]
#: expression, i, j -> (a function that forms block (i, j), the source)
BlockRule = Callable[[Operator], tuple[Callable[[int, int], Array], str] | None]

inverse_rules: list[InverseRule] = []
#: asked when neither those nor the structure of the expression know an inverse
last_inverse_rules: list[InverseRule] = []
array_rules: list[ArrayRule] = []
block_rules: list[BlockRule] = []
lyapunov_rule: list[Callable[[Operator, Operator, Operator], Operator]] = []
remainder_rule: list[Callable[[Operator, Operator, Operator], Operator]] = []
compile_rule: list[Callable[[Operator], Any]] = []
simplify_rule: list[Callable[[Operator, float], Operator]] = []
#: what -> root of a block-diagonal operator: "sqrt", "cholesky"
root_rule: dict[str, Callable[[Operator], Operator]] = {}
#: what -> derivative: "diff" (expression, body, dof), "dot" (expression), "along" (expression, body, dof)
diff_rule: dict[str, Callable[..., Operator]] = {}


def inverse(x: Operator) -> tuple[Operator, str] | None:
    """Another form of the inverse of x, with its source."""
    for rule in inverse_rules:
        found = rule(x)
        if found is not None:
            return found
    if isinstance(x, Identity):
        return x, "I is its own inverse"
    if isinstance(x, Scaled) and x.factor != 0 and structured(x.arg.inv):
        return Scaled(1.0 / x.factor, x.arg.inv), "inverse of a multiple"
    if isinstance(x, Transpose) and structured(x.arg.inv):
        return x.arg.inv.T, "inverse of a transpose"
    parts = square_parts(x)
    plain = isinstance(x, Product) and len(parts) == len(x.factors)
    if plain and (found := _inverse_of_product(parts)) is not None:
        return found
    found = next((found for rule in last_inverse_rules if (found := rule(x)) is not None), None)
    return found if found is not None or plain else _inverse_of_product(parts)


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


def structured(x: Operator) -> bool:
    """Whether sweeps can compute x: no inverse in it is known only as a dense matrix."""
    if isinstance(x, Inverse):
        return x.pattern() is not None or x.known() is not None
    meaning = x.definition() if isinstance(x, Leaf) else None
    if meaning is not None:
        return structured(meaning)
    return all(structured(part) for part in x.parts())


def array(x: Operator) -> tuple[Callable[[], Array], str] | None:
    """A cheaper way to the dense matrix than a product with the identity, with its source."""
    return next((found for rule in array_rules if (found := rule(x)) is not None), None)


def block(x: Operator) -> tuple[Callable[[int, int], Array], str] | None:
    """A cheaper way to one block than a product with one block column, with its source."""
    return next((found for rule in block_rules if (found := rule(x)) is not None), None)


def lyapunov(E: Operator, X: Operator, other: Operator) -> Operator:
    """The operator Y of a Lyapunov equation, by the recursion that the layer above provides."""
    return lyapunov_rule[0](E, X, other)


def simplify(x: Operator, seconds: float = 2.0) -> Operator:
    """A cheaper expression of the same value, by the layer above; x itself where it knows none."""
    return next((rule(x, seconds) for rule in simplify_rule), x)
