"""Support of an expression: blocks that can be non-zero, from its structure alone, at every state and for every
parameter.

A block (i, j) of a product can be non-zero when some (i, k) and (k, j) can; one of an inverse when (i, j) can in some
power, since an inverse is a polynomial of its matrix. So a block that is false here is zero; one that is true may still
cancel.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce, singledispatch

import numpy as np
import numpy.typing as npt

from soacraft.algebra.expressions.nodes import Identity, Inverse, Power, Product, Scaled, Sum, Transpose
from soacraft.algebra.expressions.operator import Leaf, Operator
from soacraft.algebra.spaces.space import Space
from soacraft.errors import SpaceError

Flags = npt.NDArray[np.bool_]

#: Blocks on a side of what is looked at: flags of all pairs are kept.
MOST = 3000


def support(expr: Operator) -> Flags:
    """Flags (row blocks, column blocks), in the order of the labels; blocks without entries are false.

    >>> import soacraft as sc
    >>> support(sc.operators(sc.serial_chain(3), "phi")).astype(int).tolist()
    [[1, 1, 1], [0, 1, 1], [0, 0, 1]]
    """
    rows, cols = expr.spaces
    if max(len(rows), len(cols)) > MOST:
        raise SpaceError(
            f"{expr.text()} has {len(rows)} x {len(cols)} blocks; the structure of at most {MOST} x {MOST} is looked "
            "at. Take a sub-graph."
        )
    return reach(expr) & _sized(rows)[:, None] & _sized(cols)


def _sized(space: Space) -> Flags:
    return np.array([d > 0 for d in space.dims], dtype=np.bool_)


def joined(x: Flags, y: Flags) -> Flags:
    """Blocks that a product of two can reach."""
    return np.asarray(x.astype(np.float32) @ y.astype(np.float32) > 0.0)


def closure(x: Flags) -> Flags:
    """Blocks that the powers of x can reach, from the zeroth on."""
    found = x | np.eye(len(x), dtype=np.bool_)
    while True:
        further = joined(found, found)
        if (further == found).all():
            return found
        found = further


@singledispatch
def reach(expr: Operator) -> Flags:
    """Flags of one kind of expression; those of its parts come from `support`."""
    raise AssertionError(f"no rule says which blocks of {type(expr).__name__} can be non-zero")


@reach.register
def _(expr: Leaf) -> Flags:
    """Flags from the definition or the pattern; all True without either."""
    meaning, (rows, cols), found = expr.definition(), expr.spaces, expr.pattern()
    if meaning is not None:
        return support(meaning)
    flags = np.zeros((len(rows), len(cols)), dtype=np.bool_)
    if found is None:
        return ~flags
    if found <= frozenset("dut") and (found <= frozenset("d") or rows.tree is not None):
        for letter in found:
            flags |= _by_letter(letter, rows)
        return flags
    return placed(rows, cols, expr.blocks().entries)


def placed(rows: Space, cols: Space, entries: Iterable[tuple[int, int]]) -> Flags:
    """Flags at the places of some blocks."""
    found = np.zeros((len(rows), len(cols)), dtype=np.bool_)
    for i, j in entries:
        found[i, j] = True
    return found


def _by_letter(letter: str, space: Space) -> Flags:
    """Blocks on the diagonal (d), at (parent, child) (u) or at (child, parent) (t)."""
    if letter == "d":
        return np.eye(len(space), dtype=np.bool_)
    assert space.tree is not None
    edges = space.tree.adjacency() > 0
    return edges if letter == "u" else edges.T


@reach.register
def _(expr: Identity) -> Flags:
    return np.eye(len(expr.spaces[0]), dtype=np.bool_)


@reach.register
def _(expr: Scaled) -> Flags:
    found = support(expr.arg)
    return found if expr.factor else np.zeros_like(found)


@reach.register
def _(expr: Transpose) -> Flags:
    return support(expr.arg).T


@reach.register
def _(expr: Sum) -> Flags:
    return reduce(np.logical_or, map(support, expr.terms))


@reach.register
def _(expr: Product) -> Flags:
    return reduce(joined, map(support, expr.factors))


@reach.register
def _(expr: Power) -> Flags:
    """Flags of a power, by repeated squaring."""
    found, n = np.eye(len(expr.spaces[0]), dtype=np.bool_), expr.n
    square = support(expr.arg)
    while n:
        found = joined(found, square) if n % 2 else found
        n //= 2
        square = joined(square, square) if n else square
    return found


@reach.register
def _(expr: Inverse) -> Flags:
    return closure(support(expr.arg))
