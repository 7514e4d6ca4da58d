"""The structure of an operator as a small text picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.expressions.operator import Operator
from soacraft.algebra.spaces.block_colours import drawn_blocks, segment_borders
from soacraft.algebra.spaces.space import Space
from soacraft.algebra.values.evaluate import array
from soacraft.algebra.values.support import support
from soacraft.errors import SpaceError

SHADES = "·░▒▓█"
NOTHING = 1e-12  # of the largest entry: rounding


def structure(operator: Any, labels: bool = True, widest: int = 60, borders: bool = True) -> str:
    """Blocks as shades: `·` for blocks that are zero by structure, at every state; then by tens of the largest entry
    from `░` (a thousandth or less, or zero at this state alone) to `█`. Lines are drawn between the serial segments of
    the tree (004 Fig. 4-6), unless `borders=False`. Of an array, `·` is a zero.

    Entries of an operator are compared with those of the same units only, turns with turns and travels with travels.
    One character for each block of an operator, one for each entry of an array. A block's shade is that of its largest
    entry. Models with more than `widest` blocks are refused: name a sub-graph.

    >>> import numpy as np
    >>> print(structure(np.array([[1.0, 0.0], [0.05, 2.0]])))
    █·
    ▒█
    >>> import soacraft as sc
    >>> tree = sc.SKOModel([-1, 0, 0], [None, [[1]], [[1]]], [[[1]]] * 3, [[[1]]] * 3, names=["trunk", "left", "right"])
    >>> print(structure(sc.operators(tree, "phi")))
    trunk █│█│█
          ─┼─┼─
     left ·│█│·
          ─┼─┼─
    right ·│·│█
    """
    if not isinstance(operator, Operator):
        return "\n".join(map("".join, _of_array(operator, widest)))
    (rows, cols), cells = operator.spaces, _of_operator(operator, widest)
    up, across = drawn_blocks(rows), drawn_blocks(cols)
    over, beside = (segment_borders(rows, up), segment_borders(cols, across)) if borders else (set(), set())
    width = max((len(rows.labels[i]) for i in up), default=0)
    lines = []
    for n, (i, row) in enumerate(zip(up, cells, strict=True)):
        name = f"{rows.labels[i]:>{width}} " if labels else ""
        if n in over:
            lines.append(" " * len(name) + _joined(["─"] * len(row), beside, "┼"))
        lines.append(name + _joined(row, beside, "│"))
    return "\n".join(lines)


def _of_array(array: Any, widest: int) -> list[list[str]]:
    sizes = np.abs(np.asarray(array, dtype=np.float64))
    if sizes.ndim != 2 or max(sizes.shape) > widest:
        raise SpaceError(f"a picture needs a matrix of at most {widest} x {widest}, got shape {sizes.shape}.")
    largest = float(np.max(sizes, initial=0.0))
    return [[_shade(x, largest) for x in row] for row in sizes]


def _of_operator(expr: Operator, widest: int) -> list[list[str]]:
    """Shades of the blocks: one that can be non-zero has the shade of its size, the lightest one at least."""
    rows, cols = drawn_spaces(expr, widest)
    can, sizes = support(expr), relative_sizes(expr)

    def shade(i: int, j: int) -> str:
        largest = float(np.max(sizes[..., rows.block(i), cols.block(j)]))
        return max(SHADES[1], _shade(largest, 1.0), key=SHADES.index) if can[i, j] else SHADES[0]

    return [[shade(i, j) for j in drawn_blocks(cols)] for i in drawn_blocks(rows)]


def drawn_spaces(expr: Operator, widest: int) -> tuple[Space, Space]:
    """The spaces of an operator, of at most so many blocks."""
    rows, cols = expr.spaces
    if max(len(rows), len(cols)) > widest:
        raise SpaceError(
            f"{expr.text()} has {len(rows)} x {len(cols)} blocks, a picture at most {widest} x {widest}; "
            "look at a sub-graph."
        )
    return rows, cols


def relative_sizes(expr: Operator) -> npt.NDArray[np.float64]:
    """The entries relative to the largest of the same units."""
    rows, cols = expr.spaces
    dense: npt.NDArray[np.float64] = np.abs(array(expr))
    for a in np.unique(rows.letters):
        for b in np.unique(cols.letters):
            where = np.ix_(rows.letters == a, cols.letters == b)
            largest = float(np.max(dense[..., *where], initial=0.0))
            dense[..., *where] /= largest or 1.0
    return dense


def _joined(cells: Sequence[str], before: set[int], line: str) -> str:
    return "".join((line if n in before else "") + cell for n, cell in enumerate(cells))


def _shade(x: float, largest: float) -> str:
    if x <= NOTHING * largest or largest == 0.0:
        return SHADES[0]
    return SHADES[max(1, min(4, 4 + int(np.floor(np.log10(x / largest) + 0.5))))]
