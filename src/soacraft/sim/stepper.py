"""`Stepper`: a motion step by step, with the numbers of its controls in the hand of a program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, ClassVar, NamedTuple

import numpy as np

from soacraft.arguments import whole_number
from soacraft.attributes import Strict, Uncopied
from soacraft.dynamics.arguments import read_threads
from soacraft.errors import ModelError, SimulationError, SoacraftError, StateError, near
from soacraft.hints import hinted
from soacraft.markup import Text
from soacraft.model.states.coordinates import in_graph_order, read_q, read_v
from soacraft.model.states.state import State
from soacraft.model.tree.multibody import Multibody
from soacraft.results import refuse_large
from soacraft.sim.acting import Acting
from soacraft.sim.breaks import window
from soacraft.sim.clock import Instant, positive_nanoseconds
from soacraft.sim.compiled import CompiledMotion, obstacle_to_run
from soacraft.sim.exclusive import Exclusive
from soacraft.sim.forces.compiled_contact import ContactLog
from soacraft.sim.forces.contact import Contact
from soacraft.sim.forces.contact_steps import ContactDiary, ContactStep, Touches, steps_of, touches_of
from soacraft.sim.forces.drives import Control, controls_of
from soacraft.sim.integrators.steps import Method, Step
from soacraft.sim.sensor_values import sensor_values
from soacraft.sim.sim_state import SimState
from soacraft.sim.stability import Stability, Stiff, limit, require_stable
from soacraft.sim.stepper_state import fixed_controls, point_of, require_fit, state_of
from soacraft.sim.stride import Stride
from soacraft.sim.system import Mechanism
from soacraft.spatial.checks import Array, finite

#: What compiled lanes answer besides the number of one that Python should go on with (core/sim/lanes_binding.cpp).
DONE, CHANGED, NOT_FINITE, BUSY = -1, -2, -3, -4
#: Steps after which stability is looked at first, then after twice as many, and so on; and again after a doubtful look.
_FIRST_LOOK, _SECOND_LOOK = 32, 16
#: No look at all, and where times end, in nanoseconds.
_NEVER, _LAST = 2**63, 2**62


class Trial(NamedTuple):
    """Steps that some states need not take: the nanosecond at which they end, the states that stay where they are, and
    the errors of those that could not go on."""

    goal: int
    still: list[int]
    errors: dict[int, SimulationError]


class Stepper(Uncopied, Strict):
    """A motion that a program takes step by step, and drives: `p.stepper()`.

    `u` are the numbers of its controls, to be written: u[:] = ...; `q` and `v` show the present state and change with
    it: copy what is to be kept. step() takes a step, step(10) ten of them with the same u. What acts on the propagator
    acts here, too; the propagator and its model stay where they are.

    With `states` it is a batch: u, q and v have a row for each state, and none depends on the others.
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
        labels: Sequence[str] | None = None,
    ) -> None:
        rtol, step, longest = pace
        self._acting, self._method, self._mb = acting, method, acting.mb
        self._is_batch = states is not None
        count = 1 if states is None else whole_number(states, "states", 1, error=StateError)
        self._threads = read_threads("stepper", threads) or 1
        self._step, self._period = step, _period(method, step, period)
        self._origin = self._goal = self._made_at = now
        self._names = _names(self._mb, acting, controls)
        self._labels = self._names if labels is None else tuple(labels)  # what the controls are called here
        self._driven = [_driven(self._mb, name) for name in self._names]
        self._breaks = acting.breaks
        self._stops = [ns for x in self._breaks for ns in x.ns]
        self._stride, self._stability = Stride(method, rtol, step, now, longest), Stability(method)
        self._problem = self._made_problem()
        size = (count, self._mb.nq + self._mb.nv + len(self._problem.names))
        refuse_large(size, f"the states of a stepper of {self._mb.name!r}", "Take fewer states.")
        refuse_large((count, len(self._names)), f"u of a stepper of {self._mb.name!r}", "Take fewer states.")
        self._x, self._now = np.zeros(size), np.full(count, now, dtype=np.int64)
        self._u = np.zeros((count, len(self._names)))
        for i, name in enumerate(self._names):
            self._u[:, i] = acting.numbers.get(name, 0.0)
        self._lanes: Any = None
        self._alone = Exclusive(f"the stepper of {self._mb.name!r}", "p.stepper()")
        self._begins = False  # True while contact takes out what a state began with in each other
        self._by_hand = True  # True if Python took the last step, or there was none:
        self._touched: tuple[ContactStep | None, float] | None = None  # what touched in it, and its length,
        self._vdot: Array | None = None  # and the accelerations at its end
        self._limited = method.limited and step is not None and bool(self._mb.nv)
        self._look, self._in_doubt = _NEVER, False  # when stability of compiled steps is looked at next
        self._start = np.array(self._mb.q), np.array(self._mb.v)
        self._make()
        self._put(range(count), *self._start)
        nq, nv = self._mb.nq, self._mb.nv
        self._q, self._v = self._shown(slice(0, nq)), self._shown(slice(nq, nq + nv))
        self._inputs: Array = self._u[:] if self._is_batch else self._u[0]

    # -- what is seen, and written -----------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """The controls in the order of `u`: actuators or dofs; of a system its inputs."""
        return self._labels

    @property
    def u(self) -> Array:
        """The numbers of the controls, to be written, (nu); of a batch (states, nu). step.u = {name: number} sets some
        of them."""
        return self._inputs

    @u.setter
    def u(self, values: Any) -> None:
        if isinstance(values, Mapping):
            for name in values:
                if name not in self._labels:
                    raise StateError(f"the stepper drives no control {name!r:.60}{near(str(name), self._labels)}")
            sizes = (len(self._u),) if self._is_batch else ()
            read = {name: self._read_u(x, sizes, f"u of {name!r}") for name, x in values.items()}
            for name, numbers in read.items():
                self._inputs[..., self._labels.index(name)] = numbers
            return
        if self._labels == tuple(self._mb.dof_names):
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
        return self._goal / 1e9

    @property
    def period(self) -> float:
        """The time of one step in seconds."""
        return self._period / 1e9

    @property
    def mb(self) -> Multibody:
        """The model."""
        return self._mb

    @property
    def obstacle(self) -> str:
        """Reason why steps are not compiled; empty where they are."""
        return self._why

    @property
    def is_autonomous(self) -> bool:
        """True if nothing that acts can depend on the time: steps are compiled, under contact and numbers alone."""
        still = [x.is_number if isinstance(x, Control) else isinstance(x, Contact) for x in self._problem.loads]
        return not self._why and not self._stops and all(still)

    @property
    def shapes(self) -> tuple[str, ...]:
        """The shapes that may touch, "body/shape"; none without contact."""
        return () if self._touch is None else tuple(self._touch.scene.names)

    @property
    def contacts(self) -> Touches:
        """The points of contact of the last step, of one state."""
        self._require_single("contacts")
        with self._alone.held("contacts"):
            return touches_of(*self._last_contacts())

    @property
    def sensors(self) -> dict[str, float | Array]:
        """The values of the sensors of the model's file at the present state, by name (`p.sensors`). With contact,
        accelerations are the mean of the last step."""
        self._require_single("sensors")
        with self._alone.held("sensors"):
            problem, x = self._problem, np.array(self._x[0])
            q, v, _ = problem.parts(x)
            vdot = self._mean_accelerations(v) if self._method.touches else None
            if vdot is None:
                self._drive(0)
                vdot = problem.free_accelerations(self.t, q, v)
            return sensor_values(self._mb, self._mb.state(q, v, vdot))

    def state(self, which: int | None = None) -> State:
        """The present state; of a batch that of one of its states."""
        lane = self._lane(which)
        q, v, _ = self._problem.parts(np.array(self._x[lane]))
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
            u = finite(self._u[lane], (None,), f"u of the stepper of {self._mb.name!r}", StateError)
            numbers = {name: x.number for name, x in fixed_controls(self._problem, self._names).items()}
            numbers |= dict(zip(self._names, u.tolist(), strict=True))
            run = self._acting.begin().names, list(self._acting.controls)
            if not self._is_batch:  # methods and solvers restart, as those of one that is given the state
                self._stride.recall(*self._stride.memory)
                if self._problem.closed is not None:
                    self._problem.closed.recall(*self._problem.closed.memory)
            parts, ns = (self._touch, self._stride), int(self._now[lane])
            return state_of(self._problem, parts, ns, np.array(self._x[lane]), numbers, run)

    def report(self) -> Text:
        """A text: the controls, the length of a call, and whether steps are compiled."""
        lines = [
            repr(self),
            f"a call takes {self.period:g} s",
            f"steps: {f'those of runs, since {self._why}' if self._why else 'compiled'}",
            f"controls: {', '.join(self._labels) or 'none'}",
        ]
        return Text("\n".join(lines))

    def __repr__(self) -> str:
        many = f"{len(self._x)} states of " if self._is_batch else ""
        what = f"{len(self._names)} controls, {self._method!r}"
        return f"Stepper of {many}{self._mb.name!r} at t = {self.t:.9g} s: {what}"

    # -- steps -------------------------------------------------------------------------------------------------

    def __call__(self, steps: int = 1) -> None:
        """Take steps, all with the u of now. After an error one state is that of the last good step; the states of a
        batch are all as they were before the call."""
        if type(steps) is not int or steps < 0:
            steps = whole_number(steps, "steps", 0, error=StateError)
        self._alone.take("a step")
        try:
            mb = self._mb
            if mb.revision != self._revision or self._scene_changed or self._forces or mb.acting_forces:
                self._follow()
            goal = self._goal_after(steps)
            if steps == 0:
                return
            if self._lanes is not None and goal < self._look and not self._begins and not self._is_batch:
                fault = self._walk(goal)
                if fault == DONE:
                    self._goal, self._by_hand = goal, False
                    return
                self._carefully(goal, fault)
            else:
                self._carefully(goal)
        except BaseException:
            if not self._is_batch:
                self._goal = int(self._now[0])
            raise
        finally:
            self._alone.free()

    def attempt(self, steps: int = 1, skip: Any = ()) -> dict[int, SimulationError]:
        """Take steps as a call does, and return the errors of states that cannot: each stays at its last good step,
        while the others go on. The states of `skip` stay, too. Give those that stayed another state before the next
        call. The one state of a stepper that is no batch is number 0.

        >>> import soacraft as sc
        >>> batch = sc.sim.Propagator(sc.load("double_pendulum"), integrator="rk4", step=0.01).stepper(states=3)
        >>> batch.set_state([0.1, 0.2], [1e200, 0.0], which=1)
        >>> list(batch.attempt()), batch.t, batch.q[1]
        ([1], 0.01, array([0.1, 0.2]))
        """
        steps = whole_number(steps, "steps", 0, error=StateError)
        still = self._lanes_of(skip)
        with self._alone.held("a step"):
            self._follow()
            trial = Trial(self._goal_after(steps), still, {})
            try:
                self._carefully(trial.goal, trial=trial)
            except BaseException:
                if not self._is_batch:
                    self._goal = int(self._now[0])
                raise
        return dict(sorted(trial.errors.items()))

    def _goal_after(self, steps: int) -> int:
        """The nanosecond at which the last of some steps ends."""
        goal = self._goal + steps * self._period - (self._goal - self._origin) % self._period
        if goal >= _LAST:
            raise StateError(f"t would be {goal / 1e9:.6g} s, and times of a stepper end at 146 years.")
        return goal

    def _walk(self, goal: int) -> int:
        """Compiled lanes on to a nanosecond, and what they answer."""
        try:
            return int(self._lanes.advance(goal))
        except SoacraftError:  # of a function: the step is taken again in Python, which says whose it is
            self._by_hand = self._by_hand and int(self._now[0]) == self._goal
            return int(np.argmax(self._now < goal))
        except BaseException:  # after steps that were taken, as by Ctrl-C
            self._by_hand = self._by_hand and int(self._now[0]) == self._goal
            raise

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
            require_fit(q, self._problem, self._names)
            with self._alone.held("set_state"):
                self._continue(lanes, q)
            return
        at, rates = read_q(self._mb, q), self._at_rest(v)
        for x, what in ((at, "q"), (rates, "v")):
            if x.ndim > 2 or (x.ndim == 2 and len(x) != len(lanes)):
                raise StateError(f"{what} of {len(lanes)} states has one row for all or one for each, got {x.shape}.")
        with self._alone.held("set_state"):
            self._put(lanes, at, rates)

    def reset(self, which: Any = None) -> None:
        """Let it begin again with the state that it was made with; in batches those of `which`, else all."""
        with self._alone.held("reset"):
            self._put(self._lanes_of(which), *self._start)

    def restart(self, q: Any = None, v: Any = None) -> None:
        """Let it begin again at the time at which it was made: at (q, v), at rest where v is left out, or with the
        state that it was made with."""
        start = self._start if q is None else (read_q(self._mb, q), self._at_rest(v))
        lanes = range(len(self._x))
        with self._alone.held("restart"):
            before = self._goal, self._origin, self._now.copy()
            try:
                self._count_from(self._made_at, self._made_at)
                self._put(lanes, *start)
            except BaseException:
                self._count_from(*before[:2])
                self._now[:] = before[2]
                raise

    def _count_from(self, goal: int, origin: int) -> None:
        """Be at a nanosecond, with steps on the grid of an origin."""
        anew, self._origin = origin != self._origin, origin
        self._goal, self._now[:], self._stride.origin = goal, goal, origin
        if anew:
            self._make()

    # -- parts -------------------------------------------------------------------------------------------------

    def _at_rest(self, v: Any) -> Array:
        """Velocities as `mb.set_state` takes them; zeros where they are left out."""
        return np.zeros(self._mb.nv) if v is None else read_v(self._mb, v)

    def _shown(self, part: slice) -> Array:
        shown = self._x[:, part] if self._is_batch else self._x[0, part]
        shown.flags.writeable = False
        return shown

    def _require_single(self, what: str) -> None:
        if self._is_batch:
            raise StateError(f"{what} are of a stepper of one state; make one with p.stepper().")

    def _lane(self, which: int | None) -> int:
        if which is None and not self._is_batch:
            return 0
        return whole_number(which, "which", 0, len(self._x) - 1, StateError)

    def _lanes_of(self, which: Any) -> list[int]:
        """The states that are meant."""
        if which is None:
            return list(range(len(self._x)))
        several = isinstance(which, list | tuple) or (isinstance(which, np.ndarray) and which.ndim > 0)
        chosen = list(which) if several else [which]
        if chosen and all(isinstance(x, bool | np.bool_) for x in chosen):
            if len(chosen) != len(self._x):
                raise StateError(f"which has a truth value for each of {len(self._x)} states, got {len(chosen)}.")
            return np.flatnonzero(chosen).tolist()
        return [self._lane(x) for x in chosen]

    def _made_problem(self) -> Mechanism:
        """All that acts on the propagator, with controls of its own, and contact and closures that remember nothing."""
        acting, mb = self._acting, self._acting.mb
        loads: list[Any] = []
        self._touch: Contact | None = None
        for load in [*acting.loads, *(x for name, x in acting.controls.items() if name not in self._names)]:
            if isinstance(load, Contact):
                load = self._touch = load.another()
            elif isinstance(load, Control):
                load = copy(load)  # its number stays the one of now
            loads.append(load)
        closed = copy(acting.closed)
        if closed is not None:
            closed.solver = copy(closed.solver)
        prescribed = acting.prescribed.kept if acting.prescribed.dofs else None
        return Mechanism(mb, [*loads, *self._driven], prescribed, closed)

    def _make(self) -> None:
        """Read the model, and compile the steps if they can be."""
        mb, problem, touch = self._acting.mb, self._problem, self._touch
        if not self._by_hand:  # what the last step left is in the lanes that end here
            self._touched, self._vdot = self._last_contacts(), self._mean_accelerations(problem.parts(self._x[0])[1])
            self._by_hand = True
        self._lanes, self._why = None, self._obstacle()
        if touch is not None:
            touch.follow()
            self._shape_names = touch.scene.names
        if not self._why:
            motion = CompiledMotion(problem, self._method)
            numbers = np.array([list(problem.loads).index(x) for x in self._driven], dtype=np.int64)
            stops = np.unique(np.array(self._stops, dtype=np.int64))
            states, grid = (self._x, self._u, self._now), (self._step or 0, self._origin)
            lanes = motion.lanes(states, numbers, stops, grid, self._threads)
            if lanes.ready:
                self._lanes = lanes
            else:
                self._why = "compiled code does not know the model as it is now"
        if self._is_batch and self._lanes is None:
            raise StateError(f"steps of several states are compiled, and here {self._why}; take one state.")
        self._revision, self._forces = mb.revision, dict(mb.acting_forces)
        self._scene_revision = 0 if touch is None else touch.scene.revision
        self._look_soon()

    @property
    def _jumps(self) -> bool:
        """True if a force jumps at times that steps must respect."""
        return any(x.jumps for x in self._breaks)

    @property
    def _scene_changed(self) -> bool:
        return self._touch is not None and self._touch.scene.revision != self._scene_revision

    def _look_soon(self) -> None:
        """Look at stability within some steps of what is new."""
        if self._limited:
            self._look = min(self._look, self._goal + _FIRST_LOOK * (self._step or 0))

    def _obstacle(self) -> str:
        """Why steps are not those of compiled lanes; empty where they are."""
        problem = self._problem
        if not self._mb.nv:
            return "it has no dofs"
        if self._method.adaptive or self._step is None:
            return f"{self._method.name!r} chooses its steps"
        if problem.closed is not None:
            return "its loops are followed from step to step"
        if self._jumps:
            return "a function has breaks"
        loads = [*problem.loads, *([] if self._touch is None else [self._touch])]
        return obstacle_to_run(self._mb, self._method, loads, problem.is_told)

    def _follow(self) -> None:
        """Read the model again where it was changed; shapes that are in each other now are taken out, or refused in a
        batch, as at a start."""
        mb, touch = self._acting.mb, self._touch
        if mb.revision == self._revision and not self._scene_changed and _same(self._forces, mb.acting_forces):
            return
        self._make()
        if touch is None or touch.began:
            return
        q = self._x[:, : mb.nq]
        try:
            if self._is_batch:
                touch.begin_batch(np.ascontiguousarray(q), range(len(q)), "stepper")
                touch.recall(True)
            else:
                touch.begin(self.t, q[0].copy())
                self._begins = touch.takes_out
        except SoacraftError:
            self._revision = -1  # looked at again in the next call
            raise

    def _put(self, lanes: Sequence[int] | range, q: Array, v: Array) -> None:
        """Let states begin at (q, v), one or a row for each, all of them or none."""
        problem = self._problem
        Q, V = (np.broadcast_to(x, (len(lanes), x.shape[-1])) for x in (q, v))
        if not len(lanes):
            return
        if self._is_batch:  # of a tree that nothing moves as told
            if self._touch is not None:
                self._touch.begin_batch(np.ascontiguousarray(Q), lanes, "stepper")
                self._touch.recall(True)
            self._x[lanes] = np.concatenate([Q, V, np.zeros((len(lanes), len(problem.names)))], axis=1)
        else:
            self._x[0] = self._begun(np.array(Q[0]), np.array(V[0]))
            self._begins = self._touch is not None and self._touch.takes_out
            self._stride.forget()
            self._stability.forget()
        self._by_hand, self._touched, self._vdot = True, None, None
        self._look_soon()

    def _continue(self, lanes: Sequence[int], state: SimState) -> None:
        """Let states continue from a value that fits, all of them or none."""
        problem, touch, before = self._problem, self._touch, self._goal
        fixed = {x: state.controls[name] for name, x in fixed_controls(problem, self._names).items()}
        renumbered = any(x.number != u for x, u in fixed.items())
        together = len(set(lanes)) == len(self._x)  # not a part of a batch
        if not together and lanes and (renumbered or (self._stops and state.ns != before)):
            raise StateError(
                f"this SimState is of t = {state.t:.9g} s, that of the batch is {self.t:.9g} s, and samples of "
                "p.control, or numbers that the stepper does not drive, are those of all: give it to all of them, "
                "step.set_state(state)."
            )
        x = point_of(state, problem)
        if touch is not None and not state.began:  # its start was not looked at
            size = problem.mb.nq + problem.mb.nv
            if self._is_batch:
                touch.begin_batch(np.ascontiguousarray(state.q[None]), lanes[:1], "stepper")
            else:
                self._goal = state.ns
                try:
                    x[:size] = self._begun(state.q, state.v)[:size]
                except SoacraftError:
                    self._goal = before
                    raise
        if touch is not None and (self._is_batch or state.began):
            touch.recall(True)
        for control, u in fixed.items():
            control.set(u)
        for i, name in enumerate(self._names):
            self._u[lanes, i] = state.controls.get(name, 0.0)
        self._x[lanes] = x
        self._by_hand, self._touched, self._vdot = True, None, None
        if together:
            anew, self._goal, self._origin = renumbered or state.origin != self._origin, state.ns, state.origin
            self._now[:], self._stride.origin = state.ns, state.origin
            self._look, self._in_doubt = _NEVER, False
            if anew:
                self._make()
        if not self._is_batch:
            if problem.closed is not None:
                problem.closed.recall(state.closures, state.independent, state.embedding)
            self._stride.recall(state.length, state.longest, state.counts)
            self._stability.forget()
            self._begins = touch is not None and touch.takes_out
            problem.see(window(self._breaks, Instant(self._goal)))
        self._look_soon()

    def _begun(self, q: Array, v: Array) -> Array:
        """The point at which one state begins."""
        problem, touch, t = self._problem, self._touch, self.t
        began = touch is not None and touch.began
        problem.see(window(self._breaks, Instant(self._goal)))
        try:
            if problem.closed is not None and not problem.is_told:
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

    def _carefully(self, goal: int, fault: int | None = None, trial: Trial | None = None) -> None:
        """On to a nanosecond, in Python where that is needed, with looks at stability where they are due."""
        before_call = (self._x.copy(), self._now.copy(), self._goal) if self._is_batch else None
        try:
            if trial is not None:
                self._now[trial.still] = goal
            while fault is None and self._lanes is not None and self._look <= goal:
                self._onward(max(self._goal, self._look - (self._step or 0)), trial=trial)
                times, before = (self._goal / 1e9, self._look / 1e9), self._x.copy()
                self._onward(self._look, trial=trial)
                self._look_at_last_step(times, before, trial)
            self._onward(goal, fault, trial)
        except BaseException:
            if before_call is not None:
                self._x[:], self._now[:], self._goal = before_call
            raise

    def _look_at_last_step(self, times: tuple[float, float], before: Array, trial: Trial | None) -> None:
        """Raise where steps are none of the motion: in two looks, one soon after the other."""
        since, step = self._look - self._origin, self._step or 0
        moved = np.flatnonzero(self._now == self._goal) if trial is not None else np.arange(len(self._x))
        moving = before[moved], self._x[moved]
        try:
            require_stable(self._method, self._problem, times, moving, lambda i: self._drive(int(moved[i])))
        except Stiff as stiff:
            self._look += _SECOND_LOOK * step
            if self._in_doubt:
                error = Stiff(f"the stepper of {self._mb.name!r} at t = {self.t:.9g} s: {stiff}")
                if trial is None:
                    raise error from None
                self._give_up(int(moved[stiff.state]), error, trial)
            self._in_doubt = True
        else:
            self._look, self._in_doubt = self._origin + 2 * since, False

    def _give_up(self, lane: int, error: SimulationError, trial: Trial) -> None:
        """Let a state stay where it is until the end of a trial."""
        trial.errors[lane], self._now[lane] = error, trial.goal

    def _onward(self, goal: int, fault: int | None = None, trial: Trial | None = None) -> None:
        """All states on to a nanosecond; `fault` is what compiled lanes answered, if they were asked."""
        if goal <= self._goal:
            return
        while self._lanes is not None and not self._begins:
            if bool((self._now >= goal).all()):  # by steps that Python took
                self._goal = goal
                return
            answer = self._walk(goal) if fault is None else fault
            fault = None
            if answer == DONE:
                self._goal, self._by_hand = goal, False
                return
            if answer == BUSY:
                raise StateError("another thread takes a step; make a stepper for each: p.stepper().")
            if answer == CHANGED:
                self._make()
            elif answer == NOT_FINITE:
                self._require_finite()
            else:
                self._take_or_stay(answer, min(goal, self._stride.end_from(int(self._now[answer]) + 1)), trial)
        while self._now[0] < goal:  # there is one state
            self._take_or_stay(0, goal, trial)
        self._goal = goal

    def _take_or_stay(self, lane: int, goal: int, trial: Trial | None) -> None:
        """A state on to a nanosecond, by the steps of runs; one that cannot stays where it is, in a trial."""
        try:
            self._take(lane, goal)
        except SimulationError as error:
            if trial is None:
                raise
            self._give_up(lane, error, trial)

    def _require_finite(self) -> None:
        finite(self._u, (...,), f"u of the stepper of {self._mb.name!r}", StateError)

    def _drive(self, lane: int) -> None:
        """Let the controls have the numbers of a state."""
        u = finite(self._u[lane], (None,), f"u of the stepper of {self._mb.name!r}", StateError)
        for control, number in zip(self._driven, u.tolist(), strict=True):
            control.set(number)

    def _take(self, lane: int, goal: int) -> None:
        """A state on to a nanosecond, by the steps of runs."""
        problem, stride = self._problem, self._stride
        self._by_hand, self._touched, self._vdot = True, None, None
        self._drive(lane)
        if self._touch is not None and self._is_batch:
            self._touch.recall(True)  # its start was looked at
        x, now = self._x[lane].copy(), Instant(int(self._now[lane]))
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # numbers that are not finite are refused by name
                w = self._rates_at(now, x)
                if not self._is_batch:
                    self._stability.begin(problem, now.seconds, x)
                while now.ns < goal:
                    until = min([goal, *(ns for ns in self._stops if ns > now.ns)])
                    block = None if self._begins or self._jumps else stride.many(problem, now, x, w, until)
                    if block is not None:
                        now, x, w = Instant(int(block.ns[-1])), block.x[-1], block.w[-1]
                        rows = block.t[1:], block.x[1:]
                        problem.see(window(self._breaks, now))
                    else:
                        step, now, _ = stride.take(problem, now, x, w, stride.stop(now, until), self._breaks)
                        x, rows = step.x1, (np.array([now.seconds]), step.x1[None])
                        w = self._rates_at(now, x)
                        self._keep_contacts(step)
                    if not (np.isfinite(x).all() and np.isfinite(w).all()):
                        raise SimulationError("a number of its state or its rates is not finite.")
                    self._x[lane], self._now[lane] = x, now.ns
                    if not self._is_batch:
                        self._stability.add(problem, *rows)
        except SoacraftError as cause:
            raise self._failed(lane, cause) from cause
        if self._touch is not None and not self._is_batch:
            self._begins = self._touch.takes_out

    def _rates_at(self, now: Instant, x: Array) -> Array:
        """The rates from an instant on: beyond a jump there."""
        self._problem.see(window(self._breaks, now))
        return self._problem.rates(now.seconds, x)

    def _keep_contacts(self, step: Step) -> None:
        """Keep what touched in a step that Python took, and the accelerations at its end."""
        self._touched = None
        if self._touch is None:
            return
        if self._touch.steps:
            self._touched = self._touch.steps[-1], step.h
        self._touch.diary = ContactDiary()
        self._vdot = self._problem.vdot_of(step.x1, step.w1)

    def _last_contacts(self) -> tuple[ContactStep | None, float]:
        """The contacts of the last step, and its length."""
        if self._by_hand or self._touch is None:
            return self._touched or (None, 0.0)
        log, _, length = self._lanes.last()
        steps = steps_of(ContactLog(self._shape_names, *log))
        return (steps[-1] if steps else None), length

    def _mean_accelerations(self, v: Array) -> Array | None:
        """The mean accelerations of the last step with contact, None before the first."""
        if self._by_hand:
            return self._vdot
        _, rates, length = self._lanes.last()
        if not length > 0.0 or rates is None:
            return None
        return self._problem.coordinates.own(v, rates[0])

    def _failed(self, lane: int, cause: SoacraftError) -> SimulationError:
        """The error of a state, which stays where it was."""
        t = self._now[lane] / 1e9
        whose = f"state {lane} of the stepper" if self._is_batch else "the stepper"
        why = str(cause)
        if not self._method.adaptive and self._mb.nv and not isinstance(cause, Stiff):
            points = self._x[lane], self._problem.point(*self._start)  # of the first one numbers may be too large
            limits = [limit(self._method, self._problem, t, x, (self._step or 0) / 1e9) for x in points]
            why += next((f" {x[0].upper()}{x[1:]}" for x in limits if x), "")
        which = f", which={lane}" if self._is_batch else ""
        error = SimulationError(
            f"{whose} of {self._mb.name!r} stopped at t = {t:.9g} s: {why} It is where it was; give it another state "
            f"with step.set_state(q, v{which})."
        )
        error.t = t
        return error


def _period(method: Method, step: int | None, period: float | None) -> int:
    """The nanoseconds of one call."""
    if period is None:
        if step is None or method.adaptive:
            raise StateError(
                f"{method.name!r} chooses its steps: give the time of one call, such as p.stepper(period=0.01)."
            )
        return step
    ns = positive_nanoseconds(period, "period")
    if not method.adaptive and step is not None and ns % step:
        raise StateError(f"period is {ns / 1e9:.9g} s, which is no multiple of the step of {step / 1e9:.9g} s.")
    return ns


def _names(mb: Multibody, acting: Acting, controls: Sequence[str] | None) -> tuple[str, ...]:
    """The names of the controls that are driven."""
    if controls is not None and not isinstance(controls, list | tuple):
        raise StateError(f"controls is a list of names, such as controls=[{controls!r:.60}].")
    names = controls_of(mb) if controls is None else list(controls)
    for i, name in enumerate(names):
        if name in names[:i]:
            raise StateError(f"control {name!r:.60} is named twice; name each once.")
        owner = acting.controls.get(name) if isinstance(name, str) else None
        if owner is not None and not owner.is_number:
            kind = "a function" if owner.samples is None else "samples"
            raise StateError(
                f"control {name!r} has two owners: {kind} of p.control, and the stepper. Take it away with "
                f"p.control({name!r}, 0.0), or name the others: p.stepper(controls=[...])."
            )
    return tuple(names)


def _driven(mb: Multibody, name: str) -> Control:
    control = Control(name, 0.0)
    try:
        control.bind(mb)
    except ModelError as wrong:
        raise ModelError(f"{wrong} Name the controls that the stepper drives: p.stepper(controls=[...]).") from None
    return control


def _same(before: dict[Any, Any], now: dict[Any, Any]) -> bool:
    return before.keys() == now.keys() and all(now[x] is y for x, y in before.items())
