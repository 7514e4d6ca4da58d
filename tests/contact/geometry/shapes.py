"""Random shapes and poses of the tests, and the support functions that judge them."""

from __future__ import annotations

import numpy as np
from scipy.spatial import ConvexHull as Qhull

from soacraft.contact import Box, Capsule, ConvexHull, Cylinder, Ellipsoid, Plane, Shape, Sphere, TriangleMesh
from soacraft.spatial import Pose

CONVEX = ("sphere", "capsule", "box", "cylinder", "ellipsoid", "hull")
PAIRS = [(a, b) for i, a in enumerate(CONVEX) for b in CONVEX[i:]]


def random_shape(kind: str, rng: np.random.Generator, scale: float = 1.0) -> Shape:
    def size(low: float, high: float, count: int) -> np.ndarray:
        return scale * rng.uniform(low, high, count)

    if kind == "sphere":
        return Sphere(*size(0.2, 0.6, 1))
    if kind == "capsule":
        return Capsule(*size(0.1, 0.3, 1), *size(0.3, 1.0, 1))
    if kind == "box":
        return Box(*size(0.3, 1.0, 3))
    if kind == "cylinder":
        return Cylinder(*size(0.2, 0.5, 1), *size(0.3, 1.0, 1))
    if kind == "ellipsoid":
        return Ellipsoid(*size(0.2, 0.6, 3))
    if kind == "hull":
        x = rng.normal(size=(20, 3))
        return ConvexHull(scale * x / np.linalg.norm(x, axis=1)[:, None] * [0.5, 0.4, 0.6])
    return Plane()


def random_pose(rng: np.random.Generator, spread: float) -> Pose:
    q = rng.normal(size=4)
    return Pose.from_quaternion(q / np.linalg.norm(q), spread * rng.normal(size=3))


def support(shape: Shape, pose: Pose, d: np.ndarray) -> np.ndarray:
    """h(d) = max d.x over the points x of a shape, for directions (n, 3)."""
    e = d @ pose.rotation
    at = d @ pose.translation
    if shape.kind == "sphere":
        return at + shape.size[0] * np.linalg.norm(e, axis=1)
    if shape.kind == "capsule":
        return at + shape.size[0] * np.linalg.norm(e, axis=1) + 0.5 * shape.size[1] * np.abs(e[:, 2])
    if shape.kind == "box":
        return at + 0.5 * np.abs(e) @ shape.size
    if shape.kind == "cylinder":
        return at + shape.size[0] * np.hypot(e[:, 0], e[:, 1]) + 0.5 * shape.size[1] * np.abs(e[:, 2])
    if shape.kind == "ellipsoid":
        return at + np.linalg.norm(e * shape.size, axis=1)
    return at + (e @ shape.vertices.T).max(axis=1)


def separation(a: Shape, at_a: Pose, b: Shape, at_b: Pose, n: np.ndarray) -> np.ndarray:
    """How far the shapes are apart along unit vectors n from a to b; the signed distance is its greatest value."""
    return -(support(a, at_a, n) + support(b, at_b, -n))


def unit_vectors(rng: np.random.Generator, count: int) -> np.ndarray:
    x = rng.normal(size=(count, 3))
    return x / np.linalg.norm(x, axis=1)[:, None]


def random_points(rng: np.random.Generator) -> np.ndarray:
    """Twenty points on an ellipsoid."""
    return unit_vectors(rng, 20) * [0.5, 0.4, 0.6]


def convex_mesh(points: np.ndarray) -> TriangleMesh:
    """The skin of the convex hull of points."""
    made = Qhull(points)
    corners = made.simplices.copy()
    a, b, c = (points[corners[:, i]] for i in range(3))
    flip = np.einsum("ij,ij->i", np.cross(b - a, c - a), made.equations[:, :3]) < 0
    corners[flip] = corners[flip][:, ::-1]
    return TriangleMesh(points, corners)


def bumpy_sphere(around: int = 24, high: int = 12) -> TriangleMesh:
    """A closed mesh that is not convex: four bumps around, with poles."""
    turn, rise = np.meshgrid(np.linspace(0, 2 * np.pi, around, endpoint=False), np.linspace(0.2, np.pi - 0.2, high))
    r = 0.5 + 0.15 * np.sin(4 * turn) * np.sin(rise)
    skin = np.stack([r * np.cos(turn) * np.sin(rise), r * np.sin(turn) * np.sin(rise), r * np.cos(rise)], axis=-1)
    number = np.arange(turn.size).reshape(turn.shape)
    a, b, c, d = number[:-1], np.roll(number[:-1], -1, 1), np.roll(number[1:], -1, 1), number[1:]
    sides = [np.stack(t, axis=-1).reshape(-1, 3) for t in ((a, d, c), (a, c, b))]
    top, bottom, next_ = turn.size, turn.size + 1, np.roll(np.arange(around), -1)
    caps = [np.stack([number[0], next_, np.full(around, top)], axis=-1),
            np.stack([number[-1][next_], number[-1], np.full(around, bottom)], axis=-1)]  # fmt: skip
    points = np.concatenate([skin.reshape(-1, 3), [(0, 0, 0.52), (0, 0, -0.52)]])
    return TriangleMesh(points, np.concatenate([*sides, *caps]))
