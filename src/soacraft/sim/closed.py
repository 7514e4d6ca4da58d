"""Closed chains in motion: accelerations by a solver, and every state put back on its closures.

Tree-augmented and fully-augmented solvers integrate all dofs and project each state, least in the metric of the mass
matrix, so that branches are kept through singular poses. Constraint embedding integrates the independent dofs: the
dependent ones, predicted by their own rates, are solved for at every stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft import dynamics as dyn
from soacraft.errors import LoopError
from soacraft.kinematics.rows import Constraints
from soacraft.loops import ConstraintEmbedding, Solver
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.sim.forces.prescribed import Prescribed


class Chain(NamedTuple):
    """What compiled steps take of a solver: the compiled solver and what moves states, its independent dofs in order,
    and the coordinates of the closures' hinges, which are followed."""

    solver: Any
    mover: Any
    independent: npt.NDArray[np.int64]
    theta: Array


class Closed:
    """The closures of a model and their solver."""

    def __init__(self, solver: Solver) -> None:
        self.solver = solver

    def accelerations(self, q: Array, v: Array, force: Array) -> Array:
        """vdot at a state on the closures."""
        return self.solver.forward_dynamics(q, v, force).vdot

    def mixed(
        self, q: Array, v: Array, force: Array, vdot: Array, prescribed: npt.NDArray[np.bool_]
    ) -> tuple[Array, Array]:
        """vdot and force, where some accelerations are prescribed."""
        return self.solver.mixed_dynamics(q, v, force, vdot, prescribed)

    def onto(
        self, q: Array, v: Array, prescribed: Prescribed | None, still: Sequence[int] = ()
    ) -> tuple[Array, Array]:
        """The state on the closures next to (q, v), with some dofs at rest."""
        if prescribed is not None:
            names = self.solver.graph.dof_names
            q = self.solver.assemble(q, fixed=[names[i] for i in prescribed.dofs])
            return q, self._held(q, v, [*prescribed.dofs, *still])
        q, v = self._projected(q, v)
        if not still:
            return q, v
        v = np.array(v)
        v[list(still)] = 0.0
        return q, self._held(q, v, still)

    def _projected(self, q: Array, v: Array) -> tuple[Array, Array]:
        if isinstance(self.solver, ConstraintEmbedding):
            q = self.solver.complete(q)
            return q, self.solver.expand(q, v[_numbers(self.solver, q)])
        return self.solver.project(q, v)

    def projector(self, q: Array, in_force: Array) -> Array:
        """P with P dv what `onto` leaves of dv at a closed q: X on the independent dofs of an embedding, else
        dvdot/dforce Mcal."""
        if not isinstance(self.solver, ConstraintEmbedding):
            return np.asarray(in_force @ dyn.mass_matrix(self.solver.graph, q, ignore_loops=True))
        numbers = _numbers(self.solver, q)
        P = np.zeros_like(in_force)
        for number, e in zip(numbers, np.eye(len(numbers)), strict=True):
            P[:, number] = self.solver.expand(q, e)
        return P

    def _held(self, q: Array, v: Array, held: Sequence[int]) -> Array:
        """v with the velocities of some dofs held: the others keep the loops closed."""
        rows = Constraints(self.solver.graph, self.solver.graph.state(q, v))
        free = np.ones(len(v), dtype=bool)
        free[list(held)] = False
        unit = rows.measure.dofs[free]
        G = rows.jacobian() / rows.units[:, None]
        v = np.array(v)
        v[free] -= np.linalg.lstsq(G[:, free] / unit, G @ v, rcond=1e-9)[0] / unit
        return v

    def require_closed(self, q: Array, v: Array) -> None:
        """Raise `LoopError`, with the cure, where a run would begin off its closures."""
        try:
            self.solver.forward_dynamics(q, v, np.zeros(self.solver.graph.nv))
        except LoopError as wrong:
            raise LoopError(
                f"a run cannot begin off its closures: {wrong} Close the model first: s = sc.loops.TreeAugmented(mb); "
                "mb.q = s.assemble(mb.q); mb.v = s.project_velocity(mb.q, mb.v)."
            ) from None

    def require_free(self, number: int, name: str, others: list[int]) -> None:
        """Raise `LoopError` where closures, and the dofs prescribed already, fix a dof."""
        graph = self.solver.graph
        rows = Constraints(graph, graph.current)
        G = rows.jacobian() / rows.units[:, None] / rows.measure.dofs
        held = np.eye(graph.nv)[others]
        before = np.linalg.matrix_rank(np.concatenate([G, held]), tol=1e-8)
        if np.linalg.matrix_rank(np.concatenate([G, held, np.eye(graph.nv)[[number]]]), tol=1e-8) == before:
            tied = [graph.dof_names[i] for i in others]
            besides = f", with {', '.join(map(repr, tied))} prescribed," if tied else ""
            raise LoopError(
                f"dof {name!r} of {graph.name!r} cannot be prescribed: the closures{besides} fix its motion already. "
                "Let another dof go with p.prescribe(name, None), or open the loop."
            )

    def chain(self, q: Array, v: Array) -> Chain | None:
        """What compiled steps from a state take of the solver as it is now; None where Python must look at it first."""
        parts = self.solver.compiled_parts(q, v)
        return None if parts is None else Chain(parts[0].core, parts[1].core, parts[1].order, np.array(parts[2]))

    def follow(self, chain: Chain) -> None:
        """Go on from where compiled steps left the closures' hinges."""
        self.solver.follow(chain.theta)

    def violation(self, q: Array, v: Array) -> float:
        """How far the closures are open: radians, or lengths of the loop."""
        return float(Constraints(self.solver.graph, self.solver.graph.state(q, v)).opening)


def _numbers(solver: ConstraintEmbedding, q: Array) -> list[int]:
    number = {name: i for i, name in enumerate(solver.graph.dof_names)}
    return [number[name] for name in solver.independent(q)]
