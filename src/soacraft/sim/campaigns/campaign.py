"""`Campaign`: many runs of one system with varied parameters, in a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from time import monotonic
from typing import Any, ClassVar

import msgspec
import numpy as np

from soacraft.arguments import read_path, whole_number
from soacraft.errors import CampaignError, SoacraftError, near
from soacraft.fingerprint import warn_unread
from soacraft.markup import Text
from soacraft.progress import Bar
from soacraft.sim.campaigns.batches.obstacles import obstacle_of_arguments, obstacle_of_batch, size_of
from soacraft.sim.campaigns.cluster import compute_on
from soacraft.sim.campaigns.folder import Folder, Row, Settings, missing, number, told, write_aside
from soacraft.sim.campaigns.job import Job, keys_of, series_of
from soacraft.sim.campaigns.judged import Judged
from soacraft.sim.campaigns.measures import Measure, check_measure, read_measure, signals_of
from soacraft.sim.campaigns.pool import Done, Task, compute
from soacraft.sim.campaigns.source import FILE, Maker, code_of, digest, source_of
from soacraft.sim.campaigns.table import Table
from soacraft.sim.campaigns.variations import (
    Inputs,
    arguments_of,
    check_arguments,
    check_values,
    is_argument,
    read_variations,
    target_of,
)
from soacraft.sim.clock import nanoseconds
from soacraft.sim.identity import entries_of
from soacraft.sim.runs.run import Run
from soacraft.sim.systems.system import System
from soacraft.spatial.checks import Array

#: Reason why runs go one by one, if nothing prevents a batch.
AS_ASKED = "as asked for"
#: Rows are written after so many seconds, or so many of them; later after a hundredth of the time that has passed.
_FLUSH_SECONDS, _FLUSH_ROWS, _FLUSH_PART = 0.5, 256, 0.01


class Campaign(Judged):
    """Many runs of a system, each with its own values, kept in a folder.

    `system` is a system file (with `classes` and `roots` as in `load_system`), a function that makes a new `System` (a
    top-level one, where other processes compute), its name as "module:function", or a `System` that has not run. `vary`
    is {path: distribution}: a path is a parameter or a state of a component ("motor.R", "wind.value[1]"), q or v of a
    dof of a plant ("arm.q[elbow]"), or a name alone, which is an argument of the function. A tuple of paths varies
    together. `measure` is {name: text or function of the run}; see `soacraft.sim.campaigns.measures` for the words. `t`
    is where runs end, or before at the crossing `until`.

    Run i depends on `seed` and i alone. `sampling` is "random", "sobol", "latin" (which needs the number of runs, so
    that this cannot grow) or "saltelli" (for `sobol`). `history` is {name: signal}: these are kept at `points` even
    times. The noise of run i has a separate seed; the runs of one point of Saltelli's design share it.

    A folder has the fingerprints of all code that decides its rows: functions that make and measure, classes of
    components, force elements, what they read and call in your files, versions of libraries. Where that has changed, a
    campaign does not go on; with `accept_changes=True` it does, and the folder notes it.

    >>> from tempfile import mkdtemp
    >>> from soacraft import sim
    >>> def make():
    ...     s = sim.System("lag", integrator="rk4", step=0.1)
    ...     s.add("one", sim.Constant(value=1.0))
    ...     s.add("lag", sim.LowPass(time_constant=1.0))
    ...     s.connect("one.y", "lag.u")
    ...     return s
    >>> c = sim.Campaign(make, folder=f"{mkdtemp()}/runs", seed=7, runs=50, t=1.0,
    ...                  vary={"one.value": sim.Uniform(1.0, 2.0)}, measure={"end": "lag.y[-1]"})
    >>> c.run()
    >>> c.quantile(0.5, "end").runs, bool(c.table()["end"].max() < 2.0)
    (50, True)
    """

    _cures: ClassVar = {"*": "a campaign is what it was made as; make another one in another folder"}

    def __init__(
        self,
        system: Callable[..., System] | System | str | PathLike[str],
        folder: str | PathLike[str],
        seed: int = 0,
        runs: int = 100,
        vary: Mapping[Any, Any] | None = None,
        measure: Mapping[str, str | Callable[[Run], Any]] | None = None,
        t: float | None = None,
        until: str | None = None,
        sampling: str = "random",
        history: Mapping[str, str] | None = None,
        points: int = 101,
        batch: int | str = "auto",
        classes: Sequence[Any] = (),
        roots: Sequence[str | PathLike[str]] = (),
        accept_changes: bool = False,
    ) -> None:
        self._source = source_of(system, classes, roots)
        self._folder = Folder(read_path(folder, "the folder of a campaign", CampaignError))
        seed = whole_number(seed, "the seed of a campaign", 0, error=CampaignError)
        runs = whole_number(runs, "the number of runs", 1, error=CampaignError)
        points = whole_number(points, "the number of points of a history", 2, 100_000, CampaignError)
        if t is None:
            raise CampaignError("a campaign needs the time at which its runs end, in seconds: t=10.0.")
        nanoseconds(t, "t")
        varied = read_variations(vary or {})
        texts, functions = _measures(measure or {})
        inputs = Inputs(varied, sampling, seed, runs)
        first = self._first(inputs)
        size, why = self._batches(first, inputs, batch, t, texts, history or {})
        begun = self._folder.settings()
        if batch == "auto" and begun is not None and not begun.batch and begun.why_single != AS_ASKED:
            size, why = 0, begun.why_single  # as it began, by a version that knew fewer batches
        prints = code_of(self._source, first, functions)
        settings = Settings(
            system=first.name,
            source=self._source.name,
            digest=digest(first),
            seed=seed,
            runs=runs,
            sampling=sampling,
            t=float(t),
            until=until or "",
            batch=size,
            why_single=why,
            vary=[(list(x.paths), x.distribution) for x in varied],  # type: ignore[misc]
            measure=texts,
            history=dict(history or {}),
            points=points,
            code=entries_of(prints),
        )
        self._job = Job(self._source, settings, functions, str(self._folder.path / "failed"))
        self._check(first, inputs, runs)
        self._settings = self._folder.begin(settings, accept_changes)
        warn_unread(f"the campaign of {first.name!r}", prints.values())

    @classmethod
    def open(
        cls,
        folder: str | PathLike[str],
        system: Any = None,
        measure: Mapping[str, Callable[[Run], Any]] | None = None,
        classes: Sequence[Any] = (),
        roots: Sequence[str | PathLike[str]] = (),
        runs: int | None = None,
        accept_changes: bool = False,
    ) -> Campaign:
        """The campaign of a folder, to go on with or to look at. A system file is found again where it was; functions,
        also those that measure, are given again, for a folder names nothing that is imported. `runs` may be more.
        Functions that are not as they were are refused, or continued with by `accept_changes`."""
        path = read_path(folder, "the folder of a campaign", CampaignError)
        stored = Folder(path).settings()
        if stored is None:
            raise CampaignError(f"{str(path)!r:.200} is no folder of a campaign: it has no campaign.json.")
        if system is None:
            if not stored.source.startswith(FILE):
                raise CampaignError(f"the system of {str(path)!r:.200} came from {stored.source!r:.80}: give it again.")
            system = stored.source.removeprefix(FILE)
        functions = dict(measure or {})
        for name, text in stored.measure.items():
            if not text and name not in functions:
                raise CampaignError(f"the measure {name!r} of {str(path)!r:.200} is a function: give it again.")
        return cls(
            system,
            path,
            stored.seed,
            max(stored.runs, runs or 0),
            {paths[0] if len(paths) == 1 else tuple(paths): how for paths, how in stored.vary},
            {name: text or functions[name] for name, text in stored.measure.items()},
            stored.t,
            stored.until or None,
            stored.sampling,
            stored.history,
            stored.points,
            stored.batch or (0 if stored.why_single == AS_ASKED else "auto"),
            classes,
            roots,
            accept_changes,
        )

    def _batches(
        self,
        first: System,
        inputs: Inputs,
        wanted: int | str,
        t: float,
        texts: Mapping[str, str],
        history: Mapping[str, str],
    ) -> tuple[int, str]:
        """Number of runs that march together, or 0 and the reason why they go one by one."""
        if wanted != "auto":
            wanted = whole_number(
                wanted, "batch is 'auto', or the number of runs of a batch, which", 0, 4096, CampaignError
            )
        if wanted == 0:
            return 0, AS_ASKED
        measures = [read_measure(x) if x else None for x in texts.values()]
        histories = [series_of(x) for x in history.values()]
        keys = keys_of(measures, histories)
        why = obstacle_of_batch(first, inputs.paths, measures, keys, t) or obstacle_of_arguments(self._source, inputs)
        if why and wanted != "auto":
            raise CampaignError(f"runs cannot march as a batch: {why}. Leave out batch=.")
        if why:
            return 0, why
        series = [x.series for x in measures if x is not None and x.series is not None]
        size = size_of(first, t, [*series, *histories])
        return (size if wanted == "auto" else int(wanted)), ""

    def _first(self, inputs: Inputs) -> System:
        """A system without variations, to look at; arguments of a function have their medians."""
        if isinstance(self._source, Maker):
            check_arguments(self._source.function, inputs.paths, f"{self._source.name!r}")
            system = self._source.make(**arguments_of(inputs.paths, inputs.middle().tolist()))
        else:
            for path in inputs.paths:
                if is_argument(path):
                    raise CampaignError(f"{path!r} would be an argument of a function, and a system was given.")
            system = self._source.make()
        system.check()
        return system

    def _check(self, first: System, inputs: Inputs, runs: int) -> None:
        """Refuse paths, measures and events that the system does not have, and values outside of their bounds."""
        for path in inputs.paths:
            if not is_argument(path):
                target_of(first, path)
        events = [
            f"{path}.{name}" for path, x in first.diagram.parts.items() for name in x.component.interface.crossings
        ]
        until = self._job.settings.until
        if until and until not in events:
            raise CampaignError(f"until={until!r:.60}: {first.name!r} has no such event{near(until, events)}")
        for name, x in self._job.measures.items():
            if isinstance(x, Measure):
                check_measure(x, name, first, events)
        for text in self._job.settings.history.values():
            signals_of(first, [series_of(text).key])
        try:
            compilation = first.board.compiled()
            from soacraft.sim.systems.texts import columns

            columns(first.diagram.parts, compilation.wiring, compilation.schedule, self._job.signals(first))
        except SoacraftError as wrong:
            raise CampaignError(f"a measure or history takes what the system does not record: {wrong}") from None
        check_values(first, inputs, runs)

    # -- running -----------------------------------------------------------------------------------------------

    @property
    def runs(self) -> int:
        """Number of the runs of the campaign."""
        return self._settings.runs

    @property
    def settings(self) -> Settings:
        """Settings of the campaign, as its folder has them."""
        return self._settings

    def run(
        self,
        workers: int = 0,
        cluster: Any = None,
        shard: tuple[int, int] | None = None,
        again: Sequence[str] = (),
        progress: bool = False,
    ) -> None:
        """Compute the runs that are not done, and write their rows to the folder; what is done stays.

        `workers` processes compute; 0 is this one. A run whose process dies three times is recorded as killed.
        `cluster` is the address of a scheduler of dask.distributed, or its client (extra `cluster`). `shard=(i, n)`
        computes the i-th of n parts, i from 1 on: for jobs that share the folder. `again` has "failed", "killed" or
        both: runs that ended so are computed once more.
        """
        workers = whole_number(workers, "the number of workers", 0, 1000, CampaignError)
        todo = set(self._todo(shard, again))
        done, pending = 0, list[Row]()
        start = flushed = monotonic()
        with Bar(f"campaign {self._settings.system}", 0.0, max(1.0, float(len(todo))), progress) as bar:
            try:
                for rows in self._computed(sorted(todo), workers, cluster):
                    pending += [x for x in rows if x.run in todo]
                    done, now = done + len(rows), monotonic()
                    bar.at(float(done))
                    if len(pending) >= _FLUSH_ROWS or now - flushed > max(_FLUSH_SECONDS, _FLUSH_PART * (now - start)):
                        self._folder.add(pending, self._settings.identity)
                        pending, flushed = [], now
            finally:
                self._folder.add(pending, self._settings.identity)

    def _todo(self, shard: tuple[int, int] | None, again: Sequence[str]) -> list[int]:
        """The runs to compute. Those of one block are in one shard."""
        for word in again:
            if word not in ("failed", "killed"):
                raise CampaignError(f"again= has 'failed' or 'killed', got {word!r:.40}.")
        todo = missing((i for i, x in self._rows().items() if x.status not in again), self.runs)
        if shard is None:
            return todo
        part, parts = (whole_number(x, "a shard", 1, error=CampaignError) for x in shard)
        if part > parts:
            raise CampaignError(f"shard {part} of {parts} is none of them: they are 1 to {parts}.")
        return [i for i in todo if i // max(1, self._settings.batch) % parts == part - 1]

    def _computed(self, todo: Sequence[int], workers: int, cluster: Any) -> Iterator[list[Row]]:
        """Rows as they come: of blocks, then of runs one by one, where there are no blocks or their processes died."""
        size, singly = self._settings.batch, list(todo)
        if size:
            singly = []
            blocks = [Task("block", (first,)) for first in sorted({i // size * size for i in todo})]
            for ended in self._ended(blocks, workers, cluster):
                (first,) = ended.task.arguments
                if ended.death:
                    singly += [i for i in todo if first <= i < first + size]
                else:
                    yield ended.value
        for ended in self._ended([Task("row", (i,)) for i in singly], workers, cluster):
            yield [self._killed(ended) if ended.death else ended.value]

    def _ended(self, tasks: Sequence[Task], workers: int, cluster: Any) -> Iterator[Done]:
        if cluster is not None:
            return compute_on(self._job, tasks, cluster)
        return compute(self._job, tasks, workers)

    def _killed(self, ended: Done) -> Row:
        (i,) = ended.task.arguments
        values = [told(x) for x in self._job.inputs.of(i)[0]]
        nothing: list[Any] = [None] * len(self._job.measures)
        return Row(run=i, status="killed", inputs=values, measures=nothing, text=ended.death)

    def rerun(self, run: int, log: str | PathLike[str] | None = None, signals: str | Sequence[str] = "**") -> Run:
        """Run i once more, with all its signals, here; `log` as in `System.run`. What failed raises its error."""
        i = whole_number(run, "the number of a run", 0, error=CampaignError)
        return self._job.simulate(i, self._job.inputs.of(i)[0], log, signals)[1]

    # -- looking -----------------------------------------------------------------------------------------------

    def _rows(self) -> dict[int, Row]:
        paths, measures = len(self._job.inputs.paths), len(self._job.measures)
        rows = self._folder.rows(self._settings.identity, paths, measures)
        return {i: x for i, x in rows.items() if i < self.runs}

    def status(self) -> Text:
        """Counts of runs that are done, failed or killed; how they ended; how they were computed."""
        rows = self._rows().values()
        count = {word: sum(x.status == word for x in rows) for word in ("ok", "failed", "killed")}
        told_of = ", ".join(f"{n} {word}" for word, n in count.items() if n) or "none"
        lines = [f"campaign of {self._settings.system!r}: {len(rows)} of {self.runs} runs done ({told_of})"]
        batch = sum(x.how == "batch" for x in rows)
        if self._settings.batch:
            lines.append(f"  {batch} in batches of {self._settings.batch}, {len(rows) - batch} one by one")
        else:
            lines.append(f"  one by one: {self._settings.why_single}")
        stopped = sorted({x.how for x in rows if x.how not in ("batch", "single")})
        lines += [f"  {x.removeprefix('single: ')}" for x in stopped[:3]]
        texts: dict[str, list[int]] = {}
        for x in sorted(rows, key=lambda x: x.run):
            if x.text:
                texts.setdefault(x.text.splitlines()[0][:120], []).append(x.run)
        for text, which in sorted(texts.items(), key=lambda x: -len(x[1]))[:10]:
            lines.append(f"  {len(which)} x (run {which[0]}{', ...' if len(which) > 1 else ''}) {text}")
        return Text("\n".join(lines))

    def table(self) -> Table:
        """All rows that are done, in order of the runs."""
        return Table(list(self._rows().values()), self._job.inputs.paths, tuple(self._job.measures))

    def history(self, name: str) -> tuple[Array, Array]:
        """Times (points), and the values of a history (runs that have one, points); not a number after a run ended."""
        if name not in self._settings.history:
            raise CampaignError(f"the campaign keeps no history {name!r:.60}{near(name, self._settings.history)}")
        rows = [x.history[name] for _, x in sorted(self._rows().items()) if name in x.history]
        grid = self._job.grid(
            self._source.make() if not isinstance(self._source, Maker) else self._first(self._job.inputs)
        )
        return grid, np.array([[number(y) for y in x] for x in rows], dtype=float).reshape(len(rows), len(grid))

    # -- what varies ---------------------------------------------------------------------------------------------

    def effects(self, workers: int = 0) -> dict[str, str]:
        """Effect of each variation, seen by runs in which it alone is another: "measures", "signals" (and no
        measure), or "nothing". Kept in the folder. As many runs as there are variations, and one more."""
        place = self._folder.path / "effects.json"
        key = self._settings.identity
        if place.exists():
            stored = msgspec.json.decode(place.read_bytes(), type=dict[str, dict[str, str]])
            if key in stored:
                return stored[key]
        tasks = [Task("probe", (j,)) for j in (None, *range(len(self._job.inputs.variations)))]
        ended = {x.task.arguments[0]: x for x in compute(self._job, tasks, workers)}
        base, effects = ended[None].value, {}
        for j, x in enumerate(self._job.inputs.variations):
            other = ended[j].value
            if base is None or other is None:
                effects[x.name] = "not known: its process was killed"
            elif other[""] in (base[""], "constant"):
                effects[x.name] = "nothing"
            elif {k: v for k, v in base.items() if k} == {k: v for k, v in other.items() if k}:
                effects[x.name] = "signals"
            else:
                effects[x.name] = "measures"
        write_aside(place, msgspec.json.encode({key: effects}))
        return effects

    def report(self, confidence: float = 0.95, workers: int = 0) -> Text:
        """Status, quantiles and correlations of every measure, and variations without effect."""
        lines = [str(self.status())]
        for name in self._job.measures:
            values, _, _ = self._values(name)
            good = values[~np.isnan(values)]
            if not len(good):
                lines.append(f"{name}: no run has a value")
                continue
            lines.append(f"{name}: mean {good.mean():.6g}, deviation {good.std(ddof=min(1, len(good) - 1)):.6g}")
            for p in (0.01, 0.5, 0.99):
                lines.append(f"  quantile {p:g}: {self.quantile(p, name, confidence)!r}")
            strongest = list(self.correlations(name).items())[:5]
            lines += [f"  rank correlation with {path}: {x:+.3f}" for path, x in strongest]
        for name, what in self.effects(workers).items():
            if what != "measures":
                lines.append(
                    f"the variation {name!r} changes {what}" + (", and no measure" if what == "signals" else "")
                )
        return Text("\n".join(lines))

    def __repr__(self) -> str:
        return str(self.status())


def _measures(given: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, Callable[[Run], Any]]]:
    texts: dict[str, str] = {}
    functions: dict[str, Callable[[Run], Any]] = {}
    for name, x in given.items():
        if not isinstance(name, str) or not name or name in ("run", "status", "t", "text"):
            raise CampaignError(f"a measure has a name that is no other column of the table, got {name!r:.60}.")
        if isinstance(x, str):
            read_measure(x)
            texts[name] = x
        elif callable(x):
            texts[name], functions[name] = "", x
        else:
            raise CampaignError(f"the measure {name!r} is a text or a function of the run, got {x!r:.60}.")
    return texts, functions
