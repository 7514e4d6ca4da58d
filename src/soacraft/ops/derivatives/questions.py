"""Questions of directions and expressions that modules above answer: each registers its function.

    questions.rates.register(Direction, Rates)

So `directions`, `leaves` and `dual` need no module above them.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from soacraft.algebra.expressions.dispatch import no_rule


@singledispatch
def sensitivity(binding: Any, kind: str, path: Any, nodes: tuple[str, ...] = ()) -> Any:
    """A leaf of the first direction of the path, differentiated along the others: `leaves.make`."""
    raise no_rule("diff", binding)


@singledispatch
def rates(direction: Any, whole: Any) -> Any:
    """The derivatives of the named operators along a direction: `rates.Rates`."""
    raise no_rule("diff", direction)


@singledispatch
def change_along(direction: Any) -> Any:
    """Function that differentiates expressions along a direction, the turning of the axes left out: `diff.Derivation`.
    """
    raise no_rule("diff", direction)


@singledispatch
def differentiated(expr: Any, step: Any, turning: bool = True) -> Any:
    """The derivative of an expression along a direction of its operators: `diff.differentiated`."""
    raise no_rule("diff", expr)
