"""The report of an import: what became of every element and attribute of a model file."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import NamedTuple

from soacraft.errors import ModelError

STATUSES = ("used", "converted", "recorded", "ignored")


class Entry(NamedTuple):
    """What became of one element, or of one attribute of it.

    `used`: it is in the model as it stands in the file. `converted`: it is, in another form; the note says how.
    `recorded`: the model keeps it, and does not simulate it. `ignored`: the model does not have it; the note says why.
    `dynamic`: it would change the motion, were it simulated.
    """

    file: str
    line: int
    element: str
    name: str
    attribute: str
    status: str
    note: str
    dynamic: bool


class ImportReport:
    """Entries in the order of the file; prints as a table of what was not simply used, with the counts of all."""

    __slots__ = ("entries",)

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.entries = tuple(entries)
        for entry in self.entries:
            _check_status(entry.status)

    def _with(self, status: str) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if entry.status == status)

    @property
    def used(self) -> tuple[Entry, ...]:
        """What is in the model as it stands in the file."""
        return self._with("used")

    @property
    def converted(self) -> tuple[Entry, ...]:
        """What is in the model in another form."""
        return self._with("converted")

    @property
    def recorded(self) -> tuple[Entry, ...]:
        """What the model keeps and does not simulate."""
        return self._with("recorded")

    @property
    def ignored(self) -> tuple[Entry, ...]:
        """What the model does not have."""
        return self._with("ignored")

    @property
    def lost(self) -> tuple[Entry, ...]:
        """What was ignored although it would change the motion."""
        return tuple(entry for entry in self.ignored if entry.dynamic)

    def __len__(self) -> int:
        return len(self.entries)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ImportReport) and self.entries == other.entries

    def __hash__(self) -> int:
        return hash(self.entries)

    def summary(self) -> str:
        """The counts in one line.

        >>> ImportReport().summary()
        '0 entries: 0 used, 0 converted, 0 recorded, 0 ignored'
        """
        counts = ", ".join(f"{len(self._with(status))} {status}" for status in STATUSES)
        lost = f"; {len(self.lost)} of those ignored would change the motion" if self.lost else ""
        return f"{len(self)} {'entry' if len(self) == 1 else 'entries'}: {counts}{lost}"

    def rows(self, all_entries: bool = False) -> list[tuple[str, str, str, str]]:
        """Status, element, how often or where, note: equal entries in one row, the used ones left out unless asked."""
        groups: dict[tuple[str, str, str], list[Entry]] = {}
        for entry in self.entries:
            if all_entries or entry.status != "used":
                what = f"{entry.element}@{entry.attribute}" if entry.attribute else entry.element
                status = f"{entry.status}!" if entry.dynamic and entry.status == "ignored" else entry.status
                groups.setdefault((status, what, entry.note), []).append(entry)
        order = {"ignored!": 0, "ignored": 1, "recorded": 2, "converted": 3, "used": 4}
        rows = [(status, what, _where(found), note) for (status, what, note), found in groups.items()]
        return sorted(rows, key=lambda row: order[row[0]])

    def table(self, all_entries: bool = True) -> str:
        """The whole report as text."""
        return "\n".join([self.summary(), *_aligned(self.rows(all_entries))])

    def __repr__(self) -> str:
        return self.table(all_entries=False)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{title}</th>" for title in ("status", "element", "where", "note"))
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in self.rows()
        )
        return f"<p>{escape(self.summary())}</p><table><tr>{head}</tr>{body}</table>"


def _where(found: list[Entry]) -> str:
    first = found[0]
    if len(found) == 1:
        line = f"line {first.line}" if first.line else ""
        return " ".join(filter(None, (repr(first.name) if first.name else "", line)))
    return f"{len(found)} times"


def _aligned(rows: list[tuple[str, str, str, str]]) -> list[str]:
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(3)]
    padded = ([*(cell.ljust(w) for cell, w in zip(row[:3], widths, strict=True)), row[3]] for row in rows)
    return ["  ".join(cells).rstrip() for cells in padded]


def _check_status(status: str) -> None:
    if status not in STATUSES:
        raise ModelError(f"the status of an entry must be one of {', '.join(STATUSES)}; got {status!r}.")


class ReportBuilder:
    """Collects the entries of a report while a file is read.

    >>> report = ReportBuilder("arm.urdf")
    >>> report.add("robot/gazebo", "ignored", note="is for another program", line=12)
    >>> report.done()
    1 entry: 0 used, 0 converted, 0 recorded, 1 ignored
    ignored  robot/gazebo  line 12  is for another program
    """

    def __init__(self, file: str = "") -> None:
        self.file = file
        self._entries: list[Entry] = []

    def add(
        self,
        element: str,
        status: str,
        name: str = "",
        attribute: str = "",
        note: str = "",
        line: int = 0,
        file: str | None = None,
        dynamic: bool = False,
    ) -> None:
        """Add one entry."""
        _check_status(status)
        where = self.file if file is None else file
        self._entries.append(Entry(where, line, element, name, attribute, status, note, dynamic))

    def done(self) -> ImportReport:
        """The report so far."""
        return ImportReport(self._entries)
