"""Rollouts with contact: many steps from each state of a batch in one compiled call, on several threads; those of a
closed chain each for itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from soacraft.errors import ModelError, SimulationError, StateError
from soacraft.sim.compiled import CompiledMotion
from soacraft.sim.engine import engine_of
from soacraft.sim.forces.drives import Control
from soacraft.sim.integrators.steps import Method
from soacraft.sim.problem.tree import Tree
from soacraft.sim.rollouts.side_by_side import Batch
from soacraft.sim.rollouts.singly import rollout_singly
from soacraft.sim.stability import check_rollout
from soacraft.sim.system import Mechanism
from soacraft.spatial.checks import Array


def rollout_contact(
    problem: Mechanism, method: Method, q: Any, v: Any, force: Any, steps: int, step: int, threads: int | None = None
) -> tuple[Array, Array]:
    """States (..., steps + 1, nq) and (..., steps + 1, nv) after 0, 1, ... steps of `step` nanoseconds with contact,
    from t = 0 on, under the controls of a problem. O(n) a step, and what its contacts take."""
    mb = problem.mb
    why = engine_of(replace(problem.description, closures=Tree(mb)), method).obstacle_alone
    if why:
        raise ModelError(f"rollout of {mb.name!r} with contact is not compiled: {why}; use p.advance_to.")
    between = [(x.name, ns) for x in problem.loads if isinstance(x, Control) for ns in x.knots.ns if ns % step]
    if between:
        name, ns = between[0]
        raise StateError(
            f"the control of {name!r} has a sample at {ns / 1e9:.9g} s, within a step of the rollout; give samples at "
            f"multiples of {step / 1e9:.9g} s, or use p.advance_to."
        )
    if problem.is_closed:
        return rollout_singly(problem, method, q, v, force, steps, step, threads)
    batch = Batch(mb, q, v, force, steps)
    Q, V = batch.room()
    fault = CompiledMotion(problem, method).roll(batch.q, batch.v, batch.force, step, (Q, V), batch.threads(threads))
    if fault is not None:
        state, at = fault
        if state < 0:
            raise ModelError(f"rollout of {mb.name!r} with contact is not compiled at present; use p.advance_to.")
        raise SimulationError(
            f"state {state} of the rollout of {mb.name!r} stopped in step {at}, at {at * step / 1e9:.9g} s: its "
            "contacts were not solved to the tolerance, a hinge turns by more than 3 rad, or a number is not finite. "
            "Take a smaller step, or look at it with p.advance_to."
        )
    check_rollout(problem.description, method, step / 1e9, Q, V)
    return batch.shaped(Q, V)
