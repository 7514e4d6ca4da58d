"""Forces on a model in addition to its own: loads, each a generalized force at (t, state), and their work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

import numpy as np

from soacraft import dynamics as dyn
from soacraft.errors import StateError
from soacraft.model.states.coordinates import in_graph_order
from soacraft.model.states.state import State
from soacraft.model.tree.multibody import Multibody
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.wrench import Wrench


class Load(Protocol):
    """A force element: an argument of `p.add` that is no plain function."""

    @property
    def name(self) -> str:
        """The name in `run.forces` and `run.work`."""

    def bind(self, mb: Multibody) -> None:
        """Look up what the element acts on; a `ModelError` for what the model does not have."""

    def force(self, t: float, state: State) -> Array:
        """The generalized force (nv)."""


def require_unused(load: Load, mb: Multibody, user: object) -> None:
    """Raise for a load that acts on another model, which would be taken from it, and for one that sticks or leans in
    another run: it has one state. `user` is any object that identifies a propagator."""
    other, before = getattr(load, "_used", (mb, user))
    if other is mb and (before is user or not getattr(load, "switches", False)):
        return
    place = "another propagator" if other is mb else f"a propagator of another model, {other.name!r}"
    raise StateError(f"the force {load.name!r} acts in {place} already; make another {type(load).__name__} for this.")


def use(load: Load, mb: Multibody, user: object) -> None:
    """Let a load know where it acts, for `require_unused`."""
    with suppress(AttributeError):  # one with __slots__ is its author's to look after
        load._used = mb, user  # type: ignore[attr-defined]


def unused(load: Load) -> None:
    """Let a load forget where it acted: the propagator there is done with."""
    getattr(load, "__dict__", {}).pop("_used", None)


def bound(loads: Sequence[Load], mb: Multibody) -> Sequence[Load]:
    """Loads that have looked up what they act on."""
    for load in loads:
        load.bind(mb)
    return loads


class Function:
    """A function f(t, state): {node: wrench}, a generalized force (nv), a pair of both, or None."""

    def __init__(self, name: str, function: Callable[[float, State], Any]) -> None:
        self.name, self._function = name, function

    def bind(self, mb: Multibody) -> None:
        """Take the model."""
        self._mb = mb

    @property
    def function(self) -> Callable[[float, State], Any]:
        """The function."""
        return self._function

    def force(self, t: float, state: State) -> Array:
        """Value of the function, as a generalized force."""
        return self.force_of(self._function(t, state), t, state)

    def force_of(self, value: Any, t: float, state: State) -> Array:
        """Return what the function gave as a generalized force."""
        wrenches, forces = _parts(value)
        total = np.zeros(self._mb.nv)
        if forces is not None:
            what = f"the force of {self.name!r} at t = {t:.9g} s"
            try:
                total += finite(in_graph_order(self._mb, forces, what), (self._mb.nv,), what, StateError)
            except StateError as wrong:
                why = str(wrong).removesuffix(".")
                raise StateError(
                    f"{why}. A force is {{node: wrench}}, an array of nv = {self._mb.nv} numbers, or a pair of both."
                ) from None
        if wrenches:
            total += dyn.compensating_force(self._mb, state.q, wrenches, ignore_loops=True)
        return total

    def wrenches(self, t: float, state: State) -> Mapping[Any, Wrench]:
        """The wrenches that the function gives; a generalized force acts through the hinges."""
        return _parts(self._function(t, state))[0] or {}

    def held(self, t: float, state: State) -> Constant:
        """Return the force that the function gives at a state, as one that stays."""
        return Constant(self.name, self.force(t, state))


def _parts(value: Any) -> tuple[Any, Any]:
    """Wrenches by node, and a generalized force, of what a function gave; None where there is none."""
    wrenches, forces = value if isinstance(value, tuple) and len(value) == 2 else (value, None)
    if not isinstance(wrenches, Mapping) and forces is None:
        return None, wrenches
    return wrenches, forces


class Constant:
    """A constant generalized force."""

    def __init__(self, name: str, force: Array) -> None:
        self.name, self._force = name, force

    def bind(self, mb: Multibody) -> None:
        """Take any model."""

    def force(self, t: float, state: State) -> Array:
        """The generalized force (nv)."""
        return self._force


class Stored:
    """The wrenches of `mb.set_force`. They act in the dynamics themselves; here only their work is counted."""

    name = "mb.set_force"

    def bind(self, mb: Multibody) -> None:
        """Take the model."""
        self._mb = mb

    def force(self, t: float, state: State) -> Array:
        """Generalized force of the wrenches."""
        forces = self._mb.acting_forces
        if not forces:
            return np.zeros(self._mb.nv)
        return dyn.compensating_force(self._mb, state.q, dict(forces), ignore_loops=True)


class Passive:
    """Springs, dampers and gravity compensation of the model. They act in the dynamics; here their work is counted."""

    name = "passive"

    def bind(self, mb: Multibody) -> None:
        """Take the model."""
        self._mb = mb

    def force(self, t: float, state: State) -> Array:
        """`dynamics.passive_force`."""
        return dyn.passive_force(self._mb, state.q, state.v, ignore_loops=True)
