"""The report of an import: what became of every element and attribute of a model file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from soacraft import markup
from soacraft.cards import card
from soacraft.errors import ModelError

STATUSES = ("used", "converted", "repaired", "recorded", "ignored")
_ABSENT = ("repaired", "recorded", "ignored")


class Entry(NamedTuple):
    """Fate of one element of a file, or of one attribute of it.

    `used`: it is in the model as the file has it. `converted`: it is, in another form; the note says how.
    `repaired`: it is wrong in the file, and `lenient` put in its place what the note says. `recorded`: the model keeps
    it, and does not simulate it. `ignored`: the model does not have it; the note says why.

    `dynamic`: it belongs to the equations of motion: an inertia, a force that acts at every state, or a constraint.
    Limits, contact and actuators do not: they are kept for a simulation, and for you to apply.
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
    """Entries in the order of the file; prints as a table of the elements that were not simply used, with the counts of
    all.

    What would change the motion and is not simulated comes first in the table, marked with an exclamation mark.
    """

    __slots__ = ("_entries", "_lines")

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._entries: tuple[Entry, ...] | None = tuple(entries)
        self._lines: list[Lines] = []
        for status in {entry.status for entry in self._entries}:
            check_status(status)

    @classmethod
    def _of(cls, lines: list[Lines]) -> ImportReport:
        """The report of what a builder collected. Most reports are never read: entries are made when asked for."""
        report = cls()
        report._entries, report._lines = None, lines
        return report

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries in the order of the file."""
        lines, entries = self._lines, self._entries  # in this order: another thread may be making them
        if entries is None:
            entries = self._entries = tuple(_entries_of(lines))
            self._lines = []
        return entries

    def __reduce__(self) -> tuple[Any, ...]:
        return ImportReport, (self.entries,)

    def _with(self, status: str) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if entry.status == status)

    @property
    def used(self) -> tuple[Entry, ...]:
        """Entries that are in the model as the file has them."""
        return self._with("used")

    @property
    def converted(self) -> tuple[Entry, ...]:
        """Entries that are in the model in another form."""
        return self._with("converted")

    @property
    def repaired(self) -> tuple[Entry, ...]:
        """Entries that are wrong in the file, and were read with `lenient` as the notes say."""
        return self._with("repaired")

    @property
    def recorded(self) -> tuple[Entry, ...]:
        """Entries that the model keeps and does not simulate."""
        return self._with("recorded")

    @property
    def ignored(self) -> tuple[Entry, ...]:
        """Entries that the model does not have."""
        return self._with("ignored")

    @property
    def not_simulated(self) -> tuple[Entry, ...]:
        """Entries that would change the motion and are not simulated as the file has them: repaired, recorded or
        ignored.

        `load(..., strict=True)` refuses a file that has any.

        >>> report = ReportBuilder("arm.xml")
        >>> rope = report.add("tendon/spatial", "recorded", "rope", "stiffness", "is kept", dynamic=True)
        >>> limit = report.add("joint", "recorded", "elbow", "range", "limits are kept, not enforced")
        >>> [entry.name for entry in report.done().not_simulated]
        ['rope']
        """
        return tuple(entry for entry in self.entries if _counts(entry))

    @property
    def lost(self) -> tuple[Entry, ...]:
        """Entries that were ignored although they would change the motion: the part of `not_simulated` that the model
        does not have.
        """
        return tuple(entry for entry in self.ignored if entry.dynamic)

    def __len__(self) -> int:
        return len(self.entries)

    def __bool__(self) -> bool:
        """True if nothing that would change the motion is missing."""
        return not self.not_simulated

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ImportReport) and self.entries == other.entries

    def __hash__(self) -> int:
        return hash(self.entries)

    def summary(self) -> str:
        """The counts in one line.

        >>> ImportReport().summary()
        '0 entries: 0 used, 0 converted, 0 recorded, 0 ignored'
        """
        shown = [status for status in STATUSES if status != "repaired" or self.repaired]
        counts = ", ".join(f"{len(self._with(status))} {status}" for status in shown)
        number = len(self.not_simulated)
        verb = "is" if number == 1 else "are"
        missing = f"; {number} of them would change the motion and {verb} not simulated (marked !)" if number else ""
        return f"{len(self)} {'entry' if len(self) == 1 else 'entries'}: {counts}{missing}"

    def rows(self, all_entries: bool = False) -> list[tuple[str, str, str, str]]:
        """Status, element, how often or where, note: equal entries in one row, the used ones left out unless asked."""
        groups: dict[tuple[str, str, str], list[Entry]] = {}
        for entry in self.entries:
            if all_entries or entry.status != "used":
                what = f"{entry.element}@{entry.attribute}" if entry.attribute else entry.element
                status = f"{entry.status}!" if _counts(entry) else entry.status
                groups.setdefault((status, what, entry.note), []).append(entry)
        order = [f"{status}!" for status in STATUSES[::-1]] + list(STATUSES[::-1])
        rows = [(status, what, _where(alike), note) for (status, what, note), alike in groups.items()]
        return sorted(rows, key=lambda row: order.index(row[0]))

    def table(self, all_entries: bool = True) -> str:
        """The whole report as text."""
        return "\n".join([self.summary(), *_aligned(self.rows(all_entries))])

    def __repr__(self) -> str:
        return self.table(all_entries=False)

    def _repr_html_(self) -> str:
        rows = markup.table(["status", "element", "where", "note"], self.rows(), more="print(report) shows all")
        return card(self.summary(), rows)


def _counts(entry: Entry) -> bool:
    """True if an entry would change the motion and is not simulated."""
    return entry.dynamic and entry.status in _ABSENT


def _where(alike: list[Entry]) -> str:
    first = alike[0]
    if len(alike) == 1:
        line = f"line {first.line}" if first.line else ""
        return " ".join(filter(None, (repr(first.name) if first.name else "", line)))
    return f"{len(alike)} times"


def _aligned(rows: list[tuple[str, str, str, str]]) -> list[str]:
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(3)]
    padded = ([*(cell.ljust(w) for cell, w in zip(row[:3], widths, strict=True)), row[3]] for row in rows)
    return ["  ".join(cells).rstrip() for cells in padded]


def check_status(status: str) -> None:
    """Refuse a status that is none of the `STATUSES`."""
    if status not in STATUSES:
        raise ModelError(f"the status of an entry must be one of {', '.join(STATUSES)}; got {status!r}.")


Outcome = tuple[str, str, bool]
"""Status, note, and whether it is dynamic."""
USED: Outcome = ("used", "", False)
Lines = Entry | tuple[str, int, str, str, Outcome, tuple[str, ...], Mapping[str, Outcome]]
"""An entry, or those of an element and its attributes: file, line, element, name, what became of it, its attributes,
and what became of those.
"""


def _entries_of(lines: Iterable[Lines]) -> Iterator[Entry]:
    for each in lines:
        if isinstance(each, Entry):
            yield each
            continue
        file, line, element, name, what, attributes, of = each
        yield Entry(file, line, element, name, "", *what)
        for attribute in attributes:
            yield Entry(file, line, element, name, attribute, *of[attribute])


class ReportBuilder:
    """Collects the entries of a report while a file is read.

    >>> report = ReportBuilder("arm.urdf")
    >>> report.add("robot/gazebo", "ignored", note="is for another program", line=12)
    0
    >>> report.done()
    1 entry: 0 used, 0 converted, 0 recorded, 1 ignored
    ignored  robot/gazebo  line 12  is for another program
    """

    def __init__(self, file: str = "") -> None:
        self.file = file
        self._lines: list[Lines | None] = []

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
    ) -> int:
        """Add one entry; its number."""
        check_status(status)
        where = self.file if file is None else file
        self._lines.append(Entry(where, line, element, name, attribute, status, note, dynamic))
        return len(self._lines) - 1

    def add_all(
        self, element: str, name: str, line: int, what: Outcome, attributes: Iterable[str], of: Mapping[str, Outcome]
    ) -> None:
        """Add entries for an element and for its attributes: what became of it, and of each of them.

        The statuses are not checked again, and `of` must not change afterwards.

        >>> report = ReportBuilder("arm.urdf")
        >>> report.add_all("robot/joint", "elbow", 3, ("used", "", False), ["axle"], {"axle": ("ignored", "?", True)})
        >>> [(entry.attribute, entry.status, entry.dynamic) for entry in report.done().entries]
        [('', 'used', False), ('axle', 'ignored', True)]
        """
        self._lines.append((self.file, line, element, name, what, tuple(attributes), of))

    def take_back(self, numbers: Iterable[int]) -> None:
        """Leave out entries that turned out not to be so."""
        for number in numbers:
            self._lines[number] = None

    def done(self) -> ImportReport:
        """The report so far."""
        return ImportReport._of([each for each in self._lines if each is not None])
