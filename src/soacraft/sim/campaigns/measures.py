"""Measures: one number of a run, written in a small grammar of our own, or a function of the run.

    measure = series "[-1]" | final(series) | first(series) | max(series) | min(series) | mean(series)
            | series "at" event | time(event) | count(event)
    series  = "t" | component.port | component.port[element] | norm(series) | abs(series)

An element is a number, or the name of a dof. At an event is the value just before its jumps, where it happens first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from soacraft.errors import CampaignError, SoacraftError, near
from soacraft.sim.runs.run import Run
from soacraft.sim.systems.system import System
from soacraft.spatial.checks import Array

#: Letters of a measure at most, and functions within each other.
_LONGEST, _DEEPEST = 400, 8
_CALL = re.compile(r"(\w+)\s*\((.*)\)", re.DOTALL)
_AT = re.compile(r"(.+?)\s+at\s+(\S+)", re.DOTALL)
_SIGNAL = re.compile(r"([^.\[\]()\s]+\.[A-Za-z_]\w*(?:\[[^\[\]()]+\])?)(?:\[(\d+)\])?")
_INNER: dict[str, Callable[[Array], Array]] = {
    "norm": lambda x: np.linalg.norm(x, axis=-1),
    "abs": np.abs,
}
_OVER: dict[str, Callable[[Array], Array]] = {
    "final": lambda x: x[-1],
    "first": lambda x: x[0],
    "max": lambda x: x.max(axis=0),
    "min": lambda x: x.min(axis=0),
    "mean": lambda x: x.mean(axis=0),
}
_OF_EVENT = ("time", "count")


class Histories(Protocol):
    """Rows from which a measure is taken: of one run (rows, ...), or of a batch (rows, runs, ...)."""

    @property
    def t(self) -> Array:
        """The times of the rows."""

    def series(self, key: str) -> Array:
        """A signal, in rows."""

    def times(self, event: str) -> list[float]:
        """Times of an event."""


class Series(NamedTuple):
    """A signal, an element of it, and functions from the inside out."""

    key: str
    element: int | None
    functions: tuple[str, ...]

    def of(self, histories: Histories) -> Array:
        """Rows of the series."""
        rows = histories.t if self.key == "t" else histories.series(self.key)
        if self.element is not None:
            rows = rows[..., self.element]
        for name in self.functions:
            rows = _INNER[name](rows)
        return rows


class Measure(NamedTuple):
    """A measure that was read from text: `over` rows, `at` an event, or of an `event`."""

    text: str
    series: Series | None
    over: str
    event: str = ""

    @property
    def keys(self) -> tuple[str, ...]:
        """The signals that it takes."""
        return () if self.series is None or self.series.key == "t" else (self.series.key,)

    def of(self, histories: Histories) -> Any:
        """The number; not a number where the event did not happen."""
        if not self.event:
            assert self.series is not None
            return _OVER[self.over](self.series.of(histories))
        times = histories.times(self.event)
        if self.over == "count":
            return float(len(times))
        if not times:
            return float("nan")
        if self.over == "time":
            return times[0]
        assert self.series is not None
        return self.series.of(histories)[int(np.searchsorted(histories.t, times[0]))]


def read_measure(text: str) -> Measure:
    """A measure from its text.

    >>> read_measure("norm(lander.velocity) at lander.touchdown").event
    'lander.touchdown'
    >>> read_measure("arm.q[elbow][-1]").series
    Series(key='arm.q[elbow]', element=None, functions=())
    """
    if not isinstance(text, str) or not text:
        raise CampaignError(
            f"a measure is a text such as 'lander.range[-1]', or a function of the run; got {text!r:.60}."
        )
    if len(text) > _LONGEST:
        raise CampaignError(f"a measure has at most {_LONGEST} letters, got one of {len(text)}: {text[:40]!r}...")
    stripped = text.strip()
    at = _AT.fullmatch(stripped)
    if at:
        return Measure(text, _series(at[1], text), "at", at[2])
    if stripped.endswith("[-1]"):
        return Measure(text, _series(stripped[:-4], text), "final")
    call = _CALL.fullmatch(stripped)
    if call and call[1] in _OVER:
        return Measure(text, _series(call[2], text), call[1])
    if call and call[1] in _OF_EVENT:
        return Measure(text, None, call[1], call[2].strip())
    if call and call[1] not in _INNER:
        functions = [*_OVER, *_OF_EVENT, *_INNER]
        raise CampaignError(f"the measure {text!r:.80}: there is no {call[1]!r:.40}{near(call[1], functions)}")
    raise CampaignError(
        f"the measure {text!r:.80} is a number for every row: say which, as final(...), max(...), '...[-1]' or "
        "'... at event'."
    )


def _series(text: str, whole: str) -> Series:
    functions: list[str] = []
    text = text.strip()
    while call := _CALL.fullmatch(text):
        if call[1] not in _INNER:
            raise CampaignError(f"the measure {whole!r:.80}: {call[1]!r:.40} is not for rows{near(call[1], _INNER)}")
        if len(functions) == _DEEPEST:
            raise CampaignError(f"the measure {whole!r:.80} has more than {_DEEPEST} functions within each other.")
        functions.append(call[1])
        text = call[2].strip()
    functions.reverse()
    if text == "t":
        return Series("t", None, tuple(functions))
    match = _SIGNAL.fullmatch(text)
    if match is None:
        raise CampaignError(f"the measure {whole!r:.80}: {text!r:.60} is no signal, which is written 'component.port'.")
    return Series(match[1], None if match[2] is None else int(match[2]), tuple(functions))


class OfRun:
    """The histories of one run."""

    def __init__(self, system: System, run: Run) -> None:
        self._system, self._run, self.t = system, run, run.t

    def series(self, key: str) -> Array:
        """A signal of the run, or what a plant has."""
        key, element = split(self._system, key)
        plant = self._system.diagram.plants.get(key.partition(".")[0])
        port = key.partition(".")[2]
        if plant is not None and port in ("q", "v", "vdot"):
            rows = np.asarray(getattr(self._run, port))[:, plant.seat.q if port == "q" else plant.seat.v]
        else:
            rows = self._run.signals[key]
        return rows if element is None else rows[:, element]

    def times(self, event: str) -> list[float]:
        """Times of an event."""
        return [x.t for x in self._run.events if x.name == event]


def split(system: System, key: str) -> tuple[str, int | None]:
    """The signal that a key is of, and the element of it: numbers, and names of dofs of a plant."""
    match = re.fullmatch(r"([^.\[\]]+)\.(\w+)\[([^\[\]]+)\]", key)
    if match is None:
        return key, None
    plant = system.diagram.plants.get(match[1])
    if plant is not None:
        if match[2] in ("q", "v", "vdot") and not match[3].isdecimal():
            _, port, number = plant.output(match[2], match[3])
            return f"{match[1]}.{port}", number
        if match[2] not in ("q", "v", "vdot"):
            return key, None
    if not match[3].isdecimal():
        raise CampaignError(f"an element of {match[1]}.{match[2]} is a number, got {key!r:.80}.")
    return f"{match[1]}.{match[2]}", int(match[3])


def signals_of(system: System, keys: Mapping[str, Any] | list[str]) -> list[str]:
    """Signals to record for measures: those of components, without those that a plant has anyhow."""
    names = set()
    for key in keys:
        base, _ = split(system, key)
        plant, _, port = base.partition(".")
        if plant not in system.diagram.plants or port not in ("q", "v", "vdot"):
            names.add(base)
    return sorted(names)


def value_of(measure: Measure | Callable[[Run], Any], name: str, system: System, run: Run) -> float:
    """A measure of a run, as one number."""
    value = measure.of(OfRun(system, run)) if isinstance(measure, Measure) else measure(run)
    try:
        number = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        number = np.zeros(2)
    if number.ndim:
        shape = f"of shape {np.shape(value)}" if isinstance(value, np.ndarray) else f"{value!r:.40}"
        raise CampaignError(f"the measure {name!r} must be one number, got {shape}: take norm(...) or an element [0].")
    return float(number)


def check_measure(measure: Measure, name: str, system: System, events: list[str]) -> None:
    """Refuse signals and events that a system does not have."""
    if measure.event and measure.event not in events:
        raise CampaignError(
            f"the measure {name!r}: {system.name!r} has no event {measure.event!r:.60}{near(measure.event, events)}"
        )
    try:
        signals_of(system, [*measure.keys])
    except SoacraftError as wrong:
        raise CampaignError(f"the measure {name!r}: {wrong}") from None
