"""Parts of the picture of a world beside its robot: objects, the shapes that are stand-ins for others, paddings,
nearest points.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull as Qhull

from soacraft.contact.geometry.shapes import Shape
from soacraft.model.sizes.scale import scale_of
from soacraft.robot.world.queries import Distances
from soacraft.robot.world.world import World
from soacraft.spatial.checks import Array
from soacraft.view.space import surfaces
from soacraft.view.space.parts import Colour, Part
from soacraft.view.space.surfaces import Surface

_OBJECT: Colour = (0.76, 0.66, 0.52)
_COVER: Colour = (0.20, 0.45, 0.75)
_PADDING: Colour = (0.95, 0.65, 0.20)
_CLEAR: Colour = (0.13, 0.55, 0.28)
_TOUCH: Colour = (0.80, 0.12, 0.15)
#: Opacity of shapes drawn around others.
_THIN = 0.35
#: Relative to the length of the model: rods of nearest points, tiles of a plane.
_ROD, _TILE = 0.004, 2.0


def world_parts(world: World) -> list[Part]:
    """Objects as they are checked; on the robot only shapes that stand for others, since it is drawn by itself; and
    what keeps clear of others, larger by its padding."""
    scene, pads = world.scene, world.paddings
    length = scale_of(world.robot.mb).length
    parts = []
    for placed, shape, names in zip(scene.placed, scene.shapes.values(), scene.meanings, strict=True):
        is_object = not set(world.objects).isdisjoint(names)
        pose = placed.geometry.pose
        looks: list[tuple[float, Colour, float, str]] = []
        if is_object:
            looks.append((0.0, _OBJECT, 1.0, "object"))
        elif any(x in world.details for x in (*names, None)):
            looks.append((0.0, _COVER, _THIN, "cover"))
        padding = next((pads[(x,)] for x in names if pads.get((x,), 0.0) > 0.0), 0.0)
        if padding:
            looks.append((padding, _PADDING, _THIN, "padding"))
        for by, colour, alpha, kind in looks:
            surface = _surface(shape, by, length).moved(np.asarray(pose.rotation), np.asarray(pose.translation))
            parts.append(Part(placed.name, placed.body, surface, colour, alpha, kind))
    return parts


def near_parts(rows: Distances, length: float) -> Iterator[Part]:
    """A rod between the nearest points of each pair, red where they touch."""
    radius = _ROD * length
    for pair, d, a, b in zip(rows.pairs, rows.distance, rows.point_a, rows.point_b, strict=True):
        ball = surfaces.sphere(2.5 * radius)
        surfaces_of = [ball.moved(np.eye(3), x) for x in (np.asarray(a), np.asarray(b))]
        if np.linalg.norm(b - a) > 1e-9 * length:
            surfaces_of.append(surfaces.between(np.asarray(a), np.asarray(b), radius))
        colour = _TOUCH if d <= 0.0 else _CLEAR
        yield Part(" - ".join(pair), -1, surfaces.joined(surfaces_of), colour, kind="distance")


def _surface(shape: Shape, by: float, length: float) -> Surface:
    """The surface of a shape, or one about as much larger in all directions."""
    size: Any = np.asarray(getattr(shape, "size", ())) if shape.kind not in ("mesh", "heightfield") else ()
    if shape.kind == "plane":
        tile = surfaces.tiles(_TILE * length, 16, False)
        return tile.moved(np.eye(3), np.array([0.0, 0.0, by]))
    if shape.kind == "sphere":
        return surfaces.sphere(size[0] + by)
    if shape.kind in ("capsule", "cylinder"):
        more = 2.0 * by if shape.kind == "cylinder" else 0.0
        maker = surfaces.capsule if shape.kind == "capsule" else surfaces.cylinder
        return maker(size[0] + by, size[1] + more)
    if shape.kind == "box":
        return surfaces.box(*(size + 2.0 * by))
    if shape.kind == "ellipsoid":
        return surfaces.ellipsoid(*(size + by))
    flat = surfaces.mesh(*_triangles(shape))
    return flat if by == 0.0 else Surface(flat.points + by * flat.normals, flat.normals, flat.triangles, False)


def _triangles(shape: Shape) -> tuple[Array, Any]:
    """Points and triangles of a hull, a mesh or the top of a height field, counter-clockwise from outside."""
    if shape.kind == "heightfield":
        z: Array = np.asarray(getattr(shape, "heights", ()))
        (rows, columns), (x, y, _) = z.shape, getattr(shape, "size", (1.0, 1.0, 0.0))
        X, Y = np.meshgrid(np.linspace(-0.5 * x, 0.5 * x, columns), np.linspace(-0.5 * y, 0.5 * y, rows))
        k = np.arange(rows * columns).reshape(rows, columns)
        a, b, c, d = (q.ravel() for q in (k[:-1, :-1], k[:-1, 1:], k[1:, 1:], k[1:, :-1]))
        triangles = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
        return np.stack([X, Y, z], axis=-1).reshape(-1, 3), triangles
    points: Array = np.asarray(getattr(shape, "vertices", ()))
    of_mesh = getattr(shape, "triangles", None)
    if of_mesh is not None:
        return points, of_mesh
    hull = Qhull(points)
    corners = points[hull.simplices]
    inward = np.einsum("ij,ij->i", np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]),
                       hull.equations[:, :3]) < 0.0  # fmt: skip
    return points, np.where(inward[:, None], hull.simplices[:, ::-1], hull.simplices)
