"""Environments on steppers: all as one compiled batch, or a stepper for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from soacraft.errors import SimulationError, StateError, WiringError, near
from soacraft.markup import Text
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.clock import positive_nanoseconds
from soacraft.sim.forces.drives import Law, controls_of
from soacraft.sim.links.observations import Observation, View
from soacraft.sim.propagator import Propagator
from soacraft.sim.stability import Stiff
from soacraft.sim.steppers.stepper import Stepper
from soacraft.spatial.checks import Array, finite

#: Coordinates and velocities at which some environments begin, by the generators of all.
Begin = Callable[[Sequence[int], Sequence[np.random.Generator]], tuple[Array, Array]]


class Driven(NamedTuple):
    """Maker of steppers of one motion, all alike, with the bounds of their controls."""

    make: Callable[..., Stepper]
    low: Array
    high: Array
    every: int

    @classmethod
    def of(cls, p: Propagator, act: Any, every: float, controls: Mapping[str, str] | None = None) -> Driven:
        """Maker of steppers of a propagator; `controls` maps the names that actions have here to its controls."""
        names = list(controls or controls_of(p.mb)) if act is None else _names(act)
        for x in names:
            if controls is not None and x not in controls:
                raise WiringError(f"there is no input {x!r:.60} to fill from outside{near(x, controls)}")
        driven = names if controls is None else [controls[x] for x in names]
        prescribed = act if isinstance(act, Mapping) else {}
        bounds = [_bounds(p, x, control, prescribed.get(x)) for x, control in zip(names, driven, strict=True)]
        low, high = np.array([x[0] for x in bounds]), np.array([x[1] for x in bounds])
        ns = positive_nanoseconds(every, "every")
        return cls(partial(p.stepper, driven, period=ns / 1e9, labels=names), low, high, ns)


def _names(act: Any) -> list[str]:
    """The names of what acts."""
    if isinstance(act, str) or not isinstance(act, Sequence | Mapping) or not all(isinstance(x, str) for x in act):
        raise WiringError(f"act is a list of names, or bounds {{name: (low, high)}}; got {act!r:.60}.")
    return list(act)


def _bounds(p: Propagator, name: str, control: str, given: Any) -> tuple[float, float]:
    """The lower and upper bound of an action: as given, else the `ctrlrange` of an actuator, else none."""
    if given is None:
        actuator = next((x for x in p.mb.actuators if x.name == control), None)
        lower, upper = (-np.inf, np.inf) if actuator is None else Law(p.mb, actuator).numbers[4:6]
        return float(lower), float(upper)
    pair = np.asarray(given, dtype=float) if np.shape(given) == (2,) else np.array([1.0, 0.0])
    if not pair[0] <= pair[1]:
        raise WiringError(
            f"bounds of actions are pairs (lower, upper), with lower at most upper; those of {name!r:.60} are "
            f"{given!r:.60}."
        )
    return float(pair[0]), float(pair[1])


class SteppedFleet:
    """Environments on steppers: `count` as one batch where compiled code serves, else each on its own stepper, with the
    same bits. `batch` insists on either."""

    def __init__(
        self, driven: Driven, observe: Callable[[Stepper], list[Observation]], starts: Begin, count: int,
        batch: bool | None, threads: int | None,
    ) -> None:  # fmt: skip
        first = driven.make()
        self.count, self.low, self.high, self.every = count, driven.low, driven.high, driven.every
        self.start, self._first = first.t, first
        self._controls = np.array(first.u)  # at the start of an episode
        self._starts = starts
        self._observations = observe(first)
        self.names = tuple(x.name for x in self._observations)
        self.why = "batch=False" if batch is False else self._obstacle(first)
        if batch and self.why:
            raise WiringError(f"the environments cannot march as one batch: {self.why}.")
        if self.why or (batch is None and count == 1):
            self._batch: Stepper | None = None
            self.steppers = [first, *(driven.make() for _ in range(count - 1))]
        else:
            self._batch = driven.make(states=count, threads=threads, on_error="keep")
            self.steppers = [self._batch]
        self._states = [] if self._batch else [x.sim_state() for x in self.steppers]
        # steppers whose time is to be that of the start at a restart: a step ended early, or time acts
        self._late = set() if self._batch or first.is_autonomous else set(range(count))
        self._shapes = self._measure()
        self.seen_size = sum(int(np.prod(x, dtype=int)) for x in self._shapes)

    def _obstacle(self, step: Stepper) -> str:
        """Reason why they are no batch; empty if they can be one."""
        if step.obstacle:
            return step.obstacle
        if not step.is_autonomous:
            return "what acts depends on the time, which states of a batch share"
        return next((x.obstacle for x in self._observations if x.obstacle), "")

    def _measure(self) -> list[tuple[int, ...]]:
        """The shape of each observation of one environment."""
        t = self.start if self._batch is None else np.full(self.count, self.start)
        view, shapes = View(self.steppers[0], t), []
        for x in self._observations:
            value = _read(x, view)
            if self._batch is not None and value.shape[:1] != (self.count,):
                raise WiringError(
                    f"the observation {x.name!r} has shape {value.shape} of {self.count} states: give it a row for "
                    "each, as with step.q[..., :3], or take batch=False."
                )
            shapes.append(value.shape if self._batch is None else value.shape[1:])
        return shapes

    def begin(self, which: Sequence[int], generators: Sequence[np.random.Generator]) -> None:
        """Restart some environments, each by its generator."""
        if not len(which):
            return
        Q, V = self._starts(which, generators)
        if self._batch is not None:
            self._batch.set_state(Q, V, which=list(which))
            self._batch.u[list(which)] = self._controls
            return
        for i, q, v in zip(which, Q, V, strict=True):
            step = self.steppers[i]
            if i in self._late:
                step.set_state(self._states[i])
            step.set_state(q, v)
            step.u[:] = self._controls
        self._late -= {*which} if self._first.is_autonomous else set()

    def advance(self, actions: Array, still: Sequence[int]) -> Mapping[int, str]:
        """Hold an action of each for a period; why some could not go on. Steps that are too long raise, for all."""
        if self._batch is not None:
            self._batch.u[:] = actions
            if len(still):  # they march along from a start, and restart afterwards
                self._batch.reset(list(still))
                self._batch.u[list(still)] = self._controls
            self._batch()
            failed = self._batch.failed
            return dict(zip(failed.which.tolist(), failed.reasons, strict=True))
        errors: dict[int, str] = {}
        for i in sorted({*range(self.count)} - {*still}):
            step = self.steppers[i]
            step.u[:] = actions[i]
            try:
                step()
            except SimulationError as error:
                if isinstance(error, Stiff) or isinstance(error.__cause__, Stiff):
                    raise
                errors[i] = str(error)
                self._late.add(i)
        return errors

    def look(self, t: Array) -> dict[str, Array]:
        """Observations {name: array}, with a row for each environment."""
        if self._batch is not None:
            view = View(self._batch, t)
            return {x.name: self._checked(x, _read(x, view)) for x in self._observations}
        seen = {x.name: np.empty((self.count, *n)) for x, n in zip(self._observations, self._shapes, strict=True)}
        for i, step in enumerate(self.steppers):
            view = View(step, float(t[i]))
            for x in self._observations:
                seen[x.name][i] = self._checked(x, _read(x, view)[None])[0]
        return seen

    def _checked(self, x: Observation, value: Array) -> Array:
        """An observation that has the shape that it had at first."""
        wanted = self._shapes[self.names.index(x.name)]
        if value.shape[1:] != wanted:
            raise StateError(f"the observation {x.name!r} had the shape {wanted} and has {value.shape[1:]} now.")
        return value

    def report(self) -> Text:
        """A text: what they stand on, what is observed, what acts."""
        many = f"{self.count} environments" if self.count > 1 else "an environment"
        if self._batch is not None:
            how = "one batch of compiled steps"
        elif self._first.obstacle:
            how = f"a stepper for each, by steps of runs, since {self._first.obstacle}"
        else:
            how = "a stepper for each, compiled" + (f": {self.why}" if self.why else "")
        lines = [
            f"{many} of {self._first.mb.name!r}, {self.every / 1e9:g} s a step",
            f"steps: {how}",
            f"observe: {', '.join(self.names) or 'nothing'}",
            f"act: {', '.join(self._first.names) or 'nothing'}",
        ]
        return Text("\n".join(lines))


def _read(x: Observation, view: View) -> Array:
    """An observation as numbers."""
    try:
        return np.array(x.read(view), dtype=float)
    except (TypeError, ValueError) as wrong:
        raise WiringError(f"the observation {x.name!r} gives no numbers: {wrong}") from None


class Starts:
    """Starts of environments of a propagator: `begin(generator)` gives q, or (q, v), of one; with `vector`
    `begin(generator, count)` those of several."""

    def __init__(self, mb: Multibody, begin: Callable[..., Any] | None, vector: bool) -> None:
        self._start = np.array(mb.q), np.array(mb.v)
        self._begin, self._vector = begin, vector

    def __call__(self, which: Sequence[int], generators: Sequence[np.random.Generator]) -> tuple[Array, Array]:
        """q and v, a row for each of `which`."""
        if self._begin is None:
            return tuple(np.tile(x, (len(which), 1)) for x in self._start)  # type: ignore[return-value]
        if self._vector:
            return self._read(self._begin(generators[0], len(which)), (len(which),))
        pairs = [self._read(self._begin(generators[i]), ()) for i in which]
        return np.array([q for q, _ in pairs]), np.array([v for _, v in pairs])

    def _read(self, given: Any, count: tuple[int, ...]) -> tuple[Array, Array]:
        """q and v of what `begin` gave; at rest where it gave q alone."""
        pair = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
        read = []
        for x, default, what in zip(pair, self._start, ("q", "v"), strict=True):
            values = np.zeros((*count, len(default))) if x is None and what == "v" else x
            read.append(finite(values, (*count, len(default)), f"{what} of begin", StateError))
        return read[0], read[1]
