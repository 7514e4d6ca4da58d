"""The loop of a run: steps up to the next callback or event, then what is due; where a run begins, ends and fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import partial
from typing import Any, Protocol, cast

import numpy as np

from soacraft.errors import CheckpointError, LinkError, SimulationError, SoacraftError, StaleError, StateError, near
from soacraft.model.modal.bodies import report_turns
from soacraft.model.modal.deformation import Deformation
from soacraft.model.states.state import State
from soacraft.progress import Bar
from soacraft.sim.acting import Acting
from soacraft.sim.breaks import ALWAYS, window
from soacraft.sim.carried import Carried
from soacraft.sim.clock import Instant, nanoseconds, positive_nanoseconds
from soacraft.sim.events import Crossing, Event, Happened, Watch, unmoved
from soacraft.sim.forces.evaluation import States
from soacraft.sim.forces.holding import Hold
from soacraft.sim.forces.impacts import Impacts
from soacraft.sim.forces.loads import Load
from soacraft.sim.integrators.steps import Method, Step
from soacraft.sim.runs.block import Block
from soacraft.sim.runs.clocked import Pace
from soacraft.sim.runs.keeping import Keeping
from soacraft.sim.runs.labels import labels_of
from soacraft.sim.runs.log import Layout
from soacraft.sim.runs.recorder import Recorder
from soacraft.sim.runs.run import Run
from soacraft.sim.stability import Stability, Stiff, limit
from soacraft.sim.states.compatibility import Fit, refuse_other
from soacraft.sim.states.sim_state import SimState
from soacraft.sim.stride import Stride
from soacraft.sim.system import Mechanism
from soacraft.sim.visits import VisitPlan
from soacraft.spatial.checks import Array

#: Crossings of what is carried along at one instant, before they are called endless.
_JUMPS = 100
#: Steps that are taken before events are looked for in them: at first, and at most.
_AHEAD = (4, 256)
#: Seconds after which fewer steps are taken ahead: rows do not wait for long.
_SECONDS = 0.1
#: What `Look.look` gives where it has changed a value that rates depend on.
CHANGED = "changed"


class Look(Protocol):
    """Who looks at a run between its steps."""

    def look(self, taken: int) -> str:
        """After so many steps since the last look. What it gives: "" to go on, `CHANGED` where values of what is
        carried along are others now, anything else to end the run, as what stopped it."""

    @property
    def ahead(self) -> int:
        """How many steps may be taken before the next look, where they are compiled; at least one is."""


class Runner:
    """Carries the point of what acts through time, from `now` on.

    `step` is the fixed length of steps, or the largest first one, in nanoseconds; `max_step` the longest of an adaptive
    method, in seconds.
    """

    def __init__(
        self, acting: Acting, method: Method, rtol: float, step: int | None, now: int, max_step: float = np.inf
    ) -> None:
        self._acting, self._method, self._rtol = acting, method, rtol
        self.now = Instant(now)
        self._stride = Stride(method, rtol, step, now, max_step)
        self._stability = Stability(method)
        self.callbacks: list[tuple[int, int, Callable[[float, State], Any]]] = []
        """Next time, period, function."""
        self._watch = Watch(self._state_at)
        self._x: Array | None = None  # the present point
        self._seen: tuple[Array, Array] | None = None  # the model's q and v when it was left
        self._work: dict[str, float] = {}
        self._kept: tuple[int, object] | None = None  # what is carried along, before its last tick, and when that was
        self._jumped_at, self._lost = -(2**63), False
        self._until: frozenset[str] = frozenset()  # the events to stop at,
        self._stopped = ""  # and that which stopped a run at a tick
        self._pace: Pace | None = None
        self._doubtful = -(2**63)  # up to here steps are taken in Python, which says what is wrong
        self._restored = False  # whether the next run goes on from a checkpoint
        self._rates: tuple[Array, object] | None = None  # of a state within a run, and what acted then
        self._keeping = Keeping()
        self._due: int | None = None  # when the next checkpoint goes to the disk
        self._ahead = _AHEAD[0]  # steps that are taken before events are looked for in them
        self._states = States(acting.mb)
        self.last: Run | None = None
        """The last run, complete or not."""
        self.look: Look | None = None
        """Who looks at runs between steps."""

    @property
    def t(self) -> float:
        """The present time in seconds."""
        return self.now.seconds

    @property
    def is_new(self) -> bool:
        """True before the first run, of one that was not restored."""
        return self.last is None and not self._acting.running and not self._restored

    @property
    def origin(self) -> int:
        """The nanosecond from which fixed steps and checkpoints are counted."""
        return self._stride.origin

    # -- what is looked for, and called ------------------------------------------------------------------------

    @property
    def events(self) -> list[Event]:
        """What is looked for in every step."""
        return self._watch.events

    def watch(self, load: Load) -> None:
        """Look for the instants at which a load holds, lets go or strikes."""
        if getattr(load, "switches", False):
            hold = cast(Hold, load)
            self.events.append(Event(hold.name, lambda t, s: hold.margin(self._acting.problem, t, s), -1, hold=hold))
        if isinstance(load, Impacts):
            self.events.append(Event(load.name, load.gap, -1, load.strike, below=load.below))

    def carry(self, carried: Carried) -> None:
        """Look for the crossings of what is carried along."""
        for i, (name, direction) in enumerate(carried.crossings):
            self.events.append(Event(name, _nothing, direction, margin=partial(self._margin, i)))

    @property
    def _crossings(self) -> list[str]:
        """The names of the crossings of what is carried along."""
        return [] if self._acting.carried is None else [name for name, _ in self._acting.carried.crossings]

    def _margin(self, i: int, t: float, x: Array) -> float:
        problem = self._acting.problem
        return problem.margins(t, x)[i]

    def every(self, period: float, callback: Callable[[float, State], Any]) -> None:
        """Call a function now and after every period, in seconds."""
        self.callbacks.append((self.now.ns, positive_nanoseconds(period, "the period"), callback))

    def follow(self, other: Runner, names: Mapping[str, str]) -> None:
        """Go on where another runner is: at its instant, on its grid of steps, with the work of forces of the same
        names, or of the `names` that they have here."""
        self.now, self.look = other.now, other.look
        self._stride.origin = other._stride.origin
        self._work = {names.get(key, key): work for key, work in other._work.items()}
        self.last = other.last

    # -- running -----------------------------------------------------------------------------------------------

    def run(
        self,
        goal: int,
        progress: bool,
        until: str | Sequence[str] | None = None,
        pace: Pace | None = None,
        keeping: Keeping | None = None,
    ) -> Run:
        """On to a nanosecond, or to an event; with a pace, each step waits for the clock before its tick. `keeping` is
        what goes to the disk meanwhile."""
        with self._acting.alone.held("advance_to"):
            return self._run(goal, progress, until, pace, keeping)

    def _run(
        self,
        goal: int,
        progress: bool,
        until: str | Sequence[str] | None,
        pace: Pace | None,
        keeping: Keeping | None,
    ) -> Run:
        keeping = Keeping() if keeping is None else keeping
        until = [] if until is None else [until] if isinstance(until, str) else list(until)
        known = [x.name for x in self.events]
        for name in until:
            if name not in known:
                raise StateError(f"there is no event {name!r:.60} to stop at{near(str(name), known)}")
        if self._lost:
            raise StateError(
                f"the last run of {self._acting.name!r} ended with an error before its last rows, and components have "
                f"jumped since: their states at t = {self.t:.9g} s are not known. Make another system."
            )
        self._until, self._stopped, self._pace = frozenset(until), "", pace
        if goal < self.now.ns or (goal == self.now.ns and self.now.rest > 0.0):
            raise StateError(f"the run is at t = {self.t:.9g} s already, so it cannot advance to {goal / 1e9:.9g} s.")
        problem = self._acting.begin()
        begins_at, self._restored = self.state() if self._restored else None, False
        x, w = self._start(problem)
        problem.energy(x)  # raises where it overflows: the first row is a good one
        if pace is not None:
            pace.begin(self.now.ns)
        x, w = self._tick(x, w)
        columns = None if problem.carried is None else problem.carried.columns
        log, logged = keeping.log, False
        if log is not None:
            made = problem.names, self._method.name, labels_of(problem.mb), columns, keeping.documents
            logged = log.begin(Layout(_sizes(problem), *made), keeping.goes_on)
        if problem.contact is not None:
            problem.contact.begin_run()
        recorder = Recorder(problem, self._method.name, log)
        recorder.first(self.t, x, w, logged)
        if problem.has_functions or self.events:  # one that changes the structure leaves this row
            recorder.flush()
        if begins_at is not None:  # the first row has asked for values that one who was not killed did not ask for
            self._take(begins_at)
            x, w = self._tick(*self._start(problem))
        before = self.last
        stopped, self._acting.running, self._keeping = "", True, keeping
        self._due = keeping.due(self.now.ns)
        with Bar(f"simulating {self._acting.name}", self.t, goal / 1e9, progress) as bar:
            try:
                stopped = self._advance(goal, x, w, recorder, bar)
                recorder.flush()
                self._stability.look(problem)
                if problem.carried is not None and self._x is not None:  # its values are those of the last row
                    problem.displaced()
                    problem.rates(self.t, self._x)
                if keeping.write is not None and not keeping.stays_open:
                    self._checkpoint(recorder)
            except SoacraftError as cause:
                raise self._failed(cause, recorder) from cause
            except BaseException:
                with suppress(SoacraftError):  # of rows that are not good: those before are kept
                    recorder.flush()
                self._back(recorder)  # an interrupt may come between a row and what belongs to it
                self._end(recorder, "interrupted")
                raise
            finally:
                self._acting.running, self._keeping = False, Keeping()
                problem.see(ALWAYS)
                if log is not None and self.last is not before:  # it ended with an error
                    log.close()
        run = self._end(recorder, stopped)
        if log is not None and not keeping.stays_open:
            log.close()
        layout = problem.mb.layout
        if layout.flexible:
            report_turns(layout, Deformation(layout, run.q))
        return run

    def _advance(self, goal: int, x: Array, w: Array, recorder: Recorder, bar: Bar) -> str:
        x, w = self._call_back(x, w, recorder)
        taken = 0  # steps since the last look
        while self.now.ns < goal:
            if self.look is not None and (told := self.look.look(taken)):
                if told != CHANGED:
                    return told
                before = self._acting.problem.masses
                self._acting.problem.displaced()
                x, w = self._weigh(x, self._acting.problem.rates(self.t, x), before)
                self._stride.forget()
            visits = self._visits()
            if visits is not None:
                recorder.flush()  # before a callback changes a parameter of the model
            block = self._many(goal, x, w, recorder, visits)
            taken = 1 if block is None else len(block.t) - 1
            if block is not None or (visits is not None and visits.before is not None):
                if block is not None:
                    x, w = block.x[-1], block.w[-1]
                    self._stability.add(self._acting.problem, block.t[1:], block.x[1:])
                self._stride.require_fine()
                self._acting.problem.see(window(self._acting.breaks, self.now))
                if visits is not None and visits.before is not None:
                    x, w = self._after_visit(x, visits.before, recorder)
                x, w = self._call_back(x, w, recorder)
                x, w = self._kept_at(x, w, recorder)
                bar.at(self.t)
                continue
            breaks = self._acting.breaks
            until = self._next_stop(goal)
            step, end, error = self._stride.take(self._acting.problem, self.now, x, w, until, breaks)
            crossing = self._watch.find(step)
            if crossing is not None:
                problem, cuts = self._acting.problem, (step, end, error)
                step, end, error, crossing = self._stride.cut(problem, cuts, self.now, crossing, self._watch, breaks)
            step = self._acting.problem.weighed(step)
            self.now, self._x, before = end, step.x1, self._acting.problem.masses
            self._acting.problem.holds.require_kept(step.x1)
            x, w = step.x1, self._beyond(step.x1, step.w1)
            if self._pace is not None:
                self._pace.wait(end.ns)
            if crossing is None:
                x, w = self._weigh(*self._tick(x, w, step), before)
            if step.h > 0.0:
                recorder.step(step, end.seconds, None if error is None else error * self._rtol, (x, w))
                self._stability.add(self._acting.problem, np.array([end.seconds]), step.x1[None])
            if crossing is not None:
                x, w, stop = self._act(crossing, x, w, recorder)
                if stop:
                    if self._feels(step):
                        self._feel(step)
                    return stop
                before = self._acting.problem.masses
                x, w = self._weigh(*self._tick(x, w, step), before)
            if self._stopped:
                return self._stopped
            x, w = self._call_back(x, w, recorder)
            x, w = self._kept_at(x, w, recorder)
            bar.at(end.seconds)
        return ""

    def _kept_at(self, x: Array, w: Array, recorder: Recorder) -> tuple[Array, Array]:
        """Write a checkpoint where one is due, and go on from it as one who restores it does."""
        if self._due is None or self.now.ns < self._due or self.now.rest > 0.0:
            return x, w
        self._checkpoint(recorder, w)
        self._due = self._keeping.due(self.now.ns)
        return self._start(self._acting.begin())

    def _checkpoint(self, recorder: Recorder, w: Array | None = None) -> None:
        write, log = self._keeping.write, self._keeping.log
        assert write is not None
        recorder.flush()
        self._leave()
        state = self.state(w)
        write(state, None if log is None else log.place)
        self._take(state)

    def _visits(self) -> VisitPlan | None:
        """The callbacks as visits between compiled steps; None where there is none, or steps end at each."""
        acting, problem = self._acting, self._acting.problem
        if not self.callbacks or self.events or acting.carried is not None or self._pace is not None:
            return None
        widths = sum(problem.sizes[::2]) + len(problem.names), 2 * problem.mb.nv + len(problem.names)
        logged = self._keeping.log is not None  # rows are written before a callback
        return VisitPlan(self.callbacks, problem, widths, self._account, self._arrive, logged)

    def _arrive(self, ns: int) -> None:
        """Be at the instant of a visit, as its callbacks see in `p.t`."""
        self.now = Instant(ns)

    def _account(self) -> tuple[object, ...]:
        """What acts, and the model, but for the state and the numbers of controls: to be compared with a later one."""
        acting, mb = self._acting, self._acting.mb
        edits = acting.problem.edition, mb.revision, mb.parameters, len(self.events), len(self.callbacks)
        forces = [(node, id(wrench)) for node, wrench in mb.acting_forces.items()]
        touch = acting.problem.contact
        return edits, forces, acting.prescribed.edition, None if touch is None else touch.scene.revision

    def _after_visit(self, x: Array, before: State, recorder: Recorder) -> tuple[Array, Array]:
        """The point and its rates after a callback between compiled steps changed the model, which had the state
        `before`."""
        values = self._watch.values(self.t, x)
        x, w, changed = self._taken_over(x, before)
        if changed:
            recorder.row(self.t, x, w)
            self._stability.add(self._acting.problem, np.array([self.t]), x[None])
            self._watch.moved(self.t, x, values)
        return x, w

    def _many(self, goal: int, x: Array, w: Array, recorder: Recorder, visits: VisitPlan | None = None) -> Block | None:
        """Steps in one compiled call, up to the next callback; None where the next is to be taken in Python, as where
        events are looked for."""
        problem, carried = self._acting.problem, self._acting.carried
        if self.now.ns < self._doubtful or (self._pace is not None and carried is None):
            return None
        if (self._watch.asks_functions and carried is not None) or not self._watch.holds_are_clear:
            return None
        if carried is None and any(breaks.jumps for breaks in self._acting.breaks):
            return None
        kept = None if carried is None else carried.keep()
        wait = None if self._pace is None else self._pace.wait
        stops = [x[0] for x in self.callbacks] if visits is None else visits.stops
        stop = min([goal, *self._saved, *stops])
        if self.look is not None and carried is not None:
            ahead = self.look.ahead
            stop = self._stride.stop(self.now, stop, ahead) if ahead > 1 else self._next_stop(stop)
        if self._watch.asks_functions:
            block = self._without_events(problem, x, w, stop)
        else:
            block = self._stride.many(problem, self.now, x, w, stop, wait, visits)
        if block is None:
            return None
        if carried is not None:
            problem.displaced()
            self._kept = int(block.ns[1]), kept
        before = self.now, self._x
        self.now, self._x = Instant(int(block.ns[-1])), block.x[-1]
        if not recorder.block(block, self._rtol):
            assert carried is not None
            carried.restore(kept)
            if problem.contact is not None:
                problem.contact.take_back(before[0].seconds)
            (self.now, self._x), self._kept, self._doubtful = before, None, int(block.ns[-1])
            return None
        return block

    def _without_events(self, problem: Mechanism, x: Array, w: Array, stop: int) -> Block | None:
        """Compiled steps up to the one in which an event happens, which Python takes: None where that is the next.
        Steps are taken ahead, twice as many each time that none happens; those beyond an event are taken back."""
        now, memory, began = self.now, self._stride.memory, time.perf_counter()
        follows = None if problem.closed is None else problem.closed.memory
        block = self._stride.many(problem, now, x, w, stop, most=self._ahead)
        if block is None:
            return None
        count = len(block.ns) - 1
        quiet = 0
        while quiet < count and not self._happens_in(block.step(quiet)):
            quiet += 1
        if quiet == count:
            slow = time.perf_counter() - began > _SECONDS
            self._ahead = max(1, self._ahead // 2) if slow else min(2 * self._ahead, _AHEAD[1])
            return block
        self._stride.require_uninterrupted()
        self._ahead = _AHEAD[0]
        self._stride.resume(*memory)
        if problem.closed is not None and follows is not None:
            problem.closed.recall(*follows)
        if problem.contact is not None:
            problem.contact.take_back(now.seconds)
        return self._stride.many(problem, now, x, w, stop, most=quiet) if quiet else None  # the same steps again

    def _happens_in(self, step: Step) -> bool:
        """Whether an event happens in a step, or its function has no value there, of which Python's step tells."""
        try:
            return self._watch.find(step, of_functions=True) is not None
        except StaleError:  # it changed the model
            raise
        except SoacraftError:
            return True

    def _next_stop(self, goal: int) -> int:
        """The next nanosecond at which a step must end."""
        due = [*(x[0] for x in self.callbacks), *self._saved]
        carried = self._acting.carried
        if carried is not None and carried.next_tick is not None:
            due.append(carried.next_tick)
        due += [ns for x in self._acting.breaks if (ns := x.after(self.now.ns)) is not None]
        return self._stride.stop(self.now, min([goal, *due]))

    @property
    def _saved(self) -> list[int]:
        """When the next checkpoint is due: fixed steps are not cut for it."""
        return [] if self._due is None else [self._stride.end_from(self._due)]

    # -- events and callbacks ----------------------------------------------------------------------------------

    def _act(self, crossing: Crossing, x: Array, w: Array, recorder: Recorder) -> tuple[Array, Array, str]:
        """Let events happen, one after the other."""
        stop, jumped, settled, before = "", False, False, self._acting.problem.masses
        self._watch.check_storm(self.now.ns, crossing)
        crossed = {event.name: self._watch.sign(event.name) for event in crossing.events if event.margin is not None}
        self._watch.crossed(crossing)
        values = self._watch.values(self.t, x)
        for event in crossing.events:
            problem = self._acting.problem
            q, v, _ = problem.parts(x)
            recorder.events.append(Happened(self.t, event.name, np.array(q), np.array(v)))
            if event.hold is not None and not settled:  # all that begins or ends to hold at this instant
                holds = [y.hold for y in crossing.events if y.hold is not None]
                x = problem.settle(self.t, problem.holds.settle(self.t, x, holds), True)
                w, jumped, settled = problem.rates(self.t, x), True, True
            if event.action is not None:
                recorder.flush()
                x, w, changed = self._given_to(event.action, x, w)
                jumped = jumped or changed
            stop = stop or (event.name if event.stop or event.name in self._until else "")
        if crossed:
            x, w = self._crossed(x, crossed, recorder)
            self._x, jumped = x, True
        x, w = self._weigh(x, w, before)
        if jumped:
            recorder.row(self.t, x, w)
            self._stability.add(self._acting.problem, np.array([self.t]), x[None])
        self._watch.moved(self.t, x, values if jumped else None)
        return x, w, stop or self._stopped

    def _crossed(self, x: Array, crossed: Mapping[str, float], recorder: Recorder) -> tuple[Array, Array]:
        """The point and its rates after crossings of what is carried along."""
        carried, problem = self._acting.carried, self._acting.problem
        assert carried is not None
        kept = carried.keep()
        try:
            x = self._jumps(x, crossed, recorder)
            self._jumped_at = self.now.ns
            return x, problem.rates(self.t, x)
        except BaseException:  # as it was before the jumps
            carried.restore(kept)
            problem.displaced()
            raise

    def _jumps(self, x: Array, crossed: Mapping[str, float], recorder: Recorder | None) -> Array:
        """Jumps of crossings, all at once; and of crossings that these make at the same instant, and so on. `crossed`
        has the sign of each before it crossed."""
        problem = self._acting.problem
        carried = self._acting.carried
        assert carried is not None
        values = np.array(problem.margins(self.t, x))
        signs = np.sign(values)
        at_zero = np.array([name in crossed for name in self._crossings])
        for i, (name, direction) in enumerate(carried.crossings):
            if name in crossed:  # beyond its zero, to whichever side it was located
                signs[i] = direction or -crossed[name]
        names, count = list(crossed), 0
        while names:
            count += len(names)
            if count > _JUMPS:
                raise SimulationError(
                    f"more than {_JUMPS} crossings at one instant: {names[0]!r} and others make each other cross "
                    "without end. Let a jump leave its crossing's function on the side where it is."
                )
            x = problem.jumped(self.t, x, names)
            margins = np.array(problem.margins(self.t, x))
            after = np.where(at_zero & unmoved(margins, values), signs, np.sign(margins))
            turned = [
                name
                for (name, direction), a, b in zip(carried.crossings, signs, after, strict=True)
                if a and b and a != b and direction in (0, b)
            ]
            signs, names = np.where(after == 0.0, signs, after), turned
            self._stopped = self._stopped or next((x for x in turned if x in self._until), "")
            if recorder is not None:
                q, v, _ = problem.parts(x)
                recorder.events += [Happened(self.t, name, np.array(q), np.array(v)) for name in names]
        return x

    def _beyond(self, x: Array, w: Array) -> Array:
        """The rates at the present point as the next step has them: anew where something jumps here."""
        problem = self._acting.problem
        span = window(self._acting.breaks, self.now)
        problem.see(span)
        return w if span == ALWAYS else problem.rates(self.t, x)

    def _weigh(self, x: Array, w: Array, before: Array | None) -> tuple[Array, Array]:
        """The point with the work of masses that jumped here, from those before; None where none varies."""
        if before is None:
            return x, w
        self._x = self._acting.problem.reweighed(self.t, x, before)
        return self._x, w

    def _feels(self, step: Step | None) -> bool:
        """Whether what is carried along takes the contacts of a step."""
        carried = self._acting.carried
        return step is not None and step.h > 0.0 and carried is not None and carried.feels

    def _feel(self, step: Step) -> None:
        """Let what is carried along have the contacts of a step that was taken."""
        carried, problem = self._acting.carried, self._acting.problem
        assert carried is not None
        found = [] if problem.contact is None else problem.contact.steps[-1:]
        mine = found and found[0].t > step.t0 + 1e-9 * step.h  # else nothing was near in it
        carried.feel(found[0] if mine else None, step.h)
        problem.displaced()

    def _tick(self, x: Array, w: Array, step: Step | None = None) -> tuple[Array, Array]:
        """Let what is carried along have the contacts of the step that ended, and tick, where it is due; crossings that
        this makes jump at once."""
        carried, problem = self._acting.carried, self._acting.problem
        if carried is None:
            return x, w
        due = carried.next_tick == self.now.ns and self.now.rest <= 0.0
        feels = self._feels(step)
        if not due and not feels:
            return x, w
        kept = carried.keep()
        try:
            x, w = self._ticked(carried, problem, x, step if feels else None, due)
        except BaseException:  # as it was before the tick, to be tried again
            carried.restore(kept)
            raise
        self._x, self._kept = x, (self.now.ns, kept)
        return x, w

    def _ticked(
        self, carried: Carried, problem: Mechanism, x: Array, step: Step | None, due: bool
    ) -> tuple[Array, Array]:
        """The point and its rates after the contacts of a step were taken, and after a tick."""
        values = dict(zip(self._crossings, problem.margins(self.t, x), strict=True)) if carried.crossings else None
        if step is not None:
            self._feel(step)
        if due:
            problem.tick(self.now.ns, self.t, x)
        if values is not None:
            before, after = np.sign(list(values.values())), np.sign(problem.margins(self.t, x))
            turned = {
                name: float(a)
                for (name, direction), a, b in zip(carried.crossings, before, after, strict=True)
                if b and a and a != b and direction in (0, b)
            }
            if turned:
                self._stopped = next((x for x in turned if x in self._until), "")
                x = self._jumps(x, turned, None)
            self._watch.moved(self.t, x, values)
        return x, problem.rates(self.t, x)

    def _call_back(self, x: Array, w: Array, recorder: Recorder) -> tuple[Array, Array]:
        """Call what is due now. All have the accelerations at the end of the step, until one of them changes more than
        numbers of controls."""
        ended = w
        for i, (due, period, callback) in enumerate(self.callbacks):
            if due > self.now.ns or self.now.rest > 0.0:
                continue
            self.callbacks[i] = (due + period, period, callback)
            recorder.flush()
            before, values = self._acting.problem.masses, self._watch.values(self.t, x)
            acts = self._account()
            x, w, changed = self._given_to(callback, x, ended)
            ended = w if changed or acts != self._account() else ended
            x, w = self._weigh(x, w, before)
            if changed:
                recorder.row(self.t, x, w)
                self._stability.add(self._acting.problem, np.array([self.t]), x[None])
                self._watch.moved(self.t, x, values)
        return x, w

    def _given_to(self, function: Callable[[float, State], Any], x: Array, w: Array) -> tuple[Array, Array, bool]:
        """Call a user's function with the model at the present state; what it changed there is the new state."""
        mb, problem = self._acting.mb, self._acting.problem
        self._x = x
        q, v, _ = problem.parts(x)
        mb.set_state(q, v, problem.vdot_of(x, w))
        before = mb.current
        function(self.t, before)
        return self._taken_over(x, before)

    def _taken_over(self, x: Array, before: State) -> tuple[Array, Array, bool]:
        """The point and its rates after a user's function had the model at x, in the state `before`, and whether it
        changed that."""
        mb, problem = self._acting.mb, self._acting.problem  # raises where its structure is another now
        changed = not (np.array_equal(mb.q, before.q) and np.array_equal(mb.v, before.v))
        problem.release_functions()  # they may read what it changed
        if changed:
            x = problem.point(np.array(mb.q), np.array(mb.v), problem.parts(x)[2])
            x = problem.begun(self.t, problem.holds.settle(self.t, x, ()))
            self._stride.forget()
        else:
            x = problem.holds.settle(self.t, x, ())
        w = problem.rates(self.t, x)  # it may also have changed a control, or a parameter of the model
        self._x = x
        return x, w, changed

    # -- the state as a value ----------------------------------------------------------------------------------

    def state(self, w: Array | None = None) -> SimState:
        """Return the state of the run. The model must be at the present point (`_leave`); `w` are the rates with which
        the next step begins, in the middle of a run."""
        problem = self._acting.begin()
        x = self._found(problem)
        rates = self._rates_kept() if w is None else w
        q, v, _ = problem.parts(x)
        length, longest, counts = self._stride.memory
        signs, storm = self._watch.memory
        turns, independent, choice = ({}, None, None) if problem.closed is None else problem.closed.memory
        ticks, held = ([], {}) if problem.carried is None else problem.carried.memory()
        z = np.zeros(0) if problem.carried is None else problem.carried.present
        return SimState(
            ns=self.now.ns,
            rest=self.now.rest,
            origin=self._stride.origin,
            q=q,
            v=v,
            work=np.array([self._work.get(name, 0.0) for name in problem.names]),
            z=z,
            rates=np.zeros(0) if rates is None else rates,
            forces=tuple(problem.names),
            dofs=tuple(problem.mb.dof_names),
            length=length,
            longest=longest,
            counts=counts,
            signs=signs,
            happened=tuple(storm),
            events=tuple(x.name for x in self.events),
            callbacks=tuple((due, period) for due, period, _ in self.callbacks),
            closures={name: tuple(x) for name, x in turns.items()},
            independent=None if independent is None else tuple(independent),
            embedding=None if choice is None else (tuple(choice[0]), choice[1]),
            within=w is not None,
            began=problem.contact is not None and problem.contact.began,
            controls=self._acting.numbers,
            ticks=tuple(ticks),
            held=held,
        )

    def set_state(self, state: SimState, whose: str = "") -> None:
        """Continue from a state of the same model and the same forces. With `whose`, as "the checkpoint 'a.h5'", the
        state may come from another runner, and one that does not fit is refused with nothing changed."""
        if not whose:
            self._take(state)
        else:
            refuse_other(state, self._fit(), whose)
            vdot, before, restored = np.array(self._acting.mb.vdot), self.state(), self._restored
            try:
                self._take(state)
            except (SoacraftError, LookupError, ValueError, TypeError, OverflowError) as wrong:
                self._take(before)
                self._acting.mb.set_state(before.q, before.v, vdot)
                self._restored = restored
                raise CheckpointError(f"{whose} cannot be restored, it is damaged: {wrong}") from wrong
        self._restored = True

    def _take(self, state: SimState) -> None:
        """Move to a state."""
        problem = self._acting.begin()
        mb = problem.mb
        x = np.concatenate([state.q, state.v, state.work, state.z])
        mb.set_state(state.q, state.v)
        self.now, self._x = Instant(state.ns, state.rest), x
        self._seen = np.array(mb.q), np.array(mb.v)
        self._work = dict(zip(problem.names, state.work.tolist(), strict=True))
        self._acting.set_numbers(state.controls)
        self._stride.origin = state.origin
        self._stride.recall(state.length, state.longest, state.counts)
        self._watch.recall(state.signs, state.happened)
        self._stability.forget()
        functions = [f for _, _, f in self.callbacks]
        self.callbacks = [(*when, f) for when, f in zip(state.callbacks, functions, strict=True)]
        if problem.closed is not None:
            problem.closed.recall(state.closures, state.independent, state.embedding)
        if problem.contact is not None:
            problem.contact.recall(state.began)
        if problem.carried is not None:
            problem.carried.recall(state.ticks, {name: deepcopy(x) for name, x in state.held.items()})
            problem.carried.present = np.array(state.z)
            problem.displaced()
        self._kept, self._jumped_at, self._doubtful, self._lost = None, -(2**63), -(2**63), False
        self._rates = (np.array(state.rates), (self._account(), self._acting.numbers)) if len(state.rates) else None

    def _rates_kept(self) -> Array | None:
        """The rates of the state that was taken, while the same acts as then; else None."""
        if self._rates is None or self._rates[1] != (self._account(), self._acting.numbers):
            return None
        return self._rates[0]

    def _fit(self) -> Fit:
        """Return what a state must fit to."""
        problem = self._acting.begin()
        ticks, held = ([], {}) if problem.carried is None else problem.carried.memory()
        return Fit(
            problem.mb,
            tuple(problem.names),
            tuple(x.name for x in self.events),
            tuple(x[1] for x in self.callbacks),
            tuple(sorted(self._acting.numbers)),
            len(ticks),
            0 if problem.carried is None else problem.carried.size,
            held,
        )

    # -- beginning and end -------------------------------------------------------------------------------------

    def _found(self, problem: Mechanism) -> Array:
        """The point where it was left, or a new one where the model was given another state meanwhile."""
        mb, seen = self._acting.mb, self._seen
        q, v = np.array(mb.q), np.array(mb.v)
        if seen is not None and np.array_equal(q, seen[0]) and np.array_equal(v, seen[1]) and self._x is not None:
            return self._x
        self._rates = None
        self._stride.forget()
        self._watch.forget(self.t, self._x)
        self._stability.forget()
        if problem.contact is not None:
            problem.contact.begin_anew()
        return problem.point(q, v)

    def _start(self, problem: Mechanism) -> tuple[Array, Array]:
        """The point at which the run goes on: where it was left, or the state that the model was given meanwhile."""
        mb, given = self._acting.mb, self._acting.prescribed.dofs
        self._x = self._found(problem)
        q, v = np.array(mb.q), np.array(mb.v)
        work = [self._work.get(name, 0.0) for name in problem.names]
        if problem.carried is not None:
            problem.displaced()
            problem.carried.begin(self.now.ns)
            problem.ticks_first = problem.carried.next_tick == self.now.ns
        x = problem.point(*problem.parts(self._x)[:2], np.array(work))
        if problem.closed is not None and not given:
            problem.closed.require_closed(q, v)
        problem.holds.require_inside(x)
        for load in self._acting.loads:
            if isinstance(load, Impacts):
                if given:
                    name = mb.dof_names[given[0]]
                    raise StateError(
                        f"dof {name!r} moves as told, and impacts as events would change its velocity: use "
                        "sc.sim.Contact with integrator='moreau', which keeps it, or let it go with "
                        f"p.prescribe({name!r}, None)."
                    )
                load.begin_run(problem.parts(x)[0])
        if problem.contact is not None:
            x = problem.contact.pushed_out(problem, self.t, x)
        problem.see(window(self._acting.breaks, self.now))
        x = problem.begun(self.t, problem.holds.settle(self.t, x, ()))
        w, rates = problem.rates(self.t, x), self._rates_kept()
        w, self._rates = w if rates is None else rates, None
        self._watch.moved(self.t, x)
        self._stability.begin(problem, self.t, x)
        self._x = x
        return x, w

    def _state_at(self, x: Array) -> State:
        q, v, _ = self._acting.problem.parts(x)
        return self._states.of(q, v)

    def _end(self, recorder: Recorder, stopped: str) -> Run:
        """Leave the model at the present state and keep the run."""
        self._leave()
        self.last = recorder.run(stopped)
        self.last._pace = None if self._pace is None else self._pace.report()
        return self.last

    def _leave(self) -> None:
        """Let the model have the present state, and keep what the next start needs."""
        if self._x is not None and self._acting.is_current:
            mb, problem = self._acting.mb, self._acting.problem
            q, v, _ = problem.parts(self._x)
            if problem.varies:
                with suppress(SoacraftError):  # masses are those of the last stage otherwise, which may not be its own
                    problem.place(self.t, self._x)
            mb.set_state(q, v)
            self._seen = np.array(mb.q), np.array(mb.v)
            self._work = dict(zip(problem.names, problem.work_of(self._x).tolist(), strict=True))
            if problem.carried is not None:
                problem.carried.present = problem.carried_of(self._x).copy()

    def _back(self, recorder: Recorder) -> None:
        """Be where the last row is, if the run went on without it."""
        last, x = recorder.last
        if last != self.t:
            self._untick(nanoseconds(last, "t"))
            self.now, self._x = Instant(nanoseconds(last, "t")), x
            self._stride.forget()
            self._stability.forget()

    def _untick(self, last: int) -> None:
        """Take back the tick after the last row. Ticks before that one are not known any more, nor are jumps: then
        there is no going on."""
        carried, kept = self._acting.carried, self._kept
        if carried is not None and kept is not None and kept[0] > last:
            carried.restore(kept[1])
        self._kept, self._lost = None, self._lost or self._jumped_at > last

    def _failed(self, cause: SoacraftError, recorder: Recorder) -> SimulationError:
        try:
            recorder.flush()
        except SoacraftError as earlier:  # rows that were pending: those before are kept
            cause = earlier if self._acting.is_current else cause
        if not self._acting.is_current:  # a function changed the structure, so that energies of rows are not known
            cause = self._stride.raised_error or cause
        self._back(recorder)
        run = self._end(recorder, type(cause).__name__)
        why = str(cause) if isinstance(cause, Stiff) else f"{cause}{self._stiffness(run)}"
        self._leave()  # stiffness was judged with the masses of another row
        kind = type(cause) if isinstance(cause, LinkError) else SimulationError
        found = kind(f"the run of {self._acting.name!r} stopped at t = {self.t:.9g} s: {why}")
        found.t, found.run = self.t, run
        if isinstance(cause, LinkError) and isinstance(found, LinkError):
            found.peer = cause.peer
        return found

    def _stiffness(self, run: Run) -> str:
        """Whether fixed steps were too long for what is fast where the run began; empty where they were not."""
        if self._method.adaptive or not self._acting.is_current or not self._acting.problem.mb.nv:
            return ""
        problem = self._acting.problem
        x = problem.point(run.q[0], run.v[0])
        told = limit(self._method, problem, float(run.t[0]), x, self._stride.length)
        if told:
            return f" {told[0].upper()}{told[1:]}"
        if problem.carried is None or not problem.carried.size:
            return ""
        length = self._stride.length
        return (
            f" Steps of {length:g} s may be too long for the fastest of its components: try steps of {length / 10:g} "
            "s, or integrator='radau'."
        )


def _nothing(t: float, state: State) -> float:
    return 0.0


def _sizes(problem: Mechanism) -> dict[str, tuple[int, ...]]:
    nq, nv, loads = problem.mb.nq, problem.mb.nv, len(problem.names)
    return {"q": (nq,), "v": (nv,), "vdot": (nv,), "work": (loads,), "forces": (loads, nv)}
