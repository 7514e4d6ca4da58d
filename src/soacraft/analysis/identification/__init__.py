"""Parameters fitted to records of motion and force.

In: a model, or a solver of a closed chain, and records of q, v, vdot and force. Out: inertias that a body can have,
which combinations of them the records show, and how well. `records` reads and condenses them, `fit` is the convex
problem, `identify` what users call.
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
