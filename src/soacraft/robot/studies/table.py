"""`Table`: the rows of a study, as aligned text and as HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from soacraft import markup

#: Rows that a table prints of itself.
SHOWN = 40


class Table(Sequence[tuple[Any, ...]]):
    """Rows under a head; numbers are shown with four digits, `rows` has them as they are.

    >>> Table(("dof", "torque [N m]"), [("elbow", 12.3456), ("wrist", np.inf)])
    dof    torque [N m]
    elbow         12.35
    wrist           inf
    """

    def __init__(self, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        self.head, self.rows = tuple(head), tuple(tuple(x) for x in rows)

    def __getitem__(self, i: Any) -> Any:
        return self.rows[i]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def column(self, name: str) -> list[Any]:
        """The values of one column."""
        return [row[self.head.index(name)] for row in self.rows]

    def __repr__(self) -> str:
        shown = [[cell(x) for x in row] for row in self.rows[:SHOWN]]
        right = [all(_is_number(row[i]) for row in self.rows) and bool(self.rows) for i in range(len(self.head))]
        width = [max(len(name), *(len(row[i]) for row in shown), 0) for i, name in enumerate(self.head)]
        lines = [
            "  ".join(x.rjust(w) if r else x.ljust(w) for x, w, r in zip(row, width, right, strict=True)).rstrip()
            for row in [list(self.head), *shown]
        ]
        more = [f"... {len(self.rows)} rows"] if len(self.rows) > SHOWN else []
        return "\n".join([*lines, *more])

    def _repr_html_(self) -> str:
        return self.html()

    def html(self) -> markup.Html:
        """Table as HTML."""
        return markup.table(self.head, [[cell(x) for x in row] for row in self.rows])


def _is_number(x: Any) -> bool:
    return isinstance(x, int | float | np.integer | np.floating) and not isinstance(x, bool)


def cell(x: Any) -> str:
    """One value, as it is shown; what there is no number for is left out.

    >>> cell(2 / 3), cell(np.nan), cell(True), cell("elbow"), cell(12)
    ('0.6667', '', 'yes', 'elbow', '12')
    """
    if isinstance(x, bool | np.bool_):
        return "yes" if x else "no"
    if isinstance(x, float | np.floating):
        return "" if np.isnan(x) else f"{x + 0.0:.4g}"
    return str(x)
