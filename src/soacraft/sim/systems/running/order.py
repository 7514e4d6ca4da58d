"""Order of evaluation: each output after those it depends on, by names alone; cycles, told port by port."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from heapq import heapify, heappop, heappush

import numpy as np

from soacraft.errors import ConvergenceError, SimulationError
from soacraft.spatial.checks import Array

#: Newton's method on a loop: so many iterations, and the step of its differences relative to the values.
_ITERATIONS, _STEP = 50, 1e-7


def in_order(needs: Mapping[str, Collection[str]]) -> tuple[list[str], list[str]]:
    """Names so that each comes after what it needs, the least name first where several may; and, where there are
    cycles, the first of them (else nothing). O(n log n + edges).

    >>> in_order({"b": [], "a": ["b"], "c": ["a"]})
    (['b', 'a', 'c'], [])
    >>> in_order({"a": ["b"], "b": ["a"], "c": []})
    (['c'], ['a', 'b'])
    """
    needed = {name: {x for x in others if x in needs} for name, others in needs.items()}
    users: dict[str, list[str]] = {name: [] for name in needs}
    for name, others in needed.items():
        for x in others:
            users[x].append(name)
    counts = {name: len(others) for name, others in needed.items()}
    ready = [name for name, count in counts.items() if not count]
    heapify(ready)
    order: list[str] = []
    while ready:
        name = heappop(ready)
        order.append(name)
        for user in users[name]:
            counts[user] -= 1
            if not counts[user]:
                heappush(ready, user)
    if len(order) == len(needs):
        return order, []
    return order, _cycle({name: others for name, others in needed.items() if counts[name]})


def _cycle(left: Mapping[str, Collection[str]]) -> list[str]:
    """A cycle of the remaining names, which need each other: from the least name on, back along what each needs."""
    name, seen = min(left), []
    while name not in seen:
        seen.append(name)
        name = min(x for x in left[name] if x in left)
    cycle = seen[seen.index(name) :][::-1]  # each before what needs it
    first = cycle.index(min(cycle))
    return cycle[first:] + cycle[:first]


def upstream(names: Collection[str], needs: Mapping[str, Collection[str]]) -> set[str]:
    """The names, and all that they need, directly or not."""
    todo, reached = list(names), set()
    while todo:
        name = todo.pop()
        if name not in reached:
            reached.add(name)
            todo += [x for x in needs.get(name, ()) if x not in reached]
    return reached


def newton(evaluate: Callable[[Array], Array], y: Array, tolerance: float, what: str) -> tuple[Array, float]:
    """y with y = g(y), from a first y, by Newton's method with differences; and |g(y) - y| / max(1, |y|).

    `ConvergenceError` where that is above the tolerance.
    """
    residual = np.inf
    for _ in range(_ITERATIONS):
        off = evaluate(y) - y
        if not np.isfinite(off).all():
            break
        residual = float((np.abs(off) / np.maximum(1.0, np.abs(y))).max(initial=0.0))
        if residual <= tolerance:
            return y, residual
        steps = _STEP * np.maximum(1.0, np.abs(y))
        J = np.array([(evaluate(y + d) - (y + d) - off) / d[i] for i, d in enumerate(np.diag(steps))]).T
        try:
            y = y - np.linalg.solve(J, off)
        except np.linalg.LinAlgError:
            raise SimulationError(
                f"the loop of {what} has no solution that Newton's method can find: its matrix is singular."
            ) from None
    raise ConvergenceError(
        f"the loop of {what} was not solved: residual {residual:.3g} after {_ITERATIONS} iterations of Newton's "
        f"method, above {tolerance:g}. Give one of its outputs a state."
    )
