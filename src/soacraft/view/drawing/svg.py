"""Marks as SVG: every word escaped, nothing loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch
from html import escape

from soacraft.view.drawing.marks import Box, Disc, Line, Mark, Words

FONT = "system-ui, 'Segoe UI', Helvetica, Arial, sans-serif"


def svg(marks: Iterable[Mark], width: float, height: float, title: str = "") -> str:
    """A whole SVG document.

    >>> svg([Box(0, 0, 2, 1, "#ff0000", title="a < b")], 2, 1).count("a &lt; b")
    1
    """
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(width)}" height="{_n(height)}" '
        f'viewBox="0 0 {_n(width)} {_n(height)}" role="img" font-family="{FONT}">'
    )
    said = f"<title>{text_of(title)}</title>" if title else ""
    return "\n".join([head + said, *map(element, marks), "</svg>"])


def text_of(text: str) -> str:
    """Text that may be in XML: escaped, without the characters that XML has not.

    >>> text_of("<b>\\x00")
    '&lt;b&gt;\N{REPLACEMENT CHARACTER}'
    """
    return escape("".join(x if _allowed(x) else "\N{REPLACEMENT CHARACTER}" for x in text))


def _allowed(x: str) -> bool:
    code = ord(x)
    return x in "\t\n\r" or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or code >= 0x10000


def _n(x: float) -> str:
    return f"{x:.2f}".rstrip("0").rstrip(".")


def _style(fill: str, stroke: str) -> str:
    return f'fill="{escape(fill)}"' + (f' stroke="{escape(stroke)}"' if stroke else "")


def _closed(tag: str, title: str) -> str:
    return f"<{tag}><title>{text_of(title)}</title></{tag.split()[0]}>" if title else f"<{tag}/>"


@singledispatch
def element(mark: Mark) -> str:
    """One mark."""
    raise AssertionError(f"no SVG for {type(mark).__name__}")


@element.register
def _(mark: Box) -> str:
    place = f'x="{_n(mark.x)}" y="{_n(mark.y)}" width="{_n(mark.width)}" height="{_n(mark.height)}"'
    round_ = f' rx="{_n(mark.radius)}"' if mark.radius else ""
    return _closed(f"rect {place}{round_} {_style(mark.fill, mark.stroke)}", mark.title)


@element.register
def _(mark: Disc) -> str:
    place = f'cx="{_n(mark.x)}" cy="{_n(mark.y)}" r="{_n(mark.radius)}"'
    return _closed(f"circle {place} {_style(mark.fill, mark.stroke)}", mark.title)


@element.register
def _(mark: Line) -> str:
    points = " ".join(f"{_n(x)},{_n(y)}" for x, y in mark.points)
    dash = f' stroke-dasharray="{_n(mark.dash[0])} {_n(mark.dash[1])}"' if mark.dash else ""
    tag = f'polyline points="{points}" {_style("none", mark.stroke)} stroke-width="{_n(mark.width)}"{dash}'
    return _closed(tag, mark.title)


@element.register
def _(mark: Words) -> str:
    turn = f' transform="rotate({_n(-mark.turn)} {_n(mark.x)} {_n(mark.y)})"' if mark.turn else ""
    anchor = "" if mark.anchor == "start" else f' text-anchor="{mark.anchor}"'
    place = f'x="{_n(mark.x)}" y="{_n(mark.y)}" font-size="{_n(mark.size)}" dominant-baseline="central"'
    return f'<text {place}{anchor}{turn} fill="{escape(mark.fill)}">{text_of(mark.text)}</text>'
