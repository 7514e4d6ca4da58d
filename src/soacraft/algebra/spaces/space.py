"""Spaces: the blocks of a stacked vector, one per label, and the model it belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.spaces.tree import Tree
from soacraft.arguments import whole_number
from soacraft.errors import SpaceError, StateError, near
from soacraft.order import Order, in_order, known_order, order_of

Array = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int64]


def offsets_of(sizes: Iterable[int]) -> npt.NDArray[np.int64]:
    """Offsets at which slices of these sizes begin, and the end of the last.

    >>> offsets_of([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    return np.cumsum([0, *sizes], dtype=np.int64)


class Space:
    """A stacked vector space: a kind (hinge, body, node), a size for each label, an owner and its axes.

    Two spaces are the same when all of these agree; only then may operators and vectors meet. `units` has a word for
    each block with a letter for each of its entries: neighbours of one letter share a unit and are a *piece*. Sizes are
    compared within a piece only, so that no choice of units changes the test for zero. Without `units` each block is
    one piece.

    `numbering` are the blocks in the order that the user counts them, from 1: numbers, arrays and pictures that users
    meet are in it. What is computed inside stays in the order of the labels.

    >>> body = Space("body", ["base", "tip"], [6, 6], owner="arm", units=["rrrmmm", "rrrmmm"])
    >>> body, body.index("tip"), body.block(1), body.pieces
    (body[12], 1, slice(6, 12, None), array([0, 3, 6, 9]))
    """

    def __init__(
        self,
        kind: str,
        labels: Sequence[str],
        dims: Sequence[int],
        owner: Any,
        axes: str | None = None,
        tree: Tree | None = None,
        units: Sequence[str] | None = None,
        numbering: Sequence[int] | None = None,
    ) -> None:
        self.numbering = None if numbering is None else tuple(numbering)
        self.kind, self.owner, self.axes, self.tree = kind, owner, axes, tree
        self.labels, self.dims = tuple(labels), tuple(
            d if type(d) is int else whole_number(d, f"a size of the space {kind!r}", 0, error=SpaceError) for d in dims
        )
        self.units = tuple("x" * d for d in self.dims) if units is None else tuple(units)
        self.offsets = offsets_of(self.dims)
        self.size = int(self.offsets[-1])
        self._numbers = {label: i for i, label in enumerate(self.labels)}

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return f"{self.kind}[{self.size}]"

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Space)
            and (self.kind, self.axes, self.dims) == (other.kind, other.axes, other.dims)
            and self.numbering == other.numbering
            and bool(self.owner == other.owner)
            and self.labels == other.labels
        )

    def __hash__(self) -> int:
        return hash((self.kind, self.axes, self.size, self.labels))

    def block(self, i: int) -> slice:
        """Slice of block i in a stacked vector."""
        return slice(int(self.offsets[i]), int(self.offsets[i + 1]))

    def index(self, label: Any) -> int:
        """The number of a label. The object itself (a body, a node), the name of a body's hinge and the number of the
        block work too.
        """
        if isinstance(label, (int, np.integer)) and not isinstance(label, bool):
            if self.numbering is not None:
                if not 1 <= label <= len(self):
                    raise SpaceError(f"{self} has blocks 1 to {len(self)} in this numbering, not {label}.")
                return self.numbering[int(label) - 1]
            if not -len(self) <= label < len(self):
                raise SpaceError(f"{self} has {len(self)} blocks, there is no number {label}.")
            return int(label) % len(self)
        if isinstance(label, str) and label in self._numbers:
            return self._numbers[label]
        find = getattr(self.owner, "block_name", None)  # a model knows its bodies, and what else they are called
        name = find(self.kind, label) if find is not None else getattr(label, "name", label)
        if isinstance(name, str) and name in self._numbers:
            return self._numbers[name]
        hint = near(name if isinstance(name, str) else "", self.labels, "its labels are")
        raise SpaceError(f"{self} has no block {name!r:.60}{hint}")

    @property
    def order(self) -> Sequence[int]:
        """The blocks in the order that users meet them."""
        return range(len(self)) if self.numbering is None else self.numbering

    @cached_property
    def shown(self) -> Numbers:
        """Positions of the entries in the order in which users see them."""
        every = [np.arange(self.offsets[k], self.offsets[k + 1]) for k in self.order]
        return np.concatenate([np.zeros(0, dtype=np.int64), *every])

    def outward(self, x: Array, axis: int = -1) -> Array:
        """Numbers in the order that users meet them."""
        return x if self.numbering is None else np.take(x, self.shown, axis)

    def inward(self, x: Array, axis: int = -1) -> Array:
        """Numbers that users gave in their order, in that of the labels."""
        return x if self.numbering is None else np.take(x, np.argsort(self.shown), axis)

    def shown_in_order(self, x: Any, what: str) -> Any:
        """Numbers as users meet them: those that know their order (a state array of the model) are put in the numbering
        of this space, or refused; others are as they are.
        """
        if known_order(x) is None:
            return x
        data = np.asarray(in_order(x, self.entries, f"{what}, a vector of {self},", SpaceError))
        return self.outward(data) if np.shape(data)[-1:] == (self.size,) else data

    @cached_property
    def entries(self) -> Order:
        """The order of the entries inside, that of the labels whatever the numbering."""
        return order_of(self.labels, self.dims)

    @cached_property
    def letters(self) -> npt.NDArray[np.str_]:
        """The unit of each entry, one letter."""
        return np.array(list("".join(self.units)), dtype="<U1")

    @cached_property
    def pieces(self) -> Numbers:
        """Positions at which pieces start; a piece is a run of neighbours in one block that share a unit."""
        first = np.ones(self.size, dtype=np.bool_)
        first[1:] = self.letters[1:] != self.letters[:-1]
        first[[start for start, d in zip(self.offsets[:-1].tolist(), self.dims, strict=True) if d]] = True
        return np.flatnonzero(first).astype(np.int64)

    @cached_property
    def piece_of(self) -> Numbers:
        """The number of the piece of each entry."""
        return np.searchsorted(self.pieces, np.arange(self.size), side="right") - 1

    @cached_property
    def in_pieces(self) -> Space:
        """The space with one entry for each piece."""
        counts = np.diff(np.searchsorted(self.pieces, self.offsets))
        sizes, numbering = counts.tolist(), self.numbering
        return Space(self.kind, self.labels, sizes, self.owner, self.axes, self.tree, numbering=numbering)

    def sizes(self, x: Array) -> Array:
        """The largest entry of each piece of stacked columns, (..., pieces, m) of (..., N, m)."""
        if not self.size:
            return np.zeros((*x.shape[:-2], 0, x.shape[-1]))
        return np.asarray(np.maximum.reduceat(np.abs(x), self.pieces, axis=-2))

    def split(self, x: Array) -> list[Array]:
        """The blocks of stacked columns (..., N, m), as views."""
        cuts = self.offsets.tolist()
        return [x[..., cuts[i] : cuts[i + 1], :] for i in range(len(self))]

    def describe_against(self, other: Space) -> str:
        """This space in words, with owner and axes where the other one differs in them."""
        words = str(self)
        if self.owner != other.owner:
            words += f" of {self.owner}"
        if self.axes != other.axes and None not in (self.axes, other.axes):
            words += f" in {self.axes} axes"
        if self.numbering != other.numbering:
            words += " numbered base first" if self.numbering is None else " in a numbering of its own"
        return words

    def mismatch(self, other: Space) -> str:
        """Reason why this space and another do not match, and the cure, for the end of a message."""
        for space in (self, other):
            check = getattr(space.owner, "check", None)
            if check is not None:
                check()
        if self.kind == other.kind and self.owner != other.owner:
            return (
                " Operators of different models or sub-graphs cannot be mixed; bind both to the same one, or put a map "
                "between them: sc.ops.between(a, b)."
            )
        if self.kind == other.kind and self.axes != other.axes:
            return " Bind both with the same axes=..., or put a map between them: sc.ops.between(a, b)."
        if self.kind == other.kind and self.numbering != other.numbering:
            return " Bind both with the same numbering=..."
        return ""


def real(c: Any, refusal: str) -> int | float:
    """A finite real number, or a `SpaceError` that starts with `refusal`."""
    if isinstance(c, np.ndarray) and c.ndim == 0:
        c = c[()]
    if not isinstance(c, (int, float, np.integer, np.floating)) or isinstance(c, bool):
        raise SpaceError(f"{refusal} {c!r}; a real number is wanted.")
    exact = isinstance(c, int) and abs(c) <= 2**53
    try:
        number = int(c) if exact or isinstance(c, np.integer) else float(c)
    except OverflowError:
        number = np.inf
    if not np.isfinite(number):
        raise SpaceError(f"{refusal} {float(number)}; a finite number is wanted.")
    return number


def numbers(x: Any, space: Space, what: str) -> Array:
    """An array of real numbers, meant for a space; booleans, complex numbers, text and ragged rows are refused."""
    try:
        data = np.asarray(x)
        if data.dtype.kind not in "iuf":
            raise TypeError(f"dtype {data.dtype}")
        return np.asarray(data, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise SpaceError(f"{what} cannot be read as a vector of {space}: {error}.") from None


def finite_numbers(x: Any, space: Space, what: str) -> Array:
    """Array of a user as numbers of a space; refused unless finite."""
    data = numbers(x, space, what)
    good = np.isfinite(data)
    if not good.all():
        where = tuple(int(i) for i in np.argwhere(~good)[0])
        entry = where[0] if len(where) == 1 else where
        raise StateError(f"{what}, for a vector of {space}, must be finite: entry {entry} is {data[where]}.")
    return data


def columns(x: Any, space: Space, batch: tuple[int, ...], what: str) -> tuple[Array, bool]:
    """A vector (N,) or a block of vectors (N, m) as columns (..., N, m), and whether it was a vector.

    With a batch of states of shape B, B + (N,) is one vector and B + (N, m) one block for each state.
    """
    data = finite_numbers(x, space, what)
    size, shape = space.size, data.shape
    if shape[-1:] == (size,) and (data.ndim == 1 or shape[:-1] == batch):
        return data[..., None], True
    if data.ndim >= 2 and shape[-2] == size and fits(shape[:-2], batch):
        return data, False
    if shape[-1:] == (size,) and batch and fits(shape[:-1], batch):
        return data[..., None], True
    each = f", or {(*batch, size)} for one in each state" if batch else ""
    cure = " Vectors in rows become columns by x.T." if data.ndim == 2 and shape[-1] == size else ""
    raise SpaceError(
        f"{what} has shape {shape}, but a vector of {space} is wanted: shape ({size},), "
        f"or ({size}, m) for m of them{each}.{cure}"
    )


def fits(lead: tuple[int, ...], batch: tuple[int, ...]) -> bool:
    """True if leading axes broadcast to those of a batch."""
    try:
        return np.broadcast_shapes(lead, batch) == batch
    except ValueError:
        return False
