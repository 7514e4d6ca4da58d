"""Expressions as compiled programs; they reach the core through `model/flat/plans.py`.

In: an expression, bound to a model. Out: its products, blocks and batches, or None where the recursions in Python
should compute them. `steps` turns an expression into steps between registers, `fields` into the fields these need,
`derivatives` does both for derivatives, `registers` uses registers again, `forms` tells which expressions one program
serves, `roads` keeps the plan of a model with its programs and runs them on the numbers of a state, `compile` is
`expr.compile()`.
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
