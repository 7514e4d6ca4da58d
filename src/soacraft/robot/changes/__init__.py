"""Robots that agree: what changed in one of them since a version, as plain data, and the same done to another."""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
