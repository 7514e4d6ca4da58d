"""The flat form of a model, which algorithms and compiled code run on, and its SKO model.

`layout` is the constant part, `realize` the numbers at a state, `sko` the model of blocks A, H, M, a, b; `compiled` and
`plans` hand both to the core.
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
