"""A dataset of a log that grows by rows.

Its chunks of BLOCK rows are written whole, past the caches and conversions of HDF5, where they are those of a log of
ours; the last one, which is not full yet, is kept in memory, and written by `settle`. Others grow as HDF5 lets them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.spatial.checks import Array

#: Rows of a chunk.
BLOCK = 256
#: Bytes of a chunk beyond which HDF5 writes rows without its cache, so that few of them cost little.
_CACHED = 2**20


class LogDataset:
    """A dataset of h5py with the rows that it has."""

    def __init__(self, data: Any, rows: int) -> None:
        self.data, self._rows = data, rows
        self._last: Array | None = None  # the chunk in which the next row is
        size, kind = data.shape[1:], np.dtype(np.float64)
        if data.dtype == kind and data.chunks == (BLOCK, *size) and BLOCK * int(np.prod(size)) * 8 <= _CACHED:
            self._last = np.zeros((BLOCK, *size))
            first = rows - rows % BLOCK
            if rows > first:
                self._last[: rows - first] = data[first:rows]

    def append(self, rows: Any) -> None:
        """Take rows behind those that it has; those of the last chunk are written by `settle`."""
        begin, end = self._rows, self._rows + len(rows)
        if self._last is None:
            self.data.resize(end, axis=0)
            self.data[begin:] = rows
        else:
            self.data.id.set_extent((end, *self._last.shape[1:]))
            self._write(self._last, rows)
        self._rows = end

    def settle(self) -> None:
        """Write the filled part of the last chunk."""
        if self._last is not None and self._rows % BLOCK:
            self._put(self._rows - self._rows % BLOCK, self._last)

    def _write(self, last: Array, rows: Array) -> None:
        at, done = self._rows - self._rows % BLOCK, 0
        while done < len(rows):
            begin = self._rows + done - at
            count = min(BLOCK - begin, len(rows) - done)
            if count == BLOCK:
                self._put(at, np.ascontiguousarray(rows[done : done + BLOCK], dtype=np.float64))
            else:
                last[begin : begin + count] = rows[done : done + count]
                if begin + count == BLOCK:
                    self._put(at, last)
            at, done = at + BLOCK, done + count

    def _put(self, at: int, chunk: Array) -> None:
        self.data.id.write_direct_chunk((at, *(0,) * (chunk.ndim - 1)), chunk)
