"""`Panel`, one pair of axes with its lines; `Chart`, panels below each other drawn by matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from soacraft.arguments import read_path
from soacraft.attributes import Strict
from soacraft.errors import ViewError
from soacraft.sim.events import Happened
from soacraft.spatial.checks import Array
from soacraft.view.drawing.extras import extra
from soacraft.view.palette import segment_colour

#: Lines that a legend names; it says how many more there are.
NAMED = 12
#: Letters of a name in a legend at most.
LONGEST = 40
#: Events that are marked by their names.
_MARKED = 12


class Panel(NamedTuple):
    """One pair of axes: lines by name, each with its x and y, and what is written on the axes.

    `logarithmic` is of the y axis, `log_x` of the other one. With `values` the lines are points, in colours by them.
    """

    title: str
    x_label: str
    y_label: str
    lines: dict[str, tuple[Array, Array]]
    of_time: bool = True
    logarithmic: bool = False
    log_x: bool = False
    marker: str = ""
    values: Array | None = None
    values_label: str = ""


class Chart(Strict):
    """Result of `plot` and its relatives: `panels` with their lines, `figure` by matplotlib; a notebook shows it,
    `save` writes it.
    """

    _set_once = frozenset({"panels", "figure"})

    def __init__(self, panels: Sequence[Panel], figure: Any) -> None:
        self.panels, self.figure = tuple(panels), figure

    def __repr__(self) -> str:
        return "Chart: " + "; ".join(f"{x.title} ({len(x.lines)})" for x in self.panels)

    def save(self, path: str | PathLike[str]) -> Path:
        """Write a file by the end of its name: .png, .svg or .pdf."""
        place = read_path(path, "save of a chart", ViewError)
        if place.suffix.lower() not in (".png", ".svg", ".pdf"):
            raise ViewError(f"a chart is saved as .png, .svg or .pdf, by the end of the name; got {place.name!r}.")
        self.figure.savefig(place)
        return place

    def _repr_png_(self) -> bytes:
        png = BytesIO()
        self.figure.savefig(png, format="png")
        return png.getvalue()


def chart_of(panels: Sequence[Panel], events: Sequence[Happened] = ()) -> Chart:
    """Panels drawn below each other, in a figure that belongs to no window and no global state; events are marked."""
    heights = [5.0 if x.values is not None else 2.4 if x.of_time else 3.6 for x in panels]
    maker = extra("matplotlib.figure", "a chart").Figure
    figure = maker(figsize=(8.0, sum(heights) + 0.3), layout="constrained", dpi=100)
    grid = figure.subplots(len(panels), 1, squeeze=False, gridspec_kw={"height_ratios": heights})
    for axes, panel in zip(grid[:, 0], panels, strict=True):
        if panel.values is None:
            for n, (x, y) in enumerate(panel.lines.values()):
                axes.plot(x, y, color=segment_colour(n), linewidth=1.4, marker=panel.marker)
            _name(axes, list(panel.lines))
        else:
            _scatter(figure, axes, panel)
        if panel.logarithmic:
            axes.set_yscale("log")
        if panel.log_x:
            axes.set_xscale("log")
        axes.set_title(_short(panel.title, 2 * LONGEST), parse_math=False, fontsize=10)
        axes.set_xlabel(panel.x_label, parse_math=False)
        axes.set_ylabel(_short(panel.y_label), parse_math=False)
        axes.grid(alpha=0.3)
        if panel.of_time:
            _mark(axes, events)
    return Chart(panels, figure)


def _scatter(figure: Any, axes: Any, panel: Panel) -> None:
    """Points in colours by their values, lengths alike on both axes."""
    for x, y in panel.lines.values():
        points = axes.scatter(x, y, c=panel.values, s=6.0, cmap="viridis")
    figure.colorbar(points, ax=axes, label=panel.values_label)
    axes.set_aspect("equal", adjustable="datalim")


def _name(axes: Any, names: list[str]) -> None:
    """A legend outside the axes; names are written as they are, whatever they begin with or hold."""
    lines = list(axes.lines)[:NAMED]
    shown = names[:NAMED]
    if len(names) > NAMED:
        (blank,) = axes.plot([], [], linestyle="none")
        lines, shown = [*lines, blank], [*shown, f"and {len(names) - NAMED} more"]
    numbers = [str(i) for i in range(len(lines))]
    legend = axes.legend(lines, numbers, loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=8)
    for text, name in zip(legend.get_texts(), shown, strict=True):
        text.set_parse_math(False)
        text.set_text(_short(name))


def _short(name: str, most: int = LONGEST) -> str:
    """A name that leaves room for the lines: of a long one its beginning and its end."""
    return name if len(name) <= most else f"{name[: most // 2]}…{name[-(most // 2 - 1) :]}"


def _mark(axes: Any, events: Sequence[Happened]) -> None:
    """Events as dotted lines, the first of them with their names."""
    for n, event in enumerate(events):
        axes.axvline(event.t, color="#7b8794", linewidth=0.8, linestyle=":")
        if n < _MARKED:
            axes.text(event.t, 1.0, _short(event.name), transform=axes.get_xaxis_transform(), fontsize=7, va="top",
                      rotation=90, color="#7b8794", parse_math=False)  # fmt: skip
