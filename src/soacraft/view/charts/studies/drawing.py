"""Elements of charts of studies: maps of squares in colours, bars by name, lines with limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from soacraft.errors import ViewError
from soacraft.spatial.checks import Array
from soacraft.view.charts.chart import Chart, Panel
from soacraft.view.drawing.extras import extra
from soacraft.view.palette import segment_colour

AXES = "xyz"


class Drawn(NamedTuple):
    """A panel, how it is drawn, and its height in inches."""

    panel: Panel
    draw: Callable[[Any], None]
    height: float = 3.2


class Wanted(NamedTuple):
    """Options of a chart: its quantity, its axes, the place of its cut."""

    of: str | None
    axes: str | None
    at: float | None

    def quantity(self, quantities: Sequence[str]) -> str:
        """The quantity that is asked for, by default the first that is known."""
        if self.of is None:
            return quantities[0]
        if self.of not in quantities:
            raise ViewError(f"there is no {self.of!r:.40} to draw of this study: it has {', '.join(quantities)}.")
        return self.of

    def plane(self, size: Any) -> tuple[int, int]:
        """The two axes that are asked for, by default those of the largest sizes (3)."""
        if self.axes is None:
            i, j = sorted(sorted(range(3), key=lambda k: (size[k], -k))[1:])
            return i, j
        pair = self.axes
        if not isinstance(pair, str) or len(pair) != 2 or not set(pair) <= set(AXES) or pair[0] == pair[1]:
            raise ViewError(f"axes of a map are two of x, y and z, such as 'xz'; got {pair!r:.40}.")
        return AXES.index(pair[0]), AXES.index(pair[1])

    def plain(self) -> None:
        """Refuse axes and a cut where there is no map."""
        if self.axes is not None or self.at is not None:
            raise ViewError("axes= and at= are for maps of voxels.")


def figure_of(drawn: Sequence[Drawn]) -> Chart:
    """Panels below each other, each drawn by its function."""
    maker = extra("matplotlib.figure", "a chart").Figure
    heights = [x.height for x in drawn]
    figure = maker(figsize=(8.0, sum(heights) + 0.3), layout="constrained", dpi=100)
    grid = figure.subplots(len(drawn), 1, squeeze=False, gridspec_kw={"height_ratios": heights})
    for axes, x in zip(grid[:, 0], drawn, strict=True):
        x.draw(axes)
        axes.set_title(x.panel.title, parse_math=False, fontsize=10)
        axes.set_xlabel(x.panel.x_label, parse_math=False)
        axes.set_ylabel(x.panel.y_label, parse_math=False)
        axes.grid(alpha=0.3)
    return Chart([x.panel for x in drawn], figure)


def bars(
    title: str, label: str, names: Sequence[str], groups: dict[str, Array], level: float | None = None
) -> Drawn:
    """Bars side by side for each name, with a level across; what is not finite is left out."""
    places = np.arange(len(names), dtype=float)
    width = 0.8 / max(len(groups), 1)
    lines = {n: (places, np.asarray(y, dtype=float)) for n, y in groups.items()}

    def draw(axes: Any) -> None:
        for i, (n, (x, y)) in enumerate(lines.items()):
            finite = np.where(np.isfinite(y), y, 0.0)
            axes.bar(x + (i - 0.5 * (len(lines) - 1)) * width, finite, width, color=segment_colour(i), label=n)
        axes.set_xticks(places, labels=names, rotation=30, ha="right", fontsize=8, parse_math=False)
        if level is not None:
            axes.axhline(level, color="#7b8794", linewidth=0.8, linestyle="--")
        if len(lines) > 1:
            axes.legend(fontsize=8)

    return Drawn(Panel(title, "", label, lines, of_time=False), draw)


def curves(panel: Panel, level: float | None = None, marks: Sequence[float] = ()) -> Drawn:
    """Lines by name, with a level across and marks along x."""

    def draw(axes: Any) -> None:
        for i, (name, (x, y)) in enumerate(panel.lines.items()):
            axes.plot(x, y, color=segment_colour(i), linewidth=1.4, marker=panel.marker or None, label=name)
        if level is not None:
            axes.axhline(level, color="#7b8794", linewidth=0.8, linestyle="--")
        for at in marks:
            axes.axvline(at, color="#7b8794", linewidth=0.8, linestyle=":")
        if 1 < len(panel.lines) <= 12:
            axes.legend(fontsize=8)

    return Drawn(panel, draw)


def squares(title: str, x: tuple[str, Array], y: tuple[str, Array], values: Array, label: str) -> Drawn:
    """A map: squares about the points of x (n) and y (m), in colours by values (n, m); NaN is left white."""
    (x_name, xs), (y_name, ys) = x, y
    at = np.stack(np.meshgrid(xs, ys, indexing="ij"), axis=-1).reshape(-1, 2)
    panel = Panel(title, x_name, y_name, {label: (at[:, 0], at[:, 1])}, of_time=False, values=values.ravel(),
                  values_label=label)  # fmt: skip

    def draw(axes: Any) -> None:
        mesh = axes.pcolormesh(xs, ys, np.ma.masked_invalid(values.T), cmap="viridis", shading="nearest")
        axes.figure.colorbar(mesh, ax=axes, label=label)
        axes.set_aspect("equal", adjustable="datalim")

    return Drawn(panel, draw, 5.0)


def across(values: Array, first: Array, spacing: float, wanted: Wanted, title: str, label: str) -> Drawn:
    """A map of voxels (a, b, c) along two axes: the largest value along the third, or that of the layer at a place."""
    shape = values.shape
    i, j = wanted.plane(shape)
    k = 3 - i - j
    cube = np.moveaxis(values, (i, j, k), (0, 1, 2))
    if wanted.at is None:
        some = np.isfinite(cube).any(axis=2)
        flat = np.where(some, np.max(np.where(np.isfinite(cube), cube, -np.inf), axis=2), np.nan)
        title += f"; the largest along {AXES[k]}" if shape[k] > 1 else ""
    else:
        layer = int(np.round((float(wanted.at) - first[k]) / spacing))
        if not 0 <= layer < shape[k]:
            low, high = first[k], first[k] + spacing * (shape[k] - 1)
            raise ViewError(f"at={wanted.at:g} is outside of the map: {AXES[k]} goes from {low:.4g} to {high:.4g}.")
        flat, title = cube[:, :, layer], f"{title}; {AXES[k]} = {first[k] + spacing * layer:.4g} m"
    ends = [(f"{AXES[n]} [m]", first[n] + spacing * np.arange(shape[n])) for n in (i, j)]
    return squares(title, ends[0], ends[1], flat, label)
