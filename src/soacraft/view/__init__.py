"""Pictures of models and operators. Nothing below imports it."""

from soacraft.view.structure import structure

__all__ = ["structure"]


def __dir__() -> list[str]:
    return __all__
