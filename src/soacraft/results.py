"""Checks of results: finite numbers, and no array that the memory of the machine cannot hold."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from soacraft.errors import SizeError, SoacraftError, StateError

Array = npt.NDArray[np.float64]
Given = TypeVar("Given", bound=npt.NDArray[np.float64])

#: Arrays of fewer bytes are made without a look at the memory.
SMALL = 2**26


def finite_or_refused(
    x: Given, what: str | Callable[[], str], cure: str = "Check the units and the state.",
    error: type[SoacraftError] = StateError,
) -> Given:
    """x itself, if all its numbers are finite; else an error that names what overflowed. One pass over x.

    >>> finite_or_refused(np.array([1.0, 2.0]), "the sum")
    array([1., 2.])
    >>> finite_or_refused(np.array([1.0, np.inf]), "the sum")
    Traceback (most recent call last):
        ...
    soacraft.errors.StateError: the sum is not finite: entry 1 is inf, numbers of this size overflow. Check ...
    """
    good = np.isfinite(x)
    if good.all():
        return x
    where = tuple(int(i) for i in np.argwhere(~good)[0])
    entry = f"entry {where[0] if len(where) == 1 else where}" if where else "it"
    name = what if isinstance(what, str) else what()
    refusal = error(f"{name} is not finite: {entry} is {x[where]}, numbers of this size overflow. {cure}")
    refusal.entry, refusal.shape = where, np.shape(x)
    raise refusal


def free_memory() -> int | None:
    """Bytes of memory that can be used without swapping, or None where the system does not say.

    >>> free = free_memory()
    >>> free is None or free > 0
    True
    """
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None


def refuse_large(shape: tuple[int, ...], what: str | Callable[[], str], cure: str) -> None:
    """Raise `SizeError` when float64 numbers of this shape would take more than half of the free memory.

    >>> refuse_large((1000, 1000), "the mass matrix", "")
    >>> refuse_large((10**7, 10**7), "the mass matrix", "Multiply it with vectors.")
    Traceback (most recent call last):
        ...
    soacraft.errors.SizeError: the mass matrix, of shape (10000000, 10000000), would take 800 TB, more than half of ...
    """
    size = 8 * math.prod(shape)
    if size < SMALL:
        return
    free = free_memory()
    if free is not None and size > free / 2:
        name = what if isinstance(what, str) else what()
        raise SizeError(
            f"{name}, of shape {shape}, would take {size_text(size)}, more than half of the {size_text(free)} of free "
            f"memory. {cure}"
        )


def size_text(size: int) -> str:
    """Bytes in a unit that is read at a glance.

    >>> size_text(20_000_000_000), size_text(8_000)
    ('20 GB', '8 kB')
    """
    units = ("bytes", "kB", "MB", "GB", "TB", "PB")
    step = min(len(units) - 1, max(0, int(math.log10(max(size, 1)) // 3)))
    return f"{size / 1000**step:.3g} {units[step]}"
