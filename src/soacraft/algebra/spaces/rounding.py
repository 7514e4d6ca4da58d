"""Columns of rounding: possible errors of the last digits of stacked columns, propagated with them.

With columns x (..., N, m) go columns d (..., N, NOISES m): what rounding may have made of x, in units of the last
digit. They start as random numbers of the sizes of the pieces of x (`Space.pieces`), and every linear map takes them
where it takes x. A number that is no larger than its d, but for a few digits, is nothing but rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
import numpy.typing as npt

from soacraft.algebra.spaces.blocks import Blocks
from soacraft.algebra.spaces.space import Space

Array = npt.NDArray[np.float64]

#: Columns of rounding for each column: by chance one may be small where rounding is not, three are not.
NOISES = 3
#: A result counts as rounding when it is this part of the tolerance (by default 1e-12) of what went into it.
ROUNDING = 1e-3

_measuring: ContextVar[np.random.Generator | None] = ContextVar("measuring", default=None)


@contextmanager
def measuring() -> Iterator[None]:
    """Vectors remember what rounding may have made of them: see `StackedVector.rounding`."""
    token = _measuring.set(np.random.default_rng(0))
    try:
        yield
    finally:
        _measuring.reset(token)


def measurer() -> np.random.Generator | None:
    """Generator of random signs within `measuring()`; None outside."""
    return _measuring.get()


def noise(space: Space, s: Array, rng: np.random.Generator) -> Array:
    """Rounding (..., N, NOISES m) of pieces of sizes s (..., pieces, m): random signs, and no two alike, so that none
    cancel.
    """
    e = _signs((space.size, NOISES, 1), rng)
    return np.asarray(e * s[..., space.piece_of, None, :]).reshape(*s.shape[:-2], space.size, NOISES * s.shape[-1])


def _signs(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Random numbers from -1 to -1/2 and from 1/2 to 1."""
    u = rng.random(shape) - 0.5
    return np.asarray(u + np.copysign(0.5, u))


def noise_blocks(rows: Space, cols: Space, magnitude: Blocks, rng: np.random.Generator) -> Blocks:
    """Blocks of rounding whose pieces have the sizes of a magnitude."""
    entries = {}
    for (i, j), sizes in magnitude.entries.items():
        places = ((rows, magnitude.rows, i), (cols, magnitude.cols, j))
        at = [space.piece_of[space.block(k)] - pieces.offsets[k] for space, pieces, k in places]
        entries[i, j] = _signs((rows.dims[i], cols.dims[j]), rng) * sizes[np.ix_(*at)]
    return Blocks(rows, cols, entries)


def noise_sizes(space: Space, d: Array) -> Array:
    """The sizes (..., pieces, m) of the pieces of rounding d, the largest of those that belong to one column."""
    s = space.sizes(d)
    return np.asarray(s.reshape(*s.shape[:-1], NOISES, s.shape[-1] // NOISES).max(axis=-2))
