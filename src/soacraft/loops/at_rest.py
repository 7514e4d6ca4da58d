"""A closed chain at rest in the coordinates of its independent dofs: the imbalance, its stiffness and mass.

    r = X* (T - force),    K = X* (dT/dq + d(Gc* lambda)/dq) X,    M = X* Mcal X,         Gc X = 0

with T of the tree's inverse dynamics at rest and multipliers that carry the dependent dofs, T + Gc* lambda = force
there. K is the exact derivative of r: X turns with the closures, dX* (T - force) = X* d(Gc* lambda)/dq. Dofs that are
fixed are rows more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from soacraft.analysis.equilibrium import Balance
from soacraft.dynamics.arguments import read_prescribed
from soacraft.dynamics.engine import answer
from soacraft.dynamics.problem import Mask, Problem
from soacraft.errors import ConvergenceError, LoopError
from soacraft.kinematics.independent import Partition, choose, expansion
from soacraft.kinematics.row_derivatives import row_derivatives
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.sizes import sizes_of
from soacraft.kinematics.tasks import Task
from soacraft.kinematics.tolerances import ASSEMBLED
from soacraft.loops.derivatives import _inverse_dynamics_derivatives as inverse_dynamics_derivatives
from soacraft.model.states.coordinates import Forces
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.loops.solver import Solver

#: Corrections that put a state on its closures again after a step.
CLOSING = 20


class AtRest:
    """The chain at closed coordinates; `fixed` dofs stay. The independent dofs are chosen here, or as they were."""

    def __init__(
        self, solver: Solver, q: Array, force: Array, forces: Forces, fixed: Mask, choice: Partition | None = None
    ) -> None:
        self.solver, self.q, self.force, self.forces, self.fixed = solver, q, force, forces, fixed
        self.graph = solver.graph
        state = self.graph.current.replace(q=q, v=np.zeros(self.graph.nv), forces=())
        self.task: Task = solver._task(state, force, forces, {}, passive=True)
        self.rows: Constraints = self.task.rows
        self.sizes = sizes_of(self.rows)
        self.held = _with_fixed(self.sizes.scaled(self.rows.jacobian()), fixed)
        self.choice = choose(self.held) if choice is None else choice
        c, i = self.sizes.dofs, self.choice.independent
        self.X = expansion(self.held, self.choice) * c[i] / c[:, None]
        if len(set(np.flatnonzero(fixed)) & set(i.tolist())):
            raise LoopError(f"the closures of {self.graph.name!r} hold dofs that are fixed: fix fewer of them.")

    @property
    def names(self) -> tuple[str, ...]:
        """The independent dofs that are not fixed."""
        return tuple(self.graph.dof_names[i] for i in self.choice.independent)

    def balance(self) -> Balance:
        """r, K and M over the independent dofs."""
        r, K, M = self.matrices()
        return Balance(self.X.T @ r, self.X.T @ K @ self.X, self.X.T @ M @ self.X)

    def matrices(self) -> Balance:
        """T - force (nv), dT/dq + d(Gc* lambda)/dq and Mcal (nv, nv) of the tree."""
        zero = np.zeros(self.graph.nv)
        state = {"q": self.q, "v": zero, "vdot": zero}
        T = answer(Problem("inverse_dynamics", self.graph, state, self.forces, passive=True), None)
        r = np.asarray(T - self.force)
        d = self.choice.dependent
        carried = np.linalg.lstsq(self.held[:, d].T, -(r / self.sizes.dofs)[d], rcond=None)[0]
        multipliers = carried[: self.rows.size] / self.sizes.rows
        of_rows = row_derivatives(self.rows, zero, zero, multipliers)
        dT, _, M = inverse_dynamics_derivatives(self.task, zero, multipliers)
        return Balance(r, np.asarray(dT + of_rows.push), np.asarray(M))

    def damping(self) -> Array:
        """dT/dv (nv, nv); the forces of closures do no work on it at rest."""
        zero = np.zeros(self.graph.nv)
        return np.asarray(inverse_dynamics_derivatives(self.task, zero, np.zeros(self.rows.size))[1])

    def moved(self, step: Array) -> AtRest:
        """The chain after a step of the independent dofs: closed again by the dependent ones."""
        q = self.graph.integrate(self.q, self.X @ step)
        d, c = self.choice.dependent, self.sizes.dofs
        for _ in range(CLOSING):
            rows = self.solver._rows(self.graph.current.replace(q=q, v=np.zeros(self.graph.nv), forces=()))
            if rows.open_part <= ASSEMBLED:
                return AtRest(self.solver, np.asarray(q), self.force, self.forces, self.fixed, self.choice)
            held = _with_fixed(self.sizes.scaled(rows.jacobian()), self.fixed)
            residual = np.concatenate([rows.residual / self.sizes.rows, np.zeros(int(self.fixed.sum()))])
            back = np.zeros(self.graph.nv)
            back[d] = -np.linalg.lstsq(held[:, d], residual, rcond=None)[0] / c[d]
            q = self.graph.integrate(q, back)
        raise ConvergenceError(
            f"a step of the dofs {', '.join(map(repr, self.names[:4]))} of {self.graph.name!r} opens its closures so "
            f"far that they do not close again: {rows.open_part:.2g} of a radian or of a loop's length is left."
        )


def _with_fixed(G: Array, fixed: Mask) -> Array:
    """The scaled rows, and one more for each dof that is fixed."""
    return np.concatenate([G, np.eye(len(fixed))[fixed]])


def read_fixed(solver: Solver, free: Any, fixed: Any) -> Mask:
    """The dofs that stay: those named, and those not named as free."""
    graph = solver.graph
    mask = np.zeros(graph.nv, dtype=np.bool_) if fixed is None else read_prescribed(graph, fixed, "fixed")
    return mask if free is None else np.asarray(mask | ~read_prescribed(graph, free, "free"))
