"""Expressions as noncommutative polynomials, whose letters are the texts of operators.

`polynomial` is their arithmetic, `completion` makes of relations a set of rules that decides equality, `factoring`
writes polynomials with brackets.
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
