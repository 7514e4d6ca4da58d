"""`FullyAugmented`: all bodies free, hinges and closures as rows of one sparse system; for comparison.

In goes a state, out come vdot and multipliers: compiled, or from the sparse system here, its specification."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array

from soacraft.dynamics.engine import answer
from soacraft.dynamics.problem import Problem
from soacraft.errors import SingularError
from soacraft.kinematics.independent import Partition, least_norm
from soacraft.kinematics.partition import partition
from soacraft.kinematics.plan import FULLY_AUGMENTED
from soacraft.kinematics.residuals import do_nothing, natural_rate, repeats, residual_of_rows, residuals
from soacraft.kinematics.sizes import sizes_of
from soacraft.kinematics.tasks import Task
from soacraft.kinematics.tolerances import ACCURATE, CLOSED, SETTLED, SLACK, STALLED
from soacraft.loops.augmented import Augmented
from soacraft.loops.findings import Answer
from soacraft.loops.free_nodes import FreeNodes
from soacraft.loops.full_pattern import Bodies, Indices, Pattern, Ties, Values, times
from soacraft.loops.schur import Compliance
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array

_ROUNDS = 40
_TIGHTER = 4
_PATTERNS = 8


class FullyAugmented(Augmented):
    """Closed chains in maximal coordinates (formula F4): the accelerations of all bodies and all hinge forces.

        [ M   N*  C* ] [ alpha  ]   [ f - b ]      N_k* (alpha(k) - A*(p,k) alpha(p)) = N_k* a(k),  N_k = null H(k)
        [ N   0   0  ] [ mu     ] = [ N a   ]      C: the rows of loops and couplings on the bodies
        [ C   0  -e  ] [ lambda ]   [ c     ]      f: the generalized force, H(k)^+ T(k) on k and back on p

    O(n) for trees and rows of loops; no articulated bodies, so it is a witness for the solvers that have them.

    Compiled for whole models of built-in hinges: every body is eliminated with its hinge, tips to base, which leaves a
    mark on its parent alone; the closures come last, and the residual is solved for again until nothing changes
    (`core/include/soacraft/loops/augmented/free_bodies.hpp` and `fully_augmented.hpp`).

    In Python, for all else, a sparse LU factorization with a little slack e in the closures, so that redundant rows do
    no harm, refined in the same way. Of the multipliers that do the same, those of least norm are taken: from the same
    matrix with other numbers, or, where that does not settle, by dense least squares on Gc*. The positions of the
    numbers in the matrix, and the order of its columns, are found at the first call. Flexible bodies have larger nodes,
    and another system (`loops/free_nodes.py`).

    >>> import soacraft as sc
    >>> mb = sc.load("robotiq_2f85")
    >>> r = FullyAugmented(mb).forward_dynamics(mb.q, mb.v, np.zeros(mb.nv))
    >>> r.rank, bool(r.residual < 1e-9)
    (5, True)
    """

    _method = FULLY_AUGMENTED

    def __init__(self, graph: Graph, tolerance: float = CLOSED) -> None:
        super().__init__(graph, tolerance)
        self._bodies: Bodies | None = None
        self._patterns: dict[tuple[tuple[int, ...], ...], tuple[Ties, Pattern]] = {}

    def _renew(self) -> None:
        self._bodies, self._patterns = None, {}
        super()._renew()

    def _solve(self, task: Task) -> Answer:
        if task.graph.layout.flexible:
            return self._of_nodes(task)
        if self._bodies is None:
            self._bodies = Bodies(task.graph.layout, task.state.configuration.maps, task.rows.measure.length)
        key = tuple(tuple(x.rates) for x in task.rows.couplings)
        ties, before = self._patterns.get(key) or (Ties(task.rows, self._bodies), None)
        system = _System(task, self._bodies, ties)
        pattern = system.pattern(before)
        if pattern is not before:
            self._patterns = {**dict(list(self._patterns.items())[1 - _PATTERNS :]), key: (ties, pattern)}
        solution = system.solve(pattern)
        vdot = system.hinge_accelerations(solution.z[pattern.bodies])
        of_rows, off = residual_of_rows(task, vdot), np.inf
        idle = system.idle(pattern, solution)
        if solution.change <= self.tolerance and repeats(task, vdot, of_rows) and do_nothing(task.rows, idle):
            multipliers, choice = system.least(pattern, solution, idle is not None, self.tolerance)
            residual = residuals(task, vdot, multipliers, of_rows)  # `change` mixes turns and metres, these do not
            off = max(residual)
            if off <= min(ACCURATE, self.tolerance):
                return self._answered(task, Answer(vdot, multipliers, choice, residual))
        dense = _dense(task, partition(task.rows, tolerance=self.tolerance))
        if off <= self.tolerance and off <= max(residuals(task, dense.vdot, dense.multipliers)):
            return self._answered(task, Answer(vdot, multipliers, choice, residual))
        return self._answered(task, dense)

    def _of_nodes(self, task: Task) -> Answer:
        """Answer for a model with flexible bodies: nodes of any size, in Python (`loops.free_nodes`)."""
        vdot, multipliers = FreeNodes(task).solve()
        choice = partition(task.rows, tolerance=self.tolerance)
        if choice.rank < task.rows.size:
            multipliers = least_norm(task.rows, multipliers, choice.rank)
        residual = residuals(task, vdot, multipliers)
        return Answer(vdot, multipliers, choice, residual) if max(residual) <= ACCURATE else _dense(task, choice)

    def _prepare(self, task: Task) -> None:
        with suppress(SingularError):  # a link without mass that closures hold is no matter here
            super()._prepare(task)

    def _answered(self, task: Task, answer: Answer) -> Answer:
        """The answer, which may leave another plan to compiled code."""
        if self._compiled is not None and task.rows.size:
            loose = answer.choice is not None and answer.choice.loose
            with suppress(SingularError):
                self._refer(Compliance(task.rows, task.graph.sko(task.state)), loose)
        return answer


class _Found(NamedTuple):
    """A solution."""

    z: Array
    """Solution in the order of the matrix's columns."""
    settled: bool
    change: float
    """The last one, relative to the largest of the numbers watched and what gravity and forces let bodies move by, all
    in radians and lengths of the model."""
    factor: Any
    slack: Array
    """Slack with which it was factored."""
    K: csc_array
    """Matrix without slack."""


class _System:
    """The sparse system of one state."""

    def __init__(self, task: Task, bodies: Bodies, ties: Ties) -> None:
        configuration = task.state.configuration
        self.task, self.bodies, self.ties = task, bodies, ties
        self.A, self.a = configuration.A, task.state.motion.a
        self.hinges = bodies.hinges(configuration.maps)
        C, besides = ties.blocks(task.rows, self.hinges, self.A, self.a)
        self.c = task.Udot - besides
        self.compliance = ties.compliance(C)
        self.least_acceleration = max(natural_rate(task) ** 2, 1e-300)
        N_T = self.hinges.N_T
        self.values = Values(bodies.M, N_T, -N_T[:, :, :6] @ self.A.mT, C, np.zeros(ties.size))

    def pattern(self, before: Pattern | None) -> Pattern:
        """The pattern known, if all numbers have a place in it, or else a new one."""
        if before is not None and before.fits(self.hinges.there, self.values):
            return before
        try:
            return Pattern(self.bodies, self.ties, self.hinges.there, self._soft(1.0), before)
        except RuntimeError:
            raise self._singular() from None

    def solve(self, pattern: Pattern) -> _Found:
        """Accelerations of all bodies, forces of all hinges, and multipliers of the closures."""
        N_a = times(self.hinges.N_T[:, :, :6], self.a)[self.hinges.there]
        rhs = np.concatenate([self._body_forces(), N_a, self.c])
        solution = self._settled(pattern, self.values, self._soft, rhs, pattern.bodies, self._in_units())
        if solution.factor is None:
            raise self._singular()
        return solution

    def hinge_accelerations(self, alpha: Array) -> Array:
        """vdot(k) = (H*)^+ (alpha(k) - A*(p,k) alpha(p) - a(k))."""
        bodies, inner = self.bodies, self.bodies.inner
        step = _laid_out(alpha, bodies.alpha)
        above = times(self.A[inner].mT, step[bodies.parents[inner], :6])
        step[:, :6] -= self.a
        step[inner, :6] -= above
        return times(self.hinges.H_inv, step)[bodies.dofs >= 0]

    def idle(self, pattern: Pattern, solution: _Found) -> Array | None:
        """Multipliers that do nothing, or nearly; None where no rows repeat others.

        With S the compliance of the closures, e^1/2 (S + e)^-1 e^1/2 leaves those alone that do nothing and makes
        others small: two rounds of it on a vector tell whether there are some, two more leave hardly anything else.
        """
        root, x, sizes = np.sqrt(-solution.slack), self.ties.probe, []
        for _ in range(4):
            rhs = np.zeros(pattern.size)
            rhs[pattern.size - len(x) :] = root * x
            x = root * solution.factor.solve(rhs)[pattern.closures]
            sizes.append(float(np.linalg.norm(x)))
            if len(sizes) == 2 and not sizes[1] > 0.1 * sizes[0]:
                return None
        return np.divide(x, root, out=np.zeros_like(x), where=root > 0.0)

    def least(
        self, pattern: Pattern, solution: _Found, repeated: bool, tolerance: float
    ) -> tuple[Array, Partition | None]:
        """The multipliers of least norm that do the same, those found where no row is `repeated`; and the partition
        of the dofs where it was made for them."""
        multipliers = solution.z[pattern.closures]
        if not repeated:
            return multipliers, None
        least = self._least_sparse(pattern, solution)
        if least.settled:
            return least.z[pattern.closures], None
        choice = partition(self.task.rows, tolerance=tolerance)
        return least_norm(self.task.rows, multipliers, choice.rank), choice

    # -- inside ----------------------------------------------------------------------------------------------

    def _body_forces(self) -> Array:
        """f - b."""
        bodies, inner, state = self.bodies, self.bodies.inner, self.task.state
        f = times(self.hinges.H_inv.mT, _laid_out(self.task.acting, bodies.dofs))
        back = times(self.A[inner], f[inner, :6])
        f[:, :6] -= state.replace(forces=state.forces + self.task.forces).b if self.task.forces else state.b
        np.subtract.at(f[:, :6], bodies.parents[inner], back)
        return f[bodies.alpha >= 0]

    def _in_units(self) -> Array:
        """Factors that give the accelerations of bodies and rotors in radians and lengths of the model."""
        bodies, measure = self.bodies, self.task.rows.measure
        units = np.ones(bodies.alpha.shape)
        units[:, 3:6] = 1.0 / measure.length if measure.length > 0.0 else 1.0
        rotors = bodies.alpha[:, 6:] >= 0
        units[:, 6:][rotors] = measure.dofs[bodies.dofs[:, : rotors.shape[1]][rotors]]
        return units[bodies.alpha >= 0]

    def _soft(self, part: float) -> Values:
        """Values with slack."""
        return self.values._replace(slack=-part * SLACK * self.compliance)

    def _settled(
        self,
        pattern: Pattern,
        rigid: Values,
        soft: Callable[[float], Values],
        rhs: Array,
        watched: Indices,
        units: Array,
    ) -> _Found:
        """Solve with the factors of a softer matrix, and of less and less soft ones until the entries watched, in their
        units, stay.

        A matrix without factors ends it.
        """
        K, part = pattern.matrix(rigid), 1.0
        solution = _Found(np.zeros(len(rhs)), False, 0.0, None, rigid.slack, K)
        for _ in range(_TIGHTER):
            values = soft(part)
            try:
                factor = pattern.factored(values)
            except RuntimeError:
                break
            refined = _refined(K, factor, rhs, solution.z, lambda x: x[watched] * units, self.least_acceleration)
            solution = _Found(*refined, factor, values.slack, K)
            if solution.settled:
                break
            part *= 1e-2
        return solution

    def _least_sparse(self, pattern: Pattern, solution: _Found) -> _Found:
        """The multipliers lambda' = C y of least norm, y a motion of the tree:

            [ 0   N*  C* ] [ y       ]   [ N* mu + C* lambda ]
            [ N   0   0  ] [ mu'     ] = [ 0                 ]
            [ C   0  -I  ] [ lambda' ]   [ 0                 ]

        solved as the system itself; a little of M takes the place of slack, for motions that the closures allow.
        """
        forces = np.array(solution.z)
        forces[pattern.bodies] = 0.0
        rhs = solution.K @ forces
        rigid = self.values._replace(M=np.zeros_like(self.values.M), slack=-np.ones(self.ties.size))
        little = SLACK * float(self.compliance.min()) * self.values.M
        units = self.task.rows.units
        return self._settled(pattern, rigid, lambda part: rigid._replace(M=part * little), rhs, pattern.closures, units)

    def _singular(self) -> SingularError:
        return SingularError(
            f"the bodies of {self.task.graph.name!r} and their hinges leave a motion without inertia; give mass or "
            "moment to the bodies outboard of a hinge that moves nothing, or weld it."
        )


def _refined(
    K: csc_array, factor: Any, rhs: Array, z: Array, watched: Callable[[Array], Array], least: float
) -> tuple[Array, bool, float]:
    """Solve for the residual until the watched entries no longer change: the solution, True if they do not, and their
    last change relative to the largest of them, or to the least that counts.
    """
    before = np.inf
    for _ in range(_ROUNDS):
        step = factor.solve(rhs - K @ z)
        z = z + step
        change, largest = (float(np.abs(watched(x)).max(initial=0.0)) for x in (step, z))
        if change <= SETTLED * largest:
            return z, True, 0.0
        if change > 0.1 * before:  # rounding, or a slack too large for the stiffest closure
            return z, change <= STALLED * largest, change / max(least, largest)
        before = change
    return z, False, change / max(least, largest)


def _dense(task: Task, choice: Partition) -> Answer:
    """Answer where the sparse system does not settle, near a change of rank: combined rows, as many as the rank.

        Gc ~ R* (R Gc),    [ Mcal  (R Gc)* ] [ vdot ]   [ T - C           ]
                           [ R Gc     0    ] [ mu   ] = [ R (Udot - Gcdot v) ],    lambda = R* mu
    """
    rows = task.rows
    G, sizes, state = rows.jacobian(), sizes_of(rows), {"q": rows.state.q, "v": rows.state.v}
    U, _, _ = np.linalg.svd(sizes.scaled(G), full_matrices=False)
    R = (U[:, : choice.rank] / sizes.rows[:, None]).T
    p = Problem("bias_force", rows.graph, state, task.forces)
    C = answer(p, None)
    M = answer(Problem("mass_matrix", rows.graph, {"q": rows.state.q}), None)
    K = np.block([[M, (R @ G).T], [R @ G, np.zeros((len(R), len(R)))]])
    x = np.linalg.solve(K, np.concatenate([task.acting - C, R @ (task.Udot - rows.gamma)]))
    return Answer(x[: p.nv], least_norm(rows, R.T @ x[p.nv :], choice.rank), choice)


def _laid_out(x: Array, numbers: Indices) -> Array:
    """x by body; zero where the number is -1."""
    return np.append(x, 0.0)[numbers]
