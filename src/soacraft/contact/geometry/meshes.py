"""Shapes of many points: convex hulls, triangle meshes, height fields."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.spatial import ConvexHull as Qhull
from scipy.spatial import QhullError

from soacraft.contact.geometry.compiled import contact_hull, contact_mesh
from soacraft.contact.geometry.shapes import Shape
from soacraft.errors import ModelError
from soacraft.spatial.checks import Array, finite
from soacraft.spatial.rotations import axes_along

Integers = npt.NDArray[np.int64]

#: Faces of a hull whose normals differ by less, in radians, are one face: files have six or seven digits.
ONE_FACE = 1e-5
#: A triangle with a height below this part of its longest edge has no normal.
DEGENERATE = 1e-12


class ConvexHull(Shape):
    """The convex hull of points (n, 3).

    >>> ConvexHull([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
    ConvexHull(4 vertices, 4 faces)
    """

    kind = "hull"
    vertices: Array

    def __init__(self, points: Any) -> None:
        cloud = finite(points, (None, 3), "the points of a ConvexHull")
        self._require_size(float(np.abs(cloud).max(initial=0.0)))
        if len(cloud) < 4:
            raise ModelError(f"a ConvexHull needs at least 4 points that are not in a plane, got {len(cloud)}.")
        vertices, hull = cloud, _hull_of(cloud)
        while len(hull.vertices) < len(vertices):  # so that the hull of its vertices is the same, bit by bit
            vertices = vertices[np.sort(hull.vertices)]
            hull = _hull_of(vertices)
        vertices = np.ascontiguousarray(vertices)
        normals, faces = _faces(hull, vertices)
        offsets = (vertices @ normals.T).max(axis=0)
        near = _neighbours(hull.simplices.astype(np.int64), len(vertices))
        self._take(contact_hull(vertices, normals, offsets, *_ragged(faces), *_ragged(near)))
        vertices.setflags(write=False)
        self._set(vertices=vertices, _shown=f"{len(vertices)} vertices, {len(faces)} faces")

    def _key(self) -> Any:
        return self.vertices.tobytes()

    def __reduce__(self) -> Any:
        return ConvexHull, (np.array(self.vertices),)


def _hull_of(points: Array) -> Any:
    middle, size = points.mean(axis=0), float(np.ptp(points, axis=0).max())
    try:
        return Qhull((points - middle) / (size or 1.0))
    except (QhullError, ValueError):
        raise ModelError(
            f"the {len(points)} points of a ConvexHull are in a plane, and have no volume; use a thin Box, or a "
            "TriangleMesh."
        ) from None


def _faces(hull: Any, points: Array) -> tuple[Array, list[Integers]]:
    """Normals of faces and their vertices, counter-clockwise from outside; triangles of one plane are one face."""
    normals, neighbours = hull.equations[:, :3], hull.neighbors
    owner = np.full(len(normals), -1, dtype=np.int64)
    faces: list[Integers] = []
    directions: list[Array] = []
    for start in range(len(normals)):
        if owner[start] >= 0:
            continue
        owner[start], queue, members = len(directions), [start], []
        while queue:
            at = queue.pop()
            members.append(at)
            for other in neighbours[at]:
                if owner[other] < 0 and np.linalg.norm(normals[other] - normals[start]) < ONE_FACE:
                    owner[other] = len(directions)
                    queue.append(int(other))
        n, u, v = axes_along(normals[start])
        corners = np.unique(hull.simplices[members])
        x = points[corners] - points[corners].mean(axis=0)
        around = np.argsort(np.arctan2(x @ v, x @ u), kind="stable")
        faces.append(corners[around].astype(np.int64))
        directions.append(n)
    return np.ascontiguousarray(directions), faces


def _neighbours(triangles: Integers, count: int) -> list[Integers]:
    pairs = np.concatenate([triangles[:, [i, j]] for i in range(3) for j in range(3) if i != j])
    pairs = np.unique(pairs, axis=0)
    return np.split(pairs[:, 1], np.searchsorted(pairs[:, 0], np.arange(1, count)))


def _ragged(lists: list[Integers]) -> tuple[Integers, Integers]:
    starts = np.concatenate([[0], np.cumsum([len(x) for x in lists])]).astype(np.int64)
    return starts, np.concatenate(lists).astype(np.int64)


class TriangleMesh(Shape):
    """A mesh of triangles (m, 3) on vertices (n, 3), counter-clockwise seen from outside.

    Vertices in one place are joined. Where every edge is between two triangles that agree on the outward side, the mesh
    is `closed`: it is a solid. Inside out, it is turned (`inverted`). Otherwise it is a surface with two sides, which
    has no inside. Triangles without area are left out, and counted in `dropped`; so are vertices of no triangle.

    >>> tetrahedron = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    >>> TriangleMesh(tetrahedron, [(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)])
    TriangleMesh(4 vertices, 4 triangles, closed)
    """

    kind = "mesh"
    vertices: Array
    triangles: Integers
    closed: bool
    inverted: bool
    dropped: int

    def __init__(self, vertices: Any, triangles: Any) -> None:
        cloud = finite(vertices, (None, 3), "the vertices of a TriangleMesh")
        self._require_size(float(np.abs(cloud).max(initial=0.0)))
        corners = _read_triangles(triangles, len(cloud))
        points, where = np.unique(cloud + 0.0, axis=0, return_inverse=True)
        corners = where.reshape(-1)[corners].astype(np.int64)
        corners = corners[(corners != np.roll(corners, 1, axis=1)).all(axis=1)]
        closed = _closed(corners, len(points))
        inverted = closed and _volume(points, corners) < 0.0
        if inverted:
            corners = corners[:, ::-1]
        good = _with_area(points, corners)
        dropped = len(np.asarray(triangles)) - int(good.sum())
        if not good.any():
            raise ModelError(f"a TriangleMesh needs a triangle with area; none of the {len(where)} given has one.")
        used, corners = np.unique(corners[good], return_inverse=True)  # vertices of no triangle are no part of it
        self._take_parts(points[used], corners.reshape(-1, 3), closed, inverted, dropped)

    @classmethod
    def restored(cls, vertices: Any, triangles: Any, closed: bool, inverted: bool, dropped: int) -> TriangleMesh:
        """The mesh of which these are the fields, bit by bit: whether it is closed was decided by all triangles that it
        was first given, not by those that are left.

        >>> mesh = TriangleMesh([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2), (0, 1, 1)])
        >>> TriangleMesh.restored(mesh.vertices, mesh.triangles, mesh.closed, mesh.inverted, mesh.dropped) == mesh
        True
        """
        mesh = cls.__new__(cls)
        points = finite(vertices, (None, 3), "the vertices of a TriangleMesh")
        mesh._require_size(float(np.abs(points).max(initial=0.0)))
        mesh._take_parts(points, _read_triangles(triangles, len(points)), bool(closed), bool(inverted), int(dropped))
        return mesh

    def _take_parts(self, points: Array, corners: Integers, closed: bool, inverted: bool, dropped: int) -> None:
        points = np.ascontiguousarray(points)
        corners = np.ascontiguousarray(corners, dtype=np.int64)
        self._take(contact_mesh(points, corners.ravel(), closed))
        points.setflags(write=False)
        corners.setflags(write=False)
        more = "closed" if closed else "open, two-sided"
        more += f", {dropped} without area left out" * (dropped > 0) + ", was inside out" * inverted
        self._set(vertices=points, triangles=corners, closed=closed, inverted=inverted, dropped=dropped,
                  _shown=f"{len(points)} vertices, {len(corners)} triangles, {more}")  # fmt: skip

    def _key(self) -> Any:
        return self.vertices.tobytes(), self.triangles.tobytes()

    def __reduce__(self) -> Any:
        fields = np.array(self.vertices), np.array(self.triangles), self.closed, self.inverted, self.dropped
        return TriangleMesh.restored, fields


def _read_triangles(triangles: Any, count: int) -> Integers:
    corners = np.asarray(triangles)
    if corners.ndim != 2 or corners.shape[1] != 3 or len(corners) == 0 or corners.dtype.kind not in "iu":
        raise ModelError(
            f"the triangles of a TriangleMesh must be whole numbers of shape (any, 3), got {corners.dtype} of shape "
            f"{corners.shape}."
        )
    if corners.min() < 0 or corners.max() >= count:
        wrong = int(corners.min()) if corners.min() < 0 else int(corners.max())
        raise ModelError(f"a triangle of a TriangleMesh names vertex {wrong}, but there are {count}, from 0.")
    return corners.astype(np.int64)


def _closed(corners: Integers, count: int) -> bool:
    """True if each edge is there once in each direction. O(m log m)."""
    if len(corners) < 4:
        return False
    edges = np.concatenate([corners[:, [i, (i + 1) % 3]] for i in range(3)])
    forward, backward = np.sort(edges[:, 0] * count + edges[:, 1]), np.sort(edges[:, 1] * count + edges[:, 0])
    return bool(np.array_equal(forward, backward) and (forward[1:] != forward[:-1]).all())


def _volume(points: Array, corners: Integers) -> float:
    x = points - points.mean(axis=0)
    a, b, c = (x[corners[:, i]] for i in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)))


def _with_area(points: Array, corners: Integers) -> npt.NDArray[np.bool_]:
    a, b, c = (points[corners[:, i]] for i in range(3))
    longest = np.max([np.einsum("ij,ij->i", e, e) for e in (b - a, c - b, a - c)], axis=0)
    return np.asarray(np.linalg.norm(np.cross(b - a, c - a), axis=1) > DEGENERATE * longest, dtype=np.bool_)


class HeightField(Shape):
    """Ground as heights (rows, columns) over a rectangle x by y about the origin; rows go along y, columns along x.

    Each cell is two triangles. The ground is solid down to `bottom` (default: below the lowest height by the longer
    side).

    >>> HeightField([[0.0, 0.0], [0.0, 1.0]], x=2.0, y=2.0)
    HeightField(2 x 2 heights over 2 x 2 m, 0 to 1 m)
    """

    kind = "heightfield"
    heights: Array
    size: tuple[float, float, float]

    def __init__(self, heights: Any, x: float, y: float, bottom: float | None = None) -> None:
        z = finite(heights, (None, None), "the heights of a HeightField")
        rows, columns = z.shape
        if rows < 2 or columns < 2:
            raise ModelError(f"a HeightField needs at least 2 x 2 heights, got {rows} x {columns}.")
        wide = [float(finite(side, (), f"{name} of a HeightField")) for side, name in ((x, "x"), (y, "y"))]
        if min(wide) <= 0.0:
            raise ModelError(f"x and y of a HeightField must be positive, got {wide[0]:g} and {wide[1]:g}.")
        base = float(z.min()) - max(wide) if bottom is None else float(finite(bottom, (), "bottom of a HeightField"))
        if base >= z.min():
            raise ModelError(f"bottom of a HeightField must be below its heights, from {z.min():g} on, got {base:g}.")
        self._require_size(max(0.5 * wide[0], 0.5 * wide[1], float(np.abs(z).max()), abs(base)))
        self._take(contact_mesh(*_ground(z, wide[0], wide[1], base), True))
        z.setflags(write=False)
        shown = f"{rows} x {columns} heights over {wide[0]:g} x {wide[1]:g} m, {z.min():g} to {z.max():g} m"
        self._set(heights=z, size=(wide[0], wide[1], base), _shown=shown)

    def _key(self) -> Any:
        return self.heights.shape, self.heights.tobytes(), self.size

    def __reduce__(self) -> Any:
        return HeightField, (np.array(self.heights), *self.size)


def _ground(z: Array, x: float, y: float, base: float) -> tuple[Array, Integers]:
    """A closed mesh: the top, a copy of its rim at the base, sides between them, and a fan at the bottom."""
    rows, columns = z.shape
    X, Y = np.meshgrid(np.linspace(-0.5 * x, 0.5 * x, columns), np.linspace(-0.5 * y, 0.5 * y, rows))
    top = np.stack([X, Y, z], axis=-1).reshape(-1, 3)
    number = np.arange(rows * columns).reshape(rows, columns)
    a, b, c, d = (number[i : rows - 1 + i, j : columns - 1 + j].ravel() for i, j in ((0, 0), (0, 1), (1, 1), (1, 0)))
    cells = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    rim = np.concatenate([number[0, :-1], number[:-1, -1], number[-1, :0:-1], number[:0:-1, 0]])  # counter-clockwise
    below, middle = rows * columns + np.arange(len(rim)), rows * columns + len(rim)
    foot = top[rim].copy()
    foot[:, 2] = base
    after, below_after = np.roll(rim, -1), np.roll(below, -1)
    sides = np.concatenate([np.stack([rim, below, below_after], axis=1), np.stack([rim, below_after, after], axis=1)])
    floor = np.stack([below, np.full(len(rim), middle), below_after], axis=1)
    points = np.concatenate([top, foot, [[0.0, 0.0, base]]])
    return np.ascontiguousarray(points), np.concatenate([cells, sides, floor]).astype(np.int64).ravel()
