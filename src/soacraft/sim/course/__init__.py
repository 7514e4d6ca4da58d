"""The course of a run: its state as one value, the loop that carries it on, and what happens where steps end."""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
