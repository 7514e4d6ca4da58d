"""Questions to expressions that modules above answer: each registers its function of `Operator`, or of one kind.

    questions.trace.register(Operator, trace)

So the methods of `Operator` need no module above it. `soacraft.algebra` imports its own modules that answer; the
derivatives, roots, programs and proofs of `soacraft.ops` register in `soacraft.ops.rules.install`.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.answers.cost import Cost
from soacraft.algebra.answers.explanation import Explanation
from soacraft.algebra.answers.properties import Properties
from soacraft.algebra.expressions.dispatch import no_rule

Array = npt.NDArray[np.float64]

# -- numbers: `soacraft.algebra.values` -----------------------------------------------------------------------------


@singledispatch
def columns_of(expr: Any, x: Array) -> Array:
    """The product with columns (..., N, m)."""
    raise no_rule("a product", expr)


@singledispatch
def with_rounding(expr: Any, x: Array, rounding: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """The product with columns, and what rounding may have made of it."""
    raise no_rule("a product that is measured", expr)


@singledispatch
def block(expr: Any, i: Any, j: Any) -> Array:
    """Block (i, j), or several blocks."""
    raise no_rule("a block", expr)


@singledispatch
def array(expr: Any) -> Array:
    """The dense matrix."""
    raise no_rule("array", expr)


@singledispatch
def trace(expr: Any) -> Any:
    """The sum of the diagonal entries."""
    raise no_rule("trace", expr)


@singledispatch
def by_branch(expr: Any) -> dict[tuple[int, int], Array]:
    """Dense blocks between the serial segments of the tree."""
    raise no_rule("by_branch", expr)


@singledispatch
def tags(expr: Any) -> frozenset[str]:
    """Claimed properties: symmetric, block_diagonal, positive_definite, positive_semidefinite."""
    raise no_rule("tags", expr)


@singledispatch
def log_det(expr: Any, dense: bool) -> Any:
    """The logarithm of the size of the determinant."""
    raise no_rule("log_det", expr)


@singledispatch
def det(expr: Any, dense: bool) -> Any:
    """The determinant."""
    raise no_rule("det", expr)


@singledispatch
def properties(expr: Any) -> Properties:
    """Properties: triangular, invertible, symmetric, definite and others, with reasons."""
    raise no_rule("properties", expr)


@singledispatch
def relative_norm(expr: Any, enough: float) -> float:
    """The size of an expression relative to the terms it is the sum of."""
    raise no_rule("is_zero", expr)


@singledispatch
def norm(expr: Any, kind: Any) -> Any:
    """The Frobenius norm, or the largest singular value."""
    raise no_rule("norm", expr)


# -- text and cost: `soacraft.algebra.descriptions` -----------------------------------------------------------------


@singledispatch
def text(expr: Any) -> str:
    """Python that reads back."""
    raise no_rule("text", expr)


@singledispatch
def latex(expr: Any) -> str:
    """The expression as the paper prints it."""
    raise no_rule("latex", expr)


@singledispatch
def explain(expr: Any, loops: bool) -> Explanation:
    """Sweeps that a product, a block and the dense matrix will run."""
    raise no_rule("explain", expr)


@singledispatch
def cost(expr: Any) -> Cost:
    """Block products of a product with a vector, a block and the dense matrix."""
    raise no_rule("cost", expr)


# -- rules of inverses: `soacraft.algebra.expressions.rules` --------------------------------------------------------


@singledispatch
def known_inverse(expr: Any) -> tuple[Any, str] | None:
    """Another form of the inverse, with its source; None where no rule knows one."""
    raise no_rule("inverse", expr)


# -- mechanics: `soacraft.ops` --------------------------------------------------------------------------------------


@singledispatch
def lyapunov(E: Any, X: Any, other: Any) -> Any:
    """The operator Y of a Lyapunov equation."""
    raise no_rule("lyapunov", E)


@singledispatch
def remainder(E: Any, X: Any, other: Any) -> Any:
    """The remainder of A* X B on a tree."""
    raise no_rule("remainder", E)


@singledispatch
def diag_of(x: Any) -> Any:
    """The block diagonal."""
    raise no_rule("diag_of", x)


@singledispatch
def sqrt(x: Any) -> Any:
    """The symmetric square root of a block-diagonal operator."""
    raise no_rule("sqrt", x)


@singledispatch
def cholesky(x: Any) -> Any:
    """The Cholesky factor of a block-diagonal operator."""
    raise no_rule("cholesky", x)


@singledispatch
def diff(x: Any, body: Any, dof: Any) -> Any:
    """The derivative along a dof of the hinge of a body."""
    raise no_rule("diff", x)


@singledispatch
def dot(x: Any) -> Any:
    """The derivative along the current velocity."""
    raise no_rule("dot", x)


@singledispatch
def along(x: Any, body: Any, dof: Any) -> Any:
    """Derivative (`diff`, or `dot` without a body) with the turning of the axes left out."""
    raise no_rule("along", x)


@singledispatch
def recursion(x: Any) -> Any:
    """A product with a vector, written as loops over the nodes."""
    raise no_rule("explain(loops=True)", x)


@singledispatch
def compiled(x: Any) -> Any:
    """The expression as a function of the state."""
    raise no_rule("compile", x)


@singledispatch
def simplify(x: Any, seconds: float = 2.0) -> Any:
    """A cheaper expression of the same value; x itself where none is known."""
    return x
