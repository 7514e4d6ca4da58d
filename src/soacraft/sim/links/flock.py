"""Many copies of a system that march as one batch; each can restart at its own time.

Copies are at different times, so that this is for systems whose equations do not take the time, and whose
ticks are in the same places of every period in which an action is held.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, cast

import numpy as np

from soacraft.markup import Text
from soacraft.sim.campaigns.batches.evaluation import read_evaluation
from soacraft.sim.campaigns.batches.lane_step import Point
from soacraft.sim.campaigns.batches.lanes import Lanes
from soacraft.sim.campaigns.batches.obstacles import obstacle
from soacraft.sim.clock import positive_nanoseconds
from soacraft.sim.systems.running.noise import Stream
from soacraft.sim.systems.system import System
from soacraft.spatial.checks import Array

_SECOND = 10**9


class Source(Protocol):
    """Builder of copies of a system."""

    every: int
    observed: list[str]
    actions: list[str]
    sizes: list[int]
    shapes: list[tuple[int, ...]]
    low: Array
    high: Array
    seen_size: int

    def built(self, seed: int) -> tuple[System, dict[str, str]]:
        """A new system, and the states that hold actions."""


def obstacle_to_flock(source: Source) -> str:
    """Reason why copies go one by one; empty if they can march as a batch."""
    system, _ = source.built(0)
    why = obstacle(system, [], [])
    if why:
        return why
    crossing = next((path for path, x in sorted(system.diagram.parts.items()) if x.component.interface.crossings), "")
    if crossing:
        return f"{crossing!r} has crossings"
    step = positive_nanoseconds(system.board.how["step"], "step")
    if source.every % step:
        return f"the period of {source.every / 1e9:g} s is no multiple of the step"
    for path, part in sorted(system.diagram.parts.items()):
        timed = next((x.name for x in part.component.interface.equations if "t" in x.arguments), "")
        if timed:
            return f"{timed!r} of {path!r} takes the time, which copies do not share"
        if part.clock is not None and (part.clock.offset or source.every % part.clock.period):
            return f"the period of {source.every / 1e9:g} s is no multiple of the ticks of {path!r}"
    return ""


class _Late:
    """A stream of noise that began at a tick."""

    def __init__(self, stream: Stream, first: int) -> None:
        self._stream, self.first = stream, first

    def at(self, k: int) -> Any:
        return self._stream.at(k - self.first)


class Flock:
    """`count` copies of the system of a source."""

    def __init__(self, source: Source, count: int) -> None:
        self._source, self.count = source, count
        self._system, self._held = source.built(0)
        self._lanes = Lanes(self._system, [], np.zeros((count, 0)), [0] * count)
        self._evaluation = read_evaluation(self._lanes, source.observed)
        self._values = self._evaluation.values()
        self._plants, held = self._evaluation.plants, self._evaluation.equations.held
        self._sampled = {x for keys in held.values() for x in keys}
        size = [sum(len(getattr(x.mb, name)) for x in self._plants) for name in ("q", "v")]
        self._q, self._v = (np.zeros((count, n)) for n in size)
        self._z = {x.key: self._values[x.key] for x in self._evaluation.equations.rates}
        self._clocks = {path: self._system.diagram.parts[path].clock for path in held}
        self._ticked = dict.fromkeys(self._clocks, 0)
        self._stops = self._pattern()

    @property
    def _point(self) -> Point:
        return Point(self._q, self._v, self._z)

    def _pattern(self) -> list[tuple[int, list[str]]]:
        """The ends of steps in a period, and what ticks there."""
        step, every = positive_nanoseconds(self._system.board.how["step"], "step"), self._source.every
        ticks: dict[int, list[str]] = {k * step: [] for k in range(1, every // step + 1)}
        for path, clock in self._clocks.items():
            assert clock is not None
            for k in range(1, int(every / clock.period) + 1):
                ticks.setdefault(clock.at(k), []).append(path)
        return sorted(ticks.items())

    def begin(self, systems: Mapping[int, System]) -> None:
        """Restart some copies, each from a system that is at its start."""
        V = self._values
        for i, system in systems.items():
            for plant in self._plants:
                mb = system.diagram.plants[plant.path].mb
                self._q[i, plant.seat.q], self._v[i, plant.seat.v] = mb.q, mb.v
            for key in V:
                if key in self._lanes.states:
                    V[key] = np.array(V[key])
                    V[key][i] = system.states[key]
                elif key in self._sampled:
                    V[key] = np.array(V[key])
                    V[key][i] = 0
            for name, streams in self._lanes.streams.items():
                shape = np.shape(streams[i].at(self._ticked[name.rpartition(".")[0]]))
                late = _Late(Stream(system.board.seed, name, shape), self._ticked[name.rpartition(".")[0]])
                streams[i] = cast(Stream, late)
        self._z = {key: np.array(x) for key, x in self._z.items()}
        for key, x in self._z.items():
            for i, system in systems.items():
                x[i] = system.states[key]
        self._first_tick([*systems])

    def _first_tick(self, which: list[int]) -> None:
        """The tick at the start, of some alone."""
        if not self._clocks:
            return
        V = self._values
        before = {key: np.array(x) for key, x in V.items() if isinstance(x, np.ndarray)}
        self._evaluation.tick(V, 0.0, self._point, [*self._clocks], self._ticked)
        for streams in self._lanes.streams.values():  # the next tick of these is that after their first
            for i in which:
                cast(_Late, streams[i]).first -= 1
        others = np.setdiff1d(np.arange(self.count), which)
        for key, x in V.items():
            if key in before and isinstance(x, np.ndarray) and x.shape == before[key].shape:
                V[key] = np.array(x)
                V[key][others] = before[key][others]

    def step(self, actions: Mapping[str, Array]) -> None:
        """Hold an action of each copy, (count, ...) by input, for a period."""
        for name, value in actions.items():
            self._values[self._held[name]] = value
        now = 0
        for stop, due in self._stops:
            h = (stop - now) / _SECOND
            end = self._evaluation.step(self._values, now / _SECOND, h, self._point).end
            self._q, self._v, self._z = end
            now = stop
            if due:
                self._evaluation.tick(self._values, now / _SECOND, self._point, due, self._ticked)
                for path in due:
                    self._ticked[path] += 1

    def seen(self) -> dict[str, Array]:
        """Observations {name: array} of all copies."""
        self._evaluation.look(self._values, 0.0, self._point, self._source.observed)
        return {x: np.array(self._values[x]) for x in self._source.observed}


class FlockFleet:
    """Copies of the system of a source as a fleet of environments."""

    def __init__(self, source: Source, count: int, begin: Callable[..., Any] | None) -> None:
        self.count, self.low, self.high, self.every = count, source.low, source.high, source.every
        self.names, self.seen_size, self.start = tuple(source.observed), source.seen_size, 0.0
        self._source, self._begin, self._flock = source, begin, Flock(source, count)

    def begin(self, which: Sequence[int], generators: Sequence[np.random.Generator]) -> None:
        """Restart some copies, each by its generator."""
        systems = {}
        for i in which:
            system, _ = self._source.built(int(generators[i].integers(2**63)))
            if self._begin is not None:
                self._begin(system, generators[i])
            systems[i] = system
        self.start = next(iter(systems.values())).t
        self._flock.begin(systems)

    def advance(self, actions: Array, still: Sequence[int]) -> Mapping[int, str]:
        """Hold an action of each for a period."""
        source, at, held = self._source, 0, {}
        for name, size, shape in zip(source.actions, source.sizes, source.shapes, strict=True):
            held[name] = actions[:, at : at + size].reshape(self.count, *shape)
            at += size
        self._flock.step(held)
        return {}

    def look(self, t: Array) -> dict[str, Array]:
        """Observations {name: array}, with a row for each copy."""
        return self._flock.seen()

    def report(self) -> Text:
        """A text: what they stand on."""
        return Text(f"{self.count} environments, {self.every / 1e9:g} s a step\nsteps: one batch of the system")
