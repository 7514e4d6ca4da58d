"""`Runner`: the runs of a propagator. Each begins where the last one ended, goes on by `advance`, and ends or fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, cast

import msgspec
import numpy as np

from soacraft.errors import CheckpointError, SoacraftError, StateError, near
from soacraft.model.modal.bodies import report_turns
from soacraft.model.modal.deformation import Deformation
from soacraft.model.states.state import State
from soacraft.progress import Bar
from soacraft.sim.acting import Acting
from soacraft.sim.breaks import ALWAYS
from soacraft.sim.carried import Carried
from soacraft.sim.clock import Instant, positive_nanoseconds
from soacraft.sim.course.advance import advance
from soacraft.sim.course.callbacks import dues
from soacraft.sim.course.failure import at_last_row, failure, flushed
from soacraft.sim.course.rest import fit, left, resumed, saved, sim_state
from soacraft.sim.course.start import started
from soacraft.sim.course.state import BEFORE_ALL, RunState
from soacraft.sim.course.task import Callback, Look, RunParts, RunTask
from soacraft.sim.course.ticks import tick
from soacraft.sim.events import Event, Watch
from soacraft.sim.forces.contact import Contact
from soacraft.sim.forces.evaluation import States
from soacraft.sim.forces.holds import Hold
from soacraft.sim.forces.impacts import Impacts
from soacraft.sim.forces.loads import Load
from soacraft.sim.integrators.steps import Method
from soacraft.sim.runs.clocked import Pace
from soacraft.sim.runs.log import Layout
from soacraft.sim.runs.outputs import Keeping
from soacraft.sim.runs.recorder import Recorder
from soacraft.sim.runs.run import Run
from soacraft.sim.stability import Stability
from soacraft.sim.states.compatibility import refuse_other
from soacraft.sim.states.sim_state import SimState
from soacraft.sim.stride import StepMemory, Stride
from soacraft.sim.system import Mechanism
from soacraft.spatial.checks import Array


class Runner:
    """Carries the point of what acts through time, from `now` on.

    `step` is the fixed length of steps, or the largest first one, in nanoseconds; `max_step` the longest of an adaptive
    method, in seconds.
    """

    def __init__(
        self, acting: Acting, method: Method, rtol: float, step: int | None, now: int, max_step: float = np.inf
    ) -> None:
        states = States(acting.mb)
        watch = Watch(lambda x: states.of(*acting.problem.parts(x)[:2]))
        stride, stability = Stride(method, rtol, step, max_step), Stability(method)
        self._parts = RunParts(
            acting=acting,
            method=method,
            rtol=rtol,
            stride=stride,
            watch=watch,
            stability=stability,
            callbacks=[],
            visit=np.full(1, BEFORE_ALL),
        )
        self.present = RunState(now=Instant(now), steps=StepMemory(now))
        """The state of the run that goes on, or of the last one."""
        self._restored = False  # the next run goes on from a checkpoint
        self.last: Run | None = None
        """The last run, complete or not."""
        self.look: Look | None = None
        """Server that looks at runs between steps."""

    @property
    def now(self) -> Instant:
        """The present instant: that of a visit between compiled steps, while it goes on."""
        visit = int(self._parts.visit[0])
        return self.present.now if visit == BEFORE_ALL else Instant(visit)

    @property
    def t(self) -> float:
        """The present time in seconds."""
        return self.now.seconds

    @property
    def is_new(self) -> bool:
        """True before the first run, of one that was not restored."""
        return self.last is None and not self._parts.acting.running and not self._restored

    @property
    def origin(self) -> int:
        """The nanosecond from which fixed steps and checkpoints are counted."""
        return self.present.steps.origin

    # -- what is looked for, and called ------------------------------------------------------------------------

    @property
    def events(self) -> list[Event]:
        """Events that are watched in every step."""
        return self._parts.watch.events

    @property
    def callbacks(self) -> list[tuple[int, int, Callable[[float, State], Any]]]:
        """The nanosecond of the next call, the period and the function of each callback."""
        parts = self._parts
        return [(due, x.period, x.function) for due, x in zip(dues(parts, self.present), parts.callbacks, strict=True)]

    def watch(self, load: Load) -> None:
        """Look for the instants at which a load holds, lets go or strikes."""
        acting = self._parts.acting
        if isinstance(load, Contact):  # which has stops and friction as rows
            self.events[:] = [x for x in self.events if x.hold is None]
        if getattr(load, "switches", False) and not any(isinstance(x, Contact) for x in acting.loads):
            hold = cast(Hold, load)
            self.events.append(Event(hold.name, lambda t, s: hold.margin(acting.problem, t, s), -1, hold=hold))
        if isinstance(load, Impacts):
            self.events.append(Event(load.name, load.gap, -1, load.strike, below=load.below))

    def carry(self, carried: Carried) -> None:
        """Look for the crossings of what is carried along."""
        for i, (name, direction) in enumerate(carried.crossings):
            self.events.append(Event(name, _nothing, direction, margin=partial(self._margin, i)))

    def _margin(self, i: int, t: float, x: Array) -> float:
        return self._parts.problem.margins(t, x)[i]

    def every(self, period: float, callback: Callable[[float, State], Any]) -> None:
        """Call a function now and after every period, in seconds."""
        self._parts.callbacks.append(Callback(self.now.ns, positive_nanoseconds(period, "the period"), callback))

    def follow(self, other: Runner, names: Mapping[str, str]) -> None:
        """Go on where another runner is: at its instant, on its grid of steps, with the work of forces of the same
        names, or of the `names` that they have here."""
        work = {names.get(key, key): work for key, work in other.present.work.items()}
        steps = self.present.steps._replace(origin=other.origin)
        self.present = msgspec.structs.replace(self.present, now=other.now, steps=steps, work=work)
        self.look, self.last = other.look, other.last

    def _show(self, state: RunState) -> RunState:
        self.present = state
        return state

    # -- running -----------------------------------------------------------------------------------------------

    def run(
        self,
        goal: int,
        progress: bool,
        until: str | Sequence[str] | None = None,
        clock: Pace | None = None,
        keeping: Keeping | None = None,
    ) -> Run:
        """Advance to a nanosecond, or to an event; with a clock, each step waits for it before its tick. `keeping` is
        what goes to the disk meanwhile."""
        alone = self._parts.acting.alone
        alone.take("advance_to")
        try:
            names = [] if until is None else [until] if isinstance(until, str) else list(until)
            self._require_ahead(goal, names)
            keeping = Keeping() if keeping is None else keeping
            if not progress:
                return self._run(goal, names, clock, keeping, None)
            with Bar(f"simulating {self._parts.acting.name}", self.t, goal / 1e9, progress) as bar:
                return self._run(goal, names, clock, keeping, bar)
        finally:
            alone.free()

    def _run(self, goal: int, until: Sequence[str], clock: Pace | None, keeping: Keeping, bar: Bar | None) -> Run:
        """The run to a goal that lies ahead."""
        problem = self._parts.acting.begin()
        task = RunTask(
            **msgspec.structs.asdict(self._parts),
            goal=goal,
            until=frozenset(until),
            recorder=Recorder(problem, self._parts.method.name, keeping.log),
            bar=bar,
            keeping=keeping,
            clock=clock,
            look=self.look,
            show=self._show,
        )
        self._begin(task, problem)
        run = self._advanced(task, problem)
        if problem.is_flexible:
            report_turns(problem.mb.layout, Deformation(problem.mb.layout, run.q))
        return run

    def _require_ahead(self, goal: int, until: Sequence[str]) -> None:
        """Raise for an event that there is none of, for a goal in the past, and after a run that cannot go on."""
        names_of_events = [x.name for x in self.events] if until else []
        for name in until:
            if name not in names_of_events:
                raise StateError(f"there is no event {name!r:.60} to stop at{near(str(name), names_of_events)}")
        now = self.present.now
        if self.present.lost:
            raise StateError(
                f"the last run of {self._parts.acting.name!r} ended with an error before its last rows, and components "
                f"have jumped since: their states at t = {self.t:.9g} s are not known. Make another system."
            )
        if goal < now.ns or (goal == now.ns and now.rest > 0.0):
            raise StateError(f"the run is at t = {self.t:.9g} s already, so it cannot advance to {goal / 1e9:.9g} s.")

    def _begin(self, task: RunTask, problem: Mechanism) -> None:
        """Begin a run: its first state and row."""
        value, self._restored = sim_state(task, self.present) if self._restored else None, False
        now, keeping = self.present.now, task.keeping
        due = keeping.due(now.ns) if keeping.write is not None else None
        state = self._show(msgspec.structs.replace(started(task, self.present, problem), stopped="", due=due))
        problem.energy(state.x)  # raises where it overflows: the first row is a good one
        if task.clock is not None:
            task.clock.begin(state.now.ns)
        if not problem.components.is_empty:
            state = tick(task, state)
        log, goes_on = keeping.log, False
        if log is not None:
            columns = None if problem.components.is_empty else problem.components.columns
            labels = problem.names, task.method.name, problem.facts.labels, columns, keeping.documents
            goes_on = log.begin(Layout(_sizes(problem), *labels), keeping.goes_on)
        if problem.contact.touches:
            problem.contact.begin_run(state.t)
        task.recorder.first(state.now.seconds, state.x, state.w, goes_on)
        calls = task.watch.events or not problem.components.is_empty or (problem.count and problem.has_functions)
        if calls:  # one that changes the structure leaves this row
            task.recorder.flush()
        if value is not None:  # the first row has asked for values that one who was not killed did not ask for
            state = self._show(msgspec.structs.replace(started(task, resumed(task, value)), due=due))
            tick(task, state)

    def _advanced(self, task: RunTask, problem: Mechanism) -> Run:
        """The run up to its goal or what stops it; an error is raised again with time and cause."""
        acting, keeping, log = task.acting, task.keeping, task.keeping.log
        before, acting.running = self.last, True
        try:
            state = advance(task, self.present)
            task.recorder.flush()
            task.stability.look(problem)
            if not problem.components.is_empty:  # its values are those of the last row
                problem.displaced()
                problem.rates(state.t, state.x)
            if keeping.write is not None and not keeping.stays_open:
                saved(task, state, False)
        except SoacraftError as cause:
            cause = flushed(task, task.recorder, cause)
            self._show(at_last_row(task, self.present, task.recorder))
            run = self._end(task, type(cause).__name__)
            error = failure(task, self.present, run, cause)
            self._show(left(task, self.present))  # stiffness was judged with the masses of another row
            raise error from cause
        except BaseException:
            with suppress(SoacraftError):  # of rows that are not good: those before are kept
                task.recorder.flush()
            self._show(at_last_row(task, self.present, task.recorder))  # it may come between a row and its state
            self._end(task, "interrupted")
            raise
        finally:
            acting.running = False
            problem.see(ALWAYS)
            if log is not None and self.last is not before:  # it ended with an error
                log.close()
        run = self._end(task, state.stopped)
        if log is not None and not keeping.stays_open:
            log.close()
        return run

    def _end(self, task: RunTask, stopped: str) -> Run:
        """Leave the model at the present state and keep the run."""
        self._show(left(task, self.present))
        self.last = task.recorder.run(stopped, paced=None if task.clock is None else task.clock.report())
        return self.last

    # -- the state as a value ----------------------------------------------------------------------------------

    def state(self) -> SimState:
        """Return the state of the last run, or of the model where that was given another one since."""
        return sim_state(self._parts, self.present)

    def set_state(self, value: SimState, whose: str = "") -> None:
        """Continue from a state of the same model and the same forces. With `whose`, as "the checkpoint 'a.h5'", the
        state may come from another runner, and one that does not fit is refused with nothing changed."""
        parts = self._parts
        if not whose:
            self._show(resumed(parts, value))
        else:
            refuse_other(value, fit(parts), whose)
            mb = parts.acting.mb
            vdot, before, controls = np.array(mb.vdot), self.state(), dict(parts.acting.controls)
            try:
                self._show(resumed(parts, value))
            except (SoacraftError, LookupError, ValueError, TypeError, OverflowError) as wrong:
                parts.acting.put_back(controls)
                self._show(resumed(parts, before))
                mb.set_state(before.q, before.v, vdot)
                raise CheckpointError(f"{whose} cannot be restored, it is damaged: {wrong}") from wrong
        self._restored = True


def _nothing(t: float, state: State) -> float:
    return 0.0


def _sizes(problem: Mechanism) -> dict[str, tuple[int, ...]]:
    nq, nv, loads = problem.mb.nq, problem.mb.nv, len(problem.names)
    return {"q": (nq,), "v": (nv,), "vdot": (nv,), "work": (loads,), "forces": (loads, nv)}
