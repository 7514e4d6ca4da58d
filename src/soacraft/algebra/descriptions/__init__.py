"""Text and cost of an expression, read from its structure; no number is computed.

`printing` writes it as Python and as LaTeX, `explain` lists its sweeps and the relations that chose them, `cost` counts
them.
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
