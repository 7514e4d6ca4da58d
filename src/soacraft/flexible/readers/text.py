"""Lines and numbers of text files, and the report of reading them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from soacraft.errors import ModelFileError
from soacraft.files.xml_tree import read_bytes
from soacraft.model import ImportReport, ReportBuilder

#: Bytes of a text file that is read word by word.
LARGEST = 2**28
#: Characters of a line.
LONGEST = 100_000
#: Modes, and FE nodes, that a file may have.
MODES, NODES = 1000, 1_000_000


class TextFile:
    """The lines of a file, its errors and its report."""

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self.report = ReportBuilder(self.name)
        try:
            text = read_bytes(path, LARGEST).decode("ascii")
        except UnicodeDecodeError as problem:
            raise ModelFileError(f"{self.name}: is not a text of numbers: {problem.reason}.") from None
        self._lines = text.splitlines()

    def lines(self) -> Iterator[tuple[int, str]]:
        """Numbers of lines, from 1, and the lines without blanks around them; empty ones are left out."""
        for k, line in enumerate(self._lines, start=1):
            if len(line) > LONGEST:
                raise self.fail(k, f"a line has {len(line)} characters, more than {LONGEST}.")
            if line.strip():
                yield k, line.strip()

    def raw(self) -> list[str]:
        """The lines as they are."""
        return self._lines

    def fail(self, line: int, text: str) -> ModelFileError:
        """An error at a line; 0 for one of the file."""
        return ModelFileError(f"{self.name}{f':{line}' if line else ''}: {text}")

    def number(self, line: int, text: str) -> float:
        """A finite number, also with the D exponent of Fortran."""
        try:
            value = float(text.replace("D", "E").replace("d", "e")) if "_" not in text else math.nan
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.fail(line, f"{text!r:.40} is not a finite number.")
        return value

    def whole(self, line: int, text: str, least: int, most: int, what: str) -> int:
        """A whole number between bounds."""
        digits = text[1:] if text[:1] in ("-", "+") else text
        if not digits.isascii() or not digits.isdigit() or len(digits) > 12 or not least <= int(text) <= most:
            raise self.fail(line, f"{what} must be a whole number from {least} to {most}, got {text!r:.40}.")
        return int(text)

    def used(self, element: str, line: int, name: str = "", note: str = "") -> None:
        """A line of the report: it is in the data, with a note in another form."""
        self.report.add(element, "converted" if note else "used", name, note=note, line=line)

    def ignored(self, element: str, line: int, note: str, name: str = "", dynamic: bool = False) -> None:
        """A line of the report: the data do not have it."""
        self.report.add(element, "ignored", name, note=note, line=line, dynamic=dynamic)

    def done(self, geometric: bool) -> ImportReport:
        """The report; it says when there is no geometric stiffening."""
        if not geometric:
            self.ignored("modal data", 0, NO_STIFFENING, "geometric stiffening")
        return self.report.done()


NO_STIFFENING = "the file has none: a load along the body neither stiffens nor buckles it"
