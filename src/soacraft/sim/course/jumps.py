"""Jumps of components at their crossings, and of crossings that these make at the same instant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from soacraft.errors import SimulationError
from soacraft.sim.course.state import RunState
from soacraft.sim.course.task import RunTask
from soacraft.sim.events import Happened, unmoved
from soacraft.spatial.checks import Array

#: Crossings of what is carried along at one instant, before they are called endless.
_JUMPS = 100


def turned(crossings: Sequence[tuple[str, int]], before: Array, after: Array) -> list[str]:
    """The names of the crossings whose functions changed their signs in the direction that is looked for."""
    return [
        name
        for (name, direction), a, b in zip(crossings, before, after, strict=True)
        if a and b and a != b and direction in (0, b)
    ]


def jumps(
    task: RunTask, state: RunState, crossed: Mapping[str, float], stopped: str
) -> tuple[Array, str, list[Happened]]:
    """The point after the jumps of crossings, all at once, and of those that these make, and so on; the event that
    stops the run, and the crossings that happened. `crossed` has the sign of each before it crossed."""
    problem, carried, x, t = task.problem, task.acting.components, state.x, state.t
    values = np.array(problem.margins(t, x))
    signs = np.sign(values)
    at_zero = np.array([name in crossed for name, _ in carried.crossings])
    for i, (name, direction) in enumerate(carried.crossings):
        if name in crossed:  # beyond its zero, to whichever side it was located
            signs[i] = direction or -crossed[name]
    names, count, happened = list(crossed), 0, list[Happened]()
    while names:
        count += len(names)
        if count > _JUMPS:
            raise SimulationError(
                f"more than {_JUMPS} crossings at one instant: {names[0]!r} and others make each other cross "
                "without end. Let a jump leave its crossing's function on the side where it is."
            )
        x = problem.jumped(t, x, names)
        margins = np.array(problem.margins(t, x))
        after = np.where(at_zero & unmoved(margins, values), signs, np.sign(margins))
        names = turned(carried.crossings, signs, after)
        signs = np.where(after == 0.0, signs, after)
        stopped = stopped or next((name for name in names if name in task.until), "")
        q, v, _ = problem.parts(x)
        happened += [Happened(t, name, np.array(q), np.array(v)) for name in names]
    return x, stopped, happened
