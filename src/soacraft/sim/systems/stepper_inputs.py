"""A system as a `Stepper`: one plant, and forces at its dofs whose inputs nothing fills.

These are the systems whose components a stepper knows as controls: a `Force` at a dof, and a `Drive` that has the law
of an actuator of the model, as `sim.from_model` makes it. Other components act within runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from soacraft.errors import ModelError, WiringError, near
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.forces.contact import Contact
from soacraft.sim.forces.drives import Law
from soacraft.sim.library.actuators import Force
from soacraft.sim.library.drives import Drive
from soacraft.sim.propagator import Propagator
from soacraft.sim.systems.diagram import Diagram
from soacraft.sim.systems.plants.plant import Plant
from soacraft.sim.systems.wiring import Part

#: The input of each kind of component that a control fills.
_INPUTS: dict[type, str] = {Force: "command", Drive: "control"}
#: Limits of a `Drive` that stand for none.
_FAR = 1e300


class Contents(NamedTuple):
    """The description of a system and what moves it, as `System.driven` hands it over."""

    name: str
    diagram: Diagram
    t: float
    how: Mapping[str, Any]
    """Integrator, tolerance and lengths of steps."""


class Inputs(NamedTuple):
    """The inputs of a system that a stepper drives, and the control of its plant that each of them is."""

    plant: Plant
    controls: dict[str, str]


class NotStepped(WiringError):
    """A system that no stepper knows, with the `reason`."""

    def __init__(self, system: str, reason: str) -> None:
        super().__init__(
            f"the system {system!r} has no stepper: {reason}. Use s.run(t), or p.stepper() of a propagator."
        )
        self.reason = reason


def inputs_of(system: Contents) -> Inputs:
    """The inputs of a system that nothing fills, in the order in which their components were added; raises
    `NotStepped`."""
    if why := _obstacle_to(system):
        raise NotStepped(system.name, why)
    (plant,) = system.diagram.plants.values()
    controls: dict[str, str] = {}
    for path, part in system.diagram.parts.items():
        if why := _obstacle(part, plant):
            raise NotStepped(system.name, f"{path!r} {why}")
        controls[f"{path}.{_INPUTS[type(part.component)]}"] = _control(part, plant.mb)
    mounts = {_wire(x, plant) for x in system.diagram.parts.values()}
    for wire in system.diagram.wires:
        if (wire.source, wire.target) not in mounts:
            raise NotStepped(system.name, f"the connection of {wire.source!r} with {wire.target!r} acts within runs")
    names = list(controls.values())
    twice = next((x for i, x in enumerate(names) if x in names[:i]), "")
    if twice:
        first, second = [key for key, x in controls.items() if x == twice][:2]
        raise NotStepped(system.name, f"{first!r} and {second!r} push the same dof, {twice!r}")
    return Inputs(plant, controls)


def _obstacle_to(system: Contents) -> str:
    """Reason why a system as a whole is not stepped; empty if it can be."""
    if len(system.diagram.plants) != 1:
        return f"it has {len(system.diagram.plants)} plants, and a stepper moves one"
    diagram = system.diagram
    others = {"sequence": diagram.sequences, "frame": diagram.frames, "held input": diagram.holds}
    for kind, parts in others.items():
        if parts:
            return f"the {kind} {next(iter(parts))!r} acts within runs"
    (plant,) = system.diagram.plants.values()
    sticking = next((x for x in plant.forces if getattr(x, "switches", False)), None)
    if sticking is not None:
        return f"the force {sticking.name!r} of its plant keeps a state from step to step"
    return ""


def _obstacle(part: Part, plant: Plant) -> str:
    """Reason why a component is no control; empty if it is one."""
    kind, mount = type(part.component), part.mount
    if kind not in _INPUTS:
        return f"is a {kind.__name__}, which acts within runs"
    if part.clock is not None or not part.active:
        return "is sampled, and a stepper has no ticks" if part.active else "does not act now"
    if mount is None or mount.kind != "dof" or mount.name not in plant.mb.dof_names:
        return f"is no {kind.__name__} at a dof of {plant.path!r}"
    if kind is Force and any(x.name == mount.name for x in plant.mb.actuators):
        return f"is a force at the dof {mount.name!r}, which has the name of an actuator: rename one of them"
    return "" if _control(part, plant.mb) else "has the law of no actuator of the model"


def _wire(part: Part, plant: Plant) -> tuple[str, str]:
    """Connection of the law of a drive, in addition to those of its mount."""
    return f"{plant.path}.q[{part.mount.name if part.mount else ''}]", f"{part.path}.position"


def _control(part: Part, mb: Multibody) -> str:
    """The control that a component at a dof is: the dof, or the actuator whose law it has; empty if there is none."""
    assert part.mount is not None
    return part.mount.name if type(part.component) is Force else _actuator(mb, part, part.mount.name)


def _actuator(mb: Multibody, part: Part, dof: str) -> str:
    """The actuator whose law a drive has; empty where there is none."""
    p = part.component.p
    numbers_of_drive = [
        getattr(p, x) for x in ("gain", "b0", "b1", "b2", "lower_control", "upper_control", "lower", "upper")
    ]
    for actuator in mb.actuators:
        if dict(actuator.gears) != {dof: getattr(p, "gear", None)}:
            continue
        try:
            numbers = Law(mb, actuator).numbers
        except ModelError:
            continue
        if np.array_equal(np.clip(numbers, -_FAR, _FAR), numbers_of_drive):
            return str(actuator.name)
    return ""


def propagator_of(system: Contents, plant: Plant) -> Propagator:
    """The plant of a system with its force elements, from its present state and time on."""
    p = Propagator(plant.mb, plant.solver, t=system.t, **system.how)
    p.add(*(x.another() if isinstance(x, Contact) else x for x in plant.forces))
    return p


class Driven(NamedTuple):
    """A propagator of the plant of a system; the inputs that are driven, and the control that each of them is."""

    propagator: Propagator
    inputs: list[str]
    controls: list[str]


def stepped(system: Contents, controls: Sequence[str] | None) -> Driven:
    """Propagator and controls that step a system, with all its inputs or those of `controls`; else `WiringError`."""
    inputs = inputs_of(system)
    if controls is not None and (isinstance(controls, str) or not all(isinstance(x, str) for x in controls)):
        raise WiringError(f"controls is a list of inputs, such as controls=[{controls!r:.60}].")
    names = list(inputs.controls) if controls is None else list(controls)
    ports = [system.diagram.exports.get(x, x) for x in names]
    for name, port in zip(names, ports, strict=True):
        if port not in inputs.controls:
            raise WiringError(
                f"the system {system.name!r} has no input {name!r:.60} that nothing fills{near(name, inputs.controls)}"
            )
    unfilled = [x for x in inputs.controls if x not in ports]
    if unfilled:
        raise WiringError(f"nothing fills the input {unfilled[0]!r}: let the stepper drive it, too.")
    return Driven(propagator_of(system, inputs.plant), names, [inputs.controls[x] for x in ports])
