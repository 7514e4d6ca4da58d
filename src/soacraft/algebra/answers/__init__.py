"""Answers of expressions to questions that are not numbers: explanations, costs, properties, block rows.

In: what `values` and `descriptions` found out. Out: objects that print as tables and cards. They are below expressions,
whose methods give them; the functions that make them are above.
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
