"""Matrices of Nastran's OUTPUT4 as text (`.op4`), dense or sparse.

A matrix begins with a line of columns, rows, form, type (8 characters each), its name and its format, 1P,3E23.16. Each
column has a line of its number, its first row and its words; sparse ones have row 0, and lines of their own for each
string of rows: length and row, or both in one number, 65536 (length + 1) + row. Numbers have fixed widths.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from soacraft.errors import ModelFileError, near
from soacraft.flexible.fe import Sparse
from soacraft.flexible.readers.text import TextFile

#: Rows or columns of a matrix, and entries of a file.
ROWS, ENTRIES = 10**7, 10**8
_FORMAT = re.compile(r"(\d{1,3})[ED](\d{1,3})\.(\d{1,3})", re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?\d+")
_WIDE = 16  # the width of numbers where no format is given


def read_op4(path: Path, name: str | None) -> Sparse:
    """One matrix of a file by its name, which may be left out where there is one."""
    matrices = _Reader(TextFile(path)).matrices()
    if name is None and len(matrices) == 1:
        return next(iter(matrices.values()))
    if name is None:
        raise ModelFileError(f"{path}: has the matrices {', '.join(matrices)}; say which with name=.")
    by_name = {x.upper(): y for x, y in matrices.items()}
    if not isinstance(name, str) or name.upper() not in by_name:
        raise ModelFileError(f"{path}: has no matrix {name!r:.60}{near(str(name), tuple(matrices), 'it has')}")
    return by_name[name.upper()]


class _Reader:
    def __init__(self, file: TextFile) -> None:
        self.file = file
        self.lines = [(k, line) for k, line in enumerate(file.raw(), start=1) if line.strip()]
        self.at = 0
        self.entries = 0

    def matrices(self) -> dict[str, Sparse]:
        """All matrices of the file."""
        matrices: dict[str, Sparse] = {}
        while self.at < len(self.lines):
            k = self.lines[self.at][0]
            name, matrix = self._matrix()
            if name.upper() in {x.upper() for x in matrices}:
                raise self.file.fail(k, f"the matrix {name!r:.20} occurs twice.")
            matrices[name] = matrix
        if not matrices:
            raise self.file.fail(0, "is empty.")
        return matrices

    def _matrix(self) -> tuple[str, Sparse]:
        file = self.file
        k, line = self.lines[self.at]
        fields = [line[8 * i : 8 * i + 8].strip() for i in range(4)]
        if not all(_WHOLE.fullmatch(x) for x in fields):
            raise file.fail(k, "a matrix begins with its columns, rows, form and type, eight characters each.")
        columns = file.whole(k, fields[0], 1, ROWS, "the number of columns")
        rows = abs(file.whole(k, fields[1], -ROWS, ROWS, "the number of rows"))
        kind = file.whole(k, fields[3], 1, 4, "the type of a matrix")
        if kind > 2:
            raise file.fail(k, "a complex matrix is no stiffness or mass; real ones are of type 1 or 2.")
        if fields[2] not in ("1", "2", "6"):
            raise file.fail(k, f"a matrix of form {fields[2]} is not read; square ones are of form 1, 2 or 6.")
        if rows != columns:
            raise file.fail(k, f"a stiffness or mass is square, got {rows} rows and {columns} columns.")
        name = line[32:40].strip()
        format_ = _FORMAT.search(line[40:])
        if format_ is None and line[40:].strip():
            raise file.fail(k, f"the format {line[40:].strip()!r:.40} is not known; it is such as 1P,3E23.16.")
        self.width = _WIDE if format_ is None else int(format_[2])
        if not 2 <= self.width <= 80:
            raise file.fail(k, f"numbers of {self.width} characters are not read.")
        self.big = fields[1].startswith("-") or rows > 65535
        self.at += 1
        i: list[int] = []
        j: list[int] = []
        values: list[float] = []
        self._columns(rows, columns, kind, i, j, values)
        places = np.array(i, dtype=np.intp), np.array(j, dtype=np.intp)
        return name, csr_array((np.array(values), places), shape=(rows, columns))

    def _columns(self, rows: int, columns: int, kind: int, i: list[int], j: list[int], values: list[float]) -> None:
        file, last = self.file, 0
        while True:
            if self.at >= len(self.lines):
                raise file.fail(self.lines[-1][0], f"the file ends before the last column, {columns + 1}.")
            k, words = self._whole_line(3)
            column = file.whole(k, words[0], 1, columns + 1, "the number of a column")
            row = file.whole(k, words[1], 0, max(rows, 1), "the first row of a column")
            count = file.whole(k, words[2], 0, 4 * ENTRIES, "the number of words")
            if column <= last:
                raise file.fail(k, f"column {column} comes after column {last}.")
            last = column
            if column == columns + 1:
                self._values()
                return
            strings = iter([(k, row, count)]) if row else self._strings(count, rows)
            for line, first, length in strings:
                numbers = self._string(line, first, length, kind, rows, column)
                i += range(first - 1, first - 1 + len(numbers))
                j += [column - 1] * len(numbers)
                values += numbers

    def _strings(self, count: int, rows: int) -> Iterator[tuple[int, int, int]]:
        """The strings of a sparse column as they come: line, first row, words."""
        taken = 0
        while taken < count:
            if self.big:
                line, words = self._whole_line(2)
                length = self.file.whole(line, words[0], 2, 4 * ENTRIES, "the length of a string") - 1
                row = self.file.whole(line, words[1], 1, rows, "the first row of a string")
                taken += length + 2
            else:
                line, words = self._whole_line(1)
                packed = self.file.whole(line, words[0], 65536 * 2 + 1, 10**12 - 1, "the head of a string")
                length, row = packed // 65536 - 1, packed % 65536
                taken += length + 1
            yield line, row, length

    def _whole_line(self, count: int) -> tuple[int, list[str]]:
        if self.at >= len(self.lines):
            raise self.file.fail(self.lines[-1][0], "the file ends inside of a matrix.")
        k, line = self.lines[self.at]
        words = line.split()
        if len(words) != count or not all(_WHOLE.fullmatch(x) for x in words):
            raise self.file.fail(k, f"{count} whole number{'s' * (count > 1)} must be here, got {line.strip()!r:.40}.")
        self.at += 1
        return k, words

    def _values(self) -> list[float]:
        """The numbers of the lines up to the next of whole numbers."""
        values: list[float] = []
        while self.at < len(self.lines):
            k, line = self.lines[self.at]
            if all(_WHOLE.fullmatch(x) for x in line[: 8 * 4].split()):
                break
            text = line.rstrip()
            parts = [text[x : x + self.width].strip() for x in range(0, len(text), self.width)]
            values += [self.file.number(k, x) for x in parts]
            self.at += 1
        self.entries += len(values)
        if self.entries > ENTRIES:
            raise self.file.fail(k, f"more than {ENTRIES} entries are not read.")
        return values

    def _string(self, k: int, row: int, words: int, kind: int, rows: int, column: int) -> list[float]:
        """The numbers of a string. Programs count words, two for a number of double precision, or numbers."""
        numbers = self._values()
        if len(numbers) != words and kind * len(numbers) != words:
            raise self.file.fail(k, f"{words // kind} numbers of column {column} must follow, got {len(numbers)}.")
        if row + len(numbers) - 1 > rows:
            raise self.file.fail(k, f"column {column} goes to row {row + len(numbers) - 1} of {rows}.")
        return numbers
