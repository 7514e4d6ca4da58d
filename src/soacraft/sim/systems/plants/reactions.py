"""Forces that hold and press inside a plant, as its outputs: those of loop closures, and those of contact.

`closure_force[loop]` is the wrench [moment; force] with which a closure acts on the body of its frame b, about the
origin of b in inertial axes, as the solver gives it for all forces of the instant. `contact_force[body]` is the mean
force of contact on a body or shape in the last step taken, and `touching[body]` whether it was pressed; of a pair
`contact_force[foot,floor]`, on the first. They are held until the next step ends, and zero before the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from soacraft.contact.geometry.scene import Scene
from soacraft.errors import ModelError, WiringError, near
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.components.declarations import Signal
from soacraft.sim.forces.contact import Contact
from soacraft.sim.forces.contact_steps import ContactStep, is_of, require_names
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.sim.systems.plants.plant import Plant

#: Signals of closures and contacts.
REACTIONS: dict[str, Signal] = {
    "closure_force": Signal((6,), None, "inertial", float),
    "contact_force": Signal((3,), "N", "inertial", float),
    "touching": Signal((), None, None, bool),
}
#: Signals of shapes, which no action of a sequence makes.
TOUCHES = ("contact_force", "touching")


class Touch(NamedTuple):
    """A contact that is asked for: the force on a shape or body, or whether it is pressed, from another or from all."""

    port: str
    name: str
    other: str | None

    def value(self, step: ContactStep | None, h: float) -> Any:
        """Value in a step of length h; `step` None: there was no contact in it."""
        if self.port == "contact_force":
            return np.zeros(3) if step is None else step.impulse_on(self.name, self.other) / h
        return step is not None and any(
            bool(p.any())
            and ((is_of(a, self.name) and is_of(b, self.other)) or (is_of(b, self.name) and is_of(a, self.other)))
            for (a, b), p in zip(step.pairs, step.impulses, strict=True)
        )

    def among(self, shapes: Sequence[str]) -> tuple[int, Any, Any]:
        """Number 1 where it is pressed that is asked for, and the shapes that are pressed and that press, as numbers 0
        and 1, for compiled steps."""
        on, by = (np.array([is_of(x, name) for x in shapes], dtype=np.int64) for name in (self.name, self.other))
        return int(self.port != "contact_force"), on, by


class Closing:
    """The wrenches of all closures at a state, in inertial axes; zero before there is anything that solves for them."""

    def __init__(self) -> None:
        self.ask: Callable[[float, Array, Array], Mapping[str, Array]] | None = None
        """The multipliers {closure: array} at (t, q, v)."""

    def __call__(self, state: Any, t: float) -> dict[str, Array]:
        """Wrenches {closure: array (6)}."""
        if self.ask is None:
            return {}
        mb, wrenches = state.graph, {}
        multipliers = self.ask(t, np.array(state.q), np.array(state.v))
        for loop in mb.loops:
            if loop.name in multipliers:
                R = np.asarray(mb.pose(loop.a, state=state).rotation)
                wrenches[loop.name] = np.concatenate([R @ multipliers[loop.name][:3], R @ multipliers[loop.name][3:]])
        return wrenches


def of_loop(name: str) -> Callable[[dict[str, Array]], Array]:
    """The wrench of one closure; zero where it is not active."""
    none = np.zeros(6)
    return lambda found: found.get(name, none)


def closure_of(plant: Plant, at: str | None) -> str:
    """The name of a closure in the model that is moved; refused where the plant has none of this name."""
    loops = [x.name for x in plant.mb.loops]
    if at is None:
        raise WiringError(f"{plant.path}.closure_force is of a loop: write {plant.path}.closure_force[loop].")
    if at not in loops:
        if at in [x.name for x in plant.mb.couplings]:
            raise WiringError(f"{at!r:.60} of the plant {plant.path!r} is a coupling, which has no wrench.")
        hint = near(at, loops, "it has") if loops else ": its model is a tree."
        raise WiringError(f"the plant {plant.path!r} has no loop {at!r:.60}{hint}")
    if contact_of(plant) is not None:
        raise WiringError(
            f"{plant.path}.closure_force[{at}]: where a sim.Contact acts, closures hold by the impulses of a step, "
            "which are not told apart from those of what touches. Take a force element such as sim.CompliantContact."
        )
    return f"{plant.seat.prefix}{at}"


def touch_of(plant: Plant, port: str, at: str | None) -> Touch:
    """A contact of a shape or body of a plant, and of another one of it or, by its full name, of another plant."""
    contact = contact_of(plant)
    if at is None:
        raise WiringError(f"{plant.path}.{port} is of a body or shape: write {plant.path}.{port}[foot].")
    if contact is None:
        raise WiringError(
            f"{plant.path}.{port}[{at:.60}]: nothing touches in this system, or not by impulses; give a plant a "
            "contact, sim.Plant(mb, forces=[sim.Contact()]), with integrator='moreau'."
        )
    mb, prefix = plant.seat.mb, plant.seat.prefix
    shapes = contact._scene.names if contact._scene is not None else Scene(mb).names
    first, comma, second = at.partition(",")
    name, other = (_found(mb, shapes, prefix, x.strip()) for x in (first, second))
    try:
        require_names(shapes, name, other if comma else None)
    except ModelError as wrong:
        raise WiringError(f"{plant.path}.{port}[{at:.60}]: {wrong}") from None
    return Touch(port, name, other if comma else None)


def contact_of(plant: Plant) -> Contact | None:
    """Contact element in the system of a plant; None without one."""
    plants = [plant] if plant.owner is None else plant.owner._plants.values()
    return next((x for one in plants for x in one.forces if isinstance(x, Contact)), None)


def _found(mb: Multibody, shapes: tuple[str, ...], prefix: str, name: str) -> str:
    """Name, in the model that is moved, of a shape or body of the plant; a name that is none of them is returned."""
    root = f"{mb.root.name}/"
    full = f"{root}{prefix}{name.removeprefix(root)}" if name.startswith(root) else f"{prefix}{name}"
    return full if any(is_of(x, full) for x in shapes) else name
