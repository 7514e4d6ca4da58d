"""Calls of functions f(t, state) by compiled steps, which write the numbers that they give into arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft.model.states.state import State
from soacraft.sim.forces.evaluated import Evaluated, Guard
from soacraft.spatial.checks import Array

Integers = npt.NDArray[np.int64]


class UserCall(NamedTuple):
    """A call whose numbers go to `places` of an array, or to all of it where that is None.

    Compiled code takes plain finite numbers itself: an array of the right length, or a float for one place. It hands
    all others to `read`, which writes them or raises. Where the function changed the model, `refuse` is called.
    """

    function: Callable[[float, State], Any]
    to: Array
    places: Integers | None
    read: Callable[[float, State, Any], None]
    refuse: Callable[[], None]
    guard: Guard | None
    """The model that the function may not change; None for calls that are not of the user."""
    order: object
    """The order that an array which knows its order must have, None for any."""


def user_call(
    function: Callable[[float, State], Any],
    to: Array,
    places: Integers | None,
    read: Callable[[float, State, Any], None],
    order: object = None,
    refuse: Callable[[], None] | None = None,
) -> UserCall:
    """Return the call of a function. A user's function that gives a value is guarded; `refuse` says so in other words
    than its own."""
    if isinstance(function, Evaluated):
        refused = function.refuse if refuse is None else refuse
        return UserCall(function.__wrapped__, to, places, read, refused, function.guard, order)
    return UserCall(function, to, places, read, _refuse_nothing if refuse is None else refuse, None, order)


def _refuse_nothing() -> None:
    raise AssertionError("a call without a guard changes nothing that is looked at")
