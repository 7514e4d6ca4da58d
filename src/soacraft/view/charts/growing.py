"""`live`: charts of a log that grows, drawn again as it does."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from soacraft.arguments import read_path
from soacraft.errors import ModelFileError, ViewError
from soacraft.sim.runs.log_reader import progress, read
from soacraft.spatial.checks import finite
from soacraft.view.charts.chart import Chart
from soacraft.view.charts.runs import plot


def live(
    path: str | PathLike[str],
    *what: str,
    every: float = 0.5,
    seconds: float | None = None,
    dofs: Sequence[str] | str | None = None,
    show: Callable[[Chart], Any] | None = None,
) -> Chart:
    """Follow the log of a run that another process writes, and plot it as it grows; the last chart.

    `what` and `dofs` are those of `plot`. It looks every so many seconds, and ends with the run, after `seconds`, or by
    Ctrl-C. `show` is called with each chart; by default a notebook shows it in place of the one before, and elsewhere a
    picture of the log's name, .png, is written next to it. The one who writes is not held up.

    >>> import pathlib, tempfile
    >>> import soacraft as sc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "run.h5"
    ...     _ = sc.sim.Propagator(sc.load("pendulum"), integrator="rk4", step=0.1).advance_to(1.0, log=file)
    ...     sc.view.live(file, "energy", show=lambda chart: None)
    Chart: energy (3)
    """
    file = read_path(path, "sc.view.live", ViewError)
    pause = float(finite(every, (), "every", ViewError))
    last = float("inf") if seconds is None else float(finite(seconds, (), "seconds", ViewError))
    if not pause > 0.0 or not last >= 0.0:
        raise ViewError(f"every must be positive and seconds not negative, got {every!r:.40} and {seconds!r:.40}.")
    shown = show if show is not None else _shower(file)
    begun, seen, chart = time.monotonic(), (0, 0), None
    try:
        while True:
            segment, rows, ended = _look(file)
            if rows and (segment, rows) != seen:
                run = read(file)  # it may have grown since it was looked at
                seen = len(run.segments) - 1, len(run)
                if len(run):
                    chart = plot(run, *what, dofs=dofs)
                    shown(chart)
            if ended or time.monotonic() - begun >= last:
                break
            time.sleep(min(pause, max(0.0, last - (time.monotonic() - begun))))
    except KeyboardInterrupt:
        pass
    if chart is None:
        raise ViewError(f"the log {str(file)!r} has no rows yet: is the run under way, with log={str(file)!r}?")
    return chart


def _look(file: Path) -> tuple[int, int, bool]:
    """Progress of the log; zero where it does not exist yet, or just begins a segment."""
    try:
        return progress(file)
    except ModelFileError as wrong:
        if not file.exists() or wrong.where == "begins":
            return 0, 0, False
        raise


def _shower(file: Path) -> Callable[[Chart], None]:
    """Function that shows charts in this environment."""
    try:
        # an optional dependency
        from IPython import get_ipython
        from IPython.display import clear_output, display

        if get_ipython() is not None:

            def in_notebook(chart: Chart) -> None:
                clear_output(wait=True)  # type: ignore[no-untyped-call]
                display(chart)  # type: ignore[no-untyped-call]

            return in_notebook
    except ImportError:
        pass

    def as_picture(chart: Chart) -> None:
        aside = file.with_name(f".soacraft-{secrets.token_hex(8)}.png")
        chart.save(aside)
        os.replace(aside, file.with_suffix(".png"))

    return as_picture
