"""Block by block products for thousands of nodes: blocks of equal shapes side by side, in one call of numpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def blockwise(work: Callable[..., Array], *lists: Sequence[Array]) -> list[Array]:
    """work(x, y, ...) for the blocks x, y, ... at each place of the lists; leading batch axes allowed.

    `work` must treat leading axes as numpy's matrix product does.

    >>> blockwise(lambda x, y: x @ y, [np.eye(2), np.ones((1, 1))], [np.ones((2, 1)), np.ones((1, 3))])[1]
    array([[1., 1., 1.]])
    """
    places: dict[tuple[tuple[int, ...], ...], list[int]] = {}
    for i, blocks in enumerate(zip(*lists, strict=True)):
        places.setdefault(tuple([x.shape for x in blocks]), []).append(i)
    found: dict[int, Array] = {}
    for where in places.values():
        stacks = (np.moveaxis(np.array([blocks[i] for i in where]), 0, -3) for blocks in lists)
        found.update(zip(where, np.moveaxis(work(*stacks), -3, 0), strict=True))
    return [found[i] for i in range(len(found))]
