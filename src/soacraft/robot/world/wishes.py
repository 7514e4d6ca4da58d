"""Covers of shapes: a choice of how coarse one may be, and the cover that is made of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from soacraft.arguments import whole_number
from soacraft.contact.geometry.meshes import ConvexHull
from soacraft.contact.geometry.shapes import Shape
from soacraft.errors import StateError
from soacraft.robot.world.covers import FINEST, MOST, cover, sticks_out
from soacraft.robot.world.solids import Solid, box_of, stands_out, volume_ratio
from soacraft.spatial.checks import finite
from soacraft.spatial.pose import Pose

KINDS = ("given", "mesh", "hull", "box", "capsules", "spheres")
#: Balls and capsules stand out by this part of the diagonal of a shape's box, unless told otherwise.
ERROR = 0.1


class Detail(NamedTuple):
    """A wish: a kind, and how close or how many."""

    kind: str
    error: float | None
    number: int | None


GIVEN = Detail("given", None, None)


@dataclass(frozen=True, eq=False)
class Cover:
    """Cover of a shape: shapes with their poses in its frame, the largest distances by which they protrude from it and
    it sticks out of them, in metres, and their volume relative to its own (inf for a surface).
    """

    name: str
    kind: str
    shapes: tuple[tuple[Shape, Pose], ...]
    stands_out: float
    sticks_out: float
    volume_ratio: float

    def __len__(self) -> int:
        return len(self.shapes)

    def __repr__(self) -> str:
        held = "all of it is inside" if self.sticks_out == 0.0 else f"it sticks out by at most {self.sticks_out:.3g} m"
        size = f"{self.volume_ratio:.3g} times its volume"
        return f"{self.name}: {_counted(self)}, {self.stands_out:.3g} m beyond it at most, {size}, {held}"


def _counted(cover: Cover) -> str:
    one = {"spheres": "sphere", "capsules": "capsule"}.get(cover.kind, cover.kind)
    return f"1 {one}" if len(cover) == 1 else f"{len(cover)} {cover.kind}"


def read_size(kind: str, error: Any, count: Any) -> tuple[float | None, int | None]:
    """Read the distance by which balls and capsules may protrude, or their largest number."""
    if kind not in ("spheres", "capsules"):
        if error is not None or count is not None:
            raise StateError(f"error= and count= are of 'spheres' and 'capsules'; {kind!r} has none.")
        return None, None
    if error is not None and count is not None:
        raise StateError("give error= or count=, not both: fewer shapes stand out farther.")
    if count is not None:
        number = whole_number(count, "count", 1)
        if number > MOST:
            raise StateError(f"count={number} shapes are too many: {MOST} is the most.")
        return None, number
    if error is None:
        return None, None
    value = float(finite(error, (), "error", StateError))
    if not value > 0.0:
        raise StateError(f"error must be positive, in metres, got {value:g}.")
    return value, None


def cover_of(shape: Shape, wish: Detail) -> Cover:
    """The cover of a shape that a wish asks for."""
    solid = Solid(shape)
    tolerance = FINEST * solid.size
    if wish.kind in ("hull", "box"):
        around, pose = (ConvexHull(shape.vertices), Pose()) if wish.kind == "hull" else box_of(shape)  # type: ignore[attr-defined]
        beyond = stands_out(Solid(around), pose, solid, tolerance)
        return Cover("", wish.kind, ((around, pose),), beyond, 0.0, volume_ratio([(around, pose)], solid))
    if shape.kind == "sphere" or (shape.kind == "capsule" and wish.kind == "capsules"):
        return Cover("", wish.kind, ((shape, Pose()),), 0.0, 0.0, 1.0)
    error = wish.error
    if error is None and wish.number is None:
        error = ERROR * float(np.linalg.norm(solid.high - solid.low))
    rounds = cover(solid, wish.kind == "capsules", error, wish.number)
    shapes = tuple(rounds.shapes())
    sticking = sticks_out(solid, rounds, min(tolerance, 0.02 * rounds.stands_out(solid)))
    return Cover("", wish.kind, shapes, rounds.stands_out(solid), sticking, volume_ratio(shapes, solid))
