"""`Picture`: a flat picture that a notebook shows, and that is saved as SVG, HTML, PNG or PDF."""

from __future__ import annotations

from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any

from soacraft.arguments import read_path
from soacraft.attributes import Strict
from soacraft.errors import ViewError
from soacraft.view.drawing.by_matplotlib import figure
from soacraft.view.drawing.marks import Mark
from soacraft.view.drawing.output import write_output
from soacraft.view.drawing.pixels import Pixels, pixels
from soacraft.view.drawing.png import png
from soacraft.view.drawing.svg import svg, text_of

_KINDS = ".svg, .html, .png or .pdf"


class Picture(Strict):
    """A flat picture: `marks` on a sheet of `width` by `height` points, and a `title` for those who cannot see it.

    >>> import soacraft as sc
    >>> picture = sc.view.draw(sc.load("double_pendulum"))
    >>> picture.svg()[:4], picture.pixels().shape[2]
    ('<svg', 3)
    """

    _set_once = frozenset("marks width height title".split())

    def __init__(self, marks: list[Mark], width: float, height: float, title: str = "") -> None:
        self.marks, self.width, self.height, self.title = tuple(marks), width, height, title

    def __repr__(self) -> str:
        return f"Picture {self.title!r}: {len(self.marks)} marks, {self.width:.0f} x {self.height:.0f} points"

    def svg(self) -> str:
        """The picture as SVG; needs nothing but Python."""
        return svg(self.marks, self.width, self.height, self.title)

    def html(self) -> str:
        """Picture as a separate page."""
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{text_of(self.title)}</title></head>'
            f"<body>{self.svg()}</body></html>"
        )

    def pixels(self, scale: float = 1.0) -> Pixels:
        """The picture as an array (rows, columns, 3) of bytes, `scale` pixels for a point; needs Pillow."""
        return pixels(self.marks, self.width, self.height, scale)

    def figure(self) -> Any:
        """The picture as a `matplotlib.figure.Figure`, whose axes count in points, y downwards."""
        return figure(self.marks, self.width, self.height)

    def save(self, path: str | PathLike[str], scale: float = 2.0) -> Path:
        """Write a file by the end of its name: .svg, .html, .png (`scale` pixels for a point) or .pdf."""
        place = read_path(path, "save of a picture", ViewError)
        kind = place.suffix.lower()
        if kind in (".svg", ".html"):
            write_output(place, self.svg() if kind == ".svg" else self.html())
        elif kind == ".png":
            write_output(place, png(self.pixels(scale)))
        elif kind == ".pdf":
            page = BytesIO()
            self.figure().savefig(page, format="pdf")
            write_output(place, page.getvalue())
        else:
            raise ViewError(f"a picture is saved as {_KINDS}, by the end of the name; got {place.name!r}.")
        return place

    def _repr_svg_(self) -> str:
        return self.svg()
