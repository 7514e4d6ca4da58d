"""`spy`: the blocks of an operator as a picture, with the names of its bodies, branches coloured (004 Fig. 4-6)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from soacraft.algebra.expressions.operator import Operator
from soacraft.algebra.spaces.block_colours import PALE, block_colour, drawn_blocks, segment_borders
from soacraft.algebra.spaces.space import Space
from soacraft.algebra.values.support import support
from soacraft.errors import SpaceError
from soacraft.model.modal.data import mode_count
from soacraft.ops.binding import Owner
from soacraft.view.drawing.marks import INK, QUIET, Box, Line, Mark, Words, shortened, width_of
from soacraft.view.drawing.picture import Picture
from soacraft.view.palette import mixed
from soacraft.view.structure import drawn_spaces, relative_sizes

#: Blocks on a side at most: beyond, neither eyes nor browsers follow.
MOST = 400
#: Number of powers of ten below the largest entry at which a block has no ink left.
_DECADES = 4.0
_SIDE, _TEXT = 460.0, 9.0


def spy(expr: Operator, magnitude: bool = False) -> Picture:
    """The blocks that can be non-zero, at any state: those of one serial segment in its colour, those between two
    segments in a mixture of both (004 Fig. 4-6), with lines between segments. What is zero by structure is pale.

    With `magnitude=True` a block is the lighter the smaller its largest entry is, relative to the largest of the same
    units at the present state, by powers of ten down to a ten-thousandth. O(blocks), and the dense matrix for
    magnitudes. At most 400 blocks on a side.

    >>> import soacraft as sc
    >>> mb = sc.load("biped")
    >>> H, phi, M = sc.operators(mb, "H phi M")
    >>> sc.view.spy(H * phi * M * phi.T * H.T).title
    'H*phi*M*phi.T*H.T : hinge[25] <- hinge[25]'
    """
    if not isinstance(expr, Operator):
        raise SpaceError(f"spy takes an operator, such as phi or H*phi, got {type(expr).__name__}.")
    rows, cols = drawn_spaces(expr, MOST)
    up, across = drawn_blocks(rows), drawn_blocks(cols)
    cell = max(3.0, min(26.0, _SIDE / max(len(up), len(across), 1)))
    names_up, names_across = _names(rows, up, cell), _names(cols, across, cell)
    left = 12.0 + max((width_of(x, _TEXT) for x in names_up), default=0.0)
    top = 34.0 + max((width_of(x, _TEXT) for x in names_across), default=0.0)
    title = f"{expr.text()} : {rows} <- {cols}"
    marks: list[Mark] = [Words(8.0, 14.0, shortened(title, 90), 11.0)]
    marks += _labels(names_up, names_across, cell, left, top)
    marks += _cells(expr, up, across, cell, left, top, magnitude)
    marks += _borders(rows, cols, up, across, cell, left, top)
    width = max(left + cell * len(across) + 12.0, width_of(shortened(title, 90), 11.0) + 16.0)
    return Picture(marks, width, top + cell * len(up) + 12.0, title)


def _names(space: Space, drawn: Sequence[int], cell: float) -> list[str]:
    """Names of blocks, those of flexible bodies with their modes; none where they would lie over each other."""
    if cell < _TEXT:
        return [""] * len(drawn)
    named = _labelled(space, 20)
    return [named[k] for k in drawn]


def _labelled(space: Space, most: int = 1000) -> list[str]:
    modes = modes_in(space)
    return [shortened(x, most) + (f" + {modes[k]}" if k in modes else "") for k, x in enumerate(space.labels)]


def modes_in(space: Space) -> dict[int, str]:
    """The blocks of a space that have modes of a flexible body after what a rigid one has: how many.

    >>> import soacraft as sc
    >>> modes_in(sc.operators(sc.load("arm7"), "phi").rows)
    {}
    """
    if not isinstance(space.owner, Owner) or space.kind not in ("body", "hinge"):
        return {}
    flexible = {x.name: mode_count(x.modal.n) for x in space.owner.bodies if x.modal is not None}
    return {k: flexible[name] for k, name in enumerate(space.labels) if name in flexible}


def _labels(up: Sequence[str], across: Sequence[str], cell: float, left: float, top: float) -> list[Mark]:
    at = [(n + 0.5) * cell for n in range(max(len(up), len(across)))]
    marks: list[Mark] = [Words(left - 5.0, top + y, text, _TEXT, anchor="end") for y, text in zip(at, up, strict=False)]
    marks += [Words(left + x, top - 5.0, text, _TEXT, turn=90.0) for x, text in zip(at, across, strict=False)]
    return [x for x in marks if isinstance(x, Words) and x.text]


@dataclass(frozen=True)
class Cell:
    """A block that can be non-zero: in which row and column of the picture, its colour and its name."""

    row: int
    column: int
    colour: str
    name: str


def cells(expr: Operator, magnitude: bool = False) -> list[Cell]:
    """The blocks of `spy`. O(blocks).

    >>> import soacraft as sc
    >>> [(x.row, x.column, x.name) for x in cells(sc.operators(sc.load("double_pendulum"), "E_phi"))]
    [(0, 1, '[upper, lower]')]
    """
    rows, cols = drawn_spaces(expr, MOST)
    can, sizes = support(expr), relative_sizes(expr) if magnitude else None
    up, across = _labelled(rows), _labelled(cols)
    listed = []
    for n, i in enumerate(drawn_blocks(rows)):
        for m, j in enumerate(drawn_blocks(cols)):
            if not can[i, j]:
                continue
            colour, size = block_colour(rows, cols, i, j), ""
            if sizes is not None:
                largest = float(np.max(sizes[..., rows.block(i), cols.block(j)], initial=0.0))
                colour, size = mixed(colour, PALE, _faint(largest)), f": {largest:.2g} of the largest"
            listed.append(Cell(n, m, colour, f"[{up[i]}, {across[j]}]{size}"))
    return listed


def _cells(
    expr: Operator, up: Sequence[int], across: Sequence[int], cell: float, left: float, top: float, magnitude: bool
) -> list[Mark]:
    inked = 0.92 * cell
    area = Box(left, top, cell * len(across), cell * len(up), PALE)
    drawn = [
        Box(left + x.column * cell, top + x.row * cell, inked, inked, x.colour, title=x.name)
        for x in cells(expr, magnitude)
    ]
    return [area, *drawn]


def _faint(size: float) -> float:
    """Part of a block's ink that is taken away, 0 to 0.9."""
    return 0.9 if size <= 0.0 else min(0.9, max(0.0, -0.9 * math.log10(size) / _DECADES))


def _borders(
    rows: Space, cols: Space, up: Sequence[int], across: Sequence[int], cell: float, left: float, top: float
) -> list[Mark]:
    width, height = cell * len(across), cell * len(up)
    gap = 0.04 * cell
    marks: list[Mark] = []
    for n in sorted(segment_borders(rows, up)):
        y = top + n * cell - gap
        marks.append(Line(((left, y), (left + width, y)), QUIET, 0.8))
    for m in sorted(segment_borders(cols, across)):
        x = left + m * cell - gap
        marks.append(Line(((x, top), (x, top + height)), QUIET, 0.8))
    frame = ((left, top), (left + width, top), (left + width, top + height), (left, top + height), (left, top))
    return [*marks, Line(frame, INK, 0.8)]
