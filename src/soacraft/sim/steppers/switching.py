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
from soacraft.sim.events import Event, Watch
from soacraft.sim.forces.evaluation import States
from soacraft.sim.forces.holding import Hold
from soacraft.sim.integrators.steps import Step
from soacraft.sim.stride import Stride
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
        self._watch = Watch(self._state_at)
        for hold in problem.holds.all:
            self._watch.events.append(Event(hold.name, partial(self._margin, hold), -1, hold=hold))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the loads, in their order."""
        return tuple(x.name for x in self._watch.events)

    @property
    def is_clear(self) -> bool:
        """True if nothing is about to hold or to let go, so that compiled steps may look for it."""
        return self._watch.holds_are_clear

    @property
    def memory(self) -> SwitchMemory:
        """All that the next step depends on besides the point."""
        signs, happened = self._watch.memory
        return SwitchMemory(tuple(x.mode for x in self._problem.holds.all), signs, tuple(happened))

    def recall(self, memory: SwitchMemory) -> None:
        """Go on from what was kept; without modes they follow from the state when steps begin."""
        self._watch.recall(memory.signs, memory.happened)
        for hold, mode in zip(self._problem.holds.all, memory.modes, strict=False):
            hold.mode = mode

    def forget(self) -> None:
        """The next state has nothing to do with the last."""
        self._watch.recall({}, ())

    def settled(self, t: float, x: Array) -> Array:
        """The point at which steps begin, with all holding that is at rest and can hold."""
        holds = self._problem.holds
        if not holds.all:
            return x
        holds.require_inside(x)
        x = self._problem.begun(t, holds.settle(t, x, ()))
        self._watch.moved(t, x)
        return x

    def taken(
        self, stride: Stride, now: Instant, x: Array, w: Array, until: int, breaks: Sequence[Breaks]
    ) -> tuple[Step, Instant, Array]:
        """A step, cut at the first instant at which a load switches; where it ends, and the point there after the
        switch."""
        problem, watch = self._problem, self._watch
        step, end, error = stride.take(problem, now, x, w, stride.stop(now, until), breaks)
        crossing = watch.find(step)
        if crossing is not None:
            step, end, _, crossing = stride.cut(problem, (step, end, error), now, crossing, watch, breaks)
        problem.holds.require_kept(step.x1)
        x = step.x1
        if crossing is not None:
            t = end.seconds
            watch.check_storm(end.ns, crossing)
            watch.crossed(crossing)
            values = watch.values(t, x)
            holds = [y.hold for y in crossing.events if y.hold is not None]
            x = problem.settle(t, problem.holds.settle(t, x, holds), True)
            watch.moved(t, x, values)
        return step, end, x

    def _margin(self, hold: Hold, t: float, state: State) -> float:
        return hold.margin(self._problem, t, state)

    def _state_at(self, x: Array) -> State:
        q, v, _ = self._problem.parts(x)
        return self._states.of(np.array(q), np.array(v))
