"""Capsules in URDF, which has none: a cylinder and two spheres, that are one capsule again when they are read.

    <collision name="arm:capsule">  cylinder of the capsule's radius and length
    <collision name="arm:top">      sphere at +length/2 along its z
    <collision name="arm:bottom">   sphere at -length/2
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from soacraft.files.urdf.parts import Link, Shape
from soacraft.model import Geometry
from soacraft.spatial import Pose

PARTS = ("capsule", "top", "bottom")
#: Places of the three parts agree to this part of the capsule's size: digits that a writer rounds.
_CLOSE = 1e-6


def pieces_of(geometry: Geometry) -> list[Geometry]:
    """Parts that are written for a shape: the three parts of a capsule, a ball for one without length, else itself."""
    if geometry.kind != "capsule":
        return [geometry]
    radius, length = geometry.size
    if length == 0.0:
        return [replace(geometry, kind="sphere", size=(radius,))]
    ends = [Pose(translation=(0.0, 0.0, sign * 0.5 * length)) for sign in (1.0, -1.0)]
    names = [f"{geometry.name}:{part}" for part in PARTS]
    tube = replace(geometry, name=names[0], kind="cylinder")
    balls = [
        replace(geometry, name=name, kind="sphere", size=(radius,), pose=geometry.pose @ end)
        for name, end in zip(names[1:], ends, strict=True)
    ]
    return [tube, *balls]


def join_capsules(link: Link) -> list[tuple[Shape, list[Shape]]]:
    """Make one capsule of each cylinder and two spheres that are its parts; each capsule with its two caps, which are
    taken from the shapes of the link. O(shapes)."""
    by_name = {(shape.role, shape.name): shape for shape in link.shapes}
    joined = []
    for shape in list(link.shapes):
        name, _, part = shape.name.rpartition(":")
        caps = [by_name.get((shape.role, f"{name}:{each}")) for each in PARTS[1:]]
        if name and part == PARTS[0] and shape.kind == "cylinder" and _are_caps(shape, caps):
            shape.name, shape.kind = name, "capsule"
            gone = [each for each in caps if each is not None]
            link.shapes = [each for each in link.shapes if all(each is not cap for cap in gone)]
            joined.append((shape, gone))
    return joined


def _are_caps(tube: Shape, caps: list[Shape | None]) -> bool:
    """True if two spheres of the cylinder's radius are at its ends."""
    radius, length = tube.size
    at = tube.origin or Pose()
    for cap, sign in zip(caps, (1.0, -1.0), strict=True):
        if cap is None or cap.kind != "sphere":
            return False
        end = at.translation + at.rotation @ np.array([0.0, 0.0, sign * 0.5 * length])
        there = (cap.origin or Pose()).translation
        if np.abs([*(end - there), cap.size[0] - radius]).max() > _CLOSE * (radius + length):
            return False
    return True
