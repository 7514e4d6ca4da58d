"""Models as parts of a system: motions out, forces in."""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
