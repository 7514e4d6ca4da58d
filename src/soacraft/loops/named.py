"""The named functions of dynamics for closed chains, in independent and in all coordinates.

    v = X v_i,   vdot = X vdot_i + x0:      Mcal_i = X* Mcal X,   C_i = X* (C + Mcal x0),   T_i = X* T

In independent coordinates they have the size of `independent(q)`, in its order. In all coordinates they have that of
the tree, with zeros at the dependent dofs, so that T = Mcal vdot + C holds for every vdot that agrees with the
closures; the inverse of the mass matrix is X Mcal_i^-1 X* there, what vdot changes by with the force. Cost: that of the
function of the tree and O(nv^3).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from soacraft import dynamics
from soacraft.dynamics.engine import answer
from soacraft.dynamics.problem import Problem
from soacraft.errors import LoopError, SingularError
from soacraft.kinematics.independent import Indices, completed, expansion, refuse_held
from soacraft.kinematics.sizes import sizes_of
from soacraft.kinematics.tasks import Task, states_of
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array

if TYPE_CHECKING:
    from soacraft.kinematics.independent import Partition
    from soacraft.kinematics.rows import Constraints

COORDINATES = ("independent", "all")


class Reduction(NamedTuple):
    """Map from the independent dofs to all dofs at one state."""

    task: Task
    independent: Indices
    X: Array
    x0: Array

    @property
    def q(self) -> Array:
        """The configuration."""
        return self.task.state.q

    def placed(self, x: Array, coordinates: str, both: bool = False) -> Array:
        """Vector, or with `both` matrix, of the independent dofs, in the coordinates of the call."""
        if coordinates == "independent":
            return x
        nv = len(self.X)
        full = np.zeros((nv, nv) if both else nv)
        full[np.ix_(self.independent, self.independent) if both else self.independent] = x
        return full


class NamedFunctions:
    """Functions of a solver other than forward and inverse dynamics. `coordinates` is "independent" or "all"."""

    if TYPE_CHECKING:

        @property
        def graph(self) -> Graph: ...

        def _read(self, function: str, **given: Any) -> Problem: ...
        def _task(
            self, state: Any, force: Array, forces: Any, drives: Any, moving: bool = True, passive: bool = False
        ) -> Task: ...
        def _choice(self, rows: Constraints) -> Partition: ...

    def velocity_map(self, q: Any) -> Array:
        """X (..., nv, m): all velocities from those of the independent dofs, v = X v_i. Forces of closures have no part
        in X* T.

        >>> import soacraft as sc
        >>> mb = sc.load("five_bar")
        >>> s = sc.loops.ConstraintEmbedding(mb)
        >>> s.velocity_map(s.assemble(mb.q)).shape
        (6, 3)
        """
        return self._each("velocity_map", lambda r: r.X, "independent", q=q)

    def mass_matrix(self, q: Any, coordinates: str = "independent") -> Array:
        """X* Mcal X, (..., m, m), in all coordinates (..., nv, nv).

        >>> import soacraft as sc
        >>> mb = sc.load("five_bar")
        >>> s = sc.loops.ConstraintEmbedding(mb)
        >>> q = s.assemble(mb.q)
        >>> s.mass_matrix(q).shape, s.mass_matrix(q, "all").shape
        ((3, 3), (6, 6))
        """

        def at(r: Reduction) -> Array:
            return r.placed(r.X.T @ self._tree("mass_matrix", r.q) @ r.X, coordinates, both=True)

        return self._each("mass_matrix", at, coordinates, q=q)

    def mass_matrix_inverse(self, q: Any, coordinates: str = "independent") -> Array:
        """(X* Mcal X)^-1, in all coordinates X (X* Mcal X)^-1 X*."""

        def at(r: Reduction) -> Array:
            inverse = self._inverse_of(r)
            return inverse if coordinates == "independent" else r.X @ inverse @ r.X.T

        return self._each("mass_matrix_inverse", at, coordinates, q=q)

    def bias_force(
        self, q: Any, v: Any, f_ext: Any = None, coordinates: str = "independent", *, passive: bool = True
    ) -> Array:
        """X* (C + Mcal x0): the force at zero acceleration of the independent dofs, springs and dampers considered."""

        def at(r: Reduction) -> Array:
            state = {"q": r.q, "v": r.task.state.v, "vdot": r.x0}
            force = np.array(answer(Problem("inverse_dynamics", self.graph, state, r.task.forces), None))
            return r.placed(r.X.T @ (force - r.task.besides), coordinates)

        return self._each("bias_force", at, coordinates, q=q, v=v, f_ext=f_ext, passive=passive)

    def gravity_force(self, q: Any, coordinates: str = "independent") -> Array:
        """X* of the generalized force that holds the tree against gravity."""

        def at(r: Reduction) -> Array:
            return r.placed(r.X.T @ self._tree("gravity_force", r.q), coordinates)

        return self._each("gravity_force", at, coordinates, q=q)

    def jacobian(
        self, q: Any, nodes: Any, expressed_in: Any = "inertial", coordinates: str = "independent"
    ) -> Array:
        """J X of nodes, (..., 6 k, m): their velocities from those of the independent dofs; in all coordinates J of the
        tree, to be multiplied by velocities that agree with the closures.
        """

        def at(r: Reduction) -> Array:
            J = dynamics.jacobian(self.graph, r.q, nodes, expressed_in)
            return J @ r.X if coordinates == "independent" else np.asarray(J)

        return self._each("jacobian", at, coordinates, q=q)

    def operational_space_compliance(self, q: Any, nodes: Any, expressed_in: Any = "inertial") -> Array:
        """J X (X* Mcal X)^-1 X* J*, (..., 6 k, 6 k): the accelerations that forces at the nodes cause."""

        def at(r: Reduction) -> Array:
            J = np.asarray(dynamics.jacobian(self.graph, r.q, nodes, expressed_in)) @ r.X
            return np.asarray(J @ self._inverse_of(r) @ J.T)

        return self._each("operational_space_compliance", at, "all", q=q)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _inverse_of(self, r: Reduction) -> Array:
        M = r.X.T @ self._tree("mass_matrix", r.q) @ r.X
        try:
            L = np.linalg.cholesky(M)
        except np.linalg.LinAlgError:
            names = ", ".join(repr(self.graph.dof_names[i]) for i in r.independent)
            raise SingularError(
                f"the mass matrix of {self.graph.name!r} in its independent dofs, {names}, is singular: give mass or "
                "moment to what they move."
            ) from None
        half = np.linalg.solve(L, np.eye(len(M)))
        return half.T @ half

    def _tree(self, function: str, q: Array) -> Array:
        return np.asarray(getattr(dynamics, function)(self.graph, q, ignore_loops=True))

    def _each(self, function: str, at: Any, coordinates: str, **given: Any) -> Array:
        if coordinates not in COORDINATES:
            raise LoopError(f"coordinates of {function} must be 'independent' or 'all', got {coordinates!r:.60}.")
        p = self._read(function, **given)
        parts = [at(r) for r in self._reductions(p)]
        return np.reshape(parts, (*p.batch, *np.shape(parts)[1:]))

    def _reductions(self, p: Problem) -> Iterator[Reduction]:
        moving = "v" in p.given
        for state, _, forces in states_of(p):
            task = self._task(state, np.zeros(p.nv), forces, {}, moving=moving, passive=p.passive)
            rows = task.rows
            choice, G, sizes = self._choice(rows), rows.jacobian(), sizes_of(rows)
            X = expansion(G, choice, sizes)
            refuse_held(rows, G, choice, X, sizes)
            x0 = completed(G, choice, np.zeros(len(choice.independent)), -rows.gamma, sizes)
            yield Reduction(task, choice.independent, X, x0)
