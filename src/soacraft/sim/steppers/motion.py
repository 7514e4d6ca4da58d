"""`Motion`: states that go on side by side, by compiled lanes or by the steps of runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from soacraft.errors import SimulationError, SoacraftError, StateError
from soacraft.sim.breaks import window
from soacraft.sim.clock import Instant
from soacraft.sim.compiled_parts import chain_of
from soacraft.sim.forces.contact_impulses import as_table
from soacraft.sim.forces.contact_steps import ContactDiary
from soacraft.sim.integrators.steps import Step
from soacraft.sim.problem.no_contact import NoContact
from soacraft.sim.stability import Stability
from soacraft.sim.states.sim_state import SimState
from soacraft.sim.steppers.failure import failure_of
from soacraft.sim.steppers.lanes import BUSY, CHANGED, DONE, NOT_FINITE, Lanes, Last
from soacraft.sim.steppers.memory import Memory
from soacraft.sim.steppers.problems import LaneProblems, require_apart
from soacraft.sim.steppers.pushes import Pushes, after, same_wrenches
from soacraft.sim.steppers.setup import StepperSetup
from soacraft.sim.steppers.sim_states import fixed_controls, point_of, require_fit, state_of
from soacraft.sim.steppers.states import LaneStates
from soacraft.sim.steppers.switches import Switching, SwitchMemory
from soacraft.sim.steppers.watch import Looks
from soacraft.sim.stride import StepMemory, Stride
from soacraft.sim.system import Mechanism
from soacraft.spatial.checks import Array, finite

#: End of times, in nanoseconds; also the time of a state that failed and takes no steps.
_LAST = 2**62
#: Function that gives the next nanosecond, from one on, at which something is to be noted.
Marks = Callable[[int], int]


class Motion:
    """States under way, what acts on them, and their steps. `failed` are states that take none, with the reason.

    `row` are the arrays of a single state that is `number` among others, each in a separate motion
    (`SeparateMotions`).
    """

    def __init__(self, setup: StepperSetup, row: LaneStates | None = None, number: int | None = None) -> None:
        acting, method = setup.acting, setup.method
        self._acting, self._method, self._step, self._keeps = acting, method, setup.step, setup.keeps
        self._varied, self._number = setup.parameters is not None, number
        self._mb, self._acting_forces = acting.mb, acting.mb.acting_forces  # always the same dictionary
        self.problems = LaneProblems(setup, row)
        self._switching = Switching(self.problems.base)
        self.states, self.is_batch = self.problems.states, setup.is_batch
        self._breaks = acting.breaks
        self._stops = [ns for x in self._breaks for ns in x.ns]
        stops = np.unique(np.array(self._stops, dtype=np.int64))
        self.lanes = Lanes(self.problems, method, self._step, stops, setup.threads)
        self._stride, self._stability = Stride(method, setup.rtol, self._step, setup.longest), Stability(method)
        self._step_memory = StepMemory(setup.now)
        self._looks = Looks(method, self._step, method.limited and bool(acting.mb.nv))
        self.failed: dict[int, str] = {}
        self._begins = False  # True while contact takes out what a state began with in each other
        self._first_turns: Array | None = None
        self._start = np.array(acting.mb.q), np.array(acting.mb.v)
        self._committed = self._switching.memory
        if self.is_batch or self._varied:
            self.problems.require_compiled(self.problems.obstacle(), self._varied)
        if self._varied:
            self.problems.vary(setup.parameters)
        self.put(range(len(self.states)), *self._start)
        self._make()

    # -- what acts, and what differs from state to state ----------------------------------------------------------

    def _make(self) -> None:
        self.lanes.make(self._varied)
        mb, touch = self._acting.mb, self.problems.base.contact
        self._revision, self._forces = mb.revision, dict(mb.acting_forces)
        self._scene_revision = touch.revision
        self._looks.soon(self.states.goal)

    @property
    def _scene_changed(self) -> bool:
        return self.problems.base.contact.revision != self._scene_revision

    def follow(self) -> None:
        """Read the model again where it was changed; shapes that are in each other now are taken out, or refused in a
        batch, as at a start."""
        mb, touch = self._acting.mb, self.problems.base.contact
        if mb.revision == self._revision and not self._scene_changed and same_wrenches(self._forces, mb.acting_forces):
            return
        if self._varied and self.lanes.recorded:
            raise StateError(
                f"{mb.name!r} was edited while a state with other parameters is recorded; end that with "
                "recording.stop() before."
            )
        self._make()
        if touch.began or not touch.touches:
            return
        q = self.states.x[:, : mb.nq]
        try:
            if self.is_batch:
                self.problems.require_apart(range(len(q)), np.ascontiguousarray(q))
            else:
                touch.begin(self.states.goal / 1e9, q[0].copy())
                self._begins = touch.takes_out
        except SoacraftError:
            self._revision = -1  # looked at again in the next call
            raise

    def set_pushes(self, pushes: Pushes) -> None:
        """Let these push, and no others."""
        before, self.problems.pushes = self.problems.pushes, pushes
        for lane in {*before, *pushes}:
            if before.get(lane) != pushes.get(lane):
                self.lanes.push(lane)

    def set_parameters(self, given: Any, lanes: Sequence[int]) -> None:
        """Give some states other parameters: all of them, or none where one is refused."""
        parameters = self.problems.parameters
        if parameters is None:
            raise StateError(
                "its states have the parameters of the model; name those that differ in p.stepper(parameters=...)."
            )
        recorded = self.lanes.recorded & set(lanes)
        if recorded:
            raise StateError(f"state {min(recorded)} is recorded: end that with recording.stop() first.")
        nq = self._acting.mb.nq

        def check(problem: Mechanism, lane: int) -> None:
            if problem.contact.touches and parameters.places:
                require_apart(problem, [lane], self.states.x[lane : lane + 1, :nq].copy())

        parameters.take(parameters.changed(given, lanes, check))
        for lane in lanes:
            self.lanes.make_own(lane)

    # -- states -----------------------------------------------------------------------------------------------------

    def reset(self, lanes: Sequence[int]) -> None:
        """Let states begin again with the one that all were made with."""
        self.put(lanes, *self._start)

    def put(self, lanes: Sequence[int], q: Array, v: Array) -> None:
        """Let states begin at (q, v), one or a row for each, all of them or none."""
        states, problem = self.states, self.problems.base
        Q, V = (np.broadcast_to(x, (len(lanes), x.shape[-1])) for x in (q, v))
        if not len(lanes):
            return
        touch = problem.contact
        if self.is_batch and touch.touches:
            self.problems.require_apart(lanes, np.ascontiguousarray(Q))
        if self.is_batch and not (problem.is_closed or problem.constrained):
            rows = np.concatenate([Q, V, np.zeros((len(lanes), len(problem.names)))], axis=1)
            turns = np.zeros((len(lanes), 0))
        else:
            rows, turns = self._begun_each(Q, V)
        chosen = list(lanes)
        states.follow(turns.shape[1])
        states.x[chosen], states.now[chosen] = rows, states.goal
        for lane in chosen:
            states.impulses.clear(lane)
        if states.follows:
            states.theta[chosen] = turns
        if not self.is_batch:
            self._begins = touch.takes_out
            self._step_memory = self._step_memory.restarted()
            self._stability.forget()
            self._switching.forget()
            self._committed = self._switching.memory
        self.failed = {lane: why for lane, why in self.failed.items() if lane not in set(chosen)}
        for lane in chosen:
            self.lanes.keep_last(lane, Last())
        self.set_pushes({lane: x for lane, x in self.problems.pushes.items() if lane not in set(chosen)})
        self._looks.soon(states.goal)

    def sim_state(self, lane: int) -> SimState:
        """The state of a lane as a value."""
        problem, states = self.problems.prepared(lane), self.states
        u = dict(zip(self.problems.names, states.u[lane].tolist(), strict=True))
        numbers = {name: x.number for name, x in fixed_controls(problem, self.problems.names).items()} | u
        run = self._acting.begin().names, list(self._acting.controls)
        if not self.is_batch:  # methods and solvers restart, as those of one that is given the state
            self._stride.begin_anew()
            if problem.is_closed:
                problem.closures.recall(*problem.closures.memory)
                self._make()
        ns, x, impulses = int(states.now[lane]), states.x[lane].copy(), states.impulses.get(lane)
        return state_of(problem, self._step_memory, ns, x, numbers, run, self._switching, impulses)

    @property
    def memory(self) -> Memory:
        """All that the next step of a single state depends on."""
        problem = self.problems.base
        return Memory(
            self.states.snapshot(), self.states.origin, self.states.u.copy(), self.problems.pushes, self._step_memory,
            problem.closures.memory, problem.contact.began, self._begins,
            self._switching.memory, self.lanes.last(0),
        )  # fmt: skip

    def take_back(self, before: Memory) -> None:
        """Put a single state back where it was; a method that keeps steps starts again."""
        problem = self.problems.base
        self.states.restore(before.states)
        self.states.origin, self._step_memory = before.origin, before.steps
        self.states.u[:] = before.u
        self.failed, self._begins, self._committed = {}, before.begins, before.switches
        self._stride.begin_anew()
        self._stability.forget()
        self._switching.recall(before.switches)
        problem.closures.recall(*before.closures)
        problem.contact.recall(before.began)
        self.lanes.keep_last(0, before.last)
        self.set_pushes(before.pushes)

    def move_time(self, ns: int, origin: int) -> None:
        """Let a single state be at another nanosecond, with steps from `origin` on."""
        self.states.goal, self.states.origin = ns, origin
        self._step_memory = self._step_memory._replace(origin=origin)
        self.states.now[:] = ns

    def of(self, lane: int) -> tuple[Motion, int]:
        """The motion of a state, and its number there."""
        return self, lane

    @property
    def why(self) -> str:
        """Reason why steps are those of runs; empty if they are compiled."""
        return self.lanes.why

    @property
    def is_compiled_between_events(self) -> bool:
        """True if steps of runs are compiled but for those in which something begins or ends to hold."""
        return self.problems.is_compiled_between_events

    def resume(self, lanes: Sequence[int], state: SimState) -> None:
        """Let states continue from a value that fits, all of them or none."""
        problem, states, names = self.problems.base, self.states, self.problems.names
        require_fit(state, problem, names, self._switching.names)
        touch, before = problem.contact, states.goal
        fixed = {x: state.controls[name] for name, x in fixed_controls(problem, names).items()}
        renumbered = any(x.number != u for x, u in fixed.items())
        together = len(set(lanes)) == len(states)  # not a part of a batch
        if not together and lanes and (renumbered or (self._stops and state.ns != before)):
            raise StateError(
                f"this SimState is of t = {state.t:.9g} s, that of the batch is {before / 1e9:.9g} s, and samples of "
                "p.control, or numbers that the stepper does not drive, are those of all: give it to all of them, "
                "step.set_state(state)."
            )
        x, turns = self._resumed_point(state, lanes)
        for control, u in fixed.items():
            control.set(u)
        for i, name in enumerate(names):
            states.u[list(lanes), i] = state.controls.get(name, 0.0)
        states.x[list(lanes)] = x
        impulses = as_table(state.impulses, touch.shapes)
        for lane in lanes:
            states.impulses.set(lane, impulses)
        states.follow(len(turns))
        if states.follows:
            states.theta[list(lanes)] = turns
        self.failed = {lane: why for lane, why in self.failed.items() if lane not in set(lanes)}
        for lane in lanes:
            self.lanes.keep_last(lane, Last())
        self.set_pushes({lane: y for lane, y in self.problems.pushes.items() if lane not in set(lanes)})
        if together:
            states.goal, states.origin = state.ns, state.origin
            states.now[:], self._step_memory = state.ns, self._step_memory._replace(origin=state.origin)
            self._looks.restart()
            self._make()
        if not self.is_batch:
            self._step_memory = StepMemory(self._step_memory.origin, state.length, state.longest, state.counts)
            self._stride.begin_anew()
            self._stability.forget()
            self._switching.recall(SwitchMemory((), state.signs, tuple(state.happened)))
            self._committed = self._switching.memory
            self._begins = touch.takes_out
            problem.see(window(self._breaks, Instant(states.goal)))
        self._looks.soon(states.goal)

    def _resumed_point(self, state: SimState, lanes: Sequence[int]) -> tuple[Array, Array]:
        """The point of a value, and the turns of its closures; a start that contact has not checked is checked."""
        problem, states, before = self.problems.base, self.states, self.states.goal
        touch, x, size = problem.contact, point_of(state, problem), problem.mb.nq + problem.mb.nv
        if touch.touches and not state.began:
            if self.is_batch:
                self.problems.require_apart(lanes[:1], np.ascontiguousarray(state.q[None]))
            else:
                states.goal = state.ns
                try:
                    x[:size] = self._begun(state.q, state.v)[:size]
                except SoacraftError:
                    states.goal = before
                    raise
        if self.is_batch or state.began:
            touch.recall(True)
        problem.closures.recall(state.closures, state.independent, state.embedding)
        problem.closures.require_closed(state.q, state.v)
        chain = chain_of(problem, state.q, state.v)
        return x, np.zeros(0) if chain is None else chain.theta.copy()

    def _begun_each(self, Q: Array, V: Array) -> tuple[Array, Array]:
        """The points at which states begin, and the turns of their closures, each once."""
        begun: list[tuple[Array, Array]] = []
        for i, (q, v) in enumerate(zip(Q, V, strict=True)):
            again = i and q.tobytes() == Q[i - 1].tobytes() and v.tobytes() == V[i - 1].tobytes()
            begun.append(begun[-1] if again else (self._begun(np.array(q), np.array(v)), self._turns(q, v)))
        return np.array([x for x, _ in begun]), np.array([turns for _, turns in begun])

    def _begun(self, q: Array, v: Array) -> Array:
        """The point at which a state begins."""
        problem, t = self.problems.base, self.states.goal / 1e9
        switches = self._switching.memory
        touch = NoContact() if self.is_batch else problem.contact
        began = touch.began
        problem.see(window(self._breaks, Instant(self.states.goal)))
        try:
            if not problem.prescribed_dofs:
                if self._first_turns is not None:
                    problem.closures.follow(self._first_turns.copy())
                problem.closures.require_closed(q, v)
            x = problem.point(q, v)
            touch.begin_anew()
            x = self._switching.settled(t, touch.pushed_out(problem, t, x))
            x = problem.settle(t, x, True)
            touch.begin(t, problem.parts(x)[0])
        except SoacraftError:
            self._switching.recall(switches)
            touch.begin_anew()
            touch.recall(began)
            raise
        return x

    def _turns(self, q: Array, v: Array) -> Array:
        """The coordinates of the closures' hinges of a state that was just looked at; none of a tree."""
        problem = self.problems.base
        chain = chain_of(problem, q, v)
        if chain is None:
            return np.zeros(0)
        if self._first_turns is None:
            self._first_turns = chain.theta.copy()
        return chain.theta.copy()

    # -- a call -------------------------------------------------------------------------------------------------------

    def go(self, goal: int, marks: Marks | None = None, note: Callable[[], None] | None = None) -> None:
        """All states on to a nanosecond. After an error one state is that of the last good step; the states of a batch
        are all as they were before the call. `note` is called at each nanosecond that `marks` gives."""
        states, problems, lanes = self.states, self.problems, self.lanes
        touch = problems.base.contact
        edited = self._mb.revision != self._revision or self._forces or self._acting_forces
        if edited or touch.revision != self._scene_revision:
            self.follow()
        if goal >= _LAST:
            raise StateError(f"t would be {goal / 1e9:.6g} s, and times of a stepper end at 146 years.")
        if goal <= states.goal:
            return
        before = (states.snapshot(), problems.pushes, self.failed) if self.is_batch else None
        try:
            fault = None
            plain = before is None and marks is None and not problems.pushes
            if plain and lanes.compiled and goal < self._looks.due and not self._begins:
                fault = lanes.walk_alone(goal)
                if fault == DONE:
                    states.goal = goal
                    return
            while states.goal < goal:
                until = min([goal, *(x.end for some in self.problems.pushes.values() for x in some)])
                self._with_looks(until if marks is None else min(until, marks(states.goal)), fault)
                fault = None
                if note is not None:
                    note()
                if self.problems.pushes:
                    self.set_pushes(after(self.problems.pushes, states.goal))
        except BaseException:
            if before is None:
                states.goal = int(states.now[0])
            else:
                states.restore(before[0])
                self.failed = before[2]
                self.set_pushes(before[1])
            raise

    def _with_looks(self, goal: int, fault: int | None) -> None:
        """Advance to a nanosecond, with looks at stability where they are due."""
        looks, states = self._looks, self.states
        while fault is None and self.lanes.compiled and looks.due <= goal:
            self._onward(max(states.goal, looks.before))
            times, before = (states.goal / 1e9, looks.due / 1e9), states.x.copy()
            self._onward(looks.due)
            problem = self.problems.prepared(0)
            looks.look(problem, times, (before, states.x), self.problems.prepared, states.origin)
        self._onward(goal, fault)

    def _onward(self, goal: int, fault: int | None = None) -> None:
        """All states on to a nanosecond; `fault` is what compiled lanes answered, if they were asked."""
        states = self.states
        if goal <= states.goal:
            return
        while self.lanes.compiled and not self._begins:
            if bool((states.now >= goal).all()):  # by steps that Python took
                states.goal = goal
                return
            answer = self.lanes.walk(goal) if fault is None else fault
            fault = None
            if answer == DONE:
                states.goal = goal
                return
            if answer == BUSY:
                raise StateError("another thread takes a step; make a stepper for each: p.stepper().")
            if answer == CHANGED:
                self._make()
            elif answer == NOT_FINITE:
                finite(states.u, (...,), f"u of the stepper of {self._acting.mb.name!r}", StateError)
            else:
                end = self._stride.end_from(self._step_memory.origin, int(states.now[answer]) + 1)
                self._take_or_fail(answer, min(goal, end))
        while states.now[0] < goal:  # there is one state
            self._take(0, goal)
        states.goal = goal

    # -- steps that Python takes --------------------------------------------------------------------------------------

    def _take_or_fail(self, lane: int, goal: int) -> None:
        try:
            self._take(lane, goal)
        except SimulationError as wrong:
            if not self._keeps:
                raise
            self.failed = {**self.failed, lane: str(wrong)}
            self.states.now[lane] = _LAST

    def _take(self, lane: int, goal: int) -> None:
        """A state on to a nanosecond, by the steps of runs."""
        problem, stride, states = self.problems.prepared(lane), self._stride, self.states
        touch = problem.contact
        self.lanes.keep_last(lane, Last())
        if self.is_batch:
            touch.recall(True)  # its start was looked at
        x, now = states.x[lane].copy(), Instant(int(states.now[lane]))
        touch.begin_with(now.seconds, states.impulses.get(lane))
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # numbers that are not finite are refused below
                problem.see(window(self._breaks, now))
                x = self._switching.settled(now.seconds, x)
                w = problem.rates(now.seconds, x)
                if not self.is_batch:
                    self._stability.begin(problem, now.seconds, x)
                while now.ns < goal:
                    until = min([goal, *(ns for ns in self._stops if ns > now.ns)])
                    block = None
                    if not (self._begins or self.problems.jumps) and self._switching.is_clear:
                        block, self._step_memory, _ = stride.many(problem, self._step_memory, now, x, w, until)
                    if block is not None:
                        now, x, w = Instant(int(block.ns[-1])), block.x[-1], block.w[-1]
                        rows = block.t[1:], block.x[1:]
                        problem.see(window(self._breaks, now))
                    else:
                        taken, x = self._switching.taken(stride, self._step_memory, now, x, w, until, self._breaks)
                        now, self._step_memory = taken.end, taken.memory
                        rows = np.array([now.seconds]), x[None]
                        w = self._rates_at(problem, now, x)
                        self._keep_contacts(problem, lane, taken.step)
                    if not (np.isfinite(x).all() and np.isfinite(w).all()):
                        raise SimulationError("a number of its state or its rates is not finite.")
                    if now.rest <= 0.0:
                        states.x[lane], states.now[lane] = x, now.ns
                        states.impulses.set(lane, touch.impulses_at(now.seconds))
                        self._committed = self._switching.memory
                        self.lanes.chosen(lane)
                    if not self.is_batch:
                        self._stability.add(problem, *rows)
        except BaseException as cause:
            self._switching.recall(self._committed)
            if not isinstance(cause, SoacraftError):
                raise
            raise self._failed_step(problem, lane, cause) from cause
        if not self.is_batch:
            self._begins = touch.takes_out

    def _rates_at(self, problem: Mechanism, now: Instant, x: Array) -> Array:
        """The rates from an instant on: beyond a jump there."""
        problem.see(window(self._breaks, now))
        return problem.rates(now.seconds, x)

    def _keep_contacts(self, problem: Mechanism, lane: int, step: Step) -> None:
        """Keep what touched in a step that Python took, and the accelerations at its end."""
        touch = problem.contact
        if isinstance(touch, NoContact):
            return
        touched, end = touch.steps[-1] if touch.steps else None, step.t0 + step.h
        impulses = touch.impulses_at(end)
        touch.diary = ContactDiary()
        touch.begin_with(end, impulses)
        force = touch.mean_forces
        self.lanes.keep_last(lane, Last(touched, force, problem.vdot_of(step.x1, step.w1), step.h))

    def _failed_step(self, problem: Mechanism, lane: int, cause: SoacraftError) -> SimulationError:
        """The error of a state, which stays where it was."""
        at = self.states.now[lane] / 1e9, self.states.x[lane].copy(), self._start
        number = lane if self.is_batch else self._number
        return failure_of(self._acting.mb, problem, self._method, self._step, at, number, cause)
