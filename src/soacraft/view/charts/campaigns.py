"""`campaign`: charts of campaigns: histograms, dispersion ellipses on terrain, fans of time histories, tornados."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from soacraft.errors import ViewError, near
from soacraft.sim.campaigns.campaign import Campaign
from soacraft.spatial.checks import Array
from soacraft.view.charts.chart import Chart, Panel
from soacraft.view.drawing.extras import extra
from soacraft.view.palette import segment_colour

#: Parts of the runs between the lines of a fan.
_FAN = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)


def campaign(
    c: Campaign, kind: str = "histogram", *names: str, terrain: Any = None, probability: float = 0.95
) -> Chart:
    """A chart of a campaign. `kind` is one of

    - "histogram": of the measures that are named (default: of all), with quantiles 0.01, 0.5 and 0.99
    - "ellipse": of two measures: the runs and the ellipse of `probability` (`c.ellipse`); `terrain` is (x, y, heights),
      heights of shape (len(y), len(x)), drawn below as contours
    - "fan": of histories that the campaign keeps: quantiles over time
    - "tornado": how strongly each variation is correlated with a measure, by rank

    >>> import soacraft as sc
    >>> from tempfile import mkdtemp
    >>> def make():
    ...     s = sc.sim.System("one", integrator="rk4", step=0.1)
    ...     s.add("a", sc.sim.Constant(value=1.0))
    ...     return s
    >>> c = sc.sim.Campaign(make, f"{mkdtemp()}/runs", runs=50, t=0.1, vary={"a.value": sc.sim.Normal(0.0, 1.0)},
    ...                     measure={"y": "a.y[-1]"})
    >>> c.run()
    >>> sc.view.campaign(c)
    Chart: y (2)
    """
    if not isinstance(c, Campaign):
        raise ViewError(f"a chart of a campaign takes a sc.sim.Campaign, got {c!r:.60}.")
    if kind not in _KINDS:
        raise ViewError(f"there is no chart {kind!r:.60} of a campaign{near(str(kind), _KINDS)}")
    if terrain is not None and kind != "ellipse":
        raise ViewError(f"terrain= is drawn below an ellipse, not below a {kind}.")
    panels, draws = _KINDS[kind](c, names, terrain, probability)
    figure = extra("matplotlib.figure", "a chart").Figure
    height = 5.0 if kind == "ellipse" else 3.2
    drawing = figure(figsize=(8.0, height * len(panels) + 0.3), layout="constrained", dpi=100)
    for axes, panel, draw in zip(drawing.subplots(len(panels), 1, squeeze=False)[:, 0], panels, draws, strict=True):
        draw(axes)
        axes.set_title(panel.title, parse_math=False, fontsize=10)
        axes.set_xlabel(panel.x_label, parse_math=False)
        axes.set_ylabel(panel.y_label, parse_math=False)
        axes.grid(alpha=0.3)
    return Chart(panels, drawing)


Drawn = tuple[list[Panel], list[Callable[[Any], None]]]


def _measured(c: Campaign, names: Sequence[str]) -> list[tuple[str, Array]]:
    """Measures by name, their finite values."""
    table = c.table()
    columns = []
    for name in names or table.measures:
        if name not in table.measures:
            raise ViewError(f"the campaign has no measure {name!r:.60}{near(str(name), table.measures, 'it has')}")
        values = table[name][table.ok]
        columns.append((name, values[np.isfinite(values)]))
        if not len(columns[-1][1]):
            raise ViewError(f"no run has a value of {name!r}, so there is nothing to draw.")
    if not columns:
        raise ViewError("the campaign has no measure, so there is nothing to draw.")
    return columns


def _histogram(c: Campaign, names: Sequence[str], terrain: Any, probability: float) -> Drawn:
    panels: list[Panel] = []
    draws: list[Callable[[Any], None]] = []
    for name, values in _measured(c, names):
        counts, edges = np.histogram(values, bins="auto" if len(values) > 1 else 1)
        marks = np.array([c.quantile(p, name).value for p in (0.01, 0.5, 0.99)])
        lines = {"runs": (edges, np.append(counts, 0).astype(float)), "quantiles": (marks, np.zeros(3))}
        panels.append(Panel(name, name, "runs", lines, of_time=False))

        def draw(axes: Any, counts: Any = counts, edges: Any = edges, marks: Array = marks) -> None:
            axes.stairs(counts, edges, fill=True, color=segment_colour(0), alpha=0.6)
            for x in marks:
                axes.axvline(x, color=segment_colour(1), linewidth=1.0, linestyle="--")

        draws.append(draw)
    return panels, draws


def _ellipse(c: Campaign, names: Sequence[str], terrain: Any, probability: float) -> Drawn:
    if len(names) != 2:
        raise ViewError(f"an ellipse takes the names of two measures, got {len(names)}.")
    _measured(c, names)
    ellipse, table = c.ellipse(names[0], names[1], probability), c.table()
    x, y = table[names[0]][table.ok], table[names[1]][table.ok]
    ground = None if terrain is None else _terrain(terrain)
    line = ellipse.points()
    lines = {"runs": (x, y), f"ellipse {probability:g}": (line[:, 0], line[:, 1])}
    title = f"{probability:g} of a normal distribution; {ellipse.inside:.3g} of {ellipse.runs} runs are inside"

    def draw(axes: Any) -> None:
        if ground is not None:
            axes.contourf(*ground, levels=14, cmap="gist_earth", alpha=0.6)
        axes.plot(x, y, ".", markersize=3.0, color=segment_colour(0))
        axes.plot(line[:, 0], line[:, 1], color=segment_colour(1))
        axes.set_aspect("equal", adjustable="datalim")

    return [Panel(title, names[0], names[1], lines, of_time=False)], [draw]


def _terrain(terrain: Any) -> tuple[Array, Array, Array]:
    try:
        x, y, heights = (np.asarray(z, dtype=float) for z in terrain)
    except (TypeError, ValueError):
        raise ViewError(f"terrain is (x, y, heights), got {terrain!r:.60}.") from None
    if x.ndim != 1 or y.ndim != 1 or heights.shape != (len(y), len(x)):
        raise ViewError(f"terrain is x (n), y (m) and heights (m, n), got {x.shape}, {y.shape} and {heights.shape}.")
    return x, y, heights


def _fan(c: Campaign, names: Sequence[str], terrain: Any, probability: float) -> Drawn:
    histories = list(c.settings.history)
    if not histories:
        raise ViewError("the campaign keeps no histories: give it history={name: signal}.")
    panels: list[Panel] = []
    draws: list[Callable[[Any], None]] = []
    for name in names or histories:
        if name not in histories:
            raise ViewError(f"the campaign keeps no history {name!r:.60}{near(str(name), histories)}")
        t, values = c.history(name)
        there = ~np.isnan(values).all(axis=0)
        t, values = t[there], values[:, there]
        if not values.size:
            raise ViewError(f"no run has a history of {name!r}, so there is nothing to draw.")
        rows = np.nanquantile(values, _FAN, axis=0)
        panels.append(Panel(name, "t [s]", name, {f"{p:g}": (t, row) for p, row in zip(_FAN, rows, strict=True)}))

        def draw(axes: Any, t: Array = t, rows: Array = rows) -> None:
            for k in range(3):
                axes.fill_between(t, rows[k], rows[-1 - k], color=segment_colour(0), alpha=0.25, linewidth=0.0)
            axes.plot(t, rows[3], color=segment_colour(0))

        draws.append(draw)
    return panels, draws


def _tornado(c: Campaign, names: Sequence[str], terrain: Any, probability: float) -> Drawn:
    panels: list[Panel] = []
    draws: list[Callable[[Any], None]] = []
    for name, _ in _measured(c, names):
        correlations = c.correlations(name)
        if not correlations:
            raise ViewError("nothing varies in this campaign, so there is no tornado.")
        paths, values = list(correlations)[::-1], np.array(list(correlations.values())[::-1])
        lines = {
            path: (np.array([x]), np.array([float(i)])) for i, (path, x) in enumerate(zip(paths, values, strict=True))
        }
        panels.append(Panel(name, "rank correlation", "", lines, of_time=False))

        def draw(axes: Any, paths: list[str] = paths, values: Array = values) -> None:
            axes.barh(range(len(paths)), values, color=[segment_colour(int(x < 0.0)) for x in values])
            axes.set_yticks(range(len(paths)), labels=paths, parse_math=False)
            axes.set_xlim(-1.0, 1.0)

        draws.append(draw)
    return panels, draws


_KINDS: dict[str, Callable[[Campaign, Sequence[str], Any, float], Drawn]] = {
    "histogram": _histogram,
    "ellipse": _ellipse,
    "fan": _fan,
    "tornado": _tornado,
}
