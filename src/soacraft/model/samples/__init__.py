"""Models to try things on: chains and random trees."""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
