"""Constraint embedding: loops as compound bodies of an SKO model (003 section III-A; 004 section 8).

In: a graph and which dofs are independent. Out: blocks of compound bodies (`groups`, `split`, `model`), their operators
(`binding`, `rates`, `sensitivity`), the solver (`solver`, `solve`, `hybrid`, `continuation`, `branches`); `aggregate`
and `geared` are compound bodies without loops.
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
