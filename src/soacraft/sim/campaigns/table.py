"""The table of a campaign: a row for every run that is done, in order of the runs."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

from soacraft.arguments import read_path
from soacraft.errors import CampaignError, near
from soacraft.markup import Text
from soacraft.sim.campaigns.folder import Row, number, write_aside
from soacraft.spatial.checks import Array

#: Rows that a table shows of itself.
_SHOWN = 12


class Table(Mapping[str, Any]):
    """Columns {name: array}: "run", "status", every path that varied, every measure, "t" where it ended, and "text" of
    what failed. `table["miss"]` is an array; `write` makes a file of comma-separated values.

    >>> row = Row(run=0, status="ok", inputs=[1.5], measures=[2.0], t=1.0)
    >>> print(Table([row], ("wind.x",), ("miss",)).csv(), end="")
    run,status,wind.x,miss,t,text
    0,ok,1.5,2.0,1.0,
    """

    def __init__(self, rows: Sequence[Row], paths: Sequence[str], measures: Sequence[str]) -> None:
        self.rows = sorted(rows, key=lambda x: x.run)
        self.paths, self.measures = tuple(paths), tuple(measures)
        self._columns: dict[str, Any] = {"run": np.array([x.run for x in self.rows], dtype=np.int64)}
        self._columns["status"] = np.array([x.status for x in self.rows], dtype=object)
        for names, what in ((self.paths, "inputs"), (self.measures, "measures")):
            values = np.array([[number(y) for y in getattr(x, what)] for x in self.rows], dtype=float)
            values = values.reshape(len(self.rows), len(names))
            for i, name in enumerate(names):
                self._columns[name] = values[:, i]
        self._columns["t"] = np.array([np.nan if x.t is None else x.t for x in self.rows], dtype=float)
        self._columns["text"] = np.array([x.text for x in self.rows], dtype=object)

    def __getitem__(self, name: str) -> Any:
        if name not in self._columns:
            raise CampaignError(f"the table has no column {name!r:.60}{near(str(name), self._columns)}")
        return self._columns[name]

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        """Number of columns; rows are in `rows`."""
        return len(self._columns)

    @property
    def ok(self) -> Array:
        """Mask of the runs that came to their end."""
        return np.array([x.status == "ok" for x in self.rows], dtype=bool)

    def csv(self) -> str:
        """Comma-separated values; numbers have all their digits."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(list(self))
        for i in range(len(self.rows)):
            writer.writerow([_cell(self._columns[name][i]) for name in self])
        return out.getvalue()

    def write(self, path: str | PathLike[str]) -> None:
        """Write a file of comma-separated values."""
        write_aside(read_path(path, "the table", CampaignError), self.csv().encode())

    def __repr__(self) -> str:
        lines = self.csv().splitlines()
        more = [f"... {len(self.rows)} rows"] if len(self.rows) > _SHOWN else []
        return "\n".join([*lines[: _SHOWN + 1], *more])

    def _repr_html_(self) -> str:
        return Text(repr(self))._repr_html_()


def _cell(x: Any) -> str:
    if isinstance(x, float):
        return "" if x != x else repr(float(x))
    return str(x)
