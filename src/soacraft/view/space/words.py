"""Words on a picture of a scene: what its colours say, and how much larger than it is a deformation is drawn."""

from __future__ import annotations

import numpy as np

from soacraft.view.drawing.marks import Box, Mark, Words, width_of
from soacraft.view.drawing.pixels import Pixels, pixels
from soacraft.view.palette import hex_of
from soacraft.view.space.bending import tinted
from soacraft.view.space.content import Colouring

#: The height of letters relative to that of the picture, and in pixels at least and at most.
LETTERS, SMALLEST, LARGEST = 0.03, 8.0, 22.0
#: Units of the quantities that colours show.
UNITS = {"deflection": "m", "stress": "Pa"}
#: The bar of colours, in heights of letters; and its parts.
BAR, PARTS = 9.0, 48


def legend(look: Colouring) -> str:
    """Meaning of the colours in words; "" where there is none."""
    if not look.most > 0.0:
        return ""
    return f"{look.kind}, relative" if look.relative else f"{look.kind} {look.most:.3g} {UNITS[look.kind]}"


def written(picture: Pixels, look: Colouring) -> Pixels:
    """The picture with its words in the lower left corner, by Pillow; without any it is as it was."""
    said = legend(look)
    if not look.words and not said:
        return picture
    height, width = picture.shape[:2]
    size = min(max(LETTERS * height, SMALLEST), LARGEST)
    left, y = 0.6 * size, height - size
    marks: list[Mark] = []
    if said:
        start, step = left + width_of("0 ", size), BAR * size / PARTS
        colours = tinted(np.linspace(0.0, 1.0, PARTS), 1.0)
        bar = [Box(start + k * step, y - 0.4 * size, step + 1.0, 0.8 * size, hex_of(*x)) for k, x in enumerate(colours)]
        marks += [Words(left, y, "0", size), *bar, Words(start + (BAR + 0.6) * size, y, said, size)]
        y -= 1.4 * size
    for line in reversed(look.words):
        marks.append(Words(left, y, line, size))
        y -= 1.4 * size
    ink = pixels(marks, width, height)
    return np.where((ink < 255).any(axis=2, keepdims=True), ink, picture)
