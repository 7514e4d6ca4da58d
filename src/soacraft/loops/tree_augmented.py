"""`TreeAugmented`: articulated-body dynamics of the tree, then the constraint forces that close it."""

from __future__ import annotations

import numpy as np

from soacraft.dynamics.engine import answer
from soacraft.dynamics.problem import Problem
from soacraft.kinematics.compiled import CompiledClosures
from soacraft.kinematics.independent import least_norm
from soacraft.kinematics.residuals import residual_of_rows, row_speeds
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.tasks import Task
from soacraft.kinematics.tolerances import PIVOT
from soacraft.loops.block_cholesky import BlockCholesky
from soacraft.loops.findings import Answer
from soacraft.loops.schur import Compliance
from soacraft.loops.solver import Solver
from soacraft.spatial.checks import Array

_REFINEMENTS = 2


class TreeAugmented(Solver):
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

    def _compile(self) -> CompiledClosures | None:
        return CompiledClosures.of(self._graph, self.tolerance)

    def _prepare(self, task: Task) -> None:
        self._refer(Compliance(task.rows, task.graph.sko(task.state)))

    def _solve(self, task: Task) -> Answer:
        given = {"q": task.state.q, "v": task.state.v, "force": task.acting}
        p = Problem("forward_dynamics", task.graph, given, task.forces)
        vdot = np.array(answer(p, None))
        if not task.rows.size:
            return Answer(vdot, np.zeros(0))
        compliance, factor = factored(task.rows)
        self._refer(compliance)
        multipliers = np.zeros(task.rows.size)
        for _ in range(1 + _REFINEMENTS):
            left = residual_of_rows(task, vdot)
            step = factor.solve(left)
            multipliers += step
            vdot -= compliance.accelerations(step)
            if np.abs(step).max() <= 1e-9 * np.abs(multipliers).max(initial=0.0):
                break
        if factor.rank < task.rows.size or factor.smallest < PIVOT:
            multipliers = least_norm(task.rows, multipliers)
        return Answer(vdot, multipliers)

    def _refer(self, compliance: Compliance) -> None:
        """Make a plan with what rounding is measured by here, unless that of the one in use serves."""
        if self._compiled is None or self._compiled.size != compliance.rows.size:
            return
        now = self._chosen.compiled
        if now is None or now.plan.compliance is None or not compliance.is_like(now.plan.compliance):
            self._take(self._compiled.augmented(compliance.reference))

    def _project(self, task: Task, weight: str) -> Array:
        """By mass: an impulse of the closures, v - Mcal^-1 Gc* S^+ (Gc v - U), from the same factorization."""
        if weight != "mass" or not task.rows.size:
            return super()._project(task, weight)
        rows, open_by = task.rows, task.rows.speed - task.U
        compiled = self._chosen.compiled
        if compiled is not None:
            jump = compiled.impulse(rows.state.q, rows.state.v, rows.theta, _in_axes_of_b(rows, open_by))
            if jump is not None:
                return np.asarray(task.state.v + jump)
        compliance, factor = factored(task.rows)
        self._refer(compliance)
        v = np.array(task.state.v)
        for _ in range(1 + _REFINEMENTS):
            v -= compliance.accelerations(factor.solve(row_speeds(task.rows, v) - task.U))
        return v


def factored(rows: Constraints) -> tuple[Compliance, BlockCholesky]:
    """The compliance of the closures and its factorization."""
    compliance = Compliance(rows, rows.graph.sko(rows.state))
    sizes = [where.stop - where.start for _, where in rows.places]
    return compliance, BlockCholesky(sizes, compliance.blocks, compliance.reference)


def _in_axes_of_b(rows: Constraints, x: Array) -> Array:
    """Numbers by rows as twists of frames b in their axes, (6) for each loop, then those of couplings: whatever rows
    the compiled solver takes for the same hinge, it finds them again.
    """
    places = rows.places[: len(rows.loops)]
    parts = [loop.Q.T @ x[where] for loop, (_, where) in zip(rows.loops, places, strict=True)]
    return np.concatenate([np.zeros(0), *parts, x[len(x) - len(rows.couplings) :]])
