"""`Row`: block rows of an expression, of which single blocks are chosen next."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from soacraft.algebra.spaces.selection import chosen, is_several
from soacraft.algebra.spaces.space import Space

Array = npt.NDArray[np.float64]


class Blocked(Protocol):
    """An expression, of which only its spaces, its text and its blocks matter here."""

    @property
    def spaces(self) -> tuple[Space, Space]:
        """(rows, cols)."""

    def text(self) -> str:
        """Python that reads back."""

    def __getitem__(self, index: tuple[Any, Any], /) -> Array:
        """Block (i, j)."""


class Row:
    """One block row of an expression, or several, so that `phi[o][p]` reads as printed."""

    def __init__(self, expr: Blocked, i: Any) -> None:
        rows = expr.spaces[0]
        self.expr, self.i = expr, i
        self.numbers = chosen(rows, i)

    def __getitem__(self, j: Any) -> Array:
        return self.expr[self.i, j]

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.expr.spaces[1].labels)

    def __repr__(self) -> str:
        labels = self.expr.spaces[0].labels
        if not is_several(self.i):
            return f"block row {labels[self.numbers[0]]!r} of {self.expr.text()}"
        return f"block rows {', '.join(repr(labels[k]) for k in self.numbers)} of {self.expr.text()}"
