"""Expressions moved to other models: which of them have a meaning there."""

from __future__ import annotations

from functools import singledispatch

from soacraft.algebra.expressions.operator import Leaf, Operator
from soacraft.ops.binding import Bound
from soacraft.ops.leaves import DefinedLeaf, DerivedLeaf, PropagatorLeaf, SparseLeaf
from soacraft.ops.namespace import operators_of


@singledispatch
def portable(expr: Operator) -> bool:
    """True if every leaf has a meaning on any SKO model: False for those that pick off nodes, and for derivatives."""
    return all(map(portable, expr.parts()))


@portable.register
def _(expr: Leaf) -> bool:
    return False


@portable.register
def _(expr: SparseLeaf | PropagatorLeaf) -> bool:
    return True


@portable.register
def _(expr: DefinedLeaf) -> bool:
    return portable(expr.meaning)


@portable.register
def _(expr: DerivedLeaf) -> bool:
    return all(map(portable, expr.args))


def rebound(expr: Operator, binding: Bound) -> Operator:
    """Expression with the numbers of another binding; an expression made of identities keeps its kind of space."""
    found = expr.with_leaves(lambda leaf: _bound(leaf, binding))
    if found.rows is None and expr.rows is not None and expr.rows.kind in ("hinge", "body"):
        return found.with_space(binding.hinge if expr.rows.kind == "hinge" else binding.body)
    return found


def _bound(leaf: Leaf, binding: Bound) -> Leaf:
    """A leaf of another binding; an operator of the table is the one that is there, with what it has computed."""
    if type(leaf) not in (SparseLeaf, PropagatorLeaf):
        return leaf.bound_to(binding)
    found: Leaf = getattr(operators_of(binding), leaf.name)
    return found
