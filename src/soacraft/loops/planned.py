"""`PlannedSolver`: a solver of a closed chain with its plan, and the data kept from call to call.

In goes a graph. Compiled rows are made at once, the plan (a compiled solver) at the first state; every call takes one
plan and the coordinates of the closures' hinges of the call before it. What compiled code is not sure of is solved by
`_solve(task)`, vdot and lambda at one state, which a solver gives. What users call is in `loops/solver.py`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft.attributes import Strict
from soacraft.dynamics.arguments import read_problem
from soacraft.dynamics.compiled import pull_of
from soacraft.dynamics.problem import Problem
from soacraft.errors import LoopError, ModelError, SingularError, SoacraftError, StaleError
from soacraft.kinematics import projection
from soacraft.kinematics.checks import check_answer, check_state, closed_rows
from soacraft.kinematics.compiled import (
    PROJECT_VELOCITY,
    CompiledClosures,
    axes_of,
)
from soacraft.kinematics.followers import masters
from soacraft.kinematics.independent import Indices, Partition
from soacraft.kinematics.partition import partition
from soacraft.kinematics.plan import CONSTRAINT_EMBEDDING, TREE_AUGMENTED
from soacraft.kinematics.residuals import residuals
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.tasks import Drives, Task, in_state, refuse_large, states_of
from soacraft.kinematics.tolerances import CLOSED
from soacraft.loops import inverse
from soacraft.loops.actuation import Actuation
from soacraft.loops.findings import Answer, Findings
from soacraft.loops.mixed import Prescribed
from soacraft.loops.motion import Outputs, each
from soacraft.loops.named import NamedFunctions
from soacraft.loops.results import Result, Source
from soacraft.loops.schur import Compliance
from soacraft.model.states.state import State
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array, finite


class Chosen(NamedTuple):
    """Choice that a solver made for its plan; another choice replaces it as one object."""

    source: Findings
    """Data of the results."""
    compiled: CompiledClosures | None = None
    """The compiled solver; None before the first state, or where there is none."""
    call: Callable[..., Result | None] | None = None
    """Compiled solver for single states."""


class PlannedSolver(NamedFunctions, Strict, ABC):
    """Base of solvers: a graph, a tolerance, a plan."""

    _method: ClassVar[int]
    """Method of its plans."""
    _set_once = frozenset({"tolerance"})
    _cures: ClassVar = {"*": "a solver stays as it was made: make another, such as TreeAugmented(mb, tolerance=...)"}

    def __init__(self, graph: Graph, tolerance: float = CLOSED) -> None:
        if not isinstance(graph, Graph):
            raise ModelError(f"{type(self).__name__} takes a Multibody or a sub-graph of one, got {graph!r:.80}.")
        self.tolerance = float(finite(tolerance, (), f"tolerance of {type(self).__name__}"))
        if not self.tolerance > 0.0:
            raise ModelError(f"tolerance of {type(self).__name__} must be positive, got {self.tolerance}.")
        self._graph, self._version, self._parameters = graph, graph.version, graph.parameters
        self._coordinates: dict[str, Array] = {}
        self._turns: Array | None = None  # those coordinates as compiled code takes them
        self._kept: Indices | None = masters(graph)
        graph.layout  # noqa: B018  (a stale sub-graph says so here)
        self._axes = axes_of(graph)
        self._compiled = self._compile()  # the rows; what it is to solve by is chosen at the first state
        self._follow()
        self._chosen = Chosen(Findings(self))
        self._beside: CompiledClosures | None = None  # the tree-augmented solver that others take derivatives with
        self._prescribing: dict[Any, Prescribed] = {}  # mixed dynamics by prescribed dofs, and by what names them
        self._actuation = Actuation(self)

    @property
    def graph(self) -> Graph:
        """The graph, if its structure is still the one the solver was made for."""
        if self._graph.version != self._version:
            raise StaleError(
                f"this solver of {self._graph.name!r} was made before a structural change of the model; "
                f"make a new one with sc.loops.{type(self).__name__}(...)."
            )
        axes = axes_of(self._graph)
        if self._parameters != self._graph.parameters or self._axes != axes:
            self._parameters, self._axes = self._graph.parameters, axes
            self._renew()
        return self._graph

    def _renew(self) -> None:
        """Drop the values derived from the parameters, after a change of these; turns and choices of dofs are kept."""
        theta = dict(self._theta)
        self._compiled = self._compile()
        self._theta = theta
        self._chosen, self._beside = Chosen(Findings(self)), None
        self._prescribing, self._actuation = {}, Actuation(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__} of {self._graph!r}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Recipe of a copy: it is built for the copy of the graph, with the same choices, and starts from the same
        turns.
        """
        return _solver, (type(self), self.graph, self._choices(), self._memory())

    def _choices(self) -> dict[str, Any]:
        """Arguments that it was made with, by name."""
        return {"tolerance": self.tolerance}

    def _memory(self) -> dict[str, Any]:
        """Data kept from call to call."""
        return {"theta": dict(self._theta), "kept": self._kept}

    def _recall(self, memory: dict[str, Any]) -> None:
        """Go on from what another one kept."""
        self._theta, self._kept = memory["theta"], memory["kept"]

    @abstractmethod
    def _solve(self, task: Task) -> Answer:
        """vdot and multipliers at one state."""

    # -- what solvers may do their own way -------------------------------------------------------------------

    def _project(self, task: Task, weight: str) -> Array:
        return projection.project(task, weight)

    # -- inside ----------------------------------------------------------------------------------------------

    def _read(self, function: str, **given: Any) -> Problem:
        stored = function != "assemble" and function != "independent"
        return read_problem(f"{type(self).__name__}.{function}", self.graph, stored=stored, ignore_loops=True, **given)

    def _rows(self, state: State) -> Constraints:
        """The rows at a state, the closures' coordinates followed from the last one."""
        refuse_large(self._graph, "q", state.q)
        rows = closed_rows(self.graph, state, self._theta, self.tolerance)
        self._theta = {**self._theta, **rows.theta}
        return rows

    def _task(
        self, state: State, force: Array, forces: Any, drives: Drives, moving: bool = True, passive: bool = False
    ) -> Task:
        for name, x in (("v", state.v), ("force", force)):
            refuse_large(self._graph, name, x)
        before = {name: np.array(x) for name, x in self._theta.items()}
        task = Task(self._rows(state), force, forces, drives, passive)
        task.rows.driven = frozenset(drives)
        try:
            check_state(task, self.tolerance, moving)
        except SoacraftError:
            self._theta = before  # a state that is refused leaves no trace
            raise
        return task

    def _choice(self, rows: Constraints) -> Partition:
        choice = partition(rows, self._kept, tolerance=self.tolerance)
        self._kept = choice.independent
        return choice

    def _prescribe(self, task: Task, dofs: list[int]) -> Prescribed | None:
        """Make the compiled form for some prescribed dofs, with what rounding is measured by here."""
        if self._compiled is None or not dofs:
            return None
        rows = task.with_prescribed(dofs, np.zeros(task.graph.nv)).rows
        names = [name for name, _ in rows.places[len(rows.places) - len(dofs) :]]
        with suppress(SingularError):  # a link without mass is left to Python
            reference = Compliance(rows, task.graph.sko(task.state)).reference
            if len(self._prescribing) >= 2 * _PLANS:
                self._prescribing.clear()
            prescribed = Prescribed(self._compiled.prescribing(names, dofs, reference), dofs)
            self._prescribing[tuple(dofs)] = prescribed
            return prescribed
        return None

    def _mixed(self, task: Task, dofs: list[int], vdot: Array) -> tuple[Array, Array]:
        wider = task.with_prescribed(dofs, vdot)
        answer = self._solve(wider)
        inverse.refuse_tied(wider, answer.vdot, self.tolerance)
        check_answer(wider, answer.vdot, answer.multipliers, self.tolerance)
        force = np.array(task.force)
        force[dofs] = -answer.multipliers[task.rows.size :]
        return answer.vdot, force

    # -- what is carried from call to call ---------------------------------------------------------------------

    @property
    def _theta(self) -> dict[str, Array]:
        """The coordinates of the closures' hinges where they were last seen, by name."""
        if self._compiled is not None and self._turns is not None:
            closures, turns = self._compiled.plan.closures, self._turns
            now = {name: turns[closures.starts[name]] for name in closures.follows if name in self._coordinates}
            if now:
                self._coordinates = {**self._coordinates, **now}
        return self._coordinates

    @_theta.setter
    def _theta(self, theta: dict[str, Array]) -> None:
        self._coordinates = theta
        self._follow()

    def _follow(self) -> None:
        """Let compiled code find the coordinates of the closures' hinges from those known."""
        if self._compiled is not None:
            guess = self._compiled.guess(self._coordinates)
            self._turns = guess if guess is not None else self._compiled.plan.closures.neutral

    # -- compiled motions ----------------------------------------------------------------------------------------

    def _augmented(self) -> CompiledClosures | None:
        """The compiled tree-augmented solver, which projections and derivatives take whatever solver this is, once
        `_augment` made it."""
        return self._beside

    def compiled_parts(self, q: Array, v: Array) -> tuple[CompiledClosures, CompiledClosures, Array] | None:
        """Parts for many steps in one call from a state on the closures: the compiled solver, the one that projects
        states, and the coordinates of the closures' hinges as last seen; None where there are none. Of a model with
        flexible bodies the solver is the tree-augmented one, whichever solver this is: the accelerations are the same.
        """
        graph = self.graph
        flexible = self._compiled is not None and self._compiled.flexible
        if self._augmented() is None and (flexible or self._chosen.compiled is not None):
            self._augment(self._task(graph.state(q, v), np.zeros(graph.nv), (), {}))
        mover = self._augmented()
        solver = mover if flexible else self._chosen.compiled
        return None if solver is None or mover is None or self._turns is None else (solver, mover, self._turns)

    def driving_parts(self, dofs: Sequence[int]) -> CompiledClosures | None:
        """The compiled solver with a driven coupling for each of some dofs behind the rows; None until mixed dynamics
        were asked for with them."""
        prescribing = self._prescribing.get(tuple(dofs))
        return None if prescribing is None else prescribing.plan

    def follow(self, turns: Array) -> None:
        """Take the coordinates of the closures' hinges from where a run has left them."""
        if self._compiled is not None and self._compiled.plan.closures.follows:
            self._turns = turns

    def _augment(self, task: Task) -> None:
        """Make it for rows like those of this state; a link without mass is left to Python."""
        if self._compiled is not None and self._beside is None and task.rows.size:
            with suppress(SingularError):
                reference = None if self._turns is None else self._compiled.compliance(task.state.q, self._turns)
                if reference is None:
                    reference = Compliance(task.rows, task.sko).reference
                self._beside = self._compiled.augmented(reference)

    def _embedding(self) -> CompiledClosures | None:
        """The compiled embedding of all closures, once dofs are chosen."""
        return None

    def _quick(
        self, compiled: CompiledClosures | None, motion: int, *given: Any, after: tuple[Any, ...] = ()
    ) -> tuple[Array, Array] | None:
        """The q and v that a motion of one state gives, of those that it has; None where compiled code is not sure."""
        if compiled is None:
            return None
        answer = compiled.motions[motion](*given, self._turns, *after)
        if answer is None:
            return None
        if answer[2] is not None:
            self._turns = answer[2]
        return answer[0], answer[1]

    def _attempt(
        self, compiled: CompiledClosures | None, motion: int, q: Array, x: Array | None = None
    ) -> tuple[Outputs, npt.NDArray[np.bool_]] | None:
        """A motion of many states, and where it holds; None as long as there is no plan for it."""
        if compiled is None:
            return None
        assert self._turns is not None
        *answers, fine = compiled.move(motion, self._turns, q, x)
        return tuple(x for x in answers if x.shape[1]), fine

    def _projected(self, p: Problem, motion: int, one: Callable[..., Outputs]) -> Outputs:
        """A projection of all states of a problem."""
        widths = (p.nv,) if motion == PROJECT_VELOCITY else (self.graph.nq, p.nv)
        return each(p, ("q", "v"), lambda q, v: self._attempt(self._augmented(), motion, q, v), one, widths)

    # -- compiled ----------------------------------------------------------------------------------------------

    def _compile(self) -> CompiledClosures | None:
        """The compiled rows from which compiled solvers are made; None where there is no such solver."""
        return None

    def _is_compiled(self, method: int) -> bool:
        """True if compiled code solves by a method: of models with flexible bodies by that of trees alone, and with
        closures that roll by all but constraint embedding."""
        rows = self._compiled
        if rows is None or method == TREE_AUGMENTED:
            return rows is not None
        return not rows.flexible and not (method == CONSTRAINT_EMBEDDING and rows.plan.closures.rolls)

    def _prepare(self, task: Task) -> None:
        """Make the plan for what is like this state, with `_take`; solve nothing."""

    def _prepare_at(self, q: Array, v: Array) -> bool:
        """Prepare by compiled code, for a state that is on its closures; False where it is not sure."""
        return False

    def _make_plan(self, p: Problem, drives: Drives) -> None:
        """Make the plan for what is like the first state of a problem."""
        compiled, theta = self._compiled, self._turns
        assert compiled is not None
        assert theta is not None
        if not p.forces and not drives and not compiled.plan.closures.follows:
            q, v, force = (np.ascontiguousarray(p.full(x)[(0,) * len(p.batch)]) for x in ("q", "v", "force"))
            if compiled.is_closed(q, v, force, theta, p.passive) and self._prepare_at(q, v):
                return
        state, one, forces = next(states_of(p))
        with in_state(p.batch, (0,) * len(p.batch)):
            self._prepare(self._task(state, one["force"], forces, drives, passive=p.passive))

    def _take(self, compiled: CompiledClosures | None, chosen: Indices | None = None) -> None:
        """Let this compiled solver take the calls from now on."""
        source, call = Findings(self, chosen), None
        if compiled is not None:
            call = compiled.call(Result, source)
        self._chosen = Chosen(source, compiled, call)

    def _compiled_result(self, p: Problem, drives: list[Drives]) -> Result | None:
        """All states of a batch at once; those that compiled code is not sure of one by one. None without a plan."""
        if not self._is_compiled(self._method):
            return None
        if self._chosen.compiled is None:
            self._make_plan(p, drives[0])
        source, compiled, _ = self._chosen
        if compiled is None:
            return None
        assert self._turns is not None
        count = math.prod(p.batch)
        full = [p.full(name) for name in ("q", "v", "force")]
        q, v, force = (np.ascontiguousarray(x.reshape(count, x.shape[-1])) for x in full)
        pull = pull_of(p, count, compiled.flexible_bodies) if p.forces else None
        vdot, residuals_of, theta, fine = compiled.run(
            q, v, force, pull, self._turns, p.threads, p.passive, compiled.driven(drives)
        )
        if count == 1 and fine[0] and compiled.plan.closures.follows:
            self._turns = theta[0]
        rest = np.concatenate([residuals_of, q, v], axis=1)
        if not fine.all():
            for i, (index, (state, one, forces)) in enumerate(zip(np.ndindex(*p.batch), states_of(p), strict=True)):
                if not fine[i]:
                    with in_state(p.batch, index):
                        task = self._task(state, one["force"], forces, drives[i], passive=p.passive)
                        answer = self._solve(task)
                        vdot[i], rest[i] = answer.vdot, self._rest(task, answer)
                    source = self._chosen.source if i == 0 else source
        return self._result(p, vdot, rest, source if source is self._chosen.source else source.mixed())

    def _rest(self, task: Task, x: Answer) -> Array:
        """Forces of loops and couplings, residuals of closures and motion, q, v."""
        residual = residuals(task, x.vdot, x.multipliers) if x.left is None else x.left
        check_answer(task, x.vdot, x.multipliers, self.tolerance, residual)
        return np.concatenate([*_forces(task, x), residual, task.state.q, task.state.v])

    def _result(self, p: Problem, vdot: Any, rest: Any, source: Source) -> Result:
        forces = 6 * len(source.loops) + len(source.couplings)
        width = len(rest[0]) if len(rest) else forces + 2 + self.graph.nq + p.nv
        result = Result(np.reshape(vdot, (*p.batch, p.nv)), np.reshape(rest, (*p.batch, width)), source)
        result._loads, result._passive = p.forces, p.passive
        return result

    def _choice_at(self, rows: Constraints, chosen: Indices | None) -> Partition:
        """The rank and the redundant rows at a state; solvers may have their own way to find them."""
        return partition(rows, tolerance=self.tolerance)

    def _no_operators(self) -> LoopError:
        return LoopError(
            f"{type(self).__name__} keeps the closures of {self._graph.name!r} as rows next to the tree, so there are "
            "no operators of the closed chain; sc.loops.ConstraintEmbedding(mb) makes it an SKO model that has them; "
            "sc.loops.TreeAugmented(mb) has those of the tree with Q, Gc and S."
        )


#: Forms of mixed dynamics that are kept, each for other prescribed dofs.
_PLANS = 8


def _solver(kind: type[PlannedSolver], graph: Graph, choices: dict[str, Any], memory: dict[str, Any]) -> PlannedSolver:
    """A solver that was copied."""
    solver = kind(graph, **choices)
    solver._recall(memory)
    return solver


def _forces(task: Task, x: Answer) -> list[Array]:
    """The multipliers as wrenches and numbers."""
    parts = [np.zeros(0)]
    for i, (_, place) in enumerate(task.rows.places):
        part = x.multipliers[place]
        parts.append(task.rows.loops[i].wrench(part) if i < len(task.rows.loops) else part)
    return parts
