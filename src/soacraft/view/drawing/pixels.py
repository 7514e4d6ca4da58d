"""Marks in pixels, by Pillow: drawn at twice the size and made smaller, so that edges are smooth."""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.view.drawing.extras import extra
from soacraft.view.drawing.marks import PAPER, Box, Disc, Line, Mark, Words

Pixels = npt.NDArray[np.uint8]

_FINER = 2


def pixels(marks: Iterable[Mark], width: float, height: float, scale: float = 1.0) -> Pixels:
    """The picture as an array (rows, columns, 3); `scale` is pixels for a point.

    >>> pixels([Box(0, 0, 4, 4, "#ff0000")], 4, 2).tolist()[0][0]
    [255, 0, 0]
    """
    image_of, draw_of = extra("PIL.Image", "a picture in pixels"), extra("PIL.ImageDraw", "a picture in pixels")
    columns, rows = max(1, round(width * scale)), max(1, round(height * scale))
    image = image_of.new("RGB", (_FINER * columns, _FINER * rows), PAPER)
    draw = draw_of.Draw(image)
    for mark in marks:
        paint(mark, draw, scale * _FINER)
    return np.asarray(image.resize((columns, rows), image_of.Resampling.BOX), dtype=np.uint8)


@singledispatch
def paint(mark: Mark, draw: Any, s: float) -> None:
    """Draw one mark, s pixels for a point."""
    raise AssertionError(f"no pixels for {type(mark).__name__}")


@paint.register
def _(mark: Box, draw: Any, s: float) -> None:
    corners = [s * mark.x, s * mark.y, s * (mark.x + mark.width) - 1, s * (mark.y + mark.height) - 1]
    if corners[2] < corners[0] or corners[3] < corners[1]:
        return
    outline, line = mark.stroke or None, max(1, round(s))
    if mark.radius:
        draw.rounded_rectangle(corners, s * mark.radius, fill=mark.fill, outline=outline, width=line)
    else:
        draw.rectangle(corners, fill=mark.fill, outline=outline, width=line)


@paint.register
def _(mark: Disc, draw: Any, s: float) -> None:
    low, high = (s * (mark.x - mark.radius), s * (mark.y - mark.radius)), (
        s * (mark.x + mark.radius), s * (mark.y + mark.radius),
    )  # fmt: skip
    draw.ellipse([low, high], fill=mark.fill, outline=mark.stroke or None, width=max(1, round(s)))


@paint.register
def _(mark: Line, draw: Any, s: float) -> None:
    width = max(1, round(s * mark.width))
    for piece in dashed(mark):
        draw.line([(s * x, s * y) for x, y in piece], fill=mark.stroke, width=width, joint="curve")


@paint.register
def _(mark: Words, draw: Any, s: float) -> None:
    font = extra("PIL.ImageFont", "a picture in pixels").load_default(s * mark.size)
    side = {"start": "l", "middle": "m", "end": "r"}[mark.anchor]
    if not mark.turn:
        draw.text((s * mark.x, s * mark.y), mark.text, fill=mark.fill, font=font, anchor=f"{side}m")
        return
    image_of, draw_of = extra("PIL.Image", "a picture in pixels"), extra("PIL.ImageDraw", "a picture in pixels")
    reach = int(font.getlength(mark.text)) + round(2 * s * mark.size)
    patch = image_of.new("L", (2 * reach, 2 * reach))
    draw_of.Draw(patch).text((reach, reach), mark.text, fill=255, font=font, anchor=f"{side}m")
    turned = patch.rotate(mark.turn, image_of.Resampling.BICUBIC)
    draw._image.paste(mark.fill, (round(s * mark.x) - reach, round(s * mark.y) - reach), turned)


def dashed(mark: Line) -> list[list[tuple[float, float]]]:
    """The pieces of a line that have ink."""
    points = [np.array(p, dtype=np.float64) for p in mark.points]
    if mark.dash is None:
        return [[(float(x), float(y)) for x, y in points]]
    pieces, (ink, gap), at = [], mark.dash, 0.0
    for a, b in pairwise(points):
        length = float(np.linalg.norm(b - a))
        start = 0.0
        while start < length:
            phase = at % (ink + gap)
            step = min((ink if phase < ink else ink + gap) - phase, length - start)
            step = max(step, 1e-6 * (ink + gap))
            if phase < ink:
                ends = (a + (b - a) * (start / length), a + (b - a) * (min(start + step, length) / length))
                pieces.append([(float(x), float(y)) for x, y in ends])
            start, at = start + step, at + step
    return pieces
