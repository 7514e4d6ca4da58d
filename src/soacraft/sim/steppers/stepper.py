"""`Stepper`: a motion step by step, with the numbers of its controls in the hand of a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft.arguments import whole_number
from soacraft.attributes import Strict, Uncopied
from soacraft.dynamics.arguments import read_threads
from soacraft.errors import StateError, near
from soacraft.hints import hinted
from soacraft.markup import Text
from soacraft.model.states.coordinates import in_graph_order, read_q, read_v
from soacraft.model.states.state import State
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.acting import Acting
from soacraft.sim.clock import positive_nanoseconds
from soacraft.sim.exclusive import Exclusive
from soacraft.sim.forces.contact import Contact
from soacraft.sim.forces.contact_steps import Touches, touches_of
from soacraft.sim.forces.drives import Control
from soacraft.sim.forces.hinge_rows import HingeRow
from soacraft.sim.forces.push import Push
from soacraft.sim.integrators.steps import Method
from soacraft.sim.sensor_values import sensor_values
from soacraft.sim.states.sim_state import SimState
from soacraft.sim.steppers.names import read_names, read_period
from soacraft.sim.steppers.pushes import read_push, with_pushes
from soacraft.sim.steppers.record import Recording, require_every
from soacraft.sim.steppers.separate import motion_of
from soacraft.sim.steppers.setup import StepperSetup
from soacraft.spatial.checks import Array, finite

#: Treatments of a batch when one of its states cannot go on.
ON_ERROR = ("raise", "keep")


class Failed(NamedTuple):
    """States of a batch that could not go on, each at its last good step."""

    which: npt.NDArray[np.int64]
    """Numbers of these states, growing."""
    reasons: tuple[str, ...]
    """The text of the error of each."""


class Stepper(Uncopied, Strict):
    """A motion that a program takes step by step, and drives: `p.stepper()`.

    `u` are the numbers of its controls, to be written: u[:] = ...; `q` and `v` show the present state and change with
    it: copy what is to be kept. step() takes a step, step(10) ten of them with the same u. What acts on the propagator
    acts here, too; the propagator and its model stay where they are.

    With `states` it is a batch: u, q and v have a row for each state, and none depends on the others; `parameters` may
    differ from state to state. `push` disturbs, `record` gives a `Run`, `sc.view.live(step)` shows it.
    """

    _instead: ClassVar = "it is a motion under way; make another with p.stepper(), and step.set_state(q, v)"
    _cures: ClassVar = {
        "q": "give another state with step.set_state(q, v)",
        "v": "give another state with step.set_state(q, v)",
        "*": "a stepper stays as it was made: make another with p.stepper(...)",
    }

    def __init__(
        self,
        acting: Acting,
        method: Method,
        pace: tuple[float, int | None, float],
        now: int,
        controls: Sequence[str] | None,
        states: int | None,
        threads: int | None,
        period: float | None,
        parameters: Mapping[str, Any] | None,
        on_error: str,
        labels: Sequence[str] | None = None,
    ) -> None:
        self._method, self._mb, self._step = method, acting.mb, pace[1]
        count = None if states is None else whole_number(states, "states", 1, error=StateError)
        threads = read_threads("stepper", threads) or 1
        self._period = read_period(method, self._step, period)
        names = read_names(self._mb, acting, controls)
        self._names = names if labels is None else tuple(labels)  # what the controls are called here
        if on_error not in ON_ERROR or (on_error == "keep" and count is None):
            raise StateError(f"on_error is 'raise', or 'keep' of a batch, got {on_error!r:.40}.")
        rtol, step, longest = pace
        motion = motion_of(
            StepperSetup(
                acting=acting, method=method, rtol=rtol, step=step, longest=longest, now=now, names=names, states=count,
                threads=threads, parameters=parameters, keeps=on_error == "keep",
            )
        )  # fmt: skip
        self._motion, self._states = motion, motion.states
        self._is_batch, self._count = motion.is_batch, len(motion.states)
        self._recordings: tuple[Recording, ...] = ()
        self._alone = Exclusive(f"the stepper of {self._mb.name!r}", "p.stepper()")
        nq, nv = self._mb.nq, self._mb.nv
        self._q, self._v = self._shown(slice(0, nq)), self._shown(slice(nq, nq + nv))
        self._inputs: Array = motion.states.u[:] if self._is_batch else motion.states.u[0]

    # -- what is seen, and written -----------------------------------------------------------------------------

    @property
    def mb(self) -> Multibody:
        """The model that it moves, whose own state stays where it is."""
        return self._mb

    @property
    def names(self) -> tuple[str, ...]:
        """The controls in the order of `u`: actuators or dofs; of a system its inputs."""
        return self._names

    @property
    def u(self) -> Array:
        """The numbers of the controls, to be written, (nu); of a batch (states, nu). step.u = {name: number} sets some
        of them."""
        return self._inputs

    @u.setter
    def u(self, values: Any) -> None:
        if isinstance(values, Mapping):
            for name in values:
                if name not in self._names:
                    raise StateError(f"the stepper drives no control {name!r:.60}{near(str(name), self._names)}")
            sizes = (self._count,) if self._is_batch else ()
            read = {name: self._read_u(x, sizes, f"u of {name!r}") for name, x in values.items()}
            for name, numbers in read.items():
                self._inputs[..., self._names.index(name)] = numbers
            return
        if self._names == tuple(self._mb.dof_names):
            values = in_graph_order(self._mb, values, "u")
        self._inputs[...] = self._read_u(values, self._inputs.shape, "u")

    def _read_u(self, values: Any, shape: tuple[int, ...], what: str) -> Array:
        """Numbers of a shape; in a batch also those of one state, for all."""
        numbers = finite(values, (...,), what, StateError)
        if numbers.shape != shape and not (self._is_batch and numbers.shape == shape[1:]):
            raise StateError(f"{what} of the stepper of {self._mb.name!r} has shape {shape}, got {numbers.shape}.")
        return numbers

    @property
    def q(self) -> Array:
        """The present coordinates, to be read, (nq); of a batch (states, nq). They change with every step."""
        return self._q

    @property
    def v(self) -> Array:
        """The present velocities, to be read, (nv); of a batch (states, nv). They change with every step."""
        return self._v

    @property
    def t(self) -> float:
        """The present time in seconds."""
        return self._motion.states.goal / 1e9

    @property
    def period(self) -> float:
        """The time of one step in seconds."""
        return self._period / 1e9

    @property
    def obstacle(self) -> str:
        """Reason why steps are not compiled; empty where they are."""
        return self._motion.why

    @property
    def is_autonomous(self) -> bool:
        """True if nothing that acts can depend on the time: steps are compiled, under contact and numbers alone."""
        problem = self._motion.problems.base
        kinds = Contact | Push | HingeRow
        still = [isinstance(x, kinds) or (isinstance(x, Control) and x.is_number) for x in problem.loads]
        return not self.obstacle and not problem.constrained and all(still)

    @property
    def shapes(self) -> tuple[str, ...]:
        """The shapes that may touch, "body/shape"; none without contact."""
        return self._motion.problems.base.contact.shapes

    @property
    def contacts(self) -> Touches:
        """The points of contact of the last step, of one state."""
        self._require_single("contacts")
        with self._alone.held("contacts"):
            last = self._motion.of(0)[0].lanes.last(0)
            return touches_of(last.touched, last.length)

    @property
    def sensors(self) -> dict[str, float | Array]:
        """The values of the sensors of the model's file at the present state, {name: value} (`p.sensors`). With
        contact, accelerations are the mean of the last step."""
        self._require_single("sensors")
        with self._alone.held("sensors"):
            problem, x = self._motion.problems.prepared(0), np.array(self._motion.states.x[0])
            q, v, _ = problem.parts(x)
            vdot = self._motion.of(0)[0].lanes.last(0).vdot if self._method.touches else None
            if vdot is None:
                vdot = problem.free_accelerations(self.t, q, v)
            return sensor_values(problem.mb, problem.mb.state(q, v, vdot))

    @property
    def parameters(self) -> dict[str, Array]:
        """The parameters that differ from state to state, {name: array}: (states), of several numbers (states,
        numbers), to be read. `set_parameters` changes them."""
        parameters = self._motion.problems.parameters
        return {} if parameters is None else parameters.shown()

    @property
    def failed(self) -> Failed:
        """The states that could not go on, of a batch with on_error="keep". They take no steps until `set_state` or
        `reset` gives them another state."""
        failed = self._motion.failed
        which = sorted(failed)
        return Failed(np.array(which, dtype=np.int64), tuple(failed[i] for i in which))

    def state(self, which: int | None = None) -> State:
        """The present state; of a batch that of one of its states."""
        lane = self._lane(which)
        q, v, _ = self._motion.problems.base.parts(np.array(self._motion.states.x[lane]))
        return self._mb.state(q, v)

    def sim_state(self, which: int | None = None) -> SimState:
        """Return the state as a value; of a batch that of one of its states. `p.set_state` and `step.set_state`
        continue from it, with the same bits where steps are compiled. Controls that push, and that the propagator does
        not have, are in it: add them with p.control(name, 0.0) before p.set_state.

        >>> import soacraft as sc
        >>> p = sc.sim.Propagator(sc.load("double_pendulum"), integrator="rk4", step=0.01)
        >>> step = p.stepper()
        >>> step(50)
        >>> p.set_state(step.sim_state())
        >>> step(50)
        >>> p.t, bool((p.run(1.0).q[-1] == step.q).all())
        (0.5, True)
        """
        lane = self._lane(which)
        with self._alone.held("sim_state"):
            return self._motion.sim_state(lane)

    def glance(self, which: int | None = None) -> tuple[float, Array, Array]:
        """The time and copies of q and v of a state at the end of a step, also while another thread steps."""
        motion, lane = self._motion, self._lane(which)
        while True:
            t, x = self.t, motion.states.x[lane].copy()
            if t == self.t and x.tobytes() == motion.states.x[lane].tobytes():
                q, v, _ = motion.problems.base.parts(x)
                return t, q, v

    def report(self) -> Text:
        """A text: the controls, the length of a call, and whether steps are compiled."""
        why, between = self._motion.why, ", compiled between events" if self._motion.is_compiled_between_events else ""
        lines = [
            repr(self),
            f"a call takes {self.period:g} s",
            f"steps: {f'those of runs{between}, since {why}' if why else 'compiled'}",
            f"controls: {', '.join(self._names) or 'none'}",
        ]
        if self.parameters:
            lines.append(f"parameters of each state: {', '.join(self.parameters)}")
        return Text("\n".join(lines))

    def __repr__(self) -> str:
        many = f"{self._count} states of " if self._is_batch else ""
        what = f"{len(self._names)} controls, {self._method!r}"
        return f"Stepper of {many}{self._mb.name!r} at t = {self.t:.9g} s: {what}"

    # -- steps -------------------------------------------------------------------------------------------------

    def __call__(self, steps: int = 1) -> None:
        """Take steps, all with the u of now. After an error one state is that of the last good step; the states of a
        batch are all as they were before the call."""
        if type(steps) is not int or steps < 0:
            steps = whole_number(steps, "steps", 0, error=StateError)
        alone = self._alone
        alone.take("a step")
        try:
            if self._recordings:
                self._recorded_go(self._end(steps))
            else:
                self._motion.go(self._end(steps))
        finally:
            alone.free()

    def _end(self, steps: int) -> int:
        """The nanosecond at which some calls end from now on."""
        states, period = self._states, self._period
        now = states.goal
        return now + steps * period - (now - states.origin) % period if steps else now

    def _recorded_go(self, goal: int) -> None:
        motion, recordings = self._motion, self._recordings
        step = self._step if motion.problems.base.contact.touches and not self._method.adaptive else None

        def marks(now: int) -> int:
            end = min(x.next(now) for x in recordings)
            return end if step is None else min(end, now + step - (now - motion.states.origin) % step)

        def note() -> None:
            for x in recordings:
                x.mark()

        try:
            motion.go(goal, marks, note)
        except BaseException:
            for x in recordings:
                if self._is_batch:
                    x.drop()
                x.commit()
            raise
        for x in recordings:
            x.commit()

    @hinted
    def set_state(self, q: Any, v: Any = None, which: Any = None) -> None:
        """Give it another state, at rest where v is left out; in batches those of `which`, a number or several, else
        all. q and v are as `mb.set_state` takes them.

        set_state(state) takes a `SimState` of a run or of a stepper, with its time, its work and the numbers of its
        controls; u of others is zero. A batch of which only some states are given one keeps its time."""
        lanes = self._lanes_of(which)
        if isinstance(q, SimState):
            if v is not None:
                raise StateError("a SimState has the velocities, too: give step.set_state(state) without v.")
            with self._alone.held("set_state"):
                self._motion.resume(lanes, q)
                self._jumped(lanes)
            return
        at, rates = read_q(self._mb, q), np.zeros(self._mb.nv) if v is None else read_v(self._mb, v)
        for x, what in ((at, "q"), (rates, "v")):
            if x.ndim > 2 or (x.ndim == 2 and len(x) != len(lanes)):
                raise StateError(f"{what} of {len(lanes)} states has one row for all or one for each, got {x.shape}.")
        with self._alone.held("set_state"):
            self._motion.put(lanes, at, rates)
            self._jumped(lanes)

    def reset(self, which: Any = None) -> None:
        """Let it begin again with the state that it was made with; in batches those of `which`, else all. Pushes
        end; parameters stay."""
        with self._alone.held("reset"):
            lanes = self._lanes_of(which)
            self._motion.reset(lanes)
            self._jumped(lanes)

    def _jumped(self, lanes: Sequence[int]) -> None:
        for x in self._recordings:
            if x.lane in lanes:
                x.restart()

    @hinted
    def set_parameters(self, values: Mapping[str, Any], which: Any = None) -> None:
        """Give states other parameters, of those that `p.stepper(parameters=...)` named: one value for all of `which`
        (else of all states) or one for each. All are set, or none where one is refused.

        >>> import soacraft as sc
        >>> p = sc.sim.Propagator(sc.load("cart_pole"), integrator="rk4", step=0.01)
        >>> batch = p.stepper(states=3, parameters={"pole.mass": [0.1, 0.2, 0.3]})
        >>> batch.set_parameters({"pole.mass": 0.5}, which=1)
        >>> batch.parameters["pole.mass"]
        array([0.1, 0.5, 0.3])
        """
        with self._alone.held("set_parameters"):
            self._motion.set_parameters(values, self._lanes_of(which))

    @hinted
    def push(self, node: Any, wrench: Any, duration: float | None = None, which: Any = None) -> None:
        """Let a wrench act at a node in the next step, or for some seconds: six numbers in node axes, or a `Wrench`;
        in batches on those of `which`, else all, the same or a row for each. It ends by itself, or with `set_state`;
        another one at the same node takes its place. Forces of `mb.set_force` act in addition.

        >>> import soacraft as sc
        >>> mb = sc.load("pendulum")
        >>> step = sc.sim.Propagator(mb, integrator="rk4", step=0.01).stepper([])
        >>> step.push("bob/tip", sc.Wrench((0, 0, 0), (5, 0, 0), expressed_in="inertial"))
        >>> step()
        >>> step.v.round(3)
        array([0.05])
        """
        lanes, motion = self._lanes_of(which), self._motion
        with self._alone.held("push"):
            end = self._end(1)
            if duration is not None:
                ns = positive_nanoseconds(duration, "duration")
                if self._step is not None and not self._method.adaptive and ns % self._step:
                    raise StateError(
                        f"duration is {ns / 1e9:.9g} s, which is no multiple of the step of {self._step / 1e9:.9g} s."
                    )
                end = motion.states.goal + ns
            motion.set_pushes(with_pushes(motion.problems.pushes, read_push(self._mb, node, wrench, lanes, end)))

    def record(self, every: float | None = None, which: int | None = None) -> Recording:
        """Record what it does from now on, a row every so many seconds (else every step, or call where the method
        chooses its steps); in batches one state. `recording.run()` is the `Run` so far, `recording.stop()` ends it.

        >>> import soacraft as sc
        >>> mb = sc.load("pendulum")
        >>> mb.q = [0.5]
        >>> step = sc.sim.Propagator(mb, integrator="rk4", step=0.01).stepper([])
        >>> with step.record(every=0.05) as recording:
        ...     step(100)
        >>> run = recording.run()
        >>> len(run), bool(abs(run.energy - run.energy[0]).max() < 1e-6)
        (21, True)
        """
        lane, adaptive = self._lane(which), self._method.adaptive
        default = self._period if adaptive or self._step is None else self._step
        ns = default if every is None else positive_nanoseconds(every, "every")
        require_every(ns, self._step, adaptive)
        with self._alone.held("record"):
            if any(x.lane == lane for x in self._recordings):
                whose = f"state {lane} of " if self._is_batch else ""
                raise StateError(f"{whose}the stepper is recorded already; end that with recording.stop() first.")
            self._motion.follow()
            recording = Recording(self._motion.of(lane), lane, ns, self._method.name, self._end_recording)
            self._recordings = (*self._recordings, recording)
            return recording

    def _end_recording(self, recording: Recording) -> None:
        with self._alone.held("stop"):
            self._recordings = tuple(x for x in self._recordings if x is not recording)
            motion, lane = self._motion.of(recording.lane)
            motion.lanes.record(lane, False)

    # -- parts -------------------------------------------------------------------------------------------------

    def _shown(self, part: slice) -> Array:
        x = self._motion.states.x
        shown = x[:, part] if self._is_batch else x[0, part]
        shown.flags.writeable = False
        return shown

    def _require_single(self, what: str) -> None:
        if self._is_batch:
            raise StateError(f"{what} are of a stepper of one state; make one with p.stepper().")

    def _lane(self, which: int | None) -> int:
        if which is None and not self._is_batch:
            return 0
        return whole_number(which, "which", 0, self._count - 1, StateError)

    def _lanes_of(self, which: Any) -> list[int]:
        """The states that are meant."""
        if which is None:
            return list(range(self._count))
        several = isinstance(which, list | tuple) or (isinstance(which, np.ndarray) and which.ndim > 0)
        chosen = list(which) if several else [which]
        if chosen and all(isinstance(x, bool | np.bool_) for x in chosen):
            if len(chosen) != self._count:
                raise StateError(f"which has a truth value for each of {self._count} states, got {len(chosen)}.")
            return np.flatnonzero(chosen).tolist()
        return [self._lane(x) for x in chosen]
