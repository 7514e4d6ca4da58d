"""Findings of a health check, and the report that holds them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from soacraft import markup
from soacraft.cards import card
from soacraft.errors import ModelError

SEVERITIES = ("error", "warning", "note")


class Finding(NamedTuple):
    """One thing found: how bad it is, on what, the value that shows it, what is wrong, and the cure.

    `error`: an answer would be wrong, or refused. `warning`: probably not meant. `note`: worth knowing.
    """

    severity: str
    subject: str
    value: float | str
    text: str
    cure: str


class HealthReport:
    """The findings on a model, the worst first; true when there is no error. Prints as a table.

    >>> report = HealthReport("arm", [Finding("note", "'arm'", 0.0, "has no bodies", "add some")])
    >>> report.ok, len(report)
    (True, 1)
    >>> report
    'arm': 0 errors, 0 warnings, 1 note
    note  'arm'  0  has no bodies; add some.
    """

    __slots__ = ("findings", "name")

    def __init__(self, name: str, findings: Iterable[Finding] = ()) -> None:
        self.name = name
        self.findings = tuple(sorted(findings, key=lambda finding: _rank(finding.severity)))

    def _with(self, severity: str) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.severity == severity)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Findings that make answers wrong or refused."""
        return self._with("error")

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """Findings that were probably not meant."""
        return self._with("warning")

    @property
    def notes(self) -> tuple[Finding, ...]:
        """Findings that are worth knowing."""
        return self._with("note")

    @property
    def ok(self) -> bool:
        """True if there is no error."""
        return not self.errors

    def __bool__(self) -> bool:
        return self.ok

    def __len__(self) -> int:
        return len(self.findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def summary(self) -> str:
        """The counts in one line."""
        counts = ((len(self._with(severity)), severity) for severity in SEVERITIES)
        return f"{self.name!r}: " + ", ".join(f"{n} {what}{'' if n == 1 else 's'}" for n, what in counts)

    def _rows(self) -> list[tuple[str, str, str, str]]:
        return [(x.severity, x.subject, _value(x.value), f"{x.text}; {x.cure}.") for x in self.findings]

    def __repr__(self) -> str:
        rows = self._rows()
        widths = [max((len(row[i]) for row in rows), default=0) for i in range(3)]
        lines = [[*(cell.ljust(w) for cell, w in zip(row[:3], widths, strict=True)), row[3]] for row in rows]
        return "\n".join([self.summary(), *("  ".join(line) for line in lines)])

    def _repr_html_(self) -> str:
        head = ["severity", "subject", "value", "finding"]
        return card(self.summary(), markup.table(head, self._rows(), more="print(report) shows all"))


def _rank(severity: str) -> int:
    if severity not in SEVERITIES:
        raise ModelError(f"the severity of a finding must be 'error', 'warning' or 'note', got {severity!r}.")
    return SEVERITIES.index(severity)


def _value(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"
