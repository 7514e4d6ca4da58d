"""Numbers of an expression: one block, the dense matrix, the trace, the blocks between branches, its tags."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce, singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.expressions import questions, rules
from soacraft.algebra.expressions.dispatch import no_rule
from soacraft.algebra.expressions.instant import at_one_instant
from soacraft.algebra.expressions.nodes import Identity, Inverse, Power, Product, Scaled, Sum, Transpose, product
from soacraft.algebra.expressions.operator import DIAGONAL, Leaf, Operator
from soacraft.algebra.expressions.questions import tags
from soacraft.algebra.spaces.regular import inverse, is_regular
from soacraft.algebra.spaces.selection import is_several
from soacraft.algebra.spaces.space import Space
from soacraft.algebra.values.submatrix import submatrix
from soacraft.errors import SingularError, SpaceError
from soacraft.results import finite_or_refused, refuse_large

Array = npt.NDArray[np.float64]


#: A product of more factors is not taken apart for one block, which would nest a call for each.
LONG = 50


@at_one_instant
def block(expr: Operator, i: Any, j: Any) -> Array:
    """Block (i, j), from structure: the rest is not formed. Slices and lists give several blocks in one array."""
    if is_several(i) or is_several(j):
        return submatrix(expr, i, j)
    rows, cols = expr.spaces
    row, col, leaf = rows.index(i), cols.index(j), next(expr.leaves(), None)
    computed = None if leaf is None else leaf.binding.block(expr, row, col)
    return block_by_recursions(expr, row, col) if computed is None else computed


def block_by_recursions(expr: Operator, i: int, j: int) -> Array:
    """Block (i, j) as the recursions give it: zero exactly where their arithmetic is, so that sizes tell it from
    rounding.
    """
    with np.errstate(all="ignore"):
        found = _block(expr, i, j)
    return _delivered(expr, np.array(np.broadcast_to(found, (*expr.batch, *found.shape[-2:]))), "a block of ")


def _block(expr: Operator, i: int, j: int) -> Array:
    if expr.pattern() is not None:
        return expr.blocks().block(i, j)
    rule = rules.block(expr)
    return _long_block(expr, i, j) if rule is None else rule[0](i, j)


@singledispatch
def _long_block(expr: Operator, i: int, j: int) -> Array:
    """Block (i, j) of an expression whose blocks reach along paths."""
    return _by_column(expr, i, j)


def _by_column(expr: Operator, i: int, j: int) -> Array:
    rows, cols = expr.spaces
    return columns_of(expr, unit_columns(cols, cols.block(j)))[..., rows.block(i), :]


@_long_block.register
def _(expr: Sum, i: int, j: int) -> Array:
    return reduce(np.add, [_block(t, i, j) for t in expr.terms])


@_long_block.register
def _(expr: Scaled, i: int, j: int) -> Array:
    return expr.factor * _block(expr.arg, i, j)


@_long_block.register
def _(expr: Transpose, i: int, j: int) -> Array:
    return _block(expr.arg, j, i).mT


@_long_block.register
def _(expr: Product, i: int, j: int) -> Array:
    """Sparse factors at the ends only choose which blocks of the middle are needed."""
    if len(expr.factors) > LONG:
        return _by_column(expr, i, j)
    first, *rest = expr.factors
    if first.pattern() is not None:
        tail = reduce(product, rest)
        parts = [x @ _block(tail, k, j) for (r, k), x in first.blocks().entries.items() if r == i]
        return reduce(np.add, parts, np.zeros(_shape(expr, i, j)))
    *most, last = expr.factors
    if last.pattern() is not None:
        head = reduce(product, most)
        parts = [_block(head, i, k) @ x for (k, c), x in last.blocks().entries.items() if c == j]
        return reduce(np.add, parts, np.zeros(_shape(expr, i, j)))
    return _by_column(expr, i, j)


def _shape(expr: Operator, i: int, j: int) -> tuple[int, int]:
    rows, cols = expr.spaces
    return rows.dims[i], cols.dims[j]


def columns_of(expr: Operator, x: Array) -> Array:
    """The product with columns (..., N, m): by the program of the expression where it has one."""
    leaf = next(expr.leaves(), None)
    found = None if leaf is None else leaf.binding.columns(expr, x)
    return expr.apply(x) if found is None else found


def unit_columns(space: Space, which: slice) -> Array:
    """Columns `which` of the identity of a space."""
    width = which.stop - which.start
    x = np.zeros((space.size, width))
    x[which.start + np.arange(width), np.arange(width)] = 1.0
    return x


@at_one_instant
def array(expr: Operator) -> Array:
    """The dense matrix. Sparse ones are filled in, the others are products with the identity, unless a rule knows a
    cheaper form; only an inverse of no known structure is formed densely.
    """
    (rows, cols), batch = expr.spaces, expr.batch
    _refuse_dense(expr)
    with np.errstate(all="ignore"):
        dense = _array(expr)
    return _delivered(expr, np.array(np.broadcast_to(dense, (*batch, rows.size, cols.size))))


def _refuse_dense(expr: Operator) -> None:
    (rows, cols), batch = expr.spaces, expr.batch
    cure = "Multiply the operator with vectors (A * x), or take its blocks (A[i, j]): neither forms the matrix."
    refuse_large((*batch, rows.size, cols.size), lambda: f"the dense matrix of {expr.text()}", cure)


def _delivered(expr: Operator, x: Array, what: str = "") -> Array:
    return finite_or_refused(x, lambda: f"{what}{expr.text()}")


def _array(expr: Operator) -> Array:
    rows, cols = expr.spaces
    found = rules.array(expr)
    if found is not None:
        dense = found[0]()
    elif not rules.structured(expr):
        dense = _dense(expr)
    elif expr.pattern() is not None:
        leaf = next(expr.leaves(), None)
        blocks = (None if leaf is None else leaf.binding.blocks(expr)) or expr.blocks()
        dense = np.zeros((*blocks.batch, rows.size, cols.size))
        for (i, j), x in blocks.entries.items():
            dense[..., rows.block(i), cols.block(j)] = x
    else:
        dense = columns_of(expr, np.eye(cols.size))
    return dense


@singledispatch
def _dense(expr: Operator) -> Array:
    """Dense arithmetic, for expressions that hold an inverse of no known structure."""
    raise no_rule("array", expr)


@_dense.register
def _(expr: Leaf) -> Array:
    meaning = expr.definition()
    assert meaning is not None  # a leaf with numbers of its own has structure
    return array(meaning)


@_dense.register
def _(expr: Inverse) -> Array:
    return dense_inverse(expr.arg, array(expr.arg))


@_dense.register
def _(expr: Sum) -> Array:
    return reduce(np.add, map(array, expr.terms))


@_dense.register
def _(expr: Product) -> Array:
    return reduce(np.matmul, map(array, expr.factors))


@_dense.register
def _(expr: Scaled) -> Array:
    return expr.factor * array(expr.arg)


@_dense.register
def _(expr: Power) -> Array:
    return np.linalg.matrix_power(array(expr.arg), expr.n)


@_dense.register
def _(expr: Transpose) -> Array:
    return array(expr.arg).mT


def dense_inverse(expr: Operator, X: Array) -> Array:
    """The inverse of the dense matrix X of an expression; refused where that is singular."""
    if not is_regular(X).all():
        raise SingularError(f"{expr.text()} is singular at this state, it has no inverse.")
    return inverse(X)


@at_one_instant
def trace(expr: Operator) -> Any:
    """The sum of the traces of the diagonal blocks."""
    rows, cols = expr.spaces
    if rows != cols:
        raise SpaceError(f"{expr.text()} has no trace, it maps {rows} <- {cols}.")
    with np.errstate(all="ignore"):
        return _delivered(expr, _trace(expr), "the trace of ")


def _trace(expr: Operator) -> Any:
    cols = expr.spaces[1]
    if expr.pattern() is not None:
        diagonal = expr.blocks().diagonal()
        return sum(np.trace(x, axis1=-2, axis2=-1) for x in diagonal) + np.zeros(expr.batch)
    result = np.zeros(expr.batch)
    for chunk in chunks(cols):
        y = columns_of(expr, unit_columns(cols, chunk))
        result = result + np.trace(y[..., chunk, :], axis1=-2, axis2=-1)
    return result


def chunks(space: Space, width: int = 256) -> list[slice]:
    """Columns of a space in pieces that are worked on together."""
    return [slice(i, min(i + width, space.size)) for i in range(0, space.size, width)]


@at_one_instant
def by_branch(expr: Operator) -> dict[tuple[int, int], Array]:
    """Dense blocks between the serial segments of the tree (004 Eq. 61-63)."""
    (rows, cols), batch = expr.spaces, expr.batch
    if rows.tree is None or cols.tree is None:
        raise SpaceError(f"{expr.text()} maps {rows} <- {cols}: only hinge and body spaces have branches.")
    _refuse_dense(expr)
    result = {}
    for right in cols.tree.branches:
        picked = np.concatenate([np.arange(cols.size)[cols.block(k)] for k in _in_order(cols, right.nodes)])
        x = np.zeros((cols.size, len(picked)))
        x[picked, np.arange(len(picked))] = 1.0
        with np.errstate(all="ignore"):
            y = _delivered(expr, np.broadcast_to(columns_of(expr, x), (*batch, rows.size, len(picked))), "blocks of ")
        for left in rows.tree.branches:
            where = np.concatenate([np.arange(rows.size)[rows.block(k)] for k in _in_order(rows, left.nodes)])
            result[left.index, right.index] = y[..., where, :]
    return result


def _in_order(space: Space, branch: Sequence[int]) -> Sequence[int]:
    """The nodes of a branch from its base to its tip, or as the numbering of the space has them."""
    return branch if space.numbering is None else [k for k in space.order if k in branch]


@tags.register
def _(expr: Operator) -> frozenset[str]:
    """Tags that follow from the claims of the leaves."""
    return _on_diagonal(expr)


def _on_diagonal(expr: Operator) -> frozenset[str]:
    diagonal = expr.pattern() == DIAGONAL and expr.rows == expr.cols
    return frozenset({"block_diagonal"} if diagonal else ())


@tags.register
def _(expr: Leaf) -> frozenset[str]:
    return expr.claims


@tags.register
def _(expr: Identity) -> frozenset[str]:
    return frozenset({"symmetric", "positive_definite", "block_diagonal"})


@tags.register
def _(expr: Transpose | Inverse) -> frozenset[str]:
    return _on_diagonal(expr) | ({"symmetric", "positive_definite", "block_diagonal"} & expr.arg.tags)


@tags.register
def _(expr: Scaled) -> frozenset[str]:
    positive = {"positive_definite", "positive_semidefinite"} if expr.factor > 0 else set()
    return _on_diagonal(expr) | (({"symmetric"} | positive) & expr.arg.tags)


@tags.register
def _(expr: Sum) -> frozenset[str]:
    shared = frozenset.intersection(*(t.tags for t in expr.terms)) & {"symmetric", "positive_definite"}
    return _on_diagonal(expr) | shared | expr.claims


@tags.register
def _(expr: Product) -> frozenset[str]:
    """X Y X* is symmetric where Y is, and no less than zero where Y is no less."""
    if not _palindrome(expr):
        return _on_diagonal(expr)
    definite = {"positive_definite", "positive_semidefinite"} & expr.factors[len(expr.factors) // 2].tags
    return _on_diagonal(expr) | {"symmetric"} | ({"positive_semidefinite"} if definite else set())


def _palindrome(expr: Product) -> bool:
    f, half = expr.factors, len(expr.factors) // 2
    if len(f) % 2 == 0 or "symmetric" not in f[half].tags:
        return False
    return all(a.T.key() == b.key() for a, b in zip(f[:half], reversed(f[half + 1 :]), strict=True))


questions.array.register(Operator, array)
questions.block.register(Operator, block)
questions.by_branch.register(Operator, by_branch)
questions.columns_of.register(Operator, columns_of)
questions.trace.register(Operator, trace)
