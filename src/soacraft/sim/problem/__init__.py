"""A run as a problem: its frozen description, and what takes the place of parts that are absent."""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
