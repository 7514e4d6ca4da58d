"""What all solvers of closed chains have in common: reading, checking, independent dofs, results.

    Mcal vdot + C = T - Gc* lambda,     Gc vdot + Gcdot v = Udot                            (formulas F2, F3)

A solver gives `_solve(task)`: vdot and lambda at one state. All else is here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from soacraft.dynamics.arguments import read_prescribed, read_problem
from soacraft.dynamics.problem import Problem
from soacraft.errors import LoopError, ModelError, StaleError, StateError
from soacraft.loops import assemble as assembling
from soacraft.loops import inverse, projection
from soacraft.loops.checks import check_answer, check_state, closed_rows
from soacraft.loops.independent import Choice, Indices, choose, dofs_named, keep_or_choose, row_names
from soacraft.loops.residuals import residuals
from soacraft.loops.results import Result
from soacraft.loops.rows import Constraints
from soacraft.loops.sizes import sizes_of
from soacraft.loops.tasks import Drives, Task, read_drives, states_of
from soacraft.model.interface import Graph
from soacraft.model.state import State
from soacraft.spatial.checks import Array, finite


class Answer(NamedTuple):
    """What a solver finds at one state; rank and redundant row numbers where it finds them on the way."""

    vdot: Array
    multipliers: Array
    rank: int | None = None
    redundant: Indices | None = None


class Solver(ABC):
    """Dynamics of a closed chain. `tolerance` is how far a state may be off its closures (metres, radians, and their
    rates beside the largest of 1 and |v|).

    After a structural change of the model it raises `StaleError`: make a new one. The coordinates of the closures'
    hinges and the choice of independent dofs are kept from call to call, so that turns are counted and names stay.
    """

    def __init__(self, graph: Graph, tolerance: float = 1e-6) -> None:
        if not isinstance(graph, Graph):
            raise ModelError(f"{type(self).__name__} takes a Multibody or a sub-graph of one, got {graph!r:.80}.")
        self.tolerance = float(finite(tolerance, (), f"tolerance of {type(self).__name__}"))
        if not self.tolerance > 0.0:
            raise ModelError(f"tolerance of {type(self).__name__} must be positive, got {self.tolerance}.")
        self._graph, self._structure = graph, graph.structure
        self._theta: dict[str, Array] = {}
        self._kept: Indices | None = None
        graph.layout  # noqa: B018  (a stale sub-graph says so here)

    @property
    def graph(self) -> Graph:
        """The graph, if its structure is still the one the solver was made for."""
        if self._graph.structure != self._structure:
            raise StaleError(
                f"this solver of {self._graph.name!r} was made before a structural change of the model; "
                f"make a new one with sc.loops.{type(self).__name__}(...)."
            )
        return self._graph

    def __repr__(self) -> str:
        return f"{type(self).__name__} of {self._graph!r}"

    @abstractmethod
    def _solve(self, task: Task) -> Answer:
        """vdot and multipliers at one state."""

    # -- what users call -------------------------------------------------------------------------------------

    def forward_dynamics(self, q: Any, v: Any, force: Any, f_ext: Any = None, U: Any = None) -> Result:
        """Accelerations and constraint forces under the generalized force; all arrays in the size of the tree.

        `U = {name: (u, udot)}` drives closures (003 Eq. 2): b moves relative to a with the twist u besides what the
        hinge allows, at b in the axes of a; the position of a driven closure is not checked. Of a coupling u is a
        number. Stored forces act besides `f_ext`, as in `soacraft.dynamics`.
        """
        p = self._read("forward_dynamics", q=q, v=v, force=force, f_ext=f_ext)
        drives = read_drives(self.graph, U)
        return self._result(p, [self._task(s, one["force"], f, drives) for s, one, f in states_of(p)])

    def mixed_dynamics(
        self, q: Any, v: Any, force: Any, vdot: Any, prescribed: Any, f_ext: Any = None, U: Any = None
    ) -> tuple[Array, Array]:
        """All of vdot and of the force, when vdot is known at the `prescribed` dofs and the force at the others.

        `prescribed` as in `soacraft.dynamics.mixed_dynamics`. Prescribed dofs that the closures tie to each other are
        a `LoopError`.
        """
        p = self._read("mixed_dynamics", q=q, v=v, force=force, vdot=vdot, f_ext=f_ext)
        dofs = np.flatnonzero(read_prescribed(self.graph, prescribed)).tolist()
        drives = read_drives(self.graph, U)
        found = [self._mixed(self._task(s, _without(one["force"], dofs), f, drives), dofs, one["vdot"])
                 for s, one, f in states_of(p)]  # fmt: skip
        shape = (*p.batch, p.nv)
        return np.reshape([x for x, _ in found], shape), np.reshape([x for _, x in found], shape)

    def inverse_dynamics(
        self, q: Any, v: Any, vdot_independent: Any, actuated: Any = None, f_ext: Any = None, U: Any = None
    ) -> Array:
        """The generalized force (..., nv) that gives the accelerations of the independent dofs, zero elsewhere.

            X_a* T_a = X* (Mcal vdot + C),   vdot = X vdot_i + x0

        A closed chain has many: forces act at the `actuated` dofs alone (names, numbers or a mask; default: the
        independent dofs); more of them than needed share the work by least squares, too few are a `LoopError`.
        `vdot_independent` is in the order of `independent(q)`.
        """
        p = self._read("inverse_dynamics", q=q, v=v, f_ext=f_ext)
        drives = read_drives(self.graph, U)
        mask = None if actuated is None else read_prescribed(self.graph, actuated, "actuated")
        tasks = [self._task(s, np.zeros(p.nv), f, drives) for s, _, f in states_of(p)]
        given = inverse.read_independent(self.graph, vdot_independent, p.batch)
        found = [
            inverse.force_for(task, self._choice(task.rows), x, mask, self.tolerance)
            for task, x in zip(tasks, given, strict=True)
        ]
        return np.reshape(found, (*p.batch, p.nv))

    def assemble(self, q0: Any, fix: Iterable[Any] = (), limits: bool = False) -> Array:
        """Coordinates near q0 at which every loop and coupling closes; the dofs or hinges named in `fix` stay.

        With `limits` within the joint limits. Least squares in a trust region on the manifold of the hinges, then
        towards q0 along the closed configurations. What cannot close is a `LoopError` that says by how much.
        """
        p = self._read("assemble", q=q0)
        fixed = read_prescribed(self.graph, fix, "fixed")
        states = [state for state, _, _ in states_of(p)]
        found = assembling.assemble_all(self.graph, states, fixed, self._theta, limits)
        return np.reshape(found, (*p.batch, self.graph.nq))

    def project_velocity(self, q: Any, v: Any, U: Any = None, weight: str = "mass") -> Array:
        """The velocities nearest to v that the closures allow: `Gc v = U`.

            v - W^-1 Gc* (Gc W^-1 Gc*)^+ (Gc v - U),    W = Mcal ("mass") or I ("plain")

        Weighed by mass it is what an impulse of the closures would do: it depends on no units and takes the least
        kinetic energy away. The position of q is checked.
        """
        if weight not in ("mass", "plain"):
            raise StateError(f"weight of project_velocity must be 'mass' or 'plain', got {weight!r:.60}.")
        p = self._read("project_velocity", q=q, v=v)
        drives = read_drives(self.graph, U)
        tasks = [self._task(state, np.zeros(p.nv), (), drives, moving=False) for state, _, _ in states_of(p)]
        found = [self._project(task, weight) for task in tasks]
        return np.reshape(found, (*p.batch, p.nv))

    def independent(self, q: Any) -> tuple[str, ...]:
        """The names of the independent dofs at one configuration, kept while they serve well."""
        p = self._read("independent", q=q)
        if p.batch:
            raise StateError(f"independent takes one configuration, got a batch {p.batch}.")
        ((state, _, _),) = states_of(p)
        rows = self._rows(state)
        return dofs_named(rows, self._choice(rows).independent)

    def sko(self, q: Any = None, v: Any = None) -> Any:
        """Not of an augmented solver: only an embedded system is an SKO model."""
        raise self._no_operators()

    def operators(self, q: Any = None, v: Any = None) -> Any:
        """Not of an augmented solver: only an embedded system is an SKO model."""
        raise self._no_operators()

    def binding(self, f_ext: Any = None, force: Any = None) -> Any:
        """What `sc.operators(s)` asks for; not of an augmented solver."""
        raise self._no_operators()

    # -- what solvers may do their own way -------------------------------------------------------------------

    def _project(self, task: Task, weight: str) -> Array:
        return projection.project(task, weight)

    # -- inside ----------------------------------------------------------------------------------------------

    def _read(self, function: str, **given: Any) -> Problem:
        stored = function != "assemble" and function != "independent"
        return read_problem(f"{type(self).__name__}.{function}", self.graph, stored=stored, ignore_loops=True, **given)

    def _rows(self, state: State) -> Constraints:
        """The rows at a state, the closures' coordinates followed from the last one."""
        rows = closed_rows(self.graph, state, self._theta, self.tolerance)
        self._theta = {**self._theta, **rows.theta}
        return rows

    def _task(self, state: State, force: Array, forces: Any, drives: Drives, moving: bool = True) -> Task:
        task = Task(self._rows(state), force, forces, drives)
        check_state(task, self.tolerance, moving)
        return task

    def _choice(self, rows: Constraints) -> Choice:
        choice = keep_or_choose(rows.jacobian(), self._kept, sizes_of(rows))
        self._kept = choice.independent
        return choice

    def _mixed(self, task: Task, dofs: list[int], vdot: Array) -> tuple[Array, Array]:
        wider = task.with_prescribed(dofs, vdot)
        answer = self._solve(wider)
        inverse.refuse_tied(wider, answer.vdot, self.tolerance)
        check_answer(wider, answer.vdot, answer.multipliers, self.tolerance)
        force = np.array(task.force)
        force[dofs] = -answer.multipliers[task.rows.size :]
        return answer.vdot, force

    def _result(self, p: Problem, tasks: list[Task]) -> Result:
        answers = [self._solve(task) for task in tasks]
        left = []
        for task, x in zip(tasks, answers, strict=True):
            left.append(residuals(task, x.vdot, x.multipliers))
            check_answer(task, x.vdot, x.multipliers, self.tolerance, left[-1])
        return Result(
            vdot=np.reshape([x.vdot for x in answers], (*p.batch, p.nv)),
            multipliers=_by_name(p, tasks, answers),
            residual_of_closures=np.reshape([x for x, _ in left], p.batch),
            residual_of_motion=np.reshape([x for _, x in left], p.batch),
            _dof_names=self.graph.dof_names,
            _choose=lambda: self._choice(tasks[0].rows),
            _ranks=lambda: _ranks(tasks, answers),
        )

    def _no_operators(self) -> LoopError:
        return LoopError(
            f"{type(self).__name__} keeps the closures of {self._graph.name!r} as rows beside the tree, so there are "
            "no operators of the closed chain; sc.loops.ConstraintEmbedding(mb) makes it an SKO model that has them."
        )


def _ranks(tasks: list[Task], answers: list[Answer]) -> tuple[list[int], tuple[str, ...]]:
    """The rank at each state, as the solver found it or by pivoting, and the names of all redundant rows."""
    ranks: list[int] = []
    redundant: dict[str, None] = {}
    for task, x in zip(tasks, answers, strict=True):
        rank, rows = x.rank, x.redundant
        if rank is None or rows is None:
            choice = choose(task.rows.jacobian(), sizes_of(task.rows))
            rank, rows = choice.rank, choice.redundant
        ranks.append(rank)
        if len(rows):
            names = row_names(task.rows)
            redundant.update({names[i]: None for i in rows})
    return ranks, tuple(redundant)


def _by_name(p: Problem, tasks: list[Task], answers: list[Answer]) -> dict[str, Array]:
    """The multipliers as wrenches and numbers."""
    found: dict[str, list[Any]] = {name: [] for name, _ in tasks[0].rows.places} if tasks else {}
    for task, x in zip(tasks, answers, strict=True):
        for i, (name, where) in enumerate(task.rows.places):
            part = x.multipliers[where]
            found[name].append(task.rows.loops[i].wrench(part) if i < len(task.rows.loops) else part[0])
    return {name: np.reshape(x, (*p.batch, *np.shape(x)[1:])) for name, x in found.items()}


def _without(force: Array, dofs: list[int]) -> Array:
    force = np.array(force)
    force[dofs] = 0.0
    return force
