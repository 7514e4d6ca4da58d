"""Many steps in one compiled call, from one state or a batch: `p.rollout`."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from soacraft.dynamics.arguments import read_threads
from soacraft.errors import ModelError, SimulationError, StateError
from soacraft.model.flat.compiled import CompiledModel
from soacraft.model.states.coordinates import read_q, read_v
from soacraft.model.tree.multibody import Multibody
from soacraft.results import refuse_large
from soacraft.sim.compiled import obstacle
from soacraft.spatial.checks import Array, finite

#: Methods of rollouts, with their numbers in core/rigid/rollout.hpp.
METHODS = {"rk4": 0, "euler_symplectic": 1, "verlet": 2}
#: Bodies times states that are worth a thread of their own.
_WORTH_A_THREAD = 500


def rollout(
    mb: Multibody, q: Any, v: Any, force: Any, steps: int, h: float, threads: int | None = None, method: str = "rk4"
) -> tuple[Array, Array]:
    """States (..., steps + 1, nq) and (..., steps + 1, nv) after 0, 1, ... steps of a method from each of a batch,
    under generalized forces that are held in each step. O(n) a step."""
    q, v = read_q(mb, q), read_v(mb, v)
    batch = np.broadcast_shapes(q.shape[:-1], v.shape[:-1])
    if len(batch) > 1:
        raise StateError(f"rollout takes one state or a batch with one leading axis, got {batch}.")
    count = batch[0] if batch else 1
    model = _compiled(mb)
    T = read_force(mb, force, count, steps, bool(batch))
    for size, what in ((mb.nq, "q"), (mb.nv, "v")):
        refuse_large((count, steps + 1, size), f"{what} of a rollout of {mb.name!r}", "Take fewer states or steps.")
    Q, V = np.empty((count, steps + 1, mb.nq)), np.empty((count, steps + 1, mb.nv))
    q0, v0 = (np.ascontiguousarray(np.broadcast_to(x, (count, x.shape[-1]))) for x in (q, v))
    wanted = 1 + count * len(mb) // _WORTH_A_THREAD
    count_of_threads = read_threads("rollout", threads) or min(os.cpu_count() or 1, wanted)
    fault = model.kernels.rollout(q0, v0, T, h, Q, V, count_of_threads, METHODS[method])
    if fault is not None:
        state, step, turned = fault
        where = f"state {state} of the rollout of {mb.name!r} stopped in step {step}, at {step * h:.9g} s: "
        why = "a hinge turns by more than 3 rad within the step" if turned else "its acceleration is not finite"
        raise SimulationError(f"{where}{why}. Take a smaller step, or look at it with p.advance_to.")
    return (Q, V) if batch else (Q[0], V[0])


def _compiled(mb: Multibody) -> CompiledModel:
    """The compiled tree, or what stands in the way."""
    if mb.is_closed:
        raise ModelError(f"rollout takes trees, and {mb.name!r} has loops or couplings; use p.advance_to.")
    if mb.acting_forces:
        raise ModelError(f"rollout does not know forces of mb.set_force, and {mb.name!r} has some; use p.advance_to.")
    why = obstacle(mb)
    model = None if why else CompiledModel.of(mb.layout)
    if model is None:
        raise ModelError(f"rollout of {mb.name!r} is not compiled: {why}; use p.advance_to.")
    return model


def read_force(mb: Multibody, force: Any, count: int, steps: int, batch: bool) -> Array:
    """(count or 1, steps or 1, nv)."""
    if force is None:
        return np.zeros((1, 1, mb.nv))
    T = finite(force, (..., mb.nv), "the force of a rollout", StateError)
    shape = (1,) * (3 - T.ndim) + T.shape if T.ndim <= 3 else T.shape
    if T.ndim > 3 or shape[0] not in (1, count if batch else 1) or shape[1] not in (1, steps):
        raise StateError(
            f"the force of a rollout of {count} states and {steps} steps has shape ({mb.nv},), ({steps}, {mb.nv}) or "
            f"({count}, {steps}, {mb.nv}), got {T.shape}."
        )
    return np.ascontiguousarray(T.reshape(shape))
