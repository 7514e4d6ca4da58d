"""Small pictures for cards, as SVG: the blocks of an operator, and a line over time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

import numpy as np
import numpy.typing as npt

from soacraft import markup
from soacraft.markup import Html

#: Points of a line at most.
_POINTS = 240


def block_picture(cells: Sequence[Sequence[str]], over: Iterable[int], beside: Iterable[int], title: str) -> Html:
    """Squares in rows, each by its colour, an empty text for none; lines before the rows `over` and before the columns
    `beside`. One path for each colour: O(runs of one colour in a row).

    >>> block_picture([["#4477aa", "#4477aa"], ["", "#ee6677"]], [1], [], "phi").count("<path fill=\\"#")
    2
    """
    height, width = len(cells), max(map(len, cells), default=0)
    size = max(4.0, min(14.0, 260.0 / max(height, width, 1)))
    inked: dict[str, list[str]] = {}
    for y, row in enumerate(cells):
        x = 0
        for colour, run in groupby(row):
            count = len(list(run))
            if colour:
                inked.setdefault(colour, []).append(f"M{x} {y}h{count}v1h-{count}z")
            x += count
    shapes = "".join(f'<path fill="{markup.words(c)}" d="{"".join(d)}"></path>' for c, d in inked.items())
    shapes += _lines(range(1, height), range(1, width), height, width, "rgba(127,127,127,.35)", ".04")
    shapes += _lines(over, beside, height, width, "currentColor", ".09")
    frame = (
        f'<rect width="{width}" height="{height}" fill="rgba(127,127,127,.12)" stroke="rgba(127,127,127,.6)" '
        'stroke-width=".06"></rect>'
    )
    return _svg(frame + shapes, width * size, height * size, f"0 0 {width} {height}", title)


def _lines(over: Iterable[int], beside: Iterable[int], height: int, width: int, colour: str, thick: str) -> str:
    lines = "".join([*(f"M0 {y}h{width}" for y in over), *(f"M{x} 0v{height}" for x in beside)])
    return f'<path fill="none" stroke="{colour}" stroke-width="{thick}" d="{lines}"></path>' if lines else ""


def sparkline(lines: Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]], title: str, colours: Sequence[str]) -> Html:
    """Lines y(x) by name in one small picture without axes; each has its name on the mouse. Of many points every so
    many are drawn.

    >>> sparkline({"energy": ([0.0, 1.0], [2.0, 3.0])}, "energy", ["#4477aa"]).count("<polyline")
    1
    """
    width, height, edge = 220.0, 44.0, 2.0
    curves = {name: _few(np.asarray(x, float), np.asarray(y, float)) for name, (x, y) in lines.items()}
    x_low, x_span = _range([x for x, _ in curves.values()])
    y_low, y_span = _range([y for _, y in curves.values()])
    drawn = ""
    for n, (name, (x, y)) in enumerate(curves.items()):
        across = edge + (width - 2 * edge) * (x - x_low) / x_span
        down = height - edge - (height - 2 * edge) * (y - y_low) / y_span
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, down, strict=True) if np.isfinite(a + b))
        drawn += (
            f'<polyline fill="none" stroke="{markup.words(colours[n % len(colours)])}" stroke-width="1.3" '
            f'points="{points}"><title>{markup.words(name)}</title></polyline>'
        )
    return _svg(drawn, width, height, f"0 0 {width:.0f} {height:.0f}", title)


def _few(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], ...]:
    pick = np.unique(np.linspace(0, len(x) - 1, min(len(x), _POINTS)).astype(int))
    return x[pick], y[pick]


def _range(values: Sequence[npt.NDArray[np.float64]]) -> tuple[float, float]:
    """The smallest, and how far the largest is from it; of equal ones they are in the middle."""
    numbers = np.concatenate(list(values)) if values else np.zeros(0)
    numbers = numbers[np.isfinite(numbers)]
    if not len(numbers):
        return 0.0, 1.0
    low, high = float(numbers.min()), float(numbers.max())
    return (low, high - low) if high > low else (low - 0.5, 1.0)


def _svg(inside: str, width: float, height: float, box: str, title: str) -> Html:
    said = markup.words(title)
    return Html(
        f'<svg role="img" aria-label="{said}" width="{width:.0f}" height="{height:.0f}" viewBox="{box}">'
        f"<title>{said}</title>{inside}</svg>"
    )
