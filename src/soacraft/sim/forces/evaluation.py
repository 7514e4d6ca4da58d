"""Evaluation of the user's functions and of force elements for compiled steps, which read their numbers from arrays.

Compiled code writes t, q and v into `point`, calls `stage` or `step`, and reads the numbers of controls and the rows of
`forces`. Both share one `State` a call. Functions of (t, state) act at every stage of a smooth method; a method that
steps contacts calls them once a step, at its start, and holds what they gave (`Mechanism.hold_functions`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft.model.states.state import State
from soacraft.sim.clock import without_rounding
from soacraft.sim.forces.drives import Control, Together
from soacraft.sim.forces.loads import Function, Load
from soacraft.sim.forces.push import Push
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.sim.system import Mechanism


class Evaluation(NamedTuple):
    """Arrays and calls that compiled steps share with functions of time and state."""

    point: Array
    """(1 + nq + nv): t, q and v of a call."""
    forces: Array
    """(rows, nv): generalized forces."""
    rows: npt.NDArray[np.int64]
    """(loads): the row of each load, -1 of a control."""
    stage: Callable[[], None] | None
    """The call at every evaluation of the forces,"""
    step: Callable[[], None] | None
    """and the call at the start of each step."""
    raised: list[BaseException]
    """What such a call raised last."""


def is_function(load: Load) -> bool:
    """True for a load that the user wrote as a function of time and state."""
    return isinstance(load, Function) or (isinstance(load, Control) and load.samples is None)


def evaluation_of(problem: Mechanism, loads: Sequence[Load], places: Sequence[int], values: Array) -> Evaluation | None:
    """The evaluation of the loads of a problem that compiled code does not know; None where there is none. Pushes are
    known to it, and so are rigid stops and friction that sticks. The number of control i is at `places[i]` of
    `values`."""
    rows = np.full(len(loads), -1, dtype=np.int64)
    built_in = [isinstance(x, Control | Push) or getattr(x, "switches", False) for x in loads]
    forced = [i for i, x in enumerate(built_in) if not x]
    rows[forced] = np.arange(len(forced))
    forces = np.zeros((len(forced), problem.mb.nv))
    point = np.zeros(1 + problem.mb.nq + problem.mb.nv)
    once = problem.contact is not None
    calls: dict[bool, list[Callable[[float, State], None]]] = {True: [], False: []}
    for i, load in enumerate(loads):
        if not built_in[i]:
            calls[once and is_function(load)].append(_into_row(load, forces, int(rows[i])))
    driven = [(x, places[i]) for i, x in enumerate(loads) if isinstance(x, Control) and x.samples is None]
    calls[once] += _into_values(driven, values)
    if not (calls[True] or calls[False]):
        return None
    raised: list[BaseException] = []
    stage, step = (_caller(problem, point, calls[x], x, raised) if calls[x] else None for x in (False, True))
    return Evaluation(point, forces, rows, stage, step, raised)


def _into_row(load: Load, forces: Array, row: int) -> Callable[[float, State], None]:
    def put(t: float, state: State) -> None:
        forces[row] = load.force(t, state)

    return put


def _into_values(driven: Sequence[tuple[Control, int]], values: Array) -> list[Callable[[float, State], None]]:
    """Calls that write the numbers of controls; a function of several controls is called once for all of them."""
    groups: dict[int, tuple[Together, list[int]]] = {}
    calls: list[Callable[[float, State], None]] = []
    for control, place in driven:
        if control.together is None:
            calls.append(_into_value(control, values, place))
            continue
        groups.setdefault(id(control.together), (control.together, []))[1].append(place)
    return calls + [_into_places(together, values, at) for together, at in groups.values()]


def _into_value(control: Control, values: Array, place: int) -> Callable[[float, State], None]:
    def put(t: float, state: State) -> None:
        values[place] = control.u(t, state)

    return put


def _into_places(together: Together, values: Array, places: list[int]) -> Callable[[float, State], None]:
    at = np.array(places, dtype=np.intp)

    def put(t: float, state: State) -> None:
        values[at] = together.all_numbers(t, state)

    return put


def _caller(
    problem: Mechanism,
    point: Array,
    calls: Sequence[Callable[[float, State], None]],
    at_ends: bool,
    raised: list[BaseException],
) -> Callable[[], None]:
    """The call of functions; `at_ends` of steps, where t0 + h of one step is the t0 of the next but for rounding."""
    states = States(problem.mb)

    def call() -> None:
        t = without_rounding(float(point[0])) if at_ends else float(point[0])
        state = states.at(point)
        try:
            for each in calls:
                each(t, state)
        except BaseException as wrong:
            raised[:] = [wrong]
            raise

    return call


class States:
    """States of a model at points that compiled code writes: each a new value, as a function may keep it."""

    def __init__(self, mb: Any) -> None:
        self._mb, self._nq = mb, mb.nq
        self._base: tuple[State, Array] | None = None

    def at(self, point: Array, vdot: Array | None = None) -> State:
        """The state of t, q and v."""
        end = 1 + self._nq
        return self.of(point[1:end], point[end:], vdot)

    def of(self, q: Array, v: Array, vdot: Array | None = None) -> State:
        """The state of numbers that are good; without vdot with the accelerations that the model has."""
        mb = self._mb
        if self._base is None or mb.acting_forces:  # these may be others now
            state = mb.state(q, v)
            self._base = state, np.array(state.vdot)
        state, still = self._base
        return state.at_numbers(q.copy(), v.copy(), (still if vdot is None else vdot).copy())
