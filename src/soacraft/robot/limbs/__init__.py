"""Limbs: a base and tips in, coordinates at which the tips are where they should be out."""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
