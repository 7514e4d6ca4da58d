"""Compiled rows and solvers of a closed chain: `_core.ClosedSolver` made from a plan.

Calls that it does not answer - a state off its closures, a rank or a choice of dofs in doubt, a hinge of the user's own
- go to Python, which computes the result or raises the error. This file alone builds `_core.ClosedSolver`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from soacraft import _core
from soacraft.kinematics.closure_arrays import closure_arrays, is_known, with_prescribed
from soacraft.kinematics.plan import CONSTRAINT_EMBEDDING, TREE_AUGMENTED, Groups, Integers, Plan
from soacraft.kinematics.tolerances import CLOSED, RANK, Tolerances
from soacraft.model.flat.compiled import CompiledModel
from soacraft.model.flat.layout import Layout
from soacraft.model.tree.frames.frame import Body
from soacraft.model.tree.graph import Graph
from soacraft.model.tree.multibody import Multibody
from soacraft.model.tree.subgraph import SubGraph
from soacraft.spatial.checks import Array

_Method = TypeVar("_Method", bound=Callable[..., Any])

EXPAND, COMPLETE, ADVANCE, PROJECT_VELOCITY, PROJECT, INVERSE_DYNAMICS, INVERSE_OF_ALL, ACCELERATE = range(8)


@dataclass(frozen=True, eq=False)
class RowArrays:
    """The rows of all closures and couplings at one state, closures first."""

    theta: Array
    gap: Array
    """(loops, 6)."""
    Q: Array
    """(rows of loops, 6), in the axes of b."""
    R_ab: Array
    """(loops, 3, 3)."""
    local: Array
    """Terms of the acceleration rows other than those of the bodies' accelerations."""
    gamma: Array
    """Gcdot v."""
    speed: Array
    residual: Array
    W_a: Array
    W_b: Array
    """(rows of loops, 6): on the velocities of the bodies that carry a and b, in their axes."""
    G: Array
    turns: Array
    """(nv): how far each dof turns its body,"""
    slides: Array
    """and slides its frame."""
    T: Array
    """(loops, nv): how far each dof turns the ends of a closure, whatever the other end does,"""
    S: Array
    """and slides them at most: see `kinematics.sizes`."""
    furthest: Array
    """(1): how far from the origin frames and bodies are at most."""


class CompiledClosures:
    """The rows of a closed chain by compiled code, and where its plan has a method, its solutions. It never changes:
    `augmented` and `embedded` make others.
    """

    def __init__(self, tree: CompiledModel, plan: Plan, forces: dict[Any, Any]) -> None:
        self._tree, self.plan = tree, plan  # keeps the compiled tree alive
        self._forces = forces  # those that act: with them a call on single states is not sure
        self.core = _core.ClosedSolver(tree.kernels, plan)
        self.size: int = self.core.size
        self._rows_of_loops = self.size - len(plan.closures.couplings)
        self._nv = len(plan.closures.units)
        self.flexible = tree.flexible
        """True of a tree with flexible bodies: its plans are of rows and of tree-augmented dynamics alone, and
        derivatives are computed in Python."""
        self.flexible_bodies = tree.flexible_bodies
        """Numbers of its flexible bodies, in the order in which external forces on their modes are given."""
        self._holonomic = plan.closures.holonomic
        self.order = _NO_ORDER if plan.independent is None else plan.independent
        self.motions: dict[int, Callable[..., Any]] = {
            motion: _not_sure
            if forces is _OF_A_PART
            else self._reading(_core.closed_motion_call(self.core, motion, self.order, _not_sure, forces))
            for motion in _MOTIONS.get(plan.method, ())
        }
        """Calls (q, theta), (q, x, theta) or (q, x, theta, v, passive[, driven, rates]) on single states that give q, v
        and theta, of those that the motion has; or None where it is not sure."""
        self.derivatives: Callable[..., Any] = _not_sure
        """A call (q, v, force, theta, passive) on single states that gives the derivatives of vdot along q, v and the
        force, those of the constraint forces, and theta; or None where it is not sure."""
        if plan.method == TREE_AUGMENTED and not tree.flexible:
            self.derivatives = self._reading(_core.closed_derivatives_call(self.core, forces, _not_sure))

    def _reading(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """A call that reads the state arrays of this tree."""
        _core.set_orders(call, self._tree.orders)
        return call

    @classmethod
    def of(cls, graph: Graph, tolerance: float = CLOSED) -> CompiledClosures | None:
        """The rows of a graph; None without ties, with a hinge that compiled code does not know, or for a sub-graph
        whose anchor moves. Solvers of one model share what it is read into."""
        closures = cls._of_part(graph) if isinstance(graph, SubGraph) else rows_of(graph)
        if closures is None or tolerance == closures.plan.tolerances.closed:
            return closures
        plan = replace(closures.plan, tolerances=replace(closures.plan.tolerances, closed=tolerance))
        return cls(closures._tree, plan, closures._forces)

    @classmethod
    def _read(cls, graph: Multibody) -> CompiledClosures | None:
        tree = CompiledModel.any_of(graph.layout) if is_known(graph) else None
        if tree is None:
            return None
        gravity = np.ascontiguousarray(graph.gravity, dtype=np.float64)
        return cls(tree, Plan(closure_arrays(graph, tree), Tolerances(), gravity), graph.acting_forces)

    @classmethod
    def _of_part(cls, graph: SubGraph) -> CompiledClosures | None:
        """Compiled closures of a sub-graph, in the axes of its anchor: gravity is as seen from there now (`axes_of`).
        Calls on single states go to Python, which checks the anchor first.
        """
        on_body = isinstance(graph.anchor, Body)
        ends = [end for x in graph.loops if x.active for end in (x.a, x.b)]
        if on_body and (graph.anchor_moves or not all(isinstance(x.carrier, Body) for x in ends)):
            return None
        tree = CompiledModel.of(graph.layout) if is_known(graph) else None
        if tree is None:
            return None
        R = graph.current.configuration.base[0] if on_body else np.eye(3)
        gravity = np.ascontiguousarray(R.T @ graph.gravity)
        return cls(tree, Plan(closure_arrays(graph, tree), Tolerances(), gravity), _OF_A_PART)

    def augmented(self, compliance: Array, loose: bool = False, method: int = TREE_AUGMENTED) -> CompiledClosures:
        """The tree-augmented or the fully augmented solver, for rows of these compliances; `loose`: redundant ones
        repeat others but for the digits of a file.
        """
        plan = replace(self.plan, tolerances=self._tolerances(loose), method=method, compliance=compliance)
        return CompiledClosures(self._tree, plan, self._forces)

    def prescribing(self, names: Sequence[str], dofs: Sequence[int], compliance: Array) -> CompiledClosures:
        """The tree-augmented solver with a driven coupling of that name for each of some dofs behind the rows."""
        closures = with_prescribed(self.plan.closures, self._tree, names, dofs)
        plan = replace(self.plan, closures=closures, method=TREE_AUGMENTED, compliance=compliance)
        return CompiledClosures(self._tree, plan, self._forces)

    def embedded(
        self,
        groups: Sequence[tuple[tuple[int, ...], tuple[str, ...]]],
        independent: npt.NDArray[np.intp],
        loose: bool = False,
    ) -> CompiledClosures:
        """Constraint embedding with these compound bodies (their members by body number, and the closures and couplings
        inside) and these independent dofs.
        """
        of_element = np.full(self._tree.count, -1, dtype=np.int64)
        of_tie: dict[str, int] = {}
        for number, (members, ties) in enumerate(groups):
            for k in members:
                of_element[self._tree.hinge_elements(k)] = number
            of_tie.update(dict.fromkeys(ties, number))
        closures = self.plan.closures
        tied = (np.array([of_tie.get(name, -1) for name in some], dtype=np.int64)
                for some in (closures.loops, closures.couplings))  # fmt: skip
        dependent = np.ones(self._nv, dtype=np.int64)
        dependent[independent] = 0
        plan = replace(
            self.plan,
            tolerances=self._tolerances(loose),
            method=CONSTRAINT_EMBEDDING,
            groups=Groups(of_element, *tied),
            dependent=dependent,
            independent=np.ascontiguousarray(independent, dtype=np.int64),
        )
        return CompiledClosures(self._tree, plan, self._forces)

    def _tolerances(self, loose: bool) -> Tolerances:
        return replace(self.plan.tolerances, repeated=RANK) if loose else self.plan.tolerances

    def guess(self, theta: Mapping[str, Array]) -> Array | None:
        """All coordinates from those known; None when one that must be known is not."""
        closures = self.plan.closures
        guess = closures.neutral.copy()
        for name, place in closures.starts.items():
            if name in theta:
                guess[place] = theta[name]
            elif name in closures.follows:
                return None
        return guess

    def rows(self, q: Array, v: Array, theta: Mapping[str, Array]) -> RowArrays | None:
        """The rows at a state, the coordinates of the closures' hinges followed from those known."""
        guess = self.guess(theta)
        if guess is None:
            return None
        loops, tied, size = len(self.plan.closures.loops), self._rows_of_loops, self.size
        nv = self._nv
        lengths = (len(guess), 6 * loops, 6 * tied, 9 * loops, size, size, size, size, 6 * tied, 6 * tied, size * nv,
                   nv, nv, loops * nv, loops * nv, 1)  # fmt: skip
        out = [np.empty(n) for n in lengths]
        if not self.core.rows(np.ascontiguousarray(q), np.ascontiguousarray(v), guess, tuple(out)):
            return None
        if not np.isfinite(np.concatenate(out)).all():
            return None
        shapes = ((-1,), (-1, 6), (-1, 6), (-1, 3, 3), (-1,), (-1,), (-1,), (-1,), (-1, 6), (-1, 6), (-1, nv),
                  (-1,), (-1,), (-1, nv), (-1, nv), (-1,))  # fmt: skip
        return RowArrays(*(x.reshape(shape) if x.size else x.reshape(0, *shape[1:])
                           for x, shape in zip(out, shapes, strict=True)))  # fmt: skip

    def is_closed(self, q: Array, v: Array, force: Array, theta: Array, passive: bool) -> bool:
        """True if compiled code is sure that a state is on its closures and moves as they allow."""
        return self.core.is_closed(q, v, force, theta, passive)

    def compliance(self, q: Array, theta: Array) -> Array | None:
        """The compliance of each row at q before anything cancels, `loops.schur.Compliance.reference`; None where
        compiled code is not sure: a hinge has nothing to move. O(n)."""
        matrix = np.empty(self.size)
        return matrix if self.core.compliance(np.ascontiguousarray(q), theta, matrix) else None

    def impulse(self, q: Array, v: Array, theta: Mapping[str, Array], rhs: Array) -> Array | None:
        """-Mcal^-1 Gc* S^+ rhs: the jump of velocities that closes the rows by rhs (formula F3). `rhs`: (6) for each
        loop, a twist of its frame b in its axes, then a number for each coupling.
        """
        guess, dv = self.guess(theta), np.empty(self._nv)
        if guess is None or not np.isfinite(rhs).all():
            return None
        fine = self.core.impulse(np.ascontiguousarray(q), np.ascontiguousarray(v), guess, np.ascontiguousarray(rhs), dv)
        return dv if fine else None

    def run(
        self,
        q: Array,
        v: Array,
        force: Array,
        pull: Array | None,
        theta: Array,
        threads: int | None,
        passive: bool = False,
        drives: tuple[Integers, Array] | None = None,
    ) -> tuple[Array, Array, Array, npt.NDArray[np.bool_]]:
        """A batch of states, all (count, ...), the closures' coordinates followed from theta: vdot, [forces,
        residuals], theta, and where the answers hold. `passive`: springs and dampers act. `drives` as `driven` makes
        it.
        """
        count, closures = len(q), self.plan.closures
        vdot, rest = np.empty((count, self._nv)), np.empty((count, closures.forces + 2))
        followed, fine = np.empty((count, closures.coordinates)), np.zeros(count, dtype=np.int64)
        threads = threads or min(_CORES, 1 + count * self._tree.count // _WORTH_A_THREAD)
        self.core.run(q, v, force, pull, theta, vdot, rest, followed, fine, threads, passive,
                      *(drives or ()))  # fmt: skip
        return vdot, rest, followed, fine.astype(bool)

    def derive(
        self, q: Array, v: Array, force: Array, pull: Array | None, theta: Array, passive: bool
    ) -> tuple[tuple[Array, ...], npt.NDArray[np.bool_]]:
        """The derivatives of a batch of states along q, v and the force, (count, nv, nv) of vdot and (count, numbers,
        nv) of the constraint forces, and where they hold.
        """
        count, nv, forces = len(q), self._nv, self.plan.closures.forces
        shapes = ((count, nv, nv),) * 3 + ((count, forces, nv),) * 3
        outs, fine = tuple(np.empty(shape) for shape in shapes), np.zeros(count, dtype=np.int64)
        threads = min(_CORES, 1 + count * self._tree.count * nv // _WORTH_A_THREAD)
        flat = tuple(x.reshape(count, math.prod(x.shape[1:])) for x in outs)
        _core.closed_derivatives(self.core, q, v, force, pull, theta, flat, fine, threads, passive)
        return outs, fine.astype(bool)

    def driven(self, states: Sequence[Mapping[str, tuple[Array, Array]]]) -> tuple[Integers, Array] | None:
        """Drives of closures and couplings in each state, `{name: (u, udot)}`, as compiled code takes them: the
        position of the numbers of each (-1: not driven), and the numbers, (count, ...); None without drives.
        """
        names = list(states[0]) if states else []
        if not names:
            return None
        closures, at = self.plan.closures, 0
        place = {}
        for name in names:
            place[name], at = at, at + (12 if name in closures.loops else 2)
        ties = (*closures.loops, *closures.couplings)
        rates = [np.concatenate([x for name in names for x in one[name]]) for one in states]
        return np.array([place.get(name, -1) for name in ties], dtype=np.int64), np.array(rates).reshape(-1, at)

    def driven_plainly(self, U: Any) -> tuple[Integers, Array] | None:
        """Drives of one state, from plain arrays and numbers; None for input that must be read with checks."""
        if type(U) is not dict:
            return None
        closures, at = self.plan.closures, 0
        place = np.full(len(closures.loops) + len(closures.couplings), -1, dtype=np.int64)
        parts: list[Array] = []
        for name, pair in U.items():
            if type(pair) is not tuple or len(pair) != 2:
                return None
            if name in closures.loops:
                if not all(type(x) is np.ndarray and x.dtype == np.float64 and x.shape == _SIX for x in pair):
                    return None
                place[closures.loops.index(name)], at = at, at + 12
                parts += pair
            elif name in closures.couplings and all(type(x) is float for x in pair):
                place[len(closures.loops) + closures.couplings.index(name)], at = at, at + 2
                parts.append(np.array(pair))
            else:
                return None
        return (place, np.concatenate(parts)) if parts else None

    def move(
        self,
        motion: int,
        theta: Array,
        q: Array,
        x: Array | None = None,
        v: Array | None = None,
        pull: Array | None = None,
        passive: bool = False,
        drives: tuple[Integers, Array] | None = None,
    ) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
        """A motion of a batch of states (count, ...), with x in the order of the independent dofs: coordinates and
        velocities (or forces), of those that it gives, and where they hold. `drives` as `driven` makes it.
        """
        count = len(q)
        x = np.empty((count, 0)) if x is None else x
        q_out = np.empty((count, q.shape[1] if motion in (COMPLETE, ADVANCE, PROJECT) else 0))
        v_out = np.empty((count, self._nv if motion not in (COMPLETE, ADVANCE) else 0))
        fine = np.zeros(count, dtype=np.int64)
        threads = min(_CORES, 1 + count * self._tree.count // _WORTH_A_THREAD)
        _core.closed_motion(self.core, motion, q, x, self.order, theta, q_out, v_out, fine, threads, v, pull, passive,
                            *(drives or ()))  # fmt: skip
        return q_out, v_out, fine.astype(bool)

    def assemble(
        self, q: Array, theta: Array, free: npt.NDArray[np.bool_], allowed: tuple[Array, Array, Integers]
    ) -> tuple[Array, npt.NDArray[np.bool_]]:
        """A batch of configurations (count, nq) with their loops closed, near where they were, and where that holds:
        nowhere, where a closure is nonholonomic. `allowed`: limits by dof, lower and upper, and the places of their
        coordinates, -1 where there is none.
        """
        count = len(q)
        assembled, fine = np.array(q), np.zeros(count, dtype=np.int64)
        if self.plan.closures.rolls:
            return assembled, fine.astype(bool)
        threads = min(_CORES, 1 + _STEPS_TO_CLOSE * count * self._tree.count // _WORTH_A_THREAD)
        _core.closed_assemble(self.core, np.ascontiguousarray(q), theta, np.flatnonzero(free), *allowed,
                              self._holonomic, assembled, fine, threads)  # fmt: skip
        return np.where(fine[:, None], assembled, q), fine.astype(bool)

    def call(self, wrap: type, source: Any) -> Callable[..., Any]:
        """A call (q, v, force, theta, passive[, driven, rates]) on single states. It makes an object of the class
        `wrap` with the given source, or None where it is not sure, and while forces act.
        """
        return self._reading(_core.closed_call(self.core, self._forces, _not_sure, wrap, source))


def rows_of(graph: Graph) -> CompiledClosures | None:
    """The compiled rows of a graph, made once until it changes."""
    if not isinstance(graph, Multibody):
        return None
    layout = graph.layout
    if layout not in _KNOWN:
        _KNOWN[layout] = CompiledClosures._read(graph)
    return _KNOWN[layout]


def axes_of(graph: Graph) -> bytes | None:
    """Axes of the body that a sub-graph is anchored to: compiled rows depend on them and on the parameters."""
    if not isinstance(graph, SubGraph) or not isinstance(graph.anchor, Body):
        return None
    return np.ascontiguousarray(graph.current.configuration.base[0]).tobytes()


def compiled_first(method: _Method) -> _Method:
    """The method (q, v, force) of solvers that asks the call which a solver has `_chosen` for single states first, from
    the coordinates of its `_turns`, before a step of Python is made; all else is the method's own.
    """
    return cast(_Method, _core.closed_method(method))


def _not_sure(*arguments: Any) -> None:
    """Answer of a call that leaves a state to Python."""


#: Takes the place of the forces that act for a sub-graph, so that no call on single states is sure.
_OF_A_PART: dict[Any, Any] = {"anchor": None}
_NO_ORDER: Integers = np.zeros(0, dtype=np.int64)
_MOTIONS = {
    TREE_AUGMENTED: (PROJECT_VELOCITY, PROJECT),
    CONSTRAINT_EMBEDDING: (EXPAND, COMPLETE, ADVANCE, INVERSE_DYNAMICS, INVERSE_OF_ALL, ACCELERATE),
}
_SIX = (6,)
_WORTH_A_THREAD = 5_000
_STEPS_TO_CLOSE = 100
_CORES = os.cpu_count() or 1
_KNOWN: WeakKeyDictionary[Layout, CompiledClosures | None] = WeakKeyDictionary()
