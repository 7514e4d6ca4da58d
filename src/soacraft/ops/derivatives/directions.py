"""Directions that operators are differentiated along, and the vectors that say how fast the hinges move.

Along dof j of hinge i the bodies outboard of it move; along the current velocity all do. Either is a vector w of the
hinge space. With s(k) = H*(k) w(k) and V = phi* H* w the derivatives of all operators follow from three block-diagonal
ones (`soacraft.ops.derivatives.leaves`):

    X  = diag{ crf(s(k)) }          how phi(p,k) changes:    d phi(p,k) = phi(p,k) X(k)
    W  = diag{ the turning of the axes }                     zero in body axes
    dH = how the hinge maps change in body axes              zero for hinges with constant H
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.descriptions.printing import latex_words
from soacraft.algebra.expressions.operator import Operator
from soacraft.errors import ModelError, StateError
from soacraft.model.flat.axes import check_axes, velocity_map
from soacraft.model.flat.realize import times
from soacraft.model.tree.graph import Graph
from soacraft.model.tree.names import find_step
from soacraft.ops.binding import GraphBinding
from soacraft.ops.derivatives import questions
from soacraft.ops.leaves import BlockLeaf
from soacraft.ops.named import Named

Array = npt.NDArray[np.float64]


# -- vectors ------------------------------------------------------------------------------------------------------


class Source(ABC):
    """A vector that derivatives are made with: a unit vector, v, vdot, or the motion of an anchor."""

    of_bodies = False
    moving = True  # whether it changes with the velocity

    @abstractmethod
    def columns(self, binding: GraphBinding) -> Array:
        """The numbers, (..., N, 1)."""

    @abstractmethod
    def rate(self, u: Direction) -> Source | None:
        """Derivative of the source along a direction, None for zero."""

    def token(self, binding: GraphBinding) -> object:
        """Object that is replaced by another one whenever the numbers change."""
        return binding.state.motion

    def nodes(self, binding: GraphBinding) -> frozenset[int]:
        """The nodes whose hinges move."""
        return frozenset(range(binding.graph.layout.n))


@dataclass(frozen=True)
class Unit(Source):
    """Dof j of hinge i."""

    i: int
    j: int
    moving = False

    def columns(self, binding: GraphBinding) -> Array:
        layout = binding.graph.layout
        x = np.zeros((layout.nv, 1))
        x[layout.v_slices[self.i].start + self.j] = 1.0
        return x

    def rate(self, u: Direction) -> None:
        return None

    def nodes(self, binding: GraphBinding) -> frozenset[int]:
        return frozenset({self.i})


@dataclass(frozen=True)
class Velocity(Source):
    """The current velocity v, or for order 2 the acceleration vdot."""

    order: int = 1

    def columns(self, binding: GraphBinding) -> Array:
        x = binding.velocity() if self.order == 1 else binding.acceleration()
        return x[..., None]

    def rate(self, u: Direction) -> Source | None:
        if u.body is not None:
            return None
        _refuse_third(self.order)
        return Velocity(2)

    def token(self, binding: GraphBinding) -> object:
        return binding.state.motion if self.order == 1 else binding.state


@dataclass(frozen=True)
class AnchorMotion(Source):
    """The velocity, or for order 2 the acceleration, of a moving anchor, as if every body were fixed to it."""

    order: int = 1
    of_bodies = True

    def columns(self, binding: GraphBinding) -> Array:
        base = binding.state.motion.base
        assert base is not None
        T = velocity_map(check_axes(binding.axes), binding.state.configuration.base)
        one = times(T, base[self.order - 1])
        x = np.zeros((*one.shape[:-1], binding.body.size, 1))
        for start in binding.body.offsets[:-1]:
            x[..., start : start + 6, 0] = one
        return x

    def rate(self, u: Direction) -> Source | None:
        if u.body is not None:
            return None
        _refuse_third(self.order)
        return AnchorMotion(2)


def _refuse_third(order: int) -> None:
    if order == 2:
        raise StateError("a third time derivative needs the rate of vdot, which a state does not hold.")


# -- directions ---------------------------------------------------------------------------------------------------


class Direction:
    """Direction of a derivative: dof `dof` of the hinge of a body, or with None the current velocity."""

    def __init__(self, ops: Named, body: str | None, dof: int = 0) -> None:
        self.ops, self.body, self.dof = ops, body, dof
        self.binding: Any = ops.binding
        self.rates: Any = None  # the derivatives of the named operators, made with the first expression
        self.source = self._source()

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.ops, *self.step)

    def _source(self) -> Source:
        return Velocity() if self.body is None else Unit(self.binding.graph.index(self.body), self.dof)

    @property
    def axes(self) -> str:
        """The axes of its operators."""
        return self.binding.axes or "body"

    @property
    def parents(self) -> Sequence[int]:
        """The parents of the nodes, by number."""
        found: Sequence[int] = self.binding.graph.layout.parents
        return found

    @property
    def step(self) -> tuple[str | None, int]:
        """Body and dof, by which it is found again in other operators."""
        return self.body, self.dof

    @property
    def call(self) -> str:
        """Text between the parentheses of `diff`."""
        if self.body is None:
            return ""
        return repr(self.body) + (f", {self.dof}" if self.dof else "")

    @property
    def latex(self) -> str:
        """Subscript in LaTeX."""
        if self.body is None:
            return "v"
        name = r"\mathrm{" + latex_words(self.body) + "}"
        return name + (f",{self.dof}" if self.dof else "")

    @cached_property
    def nodes(self) -> frozenset[int]:
        """The nodes whose hinges move."""
        return self.source.nodes(self.binding)

    def leaf(self, kind: str, *nodes: str) -> BlockLeaf:
        """X, W, dH of this direction, W_nd of nodes."""
        found: BlockLeaf = questions.sensitivity(self.binding, kind, (self.step,), nodes)
        return found

    def rates_of(self, whole: Any) -> Any:
        """The derivatives of the named operators along it."""
        return questions.rates(self, whole)

    @cached_property
    def X(self) -> Operator:
        """Derivative of phi(p,k): phi(p,k) X."""
        return self.leaf("X")

    @cached_property
    def W(self) -> Operator:
        """Turning of the axes."""
        return self.leaf("W")

    @cached_property
    def dH(self) -> Operator | None:
        """Derivative of the hinge maps, None where they are constant."""
        found: Any = self.leaf("dH")  # it has terms
        return found if found.terms else None

    @cached_property
    def EX(self) -> Operator | None:
        """E_phi X, the derivative of E_phi in body axes (G1); None if only base bodies move: they have no edge."""
        parents = self.parents
        return self.ops.E_phi * self.X if any(parents[k] >= 0 for k in self.nodes) else None


def _again(kind: type[Direction], ops: Named, body: str | None, dof: int) -> Direction:
    """The direction that was copied, of the operators copied with it; always the same object."""
    if (body, dof) not in ops.directions:
        ops.directions[body, dof] = kind(ops, body, dof)
    found: Direction = ops.directions[body, dof]
    return found


def direction_of(ops: Named, body: Any = None, dof: Any = 0) -> Direction:
    """The direction of dof `dof` (its number or its name) of the hinge of a body; without a body, of the velocity.

    The name of the hinge, or of the dof itself, will do for the body, and so does its number, as in `phi[0, 2]`.
    """
    binding = ops.binding
    if isinstance(body, (int, np.integer)) and not isinstance(body, bool):
        body = ops.hinge.labels[ops.hinge.index(body)]
    found: Direction
    if not isinstance(binding, GraphBinding):
        found = binding.direction(ops, body, dof)
        return found
    binding.owner.check()
    if body is None:
        found = ops.direction(None, 0)
        return found
    graph = binding.graph
    found_body, number = find_step(graph, body)
    if number is not None and dof != 0:
        raise ModelError(f"{body!r} is a dof already; there is no dof {dof!r:.60} of it. Give the body and the dof.")
    k = graph.layout.index[found_body]
    found = ops.direction(found_body.name, dof_number(graph, k, dof) if number is None else number)
    return found


def dof_number(graph: Graph, k: int, dof: Any) -> int:
    """The number of a dof in the hinge of body k, from its number or its name."""
    layout = graph.layout
    body, names = layout.bodies[k], layout.dof_names[layout.v_slices[k]]
    nv = len(names)
    if nv == 0:
        raise ModelError(f"{body.name!r} has the hinge {body.hinge!r}, which has no dofs to differentiate along.")
    known = f"the hinge of {body.name!r} has {'one dof' if nv == 1 else f'{nv} dofs'}, " + " ".join(names)
    if isinstance(dof, str):
        if dof not in names:
            raise ModelError(f"there is no dof {dof!r}: {known}.")
        return names.index(dof)
    if isinstance(dof, (int, np.integer)) and not isinstance(dof, bool) and 0 <= dof < nv:
        return int(dof)
    raise ModelError(f"dof must be a number from 0 to {nv - 1} or a name, got {dof!r}: {known}.")
