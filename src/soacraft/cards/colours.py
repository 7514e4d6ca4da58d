"""Colours of the serial segments of a tree, for cards and pictures, and how colours mix."""

from __future__ import annotations

#: Colours that eyes can distinguish that see red and green alike (after P. Tol's "bright" and "muted" sets).
_SEGMENTS = (
    "#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#44aa99", "#ee8866", "#7766cc", "#999933",
)  # fmt: skip
GREY = "#9aa5b1"


def segment_colour(index: int) -> str:
    """The colour of a serial segment (004 section 7); after ten of them lighter and darker ones of the same.

    >>> segment_colour(0), segment_colour(10) != segment_colour(0)
    ('#4477aa', True)
    """
    base, turn = _SEGMENTS[index % len(_SEGMENTS)], index // len(_SEGMENTS)
    return mixed(base, "#ffffff" if turn % 2 else "#000000", 0.7 * (1.0 - 0.5 ** ((turn + 1) // 2)))


def rgb(colour: str) -> tuple[float, float, float]:
    """Red, green and blue, 0 to 1.

    >>> rgb("#ff0000")
    (1.0, 0.0, 0.0)
    """
    red, green, blue = (int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5))
    return red, green, blue


def hex_of(red: float, green: float, blue: float) -> str:
    """The colour as `#rrggbb`."""
    return "#" + "".join(f"{round(255 * min(1.0, max(0.0, x))):02x}" for x in (red, green, blue))


def mixed(a: str, b: str, part: float) -> str:
    """A colour between two, `part` of it the second.

    >>> mixed("#000000", "#ffffff", 0.5)
    '#808080'
    """
    return hex_of(*((1.0 - part) * x + part * y for x, y in zip(rgb(a), rgb(b), strict=True)))
