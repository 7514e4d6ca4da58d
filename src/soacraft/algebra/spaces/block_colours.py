"""Drawing of an operator's blocks: which ones, their colours, and the lines between them (004 Fig. 4-6)."""

from __future__ import annotations

from collections.abc import Sequence

from soacraft.algebra.spaces.space import Space
from soacraft.cards.colours import GREY, mixed, segment_colour

#: Colour that is mixed into one between two others, to make it lighter.
PALE = "#f3f5f7"


def drawn_blocks(space: Space) -> list[int]:
    """The blocks that have entries, in the order that users meet them."""
    return [k for k in space.order if space.dims[k]]


def segment_borders(space: Space, drawn: Sequence[int]) -> set[int]:
    """Positions among the drawn blocks before which another serial segment begins."""
    tree = space.tree
    if tree is None:
        return set()
    segment = [tree.branch_of(k).index for k in drawn]
    return {n for n in range(1, len(drawn)) if segment[n] != segment[n - 1]}


def block_colour(rows: Space, cols: Space, i: int, j: int) -> str:
    """Colour of a block: of the segment that both nodes are on, or a light mixture of those of two; grey for a space
    without a tree.
    """
    if rows.tree is None or cols.tree is None or rows.tree.names != cols.tree.names:
        tree, k = (rows.tree, i) if rows.tree is not None else (cols.tree, j)
        return GREY if tree is None else segment_colour(tree.branch_of(k).index)
    a, b = rows.tree.branch_of(i).index, cols.tree.branch_of(j).index
    both = mixed(segment_colour(a), segment_colour(b), 0.5)
    return both if a == b else mixed(both, PALE, 0.45)
