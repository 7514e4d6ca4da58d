"""Parameters of a model by name: their values, derivatives along them, and the best values of them.

In: a model and names such as "link3.mass" or "link3.inboard". Out: numbers, derivatives, optima. `vocabulary` has the
names, `tangent` is the one sweep that carries a change of parameters through the motion and the forces, `quantities`
and `derivatives` use it, `optimize` the search over `charts`, whose numbers are `physical`.
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
