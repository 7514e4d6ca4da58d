"""Marks as a matplotlib figure, to be put among others or saved as PDF."""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch
from typing import Any

from soacraft.view.drawing.extras import extra
from soacraft.view.drawing.marks import Box, Disc, Line, Mark, Words

_POINTS = 72.0  # to an inch


def figure(marks: Iterable[Mark], width: float, height: float) -> Any:
    """A `matplotlib.figure.Figure` of the size of the picture; it belongs to no window and no global state."""
    drawing = extra("matplotlib.figure", "a matplotlib figure").Figure(figsize=(width / _POINTS, height / _POINTS))
    axes = drawing.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_xlim(0.0, width)
    axes.set_ylim(height, 0.0)
    axes.set_axis_off()
    for order, mark in enumerate(marks):
        add(mark, axes, order)
    return drawing


@singledispatch
def add(mark: Mark, axes: Any, order: int) -> None:
    """Add one mark to axes, above those of a smaller order."""
    raise AssertionError(f"no artist for {type(mark).__name__}")


@add.register
def _(mark: Box, axes: Any, order: int) -> None:
    patches = extra("matplotlib.patches", "a matplotlib figure")
    style = f"round,pad=0,rounding_size={mark.radius}" if mark.radius else "square,pad=0"
    corner, line = (mark.x, mark.y), 1.0 if mark.stroke else 0.0
    colours = {"facecolor": mark.fill, "edgecolor": mark.stroke or "none"}
    axes.add_patch(
        patches.FancyBboxPatch(corner, mark.width, mark.height, style, linewidth=line, zorder=order, **colours)
    )


@add.register
def _(mark: Disc, axes: Any, order: int) -> None:
    patches = extra("matplotlib.patches", "a matplotlib figure")
    edge = mark.stroke or "none"
    axes.add_patch(
        patches.Circle((mark.x, mark.y), mark.radius, facecolor=mark.fill, edgecolor=edge, linewidth=1.0, zorder=order)
    )


@add.register
def _(mark: Line, axes: Any, order: int) -> None:
    xs, ys = zip(*mark.points, strict=True)
    dash = "solid" if mark.dash is None else (0.0, tuple(x / mark.width for x in mark.dash))
    axes.plot(xs, ys, color=mark.stroke, linewidth=mark.width, linestyle=dash, zorder=order)


@add.register
def _(mark: Words, axes: Any, order: int) -> None:
    side = {"start": "left", "middle": "center", "end": "right"}[mark.anchor]
    axes.text(mark.x, mark.y, mark.text, fontsize=mark.size, color=mark.fill, ha=side, va="center_baseline",
              rotation=mark.turn, rotation_mode="anchor", zorder=order, parse_math=False)  # fmt: skip
