"""States under way: where they are, what acts on them, and their steps, by compiled lanes or as runs take them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from soacraft.errors import SimulationError, SoacraftError, StateError
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.multibody import Multibody
from soacraft.results import refuse_large
from soacraft.sim.acting import Acting
from soacraft.sim.breaks import window
from soacraft.sim.clock import Instant
from soacraft.sim.closed import Chain
from soacraft.sim.compiled import CompiledMotion, LaneArrays, kernels_and_frames, obstacle_to_run
from soacraft.sim.forces.compiled_contact import ContactLog
from soacraft.sim.forces.contact import Contact
from soacraft.sim.forces.contact_steps import ContactDiary, ContactStep, steps_of
from soacraft.sim.forces.drives import Control
from soacraft.sim.forces.push import Push
from soacraft.sim.integrators.steps import Method, Step
from soacraft.sim.stability import Stability, Stiff, limit
from soacraft.sim.steppers.names import driven_control
from soacraft.sim.steppers.parameters import LaneParameters
from soacraft.sim.steppers.pushes import Pushed, Pushes, after, wrenches_of
from soacraft.sim.steppers.watch import Looks
from soacraft.sim.stride import Stride
from soacraft.sim.system import Mechanism
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.wrench import Wrench

#: What compiled lanes answer besides the number of one that Python should go on with (core/sim/lanes_binding.cpp).
DONE, CHANGED, NOT_FINITE, BUSY = -1, -2, -3, -4
#: Where times end, in nanoseconds; and where a state is that failed and takes no step.
_LAST = 2**62


class Last(NamedTuple):
    """The last step of a state: contacts, their mean generalized force, accelerations, length in seconds."""

    touched: ContactStep | None = None
    force: Array | None = None
    vdot: Array | None = None
    length: float = 0.0


class Snapshot(NamedTuple):
    """All that a call of a batch changes."""

    x: Array
    theta: Array
    now: Array
    goal: int
    pushes: Pushes
    failed: dict[int, str]


class Motion:
    """States that go on side by side: `x`, `theta`, `u` and `now` have a row for each, and compiled lanes share them.

    A call goes on to a nanosecond, `goal`. What differs from state to state besides is in `parameters` and `pushes`;
    `failed` are those that take no steps, with the reason.
    """

    def __init__(
        self,
        acting: Acting,
        method: Method,
        pace: tuple[float, int | None, float],
        now: int,
        names: Sequence[str],
        states: int | None,
        threads: int,
        parameters: Any,
        keeps: bool,
    ) -> None:
        rtol, step, longest = pace
        self._acting, self._method, self._names = acting, method, names
        self.is_batch, self._threads, self._step, self._keeps = states is not None, threads, step, keeps
        count = 1 if states is None else states
        self.origin = self.goal = now
        self._breaks = acting.breaks
        self._stops = [ns for x in self._breaks for ns in x.ns]
        mb = acting.mb
        self.driven = [driven_control(mb, name) for name in names]
        self.problem = self._made_problem(self.driven)
        size = (count, mb.nq + mb.nv + len(self.problem.names))
        refuse_large(size, f"the states of a stepper of {mb.name!r}", "Take fewer states.")
        refuse_large((count, len(names)), f"u of a stepper of {mb.name!r}", "Take fewer states.")
        self.x, self.now = np.zeros(size), np.full(count, now, dtype=np.int64)
        self.u, self.theta = np.zeros((count, len(names))), np.zeros((count, 0))
        for i, name in enumerate(names):
            self.u[:, i] = acting.numbers.get(name, 0.0)
        self._stride, self._stability = Stride(method, rtol, step, now, longest), Stability(method)
        self._looks = Looks(method, step, method.limited and bool(mb.nv))
        self.pushes: Pushes = {}
        self.failed: dict[int, str] = {}
        self.recorded: set[int] = set()
        self._lanes: Any = None
        self.why = ""
        self._begins = False  # True while contact takes out what a state began with in each other
        self._last: dict[int, Last] = {0: Last()}  # of steps that Python took, and before the first one
        self._first_theta: Array | None = None
        self.parameters: LaneParameters | None = None
        self._own = parameters is not None
        if self.is_batch or self._own:
            self._require_compiled(self._obstacle())
        if parameters is not None:
            self.parameters = LaneParameters(self.problem, method, parameters, count, not self.is_batch)
        self._start = np.array(mb.q), np.array(mb.v)
        self.put(range(count), *self._start)
        self._make()

    # -- what acts ---------------------------------------------------------------------------------------------

    def _made_problem(self, driven: Sequence[Control]) -> Mechanism:
        """All that acts on the propagator, with controls of its own, and contact and closures that remember nothing."""
        acting, mb = self._acting, self._acting.mb
        loads: list[Any] = []
        for load in [*acting.loads, *(x for name, x in acting.controls.items() if name not in self._names)]:
            if isinstance(load, Contact):
                load = load.another()
            elif isinstance(load, Control):
                load = copy(load)  # its number stays the one of now
            loads.append(load)
        closed = copy(acting.closed)
        if closed is not None:
            closed.solver = copy(closed.solver)
        prescribed = acting.prescribed.kept if acting.prescribed.dofs else None
        push = Push()
        push.bind(mb)
        return Mechanism(mb, [*loads, *driven, push], prescribed, closed)

    def problem_of(self, lane: int) -> Mechanism:
        """The problem with the parameters, the numbers of controls and the pushes of a state."""
        problem = self.problem if self.parameters is None else self.parameters.at(lane)
        self.prepare(problem, lane)
        return problem

    def recorded_problem(self, lane: int) -> Mechanism:
        """Another problem with the parameters of a state, whose contact remembers nothing of these steps."""
        if self.parameters is not None:
            return self.parameters.another(self.problem, lane)
        return self._made_problem([copy(x) for x in self.driven])

    def prepare(self, problem: Mechanism, lane: int, pushes: Sequence[Pushed] | None = None) -> None:
        """Let a problem have the numbers of controls, the pushes (else those of now) and the turns of closures of a
        state."""
        u = finite(self.u[lane], (None,), f"u of the stepper of {problem.mb.name!r}", StateError)
        numbers = dict(zip(self._names, u.tolist(), strict=True))
        for load in problem.loads:
            if isinstance(load, Control) and load.name in numbers:
                load.set(numbers[load.name])
        push = problem.loads[-1]
        wrenches = self._wrenches(lane, problem.mb, pushes)
        if wrenches or (isinstance(push, Push) and push.wrenches):
            new = Push(wrenches)
            new.bind(problem.mb)
            problem.replace(push, new)
        if problem.closed is not None and self.theta.shape[1]:
            problem.closed.solver.follow(self.theta[lane].copy())

    def _wrenches(self, lane: int, mb: Multibody, pushes: Sequence[Pushed] | None = None) -> dict[Frame, Wrench]:
        """What pushes a state, on the model or on a copy of it."""
        pushes = self.pushes.get(lane, ()) if pushes is None else pushes
        return wrenches_of(pushes, None if mb is self._acting.mb else mb)

    def set_pushes(self, pushes: Pushes) -> None:
        """Let these push, and no others."""
        before, self.pushes = self.pushes, pushes
        for lane in {*before, *pushes}:
            if before.get(lane) != pushes.get(lane):
                self._push(lane)

    def _push(self, lane: int) -> None:
        """Let compiled lanes know what pushes a state."""
        if self._lanes is None:
            return
        mb = (self.problem if self.parameters is None else self.parameters.at(lane)).mb
        if not self._lanes.push(lane, *kernels_and_frames(mb), self._wrenches(lane, mb)):
            raise StateError(f"compiled steps of {mb.name!r} cannot read what pushes state {lane}.")

    def set_parameters(self, given: Any, lanes: Sequence[int]) -> None:
        """Give some states other parameters: all of them, or none where one is refused."""
        if self.parameters is None:
            raise StateError(
                "its states have the parameters of the model; name those that differ in p.stepper(parameters=...)."
            )
        recorded = self.recorded & set(lanes)
        if recorded:
            raise StateError(f"state {min(recorded)} is recorded: end that with recording.stop() first.")
        self.parameters.take(self.parameters.changed(given, lanes))
        for lane in lanes:
            self._make_own(lane)

    # -- compiled lanes ----------------------------------------------------------------------------------------

    def _obstacle(self) -> str:
        """Why steps are not those of compiled lanes; empty where they are."""
        problem, mb = self.problem, self._acting.mb
        if not mb.nv:
            return "it has no dofs"
        if self._method.adaptive or self._step is None:
            return f"{self._method.name!r} chooses its steps"
        if problem.closed is not None and problem.closed.obstacle:
            return problem.closed.obstacle
        loads = [x for x in problem.loads if not isinstance(x, Push)]
        touch = [] if problem.contact is None else [problem.contact]
        return obstacle_to_run(mb, self._method, [*loads, *touch], problem.is_told)

    def _require_compiled(self, why: str) -> None:
        if not why:
            return
        if self.is_batch:
            raise StateError(f"steps of several states are compiled, and here {why}; take one state.")
        if self._own:
            raise StateError(f"steps with parameters of their own are compiled, and here {why}; edit the model.")

    def _make(self) -> None:
        """Read the model, and compile the steps if they can be."""
        mb, problem, touch = self._acting.mb, self.problem, self.problem.contact
        for lane in {
            *self.recorded,
            *([] if self.is_batch else [0]),
        }:  # what the last step left is in lanes that end here
            self._last[lane] = self.last(lane)
        self._lanes, self.why = None, self._obstacle()
        if touch is not None:
            touch.follow()
            self._shape_names = touch.scene.names
        if not self.why:
            self._compile()
        self._require_compiled(self.why)
        self._revision, self._forces = mb.revision, dict(mb.acting_forces)
        self._scene_revision = 0 if touch is None else touch.scene.revision
        self._looks.soon(self.goal)

    def _compile(self) -> None:
        """Make the lanes; where that cannot be, say why."""
        problem = self.problem
        chain = self._chain(problem, 0)
        if problem.closed is not None and chain is None:
            self.why = "compiled code does not know its closures"
            return
        motion = CompiledMotion(problem, self._method)
        places = list(problem.loads)
        numbers = np.array([places.index(x) for x in self.driven], dtype=np.int64)
        stops = np.unique(np.array(self._stops, dtype=np.int64))
        arrays = LaneArrays(
            self.x, self.theta, self.u, self.now, numbers, len(places) - 1, stops, self._step or 0, self.origin,
            self._threads,
        )  # fmt: skip
        lanes = motion.lanes(arrays, chain)
        if not lanes.ready:
            self.why = "compiled code does not know the model as it is now"
            return
        self._lanes, self._solver = lanes, None if chain is None else chain.solver
        if self.parameters is not None:
            self.parameters.follow(problem)
            for lane in range(len(self.x)):
                self._make_own(lane)
        else:
            for lane in self.recorded:
                self._make_own(lane)
        for lane in self.pushes:
            self._push(lane)

    def _make_own(self, lane: int) -> None:
        """Let a lane have parameters of its own, or be recorded."""
        if self._lanes is None:
            return
        problem = self.problem if self.parameters is None else self.parameters.at(lane)
        if problem.contact is not None:
            problem.contact.follow()
        kernels, setting = CompiledMotion(problem, self._method).of_lane(self._chain(problem, lane))
        if not self._lanes.set_own(lane, kernels, setting, lane not in self.recorded):
            raise StateError(f"compiled code does not know the parameters of state {lane} of {problem.mb.name!r}.")
        if lane in self.pushes:
            self._push(lane)

    def record(self, lane: int, wanted: bool) -> None:
        """Let work and contacts of a state be counted, or no longer."""
        if not wanted:
            self.recorded.discard(lane)
            return
        if lane in self.recorded:
            return
        self._last[lane] = self.last(lane)
        self.recorded.add(lane)
        self._make_own(lane)

    def _chain(self, problem: Mechanism, lane: int) -> Chain | None:
        """What compiled steps of a closed chain take, at a state on its closures."""
        closed = problem.closed
        if closed is None:
            return None
        q, v, _ = problem.parts(self.x[lane])
        if self.theta.shape[1]:
            closed.solver.follow(self.theta[lane].copy())
        closed.accelerations(q, v, np.zeros(len(v)))  # which makes the plan
        return closed.chain(q, v)

    def follow(self) -> None:
        """Read the model again where it was changed; shapes that are in each other now are taken out, or refused in a
        batch, as at a start."""
        mb, touch = self._acting.mb, self.problem.contact
        if mb.revision == self._revision and not self._scene_changed and _same(self._forces, mb.acting_forces):
            return
        if self.parameters is not None and self.recorded:
            raise StateError(
                f"{mb.name!r} was edited while a state with parameters of its own is recorded; end that with "
                "recording.stop() before."
            )
        self._make()
        if touch is None or touch.began:
            return
        q = self.x[:, : mb.nq]
        try:
            if self.is_batch:
                touch.begin_batch(np.ascontiguousarray(q), range(len(q)), "stepper")
                touch.recall(True)
            else:
                touch.begin(self.goal / 1e9, q[0].copy())
                self._begins = touch.takes_out
        except SoacraftError:
            self._revision = -1  # looked at again in the next call
            raise

    @property
    def _scene_changed(self) -> bool:
        touch = self.problem.contact
        return touch is not None and touch.scene.revision != self._scene_revision

    # -- states ------------------------------------------------------------------------------------------------

    def reset(self, lanes: Sequence[int]) -> None:
        """Let states begin again with the one that all were made with."""
        self.put(lanes, *self._start)

    def put(self, lanes: Sequence[int], q: Array, v: Array) -> None:
        """Let states begin at (q, v), one or a row for each, all of them or none."""
        problem = self.problem
        Q, V = (np.broadcast_to(x, (len(lanes), x.shape[-1])) for x in (q, v))
        if not len(lanes):
            return
        touch = problem.contact
        turns: list[Array] = []
        if not self.is_batch:
            rows = self._begun(np.array(Q[0]), np.array(V[0]))[None]
            turns = [self._turns(Q[0], V[0])]
            self._begins = touch is not None and touch.takes_out
            self._stride.forget()
            self._stability.forget()
        elif problem.closed is None:
            if touch is not None:
                touch.begin_batch(np.ascontiguousarray(Q), lanes, "stepper")
                touch.recall(True)
            rows = np.concatenate([Q, V, np.zeros((len(lanes), len(problem.names)))], axis=1)
        else:
            begun: list[Array] = []
            for i, (one, rate) in enumerate(zip(Q, V, strict=True)):
                if i and one.tobytes() == Q[i - 1].tobytes() and rate.tobytes() == V[i - 1].tobytes():
                    begun, turns = [*begun, begun[-1]], [*turns, turns[-1]]
                    continue
                begun.append(self._begun(np.array(one), np.array(rate)))
                turns.append(self._turns(one, rate))
            rows = np.array(begun)
        where = list(lanes)
        self.x[where] = rows
        if turns and turns[0].size:
            if not self.theta.shape[1]:
                self.theta = np.zeros((len(self.x), turns[0].size))
            self.theta[where] = np.array(turns)
        self.now[where] = self.goal
        for lane in where:
            self.failed.pop(lane, None)
            self._last[lane] = Last()
        self.set_pushes({lane: x for lane, x in self.pushes.items() if lane not in set(where)})
        self._looks.soon(self.goal)

    def _begun(self, q: Array, v: Array) -> Array:
        """The point at which a state begins."""
        problem, touch, t = self.problem, self.problem.contact, self.goal / 1e9
        began = touch is not None and touch.began
        problem.see(window(self._breaks, Instant(self.goal)))
        try:
            if problem.closed is not None and not problem.is_told:
                if self._first_theta is not None:
                    problem.closed.solver.follow(self._first_theta.copy())
                problem.closed.require_closed(q, v)
            x = problem.point(q, v)
            if touch is None:
                return problem.settle(t, x, True)
            touch.begin_anew()
            x = problem.settle(t, touch.pushed_out(problem, t, x), True)
            touch.begin(t, problem.parts(x)[0])
        except SoacraftError:
            if touch is not None:
                touch.begin_anew()
                touch.recall(began)
            raise
        return x

    def _turns(self, q: Array, v: Array) -> Array:
        """The coordinates of the closures' hinges of a state that was just looked at; none of a tree."""
        closed = self.problem.closed
        chain = None if closed is None or self.problem.is_told else closed.chain(q, v)
        if chain is None:
            return np.zeros(0)
        if self._first_theta is None:
            self._first_theta = chain.theta.copy()
        return chain.theta.copy()

    # -- a call ------------------------------------------------------------------------------------------------

    def go(
        self, goal: int, marks: Callable[[int, int], int] | None = None, at_mark: Callable[[], None] | None = None
    ) -> None:
        """All states on to a nanosecond. After an error one state is that of the last good step; the states of a batch
        are all as they were before the call. `marks` gives the next nanosecond, from one on to the goal, at which
        `at_mark` is called."""
        mb = self._acting.mb
        if mb.revision != self._revision or self._scene_changed or self._forces or mb.acting_forces:
            self.follow()
        if goal >= _LAST:
            raise StateError(f"t would be {goal / 1e9:.6g} s, and times of a stepper end at 146 years.")
        if goal <= self.goal:
            return
        before = self._snapshot() if self.is_batch else None
        try:
            fault = None
            if before is None and not self.pushes and marks is None and goal < self._looks.due:
                if self._lanes is not None and not self._begins:
                    fault = self._walk(goal)
                    if fault == DONE:
                        self.goal = goal
                        return
            while self.goal < goal:
                until = min([goal, *(x.end for some in self.pushes.values() for x in some)])
                until = until if marks is None else min(until, marks(self.goal, until))
                self._with_looks(until, fault)
                fault = None
                if at_mark is not None:
                    at_mark()
                if self.pushes:
                    self.set_pushes(after(self.pushes, self.goal))
        except BaseException:
            if before is not None:
                self._restore(before)
            else:
                self.goal = int(self.now[0])
            raise

    def _snapshot(self) -> Snapshot:
        return Snapshot(self.x.copy(), self.theta.copy(), self.now.copy(), self.goal, self.pushes, dict(self.failed))

    def _restore(self, before: Snapshot) -> None:
        self.x[:], self.theta[:], self.now[:] = before.x, before.theta, before.now
        self.goal, self.failed = before.goal, before.failed
        self.set_pushes(before.pushes)

    def _with_looks(self, goal: int, fault: int | None) -> None:
        """On to a nanosecond, with looks at stability where they are due."""
        looks = self._looks
        while fault is None and self._lanes is not None and looks.due <= goal:
            self._onward(max(self.goal, looks.before))
            times, before = (self.goal / 1e9, looks.due / 1e9), self.x.copy()
            self._onward(looks.due)
            problem = self.problem_of(0)
            looks.look(problem, times, (before, self.x), self._prepare, self.origin)
        self._onward(goal, fault)

    def _prepare(self, lane: int) -> None:
        self.problem_of(lane)

    def _walk(self, goal: int) -> int:
        """Compiled lanes on to a nanosecond, and what they answer."""
        watched = [*self.recorded] if self.is_batch else [0]
        before = [int(self.now[i]) for i in watched]
        try:
            return int(self._lanes.advance(goal))
        finally:
            for lane, ns in zip(watched, before, strict=True):
                if self.now[lane] != ns:
                    self._last.pop(lane, None)

    def _onward(self, goal: int, fault: int | None = None) -> None:
        """All states on to a nanosecond; `fault` is what compiled lanes answered, if they were asked."""
        if goal <= self.goal:
            return
        while self._lanes is not None and not self._begins:
            if bool((self.now >= goal).all()):  # by steps that Python took
                self.goal = goal
                return
            answer = self._walk(goal) if fault is None else fault
            fault = None
            if answer == DONE:
                self.goal = goal
                return
            if answer == BUSY:
                raise StateError("another thread takes a step; make a stepper for each: p.stepper().")
            if answer == CHANGED:
                self._make()
            elif answer == NOT_FINITE:
                finite(self.u, (...,), f"u of the stepper of {self._acting.mb.name!r}", StateError)
            else:
                self._take_or_fail(answer, min(goal, self._stride.end_from(int(self.now[answer]) + 1)))
        while self.now[0] < goal:  # there is one state
            self._take(0, goal)
        self.goal = goal

    def _take_or_fail(self, lane: int, goal: int) -> None:
        try:
            self._take(lane, goal)
        except SimulationError as wrong:
            if not self._keeps:
                raise
            self.failed = {**self.failed, lane: str(wrong)}
            self.now[lane] = _LAST

    def _take(self, lane: int, goal: int) -> None:
        """A state on to a nanosecond, by the steps of runs."""
        problem, stride = self.problem_of(lane), self._stride
        touch = problem.contact
        self._last[lane] = Last()
        if touch is not None and self.is_batch:
            touch.recall(True)  # its start was looked at
        x, now = self.x[lane].copy(), Instant(int(self.now[lane]))
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # numbers that are not finite are refused by name
                w = self._rates_at(problem, now, x)
                if not self.is_batch:
                    self._stability.begin(problem, now.seconds, x)
                while now.ns < goal:
                    until = min([goal, *(ns for ns in self._stops if ns > now.ns)])
                    block = None if self._begins else stride.many(problem, now, x, w, until)
                    if block is not None:
                        now, x, w = Instant(int(block.ns[-1])), block.x[-1], block.w[-1]
                        rows = block.t[1:], block.x[1:]
                        problem.see(window(self._breaks, now))
                    else:
                        step, now, _ = stride.take(problem, now, x, w, stride.stop(now, until), self._breaks)
                        x, rows = step.x1, (np.array([now.seconds]), step.x1[None])
                        w = self._rates_at(problem, now, x)
                        self._keep_contacts(problem, lane, step)
                    if not (np.isfinite(x).all() and np.isfinite(w).all()):
                        raise SimulationError("a number of its state or its rates is not finite.")
                    self.x[lane], self.now[lane] = x, now.ns
                    self._keep_turns(problem, lane)
                    if not self.is_batch:
                        self._stability.add(problem, *rows)
        except SoacraftError as cause:
            raise self._failed_step(problem, lane, cause) from cause
        if touch is not None and not self.is_batch:
            self._begins = touch.takes_out

    def _keep_turns(self, problem: Mechanism, lane: int) -> None:
        """Keep the coordinates of the closures' hinges; lanes are made anew where the solver chose other dofs."""
        if problem.closed is None or not self.theta.shape[1]:
            return
        q, v, _ = problem.parts(self.x[lane])
        chain = problem.closed.chain(q, v)
        if chain is None:
            return
        self.theta[lane] = chain.theta
        if self.parameters is not None:
            self._make_own(lane)
        elif self._lanes is not None and chain.solver is not self._solver:
            self._revision = -1
            self._compile()

    def _rates_at(self, problem: Mechanism, now: Instant, x: Array) -> Array:
        """The rates from an instant on: beyond a jump there."""
        problem.see(window(self._breaks, now))
        return problem.rates(now.seconds, x)

    def _keep_contacts(self, problem: Mechanism, lane: int, step: Step) -> None:
        """Keep what touched in a step that Python took, and the accelerations at its end."""
        touch = problem.contact
        if touch is None:
            return
        touched = touch.steps[-1] if touch.steps else None
        touch.diary = ContactDiary()
        force = touch.force(step.t0, problem.mb.current)
        self._last[lane] = Last(touched, force, problem.vdot_of(step.x1, step.w1), step.h)

    def last(self, lane: int) -> Last:
        """The last step of a state that is alone or recorded."""
        if lane in self._last or self._lanes is None:
            return self._last.get(lane, Last())
        log, force, rates, length = self._lanes.last(lane)
        if not length > 0.0 or rates is None:
            return Last()
        touched = steps_of(ContactLog(self._shape_names, *log)) if self.problem.contact is not None else []
        _, v, _ = self.problem.parts(self.x[lane])
        vdot = self.problem.coordinates.own(v, rates[0]) if self._method.touches else None
        return Last(touched[-1] if touched else None, None if force is None else force[0], vdot, length)

    def _failed_step(self, problem: Mechanism, lane: int, cause: SoacraftError) -> SimulationError:
        """The error of a state, which stays where it was."""
        t = self.now[lane] / 1e9
        whose = f"state {lane} of the stepper" if self.is_batch else "the stepper"
        why = str(cause)
        if not self._method.adaptive and self._acting.mb.nv and not isinstance(cause, Stiff):
            points = self.x[lane], problem.point(*self._start)  # of the first one numbers may be too large
            limits = [limit(self._method, problem, t, x, (self._step or 0) / 1e9) for x in points]
            why += next((f" {x[0].upper()}{x[1:]}" for x in limits if x), "")
        which = f", which={lane}" if self.is_batch else ""
        error = SimulationError(
            f"{whose} of {self._acting.mb.name!r} stopped at t = {t:.9g} s: {why} It is where it was; give it another "
            f"state with step.set_state(q, v{which})."
        )
        error.t = t
        return error


def _same(before: dict[Any, Any], now: dict[Any, Any]) -> bool:
    return before.keys() == now.keys() and all(now[x] is y for x, y in before.items())
