"""Visits: calls of the user's functions between compiled steps, at multiples of their periods.

`p.every(period, f)` gives f the model at the present state, and f may change it: where it changed more than numbers of
controls, the compiled steps end there and the run goes on from what it made. `p.control(f, every=period)` asks f for
numbers that are held for a period; f may not change the model, which has the present state there, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from soacraft.errors import StateError
from soacraft.model.states.state import State
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.forces.drives import Control, Together
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.sim.system import Mechanism

#: A time after all others, in nanoseconds.
NEVER = 2**62
Callback = tuple[int, int, Callable[[float, State], Any]]
"""The time of the next call, the period, both in nanoseconds, and the function."""


class HeldNumbers:
    """The callback of `p.control(f, every=)`: numbers of controls that stay until its next call."""

    def __init__(
        self, together: Together, names: Sequence[str], mb: Multibody, assign: Callable[[Mapping[str, float]], None]
    ) -> None:
        self.names = tuple(names)
        self._together, self._mb, self._assign = together, mb, assign

    def __call__(self, t: float, state: State) -> None:
        """Give the controls the numbers of a state."""
        self._assign(self.numbers(t, state))

    def numbers(self, t: float, state: State) -> Mapping[str, float]:
        """Return the numbers of a state by name. A `StateError` where the function changed the model."""
        before = self._mb.current
        numbers = self._together.numbers(t, state)
        self._require_unchanged(before)
        return numbers

    def write(self, t: float, state: State, values: Array, places: Mapping[str, int], of_all: Any) -> None:
        """Write the numbers of the model's present state into `values`, each to its place."""
        numbers = self._together.held_numbers(t, state)
        self._require_unchanged(state)
        if isinstance(numbers, np.ndarray):
            values[of_all] = numbers
        else:
            for name, u in numbers.items():
                values[places[name]] = u

    def _require_unchanged(self, before: State) -> None:
        if self._mb.current is not before:
            raise StateError(
                f"the function of p.control(f, every=) changed {self._mb.name!r}: it gives numbers of controls and has "
                "the state as an argument. What changes the model is a callback: p.every(period, f)."
            )


class Visits(NamedTuple):
    """Arrays and the call that compiled steps make between them."""

    next: int
    """The nanosecond of the next visit."""
    x: Array
    """The point there,"""
    w: Array
    """and its rates."""
    energies: int
    """1 if rows need their energies before a visit may change the model, else 0."""
    call: Callable[[int], int]
    """The visit at a nanosecond: that of the next one, or the same where the steps end."""


class VisitPlan:
    """The callbacks of a run as visits: `callbacks` is the list of the run, whose times of next calls go on.

    `changes` gives an account of all that compiled steps were made with but the numbers of controls. With `held_alone`
    visits are those of held numbers, and the run stops at other callbacks (`stops`), as where rows go to a log.
    `arrive` is called with the nanosecond of each visit, before its callbacks.
    """

    def __init__(
        self,
        callbacks: list[Callback],
        problem: Mechanism,
        widths: tuple[int, int],
        changes: Callable[[], Any],
        arrive: Callable[[int], None],
        held_alone: bool,
    ) -> None:
        self._callbacks, self._problem, self._changes, self._arrive = callbacks, problem, changes, arrive
        self._visited = [not held_alone or isinstance(x, HeldNumbers) for _, _, x in callbacks]
        self._x, self._w = (np.zeros(n) for n in widths)
        self._values, self._numbers = np.zeros(0), list[tuple[int, Control]]()
        self._places: dict[str, int] = {}
        self._all_places = np.zeros(0, dtype=np.intp)
        self._at: dict[int, Any] = {}
        self.before: State | None = None
        """The state of the model before a callback that changed it, so that the steps ended; None where none did."""
        self.raised: BaseException | None = None
        """The error of a callback."""
        self._since: list[int] = []
        self._history: list[Array] = []

    @property
    def next(self) -> int:
        """The nanosecond of the next visit."""
        return min((x[0] for x, visited in zip(self._callbacks, self._visited, strict=True) if visited), default=NEVER)

    @property
    def stops(self) -> list[int]:
        """The nanoseconds of the callbacks that are no visits."""
        return [x[0] for x, visited in zip(self._callbacks, self._visited, strict=True) if not visited]

    def begin(self, values: Array, numbers: Sequence[tuple[int, Control]]) -> Visits:
        """Return what compiled steps read. `values` has the numbers of controls, each at its place."""
        self._values, self._numbers = values, list(numbers)
        self._places = {control.name: at for at, control in numbers}
        self._all_places = np.array([at for at, _ in numbers], dtype=np.intp)
        self._since, self._history = [0], [values[self._all_places]]
        for i, (_, _, callback) in enumerate(self._callbacks):
            if isinstance(callback, HeldNumbers):
                self._at[i] = np.array([self._places[name] for name in callback.names], dtype=np.intp)
        return Visits(self.next, self._x, self._w, int(self.needs_energies), self._call)

    @property
    def needs_energies(self) -> bool:
        """True if a visit may change the model: the energies of rows are those before."""
        return any(
            visited and not isinstance(callback, HeldNumbers)
            for (_, _, callback), visited in zip(self._callbacks, self._visited, strict=True)
        )

    def end(self) -> None:
        """Give the controls the numbers that they have in the compiled steps."""
        for at, control in self._numbers:
            u = float(self._values[at])
            if control.number != u:
                control.set(u)

    def _call(self, ns: int) -> int:
        asked_users = False  # a callback may change what functions read
        try:
            self._arrive(ns)
            nearest, state = NEVER, self._state()
            for i, (due, period, callback) in enumerate(self._callbacks):
                if not self._visited[i]:
                    continue
                if due > ns:
                    nearest = min(nearest, due)
                    continue
                nearest = min(nearest, due + period)
                self._callbacks[i] = (due + period, period, callback)
                asked_users = asked_users or not isinstance(callback, HeldNumbers)
                if isinstance(callback, HeldNumbers):
                    callback.write(ns / 1e9, state, self._values, self._places, self._at[i])
                elif self._changes_model(ns / 1e9, state, callback):
                    return ns
                else:
                    state = self._state()  # it may have set the same numbers again
        except BaseException as wrong:
            self.raised = wrong
            raise
        numbers = self._values[self._all_places]
        if asked_users or numbers.tobytes() != self._history[-1].tobytes():
            self._since.append(ns)
            self._history.append(numbers)
        return nearest

    @property
    def history(self) -> tuple[tuple[int, ...], tuple[tuple[float, ...], ...]]:
        """Nanoseconds from which controls may have had other numbers, and these numbers, in the order of the loads."""
        if len(self._since) < 2:
            return (), ()
        return tuple(self._since), tuple(tuple(x.tolist()) for x in self._history)

    def _state(self) -> State:
        """Move the model to the point of the visit."""
        problem, mb = self._problem, self._problem.mb
        q, v, _ = problem.parts(self._x)
        mb.set_state(q, v, problem.vdot_of(self._x, self._w))
        return mb.current

    def _changes_model(self, t: float, before: State, callback: Callable[[float, State], Any]) -> bool:
        """Call a function with the model at the present state; whether it changed more than numbers of controls."""
        mb = self._problem.mb
        self.end()
        changes = self._changes()
        callback(t, before)
        for at, control in self._numbers:
            self._values[at] = control.number
        now = mb.current
        moved = now is not before and not (np.array_equal(now.q, before.q) and np.array_equal(now.v, before.v))
        if moved or changes != self._changes():
            self.before = before
        return self.before is not None
