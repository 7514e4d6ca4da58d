"""`Study`: what all results of studies have in common: a line, a table, a card in notebooks, and a file.

A study is a frozen dataclass whose fields are annotated for the file:

    torque: Annotated[Array, Column("N m", "dofs")]

Names of axes that occur several times must have the same length in all fields, and in files that are read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, get_type_hints

import numpy as np
import numpy.typing as npt

from soacraft.cards import card
from soacraft.robot.studies.table import Table

Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Column(NamedTuple):
    """Content of a field: the unit of its numbers, and its axes by name or length."""

    unit: str
    axes: tuple[str | int, ...]

    @classmethod
    def of(cls, unit: str, *axes: str | int) -> Column:
        """A column with these axes; none for one number or text."""
        return cls(unit, axes)


#: Studies by the kind that is written in their files.
KINDS: dict[str, type[Study]] = {}


class Study(ABC):
    """A result that shows itself, and goes to a file and back."""

    kind: ClassVar[str] = ""

    def __init_subclass__(cls, kind: str, **more: Any) -> None:
        super().__init_subclass__(**more)
        cls.kind = kind
        KINDS.setdefault(kind, cls)

    @abstractmethod
    def table(self) -> Table:
        """The result as rows."""

    def save(self, path: str | PathLike[str]) -> Path:
        """Write an HDF5 file, whole or not at all: a dataset for each field, with its unit. `load` reads it.
        Needs the extra `sim`."""
        from soacraft.robot.studies.file import write

        return write(self, path)

    @classmethod
    def columns(cls) -> dict[str, tuple[Any, Column]]:
        """The type and the column of each field."""
        hints = get_type_hints(cls, include_extras=True)
        columns = {}
        for x in fields(cls):  # type: ignore[arg-type]
            hint = hints[x.name]
            column = next((y for y in getattr(hint, "__metadata__", ()) if isinstance(y, Column)), Column.of(""))
            columns[x.name] = getattr(hint, "__origin__", hint) if hasattr(hint, "__metadata__") else hint, column
        return columns

    def same_as(self, other: Study) -> bool:
        """True if all fields are equal to the last bit; NaN is equal to itself."""
        return self.kind == other.kind and all(_equal(getattr(self, n), getattr(other, n)) for n in self.columns())

    def _repr_html_(self) -> str:
        return card(repr(self), self.table().html())


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    return bool(a == b or (isinstance(a, float) and np.isnan(a) and np.isnan(b)))
