"""Shapes of a flat picture: boxes, discs, lines and words. Lengths in points, y downwards, colours `#rrggbb`."""

from __future__ import annotations

from dataclasses import dataclass

Point = tuple[float, float]

INK, QUIET, PAPER = "#1f2933", "#7b8794", "#ffffff"


@dataclass(frozen=True)
class Box:
    """A rectangle; `title` is what a browser shows when the mouse is over it."""

    x: float
    y: float
    width: float
    height: float
    fill: str = PAPER
    stroke: str = ""
    radius: float = 0.0
    title: str = ""


@dataclass(frozen=True)
class Disc:
    """A filled circle."""

    x: float
    y: float
    radius: float
    fill: str = PAPER
    stroke: str = ""
    title: str = ""


@dataclass(frozen=True)
class Line:
    """Straight pieces from point to point; dashes are (ink, gap)."""

    points: tuple[Point, ...]
    stroke: str = INK
    width: float = 1.0
    dash: tuple[float, float] | None = None
    title: str = ""


@dataclass(frozen=True)
class Words:
    """A line of text, `anchor` start, middle or end, centred on its height; `turn` in degrees, anticlockwise."""

    x: float
    y: float
    text: str
    size: float = 10.0
    fill: str = INK
    anchor: str = "start"
    turn: float = 0.0


Mark = Box | Disc | Line | Words

#: The width of a character relative to the size of the letters, on the safe side for a sans-serif face.
CHARACTER = 0.6


def width_of(text: str, size: float = 10.0) -> float:
    """Upper estimate of the width of a text.

    >>> width_of("arm", 10.0)
    18.0
    """
    return CHARACTER * size * len(text)


def shortened(text: str, most: int = 24) -> str:
    """A name on one line, the middle of a long one left out.

    >>> shortened("a_very_long_name_of_a_body", 11)
    'a_ver…_body'
    """
    line = "".join(x if x.isprintable() else "\N{REPLACEMENT CHARACTER}" for x in text)
    keep = most - 1
    return line if len(line) <= most else f"{line[: (keep + 1) // 2]}…{line[len(line) - keep // 2 :]}"
