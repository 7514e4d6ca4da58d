"""Scenes in three dimensions: what a model looks like, and how it moves, without a display."""

from soacraft.view.space.scenes import Scene, scene

__all__ = ["Scene", "scene"]


def __dir__() -> list[str]:
    return __all__
