"""Answers that are kept with an expression: it never changes, so what depends on nothing else is computed once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

X = TypeVar("X")
R = TypeVar("R")

#: The names under which expressions keep answers; neither copies nor files take them along.
KEPT: set[str] = set()


def once(ask: Callable[[X], R]) -> Callable[[X], R]:
    """A question about an expression alone, whose answer is kept with it.

    >>> from soacraft.algebra.expressions.once import once
    >>> asked = []
    >>> class Expression: ...
    >>> size = once(lambda x: asked.append(x) or 7)
    >>> x = Expression()
    >>> size(x) + size(x), len(asked)
    (14, 1)
    """
    name = f"_{ask.__module__}.{ask.__qualname__}"
    KEPT.add(name)

    @wraps(ask)
    def answer(x: X) -> R:
        kept: dict[str, Any] = x.__dict__
        if name not in kept:
            kept[name] = ask(x)
        found: R = kept[name]
        return found

    return answer
