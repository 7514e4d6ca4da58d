"""The compiled form of a closed chain: its rows and solvers in `_core`, for built-in hinges.

What it does not answer - a state off its closures, a rank or a choice of dofs in doubt, a hinge of the user's own -
goes to Python, which computes it or says what is wrong. This file alone builds `_core.ClosedModel`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from soacraft import _core
from soacraft.kinematics.complement import complement
from soacraft.kinematics.tolerances import CLOSED, DOUBTFUL, PIVOT, PIVOT_ROUNDING, RANK
from soacraft.model.flat.compiled import HELICAL, PRISMATIC, REVOLUTE, CompiledModel, on_axis
from soacraft.model.flat.layout import Layout
from soacraft.model.hinges import HINGES, Hinge, Spherical, Weld
from soacraft.model.hinges.base import H_T_of
from soacraft.model.hinges.product import ScrewProduct
from soacraft.model.sizes.measure import constant_measure_of
from soacraft.model.tree.closures import Coupling, coordinate_names
from soacraft.model.tree.frame import Body, Frame
from soacraft.model.tree.graph import Graph
from soacraft.model.tree.multibody import Multibody
from soacraft.spatial.checks import Array
from soacraft.spatial.pose import Pose

TREE_AUGMENTED, CONSTRAINT_EMBEDDING = range(2)
WELD, TURN, SLIDE, BALL, CHAIN = range(5)

Integers = npt.NDArray[np.int64]


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
    """What the acceleration rows have besides those of the bodies' accelerations."""
    gamma: Array
    """Gcdot v."""
    speed: Array
    residual: Array
    W_a: Array
    W_b: Array
    """(rows of loops, 6): on the velocities of the bodies that carry a and b, in their axes."""
    G: Array


class CompiledLoops:
    """A closed chain for the compiled rows and solvers."""

    def __init__(self, graph: Multibody, tree: CompiledModel, tolerance: float) -> None:
        self._tree = tree  # keeps the compiled tree alive
        loops = [x for x in graph.loops if x.active]
        couplings = [x for x in graph.couplings if x.active]
        self.loops, self.couplings = tuple(x.name for x in loops), tuple(x.name for x in couplings)  # not the model
        measure = constant_measure_of(graph)
        hinges: list[tuple[int, int, list[float]]] = []
        indices, numbers, self.starts, at = [], [], {}, 0
        for loop in loops:
            first, fit = len(hinges), _fit(loop.hinge)
            outboard = _add_hinge(loop.hinge, at, hinges)
            ends = [_end(graph, tree, x) for x in (loop.a, loop.b)]
            fixed = fit != CHAIN or _is_fixed(loop.hinge)
            Q = np.zeros((6, 6))
            if fixed:
                rows = complement(H_T_of(loop.hinge, np.asarray(loop.hinge.neutral(), dtype=np.float64)))
                Q[: len(rows)] = rows
            indices.append([ends[0][0], ends[1][0], ends[0][1], ends[1][1], fit, first, len(hinges), at,
                          6 - loop.hinge.nv, fixed])  # fmt: skip
            numbers.append([*_numbers(ends[0][2]), *_numbers(ends[1][2]), *_numbers(outboard), *Q.ravel(),
                         measure.loops[loop.name]])  # fmt: skip
            self.starts[loop.name] = slice(at, at + loop.hinge.nq)
            at += loop.hinge.nq
        self.coordinates = at
        self.follows = tuple(x.name for x in loops if _fit(x.hinge) == CHAIN)
        """Loops whose coordinates are found from those they had before."""
        self.neutral = np.concatenate([np.zeros(0), *(np.array(x.hinge.neutral(), np.float64) for x in loops)])
        self.core = _core.closed_model(
            tree.kernels,
            np.array(indices, dtype=np.int64).reshape(-1, 10),
            np.array(numbers, dtype=np.float64).reshape(-1, 73),
            np.array([x[:2] for x in hinges], dtype=np.int64).reshape(-1, 2),
            np.array([x[2] for x in hinges], dtype=np.float64).reshape(-1, 14),
            *_terms(graph, tree, couplings),
            np.array([measure.couplings[x.name] for x in couplings], dtype=np.float64),
            measure.dofs,
            coordinates=at,
            length=measure.length,
            inertia=measure.inertia,
            closed=tolerance,
            rank=RANK,
            doubtful=DOUBTFUL,
            pivot=PIVOT,
            rounding=PIVOT_ROUNDING,
        )
        self.core.set_gravity(np.ascontiguousarray(graph.gravity, dtype=np.float64))
        self.core.set_theta(self.neutral)
        self.size: int = self.core.size
        self._rows_of_loops = self.size - len(self.couplings)
        self._nv = graph.nv
        self.forces = 6 * len(self.loops) + len(self.couplings)

    @classmethod
    def of(cls, graph: Graph, tolerance: float = CLOSED) -> CompiledLoops | None:
        """A new compiled form; None for a sub-graph, without ties, or with a hinge that it does not know."""
        if not isinstance(graph, Multibody) or not graph.is_closed or not graph.nv:
            return None
        if not all(_known(x.hinge) for x in graph.loops if x.active):
            return None
        tree = CompiledModel.of(graph.layout)
        return None if tree is None else cls(graph, tree, tolerance)

    def guess(self, theta: Mapping[str, Array]) -> Array | None:
        """All coordinates from those known; None when one that must be known is not."""
        found = self.neutral.copy()
        for name, where in self.starts.items():
            if name in theta:
                found[where] = theta[name]
            elif name in self.follows:
                return None
        return found

    def follow(self, theta: Mapping[str, Array]) -> None:
        """Let the solvers find the coordinates of the closures' hinges from these."""
        guess = self.guess(theta)
        if guess is not None:
            self.core.set_theta(guess)

    def followed(self) -> dict[str, Array]:
        """The coordinates of those closures' hinges that are followed, as of the last call."""
        theta = self.core.theta() if self.follows else np.zeros(0)
        return {name: theta[self.starts[name]] for name in self.follows}

    def rows(self, q: Array, v: Array, theta: Mapping[str, Array]) -> RowArrays | None:
        """The rows at a state, the coordinates of the closures' hinges followed from those known."""
        guess = self.guess(theta)
        if guess is None:
            return None
        loops, tied, size = len(self.loops), self._rows_of_loops, self.size
        lengths = (self.coordinates, 6 * loops, 6 * tied, 9 * loops, size, size, size, size, 6 * tied, 6 * tied)
        out = (*(np.empty(n) for n in lengths), np.empty(size * self._nv))
        if not self.core.rows(np.ascontiguousarray(q), np.ascontiguousarray(v), guess, out):
            return None
        if not all(np.isfinite(x).all() for x in out):
            return None
        shapes = ((-1,), (-1, 6), (-1, 6), (-1, 3, 3), (-1,), (-1,), (-1,), (-1,), (-1, 6), (-1, 6), (-1, self._nv))
        return RowArrays(*(x.reshape(shape) if x.size else x.reshape(0, *shape[1:])
                           for x, shape in zip(out, shapes, strict=True)))  # fmt: skip

    def impulse(self, q: Array, v: Array, theta: Mapping[str, Array], rhs: Array) -> Array | None:
        """-Mcal^-1 Gc* S^+ rhs: the jump of velocities that closes the rows by rhs (formula F3). `rhs`: (6) for each
        loop, a twist of its frame b in its axes, then a number for each coupling.
        """
        guess, dv = self.guess(theta), np.empty(self._nv)
        if guess is None or not np.isfinite(rhs).all():
            return None
        fine = self.core.impulse(np.ascontiguousarray(q), np.ascontiguousarray(v), guess, np.ascontiguousarray(rhs), dv)
        return dv if fine else None

    def set_groups(self, groups: list[tuple[tuple[int, ...], tuple[str, ...]]]) -> None:
        """Compound bodies: their members by body number, and the closures and couplings inside."""
        of_element = np.full(self._tree.count, -1, dtype=np.int64)
        of_tie: dict[str, int] = {}
        for number, (members, ties) in enumerate(groups):
            for k in members:
                of_element[self._tree.hinge_elements(k)] = number
            of_tie.update(dict.fromkeys(ties, number))
        self.core.set_groups(of_element, *(np.array([of_tie[name] for name in some], dtype=np.int64)
                                           for some in (self.loops, self.couplings)))  # fmt: skip

    def run(
        self,
        method: int,
        q: Array,
        v: Array,
        force: Array,
        pull: Array | None,
        threads: int | None,
        passive: bool = False,
    ) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
        """A batch of states, all (count, ...): vdot, [forces, residuals], and where the answers hold. `passive`:
        springs and dampers act.
        """
        count = len(q)
        vdot, rest = np.empty((count, self._nv)), np.empty((count, self.forces + 2))
        fine = np.zeros(count, dtype=np.int64)
        threads = threads or min(_CORES, 1 + count * self._tree.count // _WORTH_A_THREAD)
        self.core.run(method, q, v, force, pull, vdot, rest, fine, threads, passive)
        return vdot, rest, fine.astype(bool)

    def call(
        self, method: int, forces: dict[Any, Any], fallback: Callable[..., Any], wrap: type, source: list[Any]
    ) -> Callable[..., Any]:
        """A call on single states; while `forces` is not empty, and for all else, it calls `fallback`. It makes objects
        of the class `wrap`, with the one entry of `source`.
        """
        return _core.closed_call(self.core, method, forces, fallback, wrap, source)


def rows_of(graph: Graph) -> CompiledLoops | None:
    """The compiled rows of a graph, made once until it changes."""
    if not isinstance(graph, Multibody):
        return None
    layout = graph.layout
    if layout not in _KNOWN:
        _KNOWN[layout] = CompiledLoops.of(graph)
    return _KNOWN[layout]


def _known(hinge: Hinge) -> bool:
    builtin = type(hinge) in HINGES and isinstance(hinge, ScrewProduct | Weld | Spherical)
    return builtin and hinge.nv < 6


def _fit(hinge: Hinge) -> int:
    """How its coordinates are found from a pose."""
    if isinstance(hinge, Weld):
        return WELD
    if isinstance(hinge, Spherical):
        return BALL
    assert isinstance(hinge, ScrewProduct)
    kinds = [on_axis(x)[1] for x in hinge.vectors]
    return TURN if kinds == [REVOLUTE] else SLIDE if kinds == [PRISMATIC] else CHAIN


def _is_fixed(hinge: Hinge) -> bool:
    """Whether the columns of H* do not depend on the coordinates: no screw moves one that lies inboard of it."""
    assert isinstance(hinge, ScrewProduct)
    vectors = [np.asarray(x) for x in hinge.vectors]
    return not any(_moves(x, y) for i, y in enumerate(vectors) for x in vectors[i + 1 :])


def _moves(x: Array, y: Array) -> bool:
    """Whether crm(x) y is not zero."""
    w = np.cross(x[:3], y[:3])
    v = np.cross(x[:3], y[3:]) + np.cross(x[3:], y[:3])
    return bool(np.abs(w).max() > 0.0 or np.abs(v).max() > 0.0)


def _add_hinge(hinge: Hinge, at: int, hinges: list[tuple[int, int, list[float]]]) -> Pose:
    """Add the screws of a hinge; what leads from the last one to its outboard side."""
    place = Pose()
    if isinstance(hinge, ScrewProduct):
        for i, screw in enumerate(hinge.vectors):
            axis, kind, scale, pitch = on_axis(screw)
            assert kind in (REVOLUTE, PRISMATIC, HELICAL)
            hinges.append((kind, at + i, [*_numbers(place @ axis), scale, pitch]))
            place = axis.inv
    return place


def _end(graph: Multibody, tree: CompiledModel, frame: Frame) -> tuple[int, int, Pose]:
    """The element and the body that carry a frame, and where it is on the element."""
    if not isinstance(frame.carrier, Body):
        return -1, -1, frame.offset
    k = graph.layout.index[frame.carrier]
    return int(tree.element_of[k]), k, tree.place(k) @ frame.offset


def _numbers(place: Pose) -> list[float]:
    return [*place.rotation.ravel(), *place.translation]


def _terms(graph: Multibody, tree: CompiledModel, couplings: list[Coupling]) -> tuple[Integers, Array, Array]:
    names = coordinate_names(graph) if couplings else {}
    number = {name: i for i, name in enumerate(graph.dof_names)}
    element = {}
    for e, (kind, v) in enumerate(zip(tree.kinds.tolist(), tree.v_starts.tolist(), strict=True)):
        if kind <= HELICAL:
            element[v] = e
    indices, coefficients = [], []
    degree = max((len(c) for x in couplings for c in x.terms.values()), default=1)
    for i, x in enumerate(couplings):
        for dof, c in x.terms.items():
            indices.append([i, element[number[dof]], number[dof], names[dof]])
            coefficients.append([*c, *(0.0,) * (degree - len(c))])
    offsets = np.array([x.offset for x in couplings], dtype=np.float64)
    return np.array(indices, dtype=np.int64).reshape(-1, 4), np.array(coefficients).reshape(-1, degree), offsets


_WORTH_A_THREAD = 5_000
_CORES = os.cpu_count() or 1
_KNOWN: WeakKeyDictionary[Layout, CompiledLoops | None] = WeakKeyDictionary()
