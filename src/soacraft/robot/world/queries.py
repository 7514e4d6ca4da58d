"""Queries of a world at a configuration or along a motion, until something in it changes.

Poses, the search for near pairs, nearest points and gradients are one compiled call (`contact/moving/` of the core),
which takes no memory after the first. Models with hinges of a user's own, or flexible bodies, are computed by
`sc.contact.Scene`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.contact.geometry.compiled import MovingScene
from soacraft.contact.geometry.queries import read_within
from soacraft.contact.geometry.scene import Scene
from soacraft.dynamics.arguments import read_threads
from soacraft.errors import ConvergenceError, StateError
from soacraft.model.flat.compiled import CompiledModel
from soacraft.model.states.coordinates import in_graph_order
from soacraft.model.tree.multibody import Multibody
from soacraft.robot.world.edges import STEPS, Edge, Edges, default_gap, read_first, read_gap, require_bounds
from soacraft.spatial.checks import Array, finite

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Distances:
    """Pairs of shapes that are near, a row each, in the order of states, then of names: signed distance less the
    padding, nearest points and the normal from a to b in the inertial frame, and the derivative of the distance along
    the robot's dofs. `smooth` says where that derivative is the only one."""

    names: tuple[str, ...]
    """Names of all shapes."""
    numbers: Array
    """(rows, 11): distance, point on a, point on b, normal, and a bound on what an iteration left."""
    gradient: Array
    """(rows, nv)."""
    places: Integers
    """(rows, 3): the number of the configuration in a batch, those of the shapes."""
    _scene: Scene = field(repr=False)
    _q: Array = field(repr=False)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The names of the two shapes."""
        names = self.names
        return [(names[a], names[b]) for _, a, b in self.places.tolist()]

    @property
    def distance(self) -> Array:
        """Signed, less the padding; below zero where shapes are in each other, (rows)."""
        return self.numbers[:, 0]

    @property
    def point_a(self) -> Array:
        """Nearest point on the first shape, (rows, 3)."""
        return self.numbers[:, 1:4]

    @property
    def point_b(self) -> Array:
        """Nearest point on the second shape, (rows, 3)."""
        return self.numbers[:, 4:7]

    @property
    def normal(self) -> Array:
        """Normal of unit length, from the first to the second, (rows, 3)."""
        return self.numbers[:, 7:10]

    @property
    def state(self) -> Integers:
        """The number of the configuration in a batch, (rows)."""
        return self.places[:, 0]

    @cached_property
    def smooth(self) -> npt.NDArray[np.bool_]:
        """True for each distance that has a derivative there, (rows). Where faces are parallel, so that nearest points
        jump, or there are two ways out of a shape that are equally long, it has none: `gradient` is then a generalized
        one, between the one-sided derivatives along any motion (Clarke). Computed when first read.
        """
        return self._scene.smooth(self._q, self.places, self.numbers)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "smooth": self.smooth, "_scene": None}  # a copy needs no scene

    def __len__(self) -> int:
        return len(self.numbers)

    def __repr__(self) -> str:
        if not len(self):
            return "no pair is near"
        i = int(np.argmin(self.distance))
        return f"{len(self)} pairs, nearest {' - '.join(self.pairs[i])} at {self.distance[i]:.6g} m"


class Queries:
    """The answers of a world: `mb` is the robot's model, `scene` has its shapes and those of the objects."""

    def __init__(self, mb: Multibody, scene: Scene) -> None:
        self.mb, self.scene = mb, scene
        self.names = scene.names
        tree = CompiledModel.of(mb.layout)
        core, body, local, _ = scene.compiled
        self._fast = None if tree is None else MovingScene(tree.kernels, core, body, local)
        self._gap: float | None = None

    def collides(self, q: Any, threads: int | None) -> Any:
        """`World.collides`."""
        count, q = read_threads("collides", threads) or 1, self._in_order(q)
        hit = None if self._fast is None else self._fast.collides(q, count)
        if hit is not None:
            return hit
        rows_of_q, batch = self._read(q)
        many = None if self._fast is None else self._fast.collides(rows_of_q, count)
        if many is None:
            many = np.zeros(len(rows_of_q), dtype=bool)
            rows = self.scene.distances(rows_of_q, 0.0, threads=count)
            many[rows.state[rows.distance <= 0.0]] = True
        return many.reshape(batch) if batch else bool(many[0])

    def distances(self, q: Any, within: Any, threads: int | None) -> Distances:
        """`World.distances`."""
        count, q = read_threads("distances", threads) or 1, self._in_order(q)
        far = within if type(within) is float else read_within(within)
        answer = None if self._fast is None else self._fast.distances(q, far, count)
        if answer is None:
            q, _ = self._read(q)
            answer = None if self._fast is None else self._fast.distances(q, read_within(far), count)
        if answer is None:
            rows = self.scene.distances(q, read_within(far), threads=count)
            numbers = np.column_stack([rows.distance, rows.point_a, rows.point_b, rows.normal, rows.error])
            answer = numbers, self.scene.gradient(rows), np.column_stack([rows.state, rows.a, rows.b])
        return Distances(self.names, *answer, self.scene, np.array(q))

    def edge(self, q0: Any, q1: Any, gap: float | None, first: bool) -> Edge:
        """`World.edge`."""
        close, first = self._close(gap), read_first(first)
        assert self._fast is not None
        q0, q1 = self._in_order(q0), self._in_order(q1)
        answer = self._fast.edge(q0, q1, close, first, STEPS)
        if answer is None:
            (a, shape), (b, other) = self._read(q0), self._read(q1)
            if shape or other:
                raise StateError("an edge goes from one configuration to one other; edges(...) takes many.")
            answer = self._fast.edge(self._plain(a)[0], self._plain(b)[0], close, first, STEPS)
            if answer is None:
                raise self._too_far(a, b)
        free, part, least, x, y, _, spent, q = answer
        if spent:
            raise self._spent(part)
        return Edge(free, part, q, None if free else (self.names[x], self.names[y]), least)

    def edges(self, q0: Any, q1: Any, gap: float | None, first: bool, threads: int | None) -> Edges:
        """`World.edges`."""
        count = read_threads("edges", threads) or 1
        close, first = self._close(gap), read_first(first)
        assert self._fast is not None
        (a, shape), (b, other) = self._read(q0), self._read(q1)
        if len(shape) != 1 or len(other) != 1 or shape != other:
            raise StateError(f"edges go from as many configurations as they go to, got {shape} and {other}.")
        answer = self._fast.edges(self._plain(a), self._plain(b), close, first, STEPS, count)
        if answer is None:
            raise self._too_far(a, b)
        numbers, wholes, q = answer
        if wholes[:, 4].any():
            i = int(np.argmax(wholes[:, 4]))
            raise self._spent(float(numbers[i, 0]), f"edge {i}")
        return Edges(wholes[:, 0] != 0, numbers[:, 0], q, numbers[:, 1], self.names, wholes[:, 1:3])

    def _close(self, gap: float | None) -> float:
        """Distance that counts as a touch; refused for a world without bounds on motions."""
        if self._gap is None:
            require_bounds(self.mb, self.scene)
            self._gap = default_gap(self.mb, self.scene)
        return self._gap if gap is None else read_gap(gap)

    @staticmethod
    def _spent(part: float, what: str = "an edge") -> ConvergenceError:
        return ConvergenceError(f"{what} took {STEPS} steps and is at {part:.6g} of the way: give a larger gap.")

    def _too_far(self, a: Array, b: Array) -> StateError:
        far = max(float(np.abs(a).max(initial=0.0)), float(np.abs(b).max(initial=0.0)))
        return StateError(f"an edge of {self.mb.name!r} is too long to be judged: its coordinates go up to {far:.3g}.")

    def _plain(self, q: Array) -> Array:
        """Coordinates with unit quaternions, checked."""
        return np.asarray(self.mb.integrate(q, np.zeros((len(q), self.mb.nv))))

    def _in_order(self, q: Any) -> Any:
        return q if type(q) is np.ndarray else in_graph_order(self.mb, q, f"q of {self.mb.name!r}", of_q=True)

    def _read(self, q: Any) -> tuple[Array, tuple[int, ...]]:
        mb, q = self.mb, self._in_order(q)
        coordinates = finite(q, (..., mb.nq), f"q of {mb.name!r}", StateError)
        batch = coordinates.shape[:-1]
        return np.ascontiguousarray(coordinates.reshape(math.prod(batch), mb.nq)), batch
