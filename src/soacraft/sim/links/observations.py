"""Observations of a stepper, by the names that ports of plants have: "q", "v[elbow]", "position[hand]",
"contact_force[foot]", "sensors.gyro"; or functions of the stepper.

All read one state or a batch: of a batch they have a leading axis.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from soacraft.errors import ModelError, WiringError, near
from soacraft.model.states.state import State
from soacraft.model.tree.multibody import Multibody
from soacraft.model.tree.parts.closures import coordinate_names
from soacraft.sim.forces.contact_steps import is_of, require_names
from soacraft.sim.sensor_values import Measured, measured, value_of
from soacraft.sim.steppers.stepper import Stepper
from soacraft.sim.systems.frames import of_frame
from soacraft.spatial.checks import Array

_PORT = re.compile(r"(\w+)(?:\[(.+)\])?")
_OF_FRAME = ("position", "rotation", "velocity", "angular_velocity")
_OF_CONTACT = ("contact_force", "touching")
_KNOWN = ("t", "q", "v", "u", "sensors.", *(f"{x}[" for x in ("q", "v", *_OF_FRAME, *_OF_CONTACT)))


class View:
    """A stepper with its state, which is made once for all observations; `t` is the time of each episode."""

    def __init__(self, step: Stepper, t: Any) -> None:
        self.step, self.t = step, t

    @cached_property
    def state(self) -> State:
        """The present state, or the batch of them."""
        return self.step.mb.state(np.array(self.step.q), np.array(self.step.v))


class Observation(NamedTuple):
    """A named observation. `obstacle` says why batches do not have it; empty where they do."""

    name: str
    read: Callable[[View], Any]
    obstacle: str = ""


def observations(step: Stepper, observe: Sequence[Any]) -> list[Observation]:
    """The observations of a list of names and functions; `WiringError` for what is none."""
    if isinstance(observe, str) or not isinstance(observe, Sequence):
        raise WiringError(f"observe is a list of names and functions, such as ['q', 'v']; got {observe!r:.60}.")
    listed: list[Observation] = []
    for i, x in enumerate(observe):
        one = _function(x, i, {y.name for y in listed}) if callable(x) else _named(step, x)
        if one.name in (y.name for y in listed):
            raise WiringError(f"observe has {one.name!r} twice.")
        listed.append(one)
    return listed


def _function(function: Callable[[Stepper], Any], i: int, taken: set[str]) -> Observation:
    """A function of the stepper, under its own name or that of its place in the list."""
    name = str(getattr(function, "__name__", "<>"))
    name = name if name.isidentifier() and name not in taken else f"observe[{i}]"
    return Observation(name, lambda view: function(view.step))


def _named(step: Stepper, name: Any) -> Observation:
    """An observation by its name."""
    mb = step.mb
    if name == "t":
        return Observation(name, lambda view: view.t)
    if name == "u":
        return Observation(name, lambda view: np.array(view.step.u))
    if isinstance(name, str) and name.startswith("sensors."):
        return _sensor(mb, name)
    match = _PORT.fullmatch(name) if isinstance(name, str) else None
    port, at = match.groups() if match else ("", None)
    if port in ("q", "v"):
        return _coordinates(mb, name, port, at)
    if port in _OF_FRAME and at is not None:
        try:
            value = of_frame(mb, port, mb.frame(at))
        except ModelError as wrong:
            raise WiringError(f"observe={name!r:.60}: {wrong}") from None
        return Observation(name, lambda view: value(view.state))
    if port in _OF_CONTACT and at is not None:
        return _contact(step, name, port, at)
    raise WiringError(f"observe={name!r:.60} is nothing that a stepper has{near(str(name), _KNOWN, 'it has')}")


def _coordinates(mb: Multibody, name: str, port: str, at: str | None) -> Observation:
    """All coordinates or velocities, or those of one dof."""
    if at is None:
        return Observation(name, lambda view: np.array(view.step.q if port == "q" else view.step.v))
    places = coordinate_names(mb) if port == "q" else {x: i for i, x in enumerate(mb.dof_names)}
    if at not in places:
        what = "coordinate" if port == "q" else "dof"
        raise WiringError(f"observe={name!r:.60}: {mb.name!r} has no {what} {at!r:.60}{near(at, places)}")
    place = places[at]
    if port == "q":
        return Observation(name, lambda view: np.array(view.step.q[..., place]))
    return Observation(name, lambda view: np.array(view.step.v[..., place]))


def _contact(step: Stepper, name: str, port: str, at: str) -> Observation:
    """The mean force of contact in the last step on a body or a shape, in inertial axes; or 1.0 if it was pressed."""
    try:
        require_names(step.shapes, at)
    except ModelError as wrong:
        cure = "" if step.shapes else " Nothing touches here: add a sim.Contact, or read the scene by from_file."
        raise WiringError(f"observe={name!r:.60}: {wrong}{cure}") from None

    def force(view: View) -> Array:
        touches, total = view.step.contacts, np.zeros(3)
        for (a, b), f in zip(touches.pairs, touches.forces, strict=True):
            total += f if is_of(b, at) else -f if is_of(a, at) else 0.0
        return total

    def touching(view: View) -> float:
        touches = view.step.contacts
        pairs = zip(touches.pairs, touches.forces, strict=True)
        return float(any(f.any() and (is_of(a, at) or is_of(b, at)) for (a, b), f in pairs))

    read = force if port == "contact_force" else touching
    return Observation(name, read, f"{name!r} is of contacts, which batches do not keep")


def _sensor(mb: Multibody, name: str) -> Observation:
    """A sensor of the model's file."""
    key = name.partition(".")[2]
    records = {x.name: x for x in mb.records if x.kind == "sensor" and x.name}
    if key not in records:
        raise WiringError(f"observe={name!r:.60}: {mb.name!r} has no sensor {key!r:.60}{near(key, records)}")
    what = measured(mb, records[key])
    if not isinstance(what, Measured):
        raise WiringError(f"observe={name!r:.60}: {what}.")
    if what.port.endswith("acceleration"):
        return Observation(
            name, lambda view: view.step.sensors[key], f"{name!r} is an acceleration, which batches lack"
        )
    return Observation(name, lambda view: value_of(mb, what, view.state))
