"""Signals of a run as charts, by names and patterns; of a run in segments through all of them."""

from __future__ import annotations

import re

import numpy as np

from soacraft.errors import ViewError, near
from soacraft.sim.runs.run import Run
from soacraft.spatial.checks import Array
from soacraft.view.charts.chart import Panel
from soacraft.view.charts.kinds import smooth


def signal_panels(run: Run, pattern: str) -> list[Panel]:
    """A panel for each unit of the signals that a pattern names: "*" is any text within a name, "**" any at all.
    Numbers of a vector are lines of their own."""
    columns = {name: column for x in run.segments for name, column in x.signals.columns.items()}
    matching = re.compile(re.escape(pattern).replace(r"\*\*", ".*").replace(r"\*", r"[^/.]*"))
    names = sorted(name for name in columns if matching.fullmatch(name))
    if not names:
        raise ViewError(f"there is no chart and no signal {pattern!r:.60}{near(pattern, columns, 'signals are')}")
    panels: dict[str, Panel] = {}
    for name in names:
        unit = columns[name].unit
        title = "signals" if len(names) > 1 else name
        panel = panels.setdefault(unit, Panel(title, "t [s]", f"{title} [{unit}]" if unit else title, {}))
        t, y = _history(run, name)
        width = y.shape[1]
        panel.lines.update({name if width == 1 else f"{name}[{i}]": (t, y[:, i]) for i in range(width)})
    return list(panels.values())


def _history(run: Run, name: str) -> tuple[Array, Array]:
    """A signal over all segments that have it, (rows) and (rows, numbers)."""
    some = [x for x in run.segments if name in x.signals]
    width = int(np.prod(some[-1].signals.columns[name].shape))
    some = [x for x in some if int(np.prod(x.signals.columns[name].shape)) == width]
    parts = [
        smooth(x, x.signals[name].reshape(len(x), width), lambda y: y.signals[name].reshape(-1, width)) for x in some
    ]
    return np.concatenate([t for t, _ in parts]), np.concatenate([y for _, y in parts])
