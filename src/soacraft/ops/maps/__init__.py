"""Maps between SKO models of one system: in, two bindings; out, the operators that carry motions from one to the other.

`between.py` finds the way, `leaves.py` has the operators, `graphs.py` the numbers for trees (axes, sub-graphs, models
with another base, rotors), `known.py` their relations for `prove`. Compound bodies bring their own numbers
(`loops/embedding/tree_map.py`).
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
