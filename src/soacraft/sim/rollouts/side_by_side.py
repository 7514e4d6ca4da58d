"""Many steps in one compiled call, from one state or a batch: `p.rollout` of trees by explicit methods."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from soacraft.dynamics.arguments import read_threads
from soacraft.errors import ModelError, SimulationError, StateError
from soacraft.model.flat.compiled import CompiledModel
from soacraft.model.states.coordinates import in_graph_order, read_q, read_v
from soacraft.model.tree.multibody import Multibody
from soacraft.results import refuse_large
from soacraft.sim.engine import model_obstacle
from soacraft.sim.integrators.steps import Method
from soacraft.sim.stability import check_rollout
from soacraft.sim.system import Mechanism
from soacraft.spatial.checks import Array, finite

#: Numbers of the methods in rigid/drivers/rollout_task.hpp.
_METHODS = {"rk4": 0, "euler_symplectic": 1, "verlet": 2}
#: Bodies times states that are worth a thread of their own.
_WORTH_A_THREAD = 500


class Batch:
    """Arguments of a rollout, checked: states (count, nq) and (count, nv), forces (count or 1, steps or 1, nv)."""

    def __init__(self, mb: Multibody, q: Any, v: Any, force: Any, steps: int) -> None:
        states = read_q(mb, q), read_v(mb, v)
        self._axes = np.broadcast_shapes(*(x.shape[:-1] for x in states))
        if len(self._axes) > 1:
            raise StateError(f"rollout takes one state or a batch with one leading axis, got {self._axes}.")
        self.count = self._axes[0] if self._axes else 1
        self.q, self.v = (np.ascontiguousarray(np.broadcast_to(x, (self.count, x.shape[-1]))) for x in states)
        self.force = read_force(mb, force, self.count, steps, bool(self._axes))
        self._mb, self._steps = mb, steps

    def room(self) -> tuple[Array, Array]:
        """(count, steps + 1, nq) and (count, steps + 1, nv)."""
        shapes = [(self.count, self._steps + 1, size) for size in (self._mb.nq, self._mb.nv)]
        for shape, what in zip(shapes, "qv", strict=True):
            refuse_large(shape, f"{what} of a rollout of {self._mb.name!r}", "Take fewer states or steps.")
        return np.empty(shapes[0]), np.empty(shapes[1])

    def threads(self, wanted: int | None) -> int:
        """Number of threads: as in the argument, or as many as there is work for."""
        worth = 1 + self.count * len(self._mb) // _WORTH_A_THREAD
        return read_threads("rollout", wanted) or min(os.cpu_count() or 1, worth)

    def shaped(self, Q: Array, V: Array) -> tuple[Array, Array]:
        """Q and V without the leading axis if the rollout began at one state."""
        return (Q, V) if self._axes else (Q[0], V[0])


def rollout_side_by_side(
    problem: Mechanism, method: Method, q: Any, v: Any, force: Any, steps: int, step: int, threads: int | None = None
) -> tuple[Array, Array]:
    """States (..., steps + 1, nq) and (..., steps + 1, nv) after 0, 1, ... steps of `step` nanoseconds from each of a
    batch, under generalized forces that are held in each step, of a tree. Packs of states stay together. O(n) a step.
    """
    mb, h = problem.mb, step / 1e9
    batch, model = Batch(mb, q, v, force, steps), _compiled(mb)
    Q, V = batch.room()
    number = _METHODS[method.name]
    fault = model.kernels.rollout(batch.q, batch.v, batch.force, h, Q, V, batch.threads(threads), number)
    if fault is not None:
        state, at, turned = fault
        place = f"state {state} of the rollout of {mb.name!r} stopped in step {at}, at {at * h:.9g} s: "
        why = "a hinge turns by more than 3 rad within the step" if turned else "its acceleration is not finite"
        raise SimulationError(f"{place}{why}. Take a smaller step, or look at it with p.advance_to.")
    check_rollout(problem.description, method, h, Q, V)
    return batch.shaped(Q, V)


def _compiled(mb: Multibody) -> CompiledModel:
    """The compiled tree; an error with the obstacle if there is none."""
    if mb.acting_forces:
        raise ModelError(f"rollout does not know forces of mb.set_force, and {mb.name!r} has some; use p.advance_to.")
    why = model_obstacle(mb)
    model = None if why else CompiledModel.of(mb.layout)
    if model is None:
        raise ModelError(f"rollout of {mb.name!r} is not compiled: {why}; use p.advance_to.")
    return model


def read_force(mb: Multibody, force: Any, count: int, steps: int, batch: bool) -> Array:
    """(count or 1, steps or 1, nv)."""
    if force is None:
        return np.zeros((1, 1, mb.nv))
    what = "the force of a rollout"
    T = finite(in_graph_order(mb, force, what), (..., mb.nv), what, StateError)
    shape = (1,) * (3 - T.ndim) + T.shape if T.ndim <= 3 else T.shape
    if T.ndim > 3 or shape[0] not in (1, count if batch else 1) or shape[1] not in (1, steps):
        raise StateError(
            f"the force of a rollout of {count} states and {steps} steps has shape ({mb.nv},), ({steps}, {mb.nv}) or "
            f"({count}, {steps}, {mb.nv}), got {T.shape}."
        )
    return np.ascontiguousarray(T.reshape(shape))
