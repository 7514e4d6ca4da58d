"""Differences of the blocks of an SKO model of functions, and what they say of derivatives that a user gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft.errors import ModelError

Array = npt.NDArray[np.float64]
Blocks = list[Array | None]

OFFSETS = (-2.0, -1.0, 1.0, 2.0)
#: Part of a rate by which a derivative may miss differences, in addition to their error.
AGREEMENT = 1e-6
#: Steps that are tried, as parts of the model's own: the coordinates may be of any unit.
PARTS = tuple(10.0**-k for k in range(9))


def difference(blocks: Callable[[Array], Any], moved: Callable[[float], Array], h: float) -> Blocks:
    """The rates of blocks by central differences of order four: `moved(t)` are the coordinates after t."""
    at = [blocks(moved(t * h)) for t in OFFSETS]
    return [None if column[0] is None else _weighted(column, h) for column in zip(*at, strict=True)]


def _weighted(column: Sequence[Any], h: float) -> Array:
    """The derivative of a block from its values at the offsets; exactly zero of one that stays as it is."""
    x = [np.asarray(block, dtype=np.float64) for block in column]
    return np.asarray((8.0 * (x[2] - x[1]) - (x[3] - x[0])) / (12.0 * h))


class _Measured(NamedTuple):
    rate: Array
    error: float


def check_rates(
    what: str, names: Sequence[str], given: Blocks | None, blocks: Callable[[Array], Any],
    moved: Callable[[float], Array], step: float,
) -> None:  # fmt: skip
    """Raise `ModelError` for derivatives that differences contradict, each block judged at the step that suits it."""
    here = blocks(moved(0.0))
    for k, name in enumerate(names):
        if here[k] is None:
            continue
        rate, error = _best(k, here, blocks, moved, step)
        own = np.zeros_like(rate) if given is None or given[k] is None else given[k]
        assert own is not None
        size = max(float(np.abs(rate).max(initial=0.0)), float(np.abs(own).max(initial=0.0)))
        off = float(np.abs(own - rate).max(initial=0.0))
        if off > AGREEMENT * size + 10.0 * error:
            i, j = (int(x) for x in np.unravel_index(int(np.argmax(np.abs(own - rate))), rate.shape))
            raise ModelError(
                f"d{what} of node {name!r} is not the derivative of {what}: entry ({i}, {j}) along a velocity is "
                f"{own[i, j]:.6g}, by differences {rate[i, j]:.6g}. Correct d{what}, or leave it out to use "
                "differences; check=False skips this test."
            )


def _best(
    k: int, here: Any, blocks: Callable[[Array], Any], moved: Callable[[float], Array], step: float
) -> _Measured:
    """The rate of one block, at the step where it changes least when the step is halved."""
    eps, size = float(np.finfo(float).eps), float(np.abs(np.asarray(here[k], dtype=np.float64)).max(initial=0.0))
    reach = float(np.abs(moved(0.0)).max(initial=0.0))
    found: _Measured | None = None
    for part in PARTS:
        h = part * step
        coarse, fine = (difference(blocks, moved, x)[k] for x in (h, 0.5 * h))
        assert coarse is not None and fine is not None
        rounding = eps * (size + reach * float(np.abs(fine).max(initial=0.0))) / h
        error = float(np.abs(coarse - fine).max(initial=0.0)) + rounding
        if np.isfinite(error) and (found is None or error < found.error):
            found = _Measured(fine, error)
    return found or _Measured(np.zeros(np.shape(here[k])), np.inf)
