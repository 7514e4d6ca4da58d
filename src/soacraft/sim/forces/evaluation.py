"""Evaluation of the user's functions and of force elements for compiled steps, which read their numbers from arrays.

Compiled code makes a `State`, makes the calls of `stage` or `step` with it, and reads the numbers of controls and the
rows of `forces`. Functions of (t, state) act at every stage of a smooth method; a method that
steps contacts calls them once a step, at its start, and holds what they gave (`Mechanism.hold_functions`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from soacraft.model.states.row import RowStates
from soacraft.model.states.state import State
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.forces.drives import Control, Together, part_of
from soacraft.sim.forces.loads import Function, Load
from soacraft.sim.forces.push import Push
from soacraft.sim.forces.user_calls import Integers, UserCall, user_call
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.sim.system import Mechanism


class Evaluation(NamedTuple):
    """Arrays and calls that compiled steps share with functions of time and state."""

    states: RowStates
    """The states that functions get,"""
    still: Array
    """with these accelerations, (nv)."""
    forces: Array
    """(rows, nv): generalized forces."""
    rows: Integers
    """(loads): the row of each load, -1 of a control."""
    stage: tuple[UserCall, ...]
    """Calls at every evaluation of the forces,"""
    step: tuple[UserCall, ...]
    """and calls at the start of each step."""
    failed: Integers
    """(1): 1 where one of them raised in the last run of compiled steps, else 0."""


def is_function(load: Load) -> bool:
    """True for a load that the user wrote as a function of time and state."""
    return isinstance(load, Function) or (isinstance(load, Control) and load.samples is None)


def evaluation_of(problem: Mechanism, loads: Sequence[Load], places: Sequence[int], values: Array) -> Evaluation | None:
    """The evaluation of the loads of a problem that compiled code does not know; None where there is none. Pushes are
    known to it, and so are rigid stops and friction that sticks. The number of control i is at `places[i]` of
    `values`."""
    mb, once = problem.mb, problem.contact.touches
    rows = np.full(len(loads), -1, dtype=np.int64)
    built_in = [isinstance(x, Control | Push) or getattr(x, "switches", False) for x in loads]
    forced = [i for i, x in enumerate(built_in) if not x]
    rows[forced] = np.arange(len(forced))
    forces = np.zeros((len(forced), mb.nv))
    calls: dict[bool, list[UserCall]] = {True: [], False: []}
    for i, load in enumerate(loads):
        if not built_in[i]:
            calls[once and is_function(load)].append(_of_force(load, forces[rows[i]], mb.layout.v_order))
    driven = [(x, places[i]) for i, x in enumerate(loads) if isinstance(x, Control) and x.samples is None]
    calls[once] += _of_controls(driven, values)
    if not (calls[True] or calls[False]):
        return None
    stage, step = (tuple(calls[x]) for x in (False, True))
    return Evaluation(RowStates(mb), np.array(mb.vdot), forces, rows, stage, step, np.zeros(1, dtype=np.int64))


def _of_force(load: Load, row: Array, order: object) -> UserCall:
    def read(t: float, state: State, value: Any) -> None:
        row[:] = load.force_of(value, t, state) if isinstance(load, Function) else value

    return user_call(load.function if isinstance(load, Function) else load.force, row, None, read, order)


def _of_controls(driven: Sequence[tuple[Control, int]], values: Array) -> list[UserCall]:
    """Calls that write the numbers of controls; a function of several controls is called once for all of them."""
    groups: dict[int, tuple[Together, dict[str, int]]] = {}
    calls: list[UserCall] = []
    for control, place in driven:
        if control.together is None:
            calls.append(_of_control(control, values, place))
            continue
        groups.setdefault(id(control.together), (control.together, {}))[1][control.name] = place
    return calls + [_of_together(together, values, at) for together, at in groups.values()]


def _of_control(control: Control, values: Array, place: int) -> UserCall:
    def read(t: float, state: State, value: Any) -> None:
        values[place] = control.read(t, value)

    return user_call(control.function, values, np.array([place]), read)


def _of_together(together: Together, values: Array, places: Mapping[str, int]) -> UserCall:
    """Return the call of a function of several controls, whose numbers go to the places of those that it still has."""
    names = [name for name in together.names if name in places]
    at = np.array([places[name] for name in names], dtype=np.int64)

    def read(t: float, state: State, value: Any) -> None:
        numbers = together.read(t, value)
        values[at] = [part_of(numbers, name, t) for name in names]

    call = user_call(together.function, values, at, read)
    if len(names) == len(together.names):
        return call
    function = call.function  # its numbers are more than the places: all go through `read`

    def wrapped(t: float, state: State) -> tuple[Any]:
        return (function(t, state),)

    return call._replace(function=wrapped, read=lambda t, state, value: read(t, state, value[0]))


class States:
    """States of a model at points: each a new value, as a function may keep it."""

    def __init__(self, mb: Multibody) -> None:
        self._mb = mb
        self._made: tuple[RowStates, Array] | None = None

    def of(self, q: Array, v: Array, vdot: Array | None = None) -> State:
        """The state of numbers that are good; without vdot with the accelerations that the model has."""
        if self._made is None:
            self._made = RowStates(self._mb), np.array(self._mb.vdot)
        states, still = self._made
        return states(np.concatenate([q, v, still if vdot is None else vdot]))
