"""Closures of many runs at once: accelerations and projections by one compiled solver, state by state.

Each state is solved by itself, with the plan that is made at the state of the model, so that a run has the same bits in
any batch.
"""

from __future__ import annotations

import numpy as np

from soacraft.loops import ConstraintEmbedding, Solver
from soacraft.sim.choice import read_solver
from soacraft.sim.closed import Closed
from soacraft.sim.systems.plants.joined import joined_solver
from soacraft.sim.systems.system import System
from soacraft.spatial.checks import Array


class LaneClosures:
    """The solver of the closures of all runs."""

    def __init__(self, solver: Solver) -> None:
        self._solver, mb = solver, solver.graph
        q, v = np.array(mb.current.q), np.array(mb.current.v)
        solver.forward_dynamics(q, v, np.zeros(len(v)))
        solver.project(q, v)

    def accelerations(self, q: Array, v: Array, force: Array) -> Array:
        """vdot of all runs, at states on the closures or next to them."""
        return self._solver.forward_dynamics(q, v, force, threads=1).vdot

    def settle(self, q: Array, v: Array) -> tuple[Array, Array]:
        """The states on the closures next to (q, v)."""
        return self._solver.project(q, v)


def closures_of(system: System) -> LaneClosures | None:
    """The closures of a system, None of trees."""
    solver = _solver_of(system)
    return None if solver is None else LaneClosures(solver)


def obstacle_of_closures(system: System) -> str:
    """Reason why a system with loops does not march as a batch; empty if it can, or has none."""
    solver = _solver_of(system)
    if solver is None:
        return ""
    if isinstance(solver, ConstraintEmbedding):
        return "its closures are solved by constraint embedding, which chooses independent dofs along a run"
    compiled = solver._compiled
    if compiled is None:
        return "a hinge of its tree or of its loops is not known to compiled code"
    if compiled.plan.closures.follows:
        return f"the turns of its loop {next(iter(compiled.plan.closures.follows))!r} are counted"
    return ""


def _solver_of(system: System) -> Solver | None:
    joined = system.board.compiled().joined
    if not joined.mb.is_closed:
        return None
    solver = joined_solver(system.diagram.plants)
    if isinstance(solver, Solver):  # a new one, with no memory of a run
        return type(solver)(joined.mb, **solver._choices())
    closures, _ = read_solver(joined.mb, solver)
    return closures.solver if isinstance(closures, Closed) else None
