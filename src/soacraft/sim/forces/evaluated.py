"""Evaluation of the user's functions of time and state: they give values, and change nothing meanwhile.

Steps call forces, controls and the functions of events as often as they need, at trial states, many in one compiled
call. A change that one of them made would act from some trial on, or not before the next call. What may change the
model and what acts is a callback (`p.every`) or the action of an event.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from typing import Any, NamedTuple, NoReturn

from soacraft.errors import StaleError
from soacraft.model.states.state import State
from soacraft.model.tree.frames.frame import Frame
from soacraft.model.tree.multibody import Multibody
from soacraft.spatial.wrench import Wrench


class Evaluations:
    """The evaluations of one propagator's functions, of which one may go on."""

    __slots__ = ("mb", "thread")

    def __init__(self, mb: Multibody) -> None:
        self.mb = mb
        self.thread = 0
        """The thread of the evaluation that goes on, 0 for none."""

    def require_none(self, call: str) -> None:
        """Raise `StaleError` for a call by a function that is evaluated."""
        if self.thread == get_ident():
            raise StaleError(
                f"{call} was called by a function that gives a force, the number of a control or the value of an "
                "event: such a function changes nothing. Call it in a callback, p.every(period, f), or in the action "
                "of an event."
            )


class Guard(NamedTuple):
    """The model that evaluated functions may not change, as compiled code reads it."""

    evaluations: Evaluations
    mb: Multibody
    forces: dict[Frame, Wrench]
    """Forces of `mb.set_force`: always the same dictionary."""


class Evaluated:
    """A user's function f(t, state) of what `what` names. A `StaleError` where it changed the model."""

    __slots__ = ("__wrapped__", "_evaluations", "_what")

    def __init__(self, function: Callable[[float, State], Any], what: str, evaluations: Evaluations) -> None:
        self.__wrapped__, self._what, self._evaluations = function, what, evaluations

    def __call__(self, t: float, state: State) -> Any:
        """Return what the function gives."""
        evaluations = self._evaluations
        mb, before = evaluations.mb, evaluations.thread
        forces = mb.acting_forces
        edits = mb.revision, forces and list(forces.items())
        evaluations.thread = get_ident()
        try:
            value = self.__wrapped__(t, state)
        finally:
            evaluations.thread = before
        if mb.revision != edits[0] or (forces and list(forces.items())) != edits[1]:
            self.refuse()
        return value

    @property
    def guard(self) -> Guard:
        """The model that the function may not change."""
        mb = self._evaluations.mb
        return Guard(self._evaluations, mb, mb.acting_forces)

    def refuse(self) -> NoReturn:
        """Raise `StaleError` for a call that changed the model."""
        raise StaleError(
            f"the function of {self._what} changed {self._evaluations.mb.name!r}: it gives numbers and gets the state "
            "as an argument. What changes the model is a callback: p.every(period, f)."
        )
