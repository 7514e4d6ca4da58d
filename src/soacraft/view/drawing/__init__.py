"""Flat pictures: a list of shapes, drawn as SVG by ourselves, by matplotlib, or in pixels by Pillow."""

from soacraft.view.drawing.picture import Picture

__all__ = ["Picture"]


def __dir__() -> list[str]:
    return __all__
