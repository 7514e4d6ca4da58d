"""Several blocks at once: `expr["link1":"link3", :]`, `expr[["link1", "link4"], "link2"]`, `V["link1":"link3"]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.space import Space, offsets_of
from soacraft.errors import SpaceError

if TYPE_CHECKING:
    from soacraft.algebra.operator import Operator

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


def is_several(index: Any) -> bool:
    """Whether an index means a list of blocks: a slice, a list or a tuple of labels."""
    return isinstance(index, (slice, list, tuple, np.ndarray))


def chosen(space: Space, index: Any) -> list[int]:
    """The numbers of the blocks an index means.

    A slice of names takes both ends along; one of numbers leaves its end out, as Python does. Blocks come in the order
    of the space (base first), those of a list in the order of the list.

    >>> arm = Space("body", ["base", "mid", "tip"], [6, 6, 6], owner="arm")
    >>> chosen(arm, slice("base", "mid")), chosen(arm, slice(0, 1)), chosen(arm, ["tip", "base"]), chosen(arm, "mid")
    ([0, 1], [0], [2, 0], [1])
    """
    if isinstance(index, slice):
        return _between(space, index)
    if not is_several(index):
        return [space.index(index)]
    if isinstance(index, np.ndarray) and (index.ndim != 1 or index.dtype.kind not in "iuU"):
        raise SpaceError(f"blocks of {space} are chosen by a list of labels, not by an array of {index.dtype}.")
    found = [space.index(label) for label in index]
    if len(set(found)) < len(found):
        twice = next(k for k in found if found.count(k) > 1)
        raise SpaceError(f"the list of blocks of {space} names {space.labels[twice]!r} twice.")
    return found


def _between(space: Space, index: slice) -> list[int]:
    if index.step is not None:
        raise SpaceError(f"blocks of {space} are chosen one after another: a slice of them takes no step.")
    if space.numbering is not None:
        return _between_numbers(space, index)
    start = 0 if index.start is None else _end(space, index.start)
    if index.stop is None:
        stop = len(space)
    elif _is_number(index.stop):
        stop = _end(space, index.stop)
    else:
        stop = space.index(index.stop) + 1
        if start >= stop:
            raise SpaceError(
                f"there is nothing from {space.labels[start]!r} to {space.labels[stop - 1]!r} in {space}: blocks are "
                "in the order of its labels, base first."
            )
    return list(range(start, stop))


def _between_numbers(space: Space, index: slice) -> list[int]:
    """In a numbering from 1: a slice of numbers leaves its end out, one of names takes both ends along."""

    def place(end: Any, whole: int, last: int) -> int:
        if end is None:
            return whole
        if _is_number(end):
            return min(max(int(end) - 1, 0), len(space))
        return space.order.index(space.index(end)) + last

    start, stop = place(index.start, 0, 0), place(index.stop, len(space), 1)
    if start >= stop and not (_is_number(index.start) or _is_number(index.stop)):
        raise SpaceError(
            f"there is nothing from {index.start!r} to {index.stop!r} in {space}: blocks are in the order of its "
            "numbering."
        )
    return list(space.order[start:stop])


def _end(space: Space, end: Any) -> int:
    """An end of a slice: numbers beyond the blocks stop at them, as in Python."""
    return slice(int(end), None).indices(len(space))[0] if _is_number(end) else space.index(end)


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, np.integer)) and not isinstance(x, bool)


def entries(space: Space, blocks: list[int]) -> Numbers:
    """Where the numbers of some blocks are in a stacked vector."""
    every = [np.arange(space.offsets[k], space.offsets[k + 1]) for k in blocks]
    return np.concatenate([np.zeros(0, dtype=np.int64), *every])


def submatrix(expr: Operator, i: Any, j: Any) -> Array:
    """The dense matrix of some block rows and columns. Sparse operators look their blocks up; others go through one
    sweep with the columns, or with the rows where these are fewer.
    """
    (rows, cols), batch = expr.spaces, expr.batch
    left, right = chosen(rows, i), chosen(cols, j)
    r, c = entries(rows, left), entries(cols, right)
    if expr.pattern() is not None:
        found = _looked_up(expr, left, right)
    elif len(c) <= len(r):
        found = expr.apply(_unit(cols, c))[..., r, :]
    else:
        found = expr.apply_T(_unit(rows, r))[..., c, :].mT
    return np.array(np.broadcast_to(found, (*batch, len(r), len(c))))


def _looked_up(expr: Operator, left: list[int], right: list[int]) -> Array:
    rows, cols = expr.spaces
    blocks = expr.blocks()
    top, at = _places(rows, left), _places(cols, right)
    found = np.zeros((*blocks.batch, sum(rows.dims[k] for k in left), sum(cols.dims[k] for k in right)))
    for (i, j), x in blocks.entries.items():
        if i in top and j in at:
            found[..., top[i], at[j]] = x
    return found


def _places(space: Space, blocks: list[int]) -> dict[int, slice]:
    """Where each chosen block goes."""
    ends = offsets_of(space.dims[k] for k in blocks).tolist()
    return {k: slice(ends[n], ends[n + 1]) for n, k in enumerate(blocks)}


def _unit(space: Space, which: Numbers) -> Array:
    """Columns `which` of the identity of a space."""
    x = np.zeros((space.size, len(which)))
    x[which, np.arange(len(which))] = 1.0
    return x
