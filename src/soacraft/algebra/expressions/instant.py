"""One instant: what an evaluation reads of a state that may change, it reads once.

Another thread may set the state of a model between two factors of a product; the product must belong to one state.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_held: ContextVar[dict[int, tuple[Any, Any]] | None] = ContextVar("held", default=None)


def at_one_instant(evaluate: Callable[P, R]) -> Callable[P, R]:
    """An evaluation within which `held` gives the same answer to the same question."""

    @wraps(evaluate)
    def evaluated(*args: P.args, **kwargs: P.kwargs) -> R:
        if _held.get() is not None:
            return evaluate(*args, **kwargs)
        token = _held.set({})
        try:
            return evaluate(*args, **kwargs)
        finally:
            _held.reset(token)

    return evaluated


def held(of: Any, read: Callable[[], R]) -> R:
    """Value of `read()`; within an evaluation, the value of the first call for `of` is used again."""
    known = _held.get()
    if known is None:
        return read()
    if id(of) not in known:
        known[id(of)] = (of, read())  # the object stays, so that its id does
    found: R = known[id(of)][1]
    return found
