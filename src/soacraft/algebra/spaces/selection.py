"""Several blocks of a space at once: `"link1":"link3"`, `["link1", "link4"]`, as in `V["link1":"link3"]`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.spaces.space import Space
from soacraft.errors import SpaceError

Numbers = npt.NDArray[np.int64]


def is_several(index: Any) -> bool:
    """True if an index means a list of blocks: a slice, a list or a tuple of labels."""
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
    """Blocks of a slice in a numbering from 1: a slice of numbers excludes its end, one of names includes both ends."""

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
    """Positions of the numbers of some blocks in a stacked vector."""
    every = [np.arange(space.offsets[k], space.offsets[k + 1]) for k in blocks]
    return np.concatenate([np.zeros(0, dtype=np.int64), *every])
