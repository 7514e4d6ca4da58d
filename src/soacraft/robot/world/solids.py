"""Shapes as solids: the signed distance of points from one, and the cubes of a grid that hold it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from soacraft.contact.geometry.compiled import contact_mesh
from soacraft.contact.geometry.queries import distance
from soacraft.contact.geometry.shapes import Box, Shape, Sphere
from soacraft.errors import ModelError
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose

#: Half the diagonal of a cube of edge 1.
HALF = 0.5 * np.sqrt(3.0)
#: Points that are looked at together.
_TOGETHER = 1 << 16
#: Largest number of vertices of a mesh that are examined.
_VERTICES = 1000
_NONE = np.zeros((0, 3))
#: Angles that a box is turned by about each axis, in a quarter of a turn.
_ANGLES = 18
#: Points for volumes, at multiples of powers of the root of x^4 = x + 1, which fill space evenly (Roberts 2018).
_POINTS = 1 << 14
_EVEN = 1.2207440846057596 ** -np.arange(1.0, 4.0)
CORNERS = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])


class _Skin(Shape):
    """The surface of a mesh, without an inside."""

    kind = "mesh"

    def __init__(self, vertices: Any, triangles: Any) -> None:
        self._set(_shown="surface")
        self._take(contact_mesh(np.array(vertices), np.array(triangles).ravel(), False))


class Solid:
    """A shape with its box, from `low` to `high`; `closed` where it has an inside."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        points = _extreme_points(shape)
        self.low, self.high = points.min(axis=0), points.max(axis=0)
        self.size = float((self.high - self.low).max())
        triangles = getattr(shape, "triangles", None)
        self.closed = triangles is None or bool(getattr(shape, "closed", True))
        self.convex = triangles is None
        self._skin = None if triangles is None else _Skin(getattr(shape, "vertices", None), triangles)

    def distances(self, points: Array) -> Array:
        """The signed distance of points (n, 3), less than zero inside. Of a mesh: to the nearest triangle. It changes
        by at most the way between two points."""
        return self._ask(points)[0]

    def nearest(self, points: Array) -> Array:
        """The points of the surface that are nearest to points (n, 3)."""
        return self._ask(points)[1]

    def corners(self) -> Array:
        """Vertices, or corners of a box: where a solid is farthest from its middle."""
        vertices = getattr(self.shape, "vertices", None)
        if vertices is not None:
            return np.asarray(vertices)[:: max(1, len(vertices) // _VERTICES)]
        return 0.5 * (self.low + self.high) + (self.high - self.low) * CORNERS if self.shape.kind == "box" else _NONE

    def _ask(self, points: Array) -> tuple[Array, Array]:
        parts = [self._some(points[i : i + _TOGETHER]) for i in range(0, len(points), _TOGETHER)]
        return np.concatenate([np.zeros(0), *(x for x, _ in parts)]), np.concatenate(
            [np.zeros((0, 3)), *(x for _, x in parts)]
        )

    def _some(self, points: Array) -> tuple[Array, Array]:
        at = Pose(np.broadcast_to(np.eye(3), (len(points), 3, 3)), points)
        answer = distance(Sphere(0.0), at, self.shape, Pose())
        if self._skin is None:
            return np.asarray(answer.distance), answer.point_b
        skin = distance(Sphere(0.0), at, self._skin, Pose())
        away = np.abs(np.asarray(skin.distance))
        inside = self.closed & (np.asarray(answer.distance) < 0.0)
        return np.where(inside, -away, away), skin.point_b

    def cubes(self, across: float) -> tuple[Array, float]:
        """Middles and edge of the cubes of a grid that may meet the solid, `across` along its longest side. There is an
        odd number of them along each axis, so that there are some in the middle."""
        edge = self.size / across
        count = np.ceil((self.high - self.low) / edge).astype(np.int64) | 1
        start = 0.5 * (self.low + self.high) - 0.5 * edge * (count - 1)
        grid = np.stack(np.meshgrid(*(np.arange(k) for k in count), indexing="ij"), axis=-1).reshape(-1, 3)
        return start + edge * grid, edge


def has_cover(shape: Shape) -> bool:
    """True if a shape can be covered: a plane and a height field have none."""
    return shape.kind not in ("plane", "heightfield")


def _extreme_points(shape: Shape) -> Array:
    vertices = getattr(shape, "vertices", None)
    if vertices is not None:
        return np.asarray(vertices)
    if not has_cover(shape):
        raise ModelError(f"{shape!r:.60} has no cover by spheres, capsules or a box.")
    size = np.asarray(getattr(shape, "size", ()))
    if shape.kind in ("capsule", "cylinder"):
        half = np.array([size[0], size[0], 0.5 * size[1] + (size[0] if shape.kind == "capsule" else 0.0)])
    else:
        half = {"sphere": np.repeat(size[0], 3), "box": 0.5 * size, "ellipsoid": size}[shape.kind]
    return np.array([-half, half])


def stands_out(outer: Solid, pose: Pose, inner: Solid, tolerance: float) -> float:
    """Largest distance of a point of a solid, at a pose in the frame of another, from that; off by no more than about a
    tolerance. Cubes that cannot hold the farthest point are dropped, others split (branch and bound).
    """
    middles, edge = outer.cubes(8.0)
    while True:
        reach = float(HALF * edge)
        away = outer.distances(middles)
        middles, away = middles[away <= reach], away[away <= reach]
        far = inner.distances(np.asarray(pose @ middles))
        surely = max(0.0, float(far[away <= 0.0].max(initial=0.0)))
        if reach <= tolerance:
            return max(surely, float(far.max(initial=0.0)) + reach)
        edge = 0.5 * edge
        middles = (middles[far + reach > surely][:, None] + edge * CORNERS).reshape(-1, 3)
        if not len(middles):
            return surely


def box_of(shape: Shape) -> tuple[Box, Pose]:
    """A small box that holds a shape, along its own axes or turned about those of its inertia."""
    points = _extreme_points(shape)
    turns = [np.eye(3)]
    if hasattr(shape, "vertices"):
        _, _, axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
        axes = axes * np.linalg.det(axes)  # right-handed
        for k in range(3):
            order = [(k + 1) % 3, (k + 2) % 3, k]
            base = axes[order]
            for angle in np.linspace(0.0, 0.5 * np.pi, _ANGLES, endpoint=False):
                c, s = np.cos(angle), np.sin(angle)
                turns.append(np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]) @ base)
    best = min(turns, key=lambda R: float(np.prod(np.ptp(points @ R.T, axis=0))))
    turned = points @ best.T
    low, high = turned.min(axis=0), turned.max(axis=0)
    edges = (high - low) + 1e-12 * float((high - low).max())
    return Box(*edges), Pose(best.T, best.T @ (0.5 * (low + high)))


def volume_ratio(shapes: Sequence[tuple[Shape, Pose]], solid: Solid) -> float:
    """The volume of shapes together relative to that of a solid, from points spread evenly over both: two digits."""
    boxes = [(pose, _extreme_points(shape)) for shape, pose in shapes]
    ends = np.concatenate([pose @ _box_corners(x) for pose, x in boxes])
    low, high = np.minimum(ends.min(axis=0), solid.low), np.maximum(ends.max(axis=0), solid.high)
    points = low + (high - low) * ((np.arange(1, _POINTS + 1)[:, None] * _EVEN) % 1.0)
    count = int((solid.distances(points) <= 0.0).sum()) if solid.closed else 0
    inside = np.zeros(len(points), dtype=bool)
    for shape, pose in shapes:
        outside = np.flatnonzero(~inside)
        at = Pose(np.broadcast_to(np.eye(3), (len(outside), 3, 3)), points[outside])
        inside[outside] = np.asarray(distance(Sphere(0.0), at, shape, pose).distance) <= 0.0
    return float(inside.sum()) / count if count else np.inf


def _box_corners(points: Array) -> Array:
    low, high = points.min(axis=0), points.max(axis=0)
    return np.asarray(0.5 * (low + high) + (high - low) * CORNERS)
