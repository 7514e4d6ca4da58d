"""Several blocks of an expression at once: `expr["link1":"link3", :]`, `expr[["link1", "link4"], "link2"]`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from soacraft.algebra.expressions.operator import Operator
from soacraft.algebra.spaces.selection import Numbers, chosen, entries
from soacraft.algebra.spaces.space import Space, offsets_of

Array = npt.NDArray[np.float64]


def submatrix(expr: Operator, i: Any, j: Any) -> Array:
    """The dense matrix of some block rows and columns. Sparse operators look their blocks up; others go through one
    sweep with the columns, or with the rows where these are fewer.
    """
    (rows, cols), batch = expr.spaces, expr.batch
    left, right = chosen(rows, i), chosen(cols, j)
    r, c = entries(rows, left), entries(cols, right)
    if expr.pattern() is not None:
        found = _looked_up(expr, left, right)
    elif len(c) <= len(r):
        found = expr.apply(_unit(cols, c))[..., r, :]
    else:
        found = expr.apply_T(_unit(rows, r))[..., c, :].mT
    return np.array(np.broadcast_to(found, (*batch, len(r), len(c))))


def _looked_up(expr: Operator, left: list[int], right: list[int]) -> Array:
    rows, cols = expr.spaces
    blocks = expr.blocks()
    top, at = _places(rows, left), _places(cols, right)
    found = np.zeros((*blocks.batch, sum(rows.dims[k] for k in left), sum(cols.dims[k] for k in right)))
    for (i, j), x in blocks.entries.items():
        if i in top and j in at:
            found[..., top[i], at[j]] = x
    return found


def _places(space: Space, blocks: list[int]) -> dict[int, slice]:
    """Position of each chosen block in the result."""
    ends = offsets_of(space.dims[k] for k in blocks).tolist()
    return {k: slice(ends[n], ends[n + 1]) for n, k in enumerate(blocks)}


def _unit(space: Space, which: Numbers) -> Array:
    """Columns `which` of the identity of a space."""
    x = np.zeros((space.size, len(which)))
    x[which, np.arange(len(which))] = 1.0
    return x
