"""A run of a campaign, from its number to its row. A job is what processes are given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from soacraft.errors import CampaignError, SoacraftError
from soacraft.sim.campaigns.batches.batch import march
from soacraft.sim.campaigns.batches.lanes import Lanes
from soacraft.sim.campaigns.batches.obstacles import obstacle
from soacraft.sim.campaigns.batches.rows import Recorded
from soacraft.sim.campaigns.batches.stepped import march_in_steps
from soacraft.sim.campaigns.draws import seed_of
from soacraft.sim.campaigns.folder import Row, Settings, number, told
from soacraft.sim.campaigns.made import Made
from soacraft.sim.campaigns.measures import Measure, OfRun, Series, read_measure, signals_of, value_of
from soacraft.sim.campaigns.source import Maker, Source
from soacraft.sim.campaigns.variations import Inputs, Variation, apply, arguments_of, is_argument
from soacraft.sim.runs.run import Run
from soacraft.sim.systems.system import System
from soacraft.spatial.checks import Array

#: Letters of a failure that are kept, and of why a batch stopped.
_LONGEST, _SHORT = 2000, 200
#: A batch agrees with its runs alone to this, relative to the largest of a measure.
_AGREE = 1e-6


class Job:
    """Makes the system of a run, runs it, and measures it."""

    def __init__(
        self, source: Source, settings: Settings, functions: Mapping[str, Callable[[Run], Any]], failed: str = ""
    ) -> None:
        self.source, self.settings, self.functions, self._failed = source, settings, dict(functions), failed
        varied = [Variation(tuple(paths), how) for paths, how in settings.vary]
        self.inputs = Inputs(varied, settings.sampling, settings.seed, settings.runs)
        self.measures: dict[str, Measure | Callable[[Run], Any]] = {
            name: self.functions[name] if not text else read_measure(text) for name, text in settings.measure.items()
        }
        self.histories = {name: series_of(text) for name, text in settings.history.items()}

    # -- one run -----------------------------------------------------------------------------------------------

    def row(self, i: int) -> Row:
        """The result of run i. Whatever goes wrong in it is its result."""
        start, values = perf_counter(), self.inputs.of(i)[0]
        row = Row(run=i, status="ok", inputs=[told(x) for x in values], measures=[None] * len(self.measures))
        system: System | None = None
        try:
            system = self.system(i, values)
            run = system.run(self.settings.t, until=self.settings.until or None, signals=self.signals(system))
            row.measures = [told(value_of(x, name, system, run)) for name, x in self.measures.items()]
            row.t = float(run.t[-1])
            row.history = {name: self._history(x, system, run) for name, x in self.histories.items()}
        except Exception as wrong:
            row.status, row.text = "failed", f"{type(wrong).__name__}: {wrong}"[:_LONGEST]
            reached = getattr(wrong, "t", None)
            row.t = float(reached) if isinstance(reached, float) and np.isfinite(reached) else None
            row.checkpoint = self._kept(i, system)
        row.seconds = perf_counter() - start
        return row

    def _kept(self, i: int, system: System | None) -> str:
        """The name of a checkpoint of a run that failed, where it can be had: at its last good row."""
        if system is None or system.board.build.propagator is None or not self._failed:
            return ""
        name = f"{i:09d}.h5"
        try:
            Path(self._failed).mkdir(exist_ok=True)
            system.checkpoint(Path(self._failed) / name)
        except (SoacraftError, OSError, ImportError):  # no folder or no HDF5 there, or nothing that a file can hold
            return ""
        return name

    def system(self, i: int, values: Array) -> System:
        """The system of run i, which has not begun."""
        paths = self.inputs.paths
        system = self.source.make(**arguments_of(paths, values.tolist()))
        apply(system, paths, values.tolist())
        system.board.reseed(seed_of(self.settings.seed, i // self.inputs.sampler.group))
        return system

    def simulate(self, i: int, values: Array, log: Any = None, signals: Any = None) -> tuple[System, Run]:
        """Run i with these values."""
        system = self.system(i, values)
        recorded = self.signals(system) if signals is None else signals
        run = system.run(self.settings.t, log=log, until=self.settings.until or None, signals=recorded)
        return system, run

    def signals(self, system: System) -> list[str] | str:
        """Signals that are recorded: those of measures and histories; all if a function measures."""
        if self.functions:
            return "**"
        return signals_of(system, keys_of(self.measures.values(), self.histories.values()))

    def _history(self, series: Series, system: System, run: Run) -> list[Any]:
        """A series at even times from the start to the end of the campaign's runs; none after the run has ended."""
        grid = self.grid(system)
        rows = series.of(OfRun(system, run))
        if rows.ndim != 1:
            raise CampaignError(f"the history of {series.key!r} must be one number for every row: take an element.")
        values = np.interp(grid, run.t, rows)
        return [told(x) if t <= run.t[-1] + 1e-9 else None for t, x in zip(grid, values, strict=True)]

    def grid(self, system: System) -> Array:
        """The times of histories."""
        return np.linspace(system.board.start / 1e9, self.settings.t, self.settings.points)

    # -- many runs ---------------------------------------------------------------------------------------------

    def block(self, first: int) -> list[Row]:
        """The results of a block of runs, which march as a batch. The first of them is run by itself as well; where the
        two do not agree, or a run stops the batch, all go one by one."""
        start, count = perf_counter(), min(self.settings.batch, self.settings.runs - first)
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                rows = self._batch(first, count)
            why = self._differs(rows)
        except Exception as wrong:  # whatever it is, the run that has it gets it as its result
            why = f"{type(wrong).__name__}: {wrong}"
        if why:
            rows = [self.row(i) for i in range(first, first + count)]
            for row in rows:
                row.how = f"single: the batch stopped: {why}"[:_SHORT]
        for row in rows:
            row.seconds = (perf_counter() - start) / count
        return rows

    def _differs(self, rows: list[Row]) -> str:
        """Difference of the first run of a batch from itself alone; empty where there is none, or all have left it."""
        first = next((x for x in rows if x.how == "batch"), None)
        if first is None:
            return ""
        alone = self.row(first.run)
        if alone.status != "ok":
            return alone.text
        for k, name in enumerate(self.measures):
            sizes = [abs(number(x.measures[k])) for x in rows if x.how == "batch"]
            size = max((x for x in sizes if x == x), default=0.0)  # an event that did not happen has no number
            a, b = number(first.measures[k]), number(alone.measures[k])
            if not (abs(a - b) <= _AGREE * size or (a != a and b != b)):
                return f"{name!r} of run {first.run} is {a:.9g}, and {b:.9g} alone"
        return ""

    def _batch(self, first: int, count: int) -> list[Row]:
        values, columns = self.inputs.of(first, count), None
        if isinstance(self.source, Maker) and any(is_argument(x) for x in self.inputs.paths):
            made_systems = Made(self.source, self.inputs)
            system, columns = made_systems.system, made_systems.columns(values)
        else:
            system = self.source.make()
        group = self.inputs.sampler.group
        seeds = [seed_of(self.settings.seed, i // group) for i in range(first, first + count)]
        series = [x.series for x in self.measures.values() if isinstance(x, Measure) and x.series is not None]
        keys = [x.key for x in [*series, *self.histories.values()] if x.key != "t"]
        in_steps = obstacle(system, self.inputs.paths, list(self.measures.values()))
        lanes = Lanes(system, self.inputs.paths, values, seeds, columns)
        if in_steps:
            marched = march_in_steps(lanes, keys, self.settings.t)
        else:
            marched = march(lanes, keys, self.settings.t, self.settings.until)
        rows = [
            Row(run=first + i, status="ok", inputs=[told(x) for x in values[i]], measures=[], how="batch")
            for i in range(count)
        ]
        common, grid = marched.common, self.grid(system)
        for name, measure in self.measures.items():
            assert isinstance(measure, Measure)
            for row, x in zip(rows, _numbers(name, measure, common, count), strict=True):
                row.measures.append(told(x))
        for name, each in self.histories.items():
            lines = each.of(common)
            if lines.ndim == 1:
                lines = np.repeat(lines[:, None], count, axis=1)
            for i, row in enumerate(rows):
                row.history[name] = [told(x) for x in np.interp(grid, common.t, lines[:, i])]
        for row in rows:
            row.t = float(common.t[-1])
        for i in marched.own:
            self._measure_own(rows[i], marched.of(i), grid)
        for i, why in marched.alone.items():
            rows[i] = self.row(first + i)
            rows[i].how = f"single: {why}"[:_SHORT]
        return rows

    def _measure_own(self, row: Row, run: Recorded, grid: Array) -> None:
        """Set the result of a run of a batch that has separate rows."""
        row.t = float(run.t[-1])
        row.measures = [told(_numbers(name, x, run, 1)[0]) for name, x in self.measures.items()]
        for name, each in self.histories.items():
            values = np.interp(grid, run.t, each.of(run).reshape(len(run.t)))
            row.history[name] = [told(x) if t <= row.t + 1e-9 else None for t, x in zip(grid, values, strict=True)]

    # -- probes ------------------------------------------------------------------------------------------------

    def probe(self, variation: int | None) -> dict[str, str]:
        """Digests of run 0, with one variation as in the first run where its values are others: of all that is
        recorded, and of each measure. By these it is seen whether a variation changes anything."""
        values, columns = self.inputs.of(0)[0], self._columns()
        if variation is not None:
            some = self.inputs.of(0, max(2, min(64, self.settings.runs)))[:, columns[variation]]
            other = np.flatnonzero((some != some[0]).any(axis=1))
            if not len(other):
                return {"": "constant"}
            values[columns[variation]] = some[other[0]]
        try:
            system, run = self.simulate(0, values, signals="**")
            values_by_name = {name: repr(value_of(x, name, system, run)) for name, x in self.measures.items()}
            digest = blake2b(digest_size=16)
            for rows in (run.t, run.q, run.v, *(run.signals[key] for key in run.signals)):
                digest.update(np.ascontiguousarray(rows).tobytes())
            return {"": digest.hexdigest(), **values_by_name}
        except Exception as wrong:
            return {"": f"{type(wrong).__name__}: {wrong}"[:_LONGEST]}

    def _columns(self) -> list[list[int]]:
        ends = np.cumsum([0, *(len(x.paths) for x in self.inputs.variations)]).tolist()
        return [list(range(a, b)) for a, b in pairwise(ends)]


def _numbers(name: str, measure: Any, runs: Recorded, count: int) -> Array:
    """A measure of several runs, one number for each."""
    values = np.asarray(measure.of(runs), dtype=float)
    if values.shape not in ((), (count,)):
        raise CampaignError(f"the measure {name!r} must be one number for each run, got {values.shape[1:]}.")
    return np.broadcast_to(values, (count,))


def keys_of(measures: Iterable[Any], histories: Iterable[Series]) -> list[str]:
    """The signals that measures and histories take."""
    keys = [key for x in measures if isinstance(x, Measure) for key in x.keys]
    return [*keys, *(x.key for x in histories if x.key != "t")]


def series_of(text: str) -> Series:
    """The series of a history."""
    try:
        series = read_measure(f"final({text})").series
    except SoacraftError as wrong:
        raise CampaignError(f"the history {text!r:.80} is a signal, as 'lander.altitude': {wrong}") from None
    assert series is not None
    return series
