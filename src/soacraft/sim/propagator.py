"""`Propagator`: carries the state of a model through time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from os import PathLike
from typing import Any, ClassVar

import numpy as np

from soacraft import markup
from soacraft.arguments import whole_number
from soacraft.attributes import Strict, Uncopied
from soacraft.cards import card, part, says_why
from soacraft.errors import ModelError, StateError, UnknownAttributeError
from soacraft.fingerprint import Fingerprint, describe_by, fingerprint, fingerprint_all
from soacraft.hints import hinted
from soacraft.loops import Solver
from soacraft.markup import Text
from soacraft.model.hinges import Hinge
from soacraft.model.states.state import State
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.acting import Acting
from soacraft.sim.breaks import Breaks
from soacraft.sim.carried import Carried
from soacraft.sim.choice import read_solver
from soacraft.sim.clock import nanoseconds, positive_nanoseconds
from soacraft.sim.closed import Closed, Stabilized, stabilized
from soacraft.sim.course.task import Look
from soacraft.sim.engine import engine_of
from soacraft.sim.events import Event
from soacraft.sim.forces.calls import require_call
from soacraft.sim.forces.contact import Contact
from soacraft.sim.forces.drives import Together, controls_of
from soacraft.sim.forces.loads import Load, unused
from soacraft.sim.identity import of_load
from soacraft.sim.integrators.methods import find_method, read_max_step
from soacraft.sim.rollouts.methods import ROLLOUTS, Row
from soacraft.sim.rollouts.side_by_side import read_force
from soacraft.sim.run_derivatives import rollout_derivatives
from soacraft.sim.runner import Runner
from soacraft.sim.runs import checkpoints
from soacraft.sim.runs.clocked import Pace
from soacraft.sim.runs.log import LogPlace
from soacraft.sim.runs.outputs import Keeping
from soacraft.sim.runs.report import report
from soacraft.sim.runs.run import Run
from soacraft.sim.scene_file import propagator_of_file
from soacraft.sim.sensitivity import Sensitivity, sensitivity
from soacraft.sim.sensor_values import sensor_values
from soacraft.sim.states.sim_state import SimState
from soacraft.sim.steppers.stepper import Stepper
from soacraft.sim.system import Mechanism
from soacraft.sim.visits import HeldNumbers
from soacraft.spatial.checks import Array, finite


class RunCall:
    """The call `p.run(t)`, which is `advance_to`. The run that `p.run` was before is `p.last_run`."""

    __slots__ = ("_propagator",)

    def __init__(self, propagator: Propagator) -> None:
        self._propagator = propagator

    def __call__(self, t: float, *given: Any, **options: Any) -> Run:
        """Advance to time t in seconds, as `advance_to` with the same options."""
        return self._propagator.advance_to(t, *given, **options)

    def __getattr__(self, name: str) -> Any:
        raise UnknownAttributeError(
            f"p.run is a call, p.run(t), and has no attribute {name!r}: the last run is p.last_run."
        )

    def __repr__(self) -> str:
        return f"p.run(t), which is p.advance_to(t), of {self._propagator!r}"


class Propagator(Uncopied, Strict):
    """Carries the state of a model through time, from its present state at time t.

    `solver`: "tree"; for closed chains "ta", "fa", "ce" (all dofs, projected at every stage), or a
    solver of `sc.loops`; "auto" takes "tree" or "ta" and says why (`p.report()`). In place of the projection of "ta"
    and "fa" `stabilization="baumgarte"` pulls closures shut within a `time_constant` in seconds.

    `integrator`: "dop853" or, for stiff problems, "radau", "cvode", "ida" (adaptive, to `rtol` per step in the model's
    own units); with a fixed `step` in seconds "rk4", "euler_symplectic", "verlet", "gauss4", "gauss6", "variational",
    "variational4", and for contact "moreau", "moreau_midpoint"; "generalized_alpha" with a step or without, of the
    spectral radius `rho_inf` (default 0.8). No step of an adaptive one is longer than `max_step` in
    seconds. "cvode" and "ida" need the extra `dae`. "ida" and "generalized_alpha" solve closed chains as
    differential-algebraic equations. Of fixed steps, one run and the same in two halves give the same bits; "cvode" and
    "ida" end a step at every pause, so they agree to `rtol`.

    Functions are called as f(t, state). One run goes on at a time: `advance_to` within a callback of the same run, or
    in another thread meanwhile, is refused. While callbacks and actions of events run, at a pause and after a run the
    model has the state of the run; a callback that changes it makes the run go on from there. Times are rounded to
    nanoseconds.

    >>> import numpy as np
    >>> import soacraft as sc
    >>> mb = sc.load("pendulum")                                   # 1 kg at 1 m, g = 9.81
    >>> mb.set_state([-np.pi / 2], [0.0])
    >>> run = sc.sim.Propagator(mb, rtol=1e-12).advance_to(1.0)
    >>> np.sin(mb.q), bool(abs(run.energy[-1] - run.energy[0]) < 1e-10)
    (array([0.98629175]), True)
    """

    _instead: ClassVar = (
        "it is a run in time, with functions that act; make another with sc.sim.Propagator(mb.copy()), or write "
        "p.checkpoint(path) and restore it there"
    )
    _cures: ClassVar = {"*": "a propagator stays as it was made: make another with sc.sim.Propagator(...)"}

    @hinted
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
        max_step: float | None = None,
    ) -> None:
        if not isinstance(mb, Multibody):
            raise ModelError(f"a Propagator takes a Multibody, got {mb!r:.80}.")
        closures, self._why = read_solver(mb, solver)
        closures = stabilized(closures, stabilization, time_constant)
        if isinstance(closures, Stabilized):
            self._why += f"; closures stabilized with the time constant {closures.time_constant:g} s"
        self._rtol = float(finite(rtol, (), "rtol", StateError))
        if not 1e-14 <= self._rtol <= 0.1:
            raise StateError(f"rtol must be between 1e-14 and 0.1, got {self._rtol:g}.")
        self._made_method = partial(find_method, integrator, self._rtol, step is not None, rho_inf)
        self._method = self._made_method()
        if not self._method.adaptive and step is None:
            raise StateError(f"{self._method.name} takes fixed steps: give step= in seconds, such as step=0.001.")
        self._step = None if step is None else positive_nanoseconds(step, "step")
        self._max_step = read_max_step(max_step, self._method)
        self._acting = Acting(mb, closures, self._method.name)
        self._prints: dict[str, Fingerprint] = {}  # of the functions and elements that act, as they were given
        self._held: dict[str, float] = {}  # controls whose numbers a function gives, and its period
        self._notes: tuple[str, ...] = ()  # of the file that it was made from
        self._restored: LogPlace | None = None  # where the log was at the checkpoint it comes from
        longest = np.inf if self._max_step is None else self._max_step / 1e9
        self._runner = Runner(self._acting, self._method, self._rtol, self._step, nanoseconds(t, "t"), longest)

    @classmethod
    @hinted
    def from_file(
        cls,
        source: str | PathLike[str] | Multibody,
        keyframe: str | None = None,
        *,
        mesh_roots: Sequence[str | PathLike[str]] | str | PathLike[str] = (),
        root: Hinge | None = None,
        lenient: bool = False,
        integrator: str = "moreau",
        step: float | None = None,
        contact: Contact | None = None,
        exclude: Sequence[tuple[str, str]] = (),
        solver: str | Solver = "auto",
        t: float = 0.0,
    ) -> Propagator:
        """A scene that moves, from a model file, a model of the library or one that is loaded: with contact, limits and
        dry friction of all its parts (`contact`, default `Contact()`), its actuators by the laws and ranges of the
        file, its time step, and its state, or that of a keyframe, with the controls of that (else 0).

        A state off its closures is assembled. Shapes in each other and dofs beyond their limits are taken out at a
        bounded speed (`Contact`); `exclude` are pairs of shapes or bodies that do not touch. `p.control(name, u)`
        drives actuators, `p.sensors()` has what sensors measure, and `p.report()` lists all of it: also what the file
        has that does not act, and what begins in each other. `mesh_roots`, `root` and `lenient` are those of `sc.load`.
        A file that names no step has 2 ms, if it is of MJCF, else 1/200 of the time sqrt(length / gravity) of the
        model.

        >>> import soacraft as sc
        >>> p = sc.sim.Propagator.from_file("a1", keyframe="home")
        >>> p.control("FR_calf", -1.5)
        >>> run = p.advance_to(0.01)
        >>> p.mb.nv, len(p.mb.actuators)
        (18, 12)
        """
        loading = {"mesh_roots": mesh_roots, "root": root, "lenient": lenient}
        options = {"integrator": integrator, "solver": solver, "t": t}
        return propagator_of_file(cls, source, keyframe, step, contact, exclude, loading, options)

    # -- what users set ----------------------------------------------------------------------------------------

    @property
    def t(self) -> float:
        """The present time in seconds."""
        return self._runner.t

    @property
    def last_run(self) -> Run | None:
        """The last run, complete or not; None before the first."""
        return self._runner.last

    @property
    def run(self) -> RunCall:
        """p.run(t) is p.advance_to(t), as `s.run(t)` of a system.

        >>> import soacraft as sc
        >>> p = sc.sim.Propagator(sc.load("pendulum"))
        >>> run = p.run(1.0)
        >>> run is p.last_run, p.t
        (True, 1.0)
        """
        return RunCall(self)

    @property
    def mb(self) -> Multibody:
        """The model, if its structure is still the one the propagator was made for."""
        return self._acting.mb

    def add(self, *loads: Load | Callable[[float, State], Any], breaks: Sequence[float] = ()) -> None:
        """Let force elements or functions act. A function f(t, state) gives {node: wrench}, a generalized force (nv),
        a pair of both, or None. Springs and dampers of the model act without being added. `breaks` are times in seconds
        at which these forces jump or bend: steps end there."""
        self._acting.evaluations.require_none("p.add")
        prints = [of_load(x) for x in loads]
        for load, taken in zip(self._acting.add(loads, breaks), prints, strict=True):
            self._prints[f"the force {load.name!r}"] = taken
            self._runner.watch(load)

    def control(
        self,
        name: str | Callable[[float, State], Any],
        u: Any = None,
        breaks: Sequence[float] = (),
        *,
        every: float | None = None,
    ) -> None:
        """Drive an actuator or a dof with u: a number, a function of (t, state), or (times, values), linear in between.
        A new control takes the place of the old one.

        `p.control(f)` drives all actuators, or all dofs of a model without any: f(t, state) gives their numbers in the
        order of the model, or a mapping {name: number}. `every` is a period in seconds in which the numbers of a
        function are held, as a digital controller does; it is called at the beginning of each.

        Steps end at samples, and at the `breaks` of a function: the times in seconds at which it jumps or bends. A
        pulse shorter than a step is not seen without them:

        >>> import soacraft as sc
        >>> mb = sc.load("cart_pole")
        >>> mb.gravity = (0, 0, 0)
        >>> p = sc.sim.Propagator(mb, rtol=1e-3)
        >>> p.control("cart", lambda t, state: 1000.0 if 50.0 <= t < 50.001 else 0.0, breaks=[50.0, 50.001])
        >>> run = p.advance_to(100.0)
        >>> momentum = sc.dynamics.mass_matrix(mb, mb.q) @ mb.v           # 1 N s
        >>> round(float(momentum[0]), 3)
        1.0
        """
        self._acting.evaluations.require_none("p.control")
        if callable(name) or every is not None:
            self._control_by(name, u, breaks, every)
            return
        if isinstance(name, str) and name in self._held:
            raise StateError(
                f"control {name!r} has two owners: a function gives its number every {self._held[name]:g} s. Let that "
                "function give another one, or make a propagator without it."
            )
        if not np.size(breaks) and self._acting.set_number(name, u):
            if self._runner.is_new:  # later on numbers are part of the state
                self._prints[f"the control of {name!r}"] = fingerprint(u)
            return
        taken, replaces = fingerprint(u), isinstance(name, str) and name in self._acting.controls
        self._acting.control(name, u, breaks)
        if self._runner.is_new or not replaces or not self._acting.controls[name].is_number:
            self._prints[f"the control of {name!r}"] = taken

    def _control_by(
        self, name: str | Callable[[float, State], Any], u: Any, breaks: Sequence[float], every: float | None
    ) -> None:
        """Drive all controls by a function, or one or all by numbers that are held for a period."""
        if callable(name) and u is not None:
            raise StateError(
                "p.control(f) takes a function of (t, state) for all controls; for one it is p.control(name, f)."
            )
        if not callable(name) and not callable(u):
            raise StateError(
                f"every= holds the numbers of a function of (t, state); that of {name!r:.60} is {u!r:.60}."
            )
        names, function = (controls_of(self.mb), name) if callable(name) else ([name], u)
        what = "p.control(f)" if every is None else "p.control(f, every=)"
        together, taken = Together(self._acting.evaluated(function, what), names), fingerprint(function)
        for x in names:
            self._acting.require_controllable(x)
            owner = self._acting.controls.get(x)
            if x in self._held or (owner is not None and not owner.is_number):
                raise StateError(f"control {x!r} has two owners: it is driven by a function or samples already.")
        if every is None:
            Breaks(breaks)  # raises before anything is changed
            for x in names:
                self._acting.control(x, together.of(x), breaks)
                self._prints[f"the control of {x!r}"] = taken
            return
        if np.size(breaks):
            raise StateError(
                "breaks= are of functions that are evaluated in every step; numbers that are held have none."
            )
        period = positive_nanoseconds(every, "every") / 1e9
        for x in names:
            if x not in self._acting.controls:
                self._acting.control(x, 0.0)

        self._runner.every(period, HeldNumbers(together, names, self.mb, self._acting.set_numbers))
        self._prints[f"callback {len(self._runner.callbacks)}"] = taken
        self._held |= dict.fromkeys(names, period)

    def prescribe(self, name: str, motion: Any, breaks: Sequence[float] = ()) -> None:
        """Prescribe the motion of a dof: `motion(t)` gives (coordinate, rate, acceleration), or is a spline of scipy.
        None lets it go. The force it takes is `run.forces["prescribed"]`. A dof that the closures already fix is
        refused. Steps end at the knots of a spline, and at the `breaks` of a function: times in seconds at which its
        acceleration jumps or bends."""
        self._acting.evaluations.require_none("p.prescribe")
        taken = fingerprint(motion)
        self._acting.prescribe(name, motion, self.t, breaks)
        self._prints[f"the motion of {name!r}"] = taken
        if motion is None:
            del self._prints[f"the motion of {name!r}"]

    def event(
        self,
        name: str,
        g: Callable[[float, State], Any],
        direction: int = 0,
        action: Callable[[float, State], Any] | None = None,
        stop: bool = False,
    ) -> None:
        """Watch for zeros of g(t, state), rising (1), falling (-1) or either (0): note them, act, and maybe stop.

        Several events at one instant, within a nanosecond, act in the order in which they were added; each sees the
        state that the one before left. Crossings are looked for in quarters of steps.
        """
        self._acting.evaluations.require_none("p.event")
        if not isinstance(name, str):
            raise StateError(f"an event has a name by which run.events lists it; got {name!r:.60}.")
        if any(x.name == name for x in self._runner.events):
            raise StateError(f"there is an event {name!r} already; give the new one another name.")
        if not isinstance(direction, int | np.integer) or direction not in (-1, 0, 1):
            raise StateError(f"direction of event {name!r} must be -1, 0 or 1, got {direction!r:.40}.")
        if not callable(g) or not (action is None or callable(action)):
            raise StateError(f"event {name!r} takes functions of (t, state), got {g!r:.40} and {action!r:.40}.")
        value = self._acting.evaluated(g, f"event {name!r}")
        if action is not None:
            require_call(action, f"the action of event {name!r}")
        taken = fingerprint_all({"function": g, "direction": int(direction), "action": action, "stop": bool(stop)})
        new_event = Event(name, value, int(direction), action, bool(stop))
        new_event.value(self.t, self.mb.current)
        self._runner.events.append(new_event)
        self._prints[f"the event {name!r}"] = taken

    def every(self, period: float, callback: Callable[[float, State], Any]) -> None:
        """Call callback(t, state) now and after every period, in seconds. Several at one time are called in the order
        in which they were added."""
        self._acting.evaluations.require_none("p.every")
        if not callable(callback):
            raise StateError(f"every takes a function of (t, state), got {callback!r:.60}.")
        require_call(callback, "the callback of every")
        taken = fingerprint(callback)
        self._runner.every(period, callback)
        self._prints[f"callback {len(self._runner.callbacks)}"] = taken

    def carry(self, carried: Carried) -> None:
        """Let components move along with the model: their states are integrated with its coordinates, their ticks and
        crossings end steps, their signals are recorded. `sc.sim.System` does this."""
        self._acting.carry(carried)
        self._runner.carry(carried)

    @property
    def is_running(self) -> bool:
        """True in the middle of a run."""
        return self._acting.running

    @property
    def ns(self) -> int:
        """The first nanosecond that is not before the present time."""
        now = self._runner.now
        return now.ns + (1 if now.rest > 0.0 else 0)

    def problem(self) -> Mechanism:
        """The problem of the integrators, with all that acts now."""
        return self._acting.begin()

    def accelerations(self) -> Array:
        """Accelerations at the present point, where all that is carried along has its values then."""
        problem = self._acting.begin()
        x = problem.point(np.array(self.mb.q), np.array(self.mb.v))
        problem.displaced()
        problem.place(self.t, x)
        q, v, _ = problem.parts(x)
        return np.asarray(problem.free_accelerations(self.t, q, v))

    def require_closed(self) -> None:
        """Raise `LoopError` where the present state is off the closures of the model."""
        self._acting.closures.require_closed(np.array(self.mb.q), np.array(self.mb.v))

    def follow(self, other: Propagator, names: Mapping[str, str]) -> None:
        """Go on where another propagator is: at its instant, on its grid of steps, with its work. `names` are those of
        forces that have another name here. `sc.sim.System` does this where its structure changes."""
        self._runner.follow(other._runner, names)

    def release(self) -> None:
        """Let the force elements that act here act in another propagator; this one is not used any more."""
        for load in self._acting.loads:
            unused(load)

    def note(self, *lines: str) -> None:
        """Put lines before those of `p.report()`: what was read of a file."""
        self._notes += lines

    def sensors(self) -> dict[str, float | Array]:
        """Values {sensor: value} of the sensors of the model's file at the present state: angles and rates of joints,
        place and motion of frames, gyro, velocimeter and accelerometer of sites; without noise. Accelerations are those
        of the last row of a run, before it those of all smooth forces."""
        mb, run = self.mb, self.last_run
        if run is not None and len(run.t) and run.t[-1] == self.t and np.array_equal(run.q[-1], mb.q):
            return sensor_values(mb, mb.state(run.q[-1], run.v[-1], run.vdot[-1]))
        problem = self._acting.begin()
        q, v = np.array(mb.q), np.array(mb.v)
        return sensor_values(mb, mb.state(q, v, problem.free_accelerations(self.t, q, v)))

    def look_in(self, look: Look | None) -> None:
        """Let somebody look at runs between steps. `sc.sim.System` does this where it is served."""
        self._runner.look = look

    def report(self) -> Text:
        """A text: what acts, what does not, which solver and integrator, and why; whether steps are compiled. Those are
        taken many in one call, up to the next callback; a step that compiled code is not sure of is taken in Python."""
        acting = self._acting
        events = [x.name for x in self._runner.events if x.hold is None]
        engine = engine_of(acting.description, self._method, events)
        parts = acting.loads, acting.controls, acting.prescribed
        listed = report(self.mb, self._why, repr(self._method), engine, *parts)
        starts = [f"begins with {x}" for load in acting.loads if isinstance(load, Contact)
                  for x in load.start(self.t, np.array(self.mb.q))]  # fmt: skip
        return Text("\n".join([listed, *self._notes, *starts]))

    def __repr__(self) -> str:
        by = self._why.partition(":")[0]
        return f"Propagator of {self._acting.name!r} at t = {self.t:.9g} s: {by}, {self._method!r}"

    @says_why
    def _repr_html_(self) -> str:
        return card(repr(self), part("report", lambda: markup.preformatted(self.report()), True))

    # -- running -----------------------------------------------------------------------------------------------

    @hinted
    def advance_to(
        self,
        t: float,
        log: str | PathLike[str] | None = None,
        progress: bool = False,
        until: str | Sequence[str] | None = None,
        pace: float | None = None,
        overrun: str = "catch_up",
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_every: float | None = None,
    ) -> Run:
        """Carry the model on to time t, in seconds, or to the event named `until`, or the first of several; the run
        up to there.

        `log` writes an HDF5 file as it goes (`sc.sim.read`); `progress` shows a bar once it takes over a second. What
        goes wrong is a `SimulationError` with time and cause; `error.run` and `p.last_run` hold what was computed, and
        the model is at the last good state. After Ctrl-C likewise.

        With `pace` steps wait for the clock: 1.0 is as fast as it, 2.0 twice that. What is late is counted in
        `run.pace`, and then goes on without waiting ("catch_up"), gives the time up ("skip"), or ends ("raise").

        `checkpoint` is a file that is written at the end, and at multiples of `checkpoint_every` seconds, from which
        `p.restore` goes on with the same bits; a `log` that is that of before is cut back to there, and goes on.
        """
        self._acting.alone.require_free("advance_to")
        write = None if checkpoint is None else checkpoints.writer(self, checkpoint)
        documents: Callable[[], dict[str, bytes]] = dict if log is None else partial(checkpoints.documents, self.mb)
        keeping = Keeping.of(log, checkpoint, checkpoint_every, self._restored, write, documents)
        keeping.origin = self._runner.present.steps.origin
        if self._restored is not None:
            self._restored = None
        return self.advance(t, keeping, progress, until, pace, overrun)

    def advance(
        self,
        t: float,
        keeping: Keeping,
        progress: bool = False,
        until: str | Sequence[str] | None = None,
        pace: float | None = None,
        overrun: str = "catch_up",
    ) -> Run:
        """Advance as `advance_to` does, with the log and checkpoints given as one value. `sc.sim.System` calls this."""
        paced = None if pace is None else Pace(pace, overrun)
        return self._runner.run(nanoseconds(t, "t"), progress, until, paced, keeping)

    def checkpoint(self, path: str | PathLike[str]) -> None:
        """Write the state of the motion into a file, whole or not at all: time, state, work, the numbers of controls,
        the memory of integrator and events. What acts is not in it but for its names: see `restore`. A multistep
        integrator starts again here, too, so that both go on with the same bits."""
        checkpoints.writer(self, path)(self.state(), None)

    def restore(self, path: str | PathLike[str], accept_changes: bool = False) -> None:
        """Be where the propagator was that wrote a checkpoint, and go on with the same bits: of the same model, with
        the same integrator, forces, controls, events and callbacks, added in the same order. What differs is refused:
        functions and force elements by their code and all that it reads (`soacraft.fingerprint`), unless
        `accept_changes` says to go on with those of now.

        >>> import pathlib, tempfile
        >>> import soacraft as sc
        >>> def made():
        ...     return sc.sim.Propagator(sc.load("double_pendulum"), integrator="rk4", step=0.01)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file, p, other = pathlib.Path(folder) / "a.h5", made(), made()
        ...     _ = p.advance_to(0.5)
        ...     p.checkpoint(file)
        ...     other.restore(file)
        >>> other.t, bool((p.advance_to(1.0).q == other.advance_to(1.0).q).all())
        (0.5, True)
        """
        self._refuse_meanwhile()
        state, place = checkpoints.read(self, path, accept_changes)
        self.set_state(state, f"the checkpoint {str(path)!r}")
        self._restored = place

    def state(self) -> SimState:
        """Return the complete state of the motion as one value, from which `set_state` continues with the same bits,
        here or in another propagator made alike. A multistep integrator restarts here. `state.encode()` converts it to
        bytes.

        Three motions from one state, each under another torque:

        >>> import soacraft as sc
        >>> p = sc.sim.Propagator(sc.load("pendulum"), integrator="rk4", step=0.01)
        >>> dof = p.mb.dof_names[0]
        >>> p.control(dof, 0.0)
        >>> _ = p.run(0.5)
        >>> state, ends = p.state(), []
        >>> for u in (-1.0, 0.0, 1.0):
        ...     p.set_state(state)
        ...     p.control(dof, u)
        ...     ends.append(p.run(1.0).q[-1, 0])
        >>> bool(ends[0] < ends[1] < ends[2])
        True
        """
        if self._acting.running:
            raise StateError("a run goes on: checkpoints of it are written by checkpoint= and checkpoint_every=.")
        with self._acting.alone.held("state"):
            state = self._runner.state()
            self._runner.set_state(state)
            return state

    def set_state(self, state: SimState, whose: str = "this SimState") -> None:
        """Continue from a state that `p.state()` returned, with the values that controls had then. The model, forces,
        controls, events and callbacks must be the same, added in the same order; otherwise the state is refused and
        nothing changes. Errors name the state as `whose`."""
        if not isinstance(state, SimState):
            raise StateError(
                f"set_state takes what p.state() gave, got {state!r:.60}. Coordinates are set by mb.set_state(q, v)."
            )
        self._refuse_meanwhile()
        with self._acting.alone.held("set_state"):
            self._runner.set_state(state, whose)
        self._restored = None  # a log of before is not of this motion

    @property
    def made(self) -> dict[str, Any]:
        """Options of the propagator, and names of what acts: for checkpoints."""
        acting = self._acting
        return {
            "integrator": repr(self._method),
            "rtol": self._rtol,
            "step": self._step,
            "max_step": self._max_step,
            "solver": self._why,
            "loads": [[x.name, type(x).__name__] for x in acting.loads],
            "controls": sorted(acting.controls),
            "prescribed dofs": sorted(acting.prescribed.dofs),
        }

    @property
    def code(self) -> dict[str, Fingerprint]:
        """Fingerprints of the functions and force elements that act, as they were when they were given."""
        return self._prints

    def _refuse_meanwhile(self) -> None:
        if self._acting.running:
            raise StateError("a run goes on, and nothing can be restored meanwhile.")

    @hinted
    def stepper(
        self,
        controls: Sequence[str] | None = None,
        *,
        states: int | None = None,
        threads: int | None = None,
        period: float | None = None,
        parameters: Mapping[str, Any] | None = None,
        on_error: str = "raise",
        labels: Sequence[str] | None = None,
    ) -> Stepper:
        """The motion step by step, from the present state on, under numbers that a program gives to its controls:
        those of `controls`, else the actuators of the model, or all dofs of a model without any. The step is that of
        the propagator; `period` is the time of one call where it chooses its steps, or a multiple of its step.

        All that acts now acts there, too: forces, controls (whose numbers u begins with), prescribed motions, contact.
        Steps by methods with fixed steps are compiled; others are taken as runs take them, and `step.report()` says
        why: also where friction sticks or stops are struck, at instants within steps. Events, callbacks, components and
        `sim.Impacts` belong to runs, and are refused.

        `states` is how many states go on side by side, on some `threads`; what is not compiled goes on one by one, each
        state with separate steps. `parameters`, of compiled steps alone, are
        those that differ from state to state, {name: a number for each}: of the model as `sc.analysis.parameters` names
        them ("trunk.mass"), the friction of shapes ("foot/sole.friction") and the laws of actuators ("servo.gain",
        ".b0", ".b1", ".b2"); `step.set_parameters` changes them. Where a state cannot go on the call ends with an
        error, and all are as before; with on_error="keep" the others go on, and `step.failed` has the state. `labels`
        are names for the controls, where `step.names` should have others.

        A pendulum that is held at 0.5 rad:

        >>> import soacraft as sc
        >>> mb = sc.load("pendulum")
        >>> step = sc.sim.Propagator(mb, integrator="rk4", step=0.001).stepper()
        >>> u, q, v = step.u, step.q, step.v
        >>> for _ in range(4000):
        ...     u[:] = 9.81 * np.sin(q) + 20 * (0.5 - q) - 8 * v
        ...     step()
        >>> step.t, step.q.round(3)
        (4.0, array([0.5]))
        """
        runner = self._runner
        busy = [f"{'the force' if x.below else 'event'} {x.name!r}" for x in runner.events if x.hold is None]
        busy += ["a callback of p.every"] * bool(runner.callbacks)
        busy += ["components that are carried along"] * (not self._acting.components.is_empty)
        if busy:
            raise StateError(
                f"{busy[0]} acts within runs, which a stepper does not know: look at step.q and step.v between steps, "
                "or use p.advance_to."
            )
        pace = self._rtol, self._step, np.inf if self._max_step is None else self._max_step / 1e9
        now, method = runner.now.ns, self._made_method()
        return Stepper(self._acting, method, pace, now, controls, states, threads, period, parameters, on_error, labels)

    def rollout(
        self, q: Any, v: Any, force: Any = None, steps: int = 1, threads: int | None = None
    ) -> tuple[Array, Array]:
        """Many fixed steps in one compiled call, from one state or a batch: q (..., steps + 1, nq), v likewise.

        `force` is the generalized force, held in each step: (nv), (steps, nv) or (batch, steps, nv). For trees and
        closed chains of built-in hinges, with springs and dampers of the model; what only functions know (controls,
        events, other forces) is refused. The model's own state plays no part. O(n) a step. The states of a tree go
        side by side by "rk4", "verlet" and "euler_symplectic"; those of a closed chain or a tree with flexible bodies,
        and by "gauss4", "gauss6" and the variational methods, each for itself. All take several threads.

        "moreau" and "moreau_midpoint" take a `Contact`, and controls by numbers or samples at multiples of the step,
        from t = 0 on. Their contacts are not recorded; where a step is not solved to its tolerance an error names state
        and step.

        >>> import soacraft as sc
        >>> mb = sc.load("double_pendulum")
        >>> p = sc.sim.Propagator(mb, integrator="rk4", step=0.01)
        >>> Q, V = p.rollout([[0.1, 0.0], [0.2, 0.0]], [0.0, 0.0], steps=100)
        >>> Q.shape
        (2, 101, 2)
        """
        with self._acting.alone.held("rollout"):
            row, count = self._row_of_rollouts(ROLLOUTS), whole_number(steps, "steps of a rollout", 0)
            by_packs = not self._acting.closures.is_closed and not self.mb.layout.flexible
            roll = row.tree if by_packs else row.closed
            return roll(self._acting.begin(), self._method, q, v, force, count, self._step, threads)

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

        `forward` and `adjoint` of what it returns carry directions and gradients through the run. Of a closed chain dx
        is along all dofs, on the closures, and steps are differentiated one by one, O(nv^3) each.

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
        self._row_of_rollouts(["rk4"])
        Q, V = self.rollout(q, v, force, steps, threads)
        states, taken = len(Q) if Q.ndim > 2 else 1, Q.shape[-2] - 1
        T = read_force(self.mb, force, states, taken, Q.ndim > 2)
        T = np.broadcast_to(T, (states, taken, self.mb.nv))
        T, h = T if Q.ndim > 2 else T[0], (self._step or 0) / 1e9
        closures = self._acting.closures
        if isinstance(closures, Closed):
            return rollout_derivatives(self.mb, closures, Q, V, T, h, parameters)
        return sensitivity(self.mb, Q, V, T, h, parameters)

    def _row_of_rollouts(self, methods: Collection[str]) -> Row:
        """Row of the table of rollouts, for one of some methods; an error with the reason if there is none."""
        row, loads = ROLLOUTS.get(self._method.name), self._acting.loads
        contacts = [x for x in loads if isinstance(x, Contact)]
        if row is None or self._method.name not in methods or self._step is None or (row.touches and not contacts):
            allowed = " or ".join(repr(x) for x in methods if not ROLLOUTS[x].touches)
            present = self._method.name
            raise StateError(f"a rollout is by integrator={allowed} with a step; this propagator has {present!r}.")
        loads = [x for x in loads if x not in contacts] if row.touches else self._acting.all
        busy = [x.name for x in loads] + [x.name for x in self._runner.events]
        if busy or self._runner.callbacks or self._acting.prescribed.dofs:
            what = repr(busy[0]) if busy else "a callback or a prescribed motion"
            raise StateError(f"rollout knows forces of the model and force= alone, not {what}; use advance_to.")
        return row


# a function may read the propagator that it acts in: what it was made with tells of it
describe_by(Propagator, lambda p: p.made)
