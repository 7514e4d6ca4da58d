"""Motions: configurations in, a curve and the times along it out, with its limits checked."""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
