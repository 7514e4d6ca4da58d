"""Surroundings of a robot: objects and allowed pairs in, distances and free motions out."""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
