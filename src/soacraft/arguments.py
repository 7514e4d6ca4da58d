"""Reading whole numbers, seeds, lists and paths: what Python would convert in silence (0.5 to 0, True to 1) is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from soacraft.errors import ModelError, SoacraftError

#: The entropy that numpy's generators hold; a larger seed says no more.
LARGEST_SEED = 2**128 - 1
Seed: TypeAlias = "int | np.random.Generator"  # a text: numpy imports its generators when they are asked for


def whole_number(
    value: Any, what: str, least: int | None = None, most: int | None = None, error: type[SoacraftError] = ModelError
) -> int:
    """An int; floats (2.0 too), truth values and texts are refused, and so is what lies outside of `least` to `most`.

    >>> whole_number(np.int64(3), "the number of links")
    3
    >>> whole_number(0.5, "the parent of node 'tip'")
    Traceback (most recent call last):
        ...
    soacraft.errors.ModelError: the parent of node 'tip' must be a whole number, got 0.5.
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    fits = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if fits and (least is None or value >= least) and (most is None or value <= most):
        return int(value)
    span = "" if least is None else f" of at least {least}" if most is None else f" from {least} to {most}"
    raise error(f"{what} must be a whole number{span}, got {value!r:.60}.")


def read_seed(seed: Any, what: str) -> np.random.Generator:
    """A generator of random numbers from a whole number from 0 to 2**128 - 1, or a numpy generator as it is.

    >>> read_seed(3, "the seed").integers(10) == np.random.default_rng(3).integers(10)
    np.True_
    """
    if isinstance(seed, np.random.Generator):
        return seed
    fits = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if not fits or not 0 <= seed <= LARGEST_SEED:
        shown = f"a number of {len(str(abs(seed)))} digits" if fits and abs(seed) > LARGEST_SEED else f"{seed!r:.60}"
        raise ModelError(
            f"{what} must be a whole number from 0 to 2**128 - 1, or a numpy.random.Generator; got {shown}."
        )
    return np.random.default_rng(int(seed))


def listed(value: Any) -> list[Any] | None:
    """The items of a list, or of anything else that has some; None for what has none to go through: a number, or an
    array without axes, which calls itself iterable.

    >>> listed(("left", "right")), listed(np.array(1.0))
    (['left', 'right'], None)
    """
    bare = isinstance(value, np.ndarray) and value.ndim == 0
    return list(value) if isinstance(value, Iterable) and not bare else None


def read_path(path: Any, what: str, error: type[SoacraftError] = ModelError) -> Path:
    """A path from a text or an object of pathlib; bytes, numbers and what no file can be called are refused.

    >>> read_path("runs/first.h5", "the log").name
    'first.h5'
    >>> read_path(5, "the log")
    Traceback (most recent call last):
        ...
    soacraft.errors.ModelError: the log takes a path, as text or as an object of pathlib; got 5.
    """
    text = fspath(path) if isinstance(path, str | PathLike) else None
    if not isinstance(text, str) or not text or "\0" in text:
        raise error(f"{what} takes a path, as text or as an object of pathlib; got {path!r:.60}.")
    return Path(text)
