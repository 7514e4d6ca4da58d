"""Operators made of the user's own numbers. They belong to one model, or sub-graph, and are constant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.descriptions.printing import before_dot
from soacraft.algebra.expressions.nodes import Identity
from soacraft.algebra.expressions.operator import Binding, Leaf, Operator, Pattern
from soacraft.algebra.spaces.blocks import Blocks
from soacraft.algebra.spaces.definite import definiteness, is_exactly_symmetric
from soacraft.algebra.spaces.space import Space
from soacraft.algebra.values.evaluate import array, dense_inverse
from soacraft.errors import SpaceError
from soacraft.ops.binding import Bound
from soacraft.ops.leaves import BlockLeaf, BoundLeaf, DerivedLeaf
from soacraft.ops.named import named_of
from soacraft.ops.names import FOR_DERIVATIVES, latex_of

Array = npt.NDArray[np.float64]
Index = tuple[int, int]


class GivenLeaf(BoundLeaf):
    """A constant operator: the same numbers at every state of its model."""

    source = "given numbers"
    rows: Space
    cols: Space

    def __init__(self, binding: Bound, name: str, rows: Space, cols: Space) -> None:
        self.binding, self.name, self.latex_name = binding, name, latex_of(name)
        self.rows, self.cols = rows, cols

    def digest(self) -> bytes:
        """Equal for equal numbers."""
        raise AssertionError("each kind has its numbers")

    def key(self) -> tuple[Any, ...]:
        return ("given", self.name, self.digest(), self.binding.identity())

    def __call__(self, *args: Any) -> Operator:
        """`W(body, dof)` is the operator of derivatives also where a constant operator is called W, so that text
        such as W('link3')*phi*W reads back."""
        if self.name not in FOR_DERIVATIVES:
            raise SpaceError(f"{self.name} is an operator, not a function; blocks are {self.name}[row, column].")
        found: Operator = getattr(named_of(self.binding), self.name)(*args)
        return found

    def moved(self, binding: Bound) -> Leaf:
        """Leaf with these numbers on another binding, whose spaces are known to fit."""
        raise AssertionError("each kind has its numbers")

    def bound_to(self, binding: Binding) -> Leaf:
        bound: Any = binding
        for space in (self.rows, self.cols):
            fits = space in (bound.hinge, bound.body) or (space.owner, space.axes) == (bound.owner, bound.axes)
            if not fits:
                axes = "" if bound.axes is None else f" in {bound.axes} axes"
                raise SpaceError(
                    f"{self.name} has numbers for {self.binding.owner}: it has no meaning on {bound.owner}{axes}."
                    + space.mismatch(bound.hinge if space.kind == "hinge" else bound.body)
                )
        return self.moved(bound)


class GivenBlocks(BlockLeaf, GivenLeaf):
    """A constant operator given by its non-zero blocks, by (row number, column number)."""

    def __init__(self, binding: Bound, name: str, rows: Space, cols: Space, given: Mapping[Index, Array]) -> None:
        GivenLeaf.__init__(self, binding, name, rows, cols)
        self.given = dict(sorted(given.items()))
        self.claims = _claims(rows, cols, self.given)
        self._kept: dict[str, Any] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return GivenBlocks, (self.binding, self.name, self.rows, self.cols, self.given)

    def _once(self, kind: str, work: Callable[[], Any]) -> Any:
        self.binding.sko()  # refuses after a structural change
        if kind not in self._kept:
            self._kept[kind] = work()
        return self._kept[kind]

    def entries(self) -> Mapping[Index, Array]:
        return self.given

    def pattern(self) -> Pattern:
        return self._pattern

    @cached_property
    def _pattern(self) -> Pattern:
        """Pattern of the blocks; diagonal also for zero, so that expressions made of it keep their kind."""
        tree = self.cols.tree if self.rows.tree is self.cols.tree else None

        def kind(i: int, j: int) -> str:
            if i == j and len(self.rows) == len(self.cols):
                return "d"
            if tree is None:
                return "s"
            return "u" if tree.parents[j] == i else "t" if tree.parents[i] == j else "s"

        return frozenset(kind(i, j) for i, j in self.given) or frozenset("d")

    @cached_property
    def _digest(self) -> bytes:
        found = blake2b(repr([(at, x.shape) for at, x in self.given.items()]).encode())
        for x in self.given.values():
            found.update(np.ascontiguousarray(x + 0.0).tobytes())
        return found.digest()

    def digest(self) -> bytes:
        return self._digest

    def moved(self, binding: Bound) -> Leaf:
        return GivenBlocks(binding, self.name, self.rows, self.cols, self.given)


def _claims(rows: Space, cols: Space, given: Mapping[Index, Array]) -> frozenset[str]:
    """Tags that hold for the numbers; a block that is left out is zero."""
    if rows != cols or any(i != j for i, j in given):
        return frozenset()
    found = {"block_diagonal"}
    if all(map(is_exactly_symmetric, given.values())):
        found.add("symmetric")
        kinds = {definiteness(x) for x in given.values() if x.size}
        full = all((k, k) in given for k, d in enumerate(rows.dims) if d)
        if "" not in kinds:
            found.add("positive_definite" if full and "positive_semidefinite" not in kinds else "positive_semidefinite")
    return frozenset(found)


class GivenMatrix(GivenLeaf):
    """A constant operator given by a dense matrix."""

    dense = True

    def __init__(self, binding: Bound, name: str, rows: Space, cols: Space, matrix: Array) -> None:
        super().__init__(binding, name, rows, cols)
        self.matrix = matrix
        self.matrix.flags.writeable = False
        self.claims = frozenset({"symmetric"} if rows == cols and is_exactly_symmetric(matrix) else ())

    def __reduce__(self) -> tuple[Any, ...]:
        return GivenMatrix, (self.binding, self.name, self.rows, self.cols, self.matrix)

    def pattern(self) -> None:
        return None

    def blocks(self) -> Blocks:
        raise AssertionError("the blocks of a dense matrix are everywhere")

    def magnitude(self) -> Blocks:
        return largest_of_units(self.rows, self.cols, self.matrix)

    def sweep(self, transposed: bool) -> str:
        return "dense"

    def apply(self, x: Array) -> Array:
        self.binding.sko()  # refuses after a structural change
        return np.asarray(self.matrix @ x)

    def apply_T(self, x: Array) -> Array:
        self.binding.sko()
        return np.asarray(self.matrix.mT @ x)

    @cached_property
    def _digest(self) -> bytes:
        return blake2b(np.ascontiguousarray(self.matrix + 0.0).tobytes()).digest()

    def digest(self) -> bytes:
        return self._digest

    def moved(self, binding: Bound) -> Leaf:
        return GivenMatrix(binding, self.name, self.rows, self.cols, self.matrix)


class GivenInverse(DerivedLeaf):
    """The inverse of a dense matrix of numbers, computed once."""

    dense = True

    def __init__(self, arg: Operator) -> None:
        super().__init__(arg)
        self.arg = arg
        self.rows = self.cols = arg.rows
        self.name, self.latex_name = f"{before_dot(arg)}.inv", f"{{{arg.latex()}}}^{{-1}}"
        self.source = "dense inverse of given numbers"
        self.claims = frozenset({"symmetric"} & arg.tags)

    def pattern(self) -> None:
        return None

    def blocks(self) -> Blocks:
        raise AssertionError("the blocks of a dense matrix are everywhere")

    def magnitude(self) -> Blocks:
        return largest_of_units(*self.spaces, self._inverse())

    def sweep(self, transposed: bool) -> str:
        return "dense"

    def _inverse(self) -> Array:
        return self.cached("inverse", lambda: dense_inverse(self.arg, array(self.arg)))

    def apply(self, x: Array) -> Array:
        return np.asarray(self._inverse() @ x)

    def apply_T(self, x: Array) -> Array:
        return np.asarray(self._inverse().mT @ x)


def largest_of_units(rows: Space, cols: Space, matrix: Array) -> Blocks:
    """The magnitude of a plain matrix: nobody knows what its numbers were computed from, so that rounding in each is
    measured by the largest of the same units.
    """
    pieces = np.zeros((len(rows.pieces), len(cols.pieces)))
    for a in set(rows.letters.tolist()):
        for b in set(cols.letters.tolist()):
            here, there = rows.letters == a, cols.letters == b
            at = np.ix_(here[rows.pieces], there[cols.pieces])
            pieces[at] = np.abs(matrix[..., here, :][..., there]).max(initial=0.0)
    up, across = rows.in_pieces, cols.in_pieces
    blocks = {(i, j): pieces[up.block(i), across.block(j)] for i in range(len(rows)) for j in range(len(cols))}
    return Blocks(up, across, blocks)


class ClosureInverse(GivenInverse):
    """The inverse of an operator between rows of closures, which are few: dense."""

    def __init__(self, arg: Operator) -> None:
        super().__init__(arg)
        self.source = "dense inverse between the rows of closures"

    @property
    def order(self) -> str:
        """Cost of the inverse, which is formed again at every state."""
        return "O(N^3)"


def inverse_of_closures(x: Operator) -> tuple[Operator, str] | None:
    """The inverse of S = Q B* Omega B Q*, or of another operator between the rows of closures."""
    if x.rows is None or x.rows.kind != "closure" or isinstance(x, Identity):
        return None
    found = ClosureInverse(x)
    return found, found.source


def inverse_of_given(x: Operator) -> tuple[Operator, str] | None:
    """The inverse of a dense matrix of the user's own."""
    return (GivenInverse(x), "dense inverse of given numbers") if isinstance(x, GivenMatrix) else None
