"""Motions from one configuration to another: free all the way, or with the place of the first touch.

Along q(s) = integrate(q0, s dv) each hinge moves at a constant rate. Two shapes that are apart by d along n at s are
still apart at s + h as long as

    d > h c + h^2 A / 2,      c = max over their points of n.(v_a - v_b),   A a bound on their accelerations

with velocities as they are at s, relative to what carries both shapes. So a configuration clears a part of the motion;
the middle is checked first, then the parts on both sides that are not cleared. Nothing is between samples. The proof is
in the core, `contact/moving/edges.hpp`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.contact.geometry.scene import Scene
from soacraft.errors import StateError
from soacraft.model.hinges import Cylindrical, Free, Gimbal, Helical, Pin, Planar, Prismatic, Spherical, Universal, Weld
from soacraft.model.tree.multibody import Multibody
from soacraft.spatial.checks import Array, finite

#: Nearer than this part of the robot's size is a touch.
GAP = 1e-6
#: Configurations that are looked at on one edge: the time that a motion along a surface, barely clear of it, may take.
STEPS = 100_000
#: Hinges that move at constant twists.
_KNOWN = (Weld, Pin, Prismatic, Helical, Cylindrical, Universal, Gimbal, Planar, Spherical, Free)


@dataclass(frozen=True, eq=False)
class Edge:
    """A motion; true where it is free."""

    free: bool
    part: float
    """Part of the motion that is free, from 0 to 1."""
    q: Array
    """The configuration there."""
    pair: tuple[str, str] | None
    """Pair that is touched."""
    distance: float
    """The least distance seen; infinite where nothing was near enough to be looked at."""

    def __bool__(self) -> bool:
        return self.free

    def __repr__(self) -> str:
        if self.free:
            near = "nothing is near" if self.distance == np.inf else f"nowhere nearer than {self.distance:.4g} m"
            return f"free, {near} where it was looked"
        assert self.pair is not None
        return f"{' - '.join(self.pair)} touch at {self.part:.6g} of the way"


@dataclass(frozen=True, eq=False)
class Edges:
    """Motions, one after the other: an `Edge` by its number, and all of them as arrays."""

    free: npt.NDArray[np.bool_]
    part: Array
    q: Array
    """The configurations where they end, (count, nq)."""
    distance: Array
    names: tuple[str, ...]
    """Names of the shapes."""
    shapes: npt.NDArray[np.int64]
    """The numbers of the shapes that touch, (count, 2); -1 where it is free."""

    def __len__(self) -> int:
        return len(self.free)

    def __getitem__(self, i: int) -> Edge:
        a, b = self.shapes[i]
        pair = None if self.free[i] else (self.names[a], self.names[b])
        return Edge(bool(self.free[i]), float(self.part[i]), self.q[i], pair, float(self.distance[i]))

    def __iter__(self) -> Iterator[Edge]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"{len(self)} motions, {int(self.free.sum())} free"


def require_bounds(mb: Multibody, scene: Scene) -> None:
    """Refuse hinges and shapes that no bound on motions is known of."""
    for body in mb.bodies:
        if type(body.hinge) not in _KNOWN or body.modal is not None:
            raise StateError(
                f"an edge needs bounds on how far hinges move things, and body {body.name!r} has none: "
                f"{body.hinge!r:.60}. Look at configurations between with collides(...)."
            )
    for placed, shape in zip(scene.placed, scene.shapes.values(), strict=True):
        if shape.kind == "plane" and placed.body >= 0:
            raise StateError(
                f"shape {placed.name!r} is a plane without end that moves, which no bound holds for; make it a box."
            )


def default_gap(mb: Multibody, scene: Scene) -> float:
    """Distance that counts as a touch, in metres: a small part of the longest link or the largest shape."""
    far = scene.far()
    size = max((float(np.linalg.norm(x.inboard.translation)) for x in mb.bodies), default=0.0)
    return GAP * (float(max(size, far[np.isfinite(far)].max(initial=0.0))) or 1.0)


def read_first(first: Any) -> bool:
    """Read the flag that the first touch is wanted."""
    if not isinstance(first, bool | np.bool_):
        raise StateError(f"first= is True for the first touch, or False for any; got {first!r:.40}.")
    return bool(first)


def read_gap(gap: Any) -> float:
    """A gap that was given."""
    value = float(finite(gap, (), "gap", StateError))
    if not value > 0.0:
        raise StateError(f"gap must be positive, in metres; got {gap!r:.40}.")
    return value
