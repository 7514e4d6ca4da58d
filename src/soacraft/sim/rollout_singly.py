"""Rollouts state by state, many steps of each in one compiled call: of closed chains, and by implicit methods."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from soacraft.errors import LoopError, ModelError, SimulationError
from soacraft.model.tree.multibody import Multibody
from soacraft.sim.closed import Closed
from soacraft.sim.compiled import CompiledMotion, obstacle_to_run
from soacraft.sim.integrators.steps import Method
from soacraft.sim.integrators.variational import Variational
from soacraft.sim.rollout import Batch
from soacraft.sim.stability import check_rollout
from soacraft.sim.system import Mechanism
from soacraft.spatial.checks import Array


def rollout_singly(
    mb: Multibody, closed: Closed | None, method: Method, q: Any, v: Any, force: Any, steps: int, step: int
) -> tuple[Array, Array]:
    """States (..., steps + 1, nq) and (..., steps + 1, nv), each on the closures, after 0, 1, ... steps of `step`
    nanoseconds. Every state has a solver of its own, made as the propagator's, so that no state depends on others."""
    batch = Batch(mb, q, v, force, steps)
    if isinstance(method, Variational):
        Mechanism(mb, closed=closed).require_plain(method.name)
    why = (closed.obstacle if closed is not None else "") or obstacle_to_run(mb, method, (), False)
    if why:
        raise ModelError(f"rollout of {mb.name!r} is not compiled: {why}; use p.advance_to.")
    Q, V = batch.room()
    for i in range(batch.count):
        own = None if closed is None else Closed(copy(closed.solver))
        T = batch.force[i % len(batch.force)]
        try:
            _roll(Mechanism(mb, closed=own), method, T, step, (batch.q[i], batch.v[i]), Q[i], V[i])
        except LoopError as wrong:
            raise LoopError(f"state {i} of the rollout of {mb.name!r}: {wrong}") from None
        except _Stopped as stopped:
            raise SimulationError(
                f"state {i} of the rollout of {mb.name!r} stopped in step {stopped.step}, at "
                f"{stopped.step * step / 1e9:.9g} s: its closures are in doubt there, a hinge turns by more than 3 rad "
                "within the step, its stages do not converge, or its numbers are not finite. Take a smaller step, or "
                "look at it with p.advance_to."
            ) from None
    check_rollout(mb, closed, method, step / 1e9, Q, V)
    return batch.given(Q, V)


class _Stopped(Exception):
    """A step that compiled code is not sure of."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step = step


def _roll(
    problem: Mechanism, method: Method, force: Array, step: int, start: tuple[Array, Array], Q: Array, V: Array
) -> None:
    """All steps from one state under forces that are held in each, (steps or 1, nv)."""
    if problem.closed is not None:
        problem.closed.require_closed(*start)
    x = problem.settle(0.0, problem.point(*start), True)
    (Q[0], V[0], _), motion, w = problem.parts(x), CompiledMotion(problem, method), np.zeros(problem.manifold.size)
    done, steps, nq, nv = 0, len(Q) - 1, problem.mb.nq, problem.mb.nv
    while done < steps:
        end = min(steps, done + motion.most)
        held = force if len(force) == 1 else force[done:end]
        block, _ = motion.advance((done * step, end * step, step, 0), x, w, 0.0, (0.0, 0, 0), held)
        if block is None or len(block.x) <= end - done:
            raise _Stopped(done + (0 if block is None else len(block.x) - 1))
        x, after = block.x[-1], slice(done + 1, end + 1)
        Q[after], V[after] = block.x[1:, :nq], block.x[1:, nq : nq + nv]
        done = end
