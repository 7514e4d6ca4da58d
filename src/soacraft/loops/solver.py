"""Interface of all solvers of closed chains: dynamics, assembly, projections, independent dofs.

    Mcal vdot + C = T + passive - Gc* lambda,     Gc vdot + Gcdot v = Udot                            (formulas F2, F3)

A solver gives `_solve(task)`: vdot and lambda at one state. The calls of compiled code, and the data kept from one to
the next, are in `loops/planned.py`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from soacraft.dynamics.arguments import read_prescribed
from soacraft.errors import ModelError, StateError
from soacraft.kinematics import assemble as assembling
from soacraft.kinematics.bounds import read_fixed
from soacraft.kinematics.compiled import (
    PROJECT,
    PROJECT_VELOCITY,
    compiled_first,
)
from soacraft.kinematics.independent import Indices, Partition, dofs_named
from soacraft.kinematics.tasks import Drives, Task, for_each, in_state, read_drives, states_of
from soacraft.loops import inverse, position
from soacraft.loops.findings import Answer, Answered
from soacraft.loops.independent_values import Named, accelerations_of, by_name, length_of, require_names
from soacraft.loops.mixed import key_of
from soacraft.loops.motion import Outputs
from soacraft.loops.planned import PlannedSolver
from soacraft.loops.results import Result
from soacraft.model.states.coordinates import read_q
from soacraft.model.states.dof_sets import movable_dofs
from soacraft.model.states.state import State
from soacraft.spatial.checks import Array


def require_solver(function: str, solver: object) -> None:
    """Raise `ModelError` for what is not a solver of a closed chain."""
    if not isinstance(solver, Solver):
        raise ModelError(
            f"sc.loops.{function} takes a solver, such as sc.loops.TreeAugmented(mb), got {solver!r:.80}; of a tree "
            f"there is the function of the same name in sc.dynamics or sc.analysis."
        )


class Solver(PlannedSolver):
    """Dynamics of a closed chain. `tolerance` is how far a state may be off its closures, a number without unit: angles
    in radians, distances relative to the length of their loop, the sum of its links, couplings relative to the largest
    of their terms, and velocities in these units relative to how fast the mechanism moves (`model.sizes.measure`).
    `assemble`, `project`, `complete` and `advance` judge by the same one, and answers satisfy their equations to it.

    After a structural change of the model it raises `StaleError`: make a new one. After a change of parameters it goes
    on with the new ones; an earlier result, whose rank was not read, has none any more. The coordinates
    of the closures' hinges and the choice of independent dofs are kept from call to call, so that turns are counted and
    names stay.

    Where compiled code is sure of a state, it takes the call; what it is not sure of - a state off its closures, a rank
    or a choice in doubt - is computed here. Threads may share a solver: every call takes one plan and
    the coordinates of one call before it, and leaves its own.
    """

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

        `U = {name: (u, udot)}` drives closures (003 Eq. 2): b moves relative to a with the prescribed twist u plus any
        motion of the hinge, at b in the axes of a, (..., 6); the position of a driven closure is not checked. Of a
        coupling u is a number, (...). Stored forces add to `f_ext`, and springs, dampers and gravity compensation to
        the force unless `passive=False`, as in `soacraft.dynamics`. A batch runs on `threads` threads, by default as
        many as pay; answers do not depend on them.
        """
        _, compiled, call = self._chosen
        if U is not None and call is not None and compiled is not None and f_ext is None and threads is None:
            drives = compiled.driven_plainly(U)
            result = None if drives is None else call(q, v, force, self._turns, passive, *drives)
            if result is not None:
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

        answers = for_each(p, driven, work)
        source = Answered(self, [task for task, _, _ in answers], [x for _, x, _ in answers])
        return self._result(p, [x.vdot for _, x, _ in answers], [rest for _, _, rest in answers], source)

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
        prepared = self._prescribing.get(key_of(prescribed))
        if prepared is not None and f_ext is None and self._turns is not None:
            quick = prepared.one(q, v, force, vdot, self._turns, passive, U)
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
        for i, (index, (state, one, forces)) in enumerate(zip(np.ndindex(*p.batch), states_of(p), strict=True)):
            if not fine[i]:
                with in_state(p.batch, index):
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
        `vdot` is of dofs that set the others, by name, `{"crank": 0.0}`, or of all dofs, (..., nv): one that the
        closures do not allow is a `LoopError`. Bare numbers of the independent dofs, in the order of `independent(q)`,
        are read where these were named (`ConstraintEmbedding(mb, independent=[...])`).

        >>> import soacraft as sc
        >>> mb = sc.load("five_bar")
        >>> s = sc.loops.TreeAugmented(mb)
        >>> q = s.assemble(mb.q)
        >>> s.inverse_dynamics(q, 0 * mb.v, dict.fromkeys(s.independent(q), 0.0)).shape
        (6,)
        """
        named = by_name(self.graph, vdot, "vdot")
        if named is not None:
            vdot = named.values
        if f_ext is None and self._reads(vdot, named):
            quick = self._actuation.force(q, v, vdot, self._turns, actuated, U, passive)
            if quick is not None:
                if quick[1] is not None:
                    self._turns = quick[1]
                return quick[0]
        p = self._read("inverse_dynamics", q=q, v=v, f_ext=f_ext, passive=passive)
        p = inverse.read_independent(p, vdot, named is not None)
        p, drives = read_drives(p, U)
        mask = None if actuated is None else read_prescribed(self.graph, actuated, "actuated")
        count = math.prod(p.batch)
        result, fine = np.empty((count, p.nv)), np.zeros(count, dtype=np.bool_)

        def attempt(first: int) -> Any:
            reads = self._reads(p.given["vdot_independent"], named)
            return self._actuation.forces(p, drives, mask, actuated, first) if reads else None

        tried = attempt(0)
        if tried is not None:
            result, fine = tried
        for i, (index, (state, one, forces)) in enumerate(zip(np.ndindex(*p.batch), states_of(p), strict=True)):
            if fine[i]:
                continue
            with in_state(p.batch, index):
                task = self._task(state, np.zeros(p.nv), forces, drives[i], passive=p.passive)
                choice = self._choice(task.rows)
                vdot_i = self._independent_part(task, choice, one["vdot_independent"], named)
                result[i] = inverse.force_for(task, choice, vdot_i, mask, self.tolerance)
                self._actuation.make(task, choice, mask)
            if tried is None:
                tried = attempt(i + 1)
                if tried is not None:
                    result[i + 1 :], fine[i + 1 :] = tried
        return result.reshape(*p.batch, p.nv)

    def _reads(self, vdot: Any, named: Named | None) -> bool:
        """True if plans may read accelerations: of all dofs, or of their independent dofs in order."""
        if named is None:
            return length_of(vdot) == self.graph.nv or self._takes_bare()
        chosen = self._chosen_dofs()
        return chosen is not None and np.array_equal(named.dofs, chosen)

    def _independent_part(self, task: Task, choice: Partition, vdot: Array, named: Named | None) -> Array:
        if named is not None:
            return accelerations_of(task, choice, named.dofs, vdot)
        if 0 < len(vdot) == len(choice.independent) < self.graph.nv and not self._takes_bare():
            raise require_names(self.graph, dofs_named(task.rows, choice.independent), "vdot", self._named_dofs())
        return inverse.independent_part(task, choice, vdot, self.tolerance)

    def _takes_bare(self) -> bool:
        """True if bare numbers of independent dofs are read, since the dofs were named."""
        return False

    def _named_dofs(self) -> bool:
        """True if independent dofs were named, whatever is independent now."""
        return False

    def _chosen_dofs(self) -> Indices | None:
        """The independent dofs that plans are made for now."""
        return self._kept

    def assemble(self, q0: Any, fixed: Any = (), limits: bool = False, *, bend: bool = False) -> Array:
        """Coordinates near q0 at which every loop and coupling closes; the dofs or hinges named in `fixed` stay.

        `fixed` may also be `{dof or hinge: value}`. A q0 by names, `s.assemble({"crank": 0.5}, fixed=["crank"])`, has
        the rest from the model's state. With `limits` within the joint limits. Least squares in a trust region on the
        manifold of the hinges, then towards q0 along the closed configurations. What cannot close is a `LoopError` that
        says by how much. Closures that are to be driven are closed as the others. Flexible bodies stay bent as they are
        in q0; with `bend` elastic modes close loops too, for structures that hinges alone do not close.
        """
        held, q = read_fixed(self.graph, fixed, read_q(self.graph, q0, rest=self.graph.current.q))
        p = self._read("assemble", q=q)
        if not isinstance(bend, bool | np.bool_):
            raise StateError(f"bend of assemble must be True or False, got {bend!r:.60}.")
        still = held if bend else held | ~movable_dofs(self.graph)
        assembled = assembling.assemble_all(p, still, self._theta, limits, self.tolerance)
        return np.reshape(assembled, (*p.batch, self.graph.nq))

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
        projected = for_each(p, drives, lambda state, one, forces, driven: nearest(state, driven))
        return np.reshape(projected, (*p.batch, p.nv))

    def project(self, q: Any, v: Any, U: Any = None) -> tuple[Array, Array]:
        """The state on the closures next to (q, v), in the metric of the mass matrix: what an integrator does with
        every stage. Driven closures (`U` as in `forward_dynamics`) keep their position and move as prescribed. What
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
        """SKO model of an embedded system; refused by an augmented solver."""
        raise self._no_operators()

    def operators(self, q: Any = None, v: Any = None) -> Any:
        """Operators of an embedded system, or of the tree with its closures (tree-augmented)."""
        raise self._no_operators()

    def binding(self, f_ext: Any = None, force: Any = None) -> Any:
        """Binding of `sc.operators(s)`; refused by an augmented solver."""
        raise self._no_operators()


def _without(force: Array, dofs: list[int]) -> Array:
    force = np.array(force)
    force[dofs] = 0.0
    return force
