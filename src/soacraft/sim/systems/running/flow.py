"""`Flow`: a system as a propagator carries it along: forces and rates, ticks, crossings, signals."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from soacraft.errors import SimulationError, SoacraftError, WiringError
from soacraft.sim.breaks import Breaks
from soacraft.sim.forces.contact_steps import ContactStep
from soacraft.sim.runs.signals import Columns
from soacraft.sim.systems.plants.masses import require_masses
from soacraft.sim.systems.running.calls import Call, Knot, getter
from soacraft.sim.systems.running.compiled import CompiledFlow, obstacle
from soacraft.sim.systems.running.kinds import KindError
from soacraft.sim.systems.running.schedule import Schedule
from soacraft.sim.systems.running.slot_layout import forms_of
from soacraft.sim.systems.running.ticks import Ticks
from soacraft.sim.systems.running.values import Steps, Values, total_of
from soacraft.sim.systems.wiring import Link
from soacraft.spatial.checks import Array


class Record(NamedTuple):
    """Signals that are recorded: their slots, the calls for them alone, and what reads their values."""

    columns: Columns
    slots: list[int]
    calls: list[list[Call | Knot]]
    before: Steps
    behind: Steps
    """Steps behind the accelerations."""
    numbers: Callable[[list[Any]], tuple[Any, ...]]
    arrays: Callable[[list[Any]], tuple[Any, ...]]


class PlantSlots(NamedTuple):
    """Slots of the coordinates, velocities, accelerations and forces of plants; all empty where there is none."""

    arrays: list[tuple[int, int, int, slice, slice]]
    """Slots of q, v and vdot of each plant as arrays, and its places in those of the model that is moved."""
    q: slice
    """Slots of the elements of q of all plants, in a row,"""
    v: slice
    vdot: slice
    single: tuple[Any, Any]
    """Numbers of the forces on single dofs, and these dofs,"""
    dofs: list[int]
    pushes: Callable[[list[Any]], tuple[Any, ...]]
    wide: list[tuple[int, Any, int]]
    """Number, function and slot of each other force."""

    @classmethod
    def of(cls, s: Schedule) -> PlantSlots:
        """Slots of a schedule."""
        arrays = [(s.slots[x.q], s.slots[x.v], s.slots[x.vdot], x.seat.q, x.seat.v) for x in s.plants]
        first = [slot + len(s.plants) for slot in arrays[0][:3]] if arrays else [0, 0, 0]
        nq, nv = (s.plants[-1].seat.q.stop, s.plants[-1].seat.v.stop) if arrays else (0, 0)
        q, v, vdot = (slice(at, at + n) for at, n in zip(first, (nq, nv, nv), strict=True))
        alone = [(i, x.push.number, slot) for i, (x, (slot, _)) in enumerate(s.forces) if x.push.number is not None]
        rows, dofs = (np.array([x[i] for x in alone], dtype=np.intp) for i in (0, 1))
        wide = [(i, x.push.spread, slot) for i, (x, (slot, _)) in enumerate(s.forces) if x.push.number is None]
        return cls(arrays, q, v, vdot, (rows, dofs), dofs.tolist(), getter([x for _, _, x in alone]), wide)


class Flow:
    """State of a system beside that of its plants, which a propagator carries along (`sim.carried.Carried`).

    `values` has a slot for every signal, state and parameter; numbers of Python and arrays.
    """

    is_empty = False

    def __init__(self, schedule: Schedule) -> None:
        self._s, self._values = schedule, Values(schedule)
        self.values = schedule.values
        self._forms = forms_of(self.values)
        self._compiled: CompiledFlow | None = None
        self.obstacle = obstacle(schedule, self._forms)
        """Reason why compiled steps do not walk through it; empty if they do."""
        self.size = schedule.size
        self.present = schedule.start.copy()
        self.names = tuple(x.name for x in schedule.contributions)
        self.crossings = [(x.call.key, x.direction) for x in schedule.watched]
        self.signs = np.zeros((2, len(self.crossings)))
        """Signs of crossings at the present state, and 1 where they follow from values alone, for compiled steps."""
        self.ticks = Ticks(schedule, self._values)
        self._before, self._behind = (self._values.steps(x) for x in schedule.stage)
        self._reads_vdot = schedule.reads_vdot
        flat = [x for x in schedule.places if not x.shape]
        self._flat = slice(flat[0].slot, flat[0].slot + len(flat)) if flat else slice(0, 0)
        self._numbers = len(flat)
        self._arrays = [x for x in schedule.places if x.shape]
        self._rates = [(x.function, x.get) for x in schedule.rates[: self._numbers]]
        self._array_rates = schedule.rates[self._numbers :]
        self._nominal = np.concatenate(
            [np.zeros(0), *(np.full(int(np.prod(x.shape)), x.nominal) for x in schedule.places)]
        )
        self._plant = PlantSlots.of(schedule)
        self._inertias_of = -1  # the version of the parameters that inertias are of
        self._breaks: tuple[list[float], Breaks] = [], Breaks()
        self.record({})

    def record(self, columns: Columns) -> None:
        """Set the signals that `sample` gives."""
        s, slots = self._s, [self._s.slots[key] for key in columns]
        staged = {id(x) for part in s.stage for x in part}
        late = s.select([key for key in columns if key in s.needs])
        calls = [[x for x in part if id(x) not in staged] for part in late]
        before, behind = (self._values.steps(x) for x in calls)
        shaped = [(slot, bool(shape)) for slot, (shape, *_) in zip(slots, columns.values(), strict=True)]
        numbers, arrays = (getter([slot for slot, x in shaped if x is y]) for y in (False, True))
        self._record = Record(columns, slots, calls, before, behind, numbers, arrays)

    @property
    def columns(self) -> Columns:
        """Signals that `sample` gives."""
        return self._record.columns

    def _refresh(self) -> None:
        """Have the inertias of bodies that are asked for as the model has them now."""
        s = self._s
        if s.inertias and self._inertias_of != s.plants[0].seat.mb.parameters:
            self._inertias_of = s.plants[0].seat.mb.parameters
            for slot, give in s.inertias.items():
                self.values[slot] = give()

    def compiled(self) -> CompiledFlow:
        """The flow as a plan for compiled code, if there is no obstacle."""
        self._refresh()
        if self._compiled is None:
            parts = self._s, self.ticks, self._values, self._forms
            self._compiled = CompiledFlow(*parts, self.signs, self._nominal)
        self._compiled.record(self._record.slots, self._record.calls)
        return self._compiled

    def state(self, key: str) -> Any:
        """Present value of a state."""
        place = next((x for x in self._s.places if x.key == key), None)
        if place is None:
            return self.values[self._s.discrete[key]]
        part = self.present[place.start : place.start + int(np.prod(place.shape))]
        return part.reshape(place.shape).copy() if place.shape else float(part[0])

    def set_state(self, key: str, value: Any) -> None:
        """Set a state by its name, to a value of its kind."""
        place = next((x for x in self._s.places if x.key == key), None)
        if place is None:
            self.values[self._s.discrete[key]] = value
        else:
            present = self.present.copy()
            present[place.start : place.start + int(np.prod(place.shape))] = np.ravel(value)
            self.present = present

    def signal(self, link: Link) -> Any:
        """The value of a source now, after `place`; what no rate needs is evaluated here."""
        s = self._s
        slot, key = s.linked(link)
        if key:
            for part in s.select([key]):
                self._values.walk(self._values.steps(part))
        return self.values[slot]

    def motions(self) -> dict[str, Callable[[float], Any]]:
        """The motions that are given, by dof: functions of the time at which values were placed last."""
        return {dof: partial(self._told, slot) for dof, slot in self._s.motions.items()}

    def _told(self, slot: int, t: float) -> Any:
        return self.values[slot]

    def adopt(self, other: Flow, parts: Collection[str]) -> None:
        """Have the states, held outputs and counts of clocks of another flow, for components that both have."""
        s, old = self._s, other._s
        old_states = {*(x.key for x in old.places), *old.discrete}
        for key in [*(x.key for x in s.places), *s.discrete]:
            if key in old_states and key.rpartition(".")[0] in parts:
                if np.shape(self.state(key)) != np.shape(other.state(key)):
                    raise WiringError(
                        f"the state {key!r} has a size of its plant, which changes: remove the component, and add one "
                        "for the new sizes."
                    )
                self.set_state(key, other.state(key))
        for key, x in s.outputs.items():
            before = old.outputs.get(key)
            if before is not None and before.shape == x.shape and key.rpartition(".")[0] in parts:
                self.values[s.slots[key]] = other.values[old.slots[key]]
        for key in s.touches:
            if key in old.touches:
                self.values[s.slots[key]] = other.values[old.slots[key]]
        counts = dict(zip(other.ticks.clocks, other.ticks.counts, strict=True))
        self.ticks.origin = other.ticks.origin
        self.ticks.set_counts([counts.get(x, 0) for x in self.ticks.clocks])

    # -- evaluation --------------------------------------------------------------------------------------------

    def place(self, t: float, q: Array, v: Array, z: Array) -> None:
        """Evaluate what forces and rates need, but for what depends on the accelerations."""
        self.set_point(t, q, v, z)
        self._values.walk(self._before)

    def set_point(self, t: float, q: Array, v: Array, z: Array) -> None:
        """Have the values of a point; nothing is evaluated."""
        self._refresh()
        V = self.values
        V[0] = float(t)
        plant = self._plant
        V[plant.q], V[plant.v] = q.tolist(), v.tolist()
        for at_q, at_v, _, of_q, of_v in plant.arrays:
            V[at_q], V[at_v] = q[of_q], v[of_v]
        if self._numbers:
            V[self._flat] = z[: self._numbers].tolist()
        for x in self._arrays:
            V[x.slot] = z[x.start : x.start + int(np.prod(x.shape))].reshape(x.shape)

    def walk(self, calls: Sequence[Call]) -> None:
        """Evaluate these, in order."""
        self._values.walk(self._values.steps(calls))

    def called(self, call: Call) -> Any:
        """Present value of an equation."""
        return self._values.called(call)

    def push(self, q: Array, forces: Array) -> None:
        """The generalized forces, into rows of zeros."""
        V = self.values
        singles = self._pushed()
        if singles:
            forces[self._plant.single] = singles
        for i, spread, slot in self._plant.wide:
            value = V[slot]
            if not np.isfinite(value).all():
                self._values.blame()
            forces[i] = value if spread is None else spread(q, value)

    def _pushed(self) -> tuple[float, ...]:
        """The forces on single dofs, finite."""
        singles = self._plant.pushes(self.values)
        total = total_of(singles)
        if total - total != 0.0:
            self._values.blame()
        return singles

    def total(self, q: Array, v: Array) -> tuple[Array, Array]:
        """The sum of the generalized forces, and the power of each. Numbers are added in the order of their names, as
        `push` has them."""
        plant = self._plant
        if plant.wide:
            forces = np.zeros((len(self.names), len(v)))
            self.push(q, forces)
            return forces.sum(axis=0), np.asarray(forces @ v)
        speeds, total, powers = self.values[plant.v], [0.0] * len(v), []
        for i, force in zip(plant.dofs, self._pushed(), strict=True):
            total[i] += force
            powers.append(force * speeds[i])
        return np.array(total), np.array(powers)

    def accelerate(self, vdot: Array) -> None:
        """Have the values of accelerations."""
        V = self.values
        V[self._plant.vdot] = vdot.tolist()
        for _, _, at, _, of_v in self._plant.arrays:
            V[at] = vdot[of_v]

    def rates(self, vdot: Array) -> Array:
        """dz/dt."""
        V = self.values
        if self._reads_vdot:
            self.accelerate(vdot)
            self._values.walk(self._behind)
        out = np.empty(self.size)
        try:
            numbers = [f(*get(V)) for f, get in self._rates]
        except SoacraftError:
            raise
        except Exception as wrong:
            raise self._values.first_broken(self._s.rates, wrong) from wrong
        total = total_of(numbers)
        if total - total != 0.0:
            self._values.blame(self._s.rates)
        out[: self._numbers] = numbers
        for place, call in zip(self._arrays, self._array_rates, strict=True):
            rate = self._values.called(call)
            self._values.require_shape(call, rate, place.shape)
            if not np.isfinite(rate).all():
                self._values.blame(self._s.rates)
            out[place.start : place.start + rate.size] = rate.ravel()
        return out

    def scale(self, z: Array) -> Array:
        """The state or its nominal size, whichever is larger."""
        return np.asarray(np.maximum(np.abs(z), self._nominal))

    # -- reactions ---------------------------------------------------------------------------------------------

    @property
    def on_nodes(self) -> tuple[str, ...]:
        """Names of the forces that are wrenches on nodes."""
        return tuple(self.names[i] for i, spread, _ in self._plant.wide if spread is not None)

    def close_by(self, ask: Callable[[float, Array, Array], Mapping[str, Array]]) -> None:
        """Ask this for the forces of closures."""
        self._s.closing.ask = ask

    @property
    def weighs(self) -> Sequence[str]:
        """Names of the bodies whose masses are given."""
        return tuple(self._s.masses)

    def masses(self) -> dict[str, float]:
        """Masses of bodies as they were placed; one that is none is a `SimulationError`."""
        masses = {body: float(self.values[slot]) for body, slot in self._s.masses.items()}
        require_masses(masses, self.values[0])
        return masses

    @property
    def feels(self) -> bool:
        """True if some output reads contacts."""
        return bool(self._s.touches)

    def feel(self, step: ContactStep | None, h: float) -> None:
        """Hold the contacts of a step."""
        for key, touch in self._s.touches.items():
            self.values[self._s.slots[key]] = touch.value(step, h)

    @property
    def breaks(self) -> Breaks:
        """Times at which components jump by themselves, between ticks."""
        slots = self._s.slots
        times = [t for key, x in self._s.breaking.items() for t in x.breaks(self.values[slots[key]])]
        if times != self._breaks[0]:
            self._breaks = times, Breaks(times, "the breaks of components", inclusive=True)
        return self._breaks[1]

    # -- ticks -------------------------------------------------------------------------------------------------

    @property
    def next_tick(self) -> int | None:
        """The nanosecond of the next tick."""
        return self.ticks.next

    def begin(self, ns: int) -> None:
        """Ticks are counted from the start of the system; those before this nanosecond are past."""
        self.ticks.begin(ns)

    def tick(self, ns: int, accelerations: Callable[[], Array]) -> None:
        """y[k] = g(x[k], u[k]) in order, then x[k+1] = f(x[k], u[k]) of all at once."""
        self.ticks.tick(ns, accelerations, self.accelerate)

    def tick_late(self, parts: Collection[str], ns: int, vdot: Array) -> None:
        """Let components that are new tick too, where their clocks ticked at this nanosecond already."""
        self.ticks.tick_late(parts, ns, vdot, self.accelerate)

    def keep(self) -> object:
        """Copy of what ticks and jumps change: all values, and the counts of clocks."""
        return self.values.copy(), self.ticks.counts.copy()

    def restore(self, kept: object) -> None:
        """Have it as it was."""
        values, counts = cast(tuple[list[Any], list[int]], kept)
        self.values[:] = values
        self.ticks.set_counts(counts)

    def _held(self) -> dict[str, int]:
        """Slots of what is kept from instant to instant: discrete states, sampled outputs, outputs of solved loops, and
        contacts."""
        s = self._s
        keys = {key for x in s.ticking for key in x.outputs} | {x.key for knot in s.knots for x in knot.tears}
        keys |= s.idle  # of components that are not active
        keys |= set(s.touches)
        return {**s.discrete, **{key: s.slots[key] for key in sorted(keys)}}

    def memory(self) -> tuple[list[int], dict[str, Any]]:
        """Counts of clocks, and held values {name: value}."""
        held = {key: self.values[slot] for key, slot in self._held().items()}
        return list(self.ticks.counts), {key: x.copy() if isinstance(x, np.ndarray) else x for key, x in held.items()}

    def recall(self, counts: Sequence[int], held: Mapping[str, Any]) -> None:
        """Go on from counts of clocks and held values."""
        for key, slot in self._held().items():
            self.values[slot] = held[key]
        self.ticks.set_counts(counts)

    # -- crossings ---------------------------------------------------------------------------------------------

    def margins(self, accelerations: Callable[[], Array]) -> Sequence[float]:
        """The functions of all crossings."""
        if self._reads_vdot:
            self.accelerate(accelerations())
            self._values.walk(self._behind)
        values = [float(self._values.called(x.call)) for x in self._s.watched]
        for x, value in zip(self._s.watched, values, strict=True):
            if not np.isfinite(value):
                raise self._values.message(x.call, f"gave {value}")
        return values

    def jump(self, names: Sequence[str], z: Array) -> Array:
        """All jumps of these crossings at once, from the values before them."""
        after, changes = z.copy(), []
        for x in self._s.watched:
            if x.call.key in names:
                for jump in x.jumps:
                    value = self._values.called(jump.call)
                    if not np.isfinite(value).all():
                        raise self._values.message(jump.call, f"gave {value!r:.60}")
                    changes.append((jump, value))
        seen: dict[int, str] = {}
        for jump, value in changes:
            if jump.call.slot in seen:
                raise SimulationError(
                    f"{jump.call.key!r} and {seen[jump.call.slot]!r} both set one state at t = {self.values[0]:.9g} s."
                )
            seen[jump.call.slot] = jump.call.key
            if jump.place is None:
                self.values[jump.call.slot] = value
            else:
                after[jump.place.start : jump.place.start + int(np.size(value))] = np.ravel(value)
        return after

    # -- signals -----------------------------------------------------------------------------------------------

    def sample(self, accelerations: Callable[[], Array]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The values of the signals that are recorded, numbers and arrays; what no rate needs is evaluated here."""
        record = self._record
        self._values.walk(record.before)
        if record.behind:
            self.accelerate(accelerations())
            self._values.walk(record.behind)
        numbers, arrays = record.numbers(self.values), record.arrays(self.values)
        total = total_of(numbers)
        for x in arrays:
            total += x.sum()
        if total - total != 0.0:
            self._values.blame()
        return numbers, arrays

    # -- messages ----------------------------------------------------------------------------------------------

    def trial(self, q: Array, v: Array) -> list[str]:
        """Evaluate all outputs once at the start; what is wrong with what they give."""
        s, faults = self._s, []
        self.set_point(self.ticks.origin / 1e9, q, v, self.present)
        for x in s.ticking:
            for slot, stream in x.streams:
                self.values[slot] = stream.at(0)
        for step in self._values.steps([x for y in s.select([*s.needs], [x.path for x in s.ticking]) for x in y]):
            try:
                self._values.walk([step])
            except SimulationError as wrong:
                if not isinstance(wrong.__cause__, KindError):
                    raise
                faults.append(str(wrong))
        jumps = [x.call for y in s.watched for x in y.jumps]
        for call in [*s.rates, *(x for y in s.ticking for x in y.updates), *jumps]:
            try:
                self._values.require_shape(call, self._values.called(call), np.shape(self.values[call.slot]))
            except SimulationError as wrong:
                faults.append(str(wrong))
        return faults
