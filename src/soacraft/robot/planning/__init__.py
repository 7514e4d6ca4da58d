"""Planning: a world, a start and a goal in, configurations joined by free motions out."""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
