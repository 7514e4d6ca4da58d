"""The card of a stacked vector."""

from __future__ import annotations

from soacraft import markup
from soacraft.algebra.spaces.block_colours import drawn_blocks
from soacraft.algebra.spaces.vectors import StackedVector
from soacraft.cards import card, card_of


@card_of.register
def vector_card(vector: StackedVector) -> str:
    """The numbers of a stacked vector, block by block."""
    space, head = vector.space, repr(vector).partition("\n")[0]
    if len(vector.shape) > 1:
        return card(head)
    drawn = drawn_blocks(space)
    rows = [(space.labels[k], markup.numbers(vector.in_model_order[space.block(k)])) for k in drawn[: markup.ROWS]]
    return card(head, markup.table(["block", "numbers"], rows, total=len(drawn), more="np.asarray has all"))
