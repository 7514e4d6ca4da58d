"""`Lanes`: the compiled steps of all states, compiled again after changes of the model."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft.errors import SoacraftError, StateError
from soacraft.sim.compiled import CompiledMotion, LaneArrays, Setting, kernels_and_frames
from soacraft.sim.compiled_parts import chain_of
from soacraft.sim.forces.compiled_contact import ContactLog
from soacraft.sim.forces.contact_steps import ContactStep, steps_of
from soacraft.sim.integrators.steps import Method
from soacraft.sim.steppers.problems import LaneProblems
from soacraft.sim.system import Mechanism
from soacraft.spatial.checks import Array

#: Answers of compiled lanes other than the number of one that Python should go on with (core/sim/lanes_binding.cpp).
DONE, CHANGED, NOT_FINITE, BUSY = -1, -2, -3, -4


class Last(NamedTuple):
    """The last step of a state: contacts, their mean generalized force, accelerations, length in seconds."""

    touched: ContactStep | None = None
    force: Array | None = None
    vdot: Array | None = None
    length: float = 0.0


class Lanes:
    """Compiled steps, if they are `compiled`: else `why` says why they are not. States of `recorded` have their work
    and contacts counted. `last` is known of these, and of a single state."""

    def __init__(
        self, problems: LaneProblems, method: Method, step: int | None, stops: npt.NDArray[np.int64], threads: int
    ) -> None:
        self._problems, self._states, self._method, self._step = problems, problems.states, method, step
        self._stops, self._threads = stops, threads
        self._core: Any = None
        self._solver: object = None
        self._shapes: tuple[str, ...] = ()
        self.compiled, self.why = False, ""
        self._models: dict[int, Mechanism] = {}  # of states whose functions may read their parameters
        self.recorded: set[int] = set()
        self._last: dict[int, Last] = {0: Last()}  # of steps that Python took, and before the first one

    def make(self, varied: bool) -> None:
        """Read the model, and compile the steps if they can be."""
        problems, contact = self._problems, self._problems.base.contact
        for lane in {*self.recorded, *([] if problems.is_batch else [0])}:
            self._last[lane] = self.last(lane)  # what it left is in lanes that end here
        self._core, self.compiled, self.why = None, False, problems.obstacle()
        contact.follow()
        self._shapes = contact.shapes
        if not self.why:
            self._compile()
        problems.require_compiled(self.why, varied)

    def _compile(self) -> None:
        problems, states = self._problems, self._states
        problem = problems.base
        chain = problems.chain(problem, 0)
        if problem.is_closed and chain is None:
            self.why = "compiled code does not know its closures"
            return
        places = list(problem.loads)
        driven = np.array([places.index(x) for x in problems.driven], dtype=np.int64)
        arrays = LaneArrays(
            states.x, states.theta, states.u, states.now, states.impulses, driven, len(places) - 1, self._stops,
            self._step or 0, states.origin, self._threads,
        )  # fmt: skip
        core = CompiledMotion(problem, self._method).lanes(arrays, chain)
        if not core.ready:
            self.why = "compiled code does not know the model in its present form"
            return
        self._core, self.compiled, self._solver = core, True, None if chain is None else chain.solver
        if problems.parameters is not None:
            problems.parameters.follow(problem)
        for lane in self.recorded if problems.parameters is None else range(len(states)):
            self.make_own(lane)
        for lane in problems.pushes:
            self.push(lane)

    def make_own(self, lane: int) -> None:
        """Let a state have other parameters than the rest, or be recorded."""
        if self._core is None:
            return
        kernels, setting = self._setting_of(self._problems.of(lane), lane)
        if setting.functions is not None and self._problems.parameters is not None:  # they may read their model
            problem = self._models[lane] = self._problems.another(lane)
            kernels, setting = self._setting_of(problem, lane)
        if not self._core.set_own(lane, kernels, setting, lane not in self.recorded):
            name = self._problems.base.mb.name
            raise StateError(f"compiled code does not know the parameters of state {lane} of {name!r}.")
        if lane in self._problems.pushes:
            self.push(lane)

    def _setting_of(self, problem: Mechanism, lane: int) -> tuple[Any, Setting]:
        problem.contact.follow()
        return CompiledMotion(problem, self._method).of_lane(self._problems.chain(problem, lane))

    def push(self, lane: int) -> None:
        """Let what pushes a state be known."""
        if self._core is None:
            return
        mb = self._problems.of(lane).mb
        if not self._core.push(lane, *kernels_and_frames(mb), self._problems.wrenches(lane, mb)):
            raise StateError(f"compiled steps of {mb.name!r} cannot read what pushes state {lane}.")

    def chosen(self, lane: int) -> None:
        """Compile the closures again if their solver chose other dofs in a step that Python took."""
        problem = self._problems.of(lane)
        q, v, _ = problem.parts(self._states.x[lane])
        chain = chain_of(problem, q, v)
        if chain is None or not self._states.follows:
            return
        self._states.theta[lane] = chain.theta
        if self._problems.parameters is not None:
            self.make_own(lane)
        elif self._core is not None and chain.solver is not self._solver:
            self._compile()

    def walk_alone(self, goal: int) -> int:
        """The only state on to a nanosecond: what compiled lanes answer."""
        answer: int = BUSY
        try:
            answer = self._core.advance(goal)
        except SoacraftError:
            answer = 0
        finally:
            if self._last and (answer == DONE or self._states.now[0] != self._states.goal):
                self._last.clear()
        return answer

    def walk(self, goal: int) -> int:
        """All on to a nanosecond: what compiled lanes answer."""
        now = self._states.now
        watched = [*self.recorded] if self._problems.is_batch else [0]
        before = [int(now[i]) for i in watched]
        try:
            return self._advanced(goal)
        finally:
            for lane, ns in zip(watched, before, strict=True):
                if now[lane] != ns:
                    self._last.pop(lane, None)

    def _advanced(self, goal: int) -> int:
        """Answer of compiled lanes: if a function failed, the number of the state whose step it is, which Python takes
        again to raise the error."""
        try:
            return int(self._core.advance(goal))
        except SoacraftError:
            return int(np.argmax(self._states.now < goal))

    def record(self, lane: int, wanted: bool) -> None:
        """Let work and contacts of a state be counted, or no longer."""
        before = self.last(lane) if lane in self.recorded or not self._problems.is_batch else Last()
        self.recorded = self.recorded | {lane} if wanted else self.recorded - {lane}
        if wanted or self._problems.parameters is not None:
            self.make_own(lane)
        elif self._core is not None:
            self._core.share(lane)
        self._last[lane] = before

    def keep_last(self, lane: int, last: Last) -> None:
        """Take the last step of a state from one that took it in Python."""
        self._last[lane] = last

    def last(self, lane: int) -> Last:
        """The last step of a state that is alone or recorded."""
        if lane in self._last or self._core is None:
            return self._last.get(lane, Last())
        log, force, rates, length = self._core.last(lane)
        if not length > 0.0 or rates is None:
            return Last()
        problem = self._problems.base
        touched = steps_of(ContactLog(self._shapes, *log)) if problem.contact.touches else []
        _, v, _ = problem.parts(self._states.x[lane])
        vdot = problem.coordinates.own(v, rates[0]) if self._method.touches else None
        return Last(touched[-1] if touched else None, None if force is None else force[0], vdot, length)
