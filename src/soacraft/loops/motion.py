"""Motions of many states: by compiled code where it is sure of them, the others one by one.

In: a problem with its batch, the compiled motion, and the Python function that says what it computes. Out: arrays with
the axes of the batch. Where nothing was chosen yet, the first state goes to Python, which chooses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.dynamics.problem import Problem
from soacraft.errors import StateError
from soacraft.kinematics.tasks import in_state
from soacraft.model.states.coordinates import common_batch
from soacraft.spatial.checks import Array, finite

Outputs = tuple[Array, ...]
Attempt = Callable[..., tuple[Outputs, npt.NDArray[np.bool_]] | None]
"""Function of arrays (count, ...): outputs (count, ...) and a mask of those that hold; None as long as compiled code is
not ready."""


def with_rates(p: Problem, x: Any, name: str, dofs: Callable[[], Iterable[str]]) -> Problem:
    """The problem with numbers for the independent dofs, whose leading axes join those of the others; `dofs` names
    these dofs where they are refused.
    """
    try:
        rates = finite(x, (..., None), name, StateError)
    except StateError:
        names = ", ".join(map(repr, dofs())) or "no dofs"
        finite(x, (..., None), f"{name} of {p.graph.name!r}, which is that of {names},", StateError)
        raise
    batch = common_batch(**{name: rates, "the other arguments": np.empty((*p.batch, p.nv))})
    return replace(p, given={**p.given, name: rates}, batch=batch)


def each(
    p: Problem, names: tuple[str, ...], attempt: Attempt, one: Callable[..., Outputs], widths: tuple[int, ...]
) -> Outputs:
    """The outputs, of given widths, of all states, with the axes of the batch. `names` are the arrays of the problem
    that both functions take, in this order.
    """
    count = math.prod(p.batch)
    arrays = [x.reshape(count, x.shape[-1]) for x in map(p.full, names)]
    places = list(np.ndindex(*p.batch))
    tried = attempt(*arrays) if count else None
    fine = np.zeros(count, dtype=np.bool_) if tried is None else tried[1]
    outputs = tuple(np.empty((count, n)) for n in widths) if tried is None else tried[0]
    for i in range(count):
        if fine[i]:
            continue
        with in_state(p.batch, places[i]):
            single = one(*(x[i] for x in arrays))
        if tried is None and count > 1 and (tried := attempt(*(x[1:] for x in arrays))) is not None:
            for to, x in zip(outputs, tried[0], strict=True):
                to[1:] = x
            fine[1:] = tried[1]
        for to, x in zip(outputs, single, strict=True):
            to[i] = x
    return tuple(x.reshape(*p.batch, x.shape[-1]) for x in outputs)
