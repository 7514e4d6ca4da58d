"""Contacts as compiled steps read them, and their log as `ContactStep`s."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft.contact.dynamics.surfaces import Surfaces
from soacraft.contact.geometry.compiled import ContactScene
from soacraft.contact.geometry.scene import Scene
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.sim.forces.hinge_rows import Rub, Stop

Integers = npt.NDArray[np.int64]
#: States of a contact, by its number in the core.
STATES = ("open", "stick", "slip")


class CompiledContact(NamedTuple):
    """Shapes and their surfaces, limits and dry hinges, as read by core/sim/contact/contact_setting.hpp."""

    scene: ContactScene
    body: Integers
    """(shapes): the body that carries each, -1 for the inertial frame."""
    local: Array
    """(shapes, 12): its pose there."""
    surface: Array
    """(shapes, 3): the velocity of its surface in its own axes."""
    far: Array
    """(bodies): how far their shapes reach from their frames."""
    group: Integers
    """(shapes): those of one group are equal to all others."""
    rows: Integers
    """(groups, groups): of a contact of two of them, 1, 3, 4 or 6."""
    friction: Array
    """(groups, groups, 5): coefficients of the rows after the first."""
    restitution: Array
    """(groups, groups)."""
    stop_dofs: Integers
    stop_places: Integers
    limits: Array
    stop_restitution: Array
    stop_loads: Integers
    """Numbers of the loads that they are, -1 of limits of hinges."""
    dry_dofs: Integers
    dry: Array
    dry_loads: Integers
    energy: int
    tolerance: float
    thin: float
    """The least thickness of two shapes that may touch, together."""
    impulses: Array = np.zeros((0, 11))
    """(points, 11): of the last step, as `contact_impulses` has them."""


def compiled_contact(
    scene: Scene,
    surfaces: Surfaces,
    stops: Sequence[Stop],
    rubs: Sequence[Rub],
    energy: bool,
    tolerance: float,
) -> CompiledContact:
    """The contacts of a model for compiled steps. O(shapes + groups^2)."""
    core, body, local, moving = scene.compiled
    placed = scene.placed
    surface = np.zeros((len(placed), 3))
    for i, velocity in moving.items():
        surface[i] = velocity
    group, rows, friction, restitution = surfaces.table([x.name for x in placed])
    return CompiledContact(
        core,
        body,
        np.ascontiguousarray(local),
        surface,
        scene.far(),
        group,
        rows,
        friction,
        restitution,
        np.array([x.number for x in stops], dtype=np.int64),
        np.array([x.place for x in stops], dtype=np.int64),
        np.array([(x.lower, x.upper) for x in stops], dtype=float).reshape(-1, 2),
        np.array([x.restitution for x in stops], dtype=float),
        np.array([x.load for x in stops], dtype=np.int64),
        np.array([x.number for x in rubs], dtype=np.int64),
        np.array([x.force for x in rubs], dtype=float),
        np.array([x.load for x in rubs], dtype=np.int64),
        int(energy),
        tolerance,
        scene.thinnest,
    )


class ContactLog(NamedTuple):
    """The contacts of many steps as arrays: of each step its end, points, residual, effort, whether forces are unique,
    work, factor and depth, (steps, 8); of each point its shapes, place, impulse, moment, gap and state, (points,
    13)."""

    names: tuple[str, ...]
    steps: Array
    points: Array

    def rows(self) -> Any:
        """Numbers of each step, and those of its points."""
        ends = np.cumsum(self.steps[:, 1]).astype(int)
        return zip(self.steps, np.split(self.points, ends[:-1]) if len(ends) else [], strict=True)
