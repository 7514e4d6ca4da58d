"""Surfaces of triangles: sphere, capsule, cylinder, box, ellipsoid, tiles of a floor, and meshes as they are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from soacraft.spatial.checks import Array
from soacraft.spatial.rotations import axes_along

Corners = npt.NDArray[np.int64]

#: Corners round a circle, and rings from pole to pole of a sphere.
ROUND, RINGS = 20, 10
#: Largest size, in metres, that cannot be seen.
SMALLEST = 1e-30


@dataclass(frozen=True, eq=False)
class Surface:
    """Points (n, 3) with their outward normals (n, 3), and triangles (m, 3) counter-clockwise seen from outside.

    `solid`: closed, so that nobody sees it from inside. Arrays are not written to: shapes of one size share them.
    """

    points: Array
    normals: Array
    triangles: Corners
    solid: bool = True

    def moved(self, rotation: Array, translation: Array) -> Surface:
        """Surface in another frame: R x + p."""
        R = np.asarray(rotation)
        return Surface(self.points @ R.T + np.asarray(translation), self.normals @ R.T, self.triangles, self.solid)

    @property
    def visible(self) -> bool:
        """True if a triangle has an area, and a size that single precision can hold."""
        if not len(self.points):
            return False
        centred = self.points - 0.5 * (self.points.min(axis=0) + self.points.max(axis=0))
        about = Surface(centred, self.normals, self.triangles)
        return float(np.abs(centred).max()) > SMALLEST and bool((_area(about) > 0.0).any())


NOTHING = Surface(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64))


def joined(surfaces: list[Surface]) -> Surface:
    """Several as one."""
    starts = np.cumsum([0, *(len(x.points) for x in surfaces)])
    return Surface(
        np.concatenate([x.points for x in surfaces]),
        np.concatenate([x.normals for x in surfaces]),
        np.concatenate([x.triangles + start for x, start in zip(surfaces, starts, strict=False)]),
        all(x.solid for x in surfaces),
    )


def turned(radii: Array, heights: Array, normals: Array) -> Surface:
    """A surface of revolution about z: a profile of (radius, height) from bottom to top, with normals (radial, up).
    Neighbours in one place make an edge: their normals differ.
    """
    angle = np.arange(ROUND) * (2.0 * np.pi / ROUND)
    cos, sin = np.cos(angle), np.sin(angle)

    def ring(r: Array, z: Array) -> Array:
        return np.stack([r[:, None] * cos, r[:, None] * sin, np.broadcast_to(z[:, None], (len(z), ROUND))], axis=-1)

    points, outward = ring(radii, heights), ring(normals[:, 0], normals[:, 1])
    number = np.arange(len(radii) * ROUND).reshape(-1, ROUND)
    a, b = number[:-1], number[1:]
    a1, b1 = np.roll(a, -1, axis=1), np.roll(b, -1, axis=1)
    cells = [np.stack(x, axis=-1).reshape(-1, 3) for x in ((a, a1, b1), (a, b1, b))]
    surface = Surface(points.reshape(-1, 3), outward.reshape(-1, 3), np.concatenate(cells).astype(np.int64))
    return Surface(surface.points, surface.normals, surface.triangles[_area(surface) > 0.0])


def _area(surface: Surface) -> Array:
    """Twice the areas of the triangles relative to the square of the size of the whole; what is rounding is zero."""
    size = float(np.abs(surface.points).max(initial=0.0)) or 1.0
    a, b, c = (surface.points[surface.triangles[:, i]] / size for i in range(3))
    twice = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    return np.asarray(np.where(twice > 1e-12, twice, 0.0))


def sphere(radius: float) -> Surface:
    """A sphere about the origin.

    >>> bool(np.allclose(np.linalg.norm(sphere(2.0).points, axis=1), 2.0))
    True
    """
    return capsule(radius, 0.0)


@lru_cache(maxsize=256)
def capsule(radius: float, length: float) -> Surface:
    """A capsule along z, `length` its straight part."""
    half = np.linspace(-0.5 * np.pi, 0.0, RINGS // 2 + 1)
    slope = np.concatenate([half, -half[::-1]]) if length > 0.0 else np.concatenate([half, -half[-2::-1]])
    middle = np.where(np.arange(len(slope)) < len(half), -0.5 * length, 0.5 * length)
    normals = np.stack([np.cos(slope), np.sin(slope)], axis=1)
    normals[[0, -1], 0] = 0.0
    return turned(radius * normals[:, 0], radius * normals[:, 1] + middle, normals)


@lru_cache(maxsize=256)
def cylinder(radius: float, length: float) -> Surface:
    """A cylinder along z with flat ends."""
    z = 0.5 * length
    radii = np.array([0.0, radius, radius, radius, radius, 0.0])
    normals = np.array([[0.0, -1.0], [0.0, -1.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    return turned(radii, np.array([-z, -z, -z, z, z, z]), normals)


def cone(radius: float, length: float) -> Surface:
    """A cone along z, its tip up, its base in z = 0: the head of an arrow."""
    slant = np.array([length, radius]) / np.hypot(length, radius)
    normals = np.array([[0.0, -1.0], [0.0, -1.0], slant, slant])
    return turned(np.array([0.0, radius, radius, 0.0]), np.array([0.0, 0.0, 0.0, length]), normals)


def ellipsoid(rx: float, ry: float, rz: float) -> Surface:
    """An ellipsoid about the origin."""
    unit, radii = sphere(1.0), np.array([rx, ry, rz])
    steep = unit.points / np.maximum(radii, 1e-9 * float(radii.max()))
    return Surface(unit.points * radii, steep / np.linalg.norm(steep, axis=1, keepdims=True), unit.triangles)


@lru_cache(maxsize=256)
def box(x: float, y: float, z: float) -> Surface:
    """A box about the origin with these edges."""
    points: list[Array] = []
    normals: list[Array] = []
    triangles: list[tuple[int, int, int]] = []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            normal, u = np.zeros(3), np.zeros(3)
            normal[axis], u[(axis + 1) % 3] = sign, 1.0
            v = np.cross(normal, u)
            start = len(points)
            points += [normal + a * u + b * v for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
            normals += [normal] * 4
            triangles += [(start, start + 1, start + 2), (start, start + 2, start + 3)]
    return Surface(np.array(points) * (0.5 * np.array([x, y, z])), np.array(normals), np.array(triangles))


def tiles(half: float, count: int, odd: bool) -> Surface:
    """Every other tile of a square floor z = 0, `count` tiles on a side of 2 half; the odd ones or the even ones."""
    edge = np.linspace(-half, half, count + 1)
    cells = [(i, j) for i in range(count) for j in range(count) if (i + j) % 2 == odd]
    squares = [[(edge[i + a], edge[j + b], 0.0) for a, b in ((0, 0), (1, 0), (1, 1), (0, 1))] for i, j in cells]
    points = np.array(squares).reshape(-1, 3)
    start = 4 * np.arange(len(cells))[:, None]
    triangles = np.concatenate([start + np.array([0, 1, 2]), start + np.array([0, 2, 3])])
    return Surface(points, np.tile([0.0, 0.0, 1.0], (len(points), 1)), triangles, solid=False)


def mesh(points: Array, triangles: Corners) -> Surface:
    """A mesh with flat faces; those without area are left out, since nothing can be seen of them."""
    corners = points[triangles]
    unit = corners / (float(np.abs(points).max(initial=0.0)) or 1.0)  # so that no square of a length is lost
    normal = np.cross(unit[:, 1] - unit[:, 0], unit[:, 2] - unit[:, 0])
    length = np.linalg.norm(normal, axis=1)
    seen = length > 0.0
    flat = np.repeat(normal[seen] / length[seen, None], 3, axis=0)
    count = int(seen.sum())
    return Surface(corners[seen].reshape(-1, 3), flat, np.arange(3 * count).reshape(-1, 3), solid=False)


def rotation_to(direction: Array) -> Array:
    """A rotation that takes z to a direction."""
    z, x, y = axes_along(np.asarray(direction) / np.linalg.norm(direction))
    return np.stack([x, y, z], axis=1)


def between(a: Array, b: Array, radius: float) -> Surface:
    """A capsule whose straight part goes from a to b."""
    way = np.asarray(b) - np.asarray(a)
    length = float(np.linalg.norm(way))
    if not length > 0.0:
        return sphere(radius).moved(np.eye(3), np.asarray(a))
    return capsule(radius, length).moved(rotation_to(way), 0.5 * (np.asarray(a) + np.asarray(b)))
