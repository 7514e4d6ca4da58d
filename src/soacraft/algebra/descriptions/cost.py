"""Cost of an expression, counted in products of blocks, as a function of the tree. No number is computed."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any, NamedTuple

from soacraft.algebra.answers.cost import DEPTH, NOTHING, Cost, Count, N
from soacraft.algebra.descriptions import explain
from soacraft.algebra.expressions import questions
from soacraft.algebra.expressions.dispatch import no_rule
from soacraft.algebra.expressions.nodes import Identity, Inverse, Power, Product, Scaled, Sum, Transpose
from soacraft.algebra.expressions.operator import DIAGONAL, Leaf, Operator
from soacraft.algebra.spaces.space import Space
from soacraft.algebra.spaces.tree import Tree


def cost(expr: Operator) -> Cost:
    """The cost of an expression on the tree it is bound to."""
    if expr.rows is None:
        return Cost(NOTHING, NOTHING, NOTHING, {})
    product = in_product(expr)
    return Cost(product, _in_block(expr, product), _in_array(expr, product), _tree_sizes(expr))


def _tree_sizes(expr: Operator) -> dict[str, int]:
    tree = next((t for leaf in expr.leaves() for t in _trees(leaf)), None) or next(iter(_trees(expr)), None)
    if tree is None:
        return {}
    return {"n": tree.n, "depth": max(tree.depth, default=0), "branches": len(tree.branches)}


def _trees(expr: Operator) -> list[Tree]:
    return [space.tree for space in expr.spaces if space.tree is not None]


def in_product(expr: Operator) -> Count:
    """Block products of a product with a vector."""
    count: Count | int = counted(expr, Weights(_leaf_count, N, N * N * N))
    return NOTHING + count


def multiplications(expr: Operator) -> int:
    """Multiplications of numbers in a product with a vector: what decides between equal numbers of blocks."""
    size = expr.rows.size if expr.rows is not None else 0
    count: int = counted(expr, Weights(_leaf_multiplications, size, size**3))
    return count


class Weights(NamedTuple):
    """Weights of a count: of a leaf, of a block-diagonal inverse, of a dense one."""

    leaf: Callable[[Leaf], Any]
    diagonal: Any
    dense: Any


@singledispatch
def counted(x: Operator, weights: Weights) -> Any:
    """The sum over what a product with a vector runs; nothing is 0."""
    raise no_rule("cost", x)


@counted.register
def _(x: Identity, weights: Weights) -> Any:
    return 0


@counted.register
def _(x: Leaf, weights: Weights) -> Any:
    meaning = x.definition()
    return weights.leaf(x) if meaning is None else counted(meaning, weights)


@counted.register
def _(x: Inverse, weights: Weights) -> Any:
    if x.arg.pattern() == DIAGONAL:
        return weights.diagonal
    known = x.known()
    return weights.dense if known is None else counted(known[0], weights)


@counted.register
def _(x: Power, weights: Weights) -> Any:
    return x.n * counted(x.arg, weights)


@counted.register
def _(x: Sum | Product | Scaled | Transpose, weights: Weights) -> Any:
    return sum(counted(part, weights) for part in x.parts())


def _leaf_count(leaf: Leaf) -> Count:
    if leaf.dense:
        return NOTHING + _blocks_of(leaf.spaces[0]) * _blocks_of(leaf.spaces[1])
    if any(space.tree is None for space in leaf.spaces):
        return NOTHING + max(len(space) for space in leaf.spaces if space.tree is None)
    once = NOTHING if leaf.columns is None else in_product(leaf.columns) * N
    return once + leaf.sweeps_in_product * N


def _blocks_of(space: Space) -> Count | int:
    return N if space.tree is not None else len(space)


def _leaf_multiplications(leaf: Leaf) -> int:
    rows, cols = leaf.spaces
    if leaf.dense:
        return rows.size * cols.size
    if rows.tree is None or cols.tree is None:
        return _largest(rows, cols)
    if leaf.pattern() == DIAGONAL:
        return sum(r * c for r, c in zip(rows.dims, cols.dims, strict=True))
    parents = cols.tree.parents
    return leaf.sweeps_in_product * sum(rows.dims[p] * c for p, c in zip(parents, cols.dims, strict=True) if p >= 0)


def _largest(rows: Space, cols: Space) -> int:
    few = min((rows, cols), key=len)
    return sum(few.dims) * max((*rows.dims, *cols.dims), default=0)


def _in_block(expr: Operator, product: Count) -> Count:
    kind = explain.block_step(expr).kind
    if kind == "path":
        return DEPTH
    return NOTHING + 1 if kind == "look-up" else product


def _in_array(expr: Operator, product: Count) -> Count:
    kind = explain.array_step(expr).kind
    if kind == "recursion":
        return N * DEPTH
    if kind == "dense":
        return N * N * N
    return product if kind in ("fill in", "columns") else product * N


questions.cost.register(Operator, cost)
