"""Derivatives of operator expressions, as operators.

In: an expression, and a dof or the velocity to differentiate along. Out: an expression of the same spaces, made of the
operators of the papers and the leaves X, W and dH, and applied in one pass. `deltas` has the product rule, `gauges` and
`diff` the turning of the axes, `directions` what one differentiates along, `rates` the derivatives of the named
operators, `leaves` the blocks X, W and dH, `dual` the pass that carries a vector and its rate, `rules` the relations
between those leaves.
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
