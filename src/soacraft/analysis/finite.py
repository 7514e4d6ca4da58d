"""Results of analyses: finite, or refused with the name of the function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from soacraft.results import finite_or_refused
from soacraft.spatial.checks import Array

P = ParamSpec("P")
R = TypeVar("R")


def refusing_overflow(*open_fields: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: every array of the result must be finite, but for fields that may say NaN or inf of themselves.

    >>> import numpy as np
    >>> @refusing_overflow()
    ... def square(x):
    ...     return x * x
    >>> square(np.array([1e200]))
    Traceback (most recent call last):
        ...
    soacraft.errors.StateError: the result of square is not finite: entry 0 is inf, numbers of this size overflow. ...
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def refusing(*args: P.args, **kwargs: P.kwargs) -> R:
            with np.errstate(all="ignore"):
                result = function(*args, **kwargs)
            for name, x in _arrays("", result):
                if name.removeprefix(".") not in open_fields:
                    finite_or_refused(x, f"the result{name} of {function.__name__}")
            return result

        return refusing

    return decorate


def _arrays(name: str, value: Any) -> Iterator[tuple[str, Array]]:
    """The arrays in a result, with where they are."""
    if isinstance(value, np.ndarray | float) and np.asarray(value).dtype.kind == "f":
        yield name, np.asarray(value)
    elif isinstance(value, Mapping):
        for key, x in value.items():
            yield from _arrays(f"{name}[{key!r}]", x)
    elif is_dataclass(value):
        for part in fields(value):
            if not part.name.startswith("_"):
                yield from _arrays(f"{name}.{part.name}", getattr(value, part.name))
