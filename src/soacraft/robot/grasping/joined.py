"""Result of a grasp, and the names that it gives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from soacraft.contact.dynamics.plastic import PlasticImpact
from soacraft.model.tree.frames.frame import Body, Frame
from soacraft.model.tree.multibody import Multibody
from soacraft.spatial.checks import Array


@dataclass(frozen=True, eq=False)
class Joined:
    """Result of a grasp: the way the object is held, the impulse that it took from the hand, and the energy lost."""

    object: str
    hand: str
    how: str
    """"hung": the hand is the object's parent; "loop": a closure of that name joins them."""
    loop: str
    impulse: Array
    """[moment; force] on the object at its frame, in inertial axes, in N m s and N s."""
    energy_lost: float
    """Kinetic energy before less that after, in J; never negative."""

    def __repr__(self) -> str:
        how = f"loop {self.loop!r}" if self.loop else "hung"
        return f"{self.object!r} held by {self.hand!r} ({how}), {self.energy_lost:.4g} J lost"

    def replaced(self, how: str, loop: str) -> Joined:
        """Grasp that is held another way since."""
        return replace(self, how=how, loop=loop)


def told(impact: PlasticImpact | None, lever: Array | None = None) -> tuple[Array, float]:
    """The impulse and the energy of an impact; the impulse acts at `lever` from the origin of the object."""
    if impact is None:
        return np.zeros(6), 0.0
    impulse = np.array(next(iter(impact.impulses.values())))
    if lever is not None:
        impulse[:3] += np.cross(lever, impulse[3:])
    return impulse, float(impact.energy_lost)


def is_outboard(frame: Frame, body: Body) -> bool:
    """True if a frame is on a body, or on one outboard of it."""
    at: Any = frame.carrier
    while isinstance(at, Body):
        if at is body:
            return True
        at = at.parent
    return False


def unused(name: str, mb: Multibody) -> str:
    """A name for a closure that none of the model has."""
    return _fresh(name, {*(x.name for x in mb.loops), *(x.name for x in mb.couplings)}, " ")


def node_name(body: Body, frame: Frame) -> str:
    """A name for the node of an object that a hand holds."""
    base = "held_" + "".join(c if c.isalnum() else "_" for c in frame.full_name)
    return _fresh(base, [x.name for x in body.nodes], "_")


def _fresh(name: str, names: Iterable[str], mark: str) -> str:
    taken, fresh, i = set(names), name, 2
    while fresh in taken:
        fresh, i = f"{name}{mark}{i}", i + 1
    return fresh
