"""Voxels: cubes of one size that fill a box."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from soacraft.errors import SizeError, StateError
from soacraft.spatial.checks import Array, finite

#: Voxels at most.
MOST = 10_000_000


class Grid(NamedTuple):
    """`counts` (3) cubes of edge `spacing`, the centre of the first at `first` (3)."""

    first: Array
    spacing: float
    counts: tuple[int, int, int]

    @property
    def centers(self) -> Array:
        """(voxels, 3): x changes slowest."""
        axes = [self.first[i] + self.spacing * np.arange(n) for i, n in enumerate(self.counts)]
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)

    def voxel_of(self, points: Array) -> Any:
        """The number of the voxel that each point (..., 3) is in; -1 outside."""
        cell = np.floor((points - self.first) / self.spacing + 0.5).astype(np.int64)
        inside = ((cell >= 0) & (cell < np.array(self.counts))).all(axis=-1)
        n = self.counts
        return np.where(inside, (cell[..., 0] * n[1] + cell[..., 1]) * n[2] + cell[..., 2], -1)


def read_grid(box: Any, spacing: Any, reach: float, middle: Array) -> Grid:
    """A grid from a box ((x, y, z), (x, y, z)) of the centres of its corners, by default a cube about `middle` that
    holds all within `reach`; an axis with both ends alike has one layer."""
    edge = 0.1 * reach if spacing is None else float(finite(spacing, (), "spacing", StateError))
    if not edge > 0.0:
        raise StateError(f"spacing must be positive, in metres; got {spacing!r:.40}.")
    if box is None:
        half = edge * np.ceil(reach / edge)
        ends = np.array([middle - half, middle + half])
    else:
        ends = finite(box, (2, 3), "box", StateError)
    if (ends[1] < ends[0]).any():
        raise StateError(f"box is (lower corner, upper corner), got {ends[0].tolist()} and {ends[1].tolist()}.")
    counts = np.floor((ends[1] - ends[0]) / edge + 1e-9) + 1
    if np.prod(counts) > MOST:
        raise SizeError(f"a map of {np.prod(counts):.3g} voxels is more than {MOST:,}: take a larger spacing=.")
    # the remainder is shared by both ends
    first = ends[0] + 0.5 * (ends[1] - ends[0] - edge * (counts - 1))
    return Grid(first, edge, (int(counts[0]), int(counts[1]), int(counts[2])))
