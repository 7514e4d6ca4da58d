"""Functions of expressions are dispatched on the kinds of expression from outside: text, LaTeX, sweeps, cost, sizes.

    @steps.register
    def _(expr: Scaled, transposed: bool, why: str) -> list[Step]: ...

So a kind holds what every product needs (`apply`, `pattern`, `blocks`), a file holds one question with the answers of
all kinds, and a kind of your own answers by registering. A product with a vector passes none of these.
"""

from __future__ import annotations

from soacraft.errors import SpaceError


def no_rule(function: str, expr: object) -> SpaceError:
    """Error for a kind of expression that has no rule registered with a function."""
    kind = type(expr).__name__
    return SpaceError(
        f"{function} knows no expression of kind {kind}: register a function of {kind} with it, as "
        f"soacraft.algebra.descriptions.printing does for the kinds of the algebra."
    )
