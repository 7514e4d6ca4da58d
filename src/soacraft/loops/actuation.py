"""Inverse dynamics of closed chains by compiled code: an embedding in which the actuated dofs are the independent ones.

    vdot = X vdot_a + x0,   T_a = X* (Mcal vdot + C - passive)                      one tree sweep, one factorization

In: states, accelerations of all dofs or of the solver's own independent ones, the actuated dofs, what drives closures.
Out: the force of each state, and where it holds. Dofs that are more than needed, or move not all, are left to Python.
The force depends on no solver, so all of them take this one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from soacraft.dynamics.compiled import pull_of
from soacraft.dynamics.problem import Mask, Problem
from soacraft.kinematics.compiled import ACCELERATE, INVERSE_DYNAMICS, INVERSE_OF_ALL, CompiledClosures
from soacraft.kinematics.independent import Indices, Partition, expansion
from soacraft.kinematics.plan import CONSTRAINT_EMBEDDING
from soacraft.kinematics.sizes import sizes_of
from soacraft.kinematics.tasks import Drives, Task
from soacraft.kinematics.tolerances import POOR_CONDITION
from soacraft.loops.embedding.groups import find_groups
from soacraft.loops.mixed import key_of
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.loops.planned import PlannedSolver

#: Choices of actuated dofs that are kept, by number and by name.
_PLANS = 16


class Actuation:
    """The embeddings of one solver for its parameters of now, made as they are asked for."""

    def __init__(self, solver: PlannedSolver) -> None:
        self._solver = solver
        self._plans: dict[Any, CompiledClosures] = {}  # by actuated dofs, and by what names them
        self._own: tuple[Indices, CompiledClosures] | None = None  # for the independent dofs that were kept

    # -- one state -----------------------------------------------------------------------------------------------------

    def force(
        self, q: Any, v: Any, vdot: Any, theta: Array | None, actuated: Any, U: Any, passive: bool
    ) -> tuple[Array, Array | None] | None:
        """The force at one state from plain arrays, and the coordinates of the closures' hinges where they are
        followed; None where there is no plan or compiled code is not sure.
        """
        at = self._independent() if actuated is None else self._plans.get(key_of(actuated))
        if at is None or theta is None or type(vdot) is not np.ndarray:
            return None
        drives: tuple[Any, ...] | None = () if U is None else at.driven_plainly(U)
        if drives is None:
            return None
        motion = INVERSE_OF_ALL
        if vdot.shape != (self._solver._graph.nv,):
            independent = self._independent()
            if independent is None:
                return None
            if independent is at:
                motion = INVERSE_DYNAMICS
            else:
                moved = independent.motions[ACCELERATE](q, vdot, theta, v, passive, *drives)
                if moved is None:
                    return None
                vdot = moved[1]
        answer = at.motions[motion](q, vdot, theta, v, passive, *drives)
        return None if answer is None else (answer[1], answer[2])

    # -- many states ---------------------------------------------------------------------------------------------------

    def forces(
        self, p: Problem, drives: list[Drives], mask: Mask | None, actuated: Any, first: int
    ) -> tuple[Array, npt.NDArray[np.bool_]] | None:
        """The forces of the states of a problem from the `first` on, and where they hold; None without a plan."""
        independent = self._independent()
        at = independent if mask is None else self._plans.get(tuple(np.flatnonzero(mask).tolist()))
        theta, count = self._solver._turns, math.prod(p.batch)
        if at is not None and (name := key_of(actuated)) is not None:
            self._plans[name] = at
        if at is None or theta is None or first >= count:
            return None
        q, v, x = (np.ascontiguousarray(x.reshape(count, x.shape[-1])[first:])
                   for x in map(p.full, ("q", "v", "vdot_independent")))  # fmt: skip
        pull = pull_of(p, count)[first:] if p.forces else None
        acting = (v, pull, p.passive, at.driven(drives[first:]))
        if x.shape[1] == p.nv:
            return at.move(INVERSE_OF_ALL, theta, q, x, *acting)[1:]
        if independent is None or x.shape[1] != len(independent.order):
            return None
        if independent is at:
            return at.move(INVERSE_DYNAMICS, theta, q, x, *acting)[1:]
        _, vdot, moved = independent.move(ACCELERATE, theta, q, x, *acting)
        _, force, fine = at.move(INVERSE_OF_ALL, theta, q, np.where(moved[:, None], vdot, 0.0), *acting)
        return force, fine & moved

    # -- plans ---------------------------------------------------------------------------------------------------------

    def make(self, task: Task, choice: Partition, mask: Mask | None) -> None:
        """Make the embedding for what Python has just answered, where the actuated dofs are as many as can move and
        move them all.
        """
        solver = self._solver
        at = choice.independent if mask is None else np.flatnonzero(mask)
        if not solver._is_compiled(CONSTRAINT_EMBEDDING) or len(at) != len(choice.independent) or not len(at):
            return
        if mask is None and solver._embedding() is not None:  # the solver has it
            return
        G, sizes = task.rows.jacobian(), sizes_of(task.rows)
        X = expansion(G, choice, sizes) * sizes.dofs[:, None] / sizes.dofs[choice.independent]
        if np.linalg.cond(X[at]) > POOR_CONDITION:
            return
        if solver._kept is choice.independent:
            self._own = choice.independent, self._plan(choice.independent, choice.loose)
        self._plan(at, choice.loose)

    def _plan(self, dofs: Indices, loose: bool) -> CompiledClosures:
        solver, key = self._solver, tuple(dofs.tolist())
        if key not in self._plans:
            if len(self._plans) >= _PLANS:
                self._plans.clear()
            assert solver._compiled is not None
            closures = solver._compiled.plan.closures
            groups = find_groups(solver.graph, (*closures.loops, *closures.couplings))
            self._plans[key] = solver._compiled.embedded([(x.members, x.ties) for x in groups], dofs, loose)
        return self._plans[key]

    def _independent(self) -> CompiledClosures | None:
        """The embedding for the independent dofs of the solver as they are chosen now."""
        embedding = self._solver._embedding()
        if embedding is not None or self._own is None:
            return embedding
        dofs, plan = self._own
        now = self._solver._kept
        if dofs is not now:
            if not np.array_equal(dofs, now if now is not None else ()):
                return None
            assert now is not None
            self._own = now, plan
        return plan
