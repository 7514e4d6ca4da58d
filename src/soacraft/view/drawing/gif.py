"""GIFs of pictures, by Pillow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from soacraft.errors import ViewError
from soacraft.view.drawing.extras import extra
from soacraft.view.drawing.output import write_output
from soacraft.view.drawing.pixels import Pixels

#: Pictures a second: browsers take two hundredths of a second at least, and a pause is a number of 16 bits.
FASTEST, SLOWEST = 50.0, 100.0 / 65535.0


def gif_rate(rate: float) -> float:
    """The nearest rate that a GIF has: its clock counts hundredths of a second, and browsers take two at least.

    >>> gif_rate(30.0)
    33.333333333333336
    """
    if rate > FASTEST:
        raise ViewError(f"a GIF shows at most 50 pictures a second, got rate = {rate:g}; write an .mp4.")
    if not rate >= SLOWEST:
        raise ViewError(f"a GIF shows a picture for at most 655.35 s, got rate = {rate:g}; take {SLOWEST:.2g} or more.")
    return 100.0 / round(100.0 / rate)


def write_gif(place: Path, pictures: Iterable[Pixels], rate: float) -> Path:
    """A GIF that starts again at its end."""
    pause = round(100.0 / gif_rate(rate))
    image_of = extra("PIL.Image", "a GIF")
    images = [image_of.fromarray(each) for each in pictures]
    palette = _palette(image_of, images)
    plain = [x.quantize(palette=palette, dither=image_of.Dither.NONE) for x in images]
    file, pauses = BytesIO(), {"duration": 10 * pause, "loop": 0}
    plain[0].save(file, format="GIF", save_all=True, append_images=plain[1:], optimize=True, **pauses)
    return write_output(place, file.getvalue())


def _palette(image_of: Any, images: Sequence[Any]) -> Any:
    """One palette for all pictures, so that colours do not flicker: from sixteen of them, evenly spread. The corner,
    which is paper, keeps its colour."""
    some = [images[i] for i in sorted({round(x * (len(images) - 1) / 15) for x in range(16)})]
    width, height = some[0].size
    sheet = image_of.new("RGB", (width, height * len(some)))
    for n, each in enumerate(some):
        sheet.paste(each, (0, n * height))
    palette = sheet.quantize(128, image_of.Quantize.MAXCOVERAGE)
    colours, paper = palette.getpalette(), 3 * palette.getpixel((0, 0))
    palette.putpalette([*colours[:paper], *sheet.getpixel((0, 0)), *colours[paper + 3 :]])
    return palette
