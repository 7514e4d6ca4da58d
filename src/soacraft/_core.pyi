"""Compiled kernels of soacraft: the sweeps of an SKO model on flat arrays.

Arrays are C-contiguous, `float64` or `int64`; anything else is refused with `ValueError`, never copied.
`order` lists the nodes parents first; `parent` is -1 for a base node; `offset` (n + 1) cuts the rows of a
stacked vector into nodes; `edge` holds the row-major blocks A(p(k),k) one after the other, cut by
`edge_offset` (n + 1; nothing for a base node). `x` has shape (N, m).
"""

import numpy as np
import numpy.typing as npt

_Reals = npt.NDArray[np.float64]
_Integers = npt.NDArray[np.int64]

def version() -> str:
    """The version of soacraft this module was built from."""

def gather(
    order: _Integers,
    parent: _Integers,
    offset: _Integers,
    edge: _Reals,
    edge_offset: _Integers,
    x: _Reals,
    tilde: bool = False,
) -> _Reals:
    """y(k) = x(k) + sum over children j of A(k,j) y(j), tips to base; tilde: y - x. O(n)."""

def scatter(
    order: _Integers,
    parent: _Integers,
    offset: _Integers,
    edge: _Reals,
    edge_offset: _Integers,
    x: _Reals,
    tilde: bool = False,
) -> _Reals:
    """y(k) = x(k) + A*(p,k) y(p), base to tips; tilde: y - x. O(n)."""

def block_apply(
    row: _Integers,
    col: _Integers,
    row_offset: _Integers,
    col_offset: _Integers,
    data: _Reals,
    data_offset: _Integers,
    x: _Reals,
    transpose: bool = False,
) -> _Reals:
    """y(row[i]) += X_i x(col[i]) over a list of blocks; transpose: y(col[i]) += X_i* x(row[i]). O(blocks)."""
