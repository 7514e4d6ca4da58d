"""`Propagator`: carries the state of a model through time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from os import PathLike
from typing import Any, ClassVar, cast

import numpy as np

from soacraft.arguments import whole_number
from soacraft.attributes import Strict
from soacraft.errors import ModelError, SimulationError, SoacraftError, StaleError, StateError
from soacraft.loops import Solver
from soacraft.markup import Text
from soacraft.model.states.state import State
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.choice import read_solver
from soacraft.sim.clock import Instant, nanoseconds, positive_nanoseconds
from soacraft.sim.closed import Stabilized, stabilized
from soacraft.sim.compiled import obstacle_to_run
from soacraft.sim.events import Crossing, Event, Happened, Watch
from soacraft.sim.forces.contact import Contact
from soacraft.sim.forces.drives import Control
from soacraft.sim.forces.holding import Hold
from soacraft.sim.forces.impacts import Impacts
from soacraft.sim.forces.loads import Function, Load, require_unused, use
from soacraft.sim.forces.prescribed import Prescribed, find_dof
from soacraft.sim.integrators.methods import find_method
from soacraft.sim.rollout import METHODS as ROLLED
from soacraft.sim.rollout import read_force, rollout
from soacraft.sim.runs.block import Block
from soacraft.sim.runs.log import Log
from soacraft.sim.runs.progress import Bar
from soacraft.sim.runs.recorder import Recorder
from soacraft.sim.runs.report import report
from soacraft.sim.runs.run import Run
from soacraft.sim.sensitivity import Sensitivity, sensitivity
from soacraft.sim.stride import Stride
from soacraft.sim.system import Mechanism
from soacraft.spatial.checks import Array, finite


class Propagator(Strict):
    """Carries the state of a model through time, from its present state at time t.

    `solver`: "tree"; for closed chains "ta", "fa" (all dofs, projected at every stage), "ce" (independent dofs), or a
    solver of `sc.loops`; "auto" takes "tree" or "ta" and says why (`p.report()`). In place of the projection of "ta"
    and "fa" `stabilization="baumgarte"` pulls closures shut within a `time_constant` in seconds.

    `integrator`: "dop853" or, for stiff problems, "radau", "cvode", "ida" (adaptive, to `rtol` per step in the model's
    own units); with a fixed `step` in seconds "rk4", "euler_symplectic", "verlet", "gauss4", "gauss6", "variational",
    "variational4"; "generalized_alpha" with a step or without, of the spectral radius `rho_inf` (default 0.8). "cvode"
    and "ida" need the extra `dae`. "ida" and "generalized_alpha" solve closed chains as differential-algebraic
    equations. Of fixed steps, one run and the same in two halves give the same bits; "cvode" and "ida" end a step at
    every pause, so they agree to `rtol`.

    Functions are called as f(t, state). While callbacks and actions of events run, at a pause and after a run the model
    has the state of the run; a callback that changes it makes the run go on from there. Times are rounded to
    nanoseconds.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> mb = sc.load("pendulum")                                   # 1 kg at 1 m, g = 9.81
    >>> mb.set_state([-np.pi / 2], [0.0])
    >>> run = sc.sim.Propagator(mb, rtol=1e-12).advance_to(1.0)
    >>> np.sin(mb.q), bool(abs(run.energy[-1] - run.energy[0]) < 1e-10)
    (array([0.98629175]), True)
    """

    _cures: ClassVar = {"*": "a propagator stays as it was made: make another with sc.sim.Propagator(...)"}

    def __init__(
        self,
        mb: Multibody,
        solver: str | Solver = "auto",
        integrator: str = "dop853",
        rtol: float = 1e-9,
        step: float | None = None,
        t: float = 0.0,
        rho_inf: float | None = None,
        stabilization: str = "projection",
        time_constant: float | None = None,
    ) -> None:
        if not isinstance(mb, Multibody):
            raise ModelError(f"a Propagator takes a Multibody, got {mb!r:.80}.")
        self._mb, self._version = mb, mb.version
        closed, self._why = read_solver(mb, solver)
        self._closed = stabilized(closed, stabilization, time_constant)
        if isinstance(self._closed, Stabilized):
            self._why += f"; closures stabilized with the time constant {self._closed.time_constant:g} s"
        self._rtol = float(finite(rtol, (), "rtol", StateError))
        if not 1e-14 <= self._rtol <= 0.1:
            raise StateError(f"rtol must be between 1e-14 and 0.1, got {self._rtol:g}.")
        self._method = find_method(integrator, self._rtol, step is not None, rho_inf)
        if self._closed is not None:
            self._closed.chooses = self._method.adaptive
        if not self._method.adaptive and step is None:
            raise StateError(f"{self._method.name} takes fixed steps: give step= in seconds, such as step=0.001.")
        self._step = None if step is None else positive_nanoseconds(step, "step")
        self._now = Instant(nanoseconds(t, "t"))
        self._stride = Stride(self._method, self._rtol, self._step, self._now.ns)
        self._loads: list[Load] = []
        self._place_of_loads = object()  # by which they know where they act
        self._controls: dict[str, Control] = {}
        self._prescribed = Prescribed(mb)
        self._callbacks: list[tuple[int, int, Callable[[float, State], Any]]] = []  # next time, period, function
        self._watch = Watch(self._state_at)
        self._problem: Mechanism | None = None
        self._x: Array | None = None  # the present point
        self._seen: tuple[Array, Array] | None = None  # the model's q and v when it was left
        self._work: dict[str, float] = {}
        self._running = False
        self._run: Run | None = None

    # -- what users set ----------------------------------------------------------------------------------------

    @property
    def t(self) -> float:
        """The present time in seconds."""
        return self._now.seconds

    @property
    def run(self) -> Run | None:
        """The last run, complete or not."""
        return self._run

    @property
    def mb(self) -> Multibody:
        """The model, if its structure is still the one the propagator was made for."""
        if self._mb.version != self._version:
            raise StaleError(
                f"the structure of {self._mb.name!r} changed after this propagator was made; make a new one with "
                "sc.sim.Propagator(mb, t=p.t)."
            )
        return self._mb

    def add(self, *loads: Load | Callable[[float, State], Any]) -> None:
        """Let force elements or functions act. A function f(t, state) gives {node: wrench}, a generalized force (nv),
        a pair of both, or None. Springs and dampers of the model act without being added."""
        added: list[Load] = []
        for load in loads:
            known = {x.name for x in [*self._loads, *added]} | set(self._controls)
            element: Load
            if hasattr(load, "force") and hasattr(load, "bind"):
                element = cast(Load, load)
            elif callable(load):
                name = getattr(load, "__name__", type(load).__name__)
                element = Function(_free_name(name.strip("<>"), known), load)
            else:
                raise StateError(f"add takes force elements and functions of (t, state), got {load!r:.60}.")
            if element.name in known:
                raise StateError(f"a force {element.name!r} acts already; give the new one another name.")
            if isinstance(element, Contact) and self._method.name != "moreau":
                raise StateError(
                    f"contact makes impulses, which {self._method.name!r} cannot take; use Propagator(mb, "
                    "integrator='moreau', step=0.001)."
                )
            self._refuse_new(f"the force {element.name!r}", "Add it before, with a function that is zero until then.")
            require_unused(element, self.mb, self._place_of_loads)
            added.append(element)
        for element in added:
            element.bind(self.mb)
        for element in added:  # nothing is refused from here on
            use(element, self.mb, self._place_of_loads)
            self._loads.append(element)
            if getattr(element, "switches", False):
                self._watch_hold(cast(Hold, element))
            if isinstance(element, Impacts):
                self._watch.events.append(Event(element.name, element.gap, -1, element.strike, below=element.below))
            self._problem = None

    def _watch_hold(self, hold: Hold) -> None:
        def margin(t: float, state: State) -> float:
            return hold.margin(self._current, t, state)

        self._watch.events.append(Event(hold.name, margin, -1, hold=hold))

    def _refuse_new(self, what: str, cure: str) -> None:
        if self._running:
            raise StateError(f"{what} is new, and cannot begin to act while a run goes on. {cure}")

    def control(self, name: str, u: Any) -> None:
        """Drive an actuator or a dof with u: a number, a function of (t, state), or (times, values), linear in between.
        A new control takes the place of the old one."""
        control = Control(name, u)
        control.bind(self.mb)
        if name in self._controls and self._problem is not None:
            self._problem.replace(self._controls[name], control)
        else:
            self._refuse_new(f"the control of {name!r}", f"Begin with p.control({name!r}, 0.0).")
            self._problem = None
        self._controls[name] = control

    def prescribe(self, name: str, motion: Any) -> None:
        """Let a dof move as told: `motion(t)` gives (coordinate, rate, acceleration), or is a spline of scipy. None
        lets it go. The force it takes is `run.forces["prescribed"]`. A dof that the closures already fix is refused."""
        number, _ = find_dof(self.mb, name)
        if motion is not None and self._closed is not None:
            self._closed.require_free(number, name, self._prescribed.dofs)
        if not self._prescribed.dofs:
            self._refuse_new(f"the motion of {name!r}", "Prescribe it before.")
            self._problem = None
        self._prescribed.set(name, motion, self.t)

    def event(
        self,
        name: str,
        g: Callable[[float, State], Any],
        direction: int = 0,
        action: Callable[[float, State], Any] | None = None,
        stop: bool = False,
    ) -> None:
        """Where g(t, state) crosses zero, rising (1), falling (-1) or either (0): note it, act, and maybe stop.

        Several events at one instant, within a nanosecond, act in the order in which they were added; each sees the
        state that the one before left. Crossings are looked for in quarters of steps.
        """
        if not isinstance(name, str):
            raise StateError(f"an event has a name by which run.events lists it; got {name!r:.60}.")
        if any(x.name == name for x in self._watch.events):
            raise StateError(f"there is an event {name!r} already; give the new one another name.")
        if not isinstance(direction, int | np.integer) or direction not in (-1, 0, 1):
            raise StateError(f"direction of event {name!r} must be -1, 0 or 1, got {direction!r:.40}.")
        if not callable(g) or not (action is None or callable(action)):
            raise StateError(f"event {name!r} takes functions of (t, state), got {g!r:.40} and {action!r:.40}.")
        found = Event(name, g, int(direction), action, bool(stop))
        found.value(self.t, self.mb.current)
        self._watch.events.append(found)

    def every(self, period: float, callback: Callable[[float, State], Any]) -> None:
        """Call callback(t, state) now and after every period, in seconds. Several at one time are called in the order
        in which they were added."""
        if not callable(callback):
            raise StateError(f"every takes a function of (t, state), got {callback!r:.60}.")
        self._callbacks.append((self._now.ns, positive_nanoseconds(period, "the period"), callback))

    def report(self) -> Text:
        """What acts, what does not, which solver and integrator, and why; whether steps are compiled. Those are taken
        many in one call, up to the next callback; a step that compiled code is not sure of is taken in Python."""
        loads, given = self._loads, self._prescribed
        told = bool(given.dofs) or any(getattr(x, "switches", False) for x in loads)
        why = obstacle_to_run(self.mb, self._method, [*loads, *self._controls.values()], told)
        if not why and self._closed is not None:
            why = self._closed.obstacle
        if not why and self._watch.events:
            why = f"event {self._watch.events[0].name!r} is looked for in each"
        return Text(report(self.mb, self._why, repr(self._method), why, loads, self._controls, given))

    def __repr__(self) -> str:
        return f"Propagator of {self._mb.name!r} at t = {self.t:.9g} s: {self._why.partition(':')[0]}, {self._method!r}"

    # -- running -----------------------------------------------------------------------------------------------

    def advance_to(self, t: float, log: str | PathLike[str] | None = None, progress: bool = False) -> Run:
        """Carry the model on to time t, in seconds; the run up to there.

        `log` writes an HDF5 file as it goes (`sc.sim.read`); `progress` shows a bar once it takes over a second. What
        goes wrong is a `SimulationError` with time and cause; `error.run` and `p.run` hold what was computed, and the
        model is at the last good state. After Ctrl-C likewise.
        """
        goal = nanoseconds(t, "t")
        if goal < self._now.ns or (goal == self._now.ns and self._now.rest > 0.0):
            raise StateError(f"the run is at t = {self.t:.9g} s already, so it cannot advance to {goal / 1e9:.9g} s.")
        problem = self._problem = self._made()
        x, w = self._start(problem)
        problem.energy(x)  # raises where it overflows: the first row is a good one
        opened = None if log is None else Log(log, _sizes(problem), problem.names, self._method.name)
        recorder = Recorder(problem, self._method.name, opened)
        recorder.row(self.t, x, w)
        stopped, self._running = "", True
        with Bar(f"simulating {self._mb.name}", self.t, goal / 1e9, progress) as bar:
            try:
                stopped = self._advance(goal, x, w, recorder, bar)
                recorder.flush()
            except SoacraftError as cause:
                raise self._failed(cause, recorder) from cause
            except BaseException:
                with suppress(SoacraftError):  # of rows that are not good: those before are kept
                    recorder.flush()
                self._back(recorder)  # an interrupt may come between a row and what belongs to it
                self._end(recorder, "interrupted")
                raise
            finally:
                self._running = False
        return self._end(recorder, stopped)

    def rollout(
        self, q: Any, v: Any, force: Any = None, steps: int = 1, threads: int | None = None
    ) -> tuple[Array, Array]:
        """Many steps of "rk4", "verlet" or "euler_symplectic" in one compiled call, from one state or a batch: q (...,
        steps + 1, nq), v likewise.

        `force` is the generalized force, held in each step: (nv), (steps, nv) or (batch, steps, nv). For trees of
        built-in hinges, with springs and dampers of the model; what only functions know (controls, events, other
        forces) is refused. The model's own state plays no part. O(n) a step.

        >>> import soacraft as sc
        >>> mb = sc.load("double_pendulum")
        >>> p = sc.sim.Propagator(mb, integrator="rk4", step=0.01)
        >>> Q, V = p.rollout([[0.1, 0.0], [0.2, 0.0]], [0.0, 0.0], steps=100)
        >>> Q.shape
        (2, 101, 2)
        """
        return rollout(*self._rolled(q, v, force, steps, ROLLED), threads, self._method.name)

    def rollout_derivatives(
        self,
        q: Any,
        v: Any,
        force: Any = None,
        steps: int = 1,
        parameters: Sequence[str] | str = (),
        threads: int | None = None,
    ) -> Sensitivity:
        """A rollout with the derivatives of each of its steps in the state, the force and the parameters, which are
        named as in `sc.analysis.parameter_derivatives`. Exact for the steps as they are taken, O(n nv) a step.

            dx(k+1) = A(k) dx(k) + B(k) dT(k) + C(k) dp,    dx = [dq; dv]

        `forward` and `adjoint` of what it returns carry directions and gradients through the run.

        >>> import numpy as np
        >>> import soacraft as sc
        >>> p = sc.sim.Propagator(sc.load("cart_pole"), integrator="rk4", step=0.01)
        >>> s = p.rollout_derivatives([0.0, 0.1], [0.0, 0.0], steps=50, parameters=["pole.mass"])
        >>> s
        Sensitivity of 50 steps of 2 dofs, parameters pole.mass
        >>> wanted = np.zeros((51, 4))
        >>> wanted[-1, 1] = 1.0                                    # the angle at the end
        >>> in_state, in_force, in_mass = s.adjoint(wanted)
        >>> in_force.shape
        (50, 2)
        """
        given = self._rolled(q, v, force, steps, ("rk4",))
        Q, V = rollout(*given, threads)
        count = len(Q) if Q.ndim > 2 else 1
        T = np.broadcast_to(read_force(self.mb, force, count, given[4], Q.ndim > 2), (count, given[4], self.mb.nv))
        return sensitivity(self.mb, Q, V, T if Q.ndim > 2 else T[0], given[5], parameters)

    def _rolled(
        self, q: Any, v: Any, force: Any, steps: Any, methods: Collection[str]
    ) -> tuple[Multibody, Any, Any, Any, int, float]:
        """What a rollout takes, or why there is none."""
        if self._method.name not in methods or self._step is None:
            known, own = " or ".join(map(repr, methods)), self._method.name
            raise StateError(f"a rollout is by integrator={known} with a step; this propagator has {own!r}.")
        busy = [x.name for x in self._loads] + list(self._controls) + [x.name for x in self._watch.events]
        if busy or self._callbacks or self._prescribed.dofs:
            what = repr(busy[0]) if busy else "a callback or a prescribed motion"
            raise StateError(f"rollout knows forces of the model and force= alone, not {what}; use advance_to.")
        return self.mb, q, v, force, whole_number(steps, "steps of a rollout", 0), self._step / 1e9

    def _advance(self, goal: int, x: Array, w: Array, recorder: Recorder, bar: Bar) -> str:
        x, w = self._call_back(x, w, recorder)
        while self._now.ns < goal:
            block = self._many(goal, x, w)
            if block is not None:
                self._now, self._x = Instant(int(block.ns[-1])), block.x[-1]
                recorder.block(block, self._rtol)
                x, w = self._call_back(block.x[-1], block.w[-1], recorder)
                bar.at(self.t)
                continue
            step, end, error = self._stride.take(self._current, self._now, x, w, self._next_stop(goal))
            crossing = self._watch.find(step)
            if crossing is not None:
                step, end = self._stride.cut(step, self._now, crossing, self._watch)
            self._now, self._x = end, step.x1
            if step.h > 0.0:
                recorder.step(step, end.seconds, None if error is None else error * self._rtol)
            x, w = step.x1, step.w1
            if crossing is not None:
                x, w, stop = self._act(crossing, x, w, recorder)
                if stop:
                    return stop
            x, w = self._call_back(x, w, recorder)
            bar.at(end.seconds)
        return ""

    def _many(self, goal: int, x: Array, w: Array) -> Block | None:
        """Steps in one compiled call, up to the next callback; None where the next is to be taken in Python, as where
        events are looked for."""
        if self._watch.events:
            return None
        return self._stride.many(self._current, self._now, x, w, min([goal, *(x[0] for x in self._callbacks)]))

    def _next_stop(self, goal: int) -> int:
        """The next nanosecond at which a step must end."""
        due = [x[0] for x in self._callbacks]
        due += [ns for control in self._controls.values() for ns in control.knots if ns > self._now.ns]
        return self._stride.stop(self._now, min([goal, *due]))

    # -- events and callbacks ----------------------------------------------------------------------------------

    def _act(self, crossing: Crossing, x: Array, w: Array, recorder: Recorder) -> tuple[Array, Array, str]:
        """Let events happen, one after the other."""
        stop, jumped, settled = "", False, False
        self._watch.check_storm(self._now.ns, crossing)
        for event in crossing.events:
            q, v, _ = self._current.parts(x)
            recorder.events.append(Happened(self.t, event.name, np.array(q), np.array(v)))
            if event.hold is not None and not settled:  # all that begins or ends to hold at this instant
                holds = [y.hold for y in crossing.events if y.hold is not None]
                x = self._current.settle(self.t, self._current.holds.settle(self.t, x, holds), True)
                w, jumped, settled = self._current.rates(self.t, x), True, True
            if event.action is not None:
                recorder.flush()
                x, w, changed = self._given_to(event.action, x, w)
                jumped = jumped or changed
            stop = stop or (event.name if event.stop else "")
        if jumped:
            recorder.row(self.t, x, w)
        self._watch.moved(self.t, x, crossing.events, jumped)
        return x, w, stop

    def _call_back(self, x: Array, w: Array, recorder: Recorder) -> tuple[Array, Array]:
        """Call what is due now."""
        for i, (due, period, callback) in enumerate(self._callbacks):
            if due > self._now.ns or self._now.rest > 0.0:
                continue
            self._callbacks[i] = (due + period, period, callback)
            recorder.flush()
            x, w, changed = self._given_to(callback, x, w)
            if changed:
                recorder.row(self.t, x, w)
                self._watch.moved(self.t, x, [], True)
        return x, w

    def _given_to(self, function: Callable[[float, State], Any], x: Array, w: Array) -> tuple[Array, Array, bool]:
        """Call a user's function with the model at the present state; what it changed there is the new state."""
        self._x = x
        self._place(x, w)
        q, v = np.array(self._mb.q), np.array(self._mb.v)
        function(self.t, self._mb.current)
        changed = not (np.array_equal(self.mb.q, q) and np.array_equal(self._mb.v, v))
        problem = self._current
        if changed:
            x = problem.point(np.array(self._mb.q), np.array(self._mb.v), problem.parts(x)[2])
            x = problem.settle(self.t, problem.holds.settle(self.t, x, ()), True)
            self._stride.forget()
        else:
            x = problem.holds.settle(self.t, x, ())
        w = problem.rates(self.t, x)  # it may also have changed a control, or a parameter of the model
        self._x = x
        return x, w, changed

    # -- beginning and end -------------------------------------------------------------------------------------

    @property
    def _current(self) -> Mechanism:
        assert self._problem is not None
        return self._problem

    def _made(self) -> Mechanism:
        """The problem with all that acts now."""
        if self._problem is not None and self._problem.parameters == self.mb.parameters:
            return self._problem
        return Mechanism(self.mb, [*self._loads, *self._controls.values()], self._prescribed, self._closed)

    def _start(self, problem: Mechanism) -> tuple[Array, Array]:
        """The point at which the run goes on: where it was left, or the state that the model was given meanwhile."""
        mb, seen = self.mb, self._seen
        q, v = np.array(mb.q), np.array(mb.v)
        if seen is None or not (np.array_equal(q, seen[0]) and np.array_equal(v, seen[1])) or self._x is None:
            self._x = problem.point(q, v)
            self._stride.forget()
            self._watch.forget()
            if problem.contact is not None:
                problem.contact.begin_anew()
        work = [self._work.get(name, 0.0) for name in problem.names]
        x = problem.point(*problem.parts(self._x)[:2], np.array(work))
        if self._closed is not None and not self._prescribed.dofs:
            self._closed.require_closed(q, v)
        problem.holds.require_inside(x)
        for load in self._loads:
            if isinstance(load, Impacts):
                if self._prescribed.dofs:
                    name = mb.dof_names[self._prescribed.dofs[0]]
                    raise StateError(
                        f"dof {name!r} moves as told, and impacts as events would change its velocity: use "
                        "sc.sim.Contact with integrator='moreau', which keeps it, or let it go with "
                        f"p.prescribe({name!r}, None)."
                    )
                load.begin_run(problem.parts(x)[0])
        if problem.contact is not None:
            x = problem.contact.pushed_out(problem, self.t, x)
        x = problem.settle(self.t, problem.holds.settle(self.t, x, ()), True)
        w = problem.rates(self.t, x)
        self._watch.moved(self.t, x, [], False)
        self._x = x
        return x, w

    def _state_at(self, x: Array) -> State:
        q, v, _ = self._current.parts(x)
        return self._mb.state(q, v)

    def _place(self, x: Array, w: Array) -> None:
        """Set the model to a state of the run."""
        q, v, _ = self._current.parts(x)
        _, nt, nv = self._current.sizes
        self._mb.set_state(q, v, w[nt : nt + nv])

    def _end(self, recorder: Recorder, stopped: str) -> Run:
        """Leave the model at the present state and keep the run."""
        if self._x is not None and self._mb.version == self._version:
            q, v, work = self._current.parts(self._x)
            self._mb.set_state(q, v)
            self._seen = np.array(self._mb.q), np.array(self._mb.v)
            self._work = dict(zip(self._current.names, work.tolist(), strict=True))
        self._run = recorder.run(stopped)
        return self._run

    def _back(self, recorder: Recorder) -> None:
        """Be where the last row is, if the run went on without it."""
        last, x = recorder.last
        if last != self.t:
            self._now, self._x = Instant(nanoseconds(last, "t")), x
            self._stride.forget()

    def _failed(self, cause: SoacraftError, recorder: Recorder) -> SimulationError:
        try:
            recorder.flush()
        except SoacraftError as earlier:  # rows that were pending: those before are kept
            cause = earlier
        self._back(recorder)
        run = self._end(recorder, type(cause).__name__)
        found = SimulationError(f"the run of {self._mb.name!r} stopped at t = {self.t:.9g} s: {cause}")
        found.t, found.run = self.t, run
        return found


def _free_name(name: str, known: set[str]) -> str:
    """The name, or with a number where it is taken."""
    if name not in known:
        return name
    return next(f"{name}{i}" for i in range(2, len(known) + 3) if f"{name}{i}" not in known)


def _sizes(problem: Mechanism) -> dict[str, tuple[int, ...]]:
    nq, nv, loads = problem.mb.nq, problem.mb.nv, len(problem.names)
    return {"q": (nq,), "v": (nv,), "vdot": (nv,), "work": (loads,), "forces": (loads, nv)}
