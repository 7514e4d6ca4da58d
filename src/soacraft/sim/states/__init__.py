"""State of a run as one value: its bytes, and what a run refuses of another's."""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
