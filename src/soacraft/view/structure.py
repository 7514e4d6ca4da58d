"""The structure of an operator as a small text picture."""

from __future__ import annotations

from typing import Any

import numpy as np

from soacraft.algebra.evaluate import array
from soacraft.algebra.operator import Operator
from soacraft.errors import SpaceError

SHADES = "·░▒▓█"
NOTHING = 1e-12  # of the largest entry: rounding


def structure(operator: Any, labels: bool = True, widest: int = 60) -> str:
    """Blocks as shades: `·` zero, then by tens of the largest entry from `░` (a thousandth or less) to `█`.

    Entries of an operator are compared with those of the same units only, turns with turns and travels with travels.
    One character for each block of an operator (two where labels are short of room), one for each entry of an array.
    A block's shade is that of its largest entry. Models with more than `widest` blocks are refused: name a sub-graph.

    >>> import numpy as np
    >>> print(structure(np.array([[1.0, 0.0], [0.05, 2.0]])))
    █·
    ▒█
    """
    if isinstance(operator, Operator):
        sizes, names = _largest_of_blocks(operator, widest), operator.spaces[0].labels
        kept = [i for i in operator.spaces[0].order if operator.spaces[0].dims[i]]
        names = tuple(names[i] for i in kept)
    else:
        sizes, names = np.abs(np.asarray(operator, dtype=np.float64)), ()
        if sizes.ndim != 2 or max(sizes.shape) > widest:
            raise SpaceError(f"a picture needs a matrix of at most {widest} x {widest}, got shape {sizes.shape}.")
    lines = ["".join(_shade(x, float(np.max(sizes, initial=0.0))) for x in row) for row in sizes]
    if not labels or not names:
        return "\n".join(lines)
    width = max(len(name) for name in names)
    return "\n".join(f"{name:>{width}} {line}" for name, line in zip(names, lines, strict=True))


def _largest_of_blocks(expr: Operator, widest: int) -> Any:
    rows, cols = expr.spaces
    if max(len(rows), len(cols)) > widest:
        raise SpaceError(
            f"{expr.text()} has {len(rows)} x {len(cols)} blocks, a picture at most {widest} x {widest}; "
            "look at a sub-graph."
        )
    dense = np.abs(array(expr))
    for a in np.unique(rows.letters):
        for b in np.unique(cols.letters):
            where = np.ix_(rows.letters == a, cols.letters == b)
            largest = float(np.max(dense[..., *where], initial=0.0))
            dense[..., *where] /= largest or 1.0
    i, j = ([k for k in space.order if space.dims[k]] for space in (rows, cols))
    return np.array([[np.max(dense[..., rows.block(a), cols.block(b)]) for b in j] for a in i])


def _shade(x: float, largest: float) -> str:
    if x <= NOTHING * largest or largest == 0.0:
        return SHADES[0]
    return SHADES[max(1, min(4, 4 + int(np.floor(np.log10(x / largest) + 0.5))))]
