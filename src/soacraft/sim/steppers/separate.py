"""`SeparateMotions`: states of a batch whose steps are not compiled, each taken by itself as runs take theirs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from soacraft.errors import SimulationError, StateError
from soacraft.sim.states.sim_state import SimState
from soacraft.sim.steppers.memory import Memory
from soacraft.sim.steppers.motion import Marks, Motion
from soacraft.sim.steppers.problems import LaneProblems, NotCompiled
from soacraft.sim.steppers.pushes import Pushes, after
from soacraft.sim.steppers.setup import StepperSetup
from soacraft.spatial.checks import Array


class SeparateMotions:
    """A motion for each state, with separate loads, contact, closures and method; `Motion` in all else. A call
    takes the states one after the other, O(states)."""

    is_batch = True

    def __init__(self, setup: StepperSetup) -> None:
        self.problems = LaneProblems(setup)
        self.states, self._keeps = self.problems.states, setup.keeps
        alone = replace(setup, states=None, threads=1, keeps=False)
        self._motions = [
            Motion(replace(alone, method=deepcopy(setup.method)), self.states.row(i), i)
            for i in range(setup.states or 0)
        ]
        self.failed: dict[int, str] = {}

    @property
    def why(self) -> str:
        """Reason why steps are those of runs."""
        return self._motions[0].why or "the states of this stepper go one by one"

    @property
    def is_compiled_between_events(self) -> bool:
        """True if steps of runs are compiled but for those in which something begins or ends to hold."""
        return self.problems.is_compiled_between_events

    def of(self, lane: int) -> tuple[Motion, int]:
        """The motion of a state, and its number there."""
        return self._motions[lane], 0

    # -- what acts ----------------------------------------------------------------------------------------------------

    def follow(self) -> None:
        """Read the model again where it was changed."""
        for motion in self._motions:
            motion.follow()

    def set_pushes(self, pushes: Pushes) -> None:
        """Let these push, and no others."""
        self.problems.pushes = pushes
        for lane, motion in enumerate(self._motions):
            motion.set_pushes({0: pushes[lane]} if lane in pushes else {})

    def set_parameters(self, given: Any, lanes: Sequence[int]) -> None:
        """Parameters are those of the model."""
        raise StateError("its states have the parameters of the model, since their steps are not compiled; edit that.")

    # -- states -------------------------------------------------------------------------------------------------------

    def reset(self, lanes: Sequence[int]) -> None:
        """Let states begin again with the one that all were made with."""
        self._each(lanes, lambda i, motion: motion.reset([0]))

    def put(self, lanes: Sequence[int], q: Array, v: Array) -> None:
        """Let states begin at (q, v), one or a row for each, all of them or none."""
        Q, V = (np.broadcast_to(x, (len(lanes), x.shape[-1])) for x in (q, v))
        self._each(lanes, lambda i, motion: motion.put([0], Q[i], V[i]))

    def sim_state(self, lane: int) -> SimState:
        """The state of one of them as a value."""
        return self._motions[lane].sim_state(0)

    def resume(self, lanes: Sequence[int], state: SimState) -> None:
        """Let states continue from a value that fits, all of them or none; a part of them keeps the time of all."""
        states, together = self.states, len(set(lanes)) == len(self._motions)
        time = (state.ns, state.origin) if together else (states.goal, states.origin)

        def resumed(i: int, motion: Motion) -> None:
            motion.resume([0], state)
            motion.move_time(*time)

        self._each(lanes, resumed)
        states.goal, states.origin = time

    def _each(self, lanes: Sequence[int], change: Callable[[int, Motion], None]) -> None:
        """Change some states, all of them or none. They do not push or fail any more."""
        before = {lane: self._motions[lane].memory for lane in lanes}
        try:
            for i, lane in enumerate(lanes):
                self._motions[lane].move_time(self.states.goal, self.states.origin)
                change(i, self._motions[lane])
        except BaseException:
            self._take_back(before)
            raise
        self.failed = {lane: why for lane, why in self.failed.items() if lane not in before}
        self.problems.pushes = {lane: x for lane, x in self.problems.pushes.items() if lane not in before}

    def _take_back(self, before: dict[int, Memory]) -> None:
        for lane, memory in before.items():
            self._motions[lane].take_back(memory)

    # -- a call -------------------------------------------------------------------------------------------------------

    def go(self, goal: int, marks: Marks | None = None, note: Callable[[], None] | None = None) -> None:
        """All states on to a nanosecond; after an error all are as they were before the call. `note` is called at each
        nanosecond that `marks` gives."""
        states = self.states
        before = {lane: x.memory for lane, x in enumerate(self._motions)}
        now, failed, pushes = states.goal, self.failed, self.problems.pushes
        try:
            while states.goal < goal:
                until = goal if marks is None else min(goal, marks(states.goal))
                for lane, motion in enumerate(self._motions):
                    if lane not in self.failed:
                        self._onward(lane, motion, until)
                states.goal = until
                if note is not None:
                    note()
        except BaseException:
            self._take_back(before)
            states.goal, self.failed, self.problems.pushes = now, failed, pushes
            raise
        self.problems.pushes = after(pushes, goal)

    def _onward(self, lane: int, motion: Motion, goal: int) -> None:
        try:
            motion.go(goal)
        except SimulationError as wrong:
            if not self._keeps:
                raise
            self.failed = {**self.failed, lane: str(wrong)}
            motion.failed = {0: str(wrong)}


def motion_of(setup: StepperSetup) -> Motion | SeparateMotions:
    """The motion of a stepper: compiled lanes, one state, or several whose steps are taken one by one."""
    try:
        return Motion(setup)
    except NotCompiled:
        if not setup.is_batch or setup.parameters is not None:
            raise
    return SeparateMotions(setup)
