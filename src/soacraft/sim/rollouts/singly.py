"""Rollouts state by state, many steps of each in one compiled call, on several threads: of closed chains, with contact
or without, and by implicit methods."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Lock
from typing import Any

import numpy as np

from soacraft.errors import LoopError, ModelError, SimulationError
from soacraft.sim.compiled import CompiledMotion
from soacraft.sim.engine import engine_of
from soacraft.sim.integrators.steps import Method
from soacraft.sim.integrators.variational import Variational
from soacraft.sim.problem.run_problem import RunProblem
from soacraft.sim.rollouts.side_by_side import Batch
from soacraft.sim.stability import check_rollout
from soacraft.sim.system import Mechanism
from soacraft.spatial.checks import Array


def rollout_singly(
    problem: Mechanism, method: Method, q: Any, v: Any, force: Any, steps: int, step: int, threads: int | None = None
) -> tuple[Array, Array]:
    """States (..., steps + 1, nq) and (..., steps + 1, nv), each on the closures, after 0, 1, ... steps of `step`
    nanoseconds. Every state has a separate solver, made as the propagator's, so that no state depends on others. Of
    a problem that touches, its contact and controls act, too."""
    mb, contact = problem.mb, problem.contact
    batch = Batch(mb, q, v, force, steps)
    if isinstance(method, Variational):
        problem.require_plain(method.name)
    alone = RunProblem.of(mb, problem.description.acting if contact.touches else (), None, problem.closures)
    why = engine_of(alone, method).obstacle_alone
    if why:
        raise ModelError(f"rollout of {mb.name!r} is not compiled: {why}; use p.advance_to.")
    Q, V = batch.room()
    contact.begin_batch(batch.q, range(batch.count))
    preparing = Lock()

    def roll(i: int) -> None:
        with preparing:  # in Python
            problem_of_state = Mechanism(replace(alone, contact=contact.another(), closures=alone.closures.copied()))
            try:
                x, motion = _begun(problem_of_state, method, (batch.q[i], batch.v[i]))
            except LoopError as wrong:
                raise LoopError(f"state {i} of the rollout of {mb.name!r}: {wrong}") from None
        done = _roll(problem_of_state, motion, batch.force[i % len(batch.force)], step, x, Q[i], V[i])
        if done < steps:
            raise SimulationError(
                f"state {i} of the rollout of {mb.name!r} stopped in step {done}, at {done * step / 1e9:.9g} s: its "
                "closures are in doubt there, a hinge turns by more than 3 rad within the step, its stages do not "
                f"converge, {'its contacts were not solved to the tolerance, ' if contact.touches else ''}or its "
                "numbers are not finite. Take a smaller step, or look at it with p.advance_to."
            )

    with ThreadPoolExecutor(batch.threads(threads)) as pool:
        working = [pool.submit(roll, i) for i in range(batch.count)]
        try:
            for each in working:
                each.result()
        finally:
            pool.shutdown(cancel_futures=True)
    check_rollout(alone, method, step / 1e9, Q, V)
    return batch.shaped(Q, V)


def _begun(problem: Mechanism, method: Method, start: tuple[Array, Array]) -> tuple[Array, CompiledMotion]:
    """The point at which steps begin, on the closures, and what takes them."""
    problem.closures.require_closed(*start)
    return problem.settle(0.0, problem.point(*start), True), CompiledMotion(problem, method)


def _roll(problem: Mechanism, motion: CompiledMotion, force: Array, step: int, x: Array, Q: Array, V: Array) -> int:
    """Steps from x under forces that are held in each, (steps or 1, nv): how many compiled code is sure of. A step in
    which shapes would pass each other is taken in parts, and those behind it in another call: each has its force."""
    (Q[0], V[0], _), w = problem.parts(x), np.zeros(problem.manifold.size)
    now, steps, nq, nv = 0, len(Q) - 1, problem.mb.nq, problem.mb.nv
    while now < steps * step:
        done = now // step
        end = done + 1 if now % step else min(steps, done + motion.most)
        held = force if len(force) == 1 else force[done:end]
        block, _ = motion.advance((now, end * step, step, 0), x, w, 0.0, (0.0, 0, 0), held)
        if block is None:
            return done
        ends = block.ns[1:]
        complete = int(np.argmin(np.append(ends == step * (done + 1 + np.arange(len(ends))), False)))
        rows = slice(done + 1, done + 1 + complete)
        Q[rows], V[rows] = block.x[1 : 1 + complete, :nq], block.x[1 : 1 + complete, nq : nq + nv]
        last = min(complete + 1, len(ends))
        now, x = int(block.ns[last]), block.x[last]
    return steps
