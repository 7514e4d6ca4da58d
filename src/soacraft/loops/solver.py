"""What all solvers of closed chains have in common: reading, checking, independent dofs, results.

    Mcal vdot + C = T + passive - Gc* lambda,     Gc vdot + Gcdot v = Udot                            (formulas F2, F3)

A solver gives `_solve(task)`: vdot and lambda at one state. All else is here.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from soacraft.attributes import Strict
from soacraft.dynamics.arguments import read_prescribed, read_problem
from soacraft.dynamics.compiled import pull_of
from soacraft.dynamics.problem import Problem
from soacraft.errors import LoopError, ModelError, SingularError, StaleError, StateError
from soacraft.kinematics import assemble as assembling
from soacraft.kinematics import projection
from soacraft.kinematics.bounds import read_fixed
from soacraft.kinematics.checks import check_answer, check_state, closed_rows
from soacraft.kinematics.compiled import (
    PROJECT,
    PROJECT_VELOCITY,
    CompiledClosures,
    axes_of,
    compiled_first,
)
from soacraft.kinematics.followers import masters
from soacraft.kinematics.independent import Indices, Partition, dofs_named
from soacraft.kinematics.partition import partition
from soacraft.kinematics.residuals import residuals
from soacraft.kinematics.rows import Constraints
from soacraft.kinematics.tasks import Drives, Task, for_each, in_state, read_drives, refuse_large, states_of
from soacraft.kinematics.tolerances import CLOSED
from soacraft.loops import inverse, position
from soacraft.loops.actuation import Actuation
from soacraft.loops.findings import Answer, Answered, Findings
from soacraft.loops.mixed import Prescribed, key_of
from soacraft.loops.motion import Outputs, each
from soacraft.loops.named import NamedFunctions
from soacraft.loops.results import Result, Source
from soacraft.loops.schur import Compliance
from soacraft.model.states.coordinates import read_q
from soacraft.model.states.state import State
from soacraft.model.tree.graph import Graph
from soacraft.spatial.checks import Array, finite


def require_solver(function: str, solver: object) -> None:
    """Raise `ModelError` for what is not a solver of a closed chain."""
    if not isinstance(solver, Solver):
        raise ModelError(
            f"sc.loops.{function} takes a solver, such as sc.loops.TreeAugmented(mb), got {solver!r:.80}; of a tree "
            f"there is the function of the same name in sc.dynamics or sc.analysis."
        )


class Chosen(NamedTuple):
    """What a solver made of its plan; another choice is another one, taken as a whole."""

    source: Findings
    """What belongs to the results."""
    compiled: CompiledClosures | None = None
    """The compiled solver; None before the first state, or where there is none."""
    call: Callable[..., Result | None] | None = None
    """The same for single states."""


class Solver(NamedFunctions, Strict, ABC):
    """Dynamics of a closed chain. `tolerance` is how far a state may be off its closures, a number without unit: angles
    in radians, distances relative to the length of their loop, the sum of its links, couplings relative to the largest
    of their terms, and velocities in these units relative to how fast the mechanism moves (`model.sizes.measure`).
    `assemble`, `project`, `complete` and `advance` judge by the same one, and answers satisfy their equations to it.

    After a structural change of the model it raises `StaleError`: make a new one. After a change of parameters it goes
    on with the new ones; a result of before, whose rank was not asked for, does not tell it any more. The coordinates
    of the closures' hinges and the choice of independent dofs are kept from call to call, so that turns are counted and
    names stay.

    Where compiled code is sure of a state, it takes the call; what it is not sure of - a state off its closures, a rank
    or a choice in doubt - is computed here. Threads may share a solver: every call takes one plan and
    the coordinates of one call before it, and leaves its own.
    """

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
        """After a change of parameters: forget what was derived from them; turns and choices of dofs are kept."""
        theta = dict(self._theta)
        self._compiled = self._compile()
        self._theta = theta
        self._chosen, self._beside = Chosen(Findings(self)), None
        self._prescribing, self._actuation = {}, Actuation(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__} of {self._graph!r}"

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy is made anew for the copy of its graph, with the same choices, and goes on from the same turns."""
        return _solver, (type(self), self.graph, self._choices(), self._memory())

    def _choices(self) -> dict[str, Any]:
        """What it was made with, by name."""
        return {"tolerance": self.tolerance}

    def _memory(self) -> dict[str, Any]:
        """What is kept from call to call."""
        return {"theta": dict(self._theta), "kept": self._kept}

    def _recall(self, memory: dict[str, Any]) -> None:
        """Go on from what another one kept."""
        self._theta, self._kept = memory["theta"], memory["kept"]

    @abstractmethod
    def _solve(self, task: Task) -> Answer:
        """vdot and multipliers at one state."""

    # -- what users call -------------------------------------------------------------------------------------

    @compiled_first
    def forward_dynamics(
        self,
        q: Any,
        v: Any,
        force: Any,
        f_ext: Any = None,
        U: Any = None,
        threads: int | None = None,
        *,
        passive: bool = True,
    ) -> Result:
        """Accelerations and constraint forces under the generalized force; all arrays in the size of the tree.

        `U = {name: (u, udot)}` drives closures (003 Eq. 2): b moves relative to a with the twist u besides what the
        hinge allows, at b in the axes of a, (..., 6); the position of a driven closure is not checked. Of a coupling u
        is a number, (...). Stored forces act besides `f_ext`, and springs, dampers and gravity compensation besides
        the force unless `passive=False`, as in `soacraft.dynamics`. A batch runs on `threads` threads, by default as
        many as pay; answers do not depend on them.
        """
        _, compiled, call = self._chosen
        if U is not None and call is not None and compiled is not None and f_ext is None and threads is None:
            drives = compiled.driven_plainly(U)
            result = None if drives is None else call(q, v, force, self._turns, passive, *drives)
            if result is not None:
                if not passive:
                    result._passive = False
                if result._theta is not None:
                    self._turns = result._theta
                return result
        p = self._read("forward_dynamics", q=q, v=v, force=force, f_ext=f_ext, threads=threads, passive=passive)
        p, driven = read_drives(p, U)
        if self._compiled is not None and 0 not in p.batch:
            result = self._compiled_result(p, driven)
            if result is not None:
                return result

        def work(state: State, one: dict[str, Array], forces: Any, drives: Drives) -> tuple[Task, Answer, Array]:
            task = self._task(state, one["force"], forces, drives, passive=p.passive)
            answer = self._solve(task)
            return task, answer, self._rest(task, answer)

        found = for_each(p, driven, work)
        source = Answered(self, [task for task, _, _ in found], [x for _, x, _ in found])
        return self._result(p, [x.vdot for _, x, _ in found], [rest for _, _, rest in found], source)

    def mixed_dynamics(
        self,
        q: Any,
        v: Any,
        force: Any,
        vdot: Any,
        prescribed: Any,
        f_ext: Any = None,
        U: Any = None,
        *,
        passive: bool = True,
    ) -> tuple[Array, Array]:
        """All of vdot and of the force, when vdot is known at the `prescribed` dofs and the force at the others.

        `prescribed` and `passive` as in `soacraft.dynamics.mixed_dynamics`. Prescribed dofs that the closures tie to
        each other are a `LoopError`.
        """
        known = self._prescribing.get(key_of(prescribed))
        if known is not None and f_ext is None and self._turns is not None:
            quick = known.one(q, v, force, vdot, self._turns, passive, U)
            if quick is not None:
                if quick[2] is not None:
                    self._turns = quick[2]
                return quick[0], quick[1]
        p = self._read("mixed_dynamics", q=q, v=v, force=force, vdot=vdot, f_ext=f_ext, passive=passive)
        dofs = np.flatnonzero(read_prescribed(self.graph, prescribed)).tolist()
        p, drives = read_drives(p, U)

        plan = self._prescribing.get(tuple(dofs))
        tried = None
        if plan is not None and self._turns is not None and 0 not in p.batch:
            tried = plan.at_once(self._turns, p, drives)
            if (name := key_of(prescribed)) is not None:
                self._prescribing[name] = plan
        shape = (*p.batch, p.nv)
        count = math.prod(p.batch)
        answers, fine = np.empty((2, count, p.nv)), np.zeros(count, dtype=np.bool_)
        if tried is not None:
            answers[0], answers[1], fine = tried
        for i, (where, (state, one, forces)) in enumerate(zip(np.ndindex(*p.batch), states_of(p), strict=True)):
            if not fine[i]:
                with in_state(p.batch, where):
                    task = self._task(state, _without(one["force"], dofs), forces, drives[i], passive=p.passive)
                    answers[:, i] = self._mixed(task, dofs, one["vdot"])
                    self._prescribe(task, dofs)
        return answers[0].reshape(shape), answers[1].reshape(shape)

    def inverse_dynamics(
        self,
        q: Any,
        v: Any,
        vdot: Any,
        actuated: Any = None,
        f_ext: Any = None,
        U: Any = None,
        *,
        passive: bool = True,
    ) -> Array:
        """The generalized force (..., nv) that gives these accelerations, zero but at the actuated dofs.

            X_a* T_a = X* (Mcal vdot + C - passive),   vdot = X vdot_i + x0

        A closed chain has many: forces act at the `actuated` dofs alone (names, numbers or a mask; default: the
        independent dofs); more of them than needed share the work by least squares, too few are a `LoopError`.
        `vdot` is of the independent dofs, in the order of `independent(q)`, or of all dofs, (..., nv): one that the
        closures do not allow is a `LoopError`.
        """
        if f_ext is None:
            quick = self._actuation.force(q, v, vdot, self._turns, actuated, U, passive)
            if quick is not None:
                if quick[1] is not None:
                    self._turns = quick[1]
                return quick[0]
        p = self._read("inverse_dynamics", q=q, v=v, f_ext=f_ext, passive=passive)
        p = inverse.read_independent(p, vdot)
        p, drives = read_drives(p, U)
        mask = None if actuated is None else read_prescribed(self.graph, actuated, "actuated")
        count = math.prod(p.batch)
        found, fine = np.empty((count, p.nv)), np.zeros(count, dtype=np.bool_)
        tried = self._actuation.forces(p, drives, mask, actuated, 0)
        if tried is not None:
            found, fine = tried
        for i, (where, (state, one, forces)) in enumerate(zip(np.ndindex(*p.batch), states_of(p), strict=True)):
            if fine[i]:
                continue
            with in_state(p.batch, where):
                task = self._task(state, np.zeros(p.nv), forces, drives[i], passive=p.passive)
                choice = self._choice(task.rows)
                vdot_i = inverse.independent_part(task, choice, one["vdot_independent"], self.tolerance)
                found[i] = inverse.force_for(task, choice, vdot_i, mask, self.tolerance)
                self._actuation.make(task, choice, mask)
            if tried is None and (tried := self._actuation.forces(p, drives, mask, actuated, i + 1)) is not None:
                found[i + 1 :], fine[i + 1 :] = tried
        return found.reshape(*p.batch, p.nv)

    def assemble(self, q0: Any, fixed: Any = (), limits: bool = False) -> Array:
        """Coordinates near q0 at which every loop and coupling closes; the dofs or hinges named in `fixed` stay.

        `fixed` may also be `{dof or hinge: value}`. A q0 by names, `s.assemble({"crank": 0.5}, fixed=["crank"])`, has
        the rest from the model's state. With `limits` within the joint limits. Least squares in a trust region on the
        manifold of the hinges, then towards q0 along the closed configurations. What cannot close is a `LoopError` that
        says by how much. Closures that are to be driven are closed as the others.
        """
        held, q = read_fixed(self.graph, fixed, read_q(self.graph, q0, rest=self.graph.current.q))
        p = self._read("assemble", q=q)
        found = assembling.assemble_all(p, held, self._theta, limits, self.tolerance)
        return np.reshape(found, (*p.batch, self.graph.nq))

    def project_velocity(self, q: Any, v: Any, U: Any = None, weight: str = "mass") -> Array:
        """The velocities nearest to v that the closures allow: `Gc v = U`.

            v - W^-1 Gc* (Gc W^-1 Gc*)^+ (Gc v - U),    W = Mcal ("mass") or I ("plain")

        Weighed by mass it is what an impulse of the closures would do: it depends on no units and takes the least
        kinetic energy away. The position of q is checked.
        """
        if U is None and weight == "mass":
            quick = self._quick(self._augmented(), PROJECT_VELOCITY, q, v)
            if quick is not None:
                return quick[1]
        if weight not in ("mass", "plain"):
            raise StateError(f"weight of project_velocity must be 'mass' or 'plain', got {weight!r:.60}.")
        p = self._read("project_velocity", q=q, v=v)
        p, drives = read_drives(p, U)

        def nearest(state: State, driven: Drives) -> Array:
            return self._project(self._task(state, np.zeros(p.nv), (), driven, moving=False), weight)

        if not U and weight == "mass":
            current = self.graph.current

            def one(q: Array, v: Array) -> Outputs:
                return (nearest(current.replace(q=q, v=v, forces=()), {}),)

            return self._projected(p, PROJECT_VELOCITY, one)[0]
        found = for_each(p, drives, lambda state, one, forces, driven: nearest(state, driven))
        return np.reshape(found, (*p.batch, p.nv))

    def project(self, q: Any, v: Any, U: Any = None) -> tuple[Array, Array]:
        """The state on the closures next to (q, v), in the metric of the mass matrix: what an integrator does with
        every stage. Driven closures (`U` as in `forward_dynamics`) stay where they are and move as they are told. What
        is far off is a `LoopError`: `assemble` closes it. See `position.project`.
        """
        if U is None:
            quick = self._quick(self._augmented(), PROJECT, q, v)
            if quick is not None:
                return quick[0], quick[1]
        return position.project(self, q, v, U)

    def independent(self, q: Any) -> tuple[str, ...]:
        """The names of the independent dofs at one configuration, kept while they serve well."""
        p = self._read("independent", q=q)
        if p.batch:
            raise StateError(f"independent takes one configuration, got a batch {p.batch}.")
        ((state, _, _),) = states_of(p)
        rows = self._rows(state)
        return dofs_named(rows, self._choice(rows).independent)

    def constraint_matrix(self, q: Any) -> Array:
        """Gc of all closures and couplings at q, (..., m, nv): Gc v = U and Gc vdot + Gcdot v = Udot (003 Eq. 2).

            Gc = Q B* phi* H*                                                                     (formula F2)

        The rows of a closure are those that its hinge does not allow, at its frame b in the axes of b and orthonormal;
        closures come first, in the order of `mb.loops`, then a row for each coupling. Redundant rows are here as well.
        The position of q is checked. O(m depth).

        >>> import soacraft as sc
        >>> mb = sc.load("five_bar")
        >>> s = sc.loops.TreeAugmented(mb)
        >>> s.constraint_matrix(s.assemble(mb.q)).shape
        (6, 6)
        """
        p = self._read("constraint_matrix", q=q)
        rows = [self._task(state, np.zeros(p.nv), (), {}, moving=False).rows for state, _, _ in states_of(p)]
        if not rows:
            raise StateError("constraint_matrix takes at least one configuration, got an empty batch.")
        return np.reshape([each.jacobian() for each in rows], (*p.batch, rows[0].size, p.nv))

    def sko(self, q: Any = None, v: Any = None) -> Any:
        """Not of an augmented solver: only an embedded system is an SKO model."""
        raise self._no_operators()

    def operators(self, q: Any = None, v: Any = None) -> Any:
        """Those of an embedded system, or of the tree with its closures (tree-augmented)."""
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
        refuse_large(self._graph, "q", state.q)
        rows = closed_rows(self.graph, state, self._theta, self.tolerance)
        self._theta = {**self._theta, **rows.theta}
        return rows

    def _task(
        self, state: State, force: Array, forces: Any, drives: Drives, moving: bool = True, passive: bool = False
    ) -> Task:
        for name, x in (("v", state.v), ("force", force)):
            refuse_large(self._graph, name, x)
        task = Task(self._rows(state), force, forces, drives, passive)
        task.rows.driven = frozenset(drives)
        check_state(task, self.tolerance, moving)
        return task

    def _choice(self, rows: Constraints) -> Partition:
        found = partition(rows, self._kept, tolerance=self.tolerance)
        self._kept = found.independent
        return found

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
            made = Prescribed(self._compiled.prescribing(names, dofs, reference), dofs)
            self._prescribing[tuple(dofs)] = made
            return made
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
        """For many steps in one call from a state on the closures: the compiled solver, what moves states, and the
        coordinates of the closures' hinges as last seen; None where there are none."""
        graph = self.graph
        if self._chosen.compiled is not None and self._mover() is None:
            self._augment(self._task(graph.state(q, v), np.zeros(graph.nv), (), {}))
        solver, mover = self._chosen.compiled, self._mover()
        return None if solver is None or mover is None or self._turns is None else (solver, mover, self._turns)

    def _mover(self) -> CompiledClosures | None:
        return self._augmented()

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
        found = compiled.motions[motion](*given, self._turns, *after)
        if found is None:
            return None
        if found[2] is not None:
            self._turns = found[2]
        return found[0], found[1]

    def _attempt(
        self, compiled: CompiledClosures | None, motion: int, q: Array, x: Array | None = None
    ) -> tuple[Outputs, npt.NDArray[np.bool_]] | None:
        """A motion of many states, and where it holds; None as long as there is no plan for it."""
        if compiled is None:
            return None
        assert self._turns is not None
        *found, fine = compiled.move(motion, self._turns, q, x)
        return tuple(x for x in found if x.shape[1]), fine

    def _projected(self, p: Problem, motion: int, one: Callable[..., Outputs]) -> Outputs:
        """A projection of all states of a problem."""
        widths = (p.nv,) if motion == PROJECT_VELOCITY else (self.graph.nq, p.nv)
        return each(p, ("q", "v"), lambda q, v: self._attempt(self._augmented(), motion, q, v), one, widths)

    # -- compiled ----------------------------------------------------------------------------------------------

    def _compile(self) -> CompiledClosures | None:
        """The compiled rows from which compiled solvers are made; None where there is no such solver."""
        return None

    def _prepare(self, task: Task) -> None:
        """Make the plan for what is like this state, with `_take`; solve nothing."""

    def _prepare_at(self, q: Array, v: Array) -> bool:
        """The same by compiled code, for a state that is on its closures; False where it is not sure."""
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
        if self._chosen.compiled is None:
            self._make_plan(p, drives[0])
        source, compiled, _ = self._chosen
        if compiled is None:
            return None
        assert self._turns is not None
        count = math.prod(p.batch)
        full = [p.full(name) for name in ("q", "v", "force")]
        q, v, force = (np.ascontiguousarray(x.reshape(count, x.shape[-1])) for x in full)
        pull = pull_of(p, count) if p.forces else None
        vdot, left, theta, fine = compiled.run(
            q, v, force, pull, self._turns, p.threads, p.passive, compiled.driven(drives)
        )
        if count == 1 and fine[0] and compiled.plan.closures.follows:
            self._turns = theta[0]
        rest = np.concatenate([left, q, v], axis=1)
        if not fine.all():
            for i, (where, (state, one, forces)) in enumerate(zip(np.ndindex(*p.batch), states_of(p), strict=True)):
                if not fine[i]:
                    with in_state(p.batch, where):
                        task = self._task(state, one["force"], forces, drives[i], passive=p.passive)
                        answer = self._solve(task)
                        vdot[i], rest[i] = answer.vdot, self._rest(task, answer)
                    source = self._chosen.source if i == 0 else source
        return self._result(p, vdot, rest, source if source is self._chosen.source else source.mixed())

    def _rest(self, task: Task, x: Answer) -> Array:
        """Forces of loops and couplings, residuals of closures and motion, q, v."""
        left = residuals(task, x.vdot, x.multipliers) if x.left is None else x.left
        check_answer(task, x.vdot, x.multipliers, self.tolerance, left)
        return np.concatenate([*_forces(task, x), left, task.state.q, task.state.v])

    def _result(self, p: Problem, vdot: Any, rest: Any, source: Source) -> Result:
        forces = 6 * len(source.loops) + len(source.couplings)
        width = len(rest[0]) if len(rest) else forces + 2 + self.graph.nq + p.nv
        made = Result(np.reshape(vdot, (*p.batch, p.nv)), np.reshape(rest, (*p.batch, width)), source)
        made._loads = p.forces
        return made

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


def _solver(kind: type[Solver], graph: Graph, choices: dict[str, Any], memory: dict[str, Any]) -> Solver:
    """A solver that was copied."""
    made = kind(graph, **choices)
    made._recall(memory)
    return made


def _forces(task: Task, x: Answer) -> list[Array]:
    """The multipliers as wrenches and numbers."""
    found = [np.zeros(0)]
    for i, (_, where) in enumerate(task.rows.places):
        part = x.multipliers[where]
        found.append(task.rows.loops[i].wrench(part) if i < len(task.rows.loops) else part)
    return found


def _without(force: Array, dofs: list[int]) -> Array:
    force = np.array(force)
    force[dofs] = 0.0
    return force
