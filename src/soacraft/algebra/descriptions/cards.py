"""The card of an expression: the formula, its spaces, structure, cost and sweeps. Nothing is computed with numbers.

What takes long is left out: the structure of more than `BLOCKS` blocks on a side, and what `simplify` would give.
"""

from __future__ import annotations

from soacraft import markup
from soacraft.algebra.descriptions.explain import explain
from soacraft.algebra.expressions.operator import Operator
from soacraft.algebra.spaces.block_colours import block_colour, drawn_blocks, segment_borders
from soacraft.algebra.values.support import support
from soacraft.cards import block_picture, card, card_of, facts, part
from soacraft.markup import Html

#: Blocks on a side whose structure a card draws.
BLOCKS = 64
#: Characters of an expression whose parts a card explains.
LONGEST = 2000


@card_of.register
def expression_card(expr: Operator) -> str:
    """The formula at its head; then spaces and text, and parts that fold: structure, cost, sweeps."""
    head = markup.math(expr.latex())
    if expr.rows is None or expr.cols is None:
        return card(head, markup.paragraph(markup.code(expr.text())))
    line = Html(f"{markup.code(expr.text())} : {markup.words(expr.rows)} &larr; {markup.words(expr.cols)}")
    if len(expr.text()) > LONGEST:
        return card(head, markup.paragraph(line), markup.paragraph("a long expression: explain() lists its parts"))
    return card(
        head,
        markup.paragraph(line),
        part("structure", lambda: structure(expr), True),
        part("cost", lambda: costs(expr)),
        part("sweeps", lambda: explain(expr).html_table()),
    )


def structure(expr: Operator) -> Html:
    """The blocks that can be non-zero, in the colours of the serial segments."""
    rows, cols = expr.spaces
    up, across = drawn_blocks(rows), drawn_blocks(cols)
    if max(len(up), len(across)) > BLOCKS:
        text = f"{len(up)} x {len(across)} blocks, of which a card draws {BLOCKS} on a side; sc.view.spy draws more"
        return markup.paragraph(text)
    can = support(expr)
    cells = [[block_colour(rows, cols, i, j) if can[i, j] else "" for j in across] for i in up]
    count = sum(bool(x) for row in cells for x in row)
    said = f"{count} of {len(up)} x {len(across)} blocks can be non-zero"
    drawn = block_picture(cells, sorted(segment_borders(rows, up)), sorted(segment_borders(cols, across)), said)
    return Html(drawn + markup.paragraph(said))


def costs(expr: Operator) -> Html:
    """Block products of a product with a vector, of one block, and of the matrix."""
    found = expr.cost()
    rows = [("product with a vector", found.product), ("one block", found.block), ("the matrix", found.array)]
    sizes = ", ".join(f"{name} = {value}" for name, value in found.sizes.items())
    here = f"block products; here {sizes}" if sizes else "block products"
    return Html(facts((name, count) for name, count in rows) + markup.paragraph(here))
