"""Arguments of scenes, read and refused: files, sizes of pictures, angles."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from soacraft.arguments import read_path
from soacraft.errors import ViewError
from soacraft.spatial.checks import finite

_LARGEST = 8192
#: The rasteriser takes about a hundred bytes for each.
_MOST_PIXELS = 16_000_000


#: Quantities that flexible bodies are coloured by.
COLOURS = ("deflection", "stress", "body")
#: Methods of a scene that write each kind of file.
_WRITERS = {".png": "image", ".gif": "video", ".mp4": "video", ".html": "save", ".htm": "save"}


def ending(path: str | PathLike[str], ends: tuple[str, ...], what: str) -> Path:
    """A path with one of these suffixes."""
    place = read_path(path, what, ViewError)
    end = place.suffix.lower()
    if end not in ends:
        cure = f" scene.{_WRITERS[end]}({place.name!r}) writes such a file." if end in _WRITERS else ""
        raise ViewError(f"{what} is written to a file that ends in {' or '.join(ends)}, got {place.name!r}.{cure}")
    return place


def positive(x: float, name: str) -> float:
    """A finite number above zero."""
    value = float(finite(x, (), name))
    if not value > 0.0:
        raise ViewError(f"{name} must be positive, got {value:g}.")
    return value


def read_size(size: tuple[int, int]) -> tuple[int, int]:
    """Width and height in pixels."""
    values = finite(size, (2,), "size, (width, height) in pixels")
    width, height = (int(x) for x in values)
    if min(width, height) < 1 or max(width, height) > _LARGEST or (values != [width, height]).any():
        raise ViewError(f"size is (width, height) in whole pixels, from 1 to {_LARGEST}; got {tuple(values.tolist())}.")
    if width * height > _MOST_PIXELS:
        raise ViewError(
            f"size {width} x {height} is {width * height} pixels, and {_MOST_PIXELS} are the most; make it smaller."
        )
    return width, height


def read_look(colour: str, caption: str) -> tuple[str, str]:
    """Read the colouring of flexible bodies, and the caption of the picture."""
    if colour not in COLOURS:
        raise ViewError(f"colour={colour!r:.40} is unknown; give {' or '.join(map(repr, COLOURS))}.")
    if not isinstance(caption, str):
        raise ViewError(f"caption= is a text for the picture, got {type(caption).__name__}.")
    return colour, caption


def angles(azimuth: float, elevation: float) -> tuple[float, float]:
    """Two finite numbers of degrees."""
    return float(finite(azimuth, (), "azimuth")), float(finite(elevation, (), "elevation"))
