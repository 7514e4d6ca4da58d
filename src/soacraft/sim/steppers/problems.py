"""`LaneProblems`: what acts on each state, and why its steps are not compiled."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from soacraft.errors import StateError
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.multibody import Multibody
from soacraft.results import refuse_large
from soacraft.sim.closed import Chain
from soacraft.sim.compiled_parts import chain_of
from soacraft.sim.engine import engine_of
from soacraft.sim.forces.contact import Contact
from soacraft.sim.forces.drives import Control
from soacraft.sim.forces.push import Push
from soacraft.sim.problem.run_problem import RunProblem
from soacraft.sim.steppers.names import driven_control
from soacraft.sim.steppers.parameters import LaneParameters
from soacraft.sim.steppers.pushes import Pushed, Pushes, wrenches_of
from soacraft.sim.steppers.setup import StepperSetup
from soacraft.sim.steppers.states import LaneStates
from soacraft.sim.system import Mechanism
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.wrench import Wrench


class NotCompiled(StateError):
    """Several states whose steps are not compiled."""


class LaneProblems:
    """The problem of all states, `base`, with controls that are not those of the propagator; `parameters` and `pushes`
    differ from state to state."""

    def __init__(self, setup: StepperSetup, rows: LaneStates | None = None) -> None:
        acting, names = setup.acting, setup.names
        self._acting, self._method, self._step, self._names = acting, setup.method, setup.step, names
        self.is_batch = setup.is_batch
        count, mb = setup.states or 1, acting.mb
        self.driven = [driven_control(mb, name) for name in names]
        self.base = self._made(self.driven)
        size = mb.nq + mb.nv + len(self.base.names)
        refuse_large((count, size), f"the states of a stepper of {mb.name!r}", "Take fewer states.")
        refuse_large((count, len(names)), f"u of a stepper of {mb.name!r}", "Take fewer states.")
        self.states = LaneStates(count, size, len(names), setup.now) if rows is None else rows
        for i, name in enumerate(names):
            self.states.u[:, i] = acting.numbers.get(name, 0.0)
        self.parameters: LaneParameters | None = None
        self.pushes: Pushes = {}

    @property
    def names(self) -> Sequence[str]:
        """The names of the controls that are driven."""
        return self._names

    @property
    def mb(self) -> Multibody:
        """The model, if its structure is still the one it was."""
        return self._acting.mb

    def vary(self, parameters: Any) -> None:
        """Let parameters differ from state to state."""
        self.parameters = LaneParameters(self.base, self._method, parameters, len(self.states), not self.is_batch)

    def _made(self, driven: Sequence[Control]) -> Mechanism:
        """All that acts on the propagator, with copies of its controls, and contact and closures without a memory."""
        acting, mb = self._acting, self._acting.mb
        loads: list[Any] = []
        for load in [*acting.loads, *(x for name, x in acting.controls.items() if name not in self._names)]:
            if isinstance(load, Contact):
                load = load.another()
            elif isinstance(load, Control):
                load = copy(load)  # its number stays the one of now
            elif getattr(load, "switches", False):
                load = copy(load)  # it holds and lets go by itself
            loads.append(load)
        prescribed = acting.prescribed.kept if acting.prescribed.dofs else None
        push = Push()
        push.bind(mb)
        closures = acting.closures.copied()
        breaks = acting.description.breaks
        return Mechanism(RunProblem.of(mb, [*loads, *driven, push], prescribed, closures, breaks=breaks))

    def of(self, lane: int) -> Mechanism:
        """The problem with the parameters of a state."""
        return self.base if self.parameters is None else self.parameters.at(lane)

    def require_apart(self, lanes: Sequence[int], Q: Array) -> None:
        """Refuse states of a batch that begin with shapes in each other, each with its own placements."""
        if self.parameters is None or not self.parameters.places:
            require_apart(self.base, lanes, Q)
            return
        for i, lane in enumerate(lanes):
            require_apart(self.of(lane), [lane], Q[i : i + 1])

    def prepared(self, lane: int) -> Mechanism:
        """Problem of a state, with its controls, pushes and closures set."""
        problem = self.of(lane)
        self.prepare(problem, lane)
        return problem

    def another(self, lane: int) -> Mechanism:
        """Another problem with the parameters of a state, whose contact remembers nothing of its steps."""
        if self.parameters is not None:
            return self.parameters.another(self.base, lane)
        return self._made([copy(x) for x in self.driven])

    def prepare(self, problem: Mechanism, lane: int, pushes: Sequence[Pushed] | None = None) -> None:
        """Let a problem have the numbers of controls, the pushes (else those of now) and the turns of closures of a
        state."""
        u = finite(self.states.u[lane], (None,), f"u of the stepper of {problem.mb.name!r}", StateError)
        numbers = dict(zip(self._names, u.tolist(), strict=True))
        for load in problem.loads:
            if isinstance(load, Control) and load.name in numbers:
                load.set(numbers[load.name])
        push = problem.loads[-1]
        wrenches = self.wrenches(lane, problem.mb, pushes)
        if wrenches or (isinstance(push, Push) and push.wrenches):
            new = Push(wrenches)
            new.bind(problem.mb)
            problem.replace(push, new)
        if self.states.follows:
            problem.closures.follow(self.states.theta[lane].copy())

    def wrenches(self, lane: int, mb: Multibody, pushes: Sequence[Pushed] | None = None) -> dict[Frame, Wrench]:
        """Wrenches that push a state, on the model or on a copy of it."""
        pushes = self.pushes.get(lane, ()) if pushes is None else pushes
        return wrenches_of(pushes, None if mb is self._acting.mb else mb)

    def chain(self, problem: Mechanism, lane: int) -> Chain | None:
        """Chain for compiled steps of a closed chain, at the state, which is on its closures."""
        closures = problem.closures
        if not closures.is_closed:
            return None
        q, v, _ = problem.parts(self.states.x[lane])
        if self.states.follows:
            closures.follow(self.states.theta[lane].copy())
        closures.accelerations(q, v, np.zeros(len(v)))  # which makes the plan
        return chain_of(problem, q, v)

    @property
    def jumps(self) -> bool:
        """True if a force jumps at times that steps must respect."""
        return any(x.jumps for x in self._acting.breaks)

    def obstacle(self) -> str:
        """Reason why steps are not those of compiled lanes; empty if they are."""
        problem, mb = self.base, self._acting.mb
        if not mb.nv:
            return "it has no dofs"
        if self._method.adaptive or self._step is None:
            return f"{self._method.name!r} chooses its steps"
        holds = problem.holds.all
        return self._engine_reason() or (f"{holds[0].name!r} is a {type(holds[0]).__name__}" if holds else "")

    @property
    def is_compiled_between_events(self) -> bool:
        """True if steps of runs are compiled but for those in which something begins or ends to hold."""
        return bool(self.base.holds.all) and not self._engine_reason()

    def _engine_reason(self) -> str:
        problem = self.base.description
        loads = tuple(x for x in problem.loads if not isinstance(x, Push))
        return engine_of(replace(problem, loads=loads), self._method).reason

    def require_compiled(self, why: str, varied: bool) -> None:
        """Raise for several states, or for parameters of their own, whose steps are not compiled."""
        if why and self.is_batch:
            cure = "edit the model" if varied else "make the stepper again, p.stepper(states=...)"
            raise NotCompiled(f"steps of several states are compiled, and here {why}; {cure}.")
        if why and varied:
            raise StateError(f"steps with parameters of their own are compiled, and here {why}; edit the model.")


def require_apart(problem: Mechanism, lanes: Sequence[int], Q: Array) -> None:
    """Refuse states that begin with shapes in each other, and take the start as looked at."""
    touch = problem.contact
    touch.begin_batch(Q, lanes, "stepper")
    touch.recall(True)
