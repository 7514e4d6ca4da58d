"""Closed chains in motion: accelerations by a solver, and every state put back on its closures.

Tree-augmented and fully-augmented solvers integrate all dofs and project each state, least in the metric of the mass
matrix, so that branches are kept through singular poses. So does constraint embedding, unless its independent dofs were
named: then these are integrated, and the others, predicted by their own rates, solved for at every stage. That is an
ODE in independent coordinates, with the dead points of these; and at a distance d from a singular pose rounding moves
dependent dofs by 1/d of it, their accelerations by 1/d^3, and the independent ones with them, while projection leaves
the motion along the branch unchanged. `Stabilized` projects nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft import dynamics as dyn
from soacraft.errors import LoopError, SingularError, SoacraftError, StateError
from soacraft.kinematics.rows import Constraints
from soacraft.loops import ConstraintEmbedding, Solver, forward_dynamics_derivatives
from soacraft.model.sizes.measure import measure_of
from soacraft.model.tree.graph import Graph
from soacraft.sim.problem.tree import Tree
from soacraft.spatial.checks import Array, finite

if TYPE_CHECKING:
    from soacraft.sim.forces.prescribed import Prescribed


#: Rows that repeat others, relative to the largest, in units of the rows and of the mass matrix.
_REPEATED = 1e-9
#: Dependent dofs that are solved for are within this of those that were integrated, relative to a radian, to the length
#: of the model, and to the fastest dof. Closures that are pulled shut are open by no more, in radians or lengths.
_NEAR = 0.05
#: Slower than this, relative to a swing under gravity, is rest.
_SLOW = 1e-6
#: Slower than this is at rest, in sizes per second: velocities there are rounding.
_AT_REST = 1e-9


class Chain(NamedTuple):
    """Parts of a solver for compiled steps: the compiled solver, what projects states, and the coordinates of the
    closures' hinges, which are followed."""

    solver: Any
    mover: Any
    theta: Array


def rolling_closure(graph: Graph) -> str:
    """The name of a closure that is nonholonomic; empty where there is none."""
    return next((x.name for x in graph.loops if x.active and not x.hinge.holonomic), "")


class Closed:
    """The closures of a model and their solver. `Tree` has the same calls for models without closures."""

    is_closed = True

    def __init__(self, solver: Solver) -> None:
        self.solver = solver

    def copied(self) -> Closed:
        """Closures with a copy of the solver, which follows no run."""
        other = copy(self)
        other.solver = copy(self.solver)
        return other

    def accelerations(self, q: Array, v: Array, force: Array) -> Array:
        """vdot at a state on the closures."""
        return self.solver.forward_dynamics(q, v, force).vdot

    def multipliers(self, q: Array, v: Array, force: Array) -> Mapping[str, Array]:
        """Multipliers {closure or coupling: array} at a state on the closures (`loops.Result.multipliers`)."""
        return self.solver.forward_dynamics(q, v, force).multipliers

    def compliance(self, q: Array) -> Array:
        """dvdot/dforce of all dofs at a closed q, (nv, nv)."""
        still = np.zeros(self.solver.graph.nv)
        try:
            return forward_dynamics_derivatives(self.solver, q, still, still, passive=False).dforce
        except SoacraftError:  # one next to the closures, or with forces that have no derivative there
            return self.mass_matrix_inverse(q)

    def mass_matrix_inverse(self, q: Array) -> Array:
        """Inverse of the mass matrix by the solver, whose symmetric rounding leaves closures shut."""
        return np.asarray(self.solver.mass_matrix_inverse(q, "all"))

    def project_velocity(self, q: Array, v: Array) -> Array:
        """The nearest velocity that keeps the closures shut."""
        return self.solver.project_velocity(q, v)

    def mixed(
        self, q: Array, v: Array, force: Array, vdot: Array, prescribed: npt.NDArray[np.bool_]
    ) -> tuple[Array, Array]:
        """vdot and force, where some accelerations are prescribed."""
        return self.solver.mixed_dynamics(q, v, force, vdot, prescribed)

    def onto(
        self, q: Array, v: Array, prescribed: Prescribed | None, still: Sequence[int] = (), end: bool = False
    ) -> tuple[Array, Array]:
        """The state on the closures next to (q, v), with some dofs at rest; at the end of a step, one that is not near
        is a `LoopError`."""
        if prescribed is not None:
            names = self.solver.graph.dof_names
            q = self.solver.assemble(q, fixed=[names[i] for i in prescribed.dofs], bend=True)
            return q, self._held(q, v, [*prescribed.dofs, *still])
        q, v = self._projected(q, v, end)
        if not still:
            return q, v
        v = np.array(v)
        v[list(still)] = 0.0
        return q, self._held(q, v, still)

    def _projected(self, q: Array, v: Array, end: bool) -> tuple[Array, Array]:
        if isinstance(self.solver, ConstraintEmbedding) and not self.projects:
            closed = self.solver.complete(q)
            rates = self.solver.expand(closed, dict(zip(self.solver.epoch.dofs, v[_numbers(self.solver)], strict=True)))
            if end:
                self._require_near(self.solver, (q, v), (closed, rates))
            return closed, rates
        return self.solver.project(q, v)

    @property
    def projects(self) -> bool:
        """True if states are projected with all dofs, rather than completed from independent ones."""
        return not isinstance(self.solver, ConstraintEmbedding) or self.solver.system.wanted is None

    def _require_near(
        self, solver: ConstraintEmbedding, integrated: tuple[Array, Array], closed: tuple[Array, Array]
    ) -> None:
        """Raise `LoopError` where the dependent dofs that were solved for are not those that were integrated: beyond a
        dead point the independent ones tell neither the branch nor the speed of the others."""
        graph = solver.graph
        measure = measure_of(graph, closed[0])
        slow = _SLOW * np.sqrt(np.linalg.norm(graph.gravity) / measure.length)
        fastest = max(float(np.abs(measure.dofs * integrated[1]).max(initial=0.0)), float(slow), _AT_REST)
        moved = measure.dofs * graph.difference(integrated[0], closed[0]), measure.dofs * (closed[1] - integrated[1])
        far = np.maximum(np.abs(moved[0]), np.abs(moved[1]) / fastest)
        if far.max(initial=0.0) > _NEAR:
            dof = graph.dof_names[int(np.argmax(far))]
            raise LoopError(
                f"{graph.name!r} loses its branch: with {', '.join(map(repr, solver.epoch.dofs))} independent, dof "
                f"{dof!r} would jump by {far.max():.2g} of its size, as at a dead point. Let the solver choose the "
                "independent dofs (solver='ce'), or integrate all (solver='ta')."
            )

    def projector(self, q: Array, in_force: Array) -> Array:
        """P with P dv what `onto` leaves of dv at a closed q: X on independent dofs that were named, else
        dvdot/dforce Mcal."""
        if self.projects or not isinstance(self.solver, ConstraintEmbedding):
            return np.asarray(in_force @ dyn.mass_matrix(self.solver.graph, q, ignore_loops=True))
        numbers = _numbers(self.solver)
        P = np.zeros_like(in_force)
        for number, e in zip(numbers, np.eye(len(numbers)), strict=True):
            P[:, number] = self.solver.expand(q, dict(zip(self.solver.epoch.dofs, e, strict=True)))
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
            why = str(wrong).partition(" Close it first: ")[0]  # the cure below is the whole of it
            raise LoopError(
                f"a run cannot begin off its closures: {why} Close the model first: s = sc.loops.TreeAugmented(mb); "
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
            and_prescribed = f", with {', '.join(map(repr, tied))} prescribed," if tied else ""
            raise LoopError(
                f"dof {name!r} of {graph.name!r} cannot be prescribed: the closures{and_prescribed} fix its motion "
                "already. Let another dof go with p.prescribe(name, None), or open the loop."
            )

    @property
    def obstacle(self) -> str:
        """Reason why steps are taken in Python; empty if they need not be: independent dofs may have dead points where
        a user named them, which are looked for in Python."""
        if not self.projects:
            return "the independent dofs are named"
        rolling = rolling_closure(self.solver.graph) if isinstance(self.solver, ConstraintEmbedding) else ""
        return f"{rolling!r} rolls, and constraint embedding of it is written in Python" if rolling else ""

    def chain(self, q: Array, v: Array, driven: Sequence[int] = ()) -> Chain | None:
        """Parts of the solver for compiled steps from a state; None where Python must look at it first.
        `driven` are dofs with motions of their own."""
        if self.obstacle:
            return None
        if driven:
            with suppress(SoacraftError):  # of dofs that closures tie to each other
                return self._driven_chain(q, v, list(driven))
            return None
        parts = self.solver.compiled_parts(q, v)
        return None if parts is None else Chain(parts[0].core, parts[1].core, np.array(parts[2]))

    def _driven_chain(self, q: Array, v: Array, driven: list[int]) -> Chain | None:
        still, mask = np.zeros(len(v)), np.zeros(len(v), dtype=bool)
        mask[driven] = True
        parts, solver = self.solver.compiled_parts(q, v), self.solver.driving_parts(driven)
        if parts is None:
            self.solver.forward_dynamics(q, v, still)  # which makes the plan
            parts = self.solver.compiled_parts(q, v)
        if solver is None:
            self.solver.mixed_dynamics(q, v, still, still, mask)
            solver = self.solver.driving_parts(driven)
        return None if parts is None or solver is None else Chain(solver.core, parts[1].core, np.array(parts[2]))

    def follow(self, theta: Array) -> None:
        """Go on from where compiled steps left the coordinates of the closures' hinges."""
        self.solver.follow(theta)

    @property
    def memory(self) -> tuple[dict[str, list[float]], list[int] | None, tuple[list[int], bool] | None]:
        """Memory of the solver from call to call: coordinates of the closures' hinges, independent dofs."""
        stored = self.solver._memory()
        turns = {name: np.atleast_1d(x).tolist() for name, x in stored["theta"].items()}
        choice = (stored["choice"][0].tolist(), bool(stored["choice"][1])) if "choice" in stored else None
        return turns, None if stored["kept"] is None else stored["kept"].tolist(), choice

    def recall(
        self,
        turns: Mapping[str, Sequence[float]],
        kept: Sequence[int] | None,
        choice: tuple[Sequence[int], bool] | None,
    ) -> None:
        """Take a solver as new, which goes on from what one of its kind kept."""
        memory: dict[str, Any] = {"theta": {name: np.array(x) for name, x in turns.items()}}
        memory["kept"] = None if kept is None else np.array(kept, dtype=np.intp)
        if choice is not None:
            memory |= {"choice": (np.array(choice[0], dtype=np.intp), choice[1]), "changes": []}
        self.solver = type(self.solver)(self.solver.graph, **self.solver._choices())
        self.solver._recall(memory)

    def violation(self, q: Array, v: Array) -> float:
        """Opening of the closures: radians, or lengths of the loop."""
        return float(Constraints(self.solver.graph, self.solver.graph.state(q, v)).opening)


class Stabilized(Closed):
    """Closures that are not projected but pulled shut (Baumgarte 1972), with the time constant T:

        Gc vdot + Gcdot v = -(2/T) Gc v - g/T^2,      so that what is open goes as (1 + t/T) exp(-t/T)

    vdot is the nearest to that of the open tree in the metric of the mass matrix, dense: O(nv^3). Errors of the
    integrator open the closures by about what it lets pass within T: `run.violation` tells. A T shorter than a few
    steps makes the problem stiff.
    """

    def __init__(self, solver: Solver, time_constant: float) -> None:
        super().__init__(solver)
        self.time_constant = time_constant

    def accelerations(self, q: Array, v: Array, force: Array) -> Array:
        """vdot at any state near the closures."""
        graph, T = self.solver.graph, self.time_constant
        rows = Constraints(graph, graph.state(q, v))
        free = dyn.forward_dynamics(graph, q, v, force, ignore_loops=True)
        try:
            L = np.linalg.cholesky(dyn.mass_matrix(graph, q, ignore_loops=True))
        except np.linalg.LinAlgError:
            raise SingularError(
                f"the mass matrix of {graph.name!r} is singular: a body without inertia is held by the closures alone. "
                "Leave stabilization='baumgarte' out, so that states are projected."
            ) from None
        G, unit = rows.jacobian(), rows.units
        wanted = -rows.gamma - (2.0 / T) * rows.speed - rows.residual / T / T
        half = np.linalg.solve(L, (G / unit[:, None]).T).T  # Gc L^-*, rows without unit
        pull = np.linalg.lstsq(half, (wanted - G @ free) / unit, rcond=_REPEATED)[0]
        return np.asarray(free + np.linalg.solve(L.T, pull))

    def require_free(self, number: int, name: str, others: list[int]) -> None:
        """Raise `LoopError`: prescribed motions take projection."""
        raise LoopError(
            f"dof {name!r} of {self.solver.graph.name!r} cannot be prescribed with stabilization='baumgarte'; leave "
            "that out, so that states are projected."
        )

    @property
    def projects(self) -> bool:
        """False: nothing is projected."""
        return False

    @property
    def obstacle(self) -> str:
        """Compiled steps project."""
        return "closures are stabilized"

    def onto(
        self, q: Array, v: Array, prescribed: Prescribed | None, still: Sequence[int] = (), end: bool = False
    ) -> tuple[Array, Array]:
        """The unchanged state; at the end of a step, a `LoopError` where the closures have come apart."""
        if end and not (opening := self._ahead(q, v)) <= _NEAR:
            raise LoopError(
                f"the closures of {self.solver.graph.name!r} come apart: they open by {opening:.2g} (radians, or "
                f"lengths of the loop), and time_constant = {self.time_constant:g} s does not pull them shut. Take "
                "shorter steps or another time constant of a few steps, or leave stabilization='baumgarte' out, so "
                "that states are projected."
            )
        return q, v

    def _ahead(self, q: Array, v: Array) -> float:
        """Opening of the closures, now or at the speed they open with: after a time constant, or when the fastest
        dof, or a swing under gravity, has moved by one."""
        graph = self.solver.graph
        rows = Constraints(graph, graph.state(q, v))
        speed = float(np.abs(rows.speed / rows.units).max(initial=0.0))
        swing = float(np.sqrt(np.linalg.norm(graph.gravity) / rows.measure.length))
        fastest = max(float(np.abs(rows.measure.dofs * v).max(initial=0.0)), swing, _AT_REST)
        return max(rows.opening, speed * max(self.time_constant, 1.0 / fastest))


def stabilized(closed: Closed | Tree, stabilization: str, time_constant: float | None) -> Closed | Tree:
    """The closures, projected or stabilized with a time constant in seconds."""
    if stabilization not in ("projection", "baumgarte"):
        raise StateError(f"stabilization must be 'projection' or 'baumgarte', got {stabilization!r:.60}.")
    if stabilization == "projection":
        if time_constant is not None:
            raise StateError("time_constant is of stabilization='baumgarte'; give both, or neither.")
        return closed
    if isinstance(closed, Tree):
        raise LoopError("stabilization='baumgarte' is of closed chains, and the model is a tree; leave it out.")
    if isinstance(closed.solver, ConstraintEmbedding):
        raise LoopError("stabilization='baumgarte' integrates all dofs: use solver='ta' or 'fa' with it, not 'ce'.")
    if time_constant is None:
        raise StateError("stabilization='baumgarte' needs time_constant= in seconds: a few steps, such as 0.01.")
    T = float(finite(time_constant, (), "time_constant", StateError))
    if not T > 0.0:
        raise StateError(f"time_constant must be positive, got {T:g} s.")
    if not np.isfinite(1.0 / T / T):
        raise StateError(f"time_constant is {T:g} s, and 1/time_constant^2 overflows; take a few steps, such as 0.01.")
    return Stabilized(closed.solver, T)


def _numbers(solver: ConstraintEmbedding) -> list[int]:
    """The independent dofs as they are chosen now; accelerations at a state where others serve much better choose
    again."""
    number = {name: i for i, name in enumerate(solver.graph.dof_names)}
    return [number[name] for name in solver.epoch.dofs]
