"""Numbers of a block-sparse operator: a dictionary of blocks, applied without forming the rest."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft.algebra.spaces.space import Space

Array = npt.NDArray[np.float64]
Index = tuple[int, int]
Numbers = npt.NDArray[np.int64]


class Group(NamedTuple):
    """Blocks of one shape: where their rows and columns are, and whether each place occurs once."""

    rows: Numbers
    cols: Numbers
    data: Array
    rows_once: bool
    cols_once: bool


def _add(y: Array, where: Numbers, part: Array, once: bool) -> None:
    if once:
        y[..., where, :] += part
    else:
        np.add.at(y, (..., where, slice(None)), part)  # type: ignore[arg-type]


class Blocks:
    """Blocks X(i, j) by (row number, column number); all others are zero. Leading batch axes allowed."""

    def __init__(self, rows: Space, cols: Space, entries: Mapping[Index, Array]) -> None:
        self.rows, self.cols, self.entries = rows, cols, entries

    @cached_property
    def batch(self) -> tuple[int, ...]:
        shapes = {x.shape[:-2] for x in self.entries.values()}
        return np.broadcast_shapes(*shapes) if shapes else ()

    @cached_property
    def _groups(self) -> list[Group]:
        """Blocks of equal shape side by side, so that one product serves them all."""
        by_shape: dict[tuple[int, int], list[Index]] = {}
        for i, j in self.entries:
            by_shape.setdefault((self.rows.dims[i], self.cols.dims[j]), []).append((i, j))
        groups = []
        for (r, c), keys in by_shape.items():
            if r and c:
                where = np.array(keys, dtype=np.int64)
                data = np.stack([np.broadcast_to(self.entries[k], (*self.batch, r, c)) for k in keys], axis=-3)
                rows = self.rows.offsets[where[:, 0]][:, None] + np.arange(r)
                cols = self.cols.offsets[where[:, 1]][:, None] + np.arange(c)
                once = [len(set(where[:, side].tolist())) == len(keys) for side in (0, 1)]
                groups.append(Group(rows, cols, data, once[0], once[1]))
        return groups

    def apply(self, x: Array) -> Array:
        """X times columns (..., N, m)."""
        y = self._zeros(self.rows, x)
        for g in self._groups:
            _add(y, g.rows, g.data @ x[..., g.cols, :], g.rows_once)
        return y

    def apply_T(self, x: Array) -> Array:
        """X* times columns."""
        y = self._zeros(self.cols, x)
        for g in self._groups:
            _add(y, g.cols, g.data.mT @ x[..., g.rows, :], g.cols_once)
        return y

    def _zeros(self, space: Space, x: Array) -> Array:
        return np.zeros((*np.broadcast_shapes(self.batch, x.shape[:-2]), space.size, x.shape[-1]))

    def block(self, i: int, j: int) -> Array:
        found = self.entries.get((i, j))
        return np.zeros((*self.batch, self.rows.dims[i], self.cols.dims[j])) if found is None else found

    def transposed(self) -> Blocks:
        return self._transposed

    @cached_property
    def _transposed(self) -> Blocks:
        return Blocks(self.cols, self.rows, {(j, i): x.mT for (i, j), x in self.entries.items()})

    @cached_property
    def _by_row(self) -> dict[int, list[tuple[int, Array]]]:
        found: dict[int, list[tuple[int, Array]]] = {}
        for (i, j), x in self.entries.items():
            found.setdefault(i, []).append((j, x))
        return found

    def scaled(self, c: float) -> Blocks:
        return Blocks(self.rows, self.cols, {k: c * x for k, x in self.entries.items()})

    def plus(self, other: Blocks) -> Blocks:
        entries = dict(self.entries)
        for k, x in other.entries.items():
            entries[k] = entries[k] + x if k in entries else x
        return Blocks(self.rows, self.cols, entries)

    def times(self, other: Blocks) -> Blocks:
        """The product, block by block; only blocks that meet are touched."""
        if len(other.entries) < len(self.entries):  # few blocks, as in derivatives: the others are left alone
            left = self._transposed._by_row
            meeting = [(i, j, x.mT, y) for (k, j), y in other.entries.items() for i, x in left.get(k, ())]
        else:
            right = other._by_row
            meeting = [(i, j, x, y) for (i, k), x in self.entries.items() for j, y in right.get(k, ())]
        entries: dict[Index, Array] = {}
        for i, j, x, y in meeting:
            part = x @ y
            entries[i, j] = entries[i, j] + part if (i, j) in entries else part
        return Blocks(self.rows, other.cols, entries)

    def diagonal_of_product(self, other: Blocks) -> list[Array]:
        """The diagonal blocks of X Y alone: sum over k of X(i, k) Y(k, i)."""
        entries: dict[Index, Array] = {}
        for (i, k), x in self.entries.items():
            y = other.entries.get((k, i))
            if y is not None:
                entries[i, i] = entries[i, i] + x @ y if (i, i) in entries else x @ y
        return Blocks(self.rows, other.cols, entries).diagonal()

    @cached_property
    def magnitude(self) -> Blocks:
        """The largest entry of each piece, over all states of a batch: what X does at most to the sizes of pieces."""
        rows, cols = self.rows.in_pieces, self.cols.in_pieces
        entries: dict[Index, Array] = {}
        for (i, j), x in self.entries.items():
            if not x.size:
                continue
            largest = np.abs(x).reshape(-1, *x.shape[-2:]).max(axis=0)
            if rows.dims[i] > 1 or cols.dims[j] > 1:
                largest = np.maximum.reduceat(largest, _starts(self.rows, rows, i), axis=0)
                largest = np.maximum.reduceat(largest, _starts(self.cols, cols, j), axis=1)
            else:
                largest = largest.max(keepdims=True)
            entries[i, j] = largest
        return Blocks(rows, cols, entries)

    def or_larger(self, other: Blocks) -> Blocks:
        """Blocks with the larger of each entry, for magnitudes."""
        entries = dict(self.entries)
        for k, x in other.entries.items():
            entries[k] = np.maximum(entries[k], x) if k in entries else x
        return Blocks(self.rows, self.cols, entries)

    def bounded(self) -> Blocks:
        """Bound |X(i,j)| <= sqrt(|X(i,i)| |X(j,j)|) within each block, for the magnitude of a symmetric operator."""
        entries: dict[Index, Array] = {}
        for (i, j), x in self.entries.items():
            root = np.sqrt(np.diagonal(x)) if i == j else None
            entries[i, j] = x if root is None else np.maximum(x, root[:, None] * root)
        return Blocks(self.rows, self.cols, entries)

    def diagonal(self) -> list[Array]:
        return [self.block(k, k) for k in range(len(self.rows))]


def _starts(space: Space, pieces: Space, i: int) -> Numbers:
    """Offsets within block i at which its pieces start."""
    return np.asarray(space.pieces[pieces.block(i)] - space.offsets[i])


def identity(space: Space) -> Blocks:
    return Blocks(space, space, {(k, k): np.eye(d) for k, d in enumerate(space.dims)})
