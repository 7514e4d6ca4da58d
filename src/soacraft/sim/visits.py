"""Visits: calls of the user's functions between compiled steps, at multiples of their periods.

`p.every(period, f)` gives f the model at the present state, and f may change it: where it changed more than numbers of
controls, the compiled steps end there and the run goes on from what it made. `p.control(f, every=period)` asks f for
numbers that are held for a period; f may not change the model, which has the present state there, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, NoReturn

import numpy as np

from soacraft.errors import StateError
from soacraft.model.flat.plans import Store
from soacraft.model.states.row import RowStates
from soacraft.model.states.state import State
from soacraft.model.tree.multibody import Multibody
from soacraft.model.tree.subscriptions import announce_state, is_observed
from soacraft.sim.forces.drives import Control, Together
from soacraft.sim.forces.user_calls import Integers, UserCall, user_call
from soacraft.spatial.checks import Array

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
        """Return the numbers {control: number} of a state. A `StateError` where the function changed the model."""
        before = self._mb.current
        numbers = self._together.numbers(t, state)
        self._require_unchanged(before)
        return numbers

    def call(self, values: Array, places: Mapping[str, int]) -> UserCall:
        """Return the call that writes numbers into `values`, each to its place."""

        def read(t: float, state: State, value: Any) -> None:
            for name, u in self._together.read(t, value).items():
                values[places[name]] = u

        at = np.array([places[name] for name in self.names], dtype=np.int64)
        return user_call(self._together.function, values, at, read, refuse=self._refuse)

    def _require_unchanged(self, before: State) -> None:
        if self._mb.current is not before:
            self._refuse()

    def _refuse(self) -> NoReturn:
        raise StateError(
            f"the function of p.control(f, every=) changed {self._mb.name!r}: it gives numbers of controls and has "
            "the state as an argument. What changes the model is a callback: p.every(period, f)."
        )


class Visits(NamedTuple):
    """Arrays and calls of visits, which compiled steps make and write."""

    due: Integers
    """(calls): the nanosecond of the next call of each,"""
    periods: Integers
    """and its period."""
    calls: tuple[UserCall | Callable[[float, State], bool], ...]
    """The calls: of held numbers, or of a callback, which gives True where it changed the model, so that steps end."""
    states: RowStates
    store: Store
    """The present state of the model, which is moved to each visit."""
    now: Integers
    """(1): the nanosecond of the visit, written before its calls."""
    announce: Callable[[], None] | None
    """Called before the calls of each visit, for those who look at the state of the model; None without any."""
    values: Array
    """The numbers of controls, each at its place."""
    places: Integers
    """The places of those that may change."""
    since: Integers
    """(rows): nanoseconds from which they may have had other values,"""
    history: Array
    """and these values, (rows, places)."""
    outcome: Integers
    """(2): how many rows are written; and 1 where a call raised."""
    energies: int
    """1 if rows need their energies before a visit may change the model, else 0."""


class VisitPlan:
    """The callbacks of a run as visits: `callbacks` is the list of the run, whose times of next calls go on.

    `changes` gives an account of all that compiled steps were made with but the numbers of controls. With `held_alone`
    visits are those of held numbers, and the run stops at other callbacks (`stops`), as where rows go to a log.
    `now` (1) has the nanosecond of each visit while its callbacks are called.
    """

    def __init__(
        self,
        callbacks: list[Callback],
        mb: Multibody,
        changes: Callable[[], Any],
        now: Integers,
        held_alone: bool,
    ) -> None:
        self._callbacks, self._mb, self._changes, self._at = callbacks, mb, changes, now
        self._visited = [i for i, x in enumerate(callbacks) if not held_alone or isinstance(x[2], HeldNumbers)]
        self._holds = any(isinstance(callbacks[i][2], HeldNumbers) for i in self._visited)
        self._now: Visits | None = None
        self._numbers = list[tuple[int, Control]]()
        self._in_controls: list[float] = []
        self._account: Any = None
        self.before: State | None = None
        """The state of the model before a callback that changed it, so that the steps ended; None where none did."""

    @property
    def stops(self) -> list[int]:
        """The nanoseconds of the callbacks that are no visits."""
        return [x[0] for i, x in enumerate(self._callbacks) if i not in self._visited]

    @property
    def raised(self) -> bool:
        """True if a callback raised the error that ended the steps."""
        return self._now is not None and bool(self._now.outcome[1])

    @property
    def needs_energies(self) -> bool:
        """True if a visit may change the model: the energies of rows are those before."""
        return not all(isinstance(self._callbacks[i][2], HeldNumbers) for i in self._visited)

    def begin(self, values: Array, numbers: Sequence[tuple[int, Control]], steps: int) -> Visits:
        """Return what compiled steps read, at most so many. `values` has the numbers of controls, each at its place."""
        chosen = [self._callbacks[i] for i in self._visited]
        places = {control.name: at for at, control in numbers}
        self._numbers = list(numbers)
        self._in_controls = [control.number for _, control in numbers]
        self._account = self._changes() if self.needs_energies else None
        calls = (x.call(values, places) if isinstance(x, HeldNumbers) else self._call(x) for _, _, x in chosen)
        self._now = Visits(
            np.array([due for due, _, _ in chosen], dtype=np.int64),
            np.array([period for _, period, _ in chosen], dtype=np.int64),
            tuple(calls),
            RowStates(self._mb),
            self._mb.store,
            self._at,
            partial(announce_state, self._mb) if self.needs_energies or is_observed(self._mb) else None,
            values,
            np.array([at for at, _ in numbers], dtype=np.int64),
            np.zeros(steps + 2, dtype=np.int64),
            np.empty((steps + 2, len(numbers))),
            np.zeros(2, dtype=np.int64),
            int(self.needs_energies),
        )
        return self._now

    def end(self) -> None:
        """Give the callbacks the times of their next calls, and the controls their numbers."""
        assert self._now is not None
        for i, due in zip(self._visited, self._now.due.tolist(), strict=True):
            self._callbacks[i] = (due, *self._callbacks[i][1:])
        self._set_controls(self._now)

    @property
    def history(self) -> tuple[Integers, Array]:
        """Nanoseconds from which controls may have had other numbers, and these numbers, in the order of the loads."""
        assert self._now is not None
        rows = int(self._now.outcome[0])
        rows = 0 if rows < 2 else rows
        return self._now.since[:rows].copy(), self._now.history[:rows].copy()

    def _set_controls(self, visits: Visits) -> None:
        """Give the controls the numbers that they have in the compiled steps."""
        numbers = visits.values[visits.places].tolist()
        if numbers != self._in_controls:
            for (_, control), u, before in zip(self._numbers, numbers, self._in_controls, strict=True):
                if u != before:
                    control.set(u)
            self._in_controls = numbers

    def _call(self, callback: Callable[[float, State], Any]) -> Callable[[float, State], bool]:
        """The call of a function with the model at the present state; it gives True where the function changed more
        than numbers of controls."""
        mb = self._mb

        def changes_model(t: float, before: State) -> bool:
            visits = self._now
            assert visits is not None
            if self._holds:  # else controls have them
                self._set_controls(visits)
            stamp, last_set = visits.store.stamp, Control.last_set
            callback(t, before)
            if Control.last_set != last_set:
                numbers = [control.number for _, control in self._numbers]
                visits.values[visits.places] = self._in_controls = numbers
            if visits.store.stamp != stamp or not visits.store.ready:
                now = mb.current
                if not (np.array_equal(now.q, before.q) and np.array_equal(now.v, before.v)):
                    self.before = before
            if self._account != self._changes():
                self.before = before
            return self.before is not None

        return changes_model
