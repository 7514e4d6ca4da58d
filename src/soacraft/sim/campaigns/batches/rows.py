"""Rows of the runs of a batch: those at times common to all, and further ones of a run, at its crossings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from soacraft.errors import CampaignError
from soacraft.sim.campaigns.measures import split
from soacraft.sim.systems.system import System
from soacraft.spatial.checks import Array

#: Rows of single runs that a batch keeps at most: about half a gigabyte.
MOST_OWN = 500_000
#: Events closer than this in seconds, so many times in a row, are without end (`sim.events`).
_STORM, _STORM_COUNT = 1e-7, 8


class Recorded:
    """The rows of runs that have the same times: series are (rows, runs, ...)."""

    def __init__(
        self, system: System, t: Array, rows: Mapping[str, Array], events: Sequence[tuple[float, str]]
    ) -> None:
        self._system, self.t, self._rows, self._events = system, t, rows, events

    def series(self, key: str) -> Array:
        """A signal."""
        base, element = split(self._system, key)
        return self._rows[base] if element is None else self._rows[base][:, :, element]

    def times(self, event: str) -> list[float]:
        """Times of an event."""
        return [t for t, name in self._events if name == event]


class Rows:
    """The rows of a batch as they come."""

    def __init__(self, system: System, keys: Sequence[str], count: int) -> None:
        self._system = system
        self.going: npt.NDArray[np.bool_] = np.ones(count, dtype=np.bool_)
        """True for runs that go on in the batch."""
        self._instants: dict[int, list[float]] = {}
        self._t: list[float] = []
        self._filled = np.zeros(count, dtype=np.intp)
        self._rows: dict[str, Array] = {key: np.zeros(0) for key in keys}
        self._own: dict[int, list[tuple[int, float, dict[str, Array]]]] = {}
        self._events: dict[int, list[tuple[float, str]]] = {}
        self._ends: dict[int, int] = {}
        self._count = 0
        self.alone: dict[int, str] = {}
        """Runs that go on by themselves, and why."""

    @property
    def keys(self) -> tuple[str, ...]:
        """Names of the recorded signals."""
        return tuple(self._rows)

    def extend(self, times: Sequence[float]) -> None:
        """Times of further rows of all runs."""
        self._t.extend(times)

    def put(self, runs: npt.NDArray[np.intp], values: Mapping[str, Array]) -> None:
        """The next row of some of the runs."""
        at = self._filled[runs]
        for key, rows in self._rows.items():
            x = values[key]
            if len(rows) < len(self._t):
                longer = np.zeros((2 * len(self._t), len(self._filled), *x.shape[1:]), dtype=x.dtype)
                if len(rows):
                    longer[: len(rows)] = rows
                self._rows[key] = rows = longer
            rows[at, runs] = x
        self._filled[runs] = at + 1

    def add_own(self, i: int, t: float, values: Mapping[str, Array]) -> None:
        """A row of one run alone."""
        self._count += 1
        if self._count > MOST_OWN:
            raise CampaignError(f"runs of a batch have more than {MOST_OWN} rows of crossings.")
        row = {key: np.array(values[key]) for key in self._rows}
        self._own.setdefault(i, []).append((int(self._filled[i]), t, row))

    def event(self, i: int, t: float, name: str) -> None:
        """An event of a run."""
        self._events.setdefault(i, []).append((t, name))

    def is_storm(self, i: int, t: float) -> bool:
        """True if the crossings of a run, of which one is at t, follow each other without end."""
        last = [*self._instants.get(i, [])[-_STORM_COUNT:], t]
        self._instants[i] = last
        return len(last) > _STORM_COUNT and last[-1] - last[0] <= _STORM * _STORM_COUNT

    def end(self, runs: Iterable[int]) -> None:
        """Runs have ended: what comes is not theirs."""
        for i in runs:
            self._ends[int(i)], self.going[i] = int(self._filled[i]), False

    def leave(self, runs: Iterable[int], why: str) -> None:
        """Runs do not go on in the batch: they are computed by themselves."""
        for i in runs:
            if self.going[i]:
                self.alone[int(i)], self.going[i] = why, False

    @property
    def common(self) -> Recorded:
        """The rows of the runs that have no others."""
        return Recorded(self._system, np.array(self._t), self._series(), ())

    @property
    def own(self) -> list[int]:
        """The runs that have rows, events or an end of their own."""
        return sorted({*self._own, *self._events, *self._ends} - set(self.alone))

    def of(self, i: int) -> Recorded:
        """All rows of one run."""
        arrays, extra = self._series(), self._own.get(i, [])
        count = self._ends.get(i, len(self._t))
        at = [k for k, _, _ in extra]
        t = np.insert(np.array(self._t[:count]), at, [t for _, t, _ in extra])
        rows = {}
        for key, x in arrays.items():
            common = x[:count, i]
            more = np.array([row[key] for _, _, row in extra], dtype=common.dtype).reshape(
                len(extra), *common.shape[1:]
            )
            rows[key] = np.insert(common, at, more, axis=0)[:, None]
        return Recorded(self._system, t, rows, self._events.get(i, ()))

    def _series(self) -> dict[str, Array]:
        return {key: x[: len(self._t)] for key, x in self._rows.items()}
