"""Functions of a user, called as f(t, state): one that cannot be is refused where it is given, not within a run."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from soacraft.errors import StateError


def require_call(function: Callable[..., Any], what: str) -> None:
    """Raise `StateError` where f(t, state) does not fit the arguments of a function.

    >>> require_call(lambda t: 0.0, "force 'f'")
    Traceback (most recent call last):
    soacraft.errors.StateError: force 'f' is called as f(t, state), but it takes (t): too many positional arguments.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # compiled functions need not tell
        return
    try:
        signature.bind(0.0, None)
    except TypeError as wrong:
        raise StateError(f"{what} is called as f(t, state), but it takes {signature}: {wrong}.") from None
