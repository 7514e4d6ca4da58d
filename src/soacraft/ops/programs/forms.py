"""Forms of expressions: what is written, whatever it is bound to. One program serves all of one form."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from soacraft.algebra.expressions.nodes import Identity, Power, Scaled
from soacraft.algebra.expressions.once import once
from soacraft.algebra.expressions.operator import Leaf, Operator
from soacraft.ops.derived import LyapunovLeaf
from soacraft.ops.leaves import DefinedLeaf, DerivedLeaf


@once
def form(expr: Operator) -> Any:
    """Form of an expression, independent of its binding: equal for expressions that one program serves."""
    return _form(expr)


@singledispatch
def _form(expr: Operator) -> Any:
    return (type(expr).__name__, *map(form, expr.parts()))


@_form.register
def _(expr: Leaf) -> Any:
    """A class of the user's own may have the name of another."""
    return (type(expr), _without(expr.key(), expr.binding.identity()))


@_form.register
def _(expr: DefinedLeaf) -> Any:
    return form(expr.meaning)


@_form.register
def _(expr: DerivedLeaf) -> Any:
    """Form by the key and the arguments: a key names its arguments, and names may have had other meanings; a key of the
    user's own may say more.
    """
    args = map(form, expr.args)
    if type(expr).key in (DerivedLeaf.key, LyapunovLeaf.key):
        return (type(expr), *args)
    return (type(expr), _without(expr.key(), expr.binding.identity()), *args)


@_form.register
def _(expr: Scaled) -> Any:
    return ("scaled", expr.factor, form(expr.arg))


@_form.register
def _(expr: Power) -> Any:
    return ("power", expr.n, form(expr.arg))


@_form.register
def _(expr: Identity) -> Any:
    space = expr.spaces[0]
    return ("I", space.kind, space.dims if space.kind == "node" else None)


def _without(key: Any, identity: Any) -> Any:
    if isinstance(key, tuple):
        return None if key == identity else tuple(_without(x, identity) for x in key)
    return None if key is identity or (type(key) is type(identity) and key == identity) else key
