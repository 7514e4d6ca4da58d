"""Random shapes and poses of the tests, and the support functions that judge them."""

from __future__ import annotations

import numpy as np

from soacraft.contact import Box, Capsule, ConvexHull, Cylinder, Ellipsoid, Plane, Shape, Sphere
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
