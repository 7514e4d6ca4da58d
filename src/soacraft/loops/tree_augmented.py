"""`TreeAugmented`: articulated-body dynamics of the tree, then the constraint forces that close it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import scipy.linalg

from soacraft.dynamics.engine import answer
from soacraft.dynamics.problem import Problem
from soacraft.errors import SingularError
from soacraft.kinematics.compiled import CompiledClosures
from soacraft.kinematics.independent import Partition, least_norm
from soacraft.kinematics.partition import partition
from soacraft.kinematics.plan import TREE_AUGMENTED
from soacraft.kinematics.residuals import repeats, residual_of_rows, row_speeds
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.sizes import sizes_of
from soacraft.kinematics.tasks import Task
from soacraft.kinematics.tolerances import OPEN_ROWS, PIVOT, REFINED, REPEATED
from soacraft.loops.augmented import Augmented
from soacraft.loops.block_cholesky import BlockCholesky
from soacraft.loops.closure_operators import ClosedBinding, ClosedOperators, drives_of
from soacraft.loops.findings import Answer
from soacraft.loops.schur import Compliance
from soacraft.ops.namespace import operators_of
from soacraft.spatial.checks import Array

_REFINEMENTS = 2


class TreeAugmented(Augmented):
    """Closed chains by tree-augmented dynamics (formula F3).

        vdot_f = Mcal^-1 (T - C)                                        articulated bodies, loops open
        S lambda = Gc vdot_f + Gcdot v - Udot,   S = Q B* Omega B Q*    sparse, in the order of the closure graph
        vdot = vdot_f - (I - H psi K)* D^-1 H psi B Q* lambda           one gather, one scatter

    O(n) and the factorization of S: O(loops) for loops in a row on the ground, O(loops^3) when all share a moving
    body. With redundant rows least squares, multipliers of least norm.

    >>> import soacraft as sc
    >>> mb = sc.load("five_bar")
    >>> s = TreeAugmented(mb)
    >>> r = s.forward_dynamics(s.assemble(mb.q), mb.v, np.zeros(mb.nv))
    >>> r.rank, len(r.vdot_independent), bool(r.residual < 1e-9)
    (3, 3, True)
    """

    _method = TREE_AUGMENTED

    def operators(
        self,
        q: Any = None,
        v: Any = None,
        names: str | None = None,
        f_ext: Any = None,
        force: Any = None,
        U: Any = None,
    ) -> Any:
        """The operators of the tree with those of its closures, `Q Bc Qv Gc S` and `Gcdot_v U Udot`; without q and v at
        the current state, whatever it becomes. `U` drives closures, as in `forward_dynamics`. See `ClosedOperators`.
        """
        state = None if q is None and v is None else self.graph.state(q, v)
        operators: ClosedOperators = operators_of(ClosedBinding(self, state, f_ext, force, drives_of(self, U)))  # type: ignore[assignment]
        return operators if names is None else operators[names]

    def binding(self, f_ext: Any = None, force: Any = None) -> ClosedBinding:
        """Binding of `sc.operators(s)`: the tree and its closures at the current state."""
        return ClosedBinding(self, None, f_ext, force)

    def _solve(self, task: Task) -> Answer:
        state = {"q": task.state.q, "v": task.state.v, "force": task.acting}
        p = Problem("forward_dynamics", task.graph, state, task.forces)
        vdot = np.array(answer(p, None))
        if not task.rows.size:
            return Answer(vdot, np.zeros(0))
        compliance, factor = factored(task.rows)
        multipliers = np.zeros(task.rows.size)
        for _ in range(1 + _REFINEMENTS):
            residual = residual_of_rows(task, vdot)
            step = factor.solve(residual)
            multipliers += step
            vdot -= compliance.accelerations(step)
            if np.abs(step).max() <= REFINED * np.abs(multipliers).max(initial=0.0):
                break
        if factor.rank == task.rows.size and factor.smallest >= PIVOT:
            self._refer(compliance)
            return Answer(vdot, multipliers)
        choice = partition(task.rows, tolerance=self.tolerance)
        self._refer(compliance, choice.loose)
        if factor.rank < choice.rank or not repeats(task, vdot):
            return _by_singular_values(task, choice)
        return Answer(vdot, least_norm(task.rows, multipliers, choice.rank), choice)

    def _augmented(self) -> CompiledClosures | None:
        return self._chosen.compiled

    def _augment(self, task: Task) -> None:
        if self._compiled is not None and self._chosen.compiled is None and task.rows.size:
            with suppress(SingularError):
                if not self._prepare_at(task.state.q, task.state.v):
                    self._prepare(task)

    def _project(self, task: Task, weight: str) -> Array:
        """Project by mass: an impulse of the closures, v - Mcal^-1 Gc* S^+ (Gc v - U), from the same factorization."""
        if weight != "mass" or not task.rows.size:
            return super()._project(task, weight)
        rows, open_by = task.rows, task.rows.speed - task.U
        compiled = self._chosen.compiled
        if compiled is not None:
            jump = compiled.impulse(rows.state.q, rows.state.v, rows.theta, _in_axes_of_b(rows, open_by))
            if jump is not None and _allowed(task, task.state.v + jump):
                return np.asarray(task.state.v + jump)
        try:
            compliance, factor = factored(task.rows)
        except SingularError:  # a hinge without inertia to move; the closures may hold it
            return super()._project(task, weight)
        self._refer(compliance)
        v = np.array(task.state.v)
        for _ in range(1 + _REFINEMENTS):
            v -= compliance.accelerations(factor.solve(row_speeds(task.rows, v) - task.U))
        return v if _allowed(task, v) else super()._project(task, weight)


def _allowed(task: Task, v: Array) -> bool:
    """True if velocities satisfy the rows to rounding, and to the opening of the loops: then no row was dropped that
    counts, as it would be near a singular pose.
    """
    rows = task.rows
    residual = (rows.speed + rows.jacobian() @ (v - task.state.v) - task.U) / rows.units
    speeds = (rows.speed - task.U) / rows.units, rows.measure.dofs * v
    size = max(float(np.abs(x).max(initial=0.0)) for x in speeds)
    return float(np.abs(residual).max(initial=0.0)) <= (REPEATED + OPEN_ROWS * rows.open_part) * size


def _by_singular_values(task: Task, choice: Partition) -> Answer:
    """Answer where S is too near singular to be formed: with Mcal = L L* and Y = Gc L^-*, as many singular values as
    the rank.

        vdot = vdot_f - L^-* Y^+ (Gc vdot_f + Gcdot v - Udot),    lambda = (Y*)^+ Y^+ (...)             O(m nv^2)
    """
    rows, sizes = task.rows, sizes_of(task.rows)
    G = np.where(sizes.moved, rows.jacobian(), 0.0) / sizes.rows[:, None]
    L = np.linalg.cholesky(answer(Problem("mass_matrix", rows.graph, {"q": rows.state.q}), None))
    U, sigma, V = np.linalg.svd(scipy.linalg.solve_triangular(L, G.T, lower=True).T, full_matrices=False)
    U, sigma, V = U[:, : choice.rank], sigma[: choice.rank], V[: choice.rank]
    state = {"q": rows.state.q, "v": rows.state.v, "force": task.acting}
    vdot = np.array(answer(Problem("forward_dynamics", task.graph, state, task.forces), None))
    multipliers = np.zeros(rows.size)
    for _ in range(1 + _REFINEMENTS):
        step = (U.T @ (residual_of_rows(task, vdot) / sizes.rows)) / sigma
        vdot -= scipy.linalg.solve_triangular(L, V.T @ step, lower=True, trans="T")
        multipliers += U @ (step / sigma) / sizes.rows
    return Answer(vdot, least_norm(rows, multipliers, choice.rank), choice)


def factored(rows: Constraints) -> tuple[Compliance, BlockCholesky]:
    """The compliance of the closures and its factorization."""
    compliance = Compliance(rows, rows.graph.sko(rows.state))
    sizes = [place.stop - place.start for _, place in rows.places]
    return compliance, BlockCholesky(sizes, compliance.blocks, compliance.reference)


def _in_axes_of_b(rows: Constraints, x: Array) -> Array:
    """Numbers by rows as twists of frames b in their axes, (6) for each loop, then those of couplings: whatever rows
    the compiled solver takes for the same hinge, it finds them again.
    """
    places = rows.places[: len(rows.loops)]
    parts = [loop.Q.T @ x[place] for loop, (_, place) in zip(rows.loops, places, strict=True)]
    return np.concatenate([np.zeros(0), *parts, x[len(x) - len(rows.couplings) :]])
