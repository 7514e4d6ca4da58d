"""Integrators: written against a product of manifolds and a `Problem`, never against a model."""

__all__: list[str] = []


def __dir__() -> list[str]:
    return __all__
