"""`Voxels`: the cubes of a grid that points of a scan are in, as one solid.

Cubes as shapes of their own would each be looked at in every query. As one solid only their common surface is kept, its
faces merged to rectangles, in the tree of boxes of the contact layer: a query costs O(log) of their number, and gives
one distance, to the nearest cube.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.contact.geometry.compiled import contact_mesh
from soacraft.contact.geometry.shapes import Shape
from soacraft.errors import StateError
from soacraft.spatial.checks import Array, finite

Integers = npt.NDArray[np.int64]

#: The longest row of cubes from end to end; numbers of cubes are products of three such, plus room for neighbours.
MOST = 1 << 20


class Voxels(Shape):
    """The cubes of edge `size`, on a grid through the origin, that hold the points (n, 3): every point is in one.

    >>> Voxels([(0.01, 0.0, 0.0), (0.03, 0.0, 0.0), (0.05, 0.0, 0.0)], 0.02)
    Voxels(3 cubes of 0.02 m, 12 triangles)
    """

    kind = "mesh"
    cells: Integers
    """The whole numbers of the cubes, (cubes, 3): cube c is from c size to (c + 1) size."""
    size: float
    vertices: Array
    triangles: Integers

    def __init__(self, points: Any, size: float) -> None:
        cloud = finite(points, (None, 3), "the points of a scan", StateError)
        edge = float(finite(size, (), "voxel", StateError))
        if not edge > 0.0:
            raise StateError(f"voxel must be positive, got {size!r:.40}.")
        if not len(cloud):
            raise StateError("a scan has no points.")
        across = float(np.ptp(cloud, axis=0).max()) / edge
        away = float(np.abs(cloud).max()) / edge
        if across > MOST - 4 or away > 2.0**50:
            raise StateError(
                f"the points reach over {across:.3g} voxels, {away:.3g} from the origin; {MOST} is the most: give a "
                f"larger voxel than {edge:g} m, or cut off what is far away."
            )
        cells = np.unique(_cells(cloud, edge), axis=0)
        self._take_cells(cells, edge)

    def _take_cells(self, cells: Integers, edge: float) -> None:
        corners, triangles = _surface(cells)
        self._require_size(min(float(np.abs(corners).max()) * edge, np.finfo(np.float64).max))
        vertices = np.ascontiguousarray(corners * edge)
        self._take(contact_mesh(vertices, triangles.ravel(), True))
        for x in (cells, vertices, triangles):
            x.setflags(write=False)
        shown = f"{len(cells)} cubes of {edge:g} m, {len(triangles)} triangles"
        self._set(cells=cells, size=edge, vertices=vertices, triangles=triangles, _shown=shown)

    def _key(self) -> Any:
        return self.size, self.cells.tobytes()

    def __reduce__(self) -> Any:
        return Voxels, ((self.cells + 0.5) * self.size, self.size)


def _cells(points: Array, edge: float) -> Integers:
    """The cube of each point, such that its corners as they are rounded hold it."""
    cells = np.floor(points / edge)
    cells -= points < cells * edge
    cells += points > (cells + 1.0) * edge
    return cells.astype(np.int64)


def _surface(cells: Integers) -> tuple[Integers, Integers]:
    """Corners (whole numbers) and triangles of the faces that only one cube has, merged. O(cubes log cubes)."""
    low = cells.min(axis=0) - 1
    at = cells - low
    step = np.array([1, 2 * MOST, 4 * MOST * MOST])
    keys = np.sort(at @ step)
    corners: list[Integers] = []
    for axis in range(3):
        for side in (0, 1):
            neighbour = at @ step + (2 * side - 1) * step[axis]
            place = np.minimum(np.searchsorted(keys, neighbour), len(keys) - 1)
            bare = at[keys[place] != neighbour]
            first, second = (axis + 1) % 3, (axis + 2) % 3
            if not len(bare):
                continue
            lower, upper = bare.copy(), bare + 1
            for along in (first, second):
                lower, upper = _merge(lower, upper, along)
            four = np.repeat(lower[:, None, :], 4, axis=1)
            four[:, :, axis] += side
            four[:, 1:3, first], four[:, 2:, second] = upper[:, None, first], upper[:, None, second]
            corners.append(four if side else four[:, ::-1])
    quads = np.concatenate(corners).reshape(-1, 3)
    points, number = np.unique(quads, axis=0, return_inverse=True)
    a, b, c, d = number.reshape(-1, 4).T
    triangles = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    return points + low, np.ascontiguousarray(triangles, dtype=np.int64)


def _merge(lower: Integers, upper: Integers, along: int) -> tuple[Integers, Integers]:
    """Boxes that are alike across an axis and follow each other along it become one."""
    others = [i for i in range(3) if i != along]
    order = np.lexsort((lower[:, along], *(x[:, i] for i in others for x in (lower, upper))))
    lower, upper = lower[order], upper[order]
    joined = lower[1:, along] == upper[:-1, along]
    for i in others:
        joined &= (lower[1:, i] == lower[:-1, i]) & (upper[1:, i] == upper[:-1, i])
    start = np.flatnonzero(np.concatenate([[True], ~joined]))
    end = np.concatenate([start[1:], [len(lower)]]) - 1
    ends = upper[start].copy()
    ends[:, along] = upper[end, along]
    return lower[start], ends
