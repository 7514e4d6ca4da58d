"""Pairs of points that a parallel gripper can close on: opposite each other, each in the other's friction cone.

Lines drawn evenly in space meet the surface first in points drawn evenly over what can be seen of it. From each, the
gripper closes along a line in the friction cone there; the other finger comes from as far as the gripper opens, and
must meet the surface within its cone too. Both fingers come from outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from soacraft.contact.geometry.filters import rigid_groups
from soacraft.contact.geometry.scene import Scene
from soacraft.contact.geometry.shapes import Shape
from soacraft.errors import ModelError
from soacraft.model.hinges import Weld
from soacraft.model.tree.frames.frame import Body
from soacraft.model.tree.multibody import Multibody
from soacraft.spatial.checks import Array

#: Two hits are the same point when they are nearer than this part of the object's size.
_SAME = 1e-7


class Pairs(NamedTuple):
    """Points a and b (n, 3), outward normals there, and the unit directions from a to b; why others were left out."""

    a: Array
    b: Array
    normal_a: Array
    normal_b: Array
    axis: Array
    left_out: dict[str, int]


class Surface:
    """The shapes of an object, and of what is welded to it, in its frame."""

    def __init__(self, mb: Multibody, body: Body, meshes: str, replaced: Mapping[str, Shape]) -> None:
        group, _ = rigid_groups(mb)
        alone = Multibody("object", gravity=(0.0, 0.0, 0.0))
        for x in mb.bodies:
            if group[x] is group[body] and _welded(x, body):
                body_alone = alone.add_body(x.name, None, Weld(), inboard=mb.pose(x, body))
                for shape in x.geometries:
                    body_alone.add_geometry(shape)
        for record in mb.records:
            alone.add_record(record)
        of_body = {name: x for name, x in replaced.items() if name.rpartition("/")[0] in alone}
        alone.mesh_folder, alone.mesh_roots = mb.mesh_folder, mb.mesh_roots
        self.scene = Scene(alone, meshes=meshes, shapes=of_body)
        self.q = np.zeros(0)
        placed = self.scene.placed
        if not placed:
            raise ModelError(
                f"{body.name!r} has no shape that could be touched: give it one with body.add_geometry(...)."
            )
        shapes = self.scene.shapes
        far = [shapes[x.name].extent for x in placed]
        if not np.isfinite(far).all():
            raise ModelError(f"{body.name!r} has a shape without end, which no hand closes on.")
        places = [alone.pose(x.carrier) @ x.geometry.pose for x in placed]
        points = np.array([x.translation for x in places])
        low, high = (f(points + s * np.array(far)[:, None], axis=0) for f, s in ((np.min, -1), (np.max, 1)))
        self.centre = 0.5 * (low + high)
        """The middle of the object, in its frame."""
        self.radius = float((np.linalg.norm(points - self.centre, axis=1) + far).max())
        """Radius of a ball about it that holds the object."""

    def first(self, origin: Array, direction: Array) -> tuple[Array, Array, Array]:
        """First hits of rays from outside: distances (infinite where there are none), points and outward normals."""
        hits = self.scene.cast_rays(self.q, origin, direction)
        outside = np.einsum("...i,...i->...", np.nan_to_num(hits.normal), direction) < 0.0
        return np.where(outside, hits.distance, np.inf), np.nan_to_num(hits.point), np.nan_to_num(hits.normal)

    def pairs(self, rng: np.random.Generator, count: int, least: float, most: float, friction: float) -> Pairs:
        """Pairs that fit between fingers `least` to `most` apart, from so many lines."""
        r, wide = 1.001 * self.radius, most
        most = min(most, 2.0 * r)  # no two points of the object are farther apart
        d = _directions(rng, count)
        side, up = _frames(d)
        turn, far = rng.uniform(0.0, 2.0 * np.pi, count), r * np.sqrt(rng.uniform(0.0, 1.0, count))
        off = far[:, None] * (np.cos(turn)[:, None] * side + np.sin(turn)[:, None] * up)
        t, a, n = self.first(self.centre + off - r * d, d)
        # the axis: every second one along the normal, the others evenly within the cone
        side, up = _frames(n)
        angle = np.arctan(friction)
        tilt = np.arccos(rng.uniform(np.cos(angle), 1.0, count)) * (np.arange(count) % 2)
        turn = rng.uniform(0.0, 2.0 * np.pi, count)
        axis = -np.cos(tilt)[:, None] * n
        axis += np.sin(tilt)[:, None] * (np.cos(turn)[:, None] * side + np.sin(turn)[:, None] * up)
        met = np.isfinite(t)
        back = np.full((count, 3), np.inf)
        normal_b, u = np.zeros((count, 3)), np.full(count, np.inf)
        if met.any():
            u[met], back[met], normal_b[met] = self.first(a[met] + most * axis[met], -axis[met])
        apart = most - u
        same = _SAME * self.radius
        opposite = met & np.isfinite(u)
        thick = opposite & (apart > max(least, same))
        inside = thick & (np.einsum("ij,ij->i", normal_b, axis) >= np.cos(angle) * (1.0 - 1e-9))
        free = inside.copy()
        if inside.any():  # the first finger comes along the axis as well
            w, _, _ = self.first(np.where(inside[:, None], back, 0.0)[inside] - most * axis[inside], axis[inside])
            free[inside] = np.abs(w - (most - apart[inside])) <= same
        left_out = {
            "the line misses the object": int((~met).sum()),
            f"wider than {wide:g} m": int((met & ~opposite).sum()),
            f"narrower than {least:g} m": int((opposite & ~thick).sum()),
            "outside a friction cone": int((thick & ~inside).sum()),
            "a finger meets another part first": int((inside & ~free).sum()),
        }
        return Pairs(a[free], back[free], n[free], normal_b[free], axis[free], left_out)


def _welded(x: Body, body: Body) -> bool:
    """True for a body of the same rigid group outboard of the object, and for the object."""
    at: object = x
    while isinstance(at, Body):
        if at is body:
            return True
        at = at.parent
    return False


def _directions(rng: np.random.Generator, count: int) -> Array:
    d = rng.normal(size=(count, 3))
    return np.asarray(d / np.linalg.norm(d, axis=1, keepdims=True))


def _frames(n: Array) -> tuple[Array, Array]:
    """Two unit vectors across each n (k, 3), and across each other; of zeros something."""
    least = np.eye(3)[np.argmin(np.abs(n), axis=1)]
    side = np.cross(n, least)
    side /= np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-300)
    return side, np.cross(n, side)
