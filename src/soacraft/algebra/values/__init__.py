"""Numbers of an expression: its blocks, dense matrix, trace, norms and determinant, and what can be said of it.

`evaluate` and `submatrix` give the numbers, `measure` how far they are from zero whatever the units, `support` which
blocks can be non-zero at all, `properties` whether it is triangular, invertible, definite, and why.
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
