"""Base of objects that hold an operator under other names, as the classes printed in the PyCraft paper do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from soacraft.algebra.expressions.operator import Operator


class Held:
    """An object with an operator inside that says by itself how it meets operators and vectors: operators leave
    `X + held`, `X * held` to it.
    """

    __array_ufunc__ = None
    operator: Operator


def released(x: Any) -> Any:
    """The operator that an object holds; anything else as it is."""
    return x.operator if isinstance(x, Held) else x
