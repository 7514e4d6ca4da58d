"""`Switching`: the instants within steps at which loads of a stepper hold, let go or strike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from soacraft.model.states.state import State
from soacraft.sim.breaks import Breaks
from soacraft.sim.clock import Instant
from soacraft.sim.events import UNSEEN, Event, Signs, Watch, with_time
from soacraft.sim.forces.evaluation import States
from soacraft.sim.forces.holds import Hold
from soacraft.sim.stride import StepMemory, Stride, Taken
from soacraft.sim.system import Mechanism
from soacraft.spatial.checks import Array


class SwitchMemory(NamedTuple):
    """Sides on which loads hold, signs of their margins, and the times of their last switches."""

    modes: tuple[float, ...] = ()
    signs: Mapping[str, float] = MappingProxyType({})
    happened: tuple[int, ...] = ()


class Switching:
    """Loads of a problem that stick, or stop their dof: looked for in each step, as runs do. Without such loads it does
    nothing."""

    def __init__(self, problem: Mechanism) -> None:
        self._problem, self._states = problem, States(problem.mb)
        self._watch, self._signs = Watch(self._state_at), UNSEEN
        for hold in problem.holds.all:
            self._watch.events.append(Event(hold.name, partial(self._margin, hold), -1, hold=hold))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the loads, in their order."""
        return tuple(x.name for x in self._watch.events)

    @property
    def is_clear(self) -> bool:
        """True if nothing is about to hold or to let go, so that compiled steps may look for it."""
        return self._watch.holds_are_clear(self._signs)

    @property
    def memory(self) -> SwitchMemory:
        """All that the next step depends on other than the point."""
        signs = self._signs
        return SwitchMemory(tuple(x.mode for x in self._problem.holds.all), signs.values, signs.happened)

    def recall(self, memory: SwitchMemory) -> None:
        """Go on from what was kept; without modes they follow from the state when steps begin."""
        self._signs = Signs(memory.signs, happened=memory.happened)
        for hold, mode in zip(self._problem.holds.all, memory.modes, strict=False):
            hold.mode = mode

    def forget(self) -> None:
        """The next state has nothing to do with the last."""
        self._signs = UNSEEN

    def settled(self, t: float, x: Array) -> Array:
        """The point at which steps begin, with all holding that is at rest and can hold."""
        holds = self._problem.holds
        if not holds.all:
            return x
        holds.require_inside(x)
        x = self._problem.begun(t, holds.settle(t, x, ()))
        self._signs = self._watch.moved(self._signs, t, x)
        return x

    def taken(
        self,
        stride: Stride,
        memory: StepMemory,
        now: Instant,
        x: Array,
        w: Array,
        until: int,
        breaks: Sequence[Breaks],
    ) -> tuple[Taken, Array]:
        """A step, cut at the first instant at which a load switches, and the point there after the switch."""
        problem, watch = self._problem, self._watch
        taken = stride.take(problem, memory, now, x, w, stride.stop(memory.origin, now, until), breaks)
        crossing, signs = watch.find(self._signs, taken.step)
        if crossing is not None:
            taken, crossing, signs = stride.cut(problem, taken, now, crossing, watch, signs, breaks)
        x, t = taken.step.x1, taken.end.seconds
        problem.holds.require_kept(x)
        if crossing is not None:
            signs = watch.crossed(with_time(signs, taken.end.ns, crossing), crossing)
            values = watch.values(t, x)
            holds = [y.hold for y in crossing.events if y.hold is not None]
            x = problem.settle(t, problem.holds.settle(t, x, holds), True)
            signs = watch.moved(signs, t, x, values)
        self._signs = signs
        return taken, x

    def _margin(self, hold: Hold, t: float, state: State) -> float:
        return hold.margin(self._problem, t, state)

    def _state_at(self, x: Array) -> State:
        q, v, _ = self._problem.parts(x)
        return self._states.of(np.array(q), np.array(v))
