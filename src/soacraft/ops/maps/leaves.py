"""The operators of a map between two SKO models, and what their numbers come from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.expressions.operator import Binding, Leaf, Operator, Pattern
from soacraft.algebra.spaces.blocks import Blocks
from soacraft.algebra.spaces.space import Space
from soacraft.algebra.spaces.vectors import StackedVector
from soacraft.errors import SpaceError
from soacraft.ops.binding import Bound
from soacraft.ops.leaves import BlockLeaf

Array = npt.NDArray[np.float64]
BlocksBy = Mapping[tuple[int, int], Array]

#: The four operators of a map: the two that carry motions, and the left inverses of those that are not square.
PARTS = {"hinge": "Xt", "body": "Xb", "left_hinge": "St", "left_body": "Sb"}


class ModelMap(ABC):
    """Map of the motions of model a to motions of model b, of one system in one pose:

        v_b = Xt v_a,    V_b = Xb V_a,    vdot_b = Xt vdot_a + x0
        T_a = Xt* T_b,   f_a = Xb* f_b                                  (the same power)
    """

    source = "004 section 2.3"
    #: whether Xt* Xt = I, Xb* Xb = I: then the left inverse is the transpose
    hinge_isometry = False
    body_isometry = False

    def __init__(self, a: Bound, b: Bound) -> None:
        self.a, self.b = a, b

    @abstractmethod
    def check(self) -> None:
        """Raise `StateError` where the two are not in the same pose."""

    @abstractmethod
    def hinge(self) -> BlocksBy:
        """Blocks of Xt by (row, column)."""

    @abstractmethod
    def body(self) -> BlocksBy:
        """Blocks of Xb."""

    def left_hinge(self) -> BlocksBy:
        """Blocks of St with St Xt = I."""
        raise AssertionError("kinds with a left inverse of their own provide it")

    def left_body(self) -> BlocksBy:
        """Blocks of Sb with Sb Xb = I."""
        raise AssertionError("kinds with a left inverse of their own provide it")

    def x0(self) -> Array:
        """vdot_b where vdot_a is zero."""
        return np.zeros(self.b.hinge.size)

    def arm(self) -> float:
        """The length in metres that rounding in its numbers is measured by; zero where they are exact."""
        return 0.0

    @abstractmethod
    def keeps_inertia(self) -> bool:
        """True if M_a = Xb* M_b Xb."""

    @abstractmethod
    def moved(self, a: Bound, b: Bound) -> ModelMap:
        """Map between other bindings of the same models."""


class MapBinding:
    """Both bindings of a map: what its leaves are bound to. No program and no kernel knows two models."""

    def __init__(self, numbers: ModelMap) -> None:
        self.numbers = numbers

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading axes of the states of both."""
        return np.broadcast_shapes(self.numbers.a.batch, self.numbers.b.batch)

    def token(self) -> object:
        """Token of the first binding; leaves compare both (`MapLeaf.changes`)."""
        return self.numbers.a.token()

    def identity(self) -> Hashable:
        """Equal for maps between the same bindings."""
        return ("between", self.numbers.a.identity(), self.numbers.b.identity())

    def at(self, **state: Any) -> MapBinding:
        """Map between both models at a snapshot."""
        return MapBinding(self.numbers.moved(self.numbers.a.at(**state), self.numbers.b.at(**state)))

    def product_call(
        self, expr: Operator, fallback: Callable[[Any], StackedVector]
    ) -> Callable[[Any], StackedVector] | None:
        """None."""
        return None

    def columns(self, expr: Operator, x: Array) -> None:
        """None: the recursions of each model compute it."""

    def block(self, expr: Operator, i: int, j: int) -> None:
        """None."""

    def blocks(self, expr: Operator) -> None:
        """None."""


class MapLeaf(BlockLeaf):
    """One of the operators of a map, by its blocks."""

    binding: MapBinding  # type: ignore[assignment]

    def __init__(self, numbers: ModelMap, part: str) -> None:
        self.binding, self.numbers, self.part = MapBinding(numbers), numbers, part
        self.name, self.source = PARTS[part], numbers.source
        self.latex_name = {"Xt": r"\mathcal{X}", "Xb": r"\mathcal{X}_b", "St": r"\mathcal{S}", "Sb": r"\mathcal{S}_b"}[
            self.name
        ]
        spaces = [getattr(binding, part.removeprefix("left_")) for binding in (numbers.b, numbers.a)]
        self.rows, self.cols = reversed(spaces) if part.startswith("left") else spaces

    rows: Space
    cols: Space

    def entries(self) -> BlocksBy:
        self.numbers.check()
        found: BlocksBy = getattr(self.numbers, self.part)()
        return found

    def magnitude(self) -> Blocks:
        """Sizes of solved numbers: the largest of a block, in turns and in travels of the arm."""
        arm, own = self.numbers.arm(), self.blocks()
        if not arm:
            return own.magnitude
        up, across = (space.in_pieces for space in self.spaces)
        size_of = [[arm if x == "m" else 1.0 for x in space.letters[space.pieces]] for space in self.spaces]
        rows, cols = (np.array(sizes) for sizes in size_of)
        found = {}
        for (i, j), x in own.magnitude.entries.items():
            r, c = rows[up.block(i)], cols[across.block(j)]
            found[i, j] = r[:, None] / c * np.max(x / r[:, None] * c, initial=0.0)
        return Blocks(up, across, found)

    def _once(self, kind: str, work: Callable[[], Any]) -> Any:
        return self.cached(kind, work)

    def pattern(self) -> Pattern:
        return frozenset("s")

    def changes(self) -> dict[Hashable, Callable[[], object]]:
        a, b = self.numbers.a, self.numbers.b
        return {id(a): a.token, id(b): b.token}

    def key(self) -> tuple[Any, ...]:
        return ("map", self.part, self.binding.identity())

    def bound_to(self, binding: Binding) -> Leaf:
        if not isinstance(binding, MapBinding):
            raise SpaceError(
                f"{self.name} maps between {self.numbers.a.owner} and {self.numbers.b.owner}: it has no meaning on "
                "another model. Make it again there with sc.ops.between(a, b)."
            )
        return MapLeaf(binding.numbers, self.part)


def is_mixed(*exprs: Operator) -> bool:
    """True if an expression contains a map between models."""
    return any(isinstance(leaf, MapLeaf) for expr in exprs for leaf in expr.leaves())
