"""Ticks of sampled components: outputs in order, then all updates at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from soacraft.errors import SimulationError, SoacraftError
from soacraft.sim.systems.running.calls import Call, Knot, Ticking, calls_of, getter
from soacraft.sim.systems.running.noise import Stream
from soacraft.sim.systems.running.schedule import Schedule
from soacraft.sim.systems.running.values import Steps, Values, total_of
from soacraft.spatial.checks import Array


class Due(NamedTuple):
    """Work of an instant at which some clocks tick together."""

    before: Steps
    behind: Steps
    reads_vdot: bool
    updates: list[Call]
    next: list[tuple[Callable[..., Any], Callable[[list[Any]], tuple[Any, ...]]]]
    slots: list[int]
    numbers: list[int]
    """Updates that give numbers,"""
    arrays: list[int]
    """and that give arrays."""
    outputs: Callable[[list[Any]], tuple[Any, ...]]
    """Outputs that are numbers,"""
    wide: Callable[[list[Any]], tuple[Any, ...]]
    """and that are arrays."""
    streams: list[tuple[int, Stream, int]]
    """Slots of noise, where it comes from, and the clock."""
    calls: tuple[Sequence[Call | Knot], Sequence[Call | Knot]]
    """Calls of `before` and `behind`,"""
    output_slots: list[int]
    """and the slots of all outputs."""


class Ticks:
    """The clocks of a system, and how often each has ticked."""

    def __init__(self, schedule: Schedule, values: Values) -> None:
        self._s, self._values = schedule, values
        self.origin = 0
        """The nanosecond from which ticks are counted."""
        self.clocks = sorted({x.clock for x in schedule.ticking})
        self.counts = [0] * len(self.clocks)
        """The number of the next tick of each clock."""
        self._dues = [x.at(0) for x in self.clocks]
        self._due: dict[tuple[int, ...], Due] = {}

    def set_counts(self, counts: Sequence[int]) -> None:
        """Be where these are the numbers of the next ticks."""
        self.counts[:] = counts
        self._dues = [x.at(k) for x, k in zip(self.clocks, counts, strict=True)]

    def begin(self, ns: int) -> None:
        """Ticks are counted from the start of the system; those before this nanosecond are past."""
        for i, clock in enumerate(self.clocks):
            if self.counts[i] and clock.at(self.counts[i] - 1) + self.origin > ns:
                raise SimulationError(
                    f"the last run ended with an error before its last rows, and components that tick {clock} are "
                    f"ahead of t = {ns / 1e9:.9g} s. Make another system."
                )
            if self._dues[i] + self.origin < ns:
                self.counts[i] = clock.first_from(ns - self.origin)
                self._dues[i] = clock.at(self.counts[i])

    @property
    def next(self) -> int | None:
        """The nanosecond of the next tick."""
        return min(self._dues) + self.origin if self._dues else None

    def tick(self, ns: int, accelerations: Callable[[], Array], accelerate: Callable[[Array], None]) -> None:
        """y[k] = g(x[k], u[k]) in order, then x[k+1] = f(x[k], u[k]) of all at once."""
        at = ns - self.origin
        which = tuple([i for i, when in enumerate(self._dues) if when == at])
        self._take(self.due_at(which), self.counts, accelerations, accelerate)
        for i in which:
            self.counts[i] += 1
            self._dues[i] = self.clocks[i].at(self.counts[i])

    def tick_late(self, parts: Collection[str], ns: int, vdot: Array, accelerate: Callable[[Array], None]) -> None:
        """Let components that are new tick too, where their clocks ticked at this nanosecond already."""
        last = [k - 1 for k in self.counts]
        just = {x for x, k in zip(self.clocks, last, strict=True) if k >= 0 and x.at(k) + self.origin == ns}
        late = [x for x in self._s.ticking if x.path in parts and x.clock in just]
        if late:
            self._take(self._due_of(late), last, lambda: vdot, accelerate)

    def _take(
        self,
        due: Due,
        counts: Sequence[int],
        accelerations: Callable[[], Array],
        accelerate: Callable[[Array], None],
    ) -> None:
        V = self._values.values
        for slot, stream, i in due.streams:
            V[slot] = stream.at(counts[i])
        self._values.walk(due.before)
        if due.reads_vdot:
            accelerate(accelerations())
            self._values.walk(due.behind)
        try:
            new = [f(*get(V)) for f, get in due.next]
        except SoacraftError:
            raise
        except Exception as wrong:
            raise self._values.first_broken(due.updates, wrong) from wrong
        total = total_of([new[i] for i in due.numbers]) + total_of(due.outputs(V))
        for i in due.arrays:
            self._values.require_shape(due.updates[i], new[i], V[due.slots[i]].shape)
            total += new[i].sum()
        for array in due.wide(V):
            total += array.sum()
        if total - total != 0.0:
            self._values.blame(due.updates, new)
        for slot, value in zip(due.slots, new, strict=True):
            V[slot] = value

    def due_at(self, which: tuple[int, ...]) -> Due:
        """Work of an instant at which these clocks tick together."""
        return self._due.get(which) or self._due.setdefault(which, self._due_at(which))

    def _due_at(self, which: Sequence[int]) -> Due:
        """Work of that instant, computed. Calls that were evaluated for the rates are left out, but for those that
        come after an output that is new now."""
        clocks = [self.clocks[i] for i in which]
        return self._due_of([x for x in self._s.ticking if x.clock in clocks])

    def _due_of(self, ticking: Sequence[Ticking]) -> Due:
        """Work of an instant at which these components tick."""
        s = self._s
        before, behind, reads = s.at_tick([x.path for x in ticking])
        outputs = sorted(key for x in ticking for key in x.outputs)
        late = s.downstream(outputs)
        done = {id(x) for part in s.stage for x in part}
        fresh = [x for x in before if id(x) not in done or any(y.key in late for y in calls_of(x))]
        updates = [call for x in ticking for call in x.updates]
        slots = [x.slot for x in updates]
        is_wide = [isinstance(self._values.values[i], np.ndarray) for i in slots]
        shaped = [(s.slots[key], isinstance(self._values.values[s.slots[key]], np.ndarray)) for key in outputs]
        return Due(
            self._values.steps(fresh),
            self._values.steps(behind),
            reads,
            updates,
            [(x.function, x.get) for x in updates],
            slots,
            [i for i, wide in enumerate(is_wide) if not wide],
            [i for i, wide in enumerate(is_wide) if wide],
            getter([slot for slot, wide in shaped if not wide]),
            getter([slot for slot, wide in shaped if wide]),
            [(slot, stream, self.clocks.index(x.clock)) for x in ticking for slot, stream in x.streams],
            (fresh, behind),
            [slot for slot, _ in shaped],
        )
