"""The compiled twins of the sweeps, on flat arrays. Batched weights run the Python recursion itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from soacraft import _core
from soacraft.algebra.space import Space
from soacraft.algebra.tree import Tree
from soacraft.recursions.gather import gather, gather_tilde
from soacraft.recursions.scatter import scatter, scatter_tilde

Array = npt.NDArray[np.float64]


class Sweeps:
    """The weights A(p(k), k) of a tree, packed once, for products of A, A - I and their transposes with columns."""

    def __init__(self, tree: Tree, space: Space, edges: Sequence[Array | None]) -> None:
        self.tree, self.space, self.edges = tree, space, edges
        self.batched = any(x is not None and x.ndim > 2 for x in edges)
        if not self.batched:
            flat = [np.empty(0) if x is None else np.ravel(x) for x in edges]
            self._edge = np.concatenate([np.empty(0), *flat])
            self._edge_offset = np.cumsum([0, *(len(x) for x in flat)], dtype=np.int64)
            self._order = np.array(tree.base_to_tips(), dtype=np.int64)
            self._parent = np.array(tree.parents, dtype=np.int64)

    def A(self, p: int, k: int) -> Array:
        """The weight of the edge from k to its parent."""
        weight = self.edges[k]
        assert weight is not None and self.tree.parents[k] == p
        return weight

    def gather(self, x: Array, tilde: bool = False) -> Array:
        """A x, or (A - I) x."""
        if self.batched:
            return self._recursion(gather_tilde if tilde else gather, x)
        return self._compiled(_core.gather, x, tilde)

    def scatter(self, x: Array, tilde: bool = False) -> Array:
        """A* x, or (A - I)* x."""
        if self.batched:
            return self._recursion(scatter_tilde if tilde else scatter, x)
        return self._compiled(_core.scatter, x, tilde)

    def _compiled(self, sweep: Callable[..., Array], x: Array, tilde: bool) -> Array:
        parts = (self._order, self._parent, self.space.offsets, self._edge, self._edge_offset)
        return on_columns(lambda flat: sweep(*parts, flat, tilde), x)

    def _recursion(self, sweep: Callable[..., dict[int, Array]], x: Array) -> Array:
        y = sweep(self.tree, self.A, self.space.split(x))
        batch = np.broadcast_shapes(*{block.shape[:-2] for block in y.values()}) if y else x.shape[:-2]
        blocks = [np.broadcast_to(y[k], (*batch, *y[k].shape[-2:])) for k in range(self.tree.n)]
        return np.concatenate(blocks, axis=-2) if blocks else x


class PackedBlocks:
    """A list of blocks X(i, j), packed once, for products with columns."""

    def __init__(self, rows: Space, cols: Space, entries: Mapping[tuple[int, int], Array]) -> None:
        where = np.array(list(entries), dtype=np.int64).reshape(-1, 2)
        flat = [np.ravel(x) for x in entries.values()]
        offset = np.cumsum([0, *(len(x) for x in flat)], dtype=np.int64)
        data = np.concatenate([np.empty(0), *flat])
        row, col = np.ascontiguousarray(where[:, 0]), np.ascontiguousarray(where[:, 1])
        self._parts = (row, col, rows.offsets, cols.offsets, data, offset)

    def apply(self, x: Array, transposed: bool) -> Array:
        """X x, or X* x."""
        return on_columns(lambda flat: _core.block_apply(*self._parts, flat, transposed), x)


def on_columns(sweep: Callable[[Array], Array], x: Array) -> Array:
    """Run a sweep on (..., N, m) by laying the batch beside the columns."""
    if x.ndim == 2:
        return sweep(np.ascontiguousarray(x))
    *batch, size, m = x.shape
    count = math.prod(batch)
    flat = np.ascontiguousarray(np.moveaxis(x.reshape(count, size, m), 0, 1)).reshape(size, count * m)
    y = sweep(flat)
    return np.moveaxis(y.reshape(len(y), count, m), 1, 0).reshape(*batch, len(y), m)
