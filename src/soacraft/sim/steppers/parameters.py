"""Parameters that differ from state to state: names, numbers, and a copy of the problem that has those of one state.

trunk.mass, trunk.com, ...     of the model, as `sc.analysis.parameters` names them
foot/sole.friction             the coefficient of sliding of a shape, "body/shape"
servo.gain, .b0, .b1, .b2      of an actuator: its force is gain u + b0 + b1 length + b2 velocity
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy, deepcopy
from typing import Any, NamedTuple

import numpy as np

from soacraft.analysis.parametric.vocabulary import read_parameters, write
from soacraft.errors import ModelError, SoacraftError, StateError, near
from soacraft.sim.forces.drives import LAW, Control
from soacraft.sim.integrators.steps import Method
from soacraft.sim.problem.no_contact import NoContact
from soacraft.sim.problem.run_problem import RunProblem
from soacraft.sim.system import Mechanism
from soacraft.spatial.checks import Array, finite

#: Kinds of parameters that place bodies and nodes.
PLACEMENTS = ("inboard", "outboard", "axis", "pose")
#: The numbers of names: (states, numbers).
Values = dict[str, Array]


class Entry(NamedTuple):
    """Kind of a name, "model", "friction" or "law", its owner, and the count of its numbers."""

    kind: str
    owner: str
    width: int


def read_entries(problem: Mechanism, names: Sequence[Any]) -> dict[str, Entry]:
    """Entries of names in a problem; unknown ones, and numbers that are named twice, are refused."""
    entries = {name: _entry(problem, name) for name in names}
    model = [name for name, x in entries.items() if x.kind == "model"]
    if model:
        several = read_parameters("parameters of a stepper", problem.mb, model)  # together: none is named twice
        placed = [x.name for x in several if x.kind in PLACEMENTS]
        if placed and problem.is_closed:
            raise ModelError(
                f"parameter {placed[0]!r} places what closures join, so that each state would begin off its own; edit "
                "the model."
            )
    return entries


def _entry(problem: Mechanism, name: Any) -> Entry:
    if not isinstance(name, str):
        raise ModelError(f"parameters of a stepper are named, such as 'trunk.mass', got {name!r:.60}.")
    owner, _, tail = name.rpartition(".")
    if tail == "friction":
        if isinstance(problem.contact, NoContact):
            raise ModelError(f"parameter {name!r} is of a shape, and nothing touches; p.add(sc.sim.Contact()) first.")
        problem.contact.made_surfaces().with_friction({owner: 0.0})
        return Entry("friction", owner, 1)
    if tail in LAW:
        acting = [x.name for x in problem.loads if isinstance(x, Control) and x.has_law]
        if owner not in acting:
            raise ModelError(f"parameter {name!r}: no actuator {owner!r} is driven here{near(owner, acting)}")
        return Entry("law", owner, 1)
    return Entry("model", name, len(read_parameters("parameters of a stepper", problem.mb, name)))


def read_values(entries: Mapping[str, Entry], given: Any, states: int, single: bool) -> Values:
    """Arrays {name: numbers} for so many states, a row for each, or one for all; of a single state without that
    axis."""
    if not isinstance(given, Mapping) or not given:
        raise StateError(f"parameters are {{name: numbers}}, such as {{'trunk.mass': masses}}, got {given!r:.60}.")
    values: Values = {}
    for name, numbers in given.items():
        if name not in entries:
            names = ", ".join(map(repr, entries))
            raise StateError(
                f"parameter {name!r:.60} is the same for all states: name it in p.stepper(parameters=...), where "
                f"there are {names}."
            )
        count = entries[name].width
        x = finite(numbers, (...,), f"parameter {name!r}", StateError)
        one = () if count == 1 else (count,)
        if x.shape != one and (single or x.shape != (states, *one)):
            wanted = f"shape {one}" if single else f"shape {(states, *one)} for {states} states, or {one} for all"
            raise StateError(f"parameter {name!r} has {wanted}, got {x.shape}.")
        values[name] = np.array(np.broadcast_to(x.reshape(*x.shape[: x.ndim - len(one)], count), (states, count)))
    return values


class Twin:
    """A copy of a problem, which has the parameters of one state at a time."""

    def __init__(self, problem: Mechanism, method: Method, entries: Mapping[str, Entry]) -> None:
        if problem.constrained:
            raise StateError("a motion is prescribed, so that all states have the same parameters; edit the model.")
        mb, contact, closures = deepcopy((problem.mb, problem.contact, problem.closures))
        loads = [*(copy(x) for x in problem.loads), *([] if isinstance(contact, NoContact) else [contact])]
        for load in loads:
            load.bind(mb)
        self.problem = Mechanism(RunProblem.of(mb, loads, closed=closures))
        self._entries, self._method = dict(entries), method
        names = [x.owner for x in self._entries.values() if x.kind == "model"]
        self._parameters = read_parameters("parameters of a stepper", mb, names) if names else ()
        self._version = mb.version
        self.places = any(x.kind in PLACEMENTS for x in self._parameters)
        """True if they place bodies or nodes."""

    def put(self, values: Mapping[str, Array]) -> None:
        """Take numbers, {name: (numbers)}; a `ModelError` for what no body has."""
        problem, entries = self.problem, self._entries
        numbers = [values[name] for name, x in entries.items() if x.kind == "model"]
        if numbers:
            write("parameters of a stepper", self._parameters, np.concatenate(numbers))
            if problem.mb.version != self._version:
                raise ModelError(
                    f"a hinge of {problem.mb.name!r} has no armature, and its first one changes the structure; give "
                    "it some in the model, which the states may change."
                )
        sliding = {x.owner: float(values[name][0]) for name, x in entries.items() if x.kind == "friction"}
        if sliding and not isinstance(problem.contact, NoContact):
            problem.contact.set_friction(sliding)
        laws: dict[str, dict[str, float]] = {}
        for name, x in entries.items():
            if x.kind == "law":
                laws.setdefault(x.owner, {})[name.rpartition(".")[2]] = float(values[name][0])
        for load in problem.loads:
            if isinstance(load, Control) and load.name in laws:
                load.tune(laws[load.name])
                problem.replace(load, load)


class LaneParameters:
    """The numbers of all states, and the copy of the problem that has those of one of them."""

    def __init__(self, problem: Mechanism, method: Method, given: Any, states: int, single: bool) -> None:
        names = list(given) if isinstance(given, Mapping) else []
        self._entries = read_entries(problem, names)
        self.values, self._single = read_values(self._entries, given, states, single), single
        self._method = method
        self._begin(problem)
        self.places = self._twin.places
        """True if bodies or nodes are placed by them."""

    def _begin(self, problem: Mechanism) -> None:
        self._twin, self._at = Twin(problem, self._method, self._entries), -1

    def follow(self, problem: Mechanism) -> None:
        """Copy the problem again: its model was changed."""
        self._begin(problem)

    def shown(self) -> dict[str, Array]:
        """The numbers {name: array}, read-only: a row for each state, or those of a single one."""
        views = {}
        for name, x in self.values.items():
            view = x[:, 0] if self._entries[name].width == 1 else x[:]
            view = view[0:1].reshape(view.shape[1:]) if self._single else view
            view.flags.writeable = False
            views[name] = view
        return views

    def at(self, lane: int) -> Mechanism:
        """The problem with the parameters of a state."""
        if self._at != lane:
            self._put(lane, self.values)
        return self._twin.problem

    def another(self, problem: Mechanism, lane: int) -> Mechanism:
        """A copy of a problem with the parameters of a state, apart from the one that goes from state to state."""
        twin = Twin(problem, self._method, self._entries)
        twin.put({name: x[lane] for name, x in self.values.items()})
        return twin.problem

    def _put(self, lane: int, values: Values) -> None:
        self._at = -1
        try:
            self._twin.put({name: x[lane] for name, x in values.items()})
        except SoacraftError as wrong:
            whose = "" if self._single else f"state {lane}: "
            raise ModelError(f"{whose}{wrong}") from None
        self._at = lane

    def changed(self, given: Any, lanes: Sequence[int], check: Callable[[Mechanism, int], None]) -> Values:
        """The numbers of all states with others for some of them, each tried and checked; nothing is changed by it."""
        new = read_values(self._entries, given, len(lanes), self._single)
        values = {name: x.copy() for name, x in self.values.items()}
        for name, x in new.items():
            values[name][list(lanes)] = x
        try:
            for lane in lanes:
                self._put(lane, values)
                check(self._twin.problem, lane)
        finally:
            self._at = -1
        return values

    def take(self, values: Values) -> None:
        """Have these numbers from now on."""
        for name, x in values.items():
            self.values[name][:] = x
        self._at = -1
