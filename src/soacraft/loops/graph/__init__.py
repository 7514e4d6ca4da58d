"""Graphs of bodies and joints: which joints to cut (`cut`), the model of both (`building`), another hinge of a loop as
its closure (`recutting`).
"""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
