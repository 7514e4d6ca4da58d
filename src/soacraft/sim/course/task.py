"""`RunTask`: parts of a run other than its state: the problem, the method, where to, and who follows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import msgspec

from soacraft.model.states.state import State
from soacraft.progress import Bar
from soacraft.sim.acting import Acting
from soacraft.sim.course.state import RunState
from soacraft.sim.events import Watch
from soacraft.sim.forces.user_calls import Integers
from soacraft.sim.integrators.steps import Method
from soacraft.sim.runs.clocked import Pace
from soacraft.sim.runs.outputs import Keeping
from soacraft.sim.runs.recorder import Recorder
from soacraft.sim.stability import Stability
from soacraft.sim.stride import Stride
from soacraft.sim.system import Mechanism

#: Answer of `Look.look` if it has changed a value that rates depend on.
CHANGED = "changed"


class Look(Protocol):
    """Server that looks at a run between its steps."""

    def look(self, taken: int) -> str:
        """Answer after so many steps since the last look: "" to go on, `CHANGED` where values of what is carried along
        are others now, anything else to end the run, as what stopped it."""

    @property
    def ahead(self) -> int:
        """Number of steps that may be taken before the next look, where they are compiled; at least one is."""


class Callback(NamedTuple):
    """A function of the user that is called at multiples of its period from `since` on, both in nanoseconds."""

    since: int
    period: int
    function: Callable[[float, State], Any]


class RunParts(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """Parts that all runs of one propagator share."""

    acting: Acting
    method: Method
    rtol: float
    stride: Stride
    watch: Watch
    stability: Stability
    callbacks: list[Callback]
    visit: Integers
    """(1): the nanosecond of the visit that goes on between compiled steps, `BEFORE_ALL` where none does."""

    @property
    def problem(self) -> Mechanism:
        """The problem of the present run."""
        return self.acting.problem


class RunTask(RunParts, frozen=True, eq=False, kw_only=True):
    """A run to a nanosecond, or to the first of the events named `until`."""

    goal: int
    until: frozenset[str]
    recorder: Recorder
    bar: Bar | None
    """Bar that shows the run; None without one."""
    keeping: Keeping
    clock: Pace | None
    look: Look | None
    show: Callable[[RunState], RunState]
    """Makes a state the one that `p.t` is of, and that a failure begins from; gives it back."""
